"""Laws of tools as text, over every transport: nothing is lost, caches hold, whole = stream, no tool goes natively."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import Conversion, ConversionError, Message, PromptStack, TextMessageContent
from tests.convert.react_outputs import ROWS
from tests.laws.answers import WIRE
from tests.laws.stacks import exchanges, stacks
from tests.laws.test_conversion import TOOL, addresses, converted, many, named, over_targets

KEYS = {"codex_responses": "input", "gemini_native": "contents"}
NATIVE = ("tool_calls", "tool_use", "toolUse", "functionCall", "function_call", "tool_result", "toolConfig", "tools")
over_apis = pytest.mark.parametrize("api", list(WIRE))
outputs = st.sampled_from([row[1] for row in ROWS if row[1] and "\ufeff" not in row[1]])


def as_text(messages: list[Message], api: str, model: str | None, **more: Any) -> Conversion | ConversionError:
    return converted(messages, api, model, use_native_tools=False, **more)


def keys_of(node: Any) -> set[str]:
    if isinstance(node, dict):
        return {*node, *[key for value in node.values() for key in keys_of(value)]} | {str(node.get("type"))}
    return {key for value in node for key in keys_of(value)} if isinstance(node, list) else set()


@over_targets
@many
@given(stacks)
def test_every_block_is_traced_or_named(api: str, model: str | None, messages: list[Message]) -> None:
    found = as_text(messages, api, model, trace=True)
    if isinstance(found, ConversionError):
        return
    traced = {tuple(ref) for refs in (found.trace or {}).values() for ref in refs}
    lost = addresses(messages) - traced - named(found.changes, "dropped", "merged", "refused")
    assert not lost, f"neither traced nor named: {sorted(lost)}; changes: {found.changes}"


@over_targets
@many
@given(stacks)
def test_no_tool_goes_natively(api: str, model: str | None, messages: list[Message]) -> None:
    found = as_text(messages, api, model, tool_choice="required", parallel_tool_calls=False)
    if isinstance(found, ConversionError):
        return
    body = found.to_json()
    assert not keys_of(body) & {*NATIVE}
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    assert found.react is not None
    assert {*found.names.values()} >= {("look", None)}


@over_targets
@many
@given(stacks)
def test_it_repeats_with_and_without_a_trace(api: str, model: str | None, messages: list[Message]) -> None:
    before = repr(messages)
    first, second = as_text(messages, api, model), as_text(messages, api, model, trace=True)
    assert repr(messages) == before
    if isinstance(first, ConversionError) or isinstance(second, ConversionError):
        assert str(first) == str(second)
        return
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())
    assert first.changes == second.changes


@over_targets
@given(st.integers(min_value=1, max_value=6))
def test_a_longer_stack_begins_the_same(api: str, model: str | None, n: int) -> None:
    key = KEYS.get(api, "messages")
    asked = [*exchanges(n), Message("user", (TextMessageContent("question"),))]
    begun, longer = as_text(asked, api, model), as_text(exchanges(n + 2), api, model)
    assert isinstance(begun, Conversion)
    assert isinstance(longer, Conversion)
    one, other = begun.to_json(), longer.to_json()
    turns = one[key][:-1]
    assert other[key][: len(turns)] == turns
    assert {k: v for k, v in one.items() if k != key} == {k: v for k, v in other.items() if k != key}


@over_apis
@given(outputs, st.integers(min_value=1, max_value=20), st.booleans())
def test_whole_equals_streamed(api: str, text: str, size: int, thinks: bool) -> None:
    whole, stream = WIRE[api]
    asked = llmneutral.convert(PromptStack(exchanges(1), tools=[TOOL]), api, model="m", use_native_tools=False)
    answer = [*([("thinking", "native", "c2VhbA==")] if thinks else []), ("text", text)]
    one = llmneutral.normalize(whole(answer), api, names=asked)
    other = llmneutral.aggregate(stream(answer, size), api, names=asked)
    assert one.to_dict() == other.to_dict()
    assert one.notes == other.notes
    assert one.message == other.message
    assert [each["text"] for each in one.reasoning][: int(thinks)] == ["native"] * thinks


@over_apis
@given(outputs, st.integers(min_value=1, max_value=20))
def test_the_deltas_add_up_to_the_answer(api: str, text: str, size: int) -> None:
    _, stream = WIRE[api]
    asked = llmneutral.convert(PromptStack(exchanges(1), tools=[TOOL]), api, model="m", use_native_tools=False)
    chunks = stream([("thinking", "native", "c2VhbA=="), ("text", text)], size)
    deltas = list(llmneutral.normalize_stream(chunks, api, names=asked))
    response = llmneutral.aggregate(chunks, api, names=asked)
    assert [deltas[0].kind, deltas[-1].kind] == ["start", "end"]
    assert "".join(delta.text for delta in deltas) == response.text
    from llmneutral.convert.neutral import neutral_normalizer

    again = neutral_normalizer()
    for delta in deltas:
        again.feed(delta)
    built = [block.to_text() for block in again.response.message.content]
    assert built == [block.to_text() for block in response.message.content]
    assert [type(block) for block in again.response.message.content] == [type(x) for x in response.message.content]
    finish = next(delta for delta in deltas if delta.kind == "finish")
    assert finish.finish_reason == response.finish_reason


@over_apis
@given(outputs)
def test_what_was_read_is_written_in_the_same_form(api: str, text: str) -> None:
    """An answer goes back into the conversation, and is read from there as it was."""
    whole, _ = WIRE[api]
    stack = PromptStack([Message("user", (TextMessageContent("q"),))], tools=[TOOL])
    asked = llmneutral.convert(stack, api, model="m", use_native_tools=False)
    response = llmneutral.normalize(whole([("text", text)]), api, names=asked)
    stack.messages.append(response.message)
    stack.add_user_message("go on")
    again = llmneutral.convert(stack, api, model="m", use_native_tools=False)
    if not response.message.content:
        return
    said = [block.to_text() for message in reread(again) if message.is_assistant() for block in message.content]
    back = llmneutral.normalize(whole([("text", said[0])]), api, names=asked)
    assert [call.raw for call in back.invalid_tool_calls] == [call.raw for call in response.invalid_tool_calls]
    assert [(x.tag, x.name, x.input) for x in back.tool_calls] == [
        (x.tag, x.name, scrubbed(x.input)) for x in response.tool_calls
    ]
    assert back.text.strip() == response.text.strip()


def reread(made: Conversion) -> list[Message]:
    return llmneutral.read_request(made.to_json(), made.api).messages


def scrubbed(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").replace(b"?", "�".encode()))
