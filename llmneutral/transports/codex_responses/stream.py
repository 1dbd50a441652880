"""The events of a stream.

An item has its slot by `output_index` alone: item ids may change from event to event (Copilot), and `content_index`
may count from 1. `response.output_item.done` is authoritative; the terminal event's `output` is used only where no
item came before it.

Docs: https://developers.openai.com/api/reference/resources/responses/streaming-events, types of openai 3
(ResponseStreamEvent).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from llmneutral.convert.stream import Reader
from llmneutral.ir.deltas import BaseDeltaMessageContent
from llmneutral.transports.codex_responses.read import (
    begin,
    call_key,
    fail,
    item_key,
    missed,
    read_ending,
    read_item,
    reasoning_key,
    words,
)

Chunk = Mapping[str, Any]
SEEN, CURRENT, OPEN, DONE = "items seen", "current place", "open items", "items done"
WHOLE, PHASES = "whole arguments", "phases"
CALLS = ("function_call", "custom_tool_call")
"""Marks in the reader's notes."""


def chunk(event: Any, reader: Reader) -> None:
    """Reads one event."""
    kind = event.get("type")
    read = EVENTS.get(kind)
    if read is not None:
        read(event, reader)
    elif kind is None and "error" in event:
        _error(event, reader)
    elif kind is None or not kind.startswith(("response.", "keepalive")):
        reader.note(f"an event of the type {kind!r} is not known")


# --- where a piece belongs ----------------------------------------------------------------------


def _place(event: Chunk, reader: Reader) -> Hashable:
    """The item an event belongs to; an event that does not tell belongs to the item opened last."""
    place: Hashable = event.get("output_index")
    if place is None:
        place = reader.state.get(CURRENT, 0)
    return place


def _part(event: Chunk, reader: Reader) -> Hashable:
    """The slot of a part of a message, opened at its first sight."""
    place = _place(event, reader)
    key = (place, event.get("content_index"))
    if not reader.has(key):
        _open_part(place, key, reader)
    return key


def _open_part(place: Hashable, key: Hashable, reader: Reader) -> None:
    reader.state.setdefault(place, []).append(key)
    reader.state[SEEN] = True
    reader.open(key, BaseDeltaMessageContent)
    phase = reader.state.get((PHASES, place))
    if phase is not None:
        reader.text(key, "", native={"phase": phase})


# --- the response and its items -----------------------------------------------------------------


def _begun(event: Chunk, reader: Reader) -> None:
    begin(event.get("response") or {}, reader)
    reader.incomplete = True  # until a terminal event: a sentinel at the end is not enough


def _item_added(event: Chunk, reader: Reader) -> None:
    item = event.get("item") or {}
    state = reader.state
    place = event.get("output_index")
    if place is None:
        place = state.get(CURRENT, -1) + 1
    state[CURRENT], state[SEEN] = place, True
    state.setdefault(OPEN, {})[place] = item
    kind = item.get("type")
    if kind == "message":
        state[PHASES, place] = item.get("phase")
    elif kind == "reasoning":
        reader.open(reasoning_key(place), BaseDeltaMessageContent)
        reader.thinking(reasoning_key(place), id=words(item.get("id")) or None)
    elif kind in CALLS:
        native = {"custom": True} if kind == "custom_tool_call" else None
        tag, name, item_id = words(item.get("call_id")), words(item.get("name")), words(item.get("id"))
        reader.call(call_key(place), tag or None, name or None, item_id=item_id or None, native=native)
    else:
        reader.open(item_key(place), BaseDeltaMessageContent)


def _item_done(event: Chunk, reader: Reader) -> None:
    place, item = _place(event, reader), event.get("item") or {}
    if reader.state.get((DONE, place)) == item:
        return  # an event that came twice
    reader.state[SEEN], reader.state[DONE, place] = True, item
    reader.state.get(OPEN, {}).pop(place, None)
    read_item(item, place, reader)


# --- pieces -------------------------------------------------------------------------------------


def _text(event: Chunk, reader: Reader) -> None:
    reader.text(_part(event, reader), words(event.get("delta")))


def _text_done(event: Chunk, reader: Reader) -> None:
    key = _part(event, reader)
    reader.text(key, missed(key, words(event.get("text")), reader))


def _annotation(event: Chunk, reader: Reader) -> None:
    if isinstance(annotation := event.get("annotation"), dict):
        reader.citation(_part(event, reader), annotation)


def _refusal(event: Chunk, reader: Reader) -> None:
    reader.refusal(_part(event, reader), words(event.get("delta")))


def _thought(event: Chunk, reader: Reader, index: str) -> None:
    """A piece of reasoning; between two parts of one item stands a blank line."""
    place = _place(event, reader)
    reader.state[SEEN] = True
    piece, part = words(event.get("delta")), (index, event.get(index))
    before = reader.state.get((place, "thought"))
    reader.state[place, "thought"] = part
    reader.thinking(reasoning_key(place), piece if before in (None, part) else f"\n\n{piece}")


def _summary(event: Chunk, reader: Reader) -> None:
    _thought(event, reader, "summary_index")


def _reasoning_text(event: Chunk, reader: Reader) -> None:
    _thought(event, reader, "content_index")


def _arguments(event: Chunk, reader: Reader) -> None:
    reader.state[SEEN] = True
    reader.call(call_key(_place(event, reader)), fragment=words(event.get("delta")))


def _arguments_done(event: Chunk, reader: Reader) -> None:
    """The arguments are whole: the call counts even if its item is never told to be done."""
    place = _place(event, reader)
    whole = event.get("arguments", event.get("input"))
    reader.state[WHOLE, place] = reader.so_far(call_key(place)) if whole is None else words(whole)


# --- the end ------------------------------------------------------------------------------------


def _ended(event: Chunk, reader: Reader) -> None:
    response = event.get("response") or {}
    begin(response, reader)
    if not reader.state.get(SEEN):
        for place, item in enumerate(response.get("output") or ()):
            read_item(item, place, reader)
    for place, item in reader.state.pop(OPEN, {}).items():
        _close(item, place, response, reader)
    read_ending(response, reader)
    reader.terminate()


def _close(item: Chunk, place: Hashable, response: Chunk, reader: Reader) -> None:
    """An item that was never told to be done: what deltas built of text and reasoning stands."""
    if item.get("type") in CALLS:
        read_item(_cut(item, place, reader), place, reader)
    elif item.get("type") not in ("message", "reasoning"):
        in_the_end = [told for told in response.get("output") or () if told.get("id") == item.get("id") is not None]
        read_item(in_the_end[0] if in_the_end else item, place, reader)


def _cut(item: Chunk, place: Hashable, reader: Reader) -> Chunk:
    """A call that was never told to be done: with its arguments whole it counts, else it is invalid."""
    told = "input" if item.get("type") == "custom_tool_call" else "arguments"
    whole = reader.state.get((WHOLE, place))
    if whole is not None:
        return {**item, told: whole, "status": "completed"}
    return {**item, told: reader.so_far(call_key(place)) or item.get(told), "status": "incomplete"}


def _error(event: Chunk, reader: Reader) -> None:
    nested = event.get("error")
    fail(nested if isinstance(nested, Mapping) else event, reader)
    reader.terminate()


EVENTS: dict[Any, Callable[[Chunk, Reader], None]] = {
    "response.output_text.delta": _text,
    "response.reasoning_summary_text.delta": _summary,
    "response.reasoning_text.delta": _reasoning_text,
    "response.function_call_arguments.delta": _arguments,
    "response.custom_tool_call_input.delta": _arguments,
    "response.refusal.delta": _refusal,
    "response.output_text.annotation.added": _annotation,
    "response.created": _begun,
    "response.in_progress": _begun,
    "response.queued": _begun,
    "response.output_item.added": _item_added,
    "response.content_part.added": _part,  # type: ignore[dict-item]  # opens the slot; its key is of no use here
    "response.output_text.done": _text_done,
    "response.function_call_arguments.done": _arguments_done,
    "response.custom_tool_call_input.done": _arguments_done,
    "response.output_item.done": _item_done,
    "response.completed": _ended,
    "response.incomplete": _ended,
    "response.failed": _ended,
    "error": _error,
}
"""By the type of an event. What is not here tells nothing that the finished items do not tell as well."""
