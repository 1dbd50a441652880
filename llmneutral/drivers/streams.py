"""What `driver.stream` and `driver.astream` give back: an iterator of deltas that knows its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator
from types import TracebackType
from typing import Any, Self

from llmneutral.drivers.call import Record
from llmneutral.drivers.repair import Asked
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.responses import NormalizedResponse, ResponseMetadata

Deltas = Generator[DeltaMessage, None, None]
AsyncDeltas = AsyncGenerator[DeltaMessage, None]


class DeltaStream:
    """Deltas that come in: iterate it, close it, or use it in a `with` block."""

    def __init__(self, deltas: Deltas) -> None:
        self._deltas = deltas

    def __iter__(self) -> Iterator[DeltaMessage]:
        return self

    def __next__(self) -> DeltaMessage:
        return next(self._deltas)

    def close(self) -> None:
        """Ends it here; what has come is kept."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncDeltaStream:
    """The async twin of `DeltaStream`."""

    def __init__(self, deltas: AsyncDeltas) -> None:
        self._deltas = deltas

    def __aiter__(self) -> AsyncIterator[DeltaMessage]:
        return self

    def __anext__(self) -> Awaitable[DeltaMessage]:
        return self._deltas.__anext__()

    async def aclose(self) -> None:
        """Ends it here; what has come is kept."""
        await self._deltas.aclose()

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

    def __init__(self, asked: Asked, deltas: Deltas) -> None:
        DeltaStream.__init__(self, deltas)
        _Answer.__init__(self, asked)

    def close(self) -> None:
        """Closes the connection; what has come is kept."""
        super().close()
        self._asked.stop()

    def abort(self) -> None:
        """Ends it from another thread: the one that reads it wakes and closes the connection; what has come is kept.

        A thread that waits for the first byte of an answer wakes when that comes.
        """
        self._asked.abort()


class AsyncPromptStream(AsyncDeltaStream, _Answer):
    """The async twin of `PromptStream`."""

    def __init__(self, asked: Asked, deltas: AsyncDeltas) -> None:
        AsyncDeltaStream.__init__(self, deltas)
        _Answer.__init__(self, asked)

    async def aclose(self) -> None:
        """Closes the connection; what has come is kept."""
        await super().aclose()
        self._asked.stop()
