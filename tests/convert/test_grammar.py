"""A schema as a grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmneutral.convert.checker import check
from llmneutral.convert.grammar import HEAD, json_grammar
from llmneutral.drivers import local_template


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "string", "enum": ["größe"]}])
def test_the_schema_stands_behind_the_head_without_room_for_white_space(schema: dict[str, Any]) -> None:
    before = dict(schema)
    grammar = json_grammar(schema)
    assert grammar.startswith(HEAD)
    assert json.loads(grammar.removeprefix(HEAD)) == {**schema, "x-guidance": {"whitespace_flexible": False}}
    assert len(grammar.splitlines()) == 2
    assert schema == before


def test_there_is_one_of_it() -> None:
    assert local_template.json_grammar is json_grammar


def sent(schema: dict[str, Any]) -> Any:
    found = json.loads(json_grammar(schema).removeprefix(HEAD))
    del found["x-guidance"]
    return found


def test_an_object_has_only_the_properties_that_are_listed_wherever_it_stands() -> None:
    inner = {"type": "object", "properties": {"additionalProperties": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {
            "a": {"anyOf": [inner, {"type": "null"}]},
            "b": {"type": "array", "items": {"$ref": "#/$defs/C"}},
        },
        "required": ["a"],
        "$defs": {"C": inner},
    }
    before = json.dumps(schema)
    closed = {**inner, "additionalProperties": False}
    found = sent(schema)
    assert found["additionalProperties"] is False
    assert found["properties"]["a"]["anyOf"][0] == closed
    assert found["$defs"]["C"] == closed
    assert json.dumps(schema) == before


A = {"properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {**A, "additionalProperties": True},
        {**A, "additionalProperties": {"type": "integer"}},
        {**A, "patternProperties": {"^x": {}}},
        {**A, "required": ["a", "b"]},
        {**A, "minProperties": 2},
        {**A, "$ref": "#/$defs/B", "$defs": {"B": {"type": "object"}}},
        {"allOf": [A, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]},
        {"oneOf": [A, {"properties": {"b": {"type": "string"}}}]},
        {**A, "not": {"properties": {"a": {"const": "x"}}}},
        {"properties": {}, "type": "object"},
    ],
)
def test_a_schema_that_speaks_of_more_properties_is_left_as_it_is(schema: dict[str, Any]) -> None:
    assert sent(schema) == schema


LEAVES = st.sampled_from([{}, {"type": "integer"}, {"type": "string"}, {"type": "object"}])


def objects(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    more = {
        "required": st.lists(st.sampled_from("abc"), unique=True, max_size=1),
        "additionalProperties": st.booleans(),
    }
    return st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abc"), parts)}, optional=more)


PARTS = LEAVES | objects(LEAVES)
SCHEMAS = st.one_of(
    objects(PARTS),
    st.fixed_dictionaries({"not": objects(PARTS)}),
    *[st.fixed_dictionaries({word: st.lists(PARTS, min_size=1, max_size=2)}) for word in ("allOf", "anyOf", "oneOf")],
)
FLAT = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), max_size=3)
VALUES = FLAT | st.dictionaries(st.sampled_from("abcd"), FLAT, max_size=3)


@settings(max_examples=300)
@given(SCHEMAS, VALUES)
def test_what_a_grammar_lets_through_fits_the_schema(schema: dict[str, Any], value: Any) -> None:
    if not check(value, sent(schema)):
        assert not check(value, schema)


@given(st.recursive(LEAVES, lambda parts: objects(parts).map(lambda found: {**found, "additionalProperties": False})))
def test_an_object_that_is_closed_already_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert sent(schema) == schema
