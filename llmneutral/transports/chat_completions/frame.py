"""Messages after the passes, tools and settings → one request of Chat Completions.

Source: the types of openai 3 (`CompletionCreateParams`, `ChatCompletionMessageParam`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.job import Job, Messages
from llmneutral.convert.look import Look
from llmneutral.convert.names import CALLS
from llmneutral.convert.params import chosen_tool, reasons, write_params
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.tool_schemas import tool_schema
from llmneutral.convert.transport import written_tools
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.chat_completions.blocks import is_official
from llmneutral.transports.chat_completions.params import output_schema
from llmneutral.transports.chat_completions.request import RewrittenTool

Text = c.TextMessageContent
USER_KINDS = frozenset(
    {Text, c.ImageMessageContent, c.AudioMessageContent, c.DocumentMessageContent, c.GenericMessageContent}
)
ANSWER_KINDS = frozenset({Text, c.RefusalMessageContent, c.GenericMessageContent})
SYSTEM_KINDS = frozenset({Text, c.GenericMessageContent})
_ROLES = {"system": "system", "developer": "developer", "user": "user", "assistant": "assistant"}
_ROLES_DEVELOPER = {**_ROLES, "system": "developer"}


def frame(messages: Messages, job: Job) -> JSONObject:
    """Returns the request."""
    payload: JSONObject = {} if job.target.model is None else {"model": job.target.model}
    payload["messages"] = turns(messages, job)
    choice = chosen_tool(job)
    if job.tools:
        payload["tools"] = written_tools(job)
        if choice is not None:
            payload["tool_choice"] = tool_choice(beside_thinking(choice, job), job, payload)
    output_schema(job, payload)
    write_params(job, payload)
    return payload


# --- messages -----------------------------------------------------------------------------------


def turns(messages: Messages, job: Job) -> list[JSONObject]:
    """Returns the messages."""
    roles = _ROLES_DEVELOPER if job.facts.developer_role else _ROLES
    no_text = None if job.facts.null_content_ok else ""
    look = job.look(messages)
    if is_plain_talk(look):
        out: list[JSONObject] = [
            {"role": roles[role], "content": text} for role, text in zip(look.roles, look.texts, strict=True)
        ]
        job.mark_each(out, look.blocks, key="content")
    else:
        out, write = [], job.write
        for message in messages:
            only = message.content[0] if len(message.content) == 1 else None
            kind = type(only)
            if kind is c.ActionResultMessageContent and message.role == "user":
                out.append(write[kind](only, job))
            elif kind is c.ActionCallMessageContent and message.role == "assistant" and message.name is None:
                out.append({"role": "assistant", "content": no_text, "tool_calls": [write[kind](only, job)]})
            else:
                out += _turn(message, roles, job)
    mark_prefill(messages, out, job)
    return out


def is_plain_talk(look: Look) -> bool:
    """Whether all there is are messages of one plain text each: the most frequent case, written at once."""
    return look.is_plain and _ROLES.keys() >= set(look.roles)


def _turn(message: Message, roles: Mapping[str, str], job: Job) -> list[JSONObject]:
    role = roles.get(message.role)
    if role is None:
        job.refuse(f"the role {message.role!r} is none of {', '.join(_ROLES)}", *message.content, rule="roles")
    return [_answer(message, job)] if role == "assistant" else _said(message, role, job)


def _said(message: Message, role: str, job: Job) -> list[JSONObject]:
    """A message of the user or an instruction; results of tools are messages of their own, before it."""
    results = [job.render(block) for block in message.content if type(block) is c.ActionResultMessageContent]
    blocks = [block for block in message.content if type(block) is not c.ActionResultMessageContent]
    refuse_others(blocks, USER_KINDS if role == "user" else SYSTEM_KINDS, role, job)
    if results and not blocks:
        return results
    node: JSONObject = {"role": role}
    _write_content(node, blocks, job)
    if message.name is not None:
        node["name"] = message.name
    return [*results, node]


def refuse_others(blocks: list[Any], allowed: frozenset[type], role: str, job: Job) -> None:
    """Refuses blocks of a kind that cannot stand in a message of a role."""
    for block in blocks:
        if type(block) not in allowed:
            kind = block.__struct_config__.tag
            job.refuse(f"a block of kind {kind} cannot stand in a message of the {role} here", block, rule="roles")


def _answer(message: Message, job: Job) -> JSONObject:
    """A turn of the assistant."""
    parts: list[Any] = []
    calls: list[Any] = []
    thoughts: list[Any] = []
    sounds: list[Any] = []
    into = dict.fromkeys(CALLS, calls) | {c.ThinkingMessageContent: thoughts, c.AudioMessageContent: sounds}
    for block in message.content:
        into.get(type(block), parts).append(block)
    refuse_others(parts, ANSWER_KINDS, "assistant", job)
    node: JSONObject = {"role": "assistant"}
    if parts and not calls and all([type(part) is c.RefusalMessageContent for part in parts]) and is_official(job):
        node |= {"content": None, "refusal": "".join([part.text for part in parts])}
        job.mark(node, *parts, key="refusal")
    elif parts:
        _write_content(node, parts, job)
    elif calls or not sounds:
        node["content"] = None if calls and job.facts.null_content_ok else ""
    if message.name is not None:
        node["name"] = message.name
    if thoughts:
        _write_reasoning(node, thoughts, job)
    if sounds:
        _write_sound(node, sounds, job)
    if calls:
        node["tool_calls"] = [job.render(call) for call in calls]
    return node


def _write_content(node: JSONObject, blocks: list[Any], job: Job) -> None:
    """One plain text is a string, anything else a list of parts; some servers take strings only."""
    only = blocks[0] if len(blocks) == 1 else None
    if type(only) is Text and not only.cache:
        node["content"] = only.text
        job.mark(node, only, key="content")
    elif job.facts.string_content_only:
        node["content"] = joined(blocks, job)
        job.mark(node, *blocks, key="content")
    else:
        node["content"] = [job.render(block) for block in blocks]


def joined(blocks: list[Any], job: Job) -> str:
    """All parts as one text."""
    texts = []
    for block in blocks:
        part = job.transport.blocks[type(block)](block, job)
        if part.get("type") != "text":
            job.refuse(
                f"content is text only here: a block of kind {block.__struct_config__.tag} cannot be sent to"
                f" {job.target.model or 'this model'}", block, rule="string_content_only",
            )  # fmt: skip
        texts.append(part["text"])
    if len(texts) > 1:
        job.note(
            "merged", "content is one text here: the texts of a message are joined, each on its own line", *blocks[1:]
        )
    return "\n".join(texts)


def _write_reasoning(node: JSONObject, thoughts: list[Any], job: Job) -> None:
    """The model's own reasoning, in the field of the endpoint."""
    field = job.facts.reasoning_field
    said = [job.transport.blocks[type(block)](block, job) for block in thoughts]
    if field == "reasoning_details":
        node[field] = [detail for details in said for detail in details]
    else:
        node[field] = "\n".join(said)
    if len(said) > 1:
        job.note("merged", "the reasoning of a turn is one text here, so its pieces are joined", *thoughts[1:])
    job.mark(node, *thoughts, key=field)


def _write_sound(node: JSONObject, sounds: list[Any], job: Job) -> None:
    """The sound of an answer goes back by its id; a turn has one."""
    *others, last = sounds
    if not last.id:
        job.refuse("sound of the assistant has neither an id nor a transcript", last, rule="media")
    if others:
        job.note("dropped", "a turn has one sound here; the last one counts", *others)
    node["audio"] = {"id": last.id}
    job.mark(node, last, key="audio")


def mark_prefill(messages: Messages, out: list[JSONObject], job: Job) -> None:
    """Some servers continue a trailing answer only where it is marked: `partial` (Kimi), `prefix` (DeepSeek)."""
    field = job.facts.prefill_field
    if field is None or not messages or messages[-1].role != "assistant" or "tool_calls" in out[-1]:
        return
    out[-1][field] = True


# --- tools --------------------------------------------------------------------------------------


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A function, its schema as the endpoint takes it; a provider's own tool as it came."""
    if definition.native is not None:
        return definition.native
    if isinstance(definition, RewrittenTool):
        job.note("renamed", definition.why)
    function: JSONObject = {"name": native}
    if definition.description is not None:
        function["description"] = definition.description
    if definition.parameters is not None:
        found = tool_schema(definition, native, job.facts.schema, job)
        function["parameters"] = found.schema
        if found.strict:  # False is the default
            function["strict"] = True
    return {"type": "function", "function": function}


def beside_thinking(choice: ToolChoice, job: Job) -> ToolChoice:
    """Some models refuse a forced call while they think."""
    forced = choice.mode in ("required", "named") or (choice.mode == "allowed" and choice.force)
    if not forced or job.facts.forced_with_thinking or not reasons(job):
        return choice
    if job.setting("on_conflict") == "refuse":
        job.refuse("tool_choice: this model refuses a forced call while it thinks", rule="tool_choice")
    job.note("coerced", f"tool_choice: {choice.mode!r} is refused while this model thinks; 'auto' is sent")
    return ToolChoice("auto") if choice.mode != "allowed" else ToolChoice("allowed", choice.names)


def tool_choice(choice: ToolChoice, job: Job, payload: JSONObject) -> Any:
    """A word, one tool, or some tools; imitators know no list of allowed tools, so only these are sent."""
    if choice.mode == "named":
        return _named(choice.names[0], job)
    if choice.mode != "allowed":
        return choice.mode
    mode = "required" if choice.force else "auto"
    if is_official(job):
        return {
            "type": "allowed_tools",
            "allowed_tools": {"mode": mode, "tools": [_named(n, job) for n in choice.names]},
        }
    kept = [i for i, each in enumerate(job.tools) if each.native_name in choice.names or each.name in choice.names]
    payload["tools"] = [payload["tools"][i] for i in kept]
    job.note(
        "coerced", f"tool_choice: a list of allowed tools is unknown here; only {', '.join(choice.names)} are sent"
    )
    return mode


def _named(name: str, job: Job) -> JSONObject:
    found = next((each for each in job.tools if name in (each.native_name, each.name)), None)
    if found is not None and found.native is not None:
        return {"type": "custom", "custom": {"name": name}}
    native = name if found is None else job.names.native(found.name, found.path)
    return {"type": "function", "function": {"name": native}}
