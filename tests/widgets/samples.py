"""Values that the views are tried with: a conversation, its payloads, an exchange, a stream, a table."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import llmneutral
from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.payload import Column


def png(width: int = 8, height: int = 6) -> bytes:
    """Returns a small picture."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes([x * y % 256 for x in range(width * 3)]) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PNG = base64.b64encode(png()).decode()


def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"sunny in {city}"


def stack() -> llmneutral.PromptStack:
    """Returns a conversation with every kind of block that three APIs disagree about."""
    made = llmneutral.PromptStack(tools=[weather], settings={"temperature": 0.2, "seed": 7})
    made.add_system_message("You are terse.")
    picture = llmneutral.ImageMessageContent(data=PNG, media_type="image/png")
    made.add_user_message([llmneutral.TextMessageContent("What is this, and the weather in Paris?"), picture])
    made.add_user_message("Answer in **one** line.")
    made.add_assistant_message(
        [
            llmneutral.ThinkingMessageContent(
                "I should call the tool.",
                signature="EqQB",
                origin=llmneutral.Origin(api="anthropic_messages", model="claude-sonnet-5-5"),
            ),
            llmneutral.TextMessageContent("Let me look.", cache=True),
            llmneutral.ActionCallMessageContent("call_1", "weather", None, {"city": "Paris"}),
        ]
    )
    made.add_user_message([llmneutral.ActionResultMessageContent("call_1", {"temperature": 18, "sky": "clear"})])
    made.add_assistant_message("A gradient; 18 °C and clear.")
    made.add_user_message("Thanks! And tomorrow?")
    return made


MODELS = {"chat_completions": "gpt-4.1", "anthropic_messages": "claude-sonnet-5-5"}


def conversions(source: llmneutral.PromptStack | None = None) -> dict[str, Any]:
    """Returns the conversation for two APIs, traced."""
    given = source or stack()
    return {api: llmneutral.convert(given, api, model=model, trace=True) for api, model in MODELS.items()}


def column(api: str, conversion: Any, **fields: Any) -> Column:
    """Returns a conversion as a column of the comparison."""
    return Column(
        api=api,
        payload=builtin(conversion.to_json()),
        trace={pointer: [list(ref) for ref in refs] for pointer, refs in (conversion.trace or {}).items()},
        changes=builtin(conversion.changes),
        endpoint=list(conversion.endpoint),
        **fields,
    )


def response(text: str = "It is **sunny**.", **fields: Any) -> llmneutral.NormalizedResponse:
    """Returns an answer."""
    content = (llmneutral.ThinkingMessageContent("Hm.", signature="abc"), llmneutral.TextMessageContent(text))
    given = {
        "id": "msg_1",
        "model": "claude-sonnet-5-5-20261101",
        "finish_reason": "stop",
        "raw_finish_reason": "end_turn",
        "usage": llmneutral.Usage(input_total=812, input_uncached=172, cache_read=640, output_total=96, total=908),
        **fields,
    }
    return llmneutral.NormalizedResponse(llmneutral.Message("assistant", content), **given)


RECORD: dict[str, Any] = {
    "schema": 1,
    "id": "x-3f9a0c1e",
    "parent": None,
    "cell_id": "cell",
    "stack": "default",
    "created": "2026-11-30T10:00:00Z",
    "status": "complete",
    "provider": "anthropic",
    "api": "anthropic_messages",
    "model": "claude-sonnet-5-5",
    "answered_by": None,
    "settings": {"temperature": 0.2},
    "history": {"messages": 4, "sent": True},
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    "tools": [{"name": "weather", "schema_sha256": "00"}],
    "output_schema": None,
    "response": {
        "text": "# Title\n\nIt is $5.",
        "model": "claude-sonnet-5-5",
        "finish_reason": "stop",
        "usage": {
            "input_total": 812,
            "input_uncached": None,
            "cache_read": 640,
            "cache_write": None,
            "output_total": 96,
            "reasoning": 31,
            "total": 908,
        },
        "blocks": [
            {"type": "thinking", "text": "Let me *think*.", "signature": "abc"},
            {"type": "text", "text": "# Title\n\nIt is $5.", "citations": [{"url": "https://a.example", "title": "t"}]},
            {"type": "tool_call", "tag": "c1", "name": "weather", "path": "now", "input": {"city": "Paris"}},
            {"type": "invalid_tool_call", "tag": "c2", "name": "weather", "raw": '{"city"'},
            {"type": "image", "data": PNG, "media_type": "image/png", "name": "a cat"},
            {"type": "audio", "data": "AAAA", "media_type": "audio/wav", "transcript": "hello"},
            {
                "type": "document",
                "name": "a.pdf",
                "title": "A",
                "media_type": "application/pdf",
                "url": "https://a.example",
            },
            {"type": "document", "name": "a.txt", "text": "plain", "parts": [{"type": "text", "text": "part"}]},
            {"type": "refusal", "text": "I would rather not.", "category": "policy"},
            {"type": "generic", "value": {"type": "server_tool", "key": "value"}},
            {"type": "thinking", "text": "", "data": "opaque"},
        ],
    },
    "rounds": [
        {
            "role": "assistant",
            "content": [{"type": "tool_call", "tag": "c0", "name": "weather", "input": {"city": "Rome"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tag": "c0", "name": "weather", "output": {"sky": "clear"}},
                {"type": "tool_result", "tag": "c0", "parts": [{"type": "text", "text": "hot"}], "is_error": True},
            ],
        },
    ],
    "calls": [],
    "changes": [
        {
            "api": "anthropic_messages",
            "step": "merge_same_role",
            "kind": "merged",
            "refs": [[1, 0], [2, 0]],
            "why": "roles must alternate",
            "doc": "https://docs.example/roles",
        }
    ],
    "payload": {"anthropic_messages": {"model": "claude", "messages": [{"role": "user", "content": "Hi"}]}},
    "payload_sha256": "00",
    "cost": {"amount": 0.0031, "currency": "USD", "source": "prices.toml"},
    "timing": {"first_delta_s": 0.42, "total_s": 3.1, "attempts": 2},
    "error": {
        "name": "RateLimitError",
        "type": "rate_limit_error",
        "status": 429,
        "message": "too fast",
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "api": "anthropic_messages",
        "rule": "rate",
        "path": "/messages/0",
        "request_id": "req_1",
        "hint": "wait",
    },
    "cut": [],
}

STREAM: list[tuple[float, Any, list[dict[str, Any]]]] = [
    (0.38, {"type": "message_start"}, [{"kind": "start", "id": "msg_1", "model": "claude"}]),
    *[
        (0.4 + n / 50, {"delta": {"text": f"w{n} "}}, [{"kind": "text", "content": {"text": f"w{n} ", "index": 0}}])
        for n in range(40)
    ],
    (3.0, {"tool": "weather"}, [{"kind": "call", "content": {"index": 1, "tag": "c1", "name": "weather"}}]),
    (3.1, {"json": "{"}, [{"kind": "call", "content": {"index": 1, "partial_input": '{"city": '}}]),
    (3.2, {"json": "}"}, [{"kind": "call", "content": {"index": 1, "partial_input": '"Paris"}'}}]),
    (3.3, {"stop": "tool_use"}, [{"kind": "finish", "finish_reason": "tool_calls", "raw_finish_reason": "tool_use"}]),
    (3.31, {"usage": 96}, [{"kind": "usage", "usage": {"output_total": 96}}]),
    (3.32, {"type": "message_stop"}, [{"kind": "end", "complete": True}]),
]

ROWS: list[dict[str, Any]] = [
    {
        "time": "2026-11-30T10:00:00Z",
        "stack": "default",
        "cell": "cell",
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "status": "complete",
        "finish_reason": "stop",
        "input_total": 812,
        "input_uncached": 172,
        "cache_read": 640,
        "cache_write": None,
        "output_total": 96,
        "reasoning": None,
        "total": 908,
        "first_delta_s": 0.42,
        "total_s": 3.1,
        "tokens_per_s": 35.8,
        "cost": 0.0031,
        "currency": "USD",
    },
    {"time": "2026-12-01T09:00:00Z", "stack": "b", "provider": "local", "model": "tiny", "status": "interrupted"},
]
