"""The conversations that are converted: as plain dicts for the hand-written baseline, and as ours."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ImageMessageContent,
    Message,
    PromptStack,
    TextMessageContent,
)
from tests.bench.handwritten import Conversation

MODELS = {
    "chat_completions": "gpt-5.2",
    "codex_responses": "gpt-5.2",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_native": "gemini-2.5-flash",
    "bedrock_converse": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere_chat": "command-a-03-2025",
    "mistral_chat": "mistral-large-latest",
}
"""Whom the conversations are converted for."""

SEEING = {"cohere_chat": "command-a-vision-07-2025"}
"""Whom pictures are for, where the other one sees none."""

TEXTS, PAIRS, IMAGES = "1,000 texts", "500 call/result pairs", "50 images of 100 kB"
PNG = b"\x89PNG\r\n\x1a\n"


def texts(count: int = 1_000) -> Conversation:
    """A talk of short texts."""
    return [
        {"role": role, "text": f"This is the message number {number} of a talk."}
        for number, role in zip(range(count), ["user", "assistant"] * count, strict=False)
    ]


def pairs(count: int = 500) -> Conversation:
    """A question, then calls of a tool and their results."""
    found = texts(1)
    for number in range(count):
        arguments = {"query": f"the number {number}", "limit": 10}
        call = {"id": f"call_{number}", "name": "search", "arguments": arguments}
        result = {"role": "user", "id": f"call_{number}", "result": f"the result of the call number {number}"}
        found += [{"role": "assistant", "calls": [call]}, result]
    return found


def images(count: int = 50, size: int = 100_000) -> Conversation:
    """A message with pictures, in base64 already."""
    made = [base64.b64encode(PNG + number.to_bytes(8, "big") * (size // 8)).decode() for number in range(count)]
    return [{"role": "user", "text": "What is on these?", "images": made}]


def neutral(conversation: Conversation) -> PromptStack:
    """The same as a stack of ours."""
    return PromptStack([Message(message["role"], tuple(_blocks(message))) for message in conversation])


def _blocks(message: dict[str, Any]) -> list[Any]:
    if "calls" in message:
        return [
            ActionCallMessageContent(call["id"], call["name"], None, call["arguments"]) for call in message["calls"]
        ]
    if "result" in message:
        return [ActionResultMessageContent(message["id"], message["result"])]
    pictures = [ImageMessageContent(data, media_type="image/png") for data in message.get("images", ())]
    return [TextMessageContent(message["text"]), *pictures]


@cache
def named() -> dict[str, Conversation]:
    """The three of the tables."""
    return {TEXTS: texts(), PAIRS: pairs(), IMAGES: images()}
