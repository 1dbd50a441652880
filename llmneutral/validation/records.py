"""Objects with known keys, and how objects of several kinds are told apart.

A choice between objects is decided by the key that says what they are (`type`, `role`), so that only the kind that
was meant speaks of its problems. What an object looks like is worked out when the first one is seen: a request
touches few of the hundreds of types an SDK has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from llmneutral.validation.problems import NOTHING, Findings, below, listed, shown, unknown_key
from llmneutral.validation.shapes import Anything, Best, Choices, Scalar, Shape, Text, Union, one, wrong_kind

Rule = Callable[[dict[str, Any]], Findings]
"""Looks at an object as a whole."""
TAGS = ("type", "role")
"""Keys that say what an object is, the first one that does so first."""


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an object.

    Attributes:
        shapes: Key → shape, under each spelling the SDK takes.
        required: Keys that must be there, in the spelling of the wire.
        spellings: Another spelling → the wire's.
        constant: Keys with one value that the SDK's own objects fill in by themselves.
        extra: What every other key may hold; None: there are no others.
        rules: Looks at the object as a whole.
    """

    shapes: Mapping[str, Shape]
    required: frozenset[str] = frozenset()
    spellings: Mapping[str, str] = {}
    constant: frozenset[str] = frozenset()
    extra: Shape | None = None
    rules: tuple[Rule, ...] = ()


class Record:
    """An object with known keys.

    Args:
        build: Works the keys out, once. Two threads may do so at the same time: the results are equal.
    """

    kinds = frozenset(["object"])

    def __init__(self, build: Callable[[], Fields]) -> None:
        self._build = build
        self._fields: Fields | None = None

    @property
    def fields(self) -> Fields:
        """The keys."""
        if self._fields is None:
            self._fields = self._build()
        return self._fields

    def check(self, value: Any) -> Findings:
        """Looks at every key, at those that are missing, and at the object as a whole."""
        if not isinstance(value, dict):
            return wrong_kind(self.kinds, value)
        fields = self.fields
        shapes = fields.shapes
        found: Findings = []
        for key, item in value.items():
            shape = shapes.get(key, fields.extra)
            if shape is None:
                found.append(((str(key),), unknown_key(key, shapes)))
            elif inner := shape.check(item):
                found += below(key, inner)
        if not fields.required <= value.keys():
            found += self._missing(value, fields)
        for rule in fields.rules:
            found += rule(value)
        return found or NOTHING

    def _missing(self, value: dict[str, Any], fields: Fields) -> Findings:
        given = {fields.spellings.get(key, key) for key in value}
        return [((key,), "is required") for key in sorted(fields.required - given)]

    def literals(self, key: str) -> tuple[Any, ...] | None:
        """Returns the only values a key may have; None if it is not there or may have others."""
        shape = self.fields.shapes.get(key)
        bare = None if shape is None else without_null(shape)
        return bare.values if isinstance(bare, Choices) else None

    def takes(self, key: str, value: Any) -> bool:
        """Returns whether an object of this kind may have that value as its tag."""
        known = self.literals(key)
        return value in known if known is not None else key in self.fields.shapes or self.fields.extra is not None

    def may_lack(self, key: str, is_tag: bool) -> bool:
        """Returns whether the key may be absent; a tag must be there if the SDK's own objects always have it."""
        return key not in self.fields.required and not (is_tag and key in self.fields.constant)


class Switch:
    """Objects told apart by the value of one key.

    Args:
        key: The key.
        by_value: Its value → what the object then is.
        absent: What it is without the key; None: the key is required.
        other: What it is with any other value; None: there is no other.
    """

    kinds = frozenset(["object"])

    def __init__(self, key: str, by_value: Mapping[Any, Shape], absent: Shape | None, other: Shape | None) -> None:
        self.key = key
        self.by_value = by_value
        self.absent = absent
        self.other = other

    def check(self, value: Any) -> Findings:
        """Asks the kind of object that is meant."""
        if not isinstance(value, dict):
            return wrong_kind(self.kinds, value)
        tag = value.get(self.key)
        shape = self.other
        if tag is None and self.key not in value:
            shape = self.absent
        elif isinstance(tag, str):
            shape = self.by_value.get(tag, self.other)
        elif tag is None:
            shape = self.other or self.absent
        if shape is not None:
            return shape.check(value)
        told = listed([shown(name) for name in self.by_value])
        said = f"must be {told}, not {shown(tag)}" if self.key in value else f"is required: {told}"
        return [((self.key,), said)]


class Alternatives:
    """A choice between objects, laid out when the first one is seen: until then their keys need not be known.

    Args:
        records: The objects.
        has_tag: Whether the SDK says that a key tells them apart.
    """

    kinds = frozenset(["object"])

    def __init__(self, records: Sequence[Record], *, has_tag: bool = False) -> None:
        self.records = tuple(records)
        self.has_tag = has_tag
        self._shape: Shape | None = None

    def check(self, value: Any) -> Findings:
        """Asks the kind of object that is meant."""
        if self._shape is None:
            self._shape = self._told_apart(self.records, TAGS)
        return self._shape.check(value)

    def _told_apart(self, records: Sequence[Record], keys: Sequence[str]) -> Shape:
        if len(records) == 1:
            return records[0]
        for n, key in enumerate(keys):
            values = dict.fromkeys([tag for record in records for tag in record.literals(key) or ()])
            if values:
                return self._switch(records, key, values, keys[n + 1 :])
        return Best(records)

    def _switch(self, records: Sequence[Record], key: str, values: Iterable[Any], keys: Sequence[str]) -> Switch:
        def rest(those: list[Record]) -> Shape | None:
            return self._told_apart(those, keys) if those else None

        return Switch(
            key,
            {value: self._told_apart([r for r in records if r.takes(key, value)], keys) for value in values},
            rest([r for r in records if r.may_lack(key, self.has_tag)]),
            rest([r for r in records if r.literals(key) is None and r.takes(key, None)]),
        )


def either(shapes: Iterable[Shape], *, has_tag: bool = False) -> Shape:
    """Returns the shape of a value that may have one of several shapes.

    Args:
        shapes: The shapes; unions among them are taken apart.
        has_tag: Whether the SDK says that a key tells the objects apart.
    """
    flat = [part for shape in shapes for part in _parts(shape)]
    if any(isinstance(shape, Anything) for shape in flat):
        return Anything()
    if len(flat) == 1:
        return flat[0]
    kinds = dict.fromkeys([kind for shape in flat for kind in sorted(shape.kinds)])
    by_kind = {kind: _of_one_kind([s for s in flat if kind in s.kinds], has_tag) for kind in kinds}
    found = list({id(shape): shape for shape in by_kind.values()}.values())
    return found[0] if len(found) == 1 else Union(by_kind)


def without_null(shape: Shape) -> Shape:
    """Returns what a value may be beside null."""
    if not isinstance(shape, Union) or "null" not in shape.by_kind:
        return shape
    rest = {kind: inner for kind, inner in shape.by_kind.items() if kind != "null"}
    return next(iter(rest.values())) if len({*map(id, rest.values())}) == 1 else Union(rest)


def _parts(shape: Shape) -> list[Shape]:
    if isinstance(shape, Union):
        return list({id(part): part for part in shape.by_kind.values()}.values())
    return list(shape.shapes) if isinstance(shape, Best) else [shape]


def _of_one_kind(shapes: list[Shape], has_tag: bool) -> Shape:
    if len(shapes) == 1:
        return shapes[0]
    free = [shape for shape in shapes if isinstance(shape, Text) and shape.is_free]
    if free:
        return free[0]
    if all(isinstance(shape, Scalar) for shape in shapes):
        return shapes[0]
    listed_values = [shape for shape in shapes if isinstance(shape, Choices) and not shape.fold]
    if len(listed_values) == len(shapes):
        return Choices([value for shape in listed_values for value in shape.values])
    records: list[Record] = []
    for shape in shapes:
        if isinstance(shape, Record):
            records.append(shape)
        elif isinstance(shape, Alternatives):
            records += shape.records
            has_tag = has_tag or shape.has_tag
        else:
            return Best(shapes)
    return Alternatives(records, has_tag=has_tag)


def exactly_one(keys: frozenset[str], what: str, beside: frozenset[str] = frozenset()) -> Rule:
    """Returns the rule that an object has exactly one of some keys.

    Args:
        keys: The keys.
        what: What each of them is, in a word.
        beside: Keys it may have beside it; of any other one it is said already that it is unknown.
    """

    def rule(value: dict[str, Any]) -> Findings:
        given = [key for key in value if key in keys]
        if len(given) == 1 or (not given and not value.keys() <= beside):
            return NOTHING
        if given:
            return one(f"has {listed(given).replace(' or ', ' and ')}: exactly one {what} is allowed")
        return one(f"has no {what}: exactly one is needed")

    return rule
