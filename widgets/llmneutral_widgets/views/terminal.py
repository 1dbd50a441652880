"""Text for where there is no front end: no line wider than the terminal, and nothing in it that would drive one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from llmneutral_widgets.views.page import count, visible

NARROWEST = 20
"""Cells that are always taken for there: a narrower terminal breaks the lines itself."""
_TAB = "    "
_WIDE = frozenset({"F", "W"})
_NO_CELL = frozenset({"Mn", "Me", "Cf"})


def cells(source: str) -> int:
    """Returns how many cells of a terminal a text takes: East Asian letters take two, accents of their own none."""
    return len(source) if source.isascii() else sum(map(_cell, source))


def _cell(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.category(char) in _NO_CELL:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def cut(source: str, width: int) -> str:
    """Returns a text as one line, with a mark at its end where it is cut."""
    flat = " ".join(visible(source[: width * 8]).split())
    if len(source) <= width * 8 and cells(flat) <= width:
        return flat
    return f"{flat[: _end(flat, max(1, width - 1))]}…"


def wrapped(source: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Returns the lines of a text, broken between words where there are any.

    Args:
        source: The text; its own line ends stay.
        width: Cells of a line.
        first: What stands before the first line.
        rest: What stands before the others; without it as many blanks.
    """
    lead, behind = first, " " * cells(first) if rest is None else rest
    found: list[str] = []
    for given in visible(source).replace("\t", _TAB).split("\n"):
        left = given
        while True:
            room = max(2, width - cells(lead))
            end = _end(left, room)
            if end < len(left):
                end = _between_words(left, end)
            found.append(f"{lead}{left[:end]}".rstrip(" "))
            lead, left = behind, left[end:].lstrip(" ") if end < len(left) else ""
            if not left:
                break
    return found


def _end(source: str, room: int) -> int:
    """How many characters of a text fit: at least one, so that it ends."""
    if source.isascii():
        return min(len(source), room)
    taken = 0
    for at, char in enumerate(source[: room * 4]):
        taken += _cell(char)
        if taken > room:
            return max(1, at)
    return min(len(source), room * 4)


def _between_words(source: str, end: int) -> int:
    """The last gap between words before an end, if one is near enough; otherwise the end itself."""
    if source[end] == " ":
        return end
    gap = source.rfind(" ", end // 2, end)
    return gap + 1 if gap > 0 and source[:gap].strip(" ") else end


def excerpt(source: str, most: int, lines: int = 60) -> str:
    """Returns the beginning of a text, and how much more there is of it."""
    shown = source[:most]
    if shown.count("\n") >= lines:
        shown = "\n".join(shown.split("\n", lines)[:lines])
    missing = len(source) - len(shown)
    return f"{shown}… ({missing:,} more)" if missing else source


def several(items: Sequence[str], most: int, noun: str) -> list[str]:
    """Returns the first few of some lines, and how many more there are."""
    hidden = len(items) - most
    return [*items[:most], f"… {count(hidden, f'more {noun}')}"] if hidden > 0 else list(items)


def heading(title: str, width: int) -> str:
    """Returns a title with a rule to the end of the line."""
    said = f"── {cut(title, max(1, width - 4))} "
    return said + "─" * (width - cells(said))


def beside(left: Iterable[str], right: Iterable[str], width: int, between: str) -> list[str]:
    """Returns two columns of lines as one.

    Args:
        left: Lines of the first column, none wider than `width`.
        right: Lines of the second one.
        width: Cells of the first column.
        between: What stands between them in the first line; as many blanks in the others.
    """
    first, second = list(left), list(right)
    found = []
    for n in range(max(len(first), len(second))):
        one, other = (lines[n] if n < len(lines) else "" for lines in (first, second))
        gap = between if n == 0 else " " * cells(between)
        found.append(f"{one}{' ' * (width - cells(one))}{gap}{other}".rstrip(" "))
    return found
