"""What a JSON body says, read alike for every API: turns, and in them texts, calls and results with their places.

What the SDK's types do not allow is passed over: `validate` tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from llmneutral.validation.problems import Loc

Body = dict[str, Any]
PartKind = Literal["text", "thinking", "call", "result", "other"]


class Part(msgspec.Struct, frozen=True):
    """One thing in a turn.

    Attributes:
        kind: What it is.
        loc: Its place.
        text: Of a text, what it says.
        id: Of a call and a result, the id of the call.
        name: Of a call, the tool's; of a result, where the API writes it there.
        arguments: Of a call, as they stand.
    """

    kind: PartKind
    loc: Loc
    text: str = ""
    id: str | None = None
    name: str | None = None
    arguments: Any = None


class Turn(msgspec.Struct, frozen=True):
    """One message, content or item.

    Attributes:
        role: Whose it is; results that stand alone are the tool's.
        loc: Its place.
        parts: What it holds; the texts inside of a result follow it.
        raw: The object itself.
    """

    role: str
    loc: Loc
    parts: tuple[Part, ...]
    raw: Body

    def of(self, kind: PartKind) -> list[Part]:
        """Returns the parts of a kind."""
        return [part for part in self.parts if part.kind == kind]


class NamedTool(msgspec.Struct, frozen=True):
    """A tool that is offered: its name and its place, and what defines it."""

    name: str
    loc: Loc
    raw: Body


def objects(value: Any, loc: Loc) -> Iterator[tuple[Loc, Body]]:
    """Yields the objects of a list with their places."""
    if isinstance(value, list):
        yield from [((*loc, at), item) for at, item in enumerate(value) if isinstance(item, dict)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _parts(content: Any, loc: Loc, read: Callable[[Body, Loc], list[Part]]) -> list[Part]:
    if isinstance(content, str):
        return [Part("text", loc, content)]
    return [part for at, item in objects(content, loc) for part in read(item, at)]


# --- the parts of each API ----------------------------------------------------------------------


def _typed_part(item: Body, loc: Loc) -> list[Part]:
    """Chat Completions, Responses, Cohere, Mistral: a part has a type."""
    kind = item.get("type")
    if kind in ("text", "input_text", "output_text") and isinstance(item.get("text"), str):
        return [Part("text", (*loc, "text"), item["text"])]
    return [Part("thinking" if kind == "thinking" else "other", loc)]


def _claude_part(item: Body, loc: Loc) -> list[Part]:
    kind = item.get("type")
    if kind == "text" and isinstance(item.get("text"), str):
        return [Part("text", (*loc, "text"), item["text"])]
    if kind == "tool_use":
        return [Part("call", loc, id=_text(item.get("id")), name=_text(item.get("name")), arguments=item.get("input"))]
    if kind == "tool_result":
        inner = _parts(item.get("content"), (*loc, "content"), _claude_part)
        return [Part("result", loc, id=_text(item.get("tool_use_id"))), *inner]
    return [Part("thinking" if kind in ("thinking", "redacted_thinking") else "other", loc)]


def _converse_part(item: Body, loc: Loc) -> list[Part]:
    if isinstance(item.get("text"), str):
        return [Part("text", (*loc, "text"), item["text"])]
    if isinstance(call := item.get("toolUse"), dict) and call.get("type") != "server_tool_use":
        at = (*loc, "toolUse")
        name = _text(call.get("name"))
        return [Part("call", at, id=_text(call.get("toolUseId")), name=name, arguments=call.get("input"))]
    if isinstance(result := item.get("toolResult"), dict) and "type" not in result:
        at = (*loc, "toolResult")
        inner = _parts(result.get("content"), (*at, "content"), _converse_part)
        return [Part("result", at, id=_text(result.get("toolUseId"))), *inner]
    return [Part("thinking" if "reasoningContent" in item else "other", loc)]


def _gemini_part(item: Body, loc: Loc) -> list[Part]:
    if isinstance(call := item.get("functionCall"), dict):
        at = (*loc, "functionCall")
        name = _text(call.get("name"))
        return [Part("call", at, id=_text(call.get("id")), name=name, arguments=call.get("args"))]
    if isinstance(result := item.get("functionResponse"), dict):
        at = (*loc, "functionResponse")
        return [Part("result", at, id=_text(result.get("id")), name=_text(result.get("name")))]
    if isinstance(item.get("text"), str):
        return [Part("thinking" if item.get("thought") else "text", (*loc, "text"), item["text"])]
    return [Part("other", loc)]


# --- the turns of each API ----------------------------------------------------------------------


def _messages(body: Body, key: str, inside: str, read: Callable[[Body, Loc], list[Part]]) -> list[Turn]:
    return [
        Turn(str(item.get("role")), at, tuple(_parts(item.get(inside), (*at, inside), read)), item)
        for at, item in objects(body.get(key), (key,))
    ]


def _system(body: Body, key: str, read: Callable[[Body, Loc], list[Part]]) -> list[Turn]:
    parts = _parts(body.get(key), (key,), read)
    return [Turn("system", (key,), tuple(parts), body)] if parts else []


def _claude(body: Body) -> list[Turn]:
    return [*_system(body, "system", _claude_part), *_messages(body, "messages", "content", _claude_part)]


def _converse(body: Body) -> list[Turn]:
    return [*_system(body, "system", _converse_part), *_messages(body, "messages", "content", _converse_part)]


def _gemini(body: Body) -> list[Turn]:
    turns = _messages(body, "contents", "parts", _gemini_part)
    return [msgspec.structs.replace(turn, role="assistant") if turn.role == "model" else turn for turn in turns]


def _chat(body: Body) -> list[Turn]:
    turns = []
    for turn in _messages(body, "messages", "content", _typed_part):
        parts = list(turn.parts)
        if turn.role == "tool":
            parts.insert(0, Part("result", turn.loc, id=_text(turn.raw.get("tool_call_id"))))
        parts += [_chat_call(call, at) for at, call in objects(turn.raw.get("tool_calls"), (*turn.loc, "tool_calls"))]
        turns.append(msgspec.structs.replace(turn, parts=tuple(parts)))
    return turns


def _chat_call(call: Body, loc: Loc) -> Part:
    kind = "custom" if isinstance(call.get("custom"), dict) else "function"
    said = call.get(kind) if isinstance(call.get(kind), dict) else {}
    assert said is not None
    return Part("call", loc, id=_text(call.get("id")), name=_text(said.get("name")), arguments=said.get("arguments"))


def _responses(body: Body) -> list[Turn]:
    instructions = _system(body, "instructions", _typed_part)
    if isinstance(body.get("input"), str):
        return [*instructions, Turn("user", ("input",), (Part("text", ("input",), body["input"]),), body)]
    return [*instructions, *[_item(item, at) for at, item in objects(body.get("input"), ("input",))]]


def _item(item: Body, loc: Loc) -> Turn:
    kind = item.get("type", "message")
    id_ = _text(item.get("call_id"))
    if kind in ("function_call", "custom_tool_call"):
        told = item.get("arguments")
        return Turn("assistant", loc, (Part("call", loc, id=id_, name=_text(item.get("name")), arguments=told),), item)
    if kind in ("function_call_output", "custom_tool_call_output"):
        return Turn("tool", loc, (Part("result", loc, id=id_),), item)
    if kind == "reasoning":
        return Turn("assistant", loc, (Part("thinking", loc),), item)
    if kind != "message":
        return Turn("assistant", loc, (Part("other", loc),), item)
    return Turn(str(item.get("role")), loc, tuple(_parts(item.get("content"), (*loc, "content"), _typed_part)), item)


TURNS: Mapping[str, Callable[[Body], list[Turn]]] = {
    "chat_completions": _chat,
    "codex_responses": _responses,
    "anthropic_messages": _claude,
    "gemini_native": _gemini,
    "bedrock_converse": _converse,
    "cohere_chat": _chat,
    "mistral_chat": _chat,
}
"""API mode → what reads its turns; instructions that stand apart are the first one."""


# --- tools --------------------------------------------------------------------------------------


def tools_of(api: str, body: Body) -> list[NamedTool]:
    """Returns the caller's own tools that a body offers."""
    if api == "gemini_native":
        groups = objects(body.get("tools"), ("tools",))
        key = "functionDeclarations"
        found = [each for at, group in groups for each in objects(group.get(key), (*at, key))]
        return [NamedTool(raw["name"], at, raw) for at, raw in found if isinstance(raw.get("name"), str)]
    if api == "bedrock_converse":
        config = body.get("toolConfig")
        listed = objects(config.get("tools") if isinstance(config, dict) else None, ("toolConfig", "tools"))
        return _under("toolSpec", listed)
    listed = objects(body.get("tools"), ("tools",))
    if api in ("codex_responses", "anthropic_messages"):
        own = ("function", "custom", None)
        return [NamedTool(raw["name"], at, raw) for at, raw in listed if raw.get("type") in own and _is_named(raw)]
    return _under("function", listed)


def _under(key: str, listed: Iterator[tuple[Loc, Body]]) -> list[NamedTool]:
    found = [((*at, key), raw[key]) for at, raw in listed if isinstance(raw.get(key), dict)]
    return [NamedTool(raw["name"], at, raw) for at, raw in found if _is_named(raw)]


def _is_named(raw: Body) -> bool:
    return isinstance(raw.get("name"), str)
