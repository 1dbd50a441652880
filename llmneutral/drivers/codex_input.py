"""What a prompt stack is for `codex app-server`: instructions, tools and a conversation of a thread, and one turn.

The protocol takes turns of the user only. What came earlier and is not in the thread already is told in one text.
Field names: the schema that `codex app-server generate-json-schema` prints (0.171.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from llmneutral import structured
from llmneutral.convert.report import Change, Notes
from llmneutral.convert.schema import strict_compile
from llmneutral.convert.settings import SETTINGS, canonical_settings
from llmneutral.errors import ConversionError
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.profiles import Profile
from llmneutral.structured import Plan

API = "codex_app_server"
EARLIER = "Earlier conversation:"
NOT_SETTINGS = frozenset({"model", "facts", "trace", "api_mode", "stream", "provider", "base_url", "n"})
"""What is carried with the settings of a call and is none, or is the driver's own business."""
Items = list[JSONObject]


class Asked(msgspec.Struct, frozen=True):
    """One call, ready for a thread.

    Attributes:
        thread: Parameters of thread/start that the stack decides: instructions and tools.
        turn: Parameters of turn/start but for the thread and the input.
        earlier: The messages before the turn of the user, without instructions.
        now: The turn of the user.
        items: The turn as input items.
        tools: The caller's tools by the name that codex is told.
        changes: What is not a one-to-one rendering, whatever the thread holds.
        given: Every message, for addresses.
    """

    thread: JSONObject
    turn: JSONObject
    earlier: tuple[Message, ...]
    now: tuple[Message, ...]
    items: Items
    tools: dict[str, ToolDefinition]
    changes: tuple[Change, ...]
    given: tuple[Message, ...]


def read_stack(stack: PromptStack, model: str | None, facts: Profile, *, dynamic_tools: bool) -> Asked:
    """Returns what a stack asks of codex.

    Args:
        stack: The stack of the call, with its tools, output schema and settings.
        model: The driver's model; the stack's settings may name another.
        facts: The driver's profile.
        dynamic_tools: Whether tools of the caller may be offered.

    Raises:
        ConversionError: If the stack holds what codex cannot be told, naming message, block and rule.
    """
    given = tuple(stack.messages)
    note = Notes(given)
    tools = _tools(stack.tools, dynamic_tools)
    instructions, rest = _instructions(given, note)
    earlier, now = _split(rest, given)
    turn = _turn(stack, model, facts, note)
    items = _items(now, note, given)
    thread: JSONObject = {"developerInstructions": instructions} if instructions else {}
    if tools:
        thread["dynamicTools"] = [_tool(name, tool) for name, tool in tools.items()]
    return Asked(thread, turn, earlier, now, items, tools, tuple(note.changes), given)


def plan_of(schema: Any, facts: Profile) -> Plan:
    """Returns how an answer of a schema is asked for and read: codex enforces it."""
    return structured.plan(schema, {"structured_output_strategy": "native"}, facts, ())


def with_earlier(asked: Asked) -> tuple[Items, tuple[Change, ...]]:
    """Returns the input of a new thread, the earlier turns told in one text, and what that changes."""
    if not asked.earlier:
        return asked.items, ()
    note = Notes(asked.given)
    note.step = "history"
    told, images = [EARLIER], []
    for message in asked.earlier:
        kept = [block for block in message.content if _is_told(block, note)]
        images += [_image(block, asked.given) for block in kept if isinstance(block, c.ImageMessageContent)]
        told += [f"{message.role}: {text}" for block in kept if (text := block.to_text())]
    blocks = [block for message in asked.earlier for block in message.content]
    note("rewritten", "codex takes turns of the user only: what came earlier is told in one text", *blocks)
    return [_text("\n\n".join(told)), *images, *asked.items], tuple(note.changes)


def digest_of(thread: JSONObject, messages: Iterable[Message]) -> str:
    """Returns what a thread is known by: its instructions and tools, and what was said in it."""
    said = [[message.role, "".join([_mark(block) for block in message.content])] for message in messages]
    return hashlib.sha256(dumps([thread, said]).encode()).hexdigest()


def _mark(block: Any) -> str:
    """What of a block counts for the history: codex keeps the rest itself, or never had it."""
    if isinstance(block, c.ThinkingMessageContent | c.GenericMessageContent):
        return ""
    if isinstance(block, c.ImageMessageContent):
        return f"\0{block.url or block.data or block.file_id}\0"
    return str(block.to_text())


# --- instructions and turns ---------------------------------------------------------------------


def _instructions(given: Sequence[Message], note: Notes) -> tuple[str, tuple[Message, ...]]:
    """The instructions as one text, and the other messages."""
    note.step = "instructions"
    texts, rest = [], []
    for message in given:
        if not message.is_system():
            rest.append(message)
            continue
        if rest:
            note("moved", "codex has its instructions from the beginning of a thread", *message.content)
        texts += [block.to_text() for block in message.content if isinstance(block, c.TextMessageContent)]
    return "\n\n".join([text for text in texts if text]), tuple(rest)


def _split(rest: tuple[Message, ...], given: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """What came earlier, and the turn of the user: everything after the last word of the model."""
    at = max([place for place, message in enumerate(rest, 1) if message.is_assistant()], default=0)
    if not any([message.content for message in rest[at:]]):
        refs = [(len(given) - 1, None)] if given else []
        raise ConversionError(
            "there is no turn of the user at the end: codex begins an answer only after one",
            refs=refs, rule="turn", api=API,
        )  # fmt: skip
    return rest[:at], rest[at:]


def _items(now: tuple[Message, ...], note: Notes, given: tuple[Message, ...]) -> Items:
    note.step = "input"
    items: Items = []
    for message in now:
        for block in message.content:
            if isinstance(block, c.ImageMessageContent):
                items.append(_image(block, given))
                continue
            _refuse_media(block, given)
            if not _is_told(block, note):
                continue
            if isinstance(block, c.ActionResultMessageContent):
                note("rewritten", "codex waits for no result of a tool here: it is told as text", block)
            items.append(_text(block.to_text()))
    return items


def _is_told(block: Any, note: Notes) -> bool:
    if isinstance(block, c.ThinkingMessageContent | c.GenericMessageContent):
        note("dropped", "codex cannot be given reasoning, or blocks of its own or another API", block)
        return False
    return True


def _refuse_media(block: Any, given: tuple[Message, ...]) -> None:
    if isinstance(block, c.AudioMessageContent | c.DocumentMessageContent):
        kind = "audio" if isinstance(block, c.AudioMessageContent) else "a document"
        raise ConversionError(
            f"codex takes texts and pictures, not {kind}: give its text",
            refs=_refs(block, given),
            rule="media",
            api=API,
        )


def _image(block: c.ImageMessageContent, given: tuple[Message, ...]) -> JSONObject:
    url = block.url if block.data is None else f"data:{block.media_type or 'image/png'};base64,{block.data}"
    if url is None:
        raise ConversionError(
            "a picture needs an address or data here: codex knows no file of another API",
            refs=_refs(block, given), rule="media", api=API,
        )  # fmt: skip
    return {"type": "image", "url": url, **({} if block.detail is None else {"detail": block.detail})}


def _refs(block: Any, given: tuple[Message, ...]) -> tuple[Any, ...]:
    return Notes(given).refs(block)


def _text(text: str) -> JSONObject:
    return {"type": "text", "text": text}


# --- settings, schema, tools --------------------------------------------------------------------


def _turn(stack: PromptStack, model: str | None, facts: Profile, note: Notes) -> JSONObject:
    settings = canonical_settings({k: v for k, v in stack.settings.items() if k not in NOT_SETTINGS})
    given = {
        "model": stack.settings.get("model") or model,
        "effort": settings.pop("reasoning_effort", None),
        "summary": settings.pop("reasoning_summary", None),
    }
    turn: JSONObject = {name: value for name, value in given.items() if value is not None}
    note.step = "settings"
    for name in settings:
        if not SETTINGS[name].policy:
            note("dropped", f"{name}: codex app-server has no place for it")
    if stack.output_schema is not None:
        note.step = "output_schema"
        reduced = strict_compile(plan_of(stack.output_schema, facts).schema)
        for remark in (*reduced.notes, *reduced.lost):
            note("rewritten" if reduced.strict else "coerced", f"the output schema: {remark}")
        turn["outputSchema"] = reduced.schema
    return turn


def _tools(given: Iterable[Any] | None, dynamic_tools: bool) -> dict[str, ToolDefinition]:
    tools = {tool.native_name: tool for tool in definitions(given)}
    if tools and not dynamic_tools:
        raise ConversionError(
            f"codex brings its own tools; the caller's ({', '.join(tools)}) need dynamic_tools=True, an experimental "
            "part of its protocol",
            rule="tools", api=API,
        )  # fmt: skip
    for name, tool in tools.items():
        if tool.function is None:
            raise ConversionError(
                f"the tool {name} has no function: codex calls tools in the middle of a turn, so it has to be one "
                "that can be run here",
                rule="tools", api=API,
            )  # fmt: skip
    return tools


def _tool(name: str, tool: ToolDefinition) -> JSONObject:
    schema = tool.parameters or {"type": "object", "properties": {}}
    return {"type": "function", "name": name, "description": tool.description or "", "inputSchema": schema}
