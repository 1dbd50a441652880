"""The rows: each names its source, holds valid facts, can be reached, and says what the rulebook says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from llmneutral.profiles import API_ROWS, ENDPOINT_ROWS, MODEL_ROWS, ModelRow, checked_facts, find_row, profile

SOURCE = re.compile(r"https://\S+|types of \w+|error text|measured|recorded traffic|mistral-common|openai 3: ")


def test_every_row_names_its_source() -> None:
    sources = [
        *((name, row.source) for name, row in API_ROWS.items()),
        *((name, row.source) for name, row in ENDPOINT_ROWS.items()),
        *((row.name, row.source) for row in MODEL_ROWS),
    ]
    assert [name for name, source in sources if not SOURCE.search(source)] == []


def test_every_name_is_given_once() -> None:
    names = [row.name for row in MODEL_ROWS]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.parametrize("api", API_ROWS)
def test_every_row_holds_valid_facts(api: str) -> None:
    checked_facts(API_ROWS[api].facts, api)
    for name, endpoint_row in ENDPOINT_ROWS.items():
        checked_facts(endpoint_row.facts_for(api), name)
    for row in MODEL_ROWS:
        for endpoint in (None, *ENDPOINT_ROWS):
            checked_facts(row.facts_for(api, endpoint), row.name)


def test_rows_speak_of_known_apis_and_endpoints() -> None:
    for row in MODEL_ROWS:
        assert {*row.apis, *row.by_api} <= {*API_ROWS}
        assert {place.partition("/")[0] for place in (*row.endpoints, *row.at)} <= {*ENDPOINT_ROWS}
        assert {place.partition("/")[2] for place in row.at} <= {*API_ROWS, ""}
    for endpoint_row in ENDPOINT_ROWS.values():
        assert {*endpoint_row.by_api} <= {*API_ROWS}
    assert {row.endpoint for row in API_ROWS.values()} <= {*ENDPOINT_ROWS, "cohere", "mistral"}


@pytest.mark.parametrize("row", MODEL_ROWS, ids=lambda row: row.name)
def test_every_pattern_reaches_its_row(row: ModelRow) -> None:
    for pattern in row.patterns:
        model = pattern.replace("*", "9")
        found = find_row((row.apis or ("chat_completions",))[0], (row.endpoints or (None,))[0], model)
        assert found is row, f"{model} is caught by {found and found.name}"


# ----------------------------------------------------------------------------------------------------------------------
# Claude: the columns are context_window, max_output, thinking, thinking_off, sampling, prefill, forced_tool_choice,
# mid_conversation_system, native_json_schema, reasoning_prefix_bound

CLAUDE: dict[str, tuple[Any, ...]] = {
    "claude-3-opus-20240229": (200_000, 4_096, "none", "omit", True, True, True, False, False, False),
    "claude-3-5-sonnet-20241022": (200_000, 8_192, "none", "omit", True, True, True, False, False, False),
    "claude-3-7-sonnet-latest": (200_000, 64_000, "budget", "omit", True, True, True, False, False, False),
    "claude-opus-4-20250514": (200_000, 32_000, "budget", "omit", True, True, True, False, False, False),
    "claude-opus-4-1-20250805": (200_000, 32_000, "budget", "omit", True, True, True, False, False, False),
    "claude-sonnet-4-20250514": (200_000, 64_000, "budget", "omit", True, True, True, False, False, False),
    "claude-haiku-4-5": (200_000, 64_000, "budget", "omit", True, True, True, False, True, False),
    "claude-sonnet-4-5": (200_000, 64_000, "budget", "omit", True, True, True, False, True, False),
    "claude-opus-4-5": (200_000, 64_000, "budget", "omit", True, True, True, False, True, False),
    "claude-opus-4-6": (1_000_000, 128_000, "adaptive", "disabled", True, False, True, False, True, False),
    "claude-sonnet-4-6": (1_000_000, 64_000, "adaptive", "disabled", True, False, True, False, True, False),
    "claude-opus-4-7": (1_000_000, 128_000, "adaptive", "omit", False, False, True, False, True, False),
    "claude-opus-4-8": (1_000_000, 128_000, "adaptive", "disabled", False, False, True, True, True, False),
    "claude-sonnet-5": (1_000_000, 128_000, "adaptive", "disabled", False, False, True, False, True, False),
    "claude-opus-5": (1_000_000, 128_000, "adaptive", "disabled", False, False, True, True, True, False),
    "claude-fable-5": (1_000_000, 128_000, "adaptive", "never", False, False, True, True, True, False),
    "claude-mythos-5": (1_000_000, 128_000, "adaptive", "never", False, False, True, True, True, False),
    "claude-fable-5-1": (1_000_000, 128_000, "adaptive", "never", False, False, False, True, True, True),
    "claude-mythos-5-2": (1_000_000, 128_000, "adaptive", "never", False, False, False, True, True, True),
    "claude-opus-5-5": (1_000_000, 128_000, "adaptive", "never", False, False, False, True, True, True),
    "claude-sonnet-5-5": (1_000_000, 128_000, "adaptive", "between_tools", False, False, False, True, True, True),
    "claude-haiku-5-5": (1_000_000, 128_000, "adaptive", "omit", False, False, False, True, True, True),
    "claude-unheard-of-9": (None, None, "adaptive", "never", False, False, False, True, True, True),
    "claude-opus-4-80": (None, None, "adaptive", "never", False, False, False, True, True, True),
}
EFFORTS: dict[str, tuple[str, ...]] = {
    "claude-sonnet-4-5": (),
    "claude-opus-4-5": ("low", "medium", "high"),
    "claude-opus-4-6": ("low", "medium", "high", "max"),
    "claude-opus-4-7": ("low", "medium", "high", "xhigh", "max"),
    "claude-opus-5-5": ("low", "medium", "high", "xhigh", "max"),
}


@pytest.mark.parametrize("api", ["anthropic_messages", "bedrock_converse"])
@pytest.mark.parametrize(("model", "expected"), CLAUDE.items())
def test_claude(api: str, model: str, expected: tuple[Any, ...]) -> None:
    facts = profile(api, model=f"us.anthropic.{model}-v1:0" if api == "bedrock_converse" else model)
    found = (
        facts.context_window,
        facts.max_output,
        facts.thinking,
        facts.thinking_off,
        facts.sampling,
        facts.prefill,
        facts.forced_tool_choice,
        facts.mid_conversation_system,
        facts.native_json_schema,
        facts.reasoning_prefix_bound,
    )
    assert found == expected
    assert (facts.vision, facts.documents, facts.forced_with_thinking) == (True, True, False)
    assert facts.cache == ("ephemeral" if api == "anthropic_messages" else "cache_point")
    assert facts.cache_ttls == ("5m", "1h")


@pytest.mark.parametrize(("model", "expected"), EFFORTS.items())
def test_the_efforts_of_claude(model: str, expected: tuple[str, ...]) -> None:
    assert profile("anthropic_messages", model=model).effort_levels == expected


def test_temperature_or_top_p() -> None:
    one_of = ["claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-6", "claude-sonnet-4-6"]
    both = ["claude-3-opus", "claude-opus-4", "claude-sonnet-4"]
    assert all(profile("anthropic_messages", model=name).one_of_temperature_top_p for name in one_of)
    assert not any(profile("anthropic_messages", model=name).one_of_temperature_top_p for name in both)


def test_reasoning_that_can_be_read_across_models() -> None:
    here = profile("anthropic_messages", model="claude-fable-5-1")
    assert here.reads_reasoning_from == ("claude-opus-5", "claude-opus-5-5")
    there = profile("bedrock_converse", model="anthropic.claude-fable-5-1-v1:0")
    assert there.reads_reasoning_from == ("claude-opus-5",)


def test_claude_behind_an_aggregator() -> None:
    facts = profile("chat_completions", "openrouter", None, "anthropic/claude-opus-4.6")
    assert (facts.cache, facts.prefill, facts.reasoning_dial) == ("envelope", False, "openrouter")
    assert profile("chat_completions", "openrouter", None, "meta-llama/llama-3.3-70b").cache == "none"
    assert profile("chat_completions", "openrouter", None, "qwen/qwen3-max").cache == "envelope"


# ----------------------------------------------------------------------------------------------------------------------
# OpenAI: the columns are reasoning, effort_levels, rejects temperature, rejects_when, chat_tools, cache, max_output

THREE = ("low", "medium", "high")
LEVELS = ("none", *THREE, "xhigh")
NEVER_NONE = (*THREE, "xhigh", "max")
GPT: dict[str, tuple[Any, ...]] = {
    "gpt-4o": (False, (), False, "always", "always", "key", 16_384),
    "gpt-4.1-mini": (False, (), False, "always", "always", "key", 32_768),
    "o1": (True, THREE, True, "always", "always", "key", 100_000),
    "o3": (True, THREE, True, "always", "always", "key", 100_000),
    "o4-mini": (True, THREE, True, "always", "always", "key", 100_000),
    "gpt-5": (True, ("minimal", *THREE), True, "always", "always", "key", 128_000),
    "gpt-5-pro": (True, ("high",), True, "always", "always", "key", 128_000),
    "gpt-5-codex": (True, THREE, True, "always", "always", "key", 128_000),
    "gpt-5.1-codex-mini": (True, THREE, True, "always", "always", "key", 128_000),
    "gpt-5.1-codex-max": (True, (*THREE, "xhigh"), True, "always", "always", "key", 128_000),
    "gpt-5.3-codex": (True, (*THREE, "xhigh"), True, "always", "always", "key", 128_000),
    "gpt-5.1": (True, ("none", *THREE), True, "reasoning", "always", "key", 128_000),
    "gpt-5.3": (True, LEVELS, True, "reasoning", "always", "key", 128_000),
    "gpt-5.4-mini": (True, LEVELS, True, "reasoning", "always", "key", 128_000),
    "gpt-5.5": (True, LEVELS, True, "reasoning", "always", "key", 128_000),
    "gpt-5.6-sol": (True, (*LEVELS, "max"), True, "reasoning", "without_reasoning", "breakpoint", 128_000),
    "gpt-6-luna": (True, (*LEVELS, "max"), True, "reasoning", "without_reasoning", "breakpoint", 128_000),
    "gpt-6-astra": (True, NEVER_NONE, True, "always", "never", "breakpoint", 128_000),
    "gpt-6.1-sol": (True, NEVER_NONE, True, "always", "never", "breakpoint", 128_000),
    "gpt-6.1-terra": (True, NEVER_NONE, True, "always", "never", "breakpoint", 128_000),
    "gpt-6.2-sol": (True, NEVER_NONE, True, "always", "never", "breakpoint", 128_000),
    "gpt-9": (True, NEVER_NONE, True, "always", "never", "breakpoint", None),
}


@pytest.mark.parametrize("api", ["codex_responses", "chat_completions"])
@pytest.mark.parametrize(("model", "expected"), GPT.items())
def test_gpt(api: str, model: str, expected: tuple[Any, ...]) -> None:
    facts = profile(api, "openai", None, model)
    found = (
        facts.reasoning,
        facts.effort_levels,
        "temperature" in facts.rejects,
        facts.rejects_when,
        facts.chat_tools,
        facts.cache,
        facts.max_output,
    )
    assert found == expected
    assert (facts.native_json_schema, facts.tools, facts.prefill) == (True, True, None)
    assert facts.vision is True
    if api == "chat_completions":
        assert facts.max_tokens_field == "max_completion_tokens"
        assert facts.developer_role is facts.reasoning


def test_stop_is_refused_by_some_of_the_o_series() -> None:
    assert "stop" in profile("chat_completions", model="o3").rejects
    assert "stop" in profile("chat_completions", model="o4-mini").rejects
    assert "stop" not in profile("chat_completions", model="o1").rejects


def test_only_the_newest_gpt_binds_reasoning_to_its_prefix() -> None:
    assert profile("codex_responses", model="gpt-6.2-sol").reasoning_prefix_bound
    assert not profile("codex_responses", model="gpt-6.1-sol").reasoning_prefix_bound


def test_breakpoints_are_openai_s_own() -> None:
    assert profile("chat_completions", None, "https://llm.acme.test/v1", "gpt-6-astra").cache == "none"
    assert profile("chat_completions", "openrouter", None, "openai/gpt-6-astra").chat_tools == "always"


def test_names_that_only_look_like_gpt() -> None:
    assert find_row("chat_completions", None, "EleutherAI/gpt-neox-20b") is None
    found = find_row("chat_completions", None, "openai/gpt-oss-120b")
    assert found is not None
    assert found.name == "gpt-oss"


# ----------------------------------------------------------------------------------------------------------------------
# The others: (api, provider, base_url, model) and the facts the rulebook names

OTHERS: list[tuple[str, str | None, str | None, str, dict[str, Any]]] = [
    (
        "gemini_native",
        None,
        None,
        "gemini-2.5-flash",
        {"thinking": "budget", "parameters_json_schema": True, "json_with_tools": False, "prefill": False}
        | {"thinking_off": "disabled", "requires_thought_signature": False},
    ),
    ("gemini_native", None, None, "gemini-2.5-pro", {"thinking": "budget", "thinking_off": "never"}),
    ("gemini_native", None, None, "gemini-2.0-flash", {"thinking": "none", "parameters_json_schema": False}),
    (
        "gemini_native",
        None,
        None,
        "gemini-3-pro-preview",
        {"thinking": "level", "effort_levels": ("low", "high"), "requires_thought_signature": True}
        | {"function_call_ids": True, "tool_result_parts": True, "json_with_tools": True, "prefill": False},
    ),
    ("gemini_native", None, None, "gemini-3.5-flash", {"effort_levels": ("minimal", "low", "medium", "high")}),
    ("gemini_native", None, None, "gemini-3.8-flash", {"effort_levels": ("low", "medium", "high")}),
    ("gemini_native", None, None, "gemini-9-ultra", {"thinking": "level", "context_window": None}),
    ("gemini_native", None, None, "gemma-3-27b-it", {"thinking": "none"}),
    ("gemini_native", "vertex", None, "gemini-3-pro", {"image_url": True, "auth_header": "bearer"}),
    (
        "bedrock_converse",
        None,
        None,
        "amazon.nova-pro-v1:0",
        {"vision": True, "cache": "cache_point", "bedrock_reasoning_field": "reasoningConfig", "prefill": False},
    ),
    (
        "bedrock_converse",
        None,
        None,
        "meta.llama3-70b-instruct-v1:0",
        {"cache": "none", "prefill": False, "tools": True},
    ),
    ("bedrock_converse", None, None, "us.deepseek.r1-v1:0", {"tools": False}),
    ("bedrock_converse", None, None, "acme.unknown-1", {"prefill": False, "tools": True}),
    ("cohere_chat", None, None, "command-a-03-2025", {"native_json_schema": True, "tool_choice_required": True}),
    ("cohere_chat", None, None, "command-a-reasoning-08-2025", {"thinking": "budget", "thinking_off": "disabled"}),
    ("cohere_chat", None, None, "command-a-vision-07-2025", {"vision": True}),
    ("cohere_chat", None, None, "command-r-plus", {"tool_choice_required": False}),
    ("cohere_chat", None, None, "command-r7b-12-2024", {"tool_choice_required": True}),
    ("mistral_chat", None, None, "mistral-large-2411", {"tool_id": "[a-zA-Z0-9]{9}", "prefill": True}),
    ("mistral_chat", None, None, "mistral-large-latest", {"tool_id": None, "prefill": True, "prefill_field": "prefix"}),
    ("mistral_chat", None, None, "magistral-medium-latest", {"thinks_by_default": True, "thinking_off": "never"}),
    (
        "chat_completions",
        None,
        "https://api.deepseek.com",
        "deepseek-v4-pro",
        {"string_content_only": True, "developer_role": False, "reasoning_content": "required_on_tool_calls"}
        | {"native_json_schema": False, "json_object": True, "reasoning_dial": "deepseek", "rejects_when": "reasoning"}
        | {"effort_levels": ("low", "high", "max"), "reasoning_field": "reasoning_content"},
    ),
    (
        "anthropic_messages",
        None,
        "https://api.deepseek.com/anthropic",
        "deepseek-v4-pro",
        {"reasoning_replay": "keep_unsigned", "effort_levels": ("low", "high", "max"), "api_version": "2023-06-01"},
    ),
    (
        "chat_completions",
        None,
        "https://api.moonshot.ai/v1",
        "kimi-k2.5",
        {"tool_choice_required": False, "reasoning_content": "required_on_tool_calls", "schema": "kimi"}
        | {"reasoning_dial": "kimi", "prefill_field": "partial", "strict_tools": False, "thinks_by_default": True},
    ),
    (
        "chat_completions",
        None,
        "https://api.moonshot.ai/v1",
        "kimi-k3",
        {"effort_levels": ("low", "high", "max"), "thinking_off": "never", "reasoning_dial": "kimi_effort"},
    ),
    ("chat_completions", "together", None, "moonshotai/Kimi-K2.6", {"reasoning_content": "absent"}),
    (
        "anthropic_messages",
        None,
        "https://api.kimi.com/coding",
        "kimi-k2.6",
        {"reasoning_replay": "keep_all", "thinking_required_on_tool_calls": True, "thinking": "adaptive"},
    ),
    (
        "anthropic_messages",
        None,
        "https://api.minimax.io/anthropic",
        "MiniMax-M3",
        {"reasoning_replay": "keep_all", "max_output": 131_072},
    ),
    (
        "chat_completions",
        None,
        "https://api.minimax.io/v1",
        "MiniMax-M2.5",
        {"reasoning_field": "reasoning_details", "native_json_schema": False, "max_output": 131_072},
    ),
    (
        "chat_completions",
        None,
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "qwen3-max",
        {"thinking_requires_stream": True, "system_first_only": True, "max_output": 65_536, "cache": "envelope"}
        | {"cache_ttls": ("5m",), "native_json_schema": False, "reasoning_dial": "qwen"},
    ),
    ("chat_completions", None, "https://api.z.ai/api/paas/v4", "glm-4.6", {"reasoning_dial": "glm"}),
    (
        "codex_responses",
        "xai",
        None,
        "grok-4",
        {"reserved_tool_names": ("web_search",), "effort_levels": (), "reasoning_summary": False},
    ),
    ("codex_responses", "xai", None, "grok-3-mini", {"effort_levels": ("low", "high")}),
    ("chat_completions", "xai", None, "grok-4", {"usage_reasoning_outside": True, "enum_slash": False}),
    ("chat_completions", "openrouter", None, "z-ai/glm-4.6", {"reasoning_field": "reasoning_details"}),
    ("chat_completions", "groq", None, "llama-3.3-70b-versatile", {"cache": "none", "top_k": False}),
    ("chat_completions", "azure", None, "gpt-5.6-sol", {"chat_tools": "without_reasoning", "auth_header": "api-key"}),
    ("codex_responses", "openai-codex", None, "gpt-5.3-codex", {"max_tokens_accepted": False, "item_ids": False}),
    ("codex_responses", "copilot", None, "gpt-5.4", {"encrypted_reasoning": False, "item_ids": False, "cache": "none"}),
    (
        "chat_completions",
        "vllm",
        "http://localhost:8000/v1",
        "qwen3.5",
        {"reasoning_field": "reasoning", "reasoning_content": "optional", "reasoning_dial": "vllm"}
        | {"template_switch": "enable_thinking"},
    ),
    ("chat_completions", "vllm", None, "deepseek-ai/DeepSeek-V3.1", {"template_switch": "thinking"}),
    ("chat_completions", "ollama", None, "qwen3:8b", {"stream_usage": True, "reasoning_dial": "ollama"}),
    ("chat_completions", "llama.cpp", None, "m", {"schema": "portable", "schema_drops": ("pattern", "format")}),
    (
        "chat_completions",
        "local",
        None,
        "m",
        {"json_grammar": "llguidance", "tool_choice_named": False, "reasoning_dial": "vllm", "json_with_tools": False},
    ),
    ("codex_responses", "local", None, "m", {"json_grammar": "llguidance", "native_json_schema": True}),
    ("anthropic_messages", "local", None, "m", {"json_grammar": None, "native_json_schema": False, "prefill": False}),
]


@pytest.mark.parametrize(
    ("api", "provider", "base_url", "model", "expected"), OTHERS, ids=[f"{row[3]} {row[0]}" for row in OTHERS]
)
def test_others(api: str, provider: str | None, base_url: str | None, model: str, expected: dict[str, Any]) -> None:
    facts = profile(api, provider, base_url, model)
    assert {name: getattr(facts, name) for name in expected} == expected


BY_API: dict[str, dict[str, Any]] = {
    "chat_completions": {"max_stop": 4, "tool_name_max": 64, "leading_user": False, "alternate_roles": False},
    "codex_responses": {"max_stop": 0, "tool_name_max": 64, "leading_user": False, "top_k": False},
    "anthropic_messages": {"max_stop": None, "tool_name_max": 128, "leading_user": True, "image_url": True},
    "gemini_native": {"max_stop": 5, "tool_name_max": 128, "leading_user": True, "prefill": False, "image_url": False},
    "bedrock_converse": {"max_stop": 2500, "tool_name_max": 64, "leading_user": True, "alternate_roles": True},
    "cohere_chat": {"max_stop": 5, "leading_user": True, "prefill": False, "tool_choice_named": False},
    "mistral_chat": {"tool_name_max": 64, "leading_user": True, "prefill": True},
}


@pytest.mark.parametrize(("api", "expected"), BY_API.items())
def test_what_an_api_has_in_common(api: str, expected: dict[str, Any]) -> None:
    facts = profile(api)
    assert {name: getattr(facts, name) for name in expected} == expected
