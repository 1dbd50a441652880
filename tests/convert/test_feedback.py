"""The table of what is fed back to a model, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.convert import feedback
from llmneutral.convert.checker import Problem, check
from llmneutral.ir.contents import InvalidActionCallMessageContent
from llmneutral.ir.jsontext import loads

Invalid = InvalidActionCallMessageContent


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('[{"name": "get",}]', "Expecting property name enclosed in double quotes at line 1 column 17"),
        ('[{"name": "get"}\n {"name"', "Expecting ',' delimiter at line 2 column 2"),
        ('```json\n[{"name" "get"}]', "Expecting ':' delimiter at line 2 column 10"),
        ("", "Expecting value at line 1 column 1"),
        ("I shall call get", "Expecting value at line 1 column 1"),
        ('\n\n  [{"name"', "Expecting ':' delimiter at line 3 column 11"),
        ('[{"x": NaN}]', "NaN is no JSON at line 1 column 1"),
        ("[" * 100_000, "nested too deeply at line 1 column 1"),
        ("3", "an array of calls expected at line 1 column 1"),
    ],
)
def test_an_array_that_is_no_json_says_line_and_column(raw: str, why: str) -> None:
    told = loads(feedback.bad_actions(raw))
    assert told == {"error": f"Actions is not valid JSON: {why}", "expected": '[{"name": …, "input": {…}}]'}


@given(st.text(max_size=60))
def test_any_text_has_its_observation(raw: str) -> None:
    told = loads(feedback.bad_actions(raw))
    assert told["error"].startswith("Actions is not valid JSON: ")
    assert isinstance(feedback.invalid_call(Invalid("a1", "get", raw=raw)), str)


def test_an_unknown_tool_lists_the_closest_name_first() -> None:
    assert feedback.unknown_tool("serch", ["get", "search", "get"]) == "There is no tool 'serch'. Tools: search, get"
    assert feedback.unknown_tool("x", []) == "There is no tool 'x'; there are no tools"
    many = feedback.unknown_tool("t77", [f"t{n}" for n in range(80)])
    assert many.startswith("There is no tool 't77'. Tools: t77,")
    assert many.endswith("and 30 more")


def test_an_input_that_does_not_fit_names_path_and_type() -> None:
    problems = check({"path": "x"}, {"type": "object", "properties": {"path": {"type": "integer"}}})
    assert feedback.schema_problems(problems).startswith("input.path: expected integer")
    assert feedback.schema_problems([Problem("", "a"), Problem("[0]", "b")]) == "input: a; input[0]: b"
    assert feedback.schema_problems([Problem("x", "p")] * 12).endswith("; and 2 more")


def test_what_a_tool_raised_has_no_traceback() -> None:
    with pytest.raises(KeyError) as caught:
        dict[str, int]()["city"]
    assert feedback.raised(caught.value) == "KeyError: 'city'"
    assert feedback.raised(ValueError()) == "ValueError"
    assert len(feedback.raised(ValueError("x y " * 5_000))) < 2_100


def test_an_error_without_words_and_one_with_a_key() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert feedback.raised(MuteError()) == "MuteError"
    told = feedback.raised(OSError("GET https://api.test/v1?key=sk-abcdef0123456789 with Bearer abcdef0123456789"))
    assert "0123456789" not in told
    assert told.startswith("OSError: GET https://api.test/v1?key=")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (Invalid("a1", "get", raw="[1]"), "input: expected object; received [1]"),
        (Invalid("a1", "get", raw='{"a": tru'), 'input: expected object, got text that is no JSON; received {"a": tru'),
        (Invalid("a1", "", raw='{"input": {}}'), 'name: expected string; received {"input": {}}'),
        (Invalid("a1", "Actions", raw="[1, 2]"), "input: expected object; received [1, 2]"),
    ],
)
def test_an_invalid_call_says_what_is_expected(call: Invalid, text: str) -> None:
    assert feedback.invalid_call(call) == text
    assert not feedback.is_unread(call)


@pytest.mark.parametrize("raw", ["[{", "3", "null", "", "I shall call get"])
def test_an_unread_array_is_known(raw: str) -> None:
    call = Invalid("a1", feedback.UNREAD, raw=raw)
    assert feedback.is_unread(call)
    assert feedback.invalid_call(call) == feedback.bad_actions(raw)


def test_at_most_200_characters_of_what_came_are_shown() -> None:
    told = feedback.invalid_call(Invalid("a1", "get", raw="[" + "x" * 1_000))
    assert told.endswith("[" + "x" * 199 + "…")
