from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.convert.report import Ref
from llmneutral.convert.rest import base64_of, bytes_of, plain_json
from llmneutral.convert.trace import Trace

plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.binary(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)


@given(st.binary(max_size=40))
def test_base64_is_read_in_any_spelling(data: bytes) -> None:
    text = base64_of(data)
    spellings = [text, text.rstrip("="), base64.urlsafe_b64encode(data).decode(), f"{text[:7]}\n {text[7:]}\n"]
    assert [bytes_of(each) for each in spellings] == [data] * 4


@pytest.mark.parametrize("text", ["a", "&&&&", "abc!", "ä", "ab=cd", "AAAAA"])
def test_what_is_no_base64_is_none(text: str) -> None:
    assert bytes_of(text) is None


def test_bytes_become_base64_wherever_they_stand() -> None:
    payload = {"a": [{"b": b"\x01\x02"}, bytearray(b"x")], "c": memoryview(b"y"), "d": "text"}
    assert plain_json(payload) == {"a": [{"b": "AQI="}, "eA=="], "c": "eQ==", "d": "text"}
    assert payload["d"] == "text"
    assert payload["c"] == b"y"


def test_what_holds_no_bytes_stays_the_same_object() -> None:
    quiet = {"a": [1, {"b": "c"}]}
    assert plain_json(quiet) is quiet
    loud = {"quiet": quiet, "bytes": b""}
    assert plain_json(loud)["quiet"] is quiet


@given(plain)
def test_nothing_but_bytes_is_changed(value: object) -> None:
    def expected(node: object) -> object:
        if isinstance(node, dict):
            return {key: expected(entry) for key, entry in node.items()}
        if isinstance(node, list):
            return [expected(entry) for entry in node]
        return base64.b64encode(node).decode() if isinstance(node, bytes) else node

    assert plain_json(value) == expected(value)


def test_copies_carry_the_marks() -> None:
    block = {"image": {"bytes": b"x"}, "text": "t"}
    payload = {"messages": [block]}
    trace = Trace()
    trace.mark(block, (Ref(0, 0),))
    trace.mark(block, (Ref(0, 1),), "text")
    assert trace.pointers(plain_json(payload, trace)) == {
        "/messages/0": (Ref(0, 0),),
        "/messages/0/text": (Ref(0, 1),),
    }
    trace.mark(payload["messages"], (Ref(1, 0),))
    assert trace.pointers(plain_json(payload, trace))["/messages"] == (Ref(1, 0),)


def test_any_depth() -> None:
    quiet: list[object] = []
    loud: list[object] = [b"x"]
    for _ in range(50_000):
        quiet, loud = [quiet], [loud]
    assert plain_json(quiet) is quiet
    made = plain_json(loud)
    while made != ["eA=="]:
        (made,) = made
