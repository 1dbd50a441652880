"""Laws of a conversion, over every transport: pure, deterministic, prefix-stable, conserving, loud, early."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import Change, Conversion, ConversionError, Message, PromptStack, Ref, TextMessageContent
from llmneutral.transports import registered
from tests.laws.stacks import exchanges, stacks

TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}
LOOSE = {"orphan_calls": "answer"}  # no open calls: everything is answered, so nothing waits
MODELS: dict[str, list[str | None]] = {
    "chat_completions": [None, "gpt-4.1", "o3"],
    "codex_responses": [None, "gpt-5.4"],
    "anthropic_messages": [None, "claude-sonnet-4-5", "claude-opus-5-5"],
    "bedrock_converse": [None, "us.anthropic.claude-sonnet-4-5-v1:0", "amazon.nova-pro-v1:0"],
    "gemini_native": [None, "gemini-2.0-flash", "gemini-3-pro-preview"],
    "mistral_chat": [None, "mistral-large-2411", "magistral-medium-latest"],
    "cohere_chat": [None, "command-a-03-2025", "command-r"],
}
TARGETS = [(api, model) for api in registered() for model in MODELS.get(api, [None])]
over_targets = pytest.mark.parametrize(("api", "model"), TARGETS)
many = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])


def converted(messages: list[Message], api: str, model: str | None, **more: Any) -> Conversion | ConversionError:
    stack = PromptStack(messages, tools=[TOOL])
    try:
        found = llmneutral.convert(stack, api, model=model, **{"max_tokens": 500, **LOOSE, **more})
    except ConversionError as error:
        return error
    assert isinstance(found, Conversion)
    return found


def addresses(messages: list[Message]) -> set[tuple[int, int]]:
    return {(i, j) for i, message in enumerate(messages) for j, _ in enumerate(message.content)}


def named(changes: tuple[Change, ...], *kinds: str) -> set[tuple[int, int]]:
    return {tuple(ref) for change in changes if change.kind in kinds for ref in change.refs}  # type: ignore[misc]


@over_targets
@many
@given(stacks)
def test_every_block_is_traced_or_named(api: str, model: str | None, messages: list[Message]) -> None:
    found = converted(messages, api, model, trace=True)
    if isinstance(found, ConversionError):
        return
    assert found.trace is not None
    traced = {tuple(ref) for refs in found.trace.values() for ref in refs}
    gone = named(found.changes, "dropped", "merged", "refused")
    lost = addresses(messages) - traced - gone
    assert not lost, f"neither traced nor named: {sorted(lost)}; changes: {found.changes}"


@over_targets
@many
@given(stacks)
def test_the_trace_points_into_the_json(api: str, model: str | None, messages: list[Message]) -> None:
    found = converted(messages, api, model, trace=True)
    if isinstance(found, ConversionError):
        return
    body = found.to_json()
    for pointer in found.trace or {}:
        node: Any = body
        for step in pointer.split("/")[1:]:
            node = node[int(step)] if isinstance(node, list) else node[step.replace("~1", "/").replace("~0", "~")]


@over_targets
@many
@given(stacks)
def test_traced_and_untraced_payloads_are_equal(api: str, model: str | None, messages: list[Message]) -> None:
    plain, traced = converted(messages, api, model), converted(messages, api, model, trace=True)
    if isinstance(plain, ConversionError) or isinstance(traced, ConversionError):
        assert str(plain) == str(traced)
        return
    assert plain.payload == traced.payload
    assert plain.changes == traced.changes


@over_targets
@many
@given(stacks)
def test_the_input_is_unchanged_and_the_output_repeats(api: str, model: str | None, messages: list[Message]) -> None:
    before = repr(messages)
    first, second = converted(messages, api, model), converted(messages, api, model)
    assert repr(messages) == before
    if isinstance(first, ConversionError) or isinstance(second, ConversionError):
        assert str(first) == str(second)
        return
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())


@over_targets
@many
@given(stacks)
def test_the_body_is_json_and_utf8(api: str, model: str | None, messages: list[Message]) -> None:
    found = converted(messages, api, model)
    if isinstance(found, ConversionError):
        return
    json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False).encode()


@over_targets
@many
@given(stacks)
def test_every_change_is_told_well(api: str, model: str | None, messages: list[Message]) -> None:
    found = converted(messages, api, model)
    changes = found.changes
    known = addresses(messages)
    for change in changes:
        assert change.step
        assert change.why
        assert "\n" not in change.why
        assert {tuple(ref) for ref in change.refs} <= known
        assert all(isinstance(ref, Ref) for ref in change.refs)


@over_targets
@many
@given(stacks)
def test_a_refusal_names_its_place_and_api(api: str, model: str | None, messages: list[Message]) -> None:
    found = converted(messages, api, model, orphan_calls="refuse", orphan_results="refuse")
    if isinstance(found, ConversionError):
        assert found.api == api
        assert found.rule
        assert found.changes[-1].kind == "refused"


@over_targets
@given(st.integers(min_value=1, max_value=6))
def test_a_longer_stack_begins_the_same(api: str, model: str | None, n: int) -> None:
    key = {"codex_responses": "input", "gemini_native": "contents"}.get(api, "messages")
    short = converted(exchanges(n), api, model, orphan_calls="answer")
    long = converted([*exchanges(n), Message("user", "more")], api, model)  # type: ignore[arg-type]  # text is taken
    longer = converted(exchanges(n + 2), api, model)
    assert not isinstance(short, ConversionError)
    assert not isinstance(long, ConversionError)
    assert not isinstance(longer, ConversionError)
    begun = converted([*exchanges(n), Message("user", (TextMessageContent("question"),))], api, model)
    assert not isinstance(begun, ConversionError)
    turns = begun.to_json()[key][:-1]
    assert long.to_json()[key][: len(turns)] == turns
    assert longer.to_json()[key][: len(turns)] == turns


@over_targets
def test_a_tidy_conversation_changes_nothing(api: str, model: str | None) -> None:
    messages = [*exchanges(3), Message("user", (TextMessageContent("more"),))]
    found = converted(messages, api, model)
    assert not isinstance(found, ConversionError)
    # Gemini 3 wants its own signature on every call: what stands for it is told.
    assert [change for change in found.changes if change.step != "thought_signatures"] == []


@over_targets
def test_a_block_in_two_places_keeps_both_addresses(api: str, model: str | None) -> None:
    block = TextMessageContent("same")
    messages = [
        Message("user", (block,)),
        Message("assistant", (TextMessageContent("a"),)),
        Message("user", (block, block)),
    ]
    found = converted(messages, api, model, trace=True)
    assert not isinstance(found, ConversionError)
    refs = {tuple(ref) for refs in (found.trace or {}).values() for ref in refs}
    assert refs == addresses(messages)
