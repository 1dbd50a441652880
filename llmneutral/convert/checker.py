"""Whether a value is valid under a JSON Schema, and if not, where and why.

Used where the caller gave a schema as a dict; a type is validated by pydantic. Draft 2020-12 without `unevaluated…`
and without asserting `format`; `nullable`, boolean exclusive bounds and `items` as a list are understood as older
drafts and OpenAPI meant them. A number without a fraction is an integer (1.0 is), true is no number, 1 equals 1.0.
Source: https://json-schema.org/draft/2020-12/json-schema-validation

The messages are read by a model that shall mend its answer: they name the place and what is expected there, and never
repeat the schema. This file knows no API.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Generator
from typing import Any

import msgspec

from llmneutral.convert import patterns
from llmneutral.convert.schema_walk import resolve

__all__ = ["Problem", "check", "place_text"]

MAX_PROBLEMS = 100
MAX_LISTED = 10
MAX_SHOWN = 60
CONSTANTS = ('expected "', "expected one of")

Path = tuple[str | int, ...]
Problems = Generator["Problem", None, None]


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a value.

    Attributes:
        path: Where, such as `items[3].price`; empty for the whole value.
        message: What is expected there.
    """

    path: str
    message: str


def check(value: Any, schema: Any, notes: list[str] | None = None) -> list[Problem]:
    """Return what is wrong with a value, at most a hundred problems; none if it is valid.

    Args:
        value: JSON as Python has it: dict, list, str, int, float, bool, None.
        schema: A JSON Schema. A keyword whose value is none JSON Schema allows is not looked at.
        notes: Takes what could not be checked (a pattern that cannot be read, or would take too long), a sentence each.

    Raises:
        ConversionError: If the schema refers to a definition that is not in it.
    """
    try:
        checking = _Check(schema)
        problems = checking.problems(value, schema, ())
    except RecursionError:
        return [Problem("", "nested too deeply to be checked")]
    if notes is not None:
        notes.extend(checking.unchecked)
    return problems


class _Check:
    """One run of the checker: the whole schema, and the references being followed."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.followed: set[tuple[str, int]] = set()
        self.unchecked: dict[str, None] = {}

    def node(self, value: Any, schema: Any, path: Path) -> Problems:
        """Everything a schema says of a value."""
        if schema is False:
            yield Problem(place_text(path), "not allowed here")
        if not isinstance(schema, dict) or (value is None and schema.get("nullable") is True):
            return
        for keyword, rule in schema.items():
            known = KEYWORDS.get(keyword)
            if known is not None and isinstance(rule, known[1]) and isinstance(value, known[0]):
                if isinstance(value, bool) and known[0] is NUMBER:
                    continue
                yield from known[2](self, value, rule, schema, path)

    def problems(self, value: Any, schema: Any, path: Path, most: int = MAX_PROBLEMS) -> list[Problem]:
        """The first things that are wrong; the references followed on the way are given up at once."""
        with contextlib.closing(self.node(value, schema, path)) as found:
            return list(itertools.islice(found, most))

    def valid(self, value: Any, schema: Any) -> bool:
        """Whether nothing is wrong."""
        return not self.problems(value, schema, (), 1)

    def matches(self, pattern: str, text: str) -> bool:
        """Whether a pattern is found; one that cannot be looked for is found everywhere, which is noted."""
        known = patterns.found(pattern, text)
        if known is None:
            self.unchecked[patterns.unchecked(pattern)] = None
        return known is not False

    def ref(self, value: Any, ref: Any, _schema: Any, path: Path) -> Problems:
        """What a reference stands for; one that leads back to itself without a step into the value asks for nothing."""
        key = (ref, id(value))
        if key in self.followed:
            return
        self.followed.add(key)
        try:
            yield from self.node(value, resolve(self.root, ref), path)
        finally:
            self.followed.discard(key)


# --- any value --------------------------------------------------------------------------------------------------------


def _type(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    kinds = rule if isinstance(rule, list) else [rule]
    if not any(_is_of(value, kind) for kind in kinds):
        yield Problem(place_text(path), f"expected {' or '.join(map(str, kinds))}, got {_shown(value)}")


def _is_of(value: Any, kind: Any) -> bool:
    if kind == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return kind in TYPES and isinstance(value, TYPES[kind])


def _enum(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if _plain(value) not in [_plain(entry) for entry in rule]:
        listed = ", ".join(map(_shown, rule[:MAX_LISTED])) + (", …" if len(rule) > MAX_LISTED else "")
        yield Problem(place_text(path), f"expected one of {listed}, got {_shown(value)}")


def _const(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if _plain(value) != _plain(rule):
        yield Problem(place_text(path), f"expected {_shown(rule)}, got {_shown(value)}")


def _all_of(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    for branch in rule:
        yield from check.node(value, branch, path)


def _any_of(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    failed: list[list[Problem]] = []
    for branch in rule:
        problems = check.problems(value, branch, path)
        if not problems:
            return
        failed.append(problems)
    yield from _nearest(failed, value, path)


def _one_of(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    tried = [check.problems(value, branch, path) for branch in rule]
    failed = [problems for problems in tried if problems]
    fitting = len(tried) - len(failed)
    if not fitting:
        yield from _nearest(failed, value, path)
    elif fitting > 1:
        yield Problem(place_text(path), f"fits {fitting} of the allowed forms, expected exactly one")


def _nearest(failed: list[list[Problem]], value: Any, path: Path) -> Problems:
    """What is wrong by the branch that was meant, where that can be told: it fits on the surface, and is nearest."""
    here = place_text(path)
    inside = [problems for problems in failed if not any(problem.path == here for problem in problems)]
    if inside or len(failed) == 1:
        yield from min(inside or failed, key=_distance)
        return
    said = list(dict.fromkeys(problem.message for problems in failed for problem in problems if problem.path == here))
    wanted = [message[9:].rpartition(", got ")[0] for message in said if message.startswith("expected ")]
    expected = f": expected {' or '.join(wanted[:MAX_LISTED])}, got {_shown(value)}" if wanted else ""
    yield Problem(here, f"fits none of the allowed forms{expected}")


def _distance(problems: list[Problem]) -> tuple[int, int]:
    """How far a branch is from the value: a wrong constant, which is what tells branches apart, weighs most."""
    return sum(problem.message.startswith(CONSTANTS) for problem in problems), len(problems)


def _not(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if check.valid(value, rule):
        yield Problem(place_text(path), f"{_shown(value)} is what is not allowed here")


def _if(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    chosen = "then" if check.valid(value, rule) else "else"
    yield from check.node(value, schema.get(chosen, True), path)


# --- numbers and texts ------------------------------------------------------------------------------------------------


def _minimum(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if value < rule or (value == rule and schema.get("exclusiveMinimum") is True):
        yield Problem(place_text(path), f"expected at least {rule}, got {_shown(value)}")


def _maximum(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if value > rule or (value == rule and schema.get("exclusiveMaximum") is True):
        yield Problem(place_text(path), f"expected at most {rule}, got {_shown(value)}")


def _exclusive_minimum(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if not isinstance(rule, bool) and value <= rule:
        yield Problem(place_text(path), f"expected more than {rule}, got {_shown(value)}")


def _exclusive_maximum(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if not isinstance(rule, bool) and value >= rule:
        yield Problem(place_text(path), f"expected less than {rule}, got {_shown(value)}")


def _multiple_of(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if rule > 0 and not _is_multiple(value, rule):
        yield Problem(place_text(path), f"expected a multiple of {rule}, got {_shown(value)}")


def _is_multiple(value: int | float, of: int | float) -> bool:
    """Reckoned with the decimal numbers that were written: 0.3 is a multiple of 0.1."""
    if isinstance(value, int) and isinstance(of, int):
        return value % of == 0
    from fractions import Fraction

    try:
        return Fraction(repr(value)) % Fraction(repr(of)) == 0
    except ValueError:  # NaN, infinity
        return False


def _min_length(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if len(value) < rule:
        yield Problem(place_text(path), f"expected at least {rule} characters, got {len(value)}")


def _max_length(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if len(value) > rule:
        yield Problem(place_text(path), f"expected at most {rule} characters, got {len(value)}")


def _pattern(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if not check.matches(rule, value):
        yield Problem(place_text(path), f"expected to match the pattern {rule}, got {_shown(value)}")


# --- arrays -----------------------------------------------------------------------------------------------------------


def _listed(schema: Any) -> list[Any]:
    """The schemas by place, under their newer or older keyword."""
    for keyword in ("prefixItems", "items"):
        if isinstance(schema.get(keyword), list):
            found: list[Any] = schema[keyword]
            return found
    return []


def _prefix_items(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    for place, (entry, branch) in enumerate(zip(value, rule, strict=False)):
        yield from check.node(entry, branch, (*path, place))


def _items(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if isinstance(rule, list):
        yield from _prefix_items(check, value, rule, schema, path)
        rule = schema.get("additionalItems", True)
    for place in range(len(_listed(schema)), len(value)):
        yield from check.node(value[place], rule, (*path, place))


def _min_items(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if len(value) < rule:
        yield Problem(place_text(path), f"expected at least {rule} items, got {len(value)}")


def _max_items(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if len(value) > rule:
        yield Problem(place_text(path), f"expected at most {rule} items, got {len(value)}")


def _unique_items(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    seen: dict[Any, int] = {}
    for place, entry in enumerate(value if rule else ()):
        first = seen.setdefault(_plain(entry), place)
        if first != place:
            yield Problem(place_text((*path, place)), f"the same as item {first}; items must differ")


def _contains(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    found = sum(check.valid(entry, rule) for entry in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    if found < least:
        yield Problem(place_text(path), f"expected at least {least} items of a certain form, got {found}")
    if found > most:
        yield Problem(place_text(path), f"expected at most {most} items of a certain form, got {found}")


# --- objects ----------------------------------------------------------------------------------------------------------


def _properties(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    for name, branch in rule.items():
        if name in value:
            yield from check.node(value[name], branch, (*path, name))


def _required(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    for name in rule:
        if name not in value:
            branch = schema.get("properties", {}).get(name)
            kinds = branch.get("type") if isinstance(branch, dict) else None
            kinds = kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []
            expected = f"; expected {' or '.join(map(str, kinds))}" if kinds else ""
            yield Problem(place_text((*path, name)), f"required, but missing{expected}")


def _pattern_properties(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    for pattern, branch in rule.items():
        for name, entry in value.items():
            if check.matches(pattern, name):
                yield from check.node(entry, branch, (*path, name))


def _additional_properties(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, entry in value.items():
        if name in known or any(check.matches(pattern, name) for pattern in patterns):
            continue
        if rule is False:
            allowed = f"; there are {', '.join(list(known)[:MAX_LISTED])}" if known else ""
            yield Problem(place_text((*path, name)), f"no such property is allowed{allowed}")
        else:
            yield from check.node(entry, rule, (*path, name))


def _property_names(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    for name in value:
        for problem in check.node(name, rule, ()):
            yield Problem(place_text((*path, name)), f"as the name of a property: {problem.message}")


def _min_properties(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if len(value) < rule:
        yield Problem(place_text(path), f"expected at least {rule} properties, got {len(value)}")


def _max_properties(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    if len(value) > rule:
        yield Problem(place_text(path), f"expected at most {rule} properties, got {len(value)}")


def _dependent(check: _Check, value: Any, rule: Any, schema: Any, path: Path) -> Problems:
    """What must hold once a property is given: others be given too, or the whole fit a schema."""
    for name, needed in rule.items():
        if name not in value:
            continue
        if isinstance(needed, list):
            for other in needed:
                if other not in value:
                    yield Problem(place_text((*path, other)), f"required beside {name}, but missing")
        else:
            yield from check.node(value, needed, path)


# --- small things -----------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """The value as something that can be hashed and compared as JSON compares: true is not 1, 1 is 1.0."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("array", tuple(_plain(entry) for entry in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, _plain(entry)) for name, entry in value.items()))
    return value


def _shown(value: Any) -> str:
    """A value in a message: its type and the beginning of it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    if isinstance(value, (dict, list)):
        return f"the {'object' if isinstance(value, dict) else 'array'} {text}"
    return text


def place_text(path: Path) -> str:
    """A place in a value, written as in code."""
    parts = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif re.fullmatch(r"[^\W\d][\w-]*", step):
            parts.append(f".{step}")
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts).removeprefix(".")


TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "string": str,
}

ANY = object
NUMBER = (int, float)
SCHEMA = (dict, bool)

KEYWORDS: dict[str, tuple[Any, Any, Callable[[_Check, Any, Any, Any, Path], Problems]]] = {
    "$ref": (ANY, str, _Check.ref),
    "$dynamicRef": (ANY, str, _Check.ref),
    "type": (ANY, (str, list), _type),
    "enum": (ANY, list, _enum),
    "const": (ANY, ANY, _const),
    "allOf": (ANY, list, _all_of),
    "anyOf": (ANY, list, _any_of),
    "oneOf": (ANY, list, _one_of),
    "not": (ANY, SCHEMA, _not),
    "if": (ANY, SCHEMA, _if),
    "minimum": (NUMBER, NUMBER, _minimum),
    "maximum": (NUMBER, NUMBER, _maximum),
    "exclusiveMinimum": (NUMBER, NUMBER, _exclusive_minimum),
    "exclusiveMaximum": (NUMBER, NUMBER, _exclusive_maximum),
    "multipleOf": (NUMBER, NUMBER, _multiple_of),
    "minLength": (str, NUMBER, _min_length),
    "maxLength": (str, NUMBER, _max_length),
    "pattern": (str, str, _pattern),
    "prefixItems": (list, list, _prefix_items),
    "items": (list, (dict, bool, list), _items),
    "minItems": (list, NUMBER, _min_items),
    "maxItems": (list, NUMBER, _max_items),
    "uniqueItems": (list, bool, _unique_items),
    "contains": (list, SCHEMA, _contains),
    "properties": (dict, dict, _properties),
    "required": (dict, list, _required),
    "patternProperties": (dict, dict, _pattern_properties),
    "additionalProperties": (dict, SCHEMA, _additional_properties),
    "propertyNames": (dict, SCHEMA, _property_names),
    "minProperties": (dict, NUMBER, _min_properties),
    "maxProperties": (dict, NUMBER, _max_properties),
    "dependentRequired": (dict, dict, _dependent),
    "dependentSchemas": (dict, dict, _dependent),
    "dependencies": (dict, dict, _dependent),
}
"""By keyword: the values it speaks of, what its own value may be, and what it says."""
