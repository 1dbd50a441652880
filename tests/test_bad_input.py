"""Bad input: one clear line each, of the right class, with the place and the remedy, before any network is used.

Each case is one mistake. The line names the thing (`names`), says what to do about it (`remedy`), and where a message
is at fault its address.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from typing import Any

import pytest

import llmneutral
from llmneutral import (
    ActionArtifact,
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioArtifact,
    BlobArtifact,
    ConfigurationError,
    ConversionError,
    ImageArtifact,
    ImageUrlArtifact,
    LLMNeutralError,
    Message,
    PromptStack,
    ToolAction,
    convert,
    make_driver,
)
from tests.payloads import APIS, MODELS, said, turn

LONGEST = 300
CALL, RESULT = ActionCallMessageContent("call_7", "look"), ActionResultMessageContent("call_7", "ok")
Mistake = Callable[[], Any]


def tool(**function: Any) -> dict[str, Any]:
    return {"type": "function", "function": function}


LOOK = tool(name="look", parameters={"type": "object", "properties": {}})


def to(api: str, source: Any = "q", **settings: Any) -> Any:
    return convert(source, api, **{"model": MODELS[api], "max_tokens": 500, **settings})


def run(api: str, source: Any = "q", **settings: Any) -> Any:
    driver = make_driver(api, model=MODELS[api], api_key="not-a-key", max_attempts=1)
    return driver.run(source, **{"max_tokens": 500, **settings})


def refused(mistake: Mistake, kind: type[LLMNeutralError], names: str, remedy: str) -> LLMNeutralError:
    with pytest.raises(LLMNeutralError) as caught:
        mistake()
    error = caught.value
    assert isinstance(error, kind)
    line = str(error)
    assert len(line.splitlines()) == 1
    assert len(line) < LONGEST
    assert names in line
    assert remedy in line
    assert caught.value.__cause__ is None or not isinstance(caught.value.__cause__, LLMNeutralError)
    return error


over_apis = pytest.mark.parametrize("api", APIS)
over_ways = pytest.mark.parametrize("way", [to, run], ids=["convert", "run"])


# --- where it goes ------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


TARGETS: dict[str, tuple[Mistake, str, str]] = {
    "unknown mode": (lambda: convert("q", "nope"), "'nope'", "chat_completions"),
    "unknown mode of a driver": (lambda: make_driver("nope", model="m"), "'nope'", "chat_completions"),
    "unknown mode of a request": (lambda: llmneutral.read_request({}, "nope"), "'nope'", "chat_completions"),
    "unknown mode of an answer": (lambda: llmneutral.normalize({}, "nope"), "'nope'", "chat_completions"),
    "unknown mode of a check": (lambda: llmneutral.validate({}, "nope"), "'nope'", "chat_completions"),
    "a very long mode": (lambda: convert("q", "x" * 5000), "xxx", "chat_completions"),
    "a number for a mode": (lambda: convert("q", 5), "int", "API mode"),  # type: ignore[call-overload]
    "nothing for a mode": (lambda: convert("q", None), "NoneType", "API mode"),  # type: ignore[call-overload]
    "a list with a number": (lambda: convert("q", ["openai", 5]), "int", "chat_completions"),  # type: ignore[list-item]
    "a mode that is no text": (lambda: make_driver(Colour.RED, model="m"), "Colour", "text"),  # type: ignore[arg-type]
    "unknown provider": (lambda: to(APIS[0], provider="acme"), "'acme'", "base_url"),
    "a provider misspelt": (lambda: to(APIS[0], provider="openroutr"), "'openroutr'", "openrouter"),
    "unknown provider of a driver": (
        lambda: make_driver("openai", model="m", api_key="k", provider="acme").run("q"), "'acme'", "base_url",
    ),
    "a provider that is no text": (lambda: to(APIS[0], provider=5), "provider is an int", "text"),
    "a model that is no text": (lambda: to(APIS[0], model=5), "model is an int", "text"),
    "an address that is no text": (lambda: to(APIS[0], base_url=5), "base_url is an int", "text"),
    "a model of a driver": (lambda: make_driver("openai", model=5), "model is an int", "text"),  # type: ignore[arg-type]
    "a provider of a driver": (
        lambda: make_driver("openai", model="m", provider=["x"]), "provider is a list", "text",  # type: ignore[arg-type]
    ),
    "an address of a driver": (
        lambda: make_driver("openai", model="m", base_url=b"x"), "base_url is a bytes", "text",  # type: ignore[arg-type]
    ),
    "a key of a driver": (
        lambda: make_driver("openai", model="m", api_key=b"sk-1"), "api_key is a bytes", "text",  # type: ignore[arg-type]
    ),
    "facts of a driver": (
        lambda: make_driver("openai", model="m", facts="vision"), "facts is a str", "by name",  # type: ignore[arg-type]
    ),
    "facts of a run": (lambda: run(APIS[0], facts=["vision"]), "facts is a list", "by name"),
    "a model of a run": (lambda: run(APIS[0], model=["m"]), "model is a list", "text"),
    "a provider of a run": (lambda: run(APIS[0], provider="groq"), "provider", "make another driver"),
    "an address of a run": (lambda: run(APIS[0], base_url="https://x.test"), "base_url", "make another driver"),
    "a model to resolve by": (lambda: llmneutral.resolve_api_mode(model=5), "model is an int", "text"),  # type: ignore[arg-type]
    "a time that is none": (lambda: run(APIS[0], timeout=10**400), "timeout is 1000", "seconds"),
    "an address for codex": (lambda: make_driver("codex_app_server", model="m", base_url="x"), "base_url", "codex"),
    "unknown fact": (lambda: to(APIS[0], facts={"visoin": True}), "'visoin'", "'vision'"),
    "unknown fact of a driver": (
        lambda: make_driver("openai", model="m", api_key="k", facts={"visoin": True}), "'visoin'", "'vision'",
    ),
    "a fact of the wrong kind": (lambda: to(APIS[0], facts={"vision": "yes"}), "'vision'", "True or False"),
    "facts that are none": (lambda: to(APIS[0], facts=["vision"]), "facts is a list", "by name"),
    "unknown setting": (lambda: to(APIS[0], temprature=1), "'temprature'", "temperature"),
    "unknown setting of a driver": (
        lambda: make_driver("openai", model="m", temprature=1), "'temprature'", "temperature",
    ),
    "unknown setting of a run": (lambda: run(APIS[0], temprature=1), "'temprature'", "temperature"),
    "a setting that no one knows": (lambda: to(APIS[0], zzz=1), "'zzz'", "llmneutral.SETTINGS"),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "names", "remedy"), TARGETS.values(), ids=list(TARGETS))
def test_where_it_goes(mistake: Mistake, names: str, remedy: str) -> None:
    error = refused(mistake, ConfigurationError, names, remedy)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("api", "variable"),
    [
        ("chat_completions", "OPENAI_API_KEY"),
        ("codex_responses", "OPENAI_API_KEY"),
        ("anthropic_messages", "ANTHROPIC_API_KEY"),
    ],
)
@pytest.mark.parametrize("method", ["run", "stream"])
def test_no_key(api: str, variable: str, method: str) -> None:
    driver = make_driver(api, model=MODELS[api])
    refused(lambda: list(getattr(driver, method)("q") or ()), ConfigurationError, variable, f"Set {variable}")


@over_apis
@over_ways
def test_the_subprocess_runtime_has_no_payload(api: str, way: Any) -> None:
    del api, way
    refused(lambda: convert("q", "codex_app_server"), ConversionError, "codex_app_server", "make_driver")


# --- settings -----------------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, str]] = {
    "max_tokens": (0, "above 0"),
    "temperature": ("hot", "a finite number"),
    "top_p": (float("nan"), "a finite number"),
    "top_k": (-1, "from 0"),
    "seed": (1.5, "a whole number"),
    "stop": ([1], "a list of texts"),
    "n": (2, "ask again"),
    "stream": ("yes", "True or False"),
    "reasoning_effort": ("huge", "'high'"),
    "metadata": ("x", "an object"),
    "response_format": ("json", "an object"),
    "tool_choice": (5, "'required'"),
    "extra_body": ({"a": float("inf")}, "plain data"),
    "fetch": ("https://x.test", "a callable"),
    "orphan_calls": ("keep", "'strip'"),
    "service_tier": (3, "text"),
}


@pytest.mark.parametrize(("name", "value", "remedy"), [(name, *rest) for name, rest in WRONG.items()])
@over_ways
def test_a_value_of_the_wrong_kind(way: Any, name: str, value: Any, remedy: str) -> None:
    for api in APIS:
        error = refused(lambda api=api: way(api, **{name: value}), ConversionError, name, remedy)  # type: ignore[misc]
        assert isinstance(error, ConfigurationError)


@pytest.mark.parametrize(("name", "value", "remedy"), [(name, *rest) for name, rest in WRONG.items()])
def test_a_value_of_the_wrong_kind_for_every_call(name: str, value: Any, remedy: str) -> None:
    refused(lambda: make_driver("openai", model="m", **{name: value}), ConfigurationError, name, remedy)


# --- sources ------------------------------------------------------------------------------------

SOURCES: dict[str, tuple[Any, str, str]] = {
    "nothing": (None, "empty", "give text"),
    "an empty text": ("", "empty", "give text"),
    "a blank text": (" \n", "empty", "give text"),
    "an empty list": ([], "empty", "give text"),
    "a stack without messages": (PromptStack(), "empty", "with messages"),
    "a number": (5, "int", "give text"),
    "an object": (object(), "object", "give text"),
    "a set": ({"q"}, "set", "give text"),
    "one message as a dict": ({"role": "user", "content": "q"}, "dict", "a list of messages"),
    "a body as a dict": ({"messages": []}, "dict", "a list of messages"),
    "bytes": (b"x", "bytes", "ImageArtifact"),
    "bytes in a list": (["q", b"x"], "the source[1] is a bytes", "ImageArtifact"),
    "a number among artifacts": (["q", 5], "the source[1] is an int", "give text"),
    "a message among artifacts": (["q", {"role": "user", "content": "q"}], "the source[1]", "messages only"),
    "a message without a role": ([{"content": "q"}], "the source[0] is a dict", "with its role"),
    "an unknown role": ([{"role": "robot", "content": "q"}], "messages[0] has the role 'robot'", "assistant"),
    "content of a wrong type": ([{"role": "user", "content": 5}], "messages[0]", "give text or a list of parts"),
    "a part without a type": ([{"role": "user", "content": [{"text": "q"}]}], "messages[0], part 0,", "type"),
    "a part with a hole": ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0], part 0,", "image_url"),
    "calls of a wrong type": ([{"role": "assistant", "tool_calls": 5}], "messages[0]", "a list of calls"),
    "a call of a wrong type": ([{"role": "assistant", "tool_calls": [5]}], "messages[0], part 0,", "tool call"),
    "a call with a hole": (
        [{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}], "messages[0], part 0,", "custom",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "names", "remedy"), SOURCES.values(), ids=list(SOURCES))
@over_ways
def test_a_source_that_is_none(way: Any, source: Any, names: str, remedy: str) -> None:
    for api in APIS:
        refused(lambda api=api: way(api, source), ConversionError, names, remedy)  # type: ignore[misc]


# --- media --------------------------------------------------------------------------------------


def shown(url: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


MEDIA: dict[str, tuple[Any, str, str]] = {
    "bytes that are no picture": ([ImageArtifact(b"I am no picture")], "no image/png", "unsupported_media='text'"),
    "empty bytes": ([ImageArtifact(b"")], "empty", "give its bytes"),
    "broken base64": (shown("data:image/png;base64,@@@@"), "no base64", "give bytes"),
    "a picture no one takes": (
        shown("data:image/svg+xml;base64,PHN2Zy8+"),
        "image/svg+xml",
        "unsupported_media='text'",
    ),
    "a path for an address": ([ImageUrlArtifact("cat.png")], "'cat.png'", "https"),
    "an archive": ([BlobArtifact(b"PK\x03\x04", "image/x-archive")], "image/x-archive", "unsupported_media='text'"),
}


@pytest.mark.parametrize(("source", "names", "remedy"), MEDIA.values(), ids=list(MEDIA))
@over_ways
def test_media_that_cannot_be_sent(way: Any, source: Any, names: str, remedy: str) -> None:
    for api in APIS:
        error = refused(lambda api=api: way(api, source), ConversionError, names, remedy)  # type: ignore[misc]
        assert error.refs == ((0, 0),)  # type: ignore[attr-defined]
        assert error.api == api


@pytest.mark.parametrize("api", APIS[1:])
def test_sound_where_none_is_taken(api: str) -> None:
    sound = AudioArtifact(b"RIFF\0\0\0\0WAVEfmt ")
    refused(lambda: to(api, [sound]), ConversionError, "audio", "unsupported_media='text'")


def test_an_artifact_of_a_wrong_value() -> None:
    for artifact in (ImageArtifact("cat.png"), AudioArtifact(5)):  # type: ignore[arg-type]
        refused(lambda artifact=artifact: to(APIS[0], [artifact]), ConversionError, "holds bytes", "address")  # type: ignore[misc]


@over_apis
def test_bytes_as_the_result_of_a_tool(api: str) -> None:
    stack = [turn("user", "q"), turn("assistant", CALL), turn("user", ActionResultMessageContent("call_7", b"x"))]
    error = refused(lambda: to(api, stack), ConversionError, "bytes", "BlobArtifact")
    assert error.refs == ((2, 0),)  # type: ignore[attr-defined]


# --- tools --------------------------------------------------------------------------------------

NO_SCHEMA: dict[str, Any] = {
    "a list": [1],
    "a text": "object",
    "a type that is none": {"type": "objekt"},
    "a number that JSON has not": {"properties": {"a": {"default": float("nan")}}},
    "a value that JSON has not": {"properties": {"a": {"default": object()}}},
    "a set": {"properties": {"a": {"enum": {"x", "y"}}}},
    "a date": {"properties": {"a": {"default": datetime.date(2026, 1, 1)}}},
    "a type of Python's": {"properties": {"a": {"type": str}}},
    "a key that is no text": {"properties": {1: {"type": "string"}}},
}
PLACES = {
    "a number that JSON has not": "the number nan, which JSON has not, at properties.a.default",
    "a value that JSON has not": "an object, which JSON has not, at properties.a.default",
    "a set": "a set, which JSON has not, at properties.a.enum",
    "a date": "a date, which JSON has not, at properties.a.default",
    "a type of Python's": "a type, which JSON has not, at properties.a.type",
    "a key that is no text": "the key 1, which is no text, at properties",
}
TOOLS: dict[str, tuple[dict[str, Any], type[LLMNeutralError], str, str]] = {
    "no name": ({"tools": [tool(description="x")]}, ConfigurationError, "tools[0]", "'name'"),
    "an empty name": ({"tools": [LOOK, tool(name=" ")]}, ConfigurationError, "tools[1]", "'name'"),
    "a number": ({"tools": [5]}, ConfigurationError, "tools[0] is an int", "give a function"),
    "one tool without a list": ({"tools": LOOK}, ConfigurationError, "tools is a dict", "give a list"),
    "a text": ({"tools": "look"}, ConfigurationError, "tools is a str", "give a list"),
    "a number for the list": ({"tools": 5}, ConfigurationError, "tools is an int", "give a list"),
    "two of one name": ({"tools": [LOOK, tool(name="look", description="x")]}, ConversionError, "'look'", "rename one"),
    "a choice that is not there": ({"tools": [LOOK], "tool_choice": "gone"}, ConversionError, "'gone'", "look"),
    "a choice without tools": ({"tool_choice": "required"}, ConversionError, "'required'", "tools="),
    "a named choice without tools": ({"tool_choice": "look"}, ConversionError, "'named'", "tools="),
    **{
        f"a schema that is {what}": (
            {"tools": [tool(name="look", parameters=schema)]},
            ConversionError,
            "'look'",
            "schema",
        )
        for what, schema in NO_SCHEMA.items()
    },
}


@pytest.mark.parametrize(("given", "kind", "names", "remedy"), TOOLS.values(), ids=list(TOOLS))
@over_ways
def test_tools_that_cannot_be_sent(way: Any, given: Any, kind: Any, names: str, remedy: str) -> None:
    for api in APIS:
        refused(lambda api=api: way(api, **given), kind, names, remedy)  # type: ignore[misc]


@pytest.mark.parametrize("what", PLACES)
@pytest.mark.parametrize("native", [True, False], ids=["tools", "text"])
@over_ways
def test_what_is_no_json_in_a_tool_is_named_with_its_place(way: Any, native: bool, what: str) -> None:
    given = {"tools": [tool(name="look", parameters=NO_SCHEMA[what])], "use_native_tools": native}
    for api in APIS:
        if native or what != "a key that is no text":  # in a text it is one
            refused(lambda api=api: way(api, **given), ConversionError, "'look'", PLACES[what])  # type: ignore[misc]


@pytest.mark.parametrize("what", PLACES)
@pytest.mark.parametrize("strategy", ["auto", "native", "tool", "rule"])
@over_apis
def test_what_is_no_json_in_an_output_schema_is_named_with_its_place(api: str, strategy: str, what: str) -> None:
    given = {"output_schema": NO_SCHEMA[what], "structured_output_strategy": strategy}
    refused(lambda: to(api, **given), ConfigurationError, PLACES[what], "give lists")


@pytest.mark.parametrize("schema", [5, "City", [{}], b"x", {"type": "objekt"}])
@over_apis
def test_an_output_schema_that_is_none(api: str, schema: Any) -> None:
    refused(lambda: to(api, output_schema=schema), ConfigurationError, "chema", "Schema")


# --- calls and results --------------------------------------------------------------------------


@over_apis
def test_orphans_where_they_are_refused(api: str) -> None:
    call = [turn("user", "q"), turn("assistant", "t", CALL), turn("user", "x")]
    error = refused(lambda: to(api, call, orphan_calls="refuse"), ConversionError, "'call_7'", "orphan_calls")
    assert error.refs == ((1, 1),)  # type: ignore[attr-defined]
    result = [turn("user", "q"), turn("assistant", "t"), turn("user", RESULT)]
    error = refused(lambda: to(api, result, orphan_results="refuse"), ConversionError, "'call_7'", "orphan_results")
    assert error.refs == ((2, 0),)  # type: ignore[attr-defined]


@over_apis
@pytest.mark.parametrize("method", ["run", "stream"])
def test_a_driver_sends_no_open_calls(api: str, method: str) -> None:
    stack = PromptStack([turn("user", "q")])
    stack.add_assistant_message(ActionArtifact(ToolAction("call_7", "look")))
    driver = make_driver(api, model=MODELS[api], api_key="not-a-key", max_tokens=500)
    refused(lambda: list(getattr(driver, method)(stack) or ()), ConversionError, "call_7", "orphan_calls")


@over_apis
@pytest.mark.parametrize(
    ("message", "names"),
    [
        (turn("user", CALL), "'call_7'"),
        (turn("assistant", RESULT), "'call_7'"),
        (Message("robot", ()), "'robot'"),
    ],
)
def test_what_stands_where_it_cannot(api: str, message: Message, names: str) -> None:
    refused(lambda: to(api, [turn("user", "q"), message]), ConversionError, names, "message")


@over_apis
def test_broken_arguments_in_the_history_are_no_reason_to_refuse(api: str) -> None:
    """Nothing is lost: they go as they were written, or in an object that says so."""
    call = {"id": "call_7", "type": "function", "function": {"name": "look", "arguments": '{"city": "Pa'}}
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_7", "content": "x"},
    ]
    found = to(api, history)
    assert [event[4] for event in said(api, found.to_json()) if event[1] == "call"] == [{"_raw": '{"city": "Pa'}]
    assert [(change.kind, change.refs) for change in found.changes] == [("coerced", ((1, 0),))]


# --- what is read -------------------------------------------------------------------------------


@over_apis
@pytest.mark.parametrize("body", [5, "text", None, {"messages": 3, "input": 3}, {"messages": [5], "input": [5]}])
def test_a_request_that_is_none(api: str, body: Any) -> None:
    refused(lambda: llmneutral.read_request(body, api), ConversionError, "", "")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"messages": 3}', '{"messages": [{"role": "user", "content": 3}]}']
)
def test_a_stack_that_is_none(text: str) -> None:
    refused(lambda: PromptStack.from_json(text), ConversionError, "PromptStack", "JSON")
