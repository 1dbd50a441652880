"""The two loops that wait: they do what a flow asks for, one in sync and one in async code.

A loop owns the stream it opened and closes it on every way out, before anything else. Only `Exception` is handed to the
flow: a KeyboardInterrupt or a cancellation passes at once. A stream that was told to end (`io.stop`) ends nothing else:
what its reader met then was made by that.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

from llmneutral.drivers import fetching
from llmneutral.drivers.flow import END, Failure, Fetch, Flow, Give, Open, Sleep
from llmneutral.ir.deltas import DeltaMessage


def run(flow: Flow, io: Any, sleep: Callable[[float], object]) -> Generator[DeltaMessage, None, None]:
    """Runs a flow in sync code and yields its deltas; `io` has `send` and `open`."""
    stream: Any = None
    answer: Any = None
    send, stop = flow.send, getattr(io, "stop", None)
    try:
        while True:
            step = send(answer)
            if step.__class__ is list:
                if step:
                    yield from step
                try:
                    answer = next(stream, END)
                except Exception as error:  # noqa: BLE001  # the flow judges it
                    answer = Failure(error)
                if stop is not None and (answer is END or answer.__class__ is Failure):
                    stop.over()
            elif step.__class__ is Give:
                yield from step.deltas
            else:
                close(stream)
                stream = None
                answer = _answered(step, io, sleep)
                if step.__class__ is Open:
                    stream = answer
    except StopIteration:
        return
    finally:
        try:
            close(stream)
        finally:
            flow.close()


def _answered(step: Any, io: Any, sleep: Callable[[float], object]) -> Any:
    try:
        return _done(step, io, sleep)
    except Exception as error:  # noqa: BLE001  # the flow judges it
        return Failure(error)


def _done(step: Any, io: Any, sleep: Callable[[float], object]) -> Any:
    if step.__class__ is Sleep:
        return sleep(step.seconds)
    if step.__class__ is Open:
        return io.open(step.conversion)
    if step.__class__ is Fetch:
        return fetching.fetch(step.urls)
    return io.send(step.conversion)


async def arun(flow: Flow, io: Any, sleep: Callable[[float], Awaitable[object]]) -> AsyncGenerator[DeltaMessage, None]:
    """Runs a flow in async code and yields its deltas; `io` has `asend` and `aopen`."""
    stream: Any = None
    answer: Any = None
    send, stop = flow.send, getattr(io, "stop", None)
    try:
        while True:
            step = send(answer)
            if step.__class__ is list:
                for delta in step:
                    yield delta
                try:
                    answer = await anext(stream, END)
                except Exception as error:  # noqa: BLE001  # the flow judges it
                    answer = Failure(error)
                if stop is not None and (answer is END or answer.__class__ is Failure):
                    stop.over()
            elif step.__class__ is Give:
                for delta in step.deltas:
                    yield delta
            else:
                await aclose(stream)
                stream = None
                answer = await _aanswered(step, io, sleep)
                if step.__class__ is Open:
                    stream = answer
    except StopIteration:
        return
    finally:
        try:
            await aclose(stream)
        finally:
            flow.close()


async def _aanswered(step: Any, io: Any, sleep: Callable[[float], Awaitable[object]]) -> Any:
    try:
        return await _adone(step, io, sleep)
    except Exception as error:  # noqa: BLE001  # the flow judges it
        return Failure(error)


async def _adone(step: Any, io: Any, sleep: Callable[[float], Awaitable[object]]) -> Any:
    if step.__class__ is Sleep:
        return await sleep(step.seconds)
    if step.__class__ is Open:
        return await io.aopen(step.conversion)
    if step.__class__ is Fetch:
        return await fetching.afetch(step.urls)
    return await io.asend(step.conversion)


def close(stream: Any) -> None:
    """Closes a stream, if it can be closed; what it says to that concerns nobody."""
    if (shut := getattr(stream, "close", None)) is not None:
        with contextlib.suppress(Exception):
            shut()


async def aclose(stream: Any) -> None:
    """Closes an async stream, if it can be closed."""
    if (shut := getattr(stream, "aclose", None)) is not None:
        with contextlib.suppress(Exception):
            await shut()
