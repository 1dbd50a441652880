"""What `agent.stream` and `agent.astream` give back: an iterator of deltas that knows what the run has come to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator
from types import TracebackType
from typing import Self

from llmneutral.agent.result import AgentResult
from llmneutral.agent.run import Run
from llmneutral.drivers.call import Record
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.responses import NormalizedResponse


class _Running:
    """What both kinds of stream know."""

    def __init__(self, state: Run) -> None:
        self._state = state

    @property
    def result(self) -> AgentResult:
        """What the run has come to, finished or as far as it is."""
        return self._state.result()

    @property
    def response(self) -> NormalizedResponse | None:
        """The last answer, finished or as far as it has come."""
        return self.result.response

    @property
    def record(self) -> Record | None:
        """Raw chunks of the answer that is coming in, as of `PromptStream.record`; None between answers."""
        return None if self._state.coming is None else self._state.coming.record


class AgentStream(_Running):
    """A run that is going on: iterate it, close it (or use it in a `with` block), take its `result`.

    It gives the deltas of each answer as its driver gives them (`start` … `end`, once an answer), and behind an answer
    with calls one delta of kind `tool_result` a result, in call order: `delta.content.value` is the
    `ActionResultMessageContent`. Closing or abandoning it is an interrupt: what was done is kept in the memory.
    """

    def __init__(self, state: Run, deltas: Generator[DeltaMessage, None, None]) -> None:
        super().__init__(state)
        self._deltas = deltas

    def __iter__(self) -> Iterator[DeltaMessage]:
        return self

    def __next__(self) -> DeltaMessage:
        return next(self._deltas)

    def close(self) -> None:
        """Ends the run here."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncAgentStream(_Running):
    """The async twin of `AgentStream`."""

    def __init__(self, state: Run, deltas: AsyncGenerator[DeltaMessage, None]) -> None:
        super().__init__(state)
        self._deltas = deltas

    def __aiter__(self) -> AsyncIterator[DeltaMessage]:
        return self

    def __anext__(self) -> Awaitable[DeltaMessage]:
        return self._deltas.__anext__()

    async def aclose(self) -> None:
        """Ends the run here."""
        await self._deltas.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
