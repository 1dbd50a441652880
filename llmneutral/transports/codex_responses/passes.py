"""Rewrites of the messages that Responses needs, beside the shared ones.

Docs: https://developers.openai.com/api/docs/guides/reasoning (keeping reasoning items in context), error texts
("Item 'rs_…' of type 'reasoning' was provided without its required following item").
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert import pairing, passes, surrogates
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.media import untaken_sound
from llmneutral.convert.passes import move_media, results_only, same_origin, with_content
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    AudioMessageContent,
    BaseMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.messages import Message
from llmneutral.transports.codex_responses.write import API

Thinking = ThinkingMessageContent
Result = ActionResultMessageContent
Audio = AudioMessageContent
HISTORY = ("previous_response_id", "conversation")


# --- pairing ------------------------------------------------------------------------------------


def on_the_server(job: Job, *keys: str) -> bool:
    """Whether the caller keeps something on the server, by keys of `extra_body`: then it is not whole here."""
    extra = job.settings.get("extra_body")
    return extra is not None and any([extra.get(key) for key in keys])


def _unless_on_the_server(step: Pass) -> Pass:
    """A pass that needs the whole history: a call may stand on the server, and only its result here."""

    def run(messages: Messages, job: Job) -> Messages:
        return messages if on_the_server(job, *HISTORY) else step.run(messages, job)

    return Pass(step.name, run, step.when)


# --- reasoning ----------------------------------------------------------------------------------


def why_dropped(block: Thinking, message: Message, job: Job) -> str | None:
    """Says why a reasoning item does not go back, or None if it does."""
    replay = job.facts.reasoning_replay
    if job.setting("replay_reasoning") is False:
        return "replay_reasoning=False leaves reasoning out"
    if replay == "strip":
        return "reasoning of the history is not sent here"
    if replay == "native_last" and not _is_newest(message, job):
        return "only the newest turn keeps its reasoning here, and not right after results"
    own = same_origin(block, job)
    if not block.encrypted_content:
        if replay in ("keep_all", "keep_unsigned"):
            return None
        if own is False:
            return "this reasoning was written by another model, or at another endpoint"
        return "reasoning without its encrypted content cannot go back: nothing is stored under its id"
    if own is False or (own is None and replay == "own_only"):
        return "encrypted reasoning is read by the model and endpoint that made it, and by no other"
    return None


def _is_newest(message: Message, job: Job) -> bool:
    """Whether a message belongs to the last turn of the assistant, and no results follow it."""
    messages = job.messages
    if not messages or results_only(messages[-1]):
        return False
    place = len(messages) - 1
    while place >= 0 and messages[place].role != "assistant":
        place -= 1
    while place >= 0 and messages[place].role == "assistant":
        if messages[place] is message:
            return True
        place -= 1
    return False


def _followed(messages: Messages, job: Job) -> Messages:
    """Reasoning stands before the item it led to: at the end of a turn it goes, as does a second one of its id."""
    out: Messages = []
    seen: set[str] = set()
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role != "assistant":
            out.append(message)
            continue
        followed = place + 1 < len(messages) and messages[place + 1].role == "assistant" and bool(out[-1].content)
        out.append(_led_on(message, followed, job))
    out.reverse()
    out = [_once(message, seen, job) if message.role == "assistant" else message for message in out]
    return messages if all([a is b for a, b in zip(out, messages, strict=True)]) else out


def _led_on(message: Message, followed: bool, job: Job) -> Message:
    end = len(message.content)
    if followed:
        return message
    while end and type(message.content[end - 1]) is Thinking:
        end -= 1
    gone = message.content[end:]
    if not gone:
        return message
    job.note("dropped", "this API refuses reasoning that no text or call of the same turn follows", *gone)
    return with_content(message, message.content[:end])


def _once(message: Message, seen: set[str], job: Job) -> Message:
    again: list[Any] = []
    for block in message.content:
        if type(block) is Thinking and block.id:
            if block.id in seen:
                again.append(block)
            seen.add(block.id)
    if not again:
        return message
    job.note("dropped", "this reasoning item is in the request already", *again)
    return with_content(message, [block for block in message.content if not any([block is gone for gone in again])])


# --- media --------------------------------------------------------------------------------------


def _say_audio(messages: Messages, job: Job) -> Messages:
    """Sound is not taken: its transcript, or a note, stands for it where the caller allows that."""
    look = job.look(messages)
    if Audio not in look.kinds and not any([result.parts for result in look.results]):
        return messages
    return [_each(message, _said, job) for message in messages]


def _said(block: Any, job: Job) -> tuple[Any, ...]:
    if type(block) is Result and block.parts and any([type(part) is Audio for part in block.parts]):
        parts = [
            TextMessageContent(untaken_sound(part, job, block)) if type(part) is Audio else part for part in block.parts
        ]
        return (job.note.became(msgspec.structs.replace(block, parts=tuple(parts)), block),)
    if type(block) is not Audio:
        return (block,)
    return (job.note.became(TextMessageContent(untaken_sound(block, job), cache=block.cache), block),)


def _open_documents(messages: Messages, job: Job) -> Messages:
    """A document made of blocks stands as these blocks."""
    return [_each(message, _opened, job) for message in messages]


def _opened(block: Any, job: Job) -> tuple[Any, ...]:
    if type(block) is not DocumentMessageContent or not block.parts:
        return (block,)
    job.note("rewritten", "a document made of blocks stands as these blocks", block)
    return tuple([job.note.became(part, block) for part in block.parts])


def _each(message: Message, change: Any, job: Job) -> Message:
    content = [new for block in message.content for new in change(block, job)]
    same = len(content) == len(message.content) and all([a is b for a, b in zip(content, message.content, strict=True)])
    return message if same else with_content(message, content)


# --- cache marks --------------------------------------------------------------------------------


def _place_marks(messages: Messages, job: Job) -> Messages:
    """Only what the model reads carries a breakpoint: marks on what it wrote move to the nearest part before it.

    Source: openai 3, prompt_cache_breakpoint of input_text, input_image and input_file; tools have none.
    """
    if job.facts.cache != "breakpoint":
        return messages
    marked = [tool.native_name for tool in job.tools if tool.cache]
    if marked:
        job.note("dropped", f"tools carry no cache breakpoint here: {', '.join(marked)}")
        job.tools = tuple([msgspec.structs.replace(tool, cache=None) if tool.cache else tool for tool in job.tools])
    if not any([c.cache and _wrote(c, m) for m in messages for c in m.content]):
        return messages
    out = [list(message.content) for message in messages]
    carrier: tuple[int, int] | None = None
    for i, message in enumerate(messages):
        for j, block in enumerate(message.content):
            if not _wrote(block, message):
                carrier = (i, j)
            elif block.cache:
                out[i][j] = job.note.became(msgspec.structs.replace(block, cache=None), block)
                _move_mark(out, carrier, block, job)
    return [with_content(message, content) for message, content in zip(messages, out, strict=True)]


def _wrote(block: Any, message: Message) -> bool:
    """Whether a block is what the model wrote, or an item without parts: neither carries a mark."""
    return message.role == "assistant" or type(block) is GenericMessageContent


def _move_mark(out: list[list[Any]], carrier: tuple[int, int] | None, block: BaseMessageContent, job: Job) -> None:
    if carrier is None:
        job.note("dropped", "the cache mark is on a block that cannot carry one, and none stands before it", block)
        return
    i, j = carrier
    old = out[i][j]
    if not old.cache:
        out[i][j] = job.note.became(msgspec.structs.replace(old, cache=block.cache), old)
    job.note("moved", "the cache mark of what the model wrote stands on the nearest part before it", block)


# --- turns --------------------------------------------------------------------------------------


def _last_turn(messages: Messages, job: Job) -> Messages:
    """A trailing turn of the assistant is history here; only where a model is known to refuse it is it answered."""
    return passes.last_turn.run(messages, job) if job.facts.prefill is False else messages


def _foreign_items(messages: Messages, job: Job) -> Messages:
    """Items of another host are unknown here, though the API is the same."""

    def foreign(block: Any) -> bool:
        origin, host = block.origin, job.target.host
        return origin is not None and None not in (origin.host, host) and origin.host != host

    out = []
    for message in messages:
        gone = [c for c in message.content if type(c) is GenericMessageContent and foreign(c)]
        for block in gone:
            job.note("dropped", f"only {block.origin.host} knows the item {block.to_text()}", block)  # type: ignore[union-attr]
        kept = [c for c in message.content if not any([c is block for block in gone])]
        out.append(with_content(message, kept) if gone else message)
    return out


MOVED = (ImageMessageContent, DocumentMessageContent)
PASSES: tuple[Pass, ...] = (
    surrogates.scrub_surrogates,
    _unless_on_the_server(pairing.pair_results),
    _unless_on_the_server(pairing.canonical_ids),
    passes.drop_generic_of_others(API),
    Pass("foreign_items", _foreign_items, frozenset({GenericMessageContent})),
    passes.keep_screenshots,
    passes.replay_reasoning(why_dropped),
    Pass("reasoning_with_its_item", _followed, frozenset({Thinking})),
    Pass("open_documents", _open_documents, frozenset({DocumentMessageContent})),
    Pass("say_audio", _say_audio, frozenset({Audio, Result})),
    Pass("media_of_the_assistant", move_media("", MOVED, ()).run, frozenset(MOVED)),
    passes.hoist_system,
    Pass("last_turn", _last_turn),
    Pass("place_marks", _place_marks),
)
"""In order; `limit_cache_marks` follows them in the transport."""
