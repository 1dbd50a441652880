"""What becomes of each call of a turn, before anything is run."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    InvalidActionCallMessageContent,
    Message,
    NormalizedResponse,
    TextMessageContent,
    Tool,
    ToolDefinition,
    activity,
)
from llmneutral.agent.planning import (
    CUT,
    Answered,
    Offer,
    UnfitError,
    bound,
    calls_of,
    open_calls,
    planned,
    with_own_ids,
)
from llmneutral.ir.tools import definitions
from tests.agent.scripts import answer, call, invalid


@dataclasses.dataclass
class Place:
    lat: float
    lon: float = 0.0


class Wish(pydantic.BaseModel):
    dish: str
    spicy: bool = False


class Odd(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def check(cls, n: int) -> int:
        raise LookupError("no luck")


def visit(place: Place, day: datetime.date, *, wish: Wish | None = None) -> str:
    """Visits a place."""
    return f"{place} {day} {wish}"


class Desk(Tool):
    @activity
    def add(self, a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    @activity(schema={"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]})
    def small(self, n: int) -> int:
        """Takes small numbers."""
        return n

    @activity(config={"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    def whole(self, values: dict[str, Any]) -> Any:
        """Takes everything."""
        return values

    @activity(config={"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    def older(self, params: dict[str, Any]) -> Any:
        """Takes everything, as it was."""
        return params


DEFINED = ToolDefinition("defined", parameters={"type": "object", "required": ["x"]}, function=lambda **given: given)
HANDED = {"type": "function", "function": {"name": "handed", "parameters": {"type": "object"}}}
OFFER = Offer(definitions([visit, Desk(), DEFINED, HANDED]))


def test_a_call_is_run_with_what_its_hints_say() -> None:
    (plan,) = planned([call("1", "visit", place={"lat": "1.5"}, day="2026-11-30", wish={"dish": "rice"})], OFFER)
    assert plan.function is visit
    assert plan.args == (Place(1.5), datetime.date(2026, 11, 30))
    assert plan.kwargs == {"wish": Wish(dish="rice")}


def test_what_a_tool_does_to_its_arguments_is_not_done_to_what_the_model_wrote() -> None:
    def spoil(values: Any, **more: Any) -> None:
        """Spoils."""
        values["list"].append(1)
        more["rest"].clear()

    for tool in (
        spoil,
        ToolDefinition("spoil", parameters={"type": "object"}, function=lambda **given: spoil(**given)),
    ):
        wanted = call("1", "spoil", values={"list": []}, rest={"a": 1})
        (plan,) = planned([wanted], Offer(definitions([tool])))
        assert plan.function is not None
        plan.function(*plan.args, **plan.kwargs)
        assert wanted.input == {"values": {"list": []}, "rest": {"a": 1}}


@pytest.mark.parametrize("wanted", [call("1", "Desk", "add", a=1), call("1", "Desk_add", a=1)])
def test_an_activity_is_found_by_its_pair_and_by_its_flat_name(wanted: ActionCallMessageContent) -> None:
    (plan,) = planned([wanted], OFFER)
    assert plan.function is not None
    assert plan.function(*plan.args, **plan.kwargs) == 2


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (call("1", "Desk", "add"), "input.a: Field required"),
        (call("1", "Desk", "add", a="x"), "input.a: Input should be a valid integer"),
        (call("1", "Desk", "add", a=1, c=2), "input.c: Extra inputs are not permitted"),
        (call("1", "visit", place={"lat": []}, day="soon"), "input.place.lat: Input should be a valid number"),
        (call("1", "Desk", "small", n=10), "input.n: "),
        (call("1", "Desk", "small"), "input"),
        (call("1", "defined"), "input"),
        (call("1", "visitt", place=1), "There is no tool 'visitt'. Tools: visit, "),
        (call("1", "Desk", "ad"), "There is no tool 'Desk_ad'. Tools: Desk_add, "),
        (invalid("1", "Desk_add", '{"a": '), "input: expected object, got text that is no JSON; received"),
        (invalid("1", "", "{}"), "name: expected string"),
        (invalid("1", "visit", "[1]"), "input: expected object; received [1]"),
    ],
)
def test_what_cannot_be_run_is_answered_at_once(wanted: Any, says: str) -> None:
    (plan,) = planned([wanted], OFFER)
    assert plan.function is None
    assert plan.result is not None
    assert (plan.result.tag, plan.result.is_error) == ("1", True)
    assert str(plan.result.output).startswith(says)
    assert plan.is_format_error is isinstance(wanted, InvalidActionCallMessageContent)


def test_the_raw_text_of_an_invalid_call_is_shown_as_far_as_200_characters() -> None:
    (plan,) = planned([invalid("1", "visit", "x" * 500)], OFFER)
    assert plan.result is not None
    assert "x" * 200 in str(plan.result.output)
    assert "x" * 201 not in str(plan.result.output)


def test_a_tool_without_a_function_is_handed_back() -> None:
    (plan,) = planned([call("1", "handed", any=1)], OFFER)
    assert plan.handed_back
    assert plan.result is None


def test_a_schema_of_the_callers_goes_with_any_function() -> None:
    assert bound(DEFINED, {"x": 1, "y": 2}) == ((), {"x": 1, "y": 2})
    whole, older = OFFER.find(call("1", "Desk_whole")), OFFER.find(call("1", "Desk_older"))
    assert whole is not None
    assert older is not None
    assert bound(whole, {"n": 1}) == ((), {"values": {"n": 1}})
    assert bound(older, {"n": 1}) == ((), {"params": {"values": {"n": 1}}})
    with pytest.raises(UnfitError, match=r"input\.n"):
        bound(whole, {"n": "x"})


def test_a_validator_that_breaks_is_told_to_the_model() -> None:
    def take(odd: Odd) -> int:
        """Takes."""
        return odd.n

    (tool,) = definitions([take])
    with pytest.raises(UnfitError, match="LookupError: no luck"):
        bound(tool, {"odd": {"n": 1}})


def test_the_call_within_which_an_answer_was_cut_is_not_run() -> None:
    calls = [call("1", "Desk", "add", a=1), call("2", "Desk", "add", a=2)]
    first, second = planned(calls, OFFER, cut=calls[1])
    assert first.function is not None
    assert (second.function, second.is_format_error) == (None, True)
    assert second.result is not None
    assert second.result.output == CUT


# --- ids ----------------------------------------------------------------------------------------


def came(*blocks: Any, id: str | None = "r1") -> NormalizedResponse:
    return NormalizedResponse(answer(list(blocks)), id=id)


def told(*messages: Message) -> Answered:
    return Answered(messages)


EARLIER = (
    answer(call("c1", "visit", n=1)),
    Message("user", (ActionResultMessageContent("c1", "seen", name="visit"),)),
)


def test_ids_of_their_own_are_left_alone() -> None:
    response = came("text", call("a", "visit"), call("b", "visit"))
    message, known, twins = with_own_ids(response, told(*EARLIER))
    assert message is response.message
    assert (known, twins) == ({}, {})


def test_the_same_call_again_has_its_result_already() -> None:
    message, known, _ = with_own_ids(came(call("c1", "visit", n=1)), told(*EARLIER))
    assert [each.tag for each in calls_of(message)] == ["c1_2"]
    assert known == {"c1_2": ActionResultMessageContent("c1_2", "seen", name="visit")}
    (plan,) = planned(calls_of(message), OFFER, known=known)
    assert plan.result is known["c1_2"]


@pytest.mark.parametrize("other", [call("c1", "visit", n=2), call("c1", "look", n=1), invalid("c1", "visit", "x")])
def test_another_call_under_a_used_id_is_another_call(other: Any) -> None:
    message, known, twins = with_own_ids(came(other), told(*EARLIER))
    assert [each.tag for each in calls_of(message)] == ["c1_2"]
    assert (known, twins) == ({}, {})


def test_ids_made_here_say_nothing_either() -> None:
    """A provider without ids: the same call in two turns is two calls."""
    first, _, _ = with_own_ids(came(call("", "visit", n=1), id=None), told())
    tag = calls_of(first)[0].tag
    assert tag.startswith("call_")
    done = Message("user", (ActionResultMessageContent(tag, "seen"),))
    for again in (call("", "visit", n=1), call(tag, "visit", n=1)):
        message, known, _ = with_own_ids(came(again, id=None), told(first, done))
        assert calls_of(message)[0].tag == f"{tag}_2"
        assert known == {}


def test_the_same_call_twice_in_one_turn_is_run_once() -> None:
    response = came(call("a", "visit", n=1), call("a", "visit", n=1), call("a", "visit", n=2))
    message, _, twins = with_own_ids(response, told())
    assert [each.tag for each in calls_of(message)] == ["a", "a_2", "a_3"]
    assert twins == {"a_2": "a"}
    assert [plan.twin for plan in planned(calls_of(message), OFFER, twins=twins)] == [None, 0, None]


ids = st.sampled_from(["a", "a_2", "b", "", None])


@given(st.lists(st.lists(st.tuples(ids, st.integers(0, 1)), max_size=4), max_size=4))
def test_every_call_of_a_conversation_has_an_id_of_its_own(turns: list[Any]) -> None:
    answered, seen = Answered(), []
    for number, turn in enumerate(turns):
        blocks = [call(tag, "visit", n=n) for tag, n in turn]
        message, known, twins = with_own_ids(came(*blocks, id=f"r{number}"), answered)
        tags = [each.tag for each in calls_of(message)]
        assert all(tags)
        assert {*known, *twins} <= {*tags}
        assert [each.input for each in calls_of(message)] == [block.input for block in blocks]
        answered.add(message)
        answered.add(Message("user", tuple([ActionResultMessageContent(tag, "ok") for tag in tags])))
        seen += tags
    assert len(seen) == len({*seen})


# --- open calls ---------------------------------------------------------------------------------


def test_open_calls_are_those_of_the_last_turn_that_wait() -> None:
    turn = answer([call("a", "visit"), call("b", "visit")])
    half = Message("user", (ActionResultMessageContent("a", "ok"),))
    talk = Message("user", (TextMessageContent("and?"),))
    assert open_calls([]) == []
    assert open_calls([talk]) == []
    assert [each.tag for each in open_calls([talk, turn])] == ["a", "b"]
    assert [each.tag for each in open_calls([turn, half])] == ["b"]
    assert open_calls([turn, half, talk]) == []
    assert open_calls([turn, talk]) == []
