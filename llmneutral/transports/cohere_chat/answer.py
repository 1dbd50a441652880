"""Answers of Cohere (Chat v2), whole or as events → calls on a Reader.

Source: the types of cohere 7 (`V2ChatResponse`, `V2ChatStreamResponse`), https://docs.cohere.com/docs/streaming, and
recorded traffic: an index is only a key from a start to its end, and may be used again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from llmneutral.convert.stream import Reader
from llmneutral.errors import read_error_body
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.responses import FinishReason, Usage

PLAN = "plan"
AS_PLAN = {"plan": True}

FINISH: dict[str, FinishReason] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "ERROR": "error",
    "TIMEOUT": "error",
    "ERROR_TOXIC": "content_filter",
    "USER_CANCEL": "incomplete",
}
ERRORS = {"ERROR": None, "TIMEOUT": "timeout_error"}
"""Finish reasons that are errors, and their type where the text does not tell it."""


# --- whole answers ------------------------------------------------------------------------------


def read(body: Any, reader: Reader) -> None:
    """Reads a whole answer."""
    message = body.get("message")
    if not isinstance(message, Mapping):
        _failed(body, reader)
        return
    reader.start(_text(body.get("id")))
    said = message.get("content") or ()
    for item in [said] if isinstance(said, str) else said:  # servers that imitate this API write a string
        _open_content(None, item, reader)
    _plan(message.get("tool_plan"), reader)
    for call in message.get("tool_calls") or ():
        _open_call(None, call, reader)
    for cite in message.get("citations") or ():
        _cite(cite, reader)
    _end(body, body.get("logprobs"), reader)


def _failed(body: Any, reader: Reader) -> None:
    """A body that is an error though its status was none, or no answer at all."""
    if isinstance(body.get("message"), str):
        told = read_error_body(dict(body))
        reader.error(told["raw_type"], told["message"], status=told["status"], code=told["code"], type=told["type"])
    else:
        reader.error(None, "the answer has no message", type="malformed_response")


def _end(told: Mapping[str, Any], logprobs: Any, reader: Reader) -> None:
    """The end: why, what it cost, and the error that it may be."""
    if usage := told.get("usage"):
        reader.usage(usage)
    raw = told.get("finish_reason")
    details = {"logprobs": logprobs} if logprobs else None
    if raw is not None:
        raw = str(raw)
        reader.finish(raw, reason=FINISH.get(raw.upper(), "other"), details=details)
    error = told.get("error")
    if raw is not None and raw.upper() in ERRORS:
        reader.error(raw, str(error or ""), type=ERRORS[raw.upper()])
    elif error:
        reader.error(None, str(error))


# --- streams ------------------------------------------------------------------------------------


def chunk(event: Any, reader: Reader) -> None:
    """Reads one event of a stream; `debug` and what is not known is not read."""
    if reader.error_info is not None:
        return
    kind = event.get("type")
    if kind == "content-delta":  # by far the most frequent
        key = _keys(reader).get(("content", event.get("index")))
        content = event["delta"]["message"]["content"]
        if key is None:
            _open_content(event.get("index"), content, reader)
        else:
            _say(key, content, reader)
        if event.get("logprobs"):
            reader.state.setdefault("logprobs", []).append(event["logprobs"])
    elif (read_event := EVENTS.get(kind)) is not None:
        read_event(event, reader)
    elif kind is None and isinstance(event.get("message"), str):
        _failed(event, reader)


def _message_start(event: Any, reader: Reader) -> None:
    reader.start(_text(event.get("id")))


def _content_start(event: Any, reader: Reader) -> None:
    _open_content(event.get("index"), _inner(event, "content") or {}, reader)


def _content_end(event: Any, reader: Reader) -> None:
    _close("content", event, reader)


def _plan_delta(event: Any, reader: Reader) -> None:
    _plan(_inner(event, "tool_plan"), reader)


def _call_start(event: Any, reader: Reader) -> None:
    given = _inner(event, "tool_calls")
    for call in given if isinstance(given, list) else [given]:
        _open_call(event.get("index"), call, reader)


def _call_delta(event: Any, reader: Reader) -> None:
    given = _inner(event, "tool_calls")
    key = _keys(reader).get(("call", event.get("index")))
    for call in given if isinstance(given, list) else [given]:
        if key is None:
            _open_call(event.get("index"), call, reader)
        elif fragment := _fragment((call.get("function") or {}).get("arguments")):
            reader.call(key, fragment=fragment)


def _call_end(event: Any, reader: Reader) -> None:
    _close("call", event, reader)


def _citation_start(event: Any, reader: Reader) -> None:
    given = _inner(event, "citations")
    for cite in given if isinstance(given, list) else [given]:
        _cite(cite, reader)


def _message_end(event: Any, reader: Reader) -> None:
    _end(event.get("delta") or {}, reader.state.get("logprobs"), reader)
    reader.terminate()


EVENTS: dict[Any, Callable[[Any, Reader], None]] = {
    "message-start": _message_start,
    "content-start": _content_start,
    "content-end": _content_end,
    "tool-plan-delta": _plan_delta,
    "tool-call-start": _call_start,
    "tool-call-delta": _call_delta,
    "tool-call-end": _call_end,
    "citation-start": _citation_start,
    "message-end": _message_end,
}


def _inner(event: Any, name: str) -> Any:
    """What an event says of a message."""
    delta = event.get("delta") or {}
    return (delta.get("message") or {}).get(name)


# --- slots --------------------------------------------------------------------------------------


def _keys(reader: Reader) -> dict[Hashable, Hashable]:
    """The open slots, by kind and index."""
    found: dict[Hashable, Hashable] = reader.state.setdefault("keys", {})
    return found


def _new_key(kind: str, index: Any, reader: Reader) -> tuple[str, int]:
    count = reader.state.get(kind, 0)
    reader.state[kind] = count + 1
    key = (kind, count)
    if isinstance(index, Hashable):
        _keys(reader)[kind, index] = key
    return key


def _close(kind: str, event: Any, reader: Reader) -> None:
    key = _keys(reader).pop((kind, event.get("index")), None)
    if key is not None:
        reader.done(key)


def _open_content(index: Any, content: Any, reader: Reader) -> None:
    _say(_new_key("content", index, reader), content, reader)


def _say(key: Hashable, content: Any, reader: Reader) -> None:
    """A piece of text or of reasoning; only the fields tell which. A plain string is text."""
    if type(content) is str:
        content = {"text": content}
    if (piece := content.get("text")) and isinstance(piece, str):
        reader.text(key, piece)
        texts = reader.state.setdefault("texts", [])
        if not texts or texts[-1] != key:
            texts.append(key)
    if (piece := content.get("thinking")) and isinstance(piece, str):
        reader.thinking(key, piece)


def _plan(piece: Any, reader: Reader) -> None:
    """The words before the calls. They are text of the answer, and marked to go back as a plan."""
    if piece and isinstance(piece, str):
        reader.text(PLAN, piece, native=None if reader.has(PLAN) else AS_PLAN)


def _open_call(index: Any, call: Any, reader: Reader) -> None:
    function = call.get("function") or {}
    key = _new_key("call", index, reader)
    reader.call(key, _text(call.get("id")), _text(function.get("name")), _fragment(function.get("arguments")))


def _text(value: Any) -> str | None:
    """An id or a name; blank is none."""
    return None if value is None or value == "" else str(value)


def _fragment(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


def _cite(cite: Any, reader: Reader) -> None:
    """A citation: to the plan, to the content it names, else to the text that was said last."""
    value = {name: each for name, each in cite.items() if each is not None}
    texts, named = reader.state.get("texts") or [], ("content", value.get("content_index"))
    key: Any = None
    if value.get("type") == "PLAN" and reader.has(PLAN):
        key = PLAN
    elif value.get("type") != "THINKING_CONTENT":
        key = named if named in texts else (texts[-1] if texts else (PLAN if reader.has(PLAN) else None))
    reader.citation(key, value)


# --- usage --------------------------------------------------------------------------------------


def usage(raw: JSONObject) -> Usage:
    """The counts in the neutral form. What is billed is less than what was read, and stays in `raw`."""
    tokens = raw.get("tokens")
    tokens = tokens if isinstance(tokens, Mapping) else {}
    total_in, total_out = _count(tokens.get("input_tokens")), _count(tokens.get("output_tokens"))
    cached = _count(raw.get("cached_tokens"))
    uncached = None if total_in is None else total_in - (cached or 0)
    if uncached is not None and uncached < 0:
        uncached = None
    total = None if total_in is None or total_out is None else total_in + total_out
    return Usage(total_in, uncached, cached, None, total_out, None, total, raw=raw)


def _count(value: Any) -> int | None:
    """A number of tokens: they come as fractions."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if float(value).is_integer() else None
