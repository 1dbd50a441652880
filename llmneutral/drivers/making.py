"""Which driver class speaks an API mode: one table, its modules loaded at first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from llmneutral.drivers.base import BasePromptDriver
from llmneutral.errors import ConfigurationError
from llmneutral.resolve import canonical_api_mode

DRIVERS = {
    "chat_completions": "openai:OpenAiChatPromptDriver",
    "codex_responses": "openai:OpenAiResponsesPromptDriver",
    "anthropic_messages": "anthropic:AnthropicPromptDriver",
    "bedrock_converse": "bedrock:BedrockPromptDriver",
    "gemini_native": "google:GooglePromptDriver",
    "cohere_chat": "cohere:CoherePromptDriver",
    "mistral_chat": "mistral:MistralPromptDriver",
    "codex_app_server": "codex:CodexAppServerPromptDriver",
}


def make_driver(
    api: str,
    *,
    model: str | None,
    base_url: str | None = None,
    api_key: str | None = None,
    provider: str | None = None,
    facts: Mapping[str, Any] | None = None,
    max_attempts: int = 3,
    **params: Any,
) -> BasePromptDriver:
    """Returns a driver for an endpoint that speaks an API mode.

    Args:
        api: API mode or an alias.
        model: Model to ask for.
        base_url: Address; the vendor's own unless given.
        api_key: Key; the vendor's environment variable counts unless given.
        provider: Name of the provider, for its facts.
        facts: Overrides of the model's profile.
        max_attempts: Most requests of one call.
        **params: Neutral settings and further options of the driver.

    Raises:
        ConfigurationError: If the mode is unknown or has no driver.
    """
    mode = canonical_api_mode(api)
    if mode not in DRIVERS:
        raise ConfigurationError(f"no driver for the API mode {mode!r}; known: {', '.join(DRIVERS)}")
    made: BasePromptDriver = driver_class(DRIVERS[mode])(
        model,
        api_mode=mode,
        base_url=base_url,
        api_key=api_key,
        provider=provider,
        facts=facts,
        max_attempts=max_attempts,
        **params,
    )
    return made


def driver_class(place: str) -> Any:
    """Returns the class at `module:Name` of this package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"llmneutral.drivers.{module}"), name)
