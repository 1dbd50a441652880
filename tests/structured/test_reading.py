"""How an answer in a form is read: what is JSON in it, what does not fit, and where."""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    InvalidActionCallMessageContent,
    Message,
    StructuredOutputError,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert import feedback
from llmneutral.ir.jsontext import dumps
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.structured import ANSWER_TOOL, find_json, judged, parse, told, wants_parsing
from tests.payloads import made
from tests.structured.forms import BY_TOOL, NATIVE, NO_FIELD, RULE, SCHEMA, TOOL, City, Town, Village, answer, planned


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
    assert caught.value.response is caught.value.partial


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
    with pytest.raises(StructuredOutputError, match="no JSON"):
        parse(answer('The answer is {"name": "Rome"}'), by_tool)


@pytest.mark.parametrize(
    ("calls", "wanted"), [([], True), ([ANSWER_TOOL], True), (["look"], False), (["look", ANSWER_TOOL], True)]
)
def test_a_turn_that_calls_the_callers_tools_is_no_answer(calls: list[str], wanted: bool) -> None:
    response = answer("", *[{"name": name, "input": {}} for name in calls])
    assert wants_parsing(response, planned(facts=NO_FIELD, tools=[TOOL])) is wanted
    assert wants_parsing(response, BY_TOOL)


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


# --- rules of reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [RULE, NATIVE])
def test_the_whole_text_comes_before_a_fence_in_it_and_the_last_fence_before_the_others(plan: Any) -> None:
    assert parse(answer('{"name": "a ```json\\n{}\\n``` b"}'), plan) == {"name": "a ```json\n{}\n``` b"}
    two = '```json\n{"name": "one"}\n```\nor\n```\n{"name": "two"}\n```\nand\n```json\n{broken\n```'
    assert parse(answer(two), plan) == {"name": "two"}
    assert parse(answer(' \ufeff\n{"name": "Rome"}'), plan) == {"name": "Rome"}


@pytest.mark.parametrize("plan", [RULE, NATIVE])
def test_thinking_and_commentary_are_not_read(plan: Any) -> None:
    commentary = TextMessageContent('{"name": "aside"}', native={"phase": "commentary"})
    final = TextMessageContent('{"name": "Rome"}', native={"phase": "final_answer"})
    blocks = (ThinkingMessageContent('{"name": "thought"}'), commentary, final)
    response = NormalizedResponse(Message("assistant", blocks), finish_reason="stop")
    assert parse(response, plan) == {"name": "Rome"}
    with pytest.raises(StructuredOutputError, match="it is empty"):
        parse(NormalizedResponse(Message("assistant", blocks[:2]), finish_reason="stop"), plan)


@pytest.mark.parametrize("opening", ['{"name":', "[", '{"a": [', "[{"])
@pytest.mark.parametrize("plan", [RULE, NATIVE])
def test_what_is_nested_too_deeply_is_an_error_and_no_crash(opening: str, plan: Any) -> None:
    for text in (opening * 60_000, opening * 60_000 + "1" + "]" * 60_000, f"see ```json\n{opening * 60_000}\n```"):
        began = time.perf_counter()
        with pytest.raises(StructuredOutputError):
            parse(answer(text), plan)
        assert time.perf_counter() - began < 4
    deep: Any = {"name": "x"}
    for _ in range(900):
        deep = {"name": "x", "more": deep}
    with pytest.raises(StructuredOutputError, match=r"nested too deeply|expected"):
        parse(answer(dumps([deep])), planned({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": DEEP}}))


DEEP = {"type": "object", "properties": {"name": {"type": "integer"}, "more": {"$ref": "#/$defs/a"}}}


def test_nan_is_no_json() -> None:
    for text in ('{"name": "a", "size": NaN}', 'see {"name": "a", "size": Infinity}'):
        with pytest.raises(StructuredOutputError, match="no JSON"):
            parse(answer(text), RULE)


def test_arguments_that_are_no_json_are_an_answer_and_wrong() -> None:
    for raw, words in (('{"name": ', "no valid JSON"), ("[1]", "expected a JSON object")):
        response = answer("", {"name": ANSWER_TOOL, "raw": raw}, finish="tool_calls")
        assert wants_parsing(response, BY_TOOL)
        with pytest.raises(StructuredOutputError, match=words) as caught:
            parse(response, BY_TOOL)
        assert caught.value.attempts[0]["text"] == raw


def test_an_invalid_call_of_the_callers_and_a_pause_are_no_answers() -> None:
    beside = planned(facts={"native_json_schema": True}, tools=[TOOL])
    assert beside.strategy == "native"
    assert not wants_parsing(answer("", {"name": "look", "raw": "{"}), beside)
    paused = NormalizedResponse(Message("assistant", (TextMessageContent("{}"),)), finish_reason="pause")
    assert not wants_parsing(paused, NATIVE)


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_what_was_cut_is_final_and_the_rest_is_not(finish: str) -> None:
    assert judged(answer('{"name": "Rome"}', finish=finish), RULE).final
    assert judged(answer("", refusal="no"), RULE).final
    assert not judged(answer("nothing"), RULE).final


# --- places -------------------------------------------------------------------------------------


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str


class Owner(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    pets: list[Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]] = []
    any_pet: Cat | Dog | None = None
    ages: dict[str, int] = {}
    point: tuple[int, int] = (0, 0)

    @pydantic.field_validator("point")
    @classmethod
    def small(cls, value: tuple[int, int]) -> tuple[int, int]:
        if sum(value) > 10:
            raise ValueError("too far away\n(more than 10)")
        return value


@dataclasses.dataclass
class Holder:
    owners: list[Owner]


PLACES = [
    ({"pets": [{"kind": "cat", "lives": "nine"}]}, ['pets[0].lives: expected integer, got "nine"']),
    ({"pets": [{"kind": "cat"}]}, ["pets[0].lives: required, but missing; expected integer"]),
    ({"pets": [{"kind": "cow"}]}, ["pets[0]"]),
    ({"any_pet": {"kind": "dog"}}, ["any_pet.name: required, but missing; expected string"]),
    ({"ages": {"my age": "old"}}, ['ages["my age"]: expected integer, got "old"']),
    ({"point": [1]}, ["point"]),
    ({"point": [9, 9]}, ["point: Value error, too far away (more than 10)"]),
    ({"colour": "red"}, ["colour: no such property is allowed; there are pets, any_pet, ages, point"]),
    ([], ["the answer: expected object, got the array []"]),
    ("x", ['the answer: expected object, got "x"']),
]


@pytest.mark.parametrize(("value", "lines"), PLACES)
def test_places_are_written_in_one_way(value: Any, lines: list[str]) -> None:
    plain = planned(Owner, structured_output_strategy="rule")
    checked = planned(Owner.model_json_schema(), structured_output_strategy="rule")
    found = told(judged(answer(dumps(value)), plain).problems)
    for line in lines:
        assert any(each.startswith(line) for each in found), found
    if "Value error" not in lines[0]:
        by_schema = told(judged(answer(dumps(value)), checked).problems)
        assert any(each.startswith(lines[0]) for each in by_schema), by_schema
    inside = planned(Holder, structured_output_strategy="rule")
    found = told(judged(answer(dumps({"owners": [value]})), inside).problems)
    for line in lines:
        joint = "" if line.startswith("the answer") else "."
        assert any(each.startswith(f"owners[0]{joint}{line.removeprefix('the answer')}") for each in found), found


def test_a_message_is_one_line_and_never_the_schema() -> None:
    wide = {"type": "object", "properties": {"a": {"enum": [f"choice {n}" for n in range(500)]}}}
    many: Any = Literal[tuple(f"choice {n}" for n in range(500))]
    kind = pydantic.create_model("Wide", a=(many, ...))
    for schema in (wide, kind):
        found = told(judged(answer('{"a": "x"}'), planned(schema, structured_output_strategy="rule")).problems)
        assert len(found) == 1
        assert len(found[0]) < 400
        assert "\n" not in found[0]


NAMES = st.sampled_from(["pets", "kind", "lives", "ages", "name", "any_pet"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_is_judged(value: Any) -> None:
    for kind in (Owner, Owner.model_json_schema(), list[Owner], Holder):
        verdict = judged(answer(dumps(value)), planned(kind, structured_output_strategy="rule"))
        assert bool(verdict.problems) is (verdict.value is None)
        assert all(problem.message and "\n" not in problem.message for problem in verdict.problems)


# --- calls where there are no tools ---------------------------------------------------------------


def unread(raw: str) -> NormalizedResponse:
    call = InvalidActionCallMessageContent("a1", feedback.UNREAD, raw=raw)
    return NormalizedResponse(Message("assistant", (call,)), finish_reason="stop")


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (unread('[{"name": "final_answer", "input"'), "the answer: Actions is not valid JSON: Expecting ':' delimiter"),
        (
            NormalizedResponse(Message("assistant", (InvalidActionCallMessageContent("a1", raw="{}"),))),
            "name: expected",
        ),
        (answer("", {"name": "finalanswer", "input": {"name": "Rome"}}), "the answer: it is empty, expected JSON"),
    ],
)
def test_whatever_is_called_is_meant_as_the_answer_where_there_are_no_tools(response: Any, says: str) -> None:
    assert BY_TOOL.alone
    assert wants_parsing(response, BY_TOOL)
    (problem,) = told(judged(response, BY_TOOL).problems)
    assert says in problem
    beside = planned(facts=NO_FIELD, tools=[TOOL])
    assert not beside.alone
    assert not wants_parsing(response, beside)


class Registered(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        return {"Rome": name}[name]


def test_a_validator_that_breaks_says_what_is_wrong() -> None:
    plan = planned(Registered, facts={"native_json_schema": True})
    assert judged(answer('{"name": "Rome"}'), plan).value == Registered(name="Rome")
    verdict = judged(answer('{"name": "Roma"}'), plan)
    assert told(verdict.problems) == ["the answer: KeyError: 'Roma'"]
    assert not verdict.final


def test_what_could_not_be_checked_of_a_value_is_noted() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^(?!b)(a+)+$"}}}
    names = llmneutral.convert("q", "chat_completions", output_schema=schema, structured_output_strategy="rule")
    body = {
        "choices": [{"message": {"role": "assistant", "content": dumps({"name": "a" * 60})}, "finish_reason": "stop"}]
    }
    found = llmneutral.normalize(body, "chat_completions", names=names)
    assert found.parsed == {"name": "a" * 60}
    assert [note for note in found.notes if "was not checked" in note]
