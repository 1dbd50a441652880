"""What a caller holds: text, pictures, sound, documents, data, tool actions, and lists of these.

An artifact wraps one value and can always say itself in text. `reduce.py` turns artifacts into the
contents of a message.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from llmneutral.errors import ConversionError
from llmneutral.ir.jsontext import JSONObject, dumps, plain_data
from llmneutral.ir.tools import ToolAction

_AUDIO_TYPES = {"mp3": "audio/mpeg", "wav": "audio/wav"}


class BaseArtifact(msgspec.Struct, frozen=True):
    """Anything a caller can put into a prompt or a tool can give back; `value` is what it wraps."""

    value: Any

    def to_text(self) -> str:
        """Returns the value as text."""
        return text_of(self.value)


class TextArtifact(BaseArtifact, frozen=True):
    """Text."""

    value: str


class InfoArtifact(BaseArtifact, frozen=True):
    """A remark of the system, as text."""

    value: str


class ErrorArtifact(BaseArtifact, frozen=True):
    """What went wrong, as text; as the output of a tool it becomes an error result."""

    value: str


class JsonArtifact(BaseArtifact, frozen=True):
    """Plain data: it travels as JSON text."""

    value: Any


class BlobArtifact(BaseArtifact, frozen=True):
    """Bytes with a media type: they become a picture, sound or a document by that type."""

    value: bytes
    media_type: str = "application/octet-stream"
    name: str | None = None

    def to_text(self) -> str:
        """Returns a note: bytes have no text."""
        return f"[{self.name or self.media_type}]"


class ImageArtifact(BaseArtifact, frozen=True):
    """A picture as bytes.

    Attributes:
        format: jpeg, png, gif or webp; the bytes decide in the end.
    """

    value: bytes
    format: str = "png"
    width: int | None = None
    height: int | None = None

    @property
    def media_type(self) -> str:
        """The media type, such as `image/png`."""
        return self.format if "/" in self.format else f"image/{self.format}"

    def to_text(self) -> str:
        """Returns a note in place of the picture."""
        return f"[{self.media_type}]"


class ImageUrlArtifact(BaseArtifact, frozen=True):
    """A picture at an address (https, or a data URL)."""

    value: str


class AudioArtifact(BaseArtifact, frozen=True):
    """Sound as bytes; `format` is wav, mp3 and so on."""

    value: bytes
    format: str = "wav"

    @property
    def media_type(self) -> str:
        """The media type, such as `audio/wav`."""
        return self.format if "/" in self.format else _AUDIO_TYPES.get(self.format, f"audio/{self.format}")

    def to_text(self) -> str:
        """Returns a note in place of the sound."""
        return f"[{self.media_type}]"


class DocumentArtifact(BaseArtifact, frozen=True):
    """A document as bytes with its file name, or text with the media type `text/plain`."""

    value: bytes | str
    name: str | None = None
    media_type: str = "application/pdf"

    def to_text(self) -> str:
        """Returns the text, or a note."""
        return self.value if isinstance(self.value, str) else f"[{self.name or self.media_type}]"


class GenericArtifact(BaseArtifact, frozen=True):
    """A block of one provider, passed through as it is.

    Attributes:
        value: The block as that API takes it.
        api: The API mode that knows it; None sends it to whatever API the prompt is converted for.
    """

    value: JSONObject
    api: str | None = None


class ActionArtifact(BaseArtifact, frozen=True):
    """A tool action: a call while it has no output, a result once it has one."""

    value: ToolAction

    def to_text(self) -> str:
        """Returns the output, or the call."""
        action = self.value
        return text_of(action.output) if action.output is not None else action.to_text()


class ListArtifact(BaseArtifact, frozen=True):
    """Several artifacts in order; reduced to their blocks, one after another."""

    value: Sequence[Any]

    def to_text(self) -> str:
        """Returns the texts of the members, one a line."""
        return "\n".join([text_of(member) for member in self.value])


def text_of(value: Any) -> str:
    """Returns the text form of anything: text as it is, nothing as "", data as JSON, else `str()`."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, BaseArtifact):
        return value.to_text()
    try:
        return dumps(value)
    except (TypeError, ValueError):
        return _text_of_object(value)


def _text_of_object(value: Any) -> str:
    try:
        plain = plain_data(value)
    except (TypeError, ValueError):  # bytes, or what holds itself
        return str(value)
    return plain if isinstance(plain, str) else dumps(plain)


def media_of(artifact: Any) -> JSONObject:
    """Returns the fields a media content takes from an artifact: data in base64, address, media type, name.

    Raises:
        TypeError: If the value is no media.
    """
    if isinstance(artifact, ImageUrlArtifact):
        return address(artifact.value)
    if isinstance(artifact, bytes | bytearray):
        return {"data": base64.b64encode(artifact).decode()}
    if isinstance(artifact, DocumentArtifact) and isinstance(artifact.value, str):
        return {"data": None, "text": artifact.value, "media_type": "text/plain", "name": artifact.name}
    if not isinstance(artifact, ImageArtifact | AudioArtifact | BlobArtifact | DocumentArtifact):
        raise TypeError(f"{type(artifact).__name__} is no picture, sound or document")
    if not isinstance(artifact.value, bytes | bytearray):
        kind, given = type(artifact).__name__, type(artifact.value).__name__
        raise ConversionError(f"an {kind} holds bytes, not a {given}; read the file, or give its address", rule="media")
    fields = {"data": base64.b64encode(artifact.value).decode(), "media_type": artifact.media_type}
    name = getattr(artifact, "name", None)
    return fields if name is None else {**fields, "name": name}


def address(url: str) -> JSONObject:
    """Returns the fields for an address: a data URL is split into its data and media type."""
    if url[:5].lower() != "data:":
        return {"data": None, "url": url}
    end = url.find(",") if "," in url else len(url)
    data = url[end + 1 :]  # the one copy of what may be long
    media_type, *flags = url[5:end].split(";")
    if "base64" not in [flag.strip().lower() for flag in flags]:
        # percent-encoded text: the rare form
        from urllib.parse import unquote_to_bytes

        data = base64.b64encode(unquote_to_bytes(data)).decode()
    return {"data": data, "url": None, "media_type": media_type.strip().lower() or None}
