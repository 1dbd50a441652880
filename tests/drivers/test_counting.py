"""Tokens of a prompt: by the provider where it counts, estimated elsewhere."""

from __future__ import annotations

import asyncio
import json

import pytest

from llmneutral import (
    AuthenticationError,
    ConversionError,
    MalformedResponseError,
    RateLimitError,
    make_driver,
)
from llmneutral.drivers.counting import TokenCount, counter_of
from tests.drivers.endpoints import KEY, driver_for
from tests.drivers.scripted import Scripted
from tests.loopback import Loopback, whole

PATHS = {"codex_responses": "/v1/responses/input_tokens", "anthropic_messages": "/v1/messages/count_tokens"}
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize("api", PATHS)
def test_the_provider_counts(api: str) -> None:
    answer = whole({"object": "response.input_tokens", "input_tokens": 17})
    with Loopback(answer, answer) as server, driver_for(api, server) as driver:
        assert driver.count_tokens("hi", tools=[LOOK], max_tokens=5, temperature=0.5) == TokenCount(17)
        assert asyncio.run(driver.acount_tokens("hi")) == TokenCount(17)
    asked = server.requests[0]
    assert asked.path == PATHS[api]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    body = asked.json
    assert set(body) <= {"model", "input", "messages", "tools", "tool_choice"}
    assert body["tools"]
    assert int(TokenCount(17)) == 17


def test_failures_are_repeated_and_told() -> None:
    busy = whole({"error": {"message": "busy"}}, 429, retry_after="0")
    with Loopback(busy, whole({"input_tokens": 3})) as server, driver_for("anthropic_messages", server) as driver:
        assert driver.count_tokens("hi").tokens == 3
    with Loopback(busy) as server, driver_for("anthropic_messages", server) as driver, pytest.raises(RateLimitError):
        driver.count_tokens("hi", max_attempts=1)
    with Loopback(whole({"error": {"message": KEY}}, 401)) as server, driver_for("codex_responses", server) as driver:
        with pytest.raises(AuthenticationError) as caught:
            driver.count_tokens("hi")
        assert KEY not in str(caught.value)
    with (
        Loopback(whole({"other": 1})) as server,
        driver_for("codex_responses", server) as driver,
        pytest.raises(MalformedResponseError, match="no input_tokens"),
    ):
        driver.count_tokens("hi")


@pytest.mark.parametrize("api", PATHS)
def test_a_relay_that_does_not_count_is_estimated(api: str) -> None:
    answer = whole({"error": {"message": "no such path"}}, 404)
    with Loopback(answer, answer) as server, driver_for(api, server) as driver:
        count = driver.count_tokens("hello " * 100)
        assert count.estimated
        assert count == asyncio.run(driver.acount_tokens("hello " * 100))


def test_where_nobody_counts_it_is_estimated_without_asking() -> None:
    driver = Scripted()
    few, many = driver.count_tokens("hello"), driver.count_tokens("hello " * 1000)
    assert few.estimated
    assert 1_200 < many.tokens < 2_000
    assert driver.sent == []


def test_chinese_takes_about_a_token_a_sign_and_data_is_no_prose() -> None:
    driver = Scripted()
    assert 1_200 < driver.count_tokens("好" * 1_000).tokens < 1_500
    picture = {"type": "image_url", "image_url": {"url": "data:image/gif;base64," + "R0lGOD" * 100_000}}
    assert driver.count_tokens([{"role": "user", "content": [picture]}]).tokens < 2_000


def test_chat_is_counted_by_its_vendors_other_api() -> None:
    assert counter_of("chat_completions", "openai", None) == "codex_responses"
    assert counter_of("chat_completions", None, "https://api.openai.com/v1") == "codex_responses"
    assert counter_of("chat_completions", "deepseek", None) is None
    assert counter_of("chat_completions", None, "https://relay.test/v1") is None
    assert counter_of("anthropic_messages", None, "https://relay.test") == "anthropic_messages"
    assert counter_of("gemini_native", None, None) is None


def test_a_source_that_cannot_be_sent_cannot_be_counted() -> None:
    with pytest.raises(ConversionError, match="empty"):
        make_driver("chat_completions", model="m", api_key="k").count_tokens("")


def test_a_count_leaves_the_driver_as_it_was() -> None:
    with Loopback(whole({"input_tokens": 3})) as server, driver_for("codex_responses", server) as driver:
        before = json.dumps(driver.preview("hi").to_json())
        driver.count_tokens("hi")
        assert json.dumps(driver.preview("hi").to_json()) == before
