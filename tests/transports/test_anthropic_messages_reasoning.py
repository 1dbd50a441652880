"""Thinking: what of the history goes back, and how a request asks for more. Imitators differ by facts alone."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ConversionError,
    Message,
    Origin,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)

API = "anthropic_messages"
HOST = "api.anthropic.com"
KIMI = {"model": "kimi-k2.6", "base_url": "https://api.kimi.com/coding"}
DEEPSEEK = {"model": "deepseek-chat", "base_url": "https://api.deepseek.com/anthropic"}
MINIMAX = {"model": "MiniMax-M2", "base_url": "https://api.minimax.io/anthropic"}
QWEN = {"model": "qwen3-max", "base_url": "https://dashscope-intl.aliyuncs.com/apps/anthropic"}
RELAY = {"base_url": "https://relay.acme.test/anthropic"}
CALL = ActionCallMessageContent("c1", "look")
RESULT = ActionResultMessageContent("c1", "r")

signed = ThinkingMessageContent("hm", signature="sig")
unsigned = ThinkingMessageContent("hm")
redacted = ThinkingMessageContent(data="blob")


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def convert(messages: list[Message] | str = "q", **settings: Any) -> Any:
    settings = {"model": "claude-sonnet-4-5", "max_tokens": 8000, **settings}
    return ln.convert(messages if isinstance(messages, str) else PromptStack(messages), API, **settings)


def answered(*blocks: Any, **settings: Any) -> Any:
    return convert([turn("user", "q"), turn("assistant", blocks), turn("user", "and?")], **settings)


def working(*blocks: Any, **settings: Any) -> Any:
    """A turn with a call that is to be continued."""
    return convert([turn("user", "q"), turn("assistant", (*blocks, CALL)), turn("user", (RESULT,))], **settings)


def kinds_of(conversion: Any, message: int = 1) -> list[str]:
    return [block["type"] for block in conversion.payload["messages"][message]["content"]]


def told(conversion: Any) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def by(model: str, host: str | None = HOST, api: str = API) -> Origin:
    return Origin(api, model, host)


# --- history --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "kept"),
    [
        (signed, True),
        (redacted, True),
        (unsigned, False),
        (ThinkingMessageContent(data=""), False),
        (ThinkingMessageContent("", signature="sig"), True),
        (ThinkingMessageContent("hm", signature="sig", origin=by("claude-sonnet-4-5-20250929")), True),
        (ThinkingMessageContent("hm", signature="sig", origin=by("claude-sonnet-4-5", host=None)), True),
        (ThinkingMessageContent("hm", signature="sig", origin=by("claude-opus-4-5")), False),
        (ThinkingMessageContent("hm", signature="sig", origin=by("claude-sonnet-4-5", "relay.acme.test")), False),
        (ThinkingMessageContent("hm", signature="sig", origin=by("claude-sonnet-4-5", api="bedrock_converse")), False),
        (ThinkingMessageContent("hm", encrypted_content="x", origin=by("gpt-6", api="codex_responses")), False),
    ],
)
def test_native_keeps_signed_reasoning_of_its_own(block: Any, kept: bool) -> None:
    found = answered(block, TextMessageContent("t"))
    assert (len(kinds_of(found)) == 2) is kept
    assert told(found) == ([] if kept else [("origin_of_reasoning", "dropped")])


def test_native_keeps_it_on_every_turn() -> None:
    turns = [turn("user", "q"), turn("assistant", (signed, TextMessageContent("t")))] * 2
    found = convert([*turns, turn("user", "r")], model="claude-opus-4-8")
    assert [kinds_of(found, at) for at in (1, 3)] == [["thinking", "text"]] * 2


def test_native_last_keeps_it_on_the_last_turn() -> None:
    turns = [turn("user", "q"), turn("assistant", (signed, TextMessageContent("t")))] * 2
    found = convert([*turns, turn("user", "r")], facts={"reasoning_replay": "native_last"})
    assert [kinds_of(found, at) for at in (1, 3)] == [["text"], ["thinking", "text"]]


def test_another_model_can_be_read() -> None:
    block = ThinkingMessageContent("hm", signature="sig", origin=by("claude-opus-5"))
    assert kinds_of(answered(block, TextMessageContent("t"), model="claude-fable-5-1")) == ["thinking", "text"]
    assert kinds_of(answered(block, TextMessageContent("t"), model="claude-fable-5-2")) == ["text"]


@pytest.mark.parametrize(
    ("origin", "kept"),
    [
        (by("qwen3-max", "dashscope-intl.aliyuncs.com"), True),
        (by("qwen3-max", None), False),
        (by("claude-sonnet-4-5"), False),
        (None, False),
    ],
)
def test_own_only_keeps_what_is_known_to_be_its_own(origin: Origin | None, kept: bool) -> None:
    block = ThinkingMessageContent("hm", signature="sig", origin=origin)
    found = answered(block, TextMessageContent("t"), **QWEN)
    assert (len(kinds_of(found)) == 2) is kept


def test_the_caller_may_know_better() -> None:
    assert kinds_of(answered(signed, TextMessageContent("t"), **RELAY)) == ["text"]
    facts = {"same_model_as_history": True}
    assert kinds_of(answered(signed, TextMessageContent("t"), **RELAY, facts=facts)) == ["thinking", "text"]
    foreign = answered(signed, TextMessageContent("t"), facts={"same_model_as_history": False})
    assert kinds_of(foreign) == ["text"]


def test_keep_all_keeps_everything() -> None:
    found = answered(signed, unsigned, redacted, TextMessageContent("t"), **MINIMAX)
    assert kinds_of(found) == ["thinking", "thinking", "redacted_thinking", "text"]
    assert found.payload["messages"][1]["content"][1] == {"type": "thinking", "thinking": "hm", "signature": ""}


def test_keep_unsigned_keeps_the_unsigned() -> None:
    assert kinds_of(answered(signed, unsigned, redacted, TextMessageContent("t"), **DEEPSEEK)) == ["thinking", "text"]


def test_strip_leaves_a_placeholder_where_nothing_else_was() -> None:
    found = answered(signed, facts={"reasoning_replay": "strip"})
    assert found.payload["messages"][1]["content"] == [{"type": "text", "text": "(empty)"}]
    assert told(found) == [("origin_of_reasoning", "dropped"), ("fill_empty", "added")]


def test_the_setting_leaves_reasoning_out() -> None:
    assert kinds_of(answered(signed, TextMessageContent("t"), replay_reasoning=False)) == ["text"]


def test_foreign_reasoning_may_stand_as_text() -> None:
    found = answered(unsigned, TextMessageContent("t"), foreign_reasoning="text")
    assert [block["text"] for block in found.payload["messages"][1]["content"]] == ["hm", "t"]
    assert told(found) == [("origin_of_reasoning", "rewritten")]


def test_items_of_one_turn_stay_in_order() -> None:
    stack = [
        turn("user", "q"),
        turn("assistant", (signed,)),
        turn("assistant", "Let me look."),
        turn("assistant", (CALL,)),
        turn("user", (RESULT,)),
    ]
    assert kinds_of(convert(stack, thinking_budget=2000)) == ["thinking", "text", "tool_use"]


@pytest.mark.parametrize(("target", "both"), [({}, True), (MINIMAX, False)])
def test_two_turns_that_become_one_keep_the_reasoning_of_both_if_it_is_signed(target: Any, both: bool) -> None:
    block = signed if both else unsigned
    stack = [turn("user", "q"), *[turn("assistant", (block, TextMessageContent("t")))] * 2, turn("user", "r")]
    found = convert(stack, **target)
    assert kinds_of(found).count("thinking") == (2 if both else 1)
    assert (("one_reasoning_a_turn", "dropped") in told(found)) is not both


def test_a_turn_with_calls_begins_with_its_signed_reasoning() -> None:
    found = working(TextMessageContent("t"), signed, thinking_budget=2000)
    assert kinds_of(found) == ["thinking", "text", "tool_use"]
    assert told(found) == [("lead_with_reasoning", "moved")]
    assert found.payload["thinking"] == {"type": "enabled", "budget_tokens": 2000}


def test_the_order_stays_where_it_was_signed() -> None:
    found = working(TextMessageContent("t"), signed, model="claude-opus-5-5")
    assert kinds_of(found) == ["text", "thinking", "tool_use"]


def test_a_removed_call_kills_the_signature_beside_it() -> None:
    stack = [turn("user", "q"), turn("assistant", (signed, CALL)), turn("user", "never mind")]
    found = convert(stack, orphan_calls="strip")
    assert found.payload["messages"][1]["content"] == [{"type": "text", "text": "(tool call removed)"}]


def test_kimi_gets_reasoning_on_every_turn_with_calls() -> None:
    found = working(TextMessageContent("t"), **KIMI)
    assert found.payload["messages"][1]["content"][0] == {"type": "thinking", "thinking": "", "signature": ""}
    assert told(found) == [("pad_reasoning", "added")]
    assert kinds_of(working(TextMessageContent("t"), **KIMI, pad_reasoning=False)) == ["text", "tool_use"]
    assert kinds_of(answered(TextMessageContent("t"), **KIMI)) == ["text"]


# --- the request ----------------------------------------------------------------------------------


def thinks(**settings: Any) -> tuple[Any, Any, list[str]]:
    """What a request says of thinking: config, effort, and the settings that were changed."""
    found = convert(**settings)
    changed = [f"{change.kind} {change.why.partition(':')[0]}" for change in found.changes]
    return found.payload.get("thinking"), found.payload.get("output_config", {}).get("effort"), changed


def enabled(budget: int) -> Any:
    return {"type": "enabled", "budget_tokens": budget}


SHOWN = {"type": "adaptive", "display": "summarized"}
OFF = {"type": "disabled"}


@pytest.mark.parametrize(
    ("settings", "config", "changed"),
    [
        ({}, None, []),
        ({"thinking_budget": 3000}, enabled(3000), []),
        ({"reasoning_effort": "low"}, enabled(4000), []),
        ({"reasoning_effort": "minimal"}, enabled(4000), ["coerced reasoning_effort"]),
        ({"reasoning_effort": "medium", "max_tokens": 9000}, enabled(8000), []),
        ({"reasoning_effort": "high", "max_tokens": 40_000}, enabled(16_000), []),
        ({"reasoning_effort": "max", "max_tokens": 40_000}, enabled(32_000), []),
        ({"reasoning_effort": "high"}, enabled(6000), ["coerced reasoning_effort"]),
        ({"thinking_budget": 10}, enabled(1024), ["coerced thinking_budget"]),
        ({"thinking_budget": 9000}, enabled(6000), ["coerced thinking_budget"]),
        ({"thinking_budget": 4000, "max_tokens": 800}, None, ["coerced thinking_budget"]),
        ({"reasoning_effort": "none"}, None, []),
        ({"reasoning_effort": "low", "thinking_budget": 3000}, enabled(3000), ["dropped reasoning_effort"]),
        ({"thinking_display": "omitted"}, None, ["dropped thinking_display"]),
        ({"thinking_display": "omitted", "thinking_budget": 3000}, {**enabled(3000), "display": "omitted"}, []),
    ],
)
def test_a_budget(settings: Any, config: Any, changed: list[str]) -> None:
    assert thinks(**settings) == (config, None, changed)


def test_max_tokens_is_never_raised_for_a_budget() -> None:
    assert convert(reasoning_effort="high").payload["max_tokens"] == 8000


def test_opus_4_5_knows_an_effort_beside_its_budget() -> None:
    found = thinks(model="claude-opus-4-5", reasoning_effort="max", thinking_budget=3000)
    assert found == (enabled(3000), "high", ["coerced reasoning_effort"])


@pytest.mark.parametrize(
    ("settings", "config", "effort", "changed"),
    [
        ({"reasoning_effort": "xhigh"}, SHOWN, "xhigh", []),
        ({"reasoning_effort": "minimal"}, SHOWN, "low", ["coerced reasoning_effort"]),
        ({"thinking_budget": 3000}, SHOWN, None, ["dropped thinking_budget"]),
        ({"thinking_display": "omitted"}, {"type": "adaptive", "display": "omitted"}, None, []),
        ({"reasoning_effort": "none"}, OFF, None, []),
        ({"reasoning_effort": "xhigh", "model": "claude-opus-4-6"}, SHOWN, "max", ["coerced reasoning_effort"]),
        ({"reasoning_effort": "none", "model": "claude-opus-4-7"}, None, None, []),
        ({"reasoning_effort": "none", "model": "claude-opus-5-5"}, SHOWN, "low", ["coerced reasoning_effort"]),
        (
            {"reasoning_effort": "none", "model": "claude-sonnet-5-5"},
            {"type": "between_tools"},
            None,
            ["coerced reasoning_effort"],
        ),
        ({"reasoning_effort": "none", "model": "claude-haiku-5-5"}, None, None, ["coerced reasoning_effort"]),
    ],
)
def test_adaptive_thinking(settings: Any, config: Any, effort: str | None, changed: list[str]) -> None:
    assert thinks(**{"model": "claude-opus-4-8", **settings}) == (config, effort, changed)


@pytest.mark.parametrize(
    ("target", "settings", "config", "effort"),
    [
        (KIMI, {"reasoning_effort": "medium"}, {"type": "adaptive"}, "high"),
        (KIMI, {"reasoning_effort": "none"}, OFF, None),
        (DEEPSEEK, {"reasoning_effort": "high"}, {"type": "enabled"}, "high"),
        (DEEPSEEK, {"reasoning_effort": "none"}, OFF, None),
        (DEEPSEEK, {"thinking_budget": 3000}, {"type": "enabled"}, None),
        (MINIMAX, {"reasoning_effort": "high"}, {"type": "adaptive"}, None),
        (QWEN, {"thinking_budget": 3000}, enabled(3000), None),
    ],
)
def test_imitators(target: Any, settings: Any, config: Any, effort: str | None) -> None:
    assert thinks(**target, **settings)[:2] == (config, effort)


def test_a_model_that_does_not_think_is_not_asked_to() -> None:
    settings = {"reasoning_effort": "high", "thinking_budget": 2000, "thinking_display": "omitted"}
    assert thinks(**settings, facts={"thinking": "none"}) == (None, None, [f"dropped {name}" for name in settings])
    assert thinks(reasoning_effort="none", facts={"thinking": "none"}) == (None, None, [])


@pytest.mark.parametrize("blocks", [(), (unsigned,), (TextMessageContent("t"),)])
def test_a_turn_that_lost_its_reasoning_cannot_be_continued_with_a_budget(blocks: Any) -> None:
    found = working(*blocks, thinking_budget=2000)
    assert "thinking" not in found.payload
    assert ("reasoning", "coerced") in told(found)


@pytest.mark.parametrize(
    ("blocks", "settings"),
    [((signed,), {}), ((redacted,), {}), ((), {"model": "claude-opus-4-8", "reasoning_effort": "low"})],
)
def test_other_turns_can(blocks: Any, settings: Any) -> None:
    settings = settings or {"thinking_budget": 2000}
    assert "thinking" in working(*blocks, **settings).payload


def test_earlier_turns_do_not_matter() -> None:
    turns = [
        turn("assistant", (CALL,)),
        turn("user", (RESULT,)),
        turn("assistant", "done"),
        turn("user", "r"),
    ]
    assert "thinking" in convert([turn("user", "q"), *turns], thinking_budget=2000).payload


def test_a_budget_has_to_be_a_whole_number() -> None:
    with pytest.raises(ConversionError, match="thinking_budget"):
        convert(thinking_budget=1.5)
