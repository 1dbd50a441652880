"""A request body of Cohere (Chat v2) → PromptStack.

What has a neutral name becomes a setting; every other key stays as it is, in `extra_body`, and goes out again as it
came. Source: the types of cohere 7 (`V2ChatRequest`, `ChatMessageV2`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from llmneutral.convert.settings import SETTINGS
from llmneutral.errors import ConversionError
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject, dumps, parse_object
from llmneutral.ir.schemas import schema_name
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.ir.wire import from_openai
from llmneutral.transports.cohere_chat.blocks import API

NAMES = {
    "p": "top_p", "k": "top_k", "stop_sequences": "stop",
    **{name: name for name in (
        "max_tokens", "temperature", "seed", "presence_penalty", "frequency_penalty", "logprobs", "stream",
        "safety_mode", "documents", "citation_options",
    )},
}  # fmt: skip
"""Keys of a request, and the settings they are."""

READ_ELSEWHERE = frozenset({"model", "messages", "tools", "strict_tools", "request_options"})
OPENAI_KINDS = frozenset({"text", "image_url"})
Setting = Callable[[Any], "JSONObject | None"]


def read_request(body: JSONObject) -> PromptStack:
    """Reads a request.

    Raises:
        ConversionError: If a message is malformed, naming the message and the part.
    """
    origin = c.Origin(API, body.get("model"))
    strict = True if body.get("strict_tools") else None
    return PromptStack(
        from_openai([_openai_form(message, origin) for message in body["messages"]]),
        tools=[_tool(tool, strict) for tool in definitions(body.get("tools"))],
        settings=_settings(body),
    )


def _tool(tool: ToolDefinition, strict: bool | None) -> ToolDefinition:
    return msgspec.structs.replace(tool, strict=strict) if strict else tool


# --- settings -----------------------------------------------------------------------------------


def _settings(body: JSONObject) -> JSONObject:
    found: JSONObject = {}
    rest: JSONObject = {}
    for key, value in body.items():
        if value is None or key in READ_ELSEWHERE:
            continue
        read = _READ.get(key)
        neutral = read(value) if read is not None else _same(key, value)
        if neutral is None:
            rest[key] = value
        else:
            found |= neutral
    rest |= ((body.get("request_options") or {}).get("additional_body_parameters")) or {}
    if rest:
        found["extra_body"] = rest
    return found


def _same(key: str, value: Any) -> JSONObject | None:
    name = NAMES.get(key)
    if name is None:
        return None
    try:
        SETTINGS[name].check(name, value)
    except ConversionError:
        return None
    return {name: value}


def _choice(value: Any) -> JSONObject | None:
    word = value.lower() if isinstance(value, str) else None
    return {"tool_choice": word} if word in ("required", "none") else None


def _format(value: Any) -> JSONObject | None:
    """OpenAI's form of it; a schema stands one key deeper there."""
    if not isinstance(value, Mapping):
        return None
    schema = value.get("json_schema")
    if schema is None:
        return {"response_format": dict(value)}
    asked = {"name": schema_name(schema), "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def _thinking(value: Any) -> JSONObject | None:
    """Off, or a budget; `enabled` alone has no neutral name, for there is no level."""
    if value.get("type") == "disabled":
        return {"reasoning_effort": "none"}
    budget = value.get("token_budget")
    return {"thinking_budget": budget} if type(budget) is int and value.get("type") == "enabled" else None


_READ: dict[str, Setting] = {"tool_choice": _choice, "response_format": _format, "thinking": _thinking}


# --- messages -----------------------------------------------------------------------------------


def _openai_form(message: Any, origin: c.Origin) -> Any:
    """Returns a message as `from_openai` reads it: what only this API has are blocks already."""
    if not isinstance(message, Mapping):
        return message
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return {**message, "content": _result(content, origin)}
    if isinstance(content, list):
        content = [_item(item, origin) for item in content]
    if role == "assistant" and (message.get("tool_plan") or message.get("citations")):
        content = _spoken(message, content, origin)
    return {**message, "content": content}


def _item(item: Any, origin: c.Origin) -> Any:
    kind = item.get("type") if isinstance(item, Mapping) else None
    if kind == "thinking":
        return c.ThinkingMessageContent(item["thinking"], origin=origin)
    if not isinstance(kind, str) or kind in OPENAI_KINDS:
        return item
    return c.GenericMessageContent(dict(item), origin=origin)


def _spoken(message: Mapping[str, Any], content: Any, origin: c.Origin) -> list[Any]:
    """The content of an answer with its plan behind it, and its citations on the texts they are of."""
    items = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    blocks: list[Any] = [c.TextMessageContent(item["text"]) if _is_text(item) else item for item in items]
    blocks = [block for block in blocks if block != c.TextMessageContent("")]
    if plan := message.get("tool_plan"):
        blocks.append(c.TextMessageContent(plan, native={"plan": True}, origin=origin))
    for cite in message.get("citations") or ():
        place = cited_place(cite, blocks)
        if place is not None:
            text = blocks[place]
            blocks[place] = msgspec.structs.replace(text, citations=(*text.citations, dict(cite)))
    return blocks


def _is_text(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "text"


def cited_place(cite: Mapping[str, Any], blocks: list[Any]) -> int | None:
    """Returns the place of the text that a citation is of: the plan, the block it names, or the last text."""
    texts = [place for place, block in enumerate(blocks) if type(block) is c.TextMessageContent]
    plans = [place for place in texts if (blocks[place].native or {}).get("plan")]
    if cite.get("type") == "PLAN" and plans:
        return plans[-1]
    named = cite.get("content_index")
    if named in texts and named not in plans:
        return int(named)
    said = [place for place in texts if place not in plans] or plans
    return said[-1] if said and cite.get("type") != "THINKING_CONTENT" else None


def _result(content: Any, origin: c.Origin) -> Any:
    """The content of a tool message: one plain document is the data it holds."""
    if not isinstance(content, list):
        return content
    if len(content) == 1 and (data := _plain_data(content[0])) is not None:
        return data
    return [_part(item, origin) for item in content]


def _plain_data(item: Any) -> Any:
    """The data of a document without an id, in the form that is written as this very document again."""
    document = item.get("document") if isinstance(item, Mapping) else None
    if not isinstance(document, Mapping) or document.get("id") is not None:
        return None
    data = document.get("data")
    if not isinstance(data, Mapping) or not data:
        return None
    if data.keys() != {"text"} or not isinstance(data["text"], str):
        return dict(data)
    return data["text"] if data["text"].strip() and not parse_object(data["text"]) else None


def _part(item: Any, origin: c.Origin) -> Any:
    document = item.get("document") if isinstance(item, Mapping) else None
    if not isinstance(document, Mapping):
        return _item(item, origin)
    data = document.get("data")
    data = data if isinstance(data, Mapping) else {"text": data}
    said = data.get("text", data.get("snippet"))
    text = said if isinstance(said, str) else dumps(data)
    native = {"document": dict(document)}
    return c.DocumentMessageContent(
        text=text, title=data.get("title"), name=document.get("id"), native=native, origin=origin
    )
