"""The passes that only Converse needs: documents, calls without tools, opaque reasoning, citations without text.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html, …/API_runtime_DocumentBlock.html
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from operator import is_
from typing import Any

import msgspec

from llmneutral.convert.calls import arguments_text, result_text
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.media import canonical_type
from llmneutral.convert.names import CALLS
from llmneutral.convert.pairing import TOOL_BLOCKS
from llmneutral.convert.passes import filler, is_blank, replay_reasoning, with_content
from llmneutral.convert.rest import bytes_of
from llmneutral.convert.thinking import is_sealed, why_dropped
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.messages import Message
from llmneutral.transports.bedrock_converse.blocks import is_own_citation
from llmneutral.transports.bedrock_converse.formats import DOCUMENTS, OWN

DOCUMENT_BLOCK = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html"
MESSAGE = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html"
ATTACHED, UNNAMED, LONGEST_NAME = "Attached document.", "Document", 200
Document = DocumentMessageContent
Result = ActionResultMessageContent
Text = TextMessageContent
DOCUMENT_HOLDERS: frozenset[type] = frozenset({Document, Result})
TYPES = {ending: media_type for media_type, ending in DOCUMENTS.items()}


def _each(messages: Messages, change: Callable[[Any], Any]) -> Messages:
    """Returns messages with their blocks changed; the same list, if none was."""
    out, changed = [], False
    for message in messages:
        content = tuple([change(block) for block in message.content])
        same = all(map(is_, content, message.content))
        out.append(message if same else with_content(message, content))
        changed = changed or not same
    return out if changed else messages


# --- reasoning and citations ----------------------------------------------------------------------


def _keeps(block: ThinkingMessageContent, message: Message, job: Job) -> str | None:
    """As by the facts; and the data of opaque reasoning is bytes here, so what is no base64 is another API's."""
    why = why_dropped(block, message, job)
    if why is None and block.data and bytes_of(block.data) is None:
        return "the opaque data of this reasoning is no base64, so it is not this API's"
    return why


def _citations_alone(messages: Messages, job: Job) -> Messages:
    """Citations that came without a text stay a block of this API's own: as a text they would be blank."""

    def change(block: Any) -> Any:
        if type(block) is not Text or not block.citations or not is_blank(block):
            return block
        own = [cite for cite in block.citations if is_own_citation(cite)]
        if not own:
            return block
        value = {"citationsContent": {"citations": own}}
        return job.note.became(GenericMessageContent(value, origin=OWN, cache=block.cache), block)

    return _each(messages, change) if job.look(messages).dressed else messages


# --- documents ------------------------------------------------------------------------------------


def _document_names(messages: Messages, job: Job) -> Messages:
    """Names of documents: few characters, no ending, unique over the whole request, whatever comes later."""
    look = job.look(messages)
    if Document not in look.kinds and not any([result.parts for result in look.results]):
        return messages
    taken: set[str] = set()

    def change(block: Any) -> Any:
        if type(block) is Document:
            return _named(block, block, taken, job)
        if type(block) is Result and any([type(part) is Document for part in block.parts or ()]):
            parts = [_named(each, block, taken, job) if type(each) is Document else each for each in block.parts or ()]
            if not all(map(is_, parts, block.parts or ())):
                return job.note.became(msgspec.structs.replace(block, parts=tuple(parts)), block)
        return block

    return _each(messages, change)


def _named(block: Document, holder: Any, taken: set[str], job: Job) -> Document:
    given = block.title if block.title is not None else block.name
    stem, ending = _split(block.name)
    media_type = canonical_type(block.media_type)
    if media_type not in DOCUMENTS and ending is not None:
        media_type = TYPES[ending]
    if stem and given is not block.name and given not in (stem, block.name):
        job.note("coerced", "the file name of a document has no place beside its title here", holder)
    name = _unique(fit_name(stem if given is block.name else given), taken)
    taken.add(name)
    if name != (stem if given is block.name else given):
        why = f"the document {given!r} goes by the name {name!r} here" if given else f"a document is called {name!r}"
        job.note("renamed", why, holder, doc=DOCUMENT_BLOCK)
    if name == block.name and media_type == block.media_type:
        return block
    new = msgspec.structs.replace(block, name=name, title=None, media_type=media_type)
    return new if holder is not block else job.note.became(new, block)


def _split(name: str | None) -> tuple[str | None, str | None]:
    """The name of a file without its ending, and the ending, if it is one that Converse knows."""
    stem, dot, ending = (name or "").rpartition(".")
    return (stem, ending.lower()) if dot and ending.lower() in TYPES else (name, None)


def fit_name(name: str | None) -> str:
    """Returns a name with what Converse takes: letters, digits, single spaces, hyphens, round and square brackets."""
    plain = unicodedata.normalize("NFKD", name or "")
    plain = "".join([character for character in plain if not unicodedata.combining(character)])
    plain = " ".join(re.sub(r"[^A-Za-z0-9\-()\[\]]", " ", plain).split())
    return plain[:LONGEST_NAME].rstrip() or UNNAMED


def _unique(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        suffix = f" ({number})"
        found = name[: LONGEST_NAME - len(suffix)].rstrip() + suffix
    return found


def _document_texts(messages: Messages, job: Job) -> Messages:
    """A message with a document has a text as well."""
    if Document not in job.look(messages).kinds:
        return messages
    out = []
    for message in messages:
        documents = [block for block in message.content if type(block) is Document]
        if documents and not any([isinstance(block, Text | RefusalMessageContent) for block in message.content]):
            new = filler(ATTACHED, "a message with a document needs a text beside it", job, *documents)
            message = with_content(message, (*message.content, new))
        out.append(message)
    return out


# --- calls without tools --------------------------------------------------------------------------


def _flatten_tools(messages: Messages, job: Job) -> Messages:
    """Calls and results as text: where the model knows no tools, or none are offered and the caller wants it so."""
    if job.facts.tools:
        if job.tools or not job.setting("flatten_tools"):
            return messages
        why = "no tools are offered, and flatten_tools says so"
    else:
        why = f"{job.target.model or 'this model'} calls no tools"
        if job.tools:
            names = ", ".join([tool.native_name for tool in job.tools])
            job.note("dropped", f"tools: {why}, so {names} are not sent")
            job.tools = ()
    if TOOL_BLOCKS.isdisjoint(job.look(messages).kinds):
        return messages
    job.open_calls = ()
    return [_flat(message, f"a call or result stands as text: {why}", job) for message in messages]


def _flat(message: Message, why: str, job: Job) -> Message:
    if not any([type(block) in TOOL_BLOCKS for block in message.content]):
        return message
    out: list[Any] = []
    for block in message.content:
        if type(block) is ThinkingMessageContent and is_sealed(block):
            job.note(
                "dropped",
                "a call of this turn became text; the signature of its reasoning is valid only for the whole turn",
                block,
            )
            continue
        if type(block) not in TOOL_BLOCKS:
            out.append(block)
            continue
        said = _call_text(block, job) if type(block) in CALLS else _result_text(block, job)
        new = Text(said, cache=block.cache)
        job.note("rewritten", why, block, new=new)
        out.append(new)
        out += [job.note.became(part, block) for part in getattr(block, "parts", None) or () if type(part) is not Text]
    return with_content(message, out)


def _call_text(block: Any, job: Job) -> str:
    return f"[Tool call {block.tag or ''}: {job.names.native(block.name, block.path)}({arguments_text(block, job)})]"


def _result_text(block: Any, job: Job) -> str:
    if block.parts is None:
        said = result_text(block, job, prefix_errors=False)
    else:
        said = "\n".join([part.text for part in block.parts if type(part) is Text])
    return f"[{'Error' if block.is_error else 'Result'} of tool call {block.tag or ''}]\n{said}".rstrip()


replay_own = replay_reasoning(_keeps)
citations_alone = Pass("citations_alone", _citations_alone, frozenset({Text}))
document_names = Pass("document_names", _document_names, DOCUMENT_HOLDERS)
document_texts = Pass("document_texts", _document_texts, frozenset({Document}))
flatten_tools = Pass("flatten_tools", _flatten_tools)
