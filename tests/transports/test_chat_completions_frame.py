"""The request as a whole: messages, tools, the choice among them, and what the frame refuses."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, convert
from llmneutral.ir import contents as c
from llmneutral.transports.chat_completions import CHAT_COMPLETIONS


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}, **more}}


F, G = function("f"), function("g")
CUSTOM = {"type": "custom", "custom": {"name": "shell", "description": "runs"}}


def made(source: Any = "q", **settings: Any) -> Conversion:
    return convert(source, "chat_completions", **{"model": "gpt-4.1", **settings})


def kinds(conversion: Conversion) -> list[str]:
    return [change.kind for change in conversion.changes]


# --- messages -----------------------------------------------------------------------------------


def test_the_least_request() -> None:
    conversion = made()
    assert conversion.payload == {"model": "gpt-4.1", "messages": [{"role": "user", "content": "q"}]}
    assert conversion.endpoint == ("POST", "/chat/completions")
    assert conversion.changes == ()
    assert "model" not in made(model=None).payload


def test_the_keys_stand_in_one_order() -> None:
    settings = {"temperature": 1, "tool_choice": "auto", "max_tokens": 5, "stream": True}
    keys = [
        "model",
        "messages",
        "tools",
        "tool_choice",
        "max_completion_tokens",
        "temperature",
        "stream",
        "stream_options",
    ]
    assert list(made(tools=[F], **settings).payload) == keys
    assert list(made(tools=[F], **dict(reversed(settings.items()))).payload) == keys


def test_a_name_is_sent_where_the_caller_set_one() -> None:
    messages = [
        Message("user", (c.TextMessageContent("a"),), name="Ann"),
        Message("assistant", (c.TextMessageContent("b"),), name="Bot"),
    ]
    assert made(messages).payload["messages"] == [
        {"role": "user", "content": "a", "name": "Ann"},
        {"role": "assistant", "content": "b", "name": "Bot"},
    ]


@pytest.mark.parametrize(("null_ok", "content"), [(True, None), (False, "")])
@pytest.mark.parametrize("count", [1, 2])
def test_content_is_null_beside_calls_only(null_ok: bool, content: Any, count: int) -> None:
    calls = [c.ActionCallMessageContent(f"c{i}", "f", input={}) for i in range(count)]
    results = [c.ActionResultMessageContent(f"c{i}", "r") for i in range(count)]
    messages = [
        Message("user", (c.TextMessageContent("q"),)),
        Message("assistant", tuple(calls)),
        Message("user", tuple(results)),
    ]
    conversion = made(messages, tools=[F], facts={"null_content_ok": null_ok})
    turn = conversion.payload["messages"][1]
    assert turn["content"] == content
    assert len(turn["tool_calls"]) == count
    assert [message["role"] for message in conversion.payload["messages"]] == ["user", "assistant", *["tool"] * count]


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("user", c.ActionCallMessageContent("c1", "f", input={})),
        ("user", c.RefusalMessageContent("no")),
        ("system", c.ImageMessageContent(url="https://e.org/a.png")),
        ("assistant", c.ActionResultMessageContent("c1", "r")),
        ("narrator", c.TextMessageContent("a")),
        ("assistant", c.AudioMessageContent(id=None, transcript=None)),
    ],
)
def test_a_block_in_a_role_that_cannot_hold_it_is_refused(role: str, block: Any) -> None:
    with pytest.raises(ConversionError) as caught:
        made([Message("user", (c.TextMessageContent("q"),)), Message(role, (block,))])
    assert caught.value.refs[0] == (1, 0)
    assert caught.value.api == "chat_completions"


def test_plain_talk_is_written_as_anything_else_is() -> None:
    """There is a fast way for messages of one text each; a block that takes it off must not change the others."""
    talk = [
        Message("system", (c.TextMessageContent("s"),)),
        Message("user", (c.TextMessageContent("a"),)),
        Message("assistant", (c.TextMessageContent("b"),)),
        Message("user", (c.TextMessageContent("c"),)),
    ]
    picture = Message("user", (c.ImageMessageContent(url="https://e.org/a.png"),))
    plain, other = made(talk, trace=True), made([*talk, picture], trace=True)
    assert other.payload["messages"][:4] == plain.payload["messages"]
    assert plain.trace is not None
    assert other.trace is not None
    assert {key: value for key, value in other.trace.items() if "/4" not in key} == plain.trace


def test_only_one_sound_of_a_turn_goes_back() -> None:
    sounds = (c.AudioMessageContent(id="a1"), c.AudioMessageContent(id="a2"))
    conversion = made(
        [
            Message("user", (c.TextMessageContent("q"),)),
            Message("assistant", sounds),
            Message("user", (c.TextMessageContent("more"),)),
        ]
    )
    assert conversion.payload["messages"][1]["audio"] == {"id": "a2"}
    assert kinds(conversion) == ["dropped"]


# --- tools --------------------------------------------------------------------------------------


def test_tools_go_with_what_is_known_of_them() -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tool = {"type": "function", "function": {"name": "f", "description": "does", "parameters": parameters}}
    bare = {"type": "function", "function": {"name": "bare"}}
    assert made(tools=[tool, bare, CUSTOM]).payload["tools"] == [tool, bare, CUSTOM]


def test_an_empty_description_is_kept_apart_from_none() -> None:
    assert made(tools=[function("f", description="")]).payload["tools"][0]["function"]["description"] == ""
    assert "description" not in made(tools=[F]).payload["tools"][0]["function"]


def test_strict_is_sent_only_when_asked_and_understood() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "integer"}}
    tool = function("f", parameters={"type": "object", "properties": properties, "required": ["a"]}, strict=True)
    sent = made(tools=[tool]).payload["tools"][0]["function"]
    assert sent["strict"] is True
    assert sent["parameters"]["required"] == ["a", "b"]
    assert sent["parameters"]["additionalProperties"] is False
    assert "strict" not in made(tools=[function("f", strict=False)]).payload["tools"][0]["function"]
    kimi = made(tools=[tool], provider="moonshot", model="kimi-k2")
    assert "strict" not in kimi.payload["tools"][0]["function"]
    assert "coerced" in kinds(kimi)
    open_map = function("f", parameters={"type": "object", "additionalProperties": {"type": "string"}}, strict=True)
    off = made(tools=[open_map])
    assert "strict" not in off.payload["tools"][0]["function"]
    assert kinds(off) == ["coerced"]


def test_a_strict_schema_that_is_complete_stays_in_its_order() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["b", "a"], "additionalProperties": False}
    conversion = made(tools=[function("f", parameters=schema, strict=True)])
    assert conversion.payload["tools"][0]["function"]["parameters"] == schema
    assert conversion.changes == ()


def test_a_portable_schema_has_single_types_and_loses_what_is_rejected() -> None:
    properties = {"a": {"type": ["string", "null"], "pattern": "x"}}
    tool = function("f", parameters={"type": "object", "properties": properties})
    sent = made(tools=[tool], provider="llamacpp", model="m")
    schema = sent.payload["tools"][0]["function"]["parameters"]["properties"]["a"]
    assert "pattern" not in schema
    assert not isinstance(schema.get("type"), list)
    assert any("'f'" in change.why and change.kind == "coerced" for change in sent.changes)
    assert made(tools=[tool]).payload["tools"][0]["function"]["parameters"]["properties"] == properties


def test_renamed_properties_come_back_by_their_own_names() -> None:
    tool = function("f", parameters={"type": "object", "properties": {"a b": {"type": "string"}}})
    conversion = made(tools=[tool], provider="llamacpp", model="m")
    sent = next(iter(conversion.payload["tools"][0]["function"]["parameters"]["properties"]))
    assert sent != "a b"
    from llmneutral import normalize

    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": f'{{"{sent}": "x"}}'}}
    body = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    assert normalize(body, "chat_completions", names=conversion).tool_calls[0].input == {"a b": "x"}


def test_nothing_about_tools_is_sent_without_tools() -> None:
    assert made(tools=[], tool_choice="auto").payload.keys() == {"model", "messages"}
    with pytest.raises(ConversionError, match="required"):
        made(tools=[], tool_choice="required")


# --- the choice ---------------------------------------------------------------------------------

NAMED_F = {"type": "function", "function": {"name": "f"}}
NAMED_G = {"type": "function", "function": {"name": "g"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED_F, NAMED_G]}}


@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED_F, ALLOWED])
def test_openai_takes_every_choice(choice: Any) -> None:
    conversion = made(tools=[F, G], tool_choice=choice)
    assert conversion.payload["tool_choice"] == choice
    assert conversion.changes == ()


def test_a_custom_tool_is_chosen_by_its_own_form() -> None:
    sent = made(tools=[CUSTOM], tool_choice="shell").payload["tool_choice"]
    assert sent == {"type": "custom", "custom": {"name": "shell"}}


def test_a_chosen_tool_goes_by_its_native_name() -> None:
    conversion = made(tools=[function("a.b")], tool_choice="a.b")
    assert conversion.payload["tool_choice"]["function"]["name"] == conversion.payload["tools"][0]["function"]["name"]
    assert conversion.payload["tools"][0]["function"]["name"] == "a_b"


def test_imitators_get_only_the_allowed_tools() -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED_G]}}
    conversion = made(tools=[F, G], tool_choice=choice, provider="groq", model="m")
    assert conversion.payload["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in conversion.payload["tools"]] == ["g"]
    assert kinds(conversion) == ["coerced"]


@pytest.mark.parametrize(
    ("facts", "choice", "sent", "tools"),
    [
        ({"tool_choice_required": False}, "required", "auto", 2),
        ({"tool_choice_named": False}, "g", "required", 1),
        ({"tool_choice_none": False}, "none", None, None),
    ],
)
def test_a_choice_that_is_not_accepted_is_the_nearest_one(facts: Any, choice: str, sent: Any, tools: Any) -> None:
    conversion = made(tools=[F, G], tool_choice=choice, facts=facts)
    assert conversion.payload.get("tool_choice") == sent
    assert len(conversion.payload.get("tools", ())) == (tools or 0)
    assert kinds(conversion) == ["coerced"]


def test_a_forced_call_beside_thinking() -> None:
    settings = {"tools": [F], "tool_choice": "required", "facts": {"forced_with_thinking": False}}
    assert made(**settings).payload["tool_choice"] == "required"
    thinking = made(**settings, model="o3", reasoning_effort="high")
    assert thinking.payload["tool_choice"] == "auto"
    with pytest.raises(ConversionError, match="thinks"):
        made(**settings, model="o3", reasoning_effort="high", on_conflict="refuse")


# --- the four methods ---------------------------------------------------------------------------


def test_the_transport_by_itself() -> None:
    assert CHAT_COMPLETIONS.convert_tools([F]) == [F]
    messages = [{"role": "user", "content": "q"}]
    assert CHAT_COMPLETIONS.convert_messages(messages, model="gpt-4.1") == {"messages": messages}
    sent = CHAT_COMPLETIONS.build_kwargs("gpt-4.1", messages, [F], max_tokens=5)
    assert sent == {"model": "gpt-4.1", "messages": messages, "tools": [F], "max_completion_tokens": 5}
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
    assert CHAT_COMPLETIONS.normalize_response(body).text == "a"
