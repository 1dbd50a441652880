"""What a model is told when its tool call cannot be run, or when it wrote neither a call nor an answer.

Pure texts, the same for native calls and for tools as text (ReAct). They become the output of a result with the error
flag (`ActionResultMessageContent(tag, text, is_error=True)`), and never the end of a run. They name the place and what
is expected there; a traceback, a schema or the memory address of an object is never in them.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
from collections.abc import Iterable

from llmneutral.convert.checker import Problem
from llmneutral.errors import scrub
from llmneutral.ir.contents import InvalidActionCallMessageContent
from llmneutral.ir.jsontext import dumps, loads

NO_ACTION = "Write either Actions or Answer."
"""The user text after an answer that has neither."""

UNREAD = "Actions"
"""Name of the invalid call that stands for a whole array of ReAct which is no JSON."""

EXPECTED = '[{"name": …, "input": {…}}]'
MAX_RAW = 200
MAX_LISTED = 10
MAX_TOOLS = 50
MAX_MESSAGE = 2_000
FENCE = re.compile(r"\s*```[^\n`]*\n?")


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """Says that there is no such tool, and lists those there are, the closest names first."""
    names = list(dict.fromkeys(known))
    if not names:
        return f"There is no tool {name[:MAX_RAW]!r}; there are no tools"
    near = difflib.get_close_matches(name[:MAX_RAW], names, len(names))
    listed = [*near, *[each for each in names if each not in near]]
    more = f" and {len(listed) - MAX_TOOLS} more" if len(listed) > MAX_TOOLS else ""
    return f"There is no tool {name[:MAX_RAW]!r}. Tools: {', '.join(listed[:MAX_TOOLS])}{more}"


def schema_problems(problems: Iterable[Problem]) -> str:
    """Says where an input does not fit its schema: at most ten places, such as `input.path: expected integer`."""
    found = list(problems)
    told = [f"{_place(problem.path)}: {problem.message}" for problem in found[:MAX_LISTED]]
    if len(found) > MAX_LISTED:
        told.append(f"and {len(found) - MAX_LISTED} more")
    return "; ".join(told)


def _place(path: str) -> str:
    return f"input.{path}" if path and not path.startswith("[") else f"input{path}"


def raised(error: BaseException) -> str:
    """Says what a tool raised: the type and the message, without keys in it, never a traceback."""
    message = ""
    with contextlib.suppress(Exception):  # an error's own words may fail too
        message = scrub(str(error)[: 2 * MAX_MESSAGE])
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def bad_actions(raw: str) -> str:
    """Says, as a JSON text, why the text after `Actions:` is no JSON, and what is expected there.

    Args:
        raw: What the model wrote after the heading.
    """
    return dumps({"error": _why_unread(raw), "expected": EXPECTED})


def _why_unread(raw: str) -> str:
    line, column, why = _fault(raw)
    return f"Actions is not valid JSON: {why} at line {line} column {column}"


def _fault(raw: str) -> tuple[int, int, str]:
    """Line, column and kind of the first fault; a code fence before the value is none."""
    fence = FENCE.match(raw)
    shown = re.sub(r"[^\n]", " ", fence[0]) + raw[fence.end() :] if fence else raw
    start = len(shown) - len(shown.lstrip())
    try:
        _, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(shown, start)
    except json.JSONDecodeError as error:
        return error.lineno, error.colno, error.msg
    except RecursionError:
        end, why = start, "nested too deeply"
    except ValueError as error:
        end, why = start, str(error)
    else:
        why = "an array of calls expected"
        end = start
    before = shown[:end]
    return before.count("\n") + 1, end - before.rfind("\n"), why


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def invalid_call(call: InvalidActionCallMessageContent) -> str:
    """Says why a call is not run: its array or arguments are no JSON, its name is missing, or its input is no object.

    The first 200 characters of what came are shown.
    """
    return bad_actions(call.raw) if is_unread(call) else why_invalid(call)


def why_invalid(call: InvalidActionCallMessageContent) -> str:
    """The same as one line of words, whatever the form."""
    if is_unread(call):
        return _why_unread(call.raw)
    shown = call.raw[:MAX_RAW] + ("…" if len(call.raw) > MAX_RAW else "")
    if not call.name:
        return f"name: expected string; received {shown}"
    try:
        loads(call.raw)
    except (ValueError, RecursionError):
        return f"input: expected object, got text that is no JSON; received {shown}"
    return f"input: expected object; received {shown}"


def is_unread(call: InvalidActionCallMessageContent) -> bool:
    """Tells whether an invalid call stands for a whole text after `Actions:` that is no array of calls."""
    if call.name != UNREAD:
        return False
    try:
        return not isinstance(loads(call.raw), list | dict)
    except (ValueError, RecursionError):
        return True
