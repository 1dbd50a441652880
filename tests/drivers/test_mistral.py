"""The mistralai SDK at our end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ConversionError,
    ImageMessageContent,
    Message,
    MistralDriversConfig,
    MistralPromptDriver,
    OverloadedError,
    PromptStack,
    ProviderError,
    TextMessageContent,
)
from llmneutral.drivers import mistral
from llmneutral.errors import MalformedResponseError, RateLimitError
from tests.drivers.endpoints import KEY, TEXT, WAYS
from tests.drivers.sdk_endpoints import body_of, chunks_of, error_answer, sdk_driver, stream_of, talks
from tests.loopback import Loopback, page, whole

API = "mistral_chat"
RAW_REQUEST = mistral.raw_request
both = pytest.mark.parametrize("way", ["run", "stream", "arun", "astream"])


@pytest.fixture(autouse=True, params=["below the types", "typed"])
def _each_road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the methods below the SDK's types, and by the typed ones, which an SDK that is not known is asked by."""
    if request.param == "typed":
        monkeypatch.setattr(mistral, "raw_request", _typed)


def _typed(*given: Any, **options: Any) -> None:
    """As with an SDK that is not known: there are no methods below the types."""


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
def test_what_a_refusal_says_is_told(way: str) -> None:
    with (
        Loopback(error_answer(API, 429, retry_after="7")) as server,
        sdk_driver(API, server, max_attempts=1) as driver,
        pytest.raises(RateLimitError) as told,
    ):
        WAYS[way](driver, "hi")
    error = told.value
    assert (error.status, error.message, error.request_id, error.retry_after) == (429, "it says no", "req_loop", 7)
    assert KEY not in str(error)


@both
def test_both_roads_send_the_same_request(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = PromptStack(
        [
            Message("system", (TextMessageContent("be brief"),)),
            Message("user", (TextMessageContent("größe ✓"), ImageMessageContent(url="https://example.org/a.png"))),
            Message("assistant", (ActionCallMessageContent("call00001", "look", input={"a": [1, None, 2.5]}),)),
            Message("user", (ActionResultMessageContent("call00001", "seen"),)),
        ],
        tools=[{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    )
    sent = []
    for road in (RAW_REQUEST, _typed):
        monkeypatch.setattr(mistral, "raw_request", road)
        with Loopback(talks(API)) as server, sdk_driver(API, server, headers={"x-own": "1"}) as driver:
            WAYS[way](driver, stack, max_tokens=5, temperature=0.5, stop=["x"])
        [request] = server.requests
        differing = {"content-length", "host", "traceparent"}  # white space, ports and numbers of the run
        headers = {name: value for name, value in request.headers.items() if name not in differing}
        sent.append((request.method, request.path, _without_defaults(request.json), headers))
    assert sent[0] == sent[1]
    assert sent[0][3]["x-own"] == "1"


def _without_defaults(node: Any) -> Any:
    """A body without what the types add to it."""
    if isinstance(node, list):
        return [_without_defaults(each) for each in node]
    if not isinstance(node, dict):
        return node
    added = {"prefix": False, "index": 0}
    return {key: _without_defaults(value) for key, value in node.items() if (key, value) not in added.items()}


def test_an_sdk_of_another_kind_is_asked_by_its_typed_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    from mistralai.client import Mistral
    from mistralai.client.utils import BackoffStrategy, RetryConfig

    conversion = MistralPromptDriver("m", api_key=KEY).preview("hi")
    assert RAW_REQUEST(Mistral(api_key="k").chat, conversion, stream=False) is not None
    retrying = Mistral(api_key="k", retry_config=RetryConfig("backoff", BackoffStrategy(1, 2, 1.5, 3), False))
    assert RAW_REQUEST(retrying.chat, conversion, stream=False) is None
    monkeypatch.setattr(mistral, "RAW_SEND", ("another", "signature"))
    assert RAW_REQUEST(Mistral(api_key="k").chat, conversion, stream=False) is None
    assert RAW_REQUEST(object(), conversion, stream=True) is None


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
