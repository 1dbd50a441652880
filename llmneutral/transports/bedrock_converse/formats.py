"""What Converse calls the formats of media, and where the bytes stand in a block.

Source: botocore 1.44, bedrock-runtime 2023-09-30 (ImageFormat, AudioFormat, DocumentFormat; shapes of type blob).
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.media import ENDINGS
from llmneutral.convert.rest import bytes_of
from llmneutral.ir.contents import Origin

API = "bedrock_converse"
OWN = Origin(API)
S3 = "s3://"
NUMBERS = "numbers"
"""Marks data whose bytes came as an object of numbers."""

IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
DOCUMENTS = ENDINGS
AUDIO = {
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/mp4": "mp4",
    "audio/webm": "webm",
    "audio/x-m4a": "m4a",
    "audio/m4a": "m4a",
    "audio/pcm": "pcm",
    "audio/l16": "pcm",
    "audio/x-matroska": "mka",
    "audio/x-aac": "x-aac",
}
"""Media type → format."""


def media_types(formats: dict[str, str]) -> dict[str, str]:
    """Returns format → media type; of several types of one format the first counts."""
    return {name: media_type for media_type, name in reversed(formats.items())}


OPAQUE = frozenset(("input", "json"))
"""Keys under which anything may stand (the model's arguments, a tool's data): nothing is looked for below them."""

BLOBS = frozenset(("bytes", "redactedContent"))


def with_bytes(value: Any) -> Any:
    """Returns a block in the form boto3 takes: base64 text where the service has a blob becomes its bytes."""
    if isinstance(value, dict):
        return {key: entry if key in OPAQUE else _blob(key, entry) for key, entry in value.items()}
    return [with_bytes(entry) for entry in value] if isinstance(value, list) else value


def _blob(key: str, entry: Any) -> Any:
    if key in BLOBS and isinstance(entry, str) and (data := bytes_of(entry)) is not None:
        return data
    return with_bytes(entry)


SERVER_TOOL = "server_tool_use"


def is_server_tool(kind: str, inner: Any) -> bool:
    """Whether a block is the call of a tool that Amazon runs, or its result."""
    if kind == "toolUse":
        return bool(inner.get("type") == SERVER_TOOL)
    return kind == "toolResult" and inner.get("type") is not None
