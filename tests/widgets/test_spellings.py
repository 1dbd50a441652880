"""How a known value may be written, and what stands in base64."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.spellings import any_spelling, octets_of, rewritten, spellings

VALUE = "one\ntwo\"three'-\\four/é+ &5"


def test_the_spellings_of_a_value() -> None:
    search = any_spelling(VALUE)
    assert search is not None
    once = json.dumps(VALUE)
    for text in (
        VALUE,
        repr(VALUE),
        once,
        json.dumps(once),
        json.dumps(json.dumps(once)),
        json.dumps(repr(VALUE)),
        repr(repr(VALUE)),
        quote(VALUE),
        quote(once),
        quote(quote(once, safe=""), safe=""),
        quote_plus(VALUE),
        html.escape(VALUE),
        html.escape(once),
        once.replace("/", "\\/"),
        ascii(VALUE),
        VALUE.replace("\n", "\r\n"),
        json.dumps(VALUE.replace("\n", "\r\n")),
        VALUE.replace("\n", "\n    "),
        VALUE.replace("\n", "\n> "),
        " ".join(VALUE.split()),
    ):
        assert search.search(text), text


@given(st.text(min_size=12, max_size=20), st.lists(st.sampled_from([json.dumps, repr, quote, html.escape]), max_size=3))
def test_notations_within_notations(value: str, ways: list[Callable[[str], str]]) -> None:
    text = value
    try:
        for way in ways:
            text = way(text)
    except UnicodeEncodeError:  # half a character stands in no address
        return
    search = any_spelling(value)
    assert search.search(text) if search else value in text


def test_a_simple_value_has_few() -> None:
    """It is written the same everywhere but in base64, and each spelling is searched for in every text."""
    assert len(spellings("sk0123456789abcdef")) <= 7
    assert any_spelling("sk-0123456789abcdef") is None


@given(st.binary(max_size=20), st.text("abcXYZ019-_?>", min_size=12, max_size=40), st.binary(max_size=20))
def test_a_value_in_base64_is_found_wherever_it_begins(before: bytes, value: str, after: bytes) -> None:
    octets = before + value.encode() + after
    for written in (base64.b64encode(octets).decode(), base64.urlsafe_b64encode(octets).decode()):
        assert any(each in written for each in spellings(value))


def test_encodings() -> None:
    assert "é-secret".encode("utf-16-le") in set(octets_of("é-secret"))


@given(st.binary(min_size=12, max_size=200), st.sampled_from([" ", '"', "\\n", "%2C", "\\u000a", "base64,"]))
def test_each_run_is_read_and_written(octets: bytes, before: str) -> None:
    seen: list[bytes] = []

    def changed(given: bytes) -> bytes:
        seen.append(given)
        return given[::-1]

    for written in (base64.b64encode(octets).decode(), base64.urlsafe_b64encode(octets).decode().rstrip("=")):
        again = rewritten(f"{before}{written}.", changed)
        assert seen[-1] == octets
        letters = again.removeprefix(before).removesuffix(".").replace("-", "+").replace("_", "/")
        assert base64.b64decode(letters + "=" * (-len(letters) % 4)) == octets[::-1]


@given(st.text(max_size=300))
def test_what_is_not_changed_stays_to_the_letter(text: str) -> None:
    assert rewritten(text, lambda octets: octets) == text


@pytest.mark.parametrize("text", ["/usr/lib/python3/dist-packages/more", "A" * 17, "QUJD" * 4 + "=A"])
def test_what_is_no_base64_stays(text: str) -> None:
    rewritten(text, lambda octets: b"")  # nothing is raised
    assert rewritten("/a-long-path/of-many-words", lambda octets: b"") == "/a-long-path/of-many-words"


def test_lines_are_one_run() -> None:
    octets = bytes(range(200))
    assert rewritten(base64.encodebytes(octets).decode(), lambda given: given[:60]) == (
        f"{base64.b64encode(octets[:60]).decode()}\n"
    )
