"""Arguments and results of tool calls, as text and as objects. Source: spec of common rules, RFC 8259.

Arguments are kept twice, as they were written and as an object; each API gets the one it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import ActionCallMessageContent, ActionResultMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.jsontext import JSONObject, dumps, loads, plain_data

if TYPE_CHECKING:
    from llmneutral.convert.job import Job

Call = ActionCallMessageContent | InvalidActionCallMessageContent
NOTHING = ("", "null", "None")
ERROR = "Error: "
BYTES_HINT = "wrap them in an ImageArtifact, AudioArtifact or BlobArtifact"


def arguments_object(call: Call, job: Job) -> JSONObject:
    """Returns the arguments as an object; what is none is wrapped, and said."""
    if isinstance(call, InvalidActionCallMessageContent):
        job.note("coerced", f"the arguments of {call.name!r} are no JSON object; they go as {{'_raw': …}}", call)
        return {"_raw": call.raw}
    given, text = call.input, call.arguments
    if type(given) is dict or isinstance(given, Mapping):
        found: JSONObject = given if type(given) is dict else dict(given)
        return _plain(found, f"the arguments of {call.name!r}", call, job) if job.may_have_nan else found
    if text is None:
        return {} if given is None else _wrapped(given, call, job)
    return {} if text.strip() in NOTHING else _unwrapped(text, call, job)


def _wrapped(value: Any, call: Call, job: Job) -> JSONObject:
    what = f"the arguments of {call.name!r}"
    job.note("coerced", f"{what} are {a_kind(value)}; they go as {{'_value': …}}", call)
    return {"_value": _plain(value, what, call, job)}


def _unwrapped(text: str, call: Call, job: Job) -> JSONObject:
    """An object that was written as a JSON string, another JSON value, or no JSON at all."""
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        job.note("coerced", f"the arguments of {call.name!r} are no JSON; they go as {{'_raw': …}}", call)
        return {"_raw": text}
    if isinstance(value, str):
        try:
            inner = loads(value)
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, dict):
            job.note("coerced", f"the arguments of {call.name!r} are an object inside a string; the object goes", call)
            return inner
    return {} if value is None else _wrapped(value, call, job)


def arguments_text(call: Call, job: Job) -> str:
    """Returns the arguments as JSON text: the original, byte for byte, wherever it is an object."""
    if isinstance(call, InvalidActionCallMessageContent):
        return call.raw
    given = call.arguments
    if type(call.input) is not dict:
        if given is not None and given.strip() in NOTHING:
            return "{}"
        return written(arguments_object(call, job), f"the arguments of {call.name!r}", call, job)
    if given and not given.isspace():
        return given
    try:
        return dumps(call.input)
    except (TypeError, ValueError):
        return written(call.input, f"the arguments of {call.name!r}", call, job)


def written(value: Any, what: str, block: Any, job: Job) -> str:
    """Writes data as JSON text; what JSON does not know becomes text, and it is said.

    Raises:
        ConversionError: If there are bytes in it, or it holds itself.
    """
    try:
        return dumps(value)
    except (ValueError, TypeError):
        return dumps(_plain(value, what, block, job))


def _plain(value: Any, what: str, block: Any, job: Job) -> Any:
    """Returns data as JSON can write it: the same object, if it can."""
    try:
        dumps(value)
    except (ValueError, TypeError) as error:
        why = "NaN and infinities are no JSON" if isinstance(error, ValueError) else str(error)
        try:
            found = plain_data(value)
        except (ValueError, TypeError) as refused:
            hint = BYTES_HINT if isinstance(refused, TypeError) else "give plain data"
            job.refuse(f"{what}: {refused}; {hint}", block, rule="plain_data")
        job.note("coerced", f"{what}: {why}; it goes as text", block)
        return found
    return value


def result_text(result: ActionResultMessageContent, job: Job, *, prefix_errors: bool) -> str:
    """Returns the text of a result without parts: None is "", data is JSON.

    Args:
        result: The result.
        job: The conversion.
        prefix_errors: Whether the API has no error flag, so that the text says it.

    Raises:
        ConversionError: If it is bytes, or data that holds itself.
    """
    output = result.output
    if output is None:
        text = ""
    elif isinstance(output, str):
        text = output
    else:
        plain = _plain(output, "a result", result, job)
        text = plain if isinstance(plain, str) and not isinstance(output, float) else dumps(plain)
    return error_text(text, result, job) if prefix_errors and result.is_error else text


def error_text(text: str, result: ActionResultMessageContent, job: Job) -> str:
    """Returns the text of a failed result for an API without an error flag."""
    if text.startswith(ERROR.rstrip()):
        return text
    job.note("rewritten", "this API has no error flag; the text of the result says it", result)
    return f"{ERROR}{text}"
