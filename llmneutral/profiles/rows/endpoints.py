"""What an endpoint does, whatever the model."""

from __future__ import annotations

from llmneutral.profiles.rows.row import EndpointRow

_RECORDED = "recorded traffic"

_KIMI_MESSAGES = {
    "reasoning_replay": "keep_all",
    "thinking_required_on_tool_calls": True,
    "thinking": "adaptive",
    "thinking_off": "disabled",
    "effort_levels": ("low", "high", "max"),
}

_LOCAL_GRAMMAR = {"native_json_schema": True, "json_grammar": "llguidance"}

ENDPOINT_ROWS: dict[str, EndpointRow] = {
    "openai": EndpointRow(
        source="https://developers.openai.com/api/docs/guides/prompt-caching; types of openai 3",
        facts={"cache": "key", "top_k": False},
        by_api={
            "chat_completions": {
                "max_tokens_field": "max_completion_tokens",
                "reasoning_dial": "openai",
                "native_json_schema": True,
            }
        },
    ),
    "azure": EndpointRow(
        source="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
        facts={"top_k": False, "auth_header": "api-key"},
        by_api={
            "chat_completions": {
                "max_tokens_field": "max_completion_tokens",
                "reasoning_dial": "openai",
                "native_json_schema": True,
            },
            "codex_responses": {"reasoning_replay": "native_last"},
            "anthropic_messages": {"reasoning_replay": "native", "auth_header": "both"},
        },
    ),
    "codex": EndpointRow(
        source="https://github.com/openai/codex (codex-rs/core/src/client.rs)",
        facts={"max_tokens_accepted": False, "instructions_required": True, "typed_input": True, "item_ids": False}
        | {"cache": "key"},
    ),
    "copilot": EndpointRow(
        source="error text; https://docs.github.com/copilot/reference/ai-models/supported-models",
        facts={"item_ids": False, "cache": "none"},
        by_api={
            "chat_completions": {"max_tokens_field": "max_completion_tokens", "reasoning_dial": "openai"},
            "codex_responses": {"encrypted_reasoning": False},
        },
    ),
    "github": EndpointRow(
        source="https://docs.github.com/rest/models/inference", facts={"top_k": False, "native_json_schema": True}
    ),
    "anthropic": EndpointRow(
        source="https://platform.claude.com/docs/en/api/versioning; "
        "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking",
        by_api={
            "anthropic_messages": {
                "reasoning_replay": "native",
                "auth_header": "bearer",
                "api_version": "2026-10-21",
                "cache_ttls": ("5m", "1h"),
            }
        },
    ),
    "bedrock": EndpointRow(
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html",
        by_api={
            "chat_completions": {"auth_header": "bearer"},
            "anthropic_messages": {"reasoning_replay": "native", "auth_header": "bearer"},
        },
    ),
    "bedrock-mantle": EndpointRow(
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html",
        by_api={
            "anthropic_messages": {"reasoning_replay": "native", "auth_header": "both"},
            "codex_responses": {"reasoning_summary": False},
        },
    ),
    "gemini": EndpointRow(
        source="https://ai.google.dev/gemini-api/docs/openai; https://ai.google.dev/gemini-api/docs/api-versions",
        by_api={
            "gemini_native": {"api_version": "v1beta"},
            "chat_completions": {"reasoning_dial": "gemini", "native_json_schema": True, "top_k": False},
        },
    ),
    "vertex": EndpointRow(
        source="https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
        facts={"auth_header": "bearer"},
        by_api={
            "gemini_native": {"api_version": "v1", "image_url": True},
            "chat_completions": {"reasoning_dial": "gemini", "native_json_schema": True, "top_k": False},
            "anthropic_messages": {"reasoning_replay": "native"},
        },
    ),
    "xai": EndpointRow(
        source=f"https://docs.x.ai/docs/api-reference; {_RECORDED}: completion_tokens leave reasoning out",
        facts={"top_k": False, "reserved_tool_names": ("web_search",), "enum_slash": False}
        | {"reasoning_summary": False, "native_json_schema": True},
        by_api={"chat_completions": {"usage_reasoning_outside": True}},
    ),
    "deepseek": EndpointRow(
        source="https://api-docs.deepseek.com/guides/thinking_mode; error text: unknown variant `developer`",
        facts={"native_json_schema": False, "json_object": True, "vision": False, "top_k": False},
        by_api={
            "chat_completions": {
                "string_content_only": True,
                "developer_role": False,
                "reasoning_dial": "deepseek",
                "reasoning_content": "optional",
            },
            "anthropic_messages": {
                "reasoning_replay": "keep_unsigned",
                "thinking": "effort",
                "thinking_off": "disabled",
                "effort_levels": ("low", "high", "max"),
                "cache": "none",
            },
        },
    ),
    "moonshot": EndpointRow(
        source="https://platform.moonshot.ai/docs/api/chat; error text",
        facts={"schema": "kimi", "strict_tools": False, "top_k": False, "prefill_field": "partial"},
        by_api={
            "chat_completions": {"max_tokens_field": "max_completion_tokens"},
            "anthropic_messages": _KIMI_MESSAGES | {"prefill_field": None},
        },
    ),
    "kimi-coding": EndpointRow(
        source="https://www.kimi.com/code/docs/; error text: thinking is enabled but reasoning content is missing",
        facts={"schema": "kimi", "strict_tools": False},
        by_api={
            "chat_completions": {"max_tokens_field": "max_completion_tokens"},
            "anthropic_messages": _KIMI_MESSAGES,
        },
    ),
    "minimax": EndpointRow(
        source="https://platform.minimax.io/docs/api-reference/text-anthropic-api; "
        "https://platform.minimax.io/docs/api-reference/text-openai-api",
        facts={"native_json_schema": False, "max_output": 131_072},
        by_api={
            "chat_completions": {
                "max_tokens_field": "max_completion_tokens",
                "reasoning_dial": "minimax",
                "reasoning_field": "reasoning_details",
                "reasoning_content": "optional",
            },
            "anthropic_messages": {
                "reasoning_replay": "keep_all",
                "thinking": "adaptive",
                "thinking_off": "disabled",
                "thinks_by_default": True,
            },
        },
    ),
    "dashscope": EndpointRow(
        source="https://www.alibabacloud.com/help/en/model-studio/deep-thinking; "
        "https://www.alibabacloud.com/help/en/model-studio/context-cache",
        facts={"cache_ttls": ("5m",), "forced_with_thinking": False, "native_json_schema": False},
        by_api={
            "chat_completions": {
                "cache": "envelope",
                "system_first_only": True,
                "reasoning_dial": "qwen",
                "reasoning_content": "optional",
                "json_object": True,
            },
            "anthropic_messages": {"thinking": "budget", "cache": "ephemeral"},
        },
    ),
    "zai": EndpointRow(
        source="https://docs.z.ai/guides/capabilities/thinking; https://docs.z.ai/guides/capabilities/struct-output",
        facts={"native_json_schema": False, "json_object": True, "top_k": False},
        by_api={"chat_completions": {"reasoning_content": "optional"}},
    ),
    "mimo": EndpointRow(
        source=f"https://platform.xiaomimimo.com/#/docs; {_RECORDED}",
        by_api={
            "chat_completions": {
                "reasoning_content": "required_on_tool_calls",
                "reasoning_dial": "glm",
                "max_tokens_field": "max_completion_tokens",
            }
        },
    ),
    "openrouter": EndpointRow(
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens; https://openrouter.ai/docs/features/prompt-caching",
        by_api={
            "chat_completions": {
                "reasoning_dial": "openrouter",
                "reasoning_content": "optional",
                "reasoning_field": "reasoning_details",
                "effort_levels": ("none", "minimal", "low", "medium", "high", "xhigh"),
            },
            "anthropic_messages": {"reasoning_replay": "native"},
        },
    ),
    "litellm": EndpointRow(
        source="https://docs.litellm.ai/docs/reasoning_content",
        by_api={
            "chat_completions": {
                "reasoning_dial": "openai",
                "effort_levels": ("none", "minimal", "low", "medium", "high", "xhigh"),
            },
            "anthropic_messages": {"reasoning_replay": "native"},
        },
    ),
    "groq": EndpointRow(
        source="https://console.groq.com/docs/openai; error text: property is unsupported",
        facts={"top_k": False, "cache": "none"},
        by_api={"chat_completions": {"max_tokens_field": "max_completion_tokens"}},
    ),
    "cerebras": EndpointRow(
        source="https://inference-docs.cerebras.ai/api-reference/chat-completions",
        facts={"top_k": False, "native_json_schema": True},
        by_api={"chat_completions": {"max_tokens_field": "max_completion_tokens", "string_content_only": True}},
    ),
    "perplexity": EndpointRow(
        source=f"https://docs.perplexity.ai/api-reference/chat-completions-post; {_RECORDED}",
        facts={"alternate_roles": True, "native_json_schema": True, "json_object": False},
    ),
    "together": EndpointRow(source="https://docs.together.ai/docs/json-mode", facts={"native_json_schema": True}),
    "fireworks": EndpointRow(
        source="https://docs.fireworks.ai/structured-responses/structured-response-formatting",
        facts={"native_json_schema": True},
    ),
    "vllm": EndpointRow(
        source="https://docs.vllm.ai/en/stable/features/reasoning_outputs; "
        "https://docs.vllm.ai/en/stable/features/structured_outputs",
        facts={"native_json_schema": True},
        by_api={
            "chat_completions": {
                "reasoning_dial": "vllm",
                "reasoning_field": "reasoning",
                "reasoning_content": "optional",
            }
        },
    ),
    "sglang": EndpointRow(
        source="https://docs.sglang.io/advanced_features/separate_reasoning.html",
        facts={"native_json_schema": True},
        by_api={"chat_completions": {"reasoning_dial": "vllm", "reasoning_content": "optional"}},
    ),
    "ollama": EndpointRow(
        source="https://docs.ollama.com/api/openai-compatibility",
        facts={"native_json_schema": True, "top_k": False, "image_url": False},
        by_api={
            "chat_completions": {
                "reasoning_dial": "ollama",
                "reasoning_field": "reasoning",
                "effort_levels": ("none", "low", "medium", "high"),
            }
        },
    ),
    "lmstudio": EndpointRow(
        source="https://lmstudio.ai/docs/developer/openai-compat/structured-output",
        facts={"native_json_schema": True, "json_object": False},
    ),
    "llamacpp": EndpointRow(
        source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; error text",
        facts={"native_json_schema": True, "schema": "portable", "schema_drops": ("pattern", "format")},
        by_api={"chat_completions": {"reasoning_dial": "vllm", "reasoning_content": "optional"}},
    ),
    "local": EndpointRow(
        source="measured: the embedded model behind llama.cpp 2026.10",
        facts={
            "context_window": 8_192,
            "vision": False,
            "audio_in": False,
            "documents": False,
            "schema": "portable",
            "schema_drops": ("pattern", "format"),
            "json_with_tools": False,
            "tool_choice_named": False,
            "tool_choice_none": False,
            "prefill": False,
            "reasoning_replay": "keep_all",
            "cache": "none",
            "auth_header": "bearer",
        },
        by_api={
            # The Messages endpoint drops the field `grammar` in silence.
            "chat_completions": _LOCAL_GRAMMAR
            | {"reasoning_dial": "vllm", "template_switch": "enable_thinking", "reasoning_content": "optional"},
            "codex_responses": _LOCAL_GRAMMAR
            | {"encrypted_reasoning": False, "effort_levels": (), "thinking": "none", "top_k": True},
            "anthropic_messages": {"native_json_schema": False, "thinking": "none"},
        },
    ),
}
"""By the id of `hosts.find_endpoint`. Endpoints without a row take the defaults of their API."""
