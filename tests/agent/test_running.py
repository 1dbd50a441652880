"""The calls of one turn at the same time: order, context, time-outs, interrupts; in sync and in async code."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmneutral import ErrorArtifact, EventBus, FinishActionEvent, StartActionEvent
from llmneutral.agent.batch import Batch
from llmneutral.agent.planning import Offer, planned
from llmneutral.agent.running import Bounds, arun_batch, run_batch
from llmneutral.convert.pairing import NOT_COMPLETED
from llmneutral.events import BaseEvent, Publisher
from llmneutral.ir.tools import definitions
from tests.agent.scripts import Counter, call, invalid

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")


def run_async(batch: Batch, bounds: Bounds) -> None:
    asyncio.run(arun_batch(batch, bounds))


both = pytest.mark.parametrize("run", [run_batch, run_async], ids=["sync", "async"])
Running = Callable[[Batch, Bounds], None]


def batch_of(tools: list[Any], *calls: Any, **options: Any) -> Batch:
    return Batch(planned(calls, Offer(definitions(tools)), **options), Publisher())


def outputs(batch: Batch) -> list[Any]:
    return [None if result is None else result.output for result in batch.results]


@both
def test_results_stand_in_call_order_whatever_finishes_first(run: Running) -> None:
    def wait(ms: int) -> int:
        """Waits."""
        time.sleep(ms / 1000)
        return ms

    async def await_(ms: int) -> int:
        """Awaits."""
        await asyncio.sleep(ms / 1000)
        return ms

    batch = batch_of([wait, await_], call("1", "wait", ms=60), call("2", "await_", ms=30), call("3", "wait", ms=1))
    began = time.perf_counter()
    run(batch, Bounds())
    assert outputs(batch) == [60, 30, 1]
    assert time.perf_counter() - began < 2


@both
def test_calls_run_at_the_same_time_and_no_more_than_may(run: Running) -> None:
    together = threading.Barrier(3, timeout=5)
    lock, now, most = threading.Lock(), [0], [0]

    def meet(n: int) -> int:
        """Waits until three are here."""
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()
        with lock:
            now[0] -= 1
        return n

    batch = batch_of([meet], *[call(str(n), "meet", n=n) for n in range(6)])
    run(batch, Bounds(parallel=3))
    assert outputs(batch) == [*range(6)]
    assert most == [3]


@both
def test_async_tools_are_awaited_at_the_same_time(run: Running) -> None:
    arrived: list[int] = []

    async def meet(n: int) -> int:
        """Waits until all are here."""
        arrived.append(n)
        while len(arrived) < 3:
            await asyncio.sleep(0.001)
        return n

    batch = batch_of([meet], *[call(str(n), "meet", n=n) for n in range(3)])
    run(batch, Bounds(timeout=5))
    assert outputs(batch) == [0, 1, 2]


@both
def test_each_call_has_a_copy_of_the_callers_context(run: Running) -> None:
    def here() -> str:
        """Looks and leaves."""
        found = place.get()
        place.set("elsewhere")
        return found

    async def there() -> str:
        """Looks and leaves."""
        found = place.get()
        place.set("elsewhere")
        return found

    def inside() -> None:
        place.set("home")
        batch = batch_of([here, there], *[call(str(n), name) for n, name in enumerate(["here", "there", "here"])])
        run(batch, Bounds())
        assert outputs(batch) == ["home"] * 3
        assert place.get() == "home"

    contextvars.copy_context().run(inside)


class Later:
    """A sync callable that gives back something to await."""

    def __call__(self, n: int) -> Any:
        return self.soon(n)

    async def soon(self, n: int) -> int:
        await asyncio.sleep(0)
        return n


@both
def test_what_has_to_be_awaited_is(run: Running) -> None:
    async def some(n: int) -> Any:
        """Yields."""
        for each in range(n):
            yield each

    batch = batch_of([Later(), some], call("1", "Later", n=1), call("2", "some", n=3))
    run(batch, Bounds())
    assert outputs(batch) == [1, [0, 1, 2]]


@both
def test_what_comes_one_by_one_is_a_list(run: Running) -> None:
    def some(n: int) -> Any:
        """Yields."""
        yield from range(n)
        if n > 3:
            raise LookupError("no more")

    batch = batch_of([some], call("1", "some", n=2), call("2", "some", n=4))
    run(batch, Bounds())
    assert outputs(batch) == [[0, 1], "LookupError: no more"]
    assert batch.actions()[0].output == [0, 1]


def raising(error: BaseException) -> list[Any]:
    def now() -> None:
        """Raises."""
        raise error

    async def soon() -> None:
        """Raises."""
        await asyncio.sleep(0)
        raise error

    return [now, soon]


@both
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (StopIteration("x"), None),
        (TimeoutError("its own"), "TimeoutError: its own"),
        (ValueError(""), "ValueError"),
        (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup: two (2 sub-exceptions)"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_what_a_tool_raises_is_told_to_the_model(run: Running, error: Exception, says: str | None) -> None:
    batch = batch_of(raising(error), call("1", "now"), call("2", "soon"))
    run(batch, Bounds(timeout=5))
    for result, action in zip(batch.results, batch.actions(), strict=True):
        assert result is not None
        assert result.is_error
        assert "Traceback" not in str(result.output)
        assert says is None or result.output == says
        assert action.output == ErrorArtifact(result.output)


@both
@pytest.mark.parametrize("tool", ["now", "soon"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()], ids=repr)
def test_what_is_no_exception_passes_on(run: Running, tool: str, error: BaseException) -> None:
    batch = batch_of(raising(error), call("1", tool))
    with pytest.raises(type(error)):
        run(batch, Bounds())
    assert outputs(batch) == [None]
    batch.give_up()
    assert outputs(batch) == [NOT_COMPLETED]


@both
def test_a_call_that_takes_too_long_is_told_so(run: Running) -> None:
    stop, cancelled = threading.Event(), []

    def hang() -> None:
        """Hangs."""
        stop.wait(20)

    async def hang_too() -> None:
        """Hangs."""
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    counter = Counter()
    batch = batch_of(
        [hang, hang_too, counter.tool()], call("1", "hang"), call("2", "hang_too"), call("3", "count", n=5)
    )
    began = time.perf_counter()
    run(batch, Bounds(parallel=1, timeout=0.05))
    assert outputs(batch)[2] == 5
    assert outputs(batch)[:2] == ["TimeoutError: the tool took longer than 0.05 s"] * 2
    assert time.perf_counter() - began < 5
    stop.set()
    for _ in range(200):
        if cancelled:
            break
        time.sleep(0.01)
    assert cancelled == [1]


@both
def test_an_interrupt_keeps_what_is_done_and_begins_nothing_more(run: Running) -> None:
    counter, done = Counter(), threading.Event()

    def quick() -> str:
        """Is quick."""
        done.set()
        return "quick"

    def interrupted() -> None:
        """Is interrupted."""
        done.wait(5)
        time.sleep(0.05)
        raise KeyboardInterrupt

    tools = [quick, interrupted, counter.tool()]
    batch = batch_of(tools, call("1", "quick"), call("2", "interrupted"), *[call(f"x{n}", "count") for n in range(4)])
    with pytest.raises(KeyboardInterrupt):
        run(batch, Bounds(parallel=2) if run is run_batch else Bounds(parallel=1))
    assert outputs(batch)[:2] == ["quick", None]
    begun = len(counter.seen)
    batch.give_up()
    assert len([each for each in outputs(batch) if each == NOT_COMPLETED]) == 5 - begun
    time.sleep(0.05)
    assert len(counter.seen) == begun


def test_an_interrupt_of_the_waiting_thread_waits_for_nobody() -> None:
    """Ctrl-C while tools run: the main thread goes on at once, and what comes later is not heard."""
    import _thread

    stop, counter = threading.Event(), Counter()

    def hang(n: int) -> int:
        """Hangs."""
        if n == 2:
            _thread.interrupt_main()
        stop.wait(20)
        return n

    tools = [hang, counter.tool()]
    batch = batch_of(tools, call("0", "count", n=1), call("1", "hang", n=1), call("2", "hang", n=2))
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_batch(batch, Bounds())
    assert time.perf_counter() - began < 5
    assert outputs(batch) == [1, None, None]
    batch.give_up()
    stop.set()
    time.sleep(0.05)
    assert outputs(batch) == [1, NOT_COMPLETED, NOT_COMPLETED]


def test_an_interrupt_of_a_loop_waits_for_nobody() -> None:
    """Ctrl-C in async code: the loop cancels its task, and no thread is waited for."""
    import _thread

    stop = threading.Event()

    def hang() -> None:
        """Hangs."""
        _thread.interrupt_main()
        stop.wait(20)

    batch = batch_of([hang], call("1", "hang"))
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_async(batch, Bounds())
    assert time.perf_counter() - began < 5
    stop.set()


async def test_a_cancelled_task_cancels_async_tools_and_waits_for_no_thread() -> None:
    stop, seen = threading.Event(), []

    async def soon() -> None:
        """Waits."""
        try:
            await asyncio.sleep(20)
        finally:
            seen.append("cleaned up")

    def hang() -> None:
        """Hangs."""
        stop.wait(20)

    batch = batch_of([soon, hang], call("1", "soon"), call("2", "hang"))
    task = asyncio.ensure_future(arun_batch(batch, Bounds()))
    await asyncio.sleep(0.02)
    task.cancel()
    began = time.perf_counter()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - began < 5
    assert seen == ["cleaned up"]
    stop.set()


@both
def test_a_twin_shares_the_result_and_is_not_run(run: Running) -> None:
    counter = Counter()
    first, second = call("a", "count", n=3), call("a_2", "count", n=3)
    batch = batch_of([counter.tool()], first, second, twins={"a_2": "a"})
    run(batch, Bounds())
    assert outputs(batch) == [3, 3]
    assert [result.tag for result in batch.results if result] == ["a", "a_2"]
    assert counter.seen == [3]


@both
def test_events_tell_of_each_call_that_is_run(run: Running) -> None:
    heard: list[BaseEvent] = []
    counter = Counter()

    def fail() -> None:
        """Fails."""
        raise LookupError("gone")

    with EventBus.listening(heard.append):
        batch = batch_of([counter.tool(), fail], call("1", "count", n=2), call("2", "fail"), invalid("3", "count", "x"))
        run(batch, Bounds(parallel=1))
    begun = [(event.tag, event.name, event.input) for event in heard if isinstance(event, StartActionEvent)]
    ended = [(event.tag, event.output, event.error) for event in heard if isinstance(event, FinishActionEvent)]
    assert begun == [("1", "count", {"n": 2}), ("2", "fail", {})]
    assert sorted(ended) == [("1", 2, None), ("2", "LookupError: gone", "LookupError: gone")]
    assert all([event.duration >= 0 for event in heard if isinstance(event, FinishActionEvent)])


@both
@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), max_size=6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_order_and_effects_do_not_depend_on_who_is_first(
    run: Running, waits: list[int], parallel: int, order: random.Random
) -> None:
    counter = Counter()
    delays = {n: order.choice([0, 0.001, 0.003]) for n in range(len(waits))}

    def behave(n: int) -> Any:
        time.sleep(delays[n])
        if waits[n] == 3:
            raise LookupError(str(n))
        return n

    batch = batch_of([counter.tool(behave)], *[call(str(n), "count", n=n) for n in range(len(waits))])
    run(batch, Bounds(parallel))
    assert outputs(batch) == [f"LookupError: {n}" if wait == 3 else n for n, wait in enumerate(waits)]
    assert sorted(counter.seen) == [*range(len(waits))]


@both
@pytest.mark.parametrize("needs", [asyncio.get_running_loop, asyncio.get_event_loop], ids=["running", "current"])
def test_a_tool_of_sync_code_that_needs_the_event_loop_is_told_the_remedy(run: Running, needs: Any) -> None:
    def sync() -> str:
        """Needs the loop."""
        return str(needs().is_running())

    async def async_() -> str:
        """Needs the loop."""
        return str(needs().is_running())

    def other() -> str:
        """Fails in a way of its own."""
        raise RuntimeError("no running engine")

    batch = batch_of([sync, async_, other], call("1", "sync"), call("2", "async_"), call("3", "other"))
    run(batch, Bounds())
    failed, worked, own = outputs(batch)
    assert failed.startswith("RuntimeError: ")
    assert failed.endswith(
        "; a tool of sync code runs in a thread: make it `async def`, and it is awaited in the event loop"
    )
    assert (worked, own) == ("True", "RuntimeError: no running engine")
