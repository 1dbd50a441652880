"""Rewrites of the messages that several APIs need. Each is one small function; `../spec` order.

The texts below are the only ones a conversion ever adds (beside those of `pairing`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.look import SYSTEM_ROLES
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.messages import Message

EMPTY_ANSWER, EMPTY_MESSAGE, NO_OUTPUT, LEADING_USER, CONTINUE = (
    "(empty)", "(empty message)", "(no output)", "(empty)", "Continue.",
)  # fmt: skip
MEDIA = (ImageMessageContent, AudioMessageContent, DocumentMessageContent)
Text = TextMessageContent
Result = ActionResultMessageContent
Spares = Callable[[Any, Job], bool]


def filler(text: str, why: str, job: Job, *blocks: Any) -> TextMessageContent:
    """Returns a text that the caller never wrote, and says so."""
    new = Text(text)
    job.note("added", why, *blocks, new=new)
    return new


def with_content(message: Message, content: Any) -> Message:
    """Returns a message with other blocks."""
    return msgspec.structs.replace(message, content=tuple(content))


def results_only(message: Message) -> bool:
    """Whether a message is nothing but results of tools: OpenAI's role `tool`."""
    return message.role == "user" and bool(message.content) and all(type(c) is Result for c in message.content)


def is_blank(content: Any) -> bool:
    """Whether a block is text with nothing to see in it."""
    return type(content) is Text and not content.text.strip()


# --- system -------------------------------------------------------------------------------------


def leading_system(messages: Messages) -> int:
    """Returns how many messages at the start are instructions."""
    return next((i for i, message in enumerate(messages) if not message.is_system()), len(messages))


def _lift_system(messages: Messages, job: Job) -> Messages:
    """Instructions after the start: hoisted, in place as role system, or as text of the user."""
    look = job.look(messages)
    start = leading_system(messages) if look.has_instructions else len(messages)
    if SYSTEM_ROLES.isdisjoint(look.roles[start:]):
        return messages
    late = [i for i in range(start, len(messages)) if messages[i].is_system()]
    if job.setting("late_system") == "hoist":
        why = "late instructions move to the start of the conversation, as late_system='hoist' says"
        for i in late:
            job.note("moved", why, *messages[i].content)
        head = messages[:start] + [messages[i] for i in late]
        return head + [m for m in messages[start:] if not m.is_system()]
    out = messages[:start]
    for message in messages[start:]:
        if message.is_system() and not (job.facts.mid_conversation_system and out and out[-1].role == "user"):
            message = _as_user(message, job)
        out.append(message)
    return out


def _hoist_system(messages: Messages, job: Job) -> Messages:
    """For APIs that take instructions in place: late ones are hoisted only where the caller wants it."""
    return _lift_system(messages, job) if job.setting("late_system") == "hoist" else messages


def _as_user(message: Message, job: Job) -> Message:
    content = []
    knows = job.facts.mid_conversation_system
    place = "can stand only directly after a user's turn" if knows else "cannot stand in mid-conversation"
    for block in message.content:
        if type(block) is Text:
            new = msgspec.structs.replace(block, text=f"<system>\n{block.text}\n</system>")
            why = f"instructions {place} here, so they stay in their place as text of the user"
            job.note("rewritten", why, block, new=new)
            block = new
        content.append(block)
    return Message("user", tuple(content))


def _merge_system(messages: Messages, job: Job) -> Messages:
    """All instructions in one first message, for chat templates that take no other."""
    if not job.facts.system_first_only:
        return messages
    system = [m for m in messages if m.is_system()]
    if len(system) <= 1 and (not system or messages[0] is system[0]):
        return messages
    for message in system[1:] if messages[0] is system[0] else system:
        job.note("merged", "this server takes one system message, first", *message.content)
    blocks = [block for message in system for block in message.content]
    mark = next((block.cache for block in reversed(blocks) if block.cache), None)
    joined = Text("\n\n".join([block.to_text() for block in blocks]), cache=mark)
    job.note.became(joined, *blocks)
    return [Message("system", (joined,)), *[m for m in messages if not m.is_system()]]


# --- roles --------------------------------------------------------------------------------------


def _merge_same_role(messages: Messages, job: Job) -> Messages:
    """Neighbours of one role become one message of separate blocks.

    Results of one turn's calls are one group in any spelling, so putting them together is no change.
    """
    if not job.look(messages).has_neighbours:
        return messages
    out: Messages = []
    for _, group in groupby(messages, key=lambda message: message.role):
        first, *others = group
        if not others or first.is_system():
            out += [first, *others]
            continue
        content, only_results = [*first.content], results_only(first)
        for message in others:
            only_results = only_results and results_only(message)
            if not only_results and message.content:
                job.note(
                    "merged", "messages in a row from one role are one turn here: they are joined", *message.content
                )
            content += message.content
        names = dict.fromkeys([message.name for message in (first, *others) if message.name])
        out.append(Message(first.role, tuple(content), ", ".join(names) or None))
    return out if len(out) != len(messages) else messages


def _lead_with_user(messages: Messages, job: Job) -> Messages:
    """The first turn is the user's."""
    start = leading_system(messages)
    if start == len(messages):
        return [
            *messages,
            Message("user", (filler(EMPTY_MESSAGE, "there are only instructions; a turn of the user is needed", job),)),
        ]
    if messages[start].role == "user":
        return messages
    new = Text(LEADING_USER)  # the change says before what it stands; nothing is its source
    job.note("added", "the first turn has to be the user's", *messages[start].content)
    return [*messages[:start], Message("user", (new,)), *messages[start:]]


def paused(message: Message) -> bool:
    """Whether a turn of the assistant waits to be continued: its last block is the provider's own tool."""
    return bool(message.content) and type(message.content[-1]) is GenericMessageContent


def _last_turn(messages: Messages, job: Job) -> Messages:
    """A trailing turn of the assistant: sent as a prefill where that is accepted, else `Continue.` is appended."""
    if not messages or messages[-1].role != "assistant" or job.open_calls or paused(messages[-1]):
        return messages
    last = messages[-1]
    if job.facts.prefill is False:
        new = filler(CONTINUE, "this model continues no answer that was begun for it: the user asks for more", job)
        return [*messages, Message("user", (new,))]
    if not last.content:
        return messages[:-1]
    block = last.content[-1]
    if type(block) is not Text or block.text == (stripped := block.text.rstrip()):
        return messages
    if stripped:
        new = msgspec.structs.replace(block, text=stripped)
        job.note("rewritten", "an answer that the model is to continue must not end in white space", block, new=new)
        return [*messages[:-1], with_content(last, (*last.content[:-1], new))]
    job.note("dropped", "an answer that the model is to continue must not end in white space", block)
    rest = last.content[:-1]
    return [*messages[:-1], with_content(last, rest)] if rest else messages[:-1]


# --- blanks -------------------------------------------------------------------------------------


def drop_blank_text_but(spares: Spares) -> Pass:
    """A pass that drops blank texts, in messages and results; a mark on one moves to the block before it.

    Args:
        spares: `(block, job)` → whether a blank text of a message stays: something is sealed to it.
    """

    def run(messages: Messages, job: Job) -> Messages:
        return _drop_blank_text(messages, job, spares)

    return Pass("drop_blank_text", run)


def _drop_blank_text(messages: Messages, job: Job, spares: Spares) -> Messages:
    look = job.look(messages)
    if not look.has_blank_texts and not any([r.parts and any(map(is_blank, r.parts)) for r in look.results]):
        return messages if not look.has_empty_messages else [m for m in messages if m.content or not m.is_system()]
    out = []
    for message in messages:
        content = _without_blank(message.content, job, spares)
        content = tuple([_result_without_blank(c, job) if type(c) is Result and c.parts else c for c in content])
        if message.is_system() and not content:
            continue
        same = len(content) == len(message.content) and all(
            a is b for a, b in zip(content, message.content, strict=True)
        )
        out.append(message if same else with_content(message, content))
    return out


def _without_blank(content: tuple[Any, ...], job: Job, spares: Spares) -> tuple[Any, ...]:
    if not any(map(is_blank, content)):
        return content
    kept: list[Any] = []
    for block in content:
        if not is_blank(block) or spares(block, job):
            kept.append(block)
            continue
        job.note("dropped", "blank text is refused here", block)
        keep_mark(kept, block, job)
    return tuple(kept)


def keep_mark(kept: list[Any], gone: Any, job: Job) -> None:
    """Keeps the cache mark of a block that goes; where there is no cache, or none is marked, there is nothing to do."""
    if gone.cache and job.facts.cache not in ("none", "key"):
        move_mark(kept, gone, job)


def move_mark(kept: list[Any], block: Any, job: Job) -> None:
    """Moves a cache mark to the nearest earlier block that can carry one, else drops it."""
    for place in range(len(kept) - 1, -1, -1):
        if type(kept[place]) is not ThinkingMessageContent:
            old = kept[place]
            kept[place] = job.note.became(msgspec.structs.replace(old, cache=old.cache or block.cache), old)
            job.note("moved", "the cache mark of a block that cannot carry one stands on the block before it", block)
            return
    job.note("dropped", "the cache mark is on a block that cannot carry one, and none stands before it", block)


def _result_without_blank(result: Result, job: Job) -> Result:
    parts = result.parts or ()
    kept = tuple([part for part in parts if not is_blank(part)])
    if len(kept) == len(parts):
        return result
    new = msgspec.structs.replace(result, parts=kept)
    job.note("rewritten", "blank text is refused here, also inside a result", result, new=new)
    return new


def _fill_empty(messages: Messages, job: Job) -> Messages:
    """A message that would be empty gets one constant text."""
    if not job.look(messages).has_empty_messages:
        return messages
    return [message if message.content else _filled(message, job) for message in messages]


def _filled(message: Message, job: Job) -> Message:
    text = EMPTY_ANSWER if message.role == "assistant" else EMPTY_MESSAGE
    return with_content(message, (filler(text, f"an empty turn ({message.role}) is refused here", job),))


# --- media --------------------------------------------------------------------------------------


def move_media(name: str, leaves_assistant: tuple[type, ...], leaves_results: tuple[type, ...]) -> Pass:
    """A pass that moves media to where an API takes them: a turn of the user.

    Args:
        name: The step's name.
        leaves_assistant: Kinds that may not stand in a turn of the assistant.
        leaves_results: Kinds that may not stand in a result.
    """

    def run(messages: Messages, job: Job) -> Messages:
        look = job.look(messages)
        if look.kinds.isdisjoint(leaves_assistant) and not any([result.parts for result in look.results]):
            return messages
        out: Messages = []
        waiting: list[Any] = []
        before = None
        for message in messages:
            answers = message.role == "user" and bool(message.content) and type(message.content[0]) is Result
            goes_on = answers or (before == message.role == "assistant")
            before = message.role
            if waiting and not goes_on:  # the answer that follows a result has to see its pictures
                out.append(Message("user", tuple(waiting)))
                waiting = []
            left = _without_media(message, leaves_assistant, leaves_results, waiting, job)
            results = next((i for i, block in enumerate(left.content) if type(block) is not Result), None)
            if waiting and answers and results:  # behind the whole group of results, before the user's own words
                left, waiting = with_content(left, (*left.content[:results], *waiting, *left.content[results:])), []
            out.append(left)
        if waiting:
            out.append(Message("user", tuple(waiting)))
        return [m for m in out if m.content or m.role != "user"] if len(out) != len(messages) else _same(out, messages)

    return Pass(name, run, frozenset({*leaves_assistant, *([Result] if leaves_results else [])}))


def _same(new: Messages, old: Messages) -> Messages:
    return old if all(a is b for a, b in zip(new, old, strict=True)) else new


def _without_media(
    message: Message, assistant: tuple[type, ...], results: tuple[type, ...], waiting: list[Any], job: Job
) -> Message:
    content: list[Any] = []
    for block in message.content:
        if message.role == "assistant" and type(block) in assistant and not getattr(block, "id", None):
            label = "Image" if type(block) is ImageMessageContent else "Attachment"
            job.note("moved", f"an answer cannot hold {label.lower()}s here: a message of the user shows it", block)
            waiting += [Text(f"{label} from the previous answer:"), block]
        elif type(block) is Result and block.parts and any(type(part) in results for part in block.parts):
            content.append(_result_without_media(block, results, waiting, job))
        else:
            content.append(block)
    return (
        message
        if all(a is b for a, b in zip(content, message.content, strict=False)) and len(content) == len(message.content)
        else with_content(message, content)
    )


def _result_without_media(result: Result, kinds: tuple[type, ...], waiting: list[Any], job: Job) -> Result:
    parts = result.parts or ()
    new = msgspec.structs.replace(result, parts=tuple([part for part in parts if type(part) not in kinds]))
    job.note("moved", "a result holds only text here; its pictures stand in a message of the user", result, new=new)
    for part in parts:
        if type(part) in kinds:
            label = "Image" if type(part) is ImageMessageContent else "Attachment"
            waiting += [Text(f"{label} from tool call {result.tag}:"), job.note.became(part, result)]
    return new


def _keep_screenshots(messages: Messages, job: Job) -> Messages:
    """Of the results with pictures, only the newest keep them (off unless `keep_screenshots` is set)."""
    keep = job.setting("keep_screenshots")
    if keep is None:
        return messages
    with_images = [c for m in messages for c in m.content if type(c) is Result and _pictures(c)]
    old = {id(c) for c in with_images[: len(with_images) - keep]}
    if not old:
        return messages
    out, edited = [], False
    for message in messages:
        content: list[Any] = []
        for block in message.content:
            if type(block) is Result and id(block) in old:
                content.append(_without_pictures(block, job))
                edited = True
            elif edited and job.facts.reasoning_prefix_bound and type(block) is ThinkingMessageContent:
                job.note(
                    "dropped",
                    "an earlier picture was removed, and this reasoning is bound to what stood before it",
                    block,
                )
            else:
                content.append(block)
        out.append(with_content(message, content) if len(content) != len(message.content) or edited else message)
    return out


def _pictures(result: Result) -> bool:
    return any(type(part) is ImageMessageContent for part in result.parts or ())


def _without_pictures(result: Result, job: Job) -> Result:
    parts: list[Any] = [Text("[image removed]") if type(p) is ImageMessageContent else p for p in result.parts or ()]
    new = msgspec.structs.replace(result, parts=tuple(parts))
    for part in result.parts or ():
        if type(part) is ImageMessageContent:
            job.note("dropped", "an old picture is left out, as keep_screenshots says", result)
    job.note.became(new, result)
    return new


# --- the passes ---------------------------------------------------------------------------------

lift_system = Pass("lift_system", _lift_system)
hoist_system = Pass("late_system", _hoist_system)
merge_system = Pass("merge_system", _merge_system)
drop_blank_text = drop_blank_text_but(lambda block, job: False)
merge_same_role = Pass("merge_same_role", _merge_same_role)
lead_with_user = Pass("lead_with_user", _lead_with_user)
last_turn = Pass("last_turn", _last_turn)
keep_screenshots = Pass("keep_screenshots", _keep_screenshots, frozenset({Result}))
fill_empty = Pass("fill_empty", _fill_empty)


def drop_generic_of_others(origin_api: str) -> Pass:
    """A pass that drops blocks which only another API knows."""

    def run(messages: Messages, job: Job) -> Messages:
        def foreign(block: Any) -> bool:
            origin = block.origin
            return type(block) is GenericMessageContent and origin is not None and origin.api not in (None, origin_api)

        if not any([foreign(c) for m in messages for c in m.content if type(c) is GenericMessageContent]):
            return messages
        out = []
        for message in messages:
            kept: list[Any] = []
            for block in message.content:
                if foreign(block):
                    job.note("dropped", f"only {block.origin.api} knows the block {block.to_text()}", block)  # type: ignore[union-attr]
                    keep_mark(kept, block, job)
                else:
                    kept.append(block)
            out.append(message if len(kept) == len(message.content) else with_content(message, kept))
        return out

    return Pass("drop_generic_of_others", run, frozenset({GenericMessageContent}))


Keeps = Callable[[ThinkingMessageContent, Message, Job], str | None]


def replay_reasoning(keeps: Keeps) -> Pass:
    """A pass that keeps or drops reasoning in history.

    Args:
        keeps: `(block, message, job)` → None to keep the block, or why it is dropped.
    """

    def run(messages: Messages, job: Job) -> Messages:
        as_text = job.setting("foreign_reasoning") == "text"
        out, changed = [], False
        for message in messages:
            content: list[Any] = []
            misplaced = None if message.role == "assistant" else "reasoning belongs to a turn of the assistant"
            for block in message.content:
                why = (misplaced or keeps(block, message, job)) if type(block) is ThinkingMessageContent else None
                if why is None:
                    content.append(block)
                    continue
                changed = True
                if as_text and type(block) is ThinkingMessageContent and block.text.strip():
                    new = Text(block.text, cache=block.cache)
                    job.note("rewritten", f"{why}; it stands as text", block, new=new)
                    content.append(new)
                else:
                    job.note("dropped", why, block)
                    keep_mark(content, block, job)
            out.append(
                message if len(content) == len(message.content) and not changed else with_content(message, content)
            )
        return out if changed else messages

    return Pass("origin_of_reasoning", run, frozenset({ThinkingMessageContent}))


def same_origin(block: Any, job: Job) -> bool | None:
    """Whether a block was made by the target's model at its endpoint; None where that is unknown.

    The fact `same_model_as_history` decides if it is set; the fact `reads_reasoning_from` names further
    models that count as the same.
    """
    told = job.facts.same_model_as_history
    if told is not None:
        return told
    origin = block.origin
    if origin is None or (origin.api is None and origin.model is None):
        return None
    if origin.api is not None and origin.api != job.target.api:
        return False
    if origin.host is not None and job.target.host is not None and origin.host != job.target.host:
        return False
    if origin.model is None or job.target.model is None:
        return None if origin.api is None else True
    from llmneutral.profiles.models import matches, normalize_model

    theirs, ours = normalize_model(origin.model), normalize_model(job.target.model)
    return theirs == ours or any(matches(pattern, theirs) for pattern in job.facts.reads_reasoning_from)
