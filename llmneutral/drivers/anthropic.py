"""Anthropic's Messages API, of Anthropic or of any server that imitates it.

Docs: platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from typing import Any

from llmneutral.drivers.sdk_http import HttpPromptDriver
from llmneutral.profiles.hosts import read_address

OFFICIAL = "api.anthropic.com"


class AnthropicPromptDriver(HttpPromptDriver):
    """The `anthropic` SDK as the wire of a driver."""

    sdk = "anthropic"
    client_name = "Anthropic"
    async_client_name = "AsyncAnthropic"
    address_variable = "ANTHROPIC_BASE_URL"
    key_variable: str | None = "ANTHROPIC_API_KEY"

    def __init__(self, model: str | None = None, **options: Any) -> None:
        at_home = (
            options if options.get("base_url") or options.get("provider") else {**options, "provider": "anthropic"}
        )
        super().__init__(model, **{"api_mode": "anthropic_messages", **at_home})

    def client_base_url(self) -> str | None:
        """The client appends `/v1/messages` itself, so a trailing `/v1` goes."""
        address = super().client_base_url()
        return None if address is None else address.rstrip("/").removesuffix("/v1")

    def auth_header(self) -> str:
        """The SDK sends a bearer token, which is all Anthropic wants; many imitators read only `X-Api-Key`."""
        host = read_address(self.client_base_url()).host
        return "bearer" if host in ("", OFFICIAL) else super().auth_header()
