"""Settings as keyword arguments of Cohere's client, and the form of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llmneutral import Conversion, Message, PromptStack, Target, convert, get_transport, profile
from llmneutral.ir import contents as c

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
ASKED = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
DOCUMENT = {"id": "d", "data": {"text": "t"}}
REASONER = "command-a-reasoning-08-2025"


def made(source: Any = "q", **settings: Any) -> Conversion:
    return convert(source, "cohere_chat", **{"model": "command-a-03-2025", **settings})


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.kind, change.why.partition(":")[0]) for change in conversion.changes]


def settings_of(found: Conversion) -> dict[str, Any]:
    return {key: value for key, value in found.payload.items() if key not in ("model", "messages", "tools")}


def test_the_settings_this_api_has() -> None:
    found = made(
        temperature=0.3, top_p=0.9, top_k=40, max_tokens=9, stop="X", seed=7, presence_penalty=0.1, logprobs=1,
        frequency_penalty=0.2, safety_mode="STRICT", citation_options={"mode": "FAST"}, stream=True,
    )  # fmt: skip
    assert settings_of(found) == {
        "temperature": 0.3, "p": 0.9, "k": 40, "max_tokens": 9, "stop_sequences": ["X"], "seed": 7,
        "presence_penalty": 0.1, "logprobs": True, "frequency_penalty": 0.2, "safety_mode": "STRICT",
        "citation_options": {"mode": "FAST"},
    }  # fmt: skip
    assert found.changes == ()


def test_the_settings_it_has_not() -> None:
    found = made(logit_bias={"1": 2}, parallel_tool_calls=True, top_logprobs=2, metadata={}, prompt_cache_key="k")
    assert settings_of(found) == {}
    assert sorted(name for _, name in told(found)) == [
        "logit_bias", "metadata", "parallel_tool_calls", "prompt_cache_key", "top_logprobs",
    ]  # fmt: skip
    assert {kind for kind, _ in told(found)} == {"dropped"}


@pytest.mark.parametrize(
    ("setting", "value", "key", "sent"),
    [
        ("top_p", 1, "p", 0.99),
        ("top_p", 1.0, "p", 0.99),
        ("top_p", 0, "p", 0.01),
        ("top_k", 900, "k", 500),
        ("temperature", -1, "temperature", 0),
        ("presence_penalty", 2, "presence_penalty", 1),
        ("frequency_penalty", -0.5, "frequency_penalty", 0),
        ("max_tokens", 99_999, "max_tokens", 8_000),
    ],
)
def test_numbers_out_of_range_are_clamped(setting: str, value: Any, key: str, sent: Any) -> None:
    found = made(**{setting: value})
    assert settings_of(found) == {key: sent}
    assert told(found) == [("coerced", setting)]


def test_five_stop_sequences() -> None:
    found = made(stop=list("abcdef"))
    assert found.payload["stop_sequences"] == list("abcde")
    assert told(found) == [("dropped", "stop")]
    assert settings_of(made(stop=[])) == {}
    assert told(made(top_k=5, facts={"top_k": False})) == [("dropped", "top_k")]


# --- reasoning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "asked", "thinking", "kinds"),
    [
        (REASONER, {"reasoning_effort": "high"}, {"type": "enabled"}, ["coerced"]),
        (REASONER, {"reasoning_effort": "none"}, {"type": "disabled"}, []),
        (REASONER, {"thinking_budget": 500}, {"type": "enabled", "token_budget": 500}, []),
        (REASONER, {"thinking_budget": 0}, {"type": "disabled"}, []),
        (
            REASONER,
            {"reasoning_effort": "low", "thinking_budget": 500},
            {"type": "enabled", "token_budget": 500},
            ["coerced"],
        ),
        (REASONER, {"reasoning_effort": "none", "thinking_budget": 500}, {"type": "disabled"}, ["dropped"]),
        (REASONER, {}, None, []),
        ("command-a-03-2025", {"reasoning_effort": "high"}, None, ["dropped"]),
        ("command-a-03-2025", {"thinking_budget": 500}, None, ["dropped"]),
        ("a-model-of-tomorrow", {"thinking_budget": 500}, {"type": "enabled", "token_budget": 500}, []),
    ],
)
def test_thinking(model: str, asked: dict[str, Any], thinking: Any, kinds: list[str]) -> None:
    found = made(model=model, **asked)
    assert found.payload.get("thinking") == thinking
    assert [change.kind for change in found.changes] == kinds


# --- what excludes each other -------------------------------------------------------------------


@pytest.mark.parametrize("beside", [{"tools": [TOOL]}, {"documents": [DOCUMENT]}])
def test_no_safety_mode_beside_tools_or_documents(beside: dict[str, Any]) -> None:
    found = made(safety_mode="STRICT", **beside)
    assert "safety_mode" not in found.payload
    assert told(found) == [("dropped", "safety_mode")]


def test_documents_among_the_messages_count() -> None:
    stack = PromptStack([Message("user", (c.TextMessageContent("q"), c.DocumentMessageContent(text="t")))])
    found = made(stack, safety_mode="STRICT", response_format={"type": "json_object"})
    assert not {"safety_mode", "response_format"} & found.payload.keys()
    assert len(found.payload["documents"]) == 1


# --- the form of the answer ---------------------------------------------------------------------


def test_an_output_schema_is_one_key_deeper_than_openais() -> None:
    found = made(output_schema={"title": "T", **SCHEMA})
    assert found.payload["response_format"] == {"type": "json_object", "json_schema": {"title": "T", **SCHEMA}}
    assert found.changes == ()


def test_something_has_to_be_required() -> None:
    loose = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    found = made(output_schema=loose).payload["response_format"]["json_schema"]
    assert found["required"] == ["a", "b"]


@pytest.mark.parametrize("strategy", ["auto", "native"])
def test_beside_tools_an_output_schema_is_a_tool(strategy: str) -> None:
    found = made(output_schema=SCHEMA, tools=[TOOL], structured_output_strategy=strategy)
    assert "response_format" not in found.payload
    assert [tool["function"]["name"] for tool in found.payload["tools"]] == ["f", "final_answer"]
    assert found.payload["tool_choice"] == "REQUIRED"


def without_the_field() -> Conversion:
    """What the transport itself makes of a schema for a model without the field; a plan would not ask for it."""
    facts = profile("cohere_chat", facts={"native_json_schema": False})
    return get_transport("cohere_chat").convert(
        PromptStack.from_artifact("q").messages, Target("cohere_chat", facts, output_schema=SCHEMA)
    )


@pytest.mark.parametrize(
    ("convert", "why"),
    [
        (lambda: made(output_schema=SCHEMA, documents=[DOCUMENT]), "beside documents"),
        (without_the_field, "enforces no schema"),
    ],
)
def test_where_the_field_is_not_taken_a_rule_asks(convert: Callable[[], Conversion], why: str) -> None:
    found = convert()
    assert "response_format" not in found.payload
    assert '"required": ["a"]' in found.payload["messages"][0]["content"]
    assert told(found) == [
        ("added", "the form of the answer stands in the instructions"),
        ("coerced", "response_format"),
    ]
    assert why in found.changes[1].why


def test_a_response_format() -> None:
    schema = made(response_format=ASKED)
    assert schema.payload["response_format"] == {"type": "json_object", "json_schema": SCHEMA}
    assert told(schema) == [("rewritten", "response_format")]
    assert made(response_format={"type": "text"}).payload["response_format"] == {"type": "text"}
    both = made(response_format=ASKED, output_schema=SCHEMA)
    assert told(both) == [("dropped", "response_format")]


def test_json_mode_is_said_in_words_too() -> None:
    found = made(response_format={"type": "json_object"})
    assert found.payload["response_format"] == {"type": "json_object"}
    assert found.payload["messages"][0] == {"role": "system", "content": "Answer in JSON."}
    assert made("As JSON.", response_format={"type": "json_object"}).changes == ()
    tools = made("As JSON.", response_format={"type": "json_object"}, tools=[TOOL])
    assert "response_format" not in tools.payload
    assert told(tools) == [("dropped", "response_format")]
