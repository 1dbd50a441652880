"""From a `%%prompt` and the user's names to what is sent: the message of the question, tools, the form of the answer.

What must live here: what `-a`, `-t`, `--schema` and `{{…}}` may be. Nothing is fetched and nothing is sent; every
mistake is an `OptionError` that names the thing and the remedy.
"""

from __future__ import annotations

import base64
import builtins
import io
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import msgspec

from llmneutral_widgets.lines.interpolation import as_piece, interpolate, only_place, resolve
from llmneutral_widgets.lines.options import OptionError, a_kind, nearest
from llmneutral_widgets.lines.prompt_line import PromptLine
from llmneutral_widgets.views.pictures import picture_type

LARGEST_FILE = 32 * 1024 * 1024
"""Bytes of a file that may be attached: more than any provider takes in one request."""
_MOST_SIBLINGS = 2_000


class Composed(msgspec.Struct, frozen=True):
    """What one `%%prompt` brings.

    Attributes:
        question: The user's message.
        system: The system text it sets; None leaves the conversation's.
        tools: Functions, Tools or definitions.
        output_schema: The form of the answer, or None.
    """

    question: Any
    system: str | None
    tools: tuple[Any, ...]
    output_schema: Any


def compose(given: PromptLine, cell: str | None, namespace: Mapping[str, Any]) -> Composed:
    """Returns what a `%%prompt` sends.

    Args:
        given: Its line.
        cell: The text below the line; None for `%prompt`.
        namespace: The user's names.

    Raises:
        OptionError: If there is nothing to send, or anything named cannot be found or used.
    """
    import llmneutral

    written = "\n".join([part for part in (given.text, (cell or "").strip("\n").rstrip()) if part])
    pieces = [written] if given.raw else _filled(written, namespace)
    blocks = [block for piece in pieces for block in blocks_of(piece) if piece != ""]
    attached = [block for what in given.attachments for block in attachment(what, namespace)]
    if not blocks and not attached:
        raise OptionError("there is nothing to ask: write the question behind the options or below the line")
    system = given.system if given.system is None or given.raw else _text_of(given.system, namespace)
    tools = [tool for name in given.tools for tool in _tools(name, namespace)]
    schema = None if given.schema is None else _schema(given.schema, namespace)
    return Composed(llmneutral.Message("user", (*attached, *blocks)), system, tuple(tools), schema)


def _text_of(written: str, namespace: Mapping[str, Any]) -> str:
    pieces = interpolate(written, namespace)
    if not all([isinstance(piece, str) for piece in pieces]):
        raise OptionError("-s takes text: a picture or document belongs to the question")
    return "".join(pieces)


# ----------------------------------------------------------------------------------------------------------------------
# Blocks


def blocks_of(value: Any) -> Sequence[Any]:
    """Returns the blocks of a message that a value stands for.

    Raises:
        OptionError: If it is bytes of an unknown kind, or a picture that cannot be drawn.
    """
    import llmneutral

    if isinstance(value, str):
        return (llmneutral.TextMessageContent(value),)
    if isinstance(value, (bytes, bytearray)):
        return _media(bytes(value), None, "the bytes")
    if isinstance(value, (llmneutral.BaseMessageContent, llmneutral.BaseArtifact)):
        return tuple(llmneutral.contents_of(value))
    return _media(_drawn(value), None, f"the picture of {a_kind(value)}")


def _drawn(value: Any) -> bytes:
    """A figure or picture as PNG or JPEG."""
    try:
        if hasattr(value, "savefig"):
            buffer = io.BytesIO()
            value.savefig(buffer, format="png")
            return buffer.getvalue()
        made = value._repr_png_() if hasattr(value, "_repr_png_") else value._repr_jpeg_()
        made = made[0] if isinstance(made, tuple) else made
        return base64.b64decode(made) if isinstance(made, str) else bytes(made)
    except Exception as error:
        raise OptionError(f"{a_kind(value)} could not be drawn: {type(error).__name__}: {error}") from error


def attachment(what: str, namespace: Mapping[str, Any]) -> Sequence[Any]:
    """Returns the blocks of what stands behind `-a`: a file, an https address, or `{{variable}}`.

    Raises:
        OptionError: If it cannot be found, or is of a kind that cannot be sent.
    """
    if (place := only_place(what)) is not None:
        return blocks_of(as_piece(f"-a {what}", resolve(place, namespace)))
    pieces = interpolate(what, namespace)
    if not all([isinstance(piece, str) for piece in pieces]):
        raise OptionError(f"-a {what}: a picture or document stands alone, as -a {{{{name}}}}")
    where = "".join(pieces)
    if not where.strip():
        raise OptionError("-a needs a file, an https address or {{variable}}")
    if "://" in where:
        return _address(where)
    path = Path(where).expanduser()
    if path.exists() and not path.is_file():
        raise OptionError(f"-a {where}: that is {'a folder' if path.is_dir() else 'no file'}; -a takes one file")
    if not path.is_file():
        hint = nearest(path.name, [entry.name for entry in islice(_siblings(path), _MOST_SIBLINGS)])
        raise OptionError(f"-a {where}: there is no such file{f'; {hint}' if hint.startswith('did') else ''}")
    if path.stat().st_size > LARGEST_FILE:
        raise OptionError(f"-a {where}: {path.stat().st_size:,} bytes are more than {LARGEST_FILE:,}")
    return _media(path.read_bytes(), path.name, f"-a {where}")


def _siblings(path: Path) -> Iterator[Path]:
    folder = path.parent
    return folder.iterdir() if folder.is_dir() else iter(())


def _address(where: str) -> Sequence[Any]:
    """An address is sent as an address; it is never fetched here."""
    import llmneutral

    if not where.startswith("https://"):
        raise OptionError(f"-a {where}: only https addresses are sent on")
    name = PurePosixPath(urlsplit(where).path).name
    media_type = mimetypes.guess_type(name)[0] or ""
    if media_type.startswith("image/"):
        return (llmneutral.ImageMessageContent(url=where),)
    return (llmneutral.DocumentMessageContent(url=where, name=name or None, media_type=media_type or None),)


_SIGNS = ((b"%PDF-", "application/pdf"), (b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"), (b"OggS", "audio/ogg"))


def _media(content: bytes, name: str | None, told: str) -> Sequence[Any]:
    """Bytes as a picture, sound, PDF or text: by what they begin with, then by the file's name."""
    import llmneutral

    media_type = picture_type(content) or next((kind for sign, kind in _SIGNS if content.startswith(sign)), None)
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        media_type = "audio/wav"
    media_type = media_type or (mimetypes.guess_type(name)[0] if name else None)
    if media_type and (media_type.startswith(("image/", "audio/")) or media_type == "application/pdf"):
        return tuple(llmneutral.contents_of(llmneutral.BlobArtifact(content, media_type, name)))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise OptionError(f"{told}: neither picture, sound, PDF nor text, so no provider takes it") from None
    return (llmneutral.DocumentMessageContent(text=text, name=name, media_type="text/plain"),)


# ----------------------------------------------------------------------------------------------------------------------
# Tools, and the form of the answer


def _tools(name: str, namespace: Mapping[str, Any]) -> list[Any]:
    import llmneutral

    found = _named("-t", name, namespace)
    tools = list(found) if isinstance(found, (list, tuple)) else [found]
    for tool in tools:
        if not (callable(tool) or isinstance(tool, (llmneutral.Tool, llmneutral.ToolDefinition, Mapping))):
            raise OptionError(f"-t {name} is {a_kind(tool)}; it takes a function, a Tool, or a list of them")
    return tools


def _schema(name: str, namespace: Mapping[str, Any]) -> Any:
    found = _named("--schema", name, namespace)
    if isinstance(found, (type, Mapping)):
        return found
    kind = a_kind(found)
    raise OptionError(f"--schema {name} is {kind}; it takes a pydantic model, dataclass, TypedDict or JSON Schema")


def _filled(written: str, namespace: Mapping[str, Any]) -> list[Any]:
    try:
        return interpolate(written, namespace)
    except OptionError as error:
        raise OptionError(f"{error}; {{{{…}}}} stands for a variable's value, and --raw sends it as typed") from None


def _named(option: str, name: str, namespace: Mapping[str, Any]) -> Any:
    if only_place(name) is None and not re.match(r"[^\W\d]", name):
        known = "; the temperature is --temperature" if option == "-t" else ""
        raise OptionError(f"{option} takes the name of a variable{f', not {name}' if name else ''}{known}")
    if name not in namespace and hasattr(builtins, name):
        raise OptionError(f"{option} {name}: that is Python's own; it takes a variable of the notebook")
    try:
        return resolve(only_place(name) or name, namespace)
    except OptionError as error:
        raise OptionError(f"{option} {name}: {error}") from None
