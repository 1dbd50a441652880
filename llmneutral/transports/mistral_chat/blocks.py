"""Blocks of a message → chunks, calls and tool messages of Mistral.

One function a kind of block. Source: the types of mistralai 3 (`ContentChunk`, `ToolCall`, `ToolMessage`), and
https://docs.mistral.ai/api.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmneutral.convert.calls import error_text, result_text
from llmneutral.convert.function_blocks import call, generic, refusal
from llmneutral.convert.job import Job
from llmneutral.convert.media import as_note, resolve, resolve_sound
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.transports.chat_completions.blocks import image

API = "mistral_chat"
AUDIO = frozenset({"audio/wav", "audio/mpeg"})
REFERENCES = frozenset({"reference", "tool_reference"})


# --- chunks -------------------------------------------------------------------------------------


def text(block: c.TextMessageContent, job: Job) -> JSONObject:
    """Text as a chunk; `frame` writes a single one as a plain string, and its references as chunks of their own."""
    tell_unsent(block, job)
    return {"type": "text", "text": block.text}


def references(block: c.TextMessageContent) -> list[JSONObject]:
    """Returns the references of a text: citations as Mistral makes them."""
    return [dict(cite) for cite in block.citations if cite.get("type") == "reference"]


def tell_unsent(block: c.TextMessageContent, job: Job) -> None:
    """Says what of a text block has no place in this API."""
    if any([cite.get("type") != "reference" for cite in block.citations]):
        job.note("coerced", "the citations of a text do not go back: they are another API's", block)


def thinking(block: c.ThinkingMessageContent, job: Job) -> JSONObject:
    """Reasoning as it came: its chunks, and the signature where there is one; `frame` opens an unfinished one."""
    del job
    native = block.native or {}
    inner = native.get("thinking")
    said = list(inner) if inner else [{"type": "text", "text": block.text}]
    node: JSONObject = {"type": "thinking", "thinking": said}
    if block.signature is not None:
        node["signature"] = block.signature
    if native.get("closed", True):
        node["closed"] = True
    return node


def audio(block: c.AudioMessageContent, job: Job) -> JSONObject:
    """Sound as base64, wav or mp3: "Verify that the given file is valid mp3 or wav"."""
    medium = resolve_sound(block, job, AUDIO)
    if medium is None:
        return {"type": "text", "text": as_note(block)}
    return {"type": "input_audio", "input_audio": medium.data}


def document(block: c.DocumentMessageContent, job: Job) -> JSONObject:
    """A document by its address, as a data URL, or by its id at the provider; its text is text.

    Source: https://docs.mistral.ai/capabilities/document_ai/document_qna
    """
    if lost := [name for name in ("title", "context") if getattr(block, name)]:
        job.note("coerced", f"the {' and '.join(lost)} of a document: this API has no place for it", block)
    if block.data is None and (block.text is not None or block.parts is not None):
        job.note("rewritten", "a document of text goes as text: this API takes no text files", block)
        said = block.text if block.text is not None else "\n\n".join([part.to_text() for part in block.parts or ()])
        return {"type": "text", "text": said}
    medium = resolve(block, job, family="document", url=True)
    if medium is None:
        return {"type": "text", "text": as_note(block)}
    if medium.file_id is not None:
        return {"type": "file", "file_id": medium.file_id}
    url = medium.url or f"data:{medium.media_type or 'application/pdf'};base64,{medium.data}"
    node: JSONObject = {"type": "document_url", "document_url": url}
    return node if not block.name else {**node, "document_name": block.name}


# --- calls and results --------------------------------------------------------------------------


def result(block: c.ActionResultMessageContent, job: Job) -> JSONObject:
    """A result as a message of its own; `frame` adds the name of its tool."""
    if block.parts is None:
        content: Any = result_text(block, job, prefix_errors=True)
    else:
        content = _chunks(block, job)
    return {"role": "tool", "tool_call_id": block.tag, "content": content}


def _chunks(block: c.ActionResultMessageContent, job: Job) -> Any:
    """The parts of a result. Media are moved before (see `passes`); what is left is text, or a chunk of this API."""
    chunks = [_chunk(part, block, job) for part in block.parts or ()]
    if block.is_error:
        said = chunks[0]["text"] if chunks and chunks[0].get("type") == "text" else None
        chunks[: 0 if said is None else 1] = [{"type": "text", "text": error_text(said or "", block, job)}]
    if len(chunks) == 1 and chunks[0].get("type") == "text":
        return chunks[0]["text"]
    if job.facts.string_content_only and len(chunks) > 1:
        job.note("merged", "content is one text here: the parts of a result are joined, each on its own line", block)
        return "\n".join([each["text"] if each.get("type") == "text" else dumps(each) for each in chunks])
    return chunks or ""


def _chunk(part: Any, block: Any, job: Job) -> JSONObject:
    if type(part) is c.TextMessageContent:
        return {"type": "text", "text": part.text}
    if type(part) is c.GenericMessageContent and part.origin is not None and part.origin.api == API:
        return dict(part.value)
    kind = part.__struct_config__.tag
    job.note("rewritten", f"a result holds no block of kind {kind} here; it goes as text", block)
    return {"type": "text", "text": dumps(part.value) if type(part) is c.GenericMessageContent else part.to_text()}


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
