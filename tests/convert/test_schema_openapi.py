"""Gemini's subset of OpenAPI."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from llmneutral.convert.schema import DIALECTS, reduce_schema
from llmneutral.errors import ConversionError
from tests.convert.schema_strategies import DIAMOND, RECURSIVE, is_valid, objects, tool_schemas

Schema = dict[str, Any]
TOOL_DIALECTS = sorted(name for name in DIALECTS if "output" not in name and name != "openai_strict")


def one(schema: Any, dialect: str, **options: Any) -> Any:
    """What becomes of the schema of one property."""
    return reduce_schema({"type": "object", "properties": {"x": schema}}, dialect, **options).schema["properties"]["x"]


@pytest.mark.parametrize(
    ("given_schema", "made"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, {"type": "string", "nullable": True}),
        ({"type": ["string", "null"], "minLength": 1}, {"type": "string", "minLength": 1, "nullable": True}),
        (
            {"type": ["string", "integer", "null"], "minLength": 1, "minimum": 2, "description": "d"},
            {
                "description": "d",
                "nullable": True,
                "anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 2}],
            },
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": 3}, {"type": "integer", "enum": ["3"]}),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "enum": ["1", "2"]}),
        ({"const": None}, {"type": "null"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        ({"type": "object", "additionalProperties": True}, {"type": "object"}),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": True}}]},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        ),
        (
            {"type": "object", "oneOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {}}}]},
            {
                "anyOf": [
                    {"type": "object", "properties": {"a": {"type": "integer", "enum": ["1"]}}},
                    {"type": "object", "properties": {"b": {}}},
                ]
            },
        ),
    ],
)
def test_openapi_without_loss(given_schema: Schema, made: Schema) -> None:
    found = reduce_schema({"type": "object", "properties": {"x": given_schema}}, "gemini_openapi")
    assert found.schema["properties"]["x"] == made
    assert found.lost == ()


@pytest.mark.parametrize(
    ("given_schema", "made", "lost"),
    [
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer"}, "exclusiveMinimum"),
        ({"type": "object", "additionalProperties": False}, {"type": "object"}, "additionalProperties"),
        ({"type": "string", "format": "uri"}, {"type": "string"}, "format"),
        ({"type": "string", "not": {"const": "a"}}, {"type": "string"}, "not"),
        ({"type": "boolean", "enum": [True]}, {"type": "boolean", "description": "One of: true."}, "enum"),
        ({"enum": [1, "a"]}, {"type": "string", "enum": ["1", "a"]}, "enum"),
        ({"enum": ["", "a"]}, {"type": "string", "enum": ["a"]}, "enum"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            "prefixItems",
        ),
        (
            {"type": "object", "properties": {"a": {}}, "required": ["a", "z"]},
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
            "required",
        ),
        (
            {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"type": "object", "properties": {"a": {}}},
            "required",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "default": 3, "description": "d"},
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "d"},
            "default",
        ),
    ],
)
def test_openapi_with_loss(given_schema: Schema, made: Schema, lost: str) -> None:
    found = reduce_schema({"type": "object", "properties": {"x": given_schema}}, "gemini_openapi")
    assert found.schema["properties"]["x"] == made
    assert found.lost == (lost,)


def test_numbers_where_they_cannot_be_enumerated() -> None:
    made = one({"enum": [1, 2], "description": "Level."}, "gemini_openapi", numeric_enum=False)
    assert made == {"type": "integer", "description": "Level. One of: 1, 2."}


def test_references_are_inlined_with_what_stands_beside_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "cfg": {"$ref": "#/$defs/Cfg", "description": "settings"},
            "old": {"$ref": "#/definitions/Old"},
            "anchored": {"$ref": "#here"},
            "pointed": {"$ref": "#/properties/old"},
        },
        "$defs": {
            "Cfg": {"type": "object", "description": "Cfg", "properties": {"level": {"$ref": "#/definitions/Old"}}},
            "A": {"$anchor": "here", "type": "integer"},
        },
        "definitions": {"Old": {"type": "string"}},
    }
    found = reduce_schema(schema, "gemini_openapi")
    assert found.schema["properties"] == {
        "cfg": {"type": "object", "description": "settings", "properties": {"level": {"type": "string"}}},
        "old": {"type": "string"},
        "anchored": {"type": "integer"},
        "pointed": {"type": "string"},
    }


@pytest.mark.parametrize("dialect", TOOL_DIALECTS)
def test_recursion_and_fan_out(dialect: str) -> None:
    for schema, says in ((RECURSIVE, "'Node'"), (DIAMOND, "too large")):
        if "openapi" in dialect:
            with pytest.raises(ConversionError, match=f"schema.*{says}"):
                reduce_schema(schema, dialect)
        else:
            assert len(json.dumps(reduce_schema(schema, dialect).schema)) < 20_000


def test_a_chain_of_many_references_and_a_reference_out() -> None:
    chain: dict[str, Any] = {f"D{i}": {"items": {"$ref": f"#/$defs/D{i + 1}"}} for i in range(40)}
    schema = {"properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": chain | {"D40": {}}}
    with pytest.raises(ConversionError, match="schema nests more than 32"):
        reduce_schema(schema, "gemini_openapi")
    for ref in ("https://example.com/schema.json", "#/$defs/Missing", "#nowhere"):
        with pytest.raises(ConversionError, match="schema refers to"):
            one({"$ref": ref}, "gemini_openapi")


def test_names_that_are_spelled_like_keywords() -> None:
    properties = {
        "title": {"type": "string", "title": "Title"},
        "const": {"type": "string"},
        "properties": {"type": "object", "properties": {"title": {"type": "string"}}},
        "additionalProperties": {"type": "boolean"},
        "$ref": {"type": "string"},
        "required": {"type": "array", "items": {"type": "string"}},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    found = reduce_schema(schema, "gemini_openapi")
    assert list(found.schema["properties"]) == [*list(properties)[:4], "_ref", "required"]
    assert found.schema["required"] == list(found.schema["properties"])
    assert (found.lost, found.renamed) == ((), {"_ref": "$ref"})
    for dialect in set(TOOL_DIALECTS) - {"openapi", "gemini_openapi"}:
        names = list(reduce_schema(schema, dialect).schema["properties"])
        assert names[:4] == list(properties)[:4]


@given(schema=tool_schemas(), value=objects)
def test_of_openapi_too_but_for_one_of(schema: Schema, value: Any) -> None:
    try:
        found = reduce_schema(schema, "gemini_openapi")
    except ConversionError:
        return
    if not found.lost and not found.renamed and is_valid(value, schema):
        assert is_valid(value, as_json_schema(found.schema))


def as_json_schema(schema: Schema) -> Schema:
    """Gemini's subset, read as JSON Schema: null where nullable, numbers where an integer is enumerated."""

    def read(node: Any) -> Any:
        node = dict(node)
        for key in ("properties",):
            if key in node:
                node[key] = {name: read(value) for name, value in node[key].items()}
        if "items" in node:
            node["items"] = read(node["items"])
        if "anyOf" in node:
            node["anyOf"] = [read(branch) for branch in node["anyOf"]]
        if node.get("type") == "integer" and "enum" in node:
            node["enum"] = [json.loads(text) for text in node["enum"]]
        return {"anyOf": [node, {"type": "null"}]} if node.pop("nullable", False) else node

    found: Schema = read(schema)
    return found
