"""Blocks of a message → content, documents, calls and tool messages of Cohere.

One function a kind of block. Sources: https://docs.cohere.com/reference/chat, /docs/tool-use-overview,
/docs/tool-use-citations; the types of cohere 7 (`ChatMessageV2`, `ToolContent`, `Document`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmneutral.convert.calls import error_text, result_text
from llmneutral.convert.function_blocks import call, generic, refusal
from llmneutral.convert.job import Job
from llmneutral.convert.media import as_note, resolve, untaken_sound
from llmneutral.convert.passes import NO_OUTPUT
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject, dumps, parse_object

API = "cohere_chat"
NO_CITATIONS = frozenset({"OFF", "DISABLED"})
TEXT_TYPES = frozenset(
    f"text/{kind}" for kind in ("plain", "markdown", "x-markdown", "html", "csv", "tab-separated-values", "xml")
) | {"application/json", "application/xml", "application/yaml"}
"""Documents that are text: what a model can be given as data."""


# --- content ------------------------------------------------------------------------------------


def text(block: c.TextMessageContent, job: Job) -> JSONObject:
    """Text as an item; `frame` writes a single one as a plain string, and citations beside the content."""
    tell_unsent(block, job)
    return {"type": "text", "text": block.text}


def own_citations(block: c.TextMessageContent) -> list[JSONObject]:
    """Returns the citations of a text that are Cohere's: they name their sources."""
    if block.origin is not None and block.origin.api not in (None, API):
        return []
    return [dict(cite) for cite in block.citations if "sources" in cite]


def tell_unsent(block: c.TextMessageContent, job: Job) -> None:
    """Says what of a text block has no place in this API."""
    if len(own_citations(block)) < len(block.citations):
        job.note("coerced", "the citations of a text do not go back: they are another API's", block)


def thinking(block: c.ThinkingMessageContent, job: Job) -> JSONObject:
    """Reasoning as it came."""
    del job
    return {"type": "thinking", "thinking": block.text}


def image(block: c.ImageMessageContent, job: Job) -> JSONObject:
    """A picture by its address or as a data URL."""
    types = job.facts.image_types
    medium = resolve(block, job, family="image", url=True, types=None if types is None else frozenset(types))
    if medium is None:
        return {"type": "text", "text": as_note(block)}
    if medium.file_id is not None:
        why = f"this API takes no file id of an image: {medium.file_id}; give its bytes or address"
        job.refuse(why, block, rule="media")
    shown: JSONObject = {"url": medium.data_url}
    if block.detail is not None:
        shown["detail"] = block.detail
    return {"type": "image_url", "image_url": shown}


def audio(block: c.AudioMessageContent, job: Job) -> JSONObject:
    """Sound is not taken; what was said may stand for it."""
    return {"type": "text", "text": untaken_sound(block, job)}


def document(block: c.DocumentMessageContent, job: Job) -> JSONObject:
    """A document of the request (`frame` puts it there) or of a result: `{id?, data}`; a note where it is no text."""
    if block.origin is not None and block.origin.api == API and (own := (block.native or {}).get("document")):
        return dict(own)
    said = _said(block, job)
    if said is None:
        return {"data": {"text": as_note(block)}}
    data: JSONObject = {"title": block.title, "snippet": said} if block.title else {"text": said}
    if block.context:
        data["context"] = block.context
    return {"data": data} if not block.name else {"id": block.name, "data": data}


def _said(block: c.DocumentMessageContent, job: Job) -> str | None:
    """The text of a document. A PDF is refused, or (None) a note stands for it."""
    if block.text is not None and block.data is None:
        return block.text
    if block.parts is not None and block.data is None:
        job.note("rewritten", "a document made of blocks goes as one text", block)
        return "\n\n".join([part.to_text() for part in block.parts])
    medium = resolve(block, job, family="document", url=False, types=TEXT_TYPES)
    if medium is None:
        return None
    if medium.file_id is not None:
        why = f"this API takes no file id of a document: {medium.file_id}; give its text"
        job.refuse(why, block, rule="media")
    return medium.to_bytes().decode("utf-8", "replace")


# --- calls and results --------------------------------------------------------------------------


def result(block: c.ActionResultMessageContent, job: Job) -> JSONObject:
    """A result as a message of its own. What is a JSON object goes as a document, so that it can be cited.

    Source: https://docs.cohere.com/docs/tool-use-citations
    """
    if block.name is not None:
        job.note("rewritten", "a result has no name here: that of the tool stands with its call", block)
    cites = cites_sources(job)
    if block.parts is not None:
        items = [_item(part, block, job, cites) for part in block.parts]
        if block.is_error:
            _say_error(items, block, job)
    else:
        said = result_text(block, job, prefix_errors=True)
        data = None if block.is_error else _object(said)
        items = [_document({"data": data}) if data else _worded(said, cites)] if said.strip() else []
    if not items:
        job.note("added", "an empty result is refused here", block)
        return {"role": "tool", "tool_call_id": block.tag, "content": NO_OUTPUT}
    only = items[0] if len(items) == 1 else {}
    content = only["text"] if only.get("type") == "text" else items
    return {"role": "tool", "tool_call_id": block.tag, "content": content}


def cites_sources(job: Job) -> bool:
    """Whether answers cite: they do, unless it was said that they shall not."""
    mode = (job.settings.get("citation_options") or {}).get("mode")
    return not (isinstance(mode, str) and mode.upper() in NO_CITATIONS)


def _object(said: str) -> JSONObject | None:
    """A result that is a JSON object."""
    if not said.lstrip().startswith("{"):
        return None
    found = parse_object(said)
    try:
        dumps(found).encode()
    except ValueError:  # a number beyond a float, or half a character, written as JSON allows it
        return None
    return found


def _document(document: JSONObject) -> JSONObject:
    return {"type": "document", "document": document}


def _worded(said: str, cites: bool) -> JSONObject:
    return _document({"data": {"text": said}}) if cites else {"type": "text", "text": said}


def _item(part: Any, block: Any, job: Job, cites: bool) -> JSONObject:
    """A part of a result. Pictures are moved before (see the passes); what is left is text, or a document."""
    kind = type(part)
    if kind is c.TextMessageContent:
        data = _object(part.text)
        return _document({"data": data}) if data else _worded(part.text, cites)
    if kind is c.DocumentMessageContent:
        job.note.became(part, block)
        return _document(document(part, job))
    if kind is c.AudioMessageContent:
        job.note.became(part, block)
        return _worded(audio(part, job)["text"], cites)
    if kind is c.GenericMessageContent and part.origin is not None and part.origin.api == API:
        return dict(part.value)
    name = part.__struct_config__.tag
    job.note("rewritten", f"a result holds no block of kind {name} here; it goes as text", block)
    return _worded(dumps(part.value) if kind is c.GenericMessageContent else part.to_text(), cites)


def _say_error(items: list[JSONObject], block: Any, job: Job) -> None:
    """The text of the first part says that the tool failed."""
    parts = block.parts
    said = parts[0].text if parts and type(parts[0]) is c.TextMessageContent else None
    items[: 0 if said is None else 1] = [_worded(error_text(said or "", block, job), cites_sources(job))]


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
