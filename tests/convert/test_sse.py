"""Server-sent events: any cut of the bytes means the same, and the same as the grammar read line by line."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmneutral.convert.sse import ServerSentEvent, SSEDecoder, parse_event

LINE = re.compile(r"\r\n|\n|\r")


def reference(stream: bytes) -> list[tuple[str | None, str]]:
    """WHATWG's steps, one line after the other; an event that the end of the stream cuts off is dispatched too."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    events: list[tuple[str | None, str]] = []
    data, name = "", ""
    for line in [*LINE.split(text), ""]:
        if line == "":
            if data:
                events.append((name or None, data.removesuffix("\n")))
            data, name = "", ""
        elif not line.startswith(":"):
            field, value = line.split(":", 1) if ":" in line else (line, "")
            value = value.removeprefix(" ")
            if field == "data":
                data += value + "\n"
            elif field == "event":
                name = value
    return events


def decode(pieces: list[bytes]) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.flush()


def as_text(events: list[ServerSentEvent]) -> list[tuple[str | None, str]]:
    return [(name, data.decode("utf-8", "replace")) for name, data in events]


ATOMS = [
    b"data: ", b"data:", b"data", b"event: ", b"event:", b"id: 7", b"retry: 10", b": comment", b":", b" ", b"a", b"{}",
    b"\n", b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\r", b"\xef\xbb\xbf", "é😀".encode(), b"\xe2\x82", b"\xff", b"\x00",
    b"\xc2\x85", b"data: [DONE]\n\n", b'event: ping\ndata: {"type": "ping"}\n\n', b"datax: no", b"Data: no",
]  # fmt: skip
streams = st.one_of(st.lists(st.sampled_from(ATOMS), max_size=24).map(b"".join), st.binary(max_size=40))


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    stream = draw(streams)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    return stream, [stream[start:end] for start, end in pairwise(edges)]


@given(cut_streams())
@example((b"data: a\r\n\r\ndata: b\r\n\r\n", [b"data: a\r", b"\n\r", b"\ndata: b\r\n\r\n"]))
@example((b"\xef\xbb\xbfdata: a\n\n", [b"\xef", b"", b"\xbb", b"\xbfdata: a\n", b"\n"]))
def test_any_cut_gives_what_the_grammar_says(cut: tuple[bytes, list[bytes]]) -> None:
    stream, pieces = cut
    assert as_text(decode(pieces)) == reference(stream)


@given(streams)
def test_byte_by_byte_equals_whole(stream: bytes) -> None:
    assert decode([stream[i : i + 1] for i in range(len(stream))]) == decode([stream])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_given_as_soon_as_its_blank_line_is_there(end: bytes) -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"event: x" + end + b"data: 1" + end) == []
    assert decoder.feed(end) == [("x", b"1")]
    assert decoder.feed(b"data: 2" + end + end) == [(None, b"2")]
    assert decoder.flush() == []


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\ndata: b\n\n", [(None, b"a\nb")]),
        (b"data:a\n\ndata:  a\n\n", [(None, b"a"), (None, b" a")]),
        (b": keep-alive\n\ndata: a\n\n", [(None, b"a")]),
        (b"event: ping\n\ndata: a\n\n", [(None, b"a")]),
        (b"data\n\n", [(None, b"")]),
        (b"event: a\nevent: b\ndata: 1\n\n", [("b", b"1")]),
        (b"data: 1\nevent: late\n\n", [("late", b"1")]),
        (b"id: 3\nevent: x\nretry: 5\ndata: 1\n\n", [("x", b"1")]),
        (b"data: one\n\ndata: cut off", [(None, b"one"), (None, b"cut off")]),
        (b"data: [DONE]\n", [(None, b"[DONE]")]),
        ("data: \u2028é\n\n".encode(), [(None, "\u2028é".encode())]),
        (b"", []),
    ],
)
def test_forms(stream: bytes, events: list[ServerSentEvent]) -> None:
    assert decode([stream]) == events


def test_a_decoder_can_be_used_again_after_flush() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.flush() == [(None, b"a")]
    assert decoder.feed(b"\xef\xbb\xbfdata: b\n\n") == [(None, b"b")]


def test_a_long_event_in_many_pieces_is_kept_in_pieces_until_it_is_whole() -> None:
    decoder = SSEDecoder()
    for _ in range(1000):
        assert decoder.feed(b"x" * 10) == []
    assert len(decoder.tail) == 1000, "pieces are joined once, not at every feed"
    assert decoder.feed(b"\n\n") == []
    assert decoder.tail == []


def test_parse_event_ignores_blank_lines_at_the_ends() -> None:
    assert parse_event(b"\n\ndata: a\n") == (None, b"a")
    assert parse_event(b"") is None
