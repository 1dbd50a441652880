"""A stream that another thread or task ends: whoever reads it wakes, and keeps what has come."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral import Agent, BasePromptDriver, FallbackDriver, InterruptedEvent, ReplayPromptDriver, ServerError
from llmneutral.drivers.streams import AsyncDeltaStream, DeltaStream
from tests.drivers import endpoints, sdk_endpoints
from tests.drivers.scripted import Scripted
from tests.loopback import HOLD, Answer, Loopback, streamed, whole

SOON = 1.5
HEARD = "Hello there"
BOTH = pytest.mark.parametrize("how", ["thread", "task"])
CALL = [("call", "c1", "wait", "{}")]


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sdk_endpoints.without_aws(monkeypatch, tmp_path)


def driver_of(api: str, server: Loopback) -> BasePromptDriver:
    return (endpoints.driver_for if api in endpoints.APIS else sdk_endpoints.sdk_driver)(api, server)


def silent_after(api: str, count: int) -> Answer:
    """An answer that comes to its second piece of text or so, and then says nothing more."""
    if api in endpoints.APIS:
        return streamed([*endpoints.chunks_of(api)[:count], HOLD])
    return sdk_endpoints.stream_of(api, [*sdk_endpoints.chunks_of(api)[:count], HOLD])


class Reader:
    """Reads a stream in a thread (or a task in the loop of a thread), which another one ends."""

    def __init__(self, make: Callable[[], Any], how: str) -> None:
        self.deltas: list[Any] = []
        self.error: BaseException | None = None
        self.stream: Any = None
        self.made = threading.Event()
        self._make, self._how = make, how
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.made.wait(5)

    def _run(self) -> None:
        try:
            if self._how == "task":
                asyncio.run(self._read())
                return
            self.stream = self._make()
            self.made.set()
            for delta in self.stream:
                self.deltas.append(delta)
        except BaseException as error:  # noqa: BLE001  # looked at by the test
            self.error = error

    async def _read(self) -> None:
        self.stream = self._make()
        self.made.set()
        async for delta in self.stream:
            self.deltas.append(delta)

    @property
    def text(self) -> str:
        return "".join([delta.text for delta in self.deltas])

    def has_read(self, count: int = 1) -> None:
        until = time.monotonic() + 5
        while len([delta for delta in self.deltas if delta.text]) < count and time.monotonic() < until:
            time.sleep(0.005)

    def ends(self, seconds: float = SOON) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive() and self.error is None


def asked(driver: BasePromptDriver, how: str, **settings: Any) -> Reader:
    return Reader(lambda: (driver.stream if how == "thread" else driver.astream)("hi", **settings), how)


@BOTH
@pytest.mark.parametrize("api", [*endpoints.APIS, *sdk_endpoints.APIS])
def test_a_silent_stream_ends_on_every_api(api: str, how: str) -> None:
    seen: list[Any] = []
    count = 5 if api in ("anthropic_messages", "codex_responses") else 3
    with Loopback(silent_after(api, count)) as server, driver_of(api, server) as driver:
        driver.on(InterruptedEvent, seen.append)
        reader = asked(driver, how)
        reader.has_read()
        reader.stream.cancel()
        assert reader.ends()
        assert server.closes()
        assert len(server.requests) == 1, "an end is no failure to try again"
    response = reader.stream.response
    assert response.text
    assert response.text.startswith(reader.text)  # what was read meanwhile is kept, though nobody was given it
    assert not response.complete
    assert response.error is None
    assert [event.partial.text for event in seen] == [response.text]


@BOTH
@pytest.mark.parametrize("api", ["chat_completions", "anthropic_messages", "bedrock_converse", "cohere_chat"])
def test_before_the_first_byte(api: str, how: str) -> None:
    """The thread of the reader does not wait for it; a task closes the connection besides."""
    with Loopback(Answer(0, pieces=(HOLD,))) as server, driver_of(api, server) as driver:
        reader = asked(driver, how)
        assert server.asked()
        reader.stream.cancel()
        assert reader.ends()
        if how == "task" and api != "bedrock_converse":
            assert server.closes()
    assert reader.stream.response.text == ""
    assert not reader.stream.response.complete


@BOTH
def test_in_the_pause_before_another_attempt(how: str) -> None:
    busy = whole({"error": {"message": "later", "type": "rate_limit_error"}}, 429, retry_after="30")
    with Loopback(busy, busy) as server, endpoints.driver_for("chat_completions", server) as driver:
        driver.sleep, driver.asleep = time.sleep, asyncio.sleep
        retried = threading.Event()
        driver.on(llmneutral.RetryScheduledEvent, lambda event: retried.set())
        reader = asked(driver, how)
        assert retried.wait(5)
        reader.stream.cancel()
        assert reader.ends()
        assert len(server.requests) == 1


@BOTH
def test_what_was_ended_before_it_began_asks_nobody(how: str) -> None:
    with Loopback(silent_after("chat_completions", 3)) as server:
        driver = endpoints.driver_for("chat_completions", server)

        def cancelled() -> Any:
            stream: Any = (driver.stream if how == "thread" else driver.astream)("hi")
            stream.cancel()
            return stream

        reader = Reader(cancelled, how)
        assert reader.ends()
        assert (reader.deltas, server.requests) == ([], [])
        driver.close()


@BOTH
def test_between_two_deltas_the_next_one_is_not_read(how: str) -> None:
    chunks = endpoints.chunks_of("chat_completions")
    driver = Scripted(chunks, chunks)
    if how == "thread":
        stream = driver.stream("hi")
        for delta in stream:
            if delta.text:
                stream.cancel()
        assert HEARD.startswith(stream.response.text)
        return

    async def read() -> None:
        astream = driver.astream("hi")
        async for delta in astream:
            if delta.text:
                astream.cancel()
        assert HEARD.startswith(astream.response.text)

    asyncio.run(read())


def test_closing_what_another_thread_reads_ends_it_there() -> None:
    with Loopback(silent_after("chat_completions", 3)) as server, driver_of("chat_completions", server) as driver:
        reader = asked(driver, "thread")
        reader.has_read()
        reader.stream.close()
        assert reader.ends()
        assert server.closes()


def test_closing_what_another_task_reads_ends_it_there() -> None:
    async def scene(driver: BasePromptDriver) -> None:
        stream = driver.astream("hi")
        heard = asyncio.Event()

        async def read() -> None:
            async for delta in stream:
                if delta.text:
                    heard.set()

        task = asyncio.ensure_future(read())
        await heard.wait()
        await asyncio.sleep(0.05)
        await stream.aclose()
        await asyncio.wait_for(task, SOON)
        await driver.aclose()

    with Loopback(silent_after("chat_completions", 3)) as server:
        asyncio.run(scene(driver_of("chat_completions", server)))
        assert server.closes()


def test_a_stream_that_is_over_cuts_no_connection_of_another() -> None:
    chunks = endpoints.chunks_of("chat_completions")
    with (
        Loopback(streamed(chunks), silent_after("chat_completions", 3)) as server,
        driver_of("chat_completions", server) as driver,
    ):
        first = driver.stream("hi")
        assert list(first)[-1].kind == "end"
        second = asked(driver, "thread")
        second.has_read()
        assert len(server.connections) == 1, "the connection is used again"
        first.cancel()
        assert list(first) == []
        assert first.response.complete
        assert not second.ends(0.2)
        second.stream.cancel()
        assert second.ends()


def test_a_cancelled_task_is_still_a_cancelled_task() -> None:
    async def scene(driver: BasePromptDriver, requests: list[Any]) -> None:
        task = asyncio.ensure_future(_all(driver.astream("hi")))
        while not requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await driver.aclose()

    for answer in (Answer(0, pieces=(HOLD,)), silent_after("chat_completions", 3)):
        with Loopback(answer) as server:
            asyncio.run(scene(driver_of("chat_completions", server), server.requests))
            assert server.closes()


async def _all(stream: Any) -> list[Any]:
    return [delta async for delta in stream]


@BOTH
def test_a_fallback(how: str) -> None:
    with Loopback(silent_after("chat_completions", 3)) as server:
        driver = FallbackDriver([Scripted(ServerError("no"), max_attempts=1), driver_of("chat_completions", server)])
        reader = asked(driver, how)
        reader.has_read()
        reader.stream.cancel()
        assert reader.ends()
        assert server.closes()
    assert reader.stream.response.text.startswith(reader.text)


@BOTH
def test_a_recording(tmp_path: Path, how: str) -> None:
    record = [(place / 10, chunk) for place, chunk in enumerate(endpoints.chunks_of("chat_completions", size=1))]
    llmneutral.save_recording(tmp_path / "r.jsonl", record, api="chat_completions", model="m")
    reader = asked(ReplayPromptDriver(tmp_path / "r.jsonl", speed=1.0), how)
    reader.has_read()
    reader.stream.cancel()
    assert reader.ends()
    assert len(reader.text) < 10


class Own(BasePromptDriver):
    """A driver in Griptape's style, which only the flag reaches."""

    def try_stream(self, stack: Any) -> Iterator[Any]:
        for _ in range(1000):
            yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("a"))
            time.sleep(0.01)


@BOTH
def test_a_driver_of_ones_own(how: str) -> None:
    reader = asked(Own("m"), how)
    reader.has_read(2)
    reader.stream.cancel()
    assert reader.ends()
    assert 2 <= len(reader.text) < 500


# --- runs of an agent -----------------------------------------------------------------------------


def ran(agent: Agent, how: str) -> Reader:
    return Reader(lambda: (agent.stream if how == "thread" else agent.astream)("hi"), how)


@BOTH
def test_a_run_in_the_middle_of_an_answer(how: str) -> None:
    with Loopback(silent_after("chat_completions", 3)) as server, driver_of("chat_completions", server) as driver:
        agent = Agent(driver)
        reader = ran(agent, how)
        reader.has_read()
        reader.stream.cancel()
        assert reader.ends()
        assert server.closes()
        assert len(server.requests) == 1
    assert reader.stream.response.text.startswith(reader.text)
    assert not reader.stream.response.complete


@BOTH
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_run_in_the_middle_of_a_tool(how: str, kind: str) -> None:
    began, free = threading.Event(), threading.Event()

    def wait() -> str:
        began.set()
        free.wait(5)
        return "late"

    async def await_() -> str:
        began.set()
        await asyncio.sleep(5)
        return "late"

    await_.__name__ = "wait"
    driver = Scripted(endpoints.chunks_of("chat_completions", CALL), endpoints.chunks_of("chat_completions"))
    seen: list[Any] = []
    driver.on(InterruptedEvent, seen.append)
    agent = Agent(driver, tools=[wait if kind == "sync" else await_])
    reader = ran(agent, how)
    try:
        assert began.wait(5)
        reader.stream.cancel()
        assert reader.ends()
    finally:
        free.set()
    (_, _, results) = reader.stream.result.messages
    assert [result.is_error for result in results.content] == [True], "what was called has its result"
    assert len(seen) == 1


def test_every_stream_has_it() -> None:
    for kind in (llmneutral.PromptStream, llmneutral.AgentStream):
        assert issubclass(kind, DeltaStream)
    for other in (llmneutral.AsyncPromptStream, llmneutral.AsyncAgentStream):
        assert issubclass(other, AsyncDeltaStream)
