"""Positions, not names; and references."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.convert.checker import check
from llmneutral.convert.schema_merge import merge
from llmneutral.convert.schema_walk import (
    Reduction,
    check_references,
    everywhere,
    find_recursion,
    hoist_refs,
    inline_refs,
    nodes,
    resolve,
    with_children,
)
from llmneutral.errors import ConversionError
from tests.convert.schema_strategies import DIAMOND, RECURSIVE, is_valid, objects, tool_schemas

Schema = dict[str, Any]
EVERYWHERE: Schema = {
    "properties": {"properties": {"$id": "1", "default": {"$id": "no"}}},
    "patternProperties": {"items": {"$id": "2"}},
    "dependentSchemas": {"anyOf": {"$id": "3"}},
    "$defs": {"not": {"$id": "4"}},
    "definitions": {"enum": {"$id": "5"}},
    "items": [{"$id": "6"}],
    "prefixItems": [{"$id": "7"}, True],
    "anyOf": [{"$id": "8"}],
    "oneOf": [{"$id": "9"}],
    "allOf": [{"$id": "10"}],
    "additionalProperties": {"items": {"$id": "11"}},
    "not": {"if": {"$id": "12"}, "then": {"$id": "13"}, "else": {"$id": "14"}},
    "contains": {"propertyNames": {"$id": "15"}},
    "unevaluatedItems": {"unevaluatedProperties": {"$id": "16"}},
    "additionalItems": {"$id": "17"},
    "const": {"properties": {"a": {"$id": "no"}}},
    "enum": [{"items": {"$id": "no"}}],
    "examples": [{"$id": "no"}],
    "x-own": {"$id": "no"},
    "required": ["properties"],
}


def test_every_position_and_no_other() -> None:
    seen = [node["$id"] for node in nodes(EVERYWHERE) if "$id" in node]
    assert sorted(seen, key=int) == [str(number) for number in range(1, 18)]


def test_a_rule_reaches_every_position_and_no_other() -> None:
    before = copy.deepcopy(EVERYWHERE)
    marked = everywhere(lambda node, _: {**node, "$id": "-"})(EVERYWHERE, Reduction())
    assert all(node["$id"] == "-" for node in nodes(marked))
    for key in ("const", "enum", "examples", "x-own", "required"):
        assert marked[key] is EVERYWHERE[key]
    assert before == EVERYWHERE


@given(tool_schemas())
def test_what_nothing_changes_is_the_same_object(schema: Schema) -> None:
    assert everywhere(lambda node, _: node)(schema, Reduction()) is schema
    assert with_children(schema, lambda node: node) is schema
    assert hoist_refs(schema) is schema, "all references point at definitions"


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("#", "root"),
        ("#/$defs/a~1b/properties/c~0d", "deep"),
        ("#/$defs/a%2Fb/properties/c~0d", "deep"),
        ("#/anyOf/1", "second"),
        ("#here", "anchored"),
    ],
)
def test_what_a_reference_stands_for(ref: str, found: str) -> None:
    root = {
        "title": "root",
        "$defs": {
            "a/b": {"properties": {"c~d": {"title": "deep"}}},
            "A": {"items": {"$anchor": "here", "title": "anchored"}},
        },
        "anyOf": [{}, {"title": "second"}],
    }
    assert resolve(root, ref)["title"] == found
    for wrong in ("#/$defs/no", "#/anyOf/2", "#/anyOf/x", "#nowhere", "other.json#/a", "#/title/0"):
        with pytest.raises(ConversionError, match="schema refers to"):
            resolve(root, wrong)


@given(tool_schemas(), objects)
def test_inlining_keeps_the_meaning(schema: Schema, value: Any) -> None:
    reduction = Reduction()
    try:
        inlined = inline_refs(schema, reduction, merge)
    except ConversionError:
        assert find_recursion(schema) is not None
        return
    assert all("$ref" not in node and "$defs" not in node for node in nodes(inlined))
    if not reduction.lost:
        assert is_valid(value, inlined) == is_valid(value, schema)


def test_recursion_is_found() -> None:
    assert find_recursion(RECURSIVE) == "#/$defs/Node"
    assert find_recursion({"properties": {"a": {"$ref": "#"}}}) == "#"
    assert find_recursion(DIAMOND) is None, "and in no time, for each definition is looked at once"


def test_only_what_is_inlined_counts() -> None:
    large = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(3000)}}
    assert inline_refs(large, Reduction(), merge) == large
    with pytest.raises(ConversionError, match="schema is too large"):
        inline_refs(DIAMOND, Reduction(), merge)
    long = {
        "properties": {f"p{i}": {"$ref": "#/$defs/A"} for i in range(9)},
        "$defs": {"A": {"description": "x" * 9000}},
    }
    with pytest.raises(ConversionError, match="64 KiB"):
        inline_refs(long, Reduction(), merge)


REFS = st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/$defs/No", "other.json", "#here", "#/properties/a/items"])
NODES = st.recursive(
    st.builds(lambda ref: {"$ref": ref}, REFS) | st.sampled_from([{"type": "string"}, {"$anchor": "here"}, {}]),
    lambda inner: (
        st.fixed_dictionaries({}, optional={"items": inner, "not": inner, "anyOf": st.lists(inner)})
        | st.builds(lambda a: {"properties": {"a": a}}, inner)
    ),
    max_leaves=5,
)
VALUES = st.recursive(st.sampled_from([1, "x"]), lambda v: st.lists(v, max_size=2) | st.builds(lambda a: {"a": a}, v))


@given(NODES, NODES, NODES, VALUES)
def test_a_schema_whose_references_are_there_can_check_any_value(
    root: dict[str, Any], a: dict[str, Any], b: dict[str, Any], value: Any
) -> None:
    schema = {**root, "$defs": {"A": a, "B": b}}
    try:
        check_references(schema)
    except ConversionError:
        return
    check(value, schema)


def test_definitions_that_nothing_refers_to_may_lead_anywhere() -> None:
    check_references({"$defs": {"A": {"$ref": "other.json"}}, "default": {"$ref": "no schema"}})
    check_references({"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}})
    for schema in ({"$ref": "other.json"}, {"not": {"$ref": "#/$defs/A"}, "$defs": {"A": {"items": {"$ref": "#no"}}}}):
        with pytest.raises(ConversionError, match="which is not in it"):
            check_references(schema)
