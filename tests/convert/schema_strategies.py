"""JSON Schemas and values for Hypothesis."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
from hypothesis import strategies as st

NAMES = ["a", "b", "title", "properties", "type", "default", "$ref", "bad key!", "é"]
"""Property names: plain ones, ones that are spelled like keywords, and ones no API takes."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 4),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from(["", "a", "b/c", "ab"]),
)
names = st.sampled_from(NAMES)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)
objects = st.dictionaries(names, values, max_size=4)
counts = st.integers(0, 2)

ANNOTATIONS: dict[str, st.SearchStrategy[Any]] = {
    "title": st.just("T"),
    "description": st.sampled_from(["d", ""]),
    "default": scalars,
    "examples": st.lists(scalars, max_size=1),
}
OF_STRINGS: dict[str, st.SearchStrategy[Any]] = {
    "minLength": counts,
    "maxLength": counts,
    "pattern": st.sampled_from(["^a", "b$"]),
    "format": st.sampled_from(["date", "uri", "date-time"]),
}
OF_NUMBERS: dict[str, st.SearchStrategy[Any]] = {
    "minimum": st.integers(-1, 2),
    "maximum": st.integers(-1, 2),
    "exclusiveMinimum": st.integers(-1, 2),
    "exclusiveMaximum": st.integers(-1, 2),
    "multipleOf": st.sampled_from([1, 2, 0.5]),
}


@st.composite
def _some(draw: st.DrawFn, keywords: dict[str, st.SearchStrategy[Any]], most: int = 2) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(sorted(keywords)), unique=True, max_size=most))
    return {key: draw(keywords[key]) for key in chosen}


VALUES = st.one_of(
    st.builds(lambda value: {"const": value}, scalars),
    st.builds(lambda listed: {"enum": listed}, st.lists(scalars, min_size=1, max_size=3)),
)


KINDS = ["string", "number", "integer", "boolean", "null", "array", "object", "any", "union", "values", "types", "ref"]
TYPES = st.lists(st.sampled_from(["string", "integer", "null", "object", "array"]), min_size=1, max_size=3, unique=True)


@st.composite
def _schemas(draw: st.DrawFn, depth: int, refs: str) -> Any:
    inner = _schemas(depth - 1, refs) if depth else st.just({"type": "string"})
    some = st.lists(inner, min_size=1, max_size=3)
    kind = draw(st.sampled_from(KINDS if refs else KINDS[:-1]))
    node: dict[str, Any] = {"type": kind} if kind in KINDS[:7] else {}
    of_arrays = {"items": inner, "prefixItems": some, "minItems": counts, "maxItems": counts, "contains": inner}
    made: dict[str, st.SearchStrategy[dict[str, Any]]] = {
        "string": _some(OF_STRINGS),
        "number": _some(OF_NUMBERS),
        "integer": _some(OF_NUMBERS),
        "array": _some({**of_arrays, "uniqueItems": st.booleans()}),
        "object": _objects(inner),
        "union": st.builds(lambda key, value: {key: value}, st.sampled_from(["anyOf", "oneOf", "allOf"]), some),
        "values": VALUES,
        "types": st.builds(lambda kinds, more: {"type": kinds, **more}, TYPES, _some(OF_STRINGS | OF_NUMBERS)),
        "ref": st.sampled_from(refs).map(lambda name: {"$ref": f"#/$defs/{name}"}),
    }
    node |= draw(made.get(kind, st.just({})))
    if draw(st.integers(0, 5)) == 0:
        node |= draw(_some({"not": inner, "if": inner, "then": inner, "else": inner}))
    return node | draw(_some(ANNOTATIONS, 1))


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(names, inner, max_size=3))
    node: dict[str, Any] = {"properties": properties}
    if properties:
        node["required"] = draw(st.lists(st.sampled_from([*properties, "z"]), unique=True, max_size=2))
    more = {
        "additionalProperties": st.one_of(st.booleans(), inner),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "t"]), inner, max_size=1),
        "propertyNames": st.just({"maxLength": 5}),
        "minProperties": counts,
        "maxProperties": counts,
        "dependentRequired": st.just({"a": ["b"]}),
    }
    return node | draw(_some(more))


@st.composite
def tool_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Schemas of tools: an object at the root, or a union of objects, with three definitions."""
    inner = _schemas(2, "ABC")
    root = {"type": "object", **draw(_objects(inner))}
    if draw(st.booleans()):
        root[draw(st.sampled_from(["anyOf", "oneOf"]))] = draw(
            st.lists(_objects(_schemas(1, "AC")), min_size=1, max_size=2)
        )
    recursive = {"type": "object", "properties": {"a": {"$ref": "#/$defs/C"}, "b": draw(_schemas(1, "A"))}}
    return root | {"$defs": {"A": draw(_schemas(1, "")), "B": draw(_schemas(1, "AC")), "C": recursive}}


any_schemas = _schemas(3, "")
"""Schemas without references."""


def is_valid(value: Any, schema: Any) -> bool:
    """What the reference implementation says."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
}
RECURSIVE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {"Node": NODE},
}
DIAMOND: dict[str, Any] = {
    "type": "object",
    "properties": {"d": {"$ref": "#/$defs/D0"}},
    "$defs": {
        **{
            f"D{i}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/D{i + 1}"} for side in "lr"}}
            for i in range(24)
        },
        "D24": {"type": "string"},
    },
}
"""Two ways from each definition to the next: written out it has sixteen million nodes."""
