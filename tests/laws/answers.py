"""Answers as Hypothesis draws them, written as each API would: whole, and as a stream.

An answer is a list of blocks: `("text", …)`, `("thinking", text, seal)`, `("call", id, name, arguments)`. Two
functions an API: the whole body, and its stream with the texts cut into pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Answer = list[tuple[Any, ...]]
Chunk = dict[str, Any] | str
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
arguments = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.one_of(st.integers(), words, st.booleans()), max_size=2
)
text_blocks = st.tuples(st.just("text"), words)
thinking_blocks = st.tuples(st.just("thinking"), words, st.just("c2VhbA=="))
call_blocks = st.tuples(
    st.just("call"), st.uuids().map(lambda u: f"call_{u.hex[:8]}"), st.just("look"), arguments.map(json.dumps)
)


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Thinking, then text, then calls: the order every API can say."""
    blocks: Answer = []
    if draw(st.booleans()):
        blocks.append(draw(thinking_blocks))
    if draw(st.booleans()):
        blocks.append(draw(text_blocks))
    blocks += draw(st.lists(call_blocks, max_size=3))
    return blocks or [("text", draw(words))]


def pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


def chat_whole(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls = []
    for block in answer:
        if block[0] == "text":
            message["content"] = block[1]
        elif block[0] == "thinking":
            message["reasoning_content"] = block[1]
        else:
            calls.append({"id": block[1], "type": "function", "function": {"name": block[2], "arguments": block[3]}})
    if calls:
        message["tool_calls"] = calls
    reason = "tool_calls" if calls else "stop"
    return {
        "id": "c1",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": USAGE,
    }


def chat_stream(answer: Answer, size: int) -> list[Chunk]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    found: list[Chunk] = [chunk({"role": "assistant", "content": ""})]
    index = 0
    for block in answer:
        if block[0] == "text":
            found += [chunk({"content": piece}) for piece in pieces(block[1], size)]
        elif block[0] == "thinking":
            found += [chunk({"reasoning_content": piece}) for piece in pieces(block[1], size)]
        else:
            head = {"index": index, "id": block[1], "type": "function", "function": {"name": block[2], "arguments": ""}}
            found.append(chunk({"tool_calls": [head]}))
            for piece in pieces(block[3], size):
                found.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
            index += 1
    found.append(chunk({}, "tool_calls" if index else "stop"))
    return [*found, {"id": "c1", "model": "m", "choices": [], "usage": USAGE}, "[DONE]"]


def _item(block: tuple[Any, ...], place: int) -> dict[str, Any]:
    if block[0] == "text":
        part = {"type": "output_text", "text": block[1], "annotations": []}
        return {"type": "message", "id": f"msg_{place}", "role": "assistant", "status": "completed", "content": [part]}
    if block[0] == "thinking":
        summary = [{"type": "summary_text", "text": block[1]}]
        return {"type": "reasoning", "id": f"rs_{place}", "summary": summary, "encrypted_content": block[2]}
    item = {"type": "function_call", "id": f"fc_{place}", "call_id": block[1], "name": block[2]}
    return {**item, "arguments": block[3], "status": "completed"}


RESPONSES_USAGE = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}


def responses_whole(answer: Answer) -> dict[str, Any]:
    output = [_item(block, place) for place, block in enumerate(answer)]
    return {"id": "r1", "model": "m", "status": "completed", "output": output, "usage": RESPONSES_USAGE}


def responses_stream(answer: Answer, size: int) -> list[Chunk]:
    begin = {"id": "r1", "model": "m", "status": "in_progress", "output": []}
    found: list[Chunk] = [{"type": "response.created", "response": begin}]
    kinds = {
        "text": ("response.output_text.delta", "content_index"),
        "thinking": ("response.reasoning_summary_text.delta", "summary_index"),
        "call": ("response.function_call_arguments.delta", None),
    }
    for place, block in enumerate(answer):
        item = _item(block, place)
        opened = {**item, "status": "in_progress"}
        for key, empty in (("content", []), ("summary", []), ("arguments", "")):
            if key in opened:
                opened[key] = empty
        opened.pop("encrypted_content", None)
        found.append({"type": "response.output_item.added", "output_index": place, "item": opened})
        event, counter = kinds[block[0]]
        for piece in pieces(block[3] if block[0] == "call" else block[1], size):
            delta = {"type": event, "output_index": place, "item_id": item["id"], "delta": piece}
            found.append(delta if counter is None else {**delta, counter: 0})
        found.append({"type": "response.output_item.done", "output_index": place, "item": item})
    return [*found, {"type": "response.completed", "response": responses_whole(answer)}]


def messages_whole(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for block in answer:
        if block[0] == "text":
            content.append({"type": "text", "text": block[1]})
        elif block[0] == "thinking":
            content.append({"type": "thinking", "thinking": block[1], "signature": block[2]})
        else:
            content.append({"type": "tool_use", "id": block[1], "name": block[2], "input": json.loads(block[3])})
    reason = "tool_use" if any(block[0] == "call" for block in answer) else "end_turn"
    usage = {"input_tokens": 5, "output_tokens": 7}
    return {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": reason, "stop_sequence": None, "usage": usage}  # fmt: skip


def messages_stream(answer: Answer, size: int) -> list[Chunk]:
    whole = messages_whole(answer)
    begin = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": 5, "output_tokens": 1}}
    found: list[Chunk] = [{"type": "message_start", "message": begin}, {"type": "ping"}]
    for place, block in enumerate(answer):
        starts = {
            "text": {"type": "text", "text": ""},
            "thinking": {"type": "thinking", "thinking": "", "signature": ""},
            "call": {"type": "tool_use", "id": block[1], "name": block[-2], "input": {}},
        }
        found.append({"type": "content_block_start", "index": place, "content_block": starts[block[0]]})
        deltas = {
            "text": lambda piece: {"type": "text_delta", "text": piece},
            "thinking": lambda piece: {"type": "thinking_delta", "thinking": piece},
            "call": lambda piece: {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in pieces(block[3] if block[0] == "call" else block[1], size):
            found.append({"type": "content_block_delta", "index": place, "delta": deltas[block[0]](piece)})
        if block[0] == "thinking":
            sealed = {"type": "signature_delta", "signature": block[2]}
            found.append({"type": "content_block_delta", "index": place, "delta": sealed})
        found.append({"type": "content_block_stop", "index": place})
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    found.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}})
    return [*found, {"type": "message_stop"}]


def mistral_whole(answer: Answer) -> dict[str, Any]:
    whole = chat_whole([block for block in answer if block[0] == "call"])
    content: list[dict[str, Any]] = []
    for block in answer:
        if block[0] == "text":
            content.append({"type": "text", "text": block[1]})
        elif block[0] == "thinking":
            inner = [{"type": "text", "text": block[1]}]
            content.append({"type": "thinking", "thinking": inner, "signature": block[2], "closed": True})
    is_text = [part["type"] for part in content] == ["text"]
    whole["choices"][0]["message"]["content"] = content[0]["text"] if is_text else content or ""
    return whole


def mistral_stream(answer: Answer, size: int) -> list[Chunk]:
    """Reasoning in lists of chunks, text as text, calls whole; each in the SDK's `data`, usage in the last one."""

    def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"data": {"id": "c1", "model": "m", "choices": [choice], **more}}

    found: list[Chunk] = [chunk({"role": "assistant", "content": ""})]
    calls: list[dict[str, Any]] = []
    for block in answer:
        if block[0] == "text":
            found += [chunk({"content": piece}) for piece in pieces(block[1], size)]
        elif block[0] == "thinking":
            for piece in pieces(block[1], size):
                inner = [{"type": "text", "text": piece}]
                found.append(chunk({"content": [{"type": "thinking", "thinking": inner, "closed": True}]}))
            found.append(chunk({"content": [{"type": "thinking", "thinking": [], "signature": block[2]}]}))
        else:
            function = {"name": block[2], "arguments": block[3]}
            calls.append({"id": block[1], "function": function, "index": len(calls)})
    end = {"content": "", "tool_calls": calls} if calls else {"content": ""}
    return [*found, chunk(end, "tool_calls" if calls else "stop", usage=USAGE), "[DONE]"]


GEMINI_USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}


def _gemini_parts(answer: Answer) -> list[dict[str, Any]]:
    """A thought has no seal of its own: the first call carries it, or an empty text at the end."""
    parts: list[dict[str, Any]] = []
    seal = next((block[2] for block in answer if block[0] == "thinking"), None)
    for block in answer:
        if block[0] == "text":
            parts.append({"text": block[1]})
        elif block[0] == "thinking":
            parts.append({"text": block[1], "thought": True})
        else:
            call = {"functionCall": {"id": block[1], "name": block[2], "args": json.loads(block[3])}}
            parts.append(call if seal is None else {**call, "thoughtSignature": seal})
            seal = None
    return parts if seal is None else [*parts, {"text": "", "thoughtSignature": seal}]


def gemini_whole(answer: Answer) -> dict[str, Any]:
    candidate = {"index": 0, "content": {"role": "model", "parts": _gemini_parts(answer)}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": GEMINI_USAGE, "modelVersion": "m", "responseId": "g1"}


def gemini_stream(answer: Answer, size: int) -> list[Chunk]:
    """Each chunk is a response with some of the parts; what it counts is all so far."""

    def chunk(part: dict[str, Any]) -> dict[str, Any]:
        usage = {"promptTokenCount": 5, "totalTokenCount": 5}
        candidate = {"content": {"role": "model", "parts": [part]}}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "g1"}

    found: list[Chunk] = []
    for part in _gemini_parts(answer):
        cut = pieces(part["text"], size) if "text" in part and "thoughtSignature" not in part else [None]
        found += [chunk(part if piece is None else {**part, "text": piece}) for piece in cut]
    last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}
    return [*found, {"candidates": [last], "usageMetadata": GEMINI_USAGE, "modelVersion": "m", "responseId": "g1"}]


def bedrock_whole(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for block in answer:
        if block[0] == "text":
            content.append({"text": block[1]})
        elif block[0] == "thinking":
            content.append({"reasoningContent": {"reasoningText": {"text": block[1], "signature": block[2]}}})
        else:
            call = {"toolUseId": block[1], "name": block[2], "input": json.loads(block[3])}
            content.append({"toolUse": call})
    reason = "tool_use" if any(block[0] == "call" for block in answer) else "end_turn"
    usage = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 9}}


def bedrock_stream(answer: Answer, size: int) -> list[Chunk]:
    whole = bedrock_whole(answer)
    found: list[Chunk] = [{"messageStart": {"role": "assistant"}}]

    def delta(place: int, value: dict[str, Any]) -> Chunk:
        return {"contentBlockDelta": {"contentBlockIndex": place, "delta": value}}

    for place, block in enumerate(answer):
        if block[0] == "text":
            found += [delta(place, {"text": piece}) for piece in pieces(block[1], size)]
        elif block[0] == "thinking":
            found += [delta(place, {"reasoningContent": {"text": piece}}) for piece in pieces(block[1], size)]
            found.append(delta(place, {"reasoningContent": {"signature": block[2]}}))
        else:
            start = {"toolUse": {"toolUseId": block[1], "name": block[2]}}
            found.append({"contentBlockStart": {"contentBlockIndex": place, "start": start}})
            found += [delta(place, {"toolUse": {"input": piece}}) for piece in pieces(block[3], size)]
        found.append({"contentBlockStop": {"contentBlockIndex": place}})
    found.append({"messageStop": {"stopReason": whole["stopReason"]}})
    return [*found, {"metadata": {"usage": whole["usage"], "metrics": whole["metrics"]}}]


COHERE_USAGE = {"tokens": {"input_tokens": 5.0, "output_tokens": 7.0}, "cached_tokens": 2.0}


def cohere_whole(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    calls = []
    for block in answer:
        if block[0] == "call":
            calls.append({"id": block[1], "type": "function", "function": {"name": block[2], "arguments": block[3]}})
        elif block[0] == "text" and any(other[0] == "call" for other in answer):
            message["tool_plan"] = block[1]
        else:
            kind = block[0]
            message.setdefault("content", []).append({"type": kind, kind: block[1]})
    if calls:
        message["tool_calls"] = calls
    reason = "TOOL_CALL" if calls else "COMPLETE"
    return {"id": "k1", "finish_reason": reason, "message": message, "usage": COHERE_USAGE}


def cohere_stream(answer: Answer, size: int) -> list[Chunk]:
    """Index 0 for each part of the content, and 0, 1, … for calls."""

    def event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"type": kind} if index is None else {"type": kind, "index": index}
        return found | ({"delta": {"message": message}} if message else {})

    found: list[Chunk] = [{"id": "k1", **event("message-start", role="assistant", content=[], tool_plan="")}]
    index, planned = 0, any(block[0] == "call" for block in answer)
    for block in answer:
        kind = block[0]
        if kind == "call":
            call = {"id": block[1], "type": "function", "function": {"name": block[2], "arguments": ""}}
            found.append(event("tool-call-start", index, tool_calls=call))
            for piece in pieces(block[3], size):
                found.append(event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}}))
            found.append(event("tool-call-end", index))
            index += 1
        elif kind == "text" and planned:
            found += [event("tool-plan-delta", tool_plan=piece) for piece in pieces(block[1], size)]
        else:
            found.append(event("content-start", 0, content={"type": kind, kind: ""}))
            found += [event("content-delta", 0, content={kind: piece}) for piece in pieces(block[1], size)]
            found.append(event("content-end", 0))
    end = {"finish_reason": "TOOL_CALL" if planned else "COMPLETE", "usage": COHERE_USAGE}
    return [*found, {"type": "message-end", "delta": end}]


WIRE: dict[str, tuple[Callable[[Answer], dict[str, Any]], Callable[[Answer, int], list[Chunk]]]] = {
    "chat_completions": (chat_whole, chat_stream),
    "codex_responses": (responses_whole, responses_stream),
    "anthropic_messages": (messages_whole, messages_stream),
    "bedrock_converse": (bedrock_whole, bedrock_stream),
    "gemini_native": (gemini_whole, gemini_stream),
    "mistral_chat": (mistral_whole, mistral_stream),
    "cohere_chat": (cohere_whole, cohere_stream),
}
