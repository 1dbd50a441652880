"""The official SDKs at our end, a provider on the loopback interface at the other."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Any

import pytest

from llmneutral import (
    AnthropicPromptDriver,
    BasePromptDriver,
    ConfigurationError,
    OpenAiChatPromptDriver,
    make_driver,
)
from tests.drivers.endpoints import APIS, CALLS, KEY, PATHS, TEXT, WAYS, Asking, body_of, chunks_of, driver_for
from tests.loopback import Loopback, Request, streamed, talk, whole

apis = pytest.mark.parametrize("api", APIS)
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


# --- answers ----------------------------------------------------------------------------------------------------------


@apis
@ways
def test_a_text_comes_back(api: str, ask: Asking) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server) as driver:
        response = ask(driver, "hi")
    assert response.text == "Hello there, wörld"
    assert response.finish_reason == "stop"
    assert response.complete
    assert (response.usage.input_total, response.usage.output_total) == (5, 7)
    assert response.metadata is not None
    assert (response.metadata.request_id, response.metadata.attempts) == ("req_loop", 1)
    assert len(server.requests) == len(server.connections) == 1


@apis
@ways
def test_calls_come_back(api: str, ask: Asking) -> None:
    with Loopback(talk(*CALLS)) as server, driver_for(api, server) as driver:
        response = ask(driver, "hi", tools=[LOOK])
    assert [(call.name, call.input) for call in response.tool_calls] == [("look", {"a": 1}), ("look", {"b": "x"})]
    assert response.finish_reason == "tool_calls"
    assert response.text == "I look"


@apis
@ways
def test_thinking_comes_back(api: str, ask: Asking) -> None:
    blocks = [("thinking", "Well, well.", "c2VhbA=="), *TEXT]
    with Loopback(talk(*blocks)) as server, driver_for(api, server) as driver:
        response = ask(driver, "hi")
    assert response.reasoning[0]["text"] == "Well, well."
    assert response.text == "Hello there, wörld"


@apis
@pytest.mark.parametrize("ask", [WAYS["run"], WAYS["arun"]], ids=["run", "arun"])
def test_a_zipped_body_is_read(api: str, ask: Asking) -> None:
    with Loopback(whole(body_of(api), zipped=True)) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == "Hello there, wörld"


@apis
@ways
def test_run_may_stream_underneath(api: str, ask: Asking) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server, stream=True) as driver:
        assert ask(driver, "hi").text == "Hello there, wörld"
    assert server.requests[0].json["stream"] is True


@apis
@ways
def test_a_server_that_does_not_stream_is_read_all_the_same(api: str, ask: Asking) -> None:
    with Loopback(whole(body_of(api))) as server, driver_for(api, server, stream=True) as driver:
        response = ask(driver, "hi")
    assert response.text == "Hello there, wörld"
    assert response.complete


@apis
def test_a_stream_under_a_wrong_name_is_read_as_it_comes(api: str) -> None:
    with (
        Loopback(streamed(chunks_of(api), media="text/plain; charset=utf-8", pause=0.01)) as server,
        driver_for(api, server) as driver,
    ):
        response = WAYS["stream"](driver, "hi")
    assert response.text == "Hello there, wörld"
    assert response.metadata is not None
    assert response.metadata.first_delta is not None


# --- requests ---------------------------------------------------------------------------------------------------------


@apis
@ways
def test_one_request_goes_to_one_place_with_the_payload_as_its_body(api: str, ask: Asking) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server) as driver:
        ask(driver, "hi", max_tokens=50)
        streams = {"stream": True} if ask in (WAYS["stream"], WAYS["astream"]) else {}
        conversion = driver.preview("hi", max_tokens=50, **streams)
    [request] = server.requests
    assert request.path == PATHS[api]
    assert request.method == "POST"
    assert request.json == json.loads(json.dumps(conversion.to_json()))


@apis
@ways
def test_headers(api: str, ask: Asking) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server, headers={"X-Team": "red"}) as driver:
        ask(driver, "hi")
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert headers["x-team"] == "red"
    assert headers["x-stainless-retry-count"] == "0"
    if api == "anthropic_messages":
        assert headers["x-api-key"] == KEY
        assert headers["anthropic-version"]


@pytest.mark.parametrize("way", ["run", "astream"])
def test_headers_that_the_payload_needs_go_along(way: str) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for("anthropic_messages", server, model="claude-3-haiku") as driver:
        WAYS[way](driver, "hi", temperature=0.5)
        needed = driver.preview("hi", temperature=0.5).headers
    assert needed, "this payload needs an older version of the API"
    assert server.requests[0].headers["anthropic-version"] == needed["anthropic-version"]


@apis
@pytest.mark.parametrize(
    ("fact", "sent"),
    [
        ("bearer", {"authorization": f"Bearer {KEY}"}),
        ("both", {"authorization": f"Bearer {KEY}", "x-api-key": KEY}),
        ("x-api-key", {"x-api-key": KEY}),
        ("api-key", {"api-key": KEY}),
        ("none", {}),
    ],
)
def test_the_key_goes_where_the_endpoint_wants_it(api: str, fact: str, sent: dict[str, str]) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server, facts={"auth_header": fact}) as driver:
        driver.run("hi")
    headers = server.requests[0].headers
    assert {name: headers[name] for name in ("authorization", "x-api-key", "api-key") if name in headers} == sent


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_address_of_messages_may_end_in_v1(ending: str) -> None:
    with Loopback(talk(*TEXT)) as server:
        driver = AnthropicPromptDriver("m", base_url=server.url + ending, api_key=KEY)
        with driver:
            driver.run("hi")
    assert server.requests[0].path == "/v1/messages"


@pytest.mark.parametrize("ending", ["/v1", "/v1/", "/deep/er/v1"])
def test_the_address_of_chat_is_taken_as_it_is(ending: str) -> None:
    with Loopback(talk(*TEXT)) as server, OpenAiChatPromptDriver("m", base_url=server.url + ending, api_key=KEY) as it:
        it.run("hi")
    assert server.requests[0].path == f"{ending.rstrip('/')}/chat/completions"


@apis
def test_extra_body_is_merged_in_last(api: str) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server) as driver:
        driver.run("hi", extra_body={"own": {"a": 1}, "model": "other"})
    body = server.requests[0].json
    assert (body["own"], body["model"]) == ({"a": 1}, "other")
    assert "extra_body" not in body


@apis
@ways
def test_every_attempt_sends_the_same_bytes(api: str, ask: Asking) -> None:
    busy = whole({"error": {"type": "overloaded_error", "message": "busy"}}, 529)
    with Loopback(busy, busy, talk(*TEXT)) as server, driver_for(api, server) as driver:
        response = ask(driver, "hi")
    assert response.metadata is not None
    assert response.metadata.attempts == 3
    assert [retry.error.type for retry in response.metadata.retries] == ["overloaded_error", "overloaded_error"]
    assert len({request.body for request in server.requests}) == 1


@apis
def test_long_histories_and_media_go_out_whole(api: str) -> None:
    text = "wörld \U0001f600 " * 20_000
    with Loopback(talk(*TEXT)) as server, driver_for(api, server) as driver:
        driver.run(text)
    assert text in json.dumps(server.requests[0].json, ensure_ascii=False)


# --- clients ----------------------------------------------------------------------------------------------------------


@apis
def test_a_connection_is_kept_between_calls_and_closed_with_the_driver(api: str) -> None:
    with Loopback(talk(*TEXT)) as server, driver_for(api, server) as driver:
        driver.run("hi")
        assert "".join(delta.text for delta in driver.stream("hi")) == TEXT[0][1]
        driver.run("hi")
        assert len(server.connections) == 1
        assert server.open_connections == 1
        driver.close()
        assert server.closes()
        driver.run("hi")  # a closed driver may be used again
        assert len(server.connections) == 2


@apis
def test_an_async_client_belongs_to_its_loop(api: str) -> None:
    async def twice(driver: BasePromptDriver) -> list[str]:
        found = [(await driver.arun("hi")).text, (await driver.arun("hi")).text]
        assert server.open_connections == 1
        return found

    with Loopback(talk(*TEXT)) as server, driver_for(api, server) as driver:
        for _ in range(2):
            assert asyncio.run(twice(driver)) == [TEXT[0][1]] * 2
            assert server.closes(), "the end of the loop closes what the driver opened in it"
        gc.collect()  # a socket that was left open would warn here
    assert len(server.connections) == 2


def test_an_async_driver_may_be_closed_in_its_loop() -> None:
    async def once() -> None:
        async with driver_for("chat_completions", server) as driver:
            await driver.arun("hi")
        assert server.closes()

    with Loopback(talk(*TEXT)) as server:
        asyncio.run(once())


def test_a_client_of_the_callers_is_used_and_not_closed() -> None:
    import openai

    with Loopback(talk(*TEXT)) as server:
        client = openai.OpenAI(api_key="own", base_url=f"{server.url}/v1", max_retries=0)
        with make_driver("chat_completions", model="m", client=client) as driver:
            assert driver.run("hi").text == TEXT[0][1]
        assert server.open_connections == 1
        assert server.requests[0].headers["authorization"] == "Bearer own"
        client.close()


def azure(server: Loopback) -> dict[str, Any]:
    return {"azure_endpoint": server.url, "api_key": KEY, "api_version": "2024-10-21", "max_retries": 0}


@pytest.mark.parametrize("way", ["run", "stream"])
def test_a_client_that_rewrites_requests_is_given_the_dict(way: str) -> None:
    """Azure's classic client puts the model into the path; it has to see the body."""
    import openai

    with Loopback(talk(*TEXT)) as server, openai.AzureOpenAI(**azure(server)) as client:
        driver = make_driver("chat_completions", model="gpt-4.1", client=client)
        assert WAYS[way](driver, "hi").text == TEXT[0][1]
    assert server.requests[0].path == "/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21"
    assert server.requests[0].headers["api-key"] == KEY


async def test_an_async_client_that_rewrites_requests_is_given_the_dict() -> None:
    import openai

    with Loopback(talk(*TEXT)) as server:
        async with openai.AsyncAzureOpenAI(**azure(server)) as client:
            driver = make_driver("chat_completions", model="gpt-4.1", async_client=client)
            assert (await driver.arun("hi")).text == TEXT[0][1]
            assert "".join([delta.text async for delta in driver.astream("hi")]) == TEXT[0][1]
    assert server.requests[1].path == "/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21"


def test_two_threads_share_a_driver() -> None:
    """Two streams, read alternately, stay apart."""

    def by_question(request: Request) -> Any:
        question = request.json["messages"][-1]["content"]
        return streamed(chunks_of("chat_completions", [("text", question * 30)], 3), pause=0.002)

    found: dict[str, str] = {}
    ready = threading.Barrier(2, timeout=10)

    def ask(question: str) -> None:
        stream = driver.stream(question)
        ready.wait()
        found[question] = "".join([delta.text for delta in stream])

    with Loopback(by_question) as server, driver_for("chat_completions", server) as driver:
        threads = [threading.Thread(target=ask, args=(word,)) for word in ("one ", "two ")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert found == {"one ": "one " * 30, "two ": "two " * 30}


def test_a_stream_may_be_read_from_several_threads_in_turn() -> None:
    """Web frameworks read a sync iterator so: each step in another thread, also across a retry."""
    busy = whole({"error": {"type": "overloaded_error"}}, 529)
    with Loopback(busy, talk(*TEXT)) as server, driver_for("chat_completions", server) as driver:
        stream = driver.stream("hi")
        kinds: list[str] = []
        done = threading.Event()

        def step() -> None:
            delta = next(stream, None)
            done.set() if delta is None else kinds.append(delta.kind)

        while not done.is_set():
            thread = threading.Thread(target=step)
            thread.start()
            thread.join(10)
    assert stream.response.text == TEXT[0][1]
    assert kinds[-1] == "end"


def test_the_clients_of_two_addresses_are_two() -> None:
    with Loopback(talk("one")) as one, Loopback(talk("two")) as two, driver_for("chat_completions", one) as driver:
        assert driver.run("hi").text == "one"
        driver.base_url = f"{two.url}/v1"
        assert driver.run("hi").text == "two"


# --- whose key goes where ---------------------------------------------------------------------------------------------


def test_a_vendors_key_is_not_sent_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-key-of-the-user")
    for options in ({"provider": "deepseek"}, {"base_url": "https://api.groq.com/openai/v1"}):
        with pytest.raises(ConfigurationError, match=r"(DEEPSEEK|GROQ)_API_KEY is not set"):
            make_driver("chat_completions", model="m", **options).run("hi")  # type: ignore[arg-type]
    with Loopback(talk(*TEXT)) as server:
        local = make_driver("chat_completions", model="m", base_url=f"{server.url}/v1")
        with local:
            local.run("hi")
    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_a_provider_that_is_only_named_is_asked_at_its_own_address() -> None:
    driver = make_driver("chat_completions", model="m", provider="deepseek", api_key="k")
    assert str(driver.client().base_url) == "https://api.deepseek.com"  # type: ignore[attr-defined]
    driver = make_driver("anthropic_messages", model="m", provider="minimax", api_key="k")
    assert str(driver.client().base_url).rstrip("/") == "https://api.minimax.io/anthropic"  # type: ignore[attr-defined]


def test_the_key_is_read_at_the_moment_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(talk(*TEXT)) as server:
        driver = OpenAiChatPromptDriver("m", provider="openai")
        with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
            driver.run("hi")
        monkeypatch.setenv("OPENAI_API_KEY", "first-key")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        driver.run("hi")
        monkeypatch.setenv("OPENAI_API_KEY", "second-key")
        driver.run("hi")
        driver.close()
    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer first-key",
        "Bearer second-key",
    ]


def test_the_address_of_the_environment_is_for_its_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(talk(*TEXT)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        for api in APIS:
            with make_driver(api, model="m", api_key=KEY) as driver:
                assert driver.run("hi").text == TEXT[0][1]
        other = make_driver("chat_completions", model="m", provider="deepseek", api_key="k")
        assert str(other.client().base_url) == "https://api.deepseek.com"  # type: ignore[attr-defined]
        other.close()
    assert server.requests[2].headers["x-api-key"] == KEY


def test_an_organisation_of_the_environment_is_told_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-user")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-user")
    with Loopback(talk(*TEXT)) as server, driver_for("codex_responses", server) as driver:
        driver.run("hi")
        home: Any = make_driver("codex_responses", model="m", api_key="k")
        assert home.client().default_headers["OpenAI-Organization"] == "org-of-the-user"
        home.close()
    assert "of-the-user" not in str(server.requests[0].headers)


@pytest.mark.parametrize("wrong", [0, -1, True, "120", None])
def test_a_wrong_limit_of_silence_is_named(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="idle_timeout"):
        OpenAiChatPromptDriver("m", idle_timeout=wrong)
