"""OpenAI and everything that speaks its APIs: Responses and Chat Completions, Azure too.

Docs: developers.openai.com/api/docs/guides/migrate-to-responses, developers.openai.com/api/docs/api-reference
"""

from __future__ import annotations

from typing import Any

from llmneutral.drivers.importing import sdk
from llmneutral.drivers.keys import is_local
from llmneutral.drivers.sdk_http import Headers, HttpPromptDriver
from llmneutral.errors import ConfigurationError
from llmneutral.profiles.hosts import read_address

OFFICIAL = "api.openai.com"
OWN_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


class OpenAiHttpDriver(HttpPromptDriver):
    """The `openai` SDK as the wire of a driver."""

    sdk = "openai"
    client_name = "OpenAI"
    async_client_name = "AsyncOpenAI"
    address_variable = "OPENAI_BASE_URL"
    key_variable: str | None = "OPENAI_API_KEY"

    def client_headers(self) -> Headers:
        """The organisation and project that the environment may name are OpenAI's business alone."""
        if read_address(self.client_base_url()).host in ("", OFFICIAL):
            return super().client_headers()
        return {**dict.fromkeys(OWN_HEADERS, sdk(self.sdk).Omit()), **super().client_headers()}

    def require_model(self, model: str | None) -> None:
        """A server on this machine may have one model alone, and a client of the caller's (Azure's) one deployment."""
        clients = [client for client in (self._client, self._async_client) if client is not None]
        if is_local(self.base_url) or any(not self.is_plain(client) for client in clients):
            return
        super().require_model(model)


class OpenAiResponsesPromptDriver(OpenAiHttpDriver):
    """OpenAI's Responses API: the one OpenAI's models are to be called by."""

    def __init__(self, model: str | None = None, **options: Any) -> None:
        super().__init__(model, **{"api_mode": "codex_responses", **_at_home(options)})


class OpenAiChatPromptDriver(OpenAiHttpDriver):
    """Chat Completions, of OpenAI or of any server that imitates it."""

    def __init__(self, model: str | None = None, **options: Any) -> None:
        super().__init__(model, **{"api_mode": "chat_completions", **_at_home(options)})


class OwnServerPromptDriver(OpenAiChatPromptDriver):
    """Chat Completions of a server of one's own (Ollama, vLLM, LM Studio …): no vendor's key is ever sent to it."""

    key_variable = None
    needs_key = False
    needs_model = False


class AzureOpenAiPromptDriver(OpenAiHttpDriver):
    """Azure OpenAI by its `/openai/v1` address, which needs no API version.

    Args:
        azure_endpoint: `https://NAME.openai.azure.com`.
        deployment: Name of the deployment: it stands where others have the model.
        **options: As for `BasePromptDriver`. A token of Entra as `api_key` needs `facts={"auth_header": "bearer"}`.

    Docs: learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
    """

    key_variable = "AZURE_OPENAI_API_KEY"

    def __init__(self, azure_endpoint: str, deployment: str, **options: Any) -> None:
        if not azure_endpoint or not deployment:
            raise ConfigurationError(
                "Azure OpenAI needs azure_endpoint='https://NAME.openai.azure.com' and deployment='NAME'"
            )
        base_url = azure_endpoint.rstrip("/").removesuffix("/openai/v1") + "/openai/v1"
        super().__init__(
            deployment, **{"provider": "azure", "api_mode": "chat_completions", "base_url": base_url, **options}
        )


def _at_home(options: dict[str, Any]) -> dict[str, Any]:
    """At OpenAI itself unless another address is given."""
    return options if options.get("base_url") or options.get("provider") else {**options, "provider": "openai"}
