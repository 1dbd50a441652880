"""Every test of configs begins with nothing configured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from llmneutral import Defaults


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The notices that were given."""
    told: list[str] = []
    monkeypatch.setattr(Defaults, "on_notice", told.append)
    Defaults.base = None
    yield told
    Defaults.base = None
