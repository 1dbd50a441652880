"""Blocks written alike by the APIs that call functions in Chat's form and know neither refusals nor custom tools."""

from __future__ import annotations

from llmneutral.convert.calls import Call, arguments_text
from llmneutral.convert.job import Job
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject


def refusal(block: c.RefusalMessageContent, job: Job) -> JSONObject:
    """A refusal is text here."""
    job.note("rewritten", "this API knows no refusals; it stands as text", block)
    return {"type": "text", "text": block.text}


def generic(block: c.GenericMessageContent, job: Job) -> JSONObject:
    """A block that only this API knows, as it came."""
    del job
    return dict(block.value)


def call(block: Call, job: Job) -> JSONObject:
    """A call; its arguments as they were written, byte for byte."""
    function = {"name": job.names.native(block.name, block.path), "arguments": arguments_text(block, job)}
    return {"id": block.tag, "type": "function", "function": function}
