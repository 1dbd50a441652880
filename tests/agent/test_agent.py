"""Agent: who is asked, what is given, what comes back; in the four ways to run it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import warnings
from typing import Any

import msgspec
import pydantic
import pytest

from llmneutral import (
    Agent,
    AgentResult,
    AnthropicDriversConfig,
    BaseEvent,
    BasePromptDriver,
    ConfigurationError,
    ConversationMemory,
    ConversionError,
    Defaults,
    DriversConfig,
    DummyDriversConfig,
    ErrorArtifact,
    EventBus,
    FallbackDriver,
    FinishRunEvent,
    ImageArtifact,
    ImageMessageContent,
    JsonArtifact,
    ListArtifact,
    Message,
    OverloadedError,
    PromptStack,
    RefusalMessageContent,
    StartRunEvent,
    TextArtifact,
    TextMessageContent,
    Tool,
    ToolLoopError,
    Usage,
    activity,
)
from tests.agent.scripts import Counter, Turns, Wired, answer, assert_valid, call, results, texts
from tests.agent.ways import Asking, ways

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
HANDED = {"type": "function", "function": {"name": "handed", "parameters": {"type": "object"}}}


class Desk(Tool):
    """A desk."""

    @activity
    def add(self, a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @activity
    async def draw(self) -> Any:
        """Draws."""
        return [TextArtifact("a dot"), ImageArtifact(PNG)]


@ways
def test_tools_of_every_kind_are_run(ask: Asking) -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    async def later(n: int) -> Point:
        """Comes later."""
        return Point(n)

    turns = [call("1", "Desk", "add", a=1, b="2"), call("2", "Desk", "draw"), call("3", "later", n=4)]
    driver = Turns(["I look", *turns], "done")
    agent = Agent(driver, tools=[Desk(), later], system="be kind", rules=["no jokes", "no lies"])
    result = ask(agent, "hi")
    assert (result.text, result.steps, len(result.calls)) == ("done", 2, 3)
    told = results(agent.memory.messages) if agent.memory else {}
    assert told["1"].output == 3
    assert [part.to_text() for part in told["2"].parts or ()] == ["a dot", "[image/png]"]
    assert told["3"].output == {"x": 4}
    assert result.calls[2].output == Point(4)
    assert texts(driver.stacks[0].messages) == ["system: be kind\n\n- no jokes\n- no lies", "user: hi"]
    assert [tool.native_name for tool in driver.stacks[0].tools] == ["Desk_add", "Desk_draw", "later"]
    assert agent.output == TextArtifact("done")
    assert agent.result == result


@ways
def test_the_next_run_goes_on_from_there(ask: Asking) -> None:
    driver = Turns("one", "two")
    agent = Agent(prompt_driver=driver)
    ask(agent, "first")
    result = ask(agent, "second")
    assert texts(driver.stacks[1].messages) == ["user: first", "assistant: one", "user: second"]
    assert texts(result.messages) == ["user: second", "assistant: two"]


@ways
def test_without_a_memory_each_run_begins_anew(ask: Asking) -> None:
    driver = Turns("one", "two")
    agent = Agent(driver, memory=None)
    ask(agent, "first")
    ask(agent, "second")
    assert texts(driver.stacks[1].messages) == ["user: second"]


@ways
def test_a_failure_is_raised_and_what_was_done_is_kept(ask: Asking) -> None:
    agent = Agent(Turns(call("1", "count"), LookupError("gone")), tools=[Counter().tool()])
    with pytest.raises(LookupError, match="gone"):
        ask(agent, "hi")
    assert agent.memory is not None
    assert len(agent.memory) == 3
    assert_valid(agent.memory.messages)


@ways
def test_a_bound_is_raised(ask: Asking) -> None:
    agent = Agent(Turns(*[call(str(n), "count", n=n) for n in range(3)]), tools=[Counter().tool()], max_steps=2)
    with pytest.raises(ToolLoopError, match="max_steps=2") as told:
        ask(agent, "hi")
    assert told.value.steps == 2
    assert len(told.value.stack) == 5


@ways
def test_a_counter_that_fails_costs_no_answer(ask: Asking) -> None:
    asked: list[int] = []

    def count(stack: PromptStack) -> int:
        asked.append(len(stack))
        if len(asked) > 1:
            raise LookupError("cannot count")
        return len(stack)

    two = [Message("user", (TextMessageContent("a"),)), answer("b")] * 2
    agent = Agent(Turns("one", "two"), memory=ConversationMemory(two, max_tokens=9, count=count))
    assert ask(agent, "hi").text == "one"
    with pytest.raises(LookupError, match="cannot count"):
        ask(agent, "and?")
    assert agent.memory is not None
    assert len(agent.memory) == 6


# --- who is asked -------------------------------------------------------------------------------


def config_of(*turns: Any) -> tuple[DriversConfig, Turns]:
    driver = Turns(*turns)
    return DriversConfig(prompt_driver=driver), driver


@ways
def test_without_a_driver_it_takes_the_defaults_of_each_run(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Defaults, "_base", None)
    agent = Agent()
    one, first = config_of("one")
    two, second = config_of("two")
    inner, third = config_of("three")
    Defaults.drivers_config = one
    assert ask(agent, "hi").text == "one"
    Defaults.drivers_config = two
    assert ask(agent, "hi").text == "two"
    with inner:
        assert ask(agent, "hi").text == "three"
        assert agent.prompt_driver is third
    assert agent.driver_source == "defaults"
    assert [len(driver.stacks) for driver in (first, second, third)] == [1, 1, 1]
    assert Agent(first).driver_source == "pinned"
    assert Agent(one).prompt_driver is first


@ways
def test_a_switch_in_the_middle_of_a_run_has_no_effect_on_it(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Defaults, "_base", None)
    Defaults.drivers_config, _ = config_of(call("1", "switch"), "still the first")
    other, _ = config_of("the other")

    def switch() -> None:
        """Switches."""
        Defaults.drivers_config = other

    agent = Agent(tools=[switch])
    assert ask(agent, "hi").text == "still the first"
    assert ask(agent, "hi").text == "the other"


def test_a_stream_asks_whom_it_was_made_for() -> None:
    inner, _ = config_of("inside")
    with inner:
        deltas = Agent().stream("hi")
    assert "".join([delta.text for delta in deltas]) == "inside"


def test_a_key_that_is_missing_is_named_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    heard: list[BaseEvent] = []
    agent = Agent(AnthropicDriversConfig())
    with EventBus.listening(heard.append), pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY"):
        agent.run("hi")
    assert [event.type for event in heard] == ["StartRunEvent", "ErrorOccurredEvent"]
    assert agent.memory is not None
    assert len(agent.memory) == 0


def test_what_nobody_answers_is_told() -> None:
    with pytest.raises(ConfigurationError, match="no driver is configured"):
        Agent(DummyDriversConfig()).run("hi")


def test_settings_reach_each_call_and_a_run_may_override_them() -> None:
    driver = Turns(call("1", "count"), "one", "two")
    agent = Agent(driver, tools=[Counter().tool()], temperature=0.5, max_tokens=9)
    agent.run("hi")
    agent.run("hi", temperature=0.7, tools=[])
    shown = [{name: stack.settings.get(name) for name in ("temperature", "max_tokens")} for stack in driver.stacks]
    assert shown == [{"temperature": 0.5, "max_tokens": 9}] * 2 + [{"temperature": 0.7, "max_tokens": 9}]
    assert [len(stack.tools) for stack in driver.stacks] == [1, 1, 0]
    with pytest.raises(ConfigurationError, match="temprature"):
        agent.run("hi", temprature=1)


def test_the_switch_stream_publishes_chunks_of_run() -> None:
    heard: list[BaseEvent] = []
    with EventBus.listening(heard.append):
        Agent(Turns("one"), stream=True).run("hi")
        assert [event.token for event in heard if event.type == "TextChunkEvent"] == ["one"]  # type: ignore[attr-defined]


# --- what is given ------------------------------------------------------------------------------


def test_texts_and_artifacts_make_one_message() -> None:
    driver = Turns("ok")
    Agent(driver).run("look at", ImageArtifact(PNG), "please")
    (message,) = driver.stacks[0].messages
    assert [type(block).__struct_config__.tag for block in message.content] == ["text", "image", "text"]


def test_messages_and_stacks_are_added_as_they_are() -> None:
    driver = Turns("ok")
    stack = PromptStack(tools=[HANDED], settings={"temperature": 0.1})
    stack.add_system_message("late")
    stack.add_user_message("three")
    Agent(driver).run([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}], stack, "four")
    assert texts(driver.stacks[0].messages) == [
        "user: one",
        "assistant: two",
        "system: late",
        "user: three",
        "user: four",
    ]
    assert [tool.native_name for tool in driver.stacks[0].tools] == ["handed"]
    assert driver.stacks[0].settings["temperature"] == 0.1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["  "], "prompt is empty"),
        ([], "prompt is empty"),
        ([3], "source is an int"),
        ([len], "tools are given as tools="),
        ([{"a": 1}], "source is a dict"),
    ],
)
def test_what_is_no_input_is_told(given: list[Any], says: str) -> None:
    agent = Agent(Turns())
    with pytest.raises(ConversionError, match=says):
        agent.run(*given)
    assert agent.memory is not None
    assert len(agent.memory) == 0


@ways
def test_calls_are_handed_back_and_their_outputs_given(ask: Asking) -> None:
    agent = Agent(Turns([call("1", "handed", x=1), call("2", "handed")], "done"), tools=[HANDED])
    result = ask(agent, "hi")
    assert result.finish_reason == "tool_calls"
    first, second = result.open_calls
    assert "2 open" in repr(result)
    with pytest.raises(ConversionError, match="the call '1' has no output"):
        agent.run(first)
    given = msgspec.structs.replace(first, output={"a": 1}), msgspec.structs.replace(second, output=ErrorArtifact("no"))
    assert ask(agent, *given).text == "done"
    assert agent.memory is not None
    told = results(agent.memory.messages)
    assert (told["1"].output, told["2"].output, told["2"].is_error) == ({"a": 1}, "no", True)
    assert_valid(agent.memory.messages)


# --- what comes back ----------------------------------------------------------------------------


class Answer(pydantic.BaseModel):
    n: int


@ways
@pytest.mark.parametrize("strategy", ["native", "tool", "rule"])
def test_a_structured_answer_is_parsed_whatever_the_strategy(ask: Asking, strategy: str) -> None:
    value = [("call", "c2", "final_answer", '{"n": 3}')] if strategy == "tool" else [("text", '{"n": 3}')]
    counter = Counter()
    driver = Wired("chat_completions", [("call", "c1", "count", '{"n": 1}')], value, "well")
    agent = Agent(driver, tools=[counter.tool()], output_schema=Answer, structured_output_strategy=strategy)
    result = ask(agent, "hi")
    assert result.parsed == Answer(n=3)
    assert result.output == JsonArtifact(Answer(n=3))
    assert result.to_text() == '{"n": 3}'
    assert counter.seen == [1]
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    agent.output_schema = None
    assert ask(agent, "and now?").text == "well"
    assert counter.seen == [1]


def test_the_answer_as_an_artifact() -> None:
    image = ImageMessageContent(ImageArtifact(PNG))  # type: ignore[arg-type]  # an artifact is taken
    linked = ImageMessageContent(url="https://example.org/a.png")
    agent = Agent(Turns(["here", image, linked], RefusalMessageContent("I will not"), "text"))
    assert agent.output is None
    first = agent.run("draw").output
    assert isinstance(first, ListArtifact)
    assert [type(each).__name__ for each in first.value] == ["TextArtifact", "ImageArtifact", "ImageUrlArtifact"]
    assert first.value[1].value == PNG
    assert agent.run("harm").output == ErrorArtifact("I will not")
    assert str(agent.run("talk")) == "text"
    assert AgentResult().output is None
    assert AgentResult().text == AgentResult().to_text() == ""


def test_usage_is_summed_and_what_is_unknown_is_seen() -> None:
    driver = Wired("chat_completions", [("call", "c1", "count", "{}")], "done")
    result = Agent(driver, tools=[Counter().tool()]).run("hi")
    assert result.usage == Usage(10, 10, output_total=14, total=24)
    assert repr(result) == "AgentResult('done', 2 steps, 1 call, 24 tokens)"
    assert "tokens unknown" in repr(Agent(Turns("x" * 99)).run("hi"))
    assert result.model == "m"
    assert result.driver == "Wired"


def test_an_agent_is_a_tool_of_another_one() -> None:
    inner = Agent(Turns("forty-two"))

    def ask(question: str) -> AgentResult:
        """Asks somebody else."""
        return inner.run(question)

    outer = Agent(Turns(call("1", "ask", question="why?"), "done"), tools=[ask])
    outer.run("hi")
    assert outer.memory is not None
    assert results(outer.memory.messages)["1"].output == "forty-two"


def test_tools_may_come_one_by_one() -> None:
    assert len(Agent(tools=(tool for tool in [Desk(), Counter().tool()])).tools) == 2
    assert Agent(tools=None).tools == []


def test_it_shows_what_it_is() -> None:
    agent = Agent(tools=[Desk()])
    assert repr(agent) == "Agent(Defaults, tools=[Desk_add, Desk_draw], memory=ConversationMemory(0 turns, 0 messages))"


# --- several at once ----------------------------------------------------------------------------


def test_runs_of_several_threads_leave_a_valid_memory() -> None:
    class Slow(BasePromptDriver):
        needs_key = False

        def try_run(self, prompt_stack: PromptStack) -> Message:
            last = prompt_stack.messages[-1]
            if isinstance(last.content[0], TextMessageContent):
                return answer(call("c", "count", n=int(last.to_text())))
            return answer("done")

    agent = Agent(Slow("m", api_mode="chat_completions"), tools=[Counter().tool()])
    threads = [threading.Thread(target=agent.run, args=(str(n),)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agent.memory is not None
    assert agent.memory.turns == 12
    assert_valid(agent.memory.messages)


def test_the_next_driver_answers_where_one_fails() -> None:
    heard: list[BaseEvent] = []
    busy = Turns(OverloadedError("busy"), OverloadedError("busy"), max_attempts=1)
    driver = FallbackDriver([busy, Turns(call("1", "count"), "second")])
    with EventBus.listening(heard.append):
        result = Agent(driver, tools=[Counter().tool()], memory=ConversationMemory()).run("hi")
    assert result.text == "second"
    assert heard[-1].type == "FinishRunEvent"


def test_listeners_of_a_fallback_hear_of_the_run() -> None:
    heard: list[BaseEvent] = []
    driver = FallbackDriver([Turns("one")])
    driver.on(StartRunEvent, heard.append)
    driver.on(FinishRunEvent, heard.append)
    Agent(driver).run("hi")
    assert [event.type for event in heard] == ["StartRunEvent", "FinishRunEvent"]


# --- the seed's words ---------------------------------------------------------------------------


def test_the_seeds_example_runs_with_the_import_name_changed() -> None:
    """Nothing configured, then one line, then a block; no network, no warning, no SDK before a call."""
    code = """
import sys
from llmneutral.structures import Agent
from llmneutral.configs import Defaults
from llmneutral.configs.drivers import AnthropicDriversConfig, DriversConfig
agent = Agent()
Defaults.drivers_config = AnthropicDriversConfig()
assert agent.prompt_driver.api_mode == "anthropic_messages"
with DriversConfig(model="x", prompt_driver=None) as config:
    pass
assert not {"openai", "anthropic", "pandas", "IPython"} & {*sys.modules}
"""
    with warnings.catch_warnings():
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, env={**os.environ}
        )
    assert done.returncode == 0, done.stderr
