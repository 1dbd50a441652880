"""Every call answered directly behind its turn, every result called for; nothing lost in silence."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ConversionError,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Message,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert.pairing import NOT_COMPLETED, canonical_ids, keys, pair_results, well_formed
from tests.convert.jobs import run, told
from tests.laws.stacks import PNG, calls, results, texts, thinking
from tests.payloads import APIS, kinds, made, said, turn
from tests.payloads import told as changes_of

over_apis = pytest.mark.parametrize("api", APIS)
Result = ActionResultMessageContent
Events = list[tuple[Any, ...]]


def call(tag: str | None, **more: Any) -> ActionCallMessageContent:
    return ActionCallMessageContent(tag, "look", **more)


def sent(api: str, *messages: Message, **options: Any) -> tuple[Events, Any]:
    """What is said behind the question, shortened: ("call", id), ("result", id, text), (role, text)."""
    found = made(api, [turn("user", "q"), *messages], **options)
    return [_short(event) for event in said(api, found.to_json())[1:]], found


def _short(event: tuple[Any, ...]) -> tuple[Any, ...]:
    if event[1] == "call":
        return ("call", event[2])
    if event[1] == "result":
        return ("result", event[2], event[3].removeprefix("Error: "))
    return (event[0], event[2])


# --- where results stand ------------------------------------------------------------------------


@over_apis
def test_a_tidy_conversation_is_untouched(api: str) -> None:
    found, conversion = sent(
        api, turn("assistant", call("a"), call("b")), turn("user", Result("a", "1"), Result("b", "2"))
    )
    assert found == [("call", "a"), ("call", "b"), ("result", "a", "1"), ("result", "b", "2")]
    assert conversion.changes == ()
    assert conversion.open_calls == ()


@over_apis
def test_a_result_that_had_to_jump_is_moved(api: str) -> None:
    found, conversion = sent(api, turn("assistant", call("a")), turn("user", "x"), turn("user", Result("a", "1")))
    assert found == [("call", "a"), ("result", "a", "1"), ("user", "x")]
    (moved,) = changes_of(conversion, "moved")
    assert moved.refs == ((3, 0),)


@over_apis
@pytest.mark.parametrize(
    "answers",
    [
        [turn("user", Result("b", "2")), turn("user", Result("a", "1"))],
        [turn("user", Result("b", "2"), Result("a", "1"))],
    ],
)
def test_results_stand_in_the_order_of_the_calls(api: str, answers: list[Message]) -> None:
    found, conversion = sent(api, turn("assistant", call("a"), call("b")), *answers)
    assert found == [("call", "a"), ("call", "b"), ("result", "a", "1"), ("result", "b", "2")]
    (moved,) = changes_of(conversion, "added", "dropped", "rewritten", "moved")
    in_one_message = [(2, 0), (2, 1)]
    assert sorted(moved.refs) == ([(2, 0), (3, 0)] if len(answers) == 2 else in_one_message)
    assert moved.why == "results stand in the order of their calls"


@over_apis
def test_other_content_of_the_message_stands_behind_the_results(api: str) -> None:
    found, _ = sent(api, turn("assistant", call("a")), turn("user", "first", Result("a", "1"), "last"))
    assert found == [("call", "a"), ("result", "a", "1"), ("user", "first"), ("user", "last")]


@over_apis
def test_neighbours_of_the_assistant_are_one_turn(api: str) -> None:
    messages = [turn("assistant", call("a")), turn("assistant", "and"), turn("user", Result("a", "1"))]
    found, conversion = sent(api, *messages)
    assert sorted(found[:2]) == [("assistant", "and"), ("call", "a")]
    assert found[2] == ("result", "a", "1")
    assert "merged" in kinds(conversion)


@over_apis
def test_an_instruction_in_between_stands_behind_the_result(api: str) -> None:
    found, _ = sent(
        api, turn("assistant", call("a")), turn("system", "now"), turn("user", Result("a", "1")), turn("assistant", "z")
    )
    assert found[:2] == [("call", "a"), ("result", "a", "1")]
    assert re.sub(r"</?system>|\s", "", found[2][1]) == "now"


# --- calls without a result ---------------------------------------------------------------------


@over_apis
@pytest.mark.parametrize("after", [turn("user", "x"), turn("system", "x")])
def test_an_unanswered_call_gets_an_error_result(api: str, after: Message) -> None:
    messages = [turn("assistant", "t", call("a")), after, turn("assistant", "y"), turn("user", "z")]
    found, conversion = sent(api, *messages)
    assert found[:3] == [("assistant", "t"), ("call", "a"), ("result", "a", NOT_COMPLETED)]
    (added,) = changes_of(conversion, "added")
    assert added.refs == ((1, 1),)
    assert "'a'" in added.why
    assert conversion.open_calls == ()


def test_the_error_result_has_its_flag() -> None:
    found = made("anthropic_messages", [turn("user", "q"), turn("assistant", call("a")), turn("user", "x")])
    assert found.to_json()["messages"][2]["content"][0]["is_error"] is True


@over_apis
def test_calls_at_the_end_are_open(api: str) -> None:
    messages = [turn("assistant", call("a"), call("b")), turn("user", Result("a", "1"))]
    found, conversion = sent(api, *messages)
    assert found == [("call", "a"), ("call", "b"), ("result", "a", "1")]
    assert conversion.open_calls == ("b",)
    assert changes_of(conversion, "added", "dropped") == []


@over_apis
def test_calls_at_the_end_are_settled_where_the_caller_says_how(api: str) -> None:
    messages = [turn("assistant", call("a"), call("b")), turn("user", Result("a", "1"))]
    answered, conversion = sent(api, *messages, orphan_calls="answer")
    assert answered[-1] == ("result", "b", NOT_COMPLETED)
    assert conversion.open_calls == ()
    stripped, conversion = sent(api, *messages, orphan_calls="strip")
    assert stripped == [("call", "a"), ("result", "a", "1")]
    assert conversion.open_calls == ()


@over_apis
def test_a_call_may_be_stripped(api: str) -> None:
    found, conversion = sent(api, turn("assistant", "t", call("a")), turn("user", "x"), orphan_calls="strip")
    assert found == [("assistant", "t"), ("user", "x")]
    assert kinds(conversion) == ["dropped"]
    found, conversion = sent(api, turn("assistant", call("a")), turn("user", "x"), orphan_calls="strip")
    assert found == [("assistant", "(tool call removed)"), ("user", "x")]
    assert kinds(conversion) == ["dropped", "added"]


def test_a_stripped_call_takes_sealed_thinking_along() -> None:
    sealed = ThinkingMessageContent("hm", signature="s")
    plain = ThinkingMessageContent("hm")
    messages = [turn("assistant", sealed, plain, "t", call("a")), turn("user", "x")]
    found, made_job = run(pair_results, messages, orphan_calls="strip")
    assert found[0].content == (plain, TextMessageContent("t"))
    assert told(made_job) == [("dropped", [(0, 3)]), ("dropped", [(0, 0)])]


@over_apis
def test_a_call_without_a_result_may_be_refused(api: str) -> None:
    with pytest.raises(ConversionError, match=r"the call 'a' has no result.*orphan_calls") as caught:
        sent(api, turn("assistant", "t", call("a")), turn("user", "x"), orphan_calls="refuse")
    assert caught.value.refs == ((1, 1),)
    assert caught.value.rule == "pair_results"


# --- results without a call ---------------------------------------------------------------------


@over_apis
@pytest.mark.parametrize(("output", "text"), [("1", "1"), ({"a": 1}, '{"a": 1}'), (None, "")])
def test_a_result_without_a_call_stands_as_text(api: str, output: Any, text: str) -> None:
    found, conversion = sent(api, turn("assistant", "t"), turn("user", Result("zz", output)))
    assert found[1] == ("user", f"[Result of tool call zz, whose call is not in this conversation]\n{text}")
    (rewritten,) = changes_of(conversion, "rewritten")
    assert rewritten.refs == ((2, 0),)


@over_apis
def test_its_media_stay(api: str) -> None:
    result = Result("zz", parts=(TextMessageContent("see"), ImageMessageContent(PNG)))
    conversion = made(api, [turn("user", "q"), turn("assistant", "t"), turn("user", result)])
    assert ("user", "media", "image") in said(api, conversion.to_json())


@over_apis
def test_a_result_without_a_call_may_be_stripped_or_refused(api: str) -> None:
    messages = [turn("assistant", "t"), turn("user", Result("zz", "1"))]
    found, conversion = sent(api, *messages, orphan_results="strip")
    assert found == [("assistant", "t"), ("user", "(tool result removed)")]
    assert kinds(conversion) == ["dropped", "added"]
    found, conversion = sent(api, turn("assistant", "t"), turn("user", Result("zz", "1"), "x"), orphan_results="strip")
    assert found == [("assistant", "t"), ("user", "x")]
    with pytest.raises(ConversionError, match=r"the result 'zz' has no call.*orphan_results") as caught:
        sent(api, *messages, orphan_results="refuse")
    assert caught.value.refs == ((2, 0),)


@over_apis
def test_the_first_of_two_results_counts(api: str) -> None:
    messages = [turn("assistant", call("a")), turn("user", Result("a", "1")), turn("user", Result("a", "2"))]
    found, conversion = sent(api, *messages)
    assert found == [("call", "a"), ("result", "a", "1")]
    assert [(change.kind, change.refs) for change in conversion.changes] == [("dropped", ((3, 0),))]


@over_apis
def test_a_result_without_an_id_answers_the_one_open_call(api: str) -> None:
    found, _ = sent(api, turn("assistant", call("a")), turn("user", Result(None, "1")))
    assert found == [("call", "a"), ("result", "a", "1")]
    found, conversion = sent(api, turn("assistant", call("a"), call("b")), turn("user", Result(None, "1")))
    assert [event[0] for event in found] == ["call", "call", "user"]
    assert conversion.open_calls == ("a", "b") or NOT_COMPLETED in str(found)


@over_apis
def test_a_result_before_its_call_is_none_of_its(api: str) -> None:
    found, _ = sent(api, turn("user", Result("a", "early")), turn("assistant", call("a")), turn("user", "x"))
    assert "early" in found[0][1]
    assert found[1:3] == [("call", "a"), ("result", "a", NOT_COMPLETED)]


# --- ids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "forms"),
    [(None, set()), ("", set()), ("  ", set()), (" a ", {"a"}), ("a|b", {"a|b", "a", "b"}), ("|b", {"|b", "b"})],
)
def test_forms_under_which_ids_are_compared(tag: str | None, forms: set[str]) -> None:
    assert keys(tag) == forms


@over_apis
@pytest.mark.parametrize(("of_call", "of_result"), [("a|fc_1", "a"), ("a", "a|fc_1"), ("a|fc_1", "fc_1"), (" a", "a ")])
def test_a_composite_id_equals_its_halves(api: str, of_call: str, of_result: str) -> None:
    found, conversion = sent(api, turn("assistant", call(of_call)), turn("user", Result(of_result, "1")))
    assert [event[0] for event in found] == ["call", "result"]
    assert found[0][1] == found[1][1]
    assert set(kinds(conversion)) <= {"renamed"}


@over_apis
def test_an_id_used_again_gets_a_number(api: str) -> None:
    exchange = [turn("assistant", call("a")), turn("user", Result("a", "1"))]
    found, conversion = sent(api, *exchange, *exchange, *exchange)
    assert [event[1] for event in found if event[0] == "call"] == ["a", "a_2", "a_3"]
    assert [event[1] for event in found if event[0] == "result"] == ["a", "a_2", "a_3"]
    assert kinds(conversion) == ["renamed", "renamed"]


@over_apis
def test_a_result_never_answers_across_a_call_of_the_same_id(api: str) -> None:
    messages = [
        turn("assistant", call("a")),
        turn("user", "x"),
        turn("assistant", call("a")),
        turn("user", Result("a", "2")),
    ]
    found, _ = sent(api, *messages)
    assert [event for event in found if event[0] == "result"] == [
        ("result", "a", NOT_COMPLETED),
        ("result", "a_2", "2"),
    ]


@over_apis
def test_missing_ids_are_made_of_what_is_called(api: str) -> None:
    first, conversion = sent(api, turn("assistant", call(None, input={"n": 1})), turn("user", Result(None, "1")))
    again, _ = sent(api, turn("assistant", call(None, input={"n": 1})), turn("user", Result(None, "1")))
    other, _ = sent(api, turn("assistant", call(None, input={"n": 2})), turn("user", Result(None, "1")))
    assert first == again != other
    assert re.fullmatch(r"call_[0-9a-f]{12}", first[0][1])
    assert kinds(conversion) == ["renamed"]


# --- places -------------------------------------------------------------------------------------


@over_apis
@pytest.mark.parametrize(
    ("message", "words"),
    [
        (turn("user", call("a")), "the call 'a' stands in a message of the user"),
        (turn("user", InvalidActionCallMessageContent("a", "look", raw="{")), "the call 'a' stands"),
        (turn("system", call("a")), "the call 'a' stands in a message of the system"),
        (turn("assistant", Result("a", "1")), "the result 'a' stands in a message of the assistant"),
        (turn("system", Result("a", "1")), "the result 'a' stands in a message of the system"),
    ],
)
def test_what_stands_where_it_cannot_is_refused(api: str, message: Message, words: str) -> None:
    with pytest.raises(ConversionError, match=words) as caught:
        made(api, [turn("user", "q"), message, turn("user", "x")])
    assert caught.value.refs == ((1, 0),)


@over_apis
def test_an_unknown_role_is_refused(api: str) -> None:
    with pytest.raises(ConversionError, match=r"messages\[1\] has the role 'narrator'; known: system, ") as caught:
        made(api, [turn("user", "q"), Message("narrator", (TextMessageContent("x"),))])
    assert caught.value.refs == ((1, 0),)
    assert caught.value.api == api


def test_what_is_well_formed() -> None:
    tidy = [turn("assistant", call("a"), call("b")), turn("user", Result("a"), Result("b"))]
    assert well_formed(tidy, 2, 2)
    assert not well_formed(tidy, 3, 2)
    assert not well_formed(tidy, 2, 3)
    assert not well_formed([tidy[0]], 2, 0)
    assert not well_formed([*tidy, *tidy[1:]], 2, 4)
    assert well_formed([turn("user", "q")], 0, 0)


@pytest.mark.parametrize("step", [pair_results, canonical_ids])
def test_nothing_to_do_is_the_same_list(step: Any) -> None:
    stack = [turn("user", "q"), turn("assistant", call("a")), turn("user", Result("a", "1"), "x")]
    found, made_job = run(step, stack)
    assert found == stack
    assert told(made_job) == []


# --- laws ---------------------------------------------------------------------------------------

assistants = st.lists(st.one_of(texts, thinking, calls), max_size=3).map(lambda blocks: turn("assistant", *blocks))
users = st.lists(st.one_of(texts, results), max_size=3).map(lambda blocks: turn("user", *blocks))
stacks = st.lists(st.one_of(assistants, users), min_size=1, max_size=6)


CALLS = (ActionCallMessageContent, InvalidActionCallMessageContent)


@settings(max_examples=200)
@given(stacks, st.sampled_from(["answer", "strip"]), st.sampled_from(["text", "strip"]))
def test_each_turn_is_followed_by_exactly_its_results(stack: list[Message], for_calls: str, for_results: str) -> None:
    paired, made_job = run(pair_results, stack, orphan_calls=for_calls, orphan_results=for_results)
    paired = canonical_ids.run(paired, made_job)
    found = [block for message in paired for block in message.content]
    called = sum(isinstance(block, CALLS) for block in found)
    answered = sum(isinstance(block, Result) for block in found)
    assert called == answered
    assert well_formed(paired, called, answered)
    assert made_job.open_calls == ()


@settings(max_examples=200)
@given(stacks, st.sampled_from(["answer", "strip", None]), st.sampled_from(["text", "strip"]))
def test_no_block_is_lost_in_silence(stack: list[Message], for_calls: str | None, for_results: str) -> None:
    paired, made_job = run(pair_results, stack, orphan_calls=for_calls, orphan_results=for_results)
    kept = {id(block) for message in paired for block in message.content}
    named = {ref for kind, refs in told(made_job) if kind in ("dropped", "rewritten") for ref in refs}
    for i, message in enumerate(stack):
        for j, block in enumerate(message.content):
            assert id(block) in kept or (i, j) in named
    blocks = [id(block) for message in paired for block in message.content]
    assert len(set(blocks)) == len(blocks)


@settings(max_examples=200)
@given(stacks)
def test_pairing_again_changes_nothing(stack: list[Message]) -> None:
    once, made_job = run(pair_results, stack, orphan_calls="answer")
    once = canonical_ids.run(once, made_job)
    for step in (pair_results, canonical_ids):
        twice, again = run(step, once, orphan_calls="answer")
        assert twice == once
        assert told(again) == []


@over_apis
@settings(max_examples=60)
@given(stacks)
def test_what_was_answered_already_stays_as_more_comes(api: str, first: list[Message]) -> None:
    """A finished beginning reads the same, whatever follows: caches and bound reasoning hang on it."""
    end = [turn("user", "that is all"), turn("assistant", "well"), turn("user", "go on")]
    more = [turn("assistant", "sure"), turn("user", "and then?")]
    short = _converted(api, [*first, *end])
    long = _converted(api, [*first, *end, *more])
    assert long[: len(short)] == short


def _converted(api: str, stack: list[Message]) -> list[Any]:
    options = {"facts": {"same_model_as_history": True}} if api == "anthropic_messages" else {}
    try:
        found = llmneutral.convert(stack, api, max_tokens=500, **options)
    except ConversionError as error:
        return [str(error)]
    payload: dict[str, Any] = found.to_json()
    turns: list[Any] = payload["input" if api == "codex_responses" else "messages"]
    return turns
