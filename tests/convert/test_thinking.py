"""Reasoning of the history. What each value of the fact means is tested with the transports; here the passes."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import (
    ActionCallMessageContent,
    GenericMessageContent,
    Message,
    Target,
    TextMessageContent,
    ThinkingMessageContent,
    profile,
)
from llmneutral.convert.job import Job, Pass
from llmneutral.convert.thinking import (
    lead_with_reasoning,
    misses_reasoning,
    one_reasoning_a_turn,
    pad_reasoning,
    replay_by_fact,
    why_dropped,
)
from llmneutral.transports import get_transport

SIGNED, UNSIGNED = ThinkingMessageContent("hm", signature="s"), ThinkingMessageContent("hm")
CALL, TEXT = ActionCallMessageContent("c"), TextMessageContent("t")
SERVER = GenericMessageContent({"type": "server_tool_use"})


def message(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def job(stack: list[Message], **facts: Any) -> Job:
    target = Target("anthropic_messages", profile("anthropic_messages", facts=facts), host="api.anthropic.com")
    return Job(get_transport("anthropic_messages"), stack, (), target, trace=False)


def run(step: Pass, *turns: Any, **facts: Any) -> tuple[list[Message], list[Message]]:
    stack = [message("user", "q"), *[message("assistant", turn) for turn in turns]]
    return stack, step.run(stack, job(stack, **facts))


@pytest.mark.parametrize("fact", ["native", "native_last", "own_only", "keep_all", "keep_unsigned", "strip"])
def test_every_value_of_the_fact_has_a_rule(fact: str) -> None:
    stack = [message("assistant", (SIGNED,))]
    why_dropped(SIGNED, stack[0], job(stack, reasoning_replay=fact))
    assert why_dropped(ThinkingMessageContent(data=""), stack[0], job(stack, reasoning_replay=fact))


def test_the_last_turn_may_be_several_messages() -> None:
    stack = [
        message("assistant", (SIGNED,)),
        message("user", "q"),
        message("assistant", (SIGNED,)),
        message("assistant", "t"),
    ]
    found = replay_by_fact.run([*stack, message("user", "r")], job([*stack, message("user", "r")]))
    assert found == [*stack, message("user", "r")]
    told = job(stack := [*stack, message("user", "r")], reasoning_replay="native_last")
    assert [len(message.content) for message in replay_by_fact.run(stack, told)] == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("step", [one_reasoning_a_turn, lead_with_reasoning, pad_reasoning, replay_by_fact])
def test_nothing_to_do_is_the_same_list(step: Pass) -> None:
    stack, found = run(step, (SIGNED, TEXT, CALL))
    assert found is stack


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (((UNSIGNED, TEXT), (UNSIGNED, TEXT)), [2, 1]),
        (((SIGNED, TEXT), (UNSIGNED, TEXT)), [2, 1]),
        (((SIGNED,), (SIGNED, TEXT)), [1, 2]),
        (((TEXT,), (UNSIGNED, TEXT)), [1, 2]),
        (((UNSIGNED, TEXT), (TEXT,), (UNSIGNED, TEXT)), [2, 1, 1]),
    ],
)
def test_one_reasoning_a_turn(turns: Any, left: list[int]) -> None:
    _, found = run(one_reasoning_a_turn, *turns)
    assert [len(message.content) for message in found[1:]] == left


def test_turns_apart_keep_theirs() -> None:
    stack = [message("assistant", (UNSIGNED,)), message("user", "q"), message("assistant", (UNSIGNED,))]
    assert one_reasoning_a_turn.run(stack, job(stack)) is stack


@pytest.mark.parametrize(
    ("turn", "moved"),
    [
        ((TEXT, SIGNED, CALL), True),
        ((TEXT, SIGNED), False),
        ((TEXT, UNSIGNED, CALL), False),
        ((SERVER, SIGNED, CALL), False),
        ((CALL, ThinkingMessageContent(data="blob")), True),
    ],
)
def test_reasoning_leads(turn: Any, moved: bool) -> None:
    stack, found = run(lead_with_reasoning, turn)
    assert (found is not stack) is moved
    if moved:
        assert isinstance(found[1].content[0], ThinkingMessageContent)
        assert len(found[1].content) == len(turn)


def test_reasoning_that_is_bound_stays() -> None:
    stack, found = run(lead_with_reasoning, (TEXT, SIGNED, CALL), reasoning_prefix_bound=True)
    assert found is stack


@pytest.mark.parametrize(("turn", "padded"), [((TEXT, CALL), True), ((SIGNED, CALL), False), ((TEXT,), False)])
def test_padding(turn: Any, padded: bool) -> None:
    _, found = run(pad_reasoning, turn, thinking_required_on_tool_calls=True)
    assert (found[1].content[0] == ThinkingMessageContent("") and len(found[1].content) > len(turn)) is padded


@pytest.mark.parametrize(
    ("turns", "missing"),
    [
        ([(CALL,)], True),
        ([(TEXT, CALL)], True),
        ([(SIGNED, CALL)], False),
        ([(SERVER, CALL)], False),
        ([(CALL,), (TEXT,)], False),
        ([], False),
        ([()], False),
    ],
)
def test_which_turn_cannot_be_continued(turns: Any, missing: bool) -> None:
    assert misses_reasoning([message("assistant", turn) for turn in turns]) is missing
