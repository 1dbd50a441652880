"""What a run tells: the events of a run in their order, one end, one run id; listeners never break it."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pydantic
import pytest

from llmneutral import (
    Agent,
    BaseEvent,
    ErrorOccurredEvent,
    EventBus,
    FinishActionEvent,
    FinishRunEvent,
    InterruptedEvent,
    ListenerFailedEvent,
    OverloadedError,
    StartActionEvent,
    StartPromptEvent,
    StartRunEvent,
    ToolLoopError,
)
from tests.agent.scripts import Counter, Turns, Wired, assert_valid, call
from tests.agent.ways import WAYS, Asking, ways

ENDS = (FinishRunEvent, ErrorOccurredEvent, InterruptedEvent)
CALL = [("call", "c1", "count", '{"n": 4}')]


class Answer(pydantic.BaseModel):
    n: int


def told(ask: Asking, agent: Agent, *given: Any, raises: Any = None, **more: Any) -> list[BaseEvent]:
    """The events of a run, as one listener of this context hears them; chunks left out."""
    heard: list[BaseEvent] = []
    with EventBus.listening(heard.append):
        if raises is None:
            ask(agent, *given, **more)
        else:
            with pytest.raises(raises):
                ask(agent, *given, **more)
    return [event for event in heard if not event.type.endswith("ChunkEvent") and event.type != "FirstDeltaEvent"]


@ways
def test_a_run_tells_its_steps_in_order(ask: Asking) -> None:
    agent = Agent(Wired("chat_completions", CALL, "four"), tools=[Counter().tool()], temperature=0.5)
    heard = told(ask, agent, "what is secret?")
    assert [event.type for event in heard] == [
        "StartRunEvent",
        "StartPromptEvent",
        "FinishPromptEvent",
        "StartActionEvent",
        "FinishActionEvent",
        "StartPromptEvent",
        "FinishPromptEvent",
        "FinishRunEvent",
    ]
    assert len({event.run_id for event in heard}) == 1
    assert {(event.driver, event.api, event.model) for event in heard} == {("Wired", "chat_completions", "m")}
    first, last = heard[0], heard[-1]
    assert isinstance(first, StartRunEvent)
    assert first.input == {"messages": [{"role": "user", "blocks": ["text"], "size": 15}]}
    assert first.settings == {"temperature": 0.5}
    assert "secret" not in repr(first)
    assert isinstance(last, FinishRunEvent)
    assert (last.output, last.steps, last.usage["total"]) == ("four", 2, 24)


@ways
def test_runs_are_told_apart_and_may_be_named(ask: Asking) -> None:
    agent = Agent(Turns("one", "two", "three"), meta={"who": "me"})
    first, second = told(ask, agent, "hi"), told(ask, agent, "hi")
    assert first[0].run_id != second[0].run_id
    third = told(ask, agent, "hi", run_id="mine")
    assert {event.run_id for event in third} == {"mine"}
    assert {str(event.meta) for event in third} == {"{'who': 'me'}"}
    assert agent.result is not None
    assert agent.result.run_id == "mine"


def interrupted(n: int) -> Any:
    raise KeyboardInterrupt


def failing(ask: Asking) -> list[tuple[str, Agent, Any, type]]:
    counter = Counter()
    broken = Agent(Turns(call("1", "count")), tools=[counter.tool(interrupted)])
    bounded = Agent(Turns(call("1", "count")), tools=[counter.tool()], max_steps=1)
    misfit = Agent(Wired("chat_completions", "no json"), output_schema=Answer, max_repairs=0)
    later = Agent(Turns(call("1", "count"), OverloadedError("busy"), max_attempts=1), tools=[counter.tool()])
    return [
        ("driver", Agent(Turns(OverloadedError("busy"), max_attempts=1)), OverloadedError, ErrorOccurredEvent),
        ("later", later, OverloadedError, ErrorOccurredEvent),
        ("bound", bounded, ToolLoopError, ErrorOccurredEvent),
        ("misfit", misfit, Exception, ErrorOccurredEvent),
        ("bug", Agent(Turns(LookupError("x"))), LookupError, ErrorOccurredEvent),
        ("interrupt", Agent(Turns(KeyboardInterrupt())), KeyboardInterrupt, InterruptedEvent),
        ("tool", broken, KeyboardInterrupt, InterruptedEvent),
    ]


@ways
def test_each_run_ends_once_however_it_ends(ask: Asking) -> None:
    for name, agent, error, end in failing(ask):
        heard = told(ask, agent, "hi", raises=error)
        ends = [type(event) for event in heard if isinstance(event, ENDS)]
        assert ends == [end], name
        assert type(heard[-1]) is end, name
        assert isinstance(heard[0], StartRunEvent)
        assert agent.prompt_driver.listeners.entries() == ()


def test_the_error_of_a_bound_names_itself() -> None:
    agent = Agent(Turns(call("1", "count")), tools=[Counter().tool()], max_steps=1)
    last = told(WAYS["run"], agent, "hi", raises=ToolLoopError)[-1]
    assert isinstance(last, ErrorOccurredEvent)
    assert last.error.raw_type == "ToolLoopError"
    assert last.partial is not None


@ways
def test_an_error_that_is_returned_is_told_once(ask: Asking) -> None:
    agent = Agent(Turns(OverloadedError("busy"), max_attempts=1), on_error="return")
    heard = told(ask, agent, "hi")
    assert [type(event) for event in heard if isinstance(event, ENDS)] == [ErrorOccurredEvent]
    assert agent.result is not None
    assert agent.result.response is not None
    assert agent.result.response.error is not None
    assert agent.memory is not None
    assert len(agent.memory) == 0


@ways
@pytest.mark.parametrize("kind", [StartRunEvent, StartActionEvent, FinishActionEvent, FinishRunEvent, StartPromptEvent])
def test_a_listener_that_fails_breaks_nothing(ask: Asking, kind: type[BaseEvent]) -> None:
    failures: list[BaseEvent] = []

    def fail(event: BaseEvent) -> None:
        raise LookupError("listener")

    counter = Counter()
    agent = Agent(Turns(call("1", "count", n=4), "four"), tools=[counter.tool()])
    failed = EventBus.listening(failures.append, ListenerFailedEvent)
    with failed, EventBus.listening(fail, kind), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ask(agent, "hi")
    assert (result.text, counter.seen) == ("four", [4])
    assert failures


@ways
@pytest.mark.parametrize("kind", [StartRunEvent, StartActionEvent, FinishActionEvent, FinishRunEvent])
def test_an_interrupt_in_a_listener_passes_on_and_leaves_a_valid_memory(ask: Asking, kind: type[BaseEvent]) -> None:
    def stop(event: BaseEvent) -> None:
        raise KeyboardInterrupt

    counter = Counter()
    agent = Agent(Turns(call("1", "count", n=4), "four", "later"), tools=[counter.tool()])
    handle = EventBus.on(kind, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(agent, "hi")
    finally:
        handle.off()
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    assert len(counter.seen) <= 1
    assert agent.prompt_driver.listeners.entries() == ()


def test_events_are_built_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    from llmneutral.agent import run as module

    def summary(messages: Any) -> Any:
        built.append("summary")
        return {}

    monkeypatch.setattr(module, "_summary", summary)
    Agent(Turns(call("1", "count"), "one"), tools=[Counter().tool()]).run("hi")
    assert built == []


async def test_events_of_runs_at_the_same_time_do_not_mix() -> None:
    heard: list[BaseEvent] = []

    async def slow(n: int) -> int:
        """Waits."""
        await asyncio.sleep(0.01)
        return n

    driver = Turns(*[call(f"c{n}", "slow", n=n) for n in range(4)], *["done"] * 4)
    with EventBus.listening(heard.append):
        await asyncio.gather(*[Agent(driver, tools=[slow]).arun("hi") for _ in range(4)])
    runs = {event.run_id: [e.type for e in heard if e.run_id == event.run_id] for event in heard}
    assert len(runs) == 4
    assert all([kinds[0] == "StartRunEvent" and kinds[-1] == "FinishRunEvent" for kinds in runs.values()])
    assert all([kinds.count("FinishRunEvent") == 1 for kinds in runs.values()])
    assert driver.listeners.entries() == ()
