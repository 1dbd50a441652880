"""One block: its first words, all of it, and what else is known of it."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral_widgets.views.blocks import content, facts, first_words, kind_of, origin, tool_name
from llmneutral_widgets.views.page import Room
from llmneutral_widgets.views.pictures import Album
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.samples import PNG

BLOCKS: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "text", "text": "a\nb"}, "a b", "<p>a\nb</p>"),
    ({"type": "thinking", "text": "hm"}, "hm", "<p>hm</p>"),
    ({"type": "thinking", "data": "x"}, "redacted", "redacted"),
    ({"type": "thinking", "text": "", "signature": "x"}, "not shown by the provider", "not shown by the provider"),
    ({"type": "tool_call", "name": "f", "path": "p", "input": {"a": 1}}, 'f.p {"a": 1}', '<code> {"a": 1}</code>'),
    ({"type": "tool_call", "name": "f", "input": {"a": "x" * 99}}, "f {", '<pre>{\n  "a": "xxx'),
    ({"type": "invalid_tool_call", "name": "f", "raw": "{"}, "f {", "<pre>{</pre>"),
    ({"type": "tool_result", "output": "fine"}, "fine", "<pre>fine</pre>"),
    ({"type": "tool_result", "output": {"a": 1}}, '{"a": 1}', '<pre>{"a": 1}</pre>'),
    ({"type": "tool_result", "output": None}, "", "<pre></pre>"),
    (
        {"type": "tool_result", "parts": [{"type": "text", "text": "x"}], "is_error": True},
        "x",
        '<b class="tag bad">error</b>',
    ),
    ({"type": "image", "data": PNG, "media_type": "image/png"}, "image/png, ", "<img "),
    ({"type": "image", "url": "https://a.example/x.png"}, "https://a.example/x.png", "https://a.example/x.png"),
    ({"type": "audio", "data": "AAAA", "media_type": "audio/wav", "transcript": "hi"}, "audio/wav, 3 bytes, hi", "hi"),
    ({"type": "audio", "data": "AA==", "media_type": "audio/wav"}, "audio/wav, 1 byte", "1 byte"),
    ({"type": "document", "name": "a.pdf", "file_id": "f1"}, "a.pdf, f1", "a.pdf, f1"),
    ({"type": "document", "text": "plain"}, "document", "<pre>plain</pre>"),
    ({"type": "refusal", "text": "no", "category": "policy"}, "no", "(policy)"),
    ({"type": "generic", "value": {"type": "x"}}, '{"type": "x"}', '"type": "x"'),
    ({"type": "unheard_of", "text": "x"}, "x", '"type": "unheard_of"'),
    ({}, "{}", "{}"),
]


@pytest.mark.parametrize(("block", "words", "shown"), BLOCKS, ids=lambda value: str(value)[:30])
def test_first_words_and_content(block: dict[str, Any], words: str, shown: str) -> None:
    assert first_words(block).startswith(words)
    output = content(block, Room(10_000), Album())
    assert shown in output
    assert outside_views(output) == []
    assert is_well_nested(output)


def test_first_words_are_one_short_line() -> None:
    assert first_words({"type": "text", "text": "word " * 100}) == ("word " * 12).strip() + "…"


def test_an_address_of_a_picture_is_never_fetched() -> None:
    output = content({"type": "image", "url": "https://a.example/x.png"}, Room(100), Album())
    assert "<img" not in output
    assert "<a " not in output


def test_facts() -> None:
    block = {
        "type": "tool_call",
        "tag": "call_1",
        "item_id": "fc_1",
        "cache": "1h",
        "thought_signature": "secret-bytes",
        "origin": {"api": "gemini_native", "model": "gemini-3"},
        "native": {"phase": "x"},
        "input": {},
    }
    said = facts(block)
    for part in (
        "tag call_1",
        "item_id fc_1",
        "cache breakpoint 1h",
        "thought signature present",
        "gemini_native/gemini-3",
    ):
        assert part in said
    assert "secret-bytes" not in said
    assert facts({"type": "text", "text": "x"}) == ""


def test_names() -> None:
    assert kind_of({}) == "generic"
    assert tool_name({"name": "a", "path": None}) == "a"
    assert origin({"origin": "odd"}) is None
    assert origin({"origin": {}}) is None


def test_room_is_shared() -> None:
    room = Room(10)
    assert "5 more characters are not shown here" in content({"type": "text", "text": "x" * 15}, room, Album())
    assert (
        content({"type": "tool_result", "output": "abc"}, room, Album())
        == '<div class="call"><pre>… (3 more)</pre></div>'
    )
