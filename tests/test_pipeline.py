"""From a source to a request, and back from what a provider sends."""

from __future__ import annotations

import types
from typing import Any

import pytest

import llmneutral
from llmneutral import (
    ConfigurationError,
    Conversion,
    ConversionError,
    ImageArtifact,
    ListArtifact,
    Message,
    PromptStack,
    TextArtifact,
    TextMessageContent,
)
from llmneutral.convert.transport import Transport
from llmneutral.pipeline import convert, mode_of, names_of, plain, read_request, snapshot, target_of
from llmneutral.transports import registered
from tests.laws.answers import WIRE
from tests.laws.stacks import PNG
from tests.payloads import APIS, body, kinds, made, said, turn

over_apis = pytest.mark.parametrize("api", APIS)
CHAT, RESPONSES, MESSAGES = APIS
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"title": "City", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


# --- sources ------------------------------------------------------------------------------------

SOURCES: list[Any] = [
    "q",
    TextArtifact("q"),
    ListArtifact([TextArtifact("q")]),
    ["q"],
    [TextArtifact("q")],
    TextMessageContent("q"),
    Message("user", (TextMessageContent("q"),)),
    [Message("user", (TextMessageContent("q"),))],
    (turn("user", "q"),),
    [{"role": "user", "content": "q"}],
    [types.MappingProxyType({"role": "user", "content": [{"type": "text", "text": "q"}]})],
    PromptStack([turn("user", "q")]),
    PromptStack.from_artifact("q"),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
def test_what_a_source_may_be(source: Any) -> None:
    for api in APIS:
        assert said(api, body(api, source)) == [("user", "text", "q")]


def test_a_list_of_artifacts_is_one_message() -> None:
    picture = ImageArtifact(b"\x89PNG\r\n\x1a\n" + b"\0" * 16)
    assert said(CHAT, body(CHAT, ["look", picture])) == [("user", "text", "look"), ("user", "media", "image")]
    assert PNG in str(body(CHAT, ["look", picture]))


@pytest.mark.parametrize("source", [None, "", "  \n", [], (), PromptStack()])
def test_an_empty_prompt_is_refused(source: Any) -> None:
    with pytest.raises(ConversionError, match="the prompt is empty") as caught:
        convert(source, CHAT)
    assert caught.value.rule == "source"


def test_unless_the_prompt_stands_on_the_server() -> None:
    extra = {"prompt": {"id": "pmpt_1"}}
    assert made(RESPONSES, PromptStack(), extra_body=extra).to_json()["prompt"] == {"id": "pmpt_1"}


@pytest.mark.parametrize("source", [{"role": "user", "content": "q"}, b"bytes", {"messages": []}])
def test_what_a_source_may_not_be(source: Any) -> None:
    with pytest.raises(ConversionError, match=r"the source is a (dict|bytes); (give|wrap)"):
        convert(source, CHAT)


def test_a_source_is_frozen() -> None:
    stack = PromptStack([turn("user", "q")], tools=[TOOL], settings={"temperature": 1})
    frozen = snapshot(stack)
    stack.add_user_message("more")
    stack.tools.clear()
    stack.settings["temperature"] = 0
    assert (len(frozen.messages), len(frozen.tools), frozen.settings) == (1, 1, {"temperature": 1})
    assert snapshot(frozen) is frozen


# --- what is asked for --------------------------------------------------------------------------


def test_a_keyword_of_the_call_wins_over_what_the_stack_carries() -> None:
    stack = PromptStack([turn("user", "q")], tools=[TOOL], output_schema=SCHEMA, settings={"temperature": 1, "seed": 1})
    sent = body(CHAT, stack, temperature=0, tools=[], output_schema={**SCHEMA, "title": "Town"})
    assert (sent["temperature"], sent["seed"], "tools" in sent) == (0, 1, False)
    assert sent["response_format"]["json_schema"]["name"] == "Town"
    kept = body(CHAT, stack, temperature=None)
    assert (kept["temperature"], len(kept["tools"])) == (1, 1)
    chosen = PromptStack([turn("user", "q")], tools=[TOOL], settings={"tool_choice": "required"})
    assert body(CHAT, chosen)["tool_choice"] == "required"
    assert body(CHAT, chosen, tool_choice="none")["tool_choice"] == "none"


def test_several_targets() -> None:
    found = convert("q", ["claude", "openai"], max_tokens=100)
    assert list(found) == [MESSAGES, CHAT]
    assert all(isinstance(each, Conversion) for each in found.values())
    everything: Any = convert("q", "all", max_tokens=100)
    assert list(everything) == registered()


@pytest.mark.parametrize(
    ("name", "mode"), [("openai", CHAT), ("responses", RESPONSES), ("claude", MESSAGES), (" Chat ", CHAT)]
)
def test_aliases(name: str, mode: str) -> None:
    assert mode_of(name) == mode
    found = convert("q", name, max_tokens=5)
    assert found.api == mode


@pytest.mark.parametrize("to", [5, None, ["openai", 3], [None], "nope", ["nope"], ""])
def test_targets_that_are_none(to: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        convert("q", to)
    assert len(str(caught.value)) < 300


def test_the_subprocess_has_no_payload() -> None:
    with pytest.raises(ConversionError, match="make_driver"):
        convert("q", "codex_app_server")
    with pytest.raises(ConfigurationError, match="make_driver"):
        llmneutral.normalize({}, "codex_app_server")


@pytest.mark.parametrize(
    ("api", "more", "host"),
    [
        (CHAT, {}, "api.openai.com"),
        (MESSAGES, {}, "api.anthropic.com"),
        (CHAT, {"provider": "deepseek"}, None),
        (CHAT, {"base_url": "https://Proxy.example:8080/v1"}, "proxy.example"),
        ("bedrock_converse", {}, None),
    ],
)
def test_the_host_of_a_target(api: str, more: dict[str, Any], host: str | None) -> None:
    found = target_of(api, settings={}, **more)
    assert found.host == host
    assert (found.api, found.provider) == (api, more.get("provider"))


@over_apis
def test_what_the_face_gives_back(api: str) -> None:
    found = made(api, "q", tools=[TOOL], trace=True)
    assert found.api == api
    assert found.endpoint[0] == "POST"
    assert dict(found.names) == {"look": ("look", None)}
    assert found.target.model is not None
    assert repr(found).startswith(f"Conversion({api}, 0 changes")


# --- OpenAI's form of a format ------------------------------------------------------------------

FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
NO_FIELD = {"native_json_schema": False}


@pytest.mark.parametrize("api", [MESSAGES, "bedrock_converse", "gemini_native"])
def test_a_format_that_has_no_field_becomes_an_output_schema(api: str) -> None:
    asked = {"max_tokens": 100, "facts": NO_FIELD}
    found = convert("q", api, response_format=FORMAT, **asked)
    assert found.to_json() == convert("q", api, output_schema=SCHEMA, **asked).to_json()
    assert "final_answer" in str(found.to_json())
    assert found.answer is not None
    ruled = convert("q", api, response_format=FORMAT, structured_output_strategy="rule", **asked)
    assert "JSON Schema" in str(ruled.to_json())
    assert [change.kind for change in ruled.changes] == ["added"]


@pytest.mark.parametrize("api", [MESSAGES, "bedrock_converse", "gemini_native"])
def test_where_there_is_a_field_it_is_used(api: str) -> None:
    found = convert(
        "q", api, response_format=FORMAT, max_tokens=100, facts={"native_json_schema": True, "json_object": True}
    )
    assert "final_answer" not in str(found.to_json())
    assert "name" in str(found.to_json())


@pytest.mark.parametrize("api", registered())
@pytest.mark.parametrize("facts", [{}, {"json_object": False}])
def test_some_json_object_is_asked_for_as_each_api_can(api: str, facts: dict[str, Any]) -> None:
    found = convert("q", api, response_format={"type": "json_object"}, max_tokens=100, facts=facts)
    sent = str(found.to_json())
    field = any(word in sent for word in ("json_object", "application/json"))
    assert field or "JSON" in sent
    assert "text" in str(convert("q", api, response_format={"type": "text"}, max_tokens=100).to_json())


@over_apis
def test_an_output_schema_wins_over_a_format(api: str) -> None:
    other = {"type": "json_schema", "json_schema": {"name": "o", "schema": {"type": "object", "properties": {"x": {}}}}}
    found = made(api, "q", output_schema=SCHEMA, response_format=other)
    assert "'x'" not in str(found.to_json())


@pytest.mark.parametrize(
    "form", [{"type": "json_schema"}, {"type": "json_schema", "json_schema": None}, {"type": 5}, {}]
)
@over_apis
def test_a_format_that_is_none_breaks_nothing(api: str, form: dict[str, Any]) -> None:
    made(api, "q", response_format=form, facts=NO_FIELD)


# --- requests of providers ----------------------------------------------------------------------

REQUESTS: dict[str, dict[str, Any]] = {
    CHAT: {"model": "gpt-4.1", "messages": [{"role": "user", "content": "q"}], "temperature": 1, "user": "u"},
    RESPONSES: {"model": "gpt-5.4", "input": "q", "temperature": 1, "background": True},
    MESSAGES: {
        "model": "claude-sonnet-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "q"}],
        "temperature": 1, "container": "c",
    },
}  # fmt: skip


@over_apis
@pytest.mark.parametrize("other", APIS)
def test_keys_of_one_api_are_not_sent_to_another(api: str, other: str) -> None:
    stack = read_request(REQUESTS[api], api)
    assert stack.read_from == api
    (key,) = stack.settings["extra_body"]
    found = made(other, stack, max_tokens=100)
    assert (key in found.to_json()) is (api == other)
    dropped = [change for change in found.changes if change.why.startswith("extra_body: ")]
    assert [change.kind for change in dropped] == ([] if api == other else ["dropped"])
    assert all(key in change.why and api in change.why for change in dropped)
    assert "extra_body" in stack.settings  # nothing of the caller's is touched


@over_apis
def test_the_callers_own_keys_always_pass(api: str) -> None:
    for origin in APIS:
        stack = read_request(REQUESTS[origin], origin)
        found = made(api, stack, extra_body={"mine": 1}, max_tokens=100)
        assert found.to_json()["mine"] == 1
        assert not [change for change in found.changes if change.why.startswith("extra_body: ")]
    own = PromptStack([turn("user", "q")], settings={"extra_body": {"mine": 1}})
    assert body(api, own)["mine"] == 1


def test_where_a_stack_was_read_is_kept_with_it() -> None:
    stack = read_request(REQUESTS[CHAT], CHAT)
    again = PromptStack.from_json(stack.to_json())
    assert again == stack
    assert again.read_from == CHAT
    assert stack.without_reasoning_after((0, 0)).read_from == CHAT
    assert "read_from" not in PromptStack().to_json()


@over_apis
@pytest.mark.parametrize(
    "payload", [None, 3, "text", [], {}, {"messages": 3, "input": 3}, {"messages": [3], "input": [3]}]
)
def test_what_is_no_request(api: str, payload: Any) -> None:
    if api == RESPONSES and payload == {}:
        return  # everything may stand on the server
    with pytest.raises(ConversionError) as caught:
        read_request(payload, api)
    assert len(str(caught.value).splitlines()) == 1


# --- answers ------------------------------------------------------------------------------------

ANSWER = [("text", "Hello"), ("call", "call_1", "look", '{"a": 1}')]


class FromSdk:
    """An object as the SDKs give them."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def model_dump(self, *, mode: str, by_alias: bool) -> Any:
        assert (mode, by_alias) == ("json", True)
        return self.data


@over_apis
def test_answers_whole_and_streamed_as_dicts_and_objects(api: str) -> None:
    whole, stream = WIRE[api]
    found = llmneutral.normalize(whole(ANSWER), api)
    assert (found.text, [call.name for call in found.tool_calls]) == ("Hello", ["look"])
    assert llmneutral.normalize(FromSdk(whole(ANSWER)), api) == found
    chunks = stream(ANSWER, 2)
    streamed = llmneutral.aggregate(chunks, api)
    assert (streamed.text, streamed.to_dict()["tool_calls"]) == (found.text, found.to_dict()["tool_calls"])
    wrapped = [chunk if isinstance(chunk, str) else FromSdk(chunk) for chunk in chunks]
    assert llmneutral.aggregate(wrapped, api) == streamed
    deltas = list(llmneutral.normalize_stream(chunks, api))
    assert "".join(delta.text for delta in deltas) == "Hello"


@over_apis
def test_a_conversion_brings_the_names_and_who_was_asked(api: str) -> None:
    whole, stream = WIRE[api]
    tool = {"type": "function", "function": {"name": "a.look"}}
    conversion = made(api, "q", tools=[tool])
    answer = [("call", "call_1", "a_look", "{}")]
    for names in (conversion, conversion.names):
        assert [call.name for call in llmneutral.normalize(whole(answer), api, names=names).tool_calls] == ["a.look"]
        assert [call.name for call in llmneutral.aggregate(stream(answer, 3), api, names=names).tool_calls] == [
            "a.look"
        ]
    assert names_of(conversion) is conversion.names
    assert names_of(None) is None


def test_plain_data() -> None:
    assert plain({"a": 1}) == {"a": 1}
    assert plain("[DONE]") == "[DONE]"
    assert plain(FromSdk({"a": 1})) == {"a": 1}
    assert plain(3) == 3


def test_the_pipeline_names_no_transport_of_its_own() -> None:
    assert all(isinstance(llmneutral.get_transport(mode), Transport) for mode in registered())


@over_apis
def test_kinds_of_changes_are_those_of_the_contract(api: str) -> None:
    found = made(api, [turn("user"), turn("assistant", ""), turn("user", "x")], temperature=9, seed=1)
    assert set(kinds(found)) <= {"dropped", "merged", "moved", "rewritten", "renamed", "added", "coerced"}


def test_several_targets_stand_in_the_order_asked_for() -> None:
    asked = ["gemini_native", "chat_completions", "anthropic_messages"]
    assert list(convert("x", asked)) == asked
    assert list(convert("x", reversed(asked))) == asked[::-1]
