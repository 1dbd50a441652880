"""Runs that are streamed: what they give, what they know on the way, and what is left where nobody reads on."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from llmneutral import ActionResultMessageContent, Agent, BaseEvent, EventBus
from tests.agent.scripts import Counter, Turns, Wired, assert_valid, call, results


def test_a_stream_gives_each_answer_and_the_results_between() -> None:
    driver = Wired("chat_completions", [("text", "let me"), ("call", "c1", "count", '{"n": 4}')], "four")
    deltas = Agent(driver, tools=[Counter().tool()]).stream("hi")
    seen = [*deltas]
    kinds = [delta.kind for delta in seen if delta.kind in ("start", "end", "tool_result")]
    assert kinds == ["start", "end", "tool_result", "start", "end"]
    assert "".join([delta.text for delta in seen]) == "let mefour"
    (told,) = [delta.content.value for delta in seen if delta.kind == "tool_result"]
    assert told == ActionResultMessageContent("c1", 4)
    assert deltas.result.text == "four"


def test_a_stream_knows_at_any_time_what_it_has_come_to() -> None:
    driver = Wired("chat_completions", [("call", "c1", "count", '{"n": 4}')], "four")
    agent = Agent(driver, tools=[Counter().tool()])
    deltas = agent.stream("hi")
    assert deltas.result.steps == 0
    assert deltas.response is None
    for delta in deltas:
        if delta.kind == "tool_result":
            break
    assert (deltas.result.steps, len(deltas.result.calls)) == (1, 1)
    deltas.close()
    assert deltas.result.steps == 1
    assert agent.memory is not None
    assert len(agent.memory) == 3
    assert_valid(agent.memory.messages)


def test_what_is_coming_in_is_seen_and_stays_where_it_breaks_off() -> None:
    agent = Agent(Wired("chat_completions", "one two three"))
    deltas = agent.stream("hi")
    for delta in deltas:
        if delta.text == " tw":
            break
    assert deltas.response is not None
    assert deltas.result.text == "one tw"
    deltas.close()
    assert deltas.result.text == "one tw"
    assert (deltas.result.finish_reason, deltas.result.steps) == ("incomplete", 0)
    assert agent.memory is not None
    assert len(agent.memory) == 0


def test_the_chunks_of_an_answer_are_seen_while_it_comes() -> None:
    """They are those of one answer: between answers there is nothing to play again."""
    driver = Wired("chat_completions", [("call", "c1", "count", '{"n": 4}')], "four")
    deltas = Agent(driver, tools=[Counter().tool()]).stream("hi", record=True)
    sizes = [len(deltas.record or ()) for _ in deltas]
    assert sizes[0] > 0
    assert sizes[-1] > 0
    assert deltas.record is None
    silent = Agent(Wired("chat_completions", "four")).stream("hi")
    assert {silent.record for _ in silent} == {None}


async def test_what_is_coming_in_is_seen_in_async_code_too() -> None:
    async with Agent(Wired("chat_completions", "one two three")).astream("hi") as deltas:
        async for delta in deltas:
            if delta.text == " tw":
                break
        assert deltas.result.text == "one tw"
    assert deltas.result.text == "one tw"


def test_a_stream_that_is_never_read_leaves_nothing() -> None:
    driver = Turns("one")
    agent = Agent(driver)
    deltas = agent.stream("hi")
    deltas.close()
    del deltas
    gc.collect()
    assert driver.listeners.entries() == ()
    assert driver.stacks == []


def test_an_abandoned_stream_ends_its_run() -> None:
    heard: list[BaseEvent] = []
    agent = Agent(driver := Turns(call("1", "count"), "one"), tools=[Counter().tool()])
    with EventBus.listening(heard.append):
        deltas = agent.stream("hi")
    for delta in deltas:
        if delta.kind == "tool_result":
            break
    del deltas
    gc.collect()
    assert driver.listeners.entries() == ()
    assert [event.type for event in heard if event.type in ("InterruptedEvent", "FinishRunEvent")] == [
        "InterruptedEvent"
    ]
    assert agent.memory is not None
    assert len(agent.memory) == 3


async def test_an_async_stream_that_is_closed_ends_its_run() -> None:
    agent = Agent(Turns(call("1", "count"), "one"), tools=[Counter().tool()])
    async with agent.astream("hi") as deltas:
        async for delta in deltas:
            if delta.kind == "tool_result":
                break
    assert agent.memory is not None
    assert len(agent.memory) == 3
    assert_valid(agent.memory.messages)
    assert (await agent.arun()).text == "one"


async def test_a_cancelled_run_keeps_what_was_done() -> None:
    stop = threading.Event()

    def hang(n: int) -> int:
        """Hangs, or does not."""
        stop.wait(20 if n else 0)
        return n

    agent = Agent(Turns([call("1", "hang", n=0), call("2", "hang", n=1)]), tools=[hang])
    task = asyncio.ensure_future(agent.arun("hi"))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stop.set()
    assert agent.memory is not None
    told = results(agent.memory.messages)
    assert (told["1"].output, told["2"].is_error) == (0, True)
    assert_valid(agent.memory.messages)
