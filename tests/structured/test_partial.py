"""A structured answer while it comes: it only grows, however it is cut, and ends as what is read in the end."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import ActionCallMessageContent, DeltaMessage, TextDeltaMessageContent
from llmneutral.ir.deltas import ActionCallDeltaMessageContent, DoneDeltaMessageContent
from llmneutral.ir.jsontext import dumps
from llmneutral.structured import ANSWER_TOOL, PartialAnswer
from tests.structured.forms import BY_TOOL, NATIVE, RULE, planned

WRAPPED = planned(list[int], structured_output_strategy="rule")
FRAMES = ["{}", "\ufeff \n{}", "```json\n{}\n```", "Here (see {{a}}):\n``` JSON \n{}\n```\nDone.", "{} - so"]
VALUES = st.dictionaries(
    st.sampled_from(["name", "size", "a b"]),
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def text(piece: str, index: int = 0, **more: Any) -> DeltaMessage:
    return DeltaMessage("text", TextDeltaMessageContent(piece, index=index, **more))


def call(piece: str, name: str | None = None, index: int = 0) -> DeltaMessage:
    return DeltaMessage("call", ActionCallDeltaMessageContent("c", name, partial_input=piece, index=index))


def grows(before: Any, after: Any) -> bool:
    """Whether the second holds all of the first."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(name in after and grows(before[name], after[name]) for name in before)
    if isinstance(before, list):
        return isinstance(after, list) and len(after) >= len(before) and all(map(grows, before, after))
    return before is None or after == before or (isinstance(before, str) and str(after).startswith(before))


def shown(plan: Any, pieces: list[str], **more: Any) -> list[Any]:
    partial = PartialAnswer(plan)
    found = []
    for piece in pieces:
        partial.add(text(piece, **more))
        found.append(partial.value)
    return found


def cut(whole: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(whole), *[at % (len(whole) + 1) for at in cuts]})
    return [whole[a:b] for a, b in pairwise(places)]


@given(
    VALUES,
    st.sampled_from(FRAMES),
    st.lists(st.integers(0, 500), max_size=30),
    st.sampled_from([RULE, NATIVE]),
)
def test_any_cut_gives_values_that_grow_to_the_whole(value: Any, frame: str, cuts: list[int], plan: Any) -> None:
    whole = frame.replace("{}", dumps(value))
    found = shown(plan, cut(whole, cuts))
    assert all(grows(one, two) for one, two in pairwise(found))
    assert found[-1] == value == shown(plan, list(whole))[-1]


@given(VALUES, st.lists(st.integers(0, 500), max_size=30))
def test_the_arguments_of_the_call(value: Any, cuts: list[int]) -> None:
    partial = PartialAnswer(BY_TOOL)
    found = []
    partial.add(text('{"name": "no"}', 0))
    partial.add(call("", "look", 1))
    partial.add(call("", ANSWER_TOOL, 2))
    for piece in cut(dumps(value), cuts):
        partial.add(call('{"name": "other"', None, 1))
        partial.add(call(piece, None, 2))
        found.append(partial.value)
    assert all(grows(one, two) for one, two in pairwise(found))
    assert found[-1] == value


@given(st.text(alphabet='{}[]"`: \njson1a,', max_size=60), st.lists(st.integers(0, 60), max_size=10))
def test_any_text_at_all(whole: str, cuts: list[int]) -> None:
    for plan in (RULE, NATIVE, WRAPPED):
        found = shown(plan, cut(whole, cuts) or [""])
        assert all(grows(one, two) for one, two in pairwise(found))
        assert found[-1] == (shown(plan, list(whole)) or [None])[-1]


def test_a_value_is_a_copy() -> None:
    partial = PartialAnswer(NATIVE)
    partial.add(text('{"name": ["a"'))
    first = partial.value
    partial.add(text(', "b"'))
    assert (first, partial.value) == ({"name": ["a"]}, {"name": ["a", "b"]})


def test_a_wrapped_value_is_what_stands_under_it() -> None:
    assert shown(WRAPPED, ['{"va', 'lue": [1', ", 2]}"]) == [None, [1], [1, 2]]


def test_prose_before_an_object_only_where_the_form_was_not_enforced() -> None:
    pieces = ["I think {so}: ", '{"name": "Rome"', "}"]
    assert shown(RULE, pieces) == [None, {"name": "Rome"}, {"name": "Rome"}]
    assert shown(NATIVE, pieces) == [None, None, None]


def test_commentary_is_no_answer() -> None:
    partial = PartialAnswer(NATIVE)
    partial.add(text("", 0, native={"phase": "commentary"}))
    partial.add(text('{"name": "aside"}', 0))
    partial.add(text('{"name": "Rome"}', 1))
    assert partial.value == {"name": "Rome"}


def test_names_are_given_back() -> None:
    partial = PartialAnswer(msgspec.structs.replace(NATIVE, renamed={"n": "größe"}))
    partial.add(text('{"n": 3, "b": {"n": 4'))
    assert partial.value == {"größe": 3, "b": {"größe": 4}}
    called = PartialAnswer(BY_TOOL, lambda value: {"back": value})
    called.add(call('{"a": 1', ANSWER_TOOL))
    assert called.value == {"back": {"a": 1}}


def test_a_call_that_comes_at_once() -> None:
    partial = PartialAnswer(BY_TOOL)
    done = ActionCallMessageContent("c", ANSWER_TOOL, None, {"name": "Rome"})
    assert partial.add(DeltaMessage("block_done", DoneDeltaMessageContent(value=done)))
    assert partial.value == {"name": "Rome"}


@pytest.mark.parametrize("plan", [NATIVE, BY_TOOL])
def test_what_is_nested_too_deeply_is_not_shown(plan: Any) -> None:
    partial = PartialAnswer(plan)
    deep = '{"a":' * 50_000
    partial.add(text(deep) if plan is NATIVE else call(deep, ANSWER_TOOL))
    assert partial.value is None
