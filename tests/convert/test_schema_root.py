"""The root of a schema: one object, whatever was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from llmneutral.convert.schema import SAME_MEANING, Reduced, reduce_schema, wrap_root
from llmneutral.errors import ConversionError
from tests.convert.schema_strategies import NODE, is_valid, objects, tool_schemas

Schema = dict[str, Any]

UNION = [
    {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
    {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "string"}}, "required": ["kind"]},
]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("dialect", ["anthropic", "chat", "portable", "bedrock", "cohere", "mistral"])
def test_a_root_union_of_objects_becomes_one(dialect: str, keyword: str) -> None:
    found = reduce_schema({keyword: UNION, "description": "either"}, dialect)
    assert found.schema == {
        "type": "object",
        "description": "either",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "n": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["kind"],
    }
    assert found.lost == (keyword,)


def test_branches_that_only_require_something_go() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    found = reduce_schema(schema, "anthropic")
    assert found.schema == {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    assert found.lost == ("anyOf",)


def test_a_root_of_parts_and_a_root_that_is_a_reference() -> None:
    parts = {
        "allOf": [
            {"$ref": "#/$defs/A"},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
        ],
        "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/C"}}, "required": ["a"]}, "C": {}},
    }
    found = reduce_schema(parts, "anthropic")
    assert found.schema["properties"] == {"a": {"$ref": "#/$defs/C"}, "b": {"type": "string"}}
    assert found.schema["required"] == ["a", "b"]
    assert found.lost == ()
    found = reduce_schema({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, "responses")
    assert found == Reduced({**NODE, "$defs": {"Node": NODE}}, notes=(SAME_MEANING,))
    for wrong in ({"$ref": "#"}, {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, {"$ref": "#/$defs/No"}):
        with pytest.raises(ConversionError, match="schema"):
            reduce_schema(wrong, "chat")


def test_references_into_the_schema_survive_what_moves() -> None:
    shared = {"type": "object", "properties": {"bad key!": {"type": "string"}}}
    schema = {"oneOf": [{"properties": {"a b": shared, "c": {"$ref": "#/oneOf/0/properties/a b"}}}]}
    found = reduce_schema(schema, "anthropic").schema
    assert found["properties"]["c"] == {"$ref": "#/$defs/a b"}
    assert found["$defs"]["a b"]["properties"] == {"bad_key_": {"type": "string"}}


@pytest.mark.parametrize(
    "schema",
    [{"type": "object"}, {"properties": {}}, {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}],
)
def test_an_object_is_not_wrapped(schema: Schema) -> None:
    assert wrap_root(schema) == (schema, False)


def test_what_is_wrapped_takes_its_definitions_along() -> None:
    assert wrap_root({"type": "array", "items": {"type": "string"}}) == (
        {
            "type": "object",
            "properties": {"value": {"type": "array", "items": {"type": "string"}}},
            "required": ["value"],
        },
        True,
    )
    tree = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}}
    wrapped, _ = wrap_root(tree)
    assert is_valid({"value": ["a", ["b", []]]}, wrapped)
    assert not is_valid({"value": ["a", [1]]}, wrapped)
    for schema in ({"type": ["object", "null"]}, {"anyOf": [NODE, {"type": "object"}]}, {}, {"type": "string"}):
        assert wrap_root(schema)[1]


@given(schema=tool_schemas(), value=objects)
def test_wrapping_keeps_the_meaning(schema: Schema, value: Any) -> None:
    wrapped, was = wrap_root({"anyOf": [schema, {"type": "null"}], "$defs": schema["$defs"]})
    assert was
    assert is_valid({"value": value}, wrapped) == is_valid(value, schema)
