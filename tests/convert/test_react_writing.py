"""What a model is told where tools go as text, what the API is told, and when that is so."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ConversionError,
    Message,
    PromptStack,
    TextMessageContent,
    ToolDefinition,
)
from llmneutral.convert.react import stack_as_text
from llmneutral.profiles import profile

CHAT = "chat_completions"
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Looks\nround.", "parameters": {"type": "object"}},
}
BARE = {"type": "function", "function": {"name": "bare"}}
NO_TOOLS = {"tools": False}


class City(BaseModel):
    """A city."""

    name: str


def made(*messages: Message, api: str = CHAT, tools: Any = (LOOK,), **settings: Any) -> llmneutral.Conversion:
    stack = PromptStack(messages or (Message("user", (TextMessageContent("q"),)),), tools=tools)
    return llmneutral.convert(stack, api, **{"model": "gpt-4.1", "use_native_tools": False, **settings})


def system(found: llmneutral.Conversion) -> str:
    first = found.payload["messages"][0]
    return str(first["content"]) if first["role"] in ("system", "developer") else ""


def told(found: llmneutral.Conversion) -> list[tuple[str, str]]:
    return [(change.kind, change.why) for change in found.changes]


def test_the_tools_stand_at_the_end_of_the_instructions() -> None:
    found = made(Message("system", (TextMessageContent("Be nice."),)), Message("user", (TextMessageContent("q"),)))
    text = system(found)
    assert text.startswith("Be nice.\n\nYou can use the tools below.")
    assert text.endswith('Tools:\n- look: Looks\n  round.\n  {"type":"object"}')
    for line in ("Thought: ", 'Actions: [{"tag": "a1", "name": "<tool>", "input": {}}]', "Observations:", "Answer: "):
        assert f"\n{line}" in text
    assert "tools" not in found.payload
    assert [kind for kind, _ in told(found)] == ["added", "added"]


def test_a_tool_without_description_and_parameters_is_told_too() -> None:
    assert system(made(tools=[BARE])).endswith('\n- bare\n  {"type":"object","properties":{}}')


def test_without_tools_and_calls_there_is_no_form() -> None:
    found = made(tools=())
    assert found.react is None
    assert found.changes == ()


def test_the_form_goes_to_a_model_that_takes_no_tools() -> None:
    found = made(use_native_tools=None, facts=NO_TOOLS)
    assert found.react is not None
    assert ("added", "the tools stand in the instructions: this model takes no tools") in told(found)
    assert made(use_native_tools=None).react is None
    assert made(use_native_tools=True, facts=NO_TOOLS).react is None
    assert made(use_native_tools=None, facts=NO_TOOLS, tools=()).react is None


def test_history_without_tools_is_written_in_the_form_all_the_same() -> None:
    call = Message("assistant", (ActionCallMessageContent("a1", "look", input={}),))
    found = made(call, Message("user", (ActionResultMessageContent("a1", "x"),)), tools=())
    assert found.react is not None
    assert found.react.taken == {"a1"}
    assert "tool_calls" not in str(found.payload)
    assert system(found) == ""


# --- what the API is told -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "stop"),
    [
        ({}, ["\nObservations:"]),
        ({"stop": ["END"]}, ["END", "\nObservations:"]),
        ({"stop": ["a", "b", "c", "d"]}, ["a", "b", "c", "d"]),
        ({"stop": ["\nObservations:"]}, ["\nObservations:"]),
        ({"model": "o3"}, None),
        ({"tool_choice": "none"}, None),
    ],
)
def test_the_model_stops_before_results_where_it_can(settings: dict[str, Any], stop: Any) -> None:
    assert made(**settings).payload.get("stop") == stop


@pytest.mark.parametrize(
    ("api", "place"),
    [
        ("anthropic_messages", ("stop_sequences",)),
        ("gemini_native", ("config", "stop_sequences")),
        ("bedrock_converse", ("inferenceConfig", "stopSequences")),
        ("cohere_chat", ("stop_sequences",)),
        ("mistral_chat", ("stop",)),
    ],
)
def test_every_api_that_can_stop_does(api: str, place: tuple[str, ...]) -> None:
    node: Any = made(api=api, model=None, max_tokens=9).payload
    for key in place:
        node = node[key]
    assert node == ["\nObservations:"]


def test_an_api_without_stop_is_told_of_none() -> None:
    found = made(api="codex_responses", model="gpt-5.4")
    assert "stop" not in found.payload
    assert not any("stop" in why for _, why in told(found))


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ("auto", None),
        ("required", "You have to call at least one tool now: write Actions, not Answer."),
        ("bare", "You have to call the tool bare now: write Actions, not Answer."),
    ],
)
def test_a_choice_is_said_in_words(choice: str, line: str | None) -> None:
    found = made(tools=[LOOK, BARE], tool_choice=choice, parallel_tool_calls=True)
    assert not {"tool_choice", "parallel_tool_calls"} & found.payload.keys()
    assert ("You have to" in system(found)) is (line is not None)
    if line is not None:
        assert system(found).endswith(f"\n\n{line}")


def test_no_tools_are_told_where_none_may_be_called() -> None:
    found = made(tool_choice="none")
    assert system(found) == ""
    assert told(found) == [("dropped", "tool_choice: 'none': the model is told of no tools")]


def test_only_the_allowed_tools_are_told() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "bare"}]}
    text = system(made(tools=[LOOK, BARE], tool_choice=allowed))
    assert "- bare" in text
    assert "- look" not in text
    assert text.endswith("You have to call at least one tool now: write Actions, not Answer.")


def test_one_call_at_a_time_is_said_in_words() -> None:
    assert "exactly one object" in system(made(parallel_tool_calls=False))
    assert "exactly one object" not in system(made())


def test_what_cannot_be_chosen_or_told_is_refused() -> None:
    with pytest.raises(ConversionError, match="tool_choice names 'other', which is not among the tools: look"):
        made(tool_choice="other")
    with pytest.raises(ConversionError, match="needs tools"):
        made(tools=(), tool_choice="required")
    with pytest.raises(ConversionError, match="two different tools are called 'look'"):
        made(tools=[LOOK, {"type": "function", "function": {"name": "look"}}])
    with pytest.raises(ConversionError, match="the tool 'x': the schema holds the number nan"):
        made(tools=[ToolDefinition("x", parameters={"minimum": float("nan")})])
    with pytest.raises(ConversionError, match="strict_conversion"):
        made(strict_conversion=True)


def test_names_no_text_can_hold_are_renamed_and_found_again() -> None:
    found = made(tools=[ToolDefinition("my tool", "read"), ToolDefinition("files.read")])
    assert dict(found.names) == {"files.read": ("files.read", None), "my_tool_read": ("my tool", "read")}
    assert "- my_tool_read\n" in system(found)


def test_a_cache_mark_and_strictness_are_not_lost_in_silence() -> None:
    found = made(
        tools=[ToolDefinition("x", cache=True, strict=True)], api="anthropic_messages", model=None, max_tokens=9
    )
    assert found.payload["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert [kind for kind, _ in told(found)][-2:] == ["added", "moved"]
    assert ("coerced", "the tool 'x': nothing holds a text to a schema, so strict is left out") in told(found)


def test_a_tool_of_the_providers_own_stays_where_it_is() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    found = made(tools=[LOOK, search], api="anthropic_messages", model="claude-sonnet-4-5", max_tokens=9)
    assert found.payload["tools"] == [search]
    assert "web_search" not in str(found.payload["system"])


# --- with an answer in a form -------------------------------------------------------------------------


def test_the_tool_of_a_structured_answer_is_told_like_any() -> None:
    found = made(output_schema=City, structured_output_strategy="native")
    assert found.answer.strategy == "tool"
    assert "- final_answer: " in system(found)
    assert "response_format" not in found.payload
    assert any(kind == "coerced" and "native" in why for kind, why in told(found))
    text = 'Thought: done\nActions: [{"tag": "z", "name": "final_answer", "input": {"name": "Oslo"}}]'
    assert llmneutral.normalize(body(text), CHAT, names=found).parsed == City(name="Oslo")


def test_a_rule_asks_for_the_answer_as_json() -> None:
    found = made(output_schema=City, structured_output_strategy="rule")
    answer = llmneutral.normalize(body('Thought: x\nAnswer: {"name": "Oslo"}'), CHAT, names=found)
    assert answer.parsed == City(name="Oslo")
    call = llmneutral.normalize(body('Actions: [{"name": "look", "input": {}}]'), CHAT, names=found)
    assert call.parsed is None
    assert call.finish_reason == "tool_calls"


def body(text: str, finish: str = "stop") -> dict[str, Any]:
    return {
        "id": "c",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
    }


# --- without an API -----------------------------------------------------------------------------------


def test_a_stack_is_written_for_a_driver_that_makes_its_own_requests() -> None:
    call = Message("assistant", (ActionCallMessageContent("a1", "look", input={}),))
    messages = [
        Message("user", (TextMessageContent("q"),)),
        call,
        Message("user", (ActionResultMessageContent("a1", 5),)),
    ]
    settings = {"use_native_tools": False, "tool_choice": "required", "temperature": 0, "own": 1}
    stack = PromptStack(messages, tools=[LOOK], settings=settings)
    written, form = stack_as_text(stack, profile(CHAT))
    assert form is not None
    assert form.taken == {"a1"}
    assert written.settings == {"temperature": 0, "own": 1}
    assert written.tools == []
    assert [message.role for message in written.messages] == ["system", "user", "assistant", "user"]
    assert written.messages[-1].to_text() == 'Observations:\n{"tag": "a1", "output": 5}'
    assert stack.messages == messages
    native = PromptStack(messages, tools=[LOOK])
    assert stack_as_text(native, profile(CHAT)) == (native, None)
