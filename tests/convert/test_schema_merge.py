"""Two schemas made one ask for both."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from llmneutral.convert.schema_merge import merge, merge_all_of, same_or_union
from llmneutral.convert.schema_walk import Reduction
from tests.convert.schema_strategies import any_schemas, is_valid, values

Schema = dict[str, Any]


@given(first=any_schemas, second=any_schemas, value=values)
def test_what_is_valid_under_both_is_valid_under_the_merged(first: Schema, second: Schema, value: Any) -> None:
    before = copy.deepcopy((first, second))
    reduction = Reduction()
    merged = merge(first, second, reduction)
    assert (first, second) == before
    if not reduction.lost and not {"prefixItems", "contains"} & set(merged):
        assert is_valid(value, merged) == (is_valid(value, first) and is_valid(value, second))


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [2]}),
        ({"minimum": 1, "maxLength": 5}, {"minimum": 2, "maxLength": 3}, {"minimum": 2, "maxLength": 3}),
        ({"description": "the definition"}, {"description": "here"}, {"description": "here"}),
        (
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"a": {"minLength": 1}, "b": {}}, "required": ["b", "a"]},
            {"properties": {"a": {"type": "string", "minLength": 1}, "b": {}}, "required": ["a", "b"]},
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/A"}}},
            {"properties": {"a": {"minLength": 1}}},
            {"properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}, {"minLength": 1}]}}},
        ),
    ],
)
def test_without_loss(first: Schema, second: Schema, merged: Schema) -> None:
    reduction = Reduction()
    assert merge(first, second, reduction) == merged
    assert not reduction.lost


@pytest.mark.parametrize(
    ("first", "second", "lost"),
    [
        ({"type": "string"}, {"type": "integer"}, "allOf"),
        ({"pattern": "^a"}, {"pattern": "b$"}, "allOf"),
        ({"const": 1}, {"const": 2}, "allOf"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}, "additionalProperties"),
    ],
)
def test_what_cannot_be_said_is_told(first: Schema, second: Schema, lost: str) -> None:
    reduction = Reduction()
    merge(first, second, reduction)
    assert list(reduction.lost) == [lost]


def test_parts_of_parts_and_references_among_them() -> None:
    root = {"$defs": {"A": {"allOf": [{"type": "string"}, {"minLength": 1}]}}}
    node = {"allOf": [{"$ref": "#/$defs/A"}, {"maxLength": 3}], "description": "d"}
    assert merge_all_of(node, root, Reduction()) == {
        "type": "string",
        "minLength": 1,
        "maxLength": 3,
        "description": "d",
    }


def test_one_property_of_several_branches() -> None:
    assert same_or_union([{"type": "string"}, {"type": "string"}]) == {"type": "string"}
    assert same_or_union([{"const": "a"}, {"const": "b"}]) == {"enum": ["a", "b"]}
    tagged = [{"type": "string", "enum": ["a", "b"]}, {"type": "string", "const": "a", "title": "T"}]
    assert same_or_union(tagged) == {"type": "string", "enum": ["a", "b"]}
    assert same_or_union([{"const": "a"}, {"type": "string"}]) == {"anyOf": [{"const": "a"}, {"type": "string"}]}
