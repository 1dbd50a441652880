"""JSON that is still being written: any cut means the same, nothing raises, the end is what a strict reader reads."""

from __future__ import annotations

import copy
import json
from typing import Any, NoReturn

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llmneutral.convert.partial_json import PartialJson

texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["é", "😀", 'a"b', "\\", "\n", "\u2028"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A JSON text, written in one of the ways there are."""
    indent = draw(st.sampled_from([None, 0, 2]))
    return json.dumps(draw(values), indent=indent, ensure_ascii=draw(st.booleans()))


ATOMS = r'{ } [ ] , : " \ u \u00e9 \ud83d \ude00 \u12 tru e null - 0 1 .5 E+ é "a": x'.split()
nonsense = st.lists(st.sampled_from([*ATOMS, " ", "\t", "\n", "\x00"]), max_size=14).map("".join)


def refuse(name: str) -> NoReturn:
    raise ValueError(name)


def strictly(text: str) -> tuple[bool, Any]:
    try:
        return True, json.loads(text, parse_constant=refuse)
    except ValueError:
        return False, None


def same(one: Any, two: Any) -> bool:
    """Equal, and of the same types all the way down."""
    return json.dumps(one) == json.dumps(two)


def begins(part: Any, whole: Any) -> bool:
    """Whether a value may be what was seen of another one on the way: only what comes last may differ."""
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(
            begins(one, two) if place == len(part) - 1 else same(one, two)
            for place, (one, two) in enumerate(zip(part, whole, strict=False))
        )
    if isinstance(part, dict) and isinstance(whole, dict):
        last = next(reversed(part), None)
        return list(part) == list(whole)[: len(part)] and all(
            begins(part[key], whole[key]) if key == last else same(part[key], whole[key]) for key in part
        )
    return (type(part) in (int, float) and type(whole) in (int, float)) or same(part, whole)


@settings(max_examples=200)
@given(documents())
@example('{"a": "\\ud83d\\ude00\\ud83d", "b": [-1.5e-7, true], "": {}}')
def test_every_prefix_of_a_document(text: str) -> None:
    reader = PartialJson()
    whole = json.loads(text)
    for end in range(len(text)):
        shown = copy.deepcopy(reader.feed(text[end]))
        assert not reader.broken
        good, strict = strictly(text[: end + 1])
        assert reader.complete is good
        if good:
            assert same(shown, strict)
        assert begins(shown, whole) or shown is None
    assert reader.complete
    assert same(reader.value, whole)


@settings(max_examples=300)
@given(st.one_of(documents(), nonsense), st.data())
@example('"\\ud83d\\u0041"', None)
@example("[1-2]", None)
@example('{"a" 1}', None)
def test_any_cut_gives_the_same_and_nothing_raises(text: str, data: st.DataObject | None) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6))) if data else []
    at_once, pieces, single = PartialJson(), PartialJson(), PartialJson()
    at_once.push(text)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        pieces.push(text[start:end])
    for character in text:
        single.feed(character)
    assert same(at_once.value, pieces.value)
    assert same(at_once.value, single.value)
    good, strict = strictly(text)
    assert at_once.complete == pieces.complete == single.complete == good
    assert at_once.broken == pieces.broken == single.broken
    if good:
        assert same(at_once.value, strict)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", None),
        ("  ", None),
        ("{", {}),
        ('{"ke', {}),
        ('{"key"', {}),
        ('{"key":', {}),
        ('{"key": "', {"key": ""}),
        ('{"key": "va', {"key": "va"}),
        ('{"key": "va", ', {"key": "va"}),
        ('{"a": -', {}),
        ('{"a": 1', {"a": 1}),
        ('{"a": 1.', {"a": 1}),
        ('{"a": 1.5e', {"a": 1.5}),
        ('{"a": tr', {}),
        ('{"a": true', {"a": True}),
        ("[nul", []),
        ("[[1, [", [[1, []]]),
        ('["a\\', ["a"]),
        ('["a\\u00e', ["a"]),
        ('["a\\ud83d', ["a"]),
        ('["a\\ud83d\\ude0', ["a"]),
        ('["a\\ud83d\\ude00', ["a😀"]),
        ('["a\\ud83dx', ["a\ud83dx"]),
        ('["\\ud83d\\ud83d\\ude00"', ["\ud83d😀"]),
        ('{"a": {"b": [1, {"c": "d', {"a": {"b": [1, {"c": "d"}]}}),
        ('{"a": 1, "a": [2', {"a": [2]}),
        ('"te', "te"),
        ("12", 12),
    ],
)
def test_what_is_shown(text: str, shown: Any) -> None:
    reader = PartialJson()
    assert same(reader.feed(text), shown)
    assert not reader.broken
    assert reader.complete is (text == "12")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hello", None),
        ('{"a": 1} x', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ("[1,]", [1]),
        ("[1 2]", [1]),
        ("[01]", [0]),
        ("[-]", []),
        ('["a\nb"]', ["a"]),
        ('["a\\x"]', ["a"]),
        ('["a\\u00g0"]', ["a"]),
        ("[NaN]", []),
        ('{"a": truth', {}),
        ("{1: 2}", {}),
        ("]", None),
        ('{"a": 1]', {"a": 1}),
        (f"[{'9' * 5000}]", []),
    ],
)
def test_what_is_no_json_stops_the_reading_and_keeps_what_was_read(text: str, shown: Any) -> None:
    reader = PartialJson()
    assert same(reader.feed(text), shown)
    assert reader.broken
    assert not reader.complete
    assert same(reader.feed(', "more": 1}'), shown)


def test_very_deep_texts() -> None:
    reader = PartialJson()
    for _ in range(50_000):
        reader.push('{"a":[')
    assert not reader.broken
    for _ in range(50_000):
        reader.push("]}")
    assert reader.complete


def test_the_value_grows_in_place() -> None:
    reader = PartialJson()
    first = reader.feed('{"a": ["x')
    assert reader.feed('y", "z"]}') is first
    assert first == {"a": ["xy", "z"]}


def test_each_character_is_read_once() -> None:
    """Counted, not timed: a string that comes in many pieces is put together when its value is asked for."""
    reader = PartialJson()
    reader.push('{"text": "')
    for _ in range(2000):
        reader.push("abcd ")
    assert len(reader._pieces) == 2000
    assert reader.value == {"text": "abcd " * 2000}
    assert len(reader._pieces) == 1
    reader.push('"}')
    assert reader.complete
