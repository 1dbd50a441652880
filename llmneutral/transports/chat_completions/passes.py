"""Rewrites of the messages that only Chat Completions and its imitators need.

OpenAI itself asks for nothing but pairing; each rule here is switched on by a fact. Sources: the spec of
the API, the error texts of the servers, https://docs.vllm.ai (chat templates).
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.cache import limit_cache_marks
from llmneutral.convert.instructions import RULE, SAY_JSON, instructed, says_json
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.media import transcript_of
from llmneutral.convert.names import CALLS
from llmneutral.convert.params import enforces_schemas
from llmneutral.convert.passes import (
    EMPTY_ANSWER,
    MEDIA,
    fill_empty,
    filler,
    last_turn,
    lead_with_user,
    merge_system,
    same_origin,
    with_content,
)
from llmneutral.convert.settings import ToolChoice
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import dumps
from llmneutral.ir.messages import Message
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.chat_completions.blocks import SENTINEL, is_official, takes_signatures

NO_REASONING = "(reasoning not available)"
_CANNOT_CARRY = frozenset({c.ThinkingMessageContent, *CALLS, c.RefusalMessageContent, c.GenericMessageContent})


# --- reasoning ----------------------------------------------------------------------------------


def keeps(block: c.ThinkingMessageContent, message: Message, job: Job) -> str | None:
    """Says why a block of reasoning does not go back, or None. Unknown makers get the benefit of the doubt."""
    del message
    if job.facts.reasoning_content == "absent":
        return "this endpoint takes no reasoning back"
    if not job.setting("replay_reasoning"):
        return "replay_reasoning is off"
    own = same_origin(block, job)
    if own is False:
        return "this reasoning was written by another model, or at another endpoint"
    if own is None and (block.seal or block.is_redacted):
        return "this reasoning is signed or encrypted, and only the API that gave it can read it"
    if not block.text and not (
        job.facts.reasoning_field == "reasoning_details" and (block.native or {}).get("reasoning_details")
    ):
        return "the reasoning has no text that could go back"
    return None


def _pad_reasoning(messages: Messages, job: Job) -> Messages:
    """Reasoning on each message with calls, where a server demands it: a placeholder, or no thinking at all."""
    if job.facts.reasoning_content != "required_on_tool_calls" or job.settings.get("reasoning_effort") == "none":
        return messages
    bare = {
        id(m) for m in messages if _calls_in(m) and not any([type(x) is c.ThinkingMessageContent for x in m.content])
    }
    if not bare:
        return messages
    if not job.setting("pad_reasoning"):
        why = "reasoning_effort: a message with calls has no reasoning of this model, so thinking is off"
        job.note("coerced", f"{why}, as pad_reasoning=False says")
        job.settings = {**job.settings, "reasoning_effort": "none"}
        return messages
    return [_padded(message, job) if id(message) in bare else message for message in messages]


def _padded(message: Message, job: Job) -> Message:
    placeholder = c.ThinkingMessageContent(NO_REASONING)
    calls = _calls_in(message)
    job.note(
        "added", "this server demands reasoning beside calls; a placeholder stands for it", *calls, new=placeholder
    )
    return with_content(message, (placeholder, *message.content))


def _calls_in(message: Message) -> list[Any]:
    return [block for block in message.content if type(block) in CALLS] if message.role == "assistant" else []


def _sign_calls(messages: Messages, job: Job) -> Messages:
    """The first call of each step carries a thought signature, where the model demands one.

    Source: https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    if not (job.facts.requires_thought_signature and takes_signatures(job)):
        return messages
    return [_signed(message, job) for message in messages]


def _signed(message: Message, job: Job) -> Message:
    calls = _calls_in(message)
    if not calls or getattr(calls[0], "thought_signature", SENTINEL) is not None:
        return message
    new = msgspec.structs.replace(calls[0], thought_signature=SENTINEL)
    why = "this model wants a thought signature on the first call of a step; a value that skips the check stands for it"
    job.note("added", why, calls[0], new=new)
    return with_content(message, [new if block is calls[0] else block for block in message.content])


# --- roles --------------------------------------------------------------------------------------


def _system_role(messages: Messages, job: Job) -> Messages:
    """The role developer, only where it is known."""
    if job.facts.developer_role or "developer" not in job.look(messages).roles:
        return messages
    out = []
    for message in messages:
        if message.role == "developer":
            job.note("renamed", "this server knows no role developer; it is system", *message.content)
            message = msgspec.structs.replace(message, role="system")
        out.append(message)
    return out


def _alternate_roles(messages: Messages, job: Job) -> Messages:
    """Neighbours of one role become one message; results of tools are messages of their own and stay."""
    if not job.facts.alternate_roles:
        return messages
    out: Messages = []
    for message in messages:
        last = out[-1] if out else None
        if last is None or last.role != message.role or message.is_system() or _ends_in_result(last, message):
            out.append(message)
            continue
        job.note("merged", "roles have to take turns here: messages in a row from one are joined", *message.content)
        out[-1] = with_content(last, _joined(last.content, message.content, job))
    return out if len(out) < len(messages) else messages


def _ends_in_result(last: Message, message: Message) -> bool:
    kinds = {type(block) for block in message.content}
    return c.ActionResultMessageContent in kinds or (
        bool(last.content) and type(last.content[-1]) is c.ActionResultMessageContent
    )


def _joined(first: tuple[Any, ...], second: tuple[Any, ...], job: Job) -> tuple[Any, ...]:
    """Both contents; where text meets text, one text with a newline between."""
    if not (first and second and type(first[-1]) is type(second[0]) is c.TextMessageContent) or first[-1].cache:
        return (*first, *second)
    new = msgspec.structs.replace(
        second[0], text=f"{first[-1].text}\n{second[0].text}", citations=(*first[-1].citations, *second[0].citations)
    )
    return (*first[:-1], job.note.became(new, first[-1], second[0]), *second[1:])


def _bridge_after_tool(messages: Messages, job: Job) -> Messages:
    """A turn of the assistant between results and the user's own words, where a server wants one."""
    if not job.facts.assistant_required_after_tool:
        return messages
    out: Messages = []
    after_result = False
    for message in messages:
        results = tuple([x for x in message.content if type(x) is c.ActionResultMessageContent])
        others = tuple([x for x in message.content if type(x) is not c.ActionResultMessageContent])
        if message.role != "user":
            out, after_result = [*out, message], False
            continue
        if results:
            out.append(message if not others else with_content(message, results))
            after_result = True
        if others or not results:
            if after_result:
                new = filler(
                    EMPTY_ANSWER, "a turn of the assistant has to stand between results and the user's words", job
                )
                out.append(Message("assistant", (new,)))
            out.append(message if not results else with_content(message, others))
            after_result = False
    return out


def _first_turn(messages: Messages, job: Job) -> Messages:
    """A turn of the user first, where a server wants one; and no request without a message."""
    return lead_with_user.run(messages, job) if job.facts.leading_user or not messages else messages


def _last_turn(messages: Messages, job: Job) -> Messages:
    """A trailing turn of the assistant is legal history at OpenAI; only where the fact is known does it matter."""
    return messages if job.facts.prefill is None else last_turn.run(messages, job)


# --- what stands in a message -------------------------------------------------------------------


def _spoken_answers(messages: Messages, job: Job) -> Messages:
    """An answer's own sound goes back by its id; without one its transcript stands as text."""
    if not any(
        [type(x) is c.AudioMessageContent and not x.id for m in messages if m.role == "assistant" for x in m.content]
    ):
        return messages
    return [_transcribed(message, job) if message.role == "assistant" else message for message in messages]


def _transcribed(message: Message, job: Job) -> Message:
    content: list[Any] = []
    for block in message.content:
        if type(block) is c.AudioMessageContent and not block.id and (said := transcript_of(block)):
            new = c.TextMessageContent(said)
            job.note("rewritten", "sound of the assistant without an id: its transcript stands as text", block, new=new)
            block = new
        content.append(block)
    return with_content(message, content)


def _no_empty(messages: Messages, job: Job) -> Messages:
    """Instructions without a block vanish; any other message has at least one."""
    if not job.look(messages).has_empty_messages:
        return messages
    return fill_empty.run([message for message in messages if message.content or not message.is_system()], job)


def _marks(messages: Messages, job: Job) -> Messages:
    """Cache marks stand on parts only: those of calls move to the part before, those of tools are dropped."""
    tools = job.tools
    if not job.look(messages).has_marks and not any([tool.cache for tool in tools]) and job.setting("cache") != "auto":
        return messages
    if any([tool.cache for tool in tools]):
        names = ", ".join([tool.native_name for tool in tools if tool.cache])
        job.note("dropped", f"tools take no cache breakpoint here: {names}")
        tools = tuple([msgspec.structs.replace(tool, cache=None) for tool in tools])
    job.tools = ()  # so that no automatic mark falls on one
    if job.facts.cache not in ("none", "key"):
        messages = [_carried(message, job) for message in messages]
    messages = limit_cache_marks.run(messages, job)
    job.tools = tools
    return messages


def _carried(message: Message, job: Job) -> Message:
    if not any([x.cache and type(x) in _CANNOT_CARRY for x in message.content]):
        return message
    kept: list[Any] = []
    for block in message.content:
        if block.cache and type(block) in _CANNOT_CARRY:
            place = next((i for i in range(len(kept) - 1, -1, -1) if type(kept[i]) not in _CANNOT_CARRY), None)
            if place is None:
                job.note(
                    "dropped", "the cache mark is on a block that cannot carry one, and no part stands before it", block
                )
            else:
                job.note("moved", "the cache mark of a block that cannot carry one stands on the part before it", block)
                before = kept[place]
                kept[place] = job.note.became(
                    msgspec.structs.replace(before, cache=before.cache or block.cache), before
                )
            block = job.note.became(msgspec.structs.replace(block, cache=None), block)
        kept.append(block)
    return with_content(message, kept)


# --- what the settings ask of the messages ------------------------------------------------------


def _ask_for_json(messages: Messages, job: Job) -> Messages:
    """The mode json_object wants the word JSON in some message; a schema that cannot be enforced goes as a rule.

    Source: https://developers.openai.com/api/docs/guides/structured-outputs (JSON mode)
    """
    wanted = job.settings.get("response_format")
    if wanted is None or job.target.output_schema is not None:
        return messages
    if wanted.get("type") == "json_schema" and not enforces_schemas(job.facts):
        schema = (wanted.get("json_schema") or {}).get("schema") or {}
        return instructed(messages, RULE + dumps(schema), "this model enforces no JSON Schema; a rule asks for it", job)
    if wanted.get("type") != "json_object" or says_json(messages):
        return messages
    return instructed(messages, SAY_JSON, "with response_format json_object some message has to say JSON", job)


def _nudge(messages: Messages, job: Job) -> Messages:
    """Asks for a call in words, where it cannot be required and the caller wants it."""
    choice: ToolChoice | None = job.settings.get("tool_choice")
    if choice is None or job.facts.tool_choice_required or not (job.tools and job.setting("nudge_required")):
        return messages
    if choice.mode not in ("required", "named"):
        return messages
    asked = f"Call the tool {choice.names[0]}." if choice.names else "Call one of the tools."
    new = filler(asked, "nudge_required: a call cannot be required here, so words ask for it", job)
    return [*messages, Message("user", (new,))]


def _own_tools(messages: Messages, job: Job) -> Messages:
    """OpenAI takes functions and custom tools; a provider's own tool of another API is none of them."""
    if not any([tool.native is not None for tool in job.tools]):
        return messages
    job.tools = tuple([_as_function(tool, job) for tool in job.tools])
    if is_official(job):
        job.tools = tuple([tool for tool in job.tools if _is_own(tool, job)])
    return messages


def _as_function(tool: ToolDefinition, job: Job) -> ToolDefinition:
    """A function that was written in another API's form: it has parameters, as no provider's own tool has."""
    if tool.native is None or tool.parameters is None:
        return tool
    job.note("coerced", f"the tool {tool.name!r} goes as a function, without what only its own API knows of it")
    return msgspec.structs.replace(tool, native=None)


def _is_own(tool: ToolDefinition, job: Job) -> bool:
    if tool.native is None or isinstance(tool.native.get("custom"), dict):
        return True
    kind = tool.native.get("type")
    job.note(
        "dropped", f"the tool {tool.name!r} is another API's own ({kind}); this API takes functions and custom tools"
    )
    return False


def _tools_and_reasoning(messages: Messages, job: Job) -> Messages:
    """Settings that exclude each other are settled before anything depends on them.

    Source: https://developers.openai.com/api/docs/guides/deployment-checklist (tools over Chat Completions)
    """
    facts = job.facts
    if job.tools and facts.chat_tools == "never":
        job.refuse(f"{job.target.model} takes no tools over Chat Completions; use codex_responses", rule="chat_tools")
    why = None
    if job.tools and facts.chat_tools == "without_reasoning":
        why = f"{job.target.model} takes tools over Chat Completions only without reasoning"
    elif facts.thinking_requires_stream and not job.settings.get("stream") and facts.thinking_off != "never":
        why = f"{job.target.model} thinks only while it streams"
    if why is not None and job.settings.get("reasoning_effort") != "none":
        job.note("coerced", f"reasoning_effort: {why}; it is off")
        job.settings = {**job.settings, "reasoning_effort": "none"}
    return messages


TOOLS_AND_REASONING = Pass("chat_tools", _tools_and_reasoning)
OWN_TOOLS = Pass("own_tools", _own_tools)
PAD_REASONING = Pass("pad_reasoning", _pad_reasoning, frozenset(CALLS))
SIGN_CALLS = Pass("thought_signatures", _sign_calls, frozenset(CALLS))
SYSTEM_ROLE = Pass("system_role", _system_role)
MERGE_SYSTEM = merge_system
ALTERNATE_ROLES = Pass("alternate_roles", _alternate_roles)
BRIDGE_AFTER_TOOL = Pass("bridge_after_tool", _bridge_after_tool, frozenset({c.ActionResultMessageContent}))
FIRST_TURN = Pass("first_turn", _first_turn)
LAST_TURN = Pass("last_turn", _last_turn)
SPOKEN_ANSWERS = Pass("spoken_answers", _spoken_answers, frozenset({c.AudioMessageContent}))
NO_EMPTY = Pass("fill_empty", _no_empty)
MARKS = Pass("limit_cache_marks", _marks)
ASK_FOR_JSON = Pass("response_format", _ask_for_json)
NUDGE = Pass("nudge_required", _nudge)
MOVED = (c.ImageMessageContent, c.DocumentMessageContent, c.AudioMessageContent)
assert (MEDIA[0], MEDIA[2], MEDIA[1]) == MOVED
