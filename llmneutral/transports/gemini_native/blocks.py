"""Contents of a message as parts of generateContent: one function per kind, total; the SDK's spelling.

https://ai.google.dev/api/caching#Part; types of google-genai 3: Part.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from llmneutral.convert.calls import arguments_object, written
from llmneutral.convert.job import BlockWriter, Job
from llmneutral.convert.media import Medium, as_note, canonical_type, resolve, resolve_sound, type_by_ending
from llmneutral.convert.passes import same_origin
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Origin,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, loads
from llmneutral.transports.gemini_native.wire import SKIP_VALIDATION, from_base64, to_sdk

API = "gemini_native"
SIGNATURE = "thoughtSignature"
PART_KEYS = (
    "thought",
    "videoMetadata",
    "mediaResolution",
    "mediaProcessing",
    "partMetadata",
    "speechMetadata",
    "documentMetadata",
    "spreadsheetMetadata",
    "audioMetadata",
)
"""What a part may say beside its data, and a neutral block has no field for."""

GOOGLE_FILE = re.compile(
    r"gs://.+|https://(?:[a-z0-9-]+-)?generativelanguage(?:\.sandbox)?\.googleapis\.com/\S*files/\S+", re.IGNORECASE
)
"""Addresses only Google reads: Cloud Storage, and its Files API."""

VIDEO = re.compile(r"https?://(?:www\.|m\.)?(?:youtube\.com|youtu\.be)/\S+", re.IGNORECASE)
"""Public addresses it reads as well: https://ai.google.dev/gemini-api/docs/video-understanding"""

FILES = "https://generativelanguage.googleapis.com/v1beta/"
RESULT_KEYS = ("willContinue", "scheduling")
"""Fields of a function response that a neutral result has not."""


# --- what only this API gave ----------------------------------------------------------------------


def is_own(block: Any) -> bool:
    """Whether a block may be this API's: it was made here, or nobody knows."""
    return block.origin is None or block.origin.api in (None, API)


def _native(block: Any, *keys: str) -> JSONObject:
    """What this API said beside the neutral fields of a block, in the SDK's spelling."""
    native = block.native
    if not native or not is_own(block):
        return {}
    found: JSONObject = to_sdk({key: native[key] for key in keys if native.get(key) is not None})
    return found


def signature_of(block: Any) -> str | None:
    """Returns the thought signature a block came with, whoever made it."""
    found = getattr(block, "thought_signature", None) or (block.native or {}).get(SIGNATURE)
    return found if isinstance(found, str) else None


def signature(block: Any, job: Job) -> bytes | None:
    """Returns the signature that may go back with a block: this model's own, or the sentinel; else None."""
    text = signature_of(block)
    if text is None:
        return None
    return from_base64(text) if text == SKIP_VALIDATION or _is_of_this_model(block, job) else None


def _is_of_this_model(block: Any, job: Job) -> bool:
    """Whether a block may be the target model's; over Google's Chat Completions the signatures are the same."""
    origin = block.origin
    if origin is not None and origin.api == "chat_completions":
        block = msgspec.structs.replace(block, origin=Origin(API, origin.model, origin.host))
    return same_origin(block, job) is not False


def _signed(node: JSONObject, block: Any, job: Job) -> JSONObject:
    found = signature(block, job)
    if found:
        node["thought_signature"] = found
    else:
        job.note("coerced", "the thought signature is not this model's; it is left out", block)
    return node


def _finished(node: JSONObject, block: Any, job: Job) -> JSONObject:
    """A part with what stands beside its data."""
    if block.native:
        node |= _native(block, *PART_KEYS)
    return _signed(node, block, job) if signature_of(block) is not None else node


# --- texts ----------------------------------------------------------------------------------------


def text(block: TextMessageContent, job: Job) -> JSONObject:
    """Text, with the signature it came with; citations are of answers only."""
    node: JSONObject = {"text": block.text}
    if block.citations:
        job.note("coerced", "citations of a text are not sent back here", block)
    return _finished(node, block, job) if block.native or block.thought_signature else node


def refusal(block: RefusalMessageContent, job: Job) -> JSONObject:
    """A refusal has no kind of its own on the way in."""
    job.note("rewritten", "Gemini takes no refusals back; it stands as text", block)
    said = block.text.strip() or block.category or ""
    return {"text": f"[refused] {said}".rstrip()}


def thinking(block: ThinkingMessageContent, job: Job) -> JSONObject:
    """A thought that carries a signature (or whatever else the passes left) goes back as it came."""
    node: JSONObject = {"text": block.text, "thought": True}
    if block.native:
        node |= _native(block, *PART_KEYS)
    if block.encrypted_content:
        job.note("coerced", "only the visible text of another API's reasoning is sent", block)
    if block.signature and (seal := from_base64(block.signature)):
        node["thought_signature"] = seal
    return node


# --- media ----------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _image_types(known: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if known is None else frozenset(known)


def image(block: ImageMessageContent, job: Job) -> JSONObject:
    """A picture, by its bytes or as a file."""
    if block.detail not in (None, "auto"):
        job.note("dropped", f"detail: Gemini knows no resolution hint ({block.detail!r})", block)
    name = (block.native or {}).get("displayName") if is_own(block) else None
    return _media(block, job, "image", types=_image_types(job.facts.image_types), name=name)


def audio(block: AudioMessageContent, job: Job) -> JSONObject:
    """Sound by its bytes; of an answer that only its maker keeps, the transcript."""
    return _written(resolve_sound(block, job), block, job, "audio")


def document(block: DocumentMessageContent, job: Job) -> JSONObject:
    """A document (or a film) by its bytes or as a file; text as a text file."""
    if lost := [name for name in ("title", "context") if getattr(block, name)]:
        job.note("coerced", f"the {' and '.join(lost)} of a document: this API has no place for it", block)
    said = block.text
    if said is None and block.parts is not None and block.data is None:
        said = "\n\n".join([part.to_text() for part in block.parts])
        job.note("rewritten", "a document made of blocks goes as one text file", block)
    if said is None or block.data is not None:
        return _media(block, job, "document", name=block.name)
    data: JSONObject = {
        "mime_type": canonical_type(block.media_type) or "text/plain",
        "data": said.encode("utf-8", "replace"),
    }
    return _finished({"inline_data": _named(data, block.name)}, block, job)


def _media(
    block: Any, job: Job, family: str, *, types: frozenset[str] | None = None, name: str | None = None
) -> JSONObject:
    medium = resolve(_as_file(block, job), job, family=family, url=True, types=types)
    return _written(medium, block, job, family, name)


def _written(medium: Medium | None, block: Any, job: Job, family: str, name: str | None = None) -> JSONObject:
    if medium is None:
        return {"text": as_note(block)}
    address = medium.file_id or medium.url
    if address is not None:
        return _finished({"file_data": _file(address, medium, block, job, family)}, block, job)
    mime_type = medium.media_type
    if mime_type is None:
        job.refuse(f"nobody says what kind of {family} these bytes are; give its media_type", block, rule="media")
    if block.media_type and ";" in block.media_type and canonical_type(block.media_type) == mime_type:
        mime_type = block.media_type  # raw sound says its rate there
    data = from_base64(medium.data or "")
    if data is None:
        job.refuse(f"the data of the {family} are no base64", block, rule="media")
    return _finished({"inline_data": _named({"mime_type": mime_type, "data": data}, name)}, block, job)


def _named(data: JSONObject, name: str | None) -> JSONObject:
    return data if name is None else {**data, "display_name": name}


def _as_file(block: Any, job: Job) -> Any:
    """A block whose address Google reads itself, or has read before, as a file of the provider."""
    address = getattr(block, "url", None)
    if address is None or block.data is not None:
        return block
    if not (GOOGLE_FILE.fullmatch(address) or VIDEO.fullmatch(address) or _came_from_here(block)):
        return block
    return job.note.became(msgspec.structs.replace(block, url=None, file_id=address), block)


def _came_from_here(block: Any) -> bool:
    return block.origin is not None and block.origin.api == API


def _file(address: str, medium: Medium, block: Any, job: Job, family: str) -> JSONObject:
    """A file by its URI. Its type is asked for everywhere but with files Google knows: types.FileData."""
    if medium.file_id is not None and "://" not in address:
        if not address.startswith("files/"):
            why = f"this API takes no file id of another provider: {address}; give the bytes, or the URI of a file"
            job.refuse(why, block, rule="media")
        address = FILES + address
    node: JSONObject = {"file_uri": address}
    mime_type = medium.media_type or type_by_ending(address)
    if mime_type is not None:
        node["mime_type"] = mime_type
    elif medium.file_id is None:
        why = f"nobody says what kind of {family} stands at {address}; give its media_type, or fetch="
        job.refuse(why, block, rule="media")
    return node


# --- tools ----------------------------------------------------------------------------------------


def sends_id(call: Any, job: Job) -> bool:
    """Whether the id of a call goes out: the model knows such ids, or this one came from here."""
    if job.facts.function_call_ids:
        return True
    return call.native is not None and is_own(call) and call.native.get("id") == call.tag


def function_call(block: ActionCallMessageContent | InvalidActionCallMessageContent, job: Job) -> JSONObject:
    """A call: its arguments are an object, always."""
    call: JSONObject = {"id": block.tag} if sends_id(block, job) else {}
    call["name"] = job.names.native(block.name, block.path)
    call["args"] = arguments_object(block, job)
    node: JSONObject = {"function_call": call}
    if block.native or getattr(block, "thought_signature", None):
        return _finished(node, block, job)
    return node


def function_response(block: ActionResultMessageContent, job: Job) -> JSONObject:
    """A result, under the name of the function; media stand beside it where the model takes them."""
    call = job.calls_by_id.get(block.tag)
    told: JSONObject = {"id": block.tag} if call is not None and sends_id(call, job) else {}
    named = block if call is None else call
    told["name"] = job.names.native(named.name or "", named.path)
    if type(block.output) is str and block.parts is None:
        told["response"] = response_of(block.output, is_error=block.is_error)
    else:
        value, parts = _said(block, job)
        told["response"] = response_of(value, is_error=block.is_error)
        if parts:
            told["parts"] = parts
    if not block.native:
        return {"function_response": told}
    told |= _native(block, *RESULT_KEYS)
    return _finished({"function_response": told}, block, job)


def response_of(value: Any, *, is_error: bool) -> JSONObject:
    """Returns the object of a response: an object as it is, anything else under `output`, errors under `error`.

    https://ai.google.dev/api/caching#FunctionResponse
    """
    if is_error:
        return {"error": value}
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")):
            return {"output": value}
        try:
            value = loads(value)
        except (ValueError, RecursionError):
            return {"output": value}
    return value if isinstance(value, dict) else {"output": value}


def _said(block: ActionResultMessageContent, job: Job) -> tuple[Any, list[JSONObject]]:
    """What a result says, as plain data, and its media."""
    if block.parts is None:
        output = block.output
        if output is None or isinstance(output, str):
            return output or "", []
        return loads(written(output, "a result", block, job)), []
    texts: list[str] = []
    media: list[JSONObject] = []
    for part in block.parts:
        node = _result_part(part, block, job)
        if node is not None:
            texts.append(node["text"]) if "text" in node else media.append(node)
    return "\n".join(texts), media


def _result_part(part: Any, result: ActionResultMessageContent, job: Job) -> JSONObject | None:
    if type(part) is TextMessageContent:
        return {"text": part.text}
    job.note.became(part, result)
    if type(part) in MEDIA:
        written_part: JSONObject = BLOCKS[type(part)](part, job)
        return written_part
    if type(part) is GenericMessageContent and not is_own(part):
        job.note("rewritten", f"a result loses its block {part.to_text()}: only {part.origin.api} knows it", result)  # type: ignore[union-attr]
        return None
    job.note("rewritten", f"a {part.to_text()} inside a result stands as text here", result)
    return {"text": part.to_text()}


def generic(block: GenericMessageContent, job: Job) -> JSONObject:
    """A part of this API's own goes back as it came."""
    del job
    found: JSONObject = to_sdk(block.value)
    return found


MEDIA = (ImageMessageContent, DocumentMessageContent, AudioMessageContent)
BLOCKS: dict[type, BlockWriter] = {
    TextMessageContent: text,
    ThinkingMessageContent: thinking,
    ImageMessageContent: image,
    AudioMessageContent: audio,
    DocumentMessageContent: document,
    ActionCallMessageContent: function_call,
    InvalidActionCallMessageContent: function_call,
    ActionResultMessageContent: function_response,
    RefusalMessageContent: refusal,
    GenericMessageContent: generic,
}
