"""The models of Google, Amazon, Cohere, Mistral, xAI, and the open models behind Bedrock."""

from __future__ import annotations

from typing import Any

from llmneutral.profiles.rows.row import ModelRow

_GOOGLE = "https://ai.google.dev/gemini-api/docs"
_BEDROCK = "https://docs.aws.amazon.com/bedrock/latest/userguide"
_BEDROCK_FEATURES = f"{_BEDROCK}/conversation-inference-supported-models-features.html"
_BEHIND_BEDROCK = ("bedrock_converse",)

# ----------------------------------------------------------------------------------------------------------------------
# Gemini and Gemma

_GEMINI: dict[str, Any] = {
    "context_window": 1_048_576,
    "max_output": 65_536,
    "vision": True,
    "audio_in": True,
    "documents": True,
    "prefill": False,
    "native_json_schema": True,
    "json_object": True,
}
_GEMINI_2: dict[str, Any] = _GEMINI | {
    "max_output": 8_192,
    "thinking": "none",
    "thinking_off": "omit",
    "effort_levels": (),
    "parameters_json_schema": False,
    "json_with_tools": False,
}
_GEMINI_2_5: dict[str, Any] = _GEMINI | {
    "thinking": "budget",
    "thinking_off": "disabled",
    "thinks_by_default": True,
    "effort_levels": (),
    "json_with_tools": False,
}
_GEMINI_3: dict[str, Any] = _GEMINI | {
    "thinking": "level",
    "thinking_off": "never",
    "thinks_by_default": True,
    "requires_thought_signature": True,
    "function_call_ids": True,
    "tool_result_parts": True,
    "json_with_tools": True,
}
_FOUR_LEVELS = ("minimal", "low", "medium", "high")
_LEVELS = ("low", "medium", "high")
# The compatible endpoint takes efforts for budget models too: https://ai.google.dev/gemini-api/docs/openai
_EFFORT = {"chat_completions": {"effort_levels": ("none", *_FOUR_LEVELS)}}

_GEMINI_ROWS = (
    ModelRow("gemini-1.5", ("gemini-1*", "gemini-pro*"), f"{_GOOGLE}/deprecations", facts=_GEMINI_2),
    ModelRow("gemini-2.0", ("gemini-2", "gemini-2.0"), f"{_GOOGLE}/models", facts=_GEMINI_2),
    ModelRow(
        "gemini-2.5-pro",
        ("gemini-2.5-pro",),
        f"{_GOOGLE}/thinking",
        facts=_GEMINI_2_5 | {"thinking_off": "never", "budget_range": (128, 32_768)},
        by_api=_EFFORT,
    ),
    ModelRow(
        "gemini-2.5-flash-lite",
        ("gemini-2.5-flash-lite",),
        f"{_GOOGLE}/thinking",
        facts=_GEMINI_2_5 | {"thinks_by_default": False, "budget_range": (512, 24_576)},
        by_api=_EFFORT,
    ),
    ModelRow(
        "gemini-2.5-flash",
        ("gemini-2.5", "gemini-flash"),
        f"{_GOOGLE}/thinking",
        facts=_GEMINI_2_5 | {"budget_range": (0, 24_576)},
        by_api=_EFFORT,
    ),
    ModelRow(
        "gemini-3-pro",
        ("gemini-3-pro",),
        f"{_GOOGLE}/thought-signatures; types of google-genai 3: ThinkingConfig",
        facts=_GEMINI_3 | {"effort_levels": ("low", "high"), "effort_default": "high"},
    ),
    ModelRow(
        "gemini-3.7-flash",
        ("gemini-3.7-flash", "gemini-3.8-flash"),
        f"{_GOOGLE}/thinking; types of google-genai 3: ThinkingConfig",
        facts=_GEMINI_3 | {"effort_levels": _LEVELS},
    ),
    ModelRow(
        "gemini-3-flash",
        ("gemini-3-flash", "gemini-3.*-flash"),
        f"{_GOOGLE}/thinking; types of google-genai 3: ThinkingConfig",
        facts=_GEMINI_3 | {"effort_levels": _FOUR_LEVELS},
    ),
    # Every other Gemini is newer, or a Pro of the third generation.
    ModelRow(
        "gemini-newest",
        ("gemini",),
        f"{_GOOGLE}/thinking; types of google-genai 3: ThinkingConfig",
        facts=_GEMINI_3 | {"effort_levels": _LEVELS, "context_window": None, "max_output": None},
    ),
    ModelRow(
        "gemma",
        ("gemma*",),
        "https://ai.google.dev/gemma/docs/core/gemma_on_gemini_api",
        facts={"thinking": "none", "thinking_off": "omit", "effort_levels": ()},
        by_api={"gemini_native": {"parameters_json_schema": False, "json_with_tools": False}},
    ),
)

# ----------------------------------------------------------------------------------------------------------------------
# Amazon, and open models behind Bedrock

_NO_PREFILL = {"prefill": False}

_BEDROCK_ROWS = (
    ModelRow(
        "amazon-nova-micro",
        ("nova-micro",),
        f"{_BEDROCK_FEATURES}; {_BEDROCK}/prompt-caching.html",
        facts=_NO_PREFILL
        | {"cache": "cache_point", "vision": False, "audio_in": False, "documents": False, "tool_result_status": True}
        | {"top_k": True, "bedrock_top_k_field": "inferenceConfig.topK"},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "amazon-nova-2",
        ("nova-2*", "nova-premier-2*"),
        "https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html",
        facts=_NO_PREFILL
        | {"cache": "cache_point", "vision": True, "documents": True, "tool_result_status": True}
        | {"top_k": True, "bedrock_top_k_field": "inferenceConfig.topK"}
        | {"thinking": "effort", "effort_levels": _LEVELS, "bedrock_reasoning_field": "reasoningConfig"},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "amazon-nova",
        ("nova*",),
        f"{_BEDROCK_FEATURES}; {_BEDROCK}/prompt-caching.html",
        facts=_NO_PREFILL
        | {"cache": "cache_point", "vision": True, "audio_in": False, "documents": True, "tool_result_status": True}
        | {"top_k": True, "bedrock_top_k_field": "inferenceConfig.topK", "bedrock_reasoning_field": "reasoningConfig"},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "amazon-titan",
        ("titan*",),
        _BEDROCK_FEATURES,
        facts=_NO_PREFILL | {"tools": False, "vision": False},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "deepseek-r1-bedrock",
        ("deepseek-r1",),
        _BEDROCK_FEATURES,
        facts=_NO_PREFILL | {"tools": False, "vision": False, "thinks_by_default": True, "thinking_off": "never"},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "mistral-7b-bedrock",
        ("mistral-7b*", "mixtral*"),
        _BEDROCK_FEATURES,
        facts=_NO_PREFILL | {"tools": False, "vision": False},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "mistral-bedrock",
        ("mistral*", "ministral*", "magistral*", "pixtral*", "voxtral*"),
        f"{_BEDROCK_FEATURES}; {_BEDROCK}/structured-output.html",
        facts=_NO_PREFILL | {"tool_choice_named": False},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "llama-bedrock",
        ("llama*",),
        _BEDROCK_FEATURES,
        facts=_NO_PREFILL | {"tool_choice_named": False, "tool_choice_required": False},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "open-models-bedrock",
        ("qwen3*", "deepseek-v3*", "kimi-k2*", "minimax-m2*", "nemotron*"),
        f"{_BEDROCK}/structured-output.html",
        facts=_NO_PREFILL | {"native_json_schema": True},
        apis=_BEHIND_BEDROCK,
    ),
    ModelRow(
        "bedrock-other",
        ("*",),
        "error text: only Claude continues a trailing assistant turn",
        facts=_NO_PREFILL,
        apis=_BEHIND_BEDROCK,
    ),
)

# ----------------------------------------------------------------------------------------------------------------------
# Cohere

_COMMAND = "https://docs.cohere.com/docs/models"

_COHERE_ROWS = (
    ModelRow(
        "command-a-reasoning",
        ("command-a-reasoning",),
        f"{_COMMAND}; https://docs.cohere.com/docs/reasoning",
        facts={"context_window": 256_000, "max_output": 32_000, "vision": False}
        | {"thinking": "budget", "thinking_off": "disabled", "thinks_by_default": True},
    ),
    ModelRow(
        "command-a-vision",
        ("command-a-vision",),
        _COMMAND,
        facts={"context_window": 128_000, "max_output": 8_000, "vision": True, "tools": False},
    ),
    ModelRow(
        "command-a",
        ("command-a",),
        f"{_COMMAND}; https://docs.cohere.com/reference/chat",
        facts={"context_window": 256_000, "max_output": 8_000, "vision": False},
    ),
    ModelRow(
        "command-r7b",
        ("command-r7b",),
        "types of cohere 7: V2ChatRequest.tool_choice",
        facts={"context_window": 128_000, "max_output": 4_000, "vision": False},
    ),
    ModelRow(
        "command-r",
        ("command-r", "command-r-plus", "command", "c4ai-aya*"),
        "types of cohere 7: V2ChatRequest.tool_choice",
        facts={"context_window": 128_000, "max_output": 4_000, "vision": False}
        | {"tool_choice_required": False, "tool_choice_none": False},
    ),
)

# ----------------------------------------------------------------------------------------------------------------------
# Mistral

_MISTRAL = "https://docs.mistral.ai/getting-started/models"
_NINE = r"[a-zA-Z0-9]{9}"

_MISTRAL_ROWS = (
    ModelRow(
        "magistral",
        ("magistral*",),
        "https://docs.mistral.ai/capabilities/reasoning",
        facts={"thinks_by_default": True, "thinking_off": "never", "effort_levels": (), "context_window": 128_000},
    ),
    ModelRow(
        "mistral-tokenizer-v3-v11",
        (
            "mistral-*-23*",
            "mistral-*-24*",
            "mistral-*-2501",
            "mistral-*-2503",
            "mistral-*-2505",
            "mistral-*-2506",
            "ministral-*-24*",
            "pixtral*",
            "codestral-24*",
            "open-mistral*",
            "open-mixtral*",
            "mistral-tiny",
            "mistral-saba",
        ),
        "mistral-common: InstructRequestNormalizer and validators of the tokenizers v3 to v11",
        facts={"tool_id": _NINE, "effort_levels": (), "thinking": "none"},
    ),
    ModelRow(
        "mistral-reasoning-effort",
        ("mistral-small-latest", "mistral-small-2603*", "mistral-medium-3-5*", "mistral-medium-2604*"),
        "https://docs.mistral.ai/capabilities/reasoning; types of mistralai 3: ReasoningEffort; recorded traffic",
        facts={"thinking": "effort", "effort_levels": ("none", "high")},
    ),
    ModelRow(
        "mistral",
        ("mistral*", "ministral*", "codestral*", "devstral*", "voxtral*", "labs-*"),
        f"{_MISTRAL}; mistral-common: tokenizer v13",
        facts={"effort_levels": (), "thinking": "none"},
    ),
)

# ----------------------------------------------------------------------------------------------------------------------
# xAI

_XAI = "https://docs.x.ai/docs"
_GROK_REJECTS = ("presence_penalty", "frequency_penalty", "stop")

_XAI_ROWS = (
    ModelRow(
        "grok-3-mini",
        ("grok-3-mini",),
        f"{_XAI}/guides/reasoning",
        facts={"effort_levels": ("low", "high"), "thinks_by_default": True, "thinking_off": "never"}
        | {"thinking": "effort", "reasoning_dial": "openai", "rejects": _GROK_REJECTS},
        by_api={"codex_responses": {"reasoning": True}},
    ),
    ModelRow(
        "grok-4.3",
        ("grok-4.3", "grok-4.6"),
        f"{_XAI}/guides/reasoning",
        facts={"effort_levels": _LEVELS, "thinks_by_default": True, "thinking_off": "never"}
        | {"thinking": "effort", "reasoning_dial": "openai", "rejects": _GROK_REJECTS, "vision": True},
        by_api={"codex_responses": {"reasoning": True}},
    ),
    ModelRow(
        "grok-non-reasoning",
        ("grok-*non-reasoning*", "grok-2*", "grok-3"),
        f"{_XAI}/models",
        facts={"effort_levels": (), "thinking": "none"},
        at={"xai": {"native_json_schema": True}},
    ),
    ModelRow(
        "grok",
        ("grok*",),
        f"{_XAI}/models; error text: Argument not supported on this model",
        facts={"effort_levels": (), "thinking": "none", "thinks_by_default": True, "thinking_off": "never"},
        by_api={"codex_responses": {"reasoning": True}},
        at={"xai": {"rejects": _GROK_REJECTS, "native_json_schema": True}},
    ),
)

VENDOR_ROWS: tuple[ModelRow, ...] = (*_GEMINI_ROWS, *_BEDROCK_ROWS, *_COHERE_ROWS, *_MISTRAL_ROWS, *_XAI_ROWS)
"""In the order in which they are tried."""
