"""JSON text: written in one way, read strictly."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.ir.jsontext import MOST_LEVELS, as_object, dumps, loads, not_json, parse_object, plain_data

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(values)
def test_what_is_written_is_read(value: object) -> None:
    assert loads(json.dumps(value)) == value
    assert json.loads(dumps(value)) == value


def test_characters_stay_as_they_are() -> None:
    assert dumps({"größe": "✓"}) == '{"größe": "✓"}'


def test_lone_surrogates_in_escapes_are_read() -> None:
    assert loads(r'"\ud83d"') == "\ud83d"


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', "", "{", "1 2"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        dumps(float("nan"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a":1}', {"a": 1}),
        ("null", None),
        ("[1]", None),
        ('"{}"', None),
        ("{", None),
        ("[" * 100_000, None),
    ],
)
def test_arguments(text: str, found: object) -> None:
    assert parse_object(text) == found


# --- what JSON cannot write -------------------------------------------------------------------------------------------

foreign = st.one_of(
    st.floats().filter(lambda number: number != number or number in (float("inf"), float("-inf"))),
    st.binary(),
    st.frozensets(st.text()),
    st.dates(),
    st.decimals(),
    st.complex_numbers(),
    st.just(object()),
)
mixed = st.recursive(
    st.one_of(values, foreign),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner), st.dictionaries(st.text() | st.dates(), inner)),
    max_leaves=8,
)


@given(mixed)
def test_what_cannot_be_written_is_found_and_nothing_else(value: object) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        assert not_json(value) is not None
    else:
        assert not_json(value) is None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({1}, ("a set, which JSON has not", "its root")),
        ({"a": [0, {"b": b""}]}, ("a bytes, which JSON has not", "a[1].b")),
        ([float("inf")], ("the number inf, which JSON has not", "[0]")),
        ({"a": {2: 1}}, ("the key 2, which is no text", "a")),
        ({None: 1}, ("the key None, which is no text", "its root")),
        ({"a": object()}, ("an object, which JSON has not", "a")),
    ],
)
def test_it_is_named_with_its_place(value: object, found: tuple[str, str]) -> None:
    assert not_json(value) == found


def test_what_holds_itself_is_found() -> None:
    ring: dict[str, object] = {}
    ring["ring"] = ring
    assert not_json(ring) == ("itself, or too many levels", "its root")


# --- what JSON has no word for ------------------------------------------------------------------------

WORDS = [f"word{number}" for number in range(20)]


class Tagged(msgspec.Struct, tag="t", rename="camel", omit_defaults=True):
    """A struct that is written under other names than it is read."""

    own_words: set[str]
    more: object = None


class Row(msgspec.Struct, array_like=True, tag="row"):
    """A struct that is written as an array."""

    words: set[str]
    last: int = 1


@dataclasses.dataclass
class Data:
    """A dataclass."""

    words: frozenset[str]
    more: object = None


@attrs.define
class Defined:
    """A class of attrs."""

    words: set[str]


class Inner(pydantic.BaseModel):
    """A model inside another one."""

    words: set[str]
    day: date = date(2026, 1, 2)


class Model(pydantic.BaseModel):
    """A model of pydantic."""

    inner: list[Inner]
    by_number: dict[int, frozenset[str]]
    pair: tuple[int, set[str]]


def everything() -> dict[str, object]:
    """Every kind of object that can hold a set."""
    words = set(WORDS)
    return {
        "set": words,
        "data": Data(frozenset(words), Tagged(words, Data(frozenset(words)))),
        "row": Row(words),
        "attrs": Defined(words),
        "model": Model(inner=[Inner(words=words)], by_number={7: frozenset(words)}, pair=(1, words)),
    }


def test_sets_in_any_object_are_lists_in_one_order() -> None:
    listed = sorted(WORDS)
    assert plain_data(everything()) == {
        "set": listed,
        "data": {
            "words": listed,
            "more": {"type": "t", "ownWords": listed, "more": {"words": listed, "more": None}},
        },
        "row": ["row", listed, 1],
        "attrs": {"words": listed},
        "model": {
            "inner": [{"words": listed, "day": "2026-01-02"}],
            "by_number": {"7": listed},
            "pair": [1, listed],
        },
    }


def test_what_stands_for_its_default_stays_out() -> None:
    assert plain_data(Tagged({"a"})) == {"type": "t", "ownWords": ["a"]}


def test_an_answer_of_a_tool_is_the_same_text_in_every_run() -> None:
    """The hashes of texts, and so the order of sets, differ from one process to the next."""
    code = "import json; from tests.ir.test_jsontext import *; print(json.dumps(plain_data(everything())))"
    root = str(Path(__file__).parents[2])
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [MOST_LEVELS - 1, MOST_LEVELS, 900, 100_000])
def test_arguments_and_data_are_carried_down_to_one_level(levels: int) -> None:
    text = f'{{"a": {"[" * levels}1{"]" * levels}}}'
    fits = levels < MOST_LEVELS
    assert (parse_object(text) is not None) is fits
    assert as_object(text) == parse_object(text)
    value = nested(levels)
    assert (as_object({"a": value}) is not None) is fits
    if fits:
        assert plain_data({"a": value}) == {"a": value}
    else:
        with pytest.raises(ValueError, match="nested too deeply"):
            plain_data({"a": value})


@pytest.mark.parametrize(
    ("given", "found"), [(None, {}), ("", {}), ('{"a": 1}', {"a": 1}), ({}, {}), ([], None), (5, None)]
)
def test_arguments_as_an_api_writes_them(given: Any, found: Any) -> None:
    assert as_object(given) == found
