"""`--run-tools`: a question whose calls are run, as one answer that comes in pieces.

What must live here: how many rounds there are, and what of them belongs into the conversation. The calls are run by
`llmneutral.Agent`: those that cannot be read are never run, and each has its result, whatever happens. After the last
round the model is asked once more, and what it calls then is only shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

MOST = 5
"""Rounds of calls that are run."""


class ToolRounds:
    """A question on its way. Iterate it, close it; or `run` it.

    Attributes:
        record: The raw chunks of the last answer, as of `PromptStream.record`.

    Args:
        driver: Who is asked.
        stack: What is sent.
        options: Options of each call.
    """

    def __init__(self, driver: Any, stack: Any, options: Mapping[str, Any]) -> None:
        self.record: Any = None
        self._driver = driver
        self._options = dict(options)
        self._before: list[Any] = []  # what an earlier run added
        self._answers = 0  # of the run in progress, as far as they began to come
        self._is_open = False
        self._state: Any = None  # what tells the result of the run in progress
        self._failed: BaseException | None = None
        self._begin(stack, MOST)
        self._stream: Any = None
        self._deltas = self._given()

    def _begin(self, stack: Any, steps: int) -> None:
        import llmneutral

        self._stack = stack
        self._memory = llmneutral.ConversationMemory()
        self._agent = llmneutral.Agent(self._driver, memory=self._memory, max_steps=steps)
        self._answers, self._is_open, self._state = 0, False, None

    def _begin_last(self, error: Any) -> None:
        """Asks once more with what has come to stand in the conversation; calls are handed back."""
        self._before = self._added(error.stack.messages)
        shown = [msgspec.structs.replace(tool, function=None) for tool in error.stack.tools]
        error.stack.tools = shown
        error.stack.output_schema, error.stack.settings = self._stack.output_schema, dict(self._stack.settings)
        if self._options.get("tool_choice", error.stack.settings.get("tool_choice")) not in (None, "none"):
            self._options["tool_choice"] = "auto"  # what forces a call counts for the first answer
        self._begin(error.stack, 1)

    # ------------------------------------------------------------------------------------------------------------------
    # Streamed

    def __iter__(self) -> Iterator[Any]:
        return self._deltas

    def _given(self) -> Iterator[Any]:
        import llmneutral

        try:
            yield from self._heard()
        except llmneutral.ToolLoopError as error:
            if (error.steps or 0) < MOST:
                raise
            self._begin_last(error)
            with contextlib.suppress(llmneutral.ToolLoopError):  # it called what has its result already
                yield from self._heard()

    def _heard(self) -> Iterator[Any]:
        self._stream = self._state = self._agent.stream(self._stack, **self._options)
        for delta in self._stream:
            if delta.kind == "end":
                self._is_open = False
            elif delta.kind != "tool_result" and not self._is_open:
                self._is_open, self._answers = True, self._answers + 1
            self.record = self._stream.record or self.record
            yield delta

    def close(self) -> None:
        """Ends it here: the stream is closed, no further call is run, and what was done is kept."""
        if self._stream is not None:
            self._stream.close()

    def cancel(self) -> None:
        """Ends it from another thread: whoever reads a silent stream wakes."""
        if self._stream is not None:
            self._stream.cancel()

    # ------------------------------------------------------------------------------------------------------------------
    # Whole

    def run(self) -> Any:
        """Asks until an answer calls nothing; returns it."""
        import llmneutral

        try:
            self._run()
        except llmneutral.ToolLoopError as error:
            if (error.steps or 0) < MOST:
                raise
            self._begin_last(error)
            with contextlib.suppress(llmneutral.ToolLoopError):
                self._run()
        return self.response

    def _run(self) -> None:
        try:
            self._state = _Ran(self._agent.run(self._stack, **self._options))
        except BaseException as error:
            self._failed = error
            raise

    # ------------------------------------------------------------------------------------------------------------------
    # What it has come to

    @property
    def rounds(self) -> tuple[Any, ...]:
        """The messages between the question and the answer."""
        return self._told()[0]

    @property
    def response(self) -> Any:
        """The answer, finished or as far as it has come; without a message where that has its results already."""
        return self._told()[1]

    def _told(self) -> tuple[tuple[Any, ...], Any]:
        import llmneutral

        if self._state is None:  # it failed, or has not begun
            partial = getattr(self._failed, "partial", None) or getattr(self._failed, "response", None)
            is_coming = not isinstance(self._failed, llmneutral.ToolLoopError)
            return self._split(self._added(self._memory.messages), partial, is_coming=is_coming)
        result = self._state.result
        added = self._added(result.messages)
        return self._split(added, result.response, is_coming=self._answers > result.steps)

    def _added(self, messages: Any) -> list[Any]:
        """What was added to the question by all runs."""
        return [*self._before, *list(messages)[len(self._stack.messages) :]]

    def _split(self, added: list[Any], response: Any, *, is_coming: bool) -> tuple[tuple[Any, ...], Any]:
        """The messages before the answer, and the answer."""
        import llmneutral

        if response is None or is_coming:
            return tuple(added), response
        if added and added[-1].is_assistant():
            return tuple(added[:-1]), msgspec.structs.replace(response, message=added[-1])
        return tuple(added), msgspec.structs.replace(response, message=llmneutral.Message("assistant", ()))


class _Ran:
    """A run that has ended."""

    def __init__(self, result: Any) -> None:
        self.result = result
