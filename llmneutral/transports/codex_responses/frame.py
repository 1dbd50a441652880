"""Messages after the passes → payload.

We are stateless: `store` is false unless the caller wants it, and the whole history stands in `input`.
Docs: https://developers.openai.com/api/docs/guides/conversation-state, types of openai 3 (ResponseCreateParams).
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.job import Job, Messages
from llmneutral.convert.params import write_params
from llmneutral.convert.passes import EMPTY_ANSWER, EMPTY_MESSAGE, is_blank
from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.transports.codex_responses.passes import HISTORY, on_the_server
from llmneutral.transports.codex_responses.settings import finish_reasoning, output_schema, write_tools
from llmneutral.transports.codex_responses.write import ALWAYS_ITEMS, assistant_items, user_items

Text = TextMessageContent


def frame(messages: Messages, job: Job) -> JSONObject:
    """Assembles the payload; its keys are always in the same order."""
    payload: JSONObject = {}
    if job.target.model is not None:
        payload["model"] = job.target.model
    start = _leading_texts(messages)
    instruct(messages[:start], payload, job)
    payload["input"] = items_of(messages, start, job)
    write_tools(job, payload)
    write_params(job, payload)
    finish_reasoning(job, payload)
    output_schema(job, payload)
    payload.setdefault("store", False)
    return payload


# --- instructions -------------------------------------------------------------------------------


def _leading_texts(messages: Messages) -> int:
    """Returns how many messages at the start go to `instructions`: texts, and none that carries a cache breakpoint."""
    for place, message in enumerate(messages):
        if not message.is_system() or any([type(c) is not Text or bool(c.cache) for c in message.content]):
            return place
    return len(messages)


def instruct(messages: Messages, payload: JSONObject, job: Job) -> None:
    """Writes the leading instructions as one text, joined by blank lines; blank ones vanish."""
    told = []
    for message in messages:
        for block in message.content:
            if is_blank(block):
                job.note("dropped", "a blank instruction says nothing", block)
            else:
                told.append(block)
                job.mark(payload, block, key="instructions")
    if told:
        payload["instructions"] = "\n\n".join([block.to_text() for block in told])
    elif job.facts.instructions_required:
        payload["instructions"] = EMPTY_ANSWER
        job.note("added", "this endpoint demands instructions, and there are none")


# --- input --------------------------------------------------------------------------------------


def items_of(messages: Messages, start: int, job: Job) -> list[JSONObject]:
    """Returns the items of the messages from a place on; talk of one text a turn, the usual one, is written at once."""
    later = "developer" if job.facts.developer_role else "system"
    roles = {"user": "user", "assistant": "assistant", "system": later, "developer": later}
    look = job.look(messages)
    if look.is_plain and not look.has_blank_texts and not job.facts.typed_input:
        turns = zip(look.roles[start:], look.texts[start:], strict=True)
        items: list[JSONObject] = [{"role": roles[role], "content": text} for role, text in turns]
        job.mark_each(items, look.blocks[start:], key="content")
    else:
        items = _each_in_turn(messages[start:], roles, job)
    _settle_custom(items)
    if not items and not on_the_server(job, *HISTORY, "prompt"):
        job.note("added", "there is no turn at all, and one is needed")
        items.append(_written(EMPTY_MESSAGE, job))
    return items


def _each_in_turn(messages: Messages, roles: dict[str, str], job: Job) -> list[JSONObject]:
    items: list[JSONObject] = []
    plain = frozenset({"assistant"}) if job.facts.typed_input else frozenset(roles)
    traced = job.trace is not None
    for message in messages:
        if message.name is not None:
            job.note("rewritten", f"name: Responses has no names of participants ({message.name!r})", *message.content)
        role, content = message.role, message.content
        if len(content) == 1:
            block: Any = content[0]
            kind = type(block)
            if kind in ALWAYS_ITEMS:
                items.append(job.render(block))
                continue
            if kind is Text and block.native is None and not block.cache and role in plain:
                text = block.text
                if (text and not text.isspace()) or role == "assistant":
                    node: JSONObject = {"role": roles[role], "content": text}
                    items.append(node)
                    if traced:
                        job.mark(node, block, key="content")
                    continue
        items += _items(message, roles[role], job)
    return items


def _items(message: Message, role: str, job: Job) -> list[JSONObject]:
    content: tuple[Any, ...] = message.content
    if role == "assistant":
        return assistant_items(content, job)
    if not all(map(is_blank, content)):
        return user_items(role, content, job)
    for block in content:
        job.note("dropped", "a blank message says nothing", block)
    if role != "user":
        return []
    job.note("added", "an empty turn of the user gets a text that says so", *content)
    return [_written(EMPTY_MESSAGE, job)]


def _written(text: str, job: Job) -> JSONObject:
    """A message of the user that the caller never wrote."""
    if job.facts.typed_input:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"role": "user", "content": text}


def _settle_custom(items: list[JSONObject]) -> None:
    """The output of a custom tool's call is an item of its own kind."""
    custom = {item["call_id"] for item in items if item.get("type") == "custom_tool_call"}
    for item in items if custom else ():
        if item.get("type") == "function_call_output" and item["call_id"] in custom:
            item["type"] = "custom_tool_call_output"
