"""The list of facts is complete, documented, and takes no wrong value."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from llmneutral.errors import ConfigurationError
from llmneutral.profiles import FACT_NAMES, Profile, checked_facts, profile

RULEBOOK = """
context_window max_output max_stop tool_name_max alternate_roles leading_user prefill assistant_required_after_tool
mid_conversation_system system_first_only developer_role string_content_only null_content_ok sampling
one_of_temperature_top_p rejects max_tokens_field stream_usage reasoning thinking thinking_off thinking_requires_stream
effort_levels effort_default reasoning_content reasoning_field reasoning_replay reads_reasoning_from
reasoning_prefix_bound requires_thought_signature thinking_required_on_tool_calls same_model_as_history inline_think
tools tool_choice_required tool_choice_named tool_choice_none json_grammar forced_tool_choice forced_with_thinking
chat_tools tool_id function_call_ids tool_result_parts tool_result_json content_with_calls strict_tools
reserved_tool_names parameters_json_schema schema numeric_enum native_json_schema json_object json_with_tools vision
audio_in documents image_types image_url fetch_allowed cache cache_ttls cache_min_tokens auth_header api_version
reference_price usage_reasoning_outside bedrock_reasoning_field send_item_ids
""".split()
"""The names that callers, cases and notebooks rely on."""

DEFAULTS: dict[str, Any] = {
    "context_window": None,
    "alternate_roles": False,
    "prefill": None,
    "assistant_required_after_tool": False,
    "mid_conversation_system": False,
    "system_first_only": False,
    "developer_role": False,
    "string_content_only": False,
    "null_content_ok": True,
    "sampling": True,
    "one_of_temperature_top_p": False,
    "rejects": (),
    "stream_usage": True,
    "reasoning": False,
    "thinking": "none",
    "thinking_off": "omit",
    "effort_levels": (),
    "effort_default": None,
    "reasoning_content": "absent",
    "reasoning_field": "reasoning_content",
    "same_model_as_history": None,
    "tools": True,
    "tool_choice_required": True,
    "json_grammar": None,
    "forced_tool_choice": True,
    "forced_with_thinking": True,
    "chat_tools": "always",
    "tool_id": None,
    "content_with_calls": True,
    "schema": "json_schema",
    "numeric_enum": True,
    "native_json_schema": False,
    "json_with_tools": True,
    "vision": None,
    "fetch_allowed": False,
    "cache": "none",
    "cache_ttls": ("5m",),
    "reference_price": None,
}


def test_every_promised_fact_is_there() -> None:
    assert set(RULEBOOK) - {*FACT_NAMES} == set()


def test_the_defaults_are_the_documented_ones() -> None:
    assert {name: getattr(Profile(), name) for name in DEFAULTS} == DEFAULTS


def test_every_fact_is_documented_and_nothing_else() -> None:
    told = re.findall(r"^        (\w+): ", Profile.__doc__ or "", re.MULTILINE)
    assert set(told) == {*FACT_NAMES, "layers"}
    assert told[-1] == "layers"


def test_a_profile_is_a_value() -> None:
    first, second = profile("chat_completions", model="m"), profile("chat_completions", model="m")
    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(AttributeError):
        first.prefill = True  # type: ignore[misc]
    assert msgspec.json.decode(msgspec.json.encode(first), type=Profile) == first


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"prefill": False}, {"prefill": False}),
        ({"prefill": None}, {"prefill": None}),
        ({"rejects": ["temperature"]}, {"rejects": ("temperature",)}),
        ({"effort_levels": []}, {"effort_levels": ()}),
        ({"budget_range": [1, 2]}, {"budget_range": (1, 2)}),
        ({"reference_price": {"input": 3, "output": 15.5}}, {"reference_price": (("input", 3.0), ("output", 15.5))}),
        ({"reference_price": [["input", 3]]}, {"reference_price": (("input", 3.0),)}),
        ({}, {}),
    ],
)
def test_values_come_in_the_facts_own_types(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    assert checked_facts(facts) == expected


@pytest.mark.parametrize(
    ("facts", "mentions"),
    [
        ({"prefil": False}, ["prefil", "prefill"]),
        ({"zzz": 1}, ["zzz", "Known facts", "native_json_schema"]),
        ({"layers": ()}, ["layers"]),
        ({"prefill": "yes"}, ["prefill", "'yes'", "True or False or None"]),
        ({"sampling": 1}, ["sampling", "True or False"]),
        ({"sampling": None}, ["sampling"]),
        ({"thinking": "maybe"}, ["thinking", "maybe", "adaptive", "budget"]),
        ({"effort_levels": ["low", "huge"]}, ["effort_levels", "huge", "xhigh"]),
        ({"max_output": "many"}, ["max_output", "a whole number or None"]),
        ({"tool_id": 9}, ["tool_id", "a text or None"]),
        ({"budget_range": [1]}, ["budget_range", "[a whole number, a whole number]"]),
        ({"reference_price": {"input": "x"}}, ["reference_price"]),
    ],
)
def test_wrong_facts_are_refused(facts: dict[str, Any], mentions: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        profile("chat_completions", facts=facts)
    assert isinstance(caught.value, ValueError)
    assert [word for word in mentions if word not in str(caught.value)] == []
