"""Settings as keyword arguments of Mistral's client."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Conversion, convert

TOOL = {"type": "function", "function": {"name": "f"}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def made(source: Any = "q", **settings: Any) -> Conversion:
    return convert(source, "mistral_chat", **{"model": "mistral-large-latest", **settings})


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.kind, change.why.partition(":")[0]) for change in conversion.changes]


def test_the_settings_this_api_has() -> None:
    found = made(
        temperature=0.3, top_p=0.9, top_k=40, max_tokens=9, stop="X", seed=7, presence_penalty=0.1, logprobs=True,
        frequency_penalty=0.2, top_logprobs=2, metadata={"a": "b"}, service_tier="auto", prompt_cache_key="k" * 90,
        parallel_tool_calls=False, tools=[TOOL],
    )  # fmt: skip
    del found.payload["tools"], found.payload["messages"], found.payload["model"]
    assert found.payload == {
        "temperature": 0.3, "top_p": 0.9, "top_k": 40, "max_tokens": 9, "stop": ["X"], "random_seed": 7,
        "presence_penalty": 0.1, "logprobs": True, "frequency_penalty": 0.2, "top_logprobs": 2,
        "metadata": {"a": "b"}, "service_tier": "auto", "prompt_cache_key": "k" * 90, "parallel_tool_calls": False,
    }  # fmt: skip
    assert found.changes == ()


def test_the_settings_it_has_not() -> None:
    found = made(logit_bias={"1": 2}, thinking_budget=5, verbosity="low", store=True, safety_identifier="u")
    assert found.payload.keys() == {"model", "messages"}
    assert sorted(told(found)) == [
        ("dropped", name) for name in ("logit_bias", "safety_identifier", "store", "thinking_budget", "verbosity")
    ]


def test_streaming_is_said_by_the_method() -> None:
    found = made(stream=True)
    assert found.payload.keys() == {"model", "messages"}
    assert found.changes == ()


@pytest.mark.parametrize(
    ("setting", "value", "sent"), [("temperature", 2, 1.5), ("top_p", 1.2, 1), ("presence_penalty", -3, -2)]
)
def test_numbers_out_of_range_are_clamped(setting: str, value: Any, sent: Any) -> None:
    found = made(**{setting: value})
    assert found.payload[setting] == sent
    assert told(found) == [("coerced", setting)]


def test_facts_of_the_model() -> None:
    found = made(
        max_tokens=99, top_k=5, stop=["a", "b"], facts={"max_output": 50, "top_k": False, "max_stop": 1},
    )  # fmt: skip
    assert (found.payload["max_tokens"], found.payload["stop"]) == (50, ["a"])
    assert "top_k" not in found.payload
    assert told(found) == [("coerced", "max_tokens"), ("dropped", "top_k"), ("dropped", "stop")]
    assert "stop" not in made(stop=[]).payload


def test_a_tier_nobody_knows_is_not_sent() -> None:
    found = made(service_tier="flex")
    assert "service_tier" not in found.payload
    assert told(found) == [("dropped", "service_tier")]


# --- reasoning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "effort", "sent", "kinds"),
    [
        ("mistral-small-latest", "high", "high", []),
        ("mistral-small-latest", "none", "none", []),
        ("mistral-small-latest", "medium", "high", ["coerced"]),
        ("mistral-large-latest", "high", None, ["dropped"]),
        ("magistral-medium-latest", "high", None, ["dropped"]),
        ("magistral-medium-latest", "none", None, ["dropped"]),
        ("a-model-of-tomorrow", "low", "low", []),
    ],
)
def test_an_effort_passes_on_models_that_list_it(model: str, effort: str, sent: str | None, kinds: list[str]) -> None:
    found = made(model=model, reasoning_effort=effort)
    assert found.payload.get("reasoning_effort") == sent
    assert [change.kind for change in found.changes] == kinds


def test_the_reasoning_prompt_only_where_it_is_asked() -> None:
    assert "prompt_mode" not in made(model="magistral-medium-latest").payload
    assert made(extra_body={"prompt_mode": "reasoning"}).payload["prompt_mode"] == "reasoning"


# --- the form of the answer ---------------------------------------------------------------------


def test_an_output_schema() -> None:
    found = made(output_schema={"title": "Pair", **SCHEMA})
    asked = found.payload["response_format"]
    assert asked["type"] == "json_schema"
    assert (asked["json_schema"]["name"], asked["json_schema"]["strict"]) == ("Pair", True)
    assert asked["json_schema"]["schema"]["required"] == ["a"]


def test_a_response_format_goes_out_as_it_came() -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    assert made(response_format=asked).payload["response_format"] == asked
    nameless = made(response_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}})
    assert nameless.payload["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA}
    assert told(nameless) == [("added", "response_format")]


def test_json_mode_needs_the_word_in_a_message() -> None:
    found = made(response_format={"type": "json_object"})
    assert found.payload["messages"][0] == {"role": "system", "content": "Answer in JSON."}
    assert made("As JSON.", response_format={"type": "json_object"}).changes == ()


def test_what_a_model_does_not_enforce() -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    weak = made(response_format=asked, facts={"native_json_schema": False})
    assert weak.payload["response_format"] == {"type": "json_object"}
    assert "additionalProperties" in weak.payload["messages"][0]["content"]
    none = made(response_format={"type": "json_object"}, facts={"json_object": False})
    assert "response_format" not in none.payload
    both = made(response_format={"type": "json_object"}, output_schema=SCHEMA)
    assert both.payload["response_format"]["type"] == "json_schema"
    assert told(both) == [("dropped", "response_format")]
