"""A growing text in pieces that never change again, so that a long answer costs as much as it is long.

What must live here: where a text may be cut. A piece is rendered by itself, so a cut between two paragraphs shows
nothing; one inside a fence closes the fence and opens it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

SIZE = 1_500
"""Characters of a piece, about."""
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)$")
_PARAGRAPH = re.compile(r"\n[ \t]*\n(?=[^\s])")
_BLANK = re.compile(r"\n[ \t]*\n")
_LINE = re.compile(r"\n")
_WORD = re.compile(r"[ \t]")


class Segment(NamedTuple):
    """A piece of the text: as it came, and as it is rendered, with the fences that were cut mended."""

    source: str
    shown: str


class Segments:
    """Cuts a growing text.

    Args:
        clean: Takes secrets out, before a cut can run through one.
        held: How many characters at the end may be the beginning of a secret.
        size: Characters of a piece, about; the live end has about twice as many at most.
    """

    def __init__(
        self, clean: Callable[[str], str] = str, held: Callable[[str], int] = lambda text: 0, size: int = SIZE
    ) -> None:
        self.seen = 0
        self._clean = clean
        self._held = held
        self._size = size
        self._fence = ""
        self._text = ""
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """Takes more text."""
        self._pieces.append(piece)
        self.seen += len(piece)

    def finished(self) -> list[Segment]:
        """Returns the pieces that are ready now; each is returned once."""
        self._text += "".join(self._pieces)
        self._pieces.clear()
        found: list[Segment] = []
        while len(self._text) > 2 * self._size:
            self._text = self._clean(self._text)
            safe = len(self._text) - self._held(self._text)
            if safe <= self._size:
                break
            found.append(self._take(self._cut(min(safe, 2 * self._size))))
        return found

    def end(self, *, is_last: bool = False) -> Segment:
        """Returns the live end; unless it is the last, without what may be the beginning of a secret."""
        text = self._text + "".join(self._pieces)
        held = 0 if is_last else self._held(text)
        source = text[: len(text) - held] if held else text
        return Segment(source, self._clean(self._opened(source)))

    def _opened(self, source: str) -> str:
        return f"{self._fence}\n{source}" if self._fence else source

    def _cut(self, most: int) -> int:
        """Where the next piece ends: behind a paragraph, a blank line, a line or a word, whichever there is."""
        for boundary in (_PARAGRAPH, _BLANK, _LINE, _WORD):
            found = [match.end() for match in boundary.finditer(self._text, self._size // 2, most)]
            if found:
                return next((end for end in found if end >= self._size), found[-1])
        return most

    def _take(self, at: int) -> Segment:
        source, self._text = self._text[:at], self._text[at:]
        shown = self._opened(source)
        for line in source.split("\n"):
            self._fence = fence_after(line, self._fence)
        if self._fence:
            mark = _FENCE.match(self._fence)
            assert mark is not None  # it was taken for a fence by the same pattern
            shown = f"{shown.rstrip(chr(10))}\n{mark[1]}"
        return Segment(source, shown)


def fence_after(line: str, fence: str) -> str:
    """Returns the first line of the fence that is open after a line, if one is."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return line.strip()
    mark = _FENCE.match(fence)
    closes = mark is not None and found[1].startswith(mark[1]) and not found[2].strip()
    return "" if closes else fence
