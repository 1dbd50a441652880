"""Messages, tools and the choice of one as the keyword arguments of Mistral's client."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, PromptStack, convert
from llmneutral.ir import contents as c

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}}
OTHER = {"type": "function", "function": {"name": "g", "description": "G."}}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def made(messages: Any = "q", **settings: Any) -> Conversion:
    return convert(messages, "mistral_chat", **{"model": "mistral-large-latest", **settings})


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


# --- the request --------------------------------------------------------------------------------


def test_the_request() -> None:
    found = made([{"role": "system", "content": "s"}, user("q")], max_tokens=5)
    assert found.payload == {
        "model": "mistral-large-latest",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
        "max_tokens": 5,
    }
    assert found.endpoint == ("POST", "/v1/chat/completions")
    assert found.headers == {}
    assert "model" not in made(model=None).payload


def test_further_keys_are_keyword_arguments_and_win() -> None:
    found = made(temperature=0.5, extra_body={"safe_prompt": True, "temperature": 0.1})
    assert found.payload["safe_prompt"] is True
    assert found.payload["temperature"] == 0.1
    assert "extra_body" not in found.payload
    assert found.to_json() == found.payload


def test_the_official_sdk_takes_it() -> None:
    from mistralai.client.models import ChatCompletionRequest

    origin = c.Origin("mistral_chat", "mistral-large-latest")
    messages = [
        Message("system", (c.TextMessageContent("s"),)),
        Message("user", (c.TextMessageContent("q"), c.ImageMessageContent(url="https://example.org/a.png"))),
        Message(
            "assistant",
            (
                c.ThinkingMessageContent("hm", signature="x", origin=origin),
                c.TextMessageContent("a", citations=({"type": "reference", "reference_ids": [1]},)),
                c.ActionCallMessageContent("c1", "f", input={"a": 1}),
            ),
        ),
        Message("user", (c.ActionResultMessageContent("c1", "ok"), c.DocumentMessageContent(file_id="f1"))),
    ]
    schema: dict[str, Any] = {
        "title": "T",
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }
    schema |= {"additionalProperties": False}
    stack = PromptStack(messages, tools=[TOOL, OTHER], output_schema=schema)
    found = made(stack, tool_choice="required", seed=1, top_k=5, structured_output_strategy="native")
    assert found.changes == ()
    sent = ChatCompletionRequest.model_validate(found.payload).model_dump(mode="json", by_alias=True)
    assert sent["random_seed"] == 1
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["a"]
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert sent["messages"][2]["content"][0]["signature"] == "x"
    assert sent["messages"][3]["name"] == "f"


# --- messages -----------------------------------------------------------------------------------


def test_results_stand_before_the_words_of_their_message() -> None:
    call = c.ActionCallMessageContent("c1", "f", input={})
    mixed = Message("user", (c.ActionResultMessageContent("c1", "ok"), c.TextMessageContent("and?")))
    found = made(PromptStack([Message("user", "q"), Message("assistant", (call,)), mixed]))  # type: ignore[arg-type]  # text is taken
    assert found.payload["messages"][2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "ok", "name": "f"},
        {"role": "user", "content": "and?"},
    ]


def test_content_and_calls_share_a_message_unless_a_model_takes_one_of_them() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        user("q"),
        {"role": "assistant", "content": "a", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    together = made(messages).payload["messages"]
    assert (together[1]["content"], together[1]["tool_calls"]) == ("a", [call])
    found = made(messages, facts={"content_with_calls": False})
    assert found.payload["messages"][1:3] == [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "tool_calls": [call]},
    ]
    assert told(found) == [("content_with_calls", "moved")]


def test_a_participant_has_no_name_here() -> None:
    found = made([{**user("q"), "name": "Ada"}])
    assert found.payload["messages"] == [user("q")]
    assert told(found) == [("frame", "coerced")]
    assert "Ada" in found.changes[0].why


def test_a_block_that_cannot_stand_in_a_message_is_refused() -> None:
    with pytest.raises(ConversionError, match="kind image cannot stand in a message of the system"):
        made(PromptStack([Message("system", (c.ImageMessageContent(url="https://example.org"),))]))
    with pytest.raises(ConversionError, match="the role 'robot'"):
        made(PromptStack([Message("robot", "q"), Message("user", "q")]))  # type: ignore[arg-type]  # text is taken


# --- prefix -------------------------------------------------------------------------------------


def test_a_trailing_answer_is_a_prefix_and_only_that_one() -> None:
    messages = [user("a"), {"role": "assistant", "content": "b"}, user("c"), {"role": "assistant", "content": "d "}]
    found = made(messages)
    assert [message.get("prefix") for message in found.payload["messages"]] == [None, None, None, True]
    assert found.payload["messages"][-1]["content"] == "d"


def test_without_prefill_the_user_says_go_on() -> None:
    found = made([user("a"), {"role": "assistant", "content": "b"}], facts={"prefill": False})
    assert found.payload["messages"][1:] == [{"role": "assistant", "content": "b"}, user("Continue.")]


def test_unfinished_reasoning_is_left_open() -> None:
    origin = c.Origin("mistral_chat", "mistral-large-latest")
    thought = c.ThinkingMessageContent("hm", origin=origin)
    messages = [Message("user", "q"), Message("assistant", (thought,))]  # type: ignore[arg-type]  # text is taken
    last = made(PromptStack(messages)).payload["messages"][-1]
    assert last["prefix"] is True
    assert last["content"][0]["closed"] is False
    said = Message("assistant", (thought, c.TextMessageContent("so")))
    assert made(PromptStack([messages[0], said])).payload["messages"][-1]["content"][0]["closed"] is True


def test_calls_that_wait_are_no_prefix() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    found = made([user("q"), {"role": "assistant", "content": "a", "tool_calls": [call]}])
    assert "prefix" not in found.payload["messages"][-1]
    assert found.open_calls == ("c1",)


# --- tools --------------------------------------------------------------------------------------


def test_a_tool_has_parameters_even_if_it_takes_none() -> None:
    assert made(tools=[OTHER]).payload["tools"] == [
        {
            "type": "function",
            "function": {"name": "g", "description": "G.", "parameters": {"type": "object", "properties": {}}},
        }
    ]


def test_strict_is_sent_where_it_is_asked() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    strict = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    (tool,) = made(tools=[strict]).payload["tools"]
    assert tool["function"]["strict"] is True
    assert tool["function"]["parameters"]["additionalProperties"] is False


def test_own_tools_go_out_as_they_came_and_those_of_others_are_dropped() -> None:
    library = {"type": "document_library", "library_ids": ["x"]}
    found = made(tools=[library, {"type": "web_search_preview"}, {"type": "image_generation", "size": "auto"}])
    assert found.payload["tools"] == [library]
    assert told(found) == [("own_tools", "dropped")] * 2


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "any"),
        ("any", "any"),
        ("g", {"type": "function", "function": {"name": "g"}}),
        (TOOL, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_the_choice_of_a_tool(choice: Any, wire: Any) -> None:
    found = made(tools=[TOOL, OTHER], tool_choice=choice)
    assert found.payload["tool_choice"] == wire
    assert found.changes == ()


def test_of_some_allowed_tools_only_these_are_sent() -> None:
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [OTHER]}}
    found = made(tools=[TOOL, OTHER], tool_choice=allowed)
    assert [tool["function"]["name"] for tool in found.payload["tools"]] == ["g"]
    assert found.payload["tool_choice"] == "any"
    assert told(found) == [("frame", "coerced")]


def test_no_tools_no_choice() -> None:
    found = made(tool_choice="auto", parallel_tool_calls=True)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & found.payload.keys()
    with pytest.raises(ConversionError, match="needs tools"):
        made(tool_choice="required")


def test_names_are_made_to_fit() -> None:
    found = made(tools=[{"type": "function", "function": {"name": "a.b"}}], tool_choice="a.b")
    assert found.payload["tools"][0]["function"]["name"] == "a_b"
    assert found.payload["tool_choice"]["function"]["name"] == "a_b"
    assert found.names["a_b"] == ("a.b", None)
