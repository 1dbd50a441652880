"""`--run-tools`: calls that are run, as they are shown, kept, and sent on."""

from __future__ import annotations

import io
import itertools
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets.asking import ask, ask_all
from llmneutral_widgets.bundles import exchange_bundle
from llmneutral_widgets.exchange import Exchange, usage_rows
from llmneutral_widgets.pricing import OwnPrices
from llmneutral_widgets.scrub import Secrets
from llmneutral_widgets.session import Conversation
from llmneutral_widgets.sinks import CollectSink, Columns, DisplaySink, Progress, TextSink
from llmneutral_widgets.tool_rounds import MOST
from llmneutral_widgets.views.answer import summary_line
from tests.drivers.scripted import Scripted, busy, chunks
from tests.widgets.rounds import APIS, DONE, WAYS, Weather, call, done, driver, question

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def roles(exchange: Exchange) -> list[str]:
    return [message.role for message in exchange.turn]


def line_of(exchange: Exchange) -> str:
    return summary_line(exchange.to_json())


def html_of(exchange: Exchange) -> str:
    return str(exchange_bundle(exchange).data["text/html"])


def results(exchange: Exchange) -> list[str]:
    blocks = [block for message in exchange.later for block in message.content]
    return [block.to_text() for block in blocks if isinstance(block, llmneutral.ActionResultMessageContent)]


# ----------------------------------------------------------------------------------------------------------------------
# What is run, and what is kept


@WAYS
@pytest.mark.parametrize("api", APIS)
def test_calls_are_run_and_the_answer_comes_after_them(api: str, stream: bool) -> None:
    weather = Weather()
    asked = driver([("text", "Let me see."), call()], DONE, stream=stream, api=api)
    exchange = done(ask(question(asked, weather.tool(), stream=stream), CollectSink()))
    assert weather.cities == ["Rome"]
    assert (exchange.status, exchange.text) == ("complete", "It is sunny.")
    assert roles(exchange) == ["user", "assistant", "user", "assistant"]
    assert results(exchange) == ["sunny in Rome"]
    assert exchange.conversion.trace, "the request can be looked at, block by block"
    assert exchange.payload["tools"]
    assert bool(exchange.deltas) is stream
    again = Exchange.from_json(exchange.to_json())
    assert [message.to_text() for message in again.turn] == [message.to_text() for message in exchange.turn]
    assert again.calls == list(exchange.calls)


@WAYS
def test_every_answer_is_a_call_with_its_own_tokens(stream: bool) -> None:
    asked = driver([call()], [call(2, "Oslo")], DONE, stream=stream)
    exchange = done(ask(question(asked, Weather().tool(), stream=stream), CollectSink()))
    rows = usage_rows(exchange.to_json())
    assert [row["total"] for row in rows] == [12, 12, 12]
    assert [row["finish_reason"] for row in rows] == ["tool_calls", "tool_calls", "stop"]
    assert exchange.usage.total == 36, "the exchange's own are the sum"
    assert "3 requests" in line_of(exchange)


@WAYS
def test_five_rounds_are_run_and_what_is_called_then_is_only_shown(stream: bool) -> None:
    weather = Weather()
    asked = driver(*[[call(n, f"city {n}")] for n in range(1, 9)], stream=stream)
    exchange = done(ask(question(asked, weather.tool(), stream=stream), CollectSink()))
    assert weather.cities == [f"city {n}" for n in range(1, MOST + 1)]
    assert len(asked.sent) == MOST + 1
    assert (exchange.status, exchange.response.finish_reason) == ("complete", "tool_calls")
    assert [block.tag for block in exchange.message.content] == [f"call_{MOST + 1}"]
    assert roles(exchange) == ["user", *["assistant", "user"] * MOST, "assistant"]
    assert len(exchange.calls) == MOST + 1


@WAYS
@pytest.mark.parametrize("cities", [["Rome"] * 8, [f"city {n}" for n in range(8)]], ids=["the same", "others"])
def test_a_server_that_begins_its_ids_anew_ends_alike(stream: bool, cities: list[str]) -> None:
    """The same call by the same id has its result already; it ends there all the same, and is no error."""
    weather = Weather()
    asked = driver(*[[call(0, city)] for city in cities], stream=stream)
    exchange = done(ask(question(asked, weather.tool(), stream=stream), CollectSink()))
    assert weather.cities == (["Rome"] if cities[0] == cities[1] else cities[:MOST])
    assert len(asked.sent) == MOST + 1
    assert exchange.status == "complete"
    assert_valid_everywhere(exchange)


@WAYS
def test_a_choice_that_forces_a_call_forces_the_first_answer_only(stream: bool) -> None:
    asked = driver(*[[call(n)] for n in range(1, MOST + 1)], DONE, stream=stream)
    given = question(asked, Weather().tool(), stream=stream, settings={"tool_choice": "required"})
    exchange = done(ask(given, CollectSink()))
    assert exchange.text == "It is sunny."
    choices = [sent.get("tool_choice") for sent in asked.sent]
    assert choices[0] == "required"
    assert "required" not in choices[1:]
    made_of = [request.stack.settings.get("tool_choice") for request in exchange.requests]
    assert made_of == ["required", *[None] * MOST], "what a request is compared by is what it was made of"


@WAYS
def test_what_cannot_be_read_is_never_run(stream: bool) -> None:
    weather = Weather()
    asked = driver([("call", "call_1", "weather", '{"city": ')], [call(2, name="whether")], DONE, stream=stream)
    exchange = done(ask(question(asked, weather.tool(), stream=stream), CollectSink()))
    assert weather.cities == []
    assert exchange.text == "It is sunny."
    first, second = results(exchange)
    assert "JSON" in first
    assert "weather" in second, "it is told which tools there are"


def test_a_tool_that_fails_is_told_to_the_model_and_marked() -> None:
    asked = driver([call()], DONE)
    exchange = done(ask(question(asked, Weather(ValueError("no such city")).tool()), CollectSink()))
    assert "no such city" in results(exchange)[0]
    html = html_of(exchange)
    assert html.index("calls") < html.index("no such city") < html.index("It is sunny.")
    assert ">error</b>" in html


def test_a_tool_without_a_function_is_only_shown() -> None:
    weather = Weather()
    handed = llmneutral.ToolDefinition("ask_me", parameters={"type": "object", "properties": {}})
    asked = driver([call(), ("call", "call_2", "ask_me", "{}")], DONE)
    exchange = done(ask(question(asked, weather.tool(), handed), CollectSink()))
    assert (weather.cities, len(asked.sent)) == (["Rome"], 1)
    assert (exchange.status, exchange.response.finish_reason) == ("complete", "tool_calls")
    assert roles(exchange) == ["user", "assistant", "user"], "what was run keeps its result"


@WAYS
def test_an_answer_in_a_form_after_calls(stream: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    asked = driver([call()], [("text", '{"a": "x"}')], [("text", '{"a": 1}')], stream=stream)
    exchange = done(ask(question(asked, Weather().tool(), stream=stream, schema=schema), CollectSink()))
    assert (exchange.text, exchange.parsed) == ('{"a": 1}', {"a": 1})
    assert [row["status"] for row in usage_rows(exchange.to_json())] == ["complete", "rejected", "complete"]
    assert "1 rejected" in line_of(exchange)


@WAYS
def test_tools_as_text(stream: bool) -> None:
    weather = Weather()
    wants = [("text", 'Thought: I look.\nActions: [{"tag": "t1", "name": "weather", "input": {"city": "Rome"}}]')]
    asked = driver(wants, [("text", "Thought: I know.\nAnswer: Sunny.")], stream=stream)
    given = question(asked, weather.tool(), stream=stream, settings={"use_native_tools": False})
    exchange = done(ask(given, CollectSink()))
    assert weather.cities == ["Rome"]
    assert exchange.text == "Sunny."
    html = html_of(exchange)
    assert html.count('<details class="thinking">') == 2, "a thought is folded"
    assert "Actions:" not in html


@WAYS
def test_what_is_wrong_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    sink, weather = CollectSink(), Weather().tool()
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (llmneutral.drivers_config("anthropic").prompt_driver, {}, "ANTHROPIC_API_KEY"),
        (driver(DONE, stream=stream), {"settings": {"temperature": "hot"}}, "temperature"),
        (driver(DONE, stream=stream), {"options": {"max_repairs": -1}}, "max_repairs"),
    ]
    for asked, fields, told in wrong:
        with pytest.raises(llmneutral.LLMNeutralError, match=told):
            ask(question(asked, weather, stream=stream, **fields), sink)
    assert sink.request == {}


@WAYS
def test_the_hooks_of_a_driver_are_called_once_for_each_answer(stream: bool) -> None:
    asked = driver([call()], DONE, stream=stream)
    hooked: list[int] = []
    vars(asked)["before_run"] = lambda stack: hooked.append(len(stack.messages))
    done(ask(question(asked, Weather().tool(), stream=stream), CollectSink()))
    assert hooked == [1, 3]


# ----------------------------------------------------------------------------------------------------------------------
# Failures and interrupts


@WAYS
def test_a_provider_that_fails_between_rounds_fails_and_what_was_run_is_kept(stream: bool) -> None:
    asked = driver([call()], llmneutral.InvalidRequestError("no"), stream=stream)
    outcome = ask(question(asked, Weather().tool(), stream=stream), CollectSink())
    assert isinstance(outcome.error, llmneutral.InvalidRequestError)
    exchange = outcome.exchange
    assert exchange is not None
    assert (exchange.status, results(exchange)) == ("failed", ["sunny in Rome"])
    assert exchange.history["sent"] is False
    assert [row["status"] for row in usage_rows(exchange.to_json())] == ["complete", "failed"]


@WAYS
def test_an_interrupt_within_a_tool_keeps_what_was_done(stream: bool) -> None:
    asked = driver([call(1), call(2, "Oslo")], DONE, stream=stream)
    outcome = ask(question(asked, Weather(KeyboardInterrupt()).tool(), stream=stream), CollectSink())
    assert isinstance(outcome.error, KeyboardInterrupt)
    exchange = outcome.exchange
    assert exchange is not None
    assert (exchange.status, len(asked.sent)) == ("interrupted", 1)
    assert roles(exchange) == ["user", "assistant", "user"]
    assert len(results(exchange)) == 2, "every call has a result"
    assert exchange.history["sent"] is True


class StoppingSink(CollectSink):
    """Is interrupted at a kind of delta."""

    def __init__(self, at: str, number: int) -> None:
        super().__init__()
        self.at, self.left = at, number

    def push(self, delta: Any) -> None:
        super().push(delta)
        self.left -= delta.kind == self.at
        if self.left == 0 and delta.kind == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("at", "number", "told", "text"),
    [
        ("start", 1, ["user", "assistant"], ""),
        ("call", 2, ["user", "assistant"], ""),
        ("end", 1, ["user", "assistant"], ""),
        ("tool_result", 1, ["user", "assistant", "user"], ""),
        ("start", 2, ["user", "assistant", "user", "assistant"], "It "),
        ("text", 2, ["user", "assistant", "user", "assistant"], "It is "),
        ("end", 2, ["user", "assistant", "user", "assistant"], "It is sunny."),
    ],
)
def test_an_interrupt_while_it_is_shown_keeps_what_had_come(at: str, number: int, told: list[str], text: str) -> None:
    outcome = ask(question(driver([call()], DONE), Weather().tool()), StoppingSink(at, number))
    assert isinstance(outcome.error, KeyboardInterrupt)
    exchange = outcome.exchange
    assert exchange is not None
    assert exchange.status == "interrupted"
    assert roles(exchange) == told
    assert exchange.text == text
    assert_valid_everywhere(exchange)


def test_a_listener_that_stops_another_thread_stops_between_rounds() -> None:
    """Several at once: an interrupt stops each, and each keeps what it has."""
    gate = threading.Event()

    def weather(city: str) -> str:
        gate.wait(20)
        return city

    slow = driver([call()], DONE)
    quick = driver(DONE)
    sinks = [CollectSink(), CollectSink()]
    original, main = threading.Thread.join, threading.current_thread()
    pressed: list[bool] = []

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        is_time = slow.sent and sinks[1].exchange is not None and any(d.kind == "end" for d in sinks[0].deltas)
        if threading.current_thread() is main and not pressed and is_time:
            pressed.append(True)
            raise KeyboardInterrupt
        original(thread, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "join", join)
        outcomes, interrupt = ask_all([question(slow, weather), question(quick, weather)], sinks)
    gate.set()
    assert isinstance(interrupt, KeyboardInterrupt)
    found = [outcome.exchange for outcome in outcomes]
    assert [(e.status, e.text) for e in found if e] == [("interrupted", ""), ("complete", "It is sunny.")]
    assert found[0] is not None
    assert roles(found[0])[:2] == ["user", "assistant"]
    assert_valid_everywhere(found[0])


def test_several_run_their_tools_side_by_side() -> None:
    weather = Weather()
    drivers = [driver([call(1, "Rome")], DONE), driver([call(1, "Oslo")], [("text", "Cold.")])]
    outcomes, interrupt = ask_all([question(each, weather.tool()) for each in drivers], [CollectSink(), CollectSink()])
    assert interrupt is None
    assert sorted(weather.cities) == ["Oslo", "Rome"]
    assert [done(outcome).text for outcome in outcomes] == ["It is sunny.", "Cold."]
    assert [results(done(outcome)) for outcome in outcomes] == [["sunny in Rome"], ["sunny in Oslo"]]


def test_what_a_tool_asks_a_model_is_not_counted_here() -> None:
    inner = driver(DONE)

    def weather(city: str) -> str:
        with inner.stream(city) as stream:
            for _ in stream:
                pass
        return stream.response.text

    exchange = done(ask(question(driver([call()], DONE), weather), CollectSink()))
    assert results(exchange) == ["It is sunny."]
    assert len(exchange.calls) == 2


# ----------------------------------------------------------------------------------------------------------------------
# The law: whatever happens, the conversation can go on with everybody


def assert_valid_everywhere(exchange: Exchange) -> None:
    """The next question can be asked on every API, and its own SDK's types find no fault with it."""
    conversation = Conversation()
    conversation.put(None, exchange)
    told = llmneutral.Message("user", (llmneutral.TextMessageContent("And tomorrow?"),))
    sent = conversation.plan(told, key=None, system=None, last=None, new=False)
    stack = llmneutral.PromptStack(sent.messages)
    for api in APIS:
        made = llmneutral.convert(stack, api, model="m")
        assert llmneutral.validator(api)(made) == []


turns = st.lists(
    st.lists(
        st.sampled_from(
            [call(1), call(1, "Oslo"), call(2, "Bonn"), ("call", "call_3", "weather", "{"), call(4, name="nothing")]
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=MOST + 2,
)


@settings(max_examples=25)
@given(turns, st.sampled_from(APIS), st.booleans(), st.integers(0, 40))
def test_however_it_ends_it_can_go_on(calls: list[list[Any]], api: str, stream: bool, stop: int) -> None:
    class Stopping(CollectSink):
        def push(self, delta: Any) -> None:
            super().push(delta)
            if len(self.deltas) == stop:
                raise KeyboardInterrupt

    if api == "anthropic_messages":  # its arguments come as JSON
        calls = [[each for each in turn if each[3] != "{"] or [call()] for turn in calls]
    asked = driver(*calls, DONE, stream=stream, api=api)
    outcome = ask(question(asked, Weather().tool(), stream=stream), Stopping())
    exchange = outcome.exchange
    assert exchange is not None
    assert len(exchange.calls) <= MOST + 1
    given_back, shown = Exchange.from_json(exchange.to_json()), [message.to_text() for message in exchange.turn]
    assert [message.to_text() for message in given_back.turn] == shown
    if outcome.error is None or isinstance(outcome.error, KeyboardInterrupt):
        assert_valid_everywhere(exchange)
    else:
        assert isinstance(outcome.error, llmneutral.ToolLoopError)
        assert exchange.status == "failed"


# ----------------------------------------------------------------------------------------------------------------------
# What is shown while it comes


def test_a_frame_shows_rounds_above_the_answer() -> None:
    progress = Progress({"provider": "p", "model": "m", "api": "a"}, Secrets(["tiger-lily-umbrella"]))
    stream = llmneutral.Agent(
        driver([("thinking", "Hm.", "c2VhbA=="), ("text", "Let me see."), call(1, "tiger-lily-umbrella")], DONE),
        tools=[Weather().tool()],
    ).stream("Hi")
    shown = []
    for delta in stream:
        progress.add(delta)
        shown.append(str(progress.body()))
    last = shown[-1]
    places = [last.index(each) for each in ("Let me see.", "calls", "sunny in", "It is sunny.")]
    assert places == sorted(places)
    assert last.count(">result</span>") == 1
    assert "tiger" not in "".join(shown)
    assert "23 characters" in progress.said()


@pytest.mark.parametrize("several", [False, True])
def test_a_frame_is_shown_before_a_tool_is_waited_for(several: bool) -> None:
    """A frame that is not due yet would be shown with the next piece, which comes when the tool is done."""
    shown: list[str] = []

    class Handle:
        def update(self, bundle: Any) -> None:
            shown.append(bundle.data["text/html"])

    def publish(bundle: Any) -> Handle:
        shown.append(bundle.data["text/html"])
        return Handle()

    seen: list[str] = []

    def weather(city: str) -> str:
        seen.append(shown[-1])
        return f"sunny in {city}"

    clock = itertools.count(step=1e-6).__next__
    sink = Columns(publish, 2, clock).sinks[0] if several else DisplaySink(publish, clock)
    done(ask(question(driver([call()], DONE), weather), sink))
    assert "weather" in seen[0]
    assert "Rome" in seen[0]
    assert any("sunny in Rome" in each and "It is" not in each for each in shown)


def test_a_terminal_prints_what_was_run() -> None:
    printed = io.StringIO()
    asked = driver([("text", "Let me see."), call()], DONE)
    ask(question(asked, Weather().tool()), TextSink(printed))
    assert printed.getvalue().startswith("Let me see.\n(weather gave: sunny in Rome)\nIt is sunny.\n")


# ----------------------------------------------------------------------------------------------------------------------
# Cost


def test_a_cost_is_that_of_all_calls_and_known_only_if_each_is() -> None:
    own = OwnPrices({"m": {"input": 1e6, "output": 0.0}}, "mine.json")
    exchange = done(ask(question(driver([call()], DONE), Weather().tool(), prices=own), CollectSink()))
    assert exchange.to_json()["cost"] == {"amount": 10.0, "currency": "USD", "source": "mine.json"}
    assert "cost 10.00 USD (mine.json)" in line_of(exchange)
    assert [row["cost"] for row in usage_rows(exchange.to_json())] == [5.0, 5.0]
    outcome = ask(
        question(driver([call()], llmneutral.InvalidRequestError("no")), Weather().tool(), prices=own), CollectSink()
    )
    assert outcome.exchange is not None
    assert outcome.exchange.to_json()["cost"]["amount"] is None
    free = done(ask(question(driver(DONE)), CollectSink()))
    assert free.to_json()["cost"]["amount"] is None
    assert "cost n/a" in line_of(free)


def test_a_request_that_failed_and_was_sent_again_is_a_row_of_its_own() -> None:
    asked = Scripted(busy(), chunks([call()]), busy(), busy(), chunks(DONE))
    exchange = done(ask(question(asked, Weather().tool()), CollectSink()))
    rows = usage_rows(exchange.to_json())
    assert [row["status"] for row in rows] == ["retried", "complete", "retried", "retried", "complete"]
    assert [row["total"] for row in rows] == [None, 12, None, None, 12]
    assert exchange.timing["attempts"] == 3
    line = line_of(exchange)
    assert "2 requests" in line
    assert "10 → 14 tokens" in line, "who failed had none to tell"
