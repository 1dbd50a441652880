"""A law of every transport: what a conversion makes, the official SDK's own types allow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import Conversion, ConversionError, Message, Problem, PromptStack
from llmneutral.transports import registered
from tests.laws.stacks import stacks

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "files.read", "parameters": SCHEMA, "strict": True}},
    {"type": "function", "function": {"name": "bare"}},
]
MODELS = {
    "chat_completions": ["gpt-4.1", "o3"],
    "codex_responses": ["gpt-4.1", "gpt-5.4"],
    "anthropic_messages": ["claude-sonnet-4-5", "claude-opus-5-5"],
    "gemini_native": ["gemini-2.5-flash", "gemini-3-pro-preview"],
    "bedrock_converse": ["us.anthropic.claude-sonnet-4-5-v1:0", "amazon.nova-pro-v1:0"],
    "cohere_chat": ["command-a-03-2025"],
    "mistral_chat": ["mistral-large-latest"],
}
WITHOUT_EXTRA_BODY = {"mistral_chat"}
"""Where the SDK has no place for keys of the caller's own."""
TARGETS = [(api, model) for api in registered() for model in MODELS.get(api, [])]

asked = st.fixed_dictionaries(
    {"max_tokens": st.sampled_from([1, 500])},
    optional={
        "temperature": st.sampled_from([0, 0.5, 2]),
        "top_p": st.sampled_from([0.5, 1]),
        "top_k": st.just(5),
        "seed": st.just(7),
        "stop": st.sampled_from(["END", ["a", "b"]]),
        "stream": st.booleans(),
        "tool_choice": st.sampled_from(
            ["auto", "none", "required", {"type": "function", "function": {"name": "look"}}]
        ),
        "parallel_tool_calls": st.booleans(),
        "reasoning_effort": st.sampled_from(["none", "minimal", "low", "high", "max"]),
        "thinking_budget": st.just(2000),
        "output_schema": st.just(SCHEMA),
        "structured_output_strategy": st.sampled_from(["native", "tool", "rule"]),
        "use_native_tools": st.booleans(),
        "cache": st.booleans(),
        "store": st.booleans(),
        "orphan_calls": st.sampled_from(["answer", "drop"]),
        "extra_body": st.just({"vendor_key": {"on": True}}),
    },
)


def converted(messages: list[Message], api: str, model: str, given: dict[str, Any]) -> Conversion | None:
    settings = {key: value for key, value in given.items() if key != "extra_body" or api not in WITHOUT_EXTRA_BODY}
    try:
        found = llmneutral.convert(PromptStack(messages, tools=TOOLS), api, model=model, **settings)
    except ConversionError:
        return None
    assert isinstance(found, Conversion)
    return found


def is_excused(problem: Problem, made: Conversion) -> bool:
    """Reasoning whose id nobody has kept goes back without one: the service takes that, and an id is not invented."""
    place = re.fullmatch(r"input\[(\d+)\]\.id", problem.path)
    return place is not None and made.payload["input"][int(place[1])]["type"] == "reasoning"


def test_every_transport_has_a_target() -> None:
    assert {api for api, _ in TARGETS} == {*registered()}


@pytest.mark.parametrize(("api", "model"), TARGETS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(stacks, asked)
def test_a_payload_is_valid(api: str, model: str, messages: list[Message], given: dict[str, Any]) -> None:
    """As the keyword arguments of the call and, where nothing was asked that no type knows, as the JSON body too."""
    found = converted(messages, api, model, given)
    if found is None:
        return
    assert [problem for problem in llmneutral.validate(found) if not is_excused(problem, found)] == []
    if "extra_body" not in given:
        body = llmneutral.validate(found.to_json(), api)
        assert [problem for problem in body if not is_excused(problem, found)] == []
