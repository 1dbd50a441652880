"""Which drivers are in effect: DriversConfig, a provider's set of drivers, and Defaults, the set in use.

Two layers: a process-wide base (one value under a lock), and a stack of overrides per context, which
`with config:` pushes to. The override wins; the base shows after the block. Nothing is kept on the
config, so one config may be entered twice, in several threads and tasks at once.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from importlib.util import find_spec
from types import TracebackType
from typing import Any, ClassVar, Self

import msgspec

from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.making import driver_class
from llmneutral.errors import ConfigurationError
from llmneutral.events import Handle

SLOTS = (
    "prompt_driver",
    "embedding_driver",
    "image_generation_driver",
    "vector_store_driver",
    "text_to_speech_driver",
    "audio_transcription_driver",
)


class Row(msgspec.Struct, frozen=True):
    """One provider's data: changed without a change of code.

    Attributes:
        name: Short name: for `-p`, `%provider`, the dropdown and LLMNEUTRAL_PROVIDER.
        driver: Place of its driver's class in `llmneutral.drivers`.
        api_mode: API mode.
        model: Default model; None: the caller has to name one.
        key_variable: Environment variable of its key; None: it needs none.
        provider: The provider's name, for its facts.
        base_url: Its address, where the SDK does not know it.
        sdk: Module of its SDK.
        extra: What to install for it.
    """

    name: str
    driver: str
    api_mode: str
    model: str | None = None
    key_variable: str | None = None
    provider: str | None = None
    base_url: str | None = None
    sdk: str = "openai"
    extra: str | None = None


class Status(msgspec.Struct, frozen=True):
    """What a config could do now; of the key only whether it is set, and the variable's name."""

    name: str
    api_mode: str
    model: str | None
    sdk: str
    sdk_installed: bool
    extra: str | None
    key_variable: str | None
    key_set: bool

    @property
    def ready(self) -> bool:
        """Whether a call could be made."""
        return self.sdk_installed and (self.key_set or self.key_variable is None)


class DriversConfig:
    """A provider's drivers, each made at its first use.

    Args:
        model: Model of the prompt driver; the provider's default unless given.
        api_key: Key; the environment variable counts unless given. It is in no repr.
        base_url: Address; the provider's own unless given.
        api_mode: API mode, where the provider speaks several.
        **options: Further arguments of the driver, neutral settings too.
    """

    row: ClassVar[Row]

    def __init__(
        self,
        model: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        api_mode: str | None = None,
        **options: Any,
    ) -> None:
        given = {"model": model, "api_key": api_key, "base_url": base_url, "api_mode": api_mode, **options}
        self._given = {name: value for name, value in given.items() if value is not None}
        self._lock = threading.Lock()
        self._drivers: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The short name."""
        return self.row.name

    @property
    def api_mode(self) -> str:
        """The API mode of its prompt driver."""
        return str(self._given.get("api_mode") or self.row.api_mode)

    @property
    def model(self) -> str | None:
        """The model of its prompt driver."""
        return self._given.get("model") or self.row.model

    @property
    def prompt_driver(self) -> BasePromptDriver:
        """The driver of prompts.

        Raises:
            ConfigurationError: If the config needs a model and has none.
        """
        with self._lock:
            if "prompt_driver" not in self._drivers:
                self._drivers["prompt_driver"] = self._make_prompt_driver()
            made: BasePromptDriver = self._drivers["prompt_driver"]
        return made

    def _make_prompt_driver(self) -> BasePromptDriver:
        row = self.row
        options: dict[str, Any] = {"api_mode": row.api_mode}
        if row.provider is not None:
            options["provider"] = row.provider
        if row.base_url is not None:
            options["base_url"] = row.base_url
        options |= {name: value for name, value in self._given.items() if name != "model"}
        if self.model is None:
            raise ConfigurationError(f"{type(self).__name__} has no default model: give model=…", provider=row.name)
        made: BasePromptDriver = driver_class(row.driver)(self.model, **options)
        if row.key_variable is not None and made.key_variable != row.key_variable:
            made.key_variable = row.key_variable
        if row.key_variable is None:
            made.needs_key = False
        return made

    def __getattr__(self, name: str) -> Any:
        if name in SLOTS:
            raise ConfigurationError(f"{type(self).__name__} has no {name}: {self.name} offers none here")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def evolve(self, **changes: Any) -> Self:
        """Returns a copy with other settings."""
        return type(self)(**{**self._given, **changes})

    def status(self) -> Status:
        """Tells what the config could do now, without importing an SDK."""
        row = self.row
        key_set = bool(self._given.get("api_key")) or bool(row.key_variable and os.environ.get(row.key_variable))
        return Status(
            self.name,
            self.api_mode,
            self.model,
            row.sdk,
            _is_installed(row.sdk),
            row.extra,
            row.key_variable,
            key_set,
        )

    def __enter__(self) -> Self:
        _overrides.set((*_overrides.get(), self))
        Defaults.tell()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack = _overrides.get()
        if not stack or stack[-1] is not self:
            inner = stack[-1] if stack else None
            raise RuntimeError(
                f"`with` blocks were left in the wrong order: {self!r} is not the innermost, {inner!r} is"
            )
        _overrides.set(stack[:-1])
        Defaults.tell()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __eq__(self, other: object) -> bool:
        """Whether both are of one kind and have the same settings."""
        return type(self) is type(other) and self._given == other._given

    def __hash__(self) -> int:
        """By kind and name alone: settings may hold what cannot be hashed."""
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        """Shows the settings, and of the key only that it is set."""
        shown = [f"{k}={v!r}" for k, v in self._given.items() if k != "api_key"]
        if "api_key" in self._given:
            shown.append("api_key=•••")
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


class OpenAiDriversConfig(DriversConfig):
    """OpenAI by its Responses API: what counts where nothing is configured."""

    row = Row(
        "openai", "openai:OpenAiResponsesPromptDriver", "codex_responses", "gpt-6-luna", "OPENAI_API_KEY", "openai"
    )


class OpenAiChatDriversConfig(DriversConfig):
    """OpenAI by Chat Completions."""

    row = Row("openai-chat", "openai:OpenAiChatPromptDriver", "chat_completions", "gpt-4.1", "OPENAI_API_KEY", "openai")


class AzureOpenAiDriversConfig(DriversConfig):
    """Azure OpenAI: needs `azure_endpoint` and `deployment`."""

    row = Row("azure", "openai:AzureOpenAiPromptDriver", "chat_completions", None, "AZURE_OPENAI_API_KEY", "azure")

    def __init__(self, azure_endpoint: str | None = None, deployment: str | None = None, **options: Any) -> None:
        endpoint = azure_endpoint or os.environ.get("AZURE_OPENAI_ENDPOINT")
        super().__init__(**{**options, "azure_endpoint": endpoint, "deployment": deployment})

    @property
    def model(self) -> str | None:
        """The deployment stands where others have the model."""
        return self._given.get("deployment")

    def _make_prompt_driver(self) -> BasePromptDriver:
        options = dict(self._given)
        endpoint, deployment = options.pop("azure_endpoint", ""), options.pop("deployment", "")
        made: BasePromptDriver = driver_class(self.row.driver)(endpoint, deployment, **options)
        return made


class AnthropicDriversConfig(DriversConfig):
    """Anthropic by its Messages API."""

    row = Row(
        "anthropic",
        "anthropic:AnthropicPromptDriver",
        "anthropic_messages",
        "claude-sonnet-5-5",
        "ANTHROPIC_API_KEY",
        "anthropic",
        sdk="anthropic",
    )


class LocalDriversConfig(DriversConfig):
    """The embedded model; `api_mode` chooses one of its three protocols."""

    row = Row(
        "local", "local:LocalPromptDriver", "chat_completions", "smollm2-135m-instruct", sdk="xllamacpp", extra="local"
    )

    @property
    def name(self) -> str:
        """`local`, `local-responses` or `local-messages`."""
        from llmneutral.resolve import canonical_api_mode

        return LOCAL_NAMES.get(canonical_api_mode(self.api_mode), self.row.name)


class OllamaDriversConfig(DriversConfig):
    """A model served by Ollama on this machine."""

    row = Row(
        "ollama",
        "openai:OpenAiChatPromptDriver",
        "chat_completions",
        provider="ollama",
        base_url="http://localhost:11434/v1",
    )


class LocalServerDriversConfig(DriversConfig):
    """Any server that speaks Chat Completions (vLLM, LM Studio, llama.cpp …): give `base_url` and `model`."""

    row = Row("server", "openai:OpenAiChatPromptDriver", "chat_completions", base_url="http://localhost:8000/v1")


LOCAL_NAMES = {
    "chat_completions": "local",
    "codex_responses": "local-responses",
    "anthropic_messages": "local-messages",
}
CONFIGS: dict[str, Callable[..., DriversConfig]] = {
    "openai": OpenAiDriversConfig,
    "openai-chat": OpenAiChatDriversConfig,
    "azure": AzureOpenAiDriversConfig,
    "anthropic": AnthropicDriversConfig,
    "ollama": OllamaDriversConfig,
    "server": LocalServerDriversConfig,
    **{
        name: lambda model=None, mode=mode, **o: LocalDriversConfig(model, api_mode=mode, **o)
        for mode, name in LOCAL_NAMES.items()
    },
}
"""Every config by its short name."""


def drivers_config(name: str, **options: Any) -> DriversConfig:
    """Returns the config of a short name, as used by `-p`, `%provider` and LLMNEUTRAL_PROVIDER.

    Args:
        name: `anthropic`, or with a model `anthropic/claude-opus-5-5`.
        **options: Arguments of the config.

    Raises:
        ConfigurationError: If no config has this name, with the known ones.
    """
    short, _, model = name.strip().partition("/")
    make = CONFIGS.get(short.strip().lower().replace("_", "-"))
    if make is None:
        raise ConfigurationError(f"unknown provider {short!r}; known: {', '.join(CONFIGS)}")
    return (
        make(model or options.pop("model", None), **options)
        if short != "azure"
        else make(deployment=model or None, **options)
    )


Subscriber = Callable[["_Defaults"], object]


class _Defaults:
    """The drivers in effect; one object for the whole process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._base: DriversConfig | None = None
        self._subscribers: tuple[Subscriber, ...] = ()
        self.on_notice: Callable[[str], object] = _say

    @property
    def drivers_config(self) -> DriversConfig:
        """The config in effect here: the innermost `with`, else the base. Setting it sets the base."""
        stack = _overrides.get()
        return stack[-1] if stack else self.base

    @drivers_config.setter
    def drivers_config(self, config: DriversConfig | None) -> None:
        self.base = config

    @property
    def base(self) -> DriversConfig:
        """The process-wide config; made at its first use."""
        with self._lock:
            if self._base is None:
                self._base = self._lazy()
            return self._base

    @base.setter
    def base(self, config: DriversConfig | None) -> None:
        if config is not None and not isinstance(config, DriversConfig):
            raise ConfigurationError(f"Defaults.drivers_config takes a DriversConfig, not a {type(config).__name__}")
        with self._lock:
            self._base = config
        self.tell()

    @property
    def is_set(self) -> bool:
        """Whether there is a base already: given, or made at its first use."""
        with self._lock:
            return self._base is not None

    @property
    def is_overridden(self) -> bool:
        """Whether a `with` block is active here."""
        return bool(_overrides.get())

    def subscribe(self, callback: Subscriber) -> Handle:
        """Calls back with this object on every change of the base, and when a `with` is entered or left."""
        with self._lock:
            self._subscribers = (*self._subscribers, callback)

        def off() -> None:
            with self._lock:
                self._subscribers = tuple([each for each in self._subscribers if each is not callback])

        return Handle(off)

    def tell(self) -> None:
        """Tells the subscribers that something changed."""
        for callback in self._subscribers:
            callback(self)

    def _lazy(self) -> DriversConfig:
        if named := os.environ.get("LLMNEUTRAL_PROVIDER"):
            return drivers_config(named)
        if os.environ.get("OPENAI_API_KEY"):
            return OpenAiDriversConfig()
        self.on_notice(
            "no OPENAI_API_KEY: answering with the embedded model; set a key or Defaults.drivers_config to change"
        )
        return LocalDriversConfig()

    def __repr__(self) -> str:
        """Shows what is in effect."""
        mark = " inside `with`" if self.is_overridden else ""
        return f"<Defaults: {self.drivers_config!r}{mark}>"


def _say(text: str) -> None:
    sys.stderr.write(f"llmneutral: {text}\n")


def key_variables() -> list[str]:
    """Returns the names of the environment variables that hold keys of known providers."""
    rows: list[Row | None] = [getattr(make, "row", None) for make in CONFIGS.values()]
    return sorted({row.key_variable for row in rows if row is not None and row.key_variable is not None})


_overrides: ContextVar[tuple[DriversConfig, ...]] = ContextVar("llmneutral_drivers_config", default=())
Defaults = _Defaults()
