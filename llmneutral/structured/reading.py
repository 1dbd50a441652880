"""How an answer is read by its plan: what is JSON in it, whether that fits, and where it does not.

Nothing is repaired by guessing. A place is written as in code (`items[3].price`), whoever found the problem there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from llmneutral.convert import feedback
from llmneutral.convert.checker import Problem, check, place_text
from llmneutral.convert.schema import rename_keys_back, without_added_nulls
from llmneutral.errors import StructuredOutputError
from llmneutral.ir.contents import InvalidActionCallMessageContent
from llmneutral.ir.jsontext import dumps, loads
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.schemas import type_adapter
from llmneutral.structured.planning import Plan

FENCE = re.compile(r"```[ \t]*(?P<kind>[A-Za-z0-9]*)[ \t]*\r?\n(?P<body>.*?)```", re.DOTALL)
HINTS = {"length": "; raise max_tokens"}
ENDED = ("length", "refusal", "content_filter", "error", "incomplete")
"""Finish reasons of what is no answer; asking again in the same way is no use."""
VALUE = "value"
"""The property under which a wrapped root stands."""
MOST_STEPS, TOO_DEEP = 20_000_000, 1_000_000
"""Characters that are read at most in search of JSON among other text, and as how many a very deep one counts."""
LONGEST_MESSAGE = 300


class Verdict(msgspec.Struct, frozen=True):
    """What an answer has come to.

    Attributes:
        value: The validated value, if there are no problems.
        problems: What is wrong, by place.
        final: Whether asking again is no use: it was cut, refused, or never came to its end.
        notes: What could not be checked of a value.
    """

    value: Any = None
    problems: tuple[Problem, ...] = ()
    final: bool = False
    notes: tuple[str, ...] = ()

    def filled(self, response: NormalizedResponse) -> NormalizedResponse:
        """Returns the response with the value, and with what could not be checked of it."""
        return msgspec.structs.replace(response, parsed=self.value, notes=(*response.notes, *self.notes))


def wants_parsing(response: NormalizedResponse, plan: Plan) -> bool:
    """Whether a turn is an answer: it calls the answer's tool, or calls nothing; without tools every turn is one."""
    if response.finish_reason == "pause":
        return False
    calls: list[Any] = [*response.tool_calls, *response.invalid_tool_calls]
    return not calls or plan.alone or (plan.tool is not None and any(call.name == plan.tool for call in calls))


def parse(response: NormalizedResponse, plan: Plan) -> Any:
    """Returns the value of an answer, validated: an instance of a model, or plain data for a dict schema.

    Raises:
        StructuredOutputError: If the answer was cut, refused, is no JSON, or breaks the schema; its
            `attempts` hold the text and what is wrong with it.
    """
    verdict = judged(response, plan)
    if verdict.problems:
        raise failed(response, plan, verdict.problems)
    return verdict.value


def failed(
    response: NormalizedResponse, plan: Plan, problems: Iterable[Problem], earlier: Sequence[Any] = ()
) -> StructuredOutputError:
    """Returns the error for an answer that has no valid value.

    Args:
        response: The last answer.
        plan: How it was asked for.
        problems: What is wrong with it.
        earlier: The attempts before it, each as `attempt` writes it.
    """
    lines = told(problems)
    more = f" (and {len(lines) - 3} more)" if len(lines) > 3 else ""
    after = f" after {len(earlier)} repair{'s' if len(earlier) > 1 else ''}" if earlier else ""
    return StructuredOutputError(
        f"no valid value in the answer{after}: {'; '.join(lines[:3])}{more}",
        attempts=[*earlier, attempt(response, plan, lines)],
        response=response,
        partial=response,
    )


def attempt(response: NormalizedResponse, plan: Plan, lines: list[str]) -> dict[str, Any]:
    """Returns an attempt as the error keeps it: its text, its problems and its own usage."""
    return {"text": said(response, plan), "problems": lines, "usage": response.usage.to_dict()}


def said(response: NormalizedResponse, plan: Plan) -> str:
    """Returns what an answer says in the place where its value should be: its text, or the arguments of its call."""
    call = _answering(response, plan)
    if isinstance(call, InvalidActionCallMessageContent):
        return call.raw
    if call is not None:
        return call.arguments if call.arguments is not None else dumps(call.input)
    return response.text


def told(problems: Iterable[Problem]) -> list[str]:
    """Returns problems as lines, `path: problem`."""
    return [f"{problem.path or 'the answer'}: {problem.message}" for problem in problems]


# --- from the answer to a value ------------------------------------------------------------------


def judged(response: NormalizedResponse, plan: Plan) -> Verdict:
    """Reads an answer, and says what is wrong with it; it never raises for what a model wrote."""
    if (reason := response.finish_reason) in ENDED:
        return Verdict(problems=(Problem("", f"it ended with {reason}{HINTS.get(str(reason), '')}"),), final=True)
    try:
        return _judged(response, plan)
    except RecursionError:
        return _wrong("nested too deeply to be read")


def _judged(response: NormalizedResponse, plan: Plan) -> Verdict:
    call = _answering(response, plan)
    if isinstance(call, InvalidActionCallMessageContent):
        return _wrong(_why_invalid(call.raw) if call.name == plan.tool else feedback.why_invalid(call))
    if call is not None:
        value = call.input
    else:
        text = response.text.strip().lstrip("\ufeff").strip()
        found, value = find_json(text, loose=plan.strategy == "rule")
        if not found:
            return _wrong("there is no JSON in it" if text else "it is empty, expected JSON")
        value = rename_keys_back(value, plan.renamed)
    if plan.strategy == "native":  # a strict schema has null for what is optional
        value = without_added_nulls(value, plan.schema)
    if plan.wrapped and isinstance(value, Mapping) and VALUE in value:
        value = value[VALUE]
    return _validated(value, plan)


def _wrong(message: str) -> Verdict:
    return Verdict(problems=(Problem("", message),))


def _answering(response: NormalizedResponse, plan: Plan) -> Any:
    """The call that is the answer: the first valid one of the answer's tool, else an invalid one.

    What could not be read as a call at all may have been meant for any tool; if there is no other, for the answer's.
    """
    if plan.tool is None:
        return None
    invalid = list(response.invalid_tool_calls)
    calls: list[Any] = [*response.tool_calls, *invalid]
    found = next((call for call in calls if call.name == plan.tool), None)
    return invalid[0] if found is None and plan.alone and invalid else found


def _why_invalid(raw: str) -> str:
    try:
        loads(raw)
    except json.JSONDecodeError as error:
        return f"expected a JSON object, got no valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
    except (ValueError, RecursionError):
        return "expected a JSON object, got no valid JSON"
    return "expected a JSON object"


# --- JSON among other text -----------------------------------------------------------------------


def find_json(text: str, *, loose: bool) -> tuple[bool, Any]:
    """Finds the JSON in an answer: the whole text, the last fenced block, or (loose) the first balanced value."""
    if (read := _read(text)) is not None:
        return True, read[0]
    for fence in reversed(list(FENCE.finditer(text))):
        if fence["kind"].lower() in ("", "json") and (read := _read(fence["body"].strip())) is not None:
            return True, read[0]
    return _first_balanced(text) if loose else (False, None)


def _read(text: str) -> tuple[Any] | None:
    try:
        return (loads(text),)
    except (ValueError, RecursionError):
        return None


def _first_balanced(text: str) -> tuple[bool, Any]:
    """The first object or array that ends; a text of nothing but brackets is given up after a while."""
    decoder = json.JSONDecoder(parse_constant=_refused)
    steps = MOST_STEPS
    for match in re.finditer(r"[{\[]", text):
        start = match.start()
        try:
            return True, decoder.raw_decode(text, start)[0]
        except json.JSONDecodeError as error:
            steps -= error.pos - start + error.pos // 20 + 1  # the error itself counts the lines before it
        except (ValueError, RecursionError):
            steps -= TOO_DEEP
        if steps < 0:
            break
    return False, None


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


# --- validation ----------------------------------------------------------------------------------


def _validated(value: Any, plan: Plan) -> Verdict:
    """The value as an instance of what the caller asked for, or its problems."""
    if isinstance(plan.kind, Mapping):
        notes: list[str] = []
        problems = check(value, plan.kind, notes)
        return Verdict(problems=tuple(map(_short, problems))) if problems else Verdict(value, notes=tuple(notes))
    from pydantic import ValidationError

    try:
        return Verdict(type_adapter(plan.kind).validate_python(value, strict=False))
    except ValidationError as error:
        return Verdict(problems=_of_pydantic(error.errors(include_url=False, include_input=False), value, plan))
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001  # the type's own code runs here, on what a model wrote
        return Verdict(problems=(_short(Problem("", feedback.raised(error))),))


def _of_pydantic(errors: Sequence[Any], value: Any, plan: Plan) -> tuple[Problem, ...]:
    """Pydantic's problems: its places as in the JSON, and the checker's words where it says something of the place."""
    whole = {VALUE: value} if plan.wrapped else value
    by_place = {problem.path: problem for problem in reversed(check(whole, plan.schema))}
    found: dict[tuple[str, str], Problem] = {}
    for error in errors:
        place = _place(error["loc"], value, missing=error["type"] == "missing")
        path = place_text(place)
        known = by_place.get(place_text((VALUE, *place) if plan.wrapped else place))
        problem = _short(Problem(path, error["msg"] if known is None else known.message))
        found[problem.path, problem.message] = problem
    return tuple(found.values())


def _place(loc: Sequence[Any], value: Any, *, missing: bool) -> tuple[str | int, ...]:
    """A place of pydantic's without what is no step into the value: the branch of a union, a validator's name."""
    place: list[str | int] = []
    for at, step in enumerate(loc):
        last = at == len(loc) - 1
        if isinstance(value, Mapping) and isinstance(step, str) and (step in value or (last and missing)):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            continue
        place.append(step)
    return tuple(place)


def _short(problem: Problem) -> Problem:
    """A problem whose message is one line, and not a long one: a model or a schema may put anything into it."""
    message = " ".join(problem.message.split())
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]}…"
    return problem if message == problem.message else msgspec.structs.replace(problem, message=message)
