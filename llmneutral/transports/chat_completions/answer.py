"""Answers of Chat Completions, whole or as chunks → calls on a Reader.

A whole answer is read by the same functions as a chunk. Servers differ in every detail; the rules of the
slots of calls stand in `_Calls`. Sources: the types of openai 3 (`ChatCompletion`, `ChatCompletionChunk`),
and recorded traffic of imitators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.media import ALIASES
from llmneutral.convert.stream import Reader
from llmneutral.errors import read_error_body
from llmneutral.ir import contents as c
from llmneutral.ir.artifacts import address
from llmneutral.ir.jsontext import JSONObject, dumps, parse_object
from llmneutral.ir.responses import FinishReason, Usage
from llmneutral.transports.chat_completions.inline import InlineThinking
from llmneutral.transports.chat_completions.request import details_text

TEXT, THINKING, REFUSAL, AUDIO = "text", "thinking", "refusal", "audio"

_REASONS: dict[FinishReason, str] = {
    "stop": "stop end eos end_turn stop_sequence completed",
    "tool_calls": "tool_calls function_call tool_use",
    "length": "length max_tokens model_length model_context_window_exceeded",
    "content_filter": "content_filter safety sensitive",
    "error": "error network_error",
}
FINISH: dict[str, FinishReason] = {raw: reason for reason, raws in _REASONS.items() for raw in raws.split()}
"""The providers' finish reasons, in lower case."""

DETAILS = ("prompt_filter_results", "service_tier", "system_fingerprint", "moderation")
CHOICE_DETAILS = ("native_finish_reason", "content_filter_results", "stop_reason")
"""What is kept as it came, beside the answer."""


# --- chunks and whole answers -------------------------------------------------------------------


def read(body: Any, reader: Reader) -> None:
    """Reads a whole answer."""
    _begin(body, reader)
    if _failed(body, reader):
        return
    _usage(body, reader)
    choices = body.get("choices")
    choice = _first(choices, reader) if isinstance(choices, list) else None
    message = None if choice is None else choice.get("message")
    if choice is None or not (isinstance(message, Mapping) or choice.get("finish_reason")):
        reader.error(None, "the answer has no choices", type="malformed_response")
        return
    if isinstance(message, Mapping):  # Azure leaves it out where it filtered the answer
        _message(message, reader, whole=True)
    _finish(choice, body, reader)
    _close(reader)


def chunk(data: Any, reader: Reader) -> None:
    """Reads one chunk of a stream. Of what stands beside `delta` in a choice (a cumulative message) nothing is read."""
    if reader.error_info is not None:
        return
    choices = data.get("choices")
    if reader.model is None or reader.id is None or not reader.started:
        _begin(data, reader)
        if choices:
            reader.start()
    if (not choices or "error" in data) and _failed(data, reader):
        return
    if choices:
        choice = choices[0] if len(choices) == 1 and not choices[0].get("index") else _first(choices, reader)
        if choice is not None:
            _choice(choice, data, reader)
    if (usage := data.get("usage")) or "x_groq" in data:
        _usage(data, reader) if usage is None or "x_groq" in data else reader.usage(usage)
    if not choices:
        _keep_details(data, DETAILS, reader)


def _choice(choice: Any, data: Any, reader: Reader) -> None:
    delta = choice.get("delta")
    if delta:
        content = delta.get("content")
        if len(delta) == 1 and content.__class__ is str:  # by far the most frequent
            _say(content, reader)
        else:
            _message(delta, reader)
    if choice.get("finish_reason") or "error" in choice or "usage" in choice:
        _finish(choice, data, reader)
    if choice.get("logprobs"):
        _keep_logprobs(choice["logprobs"], reader)


def _begin(data: Any, reader: Reader) -> None:
    """Takes the id and the model, whenever they come first."""
    for name in ("id", "model"):
        value = data.get(name)
        if value and getattr(reader, name) is None:
            setattr(reader, name, str(value))


def _first(choices: Any, reader: Reader) -> Any:
    """Choice 0; others are not read."""
    found = None
    for choice in choices:
        if choice.get("index") in (0, None) and found is None:
            found = choice
        else:
            reader.note("there is more than one choice; only the first is read")
    return found


def _failed(data: Any, reader: Reader) -> bool:
    """An error inside a body that was no HTTP error (OpenRouter, DashScope, Together), or at the end of a stream."""
    error = data.get("error")
    if error:
        told = read_error_body({"error": error} if isinstance(error, Mapping) else dict(data))
    elif not data.get("choices") and (data.get("object") == "error" or {"code", "message"} <= data.keys()):
        told = read_error_body(dict(data))
    else:
        return False
    code = told["code"]
    status = told["status"] or (int(code) if code is not None and code.isdecimal() and len(code) == 3 else None)
    reader.error(told["raw_type"], told["message"], status=status, code=code, type=told["type"])
    return True


def _finish(choice: Any, data: Any, reader: Reader) -> None:
    """The end of a choice: its reason, its error, its usage (Moonshot), and what is kept beside it."""
    if isinstance(usage := choice.get("usage"), dict):
        reader.usage(usage)
    raw = choice.get("finish_reason")
    if raw:
        _close(reader)
        _keep_details(data, DETAILS, reader)
        _keep_details(choice, CHOICE_DETAILS, reader)
        _sources(data, reader)
        reader.finish(str(raw), reason=FINISH.get(str(raw).casefold(), "other"), details=reader.state.get("details"))
    if isinstance(choice.get("error"), Mapping):
        _failed(choice, reader)


def _close(reader: Reader) -> None:
    """What can be said only at the end: the details of reasoning as one list, the end of a custom call."""
    state = reader.state
    if details := state.pop("reasoning_details", None):
        reader.thinking(THINKING, native={"reasoning_details": joined_details(details)})
    if (calls := state.get("calls")) is not None:
        calls.end_custom(reader)
    if (inline := state.get("inline")) is not None:
        for kind, said in inline.flush():
            reader.thinking(THINKING, said) if kind == "thinking" else reader.text(TEXT, said)


# --- the parts of a message ---------------------------------------------------------------------


def _message(message: Mapping[str, Any], reader: Reader, *, whole: bool = False) -> None:
    """Reads a message or a delta: every field of it, reasoning first."""
    _reasoning(message, reader)
    content = message.get("content")
    if content.__class__ is str:
        _say(content, reader)
    elif content is not None:
        _content(content, reader)
    if refusal := message.get("refusal"):
        reader.refusal(REFUSAL, refusal)
    if isinstance(audio := message.get("audio"), Mapping) and (sound := _sound(audio)):
        reader.audio(AUDIO, **sound)
    for picture in message.get("images") or ():
        _image(picture, reader)
    calls = message.get("tool_calls") or ()
    if not calls and isinstance(call := message.get("function_call"), Mapping) and any(call.values()):
        calls = ({"index": "function_call", "function": call},)
    if calls:
        slots = reader.state.setdefault("calls", _Calls())
        for entry in calls:
            slots.add(entry, reader, whole=whole)
    for annotation in message.get("annotations") or ():
        _annotation(annotation, reader)


def _say(piece: str, reader: Reader) -> None:
    """A piece of the text; where the server leaves reasoning in it, that is taken out."""
    if reader.facts is None or not reader.facts.inline_think:
        reader.text(TEXT, piece)
        return
    for kind, said in reader.state.setdefault("inline", InlineThinking()).feed(piece):
        reader.thinking(THINKING, said) if kind == "thinking" else reader.text(TEXT, said)


def _reasoning(message: Mapping[str, Any], reader: Reader) -> None:
    """One text under any of its names; the details of a provider are kept to go back."""
    told = message.get("reasoning_content") or message.get("reasoning")
    details = message.get("reasoning_details")
    if isinstance(details, list) and details:
        text = told if isinstance(told, str) and told else details_text(details)
        known = reader.state.get("reasoning_details")
        if known is None:  # the first ones go at once, all of them as one list at the end
            reader.state["reasoning_details"] = list(details)
            reader.thinking(THINKING, text, native={"reasoning_details": details})
        else:
            known.extend(details)
            reader.thinking(THINKING, text)
    elif told:
        reader.thinking(THINKING, told if isinstance(told, str) else dumps(told))


def joined_details(fragments: list[Any]) -> list[Any]:
    """Puts the fragments of streamed `reasoning_details` together: neighbours of one kind and index are one entry.

    Source: https://openrouter.ai/docs/use-cases/reasoning-tokens (streaming)
    """
    found: list[Any] = []
    for fragment in fragments:
        last = found[-1] if found else None
        if not (isinstance(fragment, dict) and isinstance(last, dict) and _continues(last, fragment)):
            found.append(dict(fragment) if isinstance(fragment, dict) else fragment)
            continue
        for key, value in fragment.items():
            grows = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
            if grows:
                last[key] += value
            elif value is not None:
                last[key] = value
    return found


def _continues(last: JSONObject, fragment: JSONObject) -> bool:
    kind, index = fragment.get("type"), fragment.get("index")
    return kind == last.get("type") and index is not None and index == last.get("index")


def _content(content: Any, reader: Reader) -> None:
    """Content that is no string: a list of parts (Databricks, Mistral), or an object (Cloudflare)."""
    if isinstance(content, Mapping):
        reader.note("the content is an object; its JSON text is the text")
        reader.text(TEXT, dumps(content))
        return
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            reader.text(TEXT, part)
        elif isinstance(part, Mapping):
            read_part(part, reader)


def read_part(part: Mapping[str, Any], reader: Reader) -> None:
    """Reads a part of a content that is a list."""
    kind = part.get("type")
    if kind in ("text", "output_text"):
        reader.text(TEXT, part.get("text") or "")
    elif kind in ("thinking", "reasoning"):
        inner = part.get("thinking") or part.get("summary") or part.get("text") or ()
        said = (
            [each.get("text") or "" for each in inner if isinstance(each, Mapping)]
            if isinstance(inner, list)
            else inner
        )
        reader.thinking(THINKING, "".join(said), signature=part.get("signature"))
    elif kind == "image_url":
        _image(part, reader)
    elif kind == "refusal":
        reader.refusal(REFUSAL, part.get("refusal") or "")
    elif kind in ("reference", "tool_reference"):
        reader.citation(TEXT, dict(part))
    else:
        reader.block(("part", len(reader.slots)), c.GenericMessageContent(dict(part)), kind="generic")


def _image(part: Any, reader: Reader) -> None:
    """A picture in an answer (OpenRouter)."""
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, Mapping) else given
    if isinstance(url, str) and url:
        reader.block(("image", len(reader.slots)), c.ImageMessageContent(**address(url)), kind="image")


def _sound(audio: Mapping[str, Any]) -> JSONObject:
    kind = audio.get("format")
    media_type = ALIASES.get(f"audio/{kind}", f"audio/{kind}") if kind else None
    found = {name: audio.get(name) for name in ("data", "transcript", "id", "expires_at")} | {"media_type": media_type}
    return {name: value for name, value in found.items() if value}


def _annotation(annotation: Any, reader: Reader) -> None:
    """A citation to the text, in the flat form that Responses has too."""
    if not isinstance(annotation, Mapping):
        return
    kind = annotation.get("type")
    inner = annotation.get(kind) if isinstance(kind, str) else None
    reader.citation(TEXT, {"type": kind, **inner} if isinstance(inner, Mapping) else dict(annotation))


def _sources(data: Any, reader: Reader) -> None:
    """What a search found (Perplexity): of the whole answer, and repeated in each chunk."""
    found = data.get("search_results") or data.get("citations")
    for source in found if isinstance(found, list) else ():
        value = dict(source) if isinstance(source, Mapping) else {"url": source}
        if value not in reader.citations:
            reader.citation(None, value)


# --- calls --------------------------------------------------------------------------------------


class _Call:
    """A call under way: its key at the reader, and what decides whether a piece belongs to it."""

    __slots__ = ("custom", "id", "key", "name", "pieces")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.id: str | None = None
        self.name: str | None = None
        self.pieces: list[str] = []
        self.custom = False

    def is_complete(self) -> bool:
        """Whether the arguments are a whole JSON object. Nothing that does not end in a brace is looked at closely."""
        if not self.pieces or not self.pieces[-1].endswith("}"):
            return False
        return parse_object("".join(self.pieces)) is not None


class _Calls:
    """The slots of the calls of one answer.

    A slot is the provider's `index`. A different id under a known index is a new call (some servers number
    all calls 0). Without an index a new id opens a slot, or a name after whole arguments, or another object.
    """

    __slots__ = ("by_index", "calls")

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.by_index: dict[Any, _Call] = {}

    def add(self, entry: Any, reader: Reader, *, whole: bool) -> None:
        """Takes one entry of `tool_calls`."""
        function, custom = entry.get("function"), entry.get("custom")
        said = function if isinstance(function, Mapping) else custom
        if not isinstance(said, Mapping):
            return
        tag, name = _text(entry.get("id")), _text(said.get("name"))
        fragment = _fragment(said.get("arguments") if said is function else said.get("input"))
        call = None if whole else self._place(entry.get("index"), tag, name, fragment)
        if call is None:
            call = self._open(entry.get("index"))
        marks = _marks(entry)
        if said is custom:
            call.custom, marks, fragment = True, {"native": {"custom": True}}, _escaped(fragment, first=not call.pieces)
        new_tag, new_name = (None if call.id else tag), (None if call.name else name)
        call.id, call.name = call.id or tag, call.name or name
        if fragment:
            call.pieces.append(fragment.rstrip() or fragment)
        reader.call(call.key, new_tag, new_name, fragment, **marks)
        if whole and call.custom:
            self.end_custom(reader)

    def end_custom(self, reader: Reader) -> None:
        """The input of a custom call is free text: here its JSON string ends."""
        for call in self.calls:
            if call.custom:
                call.custom = False
                reader.call(call.key, fragment='"}')

    def _open(self, index: Any) -> _Call:
        call = _Call(("call", len(self.calls)))
        self.calls.append(call)
        if index is not None:
            self.by_index[index] = call
        return call

    def _place(self, index: Any, tag: str | None, name: str | None, fragment: str) -> _Call | None:
        """The call a piece belongs to; None: a new one."""
        if index is not None:
            call = self.by_index.get(index)
            if call is None or (tag and call.id and tag != call.id):
                return None
            return None if not tag and _begins(fragment) and call.is_complete() else call
        if tag:
            return next((call for call in self.calls if call.id == tag), None)
        last = self.calls[-1] if self.calls else None
        if last is None:
            return None
        another = name and (last.is_complete() or (last.name and name != last.name))
        return None if another or (_begins(fragment) and last.is_complete()) else last


def _text(value: Any) -> str | None:
    """An id or a name; numbers become text, blank is none."""
    return None if value is None or value == "" else str(value)


def _fragment(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


def _escaped(fragment: str, *, first: bool) -> str:
    """A piece of free text inside the JSON string that it is kept in."""
    return ('{"input": "' if first else "") + dumps(fragment)[1:-1]


def _begins(fragment: str) -> bool:
    return fragment.lstrip().startswith("{")


def _marks(entry: Mapping[str, Any]) -> JSONObject:
    """Gemini's signature of a call."""
    extra = entry.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    signature = google.get("thought_signature") if isinstance(google, Mapping) else None
    return {"thought_signature": signature} if isinstance(signature, str) else {}


# --- what stands beside the answer --------------------------------------------------------------


def _keep_details(data: Any, names: tuple[str, ...], reader: Reader) -> None:
    for name in names:
        if (value := data.get(name)) is not None:
            reader.state.setdefault("details", {})[name] = value


def _keep_logprobs(logprobs: Any, reader: Reader) -> None:
    """Probabilities of tokens, put together over the chunks."""
    kept = reader.state.setdefault("details", {}).setdefault("logprobs", {})
    for name, value in logprobs.items() if isinstance(logprobs, Mapping) else ():
        if isinstance(value, list):
            kept.setdefault(name, []).extend(value)


def _usage(data: Any, reader: Reader) -> None:
    """Token counts; older streams of Groq have them in `x_groq` only."""
    groq = data.get("x_groq")
    if isinstance(groq, Mapping):
        reader.usage(groq.get("usage"))
        if groq.get("error"):
            reader.note(f"x_groq: {groq['error']}")
    reader.usage(data.get("usage"))


CACHED = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens", "num_cached_tokens")
"""Names that DeepSeek, Moonshot, Anthropic's imitators and Mistral have for tokens read from a cache."""


def usage(raw: JSONObject) -> Usage:
    """The counts in the neutral form.

    Source: the types of openai 3 (`CompletionUsage`); DeepSeek, Moonshot and others have names of their own. Some
    leave reasoning out of `completion_tokens` (xAI): then only the total tells.
    """
    into = _inner(raw, "prompt_tokens_details", "input_tokens_details")
    out = _inner(raw, "completion_tokens_details", "output_tokens_details")
    total_in = _count(raw, "prompt_tokens", "input_tokens")
    total_out = _count(raw, "completion_tokens", "output_tokens")
    read = _either(into.get("cached_tokens"), raw, *CACHED)
    written = _either(into.get("cache_write_tokens"), raw, "cache_creation_input_tokens")
    reasoning = _either(out.get("reasoning_tokens"), raw, "reasoning_tokens")
    total = _count(raw, "total_tokens")
    uncached = None if total_in is None else total_in - (read or 0) - (written or 0)
    if total is not None and total_in is not None and total_out is not None and total > total_in + total_out:
        total_out = total - total_in
    elif total is None and total_in is not None and total_out is not None:
        total = total_in + total_out
    if uncached is not None and uncached < 0:  # seen at Azure: more cached tokens than there are
        uncached = None
    return Usage(total_in, uncached, read, written, total_out, reasoning, total, raw=raw)


def _inner(raw: JSONObject, *names: str) -> JSONObject:
    for name in names:
        if isinstance(found := raw.get(name), dict):
            return found
    return {}


def _count(raw: JSONObject, *names: str) -> int | None:
    for name in names:
        if type(value := raw.get(name)) is int:
            return value
    return None


def _either(told: Any, raw: JSONObject, *names: str) -> int | None:
    return told if type(told) is int else _count(raw, *names)
