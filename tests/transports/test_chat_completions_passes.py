"""Rewrites of the messages: each is switched on by a fact, and says what it does."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, PromptStack, convert
from llmneutral.ir import contents as c

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5Er"
    "kJggg=="
)
IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
DEEPSEEK = {"provider": "deepseek", "base_url": "https://api.deepseek.com", "model": "deepseek-v4"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def called(content: Any = None, **more: Any) -> list[dict[str, Any]]:
    """A question, a call and its result."""
    return [
        user("q"),
        {"role": "assistant", "content": content, "tool_calls": [CALL]} | more,
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
    ]


def thinking(text: str, **origin: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text} | ({"origin": origin} if origin else {})


def made(messages: list[Any], **settings: Any) -> Conversion:
    return convert(messages, "chat_completions", **{"model": "gpt-4.1", **settings})


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def roles(conversion: Conversion) -> list[str]:
    return [message["role"] for message in conversion.payload["messages"]]


# --- roles --------------------------------------------------------------------------------------


def test_instructions_are_the_developers_where_that_role_is_known() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, user("q")]
    known = made(messages, model="gpt-5.1")
    assert roles(known) == ["developer", "developer", "user"]
    assert known.changes == ()
    unknown = made(messages, model="gpt-4.1")
    assert roles(unknown) == ["system", "system", "user"]
    assert told(unknown) == [("system_role", "renamed")]
    assert unknown.changes[0].refs == ((1, 0),)


def test_later_instructions_stay_in_place_unless_one_may_come_first_only() -> None:
    messages = [user("a"), {"role": "system", "content": "s1"}, user("b"), {"role": "system", "content": "s2"}]
    assert made(messages).payload["messages"] == messages
    merged = made(messages, facts={"system_first_only": True})
    assert merged.payload["messages"][0] == {"role": "system", "content": "s1\n\ns2"}
    assert roles(merged) == ["system", "user", "user"]
    assert {kind for _, kind in told(merged)} == {"merged"}


def test_neighbours_are_merged_only_where_roles_must_alternate() -> None:
    messages = [user("a"), user("b"), {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "y"}]
    assert made(messages).payload["messages"] == messages
    merged = made(messages, facts={"alternate_roles": True})
    assert merged.payload["messages"] == [user("a\nb"), {"role": "assistant", "content": "x\ny"}]
    assert told(merged) == [("alternate_roles", "merged")] * 2


def test_results_are_never_merged_with_words() -> None:
    messages = [*called(), user("go on")]
    conversion = made(messages, tools=[TOOL], facts={"alternate_roles": True})
    assert roles(conversion) == ["user", "assistant", "tool", "user"]
    assert conversion.changes == ()


def test_a_bridge_stands_between_results_and_words_where_it_must() -> None:
    messages = [*called(), user("go on")]
    assert roles(made(messages, tools=[TOOL])) == ["user", "assistant", "tool", "user"]
    bridged = made(messages, tools=[TOOL], facts={"assistant_required_after_tool": True})
    assert roles(bridged) == ["user", "assistant", "tool", "assistant", "user"]
    assert bridged.payload["messages"][3] == {"role": "assistant", "content": "(empty)"}
    assert told(bridged) == [("bridge_after_tool", "added")]


def test_words_in_the_message_of_the_results_come_after_them() -> None:
    messages = [
        Message("user", (c.TextMessageContent("q"),)),
        Message("assistant", (c.ActionCallMessageContent("c1", "f", input={}),)),
        Message("user", (c.ActionResultMessageContent("c1", "r"), c.TextMessageContent("go on"))),
    ]
    plain = made(messages, tools=[TOOL])
    assert plain.payload["messages"][2:] == [{"role": "tool", "tool_call_id": "c1", "content": "r"}, user("go on")]
    bridged = made(messages, tools=[TOOL], facts={"assistant_required_after_tool": True})
    assert roles(bridged) == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize(
    ("facts", "last", "steps"),
    [
        ({}, {"role": "assistant", "content": "once "}, []),
        ({"prefill": True}, {"role": "assistant", "content": "once"}, [("last_turn", "rewritten")]),
        ({"prefill": False}, user("Continue."), [("last_turn", "added")]),
        ({"prefill_field": "partial"}, {"role": "assistant", "content": "once ", "partial": True}, []),
    ],
)
def test_a_trailing_answer_is_legal_history(facts: Any, last: Any, steps: Any) -> None:
    conversion = made([user("q"), {"role": "assistant", "content": "once "}], facts=facts)
    assert conversion.payload["messages"][-1] == last
    assert told(conversion) == steps


def test_no_request_is_without_a_message() -> None:
    with pytest.raises(ConversionError, match="the prompt is empty"):
        convert(PromptStack(), "chat_completions", model="gpt-4.1")
    alone = made([{"role": "system", "content": "s"}])
    assert roles(alone) == ["system"]
    assert roles(made([{"role": "system", "content": "s"}], facts={"leading_user": True})) == ["system", "user"]


def test_empty_messages_are_filled_and_empty_instructions_vanish() -> None:
    messages = [{"role": "system", "content": []}, user([]), {"role": "assistant", "content": None}]
    conversion = made(messages)
    assert conversion.payload["messages"] == [user("(empty message)"), {"role": "assistant", "content": "(empty)"}]
    assert told(conversion) == [("fill_empty", "added")] * 2


# --- media --------------------------------------------------------------------------------------


def test_pictures_of_results_come_in_one_message_after_the_whole_group() -> None:
    messages = [
        user("q"),
        {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "one"}, IMAGE]},
        {"role": "tool", "tool_call_id": "c2", "content": [IMAGE]},
        {"role": "assistant", "content": "seen"},
    ]
    conversion = made(messages, tools=[TOOL])
    assert roles(conversion) == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert [part["type"] for part in conversion.payload["messages"][4]["content"]] == [
        "text", "image_url", "text", "image_url",
    ]  # fmt: skip
    assert conversion.payload["messages"][4]["content"][0]["text"] == "Image from tool call c1:"
    assert told(conversion) == [("move_media", "moved")] * 2


def test_pictures_of_an_answer_are_shown_by_the_user() -> None:
    messages = [user("q"), {"role": "assistant", "content": [{"type": "text", "text": "here"}, IMAGE]}, user("more")]
    conversion = made(messages)
    assert roles(conversion) == ["user", "assistant", "user", "user"]
    assert conversion.payload["messages"][2]["content"][1] == IMAGE
    assert told(conversion) == [("move_media", "moved")]


def test_sound_of_an_answer_goes_back_by_its_id_or_as_its_transcript() -> None:
    kept = Message("assistant", (c.AudioMessageContent(id="audio_1", transcript="hello"),))
    assert made([user("q"), kept]).payload["messages"][1] == {"role": "assistant", "audio": {"id": "audio_1"}}
    lost = made([user("q"), Message("assistant", (c.AudioMessageContent(transcript="hello"),))])
    assert lost.payload["messages"][1] == {"role": "assistant", "content": "hello"}
    assert told(lost) == [("spoken_answers", "rewritten")]


# --- reasoning ----------------------------------------------------------------------------------


def test_reasoning_is_never_sent_to_openai() -> None:
    conversion = made([user("q"), {"role": "assistant", "content": [thinking("t"), {"type": "text", "text": "x"}]}])
    assert conversion.payload["messages"][1] == {"role": "assistant", "content": "x"}
    assert told(conversion) == [("origin_of_reasoning", "dropped")]


OWN = {"api": "chat_completions", "model": "deepseek-v4"}


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"reasoning_content": "optional"}, "reasoning_content"),
        ({"reasoning_content": "optional", "reasoning_field": "reasoning"}, "reasoning"),
        ({"reasoning_content": "required_on_tool_calls"}, "reasoning_content"),
    ],
)
def test_own_reasoning_goes_back_in_the_field_of_the_endpoint(facts: Any, field: str) -> None:
    messages = [user("q"), {"role": "assistant", "content": [thinking("t", **OWN), {"type": "text", "text": "x"}]}]
    conversion = made(messages, **DEEPSEEK, facts=facts)
    assert conversion.payload["messages"][1] == {"role": "assistant", "content": "x", field: "t"}
    assert conversion.changes == ()


def test_details_of_reasoning_go_back_as_they_came() -> None:
    details = [{"type": "reasoning.encrypted", "data": "blob", "index": 0}]
    part = {**thinking("", **OWN), "native": {"reasoning_details": details}}
    messages = [user("q"), {"role": "assistant", "content": [part, {"type": "text", "text": "x"}]}]
    facts = {"reasoning_content": "optional", "reasoning_field": "reasoning_details"}
    conversion = made(messages, **DEEPSEEK, facts=facts)
    assert conversion.payload["messages"][1]["reasoning_details"] == details
    plain = made(messages, **DEEPSEEK, facts={"reasoning_content": "optional"})
    assert plain.payload["messages"][1] == {"role": "assistant", "content": "x"}
    only_text = [user("q"), {"role": "assistant", "content": [thinking("t", **OWN)]}]
    assert made(only_text, **DEEPSEEK, facts=facts).payload["messages"][1]["reasoning_details"] == [
        {"type": "reasoning.text", "text": "t"}
    ]


@pytest.mark.parametrize(
    "part",
    [
        thinking("t", api="chat_completions", model="kimi-k2.6"),
        thinking("t", api="anthropic_messages", model="claude-opus-5"),
        {"type": "thinking", "thinking": "t", "signature": "sealed elsewhere"},
        {"type": "redacted_thinking", "data": "blob"},
    ],
)
def test_foreign_reasoning_is_dropped_and_a_placeholder_stands_where_some_is_demanded(part: Any) -> None:
    conversion = made(called([part]), **DEEPSEEK, tools=[TOOL])
    assert conversion.payload["messages"][1]["reasoning_content"] == "(reasoning not available)"
    assert told(conversion) == [("origin_of_reasoning", "dropped"), ("pad_reasoning", "added")]
    text = made(called([part]), **DEEPSEEK, tools=[TOOL], foreign_reasoning="text")
    assert (text.payload["messages"][1]["content"] == "t") is ("thinking" in part)


def test_a_placeholder_stands_on_calls_only_and_not_where_thinking_is_off() -> None:
    messages = [*called(), {"role": "assistant", "content": "x"}, user("more")]
    conversion = made(messages, **DEEPSEEK, tools=[TOOL])
    assert "reasoning_content" in conversion.payload["messages"][1]
    assert "reasoning_content" not in conversion.payload["messages"][3]
    off = made(messages, **DEEPSEEK, tools=[TOOL], reasoning_effort="none")
    assert "reasoning_content" not in off.payload["messages"][1]


def test_without_placeholders_thinking_is_off() -> None:
    conversion = made(called(), **DEEPSEEK, tools=[TOOL], pad_reasoning=False)
    assert "reasoning_content" not in conversion.payload["messages"][1]
    assert conversion.to_json()["thinking"] == {"type": "disabled"}
    assert ("pad_reasoning", "coerced") in told(conversion)


def test_replay_reasoning_off_sends_none() -> None:
    messages = [user("q"), {"role": "assistant", "content": [thinking("t", **OWN), {"type": "text", "text": "x"}]}]
    conversion = made(messages, **DEEPSEEK, replay_reasoning=False)
    assert conversion.payload["messages"][1] == {"role": "assistant", "content": "x"}


# --- marks --------------------------------------------------------------------------------------


def test_marks_of_tools_are_dropped_and_those_of_calls_move_to_a_part() -> None:
    call = {**CALL, "cache": True}
    messages = called([{"type": "text", "text": "calling"}])
    messages[1] = {**messages[1], "tool_calls": [call]}
    conversion = made(messages, tools=[{**TOOL, "cache": True}], model="gpt-5.6", reasoning_effort="none")
    assert conversion.payload["messages"][1]["content"] == [
        {"type": "text", "text": "calling", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]
    assert "cache" not in str(conversion.payload["tools"])
    assert told(conversion) == [("limit_cache_marks", "dropped"), ("limit_cache_marks", "moved")]
    lost = made([user("q"), {**messages[1], "content": None}, messages[2]], tools=[TOOL], model="gpt-5.6")
    assert ("limit_cache_marks", "dropped") in told(lost)


def test_automatic_marks_fall_on_no_tool() -> None:
    messages = [{"role": "system", "content": "s"}, user("a"), {"role": "assistant", "content": "x"}, user("b")]
    conversion = made(messages, tools=[TOOL], model="gpt-5.6", cache="auto", reasoning_effort="none")
    marked = [m["role"] for m in conversion.payload["messages"] if "prompt_cache_breakpoint" in str(m)]
    assert marked == ["developer", "user", "user"]
    assert "cache" not in str(conversion.payload["tools"])


# --- settings that touch the messages -----------------------------------------------------------


def test_json_mode_wants_the_word_json() -> None:
    wanted = {"response_format": {"type": "json_object"}}
    assert made([user("as JSON, please")], **wanted).changes == ()
    new = made([user("q")], **wanted)
    assert new.payload["messages"] == [{"role": "system", "content": "Answer in JSON."}, user("q")]
    longer = made([{"role": "system", "content": "Be brief."}, user("q")], **wanted)
    assert longer.payload["messages"][0]["content"] == "Be brief.\n\nAnswer in JSON."
    assert told(new) == told(longer) == [("response_format", "added")]


def test_a_schema_that_is_not_enforced_is_a_rule() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    conversion = made([user("q")], **DEEPSEEK, response_format=wanted)
    assert '"properties"' in conversion.payload["messages"][0]["content"]
    assert conversion.payload["response_format"] == {"type": "json_object"}
    unknown = made([user("q")], base_url="https://llm.acme.test/v1", model="m", response_format=wanted)
    assert unknown.payload["response_format"] == wanted


def test_words_ask_for_a_call_only_where_it_is_wanted() -> None:
    settings = {"tools": [TOOL], "tool_choice": "required", "facts": {"tool_choice_required": False}}
    assert len(made([user("q")], **settings).payload["messages"]) == 1
    nudged = made([user("q")], **settings, nudge_required=True)
    assert nudged.payload["messages"][-1] == user("Call one of the tools.")
    assert ("nudge_required", "added") in told(nudged)


def test_tools_and_reasoning_exclude_each_other_on_some_models() -> None:
    off = made([user("q")], tools=[TOOL], model="gpt-5.6", reasoning_effort="high", temperature=1)
    assert off.payload["reasoning_effort"] == "none"
    assert off.payload["temperature"] == 1
    assert told(off) == [("chat_tools", "coerced")]
    with pytest.raises(ConversionError, match="codex_responses"):
        made([user("q")], tools=[TOOL], model="gpt-6-astra")
    assert made([user("q")], model="gpt-5.6", reasoning_effort="high").payload["reasoning_effort"] == "high"


def test_a_tool_of_another_api_is_dropped_at_openai() -> None:
    native = {"type": "web_search"}
    custom = {"type": "custom", "custom": {"name": "shell"}}
    conversion = made([user("q")], tools=[native, custom])
    assert conversion.payload["tools"] == [custom]
    assert "web_search" in conversion.changes[0].why
    assert made([user("q")], tools=[native], provider="openrouter", model="m").payload["tools"] == [native]
