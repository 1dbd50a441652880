"""What to do about a failure, out of the provider's own words."""

from __future__ import annotations

import pytest

from llmneutral import AuthenticationError, InvalidRequestError, ServerError
from llmneutral.drivers.hints import hint_for, refuses_reasoning

REFUSALS = [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
    "This reasoning is bound to a different conversation",
    "The encrypted content could not be verified",
    "Function call is missing a thought_signature in functionCall parts",
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
]


@pytest.mark.parametrize("message", REFUSALS)
def test_refused_reasoning_is_known(message: str) -> None:
    error = InvalidRequestError(message, status=400)
    assert refuses_reasoning(error)
    assert "recover_reasoning=True" in (hint_for(error, None) or "")


def test_its_code_is_enough() -> None:
    assert refuses_reasoning(InvalidRequestError("no", code="invalid_encrypted_content"))


@pytest.mark.parametrize("message", ["max_tokens is too large", "reasoning_effort is unknown", "Unknown model"])
def test_other_refusals_are_not_taken_for_it(message: str) -> None:
    assert not refuses_reasoning(InvalidRequestError(message))
    assert not refuses_reasoning(ServerError(REFUSALS[0]))


def test_other_hints() -> None:
    assert hint_for(AuthenticationError("no"), "X_API_KEY") == "Set X_API_KEY to a valid key."
    assert hint_for(AuthenticationError("no"), None) is None
    assert "8192" in (hint_for(InvalidRequestError("max_tokens: 64000 > 8192, which is the maximum"), None) or "")
    assert hint_for(ServerError("broke"), "X") is None
