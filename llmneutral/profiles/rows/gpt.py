"""The models of OpenAI, behind Responses and Chat Completions.

Sources of the whole family: the docstrings of the openai SDK 3 (ReasoningEffort, CompletionCreateParams,
prompt_cache_options, Response.input_transformations) and the pages that a row names.
"""

from __future__ import annotations

from typing import Any

from llmneutral.profiles.rows.row import ModelRow

_DOCS = "https://developers.openai.com/api/docs"
_MODELS = f"{_DOCS}/models"
_CHECKLIST = f"{_DOCS}/guides/deployment-checklist"
_REASONING = f"{_DOCS}/guides/reasoning"
_AZURE = "https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning#reasoning-effort"
_APIS = ("codex_responses", "chat_completions")

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")
_THREE = ("low", "medium", "high")
_LEVELS = ("none", "low", "medium", "high", "xhigh")
_ALL_LEVELS = (*_LEVELS, "max")
_NEVER_NONE = ("low", "medium", "high", "xhigh", "max")

_FAMILY: dict[str, Any] = {
    "vision": True,
    "documents": True,
    "native_json_schema": True,
    "json_object": True,
    "max_tokens_field": "max_completion_tokens",
    "top_k": False,
}
_PLAIN: dict[str, Any] = _FAMILY | {"effort_levels": (), "thinking": "none"}
_REASONER: dict[str, Any] = _FAMILY | {
    "reasoning": True,
    "thinking": "effort",
    "thinks_by_default": True,
    "developer_role": True,
    "rejects": _SAMPLING,
    "thinking_off": "never",
}
_O_SERIES: dict[str, Any] = _REASONER | {
    "max_output": 100_000,
    "context_window": 200_000,
    "effort_levels": _THREE,
    "effort_default": "medium",
}
_GPT_5: dict[str, Any] = _REASONER | {"context_window": 400_000, "max_output": 128_000}
_SWITCHABLE: dict[str, Any] = _GPT_5 | {
    "effort_levels": _LEVELS,
    "effort_default": "none",
    "thinks_by_default": False,
    "thinking_off": "disabled",
    "rejects_when": "reasoning",
}
_GPT_5_6: dict[str, Any] = _SWITCHABLE | {
    "effort_levels": _ALL_LEVELS,
    "effort_default": None,
    "thinks_by_default": True,
    "chat_tools": "without_reasoning",
    "context_window": None,
}
_ALWAYS: dict[str, Any] = _GPT_5 | {"context_window": None, "effort_levels": _NEVER_NONE, "chat_tools": "never"}

# Aggregators translate Chat to what the model needs; OpenAI, Azure and plain relays do not.
_AT: dict[str, dict[str, Any]] = {"openrouter": {"chat_tools": "always"}}
_BREAKPOINT = _AT | {"openai": {"cache": "breakpoint", "cache_ttls": ("30m", "12h")}}
_DIAL = {"chat_completions": {"reasoning_dial": "openai"}}
_OPENROUTER = {"openrouter/chat_completions": {"reasoning_dial": "openrouter"}}


def _row(name: str, patterns: tuple[str, ...], source: str, facts: dict[str, Any], **more: Any) -> ModelRow:
    facts = facts | more
    at = _BREAKPOINT if facts.pop("breakpoint", False) else _AT
    by_api = _DIAL if facts.get("reasoning") else {}
    return ModelRow(name, patterns, source, facts=facts, by_api=by_api, at=at | _OPENROUTER, apis=_APIS)


GPT_ROWS: tuple[ModelRow, ...] = (
    ModelRow(
        "gpt-oss",
        ("gpt-oss", "gpt-oss-20b", "gpt-oss-120b", "gpt-oss-safeguard*"),
        "https://github.com/openai/gpt-oss; https://console.groq.com/docs/reasoning; "
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html",
        facts={"context_window": 131_072, "vision": False, "thinks_by_default": True, "thinking_off": "never"},
        by_api={
            "codex_responses": {"effort_levels": _THREE, "thinking": "effort", "reasoning_summary": False},
            "chat_completions": {"effort_levels": _THREE, "thinking": "effort", "reasoning_dial": "openai"},
            "bedrock_converse": {
                "prefill": False,
                "native_json_schema": True,
                "effort_levels": _THREE,
                "bedrock_reasoning_field": "reasoning_effort",
            },
        },
        at={"openrouter/chat_completions": {"reasoning_dial": "openrouter"}},
    ),
    _row("gpt-3.5", ("gpt-3.5*",), _MODELS, _PLAIN, vision=False, documents=False, native_json_schema=False),
    _row(
        "gpt-4",
        ("gpt-4", "gpt-4-turbo", "gpt-4-32k", "gpt-4-0*", "gpt-4-1106*", "gpt-4-vision*"),
        _MODELS,
        _PLAIN,
        vision=None,
        native_json_schema=False,
        max_output=4_096,
    ),
    _row("gpt-4.1", ("gpt-4.1",), f"{_MODELS}/gpt-4.1", _PLAIN, context_window=1_047_576, max_output=32_768),
    _row(
        "gpt-4o",
        ("gpt-4o", "chatgpt-4o", "gpt-audio", "gpt-4.5"),
        f"{_MODELS}/gpt-4o",
        _PLAIN,
        context_window=128_000,
        max_output=16_384,
    ),
    _row(
        "o1-mini",
        ("o1-mini", "o1-preview"),
        _MODELS,
        _O_SERIES,
        context_window=128_000,
        max_output=65_536,
        effort_levels=(),
        tools=False,
        vision=False,
        native_json_schema=False,
        developer_role=False,
    ),
    _row("o1", ("o1", "o3-mini"), _REASONING, _O_SERIES),
    _row("o3", ("o3", "o4-mini"), _REASONING, _O_SERIES, rejects=(*_SAMPLING, "stop")),
    _row("o-newest", ("o2", "o4", "o5", "o6", "o7"), _REASONING, _O_SERIES, context_window=None, max_output=None),
    _row(
        "gpt-5-chat", ("gpt-5-chat",), f"{_MODELS}/gpt-5-chat-latest", _PLAIN, context_window=128_000, max_output=16_384
    ),
    _row("gpt-5-pro", ("gpt-5-pro",), f"{_MODELS}/gpt-5-pro", _GPT_5, effort_levels=("high",), effort_default="high"),
    _row("gpt-5.1-codex-max", ("gpt-5.1-codex-max",), _AZURE, _GPT_5, effort_levels=(*_THREE, "xhigh")),
    _row("gpt-5-codex", ("gpt-5-codex", "gpt-5.1-codex", "gpt-5.1-codex-mini"), _AZURE, _GPT_5, effort_levels=_THREE),
    _row(
        "gpt-5", ("gpt-5", "gpt-5.0"), _REASONING, _GPT_5, effort_levels=("minimal", *_THREE), effort_default="medium"
    ),
    _row("gpt-5.x-chat", ("gpt-5.*-chat",), _MODELS, _GPT_5, effort_levels=("medium",), effort_default="medium"),
    _row("gpt-5.x-pro", ("gpt-5.*-pro",), _MODELS, _GPT_5, effort_levels=("medium", "high", "xhigh")),
    _row("gpt-5.x-codex", ("gpt-5.*-codex",), _AZURE, _GPT_5, effort_levels=(*_THREE, "xhigh")),
    _row("gpt-5.1", ("gpt-5.1",), _AZURE, _SWITCHABLE, effort_levels=("none", *_THREE)),
    _row("gpt-5.2", ("gpt-5.2", "gpt-5.3"), _AZURE, _SWITCHABLE),
    _row("gpt-5.4", ("gpt-5.4",), _REASONING, _SWITCHABLE, context_window=None),
    _row(
        "gpt-5.5",
        ("gpt-5.5",),
        _REASONING,
        _SWITCHABLE,
        context_window=None,
        effort_default=None,  # unsure: the level that counts when nothing is asked
        thinks_by_default=True,
    ),
    _row("gpt-5.6", ("gpt-5.6",), f"error text; {_CHECKLIST}", _GPT_5_6, breakpoint=True),
    _row("gpt-6-sol", ("gpt-6-sol", "gpt-6-luna"), _CHECKLIST, _GPT_5_6, breakpoint=True),
    _row("gpt-6-astra", ("gpt-6-astra", "gpt-6.1-sol"), _CHECKLIST, _ALWAYS, breakpoint=True),
    # Of gpt-6.1-terra and gpt-6.2 the ban of tools is told by third parties only.
    _row("gpt-6.1-terra", ("gpt-6.1-terra",), "third parties; " + _CHECKLIST, _ALWAYS, breakpoint=True),
    _row(
        "gpt-6.2",
        ("gpt-6.2",),
        "openai 3: Response.input_transformations; third parties",
        _ALWAYS,
        breakpoint=True,
        reasoning_prefix_bound=True,
    ),
    _row("codex-mini", ("codex-mini",), _MODELS, _O_SERIES, rejects=(*_SAMPLING, "stop")),
    # A GPT that is not known yet: the bans of the newest, and no limits.
    _row(
        "gpt-newest",
        ("gpt-5*", "gpt-6*", "gpt-7*", "gpt-8*", "gpt-9*"),
        "openai 3: Response.input_transformations; third parties",
        _ALWAYS,
        breakpoint=True,
        reasoning_prefix_bound=True,
        max_output=None,
    ),
)
