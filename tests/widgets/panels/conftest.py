"""Who answers where a panel asks, and nobody's session after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets import session
from tests.widgets.shell import Echo


@pytest.fixture
def echo() -> Iterator[Echo]:
    before = Defaults.drivers_config if Defaults.is_set else None
    driver = Echo()
    Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=driver)
    yield driver
    session.close()
    Defaults.drivers_config = before
