"""JSON text: written in one way, read strictly."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.ir.jsontext import dumps, loads, not_json, parse_object

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
