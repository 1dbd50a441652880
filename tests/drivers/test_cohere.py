"""The cohere SDK at our end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmneutral import CohereDriversConfig, CoherePromptDriver
from llmneutral.drivers.cohere import _sender
from tests.drivers.endpoints import KEY, TEXT, WAYS
from tests.drivers.sdk_endpoints import body_of, chunks_of, sdk_driver, stream_of, talks
from tests.loopback import Loopback, whole

API = "cohere_chat"
both = pytest.mark.parametrize("way", ["run", "stream", "arun", "astream"])


@both
def test_the_request(way: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        WAYS[way](driver, "hi", max_tokens=5, extra_body={"own": {"a": 1}})
        conversion = driver.preview("hi", max_tokens=5, extra_body={"own": {"a": 1}})
    [request] = server.requests
    assert request.path == "/v2/chat"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {**json.loads(json.dumps(conversion.to_json())), "stream": "stream" in way}
    assert request.json["own"] == {"a": 1}


@pytest.mark.parametrize("ending", ["", "/", "/v2", "/v1/"])
def test_the_address_may_end_in_a_version(ending: str) -> None:
    with (
        Loopback(talks(API)) as server,
        CoherePromptDriver("m", base_url=server.url + ending, api_key=KEY) as driver,
    ):
        driver.run("hi")
    assert server.requests[0].path == "/v2/chat"


def test_nothing_of_an_answer_is_lost() -> None:
    with Loopback(whole({**body_of(API), "own": 1})) as server, sdk_driver(API, server) as driver:
        assert driver.send(driver.preview("hi"))["own"] == 1


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_an_event_the_sdk_does_not_know_is_no_harm(way: str) -> None:
    chunks = chunks_of(API)
    chunks.insert(1, {"type": "a-new-event", "delta": {"message": {}}})
    with Loopback(stream_of(API, chunks)) as server, sdk_driver(API, server) as driver:
        assert WAYS[way](driver, "hi").text == TEXT[0][1]
        conversion = driver.preview("hi", stream=True)
    with Loopback(stream_of(API, chunks)) as server, sdk_driver(API, server) as driver:
        assert [chunk["type"] for chunk in driver.open(conversion)][1] == "a-new-event"


async def test_a_client_of_the_callers_is_used_and_not_closed() -> None:
    import cohere

    with Loopback(talks(API)) as server:
        options: dict[str, Any] = {"api_key": "own", "base_url": server.url}
        with cohere.ClientV2(**options) as client:
            async with cohere.AsyncClientV2(**options) as other:
                with CoherePromptDriver("m", client=client, async_client=other) as driver:
                    assert driver.run("hi").text == TEXT[0][1]
                    assert (await driver.arun("hi", stream=True)).text == TEXT[0][1]
                    driver.close()
                    assert driver.run("hi", stream=True).text == TEXT[0][1]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer own"}


async def test_a_client_of_the_callers_does_not_ask_again() -> None:
    import cohere

    busy = whole({"message": "busy"}, 429, retry_after="0")
    with Loopback(*[busy] * 5) as server, cohere.ClientV2(api_key="own", base_url=server.url) as client:
        answer = CoherePromptDriver("m", client=client, max_attempts=1, on_error="return").run("hi")
    assert answer.error is not None
    assert len(server.requests) == 1


def test_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_KEY", "key-of-the-environment")
    with Loopback(talks(API)) as server:
        monkeypatch.setenv("CO_API_URL", server.url)
        config = CohereDriversConfig()
        driver: Any = config.prompt_driver
        assert (type(driver), driver.model, driver.api_mode) == (CoherePromptDriver, "command-a-plus-05-2026", API)
        assert config.status().ready
        with driver:
            assert driver.run("hi").text == TEXT[0][1]
    assert server.requests[0].headers["authorization"] == "Bearer key-of-the-environment"


ASKED: dict[str, dict[str, Any]] = {
    "plain": {"source": "hi", "max_tokens": 9, "temperature": 0.5, "stop": ["x"]},
    "a system and a picture": {
        "source": [
            {"role": "system", "content": "be short"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "what is it?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
                ],
            },
        ]
    },
    "tools and their results": {
        "source": [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": null}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
        ],
    },
    "a form": {
        "source": "hi",
        "output_schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    },
    "documents and a key of the caller's": {
        "source": "hi",
        "documents": [{"id": "d", "data": {"text": "t"}}],
        "extra_body": {"own": {"a": None, "b": 1}},
    },
}


@both
@pytest.mark.parametrize("name", ASKED)
def test_below_the_sdks_types_the_same_request_is_sent(way: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the way that the typed method takes itself."""
    given = {**ASKED[name], "max_repairs": 0}
    source = given.pop("source")
    with Loopback(talks(API, ("text", '{"a": "b"}'))) as server, sdk_driver(API, server) as driver:
        below = WAYS[way](driver, source, **given).text
        monkeypatch.setattr("llmneutral.drivers.cohere._sender", lambda client: None)
        assert WAYS[way](driver, source, **given).text == below
        first, second = server.requests
    assert (first.path, first.method, first.json) == (second.path, second.method, second.json)
    heads = [{key: text for key, text in each.headers.items() if key != "content-length"} for each in (first, second)]
    assert heads[0] == heads[1]


def test_our_clients_are_known_to_send_below_the_types() -> None:
    """Another version of the SDK may be built otherwise: then the typed methods are called, which cost more."""
    with CoherePromptDriver("m", api_key=KEY) as driver:
        assert _sender(driver.client().client) is not None
