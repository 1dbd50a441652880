"""The three switches on every driver: said when it is made, in the stack, or with a call; the nearest word counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    Agent,
    BasePromptDriver,
    ConfigurationError,
    DeltaMessage,
    FallbackDriver,
    Message,
    PromptStack,
    TextDeltaMessageContent,
    TextMessageContent,
    ToolDefinition,
    drivers_config,
)
from llmneutral.configs import CONFIGS
from llmneutral.drivers.recordings import save_recording
from llmneutral.drivers.replay import ReplayPromptDriver
from tests.drivers.cities import GOOD, ROME, STRATEGIES, City
from tests.drivers.codex_script import Scene
from tests.drivers.codex_script import answer as turn_of
from tests.drivers.scripted import Scripted, chunks, whole
from tests.drivers.sdk_endpoints import wants_stream
from tests.loopback import Loopback
from tests.switches.scenes import APIS, MODELS, WAYS, Turn, answers, calls, driver_for, plays, ran

NEEDED: dict[str, dict[str, Any]] = {
    "azure": {"deployment": "m", "azure_endpoint": "https://a.example"},
    "bedrock": {"region": "us-east-1"},
    "local-server": {"base_url": "http://127.0.0.1:1/v1"},
}
"""What some configs cannot do without."""

WITHOUT_REQUEST = {"codex", "replay"}
"""Codex has no request to look at, and a replay needs a file."""

AS_TEXT = {"use_native_tools": False, "structured_output_strategy": "rule", "stream": True}
NATIVE = {"use_native_tools": True, "structured_output_strategy": "tool", "stream": False}
LOOK = ToolDefinition("look", description="Looks.", parameters={"type": "object", "properties": {}})


# --- where a switch is said ---------------------------------------------------------------------


def switches(driver: BasePromptDriver, stack_says: dict[str, Any], call_says: dict[str, Any]) -> dict[str, Any]:
    """How the switches stand in the request that would be sent."""
    stack = PromptStack.from_artifact("Which city?")
    stack.tools = [LOOK]
    stack.output_schema = City
    stack.settings = dict(stack_says)
    made = driver.preview(stack, **call_says)
    assert made.answer is not None
    has_tools = any(key in made.to_json() for key in ("tools", "toolConfig"))
    assert has_tools is not ("Actions: [" in repr(made.to_json()))
    return {"use_native_tools": has_tools, "structured_output_strategy": made.answer.strategy}


def told(says: dict[str, Any]) -> dict[str, Any]:
    """The two of them that a preview shows on every API."""
    return {name: says[name] for name in ("use_native_tools", "structured_output_strategy")}


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in WITHOUT_REQUEST])
def test_on_the_driver_of_every_provider(name: str) -> None:
    def driver(**says: Any) -> BasePromptDriver:
        given = {"model": "m"} if name != "azure" else {}
        return CONFIGS[name](**{**given, "api_key": "k", **NEEDED.get(name, {}), **says}).prompt_driver

    one, other = driver(**AS_TEXT), driver(**NATIVE)
    assert (one.stream_by_default, other.stream_by_default) == (True, False)
    assert switches(one, {}, {}) == told(AS_TEXT)
    assert switches(other, {}, {}) == told(NATIVE)
    assert switches(one, NATIVE, {}) == told(NATIVE)
    assert switches(one, {}, NATIVE) == told(NATIVE)
    assert switches(other, {}, AS_TEXT) == told(AS_TEXT)
    assert switches(other, NATIVE, AS_TEXT) == told(AS_TEXT)
    assert switches(one, AS_TEXT, NATIVE) == told(NATIVE)
    assert told(switches(one, {}, {"use_native_tools": True})) == {**told(AS_TEXT), "use_native_tools": True}


@pytest.mark.parametrize("wrong", [{"use_native_tools": "x"}, {"structured_output_strategy": "x"}, {"stream": "x"}])
@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "replay"])
def test_a_wrong_word_is_told_at_once(name: str, wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"model": "m"} if name != "azure" else {}
    given |= NEEDED.get(name, {}) | ({} if name == "codex" else {"api_key": "k"})
    [switch] = wrong
    with pytest.raises(ConfigurationError, match=switch):
        drivers_config(name, **given, **wrong).prompt_driver  # noqa: B018  # it is made here
    with pytest.raises(ConfigurationError, match=switch):
        drivers_config(name, **given).prompt_driver.run("hi", **wrong)
    with pytest.raises(ConfigurationError, match=switch):
        Agent(drivers_config(name, **given), **wrong)


# --- over the wire, said when the driver is made -------------------------------------------------


def look(city: str) -> dict[str, Any]:
    """Looks a city up."""
    return {"found": city}


def script(strategy: str, *, as_text: bool) -> list[Turn]:
    return [calls(("look", {"city": "Rome"}), as_text=as_text), answers(GOOD, strategy, as_text=as_text)]


@pytest.mark.parametrize("way", ["run", "arun"])
@pytest.mark.parametrize("api", APIS)
def test_the_drivers_word_and_the_words_of_a_run(api: str, way: str) -> None:
    turns = [*script("rule", as_text=True), *script("tool", as_text=False), *script("rule", as_text=True)]
    with Loopback(plays(api, turns)) as server, driver_for(api, server, model=MODELS[api], **AS_TEXT) as driver:
        agent = Agent(driver, tools=[look], output_schema=City, memory=False, max_tokens=500)
        for says in ({}, NATIVE, {}):
            result, _ = ran(agent, way, "Which city?", **says)
            assert (result.parsed, result.steps, len(result.calls)) == (ROME, 2, 2 if says else 1)
    assert [wants_stream(request) for request in server.requests] == [True, True, False, False, True, True]
    as_text = ["Actions: [" in request.body.decode() for request in server.requests]
    assert as_text == [True, True, False, False, True, True]


# --- drivers that make no request of their own --------------------------------------------------


class Own(BasePromptDriver):
    """Makes its own requests, in Griptape's style: it says its turns."""

    needs_key = False

    def __init__(self, *turns: Turn, **options: Any) -> None:
        super().__init__("own", api_mode="chat_completions", **options)
        self.turns = [turn[0][1] for turn in turns]
        self.streamed: list[bool] = []

    def try_run(self, prompt_stack: PromptStack) -> Message:
        self.streamed.append(False)
        return Message("assistant", (TextMessageContent(self.turns.pop(0)),))

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        self.streamed.append(True)
        for letter in self.turns.pop(0):
            yield DeltaMessage("text", TextDeltaMessageContent(letter))


@pytest.mark.parametrize("where", ["the driver", "the run"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_driver_of_ones_own(strategy: str, way: str, where: str) -> None:
    says: dict[str, Any] = {"use_native_tools": False, "structured_output_strategy": strategy, "stream": True}
    turns = script("rule" if strategy == "rule" else "tool", as_text=True)
    driver = Own(*turns, **(says if where == "the driver" else {}))
    agent = Agent(driver, tools=[look], output_schema=City)
    result, _ = ran(agent, way, "Which city?", **(says if where == "the run" else {}))
    assert (result.parsed, result.steps) == (ROME, 2)
    assert driver.streamed == [True, True]


@pytest.mark.parametrize("native", [True, False], ids=["native tools", "ReAct"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("way", WAYS)
def test_a_fallback_and_a_recording(tmp_path: Path, way: str, strategy: str, native: bool) -> None:
    facts = {"native_json_schema": True}
    form = "tool" if strategy == "native" and not native else strategy
    turns = script(form, as_text=not native)
    file = tmp_path / "turns.jsonl"
    for turn in turns:
        record = [(0.0, chunk) for chunk in chunks(turn)]
        save_recording(file, record, api="chat_completions", model="m", append=True)
    stream = "stream" in way
    scripted = Scripted(*[chunks(turn) if stream else whole(turn) for turn in turns], facts=facts)
    for driver in (ReplayPromptDriver(file, facts=facts), FallbackDriver([scripted])):
        agent = Agent(driver, tools=[look], output_schema=City)
        says: dict[str, Any] = {"use_native_tools": native, "structured_output_strategy": strategy}
        result, _ = ran(agent, way, "Which city?", **says)
        assert (result.parsed, result.steps) == (ROME, 2)


@pytest.mark.parametrize(("strategy", "way"), [("native", "run"), ("tool", "astream"), ("rule", "stream")])
def test_codex_with_tools_as_text(tmp_path: Path, strategy: str, way: str) -> None:
    scene = Scene(tmp_path)
    turns = script("rule" if strategy == "rule" else "tool", as_text=True)
    try:
        driver = scene.driver(*[turn_of(turn[0][1]) for turn in turns], structured_output_strategy=strategy)
        agent = Agent(driver, tools=[look], output_schema=City, use_native_tools=False)
        result, _ = ran(agent, way, "Which city?")
        assert (result.parsed, result.steps, len(result.calls)) == (ROME, 2, 1 if strategy == "rule" else 2)
        assert all("outputSchema" not in turn for turn in scene.asked("turn/start"))
        assert "dynamicTools" not in scene.asked("thread/start")[0]
    finally:
        scene.close()
