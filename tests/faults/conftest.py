"""As for the tests of drivers: a TLS context for each library, and nothing of an AWS account of this machine."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterator

import pytest

from tests.drivers.conftest import one_ssl_context
from tests.drivers.sdk_endpoints import without_aws

__all__ = ["one_ssl_context"]


@pytest.fixture(autouse=True, scope="session")
def one_ssl_context_for_the_others() -> Iterator[None]:
    """The same for the SDKs on httpx, and for google-genai, which makes one of its own."""
    from httpx import create_ssl_context

    shared, plain = functools.cache(create_ssl_context), functools.cache(ssl.create_default_context)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", lambda *args, **kwargs: shared())
        patch.setattr(ssl, "create_default_context", lambda *args, **kwargs: plain())
        yield


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    without_aws(monkeypatch, tmp_path_factory.getbasetemp())
