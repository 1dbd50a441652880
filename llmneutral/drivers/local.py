"""LocalPromptDriver: the embedded model behind three protocols, through the official SDKs.

The model runs in a child process (`local_server`) on the loopback interface; it is small, made for trying
the plumbing and not for judging answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from llmneutral.convert.report import Change
from llmneutral.convert.transport import Conversion
from llmneutral.drivers.local_server import CLIENT_HEADERS, LocalServer, LocalSettings, shared_server
from llmneutral.drivers.sdk_http import HttpPromptDriver
from llmneutral.errors import ConfigurationError

PROTOCOLS = ("chat_completions", "codex_responses", "anthropic_messages")
FACTS: dict[str, Any] = {
    "tool_choice_named": False,
    "tool_choice_none": False,
    "json_with_tools": False,
    "vision": False,
    "audio_in": False,
    "documents": False,
    "context_window": 4096,
    "prefill": False,
    "cache": "none",
}
"""What the server can and cannot do: tried live, see the notes of `local_template`."""


class LocalPromptDriver(HttpPromptDriver):
    """The embedded model, or a GGUF of the user's.

    Args:
        model: Name shown for the model; its own unless given.
        api_mode: chat_completions, codex_responses or anthropic_messages.
        server: Settings of the server (path of a GGUF, context …).
    """

    needs_key = False

    def __init__(
        self,
        model: str | None = None,
        *,
        api_mode: str = "chat_completions",
        server: LocalSettings | None = None,
        facts: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model or "smollm2-135m-instruct", api_mode=api_mode, provider="local", facts=None, **options)
        if self.api_mode not in PROTOCOLS:
            raise ConfigurationError(f"the embedded model speaks {', '.join(PROTOCOLS)}; not {self.api_mode}")
        speaks_openai = self.api_mode != "anthropic_messages"
        self.sdk = "openai" if speaks_openai else "anthropic"
        self.client_name = "OpenAI" if speaks_openai else "Anthropic"
        self.async_client_name = f"Async{self.client_name}"
        own = {**FACTS, "native_json_schema": speaks_openai}
        if speaks_openai:
            own["json_grammar"] = "llguidance"
        self.facts = {**own, **(facts or {})}
        self._server_settings = server or LocalSettings()
        self._server: LocalServer | None = None

    def server(self) -> LocalServer:
        """Returns the running server; starts it, or starts it again, if it is not."""
        self._server = shared_server(self._server_settings)
        return self._server

    def client_options(self) -> dict[str, Any]:
        """The server's address and key of this moment; it may have been started anew."""
        server = self._server or self.server()
        return {
            "api_key": server.api_key,
            "base_url": server.openai_base_url if self.sdk == "openai" else server.base_url,
            "max_retries": 0,
            "default_headers": dict(CLIENT_HEADERS),
        }

    def http_client(self, module: Any, asynchronous: bool) -> Any:
        """A client that no proxy of the environment gets between."""
        kind = module.DefaultAsyncHttpxClient if asynchronous else module.DefaultHttpxClient
        return kind(trust_env=False)

    def send(self, conversion: Conversion) -> Any:
        """Starts the server if it has to, then sends."""
        self.server()
        return super().send(conversion)

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Starts the server if it has to, then opens the stream."""
        self.server()
        return super().open(conversion)

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`."""
        await asyncio.to_thread(self.server)
        return await super().asend(conversion)

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`."""
        await asyncio.to_thread(self.server)
        return await super().aopen(conversion)

    def convert(self, source: Any, **overrides: Any) -> Conversion:
        """As every driver's; a required call is made certain, as far as this server can."""
        return _forced(super().convert(source, **overrides))

    def hint(self, kind: str) -> str | None:
        """A small model has small limits."""
        if kind == "context_length_error":
            return "The embedded model holds about 4,000 tokens: shorten the conversation (`--new`), or use another driver."
        return super().hint(kind)


def _forced(conversion: Conversion) -> Conversion:
    """Where a call is required, the template begins it, so that this small model cannot fail to call."""
    choice = conversion.payload.get("tool_choice")
    if choice != "required" and not (isinstance(choice, dict) and choice.get("type") == "any"):
        return conversion
    extra = dict(conversion.payload.get("extra_body") or {})
    extra["chat_template_kwargs"] = {**extra.get("chat_template_kwargs", {}), "force_tool": True}
    if choice == "required":
        extra["parallel_tool_calls"] = False
    change = Change("local", "added", (), "tool_choice: the template begins the call (force_tool), so that one comes")
    payload = {**conversion.payload, "extra_body": extra}
    return msgspec.structs.replace(conversion, payload=payload, changes=(*conversion.changes, change))
