"""Defaults: the drivers in effect.

Two layers: a process-wide base (one value under a lock), and a stack of overrides per context, which `with config:`
pushes to. The override wins; the base shows after the block. A notebook's dropdown sets the base.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from llmneutral.configs import scope
from llmneutral.configs.base import DriversConfig
from llmneutral.configs.providers import LocalDriversConfig, OpenAiDriversConfig, drivers_config
from llmneutral.drivers.keys import key_in
from llmneutral.errors import ConfigurationError
from llmneutral.errors.wording import a_kind
from llmneutral.events import Handle

NOTICE = "no OPENAI_API_KEY: answering with the embedded model; set a key or Defaults.drivers_config to change"


class _Defaults:
    """The drivers in effect; one object for the whole process.

    Attributes:
        on_notice: Called with one sentence where the embedded model is taken because nothing is configured.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._base: DriversConfig | None = None
        self.on_notice: Callable[[str], object] = _say

    @property
    def drivers_config(self) -> DriversConfig:
        """The config in effect here: the innermost `with`, else the base. Setting it sets the base."""
        found: DriversConfig | None = scope.innermost()
        return self.base if found is None else found

    @drivers_config.setter
    def drivers_config(self, config: DriversConfig | None) -> None:
        self.base = config

    @property
    def base(self) -> DriversConfig:
        """The process-wide config; made at its first use, and again after it was set to None."""
        with self._lock:
            if self._base is None:
                self._base = self._lazy()
            return self._base

    @base.setter
    def base(self, config: DriversConfig | None) -> None:
        if config is not None and not isinstance(config, DriversConfig):
            given = f"the class {config.__name__}" if isinstance(config, type) else a_kind(config)
            remedy = "give a config such as AnthropicDriversConfig() or LocalDriversConfig()"
            raise ConfigurationError(f"Defaults.drivers_config takes a DriversConfig, not {given}; {remedy}")
        with self._lock:
            self._base = config
        scope.changes.tell()

    @property
    def is_set(self) -> bool:
        """Whether there is a base already: given, or made at its first use."""
        with self._lock:
            return self._base is not None

    @property
    def is_overridden(self) -> bool:
        """Whether a `with` block is active here."""
        return scope.innermost() is not None

    def subscribe(self, callback: Callable[[_Defaults], object]) -> Handle:
        """Calls back with this object on every change of the base, and when a `with` is entered or left."""
        return scope.changes.subscribe(lambda: callback(self))

    def _lazy(self) -> DriversConfig:
        if named := os.environ.get("LLMNEUTRAL_PROVIDER", "").strip():
            return drivers_config(named)
        if key_in("OPENAI_API_KEY"):
            return OpenAiDriversConfig()
        self.on_notice(NOTICE)
        return LocalDriversConfig()

    def __repr__(self) -> str:
        """Shows what is in effect."""
        mark = " inside `with`" if self.is_overridden else ""
        return f"<Defaults: {self.drivers_config!r}{mark}>"


def _say(text: str) -> None:
    sys.stderr.write(f"llmneutral: {text}\n")


Defaults = _Defaults()
