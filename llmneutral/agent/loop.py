"""A run of an agent, told once: the same script in sync and in async code, streamed and not.

`loop` performs no I/O and waits for nothing. It yields what it wants done and is sent the answer; what the outside met
(an error, an interrupt) is thrown into it, and it keeps what was done. What is yielded: `Recall`, `Ask`, `Act` and
`Tell`. See `.github/decisions/0003-generator-flow.md`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from llmneutral import structured
from llmneutral.agent.batch import Batch
from llmneutral.agent.outcome import error_result
from llmneutral.agent.planning import TAKEN, Answered, Planned, calls_of, open_calls, planned, with_own_ids
from llmneutral.agent.run import Run
from llmneutral.agent.running import Bounds
from llmneutral.convert import feedback, react
from llmneutral.convert.pairing import NOT_COMPLETED
from llmneutral.errors import ConversionError, ToolLoopError
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
)
from llmneutral.ir.deltas import DeltaMessage, DoneDeltaMessageContent
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.stack import PromptStack
from llmneutral.pipeline import EMPTY

NOT_RUN = frozenset({"refusal", "content_filter", "error", "incomplete"})
"""Finish reasons of answers that were stopped: their calls are not run."""


class Recall(msgspec.Struct, frozen=True):
    """Recall the conversation; the answer is its messages."""


class Ask(msgspec.Struct, frozen=True):
    """Ask the model; the answer is its response."""

    stack: PromptStack
    overrides: dict[str, Any]


class Act(msgspec.Struct, frozen=True):
    """Run the calls of a turn; the results come to stand in the batch, and the answer means nothing."""

    batch: Batch
    bounds: Bounds


class Tell(msgspec.Struct, frozen=True):
    """Give deltas to whoever reads the stream; the answer means nothing."""

    deltas: list[DeltaMessage]


Flow = Generator[Any, Any, None]
Step = Generator[Any, Any, bool]


def loop(run: Run) -> Flow:
    """Runs an agent: asks, runs the calls, asks again, until an answer calls nothing.

    Raises:
        ToolLoopError: If a bound is reached.
        LLMNeutralError: What a call of the driver failed with.
    """
    try:
        history = yield Recall()
        run.begin(history)
        yield from _turns(run)
        run.finish()
    except BaseException as error:
        run.stop(error)
        raise
    finally:
        run.close()


def _turns(run: Run) -> Flow:
    waiting = _take_input(run)
    if waiting and (yield from _acted(run, waiting)):
        return
    if not (run.history or run.messages):
        raise ConversionError(EMPTY, rule="source", api=run.driver.api_mode)
    while True:
        _check_bounds(run)
        response = yield Ask(run.stack(), run.overrides())
        run.heard(response)
        if (yield from _turn(run, response)):
            return


def _take_input(run: Run) -> list[Any]:
    """Adds the input, and returns the calls that wait to be run; a new question settles those of the last turn.

    What is open there are calls that were handed back, or the end of a conversation that came from elsewhere.
    """
    waiting = open_calls([*run.history, *run.given])
    if not waiting:
        before = open_calls(run.history)
        blocks = [block for message in run.given for block in message.content]
        tags = {block.tag for block in blocks if isinstance(block, ActionResultMessageContent)}
        unanswered = [error_result(call, NOT_COMPLETED) for call in before if call.tag not in tags]
        if unanswered:
            run.add(Message(Message.USER_ROLE, tuple(unanswered)))
    for message in run.given:
        run.add(message)
    run.answered = Answered([*run.history, *run.messages])
    return waiting


def _check_bounds(run: Run) -> None:
    most = run.limits.max_format_errors
    if run.format_errors >= most:
        why = f"{most} answers in a row held nothing that could be read as a call or an answer"
        raise _bound_reached(run, why, "The model may be too small for tools; max_format_errors allows more.")
    if run.steps >= run.limits.max_steps:
        why = f"after max_steps={run.limits.max_steps} answers the model still calls tools"
        raise _bound_reached(run, why, "Raise max_steps, or go on from here with run() without input.")


def _bound_reached(run: Run, why: str, hint: str) -> ToolLoopError:
    response = run.response
    return ToolLoopError(
        why, steps=run.steps, response=response, partial=response, hint=hint, api=run.driver.api_mode, model=run.model
    )


# --- one turn -----------------------------------------------------------------------------------


def _turn(run: Run, response: NormalizedResponse) -> Step:
    """What becomes of an answer; returns whether it was the last one."""
    if response.error is not None or not response.complete:  # returned instead of raised (`on_error="return"`)
        return True
    for rejected in response.messages[:-1]:
        run.add(rejected)
    message, known, twins = with_own_ids(response, run.answered)
    if message.content:
        run.add(message)
    calls = calls_of(message)
    if calls:
        if _is_last(run, calls, response):
            run.acts(Batch(_closed(run, calls), run.publisher))
            run.acted()
            return True
        cut = message.content[-1] if response.finish_reason == "length" else None
        plan = planned(calls, run.allowed, known=known, twins=twins, cut=cut)
        return (yield from _ran(run, Batch(plan, run.publisher)))
    if response.finish_reason == "pause":
        return False
    return _is_answered(run, response)


def _acted(run: Run, calls: Sequence[Any]) -> Step:
    """Runs calls that stood open when the run began."""
    return (yield from _ran(run, Batch(planned(calls, run.offer), run.publisher)))


def _ran(run: Run, batch: Batch) -> Step:
    run.acts(batch)
    if batch.runnable:
        yield Act(batch, run.limits.bounds)
    batch.settle()
    run.format_errors = run.format_errors + 1 if batch.has_format_errors else 0
    run.was_reminded = False
    results = run.acted()
    yield Tell([_delta(place, result) for place, result in enumerate(results)])
    return bool(run.open_calls)


def _delta(place: int, result: ActionResultMessageContent) -> DeltaMessage:
    return DeltaMessage("tool_result", DoneDeltaMessageContent(index=place, value=result))


def _is_last(run: Run, calls: Sequence[Any], response: NormalizedResponse) -> bool:
    """Whether a turn with calls ends the run: the answer's own tool was called, or the provider stopped the model."""
    return response.finish_reason in NOT_RUN or any([_is_answer(run, call) for call in calls])


def _is_answer(run: Run, call: Any) -> bool:
    """Whether a call is the answer to the output schema; never that of a tool of the caller's."""
    if run.output_schema is None or isinstance(call, InvalidActionCallMessageContent):
        return False
    return bool(call.name == structured.answer_tool(run.offer.tools) and call.path is None)


def _closed(run: Run, calls: Sequence[Any]) -> list[Planned]:
    """The calls of the last turn: nothing is run."""
    return [
        Planned(call, result=ActionResultMessageContent(call.tag, TAKEN))
        if _is_answer(run, call)
        else Planned(call, result=error_result(call, NOT_COMPLETED))
        for call in calls
    ]


def _is_answered(run: Run, response: NormalizedResponse) -> bool:
    """Whether an answer without calls answers; where tools are text, a mere thought is reminded of the form once."""
    if not react.lacks_answer(response):
        return True
    if run.was_reminded:
        text = (TextMessageContent(react.thought_of(response)),)
        run.response = msgspec.structs.replace(response, message=Message(Message.ASSISTANT_ROLE, text))
        return True
    run.was_reminded = True
    run.format_errors += 1
    run.add(Message(Message.USER_ROLE, (TextMessageContent(feedback.NO_ACTION),)))
    return False
