"""A request body of Mistral → PromptStack.

What has a neutral name becomes a setting; every other key stays as it is, in `extra_body`, and goes out again as it
came. Source: the types of mistralai 3 (`ChatCompletionRequest`, `ContentChunk`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmneutral.ir import contents as c
from llmneutral.ir.artifacts import address
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.ir.wire import from_openai
from llmneutral.transports.chat_completions.request import RewrittenTool, read_settings
from llmneutral.transports.mistral_chat.blocks import API

ReadChunk = Callable[[Mapping[str, Any], c.Origin], Any]
OPENAI_KINDS = frozenset({"text", "image_url"})
"""Chunks that are the same in OpenAI's format."""


def read_request(body: JSONObject) -> PromptStack:
    """Reads a request.

    Raises:
        ConversionError: If a message is malformed, naming the message and the part.
    """
    origin = c.Origin(API, body.get("model"))
    return PromptStack(
        from_openai([_openai_form(message, origin) for message in body["messages"]]),
        tools=[_tool(tool) for tool in body.get("tools") or ()],
        settings=read_settings(body, {"random_seed": "seed"}),
    )


def _tool(tool: Any) -> ToolDefinition:
    """A tool; the SDK's type has a default for `type`, and so has the server."""
    found = definitions([tool])[0]
    if found.native is not None or "type" in tool:
        return found
    why = f"the tool {found.name!r}: it came without a type, and goes with it"
    return RewrittenTool(
        found.name, description=found.description, parameters=found.parameters, strict=found.strict, why=why
    )


def _openai_form(message: Any, origin: c.Origin) -> Any:
    """Returns a message as `from_openai` reads it: chunks that only this API has are blocks already."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list):
        return message
    instructs = message.get("role") == "system"
    return {**message, "content": [_chunk(chunk, origin, instructs) for chunk in content]}


def _chunk(chunk: Any, origin: c.Origin, instructs: bool) -> Any:
    kind = chunk.get("type") if isinstance(chunk, Mapping) else None
    if not isinstance(kind, str) or kind in OPENAI_KINDS:
        return chunk
    if instructs:  # a system prompt shows the model how to think: an example, and not reasoning of its own
        return _generic(chunk, origin)
    read: ReadChunk = _CHUNKS.get(kind, _generic)
    return read(chunk, origin)


def _thinking(chunk: Mapping[str, Any], origin: c.Origin) -> c.ThinkingMessageContent:
    inner = chunk["thinking"]
    text, native = (inner, {}) if isinstance(inner, str) else inner_text(inner)
    if chunk.get("closed") is None:
        native = {**native, "closed": None}  # it goes back without the key, too
    return c.ThinkingMessageContent(text, signature=chunk.get("signature"), origin=origin, native=native or None)


def inner_text(inner: Any) -> tuple[str, JSONObject]:
    """Returns the text of the chunks inside of reasoning, and these themselves where they are more than text."""
    entries = [each for each in inner if isinstance(each, Mapping)] if isinstance(inner, list) else []
    said = "".join([str(each.get("text") or "") for each in entries])
    is_text = all([each.get("type", "text") == "text" for each in entries])
    return said, {} if is_text else {"thinking": inner}


def _document(chunk: Mapping[str, Any], origin: c.Origin) -> c.DocumentMessageContent:
    del origin
    return c.DocumentMessageContent(**address(chunk["document_url"]), name=chunk.get("document_name"))


def _file(chunk: Mapping[str, Any], origin: c.Origin) -> Any:
    if "file_id" not in chunk:  # OpenAI's form
        return dict(chunk)
    del origin
    return c.DocumentMessageContent(file_id=chunk["file_id"])


def _audio(chunk: Mapping[str, Any], origin: c.Origin) -> Any:
    given = chunk["input_audio"]
    if not isinstance(given, str):  # OpenAI's form
        return dict(chunk)
    if given.startswith(("http://", "https://")):
        return _generic(chunk, origin)  # sound by its address: no other API takes that
    if given.startswith("data:"):
        found = address(given)
        return c.AudioMessageContent(found["data"], found["media_type"])
    return c.AudioMessageContent(given)


def _generic(chunk: Mapping[str, Any], origin: c.Origin) -> c.GenericMessageContent:
    return c.GenericMessageContent(dict(chunk), origin=origin)


_CHUNKS: dict[str, ReadChunk] = {
    "thinking": _thinking,
    "document_url": _document,
    "file": _file,
    "input_audio": _audio,
}
