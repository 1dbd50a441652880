"""A request to Converse, read: the other way round."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    Conversion,
    ConversionError,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Origin,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)

API = "bedrock_converse"
OWN = Origin(API)
CLAUDE, NOVA_2 = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-2-lite-v1:0"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
B64 = base64.b64encode(PNG).decode()
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
POINT = {"cachePoint": {"type": "default"}}
QUESTION = {"role": "user", "content": [{"text": "q"}]}


def read(*blocks: Any, role: str = "user", **more: Any) -> PromptStack:
    return ln.read_request({"messages": [{"role": role, "content": list(blocks)}], **more}, API)


def block(given: dict[str, Any], role: str = "user") -> Any:
    (found,) = read(given, role=role).messages[0].content
    return found


def again(body: dict[str, Any], model: str | None = CLAUDE, **more: Any) -> dict[str, Any]:
    """The body of a request that was read and converted back, without the model."""
    found = ln.convert(ln.read_request(body, API), API, model=model, **more)
    assert isinstance(found, Conversion)
    return {key: value for key, value in found.to_json().items() if key != "modelId"}


# --- blocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"text": "t"}, TextMessageContent("t")),
        (
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
            ThinkingMessageContent("hm", signature="s", origin=OWN),
        ),
        ({"reasoningContent": {"redactedContent": b"RED"}}, ThinkingMessageContent(data="UkVE", origin=OWN)),
        ({"reasoningContent": {"redactedContent": "UkVE"}}, ThinkingMessageContent(data="UkVE", origin=OWN)),
        ({"image": {"format": "png", "source": {"bytes": PNG}}}, ImageMessageContent(B64, media_type="image/png")),
        ({"image": {"format": "jpeg", "source": {"bytes": B64}}}, ImageMessageContent(B64, media_type="image/jpeg")),
        (
            {"image": {"format": "gif", "source": {"s3Location": {"uri": "s3://b/k", "bucketOwner": "1"}}}},
            ImageMessageContent(url="s3://b/k", media_type="image/gif", native={"bucketOwner": "1"}, origin=OWN),
        ),
        (
            {"audio": {"format": "mp3", "source": {"bytes": b"ID3"}}},
            AudioMessageContent("SUQz", media_type="audio/mpeg"),
        ),
        (
            {"document": {"format": "pdf", "name": "a b", "source": {"bytes": "JVBE"}}},
            DocumentMessageContent("JVBE", name="a b.pdf", media_type="application/pdf"),
        ),
        (
            {"document": {"name": "a", "source": {"text": "t"}, "context": "c", "citations": {"enabled": True}}},
            DocumentMessageContent(
                text="t", name="a", context="c", native={"citations": {"enabled": True}}, origin=OWN
            ),
        ),
        (
            {"document": {"format": "txt", "name": "a", "source": {"content": [{"text": "x"}]}}},
            DocumentMessageContent(parts=(TextMessageContent("x"),), name="a.txt", media_type="text/plain"),
        ),
        (
            {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}},
            ActionCallMessageContent("c", "f", input={"a": 1}),
        ),
        (
            {"toolUse": {"toolUseId": "c", "name": "f", "input": "no"}},
            InvalidActionCallMessageContent("c", "f", raw="no"),
        ),
        ({"toolResult": {"toolUseId": "c", "content": [{"text": "r"}]}}, ActionResultMessageContent("c", "r")),
        (
            {"toolResult": {"toolUseId": "c", "content": [], "status": "error"}},
            ActionResultMessageContent("c", is_error=True),
        ),
        (
            {"toolResult": {"toolUseId": "c", "content": [{"json": {"a": 1}}], "status": "success"}},
            ActionResultMessageContent(
                "c", parts=(TextMessageContent('{"a": 1}', native={"json": {"a": 1}}, origin=OWN),)
            ),
        ),
        (
            {"citationsContent": {"content": [{"text": "F"}, {"text": "act"}], "citations": [{"title": "t"}]}},
            TextMessageContent(
                "Fact", citations=({"title": "t"},), native={"content": [{"text": "F"}, {"text": "act"}]}, origin=OWN
            ),
        ),
        (
            {"video": {"format": "mp4", "source": {"bytes": b"x"}}},
            GenericMessageContent({"video": {"format": "mp4", "source": {"bytes": "eA=="}}}, origin=OWN),
        ),
        (
            {"audio": {"format": "mp3", "source": {"s3Location": {"uri": "s3://b/k"}}}},
            GenericMessageContent(
                {"audio": {"format": "mp3", "source": {"s3Location": {"uri": "s3://b/k"}}}}, origin=OWN
            ),
        ),
        (
            {"toolUse": {"toolUseId": "c", "name": "f", "input": {}, "type": "server_tool_use"}},
            GenericMessageContent(
                {"toolUse": {"toolUseId": "c", "name": "f", "input": {}, "type": "server_tool_use"}}, origin=OWN
            ),
        ),
        ({"of_next_year": {"a": 1}}, GenericMessageContent({"of_next_year": {"a": 1}}, origin=OWN)),
    ],
)
def test_blocks(given: dict[str, Any], expected: Any) -> None:
    assert block(given) == expected


@pytest.mark.parametrize("data", [{str(i): byte for i, byte in enumerate(PNG)}, {"type": "Buffer", "data": list(PNG)}])
def test_bytes_as_javascript_writes_them(data: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": data}}}]}]}
    stack = ln.read_request(body, API)
    assert stack.messages[0].content[0].data == B64  # type: ignore[union-attr]  # an image
    found = ln.convert(stack, API, model=CLAUDE)
    assert isinstance(found, Conversion)
    assert [change.kind for change in found.changes] == ["rewritten"]


def test_the_type_of_a_call_is_told_when_it_is_left_out() -> None:
    call = {"toolUse": {"toolUseId": "c", "name": "f", "input": {}, "type": "tool_use"}}
    result = {"toolResult": {"toolUseId": "c", "content": [{"text": "r"}]}}
    messages = [QUESTION, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    found = ln.convert(ln.read_request({"messages": messages}, API), API, model=CLAUDE)
    assert isinstance(found, Conversion)
    assert [change.kind for change in found.changes if change.refs == ((1, 0),)] == ["coerced", "added"]


def test_marks_stand_on_the_block_before_them() -> None:
    stack = read({"text": "long"}, POINT, {"text": "q"}, {"cachePoint": {"type": "default", "ttl": "1h"}})
    assert [content.cache for content in stack.messages[0].content] == [True, "1h"]


def test_a_mark_without_a_block_before_it_stays_a_block() -> None:
    stack = read(POINT, {"text": "q"}, POINT, POINT)
    assert [type(content) for content in stack.messages[0].content] == [
        GenericMessageContent,
        TextMessageContent,
        GenericMessageContent,
    ]


def test_a_mark_behind_reasoning_stays_a_block() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
    stack = read(thought, POINT, {"text": "A"}, role="assistant")
    assert isinstance(stack.messages[0].content[1], GenericMessageContent)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"messages": [{"role": "tool", "content": []}]}, r"messages\[0\] has the role 'tool'"),
        ({"messages": [QUESTION, {"role": "user", "content": ["x"]}]}, r"messages\[1\], block 0,"),
        ({"messages": [{"role": "user", "content": [{"text": "a"}, {"text": 5}]}]}, r"messages\[0\], block 1,"),
        ({"messages": [{"role": "user", "content": [{"image": {"format": "png"}}]}]}, "malformed image"),
        ({"messages": [{"role": "user", "content": [{"image": {"source": {"bytes": {"0": 500}}}}]}]}, "no bytes"),
        ({"messages": [{"role": "user", "content": [{"image": {"source": {"bytes": 5}}}]}]}, "bytes are an int"),
        ({}, "no request of bedrock_converse"),
        ({"messages": [QUESTION], "toolConfig": {"tools": ["f"]}}, "a tool is a str"),
    ],
)
def test_what_is_no_request_is_refused_by_its_place(body: dict[str, Any], named: str) -> None:
    with pytest.raises(ConversionError, match=named):
        ln.read_request(body, API)


# --- system, tools, settings ----------------------------------------------------------------------


def test_instructions() -> None:
    stack = read({"text": "q"}, system=[{"text": "A"}, POINT, {"text": "B"}])
    assert stack.messages[0] == ln.Message("system", (TextMessageContent("A", cache=True), TextMessageContent("B")))


def test_tools() -> None:
    spec = {"name": "f", "description": "d", "inputSchema": {"json": SCHEMA}, "strict": True}
    server = {"systemTool": {"name": "nova_grounding"}}
    stack = read({"text": "q"}, toolConfig={"tools": [{"toolSpec": spec}, POINT, server]})
    assert stack.tools == [
        ln.ToolDefinition("f", description="d", parameters=SCHEMA, strict=True, cache=True),
        ln.ToolDefinition("nova_grounding", native=server),
    ]


def test_a_schema_may_come_as_text() -> None:
    spec = {"name": "f", "inputSchema": {"json": '{"type": "object"}'}}
    assert read({"text": "q"}, toolConfig={"tools": [{"toolSpec": spec}]}).tools[0].parameters == {"type": "object"}


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ({"auto": {}}, "auto"),
        ({"any": {}}, "required"),
        ({"tool": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_the_choice_of_a_tool(given: Any, setting: Any) -> None:
    assert read({"text": "q"}, toolConfig={"tools": [], "toolChoice": given}).settings == {"tool_choice": setting}


@pytest.mark.parametrize(
    ("body", "settings"),
    [
        (
            {"inferenceConfig": {"maxTokens": 5, "temperature": 0.5, "topP": 0.9, "stopSequences": ["x"]}},
            {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "stop": ["x"]},
        ),
        ({"inferenceConfig": {"stopSequences": []}}, {}),
        ({"inferenceConfig": {"maxTokens": 0}}, {"extra_body": {"inferenceConfig": {"maxTokens": 0}}}),
        ({"requestMetadata": {"a": "b"}}, {"metadata": {"a": "b"}}),
        ({"serviceTier": {"type": "flex"}}, {"service_tier": "flex"}),
        ({"guardrailConfig": {"guardrailIdentifier": "g"}}, {"guardrail_config": {"guardrailIdentifier": "g"}}),
        (
            {"performanceConfig": {"latency": "optimized"}},
            {"extra_body": {"performanceConfig": {"latency": "optimized"}}},
        ),
        (
            {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}}},
            {"thinking_budget": 2000},
        ),
        (
            {
                "additionalModelRequestFields": {"thinking": {"type": "adaptive"}},
                "outputConfig": {"effort": "low"},
            },
            {"reasoning_effort": "low"},
        ),
        (
            {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
            {"extra_body": {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}},
        ),
        (
            {"additionalModelRequestFields": {"thinking": {"type": "adaptive", "display": "omitted"}}},
            {"thinking_display": "omitted"},
        ),
        (
            {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}},
            {"reasoning_effort": "none"},
        ),
        ({"outputConfig": {"effort": "low"}}, {"extra_body": {"outputConfig": {"effort": "low"}}}),
        (
            {"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}},
            {"reasoning_effort": "low"},
        ),
        ({"additionalModelRequestFields": {"reasoning_effort": "low"}}, {"reasoning_effort": "low"}),
        ({"additionalModelRequestFields": {"top_k": 5}}, {"top_k": 5}),
        ({"additionalModelRequestFields": {"inferenceConfig": {"topK": 5}}}, {"top_k": 5}),
        (
            {"additionalModelRequestFields": {"reasoning_config": {"type": "enabled", "budget_tokens": 2000}}},
            {
                "extra_body": {
                    "additionalModelRequestFields": {"reasoning_config": {"type": "enabled", "budget_tokens": 2000}}
                }
            },
        ),
    ],
)
def test_settings(body: dict[str, Any], settings: dict[str, Any]) -> None:
    assert read({"text": "q"}, **body).settings == settings


def text_format(**definition: Any) -> dict[str, Any]:
    form = {"type": "json_schema", "structure": {"jsonSchema": definition}}
    return {"outputConfig": {"textFormat": form}}


def test_the_format_of_the_answer() -> None:
    named = read({"text": "q"}, **text_format(schema='{"title": "City", "type": "object"}', name="City"))
    assert named.output_schema == {"title": "City", "type": "object"}
    assert named.settings == {}
    other = read({"text": "q"}, **text_format(schema='{"type": "object"}', name="city"))
    assert other.output_schema is None
    assert other.settings["response_format"] == {
        "type": "json_schema",
        "json_schema": {"schema": {"type": "object"}, "name": "city"},
    }
    broken = text_format(schema="no json", name="city")
    assert read({"text": "q"}, **broken).settings == {"extra_body": broken}


# --- there and back -------------------------------------------------------------------------------

CONVERSATION: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": [{"text": "q"}, {"image": {"format": "png", "source": {"bytes": B64}}}, POINT]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"reasoningContent": {"redactedContent": "UkVE"}},
                {"text": "Looking."},
                {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": "b"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c", "content": [{"json": {"a": 1}}, {"text": "t"}], "status": "error"}},
                {"guardContent": {"text": {"text": "g", "qualifiers": ["query"]}}},
                {"text": "so?"},
            ],
        },
    ],
    "system": [{"text": "A"}, POINT, {"text": "B"}],
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": SCHEMA}}}, POINT],
        "toolChoice": {"tool": {"name": "f"}},
    },
    "inferenceConfig": {"maxTokens": 50, "temperature": 0.5, "stopSequences": ["x"]},
    "additionalModelRequestFields": {"top_k": 5, "anthropic_beta": ["x"]},
    "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
    "requestMetadata": {"a": "b"},
    "serviceTier": {"type": "flex"},
    "performanceConfig": {"latency": "optimized"},
    "additionalModelResponseFieldPaths": ["/stop_sequence"],
}


def test_a_request_comes_back_the_same() -> None:
    assert again(CONVERSATION) == CONVERSATION


def test_the_sdk_s_arguments_are_read_like_the_body() -> None:
    found = ln.convert(ln.read_request(CONVERSATION, API), API, model=CLAUDE)
    assert isinstance(found, Conversion)
    assert again(found.payload) == CONVERSATION


@pytest.mark.parametrize(
    "more",
    [
        {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}}},
        {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}},
        {"outputConfig": {"effort": "low"}},
        {"inferenceConfig": {"maxTokens": 0, "temperature": 0}},
        {"promptVariables": {"a": {"text": "b"}}},
        text_format(
            schema='{"type": "object", "properties": {}, "additionalProperties": false}', name="x", description="y"
        ),
        text_format(schema='{"type": "object", "properties": {}, "additionalProperties": false}'),
    ],
)
def test_settings_come_back_the_same(more: dict[str, Any]) -> None:
    assert again({"messages": [QUESTION], **more}) == {"messages": [QUESTION], **more}


def test_nova_s_settings_come_back_the_same() -> None:
    body = {
        "messages": [QUESTION],
        "additionalModelRequestFields": {
            "reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"},
            "inferenceConfig": {"topK": 5},
        },
    }
    assert again(body, NOVA_2) == body


def test_a_stack_that_was_read_goes_to_json_and_back() -> None:
    stack = ln.read_request(CONVERSATION, API)
    assert PromptStack.from_json(stack.to_json()).messages == stack.messages
