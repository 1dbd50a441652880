"""Increments of a message: what a stream yields.

`DeltaMessage` is one increment; its content says which block (`index`, our own count) grows by what.
Several deltas of one index add up to one content by that content's `from_deltas`. Sources:
platform.claude.com/docs/en/build-with-claude/streaming, and the event types of the other providers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec

from llmneutral.ir.contents import (
    ActionCallMessageContent,
    AudioMessageContent,
    BaseMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.responses import ErrorInfo, FinishReason, Usage

DeltaKind = Literal[
    "start", "text", "thinking", "signature", "redacted", "call", "refusal", "audio", "image", "citation",
    "generic", "block_done", "usage", "finish", "error", "repair", "tool_result", "end",
]  # fmt: skip
CONTENT_KINDS = frozenset({"text", "thinking", "signature", "redacted", "call", "refusal", "audio", "image"})
"""Kinds that carry a part of the answer: once one was given, nothing is sent a second time."""


class BaseDeltaMessageContent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of one block.

    Attributes:
        index: The block it belongs to, counted 0.. in order of first appearance.
        native: What only the origin's API needs back (see contents).
    """

    index: int = 0
    native: JSONObject | None = None

    builds: ClassVar[type[BaseMessageContent]] = BaseMessageContent

    @classmethod
    def compacted(cls, deltas: Sequence[Any]) -> list[Any]:
        """Returns fewer deltas that add up to the same: long streams are folded now and then."""
        return list(deltas)


class TextDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A piece of text, or a citation to it."""

    text: str = ""
    citation: JSONObject | None = None
    thought_signature: str | None = None

    builds = TextMessageContent

    @classmethod
    def compacted(cls, deltas: Sequence[Any]) -> list[Any]:
        """Joins pieces that are nothing but text."""
        if any([d.citation or d.thought_signature or d.native for d in deltas]):
            return list(deltas)
        return [cls("".join([d.text for d in deltas]), index=deltas[0].index)]


class ThinkingDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A piece of reasoning, its signature, or the blob of a redacted block."""

    text: str = ""
    signature: str | None = None
    data: str | None = None
    id: str | None = None

    builds = ThinkingMessageContent

    @classmethod
    def compacted(cls, deltas: Sequence[Any]) -> list[Any]:
        """Joins pieces that are nothing but text."""
        if any([d.signature or d.data or d.id or d.native for d in deltas]):
            return list(deltas)
        return [cls("".join([d.text for d in deltas]), index=deltas[0].index)]


class ActionCallDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A piece of a call: id and name with the first, fragments of the JSON of the arguments after it."""

    tag: str | None = None
    name: str | None = None
    path: str | None = None
    partial_input: str = ""
    thought_signature: str | None = None
    item_id: str | None = None

    builds = ActionCallMessageContent

    @classmethod
    def compacted(cls, deltas: Sequence[Any]) -> list[Any]:
        """Joins the fragments after the first."""
        first, *rest = deltas
        if any([d.tag or d.name or d.path or d.thought_signature or d.item_id or d.native for d in rest]):
            return list(deltas)
        return [first, cls(partial_input="".join([d.partial_input for d in rest]), index=first.index)]


class RefusalDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A piece of a refusal."""

    text: str = ""
    category: str | None = None

    builds = RefusalMessageContent


class AudioDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A piece of sound (complete base64 each), of its transcript, or its id."""

    data: str | None = None
    transcript: str = ""
    id: str | None = None
    expires_at: int | None = None
    media_type: str | None = None

    builds = AudioMessageContent


class ImageDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A whole picture; a later one of the same index replaces it."""

    value: ImageMessageContent

    builds = ImageMessageContent


class GenericDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A whole block that only one API knows."""

    value: GenericMessageContent

    builds = GenericMessageContent


class DoneDeltaMessageContent(BaseDeltaMessageContent, frozen=True):
    """A block is complete.

    Attributes:
        value: The block as the provider says it is in the end: it replaces what the pieces built.
            None: the pieces stand.
    """

    value: BaseMessageContent | None = None


class DeltaMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One increment of an answer.

    Attributes:
        kind: What it is: `start` once and first, `end` once and last. `repair`: the answer so far does not fit its
            output schema; forget it, the blocks that follow (with new indices) are another answer.
            `tool_result`: between two answers of an agent's run, what a tool gave back (the value of its content).
        content: The piece, for kinds that belong to a block.
        usage: Token counts known so far, for kind `usage`.
        id: Id of the answer, for kind `start`.
        model: Model that answers, for kind `start`.
        finish_reason: For kind `finish`.
        raw_finish_reason: The provider's own word for it.
        error: For kind `error`.
        complete: For kind `end`: whether the stream came to its own end.
        details: What else the provider said (stop details, notes); for kind `repair`: `number` and `problems`.
    """

    kind: DeltaKind
    content: BaseDeltaMessageContent | None = None
    usage: Usage | None = None
    id: str | None = None
    model: str | None = None
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None
    error: ErrorInfo | None = None
    complete: bool | None = None
    details: Any = None

    @property
    def text(self) -> str:
        """The piece of visible text; "" for every other kind."""
        return self.content.text if self.kind == "text" and type(self.content) is TextDeltaMessageContent else ""
