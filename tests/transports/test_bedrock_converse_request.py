"""The arguments of `converse`: tools, reasoning, settings, the format of the answer, and the REST body."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    Conversion,
    ConversionError,
    ImageMessageContent,
    Message,
    PromptStack,
    TextMessageContent,
)

API = "bedrock_converse"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ADAPTIVE, NEWEST = "us.anthropic.claude-opus-4-8-v1:0", "us.anthropic.claude-opus-5-5-v1:0"
NOVA, NOVA_2 = "us.amazon.nova-pro-v1:0", "us.amazon.nova-2-lite-v1:0"
LLAMA, OSS = "meta.llama3-1-70b-instruct-v1:0", "openai.gpt-oss-120b-1:0"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}
OTHER = {"type": "function", "function": {"name": "find"}}
NAMED = {"type": "function", "function": {"name": "look"}}
HISTORY = [
    Message("user", "q"),  # type: ignore[arg-type]  # text is taken
    Message("assistant", (ActionCallMessageContent("c1", "look"),)),
    Message("user", (ActionResultMessageContent("c1", "r"),)),
]


def made(source: Any = "q", **more: Any) -> Conversion:
    found = ln.convert(source, API, **{"model": CLAUDE, **more})
    assert isinstance(found, Conversion)
    return found


def told(conversion: Conversion) -> list[tuple[str, str]]:
    """What was changed of settings: the setting, and how."""
    return [(change.why.partition(":")[0], change.kind) for change in conversion.changes]


# --- tools ----------------------------------------------------------------------------------------


def test_a_tool() -> None:
    spec = {"name": "look", "description": "Looks.", "inputSchema": {"json": SCHEMA}}
    assert made(tools=[TOOL]).payload["toolConfig"] == {"tools": [{"toolSpec": spec}]}


def test_an_empty_description_and_missing_parameters() -> None:
    bare = {"type": "function", "function": {"name": "f", "description": ""}}
    (tool,) = made(tools=[bare]).payload["toolConfig"]["tools"]
    assert tool == {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}


def test_strict_is_sent_with_a_schema_that_can_be_enforced() -> None:
    function = {"name": "f", "strict": True, "parameters": {**SCHEMA, "required": ["a"]}}
    (tool,) = made(tools=[{"type": "function", "function": function}]).payload["toolConfig"]["tools"]
    assert tool["toolSpec"]["strict"] is True
    assert tool["toolSpec"]["inputSchema"]["json"]["additionalProperties"] is False


def test_references_stay() -> None:
    schema = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"type": "object"}}}
    (tool,) = made(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}]).payload["toolConfig"][
        "tools"
    ]
    assert tool["toolSpec"]["inputSchema"]["json"]["properties"]["n"] == {"$ref": "#/$defs/N"}


def test_tools_that_amazon_runs_go_as_they_are_and_others_are_dropped() -> None:
    own = ln.ToolDefinition("nova_grounding", native={"systemTool": {"name": "nova_grounding"}})
    theirs = {"type": "web_search_20260209", "name": "web_search"}
    found = made(tools=[own, theirs])
    assert found.payload["toolConfig"]["tools"] == [{"systemTool": {"name": "nova_grounding"}}]
    assert [change.kind for change in found.changes] == ["dropped"]


@pytest.mark.parametrize(
    ("choice", "model", "sent"),
    [
        ("auto", CLAUDE, None),
        ("required", CLAUDE, {"any": {}}),
        (NAMED, CLAUDE, {"tool": {"name": "look"}}),
        (NAMED, NOVA, {"tool": {"name": "look"}}),
        ("required", LLAMA, None),
        ("required", NEWEST, None),
    ],
)
def test_the_choice_of_a_tool(choice: Any, model: str, sent: Any) -> None:
    found = made(tools=[TOOL, OTHER], tool_choice=choice, model=model)
    assert found.payload["toolConfig"].get("toolChoice") == sent
    assert len(found.payload["toolConfig"]["tools"]) == 2
    assert [kind for _, kind in told(found)] == (["coerced"] if sent is None and choice != "auto" else [])


def test_a_named_tool_where_none_can_be_named() -> None:
    found = made(tools=[TOOL, OTHER], tool_choice=NAMED, model="mistral.mistral-large-2407-v1:0")
    assert [tool["toolSpec"]["name"] for tool in found.payload["toolConfig"]["tools"]] == ["look"]
    assert found.payload["toolConfig"]["toolChoice"] == {"any": {}}


def test_only_some_tools_may_be_called() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "find"}]}
    config = made(tools=[TOOL, OTHER], tool_choice=allowed).payload["toolConfig"]
    assert [tool["toolSpec"]["name"] for tool in config["tools"]] == ["find"]
    assert config["toolChoice"] == {"any": {}}


def test_no_tool_without_a_history_of_calls() -> None:
    found = made(tools=[TOOL], tool_choice="none")
    assert "toolConfig" not in found.payload
    assert told(found) == [("tool_choice", "coerced")]


def test_no_tool_with_a_history_of_calls_cannot_be_said() -> None:
    found = made(PromptStack(HISTORY), tools=[TOOL], tool_choice="none")
    assert list(found.payload["toolConfig"]) == ["tools"]
    assert told(found) == [("tool_choice", "coerced")]


def test_a_forced_call_gives_way_to_thinking() -> None:
    found = made(tools=[TOOL], tool_choice="required", thinking_budget=2000)
    assert "toolChoice" not in found.payload["toolConfig"]
    assert told(found) == [("tool_choice", "coerced")]
    with pytest.raises(ConversionError, match="while the model thinks"):
        made(tools=[TOOL], tool_choice="required", thinking_budget=2000, on_conflict="refuse")


def test_required_without_tools_is_refused() -> None:
    with pytest.raises(ConversionError, match="needs tools"):
        made(tool_choice="required")


# --- reasoning ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "asked", "more", "effort"),
    [
        (CLAUDE, {"thinking_budget": 2000}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}, None),
        (CLAUDE, {"reasoning_effort": "low"}, {"thinking": {"type": "enabled", "budget_tokens": 4000}}, None),
        (CLAUDE, {"reasoning_effort": "none"}, None, None),
        (ADAPTIVE, {"reasoning_effort": "max"}, {"thinking": {"type": "adaptive"}}, "max"),
        (ADAPTIVE, {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}, None),
        (
            ADAPTIVE,
            {"thinking_display": "omitted"},
            {"thinking": {"type": "adaptive", "display": "omitted"}},
            None,
        ),
        (NEWEST, {"reasoning_effort": "none"}, {"thinking": {"type": "adaptive"}}, "low"),
        (
            NOVA_2,
            {"reasoning_effort": "low"},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
            None,
        ),
        (NOVA_2, {"reasoning_effort": "none"}, None, None),
        (OSS, {"reasoning_effort": "medium"}, {"reasoning_effort": "medium"}, None),
        (OSS, {"reasoning_effort": "none"}, {"reasoning_effort": "low"}, None),
        (LLAMA, {"reasoning_effort": "high"}, None, None),
        ("us.deepseek.r1-v1:0", {"reasoning_effort": "high"}, None, None),
    ],
)
def test_how_reasoning_is_asked_for(model: str, asked: dict[str, Any], more: Any, effort: str | None) -> None:
    payload = made(model=model, **asked).payload
    assert payload.get("additionalModelRequestFields") == more
    assert payload.get("outputConfig", {}).get("effort") == effort


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (LLAMA, {"reasoning_effort": "high"}),
        (ADAPTIVE, {"thinking_budget": 2000}),
        (NOVA_2, {"thinking_budget": 2000}),
        (NOVA_2, {"thinking_display": "omitted"}),
        ("us.deepseek.r1-v1:0", {"reasoning_effort": "none"}),
    ],
)
def test_what_a_model_cannot_be_asked_is_told(model: str, asked: dict[str, Any]) -> None:
    assert told(made(model=model, **asked)) == [(next(iter(asked)), "dropped")]


def test_a_model_that_is_not_known_to_take_an_effort() -> None:
    found = made(model="acme.unknown-1", reasoning_effort="low", facts={"thinking": "effort"})
    assert told(found) == [("reasoning_effort", "dropped")]


def test_a_budget_stays_below_the_limit_of_the_answer() -> None:
    found = made(thinking_budget=5000, max_tokens=4000)
    assert found.payload["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 3000
    assert told(found) == [("thinking_budget", "coerced")]
    assert "additionalModelRequestFields" not in made(thinking_budget=5000, max_tokens=1000).payload


def test_sampling_gives_way_to_thinking() -> None:
    found = made(thinking_budget=2000, temperature=0.5, top_p=0.5, top_k=5)
    assert "inferenceConfig" not in found.payload
    assert told(found) == [("temperature", "dropped"), ("top_p", "dropped"), ("top_k", "dropped")]
    allowed = made(thinking_budget=2000, top_p=0.97)
    assert allowed.payload["inferenceConfig"] == {"topP": 0.97}


def test_nova_takes_no_sampling_at_the_highest_effort() -> None:
    high = made(model=NOVA_2, reasoning_effort="high", temperature=0.5, max_tokens=9)
    assert high.payload["inferenceConfig"] == {"maxTokens": 9}
    assert told(high) == [("temperature", "dropped")]
    low = made(model=NOVA_2, reasoning_effort="low", temperature=0.5)
    assert low.payload["inferenceConfig"] == {"temperature": 0.5}


# --- settings -------------------------------------------------------------------------------------


def test_settings_of_inference() -> None:
    found = made(model=LLAMA, max_tokens=9, temperature=0.2, top_p=0.9, stop="END")
    expected = {"maxTokens": 9, "temperature": 0.2, "topP": 0.9, "stopSequences": ["END"]}
    assert found.payload["inferenceConfig"] == expected
    assert found.changes == ()


def test_nothing_is_sent_that_nobody_asked_for() -> None:
    assert made().payload == {"modelId": CLAUDE, "messages": [{"role": "user", "content": [{"text": "q"}]}]}
    assert "modelId" not in made(model=None).payload


@pytest.mark.parametrize(
    ("asked", "sent", "change"),
    [
        ({"temperature": 1.5}, {"temperature": 1}, ("temperature", "coerced")),
        ({"top_p": 1.5}, {"topP": 1}, ("top_p", "coerced")),
        ({"max_tokens": 1_000_000}, {"maxTokens": 64_000}, ("max_tokens", "coerced")),
        ({"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5}, ("top_p", "dropped")),
        ({"stop": ["", "x"]}, {"stopSequences": ["x"]}, ("stop", "dropped")),
        ({"stop": [str(i) for i in range(2501)]}, None, ("stop", "dropped")),
        ({"seed": 1}, {}, ("seed", "dropped")),
        ({"parallel_tool_calls": True}, {}, ("parallel_tool_calls", "dropped")),
        ({"presence_penalty": 1}, {}, ("presence_penalty", "dropped")),
    ],
)
def test_what_is_out_of_range_or_unknown(asked: dict[str, Any], sent: Any, change: tuple[str, str]) -> None:
    found = made(**asked)
    config = found.payload.get("inferenceConfig", {})
    assert config == sent or len(config["stopSequences"]) == 2500
    assert told(found) == [change]


def test_models_without_sampling() -> None:
    found = made(model=ADAPTIVE, temperature=0.5, top_k=3)
    assert "inferenceConfig" not in found.payload
    assert told(found) == [("temperature", "dropped"), ("top_k", "dropped")]
    assert made(model=ADAPTIVE, temperature=0.5, facts={"sampling": True}).payload["inferenceConfig"]


@pytest.mark.parametrize(
    ("model", "more"),
    [(CLAUDE, {"top_k": 5}), (NOVA, {"inferenceConfig": {"topK": 5}}), (LLAMA, None), (None, None)],
)
def test_top_k_is_the_vendor_s(model: str | None, more: Any) -> None:
    found = made(model=model, top_k=5)
    assert found.payload.get("additionalModelRequestFields") == more
    assert told(found) == ([] if more else [("top_k", "dropped")])


def test_labels_of_a_request() -> None:
    found = made(metadata={"team": "a b", "cost": 5, "x%": "y", "none": ""})
    assert found.payload["requestMetadata"] == {"team": "a b", "none": ""}
    assert told(found) == [("metadata", "dropped")]
    many = made(metadata={f"k{i}": "v" for i in range(17)})
    assert len(many.payload["requestMetadata"]) == 16


@pytest.mark.parametrize(
    ("tier", "sent", "kind"),
    [("flex", "flex", None), ("standard", "default", "coerced"), ("fast", None, "dropped")],
)
def test_the_tier(tier: str, sent: str | None, kind: str | None) -> None:
    found = made(service_tier=tier)
    assert found.payload.get("serviceTier") == (sent and {"type": sent})
    assert [k for _, k in told(found)] == ([kind] if kind else [])


def test_a_guardrail_is_told_how_to_treat_a_stream_only_in_a_stream() -> None:
    guard = {"guardrailIdentifier": "g", "guardrailVersion": "1", "streamProcessingMode": "async"}
    assert made(guardrail_config=guard, stream=True).payload["guardrailConfig"] == guard
    whole = made(guardrail_config=guard)
    assert whole.payload["guardrailConfig"] == {"guardrailIdentifier": "g", "guardrailVersion": "1"}
    assert told(whole) == [("guardrail_config", "dropped")]


def test_further_keys_are_merged_last_and_those_of_the_model_stand_among_its_own() -> None:
    extra = {
        "performanceConfig": {"latency": "optimized"},
        "inferenceConfig": {"maxTokens": 7},
        "vendor_key": 1,
        "additionalModelRequestFields": {"top_k": 9, "other": {"a": 1}},
    }
    given = json.loads(json.dumps(extra))
    payload = made(max_tokens=5, temperature=0.5, top_k=2, extra_body=extra).payload
    assert payload["performanceConfig"] == {"latency": "optimized"}
    assert payload["inferenceConfig"] == {"maxTokens": 7, "temperature": 0.5}
    assert payload["additionalModelRequestFields"] == {"top_k": 9, "vendor_key": 1, "other": {"a": 1}}
    assert extra == given


# --- format of the answer -------------------------------------------------------------------------


def test_the_schema_of_the_answer_is_a_text() -> None:
    schema = {"title": "City", "type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}
    form = made(output_schema=schema).payload["outputConfig"]["textFormat"]
    definition = form["structure"]["jsonSchema"]
    assert (form["type"], definition["name"]) == ("json_schema", "City")
    assert json.loads(definition["schema"]) == {**schema, "additionalProperties": False}


def test_openai_s_form_of_a_format() -> None:
    asked = {"name": "city", "description": "A city.", "schema": {**SCHEMA, "additionalProperties": False}}
    given = {"type": "json_schema", "json_schema": asked}
    definition = made(response_format=given).payload["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert (definition["name"], definition["description"]) == ("city", "A city.")
    some_json = made(response_format={"type": "json_object"})
    assert "JSON object" in some_json.payload["system"][0]["text"]
    by_tool = made(response_format=given, model=NOVA)
    assert by_tool.payload["toolConfig"]["toolChoice"] == {"tool": {"name": "final_answer"}}
    for found in (some_json, by_tool):
        assert "outputConfig" not in found.payload
        assert [change.kind for change in found.changes] == ["added"]


def test_a_model_without_formats_answers_by_a_tool() -> None:
    payload = made(output_schema=SCHEMA, model=NOVA).payload
    assert payload["toolConfig"]["toolChoice"] == {"tool": {"name": "final_answer"}}
    ruled = made(output_schema=SCHEMA, model="us.deepseek.r1-v1:0").payload
    assert "JSON Schema" in ruled["system"][0]["text"]


def test_effort_and_format_stand_side_by_side() -> None:
    config = made(model=ADAPTIVE, reasoning_effort="low", output_schema=SCHEMA).payload["outputConfig"]
    assert set(config) == {"effort", "textFormat"}


# --- the call -------------------------------------------------------------------------------------


def test_the_model_stands_in_the_path() -> None:
    assert made().endpoint == ("POST", "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse")
    assert made(stream=True).endpoint[1].endswith("/converse-stream")
    arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-6"
    assert "/" not in made(model=arn).endpoint[1].removeprefix("/model/").removesuffix("/converse")


def test_the_body_has_base64_where_the_arguments_have_bytes() -> None:
    image = ImageMessageContent(base64.b64encode(PNG).decode())
    stack = PromptStack([Message("user", (TextMessageContent("see"), image))])
    found = made(stack, trace=True)
    assert found.payload["messages"][0]["content"][1]["image"]["source"] == {"bytes": PNG}
    body = found.to_json()
    assert body["messages"][0]["content"][1]["image"]["source"] == {"bytes": base64.b64encode(PNG).decode()}
    assert {**(found.trace or {})} == {"/messages/0/content/0": ((0, 0),), "/messages/0/content/1": ((0, 1),)}


def test_the_sdk_takes_the_arguments() -> None:
    """botocore checks the arguments before it sends anything."""
    session = pytest.importorskip("botocore.session")
    validator = pytest.importorskip("botocore.validate").ParamValidator()
    service = session.get_session().get_service_model("bedrock-runtime")
    image = ImageMessageContent(base64.b64encode(PNG).decode(), cache=True)
    stack = PromptStack([Message("user", (TextMessageContent("see"), image)), *HISTORY])
    settings: dict[str, Any] = {
        "tools": [{**TOOL, "cache": True}],
        "max_tokens": 9000,
        "reasoning_effort": "low",
        "stop": ["x"],
        "metadata": {"a": "b"},
        "service_tier": "flex",
        "output_schema": SCHEMA,
    }
    for operation, stream in (("Converse", False), ("ConverseStream", True)):
        payload = made(stack, **settings, stream=stream).payload
        report = validator.validate(payload, service.operation_model(operation).input_shape)
        assert not report.has_errors(), report.generate_report()
