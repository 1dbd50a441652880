"""Stacks as JSON, and messages in OpenAI's format, both ways.

OpenAI's format is the one everybody stores. Beyond it, a part may be `thinking` or
`redacted_thinking`, and parts and calls may carry `cache`, `origin` and the marks of other APIs; the
contract lists them. Keys we do not know are left behind.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir import contents as c
from llmneutral.ir.artifacts import address
from llmneutral.ir.jsontext import MOST_LEVELS, JSONObject, dumps, loads, parse_object, plain_data
from llmneutral.ir.messages import Message
from llmneutral.ir.tools import definitions, native_name

Part = Mapping[str, Any]
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


# --- OpenAI's format → neutral ------------------------------------------------------------------


def from_openai(messages: Iterable[Part]) -> list[Message]:
    """Reads messages in OpenAI's format; each becomes one message.

    Raises:
        ConversionError: If one is malformed, naming the message and the part.
    """
    return [_message(message, place) for place, message in enumerate(messages)]


def _message(message: Any, place: int) -> Message:
    if isinstance(message, Message):
        return message
    if not isinstance(message, dict | Mapping):  # a dict is seen at once
        _refuse(f"is {a_kind(message)}, not an object", place)
    role = message.get("role")
    if role not in ROLES:
        _refuse(f"has the role {role!r}; known: {', '.join(ROLES)}", place)
    if role in ("tool", "function"):
        return Message("user", (_result(message, place),))
    content = message.get("content")
    if isinstance(content, str) and len(message) == 2:  # a role and a text: what most messages are
        return Message(role, (c.TextMessageContent(content),))
    parts: list[Any] = []
    if reasoning := message.get("reasoning_content"):
        parts.append(c.ThinkingMessageContent(reasoning))
    parts += _parts(content, place)
    if refusal := message.get("refusal"):
        parts.append(c.RefusalMessageContent(refusal))
    if isinstance(audio := message.get("audio"), Mapping) and audio.get("id"):
        parts.append(c.AudioMessageContent(id=audio["id"], transcript=audio.get("transcript")))
    if calls := message.get("tool_calls"):
        parts = _with_calls(parts, calls, place)
    return Message(role, tuple(parts), message.get("name"))


def _with_calls(parts: list[Any], calls: Any, place: int) -> list[Any]:
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        _refuse(f"has tool_calls of type {type(calls).__name__}; give a list of calls", place)
    if len(parts) == 1 and type(parts[0]) is c.TextMessageContent and not parts[0].text:
        parts = []  # an empty text beside calls is how some write "no text"
    return [*parts, *[_call(call, place, len(parts) + i) for i, call in enumerate(calls)]]


def _parts(content: Any, place: int) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [c.TextMessageContent(content)]
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Sequence):
        _refuse(f"has a content of type {type(content).__name__}; give text or a list of parts", place)
    return [_part(part, place, block) for block, part in enumerate(content)]


def _part(part: Any, place: int, block: int) -> Any:
    if isinstance(part, str):
        return c.TextMessageContent(part)
    if isinstance(part, c.BaseMessageContent):
        return part
    kind = part.get("type") if isinstance(part, Mapping) else None
    read = _PARTS.get(kind) if isinstance(kind, str) else None
    if read is None:
        if isinstance(kind, str):
            return c.GenericMessageContent(dict(part), origin=_origin(part) or c.Origin("chat_completions"))
        _refuse("is no content part: it has no type", place, block)
    try:
        return read(part)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        _refuse(f"is a malformed {kind} part ({type(error).__name__}: {error})", place, block)


def _text(part: Part) -> c.TextMessageContent:
    return c.TextMessageContent(
        part["text"],
        citations=tuple(part.get("citations") or part.get("annotations") or ()),
        thought_signature=part.get("thought_signature"),
        **_common(part),
    )


def _thinking(part: Part) -> c.ThinkingMessageContent:
    summary = part.get("summary")
    return c.ThinkingMessageContent(
        part.get("thinking") or part.get("text") or "",
        signature=part.get("signature") or None,
        encrypted_content=part.get("encrypted_content"),
        id=part.get("id"),
        summary=None if summary is None else tuple([s if isinstance(s, str) else s["text"] for s in summary]),
        **_common(part),
    )


def _redacted(part: Part) -> c.ThinkingMessageContent:
    # "" says: opaque, and its blob is lost
    return c.ThinkingMessageContent(data=part.get("data") or "", **_common(part))


def _image(part: Part) -> c.ImageMessageContent:
    given = part["image_url"]
    given = {"url": given} if isinstance(given, str) else given
    return c.ImageMessageContent(**address(given["url"]), detail=given.get("detail"), **_common(part))


def _audio(part: Part) -> c.AudioMessageContent:
    given = part["input_audio"]
    kind = given.get("format") or "wav"
    media_type = kind if "/" in kind else {"mp3": "audio/mpeg"}.get(kind, f"audio/{kind}")
    return c.AudioMessageContent(given["data"], media_type, **_common(part))


def _file(part: Part) -> c.DocumentMessageContent:
    given = part["file"]
    data = given.get("file_data")
    fields = address(data) if data else {}
    if url := given.get("file_url"):
        fields = {"url": url}
    if "data" in fields and fields.get("url"):
        fields = {"url": fields["url"]}
    fields.setdefault("media_type", given.get("media_type"))
    return c.DocumentMessageContent(file_id=given.get("file_id"), name=given.get("filename"), **fields, **_common(part))


def _refusal(part: Part) -> c.RefusalMessageContent:
    return c.RefusalMessageContent(part["refusal"], **_common(part))


def _common(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = {"cache": cache} if (cache := part.get("cache")) else {}
    if origin := _origin(part):
        found["origin"] = origin
    if native := part.get("native"):
        found["native"] = native
    return found


def _origin(part: Part) -> c.Origin | None:
    given = part.get("origin")
    return None if given is None else c.Origin(given.get("api"), given.get("model"), given.get("host"))


def _call(call: Any, place: int, block: int) -> Any:
    """Reads one call: its arguments may be text or an object, and stay as they were written."""
    if not isinstance(call, Mapping):
        _refuse(f"is no tool call, but {a_kind(call)}", place, block)
    try:
        return _read_call(call)
    except (KeyError, TypeError, AttributeError) as error:
        _refuse(f"is a malformed tool call ({type(error).__name__}: {error})", place, block)


def _read_call(call: Part) -> Any:
    tag = call.get("id")
    tag = None if tag is None else str(tag)
    if call.get("type") == "custom":
        custom = call["custom"]
        return c.ActionCallMessageContent(
            tag, custom["name"], input={"input": custom["input"]}, native={"custom": True}, **_common(call)
        )
    function = call.get("function") or {}
    name, given = function.get("name") or "", function.get("arguments")
    if call.get("invalid"):
        return c.InvalidActionCallMessageContent(tag, name, raw=given or "", **_common(call))
    signature = call.get("thought_signature") or _google_signature(call)
    text = given if isinstance(given, str) else None
    parsed = given if text is None else parse_object(text)
    return c.ActionCallMessageContent(
        tag,
        name,
        None,
        parsed,  # None: no object; the conversion decides
        text,
        signature,
        call.get("item_id"),
        **_common(call),
    )


def _google_signature(call: Part) -> str | None:
    """Google's OpenAI-compatible endpoint keeps the signature here."""
    google = (call.get("extra_content") or {}).get("google") or {}
    found = google.get("thought_signature")
    return found if isinstance(found, str) else None


def _result(message: Part, place: int) -> c.ActionResultMessageContent:
    """Reads a tool message: text, parts, or any plain data."""
    content = message.get("content")
    parts: tuple[Any, ...] | None = None
    if isinstance(content, list) and content and all(_is_part(part) for part in content):
        parts = tuple(_parts(content, place))
    tag = message.get("tool_call_id")
    return c.ActionResultMessageContent(
        None if tag is None else str(tag),
        None if parts is not None else content,
        parts,
        name=message.get("name"),
        is_error=bool(message.get("is_error")),
        **_common(message),
    )


def _is_part(part: Any) -> bool:
    return isinstance(part, c.BaseMessageContent) or (isinstance(part, Mapping) and isinstance(part.get("type"), str))


_PARTS: dict[str, Callable[[Part], Any]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
    "refusal": _refusal,
}


def _refuse(what: str, place: int, block: int | None = None) -> NoReturn:
    at = f"messages[{place}]" if block is None else f"messages[{place}], part {block},"
    raise ConversionError(f"{at} {what}", refs=((place, block or 0),), rule="openai_format")


# --- neutral → OpenAI's format ------------------------------------------------------------------


def to_openai(messages: Iterable[Message]) -> list[JSONObject]:
    """Writes messages in OpenAI's format; a message with results of tools becomes several."""
    return [written for message in messages for written in _written(message)]


def _written(message: Message) -> list[JSONObject]:
    results = [_write_result(x) for x in message.content if type(x) is c.ActionResultMessageContent]
    calls = [_write_call(x) for x in message.content if type(x) in _CALLS]
    others = [x for x in message.content if type(x) is not c.ActionResultMessageContent and type(x) not in _CALLS]
    if results and not others and not calls:
        return results
    turn: JSONObject = {"role": message.role, "content": _write_parts(others)}
    if message.name is not None:
        turn["name"] = message.name
    if calls:
        turn["tool_calls"] = calls
    return [*results, turn]


def _write_parts(contents: list[Any]) -> Any:
    if not contents:
        return None
    plain = contents[0]
    if len(contents) == 1 and type(plain) is c.TextMessageContent and plain == c.TextMessageContent(plain.text):
        return plain.text
    return [_write_part(content) for content in contents]


def _write_part(content: Any) -> JSONObject:
    part = {k: v for k, v in _WRITERS[type(content)](content).items() if v is not None}
    for key in ("cache", "native"):
        if (value := getattr(content, key)) is not None:
            part[key] = value
    if content.origin is not None and type(content) is not c.GenericMessageContent:
        part["origin"] = msgspec.to_builtins(content.origin)
    return part


def _write_text(x: c.TextMessageContent) -> JSONObject:
    return {
        "type": "text",
        "text": x.text,
        "citations": list(x.citations) or None,
        "thought_signature": x.thought_signature,
    }


def _write_thinking(x: c.ThinkingMessageContent) -> JSONObject:
    if x.is_redacted:
        return {"type": "redacted_thinking", "data": x.data}
    return {
        "type": "thinking",
        "thinking": x.text,
        "signature": x.signature,
        "encrypted_content": x.encrypted_content,
        "id": x.id,
        "summary": None if x.summary is None else list(x.summary),
    }


def _write_image(x: c.ImageMessageContent) -> JSONObject:
    url = x.url if x.data is None else f"data:{x.media_type or 'image/png'};base64,{x.data}"
    if url is None:
        return {"type": "file", "file": {"file_id": x.file_id, "media_type": x.media_type or "image/*"}}
    return {"type": "image_url", "image_url": {"url": url} if x.detail is None else {"url": url, "detail": x.detail}}


def _write_audio(x: c.AudioMessageContent) -> JSONObject:
    kind = (x.media_type or "audio/wav").partition("/")[2]
    return {"type": "input_audio", "input_audio": {"data": x.data or "", "format": {"mpeg": "mp3"}.get(kind, kind)}}


def _write_document(x: c.DocumentMessageContent) -> JSONObject:
    data = x.data
    if x.text is not None:
        import base64

        data = base64.b64encode(x.text.encode("utf-8", "replace")).decode()
    media_type = x.media_type or ("text/plain" if x.text is not None else "application/pdf")
    file = {
        "filename": x.name,
        "file_data": None if data is None else f"data:{media_type};base64,{data}",
        "file_url": x.url,
        "file_id": x.file_id,
    }
    return {"type": "file", "file": {k: v for k, v in file.items() if v is not None}}


def _write_call(x: Any) -> JSONObject:
    invalid = type(x) is c.InvalidActionCallMessageContent
    name = native_name(x.name, x.path)
    if not invalid and x.native and x.native.get("custom"):
        call: JSONObject = {"id": x.tag, "type": "custom", "custom": {"name": name, "input": x.input.get("input")}}
    else:
        text = x.raw if invalid else (x.arguments if x.arguments is not None else dumps(x.input))
        call = {"id": x.tag, "type": "function", "function": {"name": name, "arguments": text}}
    if invalid:
        call["invalid"] = True
    else:
        marks = {"thought_signature": x.thought_signature, "item_id": x.item_id}
        call |= {key: value for key, value in marks.items() if value is not None}
    if x.cache is not None:
        call["cache"] = x.cache
    if x.origin is not None:
        call["origin"] = msgspec.to_builtins(x.origin)
    return call


def _write_result(x: c.ActionResultMessageContent) -> JSONObject:
    content = x.output if x.parts is None else [_write_part(part) for part in x.parts]
    turn: JSONObject = {"role": "tool", "tool_call_id": x.tag, "content": content}
    if x.name is not None:
        turn["name"] = native_name(x.name, x.path)
    if x.is_error:
        turn["is_error"] = True
    if x.cache is not None:
        turn["cache"] = x.cache
    return turn


_CALLS = (c.ActionCallMessageContent, c.InvalidActionCallMessageContent)
_WRITERS: dict[type, Callable[[Any], JSONObject]] = {
    c.TextMessageContent: _write_text,
    c.ThinkingMessageContent: _write_thinking,
    c.ImageMessageContent: _write_image,
    c.AudioMessageContent: _write_audio,
    c.DocumentMessageContent: _write_document,
    c.RefusalMessageContent: lambda x: {"type": "refusal", "refusal": x.text},
    c.GenericMessageContent: lambda x: x.value,
}


# --- stacks as JSON -----------------------------------------------------------------------------


def stack_to_json(
    messages: Sequence[Message], tools: Iterable[Any], output_schema: Any, settings: JSONObject, read_from: str | None
) -> str:
    """Writes a stack as JSON text."""
    from llmneutral.ir.schemas import to_json_schema

    data = {
        "messages": messages,
        "tools": [tool.to_openai() for tool in definitions(tools)],
        "output_schema": None if output_schema is None else to_json_schema(output_schema),
        "settings": settings,
    } | ({} if read_from is None else {"read_from": read_from})
    try:
        return msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # an unpaired surrogate: only an escape can write it
        return json.dumps(plain_data(msgspec.to_builtins(data), levels=2 * MOST_LEVELS))


_BESIDE: dict[str, tuple[type, str]] = {
    "tools": (list, "a list"),
    "output_schema": (dict, "a JSON Schema"),
    "settings": (dict, "an object"),
    "read_from": (str, "an API mode"),
}
"""What the JSON of a stack holds beside its messages: its type, and in words."""


def stack_from_json(text: str | bytes) -> dict[str, Any]:
    """Reads what `stack_to_json` wrote, as the arguments of a PromptStack.

    Raises:
        ConversionError: If it is no such text.
    """
    try:
        data = loads(text)
        messages = msgspec.convert(data["messages"], list[Message])
    except (ValueError, KeyError, TypeError) as error:
        raise ConversionError(f"this is no PromptStack in JSON: {error}", rule="from_json") from error
    for key, (kind, words) in _BESIDE.items():
        if data.get(key) is not None and not isinstance(data[key], kind):
            said = f"this is no PromptStack in JSON: {key} is {reprlib.repr(data[key])}, not {words}"
            raise ConversionError(said, rule="from_json")
    return {
        "messages": messages,
        "tools": data.get("tools") or (),
        "output_schema": data.get("output_schema"),
        "settings": data.get("settings"),
        "read_from": data.get("read_from"),
    }
