"""Whose key goes where: the environment variables of keys, and the addresses a provider's name stands for.

A key is looked up by the endpoint that is talked to, so that one vendor's key is never sent to another. Names of
variables are those of the vendors' own documentation and SDKs.
"""

from __future__ import annotations

import os
import threading
import weakref

from llmneutral.errors import ConfigurationError
from llmneutral.profiles.hosts import OFFICIAL_URLS, find_endpoint, is_private, read_address

KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "cohere": ("CO_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "kimi-coding": ("KIMI_API_KEY",),
    "minimax": ("MINIMAX_API_KEY",),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "perplexity": ("PERPLEXITY_API_KEY",),
    "huggingface": ("HF_TOKEN",),
}
"""By the id of `profiles.hosts.find_endpoint`; the first that is set counts."""

ADDRESSES: dict[str, dict[str, str]] = {
    "deepseek": {
        "chat_completions": "https://api.deepseek.com",
        "anthropic_messages": "https://api.deepseek.com/anthropic",
    },
    "moonshot": {
        "chat_completions": "https://api.moonshot.ai/v1",
        "anthropic_messages": "https://api.moonshot.ai/anthropic",
    },
    "kimi-coding": {"anthropic_messages": "https://api.kimi.com/coding"},
    "minimax": {
        "chat_completions": "https://api.minimax.io/v1",
        "anthropic_messages": "https://api.minimax.io/anthropic",
    },
    "dashscope": {
        "chat_completions": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "anthropic_messages": "https://dashscope-intl.aliyuncs.com/apps/anthropic",
    },
    "openrouter": {
        "chat_completions": "https://openrouter.ai/api/v1",
        "codex_responses": "https://openrouter.ai/api/v1",
        "anthropic_messages": "https://openrouter.ai/api",
    },
    "groq": {
        "chat_completions": "https://api.groq.com/openai/v1",
        "codex_responses": "https://api.groq.com/openai/v1",
    },
    "xai": {"chat_completions": OFFICIAL_URLS["xai"], "codex_responses": OFFICIAL_URLS["xai"]},
    "mistral": {"chat_completions": OFFICIAL_URLS["mistral"]},
    "gemini": {"chat_completions": "https://generativelanguage.googleapis.com/v1beta/openai"},
    "cohere": {"chat_completions": "https://api.cohere.ai/compatibility/v1"},
    "zai": {
        "chat_completions": "https://api.z.ai/api/paas/v4",
        "anthropic_messages": "https://api.z.ai/api/anthropic",
    },
    "together": {"chat_completions": "https://api.together.xyz/v1"},
    "fireworks": {"chat_completions": "https://api.fireworks.ai/inference/v1"},
    "cerebras": {"chat_completions": "https://api.cerebras.ai/v1"},
    "perplexity": {"chat_completions": "https://api.perplexity.ai"},
    "huggingface": {"chat_completions": "https://router.huggingface.co/v1"},
    "ollama": {
        "chat_completions": "http://localhost:11434/v1",
        "codex_responses": "http://localhost:11434/v1",
        "anthropic_messages": "http://localhost:11434",
    },
    "vllm": {"chat_completions": "http://localhost:8000/v1", "codex_responses": "http://localhost:8000/v1"},
    "lmstudio": {"chat_completions": "http://localhost:1234/v1", "codex_responses": "http://localhost:1234/v1"},
    "llamacpp": {"chat_completions": "http://localhost:8080/v1", "anthropic_messages": "http://localhost:8080"},
}
"""Where a provider is that is named without an address, by endpoint and API mode."""


def key_in(variable: str) -> str | None:
    """Returns the key that an environment variable holds at this moment; blanks are none."""
    return os.environ.get(variable, "").strip() or None


class ApiKey:
    """The key of an endpoint: the one that was given, else the environment's at the moment of the call.

    Its value stands in no repr; `str` says whether there is one.

    Args:
        given: The key, where the caller gave it.
        variables: Environment variables that may hold it.
    """

    def __init__(self, given: str | None, variables: tuple[str, ...]) -> None:
        self._given = (given or "").strip() or None
        self.variables = variables
        if self._given:
            with _LOCK:
                _GIVEN.add(self)

    @property
    def given(self) -> str | None:
        """The key that the caller gave, if it did."""
        return self._given

    @property
    def name(self) -> str | None:
        """The variables' names, for messages."""
        return " or ".join(self.variables) or None

    def read(self) -> str | None:
        """Returns the key of this moment, or None.

        Raises:
            ConfigurationError: If it holds a sign that no header can carry (a line end, a typographic dash).
        """
        found = self._found()
        if found is not None and not (found.isascii() and found.isprintable()):
            raise ConfigurationError(
                f"the key ({self.name or 'api_key='}) holds a sign that no key has",
                hint="Copy it once more, by itself.",
            )
        return found

    @property
    def is_set(self) -> bool:
        """Whether there is one at this moment."""
        return self._found() is not None

    def _found(self) -> str | None:
        values = [value for name in self.variables if (value := key_in(name))]
        return self._given or (values[0] if values else None)

    def require(self, who: str, provider: str | None) -> None:
        """Raises where there is none.

        Raises:
            ConfigurationError: If so, naming the variable.
        """
        if not self.read():
            raise ConfigurationError(
                f"{who} has no key: {f'{self.name} is not set' if self.name else 'give api_key='}",
                provider=provider,
                hint=f"Set {self.name or 'api_key='}, or use a driver that needs none (LocalDriversConfig).",
            )

    def __repr__(self) -> str:
        return "key set" if self.is_set else "key not set"


_GIVEN: weakref.WeakSet[ApiKey] = weakref.WeakSet()
_LOCK = threading.Lock()


def given_keys() -> frozenset[str]:
    """Returns the keys that were given in code to drivers that are still there.

    They stand in no environment: whoever shows or keeps texts must know them, to leave them out. It is for that only.
    Those of the environment are told by name: `key_variables`.
    """
    with _LOCK:
        return frozenset([key.given for key in _GIVEN if key.given])


def key_variables_of(provider: str | None, base_url: str | None, own: str | None) -> tuple[str, ...]:
    """Returns the environment variables that may hold the key of an endpoint.

    Args:
        provider: The provider's name.
        base_url: The address.
        own: The variable of the vendor whose SDK is used: it counts for addresses that nobody knows (a relay).
    """
    endpoint = find_endpoint(provider, base_url)
    if endpoint in KEY_VARIABLES:
        return KEY_VARIABLES[endpoint]
    return () if own is None or endpoint is not None or is_local(base_url) else (own,)


def address_of(provider: str | None, api: str) -> str | None:
    """Returns the address a provider's name stands for behind an API, or None."""
    endpoint = find_endpoint(provider, None)
    return ADDRESSES.get(endpoint or "", {}).get(api)


def is_local(base_url: str | None) -> bool:
    """Tells whether an address is this machine or in a network of one's own: a server there may need no key."""
    host = read_address(base_url).host
    return bool(host) and is_private(host)
