"""One look at a list of messages: each answer is what walking over the messages would give."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ImageMessageContent,
    Message,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert.look import Look, json_of

blocks = st.one_of(
    st.builds(
        TextMessageContent,
        st.sampled_from(["", " ", "\u00a0", "a", "ö", "\ud83d"]),
        cache=st.sampled_from([None, True]),
        citations=st.sampled_from([(), ({"a": 1},)]),
    ),
    st.builds(ThinkingMessageContent, st.sampled_from(["", "hm", "\udc00"])),
    st.builds(ActionCallMessageContent, st.just("c"), input=st.sampled_from([{}, {"a": float("nan")}, {"a": None}])),
    st.builds(ActionResultMessageContent, st.just("c"), st.sampled_from(["ok", None, float("inf")])),
    st.builds(ImageMessageContent, st.just("AAAA"), url=st.sampled_from([None, "https://x.test/\ud83d"])),
)
messages = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.lists(blocks, max_size=3).map(tuple)),
    max_size=5,
)


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


@given(messages)
def test_it_sees_what_is_there(stack: list[Message]) -> None:
    look = Look(stack)
    found: list[Any] = [block for message in stack for block in message.content]
    texts = [block.text for block in found if isinstance(block, TextMessageContent)]
    assert look.blocks == found
    assert look.kinds == {type(block) for block in found}
    assert look.texts == texts
    assert look.roles == [message.role for message in stack]
    assert look.calls == [block for block in found if isinstance(block, ActionCallMessageContent)]
    assert look.results == [block for block in found if isinstance(block, ActionResultMessageContent)]
    assert look.has_blank_texts == any(not text.strip() for text in texts)
    assert look.has_empty_messages == any(not message.content for message in stack)
    assert look.has_marks == any(block.cache for block in found)
    assert look.has_neighbours == any(a.role == b.role for a, b in pairwise(stack))


@given(messages)
def test_what_cannot_be_written_is_never_overlooked(stack: list[Message]) -> None:
    look = Look(stack)
    if any(0xD800 <= ord(sign) <= 0xDFFF for sign in repr_of(stack)):
        assert look.may_have_surrogates
    calls = [block for block in look.blocks if isinstance(block, ActionCallMessageContent)]
    if any(value != value for call in calls for value in call.input.values()):
        assert look.may_have_nan


def repr_of(stack: list[Message]) -> str:
    texts = []
    for message in stack:
        for block in message.content:
            texts += [getattr(block, name, None) or "" for name in ("text", "url", "output")]
    return "".join(str(text) for text in texts)


@pytest.mark.parametrize(
    ("stack", "plain"),
    [
        ([turn("user", "a"), turn("assistant", "b")], True),
        ([turn("user", "a", name="bob")], False),
        ([turn("user", ())], False),
        ([turn("user", (TextMessageContent("a"), TextMessageContent("b")))], False),
        ([turn("user", (TextMessageContent("a"), TextMessageContent("b"))), turn("user", ())], False),
        ([turn("user", (TextMessageContent("a", cache=True),))], False),
        ([turn("assistant", (ThinkingMessageContent("a"),))], False),
        ([], False),
    ],
)
def test_plain_is_one_text_a_message_and_nothing_else(stack: list[Message], plain: bool) -> None:
    assert Look(stack).is_plain is plain


def test_a_block_in_two_places_is_seen() -> None:
    block = TextMessageContent("a")
    assert Look([turn("user", (block,)), turn("user", (block,))]).has_repeated_blocks
    assert not Look([turn("user", "a"), turn("user", "a")]).has_repeated_blocks


@pytest.mark.parametrize(
    ("value", "written"), [({"a": "ö"}, True), ({"a": "\ud83d"}, False), ({"a": object()}, False), ({1: {2: 3}}, True)]
)
def test_what_json_can_write(value: Any, written: bool) -> None:
    assert (json_of(value) is not None) is written
