"""generateContent: two spellings, and what the SDK itself says when it makes the body."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

import llmneutral
from llmneutral.validation import gemini
from llmneutral.validation.problems import NOTHING, Loc
from tests.validation import broken_payloads

CALL = broken_payloads.load("gemini_native.call")["payload"]
SAMPLES: dict[str, Any] = {
    "system_instruction": "Be brief.",
    "safety_settings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
    "tools": [{"google_search": {}}],
    "tool_config": {"function_calling_config": {"mode": "ANY"}},
    "labels": {"a": "b"},
    "response_schema": {"type": "OBJECT"},
    "response_json_schema": {"type": "object"},
    "speech_config": {"language_code": "de"},
    "service_tier": "flex",
    "continuation_token": b"x",
    "stop_sequences": ["END"],
    "response_modalities": ["TEXT"],
    "media_resolution": "MEDIA_RESOLUTION_LOW",
    "response_mime_type": "text/plain",
    "cached_content": "cachedContents/1",
}
"""Values for fields of the config that are no plain objects, numbers or switches."""


def _sent(name: str, value: Any, backend: str) -> dict[str, Any] | None:
    """What the SDK makes of one field of the config; None where this backend does not have it."""
    models, types = (import_module(f"google.genai.{name}") for name in ("models", "types"))
    convert = getattr(models, f"_GenerateContentParameters_to_{backend}")
    read = types._GenerateContentParameters(model="gemini-x", contents=["hi"], config={name: value})
    try:
        made: dict[str, Any] = convert(
            SimpleNamespace(vertexai=backend == "vertex", project="p", location="l"), read, None, read
        )
    except ValueError:
        return None
    return made


def test_fields_stand_in_the_body_where_the_sdk_puts_them() -> None:
    types = import_module("google.genai.types")
    places: dict[str, set[str]] = {}
    for name, field in types.GenerateContentConfig.model_fields.items():
        candidates = [SAMPLES[name]] if name in SAMPLES else [{}, 1, True]
        for value in candidates:
            try:
                types.GenerateContentConfig(**{name: value})
            except ValueError:
                continue
            for sent in (_sent(name, value, "mldev"), _sent(name, value, "vertex")):
                if sent is not None:
                    beside = sent.keys() - {"contents", "generationConfig", "_url", "config"}
                    if beside or sent.get("generationConfig"):
                        places[name] = beside
            break
        else:
            pytest.fail(f"no value for {name}: {field.annotation}")
    assert {name: found for name, found in places.items() if found} == {
        name: {gemini._RENAMED.get(name, gemini.camel(name))} for name in gemini._BESIDE
    }
    assert types.GenerateContentConfig.model_fields.keys() - places.keys() == {*gemini._NEVER_SENT}


def test_data_of_a_part_are_fields_of_it() -> None:
    from google.genai import types

    assert {*gemini._DATA} <= types.Part.model_fields.keys()


@pytest.mark.parametrize("spelling", [{"maxOutputTokens": 5, "topP": 1}, {"max_output_tokens": 5, "top_p": 1}])
def test_both_spellings_are_taken(spelling: dict[str, Any]) -> None:
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    assert llmneutral.validate({"contents": contents, "generationConfig": spelling}, "gemini") == []
    assert llmneutral.validate({"model": "m", "contents": contents, "config": spelling}, "gemini") == []


@pytest.mark.parametrize("contents", ["Hi", ["Hi", {"text": "there"}], {"parts": [{"text": "Hi"}]}, [["a", "b"]]])
def test_contents_of_a_call_may_be_short(contents: Any) -> None:
    assert gemini.call()[0].check({"model": "m", "contents": contents}) is NOTHING


def test_the_role_of_an_instruction_does_not_count() -> None:
    body = {
        "contents": {"role": "user", "parts": [{"text": "Hi"}]},
        "systemInstruction": {"role": "system", "parts": [{"text": "Be brief."}]},
    }
    assert llmneutral.validate(body, "gemini") == []


def test_the_sdk_knows_what_a_backend_lacks() -> None:
    payload = {**CALL, "config": {"routing_config": {"auto_mode": {"model_routing_preference": "BALANCED"}}}}
    assert gemini.as_sent(payload, None) is gemini.as_sent(payload, "vertex") is NOTHING
    [(loc, message)] = gemini.as_sent(payload, "gemini")
    assert loc == ()
    assert message.startswith("is refused by the SDK: routing_config parameter is only supported in ")


def test_the_sdk_still_has_its_converters() -> None:
    from google.genai import models, types

    assert hasattr(types, "_GenerateContentParameters")
    assert hasattr(models, "_GenerateContentParameters_to_mldev")
    assert hasattr(models, "_GenerateContentParameters_to_vertex")


@pytest.mark.parametrize(
    ("payload", "is_call"),
    [
        ({"model": "m", "contents": [], "config": {}}, True),
        ({"model": "m", "contents": []}, True),
        ({"contents": []}, False),
        ({"model": "m", "contents": [], "tools": []}, False),
        ({"model": "m", "contents": [], "generationConfig": {}}, False),
    ],
)
def test_forms_are_told_apart(payload: dict[str, Any], is_call: bool) -> None:
    assert gemini.is_call(payload) is is_call


PART = ("contents", 0, "parts", 1)


@pytest.mark.parametrize(
    ("loc", "place"),
    [
        ((), ()),
        ((*PART, "inline_data", "mime_type"), (*PART, "inlineData", "mimeType")),
        (("config",), ("config",)),
        (("config", "max_output_tokens"), ("generationConfig", "maxOutputTokens")),
        (("config", "tool_config", "function_calling_config"), ("toolConfig", "functionCallingConfig")),
        (("config", "generation_output_config", "a_b"), ("outputConfig", "aB")),
        (("config", "systemInstruction", "parts"), ("systemInstruction", "parts")),
        ((*PART, "function_call", "args", "a_b"), (*PART, "functionCall", "args", "a_b")),
        (("config", "http_options", "extra_body", "a_b"), ("a_b",)),
    ],
)
def test_places_in_the_body(loc: Loc, place: Loc) -> None:
    assert gemini.in_body(loc) == place
