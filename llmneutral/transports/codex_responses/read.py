"""A whole answer, and the items of any answer.

A stream comes through here too: its finished items are read by `read_item`, and replace what their deltas built.
Docs: https://developers.openai.com/api/docs/guides/migrate-to-responses, types of openai 3 (Response,
ResponseOutputItem).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from llmneutral.convert.stream import Reader
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    GenericMessageContent,
    InvalidActionCallMessageContent,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, dumps, parse_object
from llmneutral.ir.responses import FinishReason, Usage

Item = Mapping[str, Any]
FINISH: dict[str, FinishReason] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "max_messages": "incomplete",
    "steered": "incomplete",
    "incomplete": "incomplete",
    "queued": "incomplete",
    "in_progress": "incomplete",
    "cancelled": "incomplete",
    "failed": "error",
}
UNFINISHED = ("queued", "in_progress", "cancelled", "failed")
TOLD = ("incomplete_details", "tool_usage", "service_tier", "input_transformations", "moderation")
"""Further words of the response object that are kept as `details`."""

REFUSED, CALLED = "refused", "called"
"""Marks in the reader's notes: the answer holds a refusal, a call that may be run."""


def words(value: Any) -> str:
    """Returns a text, "" for none.

    Raises:
        TypeError: If it is neither; the reader's caller notes what was not understood.
    """
    if value.__class__ is str:
        return value
    if value is None:
        return ""
    raise TypeError(f"{a_kind(value)} stands where a text is expected")


def read(body: Item, reader: Reader) -> None:
    """Reads a whole answer."""
    begin(body, reader)
    items = body.get("output") or ()
    for place, item in enumerate(items):
        read_item(item, place, reader)
    if not items and isinstance(text := body.get("output_text"), str):
        _say((0, 0), text, (), None, reader)
    read_ending(body, reader)


def begin(body: Item, reader: Reader) -> None:
    """Reads who answers."""
    reader.start(words(body.get("id")) or None, words(body.get("model")) or None)


# --- items --------------------------------------------------------------------------------------


def read_item(item: Item, place: Hashable, reader: Reader) -> None:
    """Reads a finished item; what deltas built under its place is replaced.

    Args:
        item: The item as the provider says it is in the end.
        place: What tells it from the other items: its `output_index`.
        reader: Where it goes.
    """
    if item:
        _ITEMS.get(item.get("type", ""), _generic)(item, place, reader)


def _message(item: Item, place: Hashable, reader: Reader) -> None:
    native = {key: item[key] for key in ("id", "status", "phase") if item.get(key) is not None} or None
    keys = reader.state.get(place, ())  # those of the parts as they were opened, whatever content_index says
    content = item.get("content") or ()
    parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else content
    for number, part in enumerate(parts):
        key = keys[number] if number < len(keys) else (place, "part", number)
        kind = part.get("type")
        if kind == "refusal":
            _decline(key, words(part.get("refusal")), native, reader)
        elif kind in ("output_text", "text"):
            _say(key, words(part.get("text")), part.get("annotations") or (), native, reader)
        else:
            reader.note(f"a part of the answer is a {kind}, which is not read")
    for key in keys[len(parts) :]:
        _say(key, "", (), None, reader)


def _say(key: Hashable, text: str, citations: Any, native: JSONObject | None, reader: Reader) -> None:
    """A text; an empty one is no block, and takes away what was there."""
    if not text and not citations:
        if reader.has(key):
            reader.block(key, TextMessageContent(""))
        return
    reader.text(key, missed(key, text, reader))
    reader.block(key, TextMessageContent(text, citations=tuple(citations), native=native))


def _decline(key: Hashable, words: str, native: JSONObject | None, reader: Reader) -> None:
    reader.state[REFUSED] = True
    reader.refusal(key, missed(key, words, reader))
    reader.block(key, RefusalMessageContent(words, native=native))


def missed(key: Hashable, whole: str, reader: Reader) -> str:
    """Returns the end of a text that no delta brought; "" where the deltas said something else."""
    known = reader.so_far(key)
    return whole[len(known) :] if whole.startswith(known) else ""


def _reasoning(item: Item, place: Hashable, reader: Reader) -> None:
    key = reasoning_key(place)
    summary = tuple([words(part.get("text")) for part in item.get("summary") or ()])
    content = item.get("content") or ()
    text = "\n\n".join(summary or [words(part.get("text")) for part in content])
    reader.thinking(key, missed(key, text, reader))
    block = ThinkingMessageContent(
        text,
        encrypted_content=words(item.get("encrypted_content")) or None,
        id=words(item.get("id")) or None,
        summary=summary,
        native={"content": list(content)} if content else None,
    )
    reader.block(key, block)


def _function_call(item: Item, place: Hashable, reader: Reader) -> None:
    given = item.get("arguments")
    raw = dumps(given) if isinstance(given, dict) else words(given)
    parsed = parse_object(raw)
    native = {name: item[name] for name in ("namespace", "caller") if item.get(name) is not None} or None
    _call(item, place, raw, parsed, native, reader)


def _custom_call(item: Item, place: Hashable, reader: Reader) -> None:
    """A call whose input is any text. Source: openai 3, ResponseCustomToolCall."""
    raw = words(item.get("input"))
    named = {name: item[name] for name in ("namespace", "caller") if item.get(name) is not None}
    _call(item, place, raw, {"input": raw}, {"custom": True, **named}, reader)


def _call(
    item: Item, place: Hashable, raw: str, parsed: JSONObject | None, native: JSONObject | None, reader: Reader
) -> None:
    key, name = call_key(place), words(item.get("name"))
    tag, item_id = words(item.get("call_id")) or None, words(item.get("id")) or None
    if not reader.has(key):
        reader.call(key, tag, name, raw, item_id=item_id, native=native)
    elif rest := missed(key, raw, reader):
        reader.call(key, fragment=rest)
    if parsed is None or item.get("status") == "incomplete":
        reader.block(key, InvalidActionCallMessageContent(tag, name, None, raw, native=native))
        return
    reader.state[CALLED] = True
    arguments = None if native and native.get("custom") else raw or None
    reader.block(key, ActionCallMessageContent(tag, name, None, parsed, arguments, None, item_id, native=native))


def _generic(item: Item, place: Hashable, reader: Reader) -> None:
    reader.block(item_key(place), GenericMessageContent(dict(item)), kind="generic")


def reasoning_key(place: Hashable) -> Hashable:
    """The key of the slot of a reasoning item."""
    return place, "reasoning"


def call_key(place: Hashable) -> Hashable:
    """The key of the slot of a call."""
    return place, "call"


def item_key(place: Hashable) -> Hashable:
    """The key of the slot of any other item."""
    return place, "item"


# --- the response object ------------------------------------------------------------------------


def read_ending(body: Item, reader: Reader) -> None:
    """Reads how the answer ended: status, error, usage."""
    status = body.get("status")
    details = body.get("incomplete_details") or {}
    raw = details.get("reason") or status
    reader.usage(body.get("usage"))
    if body.get("error") or status == "failed":
        fail(body.get("error"), reader)
    reader.incomplete = status in UNFINISHED
    if raw is not None:
        told = {key: body[key] for key in TOLD if body.get(key)}
        unknown = status == "incomplete" and raw not in FINISH
        reader.finish(raw, reason="incomplete" if unknown else None, details=told or None)


def fail(error: Any, reader: Reader) -> None:
    """Notes an error object; the first one stands."""
    if reader.error_info is not None:
        return
    if not isinstance(error, Mapping):
        reader.error(None, str(error or "the answer failed, and no reason was given"))
        return
    code = error.get("code")
    names = [str(name) for name in (code, error.get("type")) if name not in (None, "", "error")]
    reader.error(next(iter(names), None), str(error.get("message") or ""), code=None if code is None else str(code))


def settle(reader: Reader, reason: FinishReason | None) -> FinishReason | None:
    """A refusal counts before calls, and calls that may be run before anything else."""
    if reader.state.get(REFUSED):
        return "refusal"
    return "tool_calls" if reader.state.get(CALLED) else reason


def usage(raw: JSONObject) -> Usage:
    """Tokens. Source: openai 3, ResponseUsage; imitators use the names of Chat Completions."""
    into, out = _count(raw, "input_tokens", "prompt_tokens"), _count(raw, "output_tokens", "completion_tokens")
    of_input = raw.get("input_tokens_details")
    cache_read, cache_write = _count(of_input, "cached_tokens"), _count(of_input, "cache_write_tokens")
    total = _count(raw, "total_tokens")
    fresh = None if into is None else into - (cache_read or 0) - (cache_write or 0)
    return Usage(
        into,
        None if fresh is None or fresh < 0 else fresh,
        cache_read,
        cache_write,
        out,
        _count(raw.get("output_tokens_details"), "reasoning_tokens"),
        into + out if total is None and into is not None and out is not None else total,
        raw=raw,
    )


def _count(raw: Any, *names: str) -> int | None:
    """The first of these that is a whole number."""
    told = [raw.get(name) for name in names] if isinstance(raw, Mapping) else []
    return next((value for value in told if type(value) is int), None)


_ITEMS: dict[str, Callable[[Item, Hashable, Reader], None]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
}
"""By the type of an item; every other type is one that only this API knows."""
