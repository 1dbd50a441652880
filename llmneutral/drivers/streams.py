"""What `driver.stream` and `driver.astream` give back: an iterator of deltas that knows its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Self

from llmneutral.drivers.flow import Call
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.responses import NormalizedResponse

Settle = Callable[[NormalizedResponse], NormalizedResponse]


class _Answer:
    """What both kinds of stream know."""

    def __init__(self, call: Call, settle: Settle) -> None:
        self.call = call
        self._settle = settle

    @property
    def response(self) -> NormalizedResponse:
        """The answer, finished or as far as it has come."""
        return self._settle(self.call.response)

    @property
    def record(self) -> list[tuple[float, Any, list[DeltaMessage]]] | None:
        """Raw chunks: seconds since the request, the provider's chunk, our deltas; None unless asked for."""
        return self.call.record

    @property
    def conversion(self) -> Any:
        """The request."""
        return self.call.conversion


class PromptStream(_Answer):
    """An answer that is coming in: iterate it, close it (or use it in a `with` block), take its `response`.

    Abandoning it closes the connection.
    """

    def __init__(self, call: Call, deltas: Iterator[DeltaMessage], settle: Settle) -> None:
        super().__init__(call, settle)
        self._deltas = deltas

    def __iter__(self) -> Iterator[DeltaMessage]:
        return self

    def __next__(self) -> DeltaMessage:
        return next(self._deltas)

    def close(self) -> None:
        """Closes the connection; what has come is kept."""
        self._deltas.close()  # type: ignore[attr-defined]  # a generator
        self.call.current.close(interrupted=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncPromptStream(_Answer):
    """The async twin of `PromptStream`."""

    def __init__(self, call: Call, deltas: AsyncIterator[DeltaMessage], settle: Settle) -> None:
        super().__init__(call, settle)
        self._deltas = deltas

    def __aiter__(self) -> AsyncIterator[DeltaMessage]:
        return self

    async def __anext__(self) -> DeltaMessage:
        return await anext(self._deltas)

    async def aclose(self) -> None:
        """Closes the connection; what has come is kept."""
        await self._deltas.aclose()  # type: ignore[attr-defined]  # an async generator
        self.call.current.close(interrupted=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
