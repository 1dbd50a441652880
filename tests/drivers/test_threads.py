"""Blocking work seen from async code: nobody ever waits for a thread that waits for a provider."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral import ServerError
from llmneutral.drivers.threads import AHEAD, Pumped, in_thread
from tests.drivers.scripted import Scripted, chunks, whole

place = contextvars.ContextVar("place", default="nowhere")


class Blocking:
    """Chunks that wait for a sign before each."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.go = threading.Event()
        self.inside = threading.Event()
        self.closed_by: str | None = None
        self.aborted = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.inside.set()
        self.go.wait(10)
        if not self.steps:
            raise StopIteration
        return self.steps.pop(0)

    def abort(self) -> None:
        self.aborted = True
        self.go.set()

    def close(self) -> None:
        self.closed_by = threading.current_thread().name


def gone() -> bool:
    """Whether every thread of ours ends in a moment."""
    end = time.monotonic() + 5
    while any(thread.name == "llmneutral-io" for thread in threading.enumerate()):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


async def test_work_runs_in_a_copy_of_the_context() -> None:
    place.set("here")
    assert await in_thread(place.get) == "here"
    assert await in_thread(lambda: threading.current_thread().name) == "llmneutral-io"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
async def test_what_it_raises_is_raised(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        await in_thread(work)


async def test_a_stop_iteration_cannot_pass_for_an_end() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(next, iter(()))


async def test_who_is_cancelled_does_not_wait_and_the_result_is_put_away() -> None:
    go = threading.Event()
    put_away: list[str] = []

    def work() -> str:
        go.wait(10)
        return "late"

    task = asyncio.create_task(in_thread(work, unused=put_away.append))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    for _ in range(200):
        if put_away:
            break
        await asyncio.sleep(0.01)
    assert put_away == ["late"]


def test_the_end_of_a_loop_does_not_wait_either() -> None:
    go = threading.Event()
    put_away: list[str] = []

    def work() -> str:
        go.wait(10)
        return "late"

    async def leave() -> None:
        task = asyncio.create_task(in_thread(work, unused=put_away.append))
        await asyncio.sleep(0.05)
        task.cancel()

    began = time.monotonic()
    asyncio.run(leave())
    assert time.monotonic() - began < 2
    go.set()
    assert gone()
    assert put_away == ["late"]


async def test_chunks_come_in_order_and_the_reader_closes() -> None:
    steps = Blocking(*range(AHEAD * 3))
    steps.go.set()
    assert [chunk async for chunk in Pumped(steps)] == list(range(AHEAD * 3))
    assert gone()
    assert steps.closed_by == "llmneutral-io"


async def test_it_reads_ahead_only_so_far() -> None:
    steps = Blocking(*range(AHEAD * 10))
    steps.go.set()
    pumped = Pumped(steps)
    assert await anext(pumped) == 0
    await asyncio.sleep(0.1)
    assert len(steps.steps) >= AHEAD * 10 - AHEAD - 2
    await pumped.aclose()
    assert gone()


async def test_a_failure_comes_after_what_came_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise ServerError("broke")

    pumped = Pumped(failing())
    assert await anext(pumped) == 1
    with pytest.raises(ServerError, match="broke"):
        await anext(pumped)
    with pytest.raises(StopAsyncIteration):
        await anext(pumped)


async def test_closing_wakes_a_reader_that_can_be_woken() -> None:
    steps = Blocking(1)
    pumped = Pumped(steps)
    task = asyncio.ensure_future(anext(pumped))
    await asyncio.to_thread(steps.inside.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await pumped.aclose()
    assert steps.aborted
    assert gone()
    assert steps.closed_by == "llmneutral-io"


async def test_what_was_never_read_is_closed_at_once() -> None:
    steps = Blocking(1)
    await Pumped(steps).aclose()
    assert steps.closed_by is not None
    assert not steps.inside.is_set()


async def test_a_generator_that_runs_is_closed_by_its_own_thread() -> None:
    go, inside, closed = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        try:
            inside.set()
            go.wait(10)
            yield 1
        finally:
            closed.set()

    pumped = Pumped(slow())
    task = asyncio.ensure_future(anext(pumped))
    await asyncio.to_thread(inside.wait, 5)
    task.cancel()
    await pumped.aclose()  # a generator that runs in another thread cannot be closed from here
    go.set()
    assert await asyncio.to_thread(closed.wait, 5)
    assert gone()


# --- a driver whose SDK is sync only ----------------------------------------------------------------------------------


async def test_a_sync_driver_is_async_too() -> None:
    driver = Scripted(chunks(), whole())
    stream = driver.astream("hi")
    deltas = [delta async for delta in stream]
    assert deltas == list(Scripted(chunks()).stream("hi"))
    assert (await driver.arun("hi")).text == "Hello there"
    assert gone()
    assert driver.closed == 1


async def test_cancelling_a_sync_driver_asks_nothing_again() -> None:
    class Slow(Scripted):
        def open(self, conversion: Any) -> Iterator[Any]:
            self.sent.append({})
            return steps

    steps = Blocking(*chunks())
    driver = Slow()
    task = asyncio.create_task(driver.arun("hi", stream=True))
    await asyncio.to_thread(steps.inside.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone()
    assert steps.closed_by == "llmneutral-io"
    assert len(driver.sent) == 1
