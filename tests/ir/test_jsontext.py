"""JSON text: written in one way, read strictly."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.ir.jsontext import dumps, loads, parse_object

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
