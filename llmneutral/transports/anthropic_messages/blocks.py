"""Blocks of a message as Anthropic Messages writes them: one function per kind, total.

https://platform.claude.com/docs/en/api/messages; types of anthropic 2: ContentBlockParam.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Any

from llmneutral.convert.calls import arguments_object, result_text
from llmneutral.convert.job import BlockWriter, Job
from llmneutral.convert.media import IMAGES, as_note, resolve, untaken_sound
from llmneutral.convert.passes import NO_OUTPUT
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
from llmneutral.ir.jsontext import JSONObject

API = "anthropic_messages"
DOCUMENTS = frozenset({"application/pdf", "text/plain"})
CITATIONS = frozenset(
    (
        "char_location",
        "page_location",
        "content_block_location",
        "web_search_result_location",
        "search_result_location",
    )
)
"""What a citation may be on the way in: TextCitationParam."""

OUTPUT_ONLY = frozenset(("file_id", "parsed_output"))
"""Keys of an answer's citations and blocks that a request does not know."""

CACHING = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"


# --- cache marks ----------------------------------------------------------------------------------


def cache_control(mark: bool | str, job: Job, *blocks: Any) -> JSONObject:
    """Returns a cache mark; a lifetime this endpoint does not know becomes its usual one."""
    if mark is True or not isinstance(mark, str):
        return {"type": "ephemeral"}
    if mark not in job.facts.cache_ttls:
        known = ", ".join(job.facts.cache_ttls) or "no lifetimes"
        why = f"cache: the lifetime {mark} is not known here ({known}); the usual one is sent"
        job.note("coerced", why, *blocks, doc=CACHING)
        return {"type": "ephemeral"}
    return {"type": "ephemeral", "ttl": mark}


def _marked(node: JSONObject, block: Any, job: Job) -> JSONObject:
    if block.cache:
        node["cache_control"] = cache_control(block.cache, job, block)
    return node


def _own_native(block: Any, *keys: str) -> JSONObject:
    """What this API needs back of a block, where it was this API that gave it."""
    native, origin = block.native, block.origin
    if not native or (origin is not None and origin.api not in (None, API)):
        return {}
    return {key: native[key] for key in keys if native.get(key) is not None}


# --- texts ----------------------------------------------------------------------------------------


def text(block: TextMessageContent, job: Job) -> JSONObject:
    """Text; citations stay on texts of the assistant, where they are this API's."""
    node: JSONObject = {"type": "text", "text": block.text}
    if block.citations:
        kept = [_citation(cite) for cite in block.citations if cite.get("type") in CITATIONS]
        if len(kept) < len(block.citations):
            job.note("coerced", "citations of another API are left out", block)
        if kept:
            node["citations"] = kept
    return _marked(node, block, job) if block.cache else node


def _citation(cite: JSONObject) -> JSONObject:
    return {key: value for key, value in cite.items() if key not in OUTPUT_ONLY}


def refusal(block: RefusalMessageContent, job: Job) -> JSONObject:
    """A refusal has no type of its own on the way in."""
    job.note("rewritten", "Messages takes no refusals back; it stands as text", block)
    said = block.text.strip() or block.category or ""
    return _marked({"type": "text", "text": f"[refused] {said}".rstrip()}, block, job)


def thinking(block: ThinkingMessageContent, job: Job) -> JSONObject:
    """Reasoning goes back as it came, never with a cache mark."""
    if block.data:
        return {"type": "redacted_thinking", "data": block.data}
    if block.encrypted_content:
        job.note("coerced", "only the visible text of another API's reasoning is sent", block)
    return {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}


# --- media ----------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _image_types(known: tuple[str, ...] | None) -> frozenset[str]:
    return IMAGES if known is None else frozenset(known)


def image(block: ImageMessageContent, job: Job) -> JSONObject:
    """A picture by data, address or file id."""
    medium = resolve(block, job, family="image", url=True, types=_image_types(job.facts.image_types))
    if medium is None:
        return _marked({"type": "text", "text": as_note(block)}, block, job)
    if block.detail not in (None, "auto"):
        job.note("dropped", f"detail: Messages knows no resolution hint ({block.detail!r})", block)
    if medium.file_id is not None:
        source: JSONObject = {"type": "file", "file_id": medium.file_id}
    elif medium.url is not None:
        source = {"type": "url", "url": medium.url}
    else:
        source = {"type": "base64", "media_type": medium.media_type, "data": medium.data}
    node: JSONObject = {"type": "image", "source": source}
    if block.native:
        node |= _own_native(block, "transformations")
    return _marked(node, block, job) if block.cache else node


def audio(block: AudioMessageContent, job: Job) -> JSONObject:
    """Sound is not taken; its transcript may stand for it."""
    return _marked({"type": "text", "text": untaken_sound(block, job)}, block, job)


def document(block: DocumentMessageContent, job: Job) -> JSONObject:
    """A PDF, a text, or blocks, with title, context and whether it is to be cited."""
    source = _document_source(block, job)
    if source is None:
        return _marked({"type": "text", "text": as_note(block)}, block, job)
    node: JSONObject = {"type": "document", "source": source}
    title = block.title if block.title is not None else block.name
    if block.name and title != block.name:
        job.note("coerced", "the file name of a document has no place beside its title here", block)
    if title:
        node["title"] = title
    if block.context:
        node["context"] = block.context
    node |= _own_native(block, "citations")
    return _marked(node, block, job)


def _document_source(block: DocumentMessageContent, job: Job) -> JSONObject | None:
    if block.parts is not None:
        return {"type": "content", "content": [part(each, block, job) for each in block.parts]}
    if block.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": block.text}
    medium = resolve(block, job, family="document", url=True, types=DOCUMENTS)
    if medium is None:
        return None
    if medium.file_id is not None:
        return {"type": "file", "file_id": medium.file_id}
    if medium.url is not None:
        return {"type": "url", "url": medium.url}
    if medium.media_type == "text/plain":
        plain = base64.b64decode(medium.data or "").decode("utf-8", "replace")
        return {"type": "text", "media_type": "text/plain", "data": plain}
    return {"type": "base64", "media_type": medium.media_type, "data": medium.data}


# --- tools ----------------------------------------------------------------------------------------


def tool_use(block: ActionCallMessageContent | InvalidActionCallMessageContent, job: Job) -> JSONObject:
    """A call: its arguments are an object, always."""
    node: JSONObject = {
        "type": "tool_use",
        "id": block.tag,
        "name": job.names.native(block.name, block.path),
        "input": arguments_object(block, job),
    }
    if block.native:
        node |= _own_native(block, "caller", "toolset_name")
    return _marked(node, block, job) if block.cache else node


def tool_result(block: ActionResultMessageContent, job: Job) -> JSONObject:
    """A result: text as a string, several blocks as a list; an empty one is said to be empty."""
    content: Any
    if block.parts is None:
        content = block.output if type(block.output) is str else result_text(block, job, prefix_errors=False)
        empty = not content or content.isspace()
    else:
        content = [written for each in block.parts if (written := _result_part(each, block, job)) is not None]
        empty = not content
    if empty:
        job.note("added", "an empty result is refused here", block)
        content = NO_OUTPUT
    node: JSONObject = {"type": "tool_result", "tool_use_id": block.tag, "content": content}
    if block.is_error:
        node["is_error"] = True
    if block.native:
        node |= _own_native(block, "toolset_name")
    return _marked(node, block, job) if block.cache else node


def _result_part(block: Any, result: ActionResultMessageContent, job: Job) -> JSONObject | None:
    if isinstance(block, GenericMessageContent) and block.origin is not None and block.origin.api not in (None, API):
        job.note("rewritten", f"a result loses its block {block.to_text()}: only {block.origin.api} knows it", result)
        return None
    if isinstance(block, TextMessageContent) and block.citations:
        return {"type": "text", "text": block.text}
    return part(block, result, job)


def part(block: Any, holder: Any, job: Job) -> JSONObject:
    """Writes a block that stands inside another one; remarks name the outer block."""
    if type(block) is TextMessageContent:
        return text(block, job)
    job.note.became(block, holder)
    if type(block) in PARTS:
        written: JSONObject = BLOCKS[type(block)](block, job)
        return written
    job.note("rewritten", f"a {block.to_text()} inside a block stands as text here", holder)
    return {"type": "text", "text": block.to_text()}


def generic(block: GenericMessageContent, job: Job) -> JSONObject:
    """A block of this API's own goes back as it came, without what only answers have."""
    node = {key: value for key, value in block.value.items() if not (value is None and key in _NULLS)}
    node.pop("parsed_output", None)
    return _marked(node, block, job)


_NULLS = frozenset(("caller", "citations"))
PARTS = (ImageMessageContent, DocumentMessageContent, AudioMessageContent, RefusalMessageContent, GenericMessageContent)
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
