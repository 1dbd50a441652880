"""What `driver.stream` and `driver.astream` give back: an iterator of deltas that knows its answer."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Any, Self

from llmneutral.drivers.call import Record
from llmneutral.drivers.repair import Asked
from llmneutral.drivers.stopping import Cancelled, Stop
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.responses import NormalizedResponse, ResponseMetadata

Deltas = Generator[DeltaMessage, None, None]
AsyncDeltas = AsyncGenerator[DeltaMessage, None]


class DeltaStream:
    """Deltas that come in: iterate it, close it, or use it in a `with` block; end it from another thread with `cancel`.

    Args:
        deltas: What gives them.
        stop: The wish to end it: what waits for a delta is woken by it.
    """

    def __init__(self, deltas: Deltas, stop: Stop) -> None:
        self._deltas = deltas
        self._stop = stop

    def __iter__(self) -> Iterator[DeltaMessage]:
        return self

    def __next__(self) -> DeltaMessage:
        if self._stop.is_set:
            self.close()
        try:
            return next(self._deltas)
        except Cancelled:
            self.close()
            raise StopIteration from None

    def cancel(self) -> None:
        """Ends it from any thread: whoever iterates it is woken, closes the connection, and comes to the end.

        As after `close`, what has come is kept. It does not wait for the other thread. What cannot be woken ends as
        soon as it comes back: the first byte of an answer that the main thread waits for, and a running tool's code.
        """
        self._stop.set()

    def close(self) -> None:
        """Ends it here; what has come is kept. While another thread iterates it, it is ended there, as by `cancel`."""
        try:
            self._deltas.close()
        except ValueError:
            if not inspect.isgenerator(self._deltas) or not self._deltas.gi_running:
                raise
            self.cancel()
        else:
            self._closed()

    def _closed(self) -> None:
        """Nothing more will come."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncDeltaStream:
    """The async twin of `DeltaStream`; `cancel` is safe to call from any thread, and from another task."""

    def __init__(self, deltas: AsyncDeltas, stop: Stop) -> None:
        self._deltas = deltas
        self._stop = stop

    def __aiter__(self) -> AsyncIterator[DeltaMessage]:
        return self

    async def __anext__(self) -> DeltaMessage:
        if self._stop.is_set:
            await self.aclose()
        try:
            return await self._deltas.__anext__()
        except Cancelled:
            await self.aclose()
            raise StopAsyncIteration from None

    def cancel(self) -> None:
        """Ends it from any thread or task: whoever iterates it comes to the end; what has come is kept."""
        self._stop.set()

    async def aclose(self) -> None:
        """Ends it here; what has come is kept. While another task iterates it, it is ended there, as by `cancel`."""
        try:
            await self._deltas.aclose()
        except RuntimeError:
            if not inspect.isasyncgen(self._deltas) or not self._deltas.ag_running:
                raise
            self.cancel()
        else:
            self._closed()

    def _closed(self) -> None:
        """Nothing more will come."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Answer:
    """What both kinds of stream know."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    @property
    def response(self) -> NormalizedResponse:
        """The answer, finished or as far as it has come; after a repair the last one, with the usage of all."""
        return self._asked.response

    @property
    def parsed_partial(self) -> Any:
        """What a structured answer holds so far, as plain data, for display only; None as long as there is nothing."""
        return self._asked.parsed_partial

    @property
    def metadata(self) -> ResponseMetadata:
        """Attempts, repairs, times in seconds and request id, as far as they are known."""
        return self._asked.metadata

    @property
    def record(self) -> Record | None:
        """Raw chunks: seconds since the call began, the provider's chunk, our deltas; None unless asked for.

        After a repair they are those of the last call.
        """
        return self._asked.call.record

    @property
    def conversion(self) -> Any:
        """The request; None where the driver makes its own."""
        return self._asked.call.conversion


class PromptStream(DeltaStream, _Answer):
    """An answer that is coming in: iterate it, close it (or use it in a `with` block), take its `response`.

    Abandoning it closes the connection: at once where it is no longer referenced. Where the code that reads it may be
    interrupted while something else still refers to it (a cell of a notebook), read it in a `with` block.
    """

    def __init__(self, asked: Asked, deltas: Deltas, stop: Stop | None = None) -> None:
        DeltaStream.__init__(self, deltas, stop or asked.stoppable())
        _Answer.__init__(self, asked)

    def _closed(self) -> None:
        self._asked.end()


class AsyncPromptStream(AsyncDeltaStream, _Answer):
    """The async twin of `PromptStream`."""

    def __init__(self, asked: Asked, deltas: AsyncDeltas, stop: Stop | None = None) -> None:
        AsyncDeltaStream.__init__(self, deltas, stop or asked.stoppable())
        _Answer.__init__(self, asked)

    def _closed(self) -> None:
        self._asked.end()
