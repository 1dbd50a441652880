"""The configs of all providers, and the one table of their short names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from llmneutral.configs.base import SLOTS, DriversConfig, Row, Status
from llmneutral.drivers.aws import BEARER, credentials_are_set
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.keys import key_in
from llmneutral.drivers.making import driver_class
from llmneutral.errors import ConfigurationError
from llmneutral.resolve import API_MODE_ALIASES

CHAT, RESPONSES, MESSAGES = "chat_completions", "codex_responses", "anthropic_messages"
CHAT_DRIVER = "openai:OpenAiChatPromptDriver"
RESPONSES_DRIVER = "openai:OpenAiResponsesPromptDriver"
MESSAGES_DRIVER = "anthropic:AnthropicPromptDriver"
SERVER_DRIVER = "openai:OwnServerPromptDriver"


class OpenAiDriversConfig(DriversConfig):
    """OpenAI by its Responses API: what counts where nothing is configured."""

    row = Row("openai", RESPONSES_DRIVER, RESPONSES, "gpt-6-luna", "OPENAI_API_KEY", "openai")


class OpenAiChatDriversConfig(DriversConfig):
    """OpenAI by Chat Completions."""

    row = Row("openai-chat", CHAT_DRIVER, CHAT, "gpt-4.1", "OPENAI_API_KEY", "openai")


class AzureOpenAiDriversConfig(DriversConfig):
    """Azure OpenAI: needs `azure_endpoint` (or AZURE_OPENAI_ENDPOINT) and `deployment`."""

    row = Row("azure", "openai:AzureOpenAiPromptDriver", CHAT, None, "AZURE_OPENAI_API_KEY", "azure", all_modes=True)

    def __init__(self, azure_endpoint: str | None = None, deployment: str | None = None, **options: Any) -> None:
        super().__init__(**{**options, "azure_endpoint": azure_endpoint, "deployment": deployment})

    @property
    def model(self) -> str | None:
        """The deployment stands where others have the model."""
        return self._given.get("deployment")

    @property
    def azure_endpoint(self) -> str | None:
        """The address of the resource."""
        return self._given.get("azure_endpoint") or os.environ.get("AZURE_OPENAI_ENDPOINT")

    def problem(self) -> str | None:
        """Tells whether the resource and the deployment are named."""
        if not self.azure_endpoint:
            return "no azure_endpoint: give azure_endpoint=… or set AZURE_OPENAI_ENDPOINT"
        return None if self.model else "no deployment: give deployment=…"

    def _make_prompt_driver(self) -> BasePromptDriver:
        options = {name: value for name, value in self._given.items() if name not in ("azure_endpoint", "deployment")}
        made: BasePromptDriver = driver_class(self.row.driver)(self.azure_endpoint or "", self.model or "", **options)
        return made


class AnthropicDriversConfig(DriversConfig):
    """Anthropic by its Messages API."""

    row = Row(
        "anthropic", MESSAGES_DRIVER, MESSAGES, "claude-sonnet-5-5", "ANTHROPIC_API_KEY", "anthropic", sdk="anthropic"
    )


class GoogleDriversConfig(DriversConfig):
    """Google's Gemini by its own API; GOOGLE_API_KEY counts where GEMINI_API_KEY is not set."""

    row = Row(
        "google", "google:GooglePromptDriver", "gemini_native", "gemini-3.8-flash", "GEMINI_API_KEY", "gemini",
        sdk="google.genai", extra="google",
    )  # fmt: skip

    def status(self) -> Status:
        """Tells what the config could do now, without importing an SDK."""
        found = super().status()
        return msgspec.structs.replace(found, key_set=found.key_set or bool(key_in("GOOGLE_API_KEY")))


class AmazonBedrockDriversConfig(DriversConfig):
    """Amazon Bedrock by Converse, with the credentials of AWS's own chain.

    Args:
        region: Region; the session's, or AWS_REGION, unless given.
        session: A `boto3.Session`.
        **options: As for `DriversConfig`.
    """

    row = Row(
        "bedrock", "bedrock:BedrockPromptDriver", "bedrock_converse", "us.anthropic.claude-sonnet-5-5-v1:0", BEARER,
        "bedrock", sdk="boto3", extra="bedrock",
    )  # fmt: skip

    def __init__(self, region: str | None = None, session: Any = None, **options: Any) -> None:
        super().__init__(**{**options, "region": region, "session": session})

    def status(self) -> Status:
        """Tells what the config could do now, without importing an SDK; a role of this machine is not looked for."""
        found, has_session = super().status(), self._given.get("session") is not None
        key_set = found.key_set or has_session or credentials_are_set()
        return msgspec.structs.replace(found, key_set=key_set, key_words="AWS credentials")


class CohereDriversConfig(DriversConfig):
    """Cohere by its Chat v2."""

    row = Row(
        "cohere", "cohere:CoherePromptDriver", "cohere_chat", "command-a-plus-05-2026", "CO_API_KEY", "cohere",
        sdk="cohere", extra="cohere",
    )  # fmt: skip


class MistralDriversConfig(DriversConfig):
    """Mistral by its own Chat."""

    row = Row(
        "mistral", "mistral:MistralPromptDriver", "mistral_chat", "mistral-large-latest", "MISTRAL_API_KEY", "mistral",
        sdk="mistralai", extra="mistral",
    )  # fmt: skip


class DeepSeekDriversConfig(DriversConfig):
    """DeepSeek by Chat Completions; `api_mode="anthropic_messages"` is served as well."""

    row = Row("deepseek", CHAT_DRIVER, CHAT, "deepseek-v4-flash", "DEEPSEEK_API_KEY", "deepseek")


class MoonshotDriversConfig(DriversConfig):
    """Moonshot's Kimi by Chat Completions."""

    row = Row("moonshot", CHAT_DRIVER, CHAT, "kimi-k2.6", "MOONSHOT_API_KEY", "moonshot")


class DashScopeDriversConfig(DriversConfig):
    """Alibaba's Qwen by Chat Completions, at the international address."""

    row = Row("dashscope", CHAT_DRIVER, CHAT, "qwen3.8-max", "DASHSCOPE_API_KEY", "dashscope")


class OpenRouterDriversConfig(DriversConfig):
    """OpenRouter by Chat Completions: name the model as it lists it, `vendor/model`."""

    row = Row("openrouter", CHAT_DRIVER, CHAT, None, "OPENROUTER_API_KEY", "openrouter")


class GroqDriversConfig(DriversConfig):
    """Groq by Chat Completions."""

    row = Row("groq", CHAT_DRIVER, CHAT, None, "GROQ_API_KEY", "groq")


class MiniMaxDriversConfig(DriversConfig):
    """MiniMax by its Messages address."""

    row = Row("minimax", MESSAGES_DRIVER, MESSAGES, "MiniMax-M3", "MINIMAX_API_KEY", "minimax", sdk="anthropic")


class KimiCodingDriversConfig(DriversConfig):
    """Kimi's coding plan by its Messages address."""

    row = Row("kimi-coding", MESSAGES_DRIVER, MESSAGES, "kimi-k2.6", "KIMI_API_KEY", "kimi-coding", sdk="anthropic")


class XAiDriversConfig(DriversConfig):
    """xAI's Grok by the Responses API."""

    row = Row("xai", RESPONSES_DRIVER, RESPONSES, "grok-4.3", "XAI_API_KEY", "xai")


class LocalDriversConfig(DriversConfig):
    """The embedded model; `api_mode` chooses one of its three protocols."""

    row = Row(
        "local", "local:LocalPromptDriver", CHAT, "smollm2-135m-instruct", None, "local",
        sdk="xllamacpp", extra="local", all_modes=True,
    )  # fmt: skip

    @property
    def name(self) -> str:
        """`local`, `local-responses` or `local-messages`."""
        return LOCAL_NAMES.get(self.api_mode, self.row.name)

    def problem(self) -> str | None:
        """Tells whether the weights are there."""
        from llmneutral.drivers import local_weights

        try:
            local_weights.path(getattr(self._given.get("server"), "model", None))
        except ConfigurationError as error:
            return str(error)
        return None


class OllamaDriversConfig(DriversConfig):
    """A model served by Ollama on this machine."""

    row = Row("ollama", SERVER_DRIVER, CHAT, provider="ollama", base_url="http://localhost:11434/v1")


class LocalServerDriversConfig(DriversConfig):
    """Any server that speaks Chat Completions (vLLM, LM Studio, llama.cpp …): give `base_url` and `model`."""

    row = Row("server", SERVER_DRIVER, CHAT, base_url="http://localhost:8000/v1")


class CodexAppServerDriversConfig(DriversConfig):
    """A local `codex app-server`: it has its own login, tools and default model.

    Args:
        model: Model to ask for; codex' own default unless given.
        **options: Arguments of `CodexAppServerPromptDriver`.
    """

    row = Row("codex", "codex:CodexAppServerPromptDriver", "codex_app_server", sdk="llmneutral")

    def problem(self) -> str | None:
        """Tells whether the program is there."""
        program = (self._given.get("command") or ("codex",))[0]
        if shutil.which(program) is not None:
            return None
        return f"the program {program} is not there: npm install -g @openai/codex"

    def _make_prompt_driver(self) -> BasePromptDriver:
        options = {name: value for name, value in self._given.items() if name not in SLOTS}
        made: BasePromptDriver = driver_class(self.row.driver)(**options)
        return made


class ReplayDriversConfig(DriversConfig):
    """Answers out of a file of recordings: `ReplayDriversConfig("answers.jsonl")`; by name it is `replay:FILE`."""

    row = Row("replay", "replay:ReplayPromptDriver", CHAT, sdk="llmneutral")

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        super().__init__(**{**options, "path": path})

    @property
    def api_mode(self) -> str:
        """The API that was recorded."""
        return self.row.api_mode if self.problem() else self.prompt_driver.api_mode

    @property
    def model(self) -> str | None:
        """The model that was recorded."""
        return None if self.problem() else self.prompt_driver.model

    def problem(self) -> str | None:
        """Tells whether there are recordings."""
        try:
            _ = self.prompt_driver
        except ConfigurationError as error:
            return str(error)
        return None

    def _make_prompt_driver(self) -> BasePromptDriver:
        options = dict(self._given)
        if (path := options.pop("path", None)) is None:
            raise ConfigurationError("no file of recordings: replay:FILE, or ReplayDriversConfig(FILE)")
        made: BasePromptDriver = driver_class(self.row.driver)(path, **options)
        return made


class DummyDriversConfig(DriversConfig):
    """No drivers: every use is an error that says how to configure some. For tests, and to switch everything off."""

    row = Row("dummy", "dummy:DummyPromptDriver", CHAT, "none", sdk="llmneutral")


LOCAL_NAMES = {CHAT: "local", RESPONSES: "local-responses", MESSAGES: "local-messages"}
CONFIGS: dict[str, Callable[..., DriversConfig]] = {
    "openai": OpenAiDriversConfig,
    "openai-chat": OpenAiChatDriversConfig,
    "azure": AzureOpenAiDriversConfig,
    "anthropic": AnthropicDriversConfig,
    "google": GoogleDriversConfig,
    "bedrock": AmazonBedrockDriversConfig,
    "cohere": CohereDriversConfig,
    "mistral": MistralDriversConfig,
    "deepseek": DeepSeekDriversConfig,
    "moonshot": MoonshotDriversConfig,
    "dashscope": DashScopeDriversConfig,
    "openrouter": OpenRouterDriversConfig,
    "groq": GroqDriversConfig,
    "minimax": MiniMaxDriversConfig,
    "kimi-coding": KimiCodingDriversConfig,
    "xai": XAiDriversConfig,
    "ollama": OllamaDriversConfig,
    "server": LocalServerDriversConfig,
    **{name: partial(LocalDriversConfig, api_mode=mode) for mode, name in LOCAL_NAMES.items()},
    "codex": CodexAppServerDriversConfig,
    "replay": ReplayDriversConfig,
    "dummy": DummyDriversConfig,
}
"""Every config by its short name."""


def drivers_config(name: str, **options: Any) -> DriversConfig:
    """Returns the config of a short name, as used by `-p`, `%provider` and LLMNEUTRAL_PROVIDER.

    Args:
        name: `anthropic`, or with a model `anthropic/claude-opus-5-5`; `replay:FILE` plays recordings.
        **options: Arguments of the config.

    Raises:
        ConfigurationError: If no config has this name, with the known ones.
    """
    if name.strip().startswith("replay:"):
        return ReplayDriversConfig(name.strip().removeprefix("replay:"), **options)
    short, _, model = name.strip().partition("/")
    short = short.strip().lower().replace("_", "-")
    make = CONFIGS.get(short)
    if make is None:
        raise ConfigurationError(f"unknown provider {short!r}; known: {', '.join(CONFIGS)}", hint=_speaks(short))
    wanted = model or options.pop("model", None)
    return make(**{**options, "deployment" if short == "azure" and wanted else "model": wanted})


def _speaks(name: str) -> str | None:
    """Says which provider is meant by the name of its API or models ("claude", "gemini")."""
    mode = API_MODE_ALIASES.get(name, name)
    rows = {short: getattr(make, "row", None) for short, make in CONFIGS.items()}
    meant = next((short for short, row in rows.items() if row is not None and row.api_mode == mode), None)
    return None if meant is None else f"Did you mean {meant}?"


def key_variables() -> list[str]:
    """Returns the names of the environment variables that hold keys of known providers."""
    rows: list[Row | None] = [getattr(make, "row", None) for make in CONFIGS.values()]
    return sorted({row.key_variable for row in rows if row is not None and row.key_variable is not None})
