"""Blocks of a message → parts, calls and tool messages of Chat Completions.

One function a kind of block. Sources: https://developers.openai.com/api/docs/guides/function-calling,
the types of openai 3 (`ChatCompletionContentPartParam`, `ChatCompletionMessageToolCallUnionParam`).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from llmneutral.convert.calls import Call, arguments_text, error_text, result_text
from llmneutral.convert.job import Job
from llmneutral.convert.media import as_note, canonical_type, file_name, resolve, resolve_sound
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.profiles.hosts import find_endpoint

AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
SENTINEL = "skip_thought_signature_validator"
_GOOGLE_APIS = (None, "chat_completions", "gemini_native")


def endpoint_of(job: Job) -> str | None:
    """Returns the id of the endpoint; without provider and address it is OpenAI's own."""
    target = job.target
    if target.provider is None and target.base_url is None:
        return "openai"
    return find_endpoint(target.provider, target.base_url)


def is_official(job: Job) -> bool:
    """Whether OpenAI itself answers, at its own address or at Azure's: it alone knows every part of its API."""
    return endpoint_of(job) in ("openai", "azure")


# --- parts --------------------------------------------------------------------------------------


def text(block: c.TextMessageContent, job: Job) -> JSONObject:
    """Text as a part; `frame` writes a single one as a plain string."""
    return marked({"type": "text", "text": block.text}, block, job)


def image(block: c.ImageMessageContent, job: Job) -> JSONObject:
    """A picture by its address or as a data URL; only `url` and `detail` go out."""
    medium = resolve(block, job, family="image", url=True, types=_types(job.facts.image_types))
    if medium is None:
        return {"type": "text", "text": as_note(block)}
    if medium.file_id is not None:
        why = f"this API takes no file id of an image: {medium.file_id}; give its bytes or address"
        job.refuse(why, block, rule="media")
    shown: JSONObject = {"url": medium.data_url}
    if block.detail is not None:
        shown["detail"] = block.detail
    return marked({"type": "image_url", "image_url": shown}, block, job)


def audio(block: c.AudioMessageContent, job: Job) -> JSONObject:
    """Sound of the user, wav or mp3; an answer's own sound goes back by its id (see `frame`)."""
    medium = resolve_sound(block, job, frozenset(AUDIO_FORMATS))
    if medium is None:
        return {"type": "text", "text": as_note(block)}
    sound = {"data": medium.data, "format": AUDIO_FORMATS[medium.media_type or ""]}
    return marked({"type": "input_audio", "input_audio": sound}, block, job)


def document(block: c.DocumentMessageContent, job: Job) -> JSONObject:
    """A file with its data, or by its id at the provider. Addresses of documents are not taken."""
    block = _as_file(block, job)
    medium = resolve(block, job, family="document", url=False)
    if medium is None:
        return {"type": "text", "text": as_note(block)}
    if medium.file_id is not None:
        return marked({"type": "file", "file": {"file_id": medium.file_id}}, block, job)
    name = file_name(block.name, medium.media_type)
    if not block.name:
        job.note("added", f"a document needs a file name here: {name}", block)
    data = f"data:{medium.media_type or 'application/pdf'};base64,{medium.data}"
    return marked({"type": "file", "file": {"filename": name, "file_data": data}}, block, job)


def _as_file(block: c.DocumentMessageContent, job: Job) -> c.DocumentMessageContent:
    """A document with its text as data; what describes it has no place here."""
    if lost := [name for name in ("title", "context") if getattr(block, name)]:
        job.note("coerced", f"the {' and '.join(lost)} of a document: this API has no place for it", block)
    said = block.text
    if said is None and block.parts is not None and block.data is None:
        said = "\n\n".join([part.to_text() for part in block.parts])
        job.note("rewritten", "a document made of blocks goes as one text file", block)
    if said is None or block.data is not None:
        return block
    data = base64.b64encode(said.encode("utf-8", "replace")).decode()
    media_type = canonical_type(block.media_type) or "text/plain"
    made = msgspec.structs.replace(block, text=None, parts=None, data=data, media_type=media_type)
    job.note.became(made, block)
    return made


def refusal(block: c.RefusalMessageContent, job: Job) -> JSONObject:
    """A refusal as a part; only OpenAI itself knows that kind."""
    if is_official(job):
        return {"type": "refusal", "refusal": block.text}
    job.note("rewritten", "this server knows no refusals; it stands as text", block)
    return {"type": "text", "text": block.text}


def thinking(block: c.ThinkingMessageContent, job: Job) -> Any:
    """Reasoning as it goes into the field that `frame` chooses: the list of the provider, or the text."""
    if job.facts.reasoning_field != "reasoning_details":
        return block.text
    details = (block.native or {}).get("reasoning_details")
    return list(details) if details else [{"type": "reasoning.text", "text": block.text}]


def generic(block: c.GenericMessageContent, job: Job) -> JSONObject:
    """A part that only this API knows, as it came."""
    return dict(block.value)


def _types(told: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if told is None else frozenset(told)


# --- cache marks --------------------------------------------------------------------------------


def marked(node: JSONObject, block: Any, job: Job) -> JSONObject:
    """Puts the cache mark of a block on its part, in the form of the endpoint.

    Source: https://developers.openai.com/api/docs/guides/prompt-caching (breakpoints); the envelope is
    that of OpenRouter, LiteLLM and DashScope.
    """
    if not block.cache:
        return node
    if block.native is not None and "cache_marks" in block.native:
        job.note("merged", "a part came with cache marks of two kinds; one is sent", block)
    if job.facts.cache == "breakpoint":
        node["prompt_cache_breakpoint"] = {"mode": "explicit", **_lifetime(block, job)}
    else:
        node["cache_control"] = {"type": "ephemeral", **_lifetime(block, job)}
    return node


def _lifetime(block: Any, job: Job) -> JSONObject:
    asked, known = block.cache, job.facts.cache_ttls
    if asked is True:
        return {}
    if asked in known:
        return {"ttl": asked}
    given = known[-1] if len(known) > 1 else None
    job.note(
        "coerced",
        f"the cache lifetime {asked!r} is none of {', '.join(known)}; it is {given or 'left to the server'}",
        block,
    )
    return {} if given is None else {"ttl": given}


# --- calls and results --------------------------------------------------------------------------


def call(block: Call, job: Job) -> JSONObject:
    """A call; its arguments as they were written, byte for byte."""
    name = job.names.native(block.name, block.path)
    if block.native is not None and block.native.get("custom") and type(block) is c.ActionCallMessageContent:
        said = block.input.get("input") if isinstance(block.input, dict) else None
        if isinstance(said, str):
            return {"id": block.tag, "type": "custom", "custom": {"name": name, "input": said}}
    function = {"name": name, "arguments": arguments_text(block, job)}
    node: JSONObject = {"id": block.tag, "type": "function", "function": function}
    if getattr(block, "thought_signature", None) is not None:
        _signed(node, block, job)
    return node


def _signed(node: JSONObject, block: Any, job: Job) -> None:
    """Gemini's signature of a call. Source: https://ai.google.dev/gemini-api/docs/openai (thought signatures)."""
    origin = block.origin
    if takes_signatures(job) and (origin is None or origin.api in _GOOGLE_APIS):
        node["extra_content"] = {"google": {"thought_signature": block.thought_signature}}
    else:
        job.note("coerced", "the thought signature of a call means nothing to this endpoint; it is not sent", block)


def takes_signatures(job: Job) -> bool:
    """Whether the endpoint is Gemini's: it keeps thought signatures beside the calls."""
    return job.facts.reasoning_dial == "gemini"


def result(block: c.ActionResultMessageContent, job: Job) -> JSONObject:
    """A result as a message of its own; its content is text only."""
    content = _parts_of_result(block, job) if block.parts is not None else result_text(block, job, prefix_errors=True)
    if block.cache and isinstance(content, str):
        content = [marked({"type": "text", "text": content}, block, job)]
    if block.name is not None:
        job.note("rewritten", "a result has no name here: that of the tool stands with its call", block)
    return {"role": "tool", "tool_call_id": block.tag, "content": content}


def _parts_of_result(block: c.ActionResultMessageContent, job: Job) -> Any:
    texts = [_result_text(part, block, job) for part in block.parts or ()]
    if block.is_error:
        texts[:1] = [error_text(texts[0] if texts else "", block, job)]
    if len(texts) > 1 and not job.facts.string_content_only:
        parts: list[JSONObject] = [{"type": "text", "text": said} for said in texts]
        marked(parts[-1], block, job)
        return parts
    if len(texts) > 1:
        job.note("merged", "content is one text here: the texts of a result are joined, each on its own line", block)
    return "\n".join(texts)


def _result_text(part: Any, block: Any, job: Job) -> str:
    """The text of one part. Media are moved before (see `passes`); what is left of other kinds goes as its text."""
    if type(part) is c.TextMessageContent:
        return part.text
    job.note(
        "rewritten", f"a result holds only text here; a block of kind {part.__struct_config__.tag} goes as text", block
    )
    return dumps(part.value) if type(part) is c.GenericMessageContent else str(part.to_text())


BLOCKS: Mapping[type, Callable[[Any, Job], Any]] = {
    c.TextMessageContent: text,
    c.ThinkingMessageContent: thinking,
    c.ImageMessageContent: image,
    c.AudioMessageContent: audio,
    c.DocumentMessageContent: document,
    c.ActionCallMessageContent: call,
    c.InvalidActionCallMessageContent: call,
    c.ActionResultMessageContent: result,
    c.RefusalMessageContent: refusal,
    c.GenericMessageContent: generic,
}
