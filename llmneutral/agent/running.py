"""Runs the calls of one turn at the same time, in sync and in async code.

A tool of sync code runs in a daemon thread of its own, in a copy of the caller's context: nobody ever waits for one
that does not come back, neither after an interrupt nor at the end of the program. A tool of async code is awaited in
the running loop, or, in a sync run, in a loop of its own in its thread. Only an `Exception` becomes an error result;
KeyboardInterrupt, SystemExit and a cancellation pass on.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import time
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from llmneutral.agent.batch import Batch, Done
from llmneutral.agent.outcome import error_result, result_of
from llmneutral.agent.planning import Planned
from llmneutral.convert import feedback
from llmneutral.drivers.stopping import LOOK_UP, Stop
from llmneutral.drivers.threads import in_thread, start
from llmneutral.ir.artifacts import ErrorArtifact

ONCE = (types.GeneratorType, map, filter, zip)
"""What can be gone through only once: it is, here."""


NO_LOOP = ("no running event loop", "There is no current event loop")
REMEDY = "make it `async def`, and it is awaited in the event loop"


class Bounds(msgspec.Struct, frozen=True):
    """How calls are run.

    Attributes:
        parallel: Most calls at the same time.
        timeout: Seconds for one call; None: no bound.
    """

    parallel: int = 16
    timeout: float | None = None


class _Job:
    """One call that is being run in a thread."""

    def __init__(self, planned: Planned, place: int, deadline: float | None) -> None:
        self.planned = planned
        self.place = place
        self.deadline = deadline
        self.done: Done | None = None
        self.failure: BaseException | None = None
        self.is_over = False
        self.abort: Callable[[], object] = lambda: None

    def run(self, finished: queue.SimpleQueue[_Job]) -> None:
        """Runs it, in its thread."""
        try:
            called = _called(self.planned)
            self.done = called if isinstance(called, Done) else asyncio.run(self._awaited(called))
        except BaseException as error:  # noqa: BLE001  # told to whoever waits
            self.failure = error
        self.is_over = True
        finished.put(self)

    async def _awaited(self, value: Any) -> Done:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self.abort = lambda: loop.call_soon_threadsafe(task.cancel)
        return await _finished(self.planned, value)

    def give_up(self) -> None:
        """Lets it go: a tool of async code is cancelled, one of sync code runs on unheard."""
        with contextlib.suppress(RuntimeError):  # its loop is closed
            self.abort()


def run_batch(
    batch: Batch, bounds: Bounds, clock: Callable[[], float] = time.monotonic, stop: Stop | None = None
) -> None:
    """Runs the calls of a turn, and comes back when each has its result.

    What passes on (an interrupt, the wish to stop) leaves the results that are there, and starts nothing more.
    """
    waiting = deque(batch.runnable)
    running: dict[int, _Job] = {}
    finished: queue.SimpleQueue[_Job] = queue.SimpleQueue()
    try:
        while waiting or running:
            if stop is not None:
                stop.check()
            while waiting and len(running) < bounds.parallel:
                place = waiting.popleft()
                batch.begin(place)
                deadline = None if bounds.timeout is None else clock() + bounds.timeout
                job = running[place] = _Job(batch.plan[place], place, deadline)
                start(lambda job=job: job.run(finished))  # type: ignore[misc]  # the job of this round
            with contextlib.suppress(queue.Empty):
                job = finished.get(timeout=_patience(running, clock()))
                if job.place in running:
                    _take(batch, job)
                    del running[job.place]
            for place in [place for place, job in running.items() if _is_late(job, clock())]:
                assert bounds.timeout is not None
                running.pop(place).give_up()
                batch.done(place, _late(batch.plan[place], bounds.timeout))
    except BaseException:
        for job in running.values():
            if job.done is None:
                job.give_up()
            else:
                batch.done(job.place, job.done)
        raise
    batch.settle()


def _take(batch: Batch, job: _Job) -> None:
    if job.failure is not None:
        raise job.failure
    assert job.done is not None
    batch.done(job.place, job.done)


def _patience(running: dict[int, _Job], now: float) -> float:
    """Seconds to wait for the next call that comes back."""
    dues = [job.deadline - now for job in running.values() if job.deadline is not None]
    return max(0.0, min([LOOK_UP, *dues]))


def _is_late(job: _Job, now: float) -> bool:
    return job.deadline is not None and now >= job.deadline and not job.is_over


async def arun_batch(batch: Batch, bounds: Bounds) -> None:
    """The async twin of `run_batch`."""
    gate = _Gate(bounds.parallel)
    pending = {asyncio.ensure_future(_arun(batch, place, bounds, gate)) for place in batch.runnable}
    try:
        while pending:
            finished, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                if (failure := task.result()) is not None:
                    raise failure
    except BaseException:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        raise
    batch.settle()


class _Gate(asyncio.Semaphore):
    """Lets so many calls run at the same time, and none any more once one of them was interrupted."""

    is_shut = False


async def _arun(batch: Batch, place: int, bounds: Bounds, gate: _Gate) -> BaseException | None:
    """Runs one call; returns what passes on: raised inside a task it would end the whole event loop."""
    planned = batch.plan[place]
    came: list[Done] = []  # by the thread of a tool: a cancellation may be quicker than its way back into the loop
    try:
        async with gate:
            if gate.is_shut:
                return None
            batch.begin(place)
            try:
                async with asyncio.timeout(bounds.timeout) as scope:
                    done = await _acalled(planned, came)
            except TimeoutError:
                if not scope.expired():
                    raise
                assert bounds.timeout is not None
                done = _late(planned, bounds.timeout)
            batch.done(place, done)
    except asyncio.CancelledError:
        for done in came:
            batch.done(place, done)
        raise
    except BaseException as error:  # noqa: BLE001  # raised by whoever waits
        gate.is_shut = True
        return error
    return None


async def _acalled(planned: Planned, came: list[Done]) -> Done:
    def in_its_thread() -> Any:
        called = _called(planned)
        if isinstance(called, Done):
            came.append(called)
        return called

    is_async = inspect.iscoroutinefunction(planned.function)
    called = _called(planned) if is_async else await in_thread(in_its_thread)
    return called if isinstance(called, Done) else await _finished(planned, called)


def _called(planned: Planned) -> Any:
    """Calls the function; returns its result, or what has to be awaited first."""
    assert planned.function is not None
    try:
        value = planned.function(*planned.args, **planned.kwargs)
        value = list(value) if isinstance(value, ONCE) else value
    except Exception as error:  # noqa: BLE001  # whatever a tool raises is told to the model
        return _failed(planned, _explained(error))
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        return value
    return Done(result_of(planned.call, value), value)


async def _finished(planned: Planned, value: Any) -> Done:
    try:
        value = [each async for each in value] if inspect.isasyncgen(value) else await value
    except Exception as error:  # noqa: BLE001  # as above
        return _failed(planned, error)
    return Done(result_of(planned.call, value), value)


def _explained(error: Exception) -> Exception:
    """What a tool of sync code met that wanted the event loop: it is none of its thread's, and the remedy is told."""
    if isinstance(error, RuntimeError) and str(error).startswith(NO_LOOP):
        return RuntimeError(f"{error}; a tool of sync code runs in a thread: {REMEDY}")
    return error


def _failed(planned: Planned, error: Exception) -> Done:
    result = error_result(planned.call, feedback.raised(error))
    return Done(result, ErrorArtifact(result.output))


def _late(planned: Planned, seconds: float) -> Done:
    return _failed(planned, TimeoutError(f"the tool took longer than {seconds:g} s"))
