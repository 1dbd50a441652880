"""DriversConfig: a provider's drivers, and what could be done with them now."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, ClassVar, Self

import msgspec

from llmneutral.configs import scope
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.importing import is_installed
from llmneutral.drivers.keys import key_in
from llmneutral.drivers.making import DRIVERS, driver_class
from llmneutral.errors import MASK, ConfigurationError, scrub
from llmneutral.resolve import canonical_api_mode

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
        provider: The provider's name, for its facts, its address and its key.
        base_url: Its address, where the name alone does not tell.
        sdk: Module of its SDK.
        extra: What to install for it.
        all_modes: Whether its driver speaks every API mode it is asked for; else another driver is taken for another.
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
    all_modes: bool = False


class Status(msgspec.Struct, frozen=True):
    """What a config could do now; of the key only whether it is set, and the variable's name.

    Attributes:
        name: Short name of the config.
        api_mode: API mode of its prompt driver.
        model: Model, or None where one has to be named.
        sdk: Module it needs.
        sdk_installed: Whether that is installed.
        extra: The extra of this library that brings it.
        key_variable: Environment variable of the key.
        key_set: Whether there is a key.
        problem: What else is missing, with the remedy.
        key_words: What is as good as the key in this variable ("AWS credentials"), or None.
    """

    name: str
    api_mode: str
    model: str | None
    sdk: str
    sdk_installed: bool
    extra: str | None
    key_variable: str | None
    key_set: bool
    problem: str | None = None
    key_words: str | None = None

    @property
    def ready(self) -> bool:
        """Whether a call could be made; credentials may be where only a call finds them."""
        has_key = self.key_set or self.key_variable is None or self.key_words is not None
        return self.sdk_installed and has_key and self.problem is None


class DriversConfig:
    """A set of drivers, each made at its first use.

    A provider's class knows its driver, address, model and key; this class itself takes drivers that are made already:
    `DriversConfig(prompt_driver=…)`.

    Args:
        model: Model of the prompt driver; the provider's default unless given.
        api_key: Key; the environment variable counts unless given. It is in no repr.
        base_url: Address; the provider's own unless given.
        api_mode: API mode, where the provider speaks several.
        **options: Drivers by the names of `SLOTS`; further arguments of the prompt driver, neutral settings too.

    Raises:
        ConfigurationError: If the API mode is unknown.
    """

    row: ClassVar[Row] = Row("custom", "", "chat_completions")

    def __init__(
        self,
        model: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        api_mode: str | None = None,
        **options: Any,
    ) -> None:
        mode = None if api_mode is None else canonical_api_mode(api_mode)
        given = {"model": model, "api_key": api_key, "base_url": base_url, "api_mode": mode, **options}
        self._given = {name: value for name, value in given.items() if value is not None}
        self._lock = threading.Lock()
        self._drivers: dict[str, Any] = {name: self._given[name] for name in SLOTS if name in self._given}

    @property
    def name(self) -> str:
        """The short name."""
        return self.row.name

    @property
    def api_mode(self) -> str:
        """The API mode of its prompt driver."""
        made = self._made()
        return str(made.api_mode if made is not None else self._given.get("api_mode") or self.row.api_mode)

    @property
    def model(self) -> str | None:
        """The model of its prompt driver."""
        made = self._made()
        return made.model if made is not None else self._given.get("model") or self.row.model

    def _made(self) -> BasePromptDriver | None:
        """The prompt driver where there is one already, or where a subclass has a way of its own to make it."""
        own = type(self).prompt_driver is not DriversConfig.prompt_driver
        return self.prompt_driver if own else self._drivers.get("prompt_driver")

    @property
    def prompt_driver(self) -> BasePromptDriver:
        """The driver of prompts; a subclass may make it in its own way (`lazy_property`).

        Raises:
            ConfigurationError: If the config needs a model and has none.
        """
        with self._lock:
            if "prompt_driver" not in self._drivers:
                self._drivers["prompt_driver"] = self._make_prompt_driver()
            made: BasePromptDriver = self._drivers["prompt_driver"]
        return made

    def _make_prompt_driver(self) -> BasePromptDriver:
        row, mode = self.row, self.api_mode
        if not row.driver:
            raise ConfigurationError(f"{type(self).__name__} has no prompt_driver: give prompt_driver=…")
        if self.model is None:
            raise ConfigurationError(f"{type(self).__name__} has no default model: give model=…", provider=row.name)
        own = mode == row.api_mode or row.all_modes
        # The codex process is no other protocol of a provider: it has its own config, login and addresses.
        if not own and (mode not in DRIVERS or mode == "codex_app_server"):
            raise ConfigurationError(f"{type(self).__name__} has no driver for {mode}; it speaks {row.api_mode}")
        options: dict[str, Any] = {"api_mode": mode, "provider": row.provider}
        if row.base_url is not None and own:
            options["base_url"] = row.base_url
        options |= {name: value for name, value in self._given.items() if name not in ("model", *SLOTS)}
        made: BasePromptDriver = driver_class(row.driver if own else DRIVERS[mode])(self.model, **options)
        return made

    def __getattr__(self, name: str) -> Any:
        if name in SLOTS:
            if name in self.__dict__.get("_drivers", {}):
                return self._drivers[name]
            raise ConfigurationError(f"{type(self).__name__} has no {name}: {self.name} offers none here")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def evolve(self, **changes: Any) -> Self:
        """Returns a copy with other settings; None is the default again."""
        return type(self)(**{**self._given, **changes})

    def status(self) -> Status:
        """Tells what the config could do now, without importing an SDK."""
        row = self.row
        given = str(self._given.get("api_key") or "").strip()
        key_set = bool(given or (row.key_variable and key_in(row.key_variable)))
        return Status(
            self.name,
            self.api_mode,
            self.model,
            row.sdk,
            is_installed(row.sdk),
            row.extra,
            row.key_variable,
            key_set,
            self.problem(),
        )

    def problem(self) -> str | None:
        """Tells what is missing beside SDK and key, or None."""
        return None if self.model is not None else "no model: give model=…"

    def __enter__(self) -> Self:
        scope.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope.leave(self)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __eq__(self, other: object) -> bool:
        """Whether both are of one kind and have the same settings."""
        return type(self) is type(other) and self._given == getattr(other, "_given", None)

    def __hash__(self) -> int:
        """By kind and name alone: settings may hold what cannot be hashed."""
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        """Shows the settings; of keys and headers only that they are set."""
        return f"{type(self).__name__}({', '.join([f'{k}={_shown(k, v)}' for k, v in self._given.items()])})"


def _shown(name: str, value: Any) -> str:
    if name == "api_key":
        return MASK
    if name == "headers":
        return f"{{{', '.join([f'{header!r}: {MASK}' for header in value])}}}"
    return scrub(repr(value))
