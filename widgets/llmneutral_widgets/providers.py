"""Who can be asked, by name: the library's configs, those the user made, and presets.

What must live here: from what is written behind `-p` or `%provider` to a driver. Names are those of the library; a
config of the user's takes the place of the one with its name, so that its key and its settings stay in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from llmneutral_widgets.env_files import is_set, named_here, variables_of
from llmneutral_widgets.lines.interpolation import only_place, resolve
from llmneutral_widgets.lines.options import OptionError, a_kind, nearest
from llmneutral_widgets.lines.prompt_line import PROVIDER
from llmneutral_widgets.scrub import remember
from llmneutral_widgets.views.configs import lacks_model

_PRESET = re.compile(r"\w[\w.-]*")
"""The name of a preset: one word, which can be written behind `-p` and before a slash."""


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


class Configs:
    """Configs by name. What is found here is used, not copied: a driver and its connections are kept.

    Attributes:
        made_of: Presets -> who was asked for them.
        typed: Names that a key was typed for, or taken from a file.
        of_file: Those of them whose key is of a file.
    """

    def __init__(self) -> None:
        import llmneutral

        self._own: dict[str, Any] = {}
        self._presets: dict[str, str] = {}
        self.made_of: dict[str, str] = {}
        self.typed: set[str] = set()
        self.of_file: set[str] = set()
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
        name, model = name_and_model(written)
        if not name or "{{" in name:
            remedy = "another model of a variable's is named by -m" if name else "name one"
            raise OptionError(f"there is no provider {written or 'without a name'}; {remedy}")
        if name.startswith("replay:"):  # a file, which may be written anew by the next question
            return self._made(name)
        found = self._own[self._known(name)]
        return with_model(found, model) if model else found

    def _known(self, name: str) -> str:
        """The name under which a config is kept: `-p OpenAI` is openai, with the key that was typed for it."""
        import llmneutral

        self._follow(llmneutral.Defaults)
        if name in self._own:
            return name
        made = self._made(name)
        known = made.name if made.name in llmneutral.CONFIGS else name
        self._own.setdefault(known, made)
        return known

    def _made(self, name: str) -> Any:
        import llmneutral

        try:
            return llmneutral.drivers_config(name)
        except llmneutral.ConfigurationError as error:
            meant = f"{error.hint[0].lower()}{error.hint[1:]}" if error.hint else nearest(name, self.names())
            if "," in name:
                meant = f"to ask several, repeat -p: {' '.join([f'-p {each}' for each in name.split(',') if each])}"
            raise OptionError(f"unknown provider {name}; {meant}") from None

    def keep(self, name: str, config: Any, made_of: str | None = None) -> None:
        """Keeps a config under a name of the user's (a preset).

        Args:
            name: Its name.
            config: The config.
            made_of: Who was asked for it, as `NAME/MODEL`: a key that is typed for that one is its key, too.
        """
        self._own[name] = config
        self.typed.discard(name)
        self.of_file.discard(name)
        self.made_of.pop(name, None)
        if made_of is not None:
            self.made_of[name] = self._source(made_of)

    def _source(self, target: str) -> str:
        name = name_and_model(target)[0]
        return name if name.startswith("replay:") else self._known(name)

    def made(self, name: Any, target: Any) -> Any:
        """Returns the config that a preset stands for.

        Args:
            name: Its name.
            target: Who is asked, as `NAME/MODEL`.

        Raises:
            OptionError: If there could be no such name behind `-p`, or there is none to ask.
        """
        import llmneutral

        shown = name if isinstance(name, str) and name else repr(name)
        if not isinstance(name, str) or not _PRESET.fullmatch(name):
            raise OptionError(f"{shown} is no name of a preset: it is one word of letters, digits, _ - and dots")
        if name in PROVIDER.commands:
            raise OptionError(f"{name} is a command of %provider; choose another name")
        if name.lower().replace("_", "-") in llmneutral.CONFIGS:
            raise OptionError(f"{name} is a provider already; choose another name")
        if not isinstance(target, str):
            raise OptionError(f"{name}: it stands for NAME/MODEL as a text, not {a_kind(target)}")
        if len(target.split()) > 1 and not target.strip().startswith("replay:"):
            remedy = f"settings are given by %provider preset {name} {target.strip()}"
            raise OptionError(f"{name}: {target} is no NAME/MODEL; {remedy}")
        try:
            return self.config(target)
        except OptionError as error:
            raise OptionError(f"{name}: {error}") from None

    def keep_presets(self, written: Mapping[Any, Any]) -> None:
        """Keeps the presets of a table, in the place of those that it held before.

        One that stands for the same as before stays as it is, with the key that was typed for it.

        Args:
            written: Name -> `NAME/MODEL`.

        Raises:
            OptionError: If one could not be asked by its name, or there is none to ask; nothing has changed then.
        """
        if dict(written) == self._presets:
            return
        before, own = self._presets, dict(self._own)
        same: set[str] = set()
        for name, target in before.items():  # in their order: one may be made of another before it
            source = name_and_model(target)[0]
            if written.get(name) == target and (source not in before or source in same):
                same.add(name)
        for name in before.keys() - same:
            self._own.pop(name, None)
        try:
            for name, target in written.items():
                if name not in same:
                    self._own[name] = self.made(name, target)
        except OptionError:
            self._own = own
            raise
        other = {*before, *written} - same
        self.typed -= other
        self.of_file -= other
        self.made_of = {name: source for name, source in self.made_of.items() if name not in other}
        self.made_of |= {name: self._source(written[name]) for name in written if name in other}
        self._presets = dict(written)


class Providers(Configs):
    """Who can be asked, with the keys that were typed."""

    def set_key(self, name: str, key: str) -> None:
        """Gives a config a key that was typed: it is kept in this process only, and never shown.

        The presets that are made of it have it too, but those that a key of their own was typed for.
        """
        remember(key)
        name = self._known(name_and_model(name)[0])
        self.typed.add(name)
        self.of_file.discard(name)
        self._give(name, key)

    def forget_key(self, name: str) -> None:
        """Takes away a key that was typed, or taken from a file: what the environment holds counts again.

        Raises:
            OptionError: If there is none.
        """
        known = self._known(name_and_model(name)[0])
        if known not in self.typed:
            raise OptionError(f"no key was typed for {name}: there is none to forget")
        self.typed.discard(known)
        self.of_file.discard(known)
        self._give(known, None)

    def _give(self, name: str, key: str | None) -> None:
        """Gives a key, or takes it, from a config and the presets that are made of it."""
        import llmneutral

        defaults, waiting = llmneutral.Defaults, [name]
        given: set[str] = set()
        while waiting:
            each = waiting.pop()
            given.add(each)
            before = self.config(each)
            config = self._own[each] = before.evolve(api_key=key)
            if defaults.is_set and (defaults.base.name == each or defaults.base is before):
                defaults.base = config
            made = [preset for preset, source in self.made_of.items() if source == each]
            waiting += [preset for preset in made if preset not in self.typed and preset not in given]

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
            return Asked(found.provider or _named(found), found, model)
        if not isinstance(found, llmneutral.DriversConfig):
            raise OptionError(f"-p {written} is {a_kind(found)}; it takes a driver or a DriversConfig")
        if model and found.model is None:
            found, model = with_model(found, model), None
        try:
            return Asked(found.name, found.prompt_driver, model)
        except llmneutral.ConfigurationError:
            if not lacks_model(msgspec.to_builtins(found.status())):
                raise
        raise llmneutral.ConfigurationError(
            f"{found.name} has no model of its own", hint=_name_one(written, found.name)
        )

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
        if error.message.endswith(" has no model"):  # it is a driver's of the user's
            error.hint = "Name one with -m MODEL."
        for name in [each for each in every if each in known]:
            status = self.config(name).status()
            if status.key_variable and not status.key_set and status.key_variable in str(error):
                error.hint = _type_key(name, status.key_variable)
                others = ", ".join([each for each in dict.fromkeys(every) if each != name])
                error.hint += f" Nobody was asked: not {others} either." if others and not is_asked else ""
                return

    def rows(self) -> list[dict[str, Any]]:
        """Returns what each config could do now: of a key only whether it is set, where it is of, or named by a `.env`.

        Beside the fields of `DriversConfig.status()` a row has `in_env_file`; `own_key`, how it came by a key that is
        not the environment's; and `unused_key`, the variable of the environment that this one is used instead of.
        """
        named = named_here()
        return [self._row(name, named) for name in self.names()]

    def _row(self, name: str, named: frozenset[str]) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.config(name).status())
        own, unused = self.own_key(name) if found["key_variable"] else (None, None)
        in_file = found["key_variable"] in named
        return {**found, "name": name, "in_env_file": in_file, "own_key": own, "unused_key": unused}

    def own_key(self, name: str) -> tuple[str | None, str | None]:
        """Returns how a config came by a key that is not the environment's, and which variable is not used for it."""
        config, how = self.config(name), self._typed_for(name)
        variables = variables_of(config) if how or is_set(str(config.status().key_variable)) else ()
        unused = next((each for each in variables if is_set(each)), None)
        if how is None and unused is not None and has_given_key(config):
            how = "given in code"
        return how, unused if how else None

    def _typed_for(self, name: str) -> str | None:
        """Whether a key was typed for a config, or for what it is made of, or taken from a file for it."""
        seen: set[str] = set()
        while name not in self.typed and name in self.made_of and name not in seen:
            seen.add(name)
            name = self.made_of[name]
        if name not in self.typed:
            return None
        return "of a file" if name in self.of_file else "typed"


def has_given_key(config: Any) -> bool:
    """Whether a config has a key that was given in code; no, where it cannot be asked yet."""
    import llmneutral

    try:
        return config.prompt_driver.api_key.given is not None
    except llmneutral.LLMNeutralError:  # it needs a model first
        return False


def hint_here(error: BaseException | None) -> None:
    """What the library has no hint for, or one in code, has one in a notebook: a refused request, nobody to ask.

    Args:
        error: It is changed in place.
    """
    import llmneutral

    if isinstance(error, llmneutral.InvalidRequestError) and not error.hint:
        error.hint = "%payload shows what was sent."
    if isinstance(error, llmneutral.ConfigurationError) and "DummyDriversConfig" in error.message:
        error.hint = "Let the embedded model answer, %provider local, or choose another: %provider."


def _type_key(name: str, variable: str) -> str:
    """What to do where a config has no key."""
    in_file = "Take it from .env with %provider key --env, t" if variable in named_here() else "T"
    return (
        f"{in_file}ype it with %provider key {name}, set {variable} before the kernel starts, "
        "or let the embedded model answer: %provider local."
    )


def _named(driver: Any) -> str:
    """What a driver without a provider is called: one of the user's by its class, one of the library's by its API."""
    kind = type(driver)
    return str(driver.api_mode) if kind.__module__.partition(".")[0] == "llmneutral" else kind.__name__


def _name_one(written: str | None, name: str) -> str:
    """What to type where a config has no model."""
    if written is None:
        return f"Name one with -m MODEL, or for all questions %provider {name}/MODEL."
    if only_place(written) is not None:
        return "Name one with -m MODEL."
    return f"Name one: -p {name_and_model(written)[0]}/MODEL, or -m MODEL."


def name_and_model(written: str) -> tuple[str, str]:
    """Returns the parts of `NAME/MODEL`; the name of a file of recordings has no model."""
    name, _, model = written.strip().partition("/")
    return (written.strip(), "") if name.startswith("replay:") else (name, model)


def with_model(config: Any, model: str) -> Any:
    """Returns a copy of a config with another model."""
    import llmneutral

    is_azure = isinstance(config, llmneutral.AzureOpenAiDriversConfig)
    return config.evolve(**{"deployment" if is_azure else "model": model})
