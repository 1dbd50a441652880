"""Which API an answer came from, by its shape alone: for `normalize(…, api="auto")`.

One ordered table, first match wins. Mistral's answers have the shape of Chat Completions and are read as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmneutral.errors import ConfigurationError

Body = Mapping[str, Any]


def recognized(body: Any) -> str:
    """Returns the API mode of a whole answer.

    Raises:
        ConfigurationError: If it has the shape of none, with the remedy.
    """
    if isinstance(body, Mapping):
        for api, fits in SHAPES:
            if fits(body):
                return api
    known = ", ".join(dict.fromkeys(api for api, _ in SHAPES))
    raise ConfigurationError(f"this answer has the shape of no known API ({known}): name its api")


def _is_converse(body: Body) -> bool:
    output = body.get("output")
    return "stopReason" in body or (isinstance(output, Mapping) and "message" in output)


def _is_cohere(body: Body) -> bool:
    reason = body.get("finish_reason")
    return isinstance(body.get("message"), Mapping) and (reason is None or str(reason).isupper())


SHAPES: tuple[tuple[str, Callable[[Body], bool]], ...] = (
    ("chat_completions", lambda body: "choices" in body),
    ("codex_responses", lambda body: body.get("object") == "response" or isinstance(body.get("output"), list)),
    ("anthropic_messages", lambda body: body.get("type") == "message" or "stop_reason" in body),
    ("gemini_native", lambda body: "candidates" in body or "promptFeedback" in body),
    ("bedrock_converse", _is_converse),
    ("cohere_chat", _is_cohere),
)
