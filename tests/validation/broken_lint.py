"""A sound body of each API, and for each rule of `lint` a change that breaks it, with the place of what is found."""

from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple

Body = dict[str, Any]
DELETE = object()
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
OPEN_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
PNG = "data:image/png;base64,iVBORw0KGgo="
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}
ASKED = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]}
TOOL = {"type": "function", "function": {"name": "look", "strict": True, "parameters": SCHEMA}}
CHAT: Body = {
    "model": "o3",
    "messages": [
        {"role": "system", "content": "Be brief."},
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "Sure?"},
    ],
    "tools": [TOOL],
}
MARK = {"type": "ephemeral"}

SOUND: dict[str, Body] = {
    "chat_completions": CHAT,
    "cohere_chat": CHAT | {"model": "command-a-03-2025"},
    "mistral_chat": CHAT | {"model": "mistral-large-latest"},
    "codex_responses": {
        "model": "o3",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_image", "image_url": PNG}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
            {"role": "user", "content": [{"type": "input_text", "text": "Sure?"}]},
        ],
        "tools": [{"type": "function", "name": "look", "strict": True, "parameters": SCHEMA}],
    },
    "anthropic_messages": {
        "model": "claude-opus-5-5",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What?", "cache_control": MARK}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"cache_control": MARK}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "seen"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": "seen", "cache_control": MARK},
                {"type": "text", "text": "Sure?", "cache_control": MARK},
            ]},
        ],
        "tools": [{"name": "look", "input_schema": SCHEMA}],
    },
    "gemini_native": {
        "contents": [
            {"role": "user", "parts": [{"text": "What?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": 1}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]}],
    },
    "bedrock_converse": {
        "modelId": "us.anthropic.claude-sonnet-4-5-v1:0",
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": "What?"}, {"cachePoint": {"type": "default"}}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "seen"}]}},
                {"cachePoint": {"type": "default"}},
                {"text": "Sure?"},
                {"cachePoint": {"type": "default"}},
            ]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}]},
        "outputConfig": {"effort": "xhigh"},
    },
}  # fmt: skip


class Broken(NamedTuple):
    """A change of a sound body: at a place stands another value; `at` is where a problem is then found."""

    api: str
    rule: str
    place: str
    value: Any
    at: str = ""

    @property
    def found_at(self) -> str:
        return self.at or self.place

    @property
    def body(self) -> Body:
        return changed(SOUND[self.api], self.place, self.value)


def changed(body: Body, place: str, value: Any) -> Body:
    """A body with another value at a place; DELETE takes what is there away, a list is made longer at its end."""
    made = copy.deepcopy(body)
    holder: Any = made
    *path, last = [int(key) if key.isdigit() else key for key in re.findall(r"\w+", place)]
    for key in path:
        holder = holder[key]
    if value is DELETE:
        del holder[last]
    elif isinstance(holder, list) and last == len(holder):
        holder.append(value)
    else:
        holder[last] = value
    return made


def of(api: str, changes: list[Any]) -> list[Broken]:
    """Changes of one API's body."""
    return [Broken(api, *each) for each in changes]


CHAT_LIKE: list[Any] = [
    ("results", "messages[3]", {"role": "user", "content": "And now?"}, "messages[2].tool_calls[0]"),
    ("results", "messages[3].tool_call_id", "c9", "messages[3]"),
    ("names", "messages[2].tool_calls[0].function.name", "n" * 65),
    ("names", "tools[0].function.name", "a b"),
    ("names", "tools[1]", TOOL, "tools[1].function.name"),
    ("arguments", "messages[2].tool_calls[0].function.arguments", "[1]", "messages[2].tool_calls[0]"),
    ("data URLs", "messages[1].content[0].image_url.url", "data:image/png;base64,???"),
]
OPEN_FORMAT = {"format": {"type": "json_schema", "name": "a", "strict": True, "schema": OPEN_SCHEMA}}
REASONING = {"type": "reasoning", "id": "rs_2", "summary": []}
CACHE_POINT = {"cachePoint": {"type": "default"}}

BROKEN: list[Broken] = [
    *[Broken(api, *each) for api in ("chat_completions", "cohere_chat", "mistral_chat") for each in CHAT_LIKE],
    *of("chat_completions", [
        ("ids", "messages[3].tool_call_id", "x" * 65, "messages[3]"),
        ("content", "messages[4].content", None, "messages[4]"),
        ("strict schemas", "tools[0].function.parameters", OPEN_SCHEMA),
        ("sampling", "temperature", 0.5),
    ]),
    *of("mistral_chat", [
        ("content", "messages[4].content", None, "messages[4]"),
        ("ids", "messages[3].tool_call_id", "", "messages[3]"),
        ("ids of one turn", "messages[2].tool_calls[1]", CALL),
        ("last turn", "messages[5]", DELETE, "messages[4]"),
        ("last turn", "messages[4].prefix", True),
        ("last turn", "messages[6]", {"role": "system", "content": "Be kind."}),
    ]),
    *of("codex_responses", [
        ("results", "input[3]", DELETE, "input[2]"),
        ("results", "input[3].call_id", "c9", "input[3]"),
        ("ids", "input[3].call_id", "c 1", "input[3]"),
        ("reasoning", "input[5]", REASONING),
        ("names", "input[2].name", "a.b"),
        ("arguments", "input[2].arguments", "null", "input[2]"),
        ("data URLs", "input[0].content[0].image_url", "data:,x"),
        ("strict schemas", "text", OPEN_FORMAT, "text.format.schema"),
        ("sampling", "top_p", 0.5),
    ]),
    *of("anthropic_messages", [
        ("results", "messages[2].content[1]", DELETE, "messages[1].content[1]"),
        ("results", "messages[2].content[0].tool_use_id", "c9", "messages[2].content[0]"),
        ("first turn", "messages[0]", DELETE, "messages[0]"),
        ("blank text", "system[0].text", " \n"),
        ("blank text", "messages[2].content[0].content[0].text", ""),
        ("ids", "messages[2].content[0].tool_use_id", "c.1", "messages[2].content[0]"),
        ("ids of one turn", "messages[1].content[1].id", "c1", "messages[1].content[1]"),
        ("names", "tools[0].name", "n" * 129),
        ("cache marks", "tools[0].cache_control", MARK),
        ("sampling", "temperature", 1),
    ]),
    *of("gemini_native", [
        ("results", "contents[2].parts", [{"text": "so?"}], "contents[2]"),
        ("first turn", "contents[0]", DELETE),
        ("last turn", "contents[3]", {"role": "model", "parts": [{"text": "It"}]}),
        ("names", "tools[0].functionDeclarations[0].name", "1a"),
    ]),
    *of("bedrock_converse", [
        ("results", "messages[2].content[0]", DELETE, "messages[1].content[0].toolUse"),
        ("first turn", "messages[0]", DELETE),
        ("roles", "messages[3]", {"role": "user", "content": [{"text": "And?"}]}),
        ("blank text", "messages[2].content[0].toolResult.content[0].text", " "),
        ("cache marks", "toolConfig.tools[1]", CACHE_POINT, "toolConfig.tools[1].cachePoint"),
        ("effort", "outputConfig.effort", "minimal"),
    ]),
]  # fmt: skip
