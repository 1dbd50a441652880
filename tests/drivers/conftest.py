"""What makes the tests of drivers quick: reading the system's certificates takes longer than most of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_ssl_context() -> Iterator[None]:
    """Every HTTP client of the session shares one TLS context; nothing here speaks TLS."""
    from httpx2 import create_ssl_context

    shared = functools.cache(create_ssl_context)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx2._transports.default.create_ssl_context", lambda *args, **kwargs: shared())
        yield
