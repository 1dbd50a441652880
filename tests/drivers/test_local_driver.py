"""LocalPromptDriver: the embedded model through the official SDKs, on its three protocols."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    ConfigurationError,
    ContextLengthError,
    ConversionError,
    LocalDriversConfig,
    LocalPromptDriver,
    PromptStack,
    ProviderError,
)
from llmneutral.drivers.local_server import LocalSettings, shared_server, stop_shared
from tests.drivers.endpoints import APIS, WAYS, Asking
from tests.loopback import Loopback, talk

apis = pytest.mark.parametrize("api", APIS)
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
live = pytest.mark.live
ROOT = Path(__file__).parents[2]
SETTINGS = LocalSettings(cache_prompt=False, n_ctx=2048)
CAPITAL = "What is the capital of France?"
WEATHER = "What is the weather in Paris in celsius?"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


LOOK = tool(
    "get_weather",
    "Tells the weather of a city",
    city={"type": "string", "maxLength": 30},
    unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
)
ADD = tool("add", "Adds two numbers", a={"type": "integer"}, b={"type": "integer"})
COUNTRY = {
    "type": "object",
    "title": "Country",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "population": {"type": "integer", "maximum": 10_000_000_000},
        "languages": {"type": "array", "items": {"type": "string", "maxLength": 15}, "maxItems": 2},
    },
    "required": ["name", "population", "languages"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def drivers() -> Iterator[dict[str, LocalPromptDriver]]:
    made = {api: LocalPromptDriver(api_mode=api, server=SETTINGS) for api in APIS}
    yield made
    for driver in made.values():
        driver.close()
    stop_shared()


# --- answers ----------------------------------------------------------------------------------------------------------


@live
@apis
@ways
def test_it_answers(drivers: dict[str, LocalPromptDriver], api: str, ask: Asking) -> None:
    response = ask(drivers[api], CAPITAL, max_tokens=20)
    assert "Paris" in response.text
    assert (response.complete, response.error) == (True, None)
    assert response.usage.output_total
    assert response.model == "smollm2-135m-instruct"


@live
@apis
@pytest.mark.parametrize("ask", [WAYS["run"], WAYS["stream"]], ids=["run", "stream"])
@pytest.mark.parametrize(
    ("choice", "called"),
    [("auto", ["get_weather"]), ("required", ["get_weather"]), ("add", ["add"]), ("none", [])],
)
def test_tools_by_every_choice(
    drivers: dict[str, LocalPromptDriver], api: str, ask: Asking, choice: str, called: list[str]
) -> None:
    response = ask(drivers[api], WEATHER, tools=[LOOK, ADD], tool_choice=choice, max_tokens=80)
    assert [call.name for call in response.tool_calls] == called
    assert response.invalid_tool_calls == []
    for call in response.tool_calls:
        assert set(call.input) == ({"a", "b"} if call.name == "add" else {"city", "unit"})


@live
@apis
def test_a_result_goes_back_and_is_told(drivers: dict[str, LocalPromptDriver], api: str) -> None:
    asked = drivers[api].run(WEATHER, tools=[LOOK], tool_choice="required", max_tokens=80)
    stack = PromptStack.from_openai([{"role": "user", "content": WEATHER}])
    stack.messages.append(asked.message)
    result = {"role": "tool", "tool_call_id": asked.tool_calls[0].tag, "content": "-3 degrees"}
    answer = drivers[api].run([*stack.to_openai(), result], tools=[LOOK], max_tokens=40)
    assert "3" in answer.text
    assert answer.tool_calls == []


@live
@apis
@ways
def test_a_schema_is_kept_to(drivers: dict[str, LocalPromptDriver], api: str, ask: Asking) -> None:
    response = ask(drivers[api], "Tell me about France.", output_schema=COUNTRY, max_tokens=120)
    assert set(response.parsed) == {"name", "population", "languages"}
    assert isinstance(response.parsed["population"], int)


@live
@apis
def test_a_conversation_goes_on(drivers: dict[str, LocalPromptDriver], api: str) -> None:
    stack = PromptStack()
    stack.add_system_message("You are brief.")
    stack.add_user_message("Hi")
    stack.add_assistant_message("Hello, I am here.")
    stack.add_user_message("What is the capital of Italy?")
    assert "Rome" in drivers[api].run(stack, max_tokens=20).text


@live
@apis
def test_tokens_are_counted_by_the_server(drivers: dict[str, LocalPromptDriver], api: str) -> None:
    count = drivers[api].count_tokens(CAPITAL)
    used = drivers[api].run(CAPITAL, max_tokens=1).usage.input_total
    assert not count.estimated
    assert int(count) == used
    assert asyncio.run(drivers[api].acount_tokens(CAPITAL)) == count


# --- limits -----------------------------------------------------------------------------------------------------------


@live
@apis
@ways
def test_too_long_a_prompt_says_what_to_do(drivers: dict[str, LocalPromptDriver], api: str, ask: Asking) -> None:
    with pytest.raises(ContextLengthError, match=r"holds 2,048 tokens.*n_ctx=8192") as caught:
        ask(drivers[api], "word " * 3000, max_tokens=5)
    assert not caught.value.retryable
    assert caught.value.attempts == 1


@live
@apis
def test_a_server_that_was_killed_comes_back(api: str) -> None:
    settings = LocalSettings(cache_prompt=False, n_ctx=1024)
    driver = LocalPromptDriver(api_mode=api, server=settings)
    with driver:
        assert "Paris" in driver.run(CAPITAL, max_tokens=20).text
        kill(settings)
        assert "Paris" in driver.run(CAPITAL, max_tokens=20).text
        stream = driver.stream("Tell me a long story about a bear.", max_tokens=400)
        while not next(stream).text:
            pass
        kill(settings)
        with pytest.raises(ProviderError) as caught:
            list(stream)
        assert caught.value.type == "stream_interrupted"
        assert stream.response.text
        assert "Paris" in asyncio.run(driver.arun(CAPITAL, max_tokens=20)).text
    shared_server(settings).stop()


def kill(settings: LocalSettings) -> None:
    server = shared_server(settings)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    while server.running:
        time.sleep(0.01)


@live
def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, address)
        for api in APIS:
            with LocalPromptDriver(api_mode=api, server=SETTINGS) as driver:
                assert "Paris" in driver.run(CAPITAL, max_tokens=20, timeout=60).text
                assert "Paris" in asyncio.run(driver.arun(CAPITAL, max_tokens=20, timeout=60)).text
        proxy.settimeout(0.05)
        with pytest.raises(TimeoutError):
            proxy.accept()


@live
def test_a_model_of_the_environment_is_taken(tmp_path: Path) -> None:
    """In a process of its own: the weights that LLMNEUTRAL_LOCAL_MODEL names, and their name."""
    from llmneutral.drivers import local_weights

    own = tmp_path / "own-model.gguf"
    own.symlink_to(local_weights.path())
    code = """
        from llmneutral import LocalPromptDriver
        print(LocalPromptDriver().run("What is the capital of France?", max_tokens=20).model)
    """
    environment = {**os.environ, "LLMNEUTRAL_LOCAL_MODEL": str(own)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "own-model", done.stderr


# --- without the model ------------------------------------------------------------------------------------------------


@pytest.fixture
def unstarted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: LocalPromptDriver) -> Any:
        raise AssertionError("the model must not be started for this")

    monkeypatch.setattr(LocalPromptDriver, "server", refuse)


@apis
def test_a_picture_is_refused_before_anything_is_started(api: str, unstarted: None) -> None:
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    with pytest.raises(ConversionError, match="reads no images"):
        LocalPromptDriver(api_mode=api).run([{"role": "user", "content": [picture]}])


@apis
def test_a_preview_starts_nothing_and_says_what_is_written_differently(api: str, unstarted: None) -> None:
    driver = LocalPromptDriver(api_mode=api)
    forced = driver.preview(WEATHER, tools=[LOOK, ADD], tool_choice="add")
    body = forced.to_json()
    assert len(body["tools"]) == 1
    assert body["chat_template_kwargs"] == {"force_tool": True}
    assert {change.kind for change in forced.changes} == {"coerced", "added"}
    auto = driver.preview(WEATHER, tools=[LOOK], tool_choice="auto").to_json()
    assert "chat_template_kwargs" not in auto


@pytest.mark.parametrize("api", ["chat_completions", "codex_responses"])
def test_a_schema_goes_as_a_grammar_whole(api: str, unstarted: None) -> None:
    made = LocalPromptDriver(api_mode=api).preview("x", output_schema=COUNTRY)
    body = made.to_json()
    assert body["grammar"].startswith("%llguidance")
    assert '"maxLength": 20' in body["grammar"].replace('"maxLength":20', '"maxLength": 20')
    assert "response_format" not in body
    assert "format" not in body.get("text", {})
    assert [change.kind for change in made.changes] == ["coerced"]


def names_of(body: dict[str, Any]) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in body["tools"]]


@apis
@pytest.mark.parametrize("strategy", ["auto", "native", "tool"])
def test_beside_tools_a_tool_takes_the_answer_and_alone_after_results(api: str, strategy: str, unstarted: None) -> None:
    """The server takes no grammar beside tools, and Messages takes none at all."""
    driver = LocalPromptDriver(api_mode=api, structured_output_strategy=strategy)
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    history = [
        {"role": "user", "content": WEATHER},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
    ]
    first, second, third = [
        driver.preview(messages, tools=[LOOK, ADD], output_schema=COUNTRY)
        for messages in (history[:1], history, [*history, {"role": "user", "content": "And now?"}])
    ]
    assert names_of(first.to_json()) == names_of(third.to_json()) == ["get_weather", "add", "final_answer"]
    assert names_of(second.to_json()) == ["final_answer"]
    assert second.to_json()["chat_template_kwargs"] == {"force_tool": True}
    assert any("after results" in change.why for change in second.changes)
    assert "grammar" not in second.to_json()
    free = driver.preview(history, tools=[LOOK, ADD], output_schema=COUNTRY, tool_choice="auto")
    assert names_of(free.to_json()) == ["get_weather", "add", "final_answer"]


@pytest.mark.parametrize("where", ["the driver", "the call", "the stack"])
def test_messages_has_no_field_that_the_server_reads(where: str, unstarted: None) -> None:
    native: dict[str, Any] = {"structured_output_strategy": "native"}
    driver = LocalPromptDriver(api_mode="anthropic_messages", **(native if where == "the driver" else {}))
    stack = PromptStack.from_artifact("Tell me about France.")
    stack.settings = native if where == "the stack" else {}
    made = driver.preview(stack, output_schema=COUNTRY, **(native if where == "the call" else {}))
    assert made.answer is not None
    assert made.answer.strategy == "tool"
    assert "output_config" not in made.to_json()
    assert any("no field holds this model to a schema" in change.why for change in made.changes)
    rule = driver.preview(stack, output_schema=COUNTRY, structured_output_strategy="rule")
    assert rule.answer is not None
    assert rule.answer.strategy == "rule"
    assert not any("output_config" in change.why for change in driver.preview(stack).changes)


@apis
@ways
def test_it_goes_straight_to_its_server_and_keeps_no_connection(
    api: str, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Server:
        api_key = "local-key"

        def __init__(self, url: str) -> None:
            self.base_url, self.openai_base_url = url, f"{url}/v1"

    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-vendor")
    with Loopback(talk("hello")) as server:
        monkeypatch.setattr(LocalPromptDriver, "server", lambda self: Server(server.url))
        with LocalPromptDriver(api_mode=api) as driver:
            assert ask(driver, "hi").text == "hello"
            assert ask(driver, "hi").text == "hello"
        assert server.closes()
    assert len(server.connections) == 2
    assert {request.headers["connection"] for request in server.requests} == {"close"}
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer local-key"}


def test_a_protocol_it_does_not_speak() -> None:
    with pytest.raises(ConfigurationError, match="speaks chat_completions, codex_responses, anthropic_messages"):
        LocalPromptDriver(api_mode="gemini_native")


def test_a_config_without_weights_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LLMNEUTRAL_LOCAL_MODEL", str(tmp_path / "absent.gguf"))
    status = LocalDriversConfig().status()
    assert not status.ready
    assert "absent.gguf" in (status.problem or "")


@pytest.mark.parametrize("api_mode", ["chat_completions", "codex_responses", "anthropic_messages"])
def test_an_answer_without_a_limit_comes_to_an_end(api_mode: str) -> None:
    """A very small model may go on for ever; the server's own limit holds where the request names none."""
    driver = LocalPromptDriver(api_mode=api_mode, server=LocalSettings(max_tokens=24))
    response = driver.run("Tell me a very long story about a dragon.")
    assert response.usage.output_total == 24


@apis
@ways
def test_the_marks_around_a_result_are_not_the_models_words(
    api: str, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model so small may begin its answer with them; a question that shows no results is answered as it is."""

    class Server:
        api_key = "local-key"

        def __init__(self, url: str) -> None:
            self.base_url, self.openai_base_url = url, f"{url}/v1"

    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    results = [
        {"role": "user", "content": WEATHER},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ]
    echoed = "<tool_response>\nIt is sunny in Paris.\n</tool_response>"
    with Loopback(talk(echoed)) as server:
        monkeypatch.setattr(LocalPromptDriver, "server", lambda self: Server(server.url))
        with LocalPromptDriver(api_mode=api) as driver:
            assert ask(driver, results, tools=[LOOK]).text == "It is sunny in Paris."
            assert ask(driver, "Which marks?").text == echoed
