"""The body of a request: system, turns, tools, tool choice, settings, headers."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ActionCallMessageContent, ConversionError, Message, PromptStack, TextMessageContent

API = "anthropic_messages"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
LOOK: dict[str, Any] = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}
READ: dict[str, Any] = {"type": "function", "function": {"name": "files.read", "parameters": SCHEMA}}


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def convert(source: Any = "q", **settings: Any) -> Any:
    settings = {"model": "claude-sonnet-4-5", "max_tokens": 1000, **settings}
    if isinstance(source, list) and source and isinstance(source[0], Message):
        source = PromptStack(source)
    return ln.convert(source, API, **settings)


def body(source: Any = "q", **settings: Any) -> Any:
    return convert(source, **settings).to_json()


def kinds(conversion: Any) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def reasons(conversion: Any) -> str:
    return " | ".join(change.why for change in conversion.changes)


# --- endpoint, model, version ---------------------------------------------------------------------


def test_where_it_goes() -> None:
    assert convert().endpoint == ("POST", "/v1/messages")


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("claude-opus-4.8", "claude-opus-4-8"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("glm-4.6", "glm-4.6"),
    ],
)
def test_the_model_by_the_name_of_this_endpoint(model: str, sent: str) -> None:
    found = convert(model=model)
    assert found.payload["model"] == sent
    assert kinds(found) == ([] if model == sent else [("frame", "renamed")])


def test_an_aggregator_knows_models_with_their_vendor() -> None:
    found = convert(model="anthropic/claude-opus-4.6", base_url="https://openrouter.ai/api")
    assert found.payload["model"] == "anthropic/claude-opus-4.6"


def test_without_a_model_none_is_made_up() -> None:
    assert "model" not in ln.convert("q", API).payload


def test_the_newest_version_is_the_sdks_own_affair() -> None:
    assert convert().headers == {}


@pytest.mark.parametrize("setting", [{"temperature": 0.5}, {"top_p": 0.5}, {"top_k": 3}, {"temperature": 1}])
def test_sampling_asks_for_the_version_that_knows_it(setting: Any) -> None:
    found = convert(**setting)
    assert found.headers == {"anthropic-version": "2023-06-01"}
    assert found.payload["extra_body"] == setting
    assert setting.items() <= found.to_json().items()


def test_third_parties_get_the_version_they_know() -> None:
    assert convert(base_url="https://relay.acme.test/anthropic").headers == {"anthropic-version": "2023-06-01"}


# --- system ---------------------------------------------------------------------------------------


def test_one_instruction_is_a_string() -> None:
    assert body([turn("system", "Be brief."), turn("user", "q")])["system"] == "Be brief."


def test_several_instructions_stay_apart_in_order() -> None:
    stack = [turn("system", "A"), turn("developer", "B"), turn("user", "q")]
    assert body(stack)["system"] == [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]


def test_a_marked_instruction_is_a_list() -> None:
    stack = [turn("system", (TextMessageContent("A", cache=True),)), turn("user", "q")]
    assert body(stack)["system"] == [{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}]


def test_blank_instructions_vanish() -> None:
    found = body([turn("system", " "), turn("user", "q"), turn("system", ""), turn("user", "r")])
    assert "system" not in found
    assert [turn["role"] for turn in found["messages"]] == ["user"]


def test_instructions_alone_stay_where_they_are() -> None:
    found = convert([turn("system", "Write a haiku.")])
    assert found.payload["system"] == "Write a haiku."
    assert found.payload["messages"] == [{"role": "user", "content": [{"type": "text", "text": "(empty message)"}]}]
    assert kinds(found) == [("lead_with_user", "added")]


def test_instructions_are_text() -> None:
    with pytest.raises(ConversionError, match="instructions are text"):
        convert([turn("system", (ln.ImageMessageContent(url="https://x.test/a.png"),)), turn("user", "q")])


def test_a_late_instruction_stands_in_place() -> None:
    stack = [turn("user", "a"), turn("assistant", "b"), turn("user", "c"), turn("system", "Be brief.")]
    found = convert(stack, model="claude-opus-4-8")
    assert found.payload["messages"][-1] == {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    assert found.changes == ()


def test_a_late_instruction_is_the_users_where_the_role_is_unknown() -> None:
    found = convert([turn("user", "a"), turn("assistant", "b"), turn("system", "Be brief.")])
    assert found.payload["messages"][-1]["content"][0]["text"] == "<system>\nBe brief.\n</system>"
    assert kinds(found) == [("lift_system", "rewritten")]


# --- turns ----------------------------------------------------------------------------------------


def test_neighbours_of_one_role_become_one_turn_of_separate_blocks() -> None:
    found = convert([turn("user", "a"), turn("user", "b"), turn("assistant", "c"), turn("user", "d")])
    assert [len(turn["content"]) for turn in found.payload["messages"]] == [2, 1, 1]
    assert kinds(found) == [("merge_same_role", "merged")]


def test_the_first_turn_is_the_users() -> None:
    found = convert([turn("assistant", "Summary."), turn("user", "go on")])
    assert found.payload["messages"][0] == {"role": "user", "content": [{"type": "text", "text": "(empty)"}]}
    assert kinds(found) == [("lead_with_user", "added")]


def test_an_empty_turn_of_the_assistant_gets_a_placeholder() -> None:
    found = convert([turn("user", "a"), turn("assistant", " "), turn("user", "b")])
    assert found.payload["messages"][1]["content"] == [{"type": "text", "text": "(empty)"}]
    assert kinds(found) == [("drop_blank_text", "dropped"), ("fill_empty", "added")]


@pytest.mark.parametrize(("text", "sent"), [("The answer is ( \n", "The answer is ("), ("  ", None)])
def test_a_prefill_loses_the_white_space_at_its_end(text: str, sent: str | None) -> None:
    found = body([turn("user", "q"), turn("assistant", text)])["messages"]
    assert [turn["content"][0]["text"] for turn in found[1:]] == ([] if sent is None else [sent])


def test_a_model_without_prefill_is_asked_to_go_on() -> None:
    found = convert([turn("user", "q"), turn("assistant", "{ ")], model="claude-opus-4-6")
    assert [turn["content"][0]["text"] for turn in found.payload["messages"]] == ["q", "{ ", "Continue."]
    assert kinds(found) == [("last_turn", "added")]


def test_a_paused_turn_goes_back_to_be_continued() -> None:
    use = ln.GenericMessageContent({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})
    found = convert([turn("user", "q"), turn("assistant", (use,))], model="claude-opus-4-8")
    assert found.payload["messages"][-1]["role"] == "assistant"
    assert found.changes == ()


def test_calls_at_the_end_wait_for_their_results() -> None:
    found = convert([turn("user", "q"), turn("assistant", (ActionCallMessageContent("c1", "look"),))])
    assert found.open_calls == ("c1",)
    assert found.changes == ()


def test_names_of_participants_are_not_sent() -> None:
    found = convert([turn("user", "q", name="bob")])
    assert "bob" not in str(found.payload)
    assert "bob" in reasons(found)


# --- tools ----------------------------------------------------------------------------------------


def test_a_tool() -> None:
    assert body(tools=[LOOK])["tools"] == [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}]


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}])
def test_a_tool_without_parameters_has_an_empty_object(parameters: Any) -> None:
    found = body(tools=[{"type": "function", "function": {"name": "now", "parameters": parameters}}])
    assert found["tools"][0]["input_schema"] == {"type": "object", "properties": {}}


def test_what_a_schema_loses_is_told_once_a_tool() -> None:
    union = {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}
    found = convert(tools=[{"type": "function", "function": {"name": "run", "parameters": union}}])
    schema = found.payload["tools"][0]["input_schema"]
    assert schema["type"] == "object"
    assert "anyOf" not in schema
    assert [change.kind for change in found.changes if "'run'" in change.why] == ["coerced"]


def test_property_names_go_and_come_back() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"bad key!": {}}}}}
    found = convert(tools=[tool])
    (key,) = found.payload["tools"][0]["input_schema"]["properties"]
    assert key != "bad key!"
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {key: 1}}
    answer = ln.normalize({"content": [call], "stop_reason": "tool_use"}, API, names=found)
    assert answer.tool_calls[0].input == {"bad key!": 1}


def test_strict_closes_the_schema() -> None:
    tool = {"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}
    found = body(tools=[tool])["tools"][0]
    assert found["strict"] is True
    assert found["input_schema"]["additionalProperties"] is False


def test_strict_is_left_out_where_it_is_not_understood() -> None:
    tool = {"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}
    found = convert(tools=[tool], facts={"strict_tools": False})
    assert "strict" not in found.payload["tools"][0]
    assert "'f'" in reasons(found)


def test_a_tool_carries_a_cache_mark() -> None:
    assert body(tools=[{**LOOK, "cache": "1h"}])["tools"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_the_providers_own_tools_go_as_they_are() -> None:
    search = {"type": "web_search_20260209", "name": "web_search", "max_uses": 3}
    mcp = {"type": "mcp_toolset", "mcp_server_name": "wiki"}
    assert body(tools=[search, mcp])["tools"] == [search, mcp]


def test_tools_of_another_provider_are_dropped() -> None:
    found = convert(tools=[{"type": "web_search_preview"}, LOOK])
    assert [tool["name"] for tool in found.payload["tools"]] == ["look"]
    assert kinds(found) == [("frame", "dropped")]


def test_a_name_the_api_does_not_take_is_the_same_everywhere() -> None:
    call = ActionCallMessageContent("c1", "files.read", input={"city": "x"})
    stack = [
        turn("user", "q"),
        turn("assistant", (call,)),
        turn("user", (ln.ActionResultMessageContent("c1"),)),
    ]
    found = body(stack, tools=[READ], tool_choice="files.read")
    names = {found["tools"][0]["name"], found["tool_choice"]["name"], found["messages"][1]["content"][0]["name"]}
    assert names == {"files_read"}


# --- tool choice ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, None),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "look"}, {"type": "tool", "name": "look"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"parallel_tool_calls": True}, {"type": "auto", "disable_parallel_tool_use": False}),
        (
            {"tool_choice": "required", "parallel_tool_calls": False},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
    ],
)
def test_which_tool_is_called(settings: Any, choice: Any) -> None:
    found = convert(tools=[LOOK], **settings)
    assert found.payload.get("tool_choice") == choice
    assert found.changes == ()


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "claude-opus-5-5"},
        {"thinking_budget": 2000, "max_tokens": 5000},
        {"model": "claude-opus-4-8", "reasoning_effort": "low"},
        {"model": "claude-fable-5"},  # it thinks unless told otherwise
    ],
)
@pytest.mark.parametrize("choice", ["required", "look"])
def test_a_forced_call_gives_way(settings: Any, choice: str) -> None:
    found = convert(tools=[LOOK], tool_choice=choice, **settings)
    assert "tool_choice" not in found.payload
    assert kinds(found) == [("tool_choice", "coerced")]
    with pytest.raises(ConversionError, match="tool_choice"):
        convert(tools=[LOOK], tool_choice=choice, on_conflict="refuse", **settings)


def test_a_forced_call_stays_where_the_model_does_not_think() -> None:
    found = convert(tools=[LOOK], tool_choice="required", model="claude-opus-4-8")
    assert found.payload["tool_choice"] == {"type": "any"}


def test_allowed_tools_are_the_only_ones_offered() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]}
    found = convert(tools=[LOOK, READ], tool_choice=allowed)
    assert [tool["name"] for tool in found.payload["tools"]] == ["look"]
    assert found.payload["tool_choice"] == {"type": "any"}
    assert ("tool_choice", "coerced") in kinds(found)


def test_a_choice_needs_tools() -> None:
    with pytest.raises(ConversionError, match="needs tools"):
        convert(tool_choice="required")
    found = convert(parallel_tool_calls=False)
    assert "tool_choice" not in found.payload
    assert kinds(found) == [("tool_choice", "dropped")]


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sent", "kind", "source"),
    [
        ({"model": "claude-sonnet-4-5"}, 21_333, "added", "the SDK's limit for a call without a stream"),
        ({"model": "claude-3-opus-20240229"}, 4_096, "added", "the model's limit"),
        ({"model": "claude-sonnet-4-5", "stream": True}, 64_000, "added", "the model's limit"),
        ({"model": "mystery"}, 16_384, "added", "a moderate number, as no limit of the model is known"),
        ({}, 16_384, "added", "a moderate number, as no limit of the model is known"),
        ({"model": "claude-opus-4-1", "max_tokens": 99_000}, 32_000, "coerced", "more than this model gives"),
        ({"model": "claude-opus-4-1", "max_tokens": 32_000}, 32_000, None, ""),
    ],
)
def test_max_tokens_and_where_the_number_is_from(settings: Any, sent: int, kind: str | None, source: str) -> None:
    found = ln.convert("q", API, **settings)
    assert found.payload["max_tokens"] == sent
    told = [change for change in found.changes if "max_tokens" in change.why]
    assert [change.kind for change in told] == ([] if kind is None else [kind])
    assert all([source in change.why and f"{sent} is sent" in change.why for change in told])


@pytest.mark.parametrize(
    ("settings", "sent", "dropped"),
    [
        ({"temperature": 1.7}, {"temperature": 1}, []),
        ({"temperature": 0.3, "top_p": 0.8}, {"temperature": 0.3}, ["top_p"]),
        ({"temperature": 0.3, "model": "claude-opus-5"}, {}, ["temperature"]),
        ({"top_p": 0.3, "top_k": 2, "model": "claude-opus-4-8"}, {}, ["top_p", "top_k"]),
        (
            {"temperature": 0.2, "top_p": 0.5, "top_k": 1, "thinking_budget": 2000, "max_tokens": 9000},
            {},
            ["temperature", "top_p", "top_k"],
        ),
        ({"top_p": 0.97, "thinking_budget": 2000, "max_tokens": 9000}, {"top_p": 0.97}, []),
        ({"temperature": 1, "thinking_budget": 2000, "max_tokens": 9000}, {"temperature": 1}, []),
    ],
)
def test_sampling(settings: Any, sent: Any, dropped: list[str]) -> None:
    found = convert(**settings)
    assert {
        key: found.to_json().get(key) for key in ("temperature", "top_p", "top_k") if key in found.to_json()
    } == sent
    assert [change.why.partition(":")[0] for change in found.changes if change.kind == "dropped"] == dropped


def test_both_stay_where_the_model_takes_both() -> None:
    found = body(temperature=0.3, top_p=0.8, model="claude-sonnet-4")
    assert (found["temperature"], found["top_p"]) == (0.3, 0.8)


def test_blank_stop_sequences_are_dropped() -> None:
    found = convert(stop=["\n\n", "", " END"])
    assert found.payload["stop_sequences"] == [" END"]
    assert kinds(found) == [("params", "dropped")]
    assert "stop_sequences" not in convert(stop=[" "]).payload


@pytest.mark.parametrize("setting", ["seed", "presence_penalty", "verbosity", "store"])
def test_what_the_api_does_not_know_is_dropped_by_name(setting: str) -> None:
    value: Any = {"seed": 1, "presence_penalty": 0.5, "verbosity": "low", "store": False}[setting]
    found = convert(**{setting: value})
    assert found.payload.keys() == {"model", "max_tokens", "messages"}
    assert [change.kind for change in found.changes if change.why.startswith(setting)] == ["dropped"]


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"metadata": {"user_id": "u1"}}, {"metadata": {"user_id": "u1"}}),
        ({"metadata": {"user_id": "u1", "team": "x"}}, {"metadata": {"user_id": "u1"}}),
        ({"safety_identifier": "s1"}, {"metadata": {"user_id": "s1"}}),
        ({"metadata": {"user_id": "u1"}, "safety_identifier": "s1"}, {"metadata": {"user_id": "u1"}}),
        ({"service_tier": "standard_only"}, {"service_tier": "standard_only"}),
        ({"service_tier": "default"}, {"service_tier": "standard_only"}),
        ({"service_tier": "flex"}, {}),
        ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        ({"stream": True}, {"stream": True}),
    ],
)
def test_further_settings(settings: Any, sent: Any) -> None:
    found = body(**settings)
    assert {key: value for key, value in found.items() if key not in ("model", "max_tokens", "messages")} == sent


def test_a_mark_of_the_whole_request_needs_a_cache() -> None:
    found = convert(cache_control={"type": "ephemeral"}, facts={"cache": "none"})
    assert "cache_control" not in found.payload
    assert kinds(found) == [("params", "dropped")]


def test_speed_needs_a_beta() -> None:
    found = convert(speed="fast")
    assert found.payload["speed"] == "fast"
    assert found.headers == {"anthropic-beta": "fast-mode-2026-02-01"}


def test_extra_body_comes_last_and_wins() -> None:
    assert body(extra_body={"max_tokens": 5, "container": "c"})["max_tokens"] == 5


# --- structured output ----------------------------------------------------------------------------


def test_the_apis_own_field_holds_the_schema() -> None:
    found = body(output_schema=SCHEMA, tools=[LOOK])
    assert found["output_config"] == {
        "format": {"type": "json_schema", "schema": {**SCHEMA, "additionalProperties": False}}
    }
    assert [tool["name"] for tool in found["tools"]] == ["look"]


def test_openais_form_of_a_format_is_understood() -> None:
    given = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}
    assert body(response_format=given)["output_config"]["format"]["schema"]["properties"] == SCHEMA["properties"]
    found = convert(response_format=given, model="claude-sonnet-4")
    assert "output_config" not in found.payload
    assert [tool["name"] for tool in found.payload["tools"]] == ["final_answer"]
    assert kinds(found) == [("structured_output", "added")]


def test_a_format_without_schema_is_asked_for_in_words() -> None:
    found = convert(response_format={"type": "json_object"})
    assert "JSON object" in found.payload["system"]
    assert kinds(found) == [("response_format", "added")]
    assert convert(response_format={"type": "text"}).changes == ()


def test_a_format_excludes_a_prefill() -> None:
    found = convert([turn("user", "q"), turn("assistant", "{")], output_schema=SCHEMA)
    assert found.payload["messages"][-1]["content"] == [{"type": "text", "text": "Continue."}]
    assert ("room_for_format", "added") in kinds(found)


def test_a_format_excludes_citations() -> None:
    cited = {"citations": {"enabled": True}}
    document = ln.DocumentMessageContent(text="w", native=cited)
    result = ln.GenericMessageContent({"type": "search_result", "source": "s", "title": "t", "content": [], **cited})
    call = ActionCallMessageContent("c1", "look")
    stack = [
        turn("user", (document, result)),
        turn("assistant", (call,)),
        turn("user", (ln.ActionResultMessageContent("c1", None, (document,)),)),
    ]
    assert "enabled" in str(body(stack))
    found = convert(stack, output_schema=SCHEMA)
    assert "enabled" not in str(found.payload)
    assert [change.kind for change in found.changes if change.step == "room_for_format"] == ["coerced"] * 3
