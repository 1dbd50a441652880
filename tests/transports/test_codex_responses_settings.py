"""Tools, settings and routes."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ConversionError

F = {"type": "function", "function": {"name": "f", "description": "does f"}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
OPEN_MAP = {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}}
SEARCH = {"type": "web_search", "search_context_size": "low"}


def convert(source: Any = "q", **settings: Any) -> Any:
    settings.setdefault("model", "gpt-5.4")
    return ln.convert(source, "codex_responses", **settings)


def payload(**settings: Any) -> Any:
    return convert(**settings).payload


def told(conversion: Any) -> list[tuple[str, str]]:
    return [(change.kind, change.why.partition(":")[0]) for change in conversion.changes]


# --- tools --------------------------------------------------------------------------------------


def test_a_function_is_flat_and_has_parameters_and_strict() -> None:
    assert payload(tools=[F])["tools"] == [
        {
            "type": "function",
            "name": "f",
            "description": "does f",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


def test_strict_is_sent_where_it_was_asked_and_can_be() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}
    assert payload(tools=[tool])["tools"][0] == {"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}
    made = convert(tools=[{"type": "function", "function": {"name": "f", "parameters": OPEN_MAP, "strict": True}}])
    assert made.payload["tools"][0]["strict"] is False
    assert made.payload["tools"][0]["parameters"]["properties"] == OPEN_MAP["properties"]
    assert [change.kind for change in made.changes] == ["coerced"]
    off = convert(tools=[tool], facts={"strict_tools": False})
    assert off.payload["tools"][0]["strict"] is False


def test_further_keys_of_a_function_and_own_tools_pass() -> None:
    flat = {"type": "function", "name": "f", "parameters": SCHEMA, "strict": False, "defer_loading": True}
    assert payload(tools=[flat, SEARCH])["tools"] == [flat, SEARCH]


def test_two_servers_of_one_kind_are_two_tools() -> None:
    servers = [{"type": "mcp", "server_label": name, "server_url": f"https://{name}.example"} for name in ("a", "b")]
    assert payload(tools=servers)["tools"] == servers


def test_tools_of_another_api_are_dropped_where_openai_answers() -> None:
    foreign = {"type": "web_search_20250305", "name": "web_search"}
    made = convert(tools=[F, foreign])
    assert [tool["type"] for tool in made.payload["tools"]] == ["function"]
    assert [(change.step, change.kind) for change in made.changes] == [("own_tools", "dropped")]
    elsewhere = convert(model="grok-4.3", base_url="https://api.x.ai/v1", tools=[{"type": "x_search"}])
    assert elsewhere.payload["tools"] == [{"type": "x_search"}]


def test_a_function_in_the_form_of_another_api_is_a_function() -> None:
    native = {"name": "a.b", "input_schema": SCHEMA, "eager_input_streaming": True}
    made = convert(tools=[ln.ToolDefinition("a.b", parameters=SCHEMA, native=native)])
    assert made.payload["tools"] == [{"type": "function", "name": "a_b", "parameters": SCHEMA, "strict": False}]
    assert [change.kind for change in made.changes] == ["renamed", "rewritten"]


def test_a_custom_tool_in_the_form_of_chat_is_flat_here() -> None:
    grammar = {"syntax": "regex", "definition": "a+"}
    nested = {"name": "note", "description": "d", "format": {"type": "grammar", "grammar": grammar}}
    made = convert(tools=[{"type": "custom", "custom": nested}])
    flat = {"type": "custom", "name": "note", "description": "d", "format": {"type": "grammar", **grammar}}
    assert made.payload["tools"] == [flat]
    plain = convert(tools=[{"type": "custom", "custom": {"name": "note", "format": {"type": "text"}}}])
    assert plain.payload["tools"] == [{"type": "custom", "name": "note", "format": {"type": "text"}}]


def test_keys_of_a_function_that_nobody_knows_here_are_dropped() -> None:
    made = convert(tools=[{**F, "cache_control": {"type": "ephemeral"}}])
    assert "cache_control" not in made.payload["tools"][0]
    assert told(made) == [("dropped", "the tool 'f'")]


@pytest.mark.parametrize(
    "settings", [{"service_tier": "on_demand"}, {"response_format": {"type": "grammar"}}], ids=["tier", "format"]
)
def test_values_that_openai_does_not_know_are_dropped_there(settings: Any) -> None:
    made = convert(**settings)
    assert told(made) == [("dropped", *settings)]
    assert convert(base_url="http://localhost:8000/v1", **settings).changes == ()


def test_names_are_made_fit_and_found_again() -> None:
    made = convert(tools=[{"type": "function", "function": {"name": "a.b"}}], tool_choice="a.b")
    assert made.payload["tools"][0]["name"] == "a_b"
    assert made.payload["tool_choice"] == {"type": "function", "name": "a_b"}
    answer = {"output": [{"type": "function_call", "call_id": "c", "name": "a_b", "arguments": "{}"}]}
    assert ln.normalize(answer, "codex_responses", names=made).tool_calls[0].name == "a.b"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "name": "f"}),
        ("web_search", {"type": "web_search"}),
        ("note", {"type": "custom", "name": "note"}),
        ("mcp", {"type": "mcp", "server_label": "docs"}),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        ),
    ],
)
def test_tool_choice(choice: Any, sent: Any) -> None:
    tools = [F, SEARCH, {"type": "custom", "name": "note"}, {"type": "mcp", "server_label": "docs"}]
    assert payload(tools=tools, tool_choice=choice)["tool_choice"] == sent


def test_without_tools_none_of_the_three_keys() -> None:
    made = convert(tool_choice="auto", parallel_tool_calls=True, tools=[])
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(made.payload)
    assert told(made) == [("dropped", "parallel_tool_calls")]
    with pytest.raises(ConversionError, match="needs tools"):
        convert(tool_choice="required")


def test_parallel_calls_may_be_forbidden() -> None:
    assert payload(tools=[F], parallel_tool_calls=False)["parallel_tool_calls"] is False


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"max_tokens": 99}, {"max_output_tokens": 99}),
        ({"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        ({"verbosity": "low"}, {"text": {"verbosity": "low"}}),
        ({"store": True}, {"store": True}),
        ({"stream": True}, {"stream": True}),
        ({"service_tier": "flex"}, {"service_tier": "flex"}),
        ({"metadata": {"a": "b"}}, {"metadata": {"a": "b"}}),
        ({"safety_identifier": "u"}, {"safety_identifier": "u"}),
        ({"truncation": "auto"}, {"truncation": "auto"}),
        ({"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}),
        ({"top_logprobs": 2, "logprobs": True}, {"top_logprobs": 2, "include": ["message.output_text.logprobs"]}),
        ({"logprobs": False}, {}),
    ],
)
def test_settings_and_their_keys(settings: Any, sent: Any) -> None:
    made = convert(model="gpt-4.1", **settings)
    assert made.changes == ()
    kept = {key: value for key, value in made.payload.items() if key not in ("model", "input")}
    assert kept == {"store": False, **sent}


@pytest.mark.parametrize(
    ("settings", "key", "value", "about"),
    [
        ({"max_tokens": 5}, "max_output_tokens", 16, "max_tokens"),
        ({"temperature": 3}, "temperature", 2, "temperature"),
        ({"top_logprobs": 30}, "top_logprobs", 20, "top_logprobs"),
    ],
)
def test_numbers_out_of_range_are_clamped(settings: Any, key: str, value: Any, about: str) -> None:
    made = convert(model="gpt-4.1", **settings)
    assert made.payload[key] == value
    assert told(made) == [("coerced", about)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stop", "x"),
        ("seed", 1),
        ("presence_penalty", 1),
        ("frequency_penalty", 1),
        ("top_k", 5),
        ("thinking_budget", 9),
    ],
)
def test_what_does_not_exist_here_is_dropped(name: str, value: Any) -> None:
    made = convert(model="gpt-4.1", **{name: value})
    assert told(made) == [("dropped", name)]
    assert set(made.payload) == {"model", "input", "store"}


def test_a_long_cache_key_goes_as_its_digest() -> None:
    made = convert(prompt_cache_key="k" * 65)
    assert len(made.payload["prompt_cache_key"]) == 64
    assert told(made) == [("coerced", "prompt_cache_key")]
    assert payload(prompt_cache_key="k" * 64)["prompt_cache_key"] == "k" * 64


# --- reasoning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "settings", "reasoning"),
    [
        ("gpt-5.4", {}, None),
        ("gpt-5.4", {"reasoning_effort": "high"}, {"effort": "high", "summary": "auto"}),
        (
            "gpt-5.4",
            {"reasoning_effort": "high", "reasoning_summary": "detailed"},
            {"effort": "high", "summary": "detailed"},
        ),
        ("gpt-5.4", {"reasoning_effort": "high", "reasoning_summary": "none"}, {"effort": "high"}),
        ("gpt-5.4", {"reasoning_summary": "concise"}, {"summary": "concise"}),
        ("gpt-5.4", {"reasoning_effort": "none"}, {"effort": "none"}),
        ("a-model-nobody-knows", {"reasoning_effort": "minimal"}, {"effort": "minimal", "summary": "auto"}),
    ],
)
def test_effort_and_summary(model: str, settings: Any, reasoning: Any) -> None:
    made = convert(model=model, **settings)
    assert made.payload.get("reasoning") == reasoning
    assert made.changes == ()


@pytest.mark.parametrize(
    ("model", "asked", "sent"), [("gpt-5", "none", "minimal"), ("gpt-6-astra", "none", "low"), ("o3", "max", "high")]
)
def test_an_effort_the_model_has_not_is_the_nearest(model: str, asked: str, sent: str) -> None:
    made = convert(model=model, reasoning_effort=asked)
    assert made.payload["reasoning"]["effort"] == sent
    assert told(made) == [("coerced", "reasoning_effort")]


@pytest.mark.parametrize("settings", [{"reasoning_effort": "high"}, {"reasoning_summary": "auto"}])
def test_models_that_do_not_reason_get_neither_reasoning_nor_include(settings: Any) -> None:
    made = convert(model="gpt-4.1", **settings)
    assert set(made.payload) == {"model", "input", "store"}
    assert told(made) == [("dropped", *settings)]


def test_a_summary_is_dropped_where_reasoning_is_off() -> None:
    made = convert(reasoning_effort="none", reasoning_summary="auto")
    assert made.payload["reasoning"] == {"effort": "none"}
    assert told(made) == [("dropped", "reasoning_summary")]


@pytest.mark.parametrize(
    ("model", "settings", "include"),
    [
        ("gpt-5.4", {}, ["reasoning.encrypted_content"]),
        ("gpt-5.4", {"reasoning_effort": "none"}, None),
        ("gpt-4.1", {}, None),
        ("a-model-nobody-knows", {}, None),
        ("a-model-nobody-knows", {"reasoning_effort": "low"}, ["reasoning.encrypted_content"]),
        ("gpt-5.4", {"replay_reasoning": False}, None),
        ("gpt-5.4", {"facts": {"encrypted_reasoning": False}}, None),
        ("gpt-5.4", {"logprobs": True}, ["reasoning.encrypted_content", "message.output_text.logprobs"]),
    ],
)
def test_encrypted_reasoning_is_asked_for(model: str, settings: Any, include: Any) -> None:
    assert payload(model=model, **settings).get("include") == include


@pytest.mark.parametrize("effort", ["low", "none"])
def test_sampling_is_dropped_while_the_model_thinks(effort: str) -> None:
    asked: dict[str, Any] = {"temperature": 1.0, "top_p": 0.5, "top_logprobs": 1, "logprobs": True}
    made = convert(reasoning_effort=effort, **asked)
    if effort == "none":
        assert made.changes == ()
        assert made.payload["temperature"] == 1.0
    else:
        assert told(made) == [("dropped", name) for name in asked]
        assert made.payload["include"] == ["reasoning.encrypted_content"]


# --- structured output --------------------------------------------------------------------------


def test_an_output_schema_is_enforced() -> None:
    made = convert(output_schema={"title": "Point", **SCHEMA}, verbosity="low", tools=[F])
    form = made.payload["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "Point", True)
    assert form["schema"]["required"] == ["a"]
    assert made.payload["text"]["verbosity"] == "low"


def test_a_root_that_is_no_object_is_wrapped() -> None:
    made = convert(output_schema={"type": "array", "items": {"type": "integer"}})
    assert made.payload["text"]["format"]["schema"]["required"] == ["value"]


def test_an_output_schema_that_cannot_be_enforced_is_asked_for() -> None:
    made = convert(output_schema=OPEN_MAP)
    assert made.payload["text"]["format"]["strict"] is False
    assert "coerced" in [change.kind for change in made.changes]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"type": "json_object"}, {"type": "json_object"}),
        ({"type": "text"}, {"type": "text"}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}},
            {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True},
        ),
    ],
)
def test_response_format_is_flat_here(given: Any, sent: Any) -> None:
    assert payload(response_format=given)["text"]["format"] == sent


def test_an_output_schema_wins_over_response_format() -> None:
    made = convert(output_schema=SCHEMA, response_format={"type": "json_object"})
    assert made.payload["text"]["format"]["type"] == "json_schema"
    assert told(made) == [("dropped", "response_format")]


# --- routes -------------------------------------------------------------------------------------


def test_the_codex_backend() -> None:
    made = convert(
        base_url="https://chatgpt.com/backend-api/codex",
        max_tokens=99,
        store=True,
        prompt_cache_key="k",
    )
    assert made.payload["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}
    ]
    assert made.payload["instructions"] == "(empty)"
    assert made.payload["store"] is False
    assert "max_output_tokens" not in made.payload
    assert made.headers == {"session_id": "k", "x-client-request-id": "k"}
    assert sorted(told(made)) == [
        ("added", "this endpoint demands instructions, and there are none"),
        ("coerced", "store"),
        ("dropped", "max_tokens"),
    ]


def test_the_codex_backend_types_late_instructions_and_added_turns() -> None:
    url = "https://chatgpt.com/backend-api/codex"
    late = convert([{"role": "user", "content": "q"}, {"role": "system", "content": "s"}], base_url=url)
    assert [item["content"][0]["type"] for item in late.payload["input"]] == ["input_text", "input_text"]
    alone = convert([{"role": "system", "content": "s"}], base_url=url)
    assert alone.payload["input"][0]["content"] == [{"type": "input_text", "text": "(empty message)"}]


def test_xai() -> None:
    made = convert(
        model="grok-4.3",
        base_url="https://api.x.ai/v1",
        prompt_cache_key="k",
        service_tier="flex",
        reasoning_effort="high",
        reasoning_summary="auto",
        tools=[{"type": "function", "function": {"name": "web_search"}}],
    )
    assert made.headers == {"x-grok-conv-id": "k"}
    assert made.payload["reasoning"] == {"effort": "high"}
    assert "service_tier" not in made.payload
    assert made.payload["tools"][0]["name"] != "web_search"
    assert {kind for kind, _ in told(made)} == {"renamed", "dropped"}


def test_xai_models_without_an_effort() -> None:
    made = convert(model="grok-4", base_url="https://api.x.ai/v1", reasoning_effort="high")
    assert "reasoning" not in made.payload
    assert told(made) == [("dropped", "reasoning_effort")]


def test_copilot() -> None:
    made = convert(
        model="gpt-4.1", base_url="https://api.githubcopilot.com", prompt_cache_key="k", reasoning_effort="xhigh"
    )
    assert made.payload["reasoning"] == {"effort": "xhigh"}
    assert not {"include", "prompt_cache_key"} & set(made.payload)
    assert told(made) == [("dropped", "prompt_cache_key")]
