"""Objects: their keys, and how one kind is told from another."""

from __future__ import annotations

from typing import Any

from llmneutral.validation.problems import NOTHING, Findings
from llmneutral.validation.records import Alternatives, Fields, Record, either, exactly_one, without_null
from llmneutral.validation.shapes import Anything, Array, Best, Choices, Number, Scalar, Shape, Text, Union


def record(required: str = "", **shapes: Shape) -> Record:
    return Record(lambda: Fields(shapes=shapes, required=frozenset(required.split())))


def kind(tag: str, required: str = "type", **shapes: Shape) -> Record:
    return record(required, type=Choices([tag]), **shapes)


def said(shape: Shape, value: Any) -> dict[str, str]:
    return {".".join(map(str, loc)): message for loc, message in shape.check(value)}


TEXT, IMAGE = kind("text", "type text", text=Text()), kind("image", "type url", url=Text())


def test_keys() -> None:
    shape = record("a b", a=Text(), b=Number(), c=Text())
    assert shape.check({"a": "x", "b": 1}) is NOTHING
    assert said(shape, {"a": 5, "d": 1}) == {
        "a": "must be a string, not an integer",
        "d": "is unknown",
        "b": "is required",
    }
    assert said(shape, []) == {"": "must be an object, not a list"}


def test_an_object_may_be_open() -> None:
    shape = Record(lambda: Fields(shapes={"a": Text()}, extra=Anything()))
    assert shape.check({"a": "x", "b": [1]}) is NOTHING
    assert said(shape, {"b": b"x"}) == {"b": "is bytes, which JSON cannot hold"}


def test_a_key_may_have_two_spellings() -> None:
    fields = Fields(
        shapes={"topP": Number(), "top_p": Number()}, required=frozenset(["topP"]), spellings={"top_p": "topP"}
    )
    shape = Record(lambda: fields)
    assert shape.check({"top_p": 1}) is shape.check({"topP": 1}) is NOTHING
    assert said(shape, {}) == {"topP": "is required"}


def test_rules_see_the_whole_object() -> None:
    def rule(value: dict[str, Any]) -> Findings:
        return [((), "is odd")] if len(value) % 2 else NOTHING

    shape = Record(lambda: Fields(shapes={"a": Text(), "b": Text()}, rules=(rule,)))
    assert said(shape, {"a": "x"}) == {"": "is odd"}
    assert shape.check({"a": "x", "b": "y"}) is NOTHING


def test_keys_are_worked_out_once_and_late() -> None:
    built: list[int] = []

    def build() -> Fields:
        built.append(1)
        return Fields(shapes={"next": either([Scalar("null"), shape])})

    shape = Record(build)
    assert built == []
    assert shape.check({"next": {"next": {"next": None}}}) is NOTHING
    assert built == [1]


def test_only_the_kind_that_is_meant_speaks() -> None:
    shape = either([TEXT, IMAGE])
    assert shape.check({"type": "text", "text": "x"}) is NOTHING
    assert said(shape, {"type": "image"}) == {"url": "is required"}
    assert said(shape, {"type": "sound"}) == {"type": "must be 'text' or 'image', not 'sound'"}
    assert said(shape, {"type": None}) == {"type": "must be 'text' or 'image', not None"}
    assert said(shape, {"text": "x"}) == {"type": "is required: 'text' or 'image'"}
    assert said(shape, "x") == {"": "must be an object, not a string"}
    assert said(shape, {"type": ["text"]}) == {"type": "must be 'text' or 'image', not ['text']"}


def test_a_second_key_may_tell_them_apart() -> None:
    asked = record("role", type=Choices(["message"]), role=Choices(["user"]), content=Text())
    said_ = record("role id", type=Choices(["message"]), role=Choices(["assistant"]), id=Text())
    shape = either([asked, said_, TEXT])
    assert shape.check({"role": "user", "content": "x"}) is NOTHING
    assert said(shape, {"role": "assistant"}) == {"id": "is required"}
    assert said(shape, {"type": "message", "role": "robot"}) == {"role": "must be 'user' or 'assistant', not 'robot'"}


def test_a_kind_without_a_tag_takes_what_no_other_does() -> None:
    named, other = kind("known", value=Number()), record("type", type=Text(), anything=Text())
    shape = either([named, other])
    assert said(shape, {"type": "known", "value": "x"}) == {"value": "must be a number, not a string"}
    assert shape.check({"type": "mine", "anything": "x"}) is NOTHING
    assert said(shape, {"type": "mine", "anything": 5}) == {"anything": "must be a string, not an integer"}


def test_a_tag_that_objects_fill_in_is_required_where_it_decides() -> None:
    def built(tag: str) -> Record:
        fields = Fields(shapes={"type": Choices([tag]), "a": Text()}, constant=frozenset(["type"]))
        return Record(lambda: fields)

    assert built("x").check({"a": "1"}) is NOTHING
    assert Alternatives([built("x"), built("y")]).check({"a": "1"}) is NOTHING
    assert said(Alternatives([built("x"), built("y")], has_tag=True), {"a": "1"}) == {"type": "is required: 'x' or 'y'"}


def test_alternatives_that_nothing_tells_apart() -> None:
    shape = either([record("a", a=Text(), c=Text()), record("b", b=Text())])
    assert isinstance(shape, Alternatives)
    assert shape.check({"b": "x"}) is NOTHING
    assert said(shape, {"b": 5}) == {"b": "must be a string, not an integer"}


def test_either() -> None:
    assert isinstance(either([Text()]), Text)
    assert isinstance(either([Text(), Anything()]), Anything)
    assert isinstance(either([Text(), Choices(["a"])]), Text)
    assert isinstance(either([Array(Text()), Array(Number())]), Best)
    merged = either([Choices(["a"]), Choices(["b"])])
    assert isinstance(merged, Choices)
    assert merged.values == ("a", "b")
    nested = either([either([Text(), Scalar("null")]), either([Number(), Scalar("null")])])
    assert isinstance(nested, Union)
    assert nested.kinds == {"string", "null", "integer", "number"}


def test_unions_of_objects_are_taken_apart() -> None:
    shape = either([either([TEXT, Scalar("null")]), either([IMAGE, kind("sound")])])
    assert said(shape, {"type": "x"}) == {"type": "must be 'text', 'image' or 'sound', not 'x'"}
    assert shape.check(None) is NOTHING


def test_without_null() -> None:
    text = Text()
    assert without_null(either([text, Scalar("null")])) is text
    assert without_null(text) is text
    assert without_null(either([text, Number(), Scalar("null")])).kinds == {"string", "integer", "number"}


def test_exactly_one() -> None:
    rule = exactly_one(frozenset("ab"), "letter", beside=frozenset("abc"))
    assert rule({"a": 1, "c": 2}) is NOTHING
    assert rule({"a": 1, "b": 2}) == [((), "has a and b: exactly one letter is allowed")]
    assert rule({"c": 1}) == rule({}) == [((), "has no letter: exactly one is needed")]
    assert rule({"d": 1}) is NOTHING, "that it is unknown is said elsewhere"
