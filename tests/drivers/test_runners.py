"""Ways out of a call that goes on: an interrupt, a cancellation, a stream nobody reads. The connection goes at once."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from llmneutral import BaseEvent, BasePromptDriver, EventBus
from tests.drivers.endpoints import APIS, TEXT, chunks_of, deltas_before, driver_for
from tests.loopback import HOLD, Loopback, streamed, talk, whole

apis = pytest.mark.parametrize("api", APIS)
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
ROOT = Path(__file__).parents[2]


def endless(api: str, pause: float = 0.02) -> object:
    """A stream that goes on for as long as anybody listens."""
    return streamed(chunks_of(api, [("text", "word " * 2000)], 5), pause=pause)


def silent(api: str) -> object:
    """A stream that says a little, and then nothing more."""
    return streamed([*chunks_of(api)[: deltas_before(api) + 2], HOLD])


# --- a real signal ----------------------------------------------------------------------------------------------------


CHILD = """
    import asyncio, sys, threading, traceback
    from llmneutral import BaseEvent, EventBus, make_driver
    api, url, way = sys.argv[1:]
    events = []
    EventBus.on(BaseEvent, lambda event: events.append(event.type))
    driver = make_driver(api, model="m", base_url=url, api_key="k")
    stream = None

    def ready(*_):
        print("ready", flush=True)

    async def astream():
        global stream
        stream = driver.astream("hi")
        async for delta in stream:
            delta.text and ready()

    try:
        if way == "run":
            driver.run("hi")
        elif way == "stream":
            stream = driver.stream("hi")
            for delta in stream:
                delta.text and ready()
        else:
            asyncio.run(astream())
    except KeyboardInterrupt:
        response = stream.response if stream is not None else None
        print("interrupted", response and (response.text != "", response.complete, response.finish_reason),
              events[-1], flush=True)
    else:
        print("not interrupted", flush=True)
"""


def interrupted(api: str, way: str, server: Loopback, base_url: str) -> tuple[str, float]:
    """Interrupts a call in a process of its own; returns what that says, and after how many seconds it was over."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), api, base_url, way]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    try:
        if way == "run":
            assert server.asked(20)
        else:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)  # it waits for the provider now
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert server.requests[0].left.wait(5)
        took = time.monotonic() - began
        out, errors = child.communicate(timeout=20)
    finally:
        child.kill()
        child.wait()
    assert errors == ""
    return out.replace("ready\n", "").strip(), took


@posix
@apis
@pytest.mark.parametrize("way", ["run", "stream", "astream"])
def test_an_interrupt_closes_the_connection_and_asks_nothing_again(api: str, way: str) -> None:
    answer = whole({}, delay=30.0) if way == "run" else silent(api)
    with Loopback(answer) as server:  # type: ignore[arg-type]
        base_url = server.url if api == "anthropic_messages" else f"{server.url}/v1"
        said, took = interrupted(api, way, server, base_url)
    result = "None" if way == "run" else "(True, False, 'incomplete')"
    assert said == f"interrupted {result} InterruptedEvent"
    assert took < 1.0
    assert len(server.requests) == 1


# --- a task that is cancelled -----------------------------------------------------------------------------------------


@apis
@pytest.mark.parametrize("way", ["arun", "astream"])
async def test_a_cancelled_task_closes_its_connection(api: str, way: str) -> None:
    answer = whole({}, delay=30.0) if way == "arun" else silent(api)
    with Loopback(answer) as server:  # type: ignore[arg-type]
        async with driver_for(api, server) as driver:
            stream = driver.astream("hi") if way == "astream" else None

            async def ask() -> None:
                if stream is None:
                    await driver.arun("hi")
                else:
                    async for _ in stream:
                        pass

            task = asyncio.create_task(ask())
            await until(lambda: bool(server.requests) and (stream is None or bool(stream.response.text)))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert server.requests[0].left.wait(1)
    assert len(server.requests) == 1
    if stream is not None:
        assert not stream.response.complete
        assert stream.response.finish_reason == "incomplete"


async def test_a_time_out_of_asyncio_is_a_cancellation_too() -> None:
    with Loopback(whole({}, delay=30.0)) as server:
        async with driver_for("chat_completions", server) as driver:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await driver.arun("hi")
            assert server.requests[0].left.wait(1)


async def test_cancelling_during_a_wait_ends_the_wait() -> None:
    busy = whole({"error": {"message": "busy"}}, 429, retry_after="30")
    with Loopback(busy) as server:
        async with driver_for("chat_completions", server) as driver:
            driver.asleep = asyncio.sleep
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await driver.arun("hi")
    assert time.monotonic() - began < 2


async def until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


# --- a stream that is left --------------------------------------------------------------------------------------------


@apis
@pytest.mark.parametrize("leave", ["close", "with", "break", "forget"])
def test_a_stream_that_is_left_closes_its_connection(api: str, leave: str) -> None:
    heard: list[str] = []
    handle = EventBus.on(BaseEvent, lambda event: heard.append(event.type))
    with Loopback(endless(api)) as server, driver_for(api, server) as driver:  # type: ignore[arg-type]
        stream = driver.stream("hi")
        for delta in stream:
            if delta.text:
                break
        response = stream.response
        if leave == "close":
            stream.close()
        elif leave == "with":
            with stream:
                pass
        if leave in ("close", "with"):
            assert not stream.response.complete
            assert list(stream) == []
        del stream
        assert server.requests[0].left.wait(2)
        handle.off()
    assert response.text
    assert heard[-1] == "InterruptedEvent"
    assert len(server.requests) == 1


@apis
async def test_an_async_stream_that_is_left_closes_its_connection(api: str) -> None:
    with Loopback(endless(api)) as server:  # type: ignore[arg-type]
        async with driver_for(api, server) as driver:
            async with driver.astream("hi") as stream:
                async for delta in stream:
                    if delta.text:
                        break
            assert server.requests[0].left.wait(2)
            assert not stream.response.complete


async def test_an_async_stream_that_is_forgotten_closes_its_connection() -> None:
    with Loopback(endless("chat_completions")) as server:  # type: ignore[arg-type]
        async with driver_for("chat_completions", server) as driver:
            async for delta in driver.astream("hi"):
                if delta.text:
                    break
            gc.collect()
            await asyncio.sleep(0.05)  # the loop closes what was forgotten
            assert server.requests[0].left.wait(2)


def test_a_stream_that_was_never_begun_asks_nothing() -> None:
    with Loopback(talk(*TEXT)) as server, driver_for("chat_completions", server) as driver:
        stream = driver.stream("hi")
        stream.close()
        assert list(stream) == []
    assert server.requests == []


@apis
def test_after_an_interrupt_the_driver_goes_on(api: str) -> None:
    with Loopback(endless(api), talk(*TEXT)) as server, driver_for(api, server) as driver:  # type: ignore[arg-type]
        stream = driver.stream("hi")
        next(stream)
        stream.close()
        assert driver.run("hi").text == TEXT[0][1]


# --- nothing is left behind -------------------------------------------------------------------------------------------


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


@apis
def test_no_thread_and_no_socket_is_left(api: str) -> None:
    async def asked(driver: BasePromptDriver) -> None:
        await driver.arun("hi")
        async for _ in driver.astream("hi"):
            break

    with Loopback(talk(*TEXT, pause=0.001)) as server:
        driver_for(api, server).run("hi")  # the SDK is loaded
        gc.collect()
        before = threading.active_count(), descriptors()
        for _ in range(3):
            with driver_for(api, server) as driver:
                driver.run("hi")
                list(driver.stream("hi"))
                next(driver.stream("hi"))
                asyncio.run(asked(driver))
            assert server.closes()
        gc.collect()
        time.sleep(0.2)  # the server's ends and threads go as well
        after = threading.active_count(), descriptors()
    assert after[0] <= before[0]
    assert after[1] <= before[1] + 1
