"""Requests as one writes them by hand: from plain dicts, with no check, no report, and no case but these.

A message of a conversation has a role and a text, or `images` beside it, or `calls` of tools, or a `result` of one.
"""

from __future__ import annotations

import base64
import json
from typing import Any

Conversation = list[dict[str, Any]]


def to_chat(conversation: Conversation, model: str) -> dict[str, Any]:
    """OpenAI Chat Completions."""
    messages = []
    for message in conversation:
        if "calls" in message:
            calls = []
            for call in message["calls"]:
                function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
                calls.append({"id": call["id"], "type": "function", "function": function})
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif "result" in message:
            messages.append({"role": "tool", "tool_call_id": message["id"], "content": message["result"]})
        elif "images" in message:
            parts = [{"type": "text", "text": message["text"]}]
            parts += [{"type": "image_url", "image_url": {"url": data_url(each)}} for each in message["images"]]
            messages.append({"role": message["role"], "content": parts})
        else:
            messages.append({"role": message["role"], "content": message["text"]})
    return {"model": model, "messages": messages}


def to_responses(conversation: Conversation, model: str) -> dict[str, Any]:
    """OpenAI Responses."""
    items = []
    for message in conversation:
        if "calls" in message:
            for call in message["calls"]:
                arguments = json.dumps(call["arguments"])
                item = {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": arguments}
                items.append(item)
        elif "result" in message:
            items.append({"type": "function_call_output", "call_id": message["id"], "output": message["result"]})
        elif "images" in message:
            parts = [{"type": "input_text", "text": message["text"]}]
            parts += [{"type": "input_image", "image_url": data_url(each)} for each in message["images"]]
            items.append({"role": message["role"], "content": parts})
        else:
            items.append({"role": message["role"], "content": message["text"]})
    return {"model": model, "input": items, "store": False}


def to_messages(conversation: Conversation, model: str) -> dict[str, Any]:
    """Anthropic Messages."""
    messages = []
    for message in conversation:
        content: Any
        if "calls" in message:
            content = [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
                for call in message["calls"]
            ]
        elif "result" in message:
            content = [{"type": "tool_result", "tool_use_id": message["id"], "content": message["result"]}]
        elif "images" in message:
            content = [{"type": "text", "text": message["text"]}]
            for each in message["images"]:
                source = {"type": "base64", "media_type": "image/png", "data": each}
                content.append({"type": "image", "source": source})
        else:
            content = message["text"]
        messages.append({"role": message["role"], "content": content})
    return {"model": model, "max_tokens": 16_384, "messages": messages}


def data_url(png: str) -> str:
    """Base64 data as an address."""
    return f"data:image/png;base64,{png}"


def to_gemini(conversation: Conversation, model: str) -> dict[str, Any]:
    """Gemini, as keyword arguments of its SDK."""
    contents = []
    for message in conversation:
        parts: list[dict[str, Any]]
        if "calls" in message:
            parts = [{"function_call": {"name": call["name"], "args": call["arguments"]}} for call in message["calls"]]
        elif "result" in message:
            response = {"name": "search", "response": {"output": message["result"]}}
            parts = [{"function_response": response}]
        else:
            parts = [{"text": message["text"]}]
            for each in message.get("images", ()):
                parts.append({"inline_data": {"mime_type": "image/png", "data": base64.b64decode(each)}})
        contents.append({"role": "model" if message["role"] == "assistant" else "user", "parts": parts})
    return {"model": model, "contents": contents}


def to_converse(conversation: Conversation, model: str) -> dict[str, Any]:
    """Bedrock's Converse, as keyword arguments of its SDK."""
    messages = []
    for message in conversation:
        content: list[dict[str, Any]]
        if "calls" in message:
            content = [
                {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": call["arguments"]}}
                for call in message["calls"]
            ]
        elif "result" in message:
            content = [{"toolResult": {"toolUseId": message["id"], "content": [{"text": message["result"]}]}}]
        else:
            content = [{"text": message["text"]}]
            for each in message.get("images", ()):
                content.append({"image": {"format": "png", "source": {"bytes": base64.b64decode(each)}}})
        messages.append({"role": message["role"], "content": content})
    return {"modelId": model, "messages": messages}


def to_cohere(conversation: Conversation, model: str) -> dict[str, Any]:
    """Cohere's Chat v2: results are documents."""
    body = to_chat(conversation, model)
    for message in body["messages"]:
        if message["role"] == "tool":
            document = {"data": {"text": message["content"]}}
            message["content"] = [{"type": "document", "document": document}]
        elif message["content"] is None:
            del message["content"]
    return body


def to_mistral(conversation: Conversation, model: str) -> dict[str, Any]:
    """Mistral's Chat: results name their tool."""
    body = to_chat(conversation, model)
    for message in body["messages"]:
        if message["role"] == "tool":
            message["name"] = "search"
    return body


WRITERS = {
    "chat_completions": to_chat,
    "codex_responses": to_responses,
    "anthropic_messages": to_messages,
    "gemini_native": to_gemini,
    "bedrock_converse": to_converse,
    "cohere_chat": to_cohere,
    "mistral_chat": to_mistral,
}
