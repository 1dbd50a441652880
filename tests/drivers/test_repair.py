"""Answers that do not fit their schema and are asked for again: behind every API, in all four ways to ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ConfigurationError,
    NormalizedResponse,
    PromptStack,
    ProviderError,
    ServerError,
    StructuredOutputError,
)
from tests.drivers.cities import (
    APIS,
    BAD,
    FACTS,
    GOOD,
    NUMBERS,
    PROBLEM,
    ROME,
    STRATEGIES,
    City,
    asked,
    comparable,
    deltas_of,
    driver,
    form,
    script,
)
from tests.drivers.endpoints import WAYS, check_deltas
from tests.drivers.scripted import Clock, Scripted, busy, chunks, whole
from tests.payloads import turn

# --- behind every API, in every way ---------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_way_gives_the_same_and_sends_the_same(api: str, strategy: str) -> None:
    stack = PromptStack([turn("system", "Be brief."), turn("user", "Which city?")], output_schema=City)
    before = stack.to_json()
    found, sent = [], []
    for way in WAYS:
        made = driver(form(strategy, BAD), form(strategy, GOOD, 2), stream="stream" in way, api=api)
        found.append(comparable(asked(way, made, source=stack, structured_output_strategy=strategy)))
        for body in made.sent:
            body.pop("stream", None)
            body.pop("stream_options", None)
        sent.append(made.sent)
        assert stack.to_json() == before
    assert all(each == found[0] for each in found[1:])
    assert all(each == sent[0] for each in sent[1:])
    told, repairs, attempts, rejected = found[0]
    assert told["parsed"] == GOOD
    assert (repairs, attempts, rejected) == (1, 2, [(PROBLEM,)])
    first, second = sent[0]
    key = next(name for name in ("messages", "input", "contents") if name in first)
    assert second[key][: len(first[key])] == first[key]
    assert {name: value for name, value in second.items() if name != key} == {
        name: value for name, value in first.items() if name != key
    }
    assert PROBLEM in json.dumps(second[key][len(first[key]) :], ensure_ascii=False).replace('\\"', '"')


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("way", WAYS)
def test_the_last_answer_that_does_not_fit_is_an_error(way: str, strategy: str) -> None:
    bad = {"name": 1}
    made = driver(form(strategy, BAD), form(strategy, bad, 2), stream="stream" in way)
    with pytest.raises(StructuredOutputError, match="after 1 repair: name: expected string, got 1") as caught:
        asked(way, made, structured_output_strategy=strategy)
    error = caught.value
    assert [json.loads(attempt["text"]) for attempt in error.attempts] == [BAD, bad]
    assert [attempt["problems"][0] for attempt in error.attempts] == [PROBLEM, "name: expected string, got 1"]
    assert [{name: attempt["usage"][name] for name in NUMBERS} for attempt in error.attempts] == [NUMBERS] * 2
    assert error.response.usage.total == 24
    assert error.response.metadata.repairs == 1
    assert (error.api, error.model) == ("chat_completions", "m")
    assert len(made.sent) == 2


# --- how often ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("most", [0, 1, 3])
def test_max_repairs(way: str, most: int) -> None:
    answers = [form("native", BAD) for _ in range(5)]
    made = driver(*answers, stream="stream" in way)
    with pytest.raises(StructuredOutputError) as caught:
        asked(way, made, max_repairs=most)
    assert len(caught.value.attempts) == len(made.sent) == most + 1
    turns = made.sent[-1]["messages"]
    assert [turn["role"] for turn in turns] == ["user", *["assistant", "user"] * most]


def test_the_option_of_a_driver_counts_too() -> None:
    made = driver(form("native", BAD), max_repairs=0)
    with pytest.raises(StructuredOutputError):
        asked("run", made)
    assert len(made.sent) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("max_repairs", -1), ("max_repairs", True), ("max_repairs", "2"), ("keep_repairs", 1)]
)
def test_a_wrong_option_is_refused_before_anything_is_sent(name: str, value: Any) -> None:
    made = driver(form("native", GOOD))
    with pytest.raises(ConfigurationError, match=f"the option {name} is"):
        asked("run", made, **{name: value})
    assert made.sent == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_what_was_cut_is_an_error_at_once(way: str, reason: str) -> None:
    body = whole(form("native", BAD))
    body["choices"][0]["finish_reason"] = reason
    streamed = json.loads(json.dumps(chunks(form("native", BAD))).replace('"stop"', f'"{reason}"'))
    made = Scripted(streamed if "stream" in way else body)
    with pytest.raises(StructuredOutputError, match=f"ended with {reason}") as caught:
        asked(way, made)
    assert len(made.sent) == 1
    assert caught.value.response.finish_reason == reason
    assert len(caught.value.attempts) == 1


def test_a_refusal_is_an_error_at_once() -> None:
    body = whole([("text", "")])
    body["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I will not"}
    made = Scripted(body)
    with pytest.raises(StructuredOutputError, match="refusal") as caught:
        asked("run", made)
    assert caught.value.response.refusal == {"category": None, "text": "I will not"}


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_calls_the_callers_tools_is_no_answer(way: str) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    made = driver([("call", "c1", "look", "{}")], stream="stream" in way)
    response = asked(way, made, tools=[tool])
    assert ([call.name for call in response.tool_calls], response.parsed) == (["look"], None)
    assert len(made.sent) == 1


# --- usage, metadata, messages ----------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_usage_and_metadata_are_those_of_all_calls(way: str) -> None:
    answers = script(form("native", BAD), form("native", BAD), form("native", GOOD), stream="stream" in way)
    made = Scripted(answers[0], busy(), *answers[1:], facts=FACTS)
    response = asked(way, made, max_repairs=2)
    assert {name: getattr(response.usage, name) for name in NUMBERS} == {n: 3 * v for n, v in NUMBERS.items()}
    assert not response.usage.partial
    metadata = response.metadata
    assert metadata is not None
    assert (metadata.repairs, metadata.attempts, len(metadata.retries)) == (2, 4, 1)
    assert [answer.usage.total for answer in metadata.rejected] == [12, 12]
    assert metadata.last_usage is not None
    assert metadata.last_usage.total == 12
    assert (metadata.first_delta is not None) is ("stream" in way)
    assert made.slept != []


def test_usage_that_one_call_did_not_tell_makes_the_sum_partial() -> None:
    first, second = script(form("native", BAD), form("native", GOOD), stream=False)
    del first["usage"]
    response = asked("run", Scripted(first, second))
    assert (response.usage.total, response.usage.partial) == (12, True)
    assert response.metadata is not None
    assert response.metadata.rejected[0].usage.total is None


def test_an_answer_without_repairs_is_as_it_was() -> None:
    response = asked("run", driver(form("native", GOOD)))
    assert response.usage.raw is not None
    assert response.metadata is not None
    assert (response.metadata.repairs, response.metadata.rejected) == (0, ())
    assert response.messages == (response.message,)


@pytest.mark.parametrize("way", WAYS)
def test_only_the_last_answer_belongs_into_the_conversation_unless_repairs_are_kept(way: str) -> None:
    def ask(**settings: Any) -> NormalizedResponse:
        return asked(way, driver(form("native", BAD), form("native", GOOD), stream="stream" in way), **settings)

    assert [message.role for message in ask().messages] == ["assistant"]
    kept = ask(keep_repairs=True)
    assert [message.role for message in kept.messages] == ["assistant", "user", "assistant"]
    assert json.loads(kept.messages[0].to_text()) == BAD
    assert kept.messages[-1] is kept.message


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("api", APIS)
def test_kept_repairs_can_be_sent_again(api: str, strategy: str) -> None:
    made = driver(form(strategy, BAD), form(strategy, GOOD, 2), [("text", "Yes.")], api=api)
    response = asked("run", made, keep_repairs=True, structured_output_strategy=strategy)
    history = [turn("user", "Which city?"), *response.messages, turn("user", "Sure?")]
    assert made.run(PromptStack(history)).text == "Yes."


# --- failures on the way --------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_of_the_repair_is_the_failure_of_the_call(way: str) -> None:
    made = Scripted(*script(form("native", BAD), stream="stream" in way), busy(), busy(), busy(), facts=FACTS)
    with pytest.raises(ServerError):
        asked(way, made)
    assert len(made.sent) == 4
    if way == "run":
        again = Scripted(*script(form("native", BAD), stream=False), ServerError("no", retryable=False), facts=FACTS)
        response = asked(way, again, on_error="return")
        assert (response.error is not None, response.usage.total) == (True, 12)


def test_a_stream_whose_repair_fails_ends_once_and_raises() -> None:
    made = Scripted(*script(form("native", BAD), stream=True), *[busy()] * 3, facts=FACTS)
    deltas, stream, error = deltas_of(made)
    check_deltas(deltas)
    assert isinstance(error, ProviderError)
    assert stream.response.error is not None
    broken = [*chunks(form("native", GOOD))[:3], busy(status=503)]
    made = Scripted(*script(form("native", BAD), stream=True), broken, facts=FACTS)
    deltas, stream, error = deltas_of(made)
    check_deltas(deltas)
    assert isinstance(error, ProviderError)


def test_the_time_bound_is_that_of_all_calls_together() -> None:
    made = driver(form("native", BAD), form("native", BAD), form("native", GOOD))
    made.clock = Clock(1.0)
    bounds: list[float | None] = []
    send = Scripted.send

    def noted(self: Scripted, conversion: Any) -> Any:
        bounds.append(self.timeout)
        return send(self, conversion)

    made.__class__ = type("Noted", (Scripted,), {"send": noted})
    assert asked("run", made, max_repairs=2, timeout=60.0).parsed == ROME
    told = [bound for bound in bounds if bound is not None]
    assert len(told) == 3
    assert told == sorted(told, reverse=True)
    assert len(set(told)) == 3


def test_an_interrupt_in_a_repair_passes() -> None:
    made = Scripted(
        *script(form("native", BAD), stream=True), [*chunks(form("native", GOOD))[:4], KeyboardInterrupt()], facts=FACTS
    )
    stream = made.stream("Which city?", output_schema=City)
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert stream.response.finish_reason == "incomplete"
    assert stream.response.text.startswith('{"name')


@pytest.mark.parametrize("way", WAYS)
def test_the_hooks_are_called_once(way: str) -> None:
    class Hooked(Scripted):
        before = 0
        seen: Any = None
        after = 0

        def before_run(self, prompt_stack: PromptStack) -> None:
            self.before += 1

        def after_run(self, response: NormalizedResponse) -> None:
            self.after += 1
            self.seen = response

    stream = "stream" in way
    made = Hooked(*script(form("native", BAD), form("native", GOOD), stream=stream), facts=FACTS)
    response = asked(way, made)
    assert (made.before, made.after) == (1, 1)
    assert made.seen.parsed == ROME
    assert made.seen.usage == response.usage


# --- laws -----------------------------------------------------------------------------------------


values = st.fixed_dictionaries(
    {}, optional={"name": st.text(max_size=4) | st.integers(), "size": st.integers() | st.text(max_size=2)}
)


@given(st.lists(values, min_size=3, max_size=3), st.sampled_from(STRATEGIES), st.integers(1, 9), st.integers(0, 2))
def test_whole_is_streamed_and_sync_is_async(answers: list[Any], strategy: str, size: int, most: int) -> None:
    def outcome(way: str) -> Any:
        stream = "stream" in way
        made = Scripted(
            *script(*[form(strategy, each, n) for n, each in enumerate(answers)], stream=stream, size=size),
            facts=FACTS,
        )
        try:
            result = comparable(asked(way, made, structured_output_strategy=strategy, max_repairs=most))
        except StructuredOutputError as error:
            result = (error.attempts, error.response.to_dict(), str(error))
        for body in made.sent:
            body.pop("stream", None)
            body.pop("stream_options", None)
        return result, made.sent

    first = outcome("run")
    for way in ("stream", "arun", "astream"):
        assert outcome(way) == first
    assert outcome("run") == first


def test_two_at_once_do_not_meet() -> None:
    made: Callable[[], Scripted] = lambda: driver(form("native", BAD), form("native", GOOD), stream=True)  # noqa: E731

    async def both() -> list[Any]:
        async def one() -> Any:
            stream = made().astream("Which city?", output_schema=City)
            check_deltas([delta async for delta in stream])
            return stream.response.parsed

        return await asyncio.gather(*[one() for _ in range(5)])

    assert asyncio.run(both()) == [ROME] * 5


# --- the request ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["auto", *STRATEGIES])
def test_a_preview_shows_the_same_plan(strategy: str) -> None:
    made = driver(form("tool" if strategy == "tool" else "native", GOOD))
    shown = made.preview("Which city?", output_schema=City, structured_output_strategy=strategy)
    assert asked("run", made, structured_output_strategy=strategy).parsed == ROME
    assert made.sent == [shown.to_json()]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_strategy_stays_the_same_in_a_repair(strategy: str) -> None:
    made = driver(form(strategy, BAD), form(strategy, GOOD, 2), structured_output_strategy="auto", facts=FACTS)
    stack = PromptStack([turn("user", "q")], output_schema=City, settings={"structured_output_strategy": strategy})
    assert made.run(stack).parsed == ROME
    first, second = made.sent
    assert {key: first.get(key) for key in ("response_format", "tools", "tool_choice")} == {
        key: second.get(key) for key in ("response_format", "tools", "tool_choice")
    }


def test_a_repair_goes_by_the_plan_that_auto_fell_back_to() -> None:
    tree = {"type": "object", "properties": {"n": {"type": "integer"}, "below": {"$ref": "#"}}, "required": ["n"]}
    made = driver(
        form("tool", {"n": "x"}), form("tool", {"n": 1}, 2), api="anthropic_messages", model="claude-opus-4-8"
    )
    response = made.run("q", output_schema=tree, max_tokens=100)
    assert response.parsed == {"n": 1}
    assert [body["tools"][0]["name"] for body in made.sent] == ["final_answer"] * 2
