"""Each shape takes what it should, and says what is wrong with anything else."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral.validation.problems import NOTHING
from llmneutral.validation.shapes import (
    Anything,
    Array,
    Base64,
    Best,
    Choices,
    Mapping,
    Number,
    RawBytes,
    Scalar,
    Shape,
    Text,
    Union,
    kind_of,
    named,
    wrong_kind,
)

INTEGER = Number(integer=True, least=1, most=9)
NAME = Text(pattern="[a-z]+", least=2, most=3)


class Words(str):
    """A class of text."""


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        (Anything(), [None, True, 5, 0.5, "größer", [1, ("a",)], {"a": {"b": []}}, Words("x")]),
        (Scalar("null"), [None]),
        (Scalar("boolean"), [True, False]),
        (Number(), [0, -1, 0.5]),
        (INTEGER, [1, 9]),
        (Text(), ["", "größer", Words("x")]),
        (NAME, ["ab", "abc"]),
        (Text(pattern=r"\p{L}"), ["a pattern of another dialect is not checked"]),
        (Choices(["a", "b"]), ["a"]),
        (Choices([True, "auto"]), [True, "auto"]),
        (Choices(["STRING"], fold=True), ["string", "String"]),
        (Base64(), ["", "aGVsbG8=", "_-_-", "aGVs\nbG8="]),
        (RawBytes(), [b"", bytearray(b"x")]),
        (Array(Text(), least=1), [["a"], ("a", "b")]),
        (Mapping(Number(), key=NAME), [{}, {"ab": 1}]),
        (Best([NAME, Choices([""])]), ["ab", ""]),
        (Union({"string": Text(), "null": Scalar("null")}), ["a", None]),
    ],
)
def test_what_is_taken(shape: Shape, values: list[Any]) -> None:
    assert [value for value in values if shape.check(value) is not NOTHING] == []


@pytest.mark.parametrize(
    ("shape", "value", "said"),
    [
        (Anything(), {"a": [b"x"]}, "a[0]: is bytes, which JSON cannot hold"),
        (Anything(), {1: "a"}, ": has the key 1, which is no string"),
        (Anything(), [float("nan")], "[0]: is nan, which JSON cannot hold"),
        (Anything(), {"a": {1, 2}}, "a: is a set, which JSON cannot hold"),
        (Anything(), "\ud83d", ": holds half a surrogate pair, which UTF-8 cannot encode"),
        (Scalar("null"), 0, ": must be null, not an integer"),
        (Scalar("boolean"), 1, ": must be true or false, not an integer"),
        (Number(), "5", ": must be a number, not a string"),
        (Number(), True, ": must be a number, not true or false"),
        (Number(), float("inf"), ": is inf, which JSON cannot hold"),
        (INTEGER, 1.0, ": must be an integer, not a number (1.0)"),
        (INTEGER, 0, ": must be at least 1, not 0"),
        (INTEGER, 10, ": must be at most 9, not 10"),
        (Text(), None, ": must be a string, not null"),
        (Text(), b"x", ": must be a string, not bytes"),
        (NAME, "a", ": needs 2 characters at least"),
        (NAME, "abcd", ": has 4 characters; 3 are allowed"),
        (NAME, "AB", ": must match '[a-z]+', which 'AB' does not"),
        (Choices(["a", "b", "c"]), "d", ": must be 'a', 'b' or 'c', not 'd'"),
        (Choices(["a"]), 5, ": must be 'a', not an integer"),
        (Choices(["a", "b"]), 5, ": must be a string, not an integer"),
        (Choices([True]), 1, ": must be True, not an integer"),
        (Choices(["a"]), "A", ": must be 'a', not 'A'"),
        (Base64(), "no base64!", ": is no base64"),
        (Base64(), "größer", ": is no base64"),
        (RawBytes(), "aGVsbG8=", ": must be bytes, not a string"),
        (RawBytes(least=1), b"", ": is empty"),
        (Array(Text()), "ab", ": must be a list, not a string"),
        (Array(Text()), iter(["a"]), ": must be a list, not a list_iterator"),
        (Array(Text(), least=1), [], ": is empty"),
        (Array(Text(), most=1), ["a", "b"], ": has 2 entries; 1 are allowed"),
        (Array(Text()), ["a", 5], "[1]: must be a string, not an integer"),
        (Mapping(Text()), [], ": must be an object, not a list"),
        (Mapping(Text(), key=NAME), {"A1": "x"}, "A1: as a key must match '[a-z]+', which 'A1' does not"),
        (Mapping(Text()), {"a": 5}, "a: must be a string, not an integer"),
        (Union({"string": Text(), "null": Scalar("null")}), [], ": must be a string or null, not a list"),
    ],
)
def test_what_is_wrong(shape: Shape, value: Any, said: str) -> None:
    [(loc, message)] = shape.check(value)
    place = "".join([f"[{key}]" if isinstance(key, int) else key for key in loc])
    assert f"{place}: {message}" == said


def test_every_item_is_looked_at() -> None:
    assert [loc for loc, _ in Array(Array(Text())).check([["a", 1], 2, [3]])] == [(0, 1), (1,), (2, 0)]


def test_the_nearest_alternative_speaks() -> None:
    near, far = Array(Text()), Array(Number())
    assert Best([far, near]).check(["a", "b", 5]) == near.check(["a", "b", 5])
    assert Best([near, far]).check([1, 2, "a"]) == far.check([1, 2, "a"])


def test_kinds() -> None:
    values: list[Any] = [None, True, 5, 0.5, "", (), {}, b"", Words()]
    assert [kind_of(value) for value in values] == [
        *("null", "boolean", "integer", "number", "string", "list", "object", "bytes", "string")
    ]
    assert kind_of({1}) == "set"
    assert named({1}) == "a set"


def test_kinds_are_told_once() -> None:
    assert wrong_kind(["integer", "number", "null", "boolean"], "x") == [
        ((), "must be a number, true, false or null, not a string")
    ]
