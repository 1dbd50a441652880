"""The other way: the body of a request to Anthropic Messages → a PromptStack.

Nothing is lost: what has no neutral name goes into the setting `extra_body`, blocks that only this API knows become
generic ones, and what a tool has beside the neutral fields stays in its own form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from llmneutral.convert.settings import SETTINGS
from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Origin,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.anthropic_messages.blocks import API

OWN = Origin(API)
ROLES = ("user", "assistant", "system")
SAME_NAME = "max_tokens temperature top_p top_k stream service_tier speed metadata cache_control".split()
NAMES = {name: name for name in SAME_NAME} | {"stop_sequences": "stop"}
"""Keys of the body and the neutral settings they are."""

TOOL_KEYS = frozenset(("type", "name", "description", "input_schema", "strict", "cache_control"))
"""What a tool may have to be a neutral one; with more it stays as it is."""

READ = frozenset(
    (
        *NAMES,
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "extra_body",
    )
)


def read_request(body: JSONObject) -> PromptStack:
    """Reads a request body, in the REST or the SDK's spelling.

    Raises:
        ConversionError: If a message or block is malformed, naming it.
    """
    messages = _system(body.get("system"))
    messages += [_message(message, place) for place, message in enumerate(body["messages"])]
    settings = _settings(body)
    output = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return PromptStack(
        messages,
        tools=[_tool(tool) for tool in body.get("tools") or ()],
        output_schema=output.get("schema") if output.get("type") == "json_schema" else None,
        settings=settings,
    )


# --- messages -------------------------------------------------------------------------------------


def _system(system: Any) -> list[Message]:
    if not system:
        return []
    return [Message("system", _blocks(system, "system", 0))]


def _message(message: Any, place: int) -> Message:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in ROLES:
        _refuse(f"messages[{place}] has the role {role!r}; known: {', '.join(ROLES)}", place)
    return Message(role, _blocks(message.get("content"), f"messages[{place}]", place))


def _blocks(content: Any, where: str, place: int) -> tuple[Any, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (TextMessageContent(content),)
    if isinstance(content, Mapping):
        content = [content]
    return tuple([_block(block, f"{where}, block {number},", place, number) for number, block in enumerate(content)])


def _block(block: Any, where: str, place: int = 0, number: int = 0) -> Any:
    if isinstance(block, str):
        return TextMessageContent(block)
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str):
        _refuse(f"{where} is no block: it has no type", place, number)
    try:
        return _READERS.get(kind, _generic)(block)
    except (KeyError, TypeError, AttributeError) as error:
        _refuse(f"{where} is a malformed {kind} block ({type(error).__name__}: {error})", place, number)


def _refuse(what: str, place: int, block: int = 0) -> NoReturn:
    raise ConversionError(what, refs=((place, block),), rule="read_request", api=API)


def _mark(holder: Mapping[str, Any]) -> bool | str | None:
    given = holder.get("cache_control")
    return None if not given else given.get("ttl") or True


def _own(block: Mapping[str, Any], *keys: str) -> JSONObject:
    """What only this API knows of a block, stamped with whose it is."""
    native = {key: block[key] for key in keys if block.get(key) is not None}
    return {"native": native, "origin": OWN} if native else {}


def _text(block: JSONObject) -> TextMessageContent:
    return TextMessageContent(block["text"], citations=tuple(block.get("citations") or ()), cache=_mark(block))


def _thinking(block: JSONObject) -> ThinkingMessageContent:
    return ThinkingMessageContent(block["thinking"], signature=block.get("signature") or None, origin=OWN)


def _redacted(block: JSONObject) -> ThinkingMessageContent:
    return ThinkingMessageContent(data=block.get("data") or "", origin=OWN)


def _image(block: JSONObject) -> ImageMessageContent:
    source = block["source"]
    fields = _media(source, ("base64", "url", "file"))
    return ImageMessageContent(**fields, cache=_mark(block), **_own(block, "transformations"))


def _document(block: JSONObject) -> DocumentMessageContent:
    source = block["source"]
    kind = source["type"]
    if kind == "text":
        fields: JSONObject = {"text": source["data"], "media_type": source.get("media_type")}
    elif kind == "content":
        fields = {"parts": _blocks(source["content"], "the content of a document", 0)}
    else:
        fields = _media(source, ("base64", "url", "file"))
    return DocumentMessageContent(
        **fields, title=block.get("title"), context=block.get("context"), cache=_mark(block), **_own(block, "citations")
    )


def _media(source: JSONObject, kinds: tuple[str, ...]) -> JSONObject:
    kind = source["type"]
    if kind not in kinds:
        raise TypeError(f"its source is a {kind}")
    if kind == "url":
        return {"url": source["url"]}
    if kind == "file":
        return {"file_id": source["file_id"]}
    return {"data": source["data"], "media_type": source.get("media_type")}


def _call(block: JSONObject) -> ActionCallMessageContent | InvalidActionCallMessageContent:
    given = block.get("input")
    more = {"cache": _mark(block), **_own(block, "caller", "toolset_name")}
    if given is not None and not isinstance(given, Mapping):
        raw = given if isinstance(given, str) else dumps(given)
        return InvalidActionCallMessageContent(block["id"], block["name"], raw=raw, **more)
    return ActionCallMessageContent(block["id"], block["name"], input=dict(given or {}), **more)


def _result(block: JSONObject) -> ActionResultMessageContent:
    content = block.get("content")
    parts = None if content is None or isinstance(content, str) else _blocks(content, "the content of a tool_result", 0)
    return ActionResultMessageContent(
        block["tool_use_id"],
        content if isinstance(content, str) else None,
        parts or None,
        is_error=bool(block.get("is_error")),
        cache=_mark(block),
        **_own(block, "toolset_name"),
    )


def _generic(block: JSONObject) -> GenericMessageContent:
    value = {key: entry for key, entry in block.items() if key != "cache_control"}
    return GenericMessageContent(value, origin=OWN, cache=_mark(block))


_READERS: dict[str, Callable[[JSONObject], Any]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "image": _image,
    "document": _document,
    "tool_use": _call,
    "tool_result": _result,
}
"""Blocks with a neutral form; any other is this API's own."""


# --- tools ----------------------------------------------------------------------------------------


def _tool(tool: Any) -> ToolDefinition:
    if not isinstance(tool, Mapping):
        raise TypeError(f"a tool is {a_kind(tool)}, not an object")
    kind = tool.get("type")
    is_function = kind in (None, "custom") and "name" in tool
    name = str(tool.get("name") or kind or "tool")
    if not is_function:
        native = {key: value for key, value in tool.items() if key != "cache_control"}
        return ToolDefinition(name, native=native, cache=_mark(tool))
    more = set(tool) - TOOL_KEYS or tool.get("description") == ""
    return ToolDefinition(
        name,
        description=tool.get("description") or "",
        parameters=tool.get("input_schema"),
        strict=tool.get("strict"),
        cache=_mark(tool),
        native={key: value for key, value in tool.items() if key != "cache_control"} if more else None,
    )


# --- settings -------------------------------------------------------------------------------------


def _settings(body: JSONObject) -> JSONObject:
    found: JSONObject = {}
    extra = {key: value for key, value in body.items() if key not in READ and value is not None}
    for key, name in NAMES.items():
        value = body.get(key)
        if value is None or value == []:
            continue
        if _is_neutral(name, value):
            found[name] = value
        else:
            extra[key] = value  # max_tokens 0 fills the cache only, top_k -1 is none: no neutral setting says so
    found |= _choice(body.get("tool_choice"))
    thinking, config = body.get("thinking") or {}, body.get("output_config") or {}
    settings = _reasoning(thinking, config.get("effort"))
    if settings is None:
        extra["thinking"] = thinking
    found |= settings or {}
    extra |= _unnamed_output(config, is_neutral=found.get("reasoning_effort") == config.get("effort"))
    extra |= body.get("extra_body") or {}
    if extra:
        found["extra_body"] = extra
    return found


def _is_neutral(name: str, value: Any) -> bool:
    try:
        SETTINGS[name].check(name, value)
    except ConversionError:
        return False
    return True


def _choice(given: Any) -> JSONObject:
    if not given:
        return {}
    kind = given.get("type")
    choice: Any = {"any": "required"}.get(kind, kind)
    if kind == "tool":
        choice = {"type": "function", "function": {"name": given["name"]}}
    found: JSONObject = {"tool_choice": choice}
    if given.get("disable_parallel_tool_use") is not None:
        found["parallel_tool_calls"] = not given["disable_parallel_tool_use"]
    return found


def _reasoning(thinking: JSONObject, effort: Any) -> JSONObject | None:
    """The neutral settings for a value of `thinking`, or None where there are none.

    Adaptive thinking without an effort is asked for by its display alone.
    """
    kind, display = thinking.get("type"), thinking.get("display")
    shown = {"thinking_display": display} if display else {}
    if kind is None:
        return {}
    if kind in ("disabled", "between_tools"):
        return {"reasoning_effort": "none"}
    if kind == "adaptive":
        return {"reasoning_effort": effort, **shown} if effort else (shown or {"thinking_display": "summarized"})
    if kind == "enabled" and thinking.get("budget_tokens") is not None:
        shown["thinking_budget"] = thinking["budget_tokens"]
    elif kind != "enabled" or not effort:
        return None
    return {**shown, "reasoning_effort": effort} if effort else shown


def _unnamed_output(config: JSONObject, *, is_neutral: bool) -> JSONObject:
    """What `output_config` says beside the format and an effort that is a neutral setting: then it goes as it is.

    An effort without thinking is one: it steers how much is written, not whether the model thinks.
    """
    rest = {key: value for key, value in config.items() if key != "format" and not (key == "effort" and is_neutral)}
    return {"output_config": dict(config)} if any([value is not None for value in rest.values()]) else {}
