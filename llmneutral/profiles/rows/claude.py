"""Claude, behind Messages, Bedrock and aggregators.

Sources of the whole family: https://platform.claude.com/docs/en/about-claude/models/overview and the pages that a row
names below it.
"""

from __future__ import annotations

from typing import Any

from llmneutral.profiles.rows.row import ModelRow

_DOCS = "https://platform.claude.com/docs/en"
_MODELS = "about-claude/models/overview"
_THREE = ("low", "medium", "high")
_FOUR = ("low", "medium", "high", "max")
_FIVE = ("low", "medium", "high", "xhigh", "max")

_FAMILY: dict[str, Any] = {
    "vision": True,
    "documents": True,
    "forced_with_thinking": False,
    "json_object": False,
}
_BY_API: dict[str, dict[str, Any]] = {
    "anthropic_messages": {"cache": "ephemeral", "cache_ttls": ("5m", "1h")},
    "bedrock_converse": {
        "cache": "cache_point",
        "cache_ttls": ("5m", "1h"),
        "tool_result_status": True,
        "audio_in": False,
        "bedrock_top_k_field": "top_k",
        "top_k": True,
    },
}
_ENVELOPE = {"cache": "envelope", "cache_ttls": ("5m", "1h")}
_AT: dict[str, dict[str, Any]] = {
    "openrouter/chat_completions": _ENVELOPE,
    "litellm/chat_completions": _ENVELOPE,
    # The compatible endpoint ignores response_format: https://platform.claude.com/docs/en/api/openai-sdk
    "anthropic/chat_completions": {"native_json_schema": False},
}
_OWN = ("anthropic/anthropic_messages", "bedrock/bedrock_converse")
_BEFORE_4_5 = {place: {"native_json_schema": False} for place in _OWN}
"""Claude has the field from 4.5 on: https://platform.claude.com/docs/en/build-with-claude/structured-outputs"""


# From one generation to the next: each adds its bans to those before it.
_PLAIN: dict[str, Any] = _FAMILY | {"context_window": 200_000, "prefill": True, "thinking": "none"}
_BUDGET: dict[str, Any] = _PLAIN | {"thinking": "budget", "budget_range": (1_024, 128_000)}
_ADAPTIVE: dict[str, Any] = _FAMILY | {
    "context_window": 1_000_000,
    "max_output": 128_000,
    "thinking": "adaptive",
    "thinking_off": "disabled",
    "prefill": False,
    "native_json_schema": True,
    "effort_levels": _FIVE,
}
_WITHOUT_SAMPLING: dict[str, Any] = _ADAPTIVE | {"sampling": False}
_BOUND: dict[str, Any] = _WITHOUT_SAMPLING | {
    "thinking_off": "never",
    "thinks_by_default": True,
    "mid_conversation_system": True,
    "forced_tool_choice": False,
    "reasoning_prefix_bound": True,
}
_ONE_OF = {"one_of_temperature_top_p": True}


def _row(name: str, patterns: tuple[str, ...], page: str, facts: dict[str, Any], **more: Any) -> ModelRow:
    own = more.pop("at", {} if (facts | more).get("native_json_schema") else _BEFORE_4_5)
    at = _AT | {place: _AT.get(place, {}) | found for place, found in own.items()}
    return ModelRow(name, patterns, f"{_DOCS}/{page}", facts=facts | more, by_api=_BY_API, at=at)


CLAUDE_ROWS: tuple[ModelRow, ...] = (
    _row(
        "claude-2",
        ("claude-2", "claude-2-1", "claude-instant*"),
        "about-claude/model-deprecations",
        _PLAIN,
        max_output=4_096,
        tools=False,
        vision=False,
        documents=False,
    ),
    _row("claude-3-7", ("claude-3-7*",), "about-claude/model-deprecations", _BUDGET, max_output=64_000),
    _row("claude-3-5", ("claude-3-5*",), "about-claude/model-deprecations", _PLAIN, max_output=8_192),
    _row("claude-3", ("claude-3-opus", "claude-3-sonnet", "claude-3-haiku"), _MODELS, _PLAIN, max_output=4_096),
    _row("claude-opus-4", ("claude-opus-4", "claude-opus-4-0", "claude-4-opus"), _MODELS, _BUDGET, max_output=32_000),
    _row("claude-opus-4-1", ("claude-opus-4-1",), _MODELS, _BUDGET | _ONE_OF, max_output=32_000),
    _row(
        "claude-sonnet-4",
        ("claude-sonnet-4", "claude-sonnet-4-0", "claude-4-sonnet"),
        _MODELS,
        _BUDGET,
        max_output=64_000,
    ),
    _row(
        "claude-4-5",
        ("claude-haiku-4-5", "claude-sonnet-4-5"),
        "build-with-claude/structured-outputs",
        _BUDGET | _ONE_OF,
        max_output=64_000,
        native_json_schema=True,
    ),
    _row(
        "claude-opus-4-5",
        ("claude-opus-4-5",),
        "build-with-claude/structured-outputs",
        _BUDGET | _ONE_OF,
        max_output=64_000,
        native_json_schema=True,
        effort_levels=_THREE,
    ),
    _row(
        "claude-opus-4-6",
        ("claude-opus-4-6",),
        "build-with-claude/adaptive-thinking",
        _ADAPTIVE | _ONE_OF,
        effort_levels=_FOUR,
    ),
    _row(
        "claude-sonnet-4-6",
        ("claude-sonnet-4-6",),
        "build-with-claude/adaptive-thinking",
        _ADAPTIVE | _ONE_OF,
        max_output=64_000,
        effort_levels=_FOUR,
    ),
    _row(
        "claude-opus-4-7",
        ("claude-opus-4-7",),
        "about-claude/models/whats-new-claude-4-7",
        _WITHOUT_SAMPLING,
        thinking_off="omit",  # unsure: the page names no way
    ),
    _row(
        "claude-opus-4-8",
        ("claude-opus-4-8",),
        "about-claude/models/whats-new-claude-4-8",
        _WITHOUT_SAMPLING,
        mid_conversation_system=True,
    ),
    _row("claude-sonnet-5", ("claude-sonnet-5",), _MODELS, _WITHOUT_SAMPLING, effort_default="high"),
    _row(
        "claude-opus-5",
        ("claude-opus-5",),
        _MODELS,
        _WITHOUT_SAMPLING,  # thinking can be off with an effort up to high only
        mid_conversation_system=True,
        effort_default="high",
    ),
    _row(
        "claude-fable-5",
        ("claude-fable-5", "claude-mythos-5"),
        "build-with-claude/adaptive-thinking",
        _BOUND,
        forced_tool_choice=True,
        reasoning_prefix_bound=False,
    ),
    _row(
        "claude-fable-5-1",
        ("claude-fable-5-1",),
        "build-with-claude/preserved-thinking",
        _BOUND,
        effort_default="high",
        reads_reasoning_from=("claude-opus-5",),
        at={"anthropic": {"reads_reasoning_from": ("claude-opus-5", "claude-opus-5-5")}},
    ),
    _row(
        "claude-fable-5-2",
        ("claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2"),
        "build-with-claude/preserved-thinking",
        _BOUND,
        effort_default="high",
    ),
    _row(
        "claude-opus-5-5",
        ("claude-opus-5-5",),
        "about-claude/models/whats-new-opus-5-5",
        _BOUND,
        effort_default="medium",
    ),
    _row(
        "claude-sonnet-5-5",
        ("claude-sonnet-5-5",),
        "about-claude/models/whats-new-sonnet-5-5",
        _BOUND,
        thinking_off="between_tools",
        effort_default="high",
    ),
    _row(
        "claude-haiku-5-5",
        ("claude-haiku-5-5",),
        _MODELS,
        _BOUND,
        thinking_off="omit",  # unsure
        effort_default="medium",
    ),
    # A Claude that is not known yet: the bans of the newest, and no limits.
    _row(
        "claude-newest",
        ("*claude*",),
        "about-claude/models/whats-new-opus-5-5",
        _BOUND,
        context_window=None,
        max_output=None,
    ),
)
