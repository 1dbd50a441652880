"""What to do about a failure, where the provider's words or the settings show it: one line each.

Sources: platform.claude.com/docs/en/api/errors, developers.openai.com/api/docs/guides/reasoning, and recorded errors.
"""

from __future__ import annotations

import re

from llmneutral.errors import InvalidRequestError, ProviderError

_REASONING = re.compile(
    r"invalid_encrypted_content|encrypted content|invalid `?signature`? in `?thinking`?"
    r"|bound to a different conversation|thinking.{0,100}cannot be modified|thought_signature"
    r"|reasoning.{0,40}(?:not found|required following item)",
    re.IGNORECASE,
)
_MAX_TOKENS = re.compile(r"max_(?:completion_|output_)?tokens:? ?\d+ ?> ?(?P<most>\d+)", re.IGNORECASE)


def refuses_reasoning(error: ProviderError) -> bool:
    """Tells whether a provider refuses the reasoning of an earlier turn that was sent back to it."""
    if not isinstance(error, InvalidRequestError):
        return False
    return bool(_REASONING.search(f"{error.code or ''} {error.raw_type or ''} {error.message}"))


def hint_for(error: ProviderError, key_variable: str | None) -> str | None:
    """Returns what to do about an error, or None for its class's own words.

    Args:
        error: The error.
        key_variable: Environment variable of the key.
    """
    if error.type == "authentication_error" and key_variable:
        return f"Set {key_variable} to a valid key."
    if refuses_reasoning(error):
        return "Leave earlier reasoning out: replay_reasoning=False, or recover_reasoning=True to do so where refused."
    if isinstance(error, InvalidRequestError) and (found := _MAX_TOKENS.search(error.message)):
        return f"Lower max_tokens to {found['most']}, or give facts={{'max_output': {found['most']}}}."
    return None
