"""Laws of a run: sync equals async, whole equals streamed, whatever breaks off leaves a valid conversation."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter as Tally
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    Agent,
    AgentResult,
    BaseEvent,
    ConversationMemory,
    EventBus,
    Message,
    PromptStack,
    ThinkingMessageContent,
)
from llmneutral.agent.loop import Act, Ask, Recall, loop
from llmneutral.agent.planning import Offer
from llmneutral.agent.run import Limits, Run
from llmneutral.agent.running import run_batch
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.tools import definitions
from llmneutral.transports import registered
from tests.agent.scripts import Counter, Turns, answer, assert_valid, call, invalid
from tests.agent.ways import WAYS

many = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])

# --- scripts ------------------------------------------------------------------------------------

KINDS = ("works", "fails", "no such tool", "misfit", "invalid", "same id", "later", "image")


def block(kind: str, place: str, n: int) -> Any:
    """A call of a kind; `place` is its id."""
    made: dict[str, Any] = {
        "works": call(place, "count", n=n),
        "fails": call(place, "count", n=-1 - n),
        "no such tool": call(place, "cuont"),
        "misfit": call(place, "count", n="many"),
        "invalid": invalid(place, "count", '{"n": '),
        "same id": call("same", "count", n=n % 2),
        "later": call(place, "later", n=n),
        "image": call(place, "picture"),
    }
    return made[kind]


calls = st.tuples(st.sampled_from(KINDS), st.integers(0, 9))
turns = st.tuples(st.booleans(), st.lists(calls, min_size=1, max_size=4))
scripts = st.lists(turns, max_size=4)


def written(script: list[Any], last: Any = "done") -> list[Message]:
    """The turns of a script as messages; the last one answers."""
    found = []
    for number, (thinks, wanted) in enumerate(script):
        blocks: list[Any] = [ThinkingMessageContent("hm", signature="seal")] if thinks else []
        blocks += [block(kind, f"t{number}c{place}", n) for place, (kind, n) in enumerate(wanted)]
        found.append(answer(blocks))
    return [*found, answer(last)]


class Tools:
    """Tools with effects that are counted."""

    def __init__(self) -> None:
        self.counter = Counter()

    def __call__(self) -> list[Any]:
        def behave(n: int) -> Any:
            if n < 0:
                raise LookupError(str(n))
            return {"n": n}

        async def later(n: int) -> int:
            """Comes later."""
            await asyncio.sleep(0)
            self.counter.seen.append(1000 + n)
            return n

        def picture() -> Any:
            """Draws."""
            return [llmneutral.TextArtifact("a dot"), llmneutral.ImageArtifact(b"\x89PNG\r\n\x1a\n" + b"\0" * 8)]

        return [self.counter.tool(behave), later, picture]


def effects_of(script: list[Any]) -> Tally[int]:
    """What the calls of a script do, each once; the same id with the same input is the same call.

    That is so in one answer, and in later ones as long as the id has not stood for different calls.
    """
    found: Tally[int] = Tally()
    before: set[int] = set()
    for _, wanted in script:
        now: set[int] = set()
        for kind, n in wanted:
            value = {"works": n, "fails": -1 - n, "later": 1000 + n, "same id": n % 2}.get(kind)
            if value is None or (kind == "same id" and (value in now or before == {value})):
                continue
            found[value] += 1
            if kind == "same id":
                now.add(value)
        before |= now
    return found


def outcome(ask: Callable[..., AgentResult], script: list[Any], **options: Any) -> tuple[Any, ...]:
    """Everything a run leaves behind."""
    tools = Tools()
    heard: list[BaseEvent] = []
    agent = Agent(Turns(*written(script)), tools=tools(), **options)
    with EventBus.listening(heard.append):
        try:
            result = ask(agent, "go")
        except llmneutral.LLMNeutralError as error:
            found: Any = (type(error), str(error))
        else:
            found = msgspec.structs.replace(result, run_id=None, response=None), result.text, result.finish_reason
    assert agent.memory is not None
    kinds = Tally([event.type for event in heard if "Chunk" not in event.type and event.type != "FirstDeltaEvent"])
    return found, agent.memory.messages, Tally(tools.counter.seen), kinds


# --- the same in every way ----------------------------------------------------------------------


@many
@given(scripts, st.sampled_from([{}, {"max_steps": 2}, {"max_format_errors": 1}, {"parallel_tools": 1}]))
def test_sync_and_async_whole_and_streamed_come_to_the_same(script: list[Any], options: dict[str, Any]) -> None:
    first, *others = [outcome(ask, script, **options) for ask in WAYS.values()]
    for other in others:
        assert other == first
    assert_valid(first[1])


@many
@given(scripts)
def test_a_run_does_what_its_calls_ask_for_each_once(script: list[Any]) -> None:
    _, messages, seen, kinds = outcome(WAYS["run"], script, max_format_errors=99)
    assert seen == effects_of(script)
    assert kinds["StartRunEvent"] == kinds["FinishRunEvent"] == 1
    assert kinds["StartPromptEvent"] == kinds["FinishPromptEvent"] == len(script) + 1
    assert kinds["StartActionEvent"] == kinds["FinishActionEvent"]
    assert kinds["ErrorOccurredEvent"] == kinds["InterruptedEvent"] == 0
    blocks = [each for message in messages for each in message.content]
    tags = [each.tag for each in blocks if isinstance(each, ActionCallMessageContent)]
    assert len(tags) == len({*tags})


# --- whatever breaks off ------------------------------------------------------------------------

ENDS = ("FinishRunEvent", "ErrorOccurredEvent", "InterruptedEvent")
ERRORS = st.sampled_from([KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit, RuntimeError])


class Broken:
    """A run that is broken off at its n-th step: before it, or after it was done but before the run heard."""

    def __init__(self, script: list[Any], at: int, error: type[BaseException], *, late: bool) -> None:
        self.tools = Tools()
        self.memory = ConversationMemory()
        self.left = written(script)
        self.at, self.error, self.late = at, error, late
        self.heard: list[BaseEvent] = []
        self.offer = Offer(definitions(self.tools()))
        with EventBus.listening(self.heard.append):
            self._play("go")

    def _play(self, question: str) -> None:
        stack = PromptStack.from_artifact(question)
        driver = Turns()
        run = Run(driver, stack.messages, self.offer, memory=self.memory, limits=Limits(max_format_errors=99))
        flow = loop(run)
        try:
            step = flow.send(None)
            while True:
                self.at -= 1
                if self.at == 0 and not self.late:
                    flow.throw(self.error())
                done = self._done(step)
                if self.at == 0:
                    flow.throw(self.error())
                step = flow.send(done)
        except (StopIteration, self.error):
            pass
        assert driver.listeners.entries() == ()

    def _done(self, step: Any) -> Any:
        if isinstance(step, Recall):
            return self.memory.recall()
        if isinstance(step, Act):
            return run_batch(step.batch, step.bounds)
        if isinstance(step, Ask):
            return NormalizedResponse(self.left.pop(0), finish_reason="stop")
        return None

    def go_on(self) -> None:
        self.at = -1
        self.left = [answer("done")]
        self._play("and now?")


@many
@given(scripts, st.integers(1, 12), ERRORS, st.booleans())
def test_a_run_that_is_broken_off_anywhere_leaves_a_valid_conversation(
    script: list[Any], at: int, error: type[BaseException], late: bool
) -> None:
    broken = Broken(script, at, error, late=late)
    assert_valid(broken.memory.messages)
    assert not Tally(broken.tools.counter.seen) - effects_of(script)
    assert len([event for event in broken.heard if event.type in ENDS]) == 1
    seen = [*broken.tools.counter.seen]
    broken.go_on()
    assert broken.tools.counter.seen == seen
    assert_valid(broken.memory.messages)


@many
@given(scripts.filter(bool), st.integers(0, 40), st.sampled_from(["stream", "astream"]))
def test_a_stream_that_is_closed_anywhere_leaves_a_valid_conversation(script: list[Any], after: int, way: str) -> None:
    tools = Tools()
    agent = Agent(Turns(*written(script), "and now"), tools=tools(), max_format_errors=99)

    def read() -> None:
        with agent.stream("go") as deltas:
            for number, _ in enumerate(deltas):
                if number == after:
                    break

    async def aread() -> None:
        async with agent.astream("go") as deltas:
            number = 0
            async for _ in deltas:
                if number == after:
                    break
                number += 1

    read() if way == "stream" else asyncio.run(aread())
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    assert not Tally(tools.counter.seen) - effects_of(script)
    assert agent.prompt_driver.listeners.entries() == ()


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_tool_that_is_interrupted_leaves_the_results_of_the_others(way: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    at = data.draw(st.integers(0, size - 1))
    counter = Counter()

    def behave(n: int) -> int:
        if n == at:
            raise KeyboardInterrupt
        return n

    turn = [call(f"c{n}", "count", n=n) for n in range(size)]
    agent = Agent(Turns(turn, "done"), tools=[counter.tool(behave)], parallel_tools=1)
    with pytest.raises(KeyboardInterrupt):
        WAYS[way](agent, "go")
    assert agent.memory is not None
    assert len(agent.memory) == 3
    assert_valid(agent.memory.messages)
    assert counter.seen == [*range(at + 1)]
    assert WAYS[way](agent, "and now?").text == "done"
    assert counter.seen == [*range(at + 1)]


# --- long conversations -------------------------------------------------------------------------


def long_run(steps: int) -> list[Message]:
    script: list[Any] = [answer([f"step {n}", call(f"c{n}", "count", n=n)]) for n in range(steps)]
    agent = Agent(Turns(*script, "done"), tools=[Counter().tool()], max_steps=steps + 1)
    result = agent.run("go")
    assert result.steps == steps + 1
    return list(result.messages)


def work(messages: list[Message], api: str) -> int:
    """How many Python functions a conversion calls."""
    counted = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal counted
        counted += event == "call"

    stack = PromptStack(messages)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        llmneutral.convert(stack, api, model="m", max_tokens=100)
    finally:
        sys.setprofile(before)
    return counted


def test_two_hundred_steps_go_to_every_api_at_a_linear_cost() -> None:
    longest = long_run(200)
    assert_valid(longest)
    for api in registered():
        work(longest[:5], api)  # what is made once is made
        short, half, whole = [work(longest[: 2 * n + 1], api) for n in (50, 100, 200)]
        assert whole - half <= 2.2 * (half - short) + 50, (api, short, half, whole)


def test_a_step_costs_the_loop_the_same_however_long_the_run_is() -> None:
    """The loop's own work, beside that of the driver."""
    counts: list[int] = []

    def at(steps: int) -> int:
        driver = Turns(*[answer(call(f"c{n}", "count", n=n)) for n in range(steps)], "done")
        agent = Agent(driver, tools=[Counter().tool()], max_steps=steps + 1)
        counted = 0

        def count(frame: Any, event: str, arg: Any) -> None:
            nonlocal counted
            counted += event == "call" and "/agent/" in frame.f_code.co_filename

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            agent.run("go")
        finally:
            sys.setprofile(before)
        return counted

    at(2)
    short, half, whole = at(20), at(40), at(80)
    counts += [short, half, whole]
    assert whole - half <= 2.2 * (half - short), counts
