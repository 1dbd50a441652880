"""Schemas in the dialects of the APIs: what is sent, what is said to be lost, and that nothing else is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given

from llmneutral.convert.schema import DIALECTS, Reduced, _reduced, bare, reduce_schema, rename_keys_back, strict_compile
from llmneutral.convert.schema_walk import nodes
from llmneutral.errors import ConversionError
from tests.convert.schema_strategies import is_valid, objects, tool_schemas

Schema = dict[str, Any]
TOOL_DIALECTS = sorted(name for name in DIALECTS if "output" not in name and name != "openai_strict")


def one(schema: Any, dialect: str, **options: Any) -> Any:
    """What becomes of the schema of one property."""
    return reduce_schema({"type": "object", "properties": {"x": schema}}, dialect, **options).schema["properties"]["x"]


# --- laws ---

OPENAPI = {
    "$ref",
    "$defs",
    "const",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "prefixItems",
    "examples",
    "multipleOf",
}
OPENAPI |= {"exclusiveMinimum", "exclusiveMaximum", "additionalProperties", "propertyNames", "patternProperties"}
FORBIDDEN: dict[str, set[str]] = {
    "gemini_json_schema": set(),
    "gemini_openapi": OPENAPI,
    "gemini_openapi_output": OPENAPI,
    "openapi": OPENAPI,
    "llama_cpp": {"nullable", "additionalItems", "pattern", "format"},
    "openai_strict": {"allOf", "oneOf", "not", "default", "minLength", "patternProperties", "if", "examples"},
    "anthropic_output": {"allOf", "oneOf", "not", "minimum", "multipleOf", "minLength", "maxItems", "pattern", "if"},
}
KEEPS_JSON_SCHEMA = [name for name in TOOL_DIALECTS if "openapi" not in name]


def reductions(schema: Schema, dialects: Iterable[str]) -> Iterator[tuple[str, Reduced]]:
    """What becomes of a schema, in every dialect that takes it."""
    for dialect in dialects:
        try:
            yield dialect, reduce_schema(schema, dialect)
        except ConversionError:
            continue


@given(schema=tool_schemas())
def test_a_schema_is_reduced_or_refused_and_never_changed(schema: Schema) -> None:
    before = copy.deepcopy(schema)
    for dialect in DIALECTS:
        try:
            found = reduce_schema(schema, dialect)
        except ConversionError as error:
            message = error.message
            assert "schema" in message  # refusing is one of two right answers
            continue
        assert schema == before
        _reduced.cache_clear()
        assert reduce_schema(schema, dialect) == found, "the same again"
        used = {key for node in nodes(found.schema) for key in node}
        assert used & FORBIDDEN.get(dialect, {"nullable", "additionalItems"}) == set()


@given(schema=tool_schemas())
def test_what_is_reduced_stays_as_it_is(schema: Schema) -> None:
    for dialect, found in reductions(schema, KEEPS_JSON_SCHEMA):
        assert reduce_schema(found.schema, dialect).schema == found.schema, dialect


@given(schema=tool_schemas(), value=objects)
def test_what_is_not_said_to_be_lost_still_holds(schema: Schema, value: Any) -> None:
    verdict = is_valid(value, schema)
    for dialect, found in reductions(schema, KEEPS_JSON_SCHEMA):
        if not found.lost and not found.renamed and found.schema != schema:
            assert is_valid(value, found.schema) == verdict, dialect


@given(schema=tool_schemas())
def test_whatever_differs_is_told(schema: Schema) -> None:
    for dialect, found in reductions(schema, list(DIALECTS)):
        assert bare(found.schema) == bare(schema) or found.lost or found.renamed or found.notes, dialect


@given(schema=tool_schemas())
def test_whatever_strict_changes_is_told(schema: Schema) -> None:
    for dialect in ("responses", "anthropic"):
        try:
            found = strict_compile(schema, dialect)
        except ConversionError:
            continue
        assert bare(found.schema) == bare(schema) or found.lost or found.renamed or found.notes, dialect


@given(schema=tool_schemas(), value=objects)
def test_keys_come_back(schema: Schema, value: Any) -> None:
    for _, found in reductions(schema, ["anthropic", "portable"]):
        sent = {original: new for new, original in found.renamed.items()}
        assert len(sent) == len(found.renamed)
        assert rename_keys_back(rename_keys_back(value, sent), found.renamed) == value


# --- the way in ---


@pytest.mark.parametrize("dialect", TOOL_DIALECTS)
@pytest.mark.parametrize("nothing", [None, {}])
def test_no_parameters(dialect: str, nothing: Any) -> None:
    assert reduce_schema(nothing, dialect) == Reduced({"type": "object", "properties": {}})


@pytest.mark.parametrize("dialect", [name for name in TOOL_DIALECTS if name != "gemini_json_schema"])
def test_an_object_without_properties(dialect: str) -> None:
    found = reduce_schema({"type": "object"}, dialect)
    assert found.schema["type"] == "object"
    assert found.schema["properties"] == {}
    assert found.lost == ()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_nan(number: float) -> None:
    reduce_schema({"type": "object", "properties": {"x": {"default": None}}}, "chat")
    with pytest.raises(ConversionError, match=r"schema.*properties\.x\.default"):
        reduce_schema({"type": "object", "properties": {"x": {"default": number}}}, "chat")
    with pytest.raises(ConversionError, match=r"enum\[1\]"):
        reduce_schema({"type": "object", "properties": {"x": {"enum": [1, number]}}}, "gemini_json_schema")


def test_half_a_surrogate_pair_does_no_harm() -> None:
    schema = {"type": "object", "properties": {"x": {"description": "\ud83d", "default": None}}}
    assert reduce_schema(schema, "anthropic").schema["properties"]["x"]["description"] == "\ud83d"
    bad_name = {"type": "object", "properties": {"\ud83d": {"type": "string"}}}
    assert list(reduce_schema(bad_name, "anthropic").renamed.values()) == ["\ud83d"]


def test_what_is_no_schema() -> None:
    loop: Schema = {"type": "object"}
    loop["properties"] = {"x": loop}
    deep: Schema = {"type": "string"}
    for _ in range(5000):
        deep = {"type": "array", "items": deep}
    for wrong in (
        ["type", "object"],
        "object",
        loop,
        {"type": "object", "properties": {"x": deep}},
        {"const": object()},
    ):
        with pytest.raises(ConversionError, match="schema"):
            reduce_schema(wrong, "anthropic")  # type: ignore[arg-type]
    for value, says in (
        (b"x", "bytes"),
        (object(), "object"),
        ({1: "a"}, "key 1, which is no text, at properties.x.const"),
    ):
        with pytest.raises(ConversionError, match=f"schema.*{says}"):
            one({"const": value}, "chat")
    assert one({"const": 2**70, "enum": (1, 2)}, "chat") == {"const": 2**70, "enum": [1, 2]}
    with pytest.raises(ConversionError, match="'int'"):
        one({"type": "int"}, "chat")
    with pytest.raises(ConversionError, match="'strin'"):
        reduce_schema({"type": "array", "items": {"type": ["integer", "strin"]}}, "chat")
    with pytest.raises(ValueError, match="no schema dialect 'soap'"):
        reduce_schema({"type": "object"}, "soap")


@pytest.mark.parametrize("dialect", sorted(set(TOOL_DIALECTS) - {"gemini_json_schema"}))
def test_the_root_of_a_tool_is_an_object(dialect: str) -> None:
    for wrong in ({"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"enum": ["a"]}):
        with pytest.raises(ConversionError, match="root"):
            reduce_schema(wrong, dialect)


def test_a_schema_is_reduced_once() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    assert reduce_schema(schema, "chat") is reduce_schema(copy.deepcopy(schema), "chat")


# --- imitators ---


def test_portable_has_one_type_per_node() -> None:
    made = one({"type": ["string", "null"], "enum": ["a", None], "default": None}, "portable")
    assert made == {"type": "string", "enum": ["a"]}
    made = one({"type": ["string", "array"], "items": {"type": "string"}, "maxLength": 3}, "portable")
    assert made == {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "array", "items": {"type": "string"}}]}


def test_llama_cpp_has_no_pattern_and_no_format() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "pattern": "^a", "format": "date"}}}
    found = reduce_schema(schema, "llama_cpp")
    assert found.schema["properties"] == {"pattern": {"type": "string"}}
    assert found.lost == ("pattern", "format")
    assert reduce_schema(schema, "portable", drops=("format", "pattern")).schema == found.schema


def test_xai_has_no_slash_in_enums() -> None:
    assert one({"type": "string", "enum": ["a/b", "c"]}, "xai") == {"type": "string"}
    assert one({"type": "string", "enum": ["a", "c"]}, "xai") == {"type": "string", "enum": ["a", "c"]}
    assert one({"type": "string", "enum": ["a/b"]}, "portable", enum_slash=False) == {"type": "string"}
    assert one({"type": "string", "enum": ["a/b"]}, "chat") == {"type": "string", "enum": ["a/b"]}


def test_kimi_types_every_node_and_no_union() -> None:
    found = reduce_schema(
        {
            "type": "object",
            "properties": {
                "any": {"description": "d"},
                "values": {"enum": [1, 2]},
                "list": {"items": {"properties": {"a": {"type": "string"}}}},
                "union": {"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "^a"}]},
                "ref": {"$ref": "#/$defs/A"},
            },
            "$defs": {"A": {"type": "object"}},
        },
        "kimi",
    )
    assert found.schema == {
        "type": "object",
        "properties": {
            "any": {"type": "string", "description": "d"},
            "values": {"type": "integer", "enum": [1, 2]},
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": []},
            },
            "union": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "string", "pattern": "^a"}]},
            "ref": {"$ref": "#/$defs/A"},
        },
        "$defs": {"A": {"type": "object", "required": []}},
        "required": [],
    }
    assert found.lost == ("type",)


def test_an_answer_for_cohere_requires_something() -> None:
    found = reduce_schema({"type": "object", "properties": {"a": {"type": "string"}}}, "cohere_output")
    assert found.schema["required"] == ["a"]
    assert found.notes


# --- the cases beside the project ---


def case_schemas(shared: Path) -> Iterator[tuple[str, Any]]:
    for case in json.loads((shared / "cases" / "json_schema.json").read_text(encoding="utf-8")):
        for tool in case["given"].get("tools", []):
            yield case["id"], tool["function"].get("parameters")


@pytest.mark.parametrize("dialect", TOOL_DIALECTS)
def test_every_schema_of_the_cases(shared: Path, dialect: str) -> None:
    seen = 0
    for case, schema in case_schemas(shared):
        seen += 1
        if case in ("JS03", "JS04") and "openapi" in dialect:
            continue
        found = reduce_schema(schema, dialect)
        jsonschema.Draft202012Validator.check_schema(found.schema)
        assert dialect == "gemini_json_schema" or found.schema["type"] == "object"
    assert seen > 10
