"""Blocking work seen from async code: for drivers whose SDK is sync only.

The threads are daemons of their own and no members of the loop's pool, so that neither a cancelled task nor the end of
the loop or of the program ever waits for a provider. They run in a copy of the caller's context.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
AHEAD = 64
"""Chunks that are read before they are asked for."""

_END = object()


async def in_thread(work: Callable[..., T], *args: Any, unused: Callable[[T], object] | None = None) -> T:
    """Runs blocking work in a thread and returns what it returns.

    A task that is cancelled meanwhile goes on at once; the thread ends when the work does.

    Args:
        work: What is called.
        *args: Its arguments.
        unused: Called with a result that nobody waits for any more (to close it, say).
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            if error is None and unused is not None:
                unused(result)
        elif error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = work(*args)
        except StopIteration as error:  # a future refuses to carry it
            failure = RuntimeError(f"{error!r} out of a driver")
        except BaseException as error:  # noqa: BLE001  # told to whoever waits
            failure = error
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:  # the loop is gone
            if failure is None and unused is not None:
                unused(result)

    start(run)
    return await future


def start(work: Callable[[], None]) -> threading.Thread:
    """Starts a daemon thread in a copy of this context."""
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="llmneutral-io", daemon=True)
    thread.start()
    return thread


class Pumped:
    """The chunks of a sync iterator, read by a thread of their own and given out in async code.

    Closing it ends the thread: at once if it waits for room; if it waits for the provider, as soon as the next chunk
    comes, or when the iterator's `abort()` (safe to call from another thread) wakes it. The iterator itself is closed
    by the thread that reads it, which is the only one that may.
    """

    def __init__(self, chunks: Iterator[Any]) -> None:
        self._chunks = chunks
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.request_id = getattr(chunks, "request_id", None)
        self.headers = getattr(chunks, "headers", None)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._stopped.is_set():
            raise StopAsyncIteration
        if self._thread is None:
            self._thread = start(self._pump)
        chunk, error = await self._queue.get()
        self._room.release()
        if error is not None:
            self._stopped.set()
            raise error
        if chunk is _END:
            self._stopped.set()
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Ends the reading."""
        self._stopped.set()
        if self._thread is None:
            _close(self._chunks)
            return
        self._room.release()
        if (abort := getattr(self._chunks, "abort", None)) is not None:
            with contextlib.suppress(Exception):
                abort()

    def abort(self) -> None:
        """Wakes a task that waits for the next chunk: as if none came any more; from any thread."""
        self._put(_END, None)

    def _pump(self) -> None:
        try:
            while self._room.acquire() and not self._stopped.is_set():
                chunk = next(self._chunks, _END)
                self._put(chunk, None)
                if chunk is _END:
                    return
        except BaseException as error:  # noqa: BLE001  # told to whoever reads
            self._put(_END, error)
        finally:
            _close(self._chunks)

    def _put(self, chunk: Any, error: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (chunk, error))
        except RuntimeError:  # the loop is gone
            self._stopped.set()


def _close(chunks: Any) -> None:
    if (shut := getattr(chunks, "close", None)) is not None:
        with contextlib.suppress(Exception):
            shut()
