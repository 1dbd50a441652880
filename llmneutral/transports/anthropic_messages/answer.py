"""Answers of Anthropic Messages, whole or streamed, through the same functions.

https://platform.claude.com/docs/en/build-with-claude/streaming; types of anthropic 2: Message, RawMessageStreamEvent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmneutral.convert.stream import Reader
from llmneutral.errors.body import read_error_body
from llmneutral.ir import deltas as d
from llmneutral.ir.contents import ActionCallMessageContent, GenericMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.jsontext import JSONObject, as_object, dumps, parse_object
from llmneutral.ir.responses import FinishReason, Usage

FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}
"""The rest (`compaction` …) is `other`, with the word kept."""

NATIVE_OF_CALL = ("caller", "toolset_name")
"""What a call has beside the neutral fields, and has to have again when it goes back."""

GENERIC = "generic"


def _words(value: Any) -> str:
    """Text, or nothing; anything else is no answer of this API, and the reader notes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise TypeError(f"text came as {type(value).__name__}")


def _name(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


# --- blocks: where one begins ---------------------------------------------------------------------


def _text(key: int, block: JSONObject, reader: Reader) -> None:
    reader.text(key, _words(block.get("text")))
    for cite in block.get("citations") or ():
        reader.citation(key, cite)


def _thinking(key: int, block: JSONObject, reader: Reader) -> None:
    reader.thinking(key, _words(block.get("thinking")))
    reader.thinking(key, signature=_words(block.get("signature")))


def _redacted(key: int, block: JSONObject, reader: Reader) -> None:
    reader.thinking(key, data=_words(block.get("data")))


def _call(key: int, block: JSONObject, reader: Reader) -> None:
    reader.call(key, _name(block.get("id")), _name(block.get("name")), native=_native(block))
    reader.state[key] = block.get("input")


def _native(block: JSONObject) -> JSONObject | None:
    return {name: block[name] for name in NATIVE_OF_CALL if block.get(name) is not None} or None


def _generic(key: int, block: JSONObject, reader: Reader) -> None:
    """A block of the provider's own: complete once it is closed."""
    reader.open(key, d.BaseDeltaMessageContent)
    reader.state[GENERIC, key] = dict(block)
    reader.state[key] = []


BLOCKS: dict[str, Callable[[int, JSONObject, Reader], None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
}
"""How a block begins, by its type; any other is generic."""


# --- blocks: how one grows, and ends --------------------------------------------------------------


def _text_delta(key: int, delta: JSONObject, reader: Reader) -> None:
    reader.text(key, _words(delta["text"]))


def _thinking_delta(key: int, delta: JSONObject, reader: Reader) -> None:
    reader.thinking(key, _words(delta["thinking"]))


def _signature_delta(key: int, delta: JSONObject, reader: Reader) -> None:
    reader.thinking(key, signature=_words(delta["signature"]))


def _citations_delta(key: int, delta: JSONObject, reader: Reader) -> None:
    reader.citation(key, delta["citation"])


def _json_delta(key: int, delta: JSONObject, reader: Reader) -> None:
    piece = _words(delta["partial_json"])
    if (GENERIC, key) in reader.state:
        reader.state[key].append(piece)
    elif piece:
        reader.state[key] = None  # what came with the start does not count
        reader.call(key, fragment=piece)


def _unknown_delta(key: int, delta: JSONObject, reader: Reader) -> None:
    """Fields of a block that only this API knows (`compaction_delta`): texts grow, the rest is assigned."""
    block = reader.state.get((GENERIC, key))
    if block is None:
        reader.note(f"a delta of type {delta.get('type')!r} was not understood")
        return
    for name, value in delta.items():
        if name != "type" and value is not None:
            known = block.get(name)
            block[name] = known + value if isinstance(known, str) and isinstance(value, str) else value


DELTAS: dict[str, Callable[[int, JSONObject, Reader], None]] = {
    "text_delta": _text_delta,
    "thinking_delta": _thinking_delta,
    "signature_delta": _signature_delta,
    "citations_delta": _citations_delta,
    "input_json_delta": _json_delta,
}


def _end_block(key: int, reader: Reader) -> None:
    given = reader.state.pop(key, None)
    block = reader.state.pop((GENERIC, key), None)
    if block is not None:
        if (raw := "".join(given or ())).strip():
            parsed = parse_object(raw)
            block["input"] = {"_raw": raw} if parsed is None else parsed
        reader.block(key, GenericMessageContent(block))
        return
    if given:  # a gateway that sent the whole input with the start
        reader.call(key, fragment=given if isinstance(given, str) else dumps(given))
    reader.done(key)


# --- events ---------------------------------------------------------------------------------------


def _message_start(event: JSONObject, reader: Reader) -> None:
    message = event["message"]
    reader.start(message.get("id"), message.get("model"))
    reader.usage(message.get("usage"))


def _block_start(event: JSONObject, reader: Reader) -> None:
    key, block = event["index"], event["content_block"]
    if reader.has(key):  # a second message in one stream, or a gateway that counts otherwise
        _end_block(key, reader)
        reader.forget(key)
    BLOCKS.get(block["type"], _generic)(key, block, reader)


def _block_delta(event: JSONObject, reader: Reader) -> None:
    delta = event["delta"]
    DELTAS.get(delta["type"], _unknown_delta)(event["index"], delta, reader)


def _block_stop(event: JSONObject, reader: Reader) -> None:
    _end_block(event["index"], reader)


def _message_delta(event: JSONObject, reader: Reader) -> None:
    reader.usage(event.get("usage"))
    _stopped(event.get("delta") or {}, reader)


def _message_stop(event: JSONObject, reader: Reader) -> None:
    del event
    reader.terminate()


def _error(event: JSONObject, reader: Reader) -> None:
    found = read_error_body(event)
    reader.error(found["raw_type"], found["message"], status=found["status"], code=found["code"], type=found["type"])


def _whole_in_stream(event: JSONObject, reader: Reader) -> None:
    """A server that answers a request for a stream with the whole message."""
    read(event, reader)
    reader.terminate()


EVENTS: dict[str, Callable[[JSONObject, Reader], None]] = {
    "content_block_delta": _block_delta,
    "content_block_start": _block_start,
    "content_block_stop": _block_stop,
    "message_start": _message_start,
    "message_delta": _message_delta,
    "message_stop": _message_stop,
    "message": _whole_in_stream,
    "error": _error,
}
"""By the event's type; `ping` and what is not known yet mean nothing."""


def chunk(event: JSONObject, reader: Reader) -> None:
    """Reads one event of a stream."""
    handle = EVENTS.get(event.get("type") or ("error" if "error" in event else ""))
    if handle is not None:
        handle(event, reader)


def _stopped(told: JSONObject, reader: Reader) -> None:
    """Why it ended; the words of a refusal are a block of their own."""
    details = {key: told[key] for key in ("stop_sequence", "stop_details", "container") if told.get(key) is not None}
    why = told.get("stop_details") or {}
    reason = told.get("stop_reason")
    if reason == "refusal":
        reader.refusal("stop_details", _words(why.get("explanation")), _name(why.get("category")))
    if reason is not None:
        reader.finish(reason, details=details or None)


def read(response: JSONObject, reader: Reader) -> None:
    """Reads a whole answer."""
    if response.get("type") == "error" or ("error" in response and "content" not in response):
        _error(response, reader)
        return
    reader.start(response.get("id"), response.get("model"))
    reader.usage(response.get("usage"))
    for key, block in enumerate(response.get("content") or ()):
        if block["type"] == "tool_use":
            reader.block(key, _whole_call(block))
        else:
            BLOCKS.get(block["type"], _generic)(key, block, reader)
            _end_block(key, reader)
    _stopped(response, reader)


def _whole_call(block: JSONObject) -> ActionCallMessageContent | InvalidActionCallMessageContent:
    """A call whose input is an object already; imitators may send it as text."""
    given, tag, name = block.get("input"), _name(block.get("id")), _name(block.get("name")) or ""
    text = given if isinstance(given, str) else None
    parsed = as_object(given)
    if parsed is None:
        raw = text if text is not None else dumps(given)
        return InvalidActionCallMessageContent(tag, name, raw=raw, native=_native(block))
    return ActionCallMessageContent(tag, name, input=parsed, arguments=text, native=_native(block))


def settle(reader: Reader, reason: FinishReason | None) -> FinishReason | None:
    """A stream that ended after its stop reason, but without message_stop, is complete; it is said."""
    if not reader.terminated:
        reader.note("the stream ended without message_stop")
    return reason


# --- usage ----------------------------------------------------------------------------------------


def usage(raw: JSONObject) -> Usage:
    """Counts of tokens: input_tokens leaves out what the cache took or gave.

    https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance
    """
    uncached, from_cache, to_cache, output = [
        _count(raw.get(key))
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    ]
    details = raw.get("output_tokens_details")
    total = None if uncached is None else uncached + (from_cache or 0) + (to_cache or 0)
    return Usage(
        total,
        uncached,
        from_cache,
        to_cache,
        output,
        _count(details.get("thinking_tokens")) if isinstance(details, dict) else None,
        None if total is None or output is None else total + output,
        raw=raw,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
