"""A provider's answer, in one form for all of them.

What a provider does not report is None: never a made-up 0, "" or "stop".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from llmneutral.ir.contents import (
    ActionCallMessageContent,
    InvalidActionCallMessageContent,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message

FinishReason = Literal[
    "stop", "tool_calls", "length", "content_filter", "refusal", "pause", "error", "incomplete", "other"
]
COUNTS = ("input_total", "input_uncached", "cache_read", "cache_write", "output_total", "reasoning", "total")


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call; None is unknown.

    Attributes:
        input_total: Every prompt token, cached or not.
        input_uncached: Prompt tokens neither read from nor written to a cache: what is left of `input_total`, so all
            of it where nothing is told of a cache.
        cache_read: Prompt tokens read from a cache.
        cache_write: Prompt tokens written to a cache.
        output_total: Every token of the answer, reasoning too.
        reasoning: Tokens of reasoning.
        total: As reported, else the sum of `input_total` and `output_total` where both are known; of Converse, whose
            own total may leave cached tokens out, always this sum.
        partial: Whether this is a sum over calls of which some did not tell.
        raw: The provider's own object.
    """

    input_total: int | None = None
    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output_total: int | None = None
    reasoning: int | None = None
    total: int | None = None
    partial: bool = False
    raw: Any = None

    def to_dict(self) -> dict[str, int | None]:
        """Returns the counts by name."""
        return {name: getattr(self, name) for name in COUNTS}

    @classmethod
    def sum(cls, usages: Iterable[Usage]) -> Usage:
        """Adds up several calls.

        A count that no call told stays None; one that only some told is their sum, and `partial` says so.
        """
        given = list(usages)
        counts: dict[str, int | None] = {}
        partial = any(usage.partial for usage in given)
        for name in COUNTS:
            told = [value for usage in given if (value := getattr(usage, name)) is not None]
            counts[name] = sum(told) if told else None
            partial = partial or (0 < len(told) < len(given))
        return cls(**counts, partial=partial)


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as part of an answer; `type` is a word of the taxonomy in `llmneutral.errors`."""

    type: str
    raw_type: str | None = None
    message: str = ""
    status: int | None = None
    retryable: bool = False
    code: str | None = None

    def to_dict(self) -> JSONObject:
        """Returns the error in the contract's form."""
        return {
            "type": self.type,
            "raw_type": self.raw_type,
            "message": self.message,
            "status": self.status,
            "retryable": self.retryable,
        }


class FailedAttempt(msgspec.Struct, frozen=True):
    """A request of a call that failed and was followed by another one.

    Attributes:
        error: What it failed with.
        wait: Seconds that were waited after it.
        usage: Tokens it used up all the same, where the provider told.
        request_id: What the provider called it.
    """

    error: ErrorInfo
    wait: float = 0.0
    usage: Usage = Usage()
    request_id: str | None = None


class RejectedAnswer(msgspec.Struct, frozen=True):
    """An answer that did not fit the output schema and was asked for again: a call of its own, billed as any.

    Attributes:
        text: What it said; of a call, its arguments as they came.
        problems: What was wrong with it, `path: problem`.
        usage: Tokens of this call alone.
        request_id: What the provider called the request.
        messages: The model's message and what was said to it; only with `keep_repairs`.
    """

    text: str
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()
    request_id: str | None = None
    messages: tuple[Message, ...] = ()


class ResponseMetadata(msgspec.Struct, frozen=True):
    """How a call went, as the driver saw it.

    Attributes:
        attempts: Requests that were sent.
        first_delta: Seconds from the beginning of the call to the first piece of content; None without a stream.
        total: Seconds from the beginning of the call to its end; None while it goes on.
        request_id: What the provider's support asks for.
        rate_limits: The provider's headers about limits, names in lower case.
        retries: The attempts before the last one.
        repairs: How often the answer was asked for again because it did not fit its output schema.
        rejected: The answers before the last one; the response's `usage` is the sum of all.
        last_usage: Tokens of the last call alone; None without repairs, where they are the response's `usage`.
    """

    attempts: int = 0
    first_delta: float | None = None
    total: float | None = None
    request_id: str | None = None
    rate_limits: Mapping[str, str] = msgspec.field(default_factory=dict)
    retries: tuple[FailedAttempt, ...] = ()
    repairs: int = 0
    rejected: tuple[RejectedAnswer, ...] = ()
    last_usage: Usage | None = None


class NormalizedResponse(msgspec.Struct, frozen=True):
    """One answer of a provider, whole or put together from its stream.

    Attributes:
        message: The neutral message, ready to be added to a stack and replayed to any provider.
        id: Id the provider gave the answer.
        model: Model that answered, as the provider names it.
        finish_reason: Why it ended; None only where a provider said nothing.
        raw_finish_reason: The provider's own word.
        complete: False if the stream ended without its terminator or was interrupted.
        usage: Token counts.
        error: Set where the answer is an error.
        citations: The provider's citation objects, in order.
        parsed: The validated value where an output schema was asked for.
        notes: Remarks of the reader, for the curious.
        details: The provider's own further words (stop details, metadata).
        metadata: How the call went: attempts, times, request id; None where no driver made the call.
    """

    message: Message
    id: str | None = None
    model: str | None = None
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None
    complete: bool = True
    usage: Usage = Usage()
    error: ErrorInfo | None = None
    citations: tuple[JSONObject, ...] = ()
    parsed: Any = None
    notes: tuple[str, ...] = ()
    details: Any = None
    metadata: ResponseMetadata | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """What belongs into the conversation: `message`, and with `keep_repairs` the rejected turns before it."""
        rejected = () if self.metadata is None else self.metadata.rejected
        return (*[message for answer in rejected for message in answer.messages], self.message)

    @property
    def text(self) -> str:
        """All text blocks joined; commentary that a provider sets apart is in `reasoning`."""
        return "".join([c.text for c in self.message.content if type(c) is TextMessageContent and not _aside(c)])

    @property
    def reasoning(self) -> list[JSONObject]:
        """Reasoning in order: text, signature, and whether it is opaque."""
        return [shown for c in self.message.content if (shown := _reasoning(c)) is not None]

    @property
    def tool_calls(self) -> list[ActionCallMessageContent]:
        """The calls that may be run."""
        return [c for c in self.message.content if type(c) is ActionCallMessageContent]

    @property
    def invalid_tool_calls(self) -> list[InvalidActionCallMessageContent]:
        """The calls whose arguments are no JSON object: never run."""
        return [c for c in self.message.content if type(c) is InvalidActionCallMessageContent]

    @property
    def refusal(self) -> JSONObject | None:
        """Category and text of a refusal."""
        told = [c for c in self.message.content if type(c) is RefusalMessageContent]
        if not told:
            return None
        category = next((c.category for c in told if c.category), None)
        return {"category": category, "text": "".join([c.text for c in told]) or None}

    def to_dict(self) -> JSONObject:
        """Returns the answer as plain JSON data in the contract's form, with every key."""
        return {
            "id": self.id,
            "model": self.model,
            "text": self.text,
            "reasoning": self.reasoning,
            "tool_calls": [_call(index, call) for index, call in enumerate(self.tool_calls)],
            "invalid_tool_calls": [
                {"id": call.tag, "name": call.name, "raw_arguments": call.raw} for call in self.invalid_tool_calls
            ],
            "refusal": self.refusal,
            "finish_reason": self.finish_reason,
            "raw_finish_reason": self.raw_finish_reason,
            "complete": self.complete,
            "usage": self.usage.to_dict(),
            "error": None if self.error is None else self.error.to_dict(),
            "citations": list(self.citations),
            "parsed": to_plain(self.parsed),
            "blocks": [msgspec.to_builtins(content) for content in self.message.content],
        }


def _aside(content: TextMessageContent) -> bool:
    """Commentary of the Responses API (`phase`) is no part of the answer's text."""
    return content.native is not None and content.native.get("phase") == "commentary"


def _reasoning(content: Any) -> JSONObject | None:
    if type(content) is ThinkingMessageContent:
        return {"text": content.text, "signature": content.seal, "redacted": content.is_redacted}
    if type(content) is TextMessageContent and _aside(content):
        return {"text": content.text, "signature": None, "redacted": False}
    return None


def _call(index: int, call: ActionCallMessageContent) -> JSONObject:
    shown: JSONObject = {"index": index, "id": call.tag, "name": call.name, "arguments": call.input}
    if call.path is not None:
        shown["path"] = call.path
    if call.thought_signature is not None:
        shown["thought_signature"] = call.thought_signature
    return shown


def to_plain(value: Any) -> Any:
    """Returns a parsed value (model, dataclass, data) as plain JSON data."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return msgspec.to_builtins(value, enc_hook=str)
