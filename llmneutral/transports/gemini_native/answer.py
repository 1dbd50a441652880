"""Answers of generateContent, whole or streamed: each chunk of a stream is a whole GenerateContentResponse.

https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse; types of google-genai 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llmneutral.convert.stream import Reader
from llmneutral.errors.body import read_error_body
from llmneutral.ir import contents as c
from llmneutral.ir import deltas as d
from llmneutral.ir.jsontext import JSONObject, dumps, is_too_deep
from llmneutral.ir.responses import FinishReason, Usage
from llmneutral.transports.gemini_native.parts import media_of, native_of, signature_of

FILTERED = (
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT "
    "IMAGE_RECITATION MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED"
).split()
ERRORS = {
    "MALFORMED_FUNCTION_CALL": "malformed_function_call",
    "UNEXPECTED_TOOL_CALL": "malformed_response",
    "TOO_MANY_TOOL_CALLS": "malformed_response",
    "MALFORMED_RESPONSE": "malformed_response",
    "MISSING_THOUGHT_SIGNATURE": "invalid_request_error",
}
"""Finish reasons that are errors, and what kind."""

NUMBERED = "STOP STOP MAX_TOKENS SAFETY RECITATION OTHER SAFETY SAFETY SAFETY".split()
"""Finish reasons by the number of the enum, as far as Google's two services count alike; the last three filter both."""

FINISH: dict[str, FinishReason] = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    **dict.fromkeys(FILTERED, "content_filter"),
    **dict.fromkeys(ERRORS, "error"),
}
"""The rest (`NO_IMAGE`, `IMAGE_OTHER`, `OTHER` …) is `other`, with the word kept."""
FINISH |= {str(number): FINISH.get(word, "other") for number, word in enumerate(NUMBERED)}

DETAILS = (
    "finishMessage",
    "safetyRatings",
    "avgLogprobs",
    "logprobsResult",
    "urlContextMetadata",
    "continuationToken",
)
"""What a candidate says beside its content, and an answer keeps as it came."""

PLAIN = frozenset(("content", "index", "finishReason"))
OPEN, PARTIAL, SEEN = "open", "partial", "seen"
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
"""A step of a JSON path (RFC 9535): a member, an index, a member in quotes."""


# --- parts ----------------------------------------------------------------------------------------


def _kind(kind: str | None, reader: Reader) -> None:
    """A part of another kind than the one before it begins a new block."""
    before = reader.state.get(OPEN)
    if before != kind:
        if before is not None:
            reader.forget(before)
        reader.state[OPEN] = kind


def _alone(reader: Reader) -> None:
    """What comes next is a block of its own: a signature belongs to the part it came on."""
    _kind(None, reader)


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise TypeError(f"text came as {type(value).__name__}")


def _name(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _text(part: JSONObject, reader: Reader) -> None:
    words, sealed, native = _words(part["text"]), signature_of(part), native_of(part)
    if sealed is None and not native:
        _kind("text", reader)
        reader.text("text", words)
        return
    _alone(reader)
    _kind("text", reader)
    piece = d.TextDeltaMessageContent(words, thought_signature=sealed, native=native)
    reader.grow("text", "text" if words else "signature", piece)
    _alone(reader)


def _thought(part: JSONObject, reader: Reader) -> None:
    words, sealed = _words(part.get("text")), signature_of(part)
    if sealed is not None:
        _alone(reader)
    _kind("thinking", reader)
    reader.thinking("thinking", words, signature=sealed)
    if sealed is not None:
        _alone(reader)


def _media(part: JSONObject, reader: Reader) -> None:
    content = media_of(part)
    if type(content) is c.AudioMessageContent and content.native is None:
        _kind("audio", reader)
        reader.audio("audio", data=content.data, media_type=content.media_type)
        return
    _alone(reader)
    kind: d.DeltaKind = "image" if type(content) is c.ImageMessageContent else "block_done"
    reader.block(("media", len(reader.slots)), content, kind=kind)


def _generic(part: JSONObject, reader: Reader) -> None:
    _alone(reader)
    if part:
        reader.block(("generic", len(reader.slots)), c.GenericMessageContent(dict(part)), kind="generic")


def _call(part: JSONObject, reader: Reader) -> None:
    """A call comes whole, each part another one; gateways that send what was before once more are seen through."""
    call = part["functionCall"]
    if "partialArgs" in call or call.get("willContinue") or PARTIAL in reader.state:
        _partial_call(part, call, reader)
        return
    _alone(reader)
    tag, name, args, sealed = _name(call.get("id")), _name(call.get("name")), call.get("args"), signature_of(part)
    if tag is None and sealed is not None:
        mark = (str(name), dumps(args), sealed)
        if mark in reader.state.setdefault(SEEN, set()):
            return
        reader.state[SEEN].add(mark)
    key = ("call", len(reader.slots)) if tag is None else ("call", tag)
    if not reader.has(key):
        reader.call(key, tag, name, dumps({} if args is None else args), thought_signature=sealed)
    reader.block(key, _whole_call(part, tag, name, args))


def _whole_call(part: JSONObject, tag: Any, name: Any, args: Any) -> Any:
    name, native = name or "", native_of(part, id=tag)
    if args is not None and (not isinstance(args, dict) or is_too_deep(args)):
        return c.InvalidActionCallMessageContent(tag, name, raw=dumps(args), native=native)
    sealed = signature_of(part)
    return c.ActionCallMessageContent(tag, name, input=args or {}, thought_signature=sealed, native=native)


def _partial_call(part: JSONObject, call: JSONObject, reader: Reader) -> None:
    """Arguments in pieces, only where they were asked for: what has no name belongs to the call that is open."""
    if call.get("name") or PARTIAL not in reader.state:
        end_partial_call(reader)
        _alone(reader)
        key = ("call", len(reader.slots))
        reader.state[PARTIAL] = (key, part, call, dict(call.get("args") or {}))
        reader.call(key, _name(call.get("id")), _name(call.get("name")), thought_signature=signature_of(part))
    args = reader.state[PARTIAL][3]
    for piece in call.get("partialArgs") or ():
        _put(args, str(piece["jsonPath"]), _value(piece))
    if not call.get("willContinue"):
        end_partial_call(reader)


def end_partial_call(reader: Reader) -> None:
    """The call whose arguments came in pieces is complete."""
    if PARTIAL not in reader.state:
        return
    key, part, call, args = reader.state.pop(PARTIAL)
    reader.call(key, fragment=dumps(args))
    reader.block(key, _whole_call(part, _name(call.get("id")), _name(call.get("name")), args))


def _value(piece: JSONObject) -> Any:
    found = [piece[key] for key in ("stringValue", "numberValue", "boolValue") if piece.get(key) is not None]
    return found[0] if found else None


def _put(args: JSONObject, path: str, value: Any) -> None:
    """Puts a piece where its JSON path says; pieces of one text are joined."""
    steps: list[Any] = [
        int(found[2]) if found[2] else next(name for name in (found[1], found[3], found[4]) if name is not None)
        for found in STEP.finditer(path)
    ]
    holder: Any = args
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(holder, list):
            holder.extend([None] * (step + 1 - len(holder)))
        known = holder[step] if isinstance(holder, list) else holder.get(step)
        if after is None:
            holder[step] = known + value if isinstance(known, str) and isinstance(value, str) else value
        elif known is None:
            known = holder[step] = [] if isinstance(after, int) else {}
        holder = known


PARTS: dict[str, Callable[[JSONObject, Reader], None]] = {
    "functionCall": _call,
    "inlineData": _media,
    "fileData": _media,
}
"""By the key that holds a part's data; any other part is this API's own."""


def _part(part: JSONObject, reader: Reader) -> None:
    for key, handle in PARTS.items():
        if key in part:
            handle(part, reader)
            return
    if not part.keys() <= _KNOWN:
        _generic(part, reader)
    elif part.get("thought"):
        _thought(part, reader)
    elif "text" in part or signature_of(part) is not None:
        _text({"text": "", **part}, reader)


_KNOWN = frozenset(("text", "thought", "thoughtSignature", "partMetadata", "speechMetadata"))


# --- responses ------------------------------------------------------------------------------------


def chunk(event: Any, reader: Reader) -> None:
    """Reads one chunk of a stream, or several in a list."""
    for response in event if isinstance(event, list) else (event,):
        _response(response, reader)


def read(response: JSONObject, reader: Reader) -> None:
    """Reads a whole answer."""
    _response(response, reader)
    if not response.get("candidates") and not reader.finished and reader.error_info is None:
        message = "the answer has neither a candidate nor a reason why"
        reader.error(None, message, type="malformed_response")


def _response(response: JSONObject, reader: Reader) -> None:
    if "error" in response:
        found = read_error_body(response)
        reader.error(found["raw_type"], found["message"], status=_status(found), code=found["code"], type=found["type"])
        return
    if reader.id is None or reader.model is None:
        reader.start(response.get("responseId"), response.get("modelVersion"))
    counts = response.get("usageMetadata")
    if counts and counts != reader.raw_usage:
        reader.usage(counts, replace=True)  # each chunk counts everything so far: nothing is added or mixed
    candidates = response.get("candidates")
    for candidate in candidates or ():
        if candidate.get("index"):
            reader.note("there is more than one candidate: the first counts")
        else:
            _candidate(candidate, reader)
    feedback = response.get("promptFeedback")
    if feedback:
        _blocked(feedback, reader, is_answered=bool(candidates))


def _status(found: Any) -> int | None:
    code = found["code"]
    return int(code) if found["status"] is None and isinstance(code, str) and code.isdecimal() else found["status"]


def _candidate(candidate: JSONObject, reader: Reader) -> None:
    for part in (candidate.get("content") or {}).get("parts") or ():
        if len(part) == 1 and "text" in part:  # what most chunks are
            _kind("text", reader)
            reader.text("text", _words(part["text"]))
        else:
            _part(part, reader)
    if not candidate.keys() <= PLAIN:
        _beside(candidate, reader)
    reason = candidate.get("finishReason")
    if reason is not None:
        end_partial_call(reader)
        _finished(str(reason), candidate.get("finishMessage"), reader)


def _beside(candidate: JSONObject, reader: Reader) -> None:
    """Sources and whatever else is told of a candidate; the last of each stands."""
    cited = candidate.get("citationMetadata") or {}
    found = [*(cited.get("citations") or cited.get("citationSources") or ()), candidate.get("groundingMetadata")]
    for cite in found:
        if cite and cite not in reader.citations:
            reader.citation(None, cite)
    told = {key: candidate[key] for key in DETAILS if candidate.get(key) is not None}
    if told:
        reader.details = {**(reader.details or {}), **told}


def _finished(reason: str, message: Any, reader: Reader) -> None:
    reader.finish(reason, details=reader.details)
    if reason in ERRORS:
        said = message if isinstance(message, str) else f"the answer ended with {reason}"
        reader.error(reason, said, type=ERRORS[reason], is_end=True)


def _blocked(feedback: JSONObject, reader: Reader, *, is_answered: bool) -> None:
    """The prompt was refused: there is no candidate, and the reason stands here."""
    reader.details = {**(reader.details or {}), "promptFeedback": feedback}
    reason = feedback.get("blockReason")
    if reason is not None and not is_answered:
        reader.finish(str(reason), reason="content_filter", details=reader.details)


# --- usage ----------------------------------------------------------------------------------------


def usage(raw: JSONObject) -> Usage:
    """Counts of tokens: the answer leaves thoughts out, the prompt holds what the cache gave.

    The total is that of the prompt, of tool use, of the answer and of its thoughts:
    https://ai.google.dev/api/generate-content#UsageMetadata
    """
    prompt, tools, cached, said, thoughts, total = [_count(raw.get(key)) for key in COUNTED]
    given = None if prompt is None and tools is None else (prompt or 0) + (tools or 0)
    if said is None and total is not None:
        said = 0
    answered = None if said is None else said + (thoughts or 0)
    if total is None and given is not None and answered is not None:
        total = given + answered
    fresh = None if given is None else given - (cached or 0)
    return Usage(
        given,
        None if fresh is None or fresh < 0 else fresh,
        cached,
        None,
        answered,
        thoughts,
        total,
        raw=raw,
    )


COUNTED = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
