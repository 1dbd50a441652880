"""The passes that only generateContent needs: thoughts, their signatures, media in results.

https://ai.google.dev/gemini-api/docs/thought-signatures; https://ai.google.dev/gemini-api/docs/function-calling
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.names import CALLS
from llmneutral.convert.passes import drop_blank_text_but, move_media, replay_reasoning, same_origin, with_content
from llmneutral.convert.thinking import why_dropped
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.messages import Message
from llmneutral.transports.gemini_native.blocks import SIGNATURE, signature
from llmneutral.transports.gemini_native.wire import SKIP_VALIDATION, from_base64

SIGNATURES = "https://ai.google.dev/gemini-api/docs/thought-signatures"
SIGNED_ONLY = frozenset(("native", "native_last", "own_only"))
"""Values of the fact `reasoning_replay` under which only a signature lets a thought go back."""


# --- thoughts -------------------------------------------------------------------------------------


def _drop_summaries(messages: Messages, job: Job) -> Messages:
    """Summaries of thoughts carry no signature: they are for the reader, not for the model. Said once a request."""
    if job.facts.reasoning_replay not in SIGNED_ONLY:
        return messages
    gone = [block for block in job.look(messages).blocks if _is_summary(block, job)]
    if not gone:
        return messages
    job.note("dropped", "summaries of thoughts, which carry no signature, are not sent back", *gone, doc=SIGNATURES)
    lost = set(map(id, gone))
    return [
        with_content(message, [block for block in message.content if id(block) not in lost])
        if any([id(block) in lost for block in message.content])
        else message
        for message in messages
    ]


def _is_summary(block: Any, job: Job) -> bool:
    if type(block) is not ThinkingMessageContent or block.seal or block.is_redacted:
        return False
    return job.setting("foreign_reasoning") != "text" or same_origin(block, job) is True


def _why_dropped(block: ThinkingMessageContent, message: Message, job: Job) -> str | None:
    why = why_dropped(block, message, job)
    if why is not None:
        return why
    if block.data:
        return "Gemini has no opaque blocks of reasoning"
    if block.signature and from_base64(block.signature) is None:
        return "the signature of this reasoning is no base64, so it is not Gemini's"
    return None


drop_summaries = Pass("origin_of_reasoning", _drop_summaries, frozenset({ThinkingMessageContent}))
own_thoughts = replay_reasoning(_why_dropped)


# --- signatures -----------------------------------------------------------------------------------


def _sign_calls(messages: Messages, job: Job) -> Messages:
    """The first call of each step carries a signature; one that another model made gets the sentinel for it.

    Its siblings need none, and the rest of the turn keeps what it came with.
    """
    if not job.facts.requires_thought_signature:
        return messages
    out = [_with_signature(message, job) if message.role == "assistant" else message for message in messages]
    return out if any([a is not b for a, b in zip(out, messages, strict=True)]) else messages


def _with_signature(message: Message, job: Job) -> Message:
    place = next((i for i, block in enumerate(message.content) if type(block) in CALLS), None)
    if place is None:
        return message
    call: Any = message.content[place]
    if signature(call, job):
        return message
    if type(call) is InvalidActionCallMessageContent:
        new: Any = msgspec.structs.replace(call, native={**(call.native or {}), SIGNATURE: SKIP_VALIDATION})
    else:
        new = msgspec.structs.replace(call, thought_signature=SKIP_VALIDATION)
    why = "this model wants a thought signature on the first call of a step, and this call has none of its own"
    job.note("added", f"{why}: the value that skips the check stands for it", call, new=new, doc=SIGNATURES)
    return with_content(message, [*message.content[:place], new, *message.content[place + 1 :]])


def _is_signed(block: Any, job: Job) -> bool:
    return bool(signature(block, job))


drop_unsigned_blanks = drop_blank_text_but(_is_signed)
sign_calls = Pass("thought_signatures", _sign_calls, frozenset(CALLS))


# --- media ----------------------------------------------------------------------------------------

_to_the_user = move_media("move_media", (), (ImageMessageContent, AudioMessageContent, DocumentMessageContent))


def _media_of_results(messages: Messages, job: Job) -> Messages:
    """Results hold media from Gemini 3 on; before that the user shows them after the results."""
    return messages if job.facts.tool_result_parts else _to_the_user.run(messages, job)


media_of_results = Pass("move_media", _media_of_results, frozenset({ActionResultMessageContent}))
