"""A request body → PromptStack.

Everything that stands in real requests is read: what is neutral becomes messages, tools and settings, items that only
this API knows become generic blocks, and keys without a neutral name go to the setting `extra_body`.
Docs: types of openai 3 (ResponseCreateParams, ResponseInputItemParam).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import msgspec

from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.artifacts import address
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    Origin,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, dumps, parse_object
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.transports.codex_responses.settings import ENCRYPTED, LOGPROBS
from llmneutral.transports.codex_responses.write import API

Part = Mapping[str, Any]
OWN = Origin(API)
ROLES = ("system", "developer", "user", "assistant")


def read_request(payload: JSONObject) -> PromptStack:
    """Reads a request body.

    Raises:
        ConversionError: If it is malformed, naming the place.
    """
    messages = []
    if (instructions := payload.get("instructions")) is not None:
        if not isinstance(instructions, str):
            _refuse("instructions", f"is {a_kind(instructions)}, not a text")
        messages.append(Message("system", (TextMessageContent(instructions),)))
    messages += messages_of(payload.get("input"))
    return PromptStack(messages, tools=tools_of(payload.get("tools") or ()), settings=settings_of(payload))


def tools_of(given: Iterable[Any]) -> list[ToolDefinition]:
    """Reads the tools; functions keep the keys that only this API knows, and a description that is empty."""
    found = []
    for tool in given:
        definition, *_ = definitions([tool])
        if definition.native is None and tool.get("description") == "":
            definition = msgspec.structs.replace(definition, extra={**(definition.extra or {}), "description": ""})
        found.append(definition)
    return found


# --- parts --------------------------------------------------------------------------------------


def _parts(content: Any, where: str) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextMessageContent(content)]
    if isinstance(content, Mapping):
        content = [content]
    return [_part(part, f"{where}[{number}]") for number, part in enumerate(content)]


def _part(part: Any, where: str) -> Any:
    if isinstance(part, str):
        return TextMessageContent(part)
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(kind, str):
        _refuse(where, "is no part: it has no type")
    return _PARTS.get(kind, _other_part)(part)


def _told(item: Part, key: str) -> str | None:
    """A text under a key, or None."""
    value = item.get(key)
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{key} is {a_kind(value)}, not a text")


def _text(part: Part) -> TextMessageContent:
    return TextMessageContent(
        _told(part, "text") or "", citations=tuple(part.get("annotations") or ()), cache=_cache(part)
    )


def _image(part: Part) -> ImageMessageContent:
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, Mapping) else given
    where = {"file_id": _told(part, "file_id")} if url is None else address(url)
    return ImageMessageContent(**where, detail=_told(part, "detail"), cache=_cache(part))


def _file(part: Part) -> DocumentMessageContent:
    where: JSONObject = {"file_id": _told(part, "file_id")}
    if url := _told(part, "file_url"):
        where = {"url": url}
    elif data := _told(part, "file_data"):
        where = address(data) if data[:5].lower() == "data:" else {"data": data}
    native = {"detail": part["detail"]} if part.get("detail") else None
    return DocumentMessageContent(**where, name=_told(part, "filename"), native=native, cache=_cache(part))


def _audio(part: Part) -> AudioMessageContent:
    given = part.get("input_audio") or part
    kind = given.get("format") or "wav"
    return AudioMessageContent(given["data"], {"mp3": "audio/mpeg"}.get(kind, f"audio/{kind}"))


def _refusal(part: Part) -> RefusalMessageContent:
    return RefusalMessageContent(_told(part, "refusal") or "")


def _other_part(part: Part) -> GenericMessageContent:
    return GenericMessageContent(dict(part), origin=OWN, native={"part": True})


def _cache(part: Part) -> bool | str | None:
    mark = part.get("prompt_cache_breakpoint")
    return None if not mark else mark.get("ttl") or True


_PARTS: dict[str, Callable[[Part], Any]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
    "refusal": _refusal,
}


# --- items --------------------------------------------------------------------------------------


def messages_of(given: Any) -> list[Message]:
    """Reads the input: text, or items; neighbours of the assistant are one turn, and so are neighbouring results.

    Raises:
        ConversionError: If an item is malformed, naming its place.
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [Message("user", (TextMessageContent(given),))]
    if not isinstance(given, Iterable):
        _refuse("input", f"is {a_kind(given)}; give text or a list of items")
    turns: list[tuple[str, str, list[Any]]] = []  # group, role, blocks
    for number, item in enumerate(given):
        group, role, blocks = _read_item(item, f"input[{number}]")
        if turns and group in ("assistant", "results") and turns[-1][0] == group:
            turns[-1][2].extend(blocks)
        else:
            turns.append((group, role, blocks))
    return [Message(role, tuple(blocks)) for _, role, blocks in turns]


def _read_item(item: Any, where: str) -> tuple[str, str, list[Any]]:
    try:
        return _item(item, where)
    except (KeyError, TypeError, AttributeError) as error:
        raise ConversionError(
            f"{where} is malformed ({type(error).__name__}: {error})", rule="read_request", api=API
        ) from error


def _item(item: Any, where: str) -> tuple[str, str, list[Any]]:
    if not isinstance(item, Mapping):
        _refuse(where, f"is {a_kind(item)}, not an item")
    kind = item.get("type") or ("message" if "role" in item else "item_reference" if "id" in item else None)
    if kind == "message":
        return _message(item, where)
    if kind in _CALLS:
        return "assistant", "assistant", [_CALLS[kind](item)]
    if kind in ("function_call_output", "custom_tool_call_output"):
        return "results", "user", [_output(item, where)]
    if not isinstance(kind, str):
        _refuse(where, "is no item: it has neither type nor role")
    role = _ROLES.get(kind, "assistant")
    return ("assistant" if role == "assistant" else kind), role, [GenericMessageContent(dict(item), origin=OWN)]


def _message(item: Part, where: str) -> tuple[str, str, list[Any]]:
    role = item.get("role")
    if role not in ROLES:
        _refuse(where, f"has the role {role!r}; known: {', '.join(ROLES)}")
    blocks = _parts(item.get("content"), f"{where}.content")
    if role != "assistant":
        return role, role, blocks
    native = {key: item[key] for key in ("id", "status", "phase") if item.get(key) is not None}
    return role, role, [_owned(block, native) for block in blocks or [TextMessageContent("")]]


def _owned(block: Any, native: JSONObject) -> Any:
    if not native or not isinstance(block, TextMessageContent | RefusalMessageContent):
        return block
    return msgspec.structs.replace(block, origin=OWN, native=native)


def _reasoning(item: Part) -> ThinkingMessageContent:
    summary = tuple(
        [part if isinstance(part, str) else _told(part, "text") or "" for part in item.get("summary") or ()]
    )
    content = item.get("content") or ()
    return ThinkingMessageContent(
        "\n\n".join(summary or [_told(part, "text") or "" for part in content]),
        encrypted_content=_told(item, "encrypted_content"),
        id=_told(item, "id"),
        summary=summary,
        origin=OWN,
        native={"content": list(content)} if content else None,
    )


def _function_call(item: Part) -> ActionCallMessageContent:
    given = item.get("arguments")
    raw = given if isinstance(given, str) else None if given is None else dumps(given)
    return ActionCallMessageContent(
        _told(item, "call_id"),
        _name(item),
        input=parse_object(raw or ""),  # None: no object; the conversion decides
        arguments=raw,
        item_id=_told(item, "id"),
        origin=OWN if item.get("id") or _named(item) else None,
        native=_named(item) or None,
    )


def _custom_call(item: Part) -> ActionCallMessageContent:
    return ActionCallMessageContent(
        _told(item, "call_id"),
        _name(item),
        input={"input": _told(item, "input") or ""},
        item_id=_told(item, "id"),
        origin=OWN,
        native={"custom": True, **_named(item)},
    )


def _name(item: Part) -> str:
    if name := _told(item, "name"):
        return name
    raise KeyError("name")


def _named(item: Part) -> JSONObject:
    return {key: item[key] for key in ("namespace", "caller") if item.get(key) is not None}


def _output(item: Part, where: str) -> ActionResultMessageContent:
    output = item.get("output")
    parts = tuple(_parts(output, f"{where}.output")) if isinstance(output, list) else None
    native = {"caller": item["caller"]} if item.get("caller") else None
    return ActionResultMessageContent(
        _told(item, "call_id"),
        None if parts is not None else output,
        parts,
        origin=OWN if native else None,
        native=native,
    )


_CALLS: dict[Any, Callable[[Part], Any]] = {
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
}
_ROLES = {
    "additional_tools": "developer",
    "configuration_update": "developer",
    "apply_patch_call_output": "user",
    "compaction_trigger": "user",
    "computer_call_output": "user",
    "local_shell_call_output": "user",
    "mcp_approval_response": "user",
}
"""Who sends an item that only this API knows, where it is not the assistant."""


# --- settings -----------------------------------------------------------------------------------


def settings_of(payload: JSONObject) -> JSONObject:
    """Reads the neutral settings; what has no neutral name is kept in `extra_body`."""
    settings: JSONObject = {}
    extra: JSONObject = {}
    for key, value in payload.items():
        if value is None or key in _READ_ELSEWHERE:
            continue
        if key in _DIRECT:
            settings[_DIRECT[key]] = value
        elif key in _SPLIT:
            _SPLIT[key](value, settings, extra)
        else:
            extra[key] = value
    if extra:
        settings["extra_body"] = extra
    return settings


def _tool_choice(value: Any, settings: JSONObject, extra: JSONObject) -> None:
    """Words, functions and lists of functions have neutral forms; a provider's own tool has none."""
    if isinstance(value, Mapping) and not _names_functions(value):
        extra["tool_choice"] = value
    else:
        settings["tool_choice"] = value


def _names_functions(choice: Part) -> bool:
    kind = choice.get("type")
    tools = choice.get("tools") or ()
    if kind == "allowed_tools":
        return bool(tools) and all([tool.get("type") == "function" and tool.get("name") for tool in tools])
    return kind in ("function", "custom") and bool(choice.get("name"))


def _reasoning_of(value: Part, settings: JSONObject, extra: JSONObject) -> None:
    """Effort and summary; context and mode have no neutral name, and then the whole object passes."""
    given = {key: entry for key, entry in value.items() if entry is not None}
    if effort := given.get("effort"):
        settings["reasoning_effort"] = effort
    if effort or "summary" in given:
        settings["reasoning_summary"] = given.get("summary", "none")
    if given.keys() - {"effort", "summary"}:
        extra["reasoning"] = given


def _text_of(value: Part, settings: JSONObject, extra: JSONObject) -> None:
    given = {key: entry for key, entry in value.items() if entry is not None}
    form = given.get("format")
    if "verbosity" in given:
        settings["verbosity"] = given["verbosity"]
    if isinstance(form, Mapping):
        named = {key: entry for key, entry in form.items() if key != "type" and entry is not None}
        kind = form.get("type")
        settings["response_format"] = {"type": kind, "json_schema": named} if kind == "json_schema" else dict(form)
    if given.keys() - {"format", "verbosity"}:
        extra["text"] = given


def _include(value: Any, settings: JSONObject, extra: JSONObject) -> None:
    """The encrypted reasoning is asked for anyway; the probabilities of tokens are a setting."""
    if set(value) - {ENCRYPTED, LOGPROBS}:
        extra["include"] = value
    elif LOGPROBS in value:
        settings["logprobs"] = True


def _refuse(where: str, what: str) -> NoReturn:
    raise ConversionError(f"{where} {what}", rule="read_request", api=API)


_READ_ELSEWHERE = ("model", "input", "instructions", "tools")
_DIRECT = {
    "max_output_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_logprobs": "top_logprobs",
    "parallel_tool_calls": "parallel_tool_calls",
    "store": "store",
    "stream": "stream",
    "service_tier": "service_tier",
    "metadata": "metadata",
    "safety_identifier": "safety_identifier",
    "prompt_cache_key": "prompt_cache_key",
    "truncation": "truncation",
}
_SPLIT: dict[str, Callable[[Any, JSONObject, JSONObject], None]] = {
    "tool_choice": _tool_choice,
    "reasoning": _reasoning_of,
    "text": _text_of,
    "include": _include,
}
