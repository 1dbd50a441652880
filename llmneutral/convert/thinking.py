"""Reasoning of the history: which blocks go back, and where in a turn they stand.

For APIs whose reasoning is sealed by a signature. The fact `reasoning_replay` says what an endpoint takes; it is
decided by the endpoint and the model, never by a name here.
Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.names import CALLS
from llmneutral.convert.passes import replay_reasoning, same_origin, with_content
from llmneutral.ir.contents import GenericMessageContent, ThinkingMessageContent
from llmneutral.ir.messages import Message

Thinking = ThinkingMessageContent
Keeps = Callable[[Thinking, Message, Job], str | None]
KINDS = frozenset({ThinkingMessageContent})


def is_sealed(block: Thinking) -> bool:
    """Whether a block proves itself: it has a signature, or is an opaque blob."""
    return bool(block.signature or block.data)


# --- which blocks go back -----------------------------------------------------------------------


def why_dropped(block: Thinking, message: Message, job: Job) -> str | None:
    """Says why a block of reasoning does not go back to this endpoint, or None if it does."""
    if job.setting("replay_reasoning") is False:
        return "replay_reasoning=False leaves reasoning out"
    if block.data == "":
        return "the opaque data of this reasoning is lost, and nothing is left to send"
    return _RULES[job.facts.reasoning_replay](block, message, job)


def _native(block: Thinking, message: Message, job: Job) -> str | None:
    del message
    if not is_sealed(block):
        return "reasoning without its signature is refused here"
    if same_origin(block, job) is False:
        return "the signature of this reasoning is valid only for the model and endpoint that gave it"
    return None


def _native_last(block: Thinking, message: Message, job: Job) -> str | None:
    if not _in_last_turn(message, job):
        return "only the last turn keeps its reasoning here"
    return _native(block, message, job)


def _in_last_turn(message: Message, job: Job) -> bool:
    """Whether a message belongs to the last turn of the assistant; neighbours are one turn."""
    messages = job.messages
    place = len(messages) - 1
    while place >= 0 and messages[place].role != "assistant":
        place -= 1
    while place >= 0 and messages[place].role == "assistant":
        if messages[place] is message:
            return True
        place -= 1
    return False


def _own_only(block: Thinking, message: Message, job: Job) -> str | None:
    del message
    if job.facts.same_model_as_history:
        return None
    origin = block.origin
    if origin is None or origin.model is None or same_origin(block, job) is not True:
        return "this endpoint can verify only reasoning that is known to be its own"
    if job.target.host is not None and origin.host != job.target.host:
        return "this reasoning is not known to come from this endpoint"
    return None


def _keep_all(block: Thinking, message: Message, job: Job) -> str | None:
    del block, message, job
    return None


def _keep_unsigned(block: Thinking, message: Message, job: Job) -> str | None:
    del message, job
    return "signed or opaque reasoning is not read here" if is_sealed(block) else None


def _strip(block: Thinking, message: Message, job: Job) -> str | None:
    del block, message, job
    return "reasoning of the history is not sent here"


_RULES: dict[str, Keeps] = {
    "native": _native,
    "native_last": _native_last,
    "own_only": _own_only,
    "keep_all": _keep_all,
    "keep_unsigned": _keep_unsigned,
    "strip": _strip,
}
"""By the fact `reasoning_replay`."""


# --- where it stands ----------------------------------------------------------------------------


def _one_reasoning_a_turn(messages: Messages, job: Job) -> Messages:
    """Of neighbours that will be one turn, the later ones lose their reasoning unless all of it is sealed."""
    out: Messages = []
    before: list[Any] = []  # the reasoning of the turn so far
    for place, message in enumerate(messages):
        if place == 0 or message.role != messages[place - 1].role:
            before = []
        found = [c for c in message.content if type(c) is Thinking] if message.role == "assistant" else []
        if found and before and not all(map(is_sealed, [*before, *found])):
            job.note("dropped", "two turns became one, and reasoning of both can stay only if it is signed", *found)
            message = with_content(message, [c for c in message.content if type(c) is not Thinking])
            found = []
        before += found
        out.append(message)
    return out if any([a is not b for a, b in zip(out, messages, strict=True)]) else messages


def _lead_with_reasoning(messages: Messages, job: Job) -> Messages:
    """A turn with signed reasoning and calls begins with reasoning; other libraries store the parts differently.

    Not where reasoning is bound to what stands before it: there the order is part of what was signed.
    """
    if job.facts.reasoning_prefix_bound:
        return messages
    out = [_led(message, job) if message.role == "assistant" else message for message in messages]
    return out if any([a is not b for a, b in zip(out, messages, strict=True)]) else messages


def _led(message: Message, job: Job) -> Message:
    content = message.content
    if not content or type(content[0]) in (Thinking, GenericMessageContent):
        return message
    first = next((c for c in content if type(c) is Thinking and is_sealed(c)), None)
    if first is None or not any([type(c) in CALLS for c in content]):
        return message
    job.note("moved", "a turn with calls begins with its reasoning", first)
    return with_content(message, [first, *[c for c in content if c is not first]])


def _pad_reasoning(messages: Messages, job: Job) -> Messages:
    """A turn with calls holds reasoning, even an empty one, where the endpoint demands it."""
    if not job.facts.thinking_required_on_tool_calls or not job.setting("pad_reasoning"):
        return messages
    out = []
    for message in messages:
        if message.role == "assistant" and not any([type(c) is Thinking for c in message.content]):
            calls = [c for c in message.content if type(c) in CALLS]
            if calls:
                new = Thinking("")
                job.note("added", "this endpoint demands reasoning on every turn with calls", *calls, new=new)
                message = with_content(message, (new, *message.content))
        out.append(message)
    return out


def begins_with_reasoning(message: Message) -> bool:
    """Whether a turn begins with reasoning, or with a block of the provider's own."""
    return bool(message.content) and type(message.content[0]) in (Thinking, GenericMessageContent)


def misses_reasoning(messages: Messages) -> bool:
    """Whether the turn that is being continued has calls but no reasoning in front of them.

    "expected `thinking` or `redacted_thinking`, but found `tool_use`": the last turn of the assistant, if it called
    tools, has to begin with its reasoning while thinking with a budget is on.
    """
    last = next((m for m in reversed(messages) if m.role == "assistant"), None)
    if last is None or begins_with_reasoning(last):
        return False
    return any([type(c) in CALLS for c in last.content])


replay_by_fact = replay_reasoning(why_dropped)
one_reasoning_a_turn = Pass("one_reasoning_a_turn", _one_reasoning_a_turn, KINDS)
lead_with_reasoning = Pass("lead_with_reasoning", _lead_with_reasoning, KINDS)
pad_reasoning = Pass("pad_reasoning", _pad_reasoning, frozenset(CALLS))
