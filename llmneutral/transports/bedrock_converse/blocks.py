"""Blocks of a message as Converse writes them: one function per kind, total. Each is an object of exactly one key.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html; botocore 1.44: ContentBlock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llmneutral.convert.calls import arguments_object, error_text, result_text
from llmneutral.convert.job import BlockWriter, Job
from llmneutral.convert.media import Medium, as_note, canonical_type, resolve, resolve_sound
from llmneutral.convert.passes import NO_OUTPUT
from llmneutral.convert.rest import bytes_of
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, loads
from llmneutral.transports.bedrock_converse.formats import API, AUDIO, DOCUMENTS, IMAGES, NUMBERS, S3, with_bytes

CITATION_KEYS = frozenset(("title", "source", "sourceContent", "location"))
"""What a citation of this API may have; those of other APIs have a `type`."""

CACHING = "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html"


def own_native(block: Any, *keys: str) -> JSONObject:
    """Returns what this API needs back of a block, where it was this API that gave it."""
    native, origin = block.native, block.origin
    if not native or (origin is not None and origin.api not in (None, API)):
        return {}
    return {key: native[key] for key in keys if native.get(key) is not None}


# --- cache marks ----------------------------------------------------------------------------------


def cache_point(mark: bool | str, job: Job, *blocks: Any) -> JSONObject:
    """Returns the block that marks the end of a cached prefix; it stands behind what it marks."""
    point: JSONObject = {"type": "default"}
    if isinstance(mark, str) and mark in job.facts.cache_ttls:
        point["ttl"] = mark
    elif isinstance(mark, str):
        known = ", ".join(job.facts.cache_ttls) or "no lifetimes"
        why = f"cache: the lifetime {mark} is not known here ({known}); the usual one is sent"
        job.note("coerced", why, *blocks, doc=CACHING)
    node: JSONObject = {"cachePoint": point}
    job.mark(node, *blocks)
    return node


# --- texts ----------------------------------------------------------------------------------------


def text(block: TextMessageContent, job: Job) -> JSONObject:
    """Text, with this API's citations as a block of its own kind."""
    if not block.citations:
        return {"text": block.text}
    kept = [cite for cite in block.citations if is_own_citation(cite)]
    if len(kept) < len(block.citations):
        job.note("coerced", "citations of another API are left out", block)
    if not kept:
        return {"text": block.text}
    return {"citationsContent": {"content": _pieces(block), "citations": kept}}


def is_own_citation(cite: JSONObject) -> bool:
    """Whether a citation has the form of this API."""
    return bool(cite) and CITATION_KEYS.issuperset(cite)


def _pieces(block: TextMessageContent) -> list[JSONObject]:
    """The text in the pieces in which it came, if it is still the same."""
    pieces: list[JSONObject] = own_native(block, "content").get("content", [])
    return pieces if "".join([piece["text"] for piece in pieces]) == block.text else [{"text": block.text}]


def refusal(block: RefusalMessageContent, job: Job) -> JSONObject:
    """A refusal has no form of its own on the way in."""
    job.note("rewritten", "Converse takes no refusals back; it stands as text", block)
    return {"text": block.text if block.text.strip() else f"[refused] {block.category or ''}".rstrip()}


def thinking(block: ThinkingMessageContent, job: Job) -> JSONObject:
    """Reasoning goes back as it came."""
    if block.data:
        return {"reasoningContent": {"redactedContent": bytes_of(block.data) or b""}}
    if block.encrypted_content:
        job.note("coerced", "only the visible text of another API's reasoning is sent", block)
    said: JSONObject = {"text": block.text}
    if block.signature:
        said["signature"] = block.signature
    return {"reasoningContent": {"reasoningText": said}}


# --- media ----------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _image_types(known: tuple[str, ...] | None) -> frozenset[str]:
    return frozenset(IMAGES) if known is None else frozenset(known)


def image(block: ImageMessageContent, job: Job) -> JSONObject:
    """A picture by its bytes, or by its address in S3."""
    types = _image_types(job.facts.image_types)
    medium = resolve(block, job, family="image", url=False, types=types, addresses=(S3,))
    if medium is None:
        return {"text": as_note(block)}
    if block.detail not in (None, "auto"):
        job.note("dropped", f"detail: Converse knows no resolution hint ({block.detail!r})", block)
    return {"image": _placed(medium, IMAGES, "image", block, job)}


def audio(block: AudioMessageContent, job: Job) -> JSONObject:
    """Sound by its bytes; where it is not read, its transcript may stand for it."""
    medium = resolve_sound(block, job, frozenset(AUDIO))
    if medium is None:
        return {"text": as_note(block)}
    return {"audio": _placed(medium, AUDIO, "audio", block, job)}


def document(block: DocumentMessageContent, job: Job) -> JSONObject:
    """A document; its name was made fit by the pass `document_names`."""
    node: JSONObject = {"format": DOCUMENTS.get(canonical_type(block.media_type) or "", "txt"), "name": block.name}
    if block.parts is not None:
        node["source"] = {"content": [{"text": _part_text(part, block, job)} for part in block.parts]}
    elif block.text is not None:
        node["source"] = {"text": block.text}
    else:
        medium = resolve(block, job, family="document", url=False, types=frozenset(DOCUMENTS), addresses=(S3,))
        if medium is None:
            return {"text": as_note(block)}
        node |= _placed(medium, DOCUMENTS, "document", block, job)
    if block.context:
        node["context"] = block.context
    return {"document": node | own_native(block, "citations")}


def _part_text(part: Any, holder: DocumentMessageContent, job: Job) -> str:
    if type(part) is TextMessageContent:
        return part.text
    job.note("rewritten", f"a document holds only texts here; a {part.to_text()} stands as text", holder)
    said: str = part.to_text()
    return said


def _placed(medium: Medium, formats: dict[str, str], family: str, block: Any, job: Job) -> JSONObject:
    """Format and source of a medium."""
    if medium.file_id is not None:
        job.refuse(f"Converse knows no ids of files ({medium.file_id}); give the bytes", block, rule="media")
    found = formats.get(medium.media_type or "")
    if found is None:
        where = f" at {medium.url}" if medium.url else ""
        job.refuse(f"the type of the {family}{where} is not known; give its media_type", block, rule="media")
    return {"format": found, "source": _source(medium, family, block, job)}


def _source(medium: Medium, family: str, block: Any, job: Job) -> JSONObject:
    if medium.url is not None:
        return {"s3Location": {"uri": medium.url, **own_native(block, "bucketOwner")}}
    data = bytes_of(medium.data or "")
    if not data:
        what = "no base64" if data is None else "empty"
        job.refuse(f"the data of this {family} is {what}; give its bytes", block, rule="media")
    if block.native and own_native(block, NUMBERS):
        job.note("rewritten", "the bytes came as an object of numbers; they go as bytes", block)
    return {"bytes": data}


# --- tools ----------------------------------------------------------------------------------------


def tool_use(block: ActionCallMessageContent | InvalidActionCallMessageContent, job: Job) -> JSONObject:
    """A call: its arguments are an object, always."""
    name = job.names.native(block.name, block.path)
    if block.native and (kind := own_native(block, "type").get("type")) is not None:
        job.note(
            "coerced", f"toolUse: its type {kind!r} is left out, for requests know only that of server tools", block
        )
    return {"toolUse": {"toolUseId": block.tag, "name": name, "input": arguments_object(block, job)}}


def tool_result(block: ActionResultMessageContent, job: Job) -> JSONObject:
    """A result: a list of blocks that is never empty, and whether it failed, where the model is told so."""
    if block.parts is None and not block.is_error and type(block.output) is str and block.output.strip():
        return {"toolResult": {"toolUseId": block.tag, "content": [{"text": block.output}]}}
    says_status = job.facts.tool_result_status
    if block.parts is None:
        content = _output(block, job, says_status=says_status)
    else:
        content = [written for each in block.parts if (written := _result_part(each, block, job)) is not None]
        if block.is_error and not says_status:
            content = _error_first(content, block, job)
    if not content:
        job.note("added", "an empty result is refused here", block)
        content = [{"text": NO_OUTPUT}]
    node: JSONObject = {"toolUseId": block.tag, "content": content}
    if block.is_error and says_status:
        node["status"] = "error"
    return {"toolResult": node}


def _output(block: ActionResultMessageContent, job: Job, *, says_status: bool) -> list[JSONObject]:
    output = block.output
    if type(output) is dict and job.facts.tool_result_json and (says_status or not block.is_error):
        return [{"json": loads(result_text(block, job, prefix_errors=False))}]
    said = result_text(block, job, prefix_errors=not says_status)
    return [{"text": said}] if said and not said.isspace() else []


def _error_first(content: list[JSONObject], block: ActionResultMessageContent, job: Job) -> list[JSONObject]:
    """The first text says that the tool failed."""
    said = content[0].get("text") if content else None
    return [{"text": error_text(said or "", block, job)}, *(content[1:] if said is not None else content)]


def _result_part(block: Any, result: ActionResultMessageContent, job: Job) -> JSONObject | None:
    """Writes a block that stands inside a result; remarks name the result."""
    if isinstance(block, TextMessageContent):
        if block.native and (given := own_native(block, "json")):
            return given
        return {"text": block.text}
    job.note.became(block, result)
    if isinstance(block, GenericMessageContent):
        if block.origin is not None and block.origin.api not in (None, API):
            why = f"a result loses its block {block.to_text()}: only {block.origin.api} knows it"
            job.note("rewritten", why, result)
            return None
        return generic(block, job)
    if isinstance(block, ImageMessageContent | DocumentMessageContent | RefusalMessageContent):
        written: JSONObject = BLOCKS[type(block)](block, job)
        return written
    job.note("rewritten", f"a {block.to_text()} inside a result stands as text here", result)
    return {"text": block.to_text()}


def generic(block: GenericMessageContent, job: Job) -> JSONObject:
    """A block of this API's own goes back as it came, its data as bytes."""
    del job
    node: JSONObject = with_bytes(block.value)
    return node


BLOCKS: dict[type, BlockWriter] = {
    TextMessageContent: text,
    ThinkingMessageContent: thinking,
    ImageMessageContent: image,
    AudioMessageContent: audio,
    DocumentMessageContent: document,
    ActionCallMessageContent: tool_use,
    InvalidActionCallMessageContent: tool_use,
    ActionResultMessageContent: tool_result,
    RefusalMessageContent: refusal,
    GenericMessageContent: generic,
}
