"""A question and, where its answer has a form that it does not fit, the further calls that ask for it again.

Each of these is a call like any other: converted once, with attempts, events and usage of its own. Its request is the
one before, the model's own message, and what is wrong with it. One flow tells it for sync and for async drivers.

What a stream gives: `start` once and first, the deltas of the first answer, a delta `repair` (number and problems)
where it does not fit, the deltas of the next answer with indices that go on counting, and `end` once and last. Who
joins texts forgets at `repair` what came before it. A stream whose last answer does not fit raises after its `end`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol

import msgspec

from llmneutral import pipeline, structured
from llmneutral.convert.checker import Problem
from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Call
from llmneutral.drivers.flow import Flow, Give, exchange
from llmneutral.drivers.stopping import Stop
from llmneutral.errors import StructuredOutputError
from llmneutral.events import ParsedPartialEvent, RepairTurnEvent
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse, RejectedAnswer, ResponseMetadata, Usage

FRAMES = 50
"""A partial value is published when the answer has grown by a part of this: many pieces stay cheap."""


class Again(Protocol):
    """Makes the call that asks once more."""

    def __call__(self, messages: tuple[Message, ...], plan: structured.Plan, before: Call) -> Call:
        """Returns it; `messages` go after those of the question, `before` is the call whose answer does not fit."""


class Asked:
    """A question on its way.

    Args:
        call: Its first call.
        again: Makes a further call.
        plan: How its answer is asked for, where the call has no conversion to tell.
        has_form: Whether an answer in a form may have been asked for.
        after: Called with the response when all has ended well.

    Attributes:
        call: The call in progress.
        stop: The wish to end it, where somebody holds the stream.
    """

    def __init__(
        self,
        call: Call,
        again: Again,
        *,
        plan: structured.Plan | None = None,
        has_form: bool = False,
        after: Callable[[NormalizedResponse], None] | None = None,
    ) -> None:
        self.call = call
        self.stop: Stop | None = None
        self.began = call.began
        self._again = again
        self._plan = plan
        self._has_form = has_form
        self._after = after
        self._earlier: list[Call] = []
        self._rejected: list[RejectedAnswer] = []
        self._attempts: list[Any] = []  # as the error keeps them
        self._messages: tuple[Message, ...] = ()
        self._final: NormalizedResponse | None = None
        self._slots = 0  # of the answers before
        self._end: list[DeltaMessage] = []
        self._partial: structured.PartialAnswer | None = None
        self._shown_at = 0
        self._shown: Any = None
        call.after = None if has_form else after

    # --- what a runner does for the flow --------------------------------------------------------

    def send(self, conversion: Conversion | None) -> Any:
        """Sends a request by the call's own driver or view of it."""
        return self.call.io.send(conversion)

    def open(self, conversion: Conversion | None) -> Iterator[Any]:
        """Opens a stream by it."""
        work: Callable[..., Iterator[Any]] = self.call.io.open
        return work(conversion) if self.stop is None else self.stop.opened(work, conversion)

    async def asend(self, conversion: Conversion | None) -> Any:
        """The async twin of `send`."""
        return await self.call.io.asend(conversion)

    async def aopen(self, conversion: Conversion | None) -> AsyncIterator[Any]:
        """The async twin of `open`."""
        opening: Awaitable[AsyncIterator[Any]] = self.call.io.aopen(conversion)
        return await (opening if self.stop is None else self.stop.aopened(opening))

    # --- what it has come to --------------------------------------------------------------------

    @property
    def plan(self) -> structured.Plan | None:
        """How the answer is asked for, as far as that is known."""
        return self._plan if self.call.conversion is None else self.call.conversion.answer

    @property
    def response(self) -> NormalizedResponse:
        """The last answer, finished or as far as it has come; its usage and metadata are those of all calls.

        `parsed` is the validated value; what does not fit, or cannot even be checked, is left out with a note.
        """
        if self._final is not None:
            return self._final
        return self._summed(_read(self.call, self.plan))

    @property
    def parsed_partial(self) -> Any:
        """What the answer in progress holds so far, as plain data; None as long as there is nothing."""
        return None if self._partial is None else self._partial.value

    @property
    def metadata(self) -> ResponseMetadata:
        """Attempts, times in seconds and request id, as far as they are known."""
        own = self.call.metadata
        if not self._earlier:
            return own
        earlier = [call.metadata for call in self._earlier]
        total = None if own.total is None else own.total + self.call.began - self.began
        return msgspec.structs.replace(
            own,
            attempts=own.attempts + sum([each.attempts for each in earlier]),
            first_delta=earlier[0].first_delta,
            total=total,
            retries=(*[retry for each in earlier for retry in each.retries], *own.retries),
            repairs=len(self._rejected),
            rejected=tuple(self._rejected),
            last_usage=self.call.response.usage,
        )

    def _summed(self, response: NormalizedResponse) -> NormalizedResponse:
        """A response of the last call with what the calls before it used up."""
        if not self._earlier:
            return response
        usage = Usage.sum([*[answer.usage for answer in self._rejected], response.usage])
        return msgspec.structs.replace(response, usage=usage, metadata=self.metadata)

    def stoppable(self) -> Stop:
        """Returns the wish to end it; from here on somebody holds the stream."""
        self.stop = self.stop or Stop()
        return self.stop

    def end(self) -> None:
        """Ends the answer in progress; what has come is kept."""
        self.call.current.close(interrupted=True)

    # --- the flow -------------------------------------------------------------------------------

    def flow(self) -> Flow:
        """Runs the calls.

        Raises:
            LLMNeutralError: What the last attempt of a call failed with.
            StructuredOutputError: If the last answer does not fit, or was cut or refused.
        """
        return self._answered() if self._has_form else exchange(self.call)

    def _answered(self) -> Flow:
        failure: StructuredOutputError | None = None
        try:
            while True:
                yield from self._watched(exchange(self.call))
                verdict = self._verdict()
                if not verdict.problems:
                    self._final = self._summed(verdict.filled(self.call.response))
                    break
                if verdict.final or len(self._rejected) >= self.call.options.max_repairs:
                    failure = self._failure(verdict.problems)
                    break
                yield from self._asked_again(verdict.problems)
            if self._after is not None and self.call.response.error is None:
                self._after(self.response)
        except Exception as error:
            self.call.keep_partial(error)
            yield from self._ended()
            raise
        yield from self._ended()
        if failure is not None:
            raise failure

    def _ended(self) -> Flow:
        end, self._end = self._end, []
        if end:
            yield Give(end)

    def _verdict(self) -> structured.Verdict:
        """What the answer has come to; one that is no answer (an error, calls of the caller's tools) is let pass."""
        response, plan = self.call.response, self.plan
        if plan is None or response.error is not None or not structured.wants_parsing(response, plan):
            return structured.Verdict()
        return structured.judged(response, plan)

    def _failure(self, problems: tuple[Problem, ...]) -> StructuredOutputError:
        assert self.plan is not None
        error = structured.failed(self.call.response, self.plan, problems, self._attempts)
        error.response = error.partial = self._final = self.response
        self.call.described(error)
        return error

    def _asked_again(self, problems: tuple[Problem, ...]) -> Flow:
        """Makes the call that asks once more, and says so."""
        before, plan, lines = self.call, self.plan, structured.told(problems)
        assert plan is not None
        response = before.response
        messages = structured.repair_messages(response, plan, problems)
        self._messages = (*self._messages, *messages)
        call = self._again(self._messages, plan, before)
        request_id = None if response.metadata is None else response.metadata.request_id
        kept = messages if before.options.keep_repairs else ()
        said = structured.said(response, plan)
        self._rejected.append(RejectedAnswer(said, tuple(lines), response.usage, request_id, kept))
        self._attempts.append(structured.attempt(response, plan, lines))
        number = len(self._rejected)
        before.publisher.publish(RepairTurnEvent, problems=tuple(lines), number=number)
        self._slots += len(before.current.reader.slots)
        self._earlier.append(before)
        self._end, self._partial, self._shown_at, self._shown = [], None, 0, None
        self.call = call
        if call.stream:
            yield Give([DeltaMessage("repair", details={"number": number, "problems": lines})])

    def _watched(self, flow: Flow) -> Flow:
        """Passes on what a call's flow wants done, and looks at the deltas it gives."""
        answer: Any = None
        try:
            while True:
                step = flow.send(answer)
                if step.__class__ is list:
                    step = self._passed(step)
                elif step.__class__ is Give:
                    step = Give(self._passed(step.deltas))
                answer = yield step
        except StopIteration:
            return
        finally:
            flow.close()

    def _passed(self, deltas: list[DeltaMessage]) -> list[DeltaMessage]:
        """The deltas as they are given: one start and one end for all calls, one count of blocks, one sum of tokens."""
        if not deltas:
            return deltas
        if self.plan is not None:
            self._show(self.plan, deltas)
        if deltas[-1].kind == "end":
            self._end = deltas[-1:]
            deltas = deltas[:-1]
        if self._earlier:
            deltas = [self._continued(delta) for delta in deltas if delta.kind != "start"]
        return deltas

    def _continued(self, delta: DeltaMessage) -> DeltaMessage:
        if delta.content is not None:
            content = msgspec.structs.replace(delta.content, index=delta.content.index + self._slots)
            return msgspec.structs.replace(delta, content=content)
        if delta.usage is not None:
            spent = [answer.usage for answer in self._rejected]
            return msgspec.structs.replace(delta, usage=Usage.sum([*spent, delta.usage]))
        return delta

    # --- partial values -------------------------------------------------------------------------

    def _show(self, plan: structured.Plan, deltas: list[DeltaMessage]) -> None:
        """Takes the pieces of the value; it is read where somebody wants to see it."""
        if self._partial is None:
            self._partial = structured.PartialAnswer(plan, _restored(self.call.conversion, plan))
        partial = self._partial
        grew = any([partial.add(delta) for delta in deltas])
        tell = self.call.publisher
        if not tell.wants(ParsedPartialEvent):
            return
        ends = deltas[-1].kind == "end" and self._shown_at < partial.seen
        if ends or (grew and partial.seen - self._shown_at >= partial.seen // FRAMES):
            self._shown_at = partial.seen
            if (value := partial.value) is not None and value != self._shown:
                self._shown = value
                tell.publish(ParsedPartialEvent, value=value)


def _read(call: Call, plan: structured.Plan | None) -> NormalizedResponse:
    """The answer of a call with its value, or with a note why it has none."""
    response = call.response
    try:
        return pipeline.parsed_by(response, plan)
    except Exception as error:  # noqa: BLE001  # a validator of the user's may raise anything
        said = call.clean(f"the value cannot be checked: {error}")
        return msgspec.structs.replace(response, notes=(*response.notes, said))


def _restored(conversion: Conversion | None, plan: structured.Plan) -> Callable[[Any], Any]:
    """What gives the arguments of the answer's call their own property names back."""
    if conversion is None or plan.tool is None:
        return lambda value: value
    names, native = conversion.names, conversion.names.native(plan.tool)
    return lambda value: names.restored(native, value)
