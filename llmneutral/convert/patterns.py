r"""Whether a JSON Schema's pattern is found in a text, in a time that neither of them can stretch.

The engine is the one that pydantic brings along: its time grows with the text times what the pattern counts to, and no
faster, and it refuses patterns that would become too large. It knows no look-around and no back references. A pattern
with these is searched for by `re`, whose time may grow like a power of the text's length, or double with every
character. Only texts are looked at that are short for their pattern, and what is not looked at is said.
Digits, letters of words and spaces are those of ECMA-262, which JSON Schema names: `\d` and `\w` know ASCII only.
Sources: https://docs.rs/regex/latest/regex/#untrusted-input
https://json-schema.org/draft/2020-12/json-schema-core#section-6.4
https://tc39.es/ecma262/#sec-compiletocharset
"""

from __future__ import annotations

import functools
import re
import sys
from typing import Any

from llmneutral.convert.surrogates import has_surrogates, scrubbed

MOST_STEPS = 5_000_000
"""Steps of `re` that a search may take, as far as its pattern tells: some tenths of a second."""
MOST_STATES = 50_000_000
"""What a pattern counts to times the characters of a text, for the engine: some tenths of a second."""
MOST_DOUBLINGS = 12
"""Characters of a text at most where each may multiply the steps: something repeated is repeated again."""
LONGEST_SHOWN = 60

TOKEN = re.compile(
    r"(?P<look>\(\?<?[=!])|(?P<open>\((?:\?(?:[:>]|P?<\w+>|[a-zA-Z-]*:))?)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<again>(?:[*+?]|\{\d*,?\d*\})[?+]?)|(?P<one>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)",
    re.DOTALL,
)
BACK = re.compile(r"\\[1-9]")
COUNT = re.compile(r"\d{1,18}")
IN_A_SET = re.compile(r"(-?)\\([dDwWsS])(-?)|\\.|[\[&~]|--", re.DOTALL)
"""Classes in a set, and what both engines read, or may come to read, as an operation on sets; ECMA has none."""
CLASSES = {
    "d": "0-9",
    "D": r"\x00-\x2f\x3a-\U0010ffff",
    "w": "0-9A-Z_a-z",
    "W": r"\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\U0010ffff",
    "s": r"\x09-\x0d\x20\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    "S": (
        r"\x00-\x08\x0e-\x1f\x21-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
        r"\u3001-\ufefe\uff00-\U0010ffff"
    ),
}
"""The classes of ECMA as ranges that both engines read."""


def found(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found somewhere in a text; None where that was not looked at."""
    engine, longest = _engine(pattern)
    if engine is not None:
        if len(text) > longest:
            return None
        known: bool = engine(text) or (has_surrogates(text) and engine(scrubbed(text)))
        return known
    search, longest = _backtracking(pattern)
    if search is None or len(text) > longest:
        return None
    return search(text) is not None


def unchecked(pattern: str) -> str:
    """Says that a pattern was not looked at, and why."""
    shown = pattern if len(pattern) <= LONGEST_SHOWN else f"{pattern[:LONGEST_SHOWN]}…"
    search, longest = _engine(pattern)
    if search is None:
        search, longest = _backtracking(pattern)
    if search is None:
        return f"the pattern {shown} was not checked: it cannot be read here"
    return f"the pattern {shown} was not checked: texts of more than {longest} characters could take it too long"


@functools.lru_cache(maxsize=256)
def _engine(pattern: str) -> tuple[Any, int]:
    """What tells whether the pattern is found, in time linear in the text, and in texts of how many characters.

    None where it cannot be told so.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if has_surrogates(pattern):
        return None, 0
    schema = core_schema.str_schema(pattern=_spelled(pattern, r"(?-u:\%s)"), regex_engine="rust-regex")
    try:
        return SchemaValidator(schema).isinstance_python, _longest(pattern)
    except SchemaError:
        return None, 0


@functools.lru_cache(maxsize=256)
def _backtracking(pattern: str) -> tuple[Any, int]:
    """How `re` searches for the pattern, and in texts of how many characters it may; None where it cannot."""
    try:
        search = re.compile(_spelled(pattern, r"(?a:\%s)")).search
    except (re.error, OverflowError, RecursionError):
        return None, 0
    power, nests = _worst(pattern)
    if nests:
        return search, MOST_DOUBLINGS
    return search, int(MOST_STEPS ** (1 / max(1, power + (not pattern.startswith("^")))))


def _spelled(pattern: str, edge: str) -> str:
    """The pattern as ECMA means it: its classes, its edges of words, and what stands for itself in a set.

    Args:
        pattern: Any.
        edge: How an engine writes edges of words of ASCII.
    """

    def spelled(token: re.Match[str]) -> str:
        text = token[0]
        if text.startswith("["):
            return _set(text)
        if len(text) != 2 or text[0] != "\\":
            return text
        if text[1] in "bB":
            return edge % text[1]
        return f"[{CLASSES[text[1]]}]" if text[1] in CLASSES else text

    return TOKEN.sub(spelled, pattern)


def _set(text: str) -> str:
    """A set of characters, as ECMA means it; a single bracket is none."""
    if text == "[":
        return text
    opened = "[^" if text.startswith("[^") else "["
    body = text.removeprefix(opened)
    if body.startswith("--"):  # a range that begins with a dash
        opened, body = f"{opened}\\-", body[1:]
    return opened + IN_A_SET.sub(_in_a_set, body)


def _in_a_set(found: re.Match[str]) -> str:
    if found[2]:  # beside a class, a dash makes no range
        return ("\\-" if found[1] else "") + CLASSES[found[2]] + ("\\-" if found[3] else "")
    return "-\\-" if found[0] == "--" else f"\\{found[0][-1]}"


def _longest(pattern: str) -> int:
    """In texts of how many characters the engine may search: each may meet all that the pattern counts to."""
    sizes, last, is_bounded = [0], 0, pattern.startswith("^")
    for token in TOKEN.finditer(pattern):
        kind = token.lastgroup
        if kind in ("open", "look"):
            sizes.append(0)
            continue
        if kind == "again":
            counts = [int(count) for count in COUNT.findall(token[0])]
            is_bounded = is_bounded and (token[0][0] == "?" or bool(counts)) and ",}" not in token[0]
            more = last * (max([1, *counts]) - 1)
            last += more
            sizes[-1] += more
            continue
        last = sizes.pop() if kind == "close" and len(sizes) > 1 else 1
        sizes[-1] += last
        is_bounded = is_bounded and kind != "or"
    size = max(1, sum(sizes))
    if is_bounded and size**2 <= MOST_STATES:  # what lies behind the longest that fits is never met
        return sys.maxsize
    return MOST_STATES // size


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
