"""Messages, tools and the choice of one as the keyword arguments of Cohere's client; the rewrites of the messages."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, PromptStack, convert
from llmneutral.ir import contents as c

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
OTHER = {"type": "function", "function": {"name": "g", "description": "G."}}
TEXT = c.TextMessageContent
CALL = c.ActionCallMessageContent("c1", "f", input={"a": "x"})
RESULT = c.ActionResultMessageContent("c1", "ok")


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def turn(role: str, *blocks: Any) -> Message:
    return Message(role, tuple([TEXT(block) if isinstance(block, str) else block for block in blocks]))


def made(*source: Any, **settings: Any) -> Conversion:
    given = PromptStack(list(source)) if source and isinstance(source[0], Message) else (source[0] if source else "q")
    return convert(given, "cohere_chat", **{"model": "command-a-03-2025", **settings})


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def roles(conversion: Conversion) -> list[str]:
    return [message["role"] for message in conversion.payload["messages"]]


# --- the request --------------------------------------------------------------------------------


def test_the_request() -> None:
    found = made([{"role": "system", "content": "s"}, user("q")], max_tokens=5)
    assert found.payload == {
        "model": "command-a-03-2025",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
        "max_tokens": 5,
    }
    assert found.endpoint == ("POST", "/v2/chat")
    assert found.changes == ()
    assert "model" not in made(model=None).payload


def test_further_keys_are_arguments_or_options_and_win() -> None:
    found = made(temperature=0.5, extra_body={"priority": 1, "temperature": 0.1, "raw_prompting": True}, trace=True)
    assert (found.payload["priority"], found.payload["temperature"]) == (1, 0.1)
    assert found.payload["request_options"] == {"additional_body_parameters": {"raw_prompting": True}}
    assert found.to_json() == {
        "model": "command-a-03-2025", "messages": [user("q")], "temperature": 0.1, "priority": 1, "raw_prompting": True,
    }  # fmt: skip
    assert found.trace == {"/messages/0/content": ((0, 0),)}
    assert "request_options" not in made(extra_body={"priority": 1}).payload


def test_the_official_sdk_takes_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies warn at import
        import cohere
        import httpx
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        import json

        bodies.append(json.loads(request.content))
        message = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
        return httpx.Response(200, json={"id": "x", "finish_reason": "COMPLETE", "message": message})

    client = cohere.ClientV2("k", httpx_client=httpx.Client(transport=httpx.MockTransport(answer)))
    origin = c.Origin("cohere_chat")
    cite = {"start": 0, "end": 1, "text": "a", "sources": [{"type": "tool", "id": "c1:0"}]}
    found = made(
        turn("system", "s"),
        turn("user", "q", c.DocumentMessageContent(text="t", name="d")),
        turn("assistant", c.ThinkingMessageContent("hm", origin=origin), "plan", CALL),
        turn("user", RESULT),
        turn("assistant", TEXT("a", citations=(cite,))),
        turn("user", "r"),
        tools=[TOOL], tool_choice="required", top_p=0.5, top_k=5, stop="X", extra_body={"raw_prompting": True},
    )  # fmt: skip
    client.chat(**found.payload)
    sent = {key: value for key, value in bodies[0].items() if key != "stream"}
    assert sent == found.to_json()


# --- messages -----------------------------------------------------------------------------------


def test_words_beside_calls_are_the_plan() -> None:
    found = made(turn("user", "q"), turn("assistant", "one", "two", CALL), turn("user", RESULT), trace=True)
    node = found.payload["messages"][1]
    assert (node["tool_plan"], "content" in node, len(node["tool_calls"])) == ("one\ntwo", False, 1)
    assert told(found) == [("frame", "merged")]
    assert found.trace is not None
    assert found.trace["/messages/1/tool_plan"] == ((1, 0), (1, 1))
    thought = c.ThinkingMessageContent("hm", origin=c.Origin("cohere_chat"))
    both = made(turn("user", "q"), turn("assistant", thought, "plan", CALL), turn("user", RESULT))
    assert both.payload["messages"][1]["content"] == [{"type": "thinking", "thinking": "hm"}]
    assert both.payload["messages"][1]["tool_plan"] == "plan"


def test_instructions_stand_anywhere_and_developer_is_system() -> None:
    found = made(turn("developer", "d"), turn("user", "q"), turn("system", "s"), turn("user", "r"))
    assert roles(found) == ["system", "user", "system", "user"]
    assert found.changes == ()


def test_results_stand_before_the_words_of_their_message() -> None:
    found = made(turn("user", "q"), turn("assistant", CALL), turn("user", RESULT, "and?"))
    assert roles(found) == ["user", "assistant", "tool", "user"]
    documents = made(
        turn("user", "q"), turn("assistant", CALL), turn("user", RESULT, c.DocumentMessageContent(text="t"))
    )
    assert roles(documents) == ["user", "assistant", "tool"]


def test_blank_texts_go_and_empty_turns_are_filled() -> None:
    found = made(turn("user", "q", " "), turn("assistant", ""), turn("user", "r"))
    assert [message["content"] for message in found.payload["messages"]] == ["q", "(empty)", "r"]
    assert told(found) == [("drop_blank_text", "dropped")] * 2 + [("fill_empty", "added")]


def test_the_first_turn_is_the_users_and_the_last_no_answer() -> None:
    found = made(turn("assistant", "a"), turn("user", "q"), turn("assistant", "b"))
    assert roles(found) == ["user", "assistant", "user", "assistant", "user"]
    assert found.payload["messages"][-1] == user("Continue.")
    assert told(found) == [("lead_with_user", "added"), ("last_turn", "added")]


def test_ids_are_free_but_needed() -> None:
    odd = c.ActionCallMessageContent("functions.f:0|x", "f", input={})
    found = made(
        turn("user", "q"), turn("assistant", odd), turn("user", c.ActionResultMessageContent("functions.f:0|x", "ok"))
    )
    assert found.payload["messages"][2]["tool_call_id"] == "functions.f:0|x"
    none = c.ActionCallMessageContent(None, "f", input={})
    made_up = made(turn("user", "q"), turn("assistant", none), turn("user", c.ActionResultMessageContent(None, "ok")))
    call, result = made_up.payload["messages"][1]["tool_calls"][0], made_up.payload["messages"][2]
    assert call["id"].startswith("call_")
    assert call["id"] == result["tool_call_id"]


def test_what_cannot_stand_in_a_message() -> None:
    with pytest.raises(ConversionError, match="kind image cannot stand in a message of the system"):
        made(turn("system", c.ImageMessageContent(url="https://e.org")), turn("user", "q"))
    named = made([{**user("q"), "name": "Ada"}])
    assert named.payload["messages"] == [user("q")]
    assert told(named) == [("frame", "coerced")]


def test_cache_marks_are_dropped_once() -> None:
    found = made(turn("user", TEXT("a", cache=True), TEXT("b", cache=True)))
    assert "cache" not in str(found.payload)
    assert told(found) == [("limit_cache_marks", "dropped")]


# --- reasoning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (c.ThinkingMessageContent("hm", origin=c.Origin("cohere_chat")), None),
        (c.ThinkingMessageContent("hm", origin=c.Origin("cohere_chat", "command-a-03-2025")), None),
        (c.ThinkingMessageContent("hm"), "it is not known who made this reasoning"),
        (
            c.ThinkingMessageContent("hm", signature="s"),
            "this reasoning is signed or encrypted, and only the API that gave it can read it",
        ),
        (
            c.ThinkingMessageContent(data="blob"),
            "this reasoning is signed or encrypted, and only the API that gave it can read it",
        ),
        (
            c.ThinkingMessageContent("hm", origin=c.Origin("mistral_chat", "m")),
            "this reasoning was written by another model, or at another endpoint",
        ),
        (c.ThinkingMessageContent("", origin=c.Origin("cohere_chat")), "the reasoning has no text that could go back"),
    ],
)
def test_which_reasoning_goes_back(block: Any, why: str | None) -> None:
    found = made(turn("user", "q"), turn("assistant", block, "a"), turn("user", "r"))
    content = found.payload["messages"][1]["content"]
    assert (content == "a") is (why is not None)
    assert [change.why for change in found.changes] == ([why] if why else [])


def test_settings_and_facts_decide_on_reasoning() -> None:
    own = c.ThinkingMessageContent("hm", origin=c.Origin("cohere_chat"))
    off = made(turn("user", "q"), turn("assistant", own, "a"), turn("user", "r"), replay_reasoning=False)
    assert off.payload["messages"][1]["content"] == "a"
    foreign = c.ThinkingMessageContent("hm", origin=c.Origin("mistral_chat", "m"))
    messages = [turn("user", "q"), turn("assistant", foreign, "a"), turn("user", "r")]
    same = made(*messages, facts={"same_model_as_history": True})
    assert same.payload["messages"][1]["content"][0]["type"] == "thinking"
    text = made(*messages, foreign_reasoning="text")
    assert text.payload["messages"][1]["content"][0] == {"type": "text", "text": "hm"}


# --- tools --------------------------------------------------------------------------------------


def test_a_tool_has_parameters_even_if_it_takes_none() -> None:
    assert made(tools=[OTHER]).payload["tools"] == [
        {
            "type": "function",
            "function": {"name": "g", "description": "G.", "parameters": {"type": "object", "properties": {}}},
        }
    ]


def strict(tool: dict[str, Any]) -> dict[str, Any]:
    return {**tool, "function": {**tool["function"], "strict": True}}


@pytest.mark.parametrize(
    ("tools", "on", "why"),
    [
        ([TOOL], False, None),
        ([strict(TOOL)], True, None),
        ([strict(TOOL), OTHER], False, "only some of the tools"),
        ([strict(TOOL), strict(OTHER)], False, "g has no required parameter"),
    ],
)
def test_strictness_is_the_requests(tools: list[Any], on: bool, why: str | None) -> None:
    found = made(tools=tools)
    assert found.payload.get("strict_tools", False) is on
    assert all("strict" not in tool["function"] for tool in found.payload["tools"])
    assert found.payload["tools"][0]["function"]["parameters"] == SCHEMA
    assert [change.why.partition(": ")[2].startswith(why or "") for change in found.changes] == ([True] if why else [])


def test_a_model_that_knows_no_strictness() -> None:
    found = made(tools=[strict(TOOL)], facts={"strict_tools": False})
    assert "strict_tools" not in found.payload
    assert {kind for _, kind in told(found)} == {"coerced"}


@pytest.mark.parametrize(
    ("choice", "wire"), [(None, None), ("auto", None), ("none", "NONE"), ("required", "REQUIRED"), ("any", "REQUIRED")]
)
def test_the_choice_of_a_tool(choice: Any, wire: str | None) -> None:
    found = made(tools=[TOOL, OTHER], tool_choice=choice)
    assert found.payload.get("tool_choice") == wire
    assert len(found.payload["tools"]) == 2
    assert found.changes == ()


def test_a_named_tool_is_the_only_one() -> None:
    found = made(tools=[TOOL, OTHER], tool_choice="g")
    assert [tool["function"]["name"] for tool in found.payload["tools"]] == ["g"]
    assert found.payload["tool_choice"] == "REQUIRED"
    assert told(found) == [("tool_choice", "coerced")]


def test_of_some_allowed_tools_only_these_are_sent() -> None:
    for mode, wire in (("required", "REQUIRED"), ("auto", None)):
        allowed = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [OTHER]}}
        found = made(tools=[TOOL, OTHER], tool_choice=allowed)
        assert [tool["function"]["name"] for tool in found.payload["tools"]] == ["g"]
        assert found.payload.get("tool_choice") == wire


def test_older_models_take_no_choice() -> None:
    found = made(tools=[TOOL], tool_choice="required", model="command-r")
    assert "tool_choice" not in found.payload
    assert told(found) == [("tool_choice", "coerced")]
    none = made(tools=[TOOL], tool_choice="none", model="command-r")
    assert "tools" not in none.payload


def test_tools_of_others_and_models_without_tools() -> None:
    foreign = made(tools=[TOOL, {"type": "web_search_preview"}])
    assert len(foreign.payload["tools"]) == 1
    assert told(foreign) == [("own_tools", "dropped")]
    model = "command-a-vision-07-2025"
    vision = made(tools=[TOOL], tool_choice="required", model=model, use_native_tools=True)
    assert not {"tools", "tool_choice"} & vision.payload.keys()
    assert told(vision) == [("own_tools", "dropped")] * 2
    in_form = made(tools=[TOOL], tool_choice="required", model=model)  # unless they are asked for, tools go as text
    assert not {"tools", "tool_choice"} & in_form.payload.keys()
    assert told(in_form) == [("react", "added")] * 2
    with pytest.raises(ConversionError, match="needs tools"):
        made(tool_choice="required")
