"""Citations of the answers of Claude: where they may stand, and what a format of the answer excludes.

https://platform.claude.com/docs/en/build-with-claude/structured-outputs: not together with citations or a prefill;
https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html says the same.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.passes import CONTINUE, filler, paused, with_content
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    TextMessageContent,
)
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message

DOC = "https://platform.claude.com/docs/en/build-with-claude/structured-outputs"
Wanted = Callable[[Job], JSONObject | None]


def uncited(block: Any, job: Job) -> Any:
    """Returns a text without citations: they stand on the assistant's texts only."""
    if type(block) is not TextMessageContent or not block.citations:
        return block
    new = msgspec.structs.replace(block, citations=())
    job.note("coerced", "only texts of the assistant carry citations", block, new=new)
    return new


def without_citations(message: Message, job: Job) -> Message:
    """Returns a message that is not the assistant's, without citations."""
    content = [uncited(block, job) for block in message.content]
    return message if all(map(is_, content, message.content)) else with_content(message, content)


def room_for_format(wanted: Wanted) -> Pass:
    """A pass for APIs that enforce a format of the answer: nothing is to be cited, and no answer is begun already.

    Args:
        wanted: The schema the answer is held to, or None.
    """

    def run(messages: Messages, job: Job) -> Messages:
        if wanted(job) is None:
            return messages
        if any([_cites(block) for message in messages for block in message.content]):
            messages = [_without_citing(message, job) for message in messages]
        last = messages[-1] if messages else None
        if last is None or last.role != "assistant" or job.open_calls or paused(last):
            return messages
        new = filler(CONTINUE, "an answer in an enforced format cannot be begun for the model", job)
        return [*messages, Message("user", (new,))]

    return Pass("room_for_format", run)


def is_cited(document: DocumentMessageContent) -> bool:
    """Whether a document is to be cited."""
    return _is_on((document.native or {}).get("citations"))


def _cites(block: Any) -> bool:
    """Whether a block, or one inside it, asks for citations."""
    if type(block) is DocumentMessageContent:
        return is_cited(block)
    if type(block) is GenericMessageContent:
        return any([_is_on(holder.get("citations")) for holder in _holders(block.value)])
    return type(block) is ActionResultMessageContent and any([_cites(part) for part in block.parts or ()])


def _holders(value: JSONObject) -> list[JSONObject]:
    """Where citations may be asked for: in the block itself (Messages), or in the one object of it (Bedrock)."""
    return [value, *[inner for inner in value.values() if isinstance(inner, dict)]]


def _is_on(citations: Any) -> bool:
    return isinstance(citations, dict) and bool(citations.get("enabled"))


def _without_citing(message: Message, job: Job) -> Message:
    content = []
    for block in message.content:
        if _cites(block):
            new = _unciting(block)
            job.note("coerced", "citations cannot be asked for beside a format of the answer", block, new=new, doc=DOC)
            block = new
        content.append(block)
    return with_content(message, content)


def _unciting(block: Any) -> Any:
    replace = msgspec.structs.replace
    if type(block) is DocumentMessageContent:
        return replace(block, native=_without_key(block.native or {}) or None)
    if type(block) is GenericMessageContent:
        inner = {key: _without_key(value) if isinstance(value, dict) else value for key, value in block.value.items()}
        return replace(block, value=_without_key(inner))
    return replace(block, parts=tuple([_unciting(part) if _cites(part) else part for part in block.parts or ()]))


def _without_key(value: JSONObject) -> JSONObject:
    if not _is_on(value.get("citations")):
        return value
    return {key: entry for key, entry in value.items() if key != "citations"}
