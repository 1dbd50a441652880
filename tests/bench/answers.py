"""What the provider of the benchmarks answers: one text, whole or in pieces, as each API writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.drivers.sdk_endpoints import EVENT_STREAM, frame_of

PIECE = "a few words "
MODEL = "bench-model"
SERVER_SENT = "text/event-stream"


# --- OpenAI, Anthropic --------------------------------------------------------------------------


def _chat_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-bench0000000000000000000000",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        "usage": None,
    }


CHAT_USAGE = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}


def chat_events(deltas: int) -> list[Any]:
    """A stream of Chat Completions."""
    return [
        _chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        *[_chat_chunk({"content": PIECE})] * deltas,
        _chat_chunk({}, "stop"),
        _chat_chunk({}) | {"choices": [], "usage": CHAT_USAGE},
        "[DONE]",
    ]


def chat_whole() -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": PIECE, "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": CHAT_USAGE,
    }


def _response(status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": "resp_bench",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 30,
        },
    }


def _said(text: str, status: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_bench", "type": "message", "status": status, "role": "assistant", "content": [part]}


def responses_events(deltas: int) -> list[Any]:
    """A stream of Responses."""
    begun, whole, text = _said("", "in_progress"), _said(PIECE * deltas, "completed"), PIECE * deltas
    at = {"item_id": "msg_bench", "output_index": 0, "content_index": 0}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response("in_progress", [])},
        {"type": "response.in_progress", "response": _response("in_progress", [])},
        {"type": "response.output_item.added", "output_index": 0, "item": begun | {"content": []}},
        {"type": "response.content_part.added", **at, "part": begun["content"][0]},
        *[{"type": "response.output_text.delta", **at, "delta": PIECE, "logprobs": [], "obfuscation": "x3Kd"}] * deltas,
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": whole["content"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": _response("completed", [whole])},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def responses_whole() -> dict[str, Any]:
    return _response("completed", [_said(PIECE, "completed")])


MESSAGES_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 20,
    "service_tier": "standard",
}


def messages_whole(text: str = PIECE) -> dict[str, Any]:
    return {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "end_turn" if text else None,
        "stop_sequence": None,
        "usage": MESSAGES_USAGE,
    }


def messages_events(deltas: int) -> list[Any]:
    """A stream of Anthropic Messages."""
    grows = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": PIECE}}
    return [
        {"type": "message_start", "message": messages_whole("")},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *[grows] * deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": MESSAGES_USAGE},
        {"type": "message_stop"},
    ]


# --- Gemini, Bedrock, Cohere, Mistral -----------------------------------------------------------


def gemini_whole(finish: str | None = "STOP") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": PIECE}], "role": "model"}, "index": 0}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 20,
            "totalTokenCount": 30,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
        },
        "modelVersion": MODEL,
        "responseId": "response-bench",
    }


def gemini_events(deltas: int) -> list[Any]:
    """A stream of Gemini: each chunk is an answer, and tells the usage."""
    return [*[gemini_whole(None)] * (deltas - 1), gemini_whole()]


BEDROCK_USAGE = {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30}


def bedrock_whole() -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": PIECE}]}},
        "stopReason": "end_turn",
        "usage": BEDROCK_USAGE,
        "metrics": {"latencyMs": 100},
    }


def bedrock_events(deltas: int) -> list[Any]:
    """A stream of Converse."""
    grows = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": PIECE}, "p": "abcdefghijkl"}}
    return [
        {"messageStart": {"role": "assistant", "p": "abcdefg"}},
        *[grows] * deltas,
        {"contentBlockStop": {"contentBlockIndex": 0, "p": "abc"}},
        {"messageStop": {"stopReason": "end_turn", "p": "abcde"}},
        {"metadata": {"usage": BEDROCK_USAGE, "metrics": {"latencyMs": 100}, "p": "abcd"}},
    ]


COHERE_USAGE = {
    "billed_units": {"input_tokens": 10, "output_tokens": 20},
    "tokens": {"input_tokens": 100, "output_tokens": 20},
}


def cohere_whole() -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": PIECE}]}
    return {"id": "bench", "finish_reason": "COMPLETE", "message": message, "usage": COHERE_USAGE}


def cohere_events(deltas: int) -> list[Any]:
    """A stream of Cohere's Chat v2."""
    begun = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    empty = {"message": {"content": {"type": "text", "text": ""}}}
    grows = {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": PIECE}}}}
    return [
        {"id": "bench", "type": "message-start", "delta": {"message": begun}},
        {"type": "content-start", "index": 0, "delta": empty},
        *[grows] * deltas,
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": COHERE_USAGE}},
        "[DONE]",
    ]


def _mistral_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "bench",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def mistral_events(deltas: int) -> list[Any]:
    """A stream of Mistral's Chat."""
    return [
        _mistral_chunk({"role": "assistant", "content": ""}),
        *[_mistral_chunk({"content": PIECE})] * deltas,
        _mistral_chunk({"content": ""}, "stop") | {"usage": CHAT_USAGE},
        "[DONE]",
    ]


def mistral_whole() -> dict[str, Any]:
    message = {"role": "assistant", "content": PIECE, "tool_calls": None, "prefix": False}
    return {
        "id": "bench",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": CHAT_USAGE,
    }


# --- as bytes -----------------------------------------------------------------------------------


def event(chunk: Any) -> bytes:
    """A server-sent event."""
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n".encode()
    name = f"event: {chunk['type']}\n" if "type" in chunk else ""
    return f"{name}data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode()


class Answers(NamedTuple):
    """How an API answers.

    Attributes:
        events: The chunks of a stream of so many deltas.
        whole: The body of a whole answer.
        media: Media type of a stream.
        written: A chunk as bytes.
    """

    events: Callable[[int], list[Any]]
    whole: Callable[[], dict[str, Any]]
    media: str = SERVER_SENT
    written: Callable[[Any], bytes] = event


ANSWERS = {
    "/mistral/v1/chat/completions": Answers(mistral_events, mistral_whole),
    "/chat/completions": Answers(chat_events, chat_whole),
    "/responses": Answers(responses_events, responses_whole),
    "/messages": Answers(messages_events, messages_whole),
    ":generateContent": Answers(gemini_events, gemini_whole),
    ":streamGenerateContent?alt=sse": Answers(gemini_events, gemini_whole),
    "/converse": Answers(bedrock_events, bedrock_whole),
    "/converse-stream": Answers(bedrock_events, bedrock_whole, EVENT_STREAM, frame_of),
    "/v2/chat": Answers(cohere_events, cohere_whole),
}
"""End of a path → what is answered there; the first one that fits."""
