"""The two loops that wait: they do what a flow asks for, one in sync and one in async code.

A loop owns the stream it opened and closes it on every way out. Only `Exception` is handed to the flow:
a KeyboardInterrupt or a cancellation passes at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol

from llmneutral.drivers.flow import END, NEXT, Failure, Flow, Open, Sleep
from llmneutral.ir.deltas import DeltaMessage


class Waits(Protocol):
    """What the sync loop needs of a driver."""

    def send(self, conversion: Any) -> Any:
        """Sends a request and returns the answer's body."""

    def open(self, conversion: Any) -> Iterator[Any]:
        """Opens a stream of chunks."""


def run(flow: Flow, driver: Waits, sleep: Callable[[float], object]) -> Iterator[DeltaMessage]:
    """Runs a flow in sync code and yields its deltas."""
    stream: Any = None
    answer: Any = None
    try:
        while True:
            step = flow.send(answer)
            answer = None
            if step is NEXT:
                try:
                    answer = next(stream, END)
                except Exception as error:  # noqa: BLE001  # the flow judges it
                    answer = Failure(error)
            elif step.__class__ is DeltaMessage:
                yield step
            elif step.__class__ is Sleep:
                sleep(step.seconds)
            else:
                close(stream)
                stream = None
                try:
                    if step.__class__ is Open:
                        stream = driver.open(step.conversion)
                        answer = stream
                    else:
                        answer = driver.send(step.conversion)
                except Exception as error:  # noqa: BLE001  # the flow judges it
                    answer = Failure(error)
    except StopIteration:
        return
    finally:
        flow.close()
        close(stream)


async def arun(flow: Flow, driver: Any, sleep: Callable[[float], Awaitable[object]]) -> AsyncIterator[DeltaMessage]:
    """Runs a flow in async code and yields its deltas."""
    stream: Any = None
    answer: Any = None
    try:
        while True:
            step = flow.send(answer)
            answer = None
            if step is NEXT:
                try:
                    answer = await anext(stream, END)
                except Exception as error:  # noqa: BLE001  # the flow judges it
                    answer = Failure(error)
            elif step.__class__ is DeltaMessage:
                yield step
            elif step.__class__ is Sleep:
                await sleep(step.seconds)
            else:
                await aclose(stream)
                stream = None
                try:
                    if step.__class__ is Open:
                        stream = await driver.aopen(step.conversion)
                        answer = stream
                    else:
                        answer = await driver.asend(step.conversion)
                except Exception as error:  # noqa: BLE001  # the flow judges it
                    answer = Failure(error)
    except StopIteration:
        return
    finally:
        flow.close()
        await aclose(stream)


def close(stream: Any) -> None:
    """Closes a stream, if it can be closed."""
    if (shut := getattr(stream, "close", None)) is not None:
        shut()


async def aclose(stream: Any) -> None:
    """Closes an async stream, if it can be closed."""
    if (shut := getattr(stream, "aclose", None)) is not None:
        await shut()
