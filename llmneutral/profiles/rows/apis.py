"""The defaults of each API mode."""

from __future__ import annotations

from llmneutral.profiles.rows.row import ApiRow

_COMMON_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")

EVERY_EFFORT = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Of a model that is not known: whatever is asked is sent."""

API_ROWS: dict[str, ApiRow] = {
    "chat_completions": ApiRow(
        source="https://platform.openai.com/docs/api-reference/chat; types of openai 3: CompletionCreateParams",
        endpoint="openai",
        facts={"max_stop": 4, "tool_name_max": 64, "image_types": _COMMON_IMAGES, "json_object": True},
    ),
    "codex_responses": ApiRow(
        source="https://platform.openai.com/docs/api-reference/responses; types of openai 3: ResponseCreateParams",
        endpoint="openai",
        facts={
            "max_stop": 0,
            "tool_name_max": 64,
            "image_types": _COMMON_IMAGES,
            "top_k": False,
            "thinking": "effort",
            "effort_levels": EVERY_EFFORT,
            "reasoning_replay": "native",
            "native_json_schema": True,
            "json_object": True,
            "developer_role": True,
        },
    ),
    "anthropic_messages": ApiRow(
        source="https://platform.claude.com/docs/en/api/messages; types of anthropic 2: MessageCreateParams; "
        "https://platform.claude.com/docs/en/api/versioning",
        endpoint="anthropic",
        facts={
            "tool_name_max": 128,
            "leading_user": True,
            "image_types": _COMMON_IMAGES,
            # A third party's model that is asked to think: the oldest form is the one they imitate.
            "thinking": "budget",
            "forced_with_thinking": False,
            "reasoning_replay": "own_only",
            "cache": "ephemeral",
            "auth_header": "both",
            "api_version": "2023-06-01",
        },
    ),
    "gemini_native": ApiRow(
        source="https://ai.google.dev/api/generate-content; types of google-genai 3: GenerateContentConfig, "
        "FunctionDeclaration, Schema",
        endpoint="gemini",
        facts={
            "max_stop": 5,
            "tool_name_max": 128,
            "leading_user": True,
            "prefill": False,
            "thinking": "level",
            "thinking_off": "never",
            "effort_levels": ("minimal", "low", "medium", "high", "xhigh"),
            "reasoning_replay": "native",
            "strict_tools": False,
            "schema": "openapi",
            "native_json_schema": True,
            "json_object": True,
            "image_url": False,
            "auth_header": "x-goog-api-key",
            "api_version": "v1beta",
        },
    ),
    "bedrock_converse": ApiRow(
        source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; "
        "botocore 1.44, bedrock-runtime 2023-09-30",
        endpoint="bedrock",
        facts={
            "max_stop": 2500,
            "tool_name_max": 64,
            "alternate_roles": True,
            "leading_user": True,
            "top_k": False,
            "tool_choice_none": False,
            "reasoning_replay": "native",
            "image_types": _COMMON_IMAGES,
            "image_url": False,
            "auth_header": "aws",
        },
    ),
    "cohere_chat": ApiRow(
        source="https://docs.cohere.com/reference/chat; types of cohere 7: V2ChatRequest",
        endpoint="cohere",
        facts={
            "max_stop": 5,
            "tool_name_max": 64,
            "leading_user": True,
            "prefill": False,
            "tool_choice_named": False,
            "native_json_schema": True,
            "json_object": True,
            "json_with_tools": False,
            "image_types": _COMMON_IMAGES,
        },
    ),
    "mistral_chat": ApiRow(
        source="https://docs.mistral.ai/api; types of mistralai 3: ChatCompletionRequest; mistral-common validators",
        endpoint="mistral",
        facts={
            "tool_name_max": 64,
            "leading_user": True,
            "prefill": True,
            "prefill_field": "prefix",
            "native_json_schema": True,
            "json_object": True,
            "image_types": _COMMON_IMAGES,
            "cache": "key",
            "effort_levels": EVERY_EFFORT,
            "thinking": "effort",
        },
    ),
}
"""By API mode, what every model behind it has in common. Modes of third parties take the defaults of `Profile`."""
