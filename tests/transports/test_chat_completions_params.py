"""Settings as keys of Chat Completions, and the dials of its imitators."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, convert
from llmneutral.transports.chat_completions.params import DIALS

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def made(**settings: Any) -> Conversion:
    return convert("q", "chat_completions", **{"model": "gpt-4.1", **settings})


def keys(**settings: Any) -> dict[str, Any]:
    """What a setting makes of a request beyond model and messages."""
    return {key: value for key, value in made(**settings).to_json().items() if key not in ("model", "messages")}


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.kind, change.why.partition(":")[0]) for change in conversion.changes]


# --- plain settings -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, {}),
        ({"temperature": 0}, {"temperature": 0}),
        ({"top_p": 0.5, "seed": 7}, {"top_p": 0.5, "seed": 7}),
        ({"stop": "END"}, {"stop": ["END"]}),
        ({"stop": []}, {}),
        ({"presence_penalty": 1, "frequency_penalty": -1}, {"presence_penalty": 1, "frequency_penalty": -1}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}),
        ({"logit_bias": {"1": 5}}, {"logit_bias": {"1": 5}}),
        ({"verbosity": "low", "metadata": {"k": "v"}}, {"verbosity": "low", "metadata": {"k": "v"}}),
        ({"modalities": ["text"], "audio": {"voice": "alloy", "format": "wav"}},
         {"modalities": ["text"], "audio": {"voice": "alloy", "format": "wav"}}),
        ({"modalities": ["image"], "provider": "openrouter"}, {"modalities": ["image"]}),
        ({"store": False, "service_tier": "flex", "safety_identifier": "u"},
         {"store": False, "service_tier": "flex", "safety_identifier": "u"}),
        ({"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}),
        ({"n": 1}, {}),
        ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}),
        ({"stream": True, "facts": {"stream_usage": False}}, {"stream": True}),
        ({"stream": False}, {"stream": False}),
        ({"extra_body": {"x": 1, "temperature": 2}, "temperature": 1}, {"x": 1, "temperature": 2}),
    ],
)  # fmt: skip
def test_a_setting_has_its_key(settings: dict[str, Any], sent: dict[str, Any]) -> None:
    assert keys(**settings) == sent
    assert made(**settings).changes == ()


@pytest.mark.parametrize(
    ("settings", "sent", "kind"),
    [
        ({"temperature": 3}, {"temperature": 2}, "coerced"),
        ({"top_logprobs": 50}, {"top_logprobs": 20}, "coerced"),
        ({"stop": list("abcde")}, {"stop": list("abcd")}, "dropped"),
        ({"top_k": 5}, {}, "dropped"),
        ({"parallel_tool_calls": False}, {}, "dropped"),
        ({"thinking_budget": 5}, {}, "dropped"),
        ({"truncation": "auto"}, {}, "dropped"),
        ({"service_tier": "on_demand"}, {}, "dropped"),
        ({"modalities": ["text", "image"]}, {"modalities": ["text"]}, "dropped"),
        ({"modalities": "image"}, {}, "dropped"),
        ({"reasoning_effort": "high"}, {}, "dropped"),  # gpt-4.1 takes none
        ({"max_tokens": 100_000}, {"max_completion_tokens": 32_768}, "coerced"),
        ({"store": True, "provider": "groq"}, {}, "dropped"),
        ({"prompt_cache_key": "k", "provider": "groq"}, {}, "dropped"),
    ],
)  # fmt: skip
def test_a_setting_that_is_not_taken_is_told_by_name(settings: dict[str, Any], sent: dict[str, Any], kind: str) -> None:
    assert keys(**settings) == sent
    name = next(name for name in settings if name != "provider")
    assert told(made(**settings)) == [(kind, name)]


def test_a_long_cache_key_goes_as_its_hash() -> None:
    sent = keys(prompt_cache_key="k" * 100)["prompt_cache_key"]
    assert len(sent) == 64
    assert sent != "k" * 64
    assert sent == keys(prompt_cache_key="k" * 100)["prompt_cache_key"]


@pytest.mark.parametrize(("name", "value"), [("max_tokens", 0), ("max_tokens", True), ("n", 2), ("temperature", "hot")])
def test_a_wrong_value_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConversionError, match=name):
        made(**{name: value})


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ({"model": "gpt-4.1"}, "max_completion_tokens"),
        ({"provider": "azure", "model": "my-deployment"}, "max_completion_tokens"),
        ({"provider": "moonshot", "model": "kimi-k2"}, "max_completion_tokens"),
        ({"base_url": "https://llm.acme.test/v1", "model": "o3-mini"}, "max_completion_tokens"),
        ({"base_url": "https://llm.acme.test/v1", "model": "llama"}, "max_tokens"),
        ({"provider": "deepseek", "model": "deepseek-chat"}, "max_tokens"),
    ],
)
def test_the_limit_has_one_name(target: dict[str, Any], key: str) -> None:
    sent = keys(max_tokens=50, **target)
    assert sent.get(key) == 50
    assert len({"max_tokens", "max_completion_tokens"} & set(sent)) == 1


def test_sampling_is_dropped_while_a_model_reasons() -> None:
    dropped = made(model="o3", temperature=0, top_p=0.9, stop=["END"])
    assert dropped.to_json().keys() == {"model", "messages"}
    assert told(dropped) == [("dropped", "temperature"), ("dropped", "top_p"), ("dropped", "stop")]
    assert keys(model="gpt-5.2", temperature=0) == {"temperature": 0}
    assert keys(model="gpt-5.2", temperature=0, reasoning_effort="high") == {"reasoning_effort": "high"}


# --- dials --------------------------------------------------------------------------------------

DIAL_ROWS = [
    ("openai", "high", {"reasoning_effort": "high"}),
    ("openai", "none", {"reasoning_effort": "none"}),
    ("ollama", "none", {"reasoning_effort": "none"}),
    ("deepseek", "medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "medium"}),
    ("deepseek", "none", {"thinking": {"type": "disabled"}}),
    ("kimi", "high", {"thinking": {"type": "enabled"}}),
    ("kimi", "none", {"thinking": {"type": "disabled"}}),
    ("qwen", "high", {"enable_thinking": True}),
    ("qwen", "none", {"enable_thinking": False}),
    ("glm", "low", {"thinking": {"type": "enabled"}}),
    ("glm", "none", {"thinking": {"type": "disabled"}}),
    ("minimax", "high", {"thinking": {"type": "adaptive"}, "reasoning_split": True}),
    ("minimax", "none", {"thinking": {"type": "disabled"}}),
    ("openrouter", "low", {"reasoning": {"effort": "low"}}),
    ("openrouter", "none", {"reasoning": {"enabled": False}}),
    ("gemini", "low", {"reasoning_effort": "low"}),
    ("gemini", "none", {}),
    ("vllm", "high", {"chat_template_kwargs": {"enable_thinking": True}}),
    ("vllm", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("none", "high", {}),
    ("none", "none", {}),
]


@pytest.mark.parametrize(("dial", "effort", "sent"), DIAL_ROWS)
def test_an_effort_is_spelled_by_the_dial(dial: str, effort: str, sent: dict[str, Any]) -> None:
    target = {"base_url": "https://llm.acme.test/v1", "model": "m", "facts": {"reasoning_dial": dial}}
    conversion = made(reasoning_effort=effort, **target)
    found = {key: value for key, value in conversion.to_json().items() if key not in ("model", "messages")}
    assert found == sent
    assert keys(**target) == {}  # nothing asked, nothing sent
    if not sent:
        assert told(conversion) == [("dropped", "reasoning_effort")]


def test_every_dial_is_tested() -> None:
    assert {row[0] for row in DIAL_ROWS} | {"kimi_effort"} == set(DIALS)


def test_keys_of_imitators_stand_where_the_sdk_takes_them() -> None:
    payload = made(provider="zai", model="glm-4.6", reasoning_effort="high").payload
    assert payload["extra_body"] == {"thinking": {"type": "enabled"}}
    assert "thinking" not in payload


def test_a_level_that_a_model_lacks_is_the_nearest() -> None:
    assert keys(model="o3", reasoning_effort="max") == {"reasoning_effort": "high"}
    assert keys(model="o3", reasoning_effort="none") == {"reasoning_effort": "low"}
    kimi = made(provider="moonshot", model="kimi-k3", reasoning_effort="none")
    assert kimi.payload["reasoning_effort"] == "low"
    assert told(kimi) == [("coerced", "reasoning_effort")]


def test_the_switch_of_a_template_has_the_name_of_the_model() -> None:
    sent = keys(provider="vllm", model="deepseek-v3.1", reasoning_effort="high")
    assert sent == {"chat_template_kwargs": {"thinking": True}}


def test_a_model_that_thinks_only_while_it_streams_is_told_not_to() -> None:
    target = {"provider": "dashscope", "model": "qwen3-max"}
    whole = made(**target, reasoning_effort="high")
    assert whole.to_json()["enable_thinking"] is False
    assert ("coerced", "reasoning_effort") in told(whole)
    assert keys(**target)["enable_thinking"] is False
    assert keys(**target, reasoning_effort="high", stream=True)["enable_thinking"] is True
    assert "enable_thinking" not in keys(**target, stream=True)


@pytest.mark.parametrize(
    ("dial", "settings", "sent"),
    [
        ("qwen", {"thinking_budget": 100}, {"enable_thinking": True, "thinking_budget": 100}),
        ("qwen", {"thinking_budget": 0}, {"enable_thinking": False}),
        ("qwen", {"thinking_budget": 9, "reasoning_effort": "none"}, {"enable_thinking": False}),
        ("openrouter", {"thinking_budget": 100}, {"reasoning": {"max_tokens": 100}}),
        ("openrouter", {"thinking_budget": 100, "reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
    ],
)
def test_a_budget_goes_where_it_can_be_told(dial: str, settings: Any, sent: Any) -> None:
    target = {"base_url": "https://llm.acme.test/v1", "model": "m", "facts": {"reasoning_dial": dial}}
    assert keys(**settings, **target) == sent


# --- the form of the answer ---------------------------------------------------------------------


def test_an_output_schema_is_enforced_by_the_own_field() -> None:
    schema = {**SCHEMA, "title": "My Answer!"}
    conversion = made(output_schema=schema)
    asked = conversion.payload["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["strict"] is True
    assert asked["json_schema"]["schema"]["additionalProperties"] is False
    assert set(asked["json_schema"]["name"]) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def test_a_schema_that_cannot_be_strict_goes_without() -> None:
    conversion = made(output_schema={"type": "object", "additionalProperties": {"type": "string"}})
    assert "strict" not in conversion.payload["response_format"]["json_schema"]
    assert ("coerced", "the output schema") in told(conversion)


def test_a_small_server_enforces_a_schema_by_a_grammar() -> None:
    facts = {"json_grammar": "llguidance", "native_json_schema": True}
    target = {"provider": "local", "model": "m", "facts": facts}
    sent = keys(output_schema=SCHEMA, **target)
    assert sent.keys() == {"grammar"}
    assert sent["grammar"].startswith("%llguidance {}\nstart: %json {")
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    assert keys(response_format=wanted, **target).keys() == {"grammar"}


def test_a_response_format_goes_as_it_came() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    assert keys(response_format=wanted) == {"response_format": wanted}
    assert keys(response_format={"type": "text"}) == {"response_format": {"type": "text"}}
    assert keys(response_format={"type": "json_object"}, provider="perplexity", model="sonar") == {}


def test_openai_wants_a_name_for_a_schema() -> None:
    conversion = made(response_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}})
    assert conversion.payload["response_format"]["json_schema"]["name"] == "answer"
    assert told(conversion) == [("added", "response_format")]


def test_parallel_calls_are_told_beside_tools() -> None:
    assert made(tools=[TOOL], parallel_tool_calls=False).payload["parallel_tool_calls"] is False
