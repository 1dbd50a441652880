"""What `agent.stream` and `agent.astream` give back: an iterator of deltas that knows what the run has come to."""

from __future__ import annotations

from llmneutral.agent.result import AgentResult
from llmneutral.agent.run import Run
from llmneutral.drivers.call import Record
from llmneutral.drivers.streams import AsyncDeltas, AsyncDeltaStream, Deltas, DeltaStream
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


class AgentStream(DeltaStream, _Running):
    """A run that is going on: iterate it, close it (or use it in a `with` block), take its `result`.

    It gives the deltas of each answer as its driver gives them (`start` … `end`, once an answer), and behind an answer
    with calls one delta of kind `tool_result` a result, in call order: `delta.content.value` is the
    `ActionResultMessageContent`. Closing, cancelling or abandoning it is an interrupt: what was done is kept in the
    memory.
    """

    def __init__(self, state: Run, deltas: Deltas) -> None:
        DeltaStream.__init__(self, deltas, state.stopping)
        _Running.__init__(self, state)


class AsyncAgentStream(AsyncDeltaStream, _Running):
    """The async twin of `AgentStream`."""

    def __init__(self, state: Run, deltas: AsyncDeltas) -> None:
        AsyncDeltaStream.__init__(self, deltas, state.stopping)
        _Running.__init__(self, state)
