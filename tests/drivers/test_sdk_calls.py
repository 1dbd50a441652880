"""What google-genai, boto3, cohere and mistralai have in common at our end, on a wire of their own at the other."""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    ConfigurationError,
    ConversionError,
    MalformedResponseError,
    MissingExtraError,
    ProviderError,
    ProviderTimeoutError,
    StreamInterruptedError,
    make_driver,
)
from tests.drivers.endpoints import CALLS, KEY, TEXT, WAYS, Asking
from tests.drivers.sdk_endpoints import (
    APIS,
    body_of,
    chunks_of,
    error_answer,
    error_chunk,
    raw_type_of,
    sdk_driver,
    stream_of,
    talks,
    without_aws,
)
from tests.loopback import CUT, HOLD, RESET, RESET_AT_ONCE, Loopback, page, whole

apis = pytest.mark.parametrize("api", APIS)
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
streams = pytest.mark.parametrize("ask", [WAYS["stream"], WAYS["astream"]], ids=["stream", "astream"])
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
TYPES = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_aws(monkeypatch, tmp_path)


# --- answers ----------------------------------------------------------------------------------------------------------


@apis
@ways
def test_a_text_comes_back(api: str, ask: Asking) -> None:
    with Loopback(talks(api)) as server, sdk_driver(api, server) as driver:
        response = ask(driver, "hi")
    assert response.text == "Hello there, wörld"
    assert (response.finish_reason, response.complete) == ("stop", True)
    assert (response.usage.input_total, response.usage.output_total) == (5, 7)
    assert response.metadata is not None
    assert (response.metadata.request_id, response.metadata.attempts) == ("req_loop", 1)
    assert len(server.requests) == len(server.connections) == 1


@apis
@ways
def test_calls_come_back(api: str, ask: Asking) -> None:
    with Loopback(talks(api, *CALLS)) as server, sdk_driver(api, server) as driver:
        response = ask(driver, "hi", tools=[LOOK])
    assert [(call.name, call.input) for call in response.tool_calls] == [("look", {"a": 1}), ("look", {"b": "x"})]
    assert response.finish_reason == "tool_calls"


@apis
@pytest.mark.parametrize("way", ["run", "stream"])
def test_thinking_comes_back(api: str, way: str) -> None:
    blocks = [("thinking", "Well, well.", "c2VhbA=="), *TEXT]
    with Loopback(talks(api, *blocks)) as server, sdk_driver(api, server) as driver:
        response = WAYS[way](driver, "hi")
    assert response.reasoning[0]["text"] == "Well, well."
    assert response.text == "Hello there, wörld"


@apis
@pytest.mark.parametrize("way", ["run", "stream"])
def test_what_is_no_answer_of_the_api_is_told(api: str, way: str) -> None:
    with Loopback(page(), page("")) as server, sdk_driver(api, server, max_attempts=1) as driver:
        for _ in range(2):
            with pytest.raises(ProviderError) as told:
                WAYS[way](driver, "hi")
            assert isinstance(told.value, MalformedResponseError | StreamInterruptedError)
            assert told.value.retryable


# --- errors -----------------------------------------------------------------------------------------------------------


@apis
@ways
@pytest.mark.parametrize("status", [401, 429, 500])
def test_an_error_is_translated_and_asked_again_by_us_alone(api: str, ask: Asking, status: int) -> None:
    with (
        Loopback(*[error_answer(api, status, retry_after="2")] * 4) as server,
        sdk_driver(api, server) as driver,
        pytest.raises(ProviderError) as told,
    ):
        ask(driver, "hi")
    error, attempts = told.value, 1 if status == 401 else 3
    assert (error.status, error.type, error.raw_type) == (status, TYPES[status], raw_type_of(api, status))
    assert (error.message, error.request_id, error.retry_after) == ("it says no", "req_loop", 2.0)
    assert (error.attempts, len(server.requests)) == (attempts, attempts)
    assert KEY not in f"{error!r} {error.__cause__} {error.__context__}"


@apis
@ways
def test_a_lost_connection_is_asked_again(api: str, ask: Asking) -> None:
    with Loopback(RESET_AT_ONCE, talks(api)) as server, sdk_driver(api, server) as driver:
        response = ask(driver, "hi")
    assert response.text == TEXT[0][1]
    assert response.metadata is not None
    assert [attempt.error.type for attempt in response.metadata.retries] == ["connection_error"]


@apis
@streams
@pytest.mark.parametrize("end", [RESET, CUT])
def test_a_drop_in_the_middle_keeps_what_came(api: str, ask: Asking, end: str) -> None:
    begun = stream_of(api, [*chunks_of(api)[:3], 0.05, end])
    with (
        Loopback(begun, talks(api)) as server,
        sdk_driver(api, server) as driver,
        pytest.raises(StreamInterruptedError) as told,
    ):
        ask(driver, "hi")
    assert told.value.partial.text
    assert TEXT[0][1].startswith(told.value.partial.text)
    assert len(server.requests) == 1, "what was given is not asked for again"


@apis
@streams
def test_an_error_in_the_middle_is_told_with_what_came(api: str, ask: Asking) -> None:
    begun = stream_of(api, [*chunks_of(api)[:3], error_chunk(api)])
    with (
        Loopback(begun, talks(api)) as server,
        sdk_driver(api, server) as driver,
        pytest.raises(ProviderError) as told,
    ):
        ask(driver, "hi")
    assert "too busy" in told.value.message
    assert told.value.type == ("server_error" if api == "cohere_chat" else "overloaded_error")
    assert told.value.partial.text
    assert len(server.requests) == 1


@apis
@streams
def test_an_error_before_any_content_is_asked_again(api: str, ask: Asking) -> None:
    with Loopback(stream_of(api, [error_chunk(api)]), talks(api)) as server, sdk_driver(api, server) as driver:
        assert ask(driver, "hi").text == TEXT[0][1]
    assert len(server.requests) == 2


@apis
@pytest.mark.parametrize("way", ["run", "arun"])
def test_a_call_takes_no_longer_than_it_may(api: str, way: str) -> None:
    with (
        Loopback(whole(body_of(api), delay=5.0)) as server,
        sdk_driver(api, server) as driver,
        pytest.raises(ProviderTimeoutError),
    ):
        WAYS[way](driver, "hi", timeout=0.3, max_attempts=1)


@apis
@streams
def test_a_stream_that_falls_silent_is_given_up(api: str, ask: Asking) -> None:
    begun = stream_of(api, [*chunks_of(api)[:3], HOLD])
    with (
        Loopback(begun) as server,
        sdk_driver(api, server, idle_timeout=0.2) as driver,
        pytest.raises(ProviderTimeoutError) as told,
    ):
        ask(driver, "hi")
    assert told.value.partial.text


# --- connections and clients ------------------------------------------------------------------------------------------


@apis
def test_closing_a_stream_closes_the_connection(api: str) -> None:
    with Loopback(stream_of(api, [*chunks_of(api)[:3], HOLD])) as server, sdk_driver(api, server) as driver:
        with driver.stream("hi") as stream:
            assert next(delta for delta in stream if delta.text).text
        assert server.closes()
        assert stream.response.finish_reason == "incomplete"


@apis
def test_closing_an_async_stream_closes_the_connection(api: str) -> None:
    async def begin() -> Any:
        async with driver.astream("hi") as stream:
            async for delta in stream:
                if delta.text:
                    break
        assert await asyncio.to_thread(server.closes)
        return stream.response

    with Loopback(stream_of(api, [*chunks_of(api)[:3], HOLD])) as server, sdk_driver(api, server) as driver:
        response = asyncio.run(begin())
    assert response.finish_reason == "incomplete"


@apis
def test_a_connection_is_kept_between_calls_and_closed_with_the_driver(api: str) -> None:
    with Loopback(talks(api)) as server, sdk_driver(api, server) as driver:
        driver.run("hi")
        assert "".join(delta.text for delta in driver.stream("hi")) == TEXT[0][1]
        driver.run("hi")
        assert len(server.connections) == 1
        driver.close()
        assert server.closes()
        driver.run("hi")  # a closed driver may be used again


@pytest.mark.parametrize("api", ["gemini_native", "cohere_chat", "mistral_chat"])
def test_an_async_client_belongs_to_its_loop(api: str) -> None:
    async def twice() -> list[str]:
        return [(await driver.arun("hi")).text, (await driver.arun("hi")).text]

    with Loopback(talks(api)) as server, sdk_driver(api, server) as driver:
        for _ in range(2):
            assert asyncio.run(twice()) == [TEXT[0][1]] * 2
            assert server.closes(), "the end of the loop closes what the driver opened in it"
        gc.collect()  # a socket that was left open would warn here
    assert len(server.connections) == 2


@apis
def test_every_attempt_sends_the_same_bytes(api: str) -> None:
    with Loopback(error_answer(api, 429), talks(api)) as server, sdk_driver(api, server) as driver:
        driver.run("hi", max_tokens=5, temperature=0.5)
    assert len({request.body for request in server.requests}) == 1


@pytest.mark.parametrize("api", ["gemini_native", "cohere_chat", "mistral_chat"])
@pytest.mark.parametrize("way", ["run", "astream"])
def test_headers_of_the_callers_go_along(api: str, way: str) -> None:
    with Loopback(talks(api)) as server, sdk_driver(api, server, headers={"X-Team": "red"}) as driver:
        WAYS[way](driver, "hi")
    assert server.requests[0].headers["x-team"] == "red"


# --- what is missing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "names"),
    [
        ("gemini_native", "GEMINI_API_KEY or GOOGLE_API_KEY is not set"),
        ("cohere_chat", "CO_API_KEY is not set"),
        ("mistral_chat", "MISTRAL_API_KEY is not set"),
    ],
)
@ways
def test_a_missing_key_is_told_before_the_network(api: str, names: str, ask: Asking) -> None:
    with pytest.raises(ConfigurationError, match=names):
        ask(make_driver(api, model="m"), "hi")


@pytest.mark.parametrize(
    ("api", "module", "extra"),
    [
        ("gemini_native", "google.genai", "google"),
        ("bedrock_converse", "boto3", "bedrock"),
        ("cohere_chat", "cohere", "cohere"),
        ("mistral_chat", "mistralai.client", "mistral"),
    ],
)
@pytest.mark.parametrize("keyed", [True, False], ids=["with a key", "without"])
@pytest.mark.parametrize("way", ["run", "astream"])
def test_a_missing_sdk_is_told_with_its_extra(
    api: str, module: str, extra: str, way: str, keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with (
        Loopback(talks(api)) as server,
        sdk_driver(api, server) if keyed else make_driver(api, model="m") as driver,
        pytest.raises(MissingExtraError, match=rf"pip install 'llmneutral\[{extra}\]'"),
    ):
        WAYS[way](driver, "hi")
    assert not server.requests


@pytest.mark.parametrize(
    ("api", "extra_body"),
    [("bedrock_converse", None), ("mistral_chat", {"own": 1})],
)
def test_what_the_sdk_refuses_is_told_without_the_prompt(api: str, extra_body: Any) -> None:
    """Before the network, in one line, naming the field."""
    import msgspec

    with Loopback(talks(api)) as server, sdk_driver(api, server) as driver:
        conversion = driver.preview("my secret prompt", **({"extra_body": extra_body} if extra_body else {}))
        if extra_body is None:
            payload = {**conversion.payload, "inferenceConfig": {"maxTokens": "my secret prompt"}}
            conversion = msgspec.structs.replace(conversion, payload=payload)
        with pytest.raises(ConversionError, match=r"own|maxTokens") as told:
            driver.send(conversion)
    assert "secret" not in str(told.value)
    assert not server.requests
