"""The tree of errors: what an error carries, how it reads, and which class a type becomes."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from typing import Any

import msgspec
import pytest

from llmneutral import errors
from llmneutral.errors import (
    ERROR_CLASSES,
    RETRYABLE_TYPES,
    TYPES,
    AuthenticationError,
    ConfigurationError,
    ContextLengthError,
    ConversionError,
    InvalidRequestError,
    LLMNeutralError,
    MissingExtraError,
    ProviderError,
    RateLimitError,
    ServerError,
    StructuredOutputError,
    ToolLoopError,
    error_from_response,
    provider_error,
)

KEY = "sk-proj-A1b2C3d4E5f6G7h8"
ATTRIBUTES: dict[str, Any] = {
    "provider": "openrouter",
    "api": "chat_completions",
    "model": "m-1",
    "host": "openrouter.ai",
    "status": 429,
    "raw_type": "rate_limit_exceeded",
    "code": "rate_limit_exceeded",
    "path": "messages[1].content",
    "request_id": "req_1",
    "retry_after": 2.5,
    "attempts": 3,
    "hint": "Wait a minute.",
    "partial": {"text": "so far"},
}


class Ref(msgspec.Struct, frozen=True):
    """Stands for the address the converters use."""

    message: int
    block: int | None = None


def _classes() -> list[type[LLMNeutralError]]:
    found = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return [kind for kind in found if issubclass(kind, LLMNeutralError)]


def test_the_drawn_tree_is_the_tree() -> None:
    drawn = set(re.findall(r"\w+Error\b", (errors.__doc__ or "").partition("What must live here")[0]))
    assert drawn - {"ValueError"} == {kind.__name__ for kind in _classes()}


def test_the_drawing_tells_what_may_be_retried() -> None:
    for line in (errors.__doc__ or "").splitlines():
        if row := re.search(r"(\w+Error)\s+([a-z_]+)\s+(yes|no)$", line):
            kind = getattr(errors, row[1])
            assert (kind.type, kind.retryable) == (row[2], row[3] == "yes")


def test_every_type_has_a_class_whose_default_agrees() -> None:
    assert set(ERROR_CLASSES) == TYPES
    for name, kind in ERROR_CLASSES.items():
        assert kind.retryable is (name in RETRYABLE_TYPES)
        assert kind.type == name or name == "malformed_function_call"


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_every_class_takes_every_attribute_and_survives_pickling(kind: type[LLMNeutralError]) -> None:
    error = kind("no", **{name: value for name, value in ATTRIBUTES.items() if name != "attempts"})
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert vars(again) == vars(error)
        assert str(again) == str(error)
    for name in ATTRIBUTES:
        assert hasattr(error, name)


def test_attributes_are_what_was_given() -> None:
    error = RateLimitError("slow down", **ATTRIBUTES)
    assert {name: getattr(error, name) for name in ATTRIBUTES} == ATTRIBUTES
    assert (error.type, error.retryable) == ("rate_limit_error", True)
    assert RateLimitError("slow down", retryable=False).retryable is False
    assert RateLimitError.retryable is True


def test_a_configuration_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="unknown mode"):
        raise ConfigurationError("unknown mode")


def test_the_text_is_one_line_with_the_hint() -> None:
    assert str(LLMNeutralError("first\n  second", hint="Do this.")) == "first second. Do this."
    assert str(LLMNeutralError("ends with a stop.")) == "ends with a stop."
    assert str(LLMNeutralError()) == ""
    assert str(LLMNeutralError("no stop", hint="")) == "no stop"
    assert "\n" not in str(LLMNeutralError("x " * 2500))
    assert len(str(LLMNeutralError("x " * 2500))) == 1000
    assert len(LLMNeutralError("x " * 2500).message) == 5000


def test_secrets_are_gone_when_the_error_is_made() -> None:
    error = AuthenticationError(f"Incorrect API key: {KEY}", hint=f"not {KEY}")
    assert "A1b2" not in "".join([error.message, str(error), repr(error), *map(str, error.args), str(error.hint)])
    assert "A1b2" not in pickle.dumps(error).decode("latin-1")


def test_a_notebook_shows_four_lines_at_most_and_no_secret() -> None:
    error = provider_error("rate_limit_error", "slow\ndown\nplease", **ATTRIBUTES)
    lines = error._render_traceback_()
    assert lines == [
        "RateLimitError (rate_limit_error, status 429): slow down please",
        (
            "at messages[1].content · provider openrouter · model m-1 · api chat_completions · host openrouter.ai "
            "· request id req_1 · attempts 3 · retry after 2.5 s"
        ),
        "→ Wait a minute.",
    ]
    assert not provider_error("server_error", "messages.0: no", path="messages.0")._place()  # it is said already
    error.message = f"set later: {KEY}"
    assert "A1b2" not in "".join(error._render_traceback_())


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_every_class_renders_briefly(kind: type[LLMNeutralError]) -> None:
    for error in (kind(), kind("why\n" * 20, provider="p", model="m", hint="h\nh")):
        lines = error._render_traceback_()
        assert 1 <= len(lines) <= 4
        assert all("\n" not in line for line in lines)


@pytest.mark.parametrize("kind", ["rate_limit_error", "overloaded_error", "server_error"])
def test_what_may_pass_says_so(kind: str) -> None:
    error = provider_error(kind, "no", status=500)
    assert error.hint
    assert error._render_traceback_()[-1] == f"→ {error.hint}"
    assert provider_error(kind, "no", hint="").hint == ""


def test_a_conversion_error_names_the_place() -> None:
    error = ConversionError(
        "image/svg+xml cannot be sent.",
        refs=[Ref(3, 1), Ref(4)],
        rule="media",
        api="bedrock_converse",
        changes=["dropped", "refused"],
        hint="Use PNG.",
    )
    place = "message 3, block 1 · message 4 · rule media · api bedrock_converse"
    assert str(error) == f"image/svg+xml cannot be sent ({place}). Use PNG."
    assert error._render_traceback_()[1] == place
    assert error.refs == (Ref(3, 1), Ref(4))
    assert error.changes == ("dropped", "refused")
    assert str(ConversionError("no", refs=range(9))).endswith("and 5 more)")
    assert str(ConversionError("no", refs=[(2, 0)])) == "no (message 2, block 0)"


def test_errors_above_the_provider_carry_their_story() -> None:
    structured = StructuredOutputError("no valid value", attempts=[{"text": "x"}], response="r")
    assert (structured.attempts, structured.response) == (({"text": "x"},), "r")
    loop = ToolLoopError("too many steps", steps=20, stack="s")
    assert (loop.steps, loop.stack, loop.response) == (20, "s", None)
    extra = MissingExtraError(package="google-genai", extra="google")
    assert MissingExtraError(package="google-genai", extra="google", hint=None).hint == extra.hint
    assert str(extra) == "google-genai is not installed. pip install 'llmneutral[google]'"


def test_the_factory_makes_the_class_of_the_type() -> None:
    assert type(provider_error("context_length_error", "too long")) is ContextLengthError
    assert isinstance(provider_error("context_length_error"), InvalidRequestError)
    assert type(provider_error("api_error")) is ServerError
    assert provider_error("malformed_function_call").type == "malformed_function_call"
    assert provider_error("api_error", status=404).type == "not_found_error"


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (404, False), (400, False), (500, True), (None, True)])
def test_the_factory_works_out_whether_to_retry(status: int | None, retryable: bool) -> None:
    assert provider_error("rate_limit_error", status=status).retryable is retryable


def test_an_error_becomes_the_form_of_the_contract() -> None:
    error = error_from_response(
        {"error": {"type": "overloaded_error", "message": "Overloaded"}}, 529, {"x-should-retry": "true"}, model="m"
    )
    assert isinstance(error, ProviderError)
    assert error.model == "m"
    assert error.to_dict() == {
        "type": "overloaded_error",
        "raw_type": "overloaded_error",
        "message": "Overloaded",
        "status": 529,
        "retryable": True,
    }


def test_a_silent_answer_still_gets_a_message() -> None:
    assert error_from_response(b"", 502).message == "the provider answered with status 502"
    assert error_from_response(None).message == "no reason was given"
    assert error_from_response({"message": "m"}, 500, provider="p", attempts=2).attempts == 2


def test_no_message_drives_a_terminal() -> None:
    for error in (InvalidRequestError("bad\x1b[2J\u202e", hint="do\x07"), ConversionError("bad\x1b[2J", rule="r\x9b")):
        told = "".join([*error._render_traceback_(), str(error)])
        assert "bad\ufffd[2J" in told
        assert not {"\x1b", "\u202e", "\x07", "\x9b"} & {*told}
