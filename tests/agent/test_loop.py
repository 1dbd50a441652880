"""The script of a run, with scripted answers: no driver is asked, nothing waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    ActionResultMessageContent,
    ConversationMemory,
    ConversionError,
    DummyPromptDriver,
    ErrorInfo,
    Message,
    NormalizedResponse,
    PromptStack,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
    ToolLoopError,
    Usage,
)
from llmneutral.agent.loop import Act, Ask, Recall, Tell, loop
from llmneutral.agent.planning import CUT, TAKEN, Offer
from llmneutral.agent.run import Limits, Run
from llmneutral.agent.running import run_batch
from llmneutral.convert.feedback import NO_ACTION
from llmneutral.convert.pairing import NOT_COMPLETED
from llmneutral.convert.react.reading import NO_ANSWER, THOUGHT
from llmneutral.ir.tools import definitions
from tests.agent.scripts import Counter, answer, assert_valid, call, invalid, results, texts

HANDED = {"type": "function", "function": {"name": "handed", "parameters": {"type": "object"}}}


def came(turn: Any, reason: Any = "stop", **more: Any) -> NormalizedResponse:
    return NormalizedResponse(answer(turn), finish_reason=reason, **more)


class Played:
    """A run played with scripted answers; an exception among them is thrown in."""

    def __init__(self, *answers: Any, tools: Any = (), given: Any = ("hi",), **options: Any) -> None:
        self.memory = options.pop("memory", None) or ConversationMemory()
        driver = DummyPromptDriver("m", api_mode="chat_completions", **options.pop("driver", {}))
        stack = PromptStack()
        for each in given:
            stack.messages.append(each) if isinstance(each, Message) else stack.add_user_message(each)
        self.run = Run(driver, stack.messages, Offer(definitions(tools)), memory=self.memory, **options)
        self.asked: list[Ask] = []
        self.told: list[Any] = []
        self.batches = 0
        self.error: BaseException | None = None
        self._play(list(answers))
        self.result = self.run.result()

    def _play(self, answers: list[Any]) -> None:
        flow = loop(self.run)
        try:
            step = flow.send(None)
            while True:
                step = flow.send(self._answered(step, answers, flow))
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001  # looked at by the tests
            self.error = error
        assert answers == []

    def _answered(self, step: Any, answers: list[Any], flow: Any) -> Any:
        if isinstance(step, Recall):
            return self.memory.recall(self.run.system)
        if isinstance(step, Tell):
            self.told += step.deltas
            return None
        if isinstance(step, Act):
            self.batches += 1
            return run_batch(step.batch, step.bounds)
        assert isinstance(step, Ask)
        self.asked.append(step)
        given = answers.pop(0)
        if isinstance(given, BaseException):
            flow.throw(given)
        return given


def test_a_run_asks_runs_and_asks_again() -> None:
    counter = Counter()
    first, last = came(["let me see", call("1", "count", n=4)], usage=Usage(5, total=6)), came("four", usage=Usage(7))
    played = Played(first, last, tools=[counter.tool()], system="be kind")
    assert counter.seen == [4]
    assert texts(played.asked[0].stack.messages) == ["system: be kind", "user: hi"]
    assert texts(played.asked[1].stack.messages)[2:] == ['assistant: let me see\ncount({"n": 4})', "user: 4"]
    assert texts(played.memory.messages) == [*texts(played.asked[1].stack.messages)[1:], "assistant: four"]
    assert played.result.messages == tuple(played.memory.messages)
    assert (played.result.text, played.result.steps) == ("four", 2)
    assert [(each.name, each.input, each.output) for each in played.result.calls] == [("count", {"n": 4}, 4)]
    assert played.result.usage == Usage(12, total=6, partial=True)
    assert [(delta.kind, delta.content.value.output) for delta in played.told] == [("tool_result", 4)]
    assert_valid(played.memory.messages)


def test_what_the_model_wrote_is_kept_as_it_is() -> None:
    sealed = ThinkingMessageContent("hm", signature="seal")
    turn = answer([sealed, call("1", "count")])
    played = Played(came(turn), came("done"), tools=[Counter().tool()])
    assert played.memory.messages[1] is turn


def test_errors_go_back_to_the_model_and_the_run_goes_on() -> None:
    counter = Counter()
    turn = [call("1", "cuont"), invalid("2", "count", '{"n": '), call("3", "count", n="many"), call("4", "count", n=1)]
    played = Played(came(turn), came("done"), tools=[counter.tool()])
    told = results(played.memory.messages)
    assert [told[str(n)].is_error for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert counter.seen == [1]
    assert played.result.text == "done"
    assert_valid(played.memory.messages)


def test_max_steps_bounds_a_run_and_keeps_everything() -> None:
    counter = Counter()
    turns = [came(call(str(n), "count", n=n)) for n in range(3)]
    played = Played(*turns, tools=[counter.tool()], limits=Limits(max_steps=3), system="be kind")
    error = played.error
    assert isinstance(error, ToolLoopError)
    assert "max_steps=3" in str(error)
    assert (error.steps, error.response, error.partial) == (3, turns[-1], turns[-1])
    assert texts(error.stack.messages) == ["system: be kind", *texts(played.memory.messages)]
    assert counter.seen == [0, 1, 2]
    assert len(played.memory) == 7
    assert_valid(played.memory.messages)
    more = Played(came("well"), given=(), memory=played.memory, tools=[counter.tool()])
    assert more.result.text == "well"
    assert counter.seen == [0, 1, 2]


def test_format_errors_in_a_row_bound_a_run() -> None:
    bad = [came(invalid(str(n), "count", "{")) for n in range(9)]
    played = Played(*bad[:3], tools=[Counter().tool()])
    assert isinstance(played.error, ToolLoopError)
    assert len(played.asked) == 3
    assert_valid(played.memory.messages)
    between = came(call("x", "count"))
    played = Played(*bad[:2], between, *bad[2:4], came("done"), tools=[Counter().tool()])
    assert played.error is None
    assert played.result.text == "done"


def test_unknown_names_are_no_format_errors() -> None:
    played = Played(*[came(call(str(n), "no")) for n in range(5)], came("done"), tools=[Counter().tool()])
    assert played.result.text == "done"


def test_a_pause_is_gone_on_from() -> None:
    played = Played(came("half", "pause"), came(" done", "stop"))
    assert texts(played.asked[1].stack.messages) == ["user: hi", "assistant: half"]
    assert played.result.text == " done"
    counter = Counter()
    played = Played(came(["half", call("1", "count", n=1)], "pause"), came("done"), tools=[counter.tool()])
    assert counter.seen == [1]


def test_pauses_without_end_are_bounded() -> None:
    played = Played(*[came("half", "pause") for _ in range(4)], limits=Limits(max_steps=4))
    assert isinstance(played.error, ToolLoopError)


def test_the_call_within_which_an_answer_was_cut_is_not_run() -> None:
    counter = Counter()
    turn = came([call("1", "count", n=1), call("2", "count")], "length")
    played = Played(turn, came("done"), tools=[counter.tool()])
    assert counter.seen == [1]
    assert results(played.memory.messages)["2"].output == CUT


@pytest.mark.parametrize("reason", ["refusal", "content_filter"])
def test_the_calls_of_an_answer_that_was_stopped_are_not_run(reason: str) -> None:
    counter = Counter()
    turn = came([RefusalMessageContent("no"), call("1", "count")], reason)
    played = Played(turn, tools=[counter.tool()])
    assert counter.seen == []
    assert results(played.memory.messages)["1"].output == NOT_COMPLETED
    assert_valid(played.memory.messages)


def test_an_error_that_is_returned_ends_the_run_and_is_not_remembered() -> None:
    failed = came([], "error", error=ErrorInfo("overloaded_error"), complete=False)
    played = Played(failed)
    assert played.error is None
    assert played.result.response is failed
    assert played.memory.messages == []


def test_an_id_that_has_its_result_is_not_run_again() -> None:
    counter = Counter()
    again = came(call("1", "count", n=7), id="r")
    played = Played(again, again, came("done"), tools=[counter.tool()])
    assert counter.seen == [7]
    assert {tag: each.output for tag, each in results(played.memory.messages).items()} == {"1": 7, "1_2": 7}
    assert_valid(played.memory.messages)


def test_an_id_that_has_its_result_is_not_run_again_where_the_run_broke_off() -> None:
    counter = Counter()
    again = came(call("1", "count", n=7), id="r")
    broken = Played(again, KeyboardInterrupt(), tools=[counter.tool()])
    assert isinstance(broken.error, KeyboardInterrupt)
    Played(again, came("done"), tools=[counter.tool()], memory=broken.memory)
    assert counter.seen == [7]
    assert_valid(broken.memory.messages)


@pytest.mark.parametrize("answer", [came("done"), came(call("f", "final_answer", n=1))], ids=["text", "tool"])
@pytest.mark.parametrize("kept", [True, False], ids=["memory", "stack"])
def test_ids_that_begin_anew_after_an_answer_are_those_of_other_calls(answer: Any, kept: bool) -> None:
    """Some servers count the calls of each answer from 0: the same question again must not get the old result."""
    counter = Counter()
    again = came(call("call_0", "count", n=7))
    options: dict[str, Any] = {"tools": [counter.tool()], "output_schema": {"type": "object"}}
    first = Played(again, answer, **options)
    earlier = {"memory": first.memory} if kept else {"given": [*first.memory.messages, "and now?"]}
    later = Played(again, again, answer, **options, **earlier)
    assert counter.seen == [7, 7]
    assert [each.output for each in results(later.memory.messages).values()].count(7) == 3
    assert_valid(later.memory.messages)


def test_an_id_that_stood_for_different_calls_says_nothing() -> None:
    """A server that gives every call one id: what is asked for again is done again."""
    counter = Counter()
    script = [came(call("0", "count", n=n)) for n in (1, 1, 2, 1, 1)]
    played = Played(*script, came("done"), tools=[counter.tool()])
    assert counter.seen == [1, 2, 1, 1]
    assert [each.output for each in results(played.memory.messages).values()] == [1, 1, 2, 1, 1]
    assert_valid(played.memory.messages)


# --- calls that are handed back -----------------------------------------------------------------


def test_calls_without_a_function_are_handed_back_and_taken_up() -> None:
    counter = Counter()
    played = Played(came([call("1", "handed", x=1), call("2", "count", n=2)]), tools=[counter.tool(), HANDED])
    assert played.error is None
    assert [(each.tag, each.input, each.output) for each in played.result.open_calls] == [("1", {"x": 1}, None)]
    assert counter.seen == [2]
    given = Message("user", (ActionResultMessageContent("1", "by hand", name="handed"),))
    later = Played(came("done"), given=[given], memory=played.memory, tools=[counter.tool(), HANDED])
    assert later.result.text == "done"
    assert later.result.open_calls == ()
    assert counter.seen == [2]
    assert results(played.memory.messages)["1"].output == "by hand"
    made = json.dumps([texts(played.memory.messages)])
    assert NOT_COMPLETED not in made


def test_a_new_question_settles_calls_that_were_handed_back() -> None:
    played = Played(came([call("1", "handed"), call("2", "handed")]), tools=[HANDED])
    Played(came("done"), given=["never mind"], memory=played.memory, tools=[HANDED])
    told = results(played.memory.messages)
    assert [told[tag].output for tag in ("1", "2")] == [NOT_COMPLETED] * 2
    assert_valid(played.memory.messages)


def test_a_result_and_a_question_settle_the_rest() -> None:
    played = Played(came([call("1", "handed"), call("2", "handed")]), tools=[HANDED])
    blocks = (ActionResultMessageContent("1", "mine"), TextMessageContent("and leave the other"))
    Played(came("done"), given=[Message("user", blocks)], memory=played.memory, tools=[HANDED])
    told = results(played.memory.messages)
    assert (told["1"].output, told["2"].output) == ("mine", NOT_COMPLETED)


def test_calls_that_stand_open_in_a_conversation_are_run_but_once() -> None:
    """A conversation that was broken off elsewhere: what has its result is not run again."""
    counter = Counter()
    turn = answer([call("1", "count", n=1), call("2", "count", n=2)])
    half = Message("user", (ActionResultMessageContent("1", "there"),))
    memory = ConversationMemory([Message("user", (TextMessageContent("go"),)), turn, half])
    played = Played(came("done"), given=(), memory=memory, tools=[counter.tool()])
    assert counter.seen == [2]
    assert played.result.text == "done"
    assert_valid(memory.messages)


def test_results_of_some_leave_the_others_open() -> None:
    played = Played(came([call("1", "handed"), call("2", "handed")]), tools=[HANDED])
    given = Message("user", (ActionResultMessageContent("2", "second"),))
    later = Played(given=[given], memory=played.memory, tools=[HANDED])
    assert [each.tag for each in later.result.open_calls] == ["1"]
    assert later.asked == []


# --- structured answers -------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def test_the_call_that_is_the_answer_is_not_run_and_gets_a_result() -> None:
    counter = Counter()
    turn = came([call("1", "count", n=1), call("2", "final_answer", n=3)], parsed={"n": 3})
    played = Played(turn, tools=[counter.tool()], output_schema=SCHEMA)
    assert counter.seen == []
    assert played.result.parsed == {"n": 3}
    told = results(played.memory.messages)
    assert (told["2"].output, told["2"].is_error) == (TAKEN, False)
    assert (told["1"].output, told["1"].is_error) == (NOT_COMPLETED, True)
    assert played.memory.messages[1] is turn.message
    assert_valid(played.memory.messages)


def test_a_tool_of_the_callers_with_that_name_is_a_tool() -> None:
    seen: list[int] = []

    def final_answer(n: int) -> int:
        """Is the caller's."""
        seen.append(n)
        return n

    turn, last = came(call("1", "final_answer", n=1)), came(call("2", "final_answer_2", n=3), parsed={"n": 3})
    played = Played(turn, last, tools=[final_answer], output_schema=SCHEMA)
    assert seen == [1]
    assert played.result.parsed == {"n": 3}
    assert Played(turn, came("done"), tools=[final_answer]).result.text == "done"
    assert seen == [1, 1]


# --- tools as text ------------------------------------------------------------------------------


def test_a_mere_thought_is_reminded_of_the_form_once_and_then_is_the_answer() -> None:
    thought = came(ThinkingMessageContent("so it is four", origin=THOUGHT), notes=(NO_ANSWER,))
    counter = Counter()
    tools = [counter.tool()]
    played = Played(thought, thought, tools=tools)
    assert texts(played.asked[1].stack.messages)[-1] == f"user: {NO_ACTION}"
    assert played.result.text == "so it is four"
    assert Played(thought, came("four"), tools=tools).result.text == "four"
    again = Played(thought, came(call("1", "count")), thought, came("four"), tools=tools)
    assert again.result.text == "four"
    assert Played(came(ThinkingMessageContent("native")), tools=tools).result.text == ""


# --- what forces a call -------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "count"}}, "count"])
def test_what_forces_a_call_counts_for_the_first_answer_only(choice: Any) -> None:
    turns = [came(call("1", "count")), came("done")]
    played = Played(*turns, tools=[Counter().tool()], settings={"tool_choice": choice})
    assert [step.overrides.get("tool_choice") for step in played.asked] == [choice, None]
    if choice == "required":
        played = Played(*turns, tools=[Counter().tool()], driver={"tool_choice": choice})
        assert [step.overrides.get("tool_choice") for step in played.asked] == [None, "auto"]


def test_what_forces_nothing_stays() -> None:
    played = Played(came(call("1", "count")), came("x"), tools=[Counter().tool()], settings={"tool_choice": "none"})
    assert [step.overrides["tool_choice"] for step in played.asked] == ["none", "none"]


# --- failures -----------------------------------------------------------------------------------


def test_a_run_that_fails_at_once_leaves_nothing() -> None:
    played = Played(RuntimeError("lost"))
    assert isinstance(played.error, RuntimeError)
    assert played.memory.messages == []


def test_a_run_that_fails_later_leaves_what_was_done() -> None:
    counter = Counter()
    played = Played(came(call("1", "count", n=1)), KeyboardInterrupt(), tools=[counter.tool()])
    assert isinstance(played.error, KeyboardInterrupt)
    assert texts(played.memory.messages) == ["user: hi", 'assistant: count({"n": 1})', "user: 1"]
    assert_valid(played.memory.messages)


def test_nothing_to_ask_is_told() -> None:
    played = Played(given=())
    assert isinstance(played.error, ConversionError)
    assert "prompt is empty" in str(played.error)


def test_the_loop_has_no_way_to_wait() -> None:
    import llmneutral.agent.loop as module

    words = Path(str(module.__file__)).read_text()
    assert not any(name in words for name in ("asyncio", "threading", "import time", "queue"))
