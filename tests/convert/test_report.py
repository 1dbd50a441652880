"""What a conversion changed, and at which address."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from llmneutral import Change, Message, Ref, TextMessageContent
from llmneutral.convert.report import Notes
from tests.laws.stacks import stacks
from tests.payloads import turn

A, B, C = TextMessageContent("a"), TextMessageContent("b"), TextMessageContent("c")
STACK = [turn("user", A, B), turn("assistant", C)]


def notes() -> Notes:
    made = Notes(STACK)
    made.step = "step"
    return made


def test_a_remark_says_where_what_and_why() -> None:
    made = notes()
    made("dropped", "because", B, C, doc="https://x.test")
    assert made.changes == [Change("step", "dropped", (Ref(0, 1), Ref(1, 0)), "because", "https://x.test")]


def test_a_remark_without_a_block_has_no_address() -> None:
    made = notes()
    made("coerced", "temperature: too hot")
    assert made.changes[0].refs == ()
    assert made.changes[0].doc is None


def test_what_became_of_a_block_has_its_address() -> None:
    made = notes()
    new = TextMessageContent("A")
    made("rewritten", "louder", A, new=new)
    made("dropped", "too loud", new)
    assert made.changes[1].refs == (Ref(0, 0),)
    newer = made.became(TextMessageContent("AB"), new, B)
    assert made.refs(newer) == (Ref(0, 0), Ref(0, 1))


def test_a_block_of_ours_has_none() -> None:
    made = notes()
    filler = TextMessageContent("(empty)")
    made("added", "needed", new=filler)
    assert made.refs(filler) == ()
    assert made.refs(TextMessageContent("a")) == ()  # equal is not the same


def test_an_address_is_told_once() -> None:
    made = notes()
    both = made.became(TextMessageContent("aa"), A, A)
    assert made.refs(both, A, B) == (Ref(0, 0), Ref(0, 1))
    assert made.refs() == ()


def test_addresses_of_a_message() -> None:
    made = notes()
    assert made.message_refs(STACK[0]) == (Ref(0, 0), Ref(0, 1))
    assert made.message_refs(turn("user", "new"), 7) == (Ref(7, 0),)
    assert made.message_refs(turn("user", "new")) == ()


def test_many_blocks_at_once() -> None:
    made = notes()
    new = made.became(TextMessageContent("n"), C)
    assert made.refs_of_each([A, new, TextMessageContent("x")]) == [(Ref(0, 0),), (Ref(1, 0),), ()]


@given(stacks)
def test_every_block_has_its_own_address(stack: list[Message]) -> None:
    made = Notes(stack)
    for i, message in enumerate(stack):
        for j, block in enumerate(message.content):
            if sum(block is other for each in stack for other in each.content) == 1:
                assert made.refs(block) == (Ref(i, j),)


@pytest.mark.parametrize("field", ["step", "kind", "why"])
def test_a_change_is_a_value(field: str) -> None:
    change: Any = Change("s", "dropped", (), "w")
    with pytest.raises(AttributeError):
        setattr(change, field, "x")
    assert change == Change("s", "dropped", (), "w")
    assert hash(change) == hash(Change("s", "dropped", (), "w"))
