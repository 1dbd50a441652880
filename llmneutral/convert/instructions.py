"""Lines of ours at the end of the caller's instructions: what a setting asks for in words."""

from __future__ import annotations

import msgspec

from llmneutral.convert.job import Job, Messages
from llmneutral.convert.passes import leading_system, with_content
from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.messages import Message

SAY_JSON = "Answer in JSON."
RULE = "Answer with JSON only, without any other text, that is valid against this JSON Schema: "


def instructed(messages: Messages, line: str, why: str, job: Job) -> Messages:
    """Adds a line to the end of the leading instructions, or makes it the instruction."""
    made, old, new = with_line(messages, line)
    job.note("added", why, *([] if old is None else [old]), new=new)
    return made


def with_line(messages: Messages, line: str) -> tuple[Messages, TextMessageContent | None, TextMessageContent]:
    """Returns messages with a line at the end of their instructions, the block that it replaced, and the new one."""
    start = leading_system(messages)
    last = messages[start - 1] if start else None
    block = last.content[-1] if last is not None and last.content else None
    if last is not None and type(block) is TextMessageContent and block.text.strip():
        new = msgspec.structs.replace(block, text=f"{block.text}\n\n{line}")
        message = with_content(last, (*last.content[:-1], new))
        return [*messages[: start - 1], message, *messages[start:]], block, new
    new = TextMessageContent(line)
    return [*messages[:start], Message("system", (new,)), *messages[start:]], None, new


def says_json(messages: Messages) -> bool:
    """Whether some text has the word JSON: the modes that give any JSON object want it there."""
    return any(
        ["json" in block.text.lower() for m in messages for block in m.content if type(block) is TextMessageContent]
    )
