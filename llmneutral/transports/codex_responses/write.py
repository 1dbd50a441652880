"""Blocks and messages → items of the input.

A message of the user is one item; a turn of the assistant is one item per block, in the order of the blocks: reasoning,
text, calls as they came. Only what this endpoint made itself goes back with its item id.

Docs: https://developers.openai.com/api/docs/guides/migrate-to-responses, types of openai 3 (ResponseInputItemParam).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from llmneutral.convert.calls import arguments_text, error_text, result_text
from llmneutral.convert.job import Job
from llmneutral.convert.media import IMAGES, as_note, resolve, untaken_sound
from llmneutral.convert.passes import same_origin
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    BaseMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject

API = "codex_responses"
LONGEST_ID = 64
LIFETIMES = {"30m": "30m", "12h": "12h", "1h": "12h"}
"""Lifetimes of cache marks, ours and Responses' own, as they go out; what is not here takes the request's default."""

Text = TextMessageContent
Result = ActionResultMessageContent
Generic = GenericMessageContent
Blocks = Sequence[Any]


# --- parts of a message of the user, and of a result --------------------------------------------


def input_text(content: Text, job: Job) -> JSONObject:
    """A text that the model reads."""
    return _marked({"type": "input_text", "text": content.text}, content, job)


def input_image(content: ImageMessageContent, job: Job) -> JSONObject:
    """A picture: data URL, address or file id; `detail` is required by the type."""
    types = job.facts.image_types
    medium = resolve(content, job, family="image", url=True, types=IMAGES if types is None else frozenset(types))
    if medium is None:
        return _marked({"type": "input_text", "text": as_note(content)}, content, job)
    node: JSONObject = {"type": "input_image", "detail": content.detail or "auto"}
    node |= {"file_id": medium.file_id} if medium.file_id is not None else {"image_url": medium.data_url}
    return _marked(node, content, job)


def input_file(content: DocumentMessageContent, job: Job) -> JSONObject:
    """A document: data URL with its file name, address or file id."""
    if content.text is not None:
        content = job.note.became(_as_file(content), content)
    medium = resolve(content, job, family="document", url=True)
    if medium is None:
        return _marked({"type": "input_text", "text": as_note(content)}, content, job)
    node: JSONObject = {"type": "input_file"}
    if name := content.name or content.title:
        node["filename"] = name
    if medium.file_id is not None:
        node["file_id"] = medium.file_id
    elif medium.data is not None:
        node["file_data"] = f"data:{medium.media_type or 'application/pdf'};base64,{medium.data}"
    else:
        node["file_url"] = medium.url
    if content.native and (detail := content.native.get("detail")):
        node["detail"] = detail
    if content.context or (content.title and content.name):
        job.note("rewritten", "title and context of a document have no place here; its name and data go", content)
    return _marked(node, content, job)


def _as_file(content: DocumentMessageContent) -> DocumentMessageContent:
    data = base64.b64encode((content.text or "").encode("utf-8", "replace")).decode()
    return msgspec.structs.replace(content, text=None, data=data, media_type=content.media_type or "text/plain")


def refused_audio(content: AudioMessageContent, job: Job) -> JSONObject:
    """Sound is not taken: a text stands in its place where the caller allows that, else it is refused."""
    return _marked({"type": "input_text", "text": untaken_sound(content, job)}, content, job)


def said_refusal(content: RefusalMessageContent, job: Job) -> JSONObject:
    """A refusal outside a turn of the assistant is a text."""
    job.note("rewritten", "a refusal stands as text here", content)
    return {"type": "input_text", "text": content.text}


def _marked(node: JSONObject, content: BaseMessageContent, job: Job) -> JSONObject:
    """Puts a cache breakpoint on a part. Source: openai 3, ResponseInputTextParam.prompt_cache_breakpoint."""
    if not content.cache:
        return node
    mark: JSONObject = {"mode": "explicit"}
    if isinstance(content.cache, str):
        lifetime = LIFETIMES.get(content.cache)
        if lifetime is not None:
            mark["ttl"] = lifetime
        if lifetime != content.cache:
            why = f"a cache lives 30m or 12h here: {content.cache} is {lifetime or 'the default'}"
            job.note("coerced", why, content)
    node["prompt_cache_breakpoint"] = mark
    return node


# --- items --------------------------------------------------------------------------------------


def reasoning(content: ThinkingMessageContent, job: Job) -> JSONObject:
    """A reasoning item; `summary` is always there. Source: openai 3, ResponseReasoningItemParam."""
    node: JSONObject = {"type": "reasoning"}
    if (item_id := _item_id(content.id, content, job)) is not None:
        node["id"] = item_id
    summary = content.summary
    if summary is None:
        summary = (content.text,) if content.text else ()
    node["summary"] = [{"type": "summary_text", "text": text} for text in summary]
    if content.native and (told := content.native.get("content")):
        node["content"] = told
    if content.encrypted_content is not None:
        node["encrypted_content"] = content.encrypted_content
    return node


def _item_id(item_id: Any, content: BaseMessageContent, job: Job) -> str | None:
    """The id an item goes back with: ids of more than 64 characters are refused, and some endpoints take none."""
    if not isinstance(item_id, str) or not item_id:
        return None
    if not job.facts.item_ids:
        job.note("rewritten", "this endpoint takes no ids of items, so this one goes without its id", content)
        return None
    if len(item_id) > LONGEST_ID:
        job.note("rewritten", f"an item id of more than {LONGEST_ID} characters is refused; the item has none", content)
        return None
    return item_id


def function_call(content: ActionCallMessageContent | InvalidActionCallMessageContent, job: Job) -> JSONObject:
    """A call, without an item id unless the endpoint wants its own `fc_` ids back."""
    name, native = job.names.native(content.name, content.path), content.native
    if native is None and not job.facts.send_item_ids:
        arguments = arguments_text(content, job)
        return {"type": "function_call", "call_id": content.tag, "name": name, "arguments": arguments}
    return _dressed_call(content, name, native or {}, job)


def _dressed_call(
    content: ActionCallMessageContent | InvalidActionCallMessageContent, name: str, native: JSONObject, job: Job
) -> JSONObject:
    node: JSONObject = {"type": "function_call"}
    if isinstance(content, ActionCallMessageContent):
        if _sends_id(content, job):
            node["id"] = content.item_id
        if native.get("custom") and isinstance(text := (content.input or {}).get("input"), str):
            return {**node, "type": "custom_tool_call", "call_id": content.tag, "name": name, "input": text}
    node |= {"call_id": content.tag, "name": name, "arguments": arguments_text(content, job)}
    if native and same_origin(content, job) is not False:
        node |= {key: native[key] for key in ("namespace", "caller") if key in native}
    return node


def _sends_id(content: ActionCallMessageContent, job: Job) -> bool:
    item_id = content.item_id
    if not job.facts.send_item_ids or item_id is None or not item_id.startswith(("fc_", "ctc_")):
        return False
    return len(item_id) <= LONGEST_ID and same_origin(content, job) is not False


def function_call_output(content: Result, job: Job) -> JSONObject:
    """A result: text, or a list of parts where it has several or media."""
    node: JSONObject = {"type": "function_call_output", "call_id": content.tag, "output": _output(content, job)}
    if content.native and (caller := content.native.get("caller")):
        node["caller"] = caller
    return node


def _output(content: Result, job: Job) -> Any:
    parts: tuple[Any, ...] | None = content.parts
    if parts is None and not content.cache:
        return result_text(content, job, prefix_errors=True)
    if parts is None or (len(parts) == 1 and type(parts[0]) is Text and not parts[0].cache):
        if parts is None:
            text = result_text(content, job, prefix_errors=True)
        else:
            text = _error_said(parts[0].text, content, job)
        return text if not content.cache else [_marked({"type": "input_text", "text": text}, content, job)]
    nodes = [_result_part(part, content, job) for part in parts]
    if content.is_error:
        first = next((node for node in nodes if node["type"] == "input_text"), None)
        if first is None:
            nodes.insert(0, {"type": "input_text", "text": _error_said("", content, job)})
        else:
            first["text"] = _error_said(first["text"], content, job)
    if content.cache and nodes:
        _marked(nodes[-1], content, job)
    return nodes or ""


def _error_said(text: str, content: Result, job: Job) -> str:
    return error_text(text, content, job) if content.is_error else text


def _result_part(part: Any, result: Result, job: Job) -> JSONObject:
    job.note.became(part, result)
    if type(part) in _PARTS:
        node = _PARTS[type(part)](part, job)
        if getattr(part, "detail", None) is None and node["type"] == "input_image":
            del node["detail"]  # required in messages, optional in results
        return node
    if _is_part(part):
        return dict(part.value)
    job.note("rewritten", f"{a_kind(part)} inside a result stands as text", result)
    return {"type": "input_text", "text": part.to_text()}


def _is_part(block: Any) -> bool:
    """Whether a block is a part of a message that only this API knows, and no item."""
    return type(block) is Generic and block.native is not None and bool(block.native.get("part"))


def item(content: Generic, job: Job) -> JSONObject:
    """An item that only this API knows, as it came."""
    node = dict(content.value)
    item_id = node.get("id")
    if isinstance(item_id, str) and (len(item_id) > LONGEST_ID or not job.facts.item_ids):
        del node["id"]
    return node


# --- messages -----------------------------------------------------------------------------------


def user_items(role: str, blocks: Blocks, job: Job) -> list[JSONObject]:
    """The items of a message that is not the assistant's: results and items by themselves, all else as one message."""
    items: list[JSONObject] = []
    parts: list[Any] = []
    for block in blocks:
        kind = type(block)
        if kind in _PARTS or _is_part(block):
            parts.append(block)
            continue
        if parts:
            items.append(_message(role, parts, job))
            parts = []
        items.append(job.render(block))
    if parts:
        items.append(_message(role, parts, job))
    return items


def _message(role: str, blocks: Blocks, job: Job) -> JSONObject:
    only = blocks[0]
    if len(blocks) == 1 and type(only) is Text and not only.cache and not job.facts.typed_input:
        node: JSONObject = {"role": role, "content": only.text}
        job.mark(node, only, key="content")
        return node
    return {"type": "message", "role": role, "content": [job.render(block) for block in blocks]}


def assistant_items(blocks: Blocks, job: Job) -> list[JSONObject]:
    """The items of a turn of the assistant, in the order of its blocks."""
    items: list[JSONObject] = []
    place = 0
    while place < len(blocks):
        block = blocks[place]
        if type(block) not in _SAID:
            node = job.render(block)
            items.append({"role": "assistant", "content": [node]} if _is_part(block) else node)
            place += 1
            continue
        key = _own_item(block, job)
        if key is None:
            items.append(_easy(block, job))
            place += 1
            continue
        end = place + 1
        while end < len(blocks) and type(blocks[end]) in _SAID and _own_item(blocks[end], job) == key:
            end += 1
        items.append(_output_message(blocks[place:end], job))
        place = end
    return items


def _own_item(block: Any, job: Job) -> tuple[Any, ...] | None:
    """What tells the message item a block came in, if it was made here and may go back as it was."""
    native = block.native
    if not native or not job.facts.item_ids or same_origin(block, job) is False:
        return None
    item_id, status = native.get("id"), native.get("status")
    if not isinstance(item_id, str) or not item_id or len(item_id) > LONGEST_ID or status not in _STATUSES:
        return None
    return item_id, status, native.get("phase")


def _output_message(blocks: Blocks, job: Job) -> JSONObject:
    """The message item as it came. Source: openai 3, ResponseOutputMessageParam."""
    parts = []
    for block in blocks:
        if type(block) is Text:
            part: JSONObject = {"type": "output_text", "text": block.text, "annotations": []}
        else:
            part = {"type": "refusal", "refusal": block.text}
        job.mark(part, block)
        parts.append(part)
    native = blocks[0].native
    node = {"type": "message", "id": native["id"], "role": "assistant", "status": native["status"], "content": parts}
    return _phased(node, blocks[0])


def _easy(block: Any, job: Job) -> JSONObject:
    """The easy form of what the assistant said; never `input_text`."""
    if type(block) is RefusalMessageContent:
        job.note("rewritten", "a refusal that was not made here stands as text", block)
    node = {"role": "assistant", "content": block.text}
    job.mark(node, block, key="content")
    return _phased(node, block)


def _phased(node: JSONObject, block: Any) -> JSONObject:
    """Keeps the phase: newer models degrade without it. Source: openai 3, EasyInputMessageParam.phase."""
    if block.native and (phase := block.native.get("phase")) in _PHASES:
        node["phase"] = phase
    return node


_STATUSES = ("completed", "incomplete", "in_progress")
_PHASES = ("commentary", "final_answer")
_SAID = (Text, RefusalMessageContent)
_PARTS: dict[type, Callable[[Any, Job], JSONObject]] = {
    Text: input_text,
    ImageMessageContent: input_image,
    DocumentMessageContent: input_file,
    AudioMessageContent: refused_audio,
    RefusalMessageContent: said_refusal,
}
_ITEMS: dict[type, Callable[[Any, Job], JSONObject]] = {
    ThinkingMessageContent: reasoning,
    ActionCallMessageContent: function_call,
    InvalidActionCallMessageContent: function_call,
    Result: function_call_output,
    Generic: item,
}
ALWAYS_ITEMS = frozenset(_ITEMS) - {Generic}
"""Kinds that are items by themselves, whoever says them."""

BLOCKS: dict[type, Callable[[Any, Job], JSONObject]] = {
    **_PARTS,
    **_ITEMS,
}
"""One function per kind of block. What the assistant said becomes an item by `assistant_items`."""
