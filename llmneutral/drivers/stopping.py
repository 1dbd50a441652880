"""The wish to end a stream, from whatever thread it comes; the thread or task that reads is woken and ends it itself.

Only what waits can be woken: the next bytes of an answer (the iterator's `abort()` cuts the connection), a pause before
another attempt, and the first bytes. For those a thread that no KeyboardInterrupt can reach waits beside the request,
and leaves it; the main thread makes its requests itself, so that an interrupt closes the connection at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from llmneutral.drivers.runners import aclose, close
from llmneutral.drivers.threads import start

T = TypeVar("T")
LOOK_UP = 0.2
"""Seconds after which a waiting thread looks up: on Windows an interrupt reaches it only then."""


class Cancelled(BaseException):
    """The stream was ended by `cancel()`: an interrupt of whoever reads it, and no failure."""


class Stop:
    """Whether a stream is to end, and what wakes the one who reads it.

    Attributes:
        is_set: Whether it is to end; it is looked at with every delta.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._event = threading.Event()  # for who waits without a connection
        self._wake: Callable[[], object] | None = None

    def set(self) -> None:
        """Ends it, from any thread."""
        self.is_set = True
        self._event.set()
        if (wake := self._wake) is not None:
            with contextlib.suppress(Exception):  # it does not wait any more
                wake()

    def check(self) -> None:
        """Raises where it is to end.

        Raises:
            Cancelled: If so.
        """
        if self.is_set:
            raise Cancelled

    def over(self) -> None:
        """What was opened has come to its end, by itself or because it was woken.

        Raises:
            Cancelled: If it is to end.
        """
        self._wake = None
        self.check()

    def wakes(self, wake: Callable[[], object] | None) -> None:
        """From now on this wakes; at once where it is to end already."""
        self._wake = wake
        if wake is not None and self.is_set:
            wake()

    # --- in sync code ---------------------------------------------------------------------------

    def opened(self, work: Callable[..., Iterator[Any]], *args: Any) -> Iterator[Any]:
        """Opens a stream; from then on its `abort()` wakes, where it has one.

        Raises:
            Cancelled: If it is to end; what is opened later is closed.
        """
        self.check()
        is_main = threading.current_thread() is threading.main_thread()
        found = work(*args) if is_main else self._beside(work, *args)
        self._wake = getattr(found, "abort", None)
        if self.is_set:
            close(found)
            raise Cancelled
        return found

    def _beside(self, work: Callable[..., T], *args: Any) -> T:
        """Runs what cannot be woken in a thread of its own, and waits for it or for the end."""
        done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                done.put((work(*args), None))
            except BaseException as error:  # noqa: BLE001  # told to whoever waits
                done.put((None, error))
            if self.is_set:  # nobody waits
                _drained(done)

        start(run)
        self.wakes(lambda: done.put((None, Cancelled())))
        result, error = done.get()
        self._wake = None
        if error is None:
            return result  # type: ignore[no-any-return]  # what `work` gave
        _drained(done)
        raise error

    def pausing(self, sleep: Callable[[float], object]) -> Callable[[float], object]:
        """Returns a function that waits as `sleep` does, and is woken; a clock of a test's is only looked behind."""

        def wait(seconds: float) -> None:
            if sleep is not time.sleep:
                sleep(seconds)
            else:
                until = time.monotonic() + seconds
                while (left := until - time.monotonic()) > 0 and not self._event.wait(min(left, LOOK_UP)):
                    pass
            self.check()

        return wait

    # --- in async code --------------------------------------------------------------------------

    async def aopened(self, opening: Awaitable[AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """The async twin of `opened`."""
        found = await self.awaited(opening)
        self._wake = getattr(found, "abort", None)
        if self.is_set:
            await aclose(found)
            raise Cancelled
        return found

    async def awaited(self, work: Awaitable[T]) -> T:
        """Awaits what is cancelled where it is to end.

        Raises:
            Cancelled: If it is to end.
        """

        async def held() -> tuple[Any, BaseException | None]:
            try:
                return await work, None
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001  # raised in a task, an interrupt would end the event loop
                return None, error

        own, loop, task = asyncio.current_task(), asyncio.get_running_loop(), asyncio.ensure_future(held())
        self.wakes(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            result, error = await task
        except asyncio.CancelledError:
            if self.is_set and not (own is not None and own.cancelling()):
                raise Cancelled from None
            if task.done() and not task.cancelled():
                await aclose(task.result()[0])
            raise
        finally:
            self._wake = None
            if (shut := getattr(work, "close", None)) is not None:
                shut()  # a task that is cancelled at once never begins it
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]  # what `work` gave

    def apausing(self, sleep: Callable[[float], Awaitable[object]]) -> Callable[[float], Awaitable[object]]:
        """The async twin of `pausing`."""
        return lambda seconds: self.awaited(sleep(seconds))


def _drained(done: queue.SimpleQueue[tuple[Any, BaseException | None]]) -> None:
    """Closes what came for nobody."""
    with contextlib.suppress(queue.Empty):
        while True:
            close(done.get_nowait()[0])
