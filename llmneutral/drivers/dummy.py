"""DummyPromptDriver: stands where no driver is configured, and says so when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.errors import ConfigurationError


class DummyPromptDriver(BasePromptDriver):
    """Answers nothing; a preview works."""

    needs_key = False

    def send(self, conversion: Conversion) -> Any:
        """Raises: there is nobody to ask."""
        raise self._unconfigured()

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Raises: there is nobody to ask."""
        raise self._unconfigured()

    def _unconfigured(self) -> ConfigurationError:
        return ConfigurationError(
            "no driver is configured here (DummyDriversConfig)",
            hint="Set Defaults.drivers_config, for instance to LocalDriversConfig().",
        )
