"""Rules for one node: older drafts, null, and the keys that an API allows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmneutral.convert.schema import Reduced, reduce_schema, rename_keys_back

Schema = dict[str, Any]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 1, "exclusiveMaximum": False}, {"type": "integer", "maximum": 1}),
        ({"type": "integer", "exclusiveMaximum": True}, {"type": "integer"}),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        ),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "any", "description": "d"}, {"description": "d"}),
        (
            {"type": "object", "properties": {"a": {"type": "string", "required": True}, "b": {"required": False}}},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        ),
    ],
)
@pytest.mark.parametrize("dialect", ["chat", "anthropic", "bedrock", "responses"])
def test_older_drafts_and_openapi(dialect: str, old: Schema, new: Schema) -> None:
    found = reduce_schema({"type": "object", "properties": {"x": old}}, dialect)
    assert found.schema["properties"]["x"] == new
    assert found.lost == ()
    assert len(found.notes) == 1


def test_what_json_schema_does_not_allow_is_dropped_and_told() -> None:
    found = reduce_schema({"type": "object", "properties": ["a"], "required": "a", "anyOf": []}, "anthropic")
    assert found.schema == {"type": "object", "properties": {}}
    assert set(found.lost) == {"properties", "required", "anyOf"}


def test_a_union_with_null_collapses_with_all_that_stands_beside_it() -> None:
    schema = {
        "anyOf": [{"type": "array", "items": {"oneOf": [{"type": "null"}, {"type": "string"}]}}, {"type": "null"}]
    }
    found = reduce_schema({"properties": {"x": {**schema, "default": None, "description": "d"}}}, "anthropic")
    assert found.schema["properties"]["x"] == {"type": "array", "items": {"type": "string"}, "description": "d"}
    assert found.lost == ("null",)


def test_a_larger_union_stays() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
    found = reduce_schema({"type": "object", "properties": {"x": union}}, "anthropic")
    assert found == Reduced({"type": "object", "properties": {"x": union}})


def test_keys_that_the_api_does_not_allow() -> None:
    inner = {"type": "object", "properties": {"bad key!": {"type": "string"}}, "default": {"bad key!": "v"}}
    schema = {
        "type": "object",
        "properties": {"bad key!": inner, "bad_key_": {"type": "string"}, "x" * 70: {"type": "string"}, "": {}},
        "required": ["bad key!", "bad_key_"],
        "dependentRequired": {"bad key!": ["bad_key_"]},
    }
    found = reduce_schema(schema, "anthropic")
    new = {original: name for name, original in found.renamed.items()}
    assert set(new) == {"bad key!", "x" * 70, ""}
    assert all(0 < len(name) <= 64 for name in found.schema["properties"])
    assert "bad key!" not in json.dumps(found.schema)
    key = new["bad key!"]
    assert key != "bad_key_"
    assert found.schema["required"] == [key, "bad_key_"]
    assert found.schema["dependentRequired"] == {key: ["bad_key_"]}
    assert found.schema["properties"][key]["default"] == {key: "v"}
    sent = {key: {key: "a"}, "bad_key_": "b", "list": [{key: 1}]}
    back = rename_keys_back(sent, found.renamed)
    assert back == {"bad key!": {"bad key!": "a"}, "bad_key_": "b", "list": [{"bad key!": 1}]}
    backwards = {**schema, "properties": dict(reversed(schema["properties"].items()))}  # type: ignore[attr-defined]
    assert reduce_schema(backwards, "anthropic").renamed == found.renamed
