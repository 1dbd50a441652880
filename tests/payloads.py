"""What a payload says, in the same words for each API, so that one expectation holds for all.

`said(api, body)` is a flat list of events in the order of the wire:
`(role, "text", text)`, `(role, "thinking", text)`, `("assistant", "call", id, name, arguments)`,
`("user", "result", id, text, is_error)`, `(role, "media", kind)`, `(role, "other", type)`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import llmneutral
from llmneutral import Change, Conversion, Message

APIS = ("chat_completions", "codex_responses", "anthropic_messages")
MODELS = {"chat_completions": "gpt-4.1", "codex_responses": "gpt-5.4", "anthropic_messages": "claude-sonnet-4-5"}
MODEL_OF = MODELS | {
    "gemini_native": "gemini-2.5-flash",
    "bedrock_converse": "amazon.nova-pro-v1:0",
    "cohere_chat": "command-a-03-2025",
    "mistral_chat": "mistral-large-latest",
}
"""A usual model of every API; `said` knows the payloads of the first three."""
Event = tuple[Any, ...]
MEDIA = {
    "image_url": "image", "input_image": "image", "image": "image", "input_audio": "audio", "file": "document",
    "input_file": "document", "document": "document",
}  # fmt: skip


def made(api: str, source: Any, **settings: Any) -> Conversion:
    """A conversion for the API's usual model; nothing is streamed, and Messages has its limit."""
    given = {"model": MODEL_OF[api], **settings}
    if api == "anthropic_messages":
        given.setdefault("max_tokens", 500)
    found: Conversion = llmneutral.convert(source, api, **given)
    return found


def body(api: str, source: Any, **settings: Any) -> dict[str, Any]:
    """The JSON body of a conversion."""
    return made(api, source, **settings).to_json()


def events(api: str, source: Any, **settings: Any) -> list[Event]:
    """What the body of a conversion says."""
    return said(api, body(api, source, **settings))


def kinds(conversion: Conversion, step: str | None = None) -> list[str]:
    """The kinds of the changes (of one step)."""
    return [change.kind for change in conversion.changes if step in (None, change.step)]


def told(conversion: Conversion, *kinds: str) -> list[Change]:
    """The changes of some kinds."""
    return [change for change in conversion.changes if change.kind in kinds]


def turn(role: str, *blocks: Any) -> Message:
    """A message; text stands for a block of it."""
    return Message(role, tuple([llmneutral.TextMessageContent(b) if isinstance(b, str) else b for b in blocks]))


def said(api: str, payload: dict[str, Any]) -> list[Event]:
    """What a body says."""
    return list(_SAID[api](payload))


def _chat(payload: dict[str, Any]) -> Iterator[Event]:
    for message in payload["messages"]:
        role = {"developer": "system"}.get(message["role"], message["role"])
        content = message.get("content")
        if role == "tool":
            yield "user", "result", message["tool_call_id"], _text(content), False
            continue
        if message.get("reasoning_content"):
            yield role, "thinking", message["reasoning_content"]
        yield from _parts(role, content)
        for call in message.get("tool_calls", ()):
            function = call["function"]
            yield role, "call", call["id"], function["name"], _loads(function["arguments"])


def _responses(payload: dict[str, Any]) -> Iterator[Event]:
    if "instructions" in payload:
        yield "system", "text", payload["instructions"]
    for item in payload["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            yield from _parts({"developer": "system"}.get(item["role"], item["role"]), item["content"])
        elif kind == "function_call":
            yield "assistant", "call", item["call_id"], item["name"], _loads(item["arguments"])
        elif kind == "function_call_output":
            yield "user", "result", item["call_id"], _text(item["output"]), False
        elif kind == "reasoning":
            yield "assistant", "thinking", "".join(part["text"] for part in item["summary"])
        else:
            yield "assistant", "other", kind


def _messages(payload: dict[str, Any]) -> Iterator[Event]:
    yield from _parts("system", payload.get("system"))
    for message in payload["messages"]:
        yield from _parts(message["role"], message["content"])


def _parts(role: str, content: Any) -> Iterator[Event]:
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield role, "text", content
        return
    for part in content:
        kind = part["type"]
        if kind in ("text", "input_text", "output_text"):
            yield role, "text", part["text"]
        elif kind == "thinking":
            yield role, "thinking", part["thinking"]
        elif kind == "tool_use":
            yield role, "call", part["id"], part["name"], part["input"]
        elif kind == "tool_result":
            yield role, "result", part["tool_use_id"], _text(part["content"]), part.get("is_error", False)
        elif kind in MEDIA:
            yield role, "media", MEDIA[kind]
        else:
            yield role, "other", kind


def _loads(text: str) -> Any:
    """Arguments as they are meant; what is no JSON, and what is no object, stays text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", f"<{part['type']}>") for part in content)


_SAID: dict[str, Callable[[dict[str, Any]], Iterator[Event]]] = {
    "chat_completions": _chat,
    "codex_responses": _responses,
    "anthropic_messages": _messages,
}
