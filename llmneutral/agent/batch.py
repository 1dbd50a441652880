"""The calls of one turn on their way to results: what is waited for, what has come, what is left open."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from llmneutral.agent.outcome import error_result, output_shown
from llmneutral.agent.planning import Planned
from llmneutral.convert.pairing import NOT_COMPLETED
from llmneutral.events import FinishActionEvent, Publisher, StartActionEvent
from llmneutral.ir.artifacts import ErrorArtifact
from llmneutral.ir.contents import ActionResultMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.tools import ToolAction


class Done(msgspec.Struct, frozen=True):
    """A call that has been run: the result for the model, and what the tool gave back, for the caller."""

    result: ActionResultMessageContent
    value: Any = None


class Batch:
    """The calls of one turn.

    Args:
        plan: What becomes of each, in call order.
        publisher: Where the events of the run go.
        clock: Seconds, monotonic.

    Attributes:
        results: The results in call order; None where there is none yet.
    """

    def __init__(
        self, plan: Sequence[Planned], publisher: Publisher, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.plan = tuple(plan)
        self.results: list[ActionResultMessageContent | None] = [each.result for each in self.plan]
        self._values: dict[int, Any] = {}
        self._began: dict[int, float] = {}
        self._publisher = publisher
        self._clock = clock

    @property
    def runnable(self) -> list[int]:
        """Places of the calls that are run, in call order."""
        return [place for place, each in enumerate(self.plan) if each.function is not None]

    @property
    def handed_back(self) -> tuple[Any, ...]:
        """The calls that the caller has to run."""
        left = [each.handed_back and result is None for each, result in zip(self.plan, self.results, strict=True)]
        return tuple([each.call for each, is_left in zip(self.plan, left, strict=True) if is_left])

    @property
    def has_format_errors(self) -> bool:
        """Whether something the model wrote could not be read as a call, and nothing else was run."""
        return any([each.is_format_error for each in self.plan]) and not self.runnable

    def begin(self, place: int) -> None:
        """A call is about to be run."""
        call = self.plan[place].call
        self._began[place] = self._clock()
        self._publisher.publish(StartActionEvent, tag=call.tag, name=call.name, path=call.path, input=call.input)

    def done(self, place: int, done: Done) -> None:
        """A call has been run."""
        if self.results[place] is not None:
            return
        call, result = self.plan[place].call, done.result
        self.results[place] = result
        self._values[place] = done.value
        shown = output_shown(result)
        self._publisher.publish(
            FinishActionEvent,
            tag=call.tag,
            name=call.name,
            path=call.path,
            output=shown,
            error=str(shown) if result.is_error else None,
            duration=self._clock() - self._began[place],
        )

    def settle(self) -> None:
        """Gives the calls that are the same as another one of the turn its result."""
        for place, each in enumerate(self.plan):
            if each.twin is not None and self.results[place] is None and (found := self.results[each.twin]) is not None:
                self.results[place] = msgspec.structs.replace(found, tag=each.call.tag)

    def give_up(self) -> None:
        """Says of whatever has no result that it was not completed."""
        self.settle()
        for place, each in enumerate(self.plan):
            if self.results[place] is None:
                self.results[place] = error_result(each.call, NOT_COMPLETED)

    def actions(self) -> list[ToolAction]:
        """Returns the calls with what the tools gave back; an error is an `ErrorArtifact`, what is open has none."""
        return [self._action(place) for place in range(len(self.plan))]

    def _action(self, place: int) -> ToolAction:
        call, result = self.plan[place].call, self.results[place]
        given = call.raw if isinstance(call, InvalidActionCallMessageContent) else call.input
        output: Any
        if result is None:
            output = None
        elif result.is_error:
            output = ErrorArtifact(result.to_text())
        else:
            output = self._values.get(place, output_shown(result))
            output = "" if output is None else output
        return ToolAction(call.tag, call.name, call.path, given, output)
