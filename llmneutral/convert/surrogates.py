"""Unpaired surrogates: what cannot be written as UTF-8 (RFC 3629) becomes U+FFFD, everywhere."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.look import json_of
from llmneutral.ir.contents import ActionCallMessageContent, InvalidActionCallMessageContent, TextMessageContent
from llmneutral.ir.tools import ToolDefinition

HALF = "half of a character (an unpaired surrogate)"
REPLACED = "cannot be written: U+FFFD stands for it"
PARTICIPANT = attrgetter("name")
NAMED = (ToolDefinition, ActionCallMessageContent, InvalidActionCallMessageContent)
NAMES = ("name", "path")
"""What the table of names is asked by: it gives every tool a name that can be written, and leads back to this one."""


def scrubbed(text: str) -> str:
    """Returns a text without unpaired surrogates; a pair written as two units becomes its character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def has_surrogates(text: str) -> bool:
    """Whether a text cannot be written as UTF-8."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def scrub_value(value: Any) -> Any:
    """Returns plain data with every text scrubbed; the same object if nothing had to be."""
    if isinstance(value, str):
        return scrubbed(value) if has_surrogates(value) else value
    if isinstance(value, dict):
        new: Any = {scrub_value(k): scrub_value(v) for k, v in value.items()}
        return new if any(a is not b for a, b in zip(_flat(new), _flat(value), strict=True)) else value
    if isinstance(value, list | tuple):
        new = type(value)([scrub_value(entry) for entry in value])
        return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
    if isinstance(value, msgspec.Struct):
        kept = NAMES if isinstance(value, NAMED) else ()
        changed = {
            f: v
            for f in value.__struct_fields__
            if f not in kept and (v := scrub_value(getattr(value, f))) is not getattr(value, f)
        }
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


def _flat(value: dict[Any, Any]) -> list[Any]:
    return [part for pair in value.items() for part in pair]


def _has_surrogates(content: Any) -> bool:
    if type(content) is TextMessageContent and not content.citations and content.native is None:
        return has_surrogates(content.text)
    return scrub_value(content) is not content


def _needs_scrubbing(content: Any, job: Job) -> bool:
    try:
        return _has_surrogates(content)
    except RecursionError:
        job.refuse("the block holds itself, or is nested too deeply; give plain data", content, rule="plain_data")


def _scrub_surrogates(messages: Messages, job: Job) -> Messages:
    """Unpaired surrogates cannot be written as UTF-8 (RFC 3629): they become U+FFFD, everywhere."""
    look = job.look(messages)
    found = {id(c) for c in look.blocks if _needs_scrubbing(c, job)} if look.may_have_surrogates else set()
    given = [(tool.name, tool.description, tool.parameters, tool.native) for tool in job.tools]
    tools = job.tools if json_of(given) is not None else tuple([scrub_value(tool) for tool in job.tools])
    if any(a is not b for a, b in zip(tools, job.tools, strict=True)):
        names = [repr(a.native_name) for a, b in zip(tools, job.tools, strict=True) if a is not b]
        job.note("coerced", f"{HALF} in the tools {', '.join(names)} {REPLACED}")
        job.tools = tools
    odd_names = not look.is_plain and any(map(has_surrogates, filter(None, map(PARTICIPANT, messages))))
    if not found and not odd_names:
        return messages
    out = []
    for message in messages:
        name = message.name
        if name is not None and has_surrogates(name):
            name = scrubbed(name)
            job.note("coerced", f"{HALF} in the name of a participant {REPLACED}", *message.content)
        content = list(message.content)
        for place, block in enumerate(content):
            if id(block) in found:
                content[place] = scrub_value(block)
                job.note("coerced", f"{HALF} {REPLACED}", block, new=content[place])
        out.append(msgspec.structs.replace(message, content=tuple(content), name=name))
    return out


scrub_surrogates = Pass("scrub_surrogates", _scrub_surrogates)
