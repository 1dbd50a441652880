"""Whether a JSON Schema's pattern is found in a text, in a time that neither of them can stretch.

The engine is the one that pydantic brings along: its time grows with the text and no faster, and it refuses patterns
that would become too large. It knows no look-around and no back references. A pattern with these is searched for by
`re`, whose time may grow like a power of the text's length, or double with every character; there only texts are looked
at that are short for such a pattern, and what is not looked at is said.
Source: https://docs.rs/regex/latest/regex/#untrusted-input
"""

from __future__ import annotations

import functools
import re
from typing import Any

from llmneutral.convert.surrogates import has_surrogates, scrubbed

MOST_STEPS = 5_000_000
"""Steps of `re` that a search may take, as far as its pattern tells: some tenths of a second."""
MOST_DOUBLINGS = 12
"""Characters of a text at most where each may multiply the steps: something repeated is repeated again."""
LONGEST_SHOWN = 60

TOKEN = re.compile(
    r"(?P<look>\(\?<?[=!])|(?P<open>\((?:\?(?:[:>]|P?<\w+>|[a-zA-Z-]*:))?)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<again>(?:[*+?]|\{\d*,?\d*\})[?+]?)|(?P<one>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)",
    re.DOTALL,
)
BACK = re.compile(r"\\[1-9]")
IN_A_SET = re.compile(r"\\.|[\[&~]|--", re.DOTALL)
"""What both engines read, or may come to read, as an operation on sets of characters; ECMA has none."""


def found(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found somewhere in a text; None where that was not looked at."""
    engine = _engine(pattern)
    if engine is not None:
        known: bool = engine(text) or (has_surrogates(text) and engine(scrubbed(text)))
        return known
    search, longest = _backtracking(pattern)
    if search is None or len(text) > longest:
        return None
    return search(text) is not None


def unchecked(pattern: str) -> str:
    """Says that a pattern was not looked at, and why."""
    shown = pattern if len(pattern) <= LONGEST_SHOWN else f"{pattern[:LONGEST_SHOWN]}…"
    search, longest = _backtracking(pattern)
    if search is None:
        return f"the pattern {shown} was not checked: it cannot be read here"
    return f"the pattern {shown} was not checked: texts of more than {longest} characters could take it too long"


@functools.lru_cache(maxsize=256)
def _engine(pattern: str) -> Any:
    """What tells whether the pattern is found, in time linear in the text; None where it cannot be told so."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if has_surrogates(pattern):
        return None
    schema = core_schema.str_schema(pattern=_spelled(pattern), regex_engine="rust-regex")
    try:
        return SchemaValidator(schema).isinstance_python
    except SchemaError:
        return None


@functools.lru_cache(maxsize=256)
def _backtracking(pattern: str) -> tuple[Any, int]:
    """How `re` searches for the pattern, and in texts of how many characters it may; None where it cannot."""
    try:
        search = re.compile(_spelled(pattern)).search
    except (re.error, OverflowError, RecursionError):
        return None, 0
    power, nests = _worst(pattern)
    if nests:
        return search, MOST_DOUBLINGS
    return search, int(MOST_STEPS ** (1 / max(1, power + (not pattern.startswith("^")))))


def _spelled(pattern: str) -> str:
    """The pattern, with what stands for itself in a set of characters marked as such."""
    return TOKEN.sub(lambda token: _set(token[0]) if token[0][:1] == "[" else token[0], pattern)


def _set(text: str) -> str:
    """A set of characters, as ECMA means it; a single bracket is none."""
    if text == "[":
        return text
    opened = "[^" if text.startswith("[^") else "["
    body = text.removeprefix(opened)
    if body.startswith("--"):  # a range that begins with a dash
        opened, body = f"{opened}\\-", body[1:]
    return opened + IN_A_SET.sub(lambda found: "-\\-" if found[0] == "--" else f"\\{found[0][-1]}", body)


def _worst(pattern: str) -> tuple[int, bool]:
    """The power of a text's length by which the steps may grow, and whether something repeated is repeated again.

    Look-around is never gone back into: of several, the worst counts.
    """
    groups, last, nests = [_Group()], "", False
    inner = 0  # loops of the group that has just been closed
    for token in TOKEN.finditer(pattern):
        kind, group = str(token.lastgroup), groups[-1]
        if kind in ("open", "look"):
            groups.append(_Group(kind == "look"))
        elif kind == "or" or BACK.fullmatch(token[0]):
            group.loops += 1
        elif kind == "again":
            nests = nests or (last == "close" and inner > 0)
            group.loops += 1
        elif kind == "close" and len(groups) > 1:
            inner = groups.pop().loops + group.inside
            groups[-1].take(group)
        last = kind
    return groups[0].loops + groups[0].inside, nests


class _Group:
    """What may be gone back into, in a group that is being read."""

    def __init__(self, is_look: bool = False) -> None:
        self.is_look = is_look
        self.loops = 0
        self.inside = 0

    def take(self, inner: _Group) -> None:
        """A group in it is closed."""
        if inner.is_look:
            self.inside = max(self.inside, inner.loops + inner.inside)
        else:
            self.loops += inner.loops
            self.inside = max(self.inside, inner.inside)
