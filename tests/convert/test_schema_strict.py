"""Schemas that a provider enforces, and the way back from them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from llmneutral.convert.schema import reduce_schema, strict_compile, without_added_nulls
from llmneutral.errors import ConversionError
from tests.convert.schema_strategies import RECURSIVE, is_valid, objects, tool_schemas

Schema = dict[str, Any]


def test_strict_closes_every_object_and_requires_every_property() -> None:
    found = strict_compile(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "default": "x"},
                "b": {"type": "string", "enum": ["u", "v"]},
                "c": {"$ref": "#/$defs/C", "description": "the c"},
                "d": {"const": 1},
                "e": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "f": {"type": "integer", "minimum": 0},
            },
            "required": ["f"],
            "$defs": {"C": {"type": "object", "properties": {"n": {"type": "number"}}}},
        }
    )
    number = {"type": ["number", "null"]}
    closed = {"type": "object", "properties": {"n": number}, "additionalProperties": False, "required": ["n"]}
    assert found.strict is True
    assert found.schema == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"type": ["string", "null"], "enum": ["u", "v", None]},
            "c": {**closed, "type": ["object", "null"], "description": "the c"},
            "d": {"anyOf": [{"const": 1}, {"type": "null"}]},
            "e": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "f": {"type": "integer", "minimum": 0},
        },
        "required": ["a", "b", "c", "d", "e", "f"],
        "additionalProperties": False,
        "$defs": {"C": closed},
    }
    assert found.lost == ("default",)


def test_strict_says_in_words_what_it_cannot_enforce() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 2, "description": "d"}}}
    found = strict_compile({**schema, "required": ["a"]})
    assert found.schema["properties"]["a"] == {"type": "string", "description": "d\n\n{minLength: 2}"}
    assert found.lost == ("minLength",)


def test_strict_keeps_recursion() -> None:
    found = strict_compile({**RECURSIVE, "properties": {"root": {"$ref": "#/$defs/Node", "description": "d"}}})
    assert found.strict is True
    assert found.schema["properties"]["root"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "object", "additionalProperties": {"type": "string"}}, "'x'"),
        ({"type": "object", "properties": {}, "additionalProperties": True}, "'x'"),
        ({"type": "object"}, "'x'"),
        ({"type": "array", "items": {"type": "object"}}, r"'x\[\]'"),
        ({"description": "anything"}, "no type at 'x'"),
    ],
)
def test_strict_is_off_where_it_would_empty_a_map(schema: Schema, says: str) -> None:
    whole = {"type": "object", "properties": {"x": schema}}
    found = strict_compile(whole)
    assert found.strict is False
    assert found.schema == whole
    assert len(found.notes) == 1
    with pytest.raises(ConversionError, match=f"schema.*{says}"):
        reduce_schema(whole, "openai_strict")


def test_the_nulls_that_strict_added_come_out_again() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]},
            "d": {"type": "array", "items": {"$ref": "#/$defs/C"}},
            "e": {"$ref": "#/$defs/C"},
            "f": {"type": "string"},
        },
        "required": ["f"],
        "$defs": {"C": {"type": "object", "properties": {"n": {"type": "number"}}}},
    }
    value = {"a": None, "b": None, "c": {"n": None}, "d": [{"n": None}, {"n": 1}], "e": None, "f": None, "g": None}
    before = copy.deepcopy(value)
    made = without_added_nulls(value, schema)
    assert made == {"b": None, "c": {}, "d": [{}, {"n": 1}], "f": None, "g": None}
    assert value == before
    assert without_added_nulls(made, schema) is made


def test_the_subset_of_anthropic() -> None:
    found = reduce_schema(
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 1, "maximum": 9, "description": "a number"},
                "many": {"type": "array", "items": {"type": "string", "format": "uri"}, "minItems": 3, "maxItems": 5},
                "few": {"type": "array", "items": {"type": "string", "format": "x-own"}, "minItems": 1},
                "one": {"oneOf": [{"$ref": "#/$defs/C", "description": "a c"}, {"type": "null"}]},
            },
            "$defs": {"C": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}},
        },
        "anthropic_output",
    )
    assert found.schema["properties"] == {
        "n": {"type": "integer", "description": "a number\n\n{minimum: 1, maximum: 9}"},
        "many": {
            "type": "array",
            "items": {"type": "string", "format": "uri"},
            "minItems": 1,
            "description": "{maxItems: 5}\n\n{minItems: 3}",
        },
        "few": {"type": "array", "items": {"type": "string", "description": '{format: "x-own"}'}, "minItems": 1},
        "one": {"anyOf": [{"anyOf": [{"$ref": "#/$defs/C"}], "description": "a c"}, {"type": "null"}]},
    }
    assert found.schema["additionalProperties"] is False
    assert found.schema["$defs"]["C"]["additionalProperties"] is False
    assert "required" not in found.schema, "optional properties stay optional"
    assert set(found.lost) == {"minimum", "maximum", "minItems", "maxItems", "format", "additionalProperties"}
    with pytest.raises(ConversionError, match=r"recursive.*'Node'"):
        reduce_schema(RECURSIVE, "anthropic_output")
    strict = strict_compile(RECURSIVE, "anthropic")
    assert (strict.strict, strict.schema) == (False, RECURSIVE)


def test_answers_may_have_any_root_where_the_api_allows_it() -> None:
    listed = {"type": "array", "items": {"type": "string"}}
    for dialect in ("gemini_json_schema_output", "gemini_openapi_output", "anthropic_output"):
        assert reduce_schema(listed, dialect).schema == listed


@given(schema=tool_schemas(), value=objects)
def test_what_strict_enforces_fits_the_original(schema: Schema, value: Any) -> None:
    """A value under the strict schema is, once the added nulls are out, valid under the original."""
    found = strict_compile(schema)
    assert found.strict is not None
    if found.strict and not found.lost and is_valid(value, found.schema) and "oneOf" not in json.dumps(schema):
        assert is_valid(without_added_nulls(value, schema), schema)
