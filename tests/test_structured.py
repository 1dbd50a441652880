"""An answer in a form: how it is asked for behind each API, and how it is read."""

from __future__ import annotations

import dataclasses
from typing import Any, TypedDict

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import ConfigurationError, StructuredOutputError, profile
from llmneutral.convert.settings import ToolChoice, canonical_settings
from llmneutral.ir.jsontext import dumps
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.tools import definitions
from llmneutral.structured import ANSWER_TOOL, Plan, find_json, parse, plan, wants_parsing
from tests.payloads import APIS, body, kinds, made, said, turn

over_apis = pytest.mark.parametrize("api", APIS)
SCHEMA = {
    "title": "City",
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name"],
}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


class City(pydantic.BaseModel):
    name: str
    size: int = 0


@dataclasses.dataclass
class Town:
    name: str


class Village(TypedDict):
    name: str


def planned(schema: Any = SCHEMA, *, tools: Any = (), facts: dict[str, Any] | None = None, **settings: Any) -> Plan:
    found = profile("anthropic_messages", model="claude-sonnet-4-5", facts=facts)
    return plan(schema, canonical_settings(settings), found, definitions(tools))


# --- which strategy -----------------------------------------------------------------------------

NO_FIELD = {"native_json_schema": False}
NAMED, REQUIRED = ToolChoice("named", (ANSWER_TOOL,)), ToolChoice("required")


@pytest.mark.parametrize(
    ("facts", "tools", "settings", "strategy", "choice"),
    [
        ({"native_json_schema": True}, [], {}, "native", None),
        ({"native_json_schema": True}, [TOOL], {}, "native", None),
        ({"native_json_schema": True, "json_with_tools": False}, [TOOL], {}, "tool", REQUIRED),
        ({"native_json_schema": True, "json_with_tools": False}, [], {}, "native", None),
        (NO_FIELD, [], {}, "tool", NAMED),
        (NO_FIELD, [TOOL], {}, "tool", REQUIRED),
        ({**NO_FIELD, "forced_tool_choice": False}, [], {}, "tool", None),
        ({**NO_FIELD, "tool_choice_required": False}, [], {}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"reasoning_effort": "high"}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"thinking_budget": 2000}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"reasoning_effort": "none"}, "tool", NAMED),
        ({**NO_FIELD, "tools": False}, [], {}, "rule", None),
        ({"native_json_schema": True}, [], {"structured_output_strategy": "tool"}, "tool", NAMED),
        ({"native_json_schema": True}, [], {"structured_output_strategy": "rule"}, "rule", None),
        (NO_FIELD, [], {"structured_output_strategy": "native"}, "native", None),
    ],
)
def test_the_strategy(facts: Any, tools: Any, settings: Any, strategy: str, choice: Any) -> None:
    found = planned(facts=facts, tools=tools, **settings)
    assert (found.strategy, found.tool_choice) == (strategy, choice)
    assert bool(found.passes) is (strategy != "native")


@pytest.mark.parametrize("kind", [SCHEMA, City, Town, Village])
def test_what_a_schema_may_be(kind: Any) -> None:
    found = planned(kind)
    assert found.schema["type"] == "object"
    assert found.name in ("City", "Town", "Village")
    assert found.kind is kind


@pytest.mark.parametrize("kind", [3, "City", [SCHEMA], object()])
def test_what_it_may_not_be(kind: Any) -> None:
    with pytest.raises(ConfigurationError):
        planned(kind)


@pytest.mark.parametrize("root", [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}, {"enum": ["a"]}])
def test_a_root_that_is_no_object_is_wrapped(root: dict[str, Any]) -> None:
    found = planned(root)
    assert found.wrapped
    assert found.schema["required"] == ["value"]
    assert found.schema["properties"]["value"] == root


def test_the_answers_tool_makes_room_for_the_callers() -> None:
    taken = [{"type": "function", "function": {"name": name}} for name in (ANSWER_TOOL, f"{ANSWER_TOOL}_2")]
    found = planned(facts=NO_FIELD, tools=taken)
    assert found.tool == f"{ANSWER_TOOL}_3"


# --- how it is asked for ------------------------------------------------------------------------


@over_apis
def test_the_apis_own_field(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA)
    sent = found.to_json()
    fields = {
        "chat_completions": lambda: sent["response_format"]["json_schema"],
        "codex_responses": lambda: sent["text"]["format"],
        "anthropic_messages": lambda: sent["output_config"]["format"],
    }
    field = fields[api]()
    assert field["schema"]["properties"]["name"] == {"type": "string"}
    assert field.get("name", "City") == "City"
    assert "tools" not in sent
    assert said(api, sent) == [("user", "text", "q")]


@over_apis
def test_a_tool_that_has_to_be_called(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA, structured_output_strategy="tool")
    sent = found.to_json()
    (tool,) = sent["tools"]
    tool = tool.get("function", tool)
    assert tool["name"] == ANSWER_TOOL
    assert (tool.get("parameters") or tool["input_schema"])["properties"] == SCHEMA["properties"]
    assert ANSWER_TOOL in str(sent["tool_choice"])
    assert kinds(found) == ["added"]


@over_apis
def test_beside_the_callers_tools_some_tool_has_to_be_called(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA, structured_output_strategy="tool", tools=[TOOL])
    sent = found.to_json()
    assert [tool.get("function", tool)["name"] for tool in sent["tools"]] == ["look", ANSWER_TOOL]
    assert sent["tool_choice"] in ("required", {"type": "any"})


@over_apis
@pytest.mark.parametrize("more", [{"tool_choice": "auto"}, {"facts": {"forced_tool_choice": False}}])
def test_where_a_call_is_not_forced_words_ask_for_it(api: str, more: dict[str, Any]) -> None:
    found = made(
        api, [turn("system", "be"), turn("user", "q")], output_schema=SCHEMA, structured_output_strategy="tool", **more
    )
    (system,) = [event[2] for event in said(api, found.to_json()) if event[0] == "system"]
    assert system.startswith("be\n\n")
    assert ANSWER_TOOL in system
    assert kinds(found) == ["added", "added"]


@over_apis
def test_a_rule_in_the_instructions(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA, structured_output_strategy="rule")
    system, question = said(api, found.to_json())
    assert system[:2] == ("system", "text")
    assert dumps(SCHEMA) in system[2]
    assert question == ("user", "text", "q")
    assert kinds(found) == ["added"]
    longer = made(
        api, [turn("system", "be"), turn("user", "q")], output_schema=SCHEMA, structured_output_strategy="rule"
    )
    assert said(api, longer.to_json())[0][2].startswith("be\n\n")


@over_apis
def test_nothing_of_the_callers_is_touched(api: str) -> None:
    stack = llmneutral.PromptStack([turn("system", "be"), turn("user", "q")], tools=[TOOL], output_schema=SCHEMA)
    before = stack.to_json()
    for strategy in ("native", "tool", "rule"):
        first = body(api, stack, structured_output_strategy=strategy)
        assert body(api, stack, structured_output_strategy=strategy) == first
    assert stack.to_json() == before


# --- how it is read -----------------------------------------------------------------------------


def answer(text: str, *calls: dict[str, Any], finish: str = "stop", refusal: str | None = None) -> NormalizedResponse:
    tool_calls = [
        {"id": "c", "type": "function", "function": {"name": call["name"], "arguments": dumps(call["input"])}}
        for call in calls
    ]
    message = {
        "role": "assistant",
        "content": text,
        "refusal": refusal,
        **({"tool_calls": tool_calls} if calls else {}),
    }
    return llmneutral.normalize({"choices": [{"message": message, "finish_reason": finish}]}, "chat_completions")


RULE = planned(structured_output_strategy="rule")
NATIVE = planned(facts={"native_json_schema": True})


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Rome"}',
        ' \n{"name": "Rome"}\n',
        '\ufeff{"name": "Rome"}',
        'Here:\n```json\n{"name": "Rome"}\n```\nDone.',
        '```\n{"name": "Rome"}\n```',
        '```JSON\n{"name": "Rome"}\n```',
        '```json\n{"a": 1}\n```\nno, better:\n```json\n{"name": "Rome"}\n```',
        '```python\nx = 1\n```\n```json\n{"name": "Rome"}\n```',
    ],
)
def test_json_in_an_answer(text: str) -> None:
    assert parse(answer(text), RULE) == {"name": "Rome"}
    assert parse(answer(text), NATIVE) == {"name": "Rome"}


@pytest.mark.parametrize("text", ['The answer is {"name": "Rome"}, I think {so}.', 'Look [here], {"name": "Rome"}'])
def test_the_first_balanced_value_counts_only_where_no_field_enforced_the_form(text: str) -> None:
    assert find_json(text, loose=True)[0]
    with pytest.raises(StructuredOutputError, match="no JSON"):
        parse(answer(text), NATIVE)


@pytest.mark.parametrize("text", ["", "no json", "{", '{"name": ', "```json\n{\n```"])
def test_nothing_is_repaired_by_guessing(text: str) -> None:
    with pytest.raises(StructuredOutputError) as caught:
        parse(answer(text), RULE)
    assert caught.value.attempts[0]["text"] == text
    assert caught.value.partial is not None


@given(st.text(max_size=40))
def test_any_text_is_read_or_not(text: str) -> None:
    for loose in (True, False):
        found, value = find_json(text, loose=loose)
        assert found or value is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [({}, "name"), ({"name": 3}, "name"), ({"name": "Rome", "size": "big"}, "size"), ([1], "the answer")],
)
def test_what_breaks_the_schema_is_told_by_its_place(value: Any, problem: str) -> None:
    for kind in (SCHEMA, City):
        with pytest.raises(StructuredOutputError) as caught:
            parse(answer(dumps(value)), planned(kind, structured_output_strategy="rule"))
        assert any(problem in each or "the answer" in each for each in caught.value.attempts[0]["problems"])
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (City, '{"name": "Rome", "size": 3}', City(name="Rome", size=3)),
        (Town, '{"name": "Rome"}', Town("Rome")),
        (Village, '{"name": "Rome"}', {"name": "Rome"}),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (int, '{"value": 3}', 3),
        ({"type": "array", "items": {"type": "integer"}}, '{"value": [1]}', [1]),
        ({"type": "array", "items": {"type": "integer"}}, "[1]", [1]),
    ],
)
def test_the_value_is_what_was_asked_for(kind: Any, text: str, value: Any) -> None:
    assert parse(answer(text), planned(kind, structured_output_strategy="rule")) == value


def test_nulls_of_strict_mode_are_what_was_not_given() -> None:
    assert parse(answer('{"name": "Rome", "size": null}'), NATIVE) == {"name": "Rome"}
    with pytest.raises(StructuredOutputError):
        parse(answer('{"name": "Rome", "size": null}'), RULE)


def test_the_call_of_the_answers_tool_is_the_answer() -> None:
    by_tool = planned(facts=NO_FIELD)
    found = answer("thinking aloud", {"name": ANSWER_TOOL, "input": {"name": "Rome"}}, finish="tool_calls")
    assert parse(found, by_tool) == {"name": "Rome"}
    assert parse(answer('{"name": "Rome"}'), by_tool) == {"name": "Rome"}


@pytest.mark.parametrize(
    ("calls", "wanted"), [([], True), ([ANSWER_TOOL], True), (["look"], False), (["look", ANSWER_TOOL], True)]
)
def test_a_turn_that_calls_the_callers_tools_is_no_answer(calls: list[str], wanted: bool) -> None:
    response = answer("", *[{"name": name, "input": {}} for name in calls])
    assert wants_parsing(response, planned(facts=NO_FIELD)) is wanted


@pytest.mark.parametrize(("finish", "words"), [("length", "raise max_tokens"), ("content_filter", "content_filter")])
def test_an_answer_that_ended_otherwise_is_no_value(finish: str, words: str) -> None:
    with pytest.raises(StructuredOutputError, match=words):
        parse(answer('{"name": "Rome"}', finish=finish), RULE)


def test_a_refusal_is_no_value() -> None:
    with pytest.raises(StructuredOutputError, match="refusal"):
        parse(answer("", refusal="I will not"), RULE)


# --- all the way --------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["native", "tool", "rule"])
def test_parsed_is_filled_by_the_conversion(strategy: str) -> None:
    conversion = made("chat_completions", "q", output_schema=City, structured_output_strategy=strategy)
    value = {"name": "Rome", "size": 3}
    if strategy == "tool":
        call = {"id": "c", "type": "function", "function": {"name": ANSWER_TOOL, "arguments": dumps(value)}}
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
    else:
        message = {"role": "assistant", "content": dumps(value)}
    wire = {"choices": [{"message": message, "finish_reason": "stop"}]}
    assert llmneutral.normalize(wire, "chat_completions", names=conversion).parsed == City(name="Rome", size=3)
    assert llmneutral.normalize(wire, "chat_completions", names=conversion.names).parsed is None


def test_what_is_no_value_is_a_note() -> None:
    conversion = made("chat_completions", "q", output_schema=City)
    wire = {"choices": [{"message": {"role": "assistant", "content": "no"}, "finish_reason": "stop"}]}
    response = llmneutral.normalize(wire, "chat_completions", names=conversion)
    assert response.parsed is None
    assert any("no JSON" in note for note in response.notes)
