"""Every test of configs begins with nothing configured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from llmneutral import Defaults
from llmneutral.configs import scope


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The notices that were given."""
    told: list[str] = []
    monkeypatch.setattr(Defaults, "on_notice", told.append)
    monkeypatch.setattr(scope.changes, "_callbacks", ())  # pickers of other tests would ask at once, and so settle it
    Defaults.base = None
    yield told
    Defaults.base = None
