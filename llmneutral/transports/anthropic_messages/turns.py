"""The one pass that only Anthropic Messages needs: what an enforced format of the answer excludes.

https://platform.claude.com/docs/en/build-with-claude/structured-outputs: not together with citations or a prefill.
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.passes import CONTINUE, filler, paused, with_content
from llmneutral.ir.contents import ActionResultMessageContent, DocumentMessageContent, GenericMessageContent
from llmneutral.ir.messages import Message
from llmneutral.transports.anthropic_messages.request import wanted_schema

DOC = "https://platform.claude.com/docs/en/build-with-claude/structured-outputs"


def _room_for_format(messages: Messages, job: Job) -> Messages:
    """Where the answer has to be JSON of a schema, nothing is to be cited, and no answer is begun already."""
    if wanted_schema(job) is None:
        return messages
    if any([_cites(block) for message in messages for block in message.content]):
        messages = [_without_citing(message, job) for message in messages]
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or job.open_calls or paused(last):
        return messages
    new = filler(CONTINUE, "an answer in an enforced format cannot be begun for the model", job)
    return [*messages, Message("user", (new,))]


def _cites(block: Any) -> bool:
    """Whether a block, or one inside it, asks for citations."""
    if type(block) is DocumentMessageContent:
        return _is_on((block.native or {}).get("citations"))
    if type(block) is GenericMessageContent:
        return _is_on(block.value.get("citations"))
    return type(block) is ActionResultMessageContent and any([_cites(part) for part in block.parts or ()])


def _is_on(citations: Any) -> bool:
    return isinstance(citations, dict) and bool(citations.get("enabled"))


def _without_citing(message: Message, job: Job) -> Message:
    content = []
    for block in message.content:
        if _cites(block):
            new = _uncited(block)
            job.note("coerced", "citations cannot be asked for beside a format of the answer", block, new=new, doc=DOC)
            block = new
        content.append(block)
    return with_content(message, content)


def _uncited(block: Any) -> Any:
    replace = msgspec.structs.replace
    if type(block) is DocumentMessageContent:
        return replace(block, native={k: v for k, v in (block.native or {}).items() if k != "citations"} or None)
    if type(block) is GenericMessageContent:
        return replace(block, value={k: v for k, v in block.value.items() if k != "citations"})
    return replace(block, parts=tuple([_uncited(part) if _cites(part) else part for part in block.parts or ()]))


room_for_format = Pass("room_for_format", _room_for_format)
