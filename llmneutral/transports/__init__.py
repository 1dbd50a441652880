"""The dialects: one file per API mode, made of tables and small functions; pure.

The built-in table: API mode → module and name of its transport. A module is imported at the first use
of its mode.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import cast

from llmneutral.convert.registry import get_transport, register_transport, registered
from llmneutral.convert.transport import Transport

BUILT_IN = {
    "chat_completions": "CHAT_COMPLETIONS",
    "codex_responses": "RESPONSES",
    "anthropic_messages": "MESSAGES",
    "bedrock_converse": "CONVERSE",
    "gemini_native": "GEMINI",
    "mistral_chat": "MISTRAL",
    "cohere_chat": "COHERE",
}


def _load(api_mode: str) -> Transport:
    return cast("Transport", getattr(import_module(f"{__name__}.{api_mode}"), BUILT_IN[api_mode]))


for _mode in BUILT_IN:
    register_transport(_mode, partial(_load, _mode))

__all__ = ["BUILT_IN", "get_transport", "register_transport", "registered"]
