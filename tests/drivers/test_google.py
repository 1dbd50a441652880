"""The google-genai SDK at our end."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import msgspec
import pytest

from llmneutral import (
    ConversionError,
    GoogleDriversConfig,
    GooglePromptDriver,
    ImageArtifact,
    MalformedResponseError,
    ProviderError,
)
from llmneutral.drivers.google import GoogleChunks
from llmneutral.drivers.http_answers import Chunks
from tests.drivers.endpoints import CALLS, KEY, TEXT, WAYS
from tests.drivers.sdk_endpoints import body_of, chunks_of, sdk_driver, stream_of, talks
from tests.loopback import CUT, RESET, Loopback, page, whole

API = "gemini_native"
PNG = b"\x89PNG\r\n\x1a\n"
both = pytest.mark.parametrize("way", ["run", "stream", "arun", "astream"])


@both
def test_the_request(way: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        WAYS[way](driver, "hi", max_tokens=5, extra_body={"generationConfig": {"own": 1}})
        conversion = driver.preview("hi", max_tokens=5, extra_body={"generationConfig": {"own": 1}})
    [request] = server.requests
    ending = ":streamGenerateContent?alt=sse" if "stream" in way else ":generateContent"
    assert request.path == f"/v1beta/models/m{ending}"
    assert request.headers["x-goog-api-key"] == KEY
    assert request.json == json.loads(json.dumps(conversion.to_json()))
    assert request.json["generationConfig"] == {"maxOutputTokens": 5, "own": 1}


@both
def test_an_image_goes_out_as_it_is(way: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        WAYS[way](driver, ["look", ImageArtifact(PNG, format="png")])
    parts = server.requests[0].json["contents"][0]["parts"]
    [data] = [part["inlineData"]["data"] for part in parts if "inlineData" in part]
    assert base64.b64decode(data) == PNG


@pytest.mark.parametrize(
    ("ending", "version"),
    [("", "v1beta"), ("/", "v1beta"), ("/v1beta", "v1beta"), ("/v1/", "v1"), ("/deep/er/v1alpha", "deep/er/v1alpha")],
)
@pytest.mark.parametrize("way", ["run", "stream"])
def test_the_address_may_end_in_a_version(ending: str, version: str, way: str) -> None:
    with (
        Loopback(talks(API)) as server,
        GooglePromptDriver("m", base_url=server.url + ending, api_key=KEY) as driver,
    ):
        WAYS[way](driver, "hi")
    assert server.requests[0].path.startswith(f"/{version}/models/m:")


@both
def test_the_environment_does_not_send_it_elsewhere(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's own variables would turn to Vertex, or take another key."""
    for name, text in {
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "us-central1",
        "GOOGLE_API_KEY": "another-key",
    }.items():
        monkeypatch.setenv(name, text)
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        assert WAYS[way](driver, "hi").text == TEXT[0][1]
    assert server.requests[0].headers["x-goog-api-key"] == KEY


@pytest.mark.parametrize("way", ["run", "arun"])
def test_a_function_is_called_by_nobody_but_the_caller(way: str) -> None:
    called: list[int] = []

    def look(a: int = 0) -> str:
        """Looks."""
        called.append(a)
        return "seen"

    with Loopback(talks(API, *CALLS)) as server, sdk_driver(API, server) as driver:
        response = WAYS[way](driver, "hi", tools=[look])
    assert len(response.tool_calls) == 2
    assert (called, len(server.requests)) == ([], 1)


def test_nothing_of_an_answer_is_lost() -> None:
    with Loopback(whole({**body_of(API), "own": 1})) as server, sdk_driver(API, server) as driver:
        assert driver.send(driver.preview("hi"))["own"] == 1
    chunks = [{**chunk, "own": 1} for chunk in chunks_of(API)]
    with Loopback(stream_of(API, chunks)) as server, sdk_driver(API, server) as driver:
        assert list(driver.open(driver.preview("hi", stream=True))) == chunks


# --- the ways through the SDK: methods of another signature are not used ------------------------------------------


def rename(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Gives a method of the SDK another signature."""
    from google.genai._api_client import BaseApiClient

    method = getattr(BaseApiClient, name)
    monkeypatch.setattr(BaseApiClient, name, lambda self, *rest, **named: method(self, *rest, **named))


BYTES, BODIES, TYPED = "bytes of the response", "bodies as they came", "typed objects"
WITHOUT = {
    BYTES: (),
    BODIES: ("_request", "_async_request"),
    TYPED: ("_request", "_async_request", "request", "async_request", "request_streamed", "async_request_streamed"),
}


@pytest.fixture(params=WITHOUT)
def through(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in WITHOUT[request.param]:
        rename(monkeypatch, name)
    return str(request.param)


@both
def test_each_way_gives_the_same(through: str, way: str) -> None:
    with Loopback(talks(API, *CALLS)) as server, sdk_driver(API, server) as driver:
        response = WAYS[way](driver, "hi", extra_body={"generationConfig": {"own": 1}})
    assert response.text == "I look"
    assert [call.input for call in response.tool_calls] == [{"a": 1}, {"b": "x"}]
    assert (response.usage.output_total, response.finish_reason) == (7, "tool_calls")
    assert server.requests[0].json["generationConfig"]["own"] == 1


def test_each_way_is_another_one(through: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        stream = driver.open(driver.preview("hi", stream=True))
        chunks = list(stream)
    assert chunks
    if through == BYTES:
        assert isinstance(stream, Chunks)
        return
    assert isinstance(stream, GoogleChunks)
    assert (type(stream._stream).__qualname__, stream._stream.__name__) == ("generator", FEEDS[through])


FEEDS = {BODIES: "request_streamed", TYPED: "generate_content_stream"}


@pytest.mark.parametrize("way", ["stream", "astream"])
@pytest.mark.parametrize("end", [RESET, CUT])
def test_each_way_keeps_what_came_before_the_end_of_the_connection(through: str, way: str, end: str) -> None:
    with (
        Loopback(stream_of(API, [*chunks_of(API)[:2], end])) as server,
        sdk_driver(API, server, max_attempts=1) as driver,
        pytest.raises(ProviderError) as told,
    ):
        WAYS[way](driver, "hi")
    assert told.value.partial.text


@both
def test_each_way_tells_what_is_no_answer(through: str, way: str) -> None:
    with (
        Loopback(page()) as server,
        sdk_driver(API, server, max_attempts=1) as driver,
        pytest.raises(MalformedResponseError),
    ):
        WAYS[way](driver, "hi")


@pytest.mark.parametrize("way", ["stream", "astream"])
@pytest.mark.parametrize("code", [{}, {"code": 500}])
def test_each_way_tells_an_error_in_the_stream(through: str, way: str, code: dict[str, int]) -> None:
    chunks = [*chunks_of(API)[:2], {"error": {"message": "odd", **code}}]
    with (
        Loopback(stream_of(API, chunks)) as server,
        sdk_driver(API, server) as driver,
        pytest.raises(ProviderError) as told,
    ):
        WAYS[way](driver, "hi")
    assert told.value.type == "server_error"
    assert told.value.partial.text


@pytest.mark.parametrize("way", ["run", "arun"])
def test_what_the_typed_method_refuses_is_told_without_the_prompt(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the network, in one line, naming the field."""
    for name in WITHOUT[TYPED]:
        rename(monkeypatch, name)
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        conversion = driver.preview("my secret prompt")
        payload = {**conversion.payload, "config": {"top_k": ["my secret prompt"]}}
        conversion = msgspec.structs.replace(conversion, payload=payload)
        with pytest.raises(ConversionError, match="top_k") as told:
            driver.send(conversion) if way == "run" else asyncio.run(driver.asend(conversion))
    assert "secret" not in str(told.value)
    assert not server.requests


# --- what Google says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "stream"])
def test_the_delay_that_google_asks_for_is_read_from_the_details(way: str) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}]
    body = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": details}}
    with (
        Loopback(whole(body, 429)) as server,
        sdk_driver(API, server, max_attempts=1) as driver,
        pytest.raises(ProviderError) as told,
    ):
        WAYS[way](driver, "hi")
    assert (told.value.retry_after, told.value.raw_type) == (7.0, "RESOURCE_EXHAUSTED")


async def test_a_client_of_vertex_keeps_its_paths() -> None:
    from google import genai

    with Loopback(talks(API)) as server:
        options = genai.types.HttpOptions(base_url=server.url)
        with genai.Client(vertexai=True, api_key="own", http_options=options) as client:
            driver = GooglePromptDriver("gemini-3.8-flash", client=client, async_client=client.aio)
            assert driver.run("hi").text == TEXT[0][1]
            assert driver.run("hi", stream=True).text == TEXT[0][1]
            assert (await driver.arun("hi", stream=True)).text == TEXT[0][1]
            await client.aio.aclose()
    assert all("/publishers/google/models/gemini-3.8-flash:" in request.path for request in server.requests)


async def test_a_client_of_the_callers_is_used_and_not_closed() -> None:
    from google import genai

    options = genai.types.HttpOptions(api_version="v1beta")
    with Loopback(talks(API)) as server:
        options.base_url = server.url
        with genai.Client(api_key="own", vertexai=False, http_options=options) as client:
            async with client.aio as other:
                with GooglePromptDriver("m", client=client, async_client=other) as driver:
                    assert driver.run("hi").text == TEXT[0][1]
                    assert (await driver.arun("hi", stream=True)).text == TEXT[0][1]
                    driver.close()
                    assert driver.run("hi", stream=True).text == TEXT[0][1]
    assert {request.headers["x-goog-api-key"] for request in server.requests} == {"own"}


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_the_config(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not GoogleDriversConfig().status().ready
    monkeypatch.setenv(variable, "key-of-the-environment")
    with Loopback(talks(API)) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        config = GoogleDriversConfig()
        driver: Any = config.prompt_driver
        assert (type(driver), driver.model, driver.api_mode) == (GooglePromptDriver, "gemini-3.8-flash", API)
        assert config.status().ready
        with driver:
            assert driver.run("hi").text == TEXT[0][1]
    assert server.requests[0].headers["x-goog-api-key"] == "key-of-the-environment"
