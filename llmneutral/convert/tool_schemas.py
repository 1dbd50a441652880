"""Schemas of tools and answers in a request: written in an API's dialect, and every loss reported once a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from llmneutral.convert.job import Job
from llmneutral.convert.schema import Reduced, reduce_schema, strict_compile
from llmneutral.convert.schema_walk import LIMIT
from llmneutral.errors import ConversionError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.tools import ToolDefinition

ANSWER = "the output schema"
REMEDY = "structured_output_strategy='tool'"


class ToolSchema(NamedTuple):
    """The parameters of a tool as they go out.

    Attributes:
        schema: The JSON Schema; it is shared between requests, so nothing in it may be changed.
        strict: True where the provider shall enforce it, False where it was said not to, None where nobody asked.
    """

    schema: JSONObject
    strict: bool | None


def known_tools(job: Job, is_own: Callable[[JSONObject], bool]) -> None:
    """Leaves out tools that only another provider runs; one that has parameters all the same goes as a function.

    Args:
        job: The conversion; its tools are replaced.
        is_own: Whether a tool in a provider's own form is one of this API.
    """
    kept = []
    for tool in job.tools:
        if tool.native is None or is_own(tool.native):
            kept.append(tool)
        elif tool.parameters is not None:
            job.note("coerced", f"the tool {tool.name!r} goes as a function, without what only its own API knows of it")
            kept.append(msgspec.structs.replace(tool, native=None))
        else:
            job.note("dropped", f"the tool {tool.name!r} is another provider's own; {job.target.api} does not know it")
    if any([a is not b for a, b in zip_longest(kept, job.tools)]):
        job.tools = tuple(kept)


def tool_schema(tool: ToolDefinition, native: str, dialect: str, job: Job) -> ToolSchema:
    """Writes the parameters of a tool in a dialect of `convert.schema`, after the endpoint's facts.

    Renamed property keys are put into the name table, so that the arguments of an answer get their own back.

    Args:
        tool: The tool.
        native: Its name in this request.
        dialect: A key of `schema.DIALECTS`.
        job: The conversion.

    Raises:
        ConversionError: If the schema cannot be sent, naming the tool.
    """
    wanted = tool.strict
    if wanted and not job.facts.strict_tools:
        job.note("coerced", f"the tool {tool.native_name!r}: strict is not understood here; it is left out")
        wanted = None
    what = f"the tool {tool.native_name!r}"
    reduced = _reduced(tool.parameters, dialect, what, job, strict=bool(wanted))
    if reduced.renamed:
        job.names.renamed[native] = reduced.renamed
        keys = ", ".join([repr(key) for key in reduced.renamed.values()])
        job.note("renamed", f"{what}: the property names {keys} are not taken here and go by others")
    if wanted and reduced.strict and tool.parameters:
        job.names.strict[native] = tool.parameters
    return ToolSchema(reduced.schema, reduced.strict if wanted else wanted)


def answer_schema(schema: Mapping[str, Any], dialect: str, job: Job) -> JSONObject:
    """Writes the schema of an answer in a dialect; what cannot be enforced is told, and checked after parsing.

    Raises:
        ConversionError: If the schema cannot be sent, naming what to do.
    """
    return _of_answer(schema, dialect, job, strict=False).schema


def enforced_schema(schema: Mapping[str, Any], dialect: str, job: Job) -> Reduced:
    """Writes the schema of an answer in a dialect, strictly where it can be; all that differs is told.

    Raises:
        ConversionError: If the schema cannot be sent, naming what to do.
    """
    return _of_answer(schema, dialect, job, strict=True)


def _of_answer(schema: Mapping[str, Any], dialect: str, job: Job, *, strict: bool) -> Reduced:
    """Where it stands in a request differs from API to API; what it is told by does not."""
    before, job.note.step = job.note.step, "output_schema"
    reduced = _reduced(schema, dialect, ANSWER, job, strict=strict)
    job.note.step = before
    job.names.answer = reduced.renamed
    return reduced


def _compiled(schema: Mapping[str, Any] | None, dialect: str, what: str, job: Job, *, strict: bool) -> Reduced:
    facts = job.facts
    compile_ = strict_compile if strict else reduce_schema
    try:
        return compile_(
            schema, dialect, drops=facts.schema_drops, numeric_enum=facts.numeric_enum, enum_slash=facts.enum_slash
        )
    except ConversionError as error:
        hint = f" {error.hint}" if error.hint else ""
        if what == ANSWER and error.rule == LIMIT and REMEDY not in hint:
            hint += f" Or ask for the answer in another way: {REMEDY}."
        job.refuse(f"{what}: {error.message.removesuffix('.')}{'.' if hint else ''}{hint}", rule=error.rule)


def _reduced(schema: Mapping[str, Any] | None, dialect: str, what: str, job: Job, *, strict: bool) -> Reduced:
    reduced = _compiled(schema, dialect, what, job, strict=strict)
    if reduced.lost:
        lost = f"loses what this API does not take: {', '.join(reduced.lost)}"
        of_answer = f"{what} {lost}; the answer is checked against the whole of it on our side"
        job.note("coerced", of_answer if what == ANSWER else f"{what}: its schema {lost}")
    for note in reduced.notes:
        kind = "coerced" if reduced.strict is False and note.startswith("strict") else "rewritten"
        job.note(kind, f"{what}: {note}")  # type: ignore[arg-type]  # both are change kinds
    return reduced
