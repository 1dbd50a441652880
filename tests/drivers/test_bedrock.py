"""boto3 at our end, Amazon's event stream on the wire."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    AmazonBedrockDriversConfig,
    BedrockPromptDriver,
    ConfigurationError,
    ImageArtifact,
    ProviderError,
    RateLimitError,
)
from tests.drivers.endpoints import KEY, TEXT, WAYS
from tests.drivers.sdk_endpoints import (
    body_of,
    chunks_of,
    exception_frame,
    frame,
    sdk_driver,
    stream_of,
    talks,
    without_aws,
)
from tests.loopback import HOLD, Loopback, whole

API = "bedrock_converse"
PNG = b"\x89PNG\r\n\x1a\n"
both = pytest.mark.parametrize("way", ["run", "stream", "arun", "astream"])


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_aws(monkeypatch, tmp_path)


@both
def test_the_request(way: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server, model="us.vendor.model-v1:0") as driver:
        WAYS[way](driver, "hi", max_tokens=5, extra_body={"own": 1})
        conversion = driver.preview("hi", max_tokens=5, extra_body={"own": 1})
    [request] = server.requests
    ending = "converse-stream" if "stream" in way else "converse"
    assert request.path == f"/model/us.vendor.model-v1%3A0/{ending}"
    body = json.loads(json.dumps(conversion.to_json()))
    assert request.json == {key: value for key, value in body.items() if key != "modelId"}
    assert request.json["additionalModelRequestFields"] == {"own": 1}


@pytest.mark.parametrize("way", ["run", "astream"])
def test_an_image_goes_out_as_it_is(way: str) -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        WAYS[way](driver, ["look", ImageArtifact(PNG, format="png")])
    content = server.requests[0].json["messages"][0]["content"]
    [data] = [block["image"]["source"]["bytes"] for block in content if "image" in block]
    assert base64.b64decode(data) == PNG


# --- keys and regions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "stream"])
def test_credentials_of_the_environment_sign(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOFTHEUSER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    with Loopback(talks(API)) as server, sdk_driver(API, server, api_key=None) as driver:
        WAYS[way](driver, "hi")
    signed = server.requests[0].headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIAOFTHEUSER/")
    assert "/eu-west-1/bedrock/" in signed


def test_a_session_of_the_callers_signs() -> None:
    import boto3

    session = boto3.Session(aws_access_key_id="AKIAOWN", aws_secret_access_key="s", region_name="ap-south-1")
    with Loopback(talks(API)) as server:
        config = AmazonBedrockDriversConfig(session=session, base_url=server.url)
        assert config.prompt_driver.run("hi").text == TEXT[0][1]
        config.prompt_driver.close()
        given = AmazonBedrockDriversConfig("eu-west-3", session, base_url=server.url).prompt_driver
        assert given.run("hi").text == TEXT[0][1]
        given.close()
    regions = [request.headers["authorization"].split("/")[2] for request in server.requests]
    assert regions == ["ap-south-1", "eu-west-3"]


def test_an_api_key_goes_as_a_bearer() -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        driver.run("hi")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_environments_api_key_goes_to_amazon_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-of-the-environment")
    with Loopback(talks(API)) as server, sdk_driver(API, server, api_key=None) as driver:
        driver.run("hi")
    assert "key-of-the-environment" not in str(server.requests[0].headers)
    at_home = BedrockPromptDriver("m", base_url="https://bedrock-runtime.eu-west-1.amazonaws.com")
    assert (at_home.api_key.read(), at_home.client_region()) == ("key-of-the-environment", "eu-west-1")


@both
def test_missing_credentials_are_told_before_the_network(way: str) -> None:
    with pytest.raises(ConfigurationError, match=r"no AWS credentials.*AWS_ACCESS_KEY_ID.*AWS_BEARER_TOKEN_BEDROCK"):
        WAYS[way](BedrockPromptDriver("m", region="us-east-1"), "hi")


@both
def test_a_missing_region_is_told_before_the_network(way: str) -> None:
    with pytest.raises(ConfigurationError, match="no region: AWS_REGION is not set"):
        WAYS[way](BedrockPromptDriver("m", api_key=KEY), "hi")


def test_a_profile_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ConfigurationError, match="nobody"):
        BedrockPromptDriver("m", region="us-east-1").run("hi")


# --- streams and clients ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_an_exception_in_the_stream_is_classified(way: str) -> None:
    begun = stream_of(API, [*chunks_of(API)[:3], exception_frame("throttlingException", {"message": "slow down"})])
    with (
        Loopback(begun) as server,
        sdk_driver(API, server) as driver,
        pytest.raises(RateLimitError, match="slow down") as told,
    ):
        WAYS[way](driver, "hi")
    assert (told.value.status, told.value.raw_type) == (None, "throttlingException")
    assert told.value.partial.text


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_frame_that_was_damaged_on_its_way_is_told(way: str) -> None:
    chunks = chunks_of(API)
    damaged = chunks[3][:-1] + bytes([chunks[3][-1] ^ 1])
    with (
        Loopback(stream_of(API, [*chunks[:3], damaged])) as server,
        sdk_driver(API, server) as driver,
        pytest.raises(ProviderError) as told,
    ):
        WAYS[way](driver, "hi")
    assert (told.value.type, told.value.raw_type) == ("malformed_response", "ChecksumMismatch")


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_an_event_the_sdk_does_not_know_is_no_harm(way: str) -> None:
    chunks = chunks_of(API)
    chunks.insert(1, frame({":message-type": "event", ":event-type": "aNewEvent"}, {"own": 1}))
    with Loopback(stream_of(API, chunks)) as server, sdk_driver(API, server) as driver:
        assert WAYS[way](driver, "hi").text == TEXT[0][1]


def test_closing_an_async_stream_leaves_no_thread() -> None:
    async def begin() -> None:
        async with driver.astream("hi") as stream:
            async for delta in stream:
                if delta.text:
                    return

    with Loopback(stream_of(API, [*chunks_of(API)[:3], HOLD])) as server, sdk_driver(API, server) as driver:
        asyncio.run(begin())
        readers = [thread for thread in threading.enumerate() if thread.name == "llmneutral-io"]
        for thread in readers:
            thread.join(5)
        assert not any(thread.is_alive() for thread in readers)
        assert server.closes()


def test_a_client_of_the_callers_is_used_and_not_closed() -> None:
    import boto3

    with Loopback(talks(API)) as server:
        own: Any = {"aws_access_key_id": "AKIAOWN", "aws_secret_access_key": "s", "region_name": "us-west-2"}
        client = boto3.client("bedrock-runtime", endpoint_url=server.url, **own)
        with BedrockPromptDriver("m", client=client) as driver:
            assert driver.run("hi").text == TEXT[0][1]
        assert server.open_connections == 1
        assert "AKIAOWN" in server.requests[0].headers["authorization"]
        client.close()


def test_few_clients_are_made_for_many_time_outs() -> None:
    with Loopback(talks(API)) as server, sdk_driver(API, server) as driver:
        for seconds in (20.0, 25.0, 30.0):
            driver.run("hi", timeout=seconds)
        driver.run("hi")
    assert len(server.connections) == 2


def test_answers_are_read_without_what_the_sdk_adds() -> None:
    with Loopback(whole(body_of(API))) as server, sdk_driver(API, server) as driver:
        assert driver.send(driver.preview("hi")) == body_of(API)


def test_the_config() -> None:
    config = AmazonBedrockDriversConfig("eu-central-1")
    driver: Any = config.prompt_driver
    assert (type(driver), driver.model) == (BedrockPromptDriver, "us.anthropic.claude-sonnet-5-5-v1:0")
    assert (driver.api_mode, driver.client_region()) == (API, "eu-central-1")
    assert config.status().ready, "credentials are AWS's business"


# --- silence ----------------------------------------------------------------------------------------------------------


def test_the_limit_of_silence_ends_with_its_stream() -> None:
    """The connection goes back to the pool, and the next request waits for its first byte as long as it may."""
    slow = dataclasses.replace(stream_of(API, chunks_of(API)), delay=0.4)
    with Loopback(stream_of(API, chunks_of(API)), slow) as server, sdk_driver(API, server, idle_timeout=0.2) as driver:
        assert [driver.run("hi", stream=True, max_attempts=1).text for _ in range(2)] == [TEXT[0][1]] * 2
        assert {request.connection for request in server.requests} == {server.requests[0].connection}


def test_a_model_that_thinks_may_be_silent() -> None:
    chunks = chunks_of(API)
    answer = stream_of(API, [*chunks[:3], 0.5, *chunks[3:]])
    with Loopback(answer) as server, sdk_driver(API, server, idle_timeout=0.2) as driver:
        assert driver.run("hi", stream=True, max_attempts=1, reasoning_effort="low").text == TEXT[0][1]


@pytest.mark.parametrize("wrong", [0, -1, "x", float("nan")])
def test_a_wrong_limit_of_silence_is_named(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="idle_timeout"):
        BedrockPromptDriver("m", idle_timeout=wrong)
