"""What a model is told about an answer that does not fit: the texts of the rulebook, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ActionResultMessageContent
from llmneutral.convert.checker import Problem
from llmneutral.ir.jsontext import dumps
from llmneutral.structured import ANSWER_TOOL, judged, repair_messages
from llmneutral.structured.repairing import AGAIN
from tests.structured.forms import BY_TOOL, NATIVE, NO_FIELD, RULE, SCHEMA, TOOL, City, answer, planned

WRONG = {"name": 3, "size": "big"}
LINES = 'name: expected string, got 3\nsize: expected integer, got "big"'


def repaired(response: Any, plan: Any) -> Any:
    return repair_messages(response, plan, judged(response, plan).problems)


@pytest.mark.parametrize("plan", [RULE, NATIVE])
def test_a_text_is_answered_by_a_text(plan: Any) -> None:
    response = answer(dumps(WRONG))
    own, said = repaired(response, plan)
    assert own is response.message
    assert (said.role, len(said.content)) == ("user", 1)
    assert said.to_text() == f"The answer does not match the schema:\n{LINES}\nAnswer again with JSON only."


def test_a_call_is_answered_by_a_result_with_the_error_flag() -> None:
    response = answer("thinking aloud", {"name": ANSWER_TOOL, "input": WRONG}, finish="tool_calls")
    own, said = repaired(response, BY_TOOL)
    assert own is response.message
    (result,) = said.content
    assert isinstance(result, ActionResultMessageContent)
    assert (result.tag, result.is_error) == ("c0", True)
    assert result.output == f"The arguments do not match the schema:\n{LINES}"


def test_every_call_of_the_turn_has_a_result_and_none_was_run() -> None:
    calls: list[dict[str, Any]] = [
        {"name": "look", "input": {}},
        {"name": ANSWER_TOOL, "raw": '{"name": '},
        {"name": ANSWER_TOOL, "raw": "{"},
    ]
    plan = planned(facts=NO_FIELD, tools=[TOOL])
    _, said = repaired(answer("", *calls, finish="tool_calls"), plan)
    assert [(result.tag, result.is_error) for result in said.content] == [("c0", True), ("c1", True), ("c2", True)]
    assert "was not run" in said.content[0].output
    assert "no valid JSON" in said.content[1].output


def test_a_text_instead_of_the_call_is_told_to_call() -> None:
    _, said = repaired(answer("It is Rome."), BY_TOOL)
    assert said.to_text().endswith(f"\nGive your final answer by calling the tool {ANSWER_TOOL}.")


def test_at_most_ten_lines_and_never_the_schema() -> None:
    many = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(30)}}
    plan = planned(many, structured_output_strategy="rule")
    response = answer(dumps({f"p{n}": "x" for n in range(30)}))
    _, said = repaired(response, plan)
    assert said.to_text().count("expected integer") == 10
    assert "properties" not in said.to_text()
    assert dumps(SCHEMA) not in repaired(answer("no"), RULE)[1].to_text()


@pytest.mark.parametrize(
    ("kind", "value", "place"),
    [(list[int], ["x"], "value[0]: "), (int, "x", "value: "), (list[City], [{}], "value[0].")],
)
def test_a_wrapped_value_has_its_place_in_what_was_sent(kind: Any, value: Any, place: str) -> None:
    plan = planned(kind, structured_output_strategy="rule")
    _, said = repaired(answer(dumps({"value": value})), plan)
    assert said.to_text().splitlines()[1].startswith(place)


def test_an_empty_answer_adds_no_empty_turn() -> None:
    response = answer("")
    assert response.message.content == ()
    (said,) = repair_messages(response, RULE, [Problem("", "it is empty, expected JSON")])
    assert said.role == "user"


def test_a_call_of_what_is_no_tool_is_told_so() -> None:
    wrong = answer("", {"name": "search", "input": {}})
    _, message = repaired(wrong, BY_TOOL)
    (result,) = message.content
    assert result.output == "There is no tool 'search'. Tools: final_answer"
    _, message = repaired(wrong, NATIVE)
    result, text = message.content
    assert result.output == "There is no tool 'search'; there are no tools"
    assert text.to_text().endswith(AGAIN)
