"""The code and the tables of the second source document: how a mode is found, and transports with four methods."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral import (
    BasePromptDriver,
    ConversionError,
    Message,
    NormalizedResponse,
    ProviderTransport,
    TextMessageContent,
    Usage,
    convert,
    get_transport,
    normalize,
    register_transport,
    resolve_api_mode,
)
from llmneutral.convert import registry

OPENAI_TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"where": {"type": "string"}}},
    },
}


@pytest.fixture(autouse=True)
def _registry_as_it_was() -> Iterator[None]:
    before = dict(registry._transports)
    yield
    registry._transports.clear()
    registry._transports.update(before)


@pytest.mark.parametrize(
    ("asked", "mode"),
    [
        ({"api_mode": "chat_completions", "provider": "anthropic"}, "chat_completions"),
        ({"provider": "openai-codex"}, "codex_responses"),
        ({"provider": "anthropic"}, "anthropic_messages"),
        ({"base_url": "https://api.anthropic.com"}, "anthropic_messages"),
        ({"base_url": "https://api.minimax.io/anthropic"}, "anthropic_messages"),
        ({"base_url": "https://dashscope.aliyuncs.com/apps/anthropic/"}, "anthropic_messages"),
        ({"provider": "bedrock"}, "bedrock_converse"),
        ({"base_url": "https://bedrock-runtime.us-east-1.amazonaws.com"}, "bedrock_converse"),
        ({"base_url": "https://example.org/v1"}, "chat_completions"),
        ({"provider": "meta", "base_url": "https://example.org/v1"}, "chat_completions"),
        ({}, "chat_completions"),
    ],
)
def test_the_chain_of_resolution(asked: dict[str, str], mode: str) -> None:
    assert resolve_api_mode(**asked).mode == mode


def test_parameters_become_input_schema() -> None:
    made = get_transport("anthropic_messages").convert_tools([OPENAI_TOOL])
    function: Any = OPENAI_TOOL["function"]
    assert made == [{"name": "look", "description": "Looks.", "input_schema": function["parameters"]}]


def test_a_cache_mark_goes_along_and_a_second_tool_of_a_name_does_not() -> None:
    twice = [OPENAI_TOOL, {**OPENAI_TOOL, "cache": True}]
    made = convert("Hi", "anthropic_messages", model="claude-sonnet-5-5", tools=twice[1:])
    assert made.payload["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    made = convert("Hi", "anthropic_messages", model="claude-sonnet-5-5", tools=[OPENAI_TOOL, OPENAI_TOOL])
    assert len(made.payload["tools"]) == 1
    assert [change.kind for change in made.changes if "look" in change.why] == ["dropped"]


def test_the_six_finishing_steps() -> None:
    """Orphans, neighbours of one role, a leading user, signatures, screenshots, blank texts."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s",
                                           "origin": {"api": "anthropic_messages", "model": "other"}},
                                          {"type": "text", "text": "Hello"}]},
        {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "Look"}]},
        {"role": "user", "content": "twice"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [picture]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "user", "content": "And?"},
    ]  # fmt: skip
    made = convert(messages, "anthropic_messages", model="claude-sonnet-5-5", tools=[OPENAI_TOOL], keep_screenshots=0)
    assert made.payload["system"] == "Be brief."
    assert [turn["role"] for turn in made.payload["messages"]] == ["user", "assistant"] * 3 + ["user"]
    assert made.payload["messages"][0]["content"] == [{"type": "text", "text": "(empty)"}]
    told = {(change.step, change.kind) for change in made.changes}
    assert len({step for step, _ in told}) >= 5, told
    assert not llmneutral.validate(made.payload, "anthropic_messages")
    assert not llmneutral.lint(made.payload, "anthropic_messages")


class AcmeTransport(ProviderTransport):
    """A provider of one's own: it has its words for everything."""

    @property
    def api_mode(self) -> str:
        return "acme"

    def convert_messages(self, messages: list[dict[str, Any]], **kwargs: Any) -> Any:
        return [{"from": each["role"], "say": each["content"]} for each in messages]

    def convert_tools(self, tools: list[dict[str, Any]]) -> Any:
        return [{"do": tool["function"]["name"], "with": tool["function"]["parameters"]} for tool in tools]

    def build_kwargs(
        self, model: str | None, messages: list[dict[str, Any]], tools: Any = None, **params: Any
    ) -> dict[str, Any]:
        made = {"engine": model, "talk": self.convert_messages(messages), **params}
        return made | ({"can": self.convert_tools(tools)} if tools else {})

    def normalize_response(self, response: Any, **kwargs: Any) -> NormalizedResponse:
        return NormalizedResponse(
            Message(Message.ASSISTANT_ROLE, (TextMessageContent(response["said"]),)),
            id=response["nr"],
            model="acme-1",
            finish_reason="stop",
            raw_finish_reason="done",
            usage=Usage(input_total=3, output_total=1),
        )


class AcmeDriver(BasePromptDriver):
    """I/O and nothing else."""

    needs_key = False

    def send(self, conversion: llmneutral.Conversion) -> Any:
        return {"said": f"{len(conversion.payload['talk'])} turns", "nr": "7"}


def test_a_protocol_is_a_class_and_a_registration() -> None:
    assert issubclass(ProviderTransport, ABC)
    register_transport("acme", AcmeTransport)
    made = convert("Hi", "acme", model="acme-1", tools=[OPENAI_TOOL], temperature=0.5, tool_choice="look")
    assert made.payload == {
        "engine": "acme-1",
        "talk": [{"from": "user", "say": "Hi"}],
        "can": [{"do": "look", "with": {"type": "object", "properties": {"where": {"type": "string"}}}}],
        "temperature": 0.5,
        "tool_choice": {"type": "function", "function": {"name": "look"}},
    }
    answer = normalize({"said": "Hello", "nr": "7"}, "acme")
    assert (answer.text, answer.id, answer.finish_reason, answer.raw_finish_reason) == ("Hello", "7", "stop", "done")
    assert answer.usage.input_total == 3
    with pytest.raises(ConversionError, match="AcmeTransport converts requests one way only"):
        llmneutral.read_request(made.payload, "acme")


def test_and_a_driver_and_an_agent_speak_it() -> None:
    register_transport("acme", AcmeTransport())
    driver = AcmeDriver("acme-1", api_mode="acme")
    assert driver.run("Hi").text == "1 turns"
    assert [delta.text for delta in driver.stream("Hi") if delta.text] == ["1 turns"]
    agent = llmneutral.Agent(driver)
    agent.run("Hi")
    assert agent.run("More").text == "3 turns"


def test_only_some_tools_are_offered_where_only_some_are_allowed() -> None:
    register_transport("acme", AcmeTransport)
    other = {"type": "function", "function": {"name": "go", "parameters": {"type": "object", "properties": {}}}}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [OPENAI_TOOL]}}
    made = convert("Hi", "acme", tools=[OPENAI_TOOL, other], tool_choice=choice)
    assert [tool["do"] for tool in made.payload["can"]] == ["look"]
    assert made.payload["tool_choice"] == "required"
