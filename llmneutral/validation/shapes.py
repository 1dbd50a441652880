"""What a value may be: a small algebra that every SDK's request types are read into, and its checker.

A shape looks at a value and returns what is wrong with it, an empty list if nothing is. Nothing here knows an
SDK, and nothing is coerced: "5" is no number, true is no integer, a tuple is a list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from llmneutral.validation.problems import NOTHING, Finding, Findings, below, listed, shown

KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "list",
    tuple: "list",
    dict: "object",
    bytes: "bytes",
    bytearray: "bytes",
}
"""Python type → kind of JSON value; bytes are what two SDKs take in the place of base64."""
_NAMES = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "object": "an object", "list": "a list", "bytes": "bytes", "null": "null",
}  # fmt: skip
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n"
"""Both alphabets, padding and line ends."""


class Shape(Protocol):
    """What a value may be."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of JSON value this shape can take at all."""

    def check(self, value: Any) -> Findings:
        """Returns what is wrong with a value, each with its place from there; the same list every time if nothing."""


def kind_of(value: Any) -> str:
    """Returns the kind of a value; the name of its class where it has no place in JSON."""
    kind = KINDS.get(type(value))
    if kind is not None:
        return kind
    for known, name in KINDS.items():
        if isinstance(value, known):
            return name
    return type(value).__name__


def named(value: Any) -> str:
    """Returns what a value is, with its article."""
    kind = kind_of(value)
    return _NAMES.get(kind, f"a {kind}")


def wrong_kind(kinds: Iterable[str], value: Any) -> Findings:
    """Returns the finding that a value is of another kind than those."""
    wanted = {*kinds}
    if "number" in wanted:
        wanted.discard("integer")
    names = [name for kind, name in _NAMES.items() if kind in wanted]
    words = [word for name in names for word in (("true", "false") if name == "true or false" else (name,))]
    told = f"{named(value)} ({shown(value)})" if kind_of(value) == "number" else named(value)
    return one(f"must be {listed(words)}, not {told}")


def one(message: str) -> Findings:
    """Returns a single finding at the value itself."""
    return [((), message)]


class Anything:
    """Whatever JSON can hold."""

    kinds = frozenset(KINDS.values())

    def check(self, value: Any) -> Findings:
        """Looks for what JSON cannot hold: bytes, objects, keys that are no strings, numbers that are not finite."""
        kind = kind_of(value)
        if kind == "string":
            return _encodable(value)
        if kind == "number":
            return _finite(value)
        if kind == "object":
            return self._object(value)
        if kind == "list":
            return _each(value, self)
        return NOTHING if kind in ("null", "boolean", "integer") else one(f"is {named(value)}, which JSON cannot hold")

    def _object(self, value: dict[Any, Any]) -> Findings:
        found: Findings = []
        for key, item in value.items():
            if not isinstance(key, str):
                found.append(((), f"has the key {shown(key)}, which is no string"))
            elif inner := self.check(item):
                found += below(key, inner)
        return found or NOTHING


class Scalar:
    """Null, or true and false."""

    def __init__(self, kind: str) -> None:
        self.kinds = frozenset([kind])

    def check(self, value: Any) -> Findings:
        """Compares the kind."""
        return NOTHING if kind_of(value) in self.kinds else wrong_kind(self.kinds, value)


class Number:
    """A number, or only an integer, within bounds."""

    def __init__(self, *, integer: bool = False, least: float | None = None, most: float | None = None) -> None:
        self.kinds = frozenset(["integer"] if integer else ["integer", "number"])
        self.least = least
        self.most = most

    def check(self, value: Any) -> Findings:
        """Compares kind and bounds."""
        if kind_of(value) not in self.kinds:
            return wrong_kind(self.kinds, value)
        if found := _finite(value):
            return found
        if self.least is not None and value < self.least:
            return one(f"must be at least {self.least:g}, not {value:g}")
        if self.most is not None and value > self.most:
            return one(f"must be at most {self.most:g}, not {value:g}")
        return NOTHING


class Text:
    """A string, maybe with a pattern and bounds of its length in characters."""

    kinds = frozenset(["string"])

    def __init__(self, *, pattern: str | None = None, least: int | None = None, most: int | None = None) -> None:
        self.pattern = _compiled(pattern)
        self.least = least
        self.most = most
        self.is_free = self.pattern is None and least is None and most is None

    def check(self, value: Any) -> Findings:
        """Compares kind, encoding, length and pattern."""
        if not isinstance(value, str):
            return wrong_kind(self.kinds, value)
        if (found := _encodable(value)) or self.is_free:
            return found
        if found := out_of_length(value, self.least, self.most, "character"):
            return found
        if self.pattern is not None and not self.pattern.fullmatch(value):
            return one(f"must match {shown(self.pattern.pattern)}, which {shown(value)} does not")
        return NOTHING


class Choices:
    """One of some values.

    Args:
        values: The values, strings mostly.
        fold: Whether the case of letters does not count.
    """

    def __init__(self, values: Iterable[Any], *, fold: bool = False) -> None:
        self.values = tuple(dict.fromkeys(values))
        self.fold = fold
        # 1 == True: a value counts with its type
        self.known = {(type(value), _folded(value) if fold else value) for value in self.values}
        self.kinds = frozenset([kind_of(value) for value in self.values])

    def check(self, value: Any) -> Findings:
        """Looks the value up."""
        if kind_of(value) not in self.kinds:
            if len(self.values) == 1:
                return one(f"must be {self.told()}, not {named(value)}")
            return wrong_kind(self.kinds, value)
        if (type(value), _folded(value) if self.fold else value) in self.known:
            return NOTHING
        return one(f"must be {self.told()}, not {shown(value)}")

    def told(self) -> str:
        """Returns the values as read."""
        return listed([shown(value) for value in self.values])


class Base64:
    """Bytes as JSON has them: base64 text."""

    kinds = frozenset(["string"])

    def check(self, value: Any) -> Findings:
        """Looks for what is no base64."""
        if not isinstance(value, str):
            return wrong_kind(self.kinds, value)
        if value.isascii() and not value.encode().translate(None, _BASE64):
            return NOTHING
        return one("is no base64")


class RawBytes:
    """Bytes as the keyword arguments of a call have them; text would be sent as the base64 of that text."""

    kinds = frozenset(["bytes"])

    def __init__(self, *, least: int | None = None, most: int | None = None) -> None:
        self.least = least
        self.most = most

    def check(self, value: Any) -> Findings:
        """Compares kind and length."""
        if not isinstance(value, bytes | bytearray):
            return wrong_kind(self.kinds, value)
        return out_of_length(value, self.least, self.most, "byte")


class Array:
    """A list of one kind of item."""

    kinds = frozenset(["list"])

    def __init__(self, item: Shape, *, least: int | None = None, most: int | None = None) -> None:
        self.item = item
        self.least = least
        self.most = most

    def check(self, value: Any) -> Findings:
        """Looks at every item."""
        if not isinstance(value, list | tuple):
            return wrong_kind(self.kinds, value)
        return out_of_length(value, self.least, self.most, "entry") or _each(value, self.item)


class Mapping:
    """An object with free keys and one kind of value."""

    kinds = frozenset(["object"])

    def __init__(
        self, value: Shape, *, key: Shape | None = None, least: int | None = None, most: int | None = None
    ) -> None:
        self.value = value
        self.key = key or Text()
        self.least = least
        self.most = most

    def check(self, value: Any) -> Findings:
        """Looks at every key and value."""
        if not isinstance(value, dict):
            return wrong_kind(self.kinds, value)
        if found := out_of_length(value, self.least, self.most, "entry"):
            return found
        found = []
        for key, item in value.items():
            if wrong := self.key.check(key):
                found += [((str(key),), f"as a key {message}") for _, message in wrong]
            if inner := self.value.check(item):
                found += below(str(key), inner)
        return found or NOTHING


class Best:
    """Several shapes for one kind of value: the one that fits, or else speaks of what was most probably meant."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.shapes = tuple(shapes)
        self.kinds = frozenset[str]().union(*[shape.kinds for shape in shapes])

    def check(self, value: Any) -> Findings:
        """Asks one after the other; the fewest problems count, and those at the value itself more than deeper ones."""
        nearest: Findings | None = None
        for shape in self.shapes:
            found = shape.check(value)
            if not found:
                return NOTHING
            if nearest is None or _distance(found) < _distance(nearest):
                nearest = found
        return nearest or NOTHING


def _distance(found: Sequence[Finding]) -> tuple[int, int]:
    return sum(len(loc) <= 1 for loc, _ in found), len(found)


class Union:
    """What may be of several kinds; only the shape of the kind that is there is asked.

    Args:
        by_kind: Kind of value → its shape.
    """

    def __init__(self, by_kind: dict[str, Shape]) -> None:
        self.by_kind = by_kind
        self.kinds = frozenset(by_kind)

    def check(self, value: Any) -> Findings:
        """Asks the shape of the value's kind."""
        shape = self.by_kind.get(kind_of(value))
        return wrong_kind(self.kinds, value) if shape is None else shape.check(value)


# ----------------------------------------------------------------------------------------------------------------------
# Pieces


def out_of_length(value: Any, least: int | None, most: int | None, unit: str) -> Findings:
    """Returns the finding that a value is too short or too long."""
    if least is not None and len(value) < least:
        return one("is empty" if not value and least == 1 else f"needs {_counted(least, unit)} at least")
    if most is not None and len(value) > most:
        return one(f"has {_counted(len(value), unit)}; {most:,} are allowed")
    return NOTHING


def _counted(number: int, unit: str) -> str:
    plural = f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"
    return f"{number:,} {unit if number == 1 else plural}"


def _each(values: Sequence[Any], shape: Shape) -> Findings:
    found: Findings = []
    for index, item in enumerate(values):
        if inner := shape.check(item):
            found += below(index, inner)
    return found or NOTHING


def _finite(value: float) -> Findings:
    return NOTHING if math.isfinite(value) else one(f"is {value}, which JSON cannot hold")


def _encodable(value: str) -> Findings:
    if value.isascii():
        return NOTHING
    try:
        value.encode()
    except UnicodeEncodeError:
        return one("holds half a surrogate pair, which UTF-8 cannot encode")
    return NOTHING


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    """A pattern of another dialect of regular expressions is not checked."""
    try:
        return re.compile(pattern) if pattern else None
    except re.error:
        return None
