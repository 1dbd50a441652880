"""What every driver checks before it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmneutral import (
    AzureOpenAiPromptDriver,
    BasePromptDriver,
    ConfigurationError,
    DummyPromptDriver,
    OwnServerPromptDriver,
    make_driver,
)
from llmneutral.drivers.making import DRIVERS
from tests.drivers.endpoints import KEY, driver_for
from tests.drivers.sdk_endpoints import without_aws
from tests.loopback import Loopback, talk

WITHOUT = {"codex_app_server"}
"""APIs whose program has a model of its own."""
NAMED = sorted(DRIVERS.keys() - WITHOUT)


class AskedError(Exception):
    """A driver got as far as its client."""


def refused(client: Any) -> Any:
    raise AskedError


async def arefused(client: Any) -> Any:
    raise AskedError


def astreamed(driver: BasePromptDriver) -> None:
    async def ask() -> None:
        async for _ in driver.astream("hi"):
            pass

    asyncio.run(ask())


WAYS: dict[str, Callable[[BasePromptDriver], Any]] = {
    "run": lambda driver: driver.run("hi"),
    "stream": lambda driver: list(driver.stream("hi")),
    "arun": lambda driver: asyncio.run(driver.arun("hi")),
    "astream": astreamed,
}


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Regions and keys are there, and every client raises in place of a request."""
    without_aws(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    from llmneutral.drivers.bedrock import BedrockPromptDriver
    from llmneutral.drivers.sdk_http import HttpPromptDriver

    for kind in (BedrockPromptDriver, HttpPromptDriver):
        monkeypatch.setattr(kind, "client", refused)
    monkeypatch.setattr(HttpPromptDriver, "ready_async_client", arefused)


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("api", NAMED)
def test_without_a_model_nothing_is_sent(api: str, way: str) -> None:
    driver = make_driver(api, model=None, api_key=KEY)
    with pytest.raises(ConfigurationError, match="has no model") as caught:
        WAYS[way](driver)
    assert type(driver).__name__ in str(caught.value)
    assert "model=" in str(caught.value)
    with pytest.raises(AskedError):  # and with one it is
        WAYS[way](make_driver(api, model="m", api_key=KEY))


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("api", NAMED)
def test_the_model_of_a_call_is_enough_and_a_preview_needs_none(api: str) -> None:
    driver = make_driver(api, model=None, api_key=KEY)
    with pytest.raises(AskedError):
        driver.run("hi", model="m")
    assert driver.preview("hi").payload
    assert driver.convert("hi").payload


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("api", [api for api in NAMED if api not in ("chat_completions", "mistral_chat")])
def test_a_count_by_the_provider_needs_a_model(api: str) -> None:
    with pytest.raises(ConfigurationError, match="has no model"):
        make_driver(api, model=None, api_key=KEY).count_tokens("hi")


def test_mistral_counts_nothing_and_so_needs_no_model_for_it() -> None:
    assert make_driver("mistral_chat", model=None, api_key=KEY).count_tokens("hi").estimated


@pytest.mark.usefixtures("at_home")
def test_some_need_none() -> None:
    """A server of one's own may have one model alone; a deployment is one; a client of the caller's knows its own."""
    with pytest.raises(AskedError):
        OwnServerPromptDriver(base_url="http://models.example/v1").run("hi")
    with pytest.raises(AskedError):
        AzureOpenAiPromptDriver("https://n.openai.azure.com", "d", api_key=KEY).run("hi")
    with pytest.raises(AskedError):
        make_driver("chat_completions", model=None, client=SimpleNamespace(api_key=KEY)).run("hi")
    assert DummyPromptDriver().needs_model is False
    assert make_driver("codex_app_server", model=None).needs_model is False


@pytest.mark.parametrize("api", ["chat_completions", "codex_responses"])
def test_a_server_on_this_machine_is_asked_without_one(api: str) -> None:
    with Loopback(talk("hello")) as server, driver_for(api, server, model=None) as driver:
        assert driver.run("hi").text == "hello"
        assert "model" not in server.requests[0].json
