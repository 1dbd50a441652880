"""A recorded stream without secrets, even where the provider gave one in pieces.

A key that comes as `sk-`, `an`, `t-…` is none in any single chunk, and is one again as soon as the pieces are shown
beside one another. So the texts of each block are put together, and what is secret in them is taken out of the pieces,
and of the chunks they came in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from llmneutral_widgets.scrub import MASK, Secrets, current_secrets, plain
from llmneutral_widgets.views.page import count

_FIELDS = ("text", "partial_input", "transcript")

Entry = list[Any]
"""Seconds, the provider's chunk, our deltas; plain data."""


class _Piece(NamedTuple):
    """What a delta adds to its block: where it stands, and the text."""

    entry: Entry
    content: dict[str, Any]
    field: str

    @property
    def text(self) -> str:
        """The text."""
        return str(self.content[self.field])


class Recorded(Protocol):
    """What has a recording, of which chunks may be lost: an exchange, or one of its requests."""

    @property
    def deltas(self) -> Sequence[Any]:
        """The recording."""

    @property
    def lost_chunks(self) -> int:
        """How many chunks are not in it."""


def stopped_at(recorded: Recorded) -> str | None:
    """Returns where a recording that does not hold all chunks ends ("5,000 of 6,100 chunks"); None if it holds all."""
    kept = len(recorded.deltas)
    return f"{kept:,} of {count(kept + recorded.lost_chunks, 'chunk')}" if recorded.lost_chunks else None


def clean_record(record: Sequence[Sequence[Any]], secrets: Secrets | None = None) -> list[Entry]:
    """Returns a recording (`stream.record`) as plain data without secrets.

    Args:
        record: Seconds, chunk, deltas.
        secrets: What must not be shown; by default what is secret at this moment.
    """
    known = secrets or current_secrets()
    entries: list[Entry] = [plain([seconds, chunk, list(deltas)], known) for seconds, chunk, deltas in record]
    blocks: dict[tuple[str, int], list[_Piece]] = {}
    for kind, piece in _pieces(entries):
        blocks.setdefault((kind, int(piece.content.get("index") or 0)), []).append(piece)
    for pieces in blocks.values():
        _clean(pieces, known)
    return entries


def _pieces(entries: Sequence[Entry]) -> Iterator[tuple[str, _Piece]]:
    for entry in entries:
        for delta in entry[2]:
            content = delta.get("content") if isinstance(delta, dict) else None
            field = next((name for name in _FIELDS if isinstance(content, dict) and content.get(name)), None)
            if isinstance(content, dict) and field is not None:
                yield str(delta.get("kind")), _Piece(entry, content, field)


def _clean(pieces: Sequence[_Piece], secrets: Secrets) -> None:
    """Masks the pieces from the first secret of their text to the last."""
    text = "".join([piece.text for piece in pieces])
    clean = secrets.text(text)
    if clean == text:
        return
    start = _agreeing(text, clean)
    end = len(text) - _agreeing(text[start:][::-1], clean[start:][::-1])
    at = 0
    for piece in pieces:
        written = piece.text
        first, last = max(0, start - at), min(len(written), end - at)
        at += len(written)
        if first < last:
            masked = f"{written[:first]}{MASK}{written[last:]}"
            piece.content[piece.field] = masked
            piece.entry[1] = _replaced(piece.entry[1], written, masked)


def _agreeing(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _replaced(value: Any, written: str, masked: str) -> Any:
    """A chunk with a text in the place of another, wherever it stands."""
    if isinstance(value, str):
        return value.replace(written, masked)
    if isinstance(value, list):
        return [_replaced(item, written, masked) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, written, masked) for key, item in value.items()}
    return value
