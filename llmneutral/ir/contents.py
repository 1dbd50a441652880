"""What one message can hold: values only, frozen, comparable, JSON-ready.

Rules of this file: a content knows no API, no client and no clock. Each class knows how its own
increments add up (`from_deltas`), so a new class never edits the base. The names are those of
Griptape's `PromptStack`; `Thinking`, `Document`, `Refusal` and the invalid call are additions.

Media travel as base64 text or as an address: the text is made once, when the artifact is reduced,
and not once per conversion.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import msgspec

from llmneutral.ir import artifacts as art
from llmneutral.ir.jsontext import JSONObject, dumps, parse_object
from llmneutral.ir.reduction import contents_of
from llmneutral.ir.tools import ToolAction

if TYPE_CHECKING:
    from llmneutral.ir import deltas as d

_put = msgspec.structs.force_setattr
T = TypeVar("T")


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who made a block: the API mode, the model as it was named, and the host of the endpoint."""

    api: str | None = None
    model: str | None = None
    host: str | None = None


class BaseMessageContent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """One block of a message.

    Attributes:
        cache: A cache breakpoint after this block: True, or a lifetime such as `"1h"`.
        origin: Who made the block; None means unknown.
        native: What only the origin's API needs back beside the neutral fields (an item id, a phase).
    """

    cache: bool | str | None = None
    origin: Origin | None = None
    native: JSONObject | None = None

    def to_text(self) -> str:
        """Returns the block as a reader would see it in plain text."""
        raise TypeError(f"{type(self).__name__} has no text form")

    @classmethod
    def from_deltas(cls, deltas: Sequence[Any]) -> BaseMessageContent:
        """Puts the increments of one slot together: of what arrives whole, the last one stands."""
        return cast("BaseMessageContent", deltas[-1].value)


class TextMessageContent(BaseMessageContent, frozen=True, tag="text"):
    """Plain text.

    Attributes:
        citations: The provider's citation objects, in order.
        thought_signature: Gemini's signature of the part this text came in.
    """

    text: str
    citations: tuple[JSONObject, ...] = ()
    thought_signature: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            _put(self, "text", art.text_of(self.text))

    @property
    def artifact(self) -> art.TextArtifact:
        """The text as an artifact."""
        return art.TextArtifact(self.text)

    def to_text(self) -> str:
        """Returns the text."""
        return self.text

    @classmethod
    def from_deltas(cls, deltas: Sequence[d.TextDeltaMessageContent]) -> Self:
        """Concatenates the pieces; nothing is trimmed, citations keep their order."""
        return cls(
            "".join([delta.text for delta in deltas]),
            citations=tuple([delta.citation for delta in deltas if delta.citation is not None]),
            thought_signature=_last([delta.thought_signature for delta in deltas]),
            native=_merged(deltas),
        )


class ThinkingMessageContent(BaseMessageContent, frozen=True, tag="thinking"):
    """Reasoning of the model.

    Attributes:
        text: What may be shown of it; "" where the provider hides it.
        signature: The provider's seal over the block (Anthropic, Bedrock, Gemini, Mistral).
        data: The opaque blob of a redacted block.
        encrypted_content: The encrypted reasoning of the Responses API.
        id: The item id of the Responses API.
        summary: The parts of a summary, as they came.
    """

    text: str = ""
    signature: str | None = None
    data: str | None = None
    encrypted_content: str | None = None
    id: str | None = None
    summary: tuple[str, ...] | None = None

    @property
    def is_redacted(self) -> bool:
        """Whether the block is opaque: it has a blob, or nothing at all to show and no seal."""
        return self.data is not None

    @property
    def seal(self) -> str | None:
        """What proves the block to the API that made it: signature or encrypted content."""
        return self.signature or self.encrypted_content

    def to_text(self) -> str:
        """Returns the visible reasoning."""
        return self.text

    @classmethod
    def from_deltas(cls, deltas: Sequence[d.ThinkingDeltaMessageContent]) -> Self:
        """Concatenates the text; signature and blob are assigned, the last non-empty one stands."""
        return cls(
            "".join([delta.text for delta in deltas]),
            signature=_last([delta.signature for delta in deltas]),
            data=_last([delta.data for delta in deltas]),
            id=_last([delta.id for delta in deltas]),
            native=_merged(deltas),
        )


class ImageMessageContent(BaseMessageContent, frozen=True, tag="image"):
    """A picture: base64 data, an address, or a file id of the provider.

    Attributes:
        media_type: As declared; the bytes decide in the end.
        detail: OpenAI's hint of resolution: auto, low or high.
    """

    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    media_type: str | None = None
    detail: str | None = None

    def __post_init__(self) -> None:
        if self.data is not None and not isinstance(self.data, str):
            _take_media(self, self.data)

    def to_text(self) -> str:
        """Returns a note in place of the picture."""
        return f"[{self.media_type or 'image'}]"


class AudioMessageContent(BaseMessageContent, frozen=True, tag="audio"):
    """Sound: base64 data, or the id of an answer the provider keeps, with its transcript."""

    data: str | None = None
    media_type: str | None = None
    id: str | None = None
    transcript: str | None = None
    expires_at: int | None = None

    def __post_init__(self) -> None:
        if self.data is not None and not isinstance(self.data, str):
            _take_media(self, self.data)

    def to_text(self) -> str:
        """Returns the transcript, or a note."""
        return self.transcript or f"[{self.media_type or 'audio'}]"

    @classmethod
    def from_deltas(cls, deltas: Sequence[d.AudioDeltaMessageContent]) -> Self:
        """Joins the sound (each piece is complete base64) and the transcript."""
        data = b"".join([base64.b64decode(delta.data) for delta in deltas if delta.data])
        return cls(
            base64.b64encode(data).decode() if data else None,
            media_type=_last([delta.media_type for delta in deltas]),
            id=_last([delta.id for delta in deltas]),
            transcript="".join([delta.transcript for delta in deltas]) or None,
            expires_at=_last([delta.expires_at for delta in deltas]),
        )


class DocumentMessageContent(BaseMessageContent, frozen=True, tag="document"):
    """A document: base64 data, an address, a file id, plain text, or content blocks.

    Attributes:
        name: File name with its ending.
        title: A title for the model.
        context: What the document is, for the model.
        parts: Content blocks that make up the document.
    """

    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    text: str | None = None
    media_type: str | None = None
    name: str | None = None
    title: str | None = None
    context: str | None = None
    parts: tuple[MessageContent, ...] | None = None

    def to_text(self) -> str:
        """Returns the text, or a note."""
        return self.text if self.text is not None else f"[{self.name or self.media_type or 'document'}]"


class ActionCallMessageContent(BaseMessageContent, frozen=True, tag="tool_call"):
    """The model asks for a tool.

    Attributes:
        tag: Id of the call; None if the source gave none.
        name: Name of the tool.
        path: Activity of the tool, where it has several.
        input: The arguments; None where `arguments` is no JSON object.
        arguments: The arguments as they were written, byte for byte, where they came as text; where they are given
            alone, `input` is read from them.
        thought_signature: Gemini's signature of the part this call came in.
        item_id: Item id of the Responses API.
    """

    tag: str | None
    name: str = ""
    path: str | None = None
    input: Any = msgspec.field(default_factory=dict)
    arguments: str | None = None
    thought_signature: str | None = None
    item_id: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.tag, art.ActionArtifact):
            action = self.tag.value
            for field in ("tag", "name", "path", "input"):
                _put(self, field, getattr(action, field))
        elif self.arguments is not None and not self.input:
            given: Any = self.arguments
            _put(self, "input", parse_object(given) if isinstance(given, str) else given)
            if not isinstance(given, str):
                _put(self, "arguments", None)

    @property
    def action(self) -> ToolAction:
        """The call as a ToolAction without output."""
        return ToolAction(self.tag or "", self.name, self.path, self.input)

    @property
    def artifact(self) -> art.ActionArtifact:
        """The call as an artifact."""
        return art.ActionArtifact(self.action)

    def to_text(self) -> str:
        """Returns the call as it would be written in code."""
        return f"{self.action.to_native_tool_name()}({self.arguments or dumps(self.input)})"

    @classmethod
    def from_deltas(
        cls, deltas: Sequence[d.ActionCallDeltaMessageContent]
    ) -> ActionCallMessageContent | InvalidActionCallMessageContent:
        """Assigns id and name (the first non-empty one), joins the arguments and parses them once."""
        raw = "".join([delta.partial_input for delta in deltas])
        tag, name = _first([delta.tag for delta in deltas]), _first([delta.name for delta in deltas]) or ""
        path, native = _first([delta.path for delta in deltas]), _merged(deltas)
        parsed = parse_object(raw)
        if parsed is None:
            return InvalidActionCallMessageContent(tag, name, path, raw, native=native)
        signature = _last([delta.thought_signature for delta in deltas])
        item_id = _first([delta.item_id for delta in deltas])
        return cls(tag, name, path, parsed, raw or None, signature, item_id, native=native)


class InvalidActionCallMessageContent(BaseMessageContent, frozen=True, tag="invalid_tool_call"):
    """A call whose arguments are no JSON object: kept as text, never run, never repaired."""

    tag: str | None
    name: str = ""
    path: str | None = None
    raw: str = ""

    def to_text(self) -> str:
        """Returns the call as it came."""
        return f"{self.name}({self.raw})"


class ActionResultMessageContent(BaseMessageContent, frozen=True, tag="tool_result"):
    """What a tool gave back.

    Attributes:
        tag: Id of the call it answers.
        output: Text, or any data; ignored where `parts` is given. An artifact or a list of such becomes `parts`.
        parts: Blocks (text, image, document …) of a result that has several.
        name: Name of the tool, where the source tells it.
        path: Activity of the tool.
        is_error: Whether the tool failed.
    """

    tag: str | None
    output: Any = None
    parts: tuple[MessageContent, ...] | None = None
    name: str | None = None
    path: str | None = None
    is_error: bool = False

    def __post_init__(self) -> None:
        if self.parts is None and isinstance(self.output, _REDUCIBLE):
            output, parts, is_error = output_of(self.output)
            _put(self, "output", output)
            _put(self, "parts", parts)
            _put(self, "is_error", self.is_error or is_error)

    def to_text(self) -> str:
        """Returns the result as text: data as JSON, blocks by their own text."""
        if self.parts is not None:
            return "\n".join([part.to_text() for part in self.parts])
        return art.text_of(self.output)


def output_of(output: Any) -> tuple[Any, tuple[Any, ...] | None, bool]:
    """Returns what a tool gave back as the fields of a result: its data, its blocks, and whether the tool failed."""
    is_error = isinstance(output, art.ErrorArtifact)
    if isinstance(output, art.JsonArtifact | art.TextArtifact | art.InfoArtifact | art.ErrorArtifact):
        return output.value, None, is_error
    if isinstance(output, art.BaseArtifact | BaseMessageContent) or holds_blocks(output):
        return None, contents_of(output), False
    return output, None, False


def holds_blocks(output: Any) -> bool:
    """Whether a list holds artifacts: then its members are blocks, else it is data."""
    return isinstance(output, list | tuple) and any(
        isinstance(member, art.BaseArtifact | BaseMessageContent) for member in output
    )


_REDUCIBLE = (art.BaseArtifact, BaseMessageContent, list, tuple)
"""What may be, or hold, blocks where it is given as the output of a tool."""


class RefusalMessageContent(BaseMessageContent, frozen=True, tag="refusal"):
    """The model declines, in its own words."""

    text: str = ""
    category: str | None = None

    def to_text(self) -> str:
        """Returns the words of the refusal."""
        return self.text

    @classmethod
    def from_deltas(cls, deltas: Sequence[d.RefusalDeltaMessageContent]) -> Self:
        """Concatenates the words."""
        return cls("".join([delta.text for delta in deltas]), category=_last([delta.category for delta in deltas]))


class GenericMessageContent(BaseMessageContent, frozen=True, tag="generic"):
    """A block that only one API knows; it goes back to that API as it came."""

    value: JSONObject

    kind_key: ClassVar[str] = "type"

    def to_text(self) -> str:
        """Returns the kind of the block: its type, or the first of its keys."""
        return f"[{self.value.get(self.kind_key) or next(iter(self.value), 'block')}]"


MessageContent = (
    TextMessageContent
    | ThinkingMessageContent
    | ImageMessageContent
    | AudioMessageContent
    | DocumentMessageContent
    | ActionCallMessageContent
    | InvalidActionCallMessageContent
    | ActionResultMessageContent
    | RefusalMessageContent
    | GenericMessageContent
)
"""Every kind of block, as a tagged union."""


def _last(values: list[T | None]) -> T | None:
    return next((value for value in reversed(values) if value), None)


def _first(values: list[T | None]) -> T | None:
    return next((value for value in values if value), None)


def _merged(deltas: Sequence[Any]) -> JSONObject | None:
    natives = [delta.native for delta in deltas if delta.native]
    return {key: value for native in natives for key, value in native.items()} if natives else None


def _take_media(content: Any, artifact: Any) -> None:
    """Fills a media content from the artifact given in the place of its data."""
    for field, value in art.media_of(artifact).items():
        _put(content, field, value)
