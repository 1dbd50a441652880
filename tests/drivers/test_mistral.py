"""The mistralai SDK at our end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmneutral import ConversionError, MistralDriversConfig, MistralPromptDriver, OverloadedError, ProviderError
from llmneutral.errors import MalformedResponseError
from tests.drivers.endpoints import KEY, TEXT, WAYS
from tests.drivers.sdk_endpoints import body_of, chunks_of, sdk_driver, stream_of, talks
from tests.loopback import Loopback, page, whole

API = "mistral_chat"
both = pytest.mark.parametrize("way", ["run", "stream", "arun", "astream"])


@both
def test_the_request(way: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        WAYS[way](driver, "hi", max_tokens=5)
        conversion = driver.preview("hi", max_tokens=5)
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {**json.loads(json.dumps(conversion.to_json())), "stream": "stream" in way}


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_in_v1(ending: str) -> None:
    with (
        Loopback(talks(API)) as server,
        MistralPromptDriver("m", base_url=server.url + ending, api_key=KEY) as driver,
    ):
        driver.run("hi")
    assert server.requests[0].path == "/v1/chat/completions"


def test_nothing_of_an_answer_is_lost() -> None:
    """A field, and a reason, that the SDK's types do not know."""
    body = body_of(API)
    body["choices"][0]["finish_reason"] = "a_new_reason"
    with Loopback(whole({**body, "own": 1})) as server, sdk_driver(API, server) as driver:
        answer = driver.send(driver.preview("hi"))
    assert (answer["own"], answer["choices"][0]["finish_reason"]) == (1, "a_new_reason")


@pytest.mark.parametrize("way", ["run", "arun"])
def test_an_answer_that_only_the_types_refuse_is_read(way: str) -> None:
    body = {**body_of(API), "created": "today", "object": 7}
    with Loopback(whole(body)) as server, sdk_driver(API, server) as driver:
        assert WAYS[way](driver, "hi").text == TEXT[0][1]


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_chunk_that_the_types_refuse_is_read(way: str) -> None:
    chunks = [chunk if isinstance(chunk, str) else {**chunk, "created": "today", "own": 1} for chunk in chunks_of(API)]
    with Loopback(stream_of(API, chunks)) as server, sdk_driver(API, server) as driver:
        assert WAYS[way](driver, "hi").text == TEXT[0][1]


@pytest.mark.parametrize("way", ["stream", "astream"])
@pytest.mark.parametrize(("status", "kind"), [(200, MalformedResponseError), (529, OverloadedError)])
def test_an_answer_without_a_body_is_told_by_its_status(way: str, status: int, kind: type[ProviderError]) -> None:
    with (
        Loopback(page("", status)) as server,
        sdk_driver(API, server, max_attempts=1) as driver,
        pytest.raises(kind) as told,
    ):
        WAYS[way](driver, "hi")
    assert told.value.status == status


@both
def test_an_argument_the_sdk_does_not_take_is_named(way: str) -> None:
    with (
        Loopback(talks(API)) as server,
        sdk_driver(API, server) as driver,
        pytest.raises(ConversionError, match=r"takes no argument own.*chat_completions"),
    ):
        WAYS[way](driver, "hi", extra_body={"own": 1})
    assert not server.requests


async def test_a_client_of_the_callers_is_used_and_not_closed() -> None:
    from mistralai.client import Mistral

    with Loopback(talks(API)) as server:
        async with Mistral(api_key="own", server_url=server.url) as client:
            with client, MistralPromptDriver("m", client=client, async_client=client) as driver:
                assert driver.run("hi").text == TEXT[0][1]
                assert driver.run("hi", stream=True).text == TEXT[0][1]
                assert (await driver.arun("hi")).text == TEXT[0][1]
                driver.close()
                assert driver.run("hi").text == TEXT[0][1]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer own"}


def test_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "key-of-the-environment")
    with Loopback(talks(API)) as server:
        config = MistralDriversConfig(base_url=server.url)
        driver: Any = config.prompt_driver
        assert (type(driver), driver.model, driver.api_mode) == (MistralPromptDriver, "mistral-large-latest", API)
        assert config.status().ready
    monkeypatch.delenv("MISTRAL_API_KEY")
    assert not config.status().ready
