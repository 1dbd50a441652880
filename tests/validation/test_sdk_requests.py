"""The five SDKs that describe requests by Python types: what is beside the types."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral.validation import sdk_requests
from llmneutral.validation.problems import NOTHING
from llmneutral.validation.shapes import Shape

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
MESSAGES = {**CHAT, "max_tokens": 5}


def paths(shape: Shape, payload: dict[str, Any]) -> list[str]:
    return [".".join(map(str, loc)) for loc, _ in shape.check(payload)]


@pytest.mark.parametrize(
    ("read", "payload"),
    [
        (sdk_requests.chat_completions, CHAT),
        (sdk_requests.codex_responses, {"model": "m", "input": "Hi"}),
        (sdk_requests.anthropic_messages, MESSAGES),
    ],
)
def test_only_a_call_has_an_extra_body(read: Any, payload: dict[str, Any]) -> None:
    found = read()
    assert found.mark == "extra_body"
    assert paths(found.call, {**payload, "extra_body": {"x": 1}}) == []
    assert paths(found.body, payload) == []
    assert paths(found.body, {**payload, "extra_body": {"x": 1}}) == ["extra_body"]


@pytest.mark.parametrize("read", [sdk_requests.chat_completions, sdk_requests.mistral_chat])
def test_both_ways_of_a_stream(read: Any) -> None:
    found = read()
    for stream in (True, False):
        assert paths(found.call, {**CHAT, "stream": stream}) == []
    assert paths(found.call, {**CHAT, "stream": "yes"}) == ["stream"]


def test_what_a_beta_allows_is_allowed() -> None:
    found = sdk_requests.anthropic_messages()
    server = {"type": "url", "url": "https://example.com/mcp", "name": "a"}
    assert found.call.check({**MESSAGES, "mcp_servers": [server]}) is NOTHING
    assert paths(found.call, {**MESSAGES, "mcp_servers": [{**server, "type": "file"}]}) == ["mcp_servers.0.type"]
    assert paths(found.call, {**MESSAGES, "betas": ["a"]}) == ["betas"], "that is a header"


def test_sampling_stands_in_the_body_only() -> None:
    found = sdk_requests.anthropic_messages()
    assert found.body.check({**MESSAGES, "temperature": 1, "top_k": 5}) is NOTHING
    assert paths(found.call, {**MESSAGES, "temperature": 1, "top_k": 5}) == ["temperature", "top_k"]


def test_a_body_for_a_host_that_names_the_model_in_its_address() -> None:
    found = sdk_requests.anthropic_messages()
    hosted = {key: value for key, value in MESSAGES.items() if key != "model"}
    assert found.body.check({**hosted, "anthropic_version": "vertex-2023-10-16"}) is NOTHING
    assert paths(found.body, hosted) == ["model"]


def test_cohere_takes_further_keys_by_request_options() -> None:
    found = sdk_requests.cohere_chat()
    options = {"request_options": {"additional_body_parameters": {"x": 1}}}
    assert found.mark == "request_options"
    assert found.call.check({**CHAT, **options}) is NOTHING
    assert paths(found.call, {**CHAT, "request_options": {"additional_body": {}}}) == [
        "request_options.additional_body"
    ]
    assert paths(found.body, {**CHAT, **options, "stream": True}) == ["request_options"]
    assert paths(found.call, {**CHAT, "stream": True}) == ["stream"], "the method says that"


def test_imitators_of_chat() -> None:
    found = sdk_requests.chat_completions()
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {}},
    }
    answer = {
        "role": "assistant", "content": "a", "tool_calls": [call], "reasoning_content": "r", "reasoning": "r",
        "reasoning_details": [{"type": "reasoning.text"}], "partial": True, "prefix": True,
    }  # fmt: skip
    marked = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    payload = {**CHAT, "messages": [{"role": "user", "content": marked}, answer]}
    assert found.imitated is not None
    assert found.imitated.check(payload) is NOTHING
    assert len(found.call.check(payload)) == 7
    marked[0]["cache_control"] = {"type": "lasting"}
    answer["reasoning_content"] = None
    assert paths(found.imitated, payload) == ["messages.0.content.0.cache_control.type", "messages.1.reasoning_content"]
