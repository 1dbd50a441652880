"""Turns, tools, tool choice, settings, format of the answer, endpoint, and the two spellings of a request."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ConversionError,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    PromptStack,
    TextMessageContent,
)
from llmneutral.transports import get_transport

API = "gemini_native"
OLD, FLASH, NEW = "gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro-preview"
SKIP = "skip_thought_signature_validator"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
CITY = {"type": "object", "properties": {"city": {"type": ["string", "null"]}}, "required": ["city"]}
Text, Call, Result = TextMessageContent, ActionCallMessageContent, ActionResultMessageContent
GOOGLE = {"type": "google_search"}


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def function(name: str = "look", parameters: Any = None, **more: Any) -> dict[str, Any]:
    given = {} if parameters is None else {"parameters": parameters}
    return {"type": "function", "function": {"name": name, "description": "d", **given, **more}}


def convert(source: Any = "hi", **settings: Any) -> Any:
    return ln.convert(source, API, **{"model": FLASH, **settings})


def body(source: Any = "hi", **settings: Any) -> Any:
    return convert(source, **settings).to_json()


def kinds(conversion: Any) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def why(conversion: Any) -> str:
    return " | ".join(change.why for change in conversion.changes)


# --- turns ----------------------------------------------------------------------------------------


def test_instructions_are_parts_without_a_role() -> None:
    found = convert([turn("system", "A"), turn("developer", "B"), turn("user", "hi")])
    assert found.payload["config"]["system_instruction"] == {"parts": [{"text": "A"}, {"text": "B"}]}
    assert found.to_json()["systemInstruction"] == {"parts": [{"text": "A"}, {"text": "B"}]}
    assert found.changes == ()


def test_instructions_alone_need_a_turn() -> None:
    found = convert([turn("system", "A")])
    assert found.payload["contents"] == [{"role": "user", "parts": [{"text": "(empty message)"}]}]
    assert kinds(found) == [("lead_with_user", "added")]


def test_instructions_are_text() -> None:
    with pytest.raises(ConversionError, match="text"):
        convert([turn("system", (ImageMessageContent(PNG),)), turn("user", "hi")])


def test_later_instructions_stand_where_they_were() -> None:
    found = convert([turn("user", "a"), turn("assistant", "b"), turn("system", "C")])
    assert found.payload["contents"][2] == {"role": "user", "parts": [{"text": "<system>\nC\n</system>"}]}


def test_neighbours_are_one_content_of_separate_parts() -> None:
    found = convert([turn("user", "a"), turn("user", "b"), turn("assistant", "c"), turn("assistant", "d")])
    assert [[part["text"] for part in content["parts"]] for content in found.payload["contents"]] == [
        ["a", "b"],
        ["c", "d"],
        ["Continue."],
    ]


def test_the_first_turn_is_the_users() -> None:
    found = convert([turn("assistant", "a"), turn("user", "b")])
    assert [content["role"] for content in found.payload["contents"]] == ["user", "model", "user"]
    assert found.payload["contents"][0]["parts"] == [{"text": "(empty)"}]


def test_results_of_one_turn_stand_in_one_content_in_the_order_of_the_calls() -> None:
    calls = (Call("1", "a"), Call("2", "b"))
    messages = [
        turn("user", "q"),
        turn("assistant", calls),
        turn("user", (Result("2", "y"),)),
        turn("user", (Result("1", "x"), Text("more"))),
    ]
    parts = convert(messages).payload["contents"][2]["parts"]
    assert [part.get("function_response", {}).get("response") for part in parts] == [
        {"output": "x"},
        {"output": "y"},
        None,
    ]
    assert parts[2] == {"text": "more"}


def test_participants_have_no_names_and_marks_no_place() -> None:
    found = convert([turn("user", (Text("hi", cache=True),), "Ann")])
    assert kinds(found) == [("limit_cache_marks", "dropped"), ("frame", "rewritten")]


def test_only_the_newest_screenshots_are_kept() -> None:
    shot = (ImageMessageContent(PNG, media_type="image/png"),)
    messages = [turn("user", "q")]
    for n in range(2):
        messages += [
            turn("assistant", (Call(f"c{n}", "shot", thought_signature="c2VhbA=="),)),
            turn("user", (Result(f"c{n}", parts=shot),)),
        ]
    contents = convert(messages, model=NEW, keep_screenshots=1).payload["contents"]
    assert "parts" not in contents[2]["parts"][0]["function_response"]
    assert "parts" in contents[4]["parts"][0]["function_response"]


# --- thought signatures ---------------------------------------------------------------------------


def steps(*calls: Any, **settings: Any) -> Any:
    """A conversation with one step a call (or tuple of calls)."""
    messages = [turn("user", "q")]
    for step in calls:
        batch = step if isinstance(step, tuple) else (step,)
        messages += [turn("assistant", batch), turn("user", tuple([Result(call.tag, "r") for call in batch]))]
    return convert(messages, **{"model": NEW, **settings})


def signatures(conversion: Any) -> list[Any]:
    contents = conversion.to_json()["contents"]
    return [part.get("thoughtSignature") for content in contents for part in content["parts"] if "functionCall" in part]


def test_the_first_call_of_each_step_gets_the_sentinel() -> None:
    found = steps((Call("1", "w"), Call("2", "w")), Call("3", "w"))
    assert signatures(found) == [SKIP, None, SKIP]
    assert kinds(found) == [("thought_signatures", "added")] * 2
    assert found.payload["contents"][1]["parts"][0]["thought_signature"] == base64.urlsafe_b64decode(SKIP)


def test_a_signature_of_its_own_needs_no_sentinel_nor_do_siblings() -> None:
    found = steps((Call("1", "w", thought_signature="c2VhbA=="), Call("2", "w")))
    assert signatures(found) == ["c2VhbA==", None]
    assert found.changes == ()


def test_a_foreign_signature_gives_way_to_the_sentinel() -> None:
    theirs = Call("1", "w", thought_signature="c2VhbA==", origin=Origin(API, "gemini-2.5-pro"))
    assert signatures(steps(theirs)) == [SKIP]
    assert signatures(steps(theirs, facts={"same_model_as_history": True})) == ["c2VhbA=="]
    ours = Call("1", "w", thought_signature="c2VhbA==")
    assert signatures(steps(ours, facts={"same_model_as_history": False})) == [SKIP]


def test_an_invalid_call_carries_the_sentinel_as_well() -> None:
    assert signatures(steps(InvalidActionCallMessageContent("1", "w", raw="{"))) == [SKIP]


def test_older_models_ask_for_no_signature() -> None:
    found = steps(Call("1", "w"), model=FLASH)
    assert signatures(found) == [None]
    assert found.changes == ()


# --- tools ----------------------------------------------------------------------------------------


def test_all_functions_stand_in_one_tool() -> None:
    found = convert(tools=[function("a", CITY), GOOGLE, function("b")])
    assert found.payload["config"]["tools"] == [
        {
            "function_declarations": [
                {"name": "a", "description": "d", "parameters_json_schema": CITY},
                {"name": "b", "description": "d"},
            ]
        },
        {"google_search": {}},
    ]
    assert found.to_json()["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == CITY
    assert found.changes == ()


def test_older_models_take_the_openapi_subset() -> None:
    [declared] = body(model=OLD, tools=[function("a", CITY)])["tools"][0]["functionDeclarations"]
    assert declared["parameters"]["properties"]["city"] == {"type": "string", "nullable": True}
    assert "parametersJsonSchema" not in declared


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
@pytest.mark.parametrize("model", [OLD, FLASH])
def test_a_function_without_parameters_has_none(model: str, parameters: Any) -> None:
    [declared] = body(model=model, tools=[function("a", parameters)])["tools"][0]["functionDeclarations"]
    assert declared == {"name": "a", "description": "d"}


def test_property_names_are_mapped_back() -> None:
    odd = {"type": "object", "properties": {"a-b": {"type": "string"}}, "required": ["a-b"]}
    found = convert(model=OLD, tools=[function("a", odd)])
    [declared] = found.to_json()["tools"][0]["functionDeclarations"]
    [sent] = declared["parameters"]["properties"]
    assert sent != "a-b"
    parts = [{"functionCall": {"name": "a", "args": {sent: "x"}}}]
    answer = ln.normalize({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}, API, names=found)
    assert answer.tool_calls[0].input == {"a-b": "x"}


def test_names_are_widely_taken() -> None:
    found = convert(tools=[function("ok.name"), function("a:b"), function("3d view")])
    names = [declared["name"] for declared in found.payload["config"]["tools"][0]["function_declarations"]]
    assert names == ["ok.name", "a:b", "_3d_view"]
    assert kinds(found) == [("tool_names", "renamed")]


def test_tools_of_other_providers_are_dropped_and_strict_is_not_understood() -> None:
    found = convert(tools=[function("a", CITY, strict=True), {"type": "web_search_20260209", "name": "web_search"}])
    assert len(found.payload["config"]["tools"]) == 1
    assert kinds(found) == [("frame", "dropped"), ("tools", "coerced")]


def test_a_tool_google_runs_keeps_its_options() -> None:
    given = {"type": "file_search", "file_search": {"file_search_store_names": ["s"]}}
    assert body(tools=[given])["tools"] == [{"fileSearch": {"fileSearchStoreNames": ["s"]}}]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ("a", {"mode": "ANY", "allowed_function_names": ["a"]}),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"name": "a"}]}, {"mode": "ANY", "names": True}),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "a"}]}, {"mode": "VALIDATED", "names": True}),
    ],
)
def test_tool_choice(choice: Any, said: dict[str, Any]) -> None:
    found = convert(tools=[function("a", CITY), function("b")], tool_choice=choice)
    if said.pop("names", False):
        said["allowed_function_names"] = ["a"]
    assert found.payload["config"]["tool_config"] == {"function_calling_config": said}
    assert found.changes == ()


def test_a_choice_by_its_native_name() -> None:
    found = body(tools=[function("3d")], tool_choice="3d")
    assert found["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["_3d"]


def test_without_tools_there_is_no_choice_and_only_functions_are_chosen() -> None:
    assert "toolConfig" not in body(tool_choice="auto")
    with pytest.raises(ConversionError, match="needs tools"):
        convert(tool_choice="required")
    with pytest.raises(ConversionError, match="google_search"):
        convert(tools=[GOOGLE], tool_choice="google_search")


def test_a_model_that_refuses_forced_calls() -> None:
    found = convert(tools=[function("a")], tool_choice="a", facts={"forced_tool_choice": False})
    assert found.payload["config"]["tool_config"] == {"function_calling_config": {"mode": "AUTO"}}
    assert kinds(found) == [("tool_choice", "coerced")]


def test_one_call_at_a_time_cannot_be_asked_for() -> None:
    assert kinds(convert(tools=[function("a")], parallel_tool_calls=False)) == [("tool_choice", "dropped")]
    assert convert(tools=[function("a")], parallel_tool_calls=True).changes == ()


# --- settings -------------------------------------------------------------------------------------


def test_settings_by_their_names_here() -> None:
    given = {
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 3,
        "stop": "x",
        "seed": 7,
        "presence_penalty": 1,
        "frequency_penalty": -1,
        "logprobs": True,
        "top_logprobs": 2,
        "modalities": ["text", "audio"],
        "audio": {"voice": "Kore"},
        "store": False,
        "metadata": {"team": "a"},
        "service_tier": "default",
        "safety_settings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
    }
    found = convert(**given)
    assert found.to_json()["generationConfig"] == {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 3,
        "stopSequences": ["x"],
        "seed": 7,
        "presencePenalty": 1,
        "frequencyPenalty": -1,
        "responseLogprobs": True,
        "logprobs": 2,
        "responseModalities": ["TEXT", "AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
    }
    assert found.to_json()["labels"] == {"team": "a"}
    assert found.to_json()["serviceTier"] == "standard"
    assert found.to_json()["store"] is False
    assert found.payload["config"]["safety_settings"] == given["safety_settings"]
    assert kinds(found) == [("params", "coerced")]


def test_what_is_out_of_range_or_unknown_is_told() -> None:
    found = convert(temperature=3, stop=list("abcdefg"), metadata={"n": 1}, service_tier="fast", verbosity="low")
    assert found.payload["config"] == {"temperature": 2, "stop_sequences": list("abcde")}
    assert sorted(change.kind for change in found.changes) == ["coerced", "dropped", "dropped", "dropped", "dropped"]


def test_nothing_is_sent_that_nobody_asked_for() -> None:
    assert convert().payload == {"model": FLASH, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_a_cache_holds_instructions_and_tools_already() -> None:
    messages = [turn("system", "A"), turn("user", "hi")]
    found = convert(messages, tools=[function("a")], tool_choice="required", cached_content="cachedContents/1")
    assert found.payload["config"] == {"cached_content": "cachedContents/1"}
    assert found.to_json()["cachedContent"] == "cachedContents/1"
    assert [change.kind for change in found.changes] == ["dropped"] * 3
    assert found.changes[0].refs


def test_further_keys_are_merged_last_as_the_sdk_merges_them() -> None:
    extra = {"generationConfig": {"topK": 1, "imageConfig": {"aspectRatio": "1:1"}}, "new_key": [1]}
    found = convert(max_tokens=5, top_k=9, extra_body=extra)
    assert found.payload["config"]["http_options"] == {"extra_body": extra}
    assert found.payload["config"]["top_k"] == 9
    assert found.to_json()["generationConfig"] == {
        "maxOutputTokens": 5,
        "topK": 1,
        "imageConfig": {"aspectRatio": "1:1"},
    }
    assert found.to_json()["new_key"] == [1]


# --- the form of the answer -----------------------------------------------------------------------


def test_an_answer_is_held_to_a_schema() -> None:
    asked = {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": CITY}}}
    assert convert(**asked).payload["config"] == {
        "response_mime_type": "application/json",
        "response_json_schema": CITY,
    }
    found = body(model=OLD, output_schema=CITY)["generationConfig"]
    assert found["responseSchema"]["properties"]["city"] == {"type": "string", "nullable": True}
    assert convert(response_format={"type": "json_object"}).payload["config"] == {
        "response_mime_type": "application/json"
    }
    assert "config" not in convert(response_format={"type": "text"}).payload


def test_a_model_that_cannot_be_held_to_a_form() -> None:
    asked = {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": CITY}}}
    found = convert(**asked, facts={"native_json_schema": False})
    declared = found.payload["config"]["tools"][0]["function_declarations"]
    assert [each["name"] for each in declared] == ["final_answer"]
    assert kinds(found) == [("structured_output", "added")]
    found = convert(**asked, facts={"json_object": False})
    assert ("config" in found.payload, kinds(found)) == (False, [("frame", "dropped")])


def test_a_schema_beside_tools_only_from_gemini_3_on() -> None:
    found = convert(tools=[function("a")], output_schema=CITY, structured_output_strategy="native")
    assert "response_mime_type" not in found.payload["config"]
    assert kinds(found) == [("structured_output", "coerced"), ("structured_output", "added")]  # a tool takes the answer
    assert "response_json_schema" in convert(model=NEW, tools=[function("a")], output_schema=CITY).payload["config"]


# --- where it goes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("google/gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini/gemini-2.5-flash", "gemini-2.5-flash"),
        ("tunedModels/mine", "tunedModels/mine"),
    ],
)
def test_the_model_without_a_vendor(model: str, sent: str) -> None:
    assert convert(model=model).payload["model"] == sent


def test_the_model_stands_in_the_path() -> None:
    assert convert().endpoint == ("POST", f"/v1beta/models/{FLASH}:generateContent")
    assert convert(stream=True).endpoint == ("POST", f"/v1beta/models/{FLASH}:streamGenerateContent?alt=sse")
    assert ln.convert("Hi", "gemini_native").endpoint == ("POST", "/v1beta/models/{model}:generateContent")
    assert convert(provider="vertex").endpoint[1] == f"/v1/publishers/google/models/{FLASH}:generateContent"
    assert convert(model="tunedModels/mine").endpoint[1] == "/v1beta/tunedModels/mine:generateContent"
    assert "model" not in body()


# --- the two spellings ----------------------------------------------------------------------------


def test_only_the_sdks_own_keys_are_respelt() -> None:
    schema = {"type": "object", "properties": {"my_key": {"type": "string", "minLength": 1}}}
    call = Call("c1", "a", input={"my_key": {"other_key": 1}})
    messages = [turn("user", "q"), turn("assistant", (call,)), turn("user", (Result("c1", {"a_b": 1}),))]
    sent = body(messages, tools=[function("a", schema)], metadata={"my_label": "x"})
    assert sent["contents"][1]["parts"][0]["functionCall"]["args"] == {"my_key": {"other_key": 1}}
    assert sent["contents"][2]["parts"][0]["functionResponse"]["response"] == {"a_b": 1}
    assert sent["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == schema
    assert sent["labels"] == {"my_label": "x"}


def test_the_trace_points_into_the_body() -> None:
    picture = ImageMessageContent(PNG, media_type="image/png")
    messages = [turn("system", "A"), turn("user", (Text("q"), picture))]
    found = ln.convert(messages, API, model=FLASH, trace=True)
    assert {pointer: [tuple(ref) for ref in refs] for pointer, refs in (found.trace or {}).items()} == {
        "/contents/0/parts/0": [(1, 0)],
        "/contents/0/parts/1": [(1, 1)],
        "/systemInstruction/parts/0": [(0, 0)],
    }
    json.dumps(found.to_json())


def test_the_parts_of_a_request_by_themselves() -> None:
    transport = get_transport(API)
    messages = [{"role": "system", "content": "A"}, {"role": "user", "content": "hi"}]
    assert transport.convert_messages(messages, model=FLASH) == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "config": {"system_instruction": {"parts": [{"text": "A"}]}},
    }
    assert transport.convert_tools([function("a")]) == [{"function_declarations": [{"name": "a", "description": "d"}]}]


def test_nothing_of_the_callers_is_changed() -> None:
    tools, messages = [function("a", CITY)], [turn("user", "q")]
    before = (repr(tools), repr(messages))
    convert(PromptStack(messages), tools=tools, extra_body={"generationConfig": {"topK": 1}})
    assert (repr(tools), repr(messages)) == before
