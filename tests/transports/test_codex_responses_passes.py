"""Rewrites of the messages: pairing, reasoning, marks, turns."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ConversionError, Message, Origin, TextMessageContent

OWN = Origin("codex_responses", "gpt-5.4", "api.openai.com")


def turn(role: str, content: Any) -> Message:
    """A message; text stands for one block."""
    return Message(role, content)


def convert(source: Any, **settings: Any) -> Any:
    settings.setdefault("model", "gpt-5.4")
    return ln.convert(source, "codex_responses", **settings)


def kinds_of(conversion: Any) -> list[str]:
    return [item.get("type") or item["role"] for item in conversion.payload["input"]]


def told(conversion: Any, kind: str) -> list[tuple[int, int]]:
    return [tuple(ref) for change in conversion.changes if change.kind == kind for ref in change.refs]


def thought(number: int = 1, **fields: Any) -> ln.ThinkingMessageContent:
    defaults: dict[str, Any] = {"encrypted_content": f"ENC{number}", "id": f"rs_{number}", "summary": (), "origin": OWN}
    return ln.ThinkingMessageContent(**{**defaults, **fields})


def talk(*turns: Any) -> list[Message]:
    return [turn("user" if n % 2 == 0 else "assistant", content) for n, content in enumerate(turns)]


X = TextMessageContent("x")
CALL = ln.ActionCallMessageContent("c", "f")
RESULT = ln.ActionResultMessageContent("c", "r")


# --- which reasoning goes back ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "settings"),
    [
        (thought(), {}),
        (thought(origin=None), {}),
        (thought(origin=Origin("codex_responses")), {}),
        (thought(origin=Origin("codex_responses", "o3")), {"facts": {"same_model_as_history": True}}),
        (thought(origin=Origin("codex_responses", "o3")), {"facts": {"reads_reasoning_from": ["o3"]}}),
        (thought(origin=Origin("codex_responses", "gpt-5.4-2026-03-05", "api.openai.com")), {}),
        (thought(encrypted_content=None), {"facts": {"reasoning_replay": "keep_all"}}),
    ],
)
def test_reasoning_that_goes_back(block: Any, settings: Any) -> None:
    made = convert(talk("q", (block, X), "r"), **settings)
    assert kinds_of(made) == ["user", "reasoning", "assistant", "user"]
    assert made.changes == ()


@pytest.mark.parametrize(
    ("block", "settings", "why"),
    [
        (thought(encrypted_content=None), {}, "encrypted content"),
        (ln.ThinkingMessageContent("t", signature="sealed elsewhere"), {}, "encrypted content"),
        (ln.ThinkingMessageContent("t", origin=Origin("anthropic_messages", "claude-opus-5")), {}, "another model"),
        (thought(encrypted_content=None, origin=Origin("codex_responses", "o3")), {}, "another model"),
        (thought(origin=Origin("codex_responses", "o3")), {}, "no other"),
        (thought(origin=Origin("anthropic_messages", "claude-opus-5")), {}, "no other"),
        (thought(origin=Origin("codex_responses", "gpt-5.4", "api.x.ai")), {}, "no other"),
        (thought(), {"facts": {"same_model_as_history": False}}, "no other"),
        (thought(origin=None), {"facts": {"reasoning_replay": "own_only"}}, "no other"),
        (thought(), {"facts": {"reasoning_replay": "strip"}}, "not sent here"),
        (thought(), {"replay_reasoning": False}, "replay_reasoning"),
    ],
)
def test_reasoning_that_is_dropped(block: Any, settings: Any, why: str) -> None:
    made = convert(talk("q", (block, X), "r"), **settings)
    assert kinds_of(made) == ["user", "assistant", "user"]
    assert [(change.step, change.kind, change.refs) for change in made.changes] == [
        ("origin_of_reasoning", "dropped", ((1, 0),))
    ]
    assert why in made.changes[0].why


def test_reasoning_of_others_can_stand_as_text() -> None:
    block = ln.ThinkingMessageContent("because", origin=Origin("anthropic_messages"))
    made = convert(talk("q", (block, X), "r"), foreign_reasoning="text")
    assert [item["content"] for item in made.payload["input"]] == ["q", "because", "x", "r"]


def test_the_kill_switch_drops_all_of_it_and_asks_for_none() -> None:
    made = convert(talk("q", (thought(), X), "r"), replay_reasoning=False)
    assert "include" not in made.payload


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (
            ("q", (thought(1), X), "r", (thought(2), X), "s"),
            ["user", "assistant", "user", "reasoning", "assistant", "user"],
        ),
        (
            ("q", (thought(1), X), "r", (thought(2), CALL), (RESULT,)),
            ["user", "assistant", "user", "function_call", "function_call_output"],
        ),
    ],
    ids=["newest turn", "right after results"],
)
def test_azure_takes_the_newest_turn_only(turns: Any, left: list[str]) -> None:
    made = convert(talk(*turns), base_url="https://a.openai.azure.com/openai/v1", facts={"same_model_as_history": True})
    assert kinds_of(made) == left


# --- where it stands ----------------------------------------------------------------------------


def test_reasoning_with_nothing_after_it_is_dropped() -> None:
    made = convert(talk("q", (thought(1), X, thought(2), thought(3)), "r"))
    assert kinds_of(made) == ["user", "reasoning", "assistant", "user"]
    assert told(made, "dropped") == [(1, 2), (1, 3)]


def test_a_turn_may_go_on_in_the_next_message() -> None:
    stack = [turn("user", "q"), turn("assistant", (thought(),)), turn("assistant", (X,)), turn("user", "r")]
    assert kinds_of(convert(stack)) == ["user", "reasoning", "assistant", "user"]


def test_a_turn_that_goes_on_with_nothing_but_reasoning_is_empty() -> None:
    stack = [turn("user", "q"), turn("assistant", (thought(1),)), turn("assistant", (thought(2),)), turn("user", "r")]
    made = convert(stack)
    assert kinds_of(made) == ["user", "user"]
    assert sorted(told(made, "dropped")) == [(1, 0), (2, 0)]


def test_the_same_item_is_sent_once() -> None:
    made = convert(talk("q", (thought(1), X), "r", (thought(1), X), "s"))
    assert kinds_of(made).count("reasoning") == 1
    assert told(made, "dropped") == [(3, 0)]


def test_reasoning_stays_before_calls_and_their_results_behind() -> None:
    made = convert(talk("q", (thought(), CALL), (RESULT,)))
    assert kinds_of(made) == ["user", "reasoning", "function_call", "function_call_output"]


# --- pairing and ids ----------------------------------------------------------------------------


def test_a_call_without_a_result_is_answered() -> None:
    made = convert(talk("q", (CALL,), "r"))
    assert kinds_of(made) == ["user", "function_call", "function_call_output", "user"]
    assert made.payload["input"][2]["output"].startswith("Error: No result")


def test_open_calls_at_the_end_wait() -> None:
    made = convert(talk("q", (CALL,)))
    assert kinds_of(made) == ["user", "function_call"]
    assert made.open_calls == ("c",)


def test_a_result_without_a_call_is_text() -> None:
    made = convert(talk((RESULT,)))
    assert kinds_of(made) == ["user"]
    assert "c" in made.payload["input"][0]["content"]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_what_the_server_keeps_is_not_missed(key: str) -> None:
    made = convert(talk((RESULT,)), extra_body={key: "resp_1"})
    assert made.payload["input"] == [{"type": "function_call_output", "call_id": "c", "output": "r"}]
    assert made.changes == ()


@pytest.mark.parametrize(
    ("tag", "sent"),
    [("fc_1", "call_1"), ("functions.f:0", "functions_f_0"), ("x" * 65, None), ("call_ok-1", "call_ok-1")],
)
def test_ids_of_calls(tag: str, sent: str | None) -> None:
    stack = talk("q", (ln.ActionCallMessageContent(tag, "f"),), (ln.ActionResultMessageContent(tag, "r"),))
    made = convert(stack)
    call, result = made.payload["input"][1:]
    assert call["call_id"] == result["call_id"]
    assert len(call["call_id"]) <= 64
    assert sent is None or call["call_id"] == sent
    assert [change.kind for change in made.changes] == ([] if call["call_id"] == tag else ["renamed"])


# --- marks --------------------------------------------------------------------------------------


def breakpoints(conversion: Any) -> list[str]:
    return [
        part["text"]
        for item in conversion.payload["input"]
        for part in (item.get("content") if isinstance(item.get("content"), list) else ())
        if "prompt_cache_breakpoint" in part
    ]


def marked(text: str) -> tuple[TextMessageContent, ...]:
    return (TextMessageContent(text, cache=True),)


def test_a_mark_on_an_answer_moves_to_the_part_before_it() -> None:
    made = convert(talk("q", marked("a"), "r"), model="gpt-5.6-sol")
    assert breakpoints(made) == ["q"]
    assert told(made, "moved") == [(1, 0)]


def test_two_marks_for_one_part_are_one() -> None:
    made = convert(talk(marked("q"), marked("a"), "r"), model="gpt-5.6-sol")
    assert breakpoints(made) == ["q"]


def test_a_mark_with_nothing_before_it_is_dropped() -> None:
    stack = [turn("assistant", marked("a")), turn("user", "q")]
    made = convert(stack, model="gpt-5.6-sol")
    assert breakpoints(made) == []
    assert [change.kind for change in made.changes] == ["dropped"]


def test_four_marks_at_most() -> None:
    made = convert(
        talk(marked("a"), "1", marked("b"), "2", marked("c"), "3", marked("d"), "4", marked("e")), model="gpt-5.6-sol"
    )
    assert breakpoints(made) == ["b", "c", "d", "e"]
    assert told(made, "dropped") == [(0, 0)]


def test_tools_carry_no_mark() -> None:
    tool = {"type": "function", "function": {"name": "f"}, "cache": True}
    made = convert("q", model="gpt-5.6-sol", tools=[tool])
    assert "cache" not in str(made.payload["tools"])
    assert [change.kind for change in made.changes] == ["dropped"]
    assert "f" in made.changes[0].why


def test_automatic_marks() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    made = convert(talk("q", "a", "r"), model="gpt-5.6-sol", cache="auto", tools=tools)
    assert breakpoints(made) == ["q", "r"]
    assert "cache" not in str(made.payload["tools"])


# --- turns --------------------------------------------------------------------------------------


def test_late_instructions_stay_in_place_or_are_hoisted() -> None:
    stack = [turn("system", "a"), turn("user", "q"), turn("system", "b"), turn("user", "r")]
    made = convert(stack)
    assert made.payload["instructions"] == "a"
    assert made.payload["input"][1] == {"role": "developer", "content": "b"}
    assert made.changes == ()
    hoisted = convert(stack, late_system="hoist")
    assert hoisted.payload["instructions"] == "a\n\nb"
    assert kinds_of(hoisted) == ["user", "user"]


def test_a_trailing_answer_is_history() -> None:
    made = convert(talk("q", "so far "))
    assert made.payload["input"][-1] == {"role": "assistant", "content": "so far "}
    assert made.changes == ()
    closed = convert(talk("q", "so far"), facts={"prefill": False})
    assert closed.payload["input"][-1] == {"role": "user", "content": "Continue."}


def test_neighbours_of_one_role_stay_apart() -> None:
    stack = [turn("user", "a"), turn("user", "b"), turn("assistant", "c"), turn("assistant", "d")]
    made = convert(stack)
    assert [item["content"] for item in made.payload["input"]] == ["a", "b", "c", "d"]
    assert made.changes == ()


def test_surrogates_are_mended() -> None:
    made = convert("a\ud800b \ud83d\ude00")
    assert made.payload["input"][0]["content"] == "a\ufffdb \U0001f600"


def test_strictness_refuses_what_would_be_dropped() -> None:
    with pytest.raises(ConversionError, match="strict_conversion"):
        convert(talk("q", (thought(encrypted_content=None), X), "r"), strict_conversion=True)
