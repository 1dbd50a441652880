"""Arguments and results of tool calls, as text and as objects. Source: spec of common rules, RFC 8259.

Arguments are kept twice, as they were written and as an object; each API gets the one it takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llmneutral.convert.surrogates import has_surrogates, scrubbed
from llmneutral.ir.artifacts import BaseArtifact
from llmneutral.ir.contents import ActionCallMessageContent, ActionResultMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.jsontext import JSONObject, dumps, loads

if TYPE_CHECKING:
    from llmneutral.convert.job import Job

Call = ActionCallMessageContent | InvalidActionCallMessageContent
NOTHING = ("", "null", "None")


def arguments_object(call: Call, job: Job) -> JSONObject:
    """Returns the arguments as an object; what is none is wrapped, and said."""
    if isinstance(call, InvalidActionCallMessageContent):
        job.note("coerced", f"the arguments of {call.name!r} are no JSON object; they go as {{'_raw': …}}", call)
        return {"_raw": call.raw}
    if type(call.input) is dict:
        return _finite_input(call.input, call, job) if job.may_have_nan else call.input
    if isinstance(call.input, Mapping):
        return dict(call.input)
    text = call.arguments
    if text is None:
        if call.input is None:
            return {}
        job.note(
            "coerced",
            f"the arguments of {call.name!r} are a {type(call.input).__name__}; they go as {{'_value': …}}",
            call,
        )
        return {"_value": call.input}
    if text.strip() in NOTHING:
        return {}
    return _unwrapped(text, call, job)


def _finite_input(given: JSONObject, call: Call, job: Job) -> JSONObject:
    if dumps_or_none(given) is not None:
        return given
    job.note("coerced", f"the arguments of {call.name!r}: NaN and infinities are no JSON; they go as text", call)
    cleaned: JSONObject = finite(given)
    return cleaned


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
    if value is None:
        return {}
    job.note(
        "coerced", f"the arguments of {call.name!r} are a {type(value).__name__}; they go as {{'_value': …}}", call
    )
    return {"_value": value}


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
    """Writes plain data as JSON text; NaN and infinities become text, and it is said.

    Raises:
        ConversionError: If the value is no plain data.
    """
    try:
        return dumps(value)
    except ValueError:
        job.note("coerced", f"{what}: NaN and infinities are no JSON; they go as text", block)
        return dumps(finite(value))
    except TypeError as error:
        job.refuse(f"{what}: {error}; give text, plain data or an artifact", block, rule="plain_data")


def finite(value: Any) -> Any:
    """Returns plain data with NaN and infinities as the texts NaN, Infinity, -Infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return value


def plain_output(result: ActionResultMessageContent, job: Job) -> Any:
    """Returns a result's data with artifacts as text and without NaN."""
    output = result.output
    if isinstance(output, BaseArtifact):
        return output.to_text()
    if isinstance(output, bytes | bytearray):
        job.refuse(
            "a result is bytes; wrap them in an ImageArtifact, AudioArtifact or BlobArtifact", result, rule="results"
        )
    if isinstance(output, str):
        return scrubbed(output) if has_surrogates(output) else output
    cleaned = finite(output)
    if dumps_or_none(output) is None:
        job.note("coerced", "a result holds NaN or infinities, which are no JSON; they go as text", result)
    return cleaned


def dumps_or_none(value: Any) -> str | None:
    """Returns the JSON text of plain data, or None if it has NaN in it."""
    try:
        return dumps(value)
    except ValueError:
        return None


def result_text(result: ActionResultMessageContent, job: Job, *, prefix_errors: bool) -> str:
    """Returns the text of a result without parts: None is "", data is JSON.

    Args:
        result: The result.
        job: The conversion.
        prefix_errors: Whether the API has no error flag, so that the text says it.
    """
    output = result.output
    if output is None:
        text = ""
    elif isinstance(output, str):
        text = output
    else:
        plain = output.to_text() if isinstance(output, BaseArtifact) else output
        if isinstance(plain, bytes | bytearray):
            plain_output(result, job)
        text = plain if isinstance(plain, str) else written(plain, "a result", result, job)
    return error_text(text, result, job) if prefix_errors and result.is_error else text


def error_text(text: str, result: ActionResultMessageContent, job: Job) -> str:
    """Returns the text of a failed result for an API without an error flag."""
    if text.startswith("Error"):
        return text
    job.note("rewritten", "this API has no error flag; the text of the result says it", result)
    return f"Error: {text}"
