"""Messages after the passes, tools and settings → the keyword arguments of `ClientV2.chat`.

Source: the types of cohere 7 (`ChatMessageV2`, `ToolV2`), https://docs.cohere.com/reference/chat.
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages
from llmneutral.convert.names import CALLS
from llmneutral.convert.params import chosen_tool, narrowed, write_params
from llmneutral.convert.passes import EMPTY_MESSAGE
from llmneutral.convert.tool_schemas import tool_schema
from llmneutral.convert.trace import Trace
from llmneutral.convert.transport import written_tools
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.cohere_chat.blocks import own_citations, tell_unsent
from llmneutral.transports.cohere_chat.params import answer_format

Text = c.TextMessageContent
Result = c.ActionResultMessageContent
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
KINDS = {
    "system": frozenset({Text, c.GenericMessageContent}),
    "user": frozenset({Text, c.ImageMessageContent, c.AudioMessageContent, c.GenericMessageContent}),
    "assistant": frozenset(
        {Text, c.ThinkingMessageContent, c.RefusalMessageContent, c.AudioMessageContent, c.GenericMessageContent}
    ),
}
ARGUMENTS = frozenset(
    "model messages tools strict_tools documents citation_options response_format safety_mode max_tokens stop_sequences"
    " temperature seed frequency_penalty presence_penalty k p logprobs tool_choice thinking priority".split()
)
"""The keyword arguments of the SDK's method; anything else goes by its `request_options`."""


def frame(messages: Messages, job: Job) -> JSONObject:
    """Returns the request."""
    payload: JSONObject = {} if job.target.model is None else {"model": job.target.model}
    documents: list[JSONObject] = []
    payload["messages"] = turns(messages, documents, job)
    choice = chosen_tool(job)
    if choice is not None and choice.mode == "allowed":
        choice = narrowed(choice, job)
    if job.tools:
        payload["tools"] = written_tools(job)
        if _is_strict(job):
            payload["strict_tools"] = True
        if choice is not None and choice.mode != "auto":
            payload["tool_choice"] = choice.mode.upper()
    if given := job.settings.get("documents"):
        documents = [*given, *documents]
    if documents:
        payload["documents"] = _apart(documents, job)
    answer_format(job, payload)
    write_params(job, payload)
    return payload


# --- messages -----------------------------------------------------------------------------------


def turns(messages: Messages, documents: list[JSONObject], job: Job) -> list[JSONObject]:
    """Returns the messages; the documents among them are the request's."""
    look = job.look(messages)
    if look.is_plain and ROLES.keys() >= set(look.roles):
        out: list[JSONObject] = []
        for role, block in zip(look.roles, look.blocks, strict=True):
            out.append({"role": ROLES[role], "content": block.text})
            if job.trace is not None:
                job.mark(out[-1], block, key="content")
        return out
    out, write = [], job.write
    for message in messages:
        only: Any = message.content[0] if len(message.content) == 1 else None
        kind = type(only)
        if kind is Result and message.role == "user":
            out.append(write[kind](only, job))
        elif kind is c.ActionCallMessageContent and message.role == "assistant" and message.name is None:
            out.append({"role": "assistant", "tool_calls": [write[kind](only, job)]})
        else:
            out += _turn(message, documents, job)
    return out


def _turn(message: Message, documents: list[JSONObject], job: Job) -> list[JSONObject]:
    """A message of any role; results of tools are messages of their own, before it."""
    role = ROLES.get(message.role)
    if role is None:
        job.refuse(f"the role {message.role!r} is none of {', '.join(ROLES)}", *message.content, rule="roles")
    if message.name is not None:
        job.note("coerced", f"a message has no name of a participant here: {message.name!r}", *message.content[:1])
    results, calls, blocks = [], [], []
    for block in message.content:
        if type(block) is Result and role == "user":
            results.append(job.render(block))
        elif type(block) is c.DocumentMessageContent and role == "user":
            documents.append(job.render(block))
            job.note("moved", "documents stand beside the messages here", block)
        elif type(block) in CALLS and role == "assistant":
            calls.append(block)
        elif type(block) not in KINDS[role]:
            kind = block.__struct_config__.tag
            job.refuse(f"a block of kind {kind} cannot stand in a message of the {role} here", block, rule="roles")
        else:
            blocks.append(block)
    if role == "assistant":
        return [_answer(blocks, calls, job)]
    if results and not blocks:
        return results
    return [*results, _said(role, blocks, job)]


def _said(role: str, blocks: list[Any], job: Job) -> JSONObject:
    node: JSONObject = {"role": role}
    if not blocks:
        job.note("added", "a message whose documents stand beside it needs a text")
        node["content"] = EMPTY_MESSAGE
    else:
        _write_content(node, blocks, job)
    return node


def _write_content(node: JSONObject, blocks: list[Any], job: Job) -> None:
    """One text is a string, anything else a list."""
    only = blocks[0] if len(blocks) == 1 else None
    if type(only) is Text:
        tell_unsent(only, job)
        node["content"] = only.text
        job.mark(node, only, key="content")
    else:
        node["content"] = [job.render(block) for block in blocks]


def _answer(blocks: list[Any], calls: list[Any], job: Job) -> JSONObject:
    """A turn of the assistant: beside calls its texts are the plan."""
    node: JSONObject = {"role": "assistant"}
    planned = [block for block in blocks if type(block) is Text] if calls else []
    content = [block for block in blocks if type(block) is not Text] if calls else blocks
    if content:
        _write_content(node, content, job)
    if planned:
        _write_plan(node, planned, job)
    if calls:
        node["tool_calls"] = [job.render(call) for call in calls]
    if cited := [cite for block in blocks if type(block) is Text and block.citations for cite in own_citations(block)]:
        node["citations"] = cited
    return node


def _write_plan(node: JSONObject, texts: list[Any], job: Job) -> None:
    for text in texts:
        tell_unsent(text, job)
    node["tool_plan"] = "\n".join([text.text for text in texts])
    if len(texts) > 1:
        job.note(
            "merged",
            "the texts beside calls are one text here (the plan for the tools), so they are joined",
            *texts[1:],
        )
    job.mark(node, *texts, key="tool_plan")


def _apart(documents: list[Any], job: Job) -> list[Any]:
    """Documents with ids of their own; of two with one id, the later goes without, and gets one from the server."""
    seen: set[str] = set()
    out = []
    for document in documents:
        name = document.get("id") if isinstance(document, dict) else None
        if isinstance(name, str) and name in seen:
            job.note("coerced", f"documents: two have the id {name!r}; the later one goes without")
            plain = {key: value for key, value in document.items() if key != "id"}
            if job.trace is not None:
                job.trace.alias(document, plain)
            document = plain
        elif isinstance(name, str):
            seen.add(name)
        out.append(document)
    return out


# --- tools --------------------------------------------------------------------------------------


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A function, which needs a schema. Whether it is strict is said once a request."""
    function: JSONObject = {"name": native}
    if definition.description is not None:
        function["description"] = definition.description
    loose = msgspec.structs.replace(definition, strict=None)
    function["parameters"] = tool_schema(loose, native, "cohere", job).schema
    return {"type": "function", "function": function}


def _is_strict(job: Job) -> bool:
    """Whether the schemas of the tools are enforced: all of them, or none.

    Source: https://docs.cohere.com/docs/structured-outputs (tools): each needs a required parameter.
    """
    asked = [tool for tool in job.tools if tool.strict]
    if not asked:
        return False
    if len(asked) < len(job.tools):
        why = "only some of the tools ask for it, and it holds for all or none"
    elif bare := [tool.native_name for tool in asked if not (tool.parameters or {}).get("required")]:
        why = f"{', '.join(bare)} has no required parameter"
    elif not job.facts.strict_tools:
        why = "this model does not know it"
    else:
        return True
    job.note("coerced", f"strict_tools: {why}; it is off")
    return False


# --- what the SDK has no argument for -----------------------------------------------------------


def into_options(payload: JSONObject, extra: JSONObject) -> None:
    """Puts `extra_body` among the keyword arguments, and what is none of them into `request_options`."""
    further = {key: value for key, value in extra.items() if key not in ARGUMENTS}
    payload.update({key: value for key, value in extra.items() if key in ARGUMENTS})
    if further:
        payload["request_options"] = {"additional_body_parameters": further}


def wire(payload: JSONObject, trace: Trace | None) -> JSONObject:
    """The body: what stands in `request_options` is merged in, as the SDK does it."""
    options = payload.get("request_options")
    if options is None:
        return payload
    merged = {key: value for key, value in payload.items() if key != "request_options"}
    if trace is not None:
        for key in merged:
            trace.alias_key(payload, key, merged, key)
    merged.update(options.get("additional_body_parameters") or {})
    return merged
