"""What a model is told where its answer does not fit: the places and what is expected there, never the schema again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from llmneutral.convert import feedback
from llmneutral.convert.checker import Problem
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
)
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.structured.planning import TOOL_RULE, Plan
from llmneutral.structured.reading import VALUE, told

ARGUMENTS = "The arguments do not match the schema:"
ANSWER = "The answer does not match the schema:"
AGAIN = "Answer again with JSON only."
NOT_RUN = "The tool was not run: the final answer came with this call."
MOST_LINES = 10

CALLS = (ActionCallMessageContent, InvalidActionCallMessageContent)


def repair_messages(response: NormalizedResponse, plan: Plan, problems: Sequence[Problem]) -> tuple[Message, ...]:
    """Returns what goes after the conversation to have an answer mended: the model's own message, and the errors.

    Args:
        response: The answer that does not fit.
        plan: How it was asked for.
        problems: What is wrong with it; at most ten are told.
    """
    lines = "\n".join(told([_as_sent(problem, plan) for problem in problems[:MOST_LINES]]))
    own = (response.message,) if response.message.content else ()
    calls = [block for block in response.message.content if isinstance(block, CALLS)]
    results = [_result(call, plan, f"{ARGUMENTS}\n{lines}") for call in calls]
    again = AGAIN if plan.tool is None else f"{TOOL_RULE}{plan.tool}."
    if calls and plan.tool is not None:
        return (*own, Message("user", tuple(results)))
    return (*own, Message("user", (*results, TextMessageContent(f"{ANSWER}\n{lines}\n{again}"))))


def _result(call: Any, plan: Plan, text: str) -> ActionResultMessageContent:
    said = text if call.name == plan.tool else _not_run(call, plan)
    return ActionResultMessageContent(call.tag, said, name=call.name, path=call.path, is_error=True)


def _not_run(call: Any, plan: Plan) -> str:
    if not plan.alone:
        return NOT_RUN
    if isinstance(call, InvalidActionCallMessageContent):
        return feedback.invalid_call(call)
    return feedback.unknown_tool(call.action.to_native_tool_name(), [] if plan.tool is None else [plan.tool])


def _as_sent(problem: Problem, plan: Plan) -> Problem:
    """A problem with its place in what the model wrote, where the caller's value stands one deeper."""
    if not plan.wrapped:
        return problem
    joint = "" if not problem.path or problem.path.startswith("[") else "."
    return msgspec.structs.replace(problem, path=f"{VALUE}{joint}{problem.path}")
