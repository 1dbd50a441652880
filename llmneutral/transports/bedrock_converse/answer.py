"""Answers of Converse, whole or streamed, through the same functions.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html; botocore 1.44: shapes
ConverseResponse and ConverseStreamOutput. An event of a stream is an object of one key; its blocks are told apart by
contentBlockIndex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmneutral.convert.rest import base64_of, plain_json
from llmneutral.convert.stream import Reader
from llmneutral.errors.body import read_error_body
from llmneutral.ir import deltas as d
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    GenericMessageContent,
    InvalidActionCallMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, as_object, dumps, parse_object
from llmneutral.ir.responses import FinishReason, Usage
from llmneutral.transports.bedrock_converse.formats import is_server_tool
from llmneutral.transports.bedrock_converse.media import read_audio, read_image

FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
"""The rest is `other`, with the word kept."""

BROKEN = {"malformed_model_output": "malformed_response", "malformed_tool_use": "malformed_function_call"}
"""Reasons that are errors, and their types: the same request may succeed later."""

GENERIC = "generic"
SAID_BESIDE = ("metrics", "trace", "additionalModelResponseFields", "performanceConfig", "serviceTier")
"""What is said beside the answer: kept as details."""


def _words(value: Any) -> str:
    """Text, or nothing; anything else is no answer of this API, and the reader notes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise TypeError(f"text came as {type(value).__name__}")


def _name(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _data(value: Any) -> str:
    """Opaque data: boto3 gives bytes, the REST body base64 text."""
    return base64_of(value) if isinstance(value, bytes | bytearray) else _words(value)


# --- blocks of a whole answer ---------------------------------------------------------------------


def _text(key: int, block: Any, reader: Reader) -> None:
    reader.text(key, _words(block))


def _reasoning(key: int, block: JSONObject, reader: Reader) -> None:
    if not block:  # nothing was said of it, but that it is there
        reader.block(key, ThinkingMessageContent())
    thought = block.get("reasoningText") or {}
    reader.thinking(key, _words(thought.get("text")))
    reader.thinking(key, signature=_words(thought.get("signature")))
    reader.thinking(key, data=_data(block.get("redactedContent")))


def _cited(key: int, block: JSONObject, reader: Reader) -> None:
    for piece in block.get("content") or ():
        reader.text(key, _words(piece.get("text")))
    for cite in block.get("citations") or ():
        reader.citation(key, cite)


def _call(key: int, block: JSONObject, reader: Reader) -> None:
    """A call whose input is an object already; gateways may send it as text."""
    given, tag, name = block.get("input"), _name(block.get("toolUseId")), _name(block.get("name")) or ""
    text = given if isinstance(given, str) else None
    parsed = as_object(given)
    if parsed is None:
        raw = text if text is not None else dumps(given)
        reader.block(key, InvalidActionCallMessageContent(tag, name, raw=raw))
        return
    reader.block(key, ActionCallMessageContent(tag, name, input=parsed, arguments=text))


def _image(key: int, block: JSONObject, reader: Reader) -> None:
    reader.block(key, read_image(block))


def _audio(key: int, block: JSONObject, reader: Reader) -> None:
    reader.block(key, read_audio(block))


BLOCKS: dict[str, Callable[[int, Any, Reader], None]] = {
    "text": _text,
    "reasoningContent": _reasoning,
    "citationsContent": _cited,
    "toolUse": _call,
    "image": _image,
    "audio": _audio,
}
"""Blocks with a neutral form, by their key; any other, and tools that Amazon runs, are generic."""


def _block(key: int, block: JSONObject, reader: Reader) -> None:
    kind = next((known for known in BLOCKS if known in block), None)
    if kind is None or (isinstance(block[kind], dict) and is_server_tool(kind, block[kind])):
        if block:
            reader.block(key, GenericMessageContent(plain_json(dict(block))))
        return
    BLOCKS[kind](key, block[kind], reader)
    reader.done(key)


# --- blocks of a stream ---------------------------------------------------------------------------


def _text_delta(key: int, piece: Any, reader: Reader) -> None:
    reader.text(key, _words(piece))


def _reasoning_delta(key: int, piece: JSONObject, reader: Reader) -> None:
    reader.thinking(key, _words(piece.get("text")))
    reader.thinking(key, signature=_words(piece.get("signature")))
    reader.thinking(key, data=_data(piece.get("redactedContent")))


def _call_delta(key: int, piece: JSONObject, reader: Reader) -> None:
    given = piece.get("input")
    fragment = dumps(given) if isinstance(given, dict) else _words(given)
    if (GENERIC, key) in reader.state:
        reader.state[key].append(fragment)
    elif fragment:
        reader.call(key, fragment=fragment)


def _result_delta(key: int, pieces: list[JSONObject], reader: Reader) -> None:
    """The result of a tool that Amazon ran: its texts grow, its data comes whole."""
    content = _open_generic(key, {"toolResult": {}}, reader)["toolResult"].setdefault("content", [])
    for piece in pieces:
        if content and "text" in piece and "text" in content[-1]:
            content[-1]["text"] += _words(piece["text"])
        else:
            content.append(dict(piece))


def _citation_delta(key: int, cite: JSONObject, reader: Reader) -> None:
    reader.citation(key, cite)


def _image_delta(key: int, piece: JSONObject, reader: Reader) -> None:
    if piece.get("source") is not None:
        reader.block(key, read_image({"format": reader.state.get(("image", key)), **piece}))


DELTAS: dict[str, Callable[[int, Any, Reader], None]] = {
    "text": _text_delta,
    "toolUse": _call_delta,
    "reasoningContent": _reasoning_delta,
    "citation": _citation_delta,
    "toolResult": _result_delta,
    "image": _image_delta,
}


def _open_generic(key: int, value: JSONObject, reader: Reader) -> JSONObject:
    """The block of this API's own that is being built under a key: complete once it is closed."""
    known: JSONObject | None = reader.state.get((GENERIC, key))
    if known is None:
        reader.open(key, d.BaseDeltaMessageContent)
        known = reader.state[GENERIC, key] = value
        reader.state[key] = []
    return known


def _end_block(key: int, reader: Reader) -> None:
    pieces = reader.state.pop(key, None)
    value = reader.state.pop((GENERIC, key), None)
    if value is not None:
        if "toolUse" in value and (raw := "".join(pieces or ())).strip():
            parsed = parse_object(raw)
            value["toolUse"]["input"] = {"_raw": raw} if parsed is None else parsed
        reader.block(key, GenericMessageContent(plain_json(value)))
    reader.forget(key)  # what comes under this index now would be another block


# --- events ---------------------------------------------------------------------------------------


def _message_start(event: JSONObject, reader: Reader) -> None:
    del event
    reader.start()


def _block_start(event: JSONObject, reader: Reader) -> None:
    key = event["contentBlockIndex"]
    if reader.has(key):
        _end_block(key, reader)
    for kind, inner in (event.get("start") or {}).items():
        if kind == "image":
            reader.state["image", key] = inner.get("format")
        elif kind != "toolUse" or is_server_tool(kind, inner):
            _open_generic(key, {kind: dict(inner)}, reader)
        else:
            reader.call(key, _name(inner.get("toolUseId")), _name(inner.get("name")))


def _block_delta(event: JSONObject, reader: Reader) -> None:
    key = event["contentBlockIndex"]
    for kind, piece in event["delta"].items():
        handle = DELTAS.get(kind)
        if handle is None:
            reader.note(f"a delta of the kind {kind!r} was not understood")
        else:
            handle(key, piece, reader)


def _block_stop(event: JSONObject, reader: Reader) -> None:
    _end_block(event["contentBlockIndex"], reader)


def _message_stop(event: JSONObject, reader: Reader) -> None:
    reader.terminate()
    _stopped(event, reader)


def _metadata(event: JSONObject, reader: Reader) -> None:
    """The true last event: it comes after messageStop."""
    reader.usage(event.get("usage"))
    _beside(event, reader)


EVENTS: dict[str, Callable[[JSONObject, Reader], None]] = {
    "contentBlockDelta": _block_delta,
    "contentBlockStart": _block_start,
    "contentBlockStop": _block_stop,
    "messageStart": _message_start,
    "messageStop": _message_stop,
    "metadata": _metadata,
}


def chunk(event: JSONObject, reader: Reader) -> None:
    """Reads one event of a stream."""
    for kind, data in event.items():
        handle = EVENTS.get(kind)
        if handle is not None:
            handle(data, reader)
        elif kind.endswith("Exception"):
            _exception(kind, data, reader)
        elif kind == "output":  # a server that answers a request for a stream with the whole answer
            read(event, reader)
            reader.terminate()


def _exception(kind: str, data: JSONObject, reader: Reader) -> None:
    message = _words(data.get("message")) or _words(data.get("originalMessage"))
    status = data.get("originalStatusCode")
    reader.error(kind, message, status=status if isinstance(status, int) else None)


def _stopped(told: JSONObject, reader: Reader) -> None:
    """Why it ended; output that the service could not read is an error."""
    _beside(told, reader)
    reason = told.get("stopReason")
    if reason is None:
        return
    if reason in BROKEN:
        reader.error(reason, f"the model wrote what the service could not read ({reason})", type=BROKEN[reason])
    reader.finish(reason, details=reader.details)


def _beside(told: JSONObject, reader: Reader) -> None:
    found = {key: told[key] for key in SAID_BESIDE if told.get(key) is not None}
    if found:
        reader.details = {**(reader.details or {}), **found}
    router = (told.get("trace") or {}).get("promptRouter") or {}
    if router.get("invokedModelId"):  # a router tells which model it chose; else nobody does
        reader.start(None, _name(router["invokedModelId"]))


def read(response: JSONObject, reader: Reader) -> None:
    """Reads a whole answer."""
    if "output" not in response:
        found = read_error_body(response)
        reader.error(
            found["raw_type"], found["message"], status=found["status"], code=found["code"], type=found["type"]
        )
        return
    _beside(response, reader)
    reader.start()
    reader.usage(response.get("usage"))
    message = (response.get("output") or {}).get("message") or {}
    for key, block in enumerate(message.get("content") or ()):
        _block(key, block, reader)
    _stopped(response, reader)


# --- usage ----------------------------------------------------------------------------------------


def usage(raw: JSONObject) -> Usage:
    """Counts of tokens: inputTokens leaves out what the cache took or gave.

    The counts of the cache have two spellings. https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
    """
    uncached, output = _count(raw, "inputTokens"), _count(raw, "outputTokens")
    from_cache = _count(raw, "cacheReadInputTokens", "cacheReadInputTokenCount")
    to_cache = _count(raw, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    total = None if uncached is None else uncached + (from_cache or 0) + (to_cache or 0)
    both = None if total is None or output is None else total + output
    return Usage(total, uncached, from_cache, to_cache, output, None, both, raw=raw)


def _count(raw: JSONObject, *names: str) -> int | None:
    found = [raw[name] for name in names if isinstance(raw.get(name), int) and not isinstance(raw[name], bool)]
    return found[0] if found else None
