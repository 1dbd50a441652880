"""Which drivers are in effect: DriversConfig, a provider's set of drivers, and Defaults, the set in use."""

from __future__ import annotations

from llmneutral.configs.base import SLOTS, DriversConfig, Row, Status
from llmneutral.configs.defaults import Defaults
from llmneutral.configs.providers import (
    CONFIGS,
    AnthropicDriversConfig,
    AzureOpenAiDriversConfig,
    DashScopeDriversConfig,
    DeepSeekDriversConfig,
    DummyDriversConfig,
    GroqDriversConfig,
    KimiCodingDriversConfig,
    LocalDriversConfig,
    LocalServerDriversConfig,
    MiniMaxDriversConfig,
    MoonshotDriversConfig,
    OllamaDriversConfig,
    OpenAiChatDriversConfig,
    OpenAiDriversConfig,
    OpenRouterDriversConfig,
    ReplayDriversConfig,
    XAiDriversConfig,
    drivers_config,
    key_variables,
)

__all__ = [
    "CONFIGS",
    "SLOTS",
    "AnthropicDriversConfig",
    "AzureOpenAiDriversConfig",
    "DashScopeDriversConfig",
    "DeepSeekDriversConfig",
    "Defaults",
    "DriversConfig",
    "DummyDriversConfig",
    "GroqDriversConfig",
    "KimiCodingDriversConfig",
    "LocalDriversConfig",
    "LocalServerDriversConfig",
    "MiniMaxDriversConfig",
    "MoonshotDriversConfig",
    "OllamaDriversConfig",
    "OpenAiChatDriversConfig",
    "OpenAiDriversConfig",
    "OpenRouterDriversConfig",
    "ReplayDriversConfig",
    "Row",
    "Status",
    "XAiDriversConfig",
    "drivers_config",
    "key_variables",
]
