"""A request body → a stack, and back again: nothing is lost."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    AudioMessageContent,
    ConversionError,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)

API, FLASH, NEW = "gemini_native", "gemini-2.5-flash", "gemini-3-pro-preview"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
ASK = [{"role": "user", "parts": [{"text": "hi"}]}]


def read(body: dict[str, Any]) -> Any:
    given = copy.deepcopy(body)
    stack = ln.read_request(given, API)
    assert given == body
    return stack


def again(body: dict[str, Any], model: str = FLASH) -> Any:
    """The body a request becomes when it is read and written."""
    found = ln.convert(read(body), API, model=model)
    assert not isinstance(found, dict)
    return found.to_json()


def settings(**more: Any) -> Any:
    return read({"contents": ASK, **more}).settings


def one(part: Any, role: str = "user") -> Any:
    [block] = read({"contents": [{"role": role, "parts": [part]}]}).messages[0].content
    return block


# --- messages -------------------------------------------------------------------------------------


def test_turns_and_instructions() -> None:
    stack = read(
        {
            "systemInstruction": {"role": "user", "parts": [{"text": "A"}, {"text": "B"}]},
            "contents": [*ASK, {"role": "model", "parts": [{"text": "yes"}]}, {"parts": [{"text": "go"}]}],
        }
    )
    assert [(message.role, message.to_text()) for message in stack.messages] == [
        ("system", "A\nB"),
        ("user", "hi"),
        ("assistant", "yes"),
        ("user", "go"),
    ]


@pytest.mark.parametrize(
    "contents",
    ["hi", ["hi"], {"parts": {"text": "hi"}}, [{"text": "hi"}], [{"role": "user", "parts": ["hi"]}], ASK],
)
def test_every_form_of_contents(contents: Any) -> None:
    [message] = read({"contents": contents}).messages
    assert (message.role, message.to_text()) == ("user", "hi")


@pytest.mark.parametrize("given", ["A", {"text": "A"}, ["A"], {"parts": [{"text": "A"}]}, {"parts": {"text": "A"}}])
def test_every_form_of_instructions(given: Any) -> None:
    assert read({"contents": ASK, "systemInstruction": given}).messages[0].to_text() == "A"


def test_the_sdks_keyword_arguments() -> None:
    payload = {
        "model": FLASH,
        "contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": b"\x89PNG"}}]}],
        "config": {
            "system_instruction": "A",
            "max_output_tokens": 5,
            "automatic_function_calling": {"disable": True},
            "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
            "http_options": {"extra_body": {"generationConfig": {"topK": 2}}},
        },
    }
    stack = read(payload)
    assert stack.messages[1].content == (
        ImageMessageContent(base64.b64encode(b"\x89PNG").decode(), media_type="image/png"),
    )
    assert stack.settings == {"max_tokens": 5, "top_k": 2}
    assert [tool.name for tool in stack.tools] == ["f"]


def test_what_a_conversion_makes_can_be_read() -> None:
    made = ln.convert(
        [{"role": "system", "content": "A"}, {"role": "user", "content": "hi"}],
        API,
        model=FLASH,
        max_tokens=5,
        extra_body={"generationConfig": {"imageConfig": {}}},
    )
    assert not isinstance(made, dict)
    assert again(made.payload) == again(made.to_json()) == made.to_json()


def test_parts_with_a_neutral_form() -> None:
    assert one({"text": "x", "thoughtSignature": "c2VhbA=="}).thought_signature == "c2VhbA=="
    thought = one({"text": "x", "thought": True}, "model")
    assert (type(thought), thought.text, thought.origin.api) == (ThinkingMessageContent, "x", API)
    assert type(one({"inlineData": {"mimeType": "image/png", "data": PNG}})) is ImageMessageContent
    assert type(one({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}})) is AudioMessageContent
    film = one({"inline_data": {"mime_type": "video/mp4", "data": "AAAA", "display_name": "a.mp4"}})
    assert (type(film), film.media_type, film.name) == (DocumentMessageContent, "video/mp4", "a.mp4")
    assert one({"fileData": {"fileUri": "gs://b/a.png", "mimeType": "image/png"}}).file_id == "gs://b/a.png"
    assert one({"fileData": {"fileUri": "https://x.test/a", "mimeType": "audio/aac"}}).url == "https://x.test/a"


def test_data_in_the_alphabet_of_addresses() -> None:
    data = base64.urlsafe_b64encode(b"\xfb\xff\xfe").decode()
    assert (
        one({"inlineData": {"mimeType": "image/png", "data": data}}).data == base64.b64encode(b"\xfb\xff\xfe").decode()
    )


def test_any_other_part_stays_as_it_is() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2VhbA=="}
    block = one(code, "model")
    assert (type(block), block.value, block.origin.api) == (GenericMessageContent, code, API)


def test_calls_and_results_by_id() -> None:
    call = {"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2VhbA=="}
    result = {"functionResponse": {"id": "1", "name": "f", "response": {"output": "x"}}}
    contents = [*ASK, {"role": "model", "parts": [call]}, {"role": "function", "parts": [result]}]
    stack = read({"contents": contents})
    made, answer = stack.messages[1].content[0], stack.messages[2].content[0]
    assert (made.tag, made.name, made.input, made.thought_signature) == ("1", "f", {"a": 1}, "c2VhbA==")
    assert (answer.tag, answer.name, answer.output) == ("1", "f", "x")
    assert again({"contents": contents})["contents"][1:] == [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]


def test_calls_and_results_without_ids_belong_together_by_name_and_order() -> None:
    calls: list[Any] = [{"functionCall": {"name": name, "args": {}}} for name in ("f", "g", "f")]
    results = [{"functionResponse": {"name": name, "response": {"n": n}}} for n, name in enumerate(("g", "f", "f"))]
    body = {"contents": [*ASK, {"role": "model", "parts": calls}, {"role": "user", "parts": results}]}
    stack = read(body)
    tags = [call.tag for call in stack.messages[1].content]
    assert len(set(tags)) == 3
    assert [result.tag for result in stack.messages[2].content] == [tags[1], tags[0], tags[2]]
    sent = again(body)["contents"]
    assert all("id" not in part["functionCall"] for part in sent[1]["parts"])
    assert [part["functionResponse"]["response"] for part in sent[2]["parts"]] == [{"n": 1}, {"n": 0}, {"n": 2}]


def test_a_result_with_an_id_for_a_call_without_one() -> None:
    call = {"functionCall": {"name": "f"}}
    result = {"functionResponse": {"id": "made-up", "name": "f", "response": {}}}
    stack = read({"contents": [*ASK, {"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]})
    assert stack.messages[1].content[0].tag == stack.messages[2].content[0].tag


def test_a_result_with_the_id_of_no_call_stays_alone() -> None:
    call = {"functionCall": {"id": "1", "name": "f"}}
    result = {"functionResponse": {"id": "2", "name": "f", "response": {}}}
    stack = read({"contents": [*ASK, {"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]})
    assert (stack.messages[1].content[0].tag, stack.messages[2].content[0].tag) == ("1", "2")


@pytest.mark.parametrize(
    ("response", "output", "is_error"),
    [
        ({"output": "x"}, "x", False),
        ({"output": [1]}, [1], False),
        ({"output": {"a": 1}}, {"output": {"a": 1}}, False),
        ({"output": '{"a": 1}'}, {"output": '{"a": 1}'}, False),
        ({"output": "x", "more": 1}, {"output": "x", "more": 1}, False),
        ({"result": "x"}, {"result": "x"}, False),
        ({"error": "bad"}, "bad", True),
        ({"error": {"code": 1}}, {"code": 1}, True),
        ({}, {}, False),
        (None, "", False),
    ],
)
def test_responses_come_back_as_they_were(response: Any, output: Any, is_error: bool) -> None:
    parts = [{"functionResponse": {"name": "f", "response": response}}]
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    body = {"contents": [*ASK, call, {"role": "user", "parts": parts}]}
    block = read(body).messages[2].content[0]
    assert (block.output, block.is_error) == (output, is_error)
    sent = again(body)["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert sent == ({"output": ""} if response is None else response)


def test_media_beside_a_response() -> None:
    media = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    given = {"name": "f", "response": {"a": 1}, "parts": [media], "scheduling": "SILENT"}
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2VhbA=="}]}
    body = {"contents": [*ASK, call, {"role": "user", "parts": [{"functionResponse": given}]}]}
    block = read(body).messages[2].content[0]
    assert [type(part) for part in block.parts] == [TextMessageContent, ImageMessageContent]
    sent = again(body, NEW)["contents"][2]["parts"][0]["functionResponse"]
    assert {key: value for key, value in sent.items() if key != "id"} == given


def test_arguments_that_are_no_object_are_an_invalid_call() -> None:
    block = one({"functionCall": {"name": "f", "args": "broken"}}, "model")
    assert (type(block), block.raw) == (InvalidActionCallMessageContent, "broken")


def test_what_only_this_api_says_of_a_part_survives() -> None:
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": PNG}, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}},
        {"fileData": {"fileUri": "https://x.test/a", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2}},
        {"text": "x", "thought": False},
    ]
    body = {"contents": [{"role": "user", "parts": parts}]}
    assert again(body) == body


# --- tools ----------------------------------------------------------------------------------------


def tools(*given: Any) -> Any:
    return read({"contents": ASK, "tools": list(given)}).tools


def test_functions_in_json_schema() -> None:
    schema = {"type": "object", "properties": {"a_b": {"type": "string"}}}
    declared = {"name": "f", "description": "", "parametersJsonSchema": schema}
    [tool] = tools({"functionDeclarations": [declared]})
    assert (tool.name, tool.description, tool.parameters, tool.native) == ("f", "", schema, None)
    assert again({"contents": ASK, "tools": [{"functionDeclarations": [declared]}]})["tools"] == [
        {"functionDeclarations": [declared]}
    ]


def test_functions_in_googles_schema_become_json_schema() -> None:
    given = {"type": "OBJECT", "properties": {"type": {"type": "STRING", "min_length": 1, "enum": ["A"]}}}
    [tool] = tools({"function_declarations": [{"name": "f", "parameters": given}]})
    assert tool.parameters == {
        "type": "object",
        "properties": {"type": {"type": "string", "minLength": 1, "enum": ["A"]}},
    }
    assert tool.native is None


def test_what_json_schema_cannot_say_stays_for_this_api() -> None:
    given = {
        "type": "OBJECT",
        "properties": {"a": {"type": "STRING", "nullable": True}, "b": {"anyOf": [{"type": 3}], "nullable": True}},
        "propertyOrdering": ["b", "a"],
    }
    declared = {"name": "f", "parameters": given, "response": {"type": "STRING"}, "behavior": "BLOCKING"}
    [tool] = tools({"functionDeclarations": [declared]})
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    }
    sent = ln.convert(read({"contents": ASK, "tools": [{"functionDeclarations": [declared]}]}), API, model=FLASH)
    assert not isinstance(sent, dict)
    given["properties"]["b"]["anyOf"] = [{"type": "INTEGER"}]  # type: ignore[index]
    assert sent.to_json()["tools"] == [{"functionDeclarations": [declared]}]
    assert [change.kind for change in sent.changes] == ["rewritten"]


def test_such_a_function_goes_to_other_apis_too() -> None:
    declared = {
        "name": "f",
        "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}},
    }
    stack = read({"contents": ASK, "tools": [{"functionDeclarations": [declared]}]})
    sent = ln.convert(stack, "chat_completions", model="gpt-4.1")
    assert not isinstance(sent, dict)
    assert sent.payload["tools"][0]["function"]["parameters"]["properties"]["a"] == {"type": ["string", "null"]}
    assert [change.kind for change in sent.changes] == ["coerced"]


def test_tools_google_runs_and_functions_in_one() -> None:
    given = [{"codeExecution": {}, "functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]
    assert [tool.name for tool in tools(*given)] == ["codeExecution", "f", "googleSearch"]
    assert again({"contents": ASK, "tools": given})["tools"] == [
        {"codeExecution": {}},
        {"functionDeclarations": [{"name": "f"}]},
        {"googleSearch": {}},
    ]


def test_a_tool_that_is_null_is_left_out_and_told() -> None:
    given = [{"codeExecution": None, "functionDeclarations": [{"name": "f"}]}]
    sent = ln.convert(read({"contents": ASK, "tools": given}), API, model=FLASH)
    assert not isinstance(sent, dict)
    assert sent.to_json()["tools"] == [{"functionDeclarations": [{"name": "f"}]}]
    assert [(change.step, change.kind) for change in sent.changes] == [("tools", "rewritten")]


# --- settings -------------------------------------------------------------------------------------


def test_settings_with_a_neutral_name() -> None:
    config = {"maxOutputTokens": 5, "topP": 0.5, "topK": 3.0, "stopSequences": ["x"], "candidateCount": 1, "seed": 1}
    assert settings(generationConfig=config, cachedContent="c", safetySettings=[{"category": "X"}]) == {
        "max_tokens": 5,
        "top_p": 0.5,
        "top_k": 3.0,
        "stop": ["x"],
        "seed": 1,
        "cached_content": "c",
        "safety_settings": [{"category": "X"}],
    }


@pytest.mark.parametrize(
    "more",
    [
        {"generationConfig": {"candidateCount": 2, "imageConfig": {"aspectRatio": "1:1"}}},
        {"generationConfig": {"speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}}}},
        {"generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a"]}}},
        {"generationConfig": {"maxOutputTokens": 0}},
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "newKey": 1}}},
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED"}}},
        {"safetySettings": [{"category": 10, "threshold": 3}]},
        {"modelArmorConfig": {"promptTemplateName": "p"}},
        {"toolConfig": {"includeServerSideToolInvocations": True}},
        {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}},
    ],
)
def test_what_has_no_neutral_name_goes_into_extra_body(more: dict[str, Any]) -> None:
    assert settings(**more) == {"extra_body": more}
    assert again({"contents": ASK, **more}) == {"contents": ASK, **more}


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (
            {"thinkingLevel": "LOW", "includeThoughts": True},
            {"reasoning_effort": "low", "thinking_display": "summarized"},
        ),
        ({"thinkingBudget": 512}, {"thinking_budget": 512, "thinking_display": "omitted"}),
        ({"thinkingBudget": 0}, {"reasoning_effort": "none"}),
        ({"include_thoughts": True}, {"thinking_display": "summarized"}),
        ({"thinkingBudget": -1, "includeThoughts": True}, {"thinking_budget": -1, "thinking_display": "summarized"}),
    ],
)
def test_thinking(config: Any, found: Any) -> None:
    assert settings(generationConfig={"thinkingConfig": config}) == found


@pytest.mark.parametrize(
    ("calling", "choice"),
    [
        ({"mode": "AUTO"}, "auto"),
        ({"mode": "any"}, "required"),
        ({"mode": "ANY", "allowedFunctionNames": []}, "required"),
        ({"mode": "NONE"}, "none"),
        ({"mode": "ANY", "allowed_function_names": ["f"]}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_the_choice_of_a_function(calling: Any, choice: Any) -> None:
    assert settings(toolConfig={"functionCallingConfig": calling}) == {"tool_choice": choice}


@pytest.mark.parametrize("mode", ["ANY", "VALIDATED"])
def test_the_choice_among_some(mode: str) -> None:
    config = {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": ["f", "g"]}}
    declared = [{"functionDeclarations": [{"name": "f"}, {"name": "g"}, {"name": "h"}]}]
    assert again({"contents": ASK, "tools": declared, "toolConfig": config})["toolConfig"] == config


def test_the_form_of_an_answer() -> None:
    config = {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT", "nullable": True}}
    stack = read({"contents": ASK, "generationConfig": config})
    assert stack.output_schema == {"type": ["object", "null"]}
    assert stack.settings == {}
    stack = read({"contents": ASK, "generationConfig": {"response_mime_type": "application/json"}})
    assert stack.settings == {"response_format": {"type": "json_object"}}


def test_modalities_are_words_in_small_letters() -> None:
    assert settings(generationConfig={"responseModalities": ["TEXT"]}) == {"modalities": ["text"]}


# --- what is no request ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contents", "place"),
    [
        ([5], r"contents\[0\]"),
        ([{"role": "tool", "parts": []}], r"contents\[0\].*tool"),
        ([{"role": "user", "parts": [5]}], r"contents\[0\], part 0"),
        ([{"role": "user", "parts": [{"inlineData": {}}]}], r"contents\[0\], part 0.*inlineData"),
        ([{"role": "model", "parts": [{"text": "x"}, {"functionCall": {}}]}], r"contents\[0\], part 1.*functionCall"),
    ],
)
def test_a_malformed_request_is_told_by_its_place(contents: Any, place: str) -> None:
    with pytest.raises(ConversionError, match=place):
        read({"contents": contents})


def test_a_body_without_contents_is_no_request() -> None:
    with pytest.raises(ConversionError, match="contents"):
        ln.read_request({"messages": []}, API)
