"""Messages after the passes, tools and settings → the keyword arguments of `client.chat.complete`.

Source: the types of mistralai 3 (`ChatCompletionRequest`), the validators of mistral-common.
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.job import Job, Messages
from llmneutral.convert.names import CALLS
from llmneutral.convert.params import chosen_tool, narrowed, write_params
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.tool_schemas import tool_schema
from llmneutral.convert.transport import written_tools
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.chat_completions.frame import (
    beside_thinking,
    is_plain_talk,
    joined,
    mark_prefill,
    refuse_others,
)
from llmneutral.transports.chat_completions.params import output_schema
from llmneutral.transports.chat_completions.request import RewrittenTool
from llmneutral.transports.mistral_chat.blocks import references, tell_unsent

Text = c.TextMessageContent
Result = c.ActionResultMessageContent
MEDIA_KINDS = (c.ImageMessageContent, c.AudioMessageContent, c.DocumentMessageContent)
USER_KINDS = frozenset({Text, *MEDIA_KINDS, c.GenericMessageContent})
ANSWER_KINDS = frozenset({Text, c.ThinkingMessageContent, c.RefusalMessageContent, c.GenericMessageContent})
SYSTEM_KINDS = frozenset({Text, c.GenericMessageContent})
ROLES = {"system": SYSTEM_KINDS, "developer": SYSTEM_KINDS, "user": USER_KINDS, "assistant": ANSWER_KINDS}


def frame(messages: Messages, job: Job) -> JSONObject:
    """Returns the request."""
    payload: JSONObject = {} if job.target.model is None else {"model": job.target.model}
    payload["messages"] = turns(messages, job)
    choice = chosen_tool(job)
    if choice is not None and choice.mode == "allowed":
        choice = narrowed(choice, job)
    if job.tools:
        payload["tools"] = written_tools(job)
        if choice is not None:
            payload["tool_choice"] = tool_choice(beside_thinking(choice, job), job)
    output_schema(job, payload)
    write_params(job, payload)
    return payload


# --- messages -----------------------------------------------------------------------------------


def turns(messages: Messages, job: Job) -> list[JSONObject]:
    """Returns the messages."""
    look = job.look(messages)
    out: list[JSONObject]
    if is_plain_talk(look):
        out = [{"role": role, "content": text} for role, text in zip(look.roles, look.texts, strict=True)]
        if job.trace is not None:
            for node, block in zip(out, look.blocks, strict=True):
                job.mark(node, block, key="content")
    else:
        out = _turns(messages, job)
    mark_prefill(messages, out, job)
    _leave_thinking_open(out)
    return out


def _turns(messages: Messages, job: Job) -> list[JSONObject]:
    out: list[JSONObject] = []
    names: dict[str | None, str] = {}  # of the tools, by the ids of their calls
    write = job.write
    for message in messages:
        only: Any = message.content[0] if len(message.content) == 1 else None
        kind = type(only)
        if kind is Result and message.role == "user":
            out.append(_named(write[kind](only, job), only, names, job))
        elif kind is c.ActionCallMessageContent and message.role == "assistant" and message.name is None:
            node = write[kind](only, job)
            names[only.tag] = node["function"]["name"]
            out.append({"role": "assistant", "tool_calls": [node]})
        else:
            out += _turn(message, names, job)
    return out


def _named(node: JSONObject, result: Result, names: dict[str | None, str], job: Job) -> JSONObject:
    """A tool message with the name of its tool."""
    name = names.get(result.tag)
    if name is None and result.name is not None:
        name = job.names.native(result.name, result.path)
    if name is not None:
        node["name"] = name
    return node


def _turn(message: Message, names: dict[str | None, str], job: Job) -> list[JSONObject]:
    """A message of any role; results of tools are messages of their own, before it."""
    allowed = ROLES.get(message.role)
    if allowed is None:
        job.refuse(f"the role {message.role!r} is none of {', '.join(ROLES)}", *message.content, rule="roles")
    if message.name is not None:
        job.note("coerced", f"a message has no name of a participant here: {message.name!r}", *message.content[:1])
    results, calls, blocks = [], [], []
    for block in message.content:
        if type(block) is Result and message.role == "user":
            results.append(_named(job.render(block), block, names, job))
        elif type(block) in CALLS and message.role == "assistant":
            calls.append(job.render(block))
            names[block.tag] = calls[-1]["function"]["name"]  # type: ignore[union-attr]  # one of CALLS
        else:
            blocks.append(block)
    refuse_others(blocks, allowed, message.role, job)
    if not blocks and (results or calls):
        return results or [{"role": "assistant", "tool_calls": calls}]
    node: JSONObject = {"role": message.role}
    _write_content(node, blocks, job)
    if calls:
        node["tool_calls"] = calls
    return [*results, node]


def _write_content(node: JSONObject, blocks: list[Any], job: Job) -> None:
    """One plain text is a string, anything else a list of chunks."""
    only = blocks[0] if len(blocks) == 1 else None
    if not blocks:
        node["content"] = ""
    elif type(only) is Text and not references(only):
        tell_unsent(only, job)
        node["content"] = only.text
        job.mark(node, only, key="content")
    elif job.facts.string_content_only:
        node["content"] = joined(blocks, job)
        job.mark(node, *blocks, key="content")
    else:
        node["content"] = [chunk for block in blocks for chunk in _chunks(block, job)]


def _chunks(block: Any, job: Job) -> list[JSONObject]:
    """A block as chunks: the references of a text stand behind it."""
    cited = references(block) if type(block) is Text and block.citations else []
    if cited:
        job.mark(cited[0], block)
        if not block.text:
            tell_unsent(block, job)
            return cited
    return [job.render(block), *cited]


def _leave_thinking_open(out: list[JSONObject]) -> None:
    """Reasoning that the model shall go on with is not closed: where it ends a prefix, and only there."""
    last = out[-1]["content"] if out and out[-1].get("prefix") else None
    if isinstance(last, list) and last[-1].get("type") == "thinking":
        last[-1]["closed"] = False


# --- tools --------------------------------------------------------------------------------------


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A function, which needs a schema; one of Mistral's own tools as it came."""
    if definition.native is not None:
        return definition.native
    if isinstance(definition, RewrittenTool):
        job.note("added", definition.why)
    function: JSONObject = {"name": native}
    if definition.description is not None:
        function["description"] = definition.description
    found = tool_schema(definition, native, job.facts.schema, job)
    function["parameters"] = found.schema
    if found.strict:  # False is the default
        function["strict"] = True
    return {"type": "function", "function": function}


def tool_choice(choice: ToolChoice, job: Job) -> Any:
    """A word or one tool. `any` is this API's word for required."""
    if choice.mode != "named":
        return "any" if choice.mode == "required" else choice.mode
    name = choice.names[0]
    found = next((each for each in job.tools if name in (each.native_name, each.name)), None)
    native = name if found is None else job.names.native(found.name, found.path)
    return {"type": "function", "function": {"name": native}}
