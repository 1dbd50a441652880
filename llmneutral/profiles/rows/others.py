"""Open models at the endpoints of those who made them, where they have dials and rules of their own."""

from __future__ import annotations

from typing import Any

from llmneutral.profiles.rows.row import ModelRow

_DEEPSEEK = "https://api-docs.deepseek.com/guides/thinking_mode"
_KIMI = "https://platform.moonshot.ai/docs/guide"
_QWEN = "https://www.alibabacloud.com/help/en/model-studio/deep-thinking"
_CHAT = ("chat_completions",)
_MOONSHOT = ("moonshot", "kimi-coding")
_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")

# ----------------------------------------------------------------------------------------------------------------------
# DeepSeek

_THINKING: dict[str, Any] = {
    "thinking": "effort",
    "thinking_off": "disabled",
    "thinks_by_default": True,
    "effort_levels": ("low", "high", "max"),
    "effort_default": "high",
    "rejects": _SAMPLING,
    "rejects_when": "reasoning",
    "reasoning_content": "required_on_tool_calls",
}

_DEEPSEEK_ROWS = (
    ModelRow(
        "deepseek-chat",
        ("deepseek-chat",),
        _DEEPSEEK,
        facts={"thinking": "effort", "thinking_off": "disabled", "effort_levels": ("low", "high", "max")}
        | {"reasoning_content": "required_on_tool_calls"},
        apis=_CHAT,
        endpoints=("deepseek",),
    ),
    ModelRow("deepseek", ("deepseek",), _DEEPSEEK, facts=_THINKING, apis=_CHAT, endpoints=("deepseek",)),
)

# ----------------------------------------------------------------------------------------------------------------------
# Kimi

_KIMI_THINKING: dict[str, Any] = {
    "thinks_by_default": True,
    "thinking": "effort",
    "thinking_off": "disabled",
    "reasoning_content": "required_on_tool_calls",
    "tool_choice_required": False,
    "tool_choice_named": False,
    "forced_with_thinking": False,
    "rejects": _SAMPLING,
    "context_window": 262_144,
}

_KIMI_ROWS = (
    ModelRow(
        "kimi-k3",
        ("kimi-k3",),
        f"{_KIMI}/use-kimi-k3-thinking-model",
        facts=_KIMI_THINKING
        | {"reasoning_dial": "kimi_effort", "thinking_off": "never", "effort_levels": ("low", "high", "max")},
        apis=_CHAT,
        endpoints=_MOONSHOT,
    ),
    ModelRow(
        "kimi-k2.7-code",
        ("kimi-k2.7-code", "kimi-k2-thinking", "kimi-thinking"),
        f"{_KIMI}/use-kimi-k2-thinking-model",
        facts=_KIMI_THINKING | {"reasoning_dial": "none", "thinking_off": "never"},
        apis=_CHAT,
        endpoints=_MOONSHOT,
    ),
    ModelRow(
        "kimi-k2",
        ("kimi-k2", "moonshot-v1*"),
        f"{_KIMI}/use-kimi-api-to-complete-tool-calls",
        facts={"json_object": True},
        apis=_CHAT,
        endpoints=_MOONSHOT,
    ),
    ModelRow(
        "kimi-k2.5",
        ("kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi"),
        f"{_KIMI}/use-kimi-k2-5-thinking-model; error text: invalid temperature",
        facts=_KIMI_THINKING | {"reasoning_dial": "kimi", "vision": True},
        apis=_CHAT,
        endpoints=_MOONSHOT,
    ),
)

# ----------------------------------------------------------------------------------------------------------------------
# Qwen

_HYBRID: dict[str, Any] = {
    "thinking": "budget",
    "thinking_off": "disabled",
    "thinking_requires_stream": True,
    "max_output": 65_536,
}

_QWEN_ROWS = (
    ModelRow(
        "qwen-instruct",
        ("qwen3-*instruct*", "qwen3-coder*", "qwen2*", "qwen-vl*", "qwen-coder*", "qwen-max"),
        _QWEN,
        facts={"thinking": "none", "reasoning_dial": "none"},
        apis=_CHAT,
        endpoints=("dashscope",),
    ),
    ModelRow(
        "qwen-thinking",
        ("qwen3-*thinking*", "qwq*", "qvq*"),
        _QWEN,
        facts=_HYBRID | {"thinking_off": "never", "thinks_by_default": True},
        apis=_CHAT,
        endpoints=("dashscope",),
    ),
    ModelRow(
        "qwen-commercial",
        ("qwen3-max*", "qwen-plus", "qwen-flash", "qwen-turbo", "qwen3.*-plus", "qwen3.*-flash", "qwen3.*-max"),
        _QWEN,
        facts=_HYBRID,
        apis=_CHAT,
        endpoints=("dashscope",),
    ),
    ModelRow(
        "qwen3",
        ("qwen*",),
        _QWEN,
        facts=_HYBRID | {"thinks_by_default": True},
        apis=_CHAT,
        endpoints=("dashscope",),
    ),
    ModelRow(
        "qwen-openrouter",
        ("qwen*",),
        "https://openrouter.ai/docs/features/prompt-caching",
        facts={"cache": "envelope", "cache_ttls": ("5m",)},
        apis=_CHAT,
        endpoints=("openrouter",),
    ),
)

# ----------------------------------------------------------------------------------------------------------------------
# GLM, MiniMax and templates of vLLM

_GLM = "https://docs.z.ai/guides/capabilities/thinking-mode"
_TEMPLATES = "https://docs.vllm.ai/en/stable/features/reasoning_outputs"
_SERVERS = ("vllm", "sglang")

_REST = (
    ModelRow(
        "glm-4",
        ("glm-4", "glm-4-*", "glm-3*"),
        _GLM,
        facts={"reasoning_dial": "none"},
        apis=_CHAT,
        endpoints=("zai",),
    ),
    ModelRow(
        "glm-4.5",
        ("glm*",),
        _GLM,
        facts={"thinking": "effort", "thinking_off": "disabled", "thinks_by_default": True, "reasoning_dial": "glm"},
        apis=_CHAT,
        endpoints=("zai",),
    ),
    ModelRow(
        "minimax-m2",
        ("minimax-m2*",),
        "https://platform.minimax.io/docs/guides/text-m2-function-call",
        facts={"thinks_by_default": True, "thinking_off": "never", "thinking": "adaptive", "max_output": 131_072},
        endpoints=("minimax",),
    ),
    ModelRow(
        "minimax",
        ("minimax*",),
        "https://platform.minimax.io/docs/api-reference/text-openai-api",
        facts={"thinks_by_default": True, "thinking_off": "disabled", "thinking": "adaptive", "max_output": 131_072},
        endpoints=("minimax",),
    ),
    ModelRow(
        "granite",
        ("granite*", "deepseek-v3.1*", "deepseek-v3.2*", "deepseek-v4*"),
        _TEMPLATES,
        facts={"template_switch": "thinking", "thinking": "effort", "thinking_off": "disabled"},
        apis=_CHAT,
        endpoints=_SERVERS,
    ),
    ModelRow(
        "qwen-template",
        ("qwen3*", "glm-4.5*", "glm-4.6*", "glm-4.7*", "glm-5*"),
        _TEMPLATES,
        facts={"thinking": "effort", "thinking_off": "disabled", "thinks_by_default": True},
        apis=_CHAT,
        endpoints=_SERVERS,
    ),
)

OTHER_ROWS: tuple[ModelRow, ...] = (*_DEEPSEEK_ROWS, *_KIMI_ROWS, *_QWEN_ROWS, *_REST)
"""In the order in which they are tried."""
