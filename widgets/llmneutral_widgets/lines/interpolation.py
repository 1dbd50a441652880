"""`{{name}}` in a prompt: found by walking, never evaluated.

What must live here: which places there are, what stands in them, and the error that names all that is missing. A
place is a name with attributes, numbers and quoted keys behind it; nothing is called, and no name that begins with an
underscore is followed. What is put in is not expanded again.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from llmneutral_widgets.lines.options import OptionError

LONGEST = 100 * 1024
"""Bytes of text that one place may bring."""
ROWS, COLUMNS = 20, 12
"""What is shown of a table."""

_PLACE = re.compile(r"""(\\?)\{\{((?:[^{}\n"']|"[^"\n]{0,200}"|'[^'\n]{0,200}'){1,300})\}\}|\\\{\{""")
_NAME = re.compile(r"\s*([^\W\d]\w*)")
_STEP = re.compile(r"\.([^\W\d]\w*)|\[\s*(-?\d{1,9}|\"[^\"]*\"|'[^']*')\s*\]")

Piece = str | Any
"""Text, or an object that becomes a block of its own."""


class Place:
    """One `{{…}}`: the name, the steps behind it, and how it was written."""

    def __init__(self, written: str) -> None:
        self.written = f"{{{{{written.strip()}}}}}"
        name = _NAME.match(written)
        if name is None:
            raise OptionError(f"{self.written} begins with no name; \\{{{{ is a literal {{{{")
        self.name = name[1]
        self.steps = list(self._steps(written.rstrip(), name.end()))
        if any([isinstance(key, _Attribute) and key[0] == "_" for key in (_Attribute(self.name), *self.steps)]):
            raise OptionError(f"{self.written}: names that begin with an underscore are not followed")

    def _steps(self, written: str, at: int) -> Iterator[str | int]:
        while at < len(written):
            found = _STEP.match(written, at)
            if found is None:
                way = written[:at].strip()
                raise OptionError(f"{self.written}: behind {way} only .attribute, [0] or ['key'] can be followed")
            at = found.end()
            if found[1]:
                yield _Attribute(found[1])
            else:
                yield found[2][1:-1] if found[2][0] in "\"'" else int(found[2])

    def value(self, namespace: Mapping[str, Any]) -> Any:
        """Returns what it holds.

        Raises:
            OptionError: If it leads nowhere, naming where the way ends and what is near.
        """
        if self.name not in namespace:
            known = [name for name in namespace if not name.startswith("_")]
            raise OptionError(f"{self.name} is not defined{_hint(self.name, known)}")
        found, way = namespace[self.name], self.name
        for step in self.steps:
            is_attribute = isinstance(step, _Attribute)
            try:
                found = getattr(found, str(step)) if is_attribute else found[step]
            except Exception as error:  # noqa: BLE001 - an attribute or key of the user's may fail in any way
                raise OptionError(_why(found, way, step, error)) from None
            way += f".{step}" if is_attribute else f"[{step!r}]"
        return found


def _why(found: Any, way: str, step: str | int, error: Exception) -> str:
    """Why a step leads nowhere: there is no such thing, or what is there could not be read."""
    is_attribute = isinstance(step, _Attribute)
    names = _names_in(found, is_attribute)
    said = type(error).__name__
    if step in names:
        return f"{way}.{step} could not be read: {said}: {error}"
    what = f"attribute {step}" if is_attribute else f"[{step!r}]"
    return f"{way} has no {what}{_hint(str(step), names)} ({said})"


class _Attribute(str):
    """A step to an attribute, not to a key."""

    __slots__ = ()


def interpolate(text: str, namespace: Mapping[str, Any]) -> list[Piece]:
    r"""Returns the text with its places filled, as pieces.

    Neighbouring texts are one piece. Artifacts, blocks and pictures stay objects, to become blocks of the message; a
    table becomes text, as does everything else (`str`). `\{{` is a literal `{{`; all other braces, dollars, percent
    signs and backslashes stand for themselves.

    Args:
        text: The text.
        namespace: The user's names; `In`, `Out` and `last_error` are names like others.

    Raises:
        OptionError: If a place cannot be read, leads nowhere (all of these are named, with the nearest names there
            are), or brings more than `LONGEST` bytes of text.
    """
    pieces: list[Piece] = []
    missing: list[str] = []
    for part in _parts(text):
        try:
            piece = _filled(part, part.value(namespace)) if isinstance(part, Place) else part
        except OptionError as error:
            missing.append(str(error))
            continue
        if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
            pieces[-1] += piece
        elif not isinstance(piece, str) or piece:
            pieces.append(piece)
    if missing:
        raise OptionError("; ".join(dict.fromkeys(missing)))
    return pieces


def resolve(written: str, namespace: Mapping[str, Any]) -> Any:
    """Returns what one place holds: `data.rows[0]['name']`, without the braces.

    Raises:
        OptionError: If it cannot be read or leads nowhere.
    """
    return Place(written).value(namespace)


def only_place(text: str) -> str | None:
    """Returns what stands in the braces, if a text is nothing but one place (the value of `-p {{driver}}`)."""
    found = _PLACE.fullmatch(text.strip())
    return found[2] if found and not found[1] else None


def _parts(text: str) -> Iterator[str | Place]:
    at = 0
    for found in _PLACE.finditer(text):
        if found.start() > at:
            yield text[at : found.start()]
        is_literal = found[2] is None or bool(found[1])
        yield found[0][1:] if is_literal else Place(found[2])
        at = found.end()
    if at < len(text):
        yield text[at:]


def _names_in(found: Any, is_attribute: bool) -> list[str]:
    if is_attribute:
        return [name for name in dir(found) if not name.startswith("_")]
    return [key for key in found if isinstance(key, str)] if isinstance(found, Mapping) else []


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _filled(place: Place, value: Any) -> Piece:
    return as_piece(place.written, value)


def as_piece(written: str, value: Any) -> Piece:
    """Returns what a value is in a message: its text, or itself where it becomes a block of its own.

    Args:
        written: How it was named, for errors.
        value: The value.

    Raises:
        OptionError: If it has no text, or one that is too long.
    """
    if is_block(value):
        return value
    try:
        text = table_text(value) if is_table(value) else str(value)
    except Exception as error:  # noqa: BLE001 - a value of the user's may fail in any way
        raise OptionError(f"{written} has no text: {type(error).__name__}: {error}") from None
    size = len(text.encode("utf-8", "replace"))
    if size > LONGEST:
        raise OptionError(f"{written} brings {size:,} bytes of at most {LONGEST:,}: take a part of it")
    return text


def is_block(value: Any) -> bool:
    """Whether a value becomes a block of its own: an artifact, a content, bytes, a picture or figure."""
    if isinstance(value, (bytes, bytearray)):
        return True
    if isinstance(value, (str, type)):
        return False
    import llmneutral

    own = (llmneutral.BaseArtifact, llmneutral.BaseMessageContent)
    return isinstance(value, own) or any(
        [hasattr(type(value), name) for name in ("_repr_png_", "_repr_jpeg_", "savefig")]
    )


def is_table(value: Any) -> bool:
    """Whether a value is a DataFrame, told without importing pandas."""
    return type(value).__name__ == "DataFrame" and hasattr(value, "to_csv") and hasattr(value, "iloc")


def table_text(frame: Any) -> str:
    """Returns a DataFrame as a Markdown table of at most `ROWS` × `COLUMNS`; what is cut is said."""
    height, width = frame.shape
    part = frame.iloc[:ROWS, :COLUMNS]
    lines = [_table_row(["", *map(str, part.columns)]), _table_row(["---"] * (part.shape[1] + 1))]
    lines += [
        _table_row([str(index), *map(str, row)])
        for index, row in zip(part.index, part.itertuples(index=False, name=None), strict=True)
    ]
    if height > ROWS or width > COLUMNS:
        lines.append(f"(the first {part.shape[0]} rows and {part.shape[1]} columns of {height:,} × {width:,})")
    return "\n".join(lines)


def _table_row(cells: list[str]) -> str:
    return "| " + " | ".join([" ".join(cell.replace("|", "\\|").split())[:200] for cell in cells]) + " |"
