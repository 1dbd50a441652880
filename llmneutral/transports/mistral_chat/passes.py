"""Rewrites of the messages that only Mistral needs, and which reasoning goes back.

Source: the validators of mistral-common, the types of mistralai 3.
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.media import transcript_of
from llmneutral.convert.names import CALLS
from llmneutral.convert.passes import CONTINUE, EMPTY_ANSWER, filler, same_origin, with_content
from llmneutral.convert.tool_schemas import known_tools
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message

OWN_TOOLS = {
    "image_generation": {"type", "tool_configuration"},
    "document_library": {"type", "library_ids", "tool_configuration"},
    "connector": {"type", "connector_id", "authorization", "tool_configuration"},
}
"""Mistral's own tools, and the keys they have: other providers use the same words for tools of theirs."""


def keeps(block: c.ThinkingMessageContent, message: Message, job: Job) -> str | None:
    """Says why a block of reasoning does not go back, or None."""
    del message
    if not job.setting("replay_reasoning"):
        return "replay_reasoning is off"
    own = same_origin(block, job)
    if own is False:
        return "this reasoning was written by another model, or at another endpoint"
    if block.encrypted_content is not None or block.is_redacted:
        return "this reasoning is signed or encrypted, and only the API that gave it can read it"
    if own is None and block.signature is None:
        return "it is not known who made this reasoning"
    if not block.text and block.signature is None:
        return "the reasoning has no text that could go back"
    return None


def _own_tools(messages: Messages, job: Job) -> Messages:
    if any([tool.native is not None for tool in job.tools]):
        known_tools(job, _is_own)
    return messages


def _is_own(native: JSONObject) -> bool:
    known = OWN_TOOLS.get(native.get("type", ""))
    return known is not None and native.keys() <= known


def _spoken_answers(messages: Messages, job: Job) -> Messages:
    """No answer of this API is sound: the transcript of one stands as text."""
    if not any([type(x) is c.AudioMessageContent for m in messages if m.role == "assistant" for x in m.content]):
        return messages
    return [_transcribed(message, job) if message.role == "assistant" else message for message in messages]


def _transcribed(message: Message, job: Job) -> Message:
    content: list[Any] = []
    for block in message.content:
        if type(block) is c.AudioMessageContent:
            if said := transcript_of(block):
                new: Any = c.TextMessageContent(said)
                job.note("rewritten", "sound of the assistant: its transcript stands as text", block, new=new)
            elif block.data is None:
                job.refuse("sound of the assistant has neither a transcript nor data", block, rule="media")
            else:  # without its id, which only its maker knows, the user can show it
                new = job.note.became(msgspec.structs.replace(block, id=None), block)
            block = new
        content.append(block)
    return with_content(message, content)


def _no_silent_answer(messages: Messages, job: Job) -> Messages:
    """An answer has content or calls: an empty text is none. As the last turn it would begin nothing, and goes."""
    look = job.look(messages)
    if not (look.has_blank_texts or look.has_empty_messages):
        return messages
    last = messages[-1]
    if _is_silent(last):
        job.note("dropped", "the last answer is empty, so there is nothing for the model to continue", *last.content)
        messages = messages[:-1]
    return [_spoken(message, job) if message.content and _is_silent(message) else message for message in messages]


def _is_silent(message: Message) -> bool:
    return message.role == "assistant" and all(
        [type(block) is c.TextMessageContent and block.text == "" and not block.citations for block in message.content]
    )


def _spoken(message: Message, job: Job) -> Message:
    new = c.TextMessageContent(EMPTY_ANSWER)
    job.note("added", "an answer needs content or calls here", *message.content, new=new)
    return with_content(message, (new,))


def _calls_apart(messages: Messages, job: Job) -> Messages:
    """Content and calls in messages of their own, for models that take only one of them in one message."""
    if job.facts.content_with_calls:
        return messages
    out: Messages = []
    for message in messages:
        calls = [x for x in message.content if type(x) in CALLS]
        others = [x for x in message.content if type(x) not in CALLS]
        if not calls or not others:
            out.append(message)
            continue
        job.note("moved", "this model takes content or calls in one message: the calls stand in the next one", *calls)
        out += [with_content(message, others), with_content(message, calls)]
    return out


def _system_not_last(messages: Messages, job: Job) -> Messages:
    """Instructions are not the last message: "Expected last role User or Tool"."""
    if not messages or messages[-1].role != "system" or job.open_calls:
        return messages
    new = filler(CONTINUE, "instructions cannot be the last message here", job)
    return [*messages, Message("user", (new,))]


OWN_TOOLS_ONLY = Pass("own_tools", _own_tools)
SPOKEN_ANSWERS = Pass("spoken_answers", _spoken_answers, frozenset({c.AudioMessageContent}))
SYSTEM_NOT_LAST = Pass("last_turn", _system_not_last)
NO_SILENT_ANSWER = Pass("fill_empty", _no_silent_answer)
CALLS_APART = Pass("content_with_calls", _calls_apart, frozenset(CALLS))
