"""What cannot be written as UTF-8 is replaced, in every place, and told."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ImageMessageContent,
    Message,
    Target,
    TextMessageContent,
    ThinkingMessageContent,
    profile,
)
from llmneutral.convert.job import Job
from llmneutral.convert.surrogates import has_surrogates, scrub_surrogates, scrub_value, scrubbed
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports import get_transport

LONE = "a\ud83d"
BAD = "a\ufffd"


def run(*blocks: Any, tools: tuple[ToolDefinition, ...] = ()) -> tuple[Job, list[Message], list[Message]]:
    stack = [Message("user", blocks)]
    target = Target("anthropic_messages", profile("anthropic_messages"))
    made = Job(get_transport("anthropic_messages"), stack, tools, target, trace=False)
    return made, stack, scrub_surrogates.run(stack, made)


@pytest.mark.parametrize(
    ("text", "clean"),
    [(LONE, BAD), ("\ud83d\ude00", "\U0001f600"), ("\udc00x", "\ufffdx"), ("größer", "größer"), ("", "")],
)
def test_a_text(text: str, clean: str) -> None:
    assert scrubbed(text) == clean
    assert has_surrogates(text) is (text != clean)


def test_a_value_is_the_same_object_if_nothing_had_to_be() -> None:
    value = {"a": ["b", {"c": ("d",)}], "n": 1}
    assert scrub_value(value) is value
    assert scrub_value({LONE: [LONE, {"c": (LONE, 1)}]}) == {BAD: [BAD, {"c": (BAD, 1)}]}


@pytest.mark.parametrize(
    ("block", "clean"),
    [
        (TextMessageContent(LONE), TextMessageContent(BAD)),
        (TextMessageContent("ö", citations=({"t": LONE},)), TextMessageContent("ö", citations=({"t": BAD},))),
        (ThinkingMessageContent(LONE, signature="s"), ThinkingMessageContent(BAD, signature="s")),
        (ActionCallMessageContent(LONE, "f"), ActionCallMessageContent(BAD, "f")),
        (ActionCallMessageContent("c", "f", input={LONE: 1}), ActionCallMessageContent("c", "f", input={BAD: 1})),
        (ActionResultMessageContent("c", {"t": [LONE]}), ActionResultMessageContent("c", {"t": [BAD]})),
        (
            ActionResultMessageContent("c", None, (TextMessageContent(LONE),)),
            ActionResultMessageContent("c", None, (TextMessageContent(BAD),)),
        ),
    ],
)
def test_a_block(block: Any, clean: Any) -> None:
    made, _, found = run(TextMessageContent("first"), block)
    assert found[0].content == (TextMessageContent("first"), clean)
    assert [(change.kind, change.refs) for change in made.note.changes] == [("coerced", ((0, 1),))]


def test_tools() -> None:
    tool = ToolDefinition("f", description=LONE, parameters={"type": "object", "properties": {LONE: {}}})
    made, _, _ = run(TextMessageContent("q"), tools=(tool,))
    assert made.tools == (ToolDefinition("f", description=BAD, parameters={"type": "object", "properties": {BAD: {}}}),)
    assert "f" in made.note.changes[0].why


def test_nothing_to_do_is_the_same_list() -> None:
    made, stack, found = run(
        TextMessageContent("größer"), ImageMessageContent("AAAA"), ActionCallMessageContent("c", "f")
    )
    assert found is stack
    assert made.note.changes == []
