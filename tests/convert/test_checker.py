"""The checker says what the reference implementation says, and says it in words a model can use."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given

from llmneutral.convert.checker import Problem, check
from llmneutral.errors import ConversionError
from tests.convert.schema_strategies import any_schemas, is_valid, objects, tool_schemas, values


@given(any_schemas, values)
@example({"type": "integer"}, 1.0)
@example({"enum": [1, "a"]}, True)
@example({"const": {"a": [1.0, False]}}, {"a": [1, 0]})
@example({"uniqueItems": True}, [1, True, 1.0])
@example({"items": {"type": "string"}, "prefixItems": [True]}, [1, "a", 2])
@example({"contains": {"const": 1}, "minContains": 0}, [])
@example({"contains": {"const": 1}, "maxContains": 1}, [1, 1.0])
@example({"if": {"type": "string"}, "else": False}, 1)
def test_the_verdict_is_that_of_the_reference(schema: Any, value: Any) -> None:
    assert (check(value, schema) == []) == is_valid(value, schema)


@given(tool_schemas(), objects)
def test_with_references_too(schema: Any, value: Any) -> None:
    assert (check(value, schema) == []) == is_valid(value, schema)


ITEM = {
    "type": "object",
    "properties": {"price": {"type": "number"}, "name": {"type": "string"}},
    "required": ["price"],
}
SHAPES = {
    "oneOf": [
        {"properties": {"kind": {"const": "dot"}, "at": {"type": "integer"}}, "required": ["kind", "at"]},
        {"properties": {"kind": {"const": "line"}, "len": {"type": "number"}}, "required": ["kind", "len"]},
    ]
}


@pytest.mark.parametrize(
    ("schema", "value", "problems"),
    [
        ({"type": "integer"}, "3", [("", 'expected integer, got "3"')]),
        ({"type": ["string", "null"]}, 3, [("", "expected string or null, got 3")]),
        ({"type": "integer"}, True, [("", "expected integer, got true")]),
        ({"type": "string"}, {"a": 1}, [("", 'expected string, got the object {"a": 1}')]),
        (
            {"properties": {"items": {"items": ITEM}}},
            {"items": [{"price": 1}, {"price": "2"}, {"name": "a"}]},
            [
                ("items[1].price", 'expected number, got "2"'),
                ("items[2].price", "required, but missing; expected number"),
            ],
        ),
        (
            {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
            {"c d": 1},
            [('["c d"]', "no such property is allowed; there are a, b")],
        ),
        ({"enum": ["a", 1, None]}, "b", [("", 'expected one of "a", 1, null, got "b"')]),
        ({"const": "a"}, "b", [("", 'expected "a", got "b"')]),
        (
            {"minimum": 1, "multipleOf": 2},
            -1,
            [("", "expected at least 1, got -1"), ("", "expected a multiple of 2, got -1")],
        ),
        ({"exclusiveMaximum": 3}, 3, [("", "expected less than 3, got 3")]),
        ({"minLength": 2}, "é", [("", "expected at least 2 characters, got 1")]),
        ({"pattern": "^a"}, "b", [("", 'expected to match the pattern ^a, got "b"')]),
        ({"uniqueItems": True}, [1, 2, 1], [("[2]", "the same as item 0; items must differ")]),
        ({"maxItems": 1}, [1, 2], [("", "expected at most 1 items, got 2")]),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            [("ab", "as the name of a property: expected at most 1 characters, got 2")],
        ),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [("b", "required beside a, but missing")]),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            1.5,
            [("", "fits none of the allowed forms: expected string or integer, got 1.5")],
        ),
        ({"anyOf": [ITEM, {"type": "null"}]}, {"price": "x"}, [("price", 'expected number, got "x"')]),
        (SHAPES, {"kind": "line", "len": "x"}, [("len", 'expected number, got "x"')]),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
            2,
            [("", "fits 2 of the allowed forms, expected exactly one")],
        ),
        ({"not": {"type": "string"}}, "a", [("", '"a" is what is not allowed here')]),
        (False, 1, [("", "not allowed here")]),
    ],
)
def test_what_is_said(schema: Any, value: Any, problems: list[tuple[str, str]]) -> None:
    assert check(value, schema) == [Problem(path, message) for path, message in problems]


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "string", "nullable": True}, None, True),
        ({"type": "string", "nullable": False}, None, False),
        ({"minimum": 1, "exclusiveMinimum": True}, 1, False),
        ({"maximum": 1, "exclusiveMaximum": True}, 1, False),
        ({"maximum": 1, "exclusiveMaximum": False}, 1, True),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a"], True),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a", 1], False),
        ({"items": [{"type": "string"}]}, [1], False),
        ({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, {"a": 1, "b": 1, "c": 1}, False),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"multipleOf": 0.01}, 19.99, True),
        ({"multipleOf": 0.01}, 1e308, True),
        ({"pattern": "(?<broken"}, "a", True),
        ({"minimum": "3", "required": "a", "properties": []}, {}, True),
        (True, object, True),
    ],
)
def test_older_drafts_decimals_and_what_is_no_keyword(schema: Any, value: Any, valid: bool) -> None:
    assert (check(value, schema) == []) is valid


def test_recursion() -> None:
    tree = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "kids": {"items": {"$ref": "#/$defs/Node"}}},
            },
            "Loop": {"$ref": "#/$defs/Pool"},
            "Pool": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "string"}]},
        },
    }
    assert check({"v": 1, "kids": [{"v": 2, "kids": []}, {"v": "x"}]}, tree) == [
        Problem("kids[1].v", 'expected integer, got "x"')
    ]
    assert check(1, {"$ref": "#/$defs/Loop", "$defs": tree["$defs"]}) == [], "a loop asks for nothing"
    deep: Any = {}
    for _ in range(5000):
        deep = {"kids": [deep]}
    assert check(deep, tree) == [Problem("", "nested too deeply to be checked")]
    with pytest.raises(ConversionError, match="Missing"):
        check(1, {"$ref": "#/$defs/Missing"})


def test_not_more_problems_than_anyone_reads() -> None:
    assert len(check(["a"] * 5000, {"items": {"type": "integer"}})) == 100
    assert len(check("b" * 1000, {"enum": ["x" * 1000] * 50})[0].message) < 1000


def test_nested_choices_take_no_time() -> None:
    """Each branch is looked at once per level, not once for the verdict and once more for the words."""
    schema: Any = {"type": "string"}
    value: Any = 1
    for _ in range(18):
        schema = {"type": "object", "properties": {"a": {"oneOf": [schema, {"type": "null"}]}}}
        value = {"a": value}
    assert len(check(value, schema)) == 1
