"""Reads what a model wrote in the form Thought / Actions / Answer: text in, pieces out, cut anywhere.

A heading counts at the beginning of a line, in any case, with or without `**` around it. What stands after it is the
model's thought, its calls, or its answer; a text without any heading is the answer. The array of calls is found by a
scanner that stops where the array ends: what is written after it is not read. Each character is looked at a fixed
number of times, however the text is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from llmneutral.convert.react.actions import Tags, calls_of, unread

IGNORED = "text after the actions was ignored"
INVENTED = "the model went on after its actions, as if it had their results: that was ignored"
SECOND = "several Actions in one text: only the first was read"
UNASKED = "results that the model made up were ignored"
WITHOUT = "Actions without an array was ignored"

HEADING = re.compile(r"[ \t]{0,3}(\*\*)?(thought|actions|observations|answer)(\*\*)?[ \t]?[:\uff1a]", re.I | re.A)
BEGUN = re.compile(r"[ \t]{0,3}\*{0,2}(?:([a-z]+)(\*{0,2}[ \t]?))?", re.I | re.A)
WORDS = ("thought", "actions", "observations", "answer")
LONGEST = 24
IN_STRING = re.compile(r'["\\\n]')
IN_VALUE = re.compile(r'["\[\]{}\n]')
OPENED_BY = {"]": "[", "}": "{"}
BOM = "\ufeff"

State = Literal["before", "thought", "lead", "array", "broken", "after", "answer", "cut"]


class Piece(NamedTuple):
    """A part of what was read.

    Attributes:
        kind: thinking and text come with a piece of text, call with a content (a call or an invalid one), note with
            a remark.
        value: That text, content or remark.
    """

    kind: Literal["thinking", "text", "call", "note"]
    value: Any


class ReactParser:
    r"""One text in the making: `feed` it, `close` it once.

    Example:
        >>> parser = ReactParser()
        >>> [*parser.feed("Thought: easy\nAns"), *parser.feed("wer: 42"), *parser.close()]
        [Piece(kind='thinking', value='easy'), Piece(kind='text', value='42')]

    Args:
        taken: Tags of calls that the conversation has already: a call of this text gets another.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._tags = Tags(taken)
        self._state: State = "before"
        self._out: list[Piece] = []
        self._head = ""  # the beginning of a line that may become a heading
        self._line_start = True
        self._words = _Words("text", keeps_indent=True)
        self._said: dict[str, bool] = {}  # kinds of words that were given
        self._actions = _Actions()
        self._acted = False  # calls were given: nothing after them counts
        self._first = True
        self._noted: set[str] = set()

    def feed(self, text: str) -> list[Piece]:
        """Reads on."""
        if self._first and text:
            self._first, text = False, text.removeprefix(BOM)
        if self._head:
            text, self._head = self._head + text, ""
        place, end = 0, len(text)
        while place < end:
            place = self._step(text, place)
        out, self._out = self._out, []
        return out

    def close(self) -> list[Piece]:
        """Ends the text: what was held back is decided, and an array that is not whole is an invalid call."""
        head, self._head = self._head, ""
        if (found := HEADING.fullmatch(head.rstrip("*"))) is not None:
            self._begin(found[2].lower())
        elif head:
            self._line_start = False
            place = 0
            while place < len(head):
                place = self._line(head, place, len(head))
        if self._state in ("lead", "array", "broken"):
            self._reject()
        out, self._out = self._out, []
        self._state = "cut"
        return out

    def boundary(self) -> None:
        """Says that something else stood here: the next character begins a line."""
        self._line_start = self._line_start or not self._actions.in_string

    # --- lines ------------------------------------------------------------------------------------

    def _step(self, text: str, place: int) -> int:
        """Reads a heading, a line, or as far as the text goes; returns where to go on."""
        if self._state == "cut":
            return len(text)
        if self._state == "answer":
            self._say(text[place:])
            return len(text)
        if self._line_start:
            end = _heading(text, place)
            if end is None:  # not to be told yet
                self._head = text[place:]
                return len(text)
            self._line_start = False
            if end:
                found = HEADING.match(text, place)
                assert found is not None
                self._begin(found[2].lower())
                return end
        if self._state == "array":
            return self._scan(text, place)
        return self._line(text, place, text.find("\n", place) + 1 or len(text))

    def _line(self, text: str, place: int, end: int) -> int:
        """Reads a line, or a piece of one, that is no heading."""
        if self._state == "lead":
            end = self._actions.skip(text, place, end)
            if self._actions.started:
                self._state = "array"
                return end
            if end < 0:
                self._state = "broken"
                return place
        elif self._state in ("broken", "array"):
            self._actions.raw.append(text[place:end])
        elif self._state == "after":
            if text[place:end].strip(" \t\r\n`"):
                self._note(IGNORED)
        else:
            self._say(text[place:end])
        self._line_start = text[end - 1] == "\n"
        return end

    def _begin(self, word: str) -> None:
        """A heading."""
        if self._state in ("lead", "array", "broken"):
            if self._actions.started or word == "observations":
                self._reject()
            elif word != "actions":
                self._note(WITHOUT)
        if word == "observations":
            self._note(UNASKED)
            self._state = "cut"
        elif self._acted:
            self._note(SECOND if word == "actions" else INVENTED)
            self._state = "cut"
        elif word == "actions":
            self._actions = _Actions()
            self._state = "lead"
        else:
            self._state = "thought" if word == "thought" else "answer"
            kind: Literal["thinking", "text"] = "thinking" if word == "thought" else "text"
            self._words = _Words(kind, after=kind in self._said)

    # --- what is given ----------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        if said := self._words.take(text):
            kind = self._words.kind
            self._said[kind] = True
            if kind == "text":  # a thought after it begins another block
                self._said.pop("thinking", None)
            if self._out and self._out[-1].kind == kind:
                self._out[-1] = Piece(kind, self._out[-1].value + said)
            else:
                self._out.append(Piece(kind, said))

    def _note(self, remark: str) -> None:
        """Tells a remark, each once."""
        if remark not in self._noted:
            self._noted.add(remark)
            self._out.append(Piece("note", remark))

    def _reject(self) -> None:
        """What stands after the heading is no array of calls."""
        self._out.append(Piece("call", unread(self._actions.text, self._tags)))
        self._acted = True
        self._state = "after"

    # --- the array --------------------------------------------------------------------------------

    def _scan(self, text: str, place: int) -> int:
        """Reads on to the end of the array, of its line, or to where it cannot be one."""
        end = self._actions.scan(text, place)
        if self._actions.broken:
            self._state = "broken"
        elif not self._actions.depth:
            calls = calls_of("".join(self._actions.value), self._tags)
            if calls is None:
                self._reject()
            else:
                self._out += [Piece("call", call) for call in calls]
                self._acted = bool(calls)
                self._state = "after"
            return end
        self._line_start = text[end - 1] == "\n" and not self._actions.in_string
        return end


def _heading(text: str, place: int) -> int | None:
    """Says where a heading ends that begins at a place; 0 where none does, None where that cannot be told yet."""
    found = HEADING.match(text, place)
    if found is not None:
        end = found.end()
        if found[1] and not found[3]:  # the stars may close behind the colon
            if text.startswith("**", end):
                return end + 2
            if len(text) - end < 2 and text[end:] in ("", "*"):
                return None
        return end
    if len(text) - place > LONGEST or (begun := BEGUN.fullmatch(text, place)) is None:
        return 0
    word, rest = begun[1], begun[2]
    if word is None:
        return None
    known = word.lower() in WORDS if rest else any(each.startswith(word.lower()) for each in WORDS)
    return None if known else 0


class _Words:
    """The text of a thought or an answer, without the white space around it."""

    __slots__ = ("_fresh", "_held", "_indent", "_keeps", "kind", "prefix")

    def __init__(self, kind: Literal["thinking", "text"], *, keeps_indent: bool = False, after: bool = False) -> None:
        self.kind = kind
        self.prefix = "\n" if after else ""
        self._fresh = True
        self._keeps = keeps_indent  # the white space of the line it begins in
        self._indent: list[str] = []
        self._held: list[str] = []

    def take(self, text: str) -> str:
        """Returns what may be given of it now."""
        if self._fresh:
            words = text.lstrip()
            self._lead(text[: len(text) - len(words)])
            if not words:
                return ""
            self._fresh = False
            text = self.prefix + "".join(self._indent) + words
        said = text.rstrip()
        if not said:
            self._held.append(text)
            return ""
        held, self._held = self._held, [text[len(said) :]]
        return "".join([*held, said])

    def _lead(self, space: str) -> None:
        """White space before the first word: that of its own line is its indent, unless a heading stands there."""
        if "\n" in space:
            self._keeps = True
            self._indent = [space.rpartition("\n")[2]]
        elif self._keeps:
            self._indent.append(space)


class _Actions:
    """What stands after the heading Actions."""

    __slots__ = ("_escaped", "_in_fence", "_open", "broken", "in_string", "raw", "started", "value")

    def __init__(self) -> None:
        self.raw: list[str] = []
        self.value: list[str] = []  # the array, as far as it has come
        self.started = False
        self.broken = False
        self.in_string = False
        self._escaped = False
        self._in_fence = False
        self._open: list[str] = []

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return len(self._open)

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.raw).strip()

    def skip(self, text: str, place: int, end: int) -> int:
        """Skips white space and a fence; returns where that ends, -1 if what follows begins no array."""
        for at in range(place, end):
            char = text[at]
            if char in "[{":
                self.started = True
                self.raw.append(text[place:at])
                return at
            if char.isspace():
                self._in_fence = False
            elif char == "`":
                self._in_fence = True
            elif not (self._in_fence and char.isalnum()):
                return -1
        self.raw.append(text[place:end])
        return end

    def scan(self, text: str, place: int) -> int:
        """Reads on in the array; returns where it, its line, or the text ends, or where it is broken."""
        start = place
        goes_on = True
        while goes_on and place < len(text):
            if self._escaped:
                self._escaped = False
                place += 1
                continue
            found = (IN_STRING if self.in_string else IN_VALUE).search(text, place)
            place = len(text) if found is None else found.end()
            goes_on = found is not None and self._takes(found[0])
        self.raw.append(text[start:place])
        self.value.append(text[start:place])
        return place

    def _takes(self, char: str) -> bool:
        """Takes a character that counts, and says whether to go on."""
        if self.in_string:
            self._escaped = char == "\\"
            self.in_string = char == "\\"
            self.broken = char == "\n"  # no string goes over the end of a line
            return not self.broken
        if char == '"':
            self.in_string = True
        elif char in "[{":
            self._open.append(char)
        elif char != "\n":
            self.broken = self._open.pop() != OPENED_BY[char]
            return bool(self._open) and not self.broken
        return char != "\n"
