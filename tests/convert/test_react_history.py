"""Calls and results of the history, in the form the model is told."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    Change,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert import feedback
from tests.laws.stacks import PNG

Text, Call, Result, Invalid = (
    TextMessageContent, ActionCallMessageContent, ActionResultMessageContent, InvalidActionCallMessageContent,
)  # fmt: skip
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
REACT = Origin("react")
ASK = Message("user", (Text("q"),))
MORE = Message("user", (Text("more"),))


def made(*messages: Message, api: str = "chat_completions", **settings: Any) -> llmneutral.Conversion:
    stack = PromptStack([ASK, *messages], tools=[TOOL])
    return llmneutral.convert(stack, api, **{"model": "gpt-4.1", "use_native_tools": False, **settings})


def said(*messages: Message, **settings: Any) -> list[Any]:
    """What stands in the turns after the question."""
    found = made(*messages, **settings).payload["messages"]
    return [entry["content"] for entry in found if entry["role"] != "system"][1:]


def turn(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def results(*blocks: Any) -> Message:
    return Message("user", blocks)


def test_a_call_and_its_result() -> None:
    call = Call("a1", "look", input={"q": "größer"})
    assert said(turn(call), results(Result("a1", "fine\nso"))) == [
        'Actions: [{"tag": "a1", "name": "look", "input": {"q": "größer"}}]',
        'Observations:\n{"tag": "a1", "output": "fine\\nso"}',
    ]


def test_thought_text_and_calls_are_one_text() -> None:
    blocks = (ThinkingMessageContent("hm", origin=REACT), Text("I look."), Call("x", "look"), Call("y", "look", "far"))
    assert said(turn(*blocks), results(Result("y", {"n": [1]}), Result("x", None)))[0] == (
        'Thought: hm\nI look.\nActions: [{"tag": "x", "name": "look", "input": {}}, '
        '{"tag": "y", "name": "look_far", "input": {}}]'
    )


def test_results_stand_in_the_order_of_the_calls() -> None:
    found = said(turn(Call("x", "look"), Call("y", "look")), results(Result("y", {"n": [1]}), Result("x", None)))
    assert found[1] == 'Observations:\n{"tag": "x", "output": ""}\n{"tag": "y", "output": {"n": [1]}}'


def test_a_thought_and_an_answer_have_their_headings() -> None:
    found = said(turn(ThinkingMessageContent("hm", origin=REACT), Text("42")), MORE)
    assert found[0] == "Thought: hm\nAnswer: 42"


def test_an_answer_without_headings_stays_as_it_is() -> None:
    assert said(turn(Text("It is 42.")), MORE)[0] == "It is 42."
    assert made(turn(Text("It is 42.")), MORE).changes[0].step == "react"  # the stop sequence, and nothing of it


def test_an_answer_that_reads_like_a_heading_gets_one() -> None:
    assert said(turn(Text("Actions: run")), MORE)[0] == "Answer: Actions: run"
    assert said(turn(Text("**Answer:** x")), MORE)[0] == "Answer: **Answer:** x"
    assert said(turn(Text("Thought:")))[0] == "Thought:"  # a prefill is the caller's own


def test_arguments_stay_as_they_were_written() -> None:
    assert '"input": {"a":1.0}}' in said(turn(Call("a1", "look", arguments='{"a":1.0}')), results(Result("a1", "")))[0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (Invalid("a1", feedback.UNREAD, raw='[{"name": "x",'), 'Actions: [{"name": "x",'),
        (Invalid("a1", feedback.UNREAD, raw=""), "Actions: "),
        (Invalid("a1", "look", raw='{"a": '), 'Actions: [{"tag": "a1", "name": "look", "input": {"a":}]'),
        (Invalid("a1", "", raw='{"input": {}}'), 'Actions: [{"input": {}}]'),
    ],
)
def test_what_was_no_call_goes_back_as_it_came(call: Any, text: str) -> None:
    assert said(turn(call), results(Result("a1", "wrong", is_error=True)))[0] == text


def test_an_error_is_told_as_one() -> None:
    found = said(turn(Call("a1", "look")), results(Result("a1", feedback.unknown_tool("look", ["see"]), is_error=True)))
    assert found[1] == 'Observations:\n{"tag": "a1", "error": "There is no tool \'look\'. Tools: see"}'


def test_an_array_that_was_no_json_is_answered_without_a_tag() -> None:
    call = Invalid("a1", feedback.UNREAD, raw="[{")
    found = said(turn(call), results(Result("a1", feedback.invalid_call(call), is_error=True)))
    assert found[1] == f"Observations:\n{feedback.bad_actions('[{')}"


def test_pictures_of_results_stand_behind_the_observations() -> None:
    parts = (Text("see"), ImageMessageContent(PNG, media_type="image/png"))
    both = results(Result("x", parts=parts), Result("y", "ok"))
    found = made(turn(Call("x", "look"), Call("y", "look")), both, trace=True)
    content = found.payload["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "text", "image_url"]
    assert content[0]["text"] == 'Observations:\n{"tag": "x", "output": "see"}\n{"tag": "y", "output": "ok"}'
    assert content[1]["text"] == "Image from tool call x:"
    assert {change.kind for change in found.changes if change.step == "react"} == {"rewritten", "moved", "added"}


def test_only_the_newest_results_keep_their_pictures() -> None:
    picture = (ImageMessageContent(PNG, media_type="image/png"),)
    turns = [each for i in "ab" for each in (turn(Call(i, "look")), results(Result(i, parts=picture)))]
    found = said(*turns, keep_screenshots=1)
    assert found[1] == 'Observations:\n{"tag": "a", "output": "[image removed]"}'
    assert [part["type"] for part in found[3]] == ["text", "text", "image_url"]


def test_calls_without_results_and_results_without_calls_are_settled_first() -> None:
    found = said(turn(Call("a1", "look")), results(Text("never mind"), Result("b", "x")))
    assert found[1].startswith('Observations:\n{"tag": "a1", "error": "No result: ')
    assert "whose call is not in this conversation" in str(found[2])


def test_open_calls_are_named() -> None:
    found = made(turn(Call("x", "look"), Call("y", "look")), results(Result("y", "ok")))
    assert found.open_calls == ("x",)
    assert found.payload["messages"][-1]["content"] == 'Observations:\n{"tag": "y", "output": "ok"}'


def test_calls_without_ids_get_tags_their_results_share() -> None:
    found = said(turn(Call(None, "look"), Call(" b ", "look")), results(Result(None, "1"), Result("b", "2")))
    assert found[0].startswith('Actions: [{"tag": "a1", ')
    assert '{"tag": "b", "output": "2"}' in found[1]


def test_the_same_tag_in_two_turns_stays_in_its_turn() -> None:
    once = (turn(Call("a1", "look")), results(Result("a1", "1")))
    twice = (turn(Call("a1", "look")), results(Result("a1", "2")))
    found = said(*once, *twice)
    assert found[1].endswith('{"tag": "a1", "output": "1"}')
    assert found[3].endswith('{"tag": "a1", "output": "2"}')


def test_reasoning_of_the_provider_stays_beside_the_text() -> None:
    sealed = ThinkingMessageContent("deep", signature="s", origin=Origin("anthropic_messages"))
    asked: dict[str, Any] = {"api": "anthropic_messages", "model": "claude-sonnet-4-5", "max_tokens": 9}
    found = made(turn(sealed, Call("a1", "look")), results(Result("a1", "x")), **asked)
    content = found.payload["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "text"]
    bound = made(
        turn(sealed, Call("a1", "look")), results(Result("a1", "x")),
        turn(sealed, Call("a2", "look")), results(Result("a2", "x")),
        facts={"reasoning_prefix_bound": True}, **asked,
    )  # fmt: skip
    assert [block["type"] for block in bound.payload["messages"][3]["content"]] == ["text"]
    assert any(change.kind == "dropped" and "bound to what stood before" in change.why for change in bound.changes)


def test_a_thought_of_the_form_is_no_reasoning_of_any_api() -> None:
    thought = ThinkingMessageContent("hm", origin=REACT)
    stack = PromptStack([ASK, turn(thought, Text("42")), MORE])
    for api in llmneutral.transports.registered():
        found = llmneutral.convert(stack, api, max_tokens=9)
        assert "hm" not in str(
            found.to_json()["messages" if "messages" in found.to_json() else next(iter(found.payload))]
        )
        assert any(change.kind == "dropped" for change in found.changes)


def test_marks_and_nan_are_looked_after() -> None:
    asked: dict[str, Any] = {"api": "anthropic_messages", "model": "claude-sonnet-4-5", "max_tokens": 9}
    found = made(turn(Call("a1", "look", cache=True)), results(Result("a1", float("nan"), cache=True)), **asked)
    turns = found.payload["messages"][1:]
    assert all(entry["content"][0]["cache_control"] for entry in turns)
    assert turns[1]["content"][0]["text"].endswith('"output": "NaN"}')
    assert "coerced" in [change.kind for change in found.changes]


def test_each_rewriting_names_its_blocks() -> None:
    found = made(turn(Text("I look."), Call("a1", "look")), results(Result("a1", "x")), trace=True)
    rewritten = [change for change in found.changes if change.kind == "rewritten"]
    assert [change.refs for change in rewritten] == [((1, 0), (1, 1)), ((2, 0),)]
    assert all(isinstance(change, Change) for change in rewritten)
    assert found.trace is not None
    assert found.trace["/messages/2/content"] == ((1, 0), (1, 1))
