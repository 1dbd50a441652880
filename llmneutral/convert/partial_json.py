"""JSON that is still being written: the best value that can be shown of what has come so far.

For display and previews only. A tool never runs on it: what is run is parsed strictly, once, when all has come.

What is open is closed by a stack, and what cannot be shown yet is held back: a key without its value, the sign of a
number, an escape that is cut, half a surrogate pair, the beginning of `true`, `false` or `null`. Each character is read
once, however the text is cut; a text that is no JSON stops the reading, and what was read stays.
Source of the grammar: https://www.rfc-editor.org/rfc/rfc8259
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["PartialJson"]

SPACES = " \t\n\r"
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
NUMERIC = re.compile(r"[-+.0-9eE]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
HEX = re.compile(r"[0-9a-fA-F]{4}")

LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
UNICODE_ESCAPE = 6  # backslash, u, four digits
HIGH = range(0xD800, 0xDC00)
LOW = range(0xDC00, 0xE000)
NOTHING: Any = object()


class PartialJson:
    r"""Reads one JSON text in pieces.

    Example:
        >>> text = PartialJson()
        >>> text.feed('{"city": "Os')
        {'city': 'Os'}
        >>> text.feed('lo", "days": -'), text.complete
        ({'city': 'Oslo'}, False)

    Attributes:
        broken: What was read is no JSON; nothing more is read.
    """

    __slots__ = ("_cut", "_high", "_is_key", "_keys", "_pieces", "_placed", "_root", "_stack", "_step", "broken")

    def __init__(self) -> None:
        self.broken = False
        self._root: Any = NOTHING
        self._stack: list[Any] = []
        self._keys: list[str] = []  # the key that waits for its value, by open object
        self._step: Callable[[PartialJson, str, int], int] = PartialJson._read_value
        self._pieces: list[str] = []  # of the open string or number
        self._is_key = False
        self._placed = False  # the open number stands in its array or object
        self._cut = ""  # an escape or a literal that is not whole yet
        self._high = 0  # the first half of a surrogate pair that was written as an escape

    def feed(self, fragment: str) -> Any:
        """Read on, and return the best value so far.

        The value grows in place: it is the same dict or list at every call. Reading it costs the length of the string
        that is open; who wants it less often than fragments come uses `push` and `value`.

        Args:
            fragment: The next characters, cut anywhere.

        Returns:
            The value; None as long as there is none.
        """
        self.push(fragment)
        return self.value

    def push(self, fragment: str) -> None:
        """Read on without making the value."""
        place, end = 0, len(fragment)
        while place < end and not self.broken:
            if self._step not in INSIDE and fragment[place] in SPACES:
                place += 1
            else:
                place = self._step(self, fragment, place)

    @property
    def value(self) -> Any:
        """The best value so far; None as long as there is none."""
        if self._step is PartialJson._read_number:
            number = _longest_number("".join(self._pieces))
            if number is not NOTHING:
                self._put(number)
        elif self._step in IN_STRING and not self._is_key:
            self._pieces = ["".join(self._pieces)]
            self._put(self._pieces[0])
        return None if self._root is NOTHING else self._root

    @property
    def complete(self) -> bool:
        """Whether what came is a whole JSON text."""
        if self.broken or self._stack:
            return False
        if self._step is PartialJson._read_number:
            return _number("".join(self._pieces)) is not NOTHING
        return self._step is PartialJson._read_nothing

    # --- between the values ---

    def _read_value(self, text: str, place: int) -> int:
        first = text[place]
        if first == "]" and self._stack and self._stack[-1] == [] and self._step is PartialJson._read_first_item:
            return self._close(place)
        self._placed = False
        if first == '"':
            self._open_string(is_key=False)
            return place + 1
        if first in "{[":
            return self._open(first, place)
        if first in "-0123456789":
            self._pieces, self._step = [], PartialJson._read_number
            return place
        if first in "tfn":
            self._cut, self._step = "", PartialJson._read_literal
            return place
        return self._break(place)

    def _read_first_item(self, text: str, place: int) -> int:
        """A value, or the end of an empty array."""
        return self._read_value(text, place)

    def _read_key(self, text: str, place: int) -> int:
        if text[place] == '"':
            self._open_string(is_key=True)
            return place + 1
        if text[place] == "}" and self._step is PartialJson._read_first_key:
            return self._close(place)
        return self._break(place)

    def _read_first_key(self, text: str, place: int) -> int:
        """A key, or the end of an empty object."""
        return self._read_key(text, place)

    def _read_colon(self, text: str, place: int) -> int:
        if text[place] != ":":
            return self._break(place)
        self._step = PartialJson._read_value
        return place + 1

    def _read_comma(self, text: str, place: int) -> int:
        """What follows a value in an array or object."""
        in_object = type(self._stack[-1]) is dict
        if text[place] == ",":
            self._step = PartialJson._read_key if in_object else PartialJson._read_value
            return place + 1
        if text[place] == ("}" if in_object else "]"):
            return self._close(place)
        return self._break(place)

    def _read_nothing(self, text: str, place: int) -> int:
        """What follows the whole value: only space."""
        return self._break(place)

    # --- values ---

    def _read_literal(self, text: str, place: int) -> int:
        self._cut += text[place]
        if self._cut in LITERALS:
            self._put(LITERALS[self._cut])
            self._finish()
        elif not any(literal.startswith(self._cut) for literal in LITERALS):
            return self._break(place)
        return place + 1

    def _read_number(self, text: str, place: int) -> int:
        match = NUMERIC.match(text, place)
        end = match.end() if match else place
        self._pieces.append(text[place:end])
        if end < len(text):
            number = _number("".join(self._pieces))
            if number is NOTHING:
                return self._break(end)
            self._put(number)
            self._finish()
        return end

    def _read_string(self, text: str, place: int) -> int:
        match = PLAIN.match(text, place)
        end = match.end() if match else place
        if end > place:
            self._flush_high()
            self._pieces.append(text[place:end])
        if end == len(text):
            return end
        if text[end] == "\\":
            self._cut, self._step = "\\", PartialJson._read_escape
            return end + 1
        if text[end] != '"':
            return self._break(end)
        self._flush_high()
        whole = "".join(self._pieces)
        if self._is_key:
            self._keys[-1] = whole
            self._step = PartialJson._read_colon
        else:
            self._put(whole)
            self._finish()
        return end + 1

    def _read_escape(self, text: str, place: int) -> int:
        missing = 1 if len(self._cut) == 1 else UNICODE_ESCAPE - len(self._cut)
        self._cut += text[place : place + missing]
        kind = self._cut[1]
        if kind in ESCAPES:
            self._flush_high()
            self._pieces.append(ESCAPES[kind])
            self._step = PartialJson._read_string
        elif kind != "u":
            return self._break(place)
        elif len(self._cut) == UNICODE_ESCAPE:
            if not HEX.fullmatch(self._cut, 2):
                return self._break(place)
            self._add_unit(int(self._cut[2:], 16))
            self._step = PartialJson._read_string
        return place + missing

    def _add_unit(self, unit: int) -> None:
        """Adds a UTF-16 unit; the first half of a pair waits for the second."""
        if self._high and unit in LOW:
            unit = 0x10000 + ((self._high - 0xD800) << 10) + (unit - 0xDC00)
            self._high = 0
        self._flush_high()
        if unit in HIGH:
            self._high = unit
        else:
            self._pieces.append(chr(unit))

    def _flush_high(self) -> None:
        """The half that waited stays alone, as Python's own reader leaves it."""
        if self._high:
            self._pieces.append(chr(self._high))
            self._high = 0

    # --- the stack ---

    def _open_string(self, is_key: bool) -> None:
        self._pieces, self._is_key, self._step = [], is_key, PartialJson._read_string
        if not is_key:
            self._put("")

    def _open(self, bracket: str, place: int) -> int:
        container: Any = {} if bracket == "{" else []
        self._put(container)
        self._stack.append(container)
        if bracket == "{":
            self._keys.append("")
        self._step = PartialJson._read_first_key if bracket == "{" else PartialJson._read_first_item
        return place + 1

    def _close(self, place: int) -> int:
        if type(self._stack.pop()) is dict:
            self._keys.pop()
        self._finish()
        return place + 1

    def _put(self, value: Any) -> None:
        """Sets the value that is being read, for the first time or anew."""
        if not self._stack:
            self._root = value
        elif type(self._stack[-1]) is dict:
            self._stack[-1][self._keys[-1]] = value
        elif self._placed:
            self._stack[-1][-1] = value
        else:
            self._stack[-1].append(value)
        self._placed = True

    def _finish(self) -> None:
        """A value ends here."""
        self._step = PartialJson._read_comma if self._stack else PartialJson._read_nothing

    def _break(self, place: int) -> int:
        self.broken = True
        return place


def _number(text: str) -> Any:
    """The number that a text is; NOTHING if it is none."""
    if not NUMBER.fullmatch(text):
        return NOTHING
    try:
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:  # more digits than Python turns into a number
        return NOTHING


def _longest_number(text: str) -> Any:
    """The number that a text begins with; NOTHING if there is none yet."""
    match = NUMBER.match(text)
    return _number(match[0]) if match else NOTHING


IN_STRING = (PartialJson._read_string, PartialJson._read_escape)
INSIDE = (*IN_STRING, PartialJson._read_number, PartialJson._read_literal)
"""Steps to which a space is a character like any other."""
