"""Who can be asked, by name: the library's configs, those the user made, and presets.

What must live here: from what is written behind `-p` or `%provider` to a driver. Names are those of the library; a
config of the user's takes the place of the one with its name, so that its key and its settings stay in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from llmneutral_widgets.lines.interpolation import only_place, resolve
from llmneutral_widgets.lines.options import OptionError, a_kind, nearest
from llmneutral_widgets.scrub import remember


class Asked(msgspec.Struct, frozen=True):
    """Who is asked.

    Attributes:
        name: Short name of the config.
        driver: The driver, as it was at this moment.
        model: Another model for this call; None is the driver's own.
    """

    name: str
    driver: Any
    model: str | None = None

    @property
    def overrides(self) -> dict[str, Any]:
        """What the call says beside the stack."""
        return {"model": self.model} if self.model else {}

    def told(self) -> dict[str, Any]:
        """Returns who that is, for views."""
        return {
            "provider": self.name,
            "api": self.driver.api_mode,
            "model": self.model or self.driver.model,
        }


class Providers:
    """Configs by name. What is found here is used, not copied: a driver and its connections are kept."""

    def __init__(self) -> None:
        import llmneutral

        self._own: dict[str, Any] = {}
        self._presets: dict[str, Any] = {}
        self._handle = llmneutral.Defaults.subscribe(self._follow)

    def close(self) -> None:
        """Ends the following of `Defaults`."""
        self._handle.off()

    def _follow(self, defaults: Any) -> None:
        if defaults.is_set:
            self._own[defaults.base.name] = defaults.base

    def names(self) -> list[str]:
        """Returns every name, those of presets last."""
        import llmneutral

        return list(dict.fromkeys([*llmneutral.CONFIGS, *self._own]))

    def config(self, written: str) -> Any:
        """Returns the config of a name, `NAME` or `NAME/MODEL`; `replay:FILE` plays recordings.

        Raises:
            OptionError: If there is none of this name.
        """
        import llmneutral

        name, model = name_and_model(written)
        if not name or "{{" in name:
            remedy = "another model of a variable's is named by -m" if name else "name one"
            raise OptionError(f"there is no provider {written or 'without a name'}; {remedy}")
        self._follow(llmneutral.Defaults)
        if name not in self._own:
            try:
                made = llmneutral.drivers_config(name)
            except llmneutral.ConfigurationError as error:
                meant = f"{error.hint[0].lower()}{error.hint[1:]}" if error.hint else nearest(name, self.names())
                raise OptionError(f"unknown provider {name}; {meant}") from None
            if name.startswith("replay:"):  # a file, which may be written anew by the next question
                return made
            self._own[name] = made
        return with_model(self._own[name], model) if model else self._own[name]

    def keep(self, name: str, config: Any) -> None:
        """Keeps a config under a name of the user's (a preset)."""
        self._own[name] = config

    def keep_presets(self, written: Mapping[str, Any]) -> None:
        """Keeps the presets of a table, in the place of those that it held before.

        Args:
            written: Name -> `NAME/MODEL`.

        Raises:
            OptionError: If a name is that of a provider, or there is none to ask.
        """
        import llmneutral

        if dict(written) == self._presets:
            return
        for name in self._presets:
            self._own.pop(name, None)
        self._presets = {}
        for name, target in written.items():
            if name in llmneutral.CONFIGS:
                raise OptionError(f"{name} is a provider already; choose another name")
            try:
                self._own[name] = self.config(str(target))
            except OptionError as error:
                raise OptionError(f"{name}: {error}") from None
            self._presets[name] = target

    def set_key(self, name: str, key: str) -> None:
        """Gives a config a key that was typed: it is kept in this process only, and never shown."""
        import llmneutral

        remember(key)
        defaults, config = llmneutral.Defaults, self.config(name).evolve(api_key=key)
        self._own[name] = config
        if defaults.is_set and defaults.base.name == name:
            defaults.base = config

    def asked(self, written: str | None, model: str | None, namespace: Mapping[str, Any]) -> Asked:
        """Returns who is asked.

        Recordings that are asked by name are played from their beginning: run again, a cell gives the same answer. What
        is in effect, or a variable holds, is one driver for all questions, and plays on.

        Args:
            written: `NAME`, `NAME/MODEL` or `{{variable}}`; None is what is in effect at this moment.
            model: Another model of the same driver.
            namespace: The user's names.

        Raises:
            OptionError: If there is none of this name, or the variable holds neither driver nor config.
            ConfigurationError: If the config needs a model and has none.
        """
        import llmneutral

        if written is None:
            found = llmneutral.Defaults.drivers_config
        elif (place := only_place(written)) is not None:
            found = resolve(place, namespace)
        else:
            name, own = name_and_model(written)
            if own and model and own != model:
                raise OptionError(f"-p asks for the model {own}, -m for {model}")
            found, model = self.config(name), model or own or None
            found = found.evolve() if isinstance(found, llmneutral.ReplayDriversConfig) else found
        if isinstance(found, llmneutral.BasePromptDriver):
            return Asked(found.provider or type(found).__name__, found, model)
        if not isinstance(found, llmneutral.DriversConfig):
            raise OptionError(f"-p {written} is {a_kind(found)}; it takes a driver or a DriversConfig")
        if model and found.model is None:
            found, model = with_model(found, model), None
        return Asked(found.name, found.prompt_driver, model)

    def check_key(self, asked: Asked) -> None:
        """Looks for the key before anything is shown.

        Raises:
            ConfigurationError: If there is none.
        """
        if asked.name in self.names():
            status = self.config(asked.name).status()
            if status.key_variable and not status.key_set and status.key_words is None:
                asked.driver.require_key()

    def advise(self, error: BaseException, asked: Iterable[Asked], *, is_asked: bool = True) -> None:
        """Where a key is missing, the error says what a notebook has against that; the library's words know none.

        Args:
            error: It is changed in place.
            asked: Who was asked.
            is_asked: Whether anybody was, by now: if not, the error says who was left out beside the one it is about.
        """
        import llmneutral

        if not isinstance(error, llmneutral.ConfigurationError):
            return
        known, every = self.names(), [each.name for each in asked]
        for name in [each for each in every if each in known]:
            status = self.config(name).status()
            if status.key_variable and not status.key_set and status.key_variable in str(error):
                error.hint = (
                    f"Type it with %provider key {name}, set {status.key_variable} before the kernel starts, "
                    "or let the embedded model answer: %provider local."
                )
                others = ", ".join([each for each in dict.fromkeys(every) if each != name])
                error.hint += f" Nobody was asked: not {others} either." if others and not is_asked else ""
                return

    def rows(self) -> list[dict[str, Any]]:
        """Returns what each config could do now: of a key only whether it is set."""
        return [{**msgspec.to_builtins(self.config(name).status()), "name": name} for name in self.names()]


def name_and_model(written: str) -> tuple[str, str]:
    """Returns the parts of `NAME/MODEL`; the name of a file of recordings has no model."""
    name, _, model = written.strip().partition("/")
    return (written.strip(), "") if name.startswith("replay:") else (name, model)


def with_model(config: Any, model: str) -> Any:
    """Returns a copy of a config with another model."""
    import llmneutral

    is_azure = isinstance(config, llmneutral.AzureOpenAiDriversConfig)
    return config.evolve(**{"deployment" if is_azure else "model": model})
