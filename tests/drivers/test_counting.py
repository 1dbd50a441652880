"""Tokens of a prompt: by the provider where it counts, estimated elsewhere."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmneutral import (
    AuthenticationError,
    BasePromptDriver,
    ConversionError,
    MalformedResponseError,
    RateLimitError,
    make_driver,
)
from llmneutral.drivers.counting import TokenCount, counter_of
from tests.drivers.endpoints import KEY, driver_for
from tests.drivers.scripted import Scripted
from tests.drivers.sdk_endpoints import error_answer, sdk_driver, without_aws
from tests.loopback import Loopback, Request, whole

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
        pytest.raises(MalformedResponseError, match="no number"),
    ):
        driver.count_tokens("hi")


@pytest.mark.parametrize("api", PATHS)
def test_a_relay_that_does_not_count_is_estimated(api: str) -> None:
    answer = whole({"error": {"message": "no such path"}}, 404)
    with Loopback(answer, answer) as server, driver_for(api, server) as driver:
        count = driver.count_tokens("hello " * 100)
        assert count.estimated
        assert count == asyncio.run(driver.acount_tokens("hello " * 100))


# --- by SDKs with ways of their own ----------------------------------------------------------------------------------

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAAAAACw="}}
PROMPT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Look at this."}, PICTURE]},
]
SDK_COUNTS: dict[str, tuple[str, Any]] = {
    "gemini_native": ("/v1beta/models/m:countTokens", {"totalTokens": 17}),
    "bedrock_converse": ("/model/m/count-tokens", {"inputTokens": 17}),
    "cohere_chat": ("/v1/tokenize", {"tokens": list(range(17)), "token_strings": []}),
}


@pytest.fixture(autouse=True)
def no_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_aws(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def counted(driver: BasePromptDriver, prompt: Any, **settings: Any) -> TokenCount:
    """Counts in sync and in async code, which must agree."""
    count = driver.count_tokens(prompt, **settings)
    assert asyncio.run(driver.acount_tokens(prompt, **settings)) == count
    return count


@pytest.mark.parametrize("api", SDK_COUNTS)
def test_the_sdk_asks_for_the_count_of_the_request_itself(api: str) -> None:
    path, answer = SDK_COUNTS[api]
    with Loopback(whole(answer), whole(answer)) as server, sdk_driver(api, server) as driver:
        count = counted(driver, [*PROMPT[:1], {"role": "user", "content": "Look."}], tools=[LOOK], max_tokens=5)
    assert count == TokenCount(17, estimated=api == "cohere_chat")
    assert [request.path.partition("?")[0] for request in server.requests] == [path, path]
    sent, again = [request.json for request in server.requests]
    assert sent == again
    if api == "gemini_native":
        asked = sent["generateContentRequest"]
        assert asked["model"] == "models/m"
        assert asked["systemInstruction"]["parts"][0]["text"] == "Be brief."
        assert asked["tools"][0]["functionDeclarations"][0]["name"] == "look"
    elif api == "bedrock_converse":
        asked = sent["input"]["converse"]
        assert set(asked) == {"messages", "system", "toolConfig"}
    else:
        assert sent["model"] == "m"
        assert {"Be brief.", "Look.", "look"} <= set(sent["text"].split("\n"))


@pytest.mark.parametrize("api", SDK_COUNTS)
def test_media_are_counted_as_they_are_or_reckoned(api: str) -> None:
    answer = whole(SDK_COUNTS[api][1])
    big = {"type": "image_url", "image_url": {"url": "data:image/gif;base64," + "R0lGOD" * 1_000}}
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Look."}, big]}]
    with Loopback(answer, answer) as server, sdk_driver(api, server) as driver:
        assert counted(driver, prompt).tokens == (17 + 1_500 if api == "cohere_chat" else 17)
        sent = server.requests[0].body.decode()
        assert ("R0lGODR0lGOD" in sent) == (api != "cohere_chat")


@pytest.mark.parametrize("api", SDK_COUNTS)
def test_failures_of_a_count_are_those_of_every_call(api: str) -> None:
    busy, answer = error_answer(api, 429, retry_after="0"), whole(SDK_COUNTS[api][1])
    with Loopback(busy, answer) as server, sdk_driver(api, server) as driver:
        assert driver.count_tokens("hi").tokens == 17
    with Loopback(error_answer(api, 401)) as server, sdk_driver(api, server) as driver:
        with pytest.raises(AuthenticationError) as caught:
            driver.count_tokens("hi")
        assert KEY not in str(caught.value)
    with (
        Loopback(whole({"other": 1})) as server,
        sdk_driver(api, server) as driver,
        pytest.raises(MalformedResponseError),
    ):
        driver.count_tokens("hi", max_attempts=1)


@pytest.mark.parametrize("api", SDK_COUNTS)
def test_where_the_path_is_unknown_it_is_estimated(api: str) -> None:
    answer = whole({"message": "no such path", "error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}, 404)
    with Loopback(answer, answer) as server, sdk_driver(api, server) as driver:
        assert counted(driver, "hello " * 100).estimated


def test_a_model_that_bedrock_does_not_count_is_estimated_and_a_profile_is_counted_by_its_model() -> None:
    refused = whole(
        {"message": "The provided model doesn't support counting tokens."}, 400, x_amzn_errortype="ValidationException"
    )
    with Loopback(refused, refused) as server, sdk_driver("bedrock_converse", server, model="amazon.nova-9") as driver:
        assert counted(driver, "hello " * 100).estimated
    model = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
    answer = whole({"inputTokens": 4})
    with Loopback(answer, answer) as server, sdk_driver("bedrock_converse", server, model=model) as driver:
        assert counted(driver, "hi") == TokenCount(4)
        assert "/anthropic.claude-haiku-4-5" in server.requests[0].path


def test_cohere_is_asked_for_a_long_text_in_parts() -> None:
    def tokenize(request: Request) -> Any:
        assert len(request.json["text"]) <= 65_536
        return whole({"tokens": [0] * len(request.json["text"].split()), "token_strings": []})

    with Loopback(tokenize) as server, sdk_driver("cohere_chat", server) as driver:
        count = counted(driver, "hello " * 30_000)
        assert 30_000 < count.tokens < 30_020
        assert len(server.requests) == 6


def test_vertex_counts_by_its_own_method_and_another_client_of_gemini_only_what_it_takes() -> None:
    asked: list[Any] = []

    def count_tokens(**arguments: Any) -> Any:
        asked.append(arguments)
        return SimpleNamespace(model_dump=lambda **_: {"totalTokens": 5})

    for vertexai, count in ((True, TokenCount(5)), (False, None)):
        client = SimpleNamespace(
            models=SimpleNamespace(count_tokens=count_tokens), _api_client=SimpleNamespace(vertexai=vertexai)
        )
        driver = make_driver("gemini_native", model="m", client=client)
        found = driver.count_tokens([*PROMPT[:1], {"role": "user", "content": "Look."}], tools=[LOOK])
        assert found == count if count else found.estimated
        assert driver.count_tokens("hi") == TokenCount(5)
    assert asked[0]["config"]["system_instruction"] == {"parts": [{"text": "Be brief."}]}
    assert asked[0]["config"]["tools"]
    assert len(asked) == 3


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
    assert counter_of("gemini_native", "vertex", None) == "gemini_native"
    assert counter_of("mistral_chat", "mistral", None) is None


def test_a_source_that_cannot_be_sent_cannot_be_counted() -> None:
    with pytest.raises(ConversionError, match="empty"):
        make_driver("chat_completions", model="m", api_key="k").count_tokens("")


def test_a_count_leaves_the_driver_as_it_was() -> None:
    with Loopback(whole({"input_tokens": 3})) as server, driver_for("codex_responses", server) as driver:
        before = json.dumps(driver.preview("hi").to_json())
        driver.count_tokens("hi")
        assert json.dumps(driver.preview("hi").to_json()) == before
