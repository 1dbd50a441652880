"""Answers of Mistral, whole or as chunks → calls on a Reader.

They are Chat's but for three things, which are read here: content that is a list of chunks, where reasoning stands
among the text; `data` around a chunk, as the SDK's events have it; and the count of the prompt, which leaves sound out.
Source: the types of mistralai 3 (`ChatCompletionResponse`, `CompletionChunk`), and recorded traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.stream import Reader
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.responses import Usage
from llmneutral.transports.chat_completions import answer
from llmneutral.transports.chat_completions.answer import FINISH, TEXT, THINKING
from llmneutral.transports.mistral_chat.request import inner_text

NO_ID = "null"
"""What the SDK puts where a call has no id."""

__all__ = ["FINISH", "chunk", "read", "usage"]


# --- chunks and whole answers -------------------------------------------------------------------


def read(body: Any, reader: Reader) -> None:
    """Reads a whole answer."""
    choices = body.get("choices")
    if isinstance(choices, list) and choices and not body.get("error"):
        body = {**body, "choices": [_whole(choice) for choice in choices]}
        body = _without_chunks(body, "message", reader)
    answer.read(body, reader)


def chunk(data: Any, reader: Reader) -> None:
    """Reads one chunk of a stream."""
    if reader.error_info is not None:
        return
    choices = data.get("choices")
    if choices is None and isinstance(inner := data.get("data"), dict):
        data, choices = inner, inner.get("choices")
    if choices and _is_special(choices[0].get("delta"), len(choices)):
        data = _without_chunks(data, "delta", reader)
    answer.chunk(data, reader)


def _is_special(delta: Any, choices: int) -> bool:
    """Whether a delta is more than Chat's: nearly all are `{content: text}`."""
    return choices > 1 or not (delta.__class__ is dict and len(delta) == 1 and delta.get("content").__class__ is str)


def _whole(choice: Any) -> Any:
    """A choice with one message; some have several of them (the provider's own tools)."""
    messages = choice.get("messages")
    if choice.get("message") is not None or not isinstance(messages, list):
        return choice
    said = [each for each in messages if _is_said(each)]
    content: list[Any] = []
    for each in said:
        given = each.get("content") or []
        content += given if isinstance(given, list) else [{"type": "text", "text": given}]
    calls = [call for each in said for call in each.get("tool_calls") or ()]
    return {**choice, "message": {"role": "assistant", "content": content, "tool_calls": calls}}


def _is_said(message: Any) -> bool:
    """Whether a message, or a piece of one, is the model's own word."""
    return (
        isinstance(message, Mapping) and message.get("role") in (None, "assistant") and not message.get("tool_call_id")
    )


def _without_chunks(data: Any, field: str, reader: Reader) -> JSONObject:
    """Reads content that is a list of chunks, and returns the rest of the answer as Chat has it."""
    if not reader.started:
        reader.start(*[None if data.get(name) is None else str(data[name]) for name in ("id", "model")])
    choices, first = [], True
    for choice in data["choices"]:
        message = choice.get(field)
        if first and choice.get("index") in (0, None):
            first = False
            if isinstance(message, Mapping):
                choice = {**choice, field: _as_chat(message, reader)}
        choices.append(choice)
    return {**data, "choices": choices}


def _as_chat(message: Mapping[str, Any], reader: Reader) -> JSONObject:
    if not _is_said(message):
        reader.note("a message of one of the provider's tools is not read")
        return {}
    rest = dict(message)
    content = message.get("content")
    if isinstance(content, list):
        rest["content"] = None
        for each in content:
            if isinstance(each, Mapping):
                _chunk(each, reader)
            elif isinstance(each, str):
                reader.text(TEXT, each)
    if calls := message.get("tool_calls"):
        rest["tool_calls"] = [{**call, "id": None} if call.get("id") == NO_ID else call for call in calls]
    return rest


# --- chunks of content --------------------------------------------------------------------------


def _chunk(part: Mapping[str, Any], reader: Reader) -> None:
    """Reads one chunk; blocks keep the order of their chunks, and neighbours of one kind are one block."""
    kind = part.get("type")
    if kind == "thinking":
        _thinking(part, reader)
    elif kind == "text":
        reader.text(TEXT, text if isinstance(text := part.get("text"), str) else "")
    else:
        answer.read_part(part, reader)
        reader.forget(TEXT)  # what is cited stands before the reference


def _thinking(part: Mapping[str, Any], reader: Reader) -> None:
    """Reasoning; text ends a block of it, and so does another signature."""
    state, given = reader.state, part.get("signature")
    signature = given if isinstance(given, str) and given else None
    signed = state.get("signature")
    if reader.has(TEXT) or (signed and signature != signed):
        reader.forget(TEXT)
        reader.forget(THINKING)
        for name in ("inner", "more"):
            state.pop(name, None)
    state["signature"] = signature
    inner = part.get("thinking")
    inner = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner or []
    pieces = state.setdefault("inner", [])
    pieces += inner
    text, more = inner_text(inner)
    if more:
        state["more"] = True
    native = {"thinking": _joined(pieces)} if "more" in state else None
    reader.thinking(THINKING, text, signature=signature, native=native)


def _joined(pieces: list[Any]) -> list[Any]:
    """The chunks inside of reasoning, neighbours of text as one."""
    found: list[Any] = []
    for piece in pieces:
        if found and _is_text(piece) and _is_text(found[-1]):
            found[-1] = {**found[-1], "text": found[-1]["text"] + piece["text"]}
        else:
            found.append(piece)
    return found


def _is_text(piece: Any) -> bool:
    return isinstance(piece, Mapping) and piece.get("type") == "text" and isinstance(piece.get("text"), str)


# --- usage --------------------------------------------------------------------------------------


def usage(raw: JSONObject) -> Usage:
    """The counts in the neutral form. `prompt_tokens` leaves the tokens of sound out; only the total tells."""
    prompt, answered, total = [_count(raw.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")]
    if total is not None and answered is not None and total >= answered:
        prompt = total - answered
    elif prompt is not None:
        details = raw.get("prompt_tokens_details")
        prompt += (_count(details.get("audio_tokens")) or 0) if isinstance(details, Mapping) else 0
    found = answer.usage(raw if prompt is None else {**raw, "prompt_tokens": prompt})
    return Usage(
        found.input_total, found.input_uncached, found.cache_read, found.cache_write,
        found.output_total, found.reasoning, found.total, raw=raw,
    )  # fmt: skip


def _count(value: Any) -> int | None:
    return value if type(value) is int else None
