"""Rewrites of the messages that only Mistral needs, ids, and which reasoning goes back."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, PromptStack, convert
from llmneutral.ir import contents as c

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
WAV = base64.b64encode(b"RIFF\0\0\0\0WAVEfmt ").decode()
OLD, NEW = "mistral-large-2411", "mistral-large-latest"
TEXT = c.TextMessageContent


def turn(role: str, *blocks: Any) -> Message:
    return Message(role, tuple([TEXT(block) if isinstance(block, str) else block for block in blocks]))


def made(*messages: Message, **settings: Any) -> Conversion:
    return convert(PromptStack(list(messages)), "mistral_chat", **{"model": NEW, **settings})


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def roles(conversion: Conversion) -> list[str]:
    return [message["role"] for message in conversion.payload["messages"]]


def call(tag: str | None) -> c.ActionCallMessageContent:
    return c.ActionCallMessageContent(tag, "f", input={})


def result(tag: str | None, *parts: Any) -> c.ActionResultMessageContent:
    return c.ActionResultMessageContent(tag, "ok", parts or None)


# --- ids ----------------------------------------------------------------------------------------


def test_older_tokenizers_take_ids_of_nine_characters() -> None:
    messages = [turn("user", "q"), turn("assistant", call("call_PTxhu3uwZk4l3nlnrrJha"), call("Ab3dE6gH9"))]
    messages.append(turn("user", result("call_PTxhu3uwZk4l3nlnrrJha"), result("Ab3dE6gH9")))
    found = made(*messages, model=OLD).payload["messages"]
    first, second = [each["id"] for each in found[1]["tool_calls"]]
    assert re.fullmatch("[a-zA-Z0-9]{9}", first)
    assert second == "Ab3dE6gH9"
    assert [message["tool_call_id"] for message in found[2:]] == [first, second]
    assert first not in "call_PTxhu3uwZk4l3nlnrrJha"


def test_newer_ones_take_any() -> None:
    tag = "functions.f:0|" + "x" * 80
    found = made(turn("user", "q"), turn("assistant", call(tag)), turn("user", result(tag)))
    assert found.payload["messages"][1]["tool_calls"][0]["id"] == tag
    assert found.changes == ()


# --- turns --------------------------------------------------------------------------------------


def test_the_first_turn_is_the_users() -> None:
    found = made(turn("system", "s"), turn("assistant", "a"), turn("user", "q"))
    assert roles(found) == ["system", "user", "assistant", "user"]
    assert told(found) == [("first_turn", "added")]
    assert found.changes[0].refs == ((1, 0),)


def test_instructions_are_not_the_last_message() -> None:
    found = made(turn("user", "q"), turn("assistant", "a"), turn("system", "s"))
    assert roles(found) == ["user", "assistant", "system", "user"]
    assert found.payload["messages"][-1]["content"] == "Continue."
    assert told(found) == [("last_turn", "added")]


def test_developer_is_system_and_later_instructions_stay_unless_one_may_come_first_only() -> None:
    messages = [turn("developer", "d"), turn("user", "q"), turn("system", "s"), turn("user", "r")]
    found = made(*messages)
    assert roles(found) == ["system", "user", "system", "user"]
    assert told(found) == [("system_role", "renamed")]
    assert roles(made(*messages, facts={"system_first_only": True})) == ["system", "user", "user"]


def test_a_bridge_between_results_and_the_user_where_it_is_wanted() -> None:
    messages = [turn("user", "q"), turn("assistant", call("abcdefghi")), turn("user", result("abcdefghi"), "next")]
    assert roles(made(*messages)) == ["user", "assistant", "tool", "user"]
    found = made(*messages, facts={"assistant_required_after_tool": True})
    assert roles(found) == ["user", "assistant", "tool", "assistant", "user"]
    assert found.payload["messages"][3]["content"] == "(empty)"
    assert told(found) == [("bridge_after_tool", "added")]


def test_an_answer_has_content_or_calls() -> None:
    found = made(turn("user", "a"), turn("assistant", ""), turn("user", "b"), turn("assistant"), turn("user", "c"))
    assert [m["content"] for m in found.payload["messages"]] == ["a", "(empty)", "b", "(empty)", "c"]
    assert told(found) == [("fill_empty", "added")] * 2
    assert found.changes[0].refs == ((1, 0),)


def test_an_empty_answer_at_the_end_begins_nothing() -> None:
    found = made(turn("user", "a"), turn("assistant", ""))
    assert roles(found) == ["user"]
    assert told(found) == [("fill_empty", "dropped")]
    assert roles(made(turn("assistant"))) == ["user"]


def test_pictures_of_results_and_answers_are_shown_by_the_user() -> None:
    picture = c.ImageMessageContent(PNG)
    messages = [turn("user", "q"), turn("assistant", call("c1")), turn("user", result("c1", TEXT("see"), picture))]
    found = made(*messages)
    assert roles(found) == ["user", "assistant", "tool", "user"]
    assert found.payload["messages"][2]["content"] == "see"
    assert [part["type"] for part in found.payload["messages"][3]["content"]] == ["text", "image_url"]
    assert told(found) == [("move_media", "moved")]
    shown = made(turn("user", "q"), turn("assistant", "a", picture), turn("user", "r"))
    assert roles(shown) == ["user", "assistant", "user", "user"]


def test_an_answer_that_was_spoken() -> None:
    spoken = c.AudioMessageContent(id="a1", transcript="hello")
    found = made(turn("user", "q"), turn("assistant", spoken), turn("user", "r"))
    assert found.payload["messages"][1]["content"] == "hello"
    assert told(found) == [("spoken_answers", "rewritten")]
    heard = made(turn("user", "q"), turn("assistant", c.AudioMessageContent(WAV, id="a1")), turn("user", "r"))
    assert heard.payload["messages"][2]["content"][1] == {"type": "input_audio", "input_audio": WAV}
    with pytest.raises(ConversionError, match="neither a transcript nor data"):
        made(turn("user", "q"), turn("assistant", c.AudioMessageContent(id="a1")), turn("user", "r"))


def test_cache_marks_are_dropped_once() -> None:
    found = made(turn("user", TEXT("a", cache=True), TEXT("b", cache="1h")))
    assert "cache" not in str(found.payload)
    assert told(found) == [("limit_cache_marks", "dropped")]


# --- reasoning ----------------------------------------------------------------------------------


def origin(model: str | None = NEW, api: str = "mistral_chat") -> c.Origin:
    return c.Origin(api, model)


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (c.ThinkingMessageContent("hm", origin=origin()), None),
        (c.ThinkingMessageContent("hm", signature="s"), None),  # unknown, but signed
        (c.ThinkingMessageContent("", signature="s", origin=origin()), None),
        (c.ThinkingMessageContent("hm"), "it is not known who made this reasoning"),
        (c.ThinkingMessageContent("", origin=origin()), "the reasoning has no text that could go back"),
        (
            c.ThinkingMessageContent("hm", origin=origin("other")),
            "this reasoning was written by another model, or at another endpoint",
        ),
        (
            c.ThinkingMessageContent("hm", signature="s", origin=origin(api="anthropic_messages")),
            "this reasoning was written by another model, or at another endpoint",
        ),
        (
            c.ThinkingMessageContent(data="blob"),
            "this reasoning is signed or encrypted, and only the API that gave it can read it",
        ),
        (
            c.ThinkingMessageContent("hm", encrypted_content="e"),
            "this reasoning is signed or encrypted, and only the API that gave it can read it",
        ),
    ],
)
def test_which_reasoning_goes_back(block: Any, why: str | None) -> None:
    found = made(turn("user", "q"), turn("assistant", block, "a"), turn("user", "r"))
    kinds = [part["type"] for part in found.payload["messages"][1]["content"] if isinstance(part, dict)]
    assert kinds == ([] if why else ["thinking", "text"])
    assert [change.why for change in found.changes] == ([why] if why else [])


def test_the_fact_and_the_settings_decide() -> None:
    block = c.ThinkingMessageContent("hm", origin=origin("other"))
    messages = [turn("user", "q"), turn("assistant", block, "a"), turn("user", "r")]
    same = made(*messages, facts={"same_model_as_history": True})
    assert same.payload["messages"][1]["content"][0]["type"] == "thinking"
    text = made(*messages, foreign_reasoning="text").payload["messages"][1]["content"]
    assert text == [{"type": "text", "text": "hm"}, {"type": "text", "text": "a"}]
    own = turn("assistant", c.ThinkingMessageContent("hm", origin=origin()), "a")
    off = made(messages[0], own, messages[2], replay_reasoning=False)
    assert off.payload["messages"][1]["content"] == "a"


def test_only_the_assistant_reasons() -> None:
    block = c.ThinkingMessageContent("hm", origin=origin())
    found = made(turn("system", "s", block), turn("user", block, "q"))
    assert [message["content"] for message in found.payload["messages"]] == ["s", "q"]
    assert told(found) == [("origin_of_reasoning", "dropped")] * 2
