"""Laws of what is written, over every transport: UTF-8 and JSON, whatever stands in messages, tools and settings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    Conversion,
    ConversionError,
    InvalidActionCallMessageContent,
    Message,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports import registered

over_apis = pytest.mark.parametrize("api", registered())
odd = st.sampled_from(["a", "größe", "\ud83d", "x\udc00y", "\ud83d\ude00", "\udead\ud83d", "\u2028", "\x00", '"\\'])
numbers = st.sampled_from([1, 2.5, 10**25, float("nan"), float("inf"), -float("inf"), True, None])
data = st.recursive(
    odd | numbers, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd, inner, max_size=3), max_leaves=6
)
arguments = st.dictionaries(odd, data, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Texts, reasoning, a call and its result, each with something odd in it."""
    call = draw(
        st.one_of(
            st.builds(ActionCallMessageContent, st.just("c"), odd, input=arguments),
            st.builds(ActionCallMessageContent, st.just("c"), odd, input=st.none(), arguments=odd),
            st.builds(InvalidActionCallMessageContent, st.just("c"), odd, raw=odd),
        )
    )
    said: list[Any] = [TextMessageContent(draw(odd)), ThinkingMessageContent(draw(odd), signature="s"), call]
    return [
        Message("system", (TextMessageContent(draw(odd)),)),
        Message("user", (TextMessageContent(draw(odd)),), draw(st.none() | odd)),
        Message("assistant", tuple(said)),
        Message("user", (ActionResultMessageContent("c", draw(data), is_error=draw(st.booleans())),)),
    ]


@st.composite
def tools(draw: st.DrawFn) -> list[ToolDefinition]:
    names = draw(st.lists(odd, max_size=2, unique=True))
    schema = {"type": "object", "properties": {draw(odd): {"type": "string", "description": draw(odd)}}}
    return [ToolDefinition(name, description=draw(odd), parameters=schema) for name in names]


@over_apis
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(conversations(), tools(), st.booleans(), odd)
def test_the_body_can_be_written(
    api: str, stack: list[Message], offered: list[ToolDefinition], trace: bool, word: str
) -> None:
    asked: dict[str, Any] = {"stop": [word], "metadata": {"user_id": word}, "safety_identifier": word}
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": word}}}
    try:
        found = llmneutral.convert(
            stack, api, tools=offered, max_tokens=100, trace=trace, temperature=0.5, output_schema=schema, **asked
        )
    except ConversionError as error:
        str(error).encode()
        return
    assert isinstance(found, Conversion)
    json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False).encode()
    for change in found.changes:
        change.why.encode()


@over_apis
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(conversations())
def test_what_had_to_be_replaced_is_told(api: str, stack: list[Message]) -> None:
    try:
        found = llmneutral.convert(stack, api, max_tokens=100)
    except ConversionError:
        return
    assert isinstance(found, Conversion)
    written = json.dumps(found.to_json(), ensure_ascii=False)
    if "\ufffd" in written:
        assert any(change.kind in ("coerced", "renamed") for change in found.changes)
    if "NaN" in written or "Infinity" in written:
        assert any(change.kind == "coerced" for change in found.changes)
