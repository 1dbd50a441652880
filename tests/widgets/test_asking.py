"""One question, or several at once: what is kept, however it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any

import pydantic
import pytest

import llmneutral
from llmneutral_widgets.asking import MOST_CHUNKS, Question, ask, ask_all, ask_until
from llmneutral_widgets.bundles import bundle_of
from llmneutral_widgets.providers import Asked
from llmneutral_widgets.session import Sent
from llmneutral_widgets.sinks import CollectSink
from tests.loopback import HOLD, Loopback, event, streamed, talk, whole
from tests.widgets.shell import Echo

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def question(driver: Any, text: str = "Hi", **fields: Any) -> Question:
    stack = llmneutral.PromptStack.from_artifact(text)
    sent = Sent(tuple(stack.messages), tuple(stack.messages), None, 0, False)
    given = {"asked": Asked("me", driver), "stack": stack, "sent": sent, "conversation": "default", **fields}
    return Question(**given)


def chat(server: Loopback, **options: Any) -> Any:
    return llmneutral.LocalServerDriversConfig("m", base_url=f"{server.url}/v1", **options).prompt_driver


def answered(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def test_an_answer_is_an_exchange_with_everything() -> None:
    sink = CollectSink()
    with Loopback(talk("Fine, thanks.")) as server:
        outcome = ask(question(chat(server), cell_id="cell", execution_count=3), sink)
    exchange = outcome.exchange
    assert outcome.error is None
    assert exchange is not None
    assert exchange is sink.exchange
    assert (exchange.status, exchange.text, exchange.provider, exchange.model) == (
        "complete",
        "Fine, thanks.",
        "me",
        "m",
    )
    assert (exchange.cell_id, exchange.execution_count) == ("cell", 3)
    assert exchange.payload["messages"][0]["content"] == "Hi"
    assert exchange.conversion.trace
    assert exchange.deltas
    assert exchange.timing["attempts"] == 1
    assert 0 <= exchange.timing["first_delta_s"] <= exchange.timing["total_s"]
    assert exchange.history == {"messages": 0, "sent": True}
    assert exchange.created is not None
    assert exchange.created.endswith("Z")


def test_attempts_are_counted() -> None:
    busy = whole({"error": {"message": "busy"}}, 503)
    with Loopback(busy, talk("Fine.")) as server:
        driver = chat(server)
        driver.sleep = lambda seconds: None
        exchange = ask(question(driver), CollectSink()).exchange
    assert exchange is not None
    assert exchange.timing["attempts"] == 2


REFUSED = {"message": "bad", "type": "invalid_request_error", "param": "messages.0.content"}


@pytest.mark.parametrize(
    ("status", "body", "hint"),
    [
        (400, REFUSED, "%payload shows what was sent."),
        (400, {**REFUSED, "message": "max_tokens: 9 > 8"}, "Lower max_tokens to 8"),
        (413, {"message": "too many bytes"}, "Send fewer or smaller media."),
        (429, {"message": "slow down"}, "Wait before the next request"),
        (529, {"message": "busy"}, "Ask again later, or another model."),
        (500, {"message": "oh"}, "The fault is the provider's"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_failure_says_what_to_do_where_it_is_shown_and_kept(
    status: int, body: dict[str, Any], hint: str, stream: bool
) -> None:
    refused = whole({"error": body}, status, x_request_id="req_1")
    sink = CollectSink()
    with Loopback(lambda _: refused) as server:
        driver = chat(server)
        driver.sleep = lambda seconds: None
        outcome = ask(question(driver, stream=stream), sink)
    assert outcome.exchange is not None
    assert sink.exchange is outcome.exchange
    assert isinstance(outcome.error, llmneutral.ProviderError)
    assert outcome.error.hint is not None
    assert outcome.error.hint.startswith(hint)
    assert outcome.exchange.to_json()["error"]["hint"] == outcome.error.hint
    first, *_ = bundle_of(outcome.exchange).data["text/plain"].splitlines()
    assert first.endswith(f"failed · status {status} · request id req_1")


def test_where_nobody_is_configured_the_hint_is_a_line_of_the_notebook_s() -> None:
    outcome = ask(question(llmneutral.drivers_config("dummy").prompt_driver), CollectSink())
    assert outcome.exchange is None
    assert isinstance(outcome.error, llmneutral.ConfigurationError)
    assert outcome.error.hint == "Let the embedded model answer, %provider local, or choose another: %provider."


def test_what_cannot_be_asked_shows_and_keeps_nothing() -> None:
    sink = CollectSink()
    with pytest.raises(llmneutral.ConfigurationError, match="ANTHROPIC_API_KEY"):
        ask(question(llmneutral.drivers_config("anthropic").prompt_driver), sink)
    assert sink.request == {}


def test_a_model_that_is_not_there_is_an_error_without_an_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMNEUTRAL_LOCAL_MODEL", "nowhere.gguf")
    sink = CollectSink()
    driver = llmneutral.LocalDriversConfig().prompt_driver
    outcome = ask(question(driver), sink)
    assert outcome.exchange is None
    assert isinstance(outcome.error, llmneutral.LLMNeutralError)
    assert sink.error is outcome.error
    outcomes, _ = ask_all([question(driver), question(Echo())], [CollectSink(), CollectSink()])
    assert [outcome.exchange.status for outcome in outcomes if outcome.exchange] == ["failed", "complete"]


def test_a_driver_that_makes_its_own_requests() -> None:
    driver = Echo()
    exchange = ask(question(driver), CollectSink()).exchange
    assert exchange is not None
    assert (exchange.text, exchange.conversion) == ("HI ", None)
    assert driver.stacks[0].settings == {"stream": True}, "nothing of ours is in its settings"


def test_a_tool_is_kept_by_name_and_digest() -> None:
    def weather(city: str) -> str:
        """Tells the weather."""
        return city

    stack = llmneutral.PromptStack.from_artifact("Hi")
    stack.tools = [weather]
    exchange = ask(question(Echo(), stack=stack), CollectSink()).exchange
    assert exchange is not None
    (kept,) = exchange.to_json()["tools"]
    assert kept["name"] == "weather"
    assert len(kept["schema_sha256"]) == 64


def test_a_form_that_is_not_kept_to_fails_though_it_was_streamed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    stack = llmneutral.PromptStack.from_artifact("Hi")
    stack.output_schema = schema
    with Loopback(talk("no JSON at all")) as server:
        outcome = ask(question(chat(server), stack=stack), CollectSink())
    assert isinstance(outcome.error, llmneutral.StructuredOutputError)
    assert outcome.exchange is not None
    assert outcome.exchange.status == "failed"
    assert outcome.exchange.text == "no JSON at all"
    assert outcome.exchange.output_schema is not None
    with Loopback(talk('{"a": 1}')) as server:
        fine = ask(question(chat(server), stack=stack), CollectSink())
    assert fine.error is None
    assert fine.exchange is not None
    assert fine.exchange.parsed == {"a": 1}


def test_a_long_recording_is_cut() -> None:
    chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "w"}, "finish_reason": None}]}
    end = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    with Loopback(streamed([b"".join([event(chunk)] * (MOST_CHUNKS + 50)), end, "[DONE]"])) as server:
        exchange = ask(question(chat(server)), CollectSink()).exchange
    assert exchange is not None
    assert len(exchange.text) == MOST_CHUNKS + 50
    assert len(exchange.deltas) == MOST_CHUNKS


# ----------------------------------------------------------------------------------------------------------------------
# Several


class Waiting(Echo):
    """Says a word when it is let, and waits for ever after that, as a provider does that is silent."""

    def __init__(self, gate: threading.Barrier) -> None:
        super().__init__()
        self.gate = gate
        self.forever = threading.Event()

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("word "))
        self.gate.wait(5)
        self.forever.wait(20)


def test_several_are_asked_at_the_same_time() -> None:
    gate = threading.Barrier(2)
    drivers = [Waiting(gate), Waiting(gate)]
    for driver in drivers:
        driver.forever.set()
    outcomes, interrupt = ask_all([question(driver) for driver in drivers], [CollectSink(), CollectSink()])
    assert interrupt is None
    assert [outcome.exchange.text for outcome in outcomes if outcome.exchange] == ["word ", "word "]


def test_an_interrupt_does_not_wait_for_a_provider_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Barrier(2)
    silent = Waiting(gate)
    original, main = threading.Thread.join, threading.current_thread()
    pressed: list[float] = []

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        if threading.current_thread() is main and not pressed and silent.gate.n_waiting:
            silent.gate.wait(5)
            pressed.append(time.monotonic())
            raise KeyboardInterrupt
        original(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", join)
    sinks = [CollectSink(), CollectSink()]
    outcomes, interrupt = ask_all([question(Echo()), question(silent)], sinks)
    assert isinstance(interrupt, KeyboardInterrupt)
    assert time.monotonic() - pressed[0] < 1.0
    found = [outcome.exchange for outcome in outcomes]
    assert [(e.status, e.text) for e in found if e] == [("complete", "HI "), ("interrupted", "word ")]
    assert sinks[1].exchange is found[1]
    silent.forever.set()


def test_an_interrupt_before_all_have_begun_keeps_what_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    original, begun, main = threading.Thread.start, [0], threading.current_thread()

    def start(thread: threading.Thread) -> None:
        begun[0] += threading.current_thread() is main
        if begun[0] == 2:
            raise KeyboardInterrupt
        original(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    outcomes, interrupt = ask_all([question(Echo()), question(Echo())], [CollectSink(), CollectSink()])
    assert isinstance(interrupt, KeyboardInterrupt)
    found = [outcome.exchange for outcome in outcomes]
    assert [each.text for each in found if each] in (["HI ", ""], ["", ""])
    assert found[1] is not None
    assert found[1].status == "interrupted"


def piece(text: str) -> dict[str, Any]:
    return {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}],
    }


def came(sink: CollectSink, text: str) -> bool:
    return len([delta for delta in sink.deltas if delta.kind == "text"]) >= text.count(" ")


@pytest.mark.parametrize(
    ("pieces", "pause", "text"),
    [([piece("a "), HOLD], 0.0, "a "), ([piece("a ")] * 400, 0.02, "a a "), ([HOLD], 0.0, "")],
    ids=["silent in the middle", "talking", "silent after the head"],
)
def test_an_interrupt_of_several_closes_every_connection_at_once(
    monkeypatch: pytest.MonkeyPatch, pieces: list[Any], pause: float, text: str
) -> None:
    """A provider that is silent holds no thread: its read is woken, and nobody is asked again."""
    servers = [Loopback(streamed(pieces, pause=pause)) for _ in range(2)]
    original, main = threading.Thread.join, threading.current_thread()
    pressed: list[float] = []
    sinks = [CollectSink(), CollectSink()]

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        has_come = all([server.requests for server in servers]) and all([came(sink, text) for sink in sinks])
        if threading.current_thread() is main and not pressed and has_come:
            time.sleep(0.1)
            pressed.append(time.monotonic())
            raise KeyboardInterrupt
        original(thread, timeout)

    with servers[0], servers[1]:
        drivers = [chat(server) for server in servers]
        before = set(threading.enumerate())
        monkeypatch.setattr(threading.Thread, "join", join)
        outcomes, interrupt = ask_all([question(driver) for driver in drivers], sinks)
        assert isinstance(interrupt, KeyboardInterrupt)
        assert all([server.closes(1.0 - (time.monotonic() - pressed[0])) for server in servers]), "within a second"
        asking = [thread for thread in set(threading.enumerate()) - before if thread.name != "loopback"]
        for thread in asking:
            original(thread, 1.0)
        assert not any([thread.is_alive() for thread in asking])
        assert [len(server.connections) for server in servers] == [1, 1], "an end is no failure to try again"
    for outcome in outcomes:
        assert outcome.exchange is not None
        assert outcome.exchange.status == "interrupted"
        assert outcome.exchange.text.startswith(text)


def test_stop_closes_the_connection_of_a_silent_provider() -> None:
    stop, sink = threading.Event(), CollectSink()
    with Loopback(streamed([piece("a "), HOLD])) as server:

        def press() -> None:
            assert server.asked()
            time.sleep(0.2)
            stop.set()

        timer = threading.Thread(target=press)
        timer.start()
        outcome = ask_until(question(chat(server)), sink, stop)
        timer.join()
        assert server.closes(1.0)
    assert outcome.exchange is not None
    assert (outcome.exchange.status, outcome.exchange.text) == ("interrupted", "a ")
    assert isinstance(outcome.error, KeyboardInterrupt)


def test_an_answer_that_cannot_be_read_ends_the_output_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(call: Any) -> Any:
        raise llmneutral.ConversionError("its schema points to an address")

    monkeypatch.setattr("llmneutral_widgets.asking._Call.response", property(unreadable))
    sink = CollectSink()
    stack = llmneutral.PromptStack.from_artifact("Hi")
    stack.output_schema = {"type": "object"}
    with Loopback(talk('{"a": 1}')) as server:
        outcome = ask(question(chat(server), stack=stack), sink)
    assert isinstance(outcome.error, llmneutral.ConversionError)
    assert outcome.exchange is not None
    assert outcome.exchange.status == "failed"
    assert sink.exchange is outcome.exchange


class Elsewhere(pydantic.BaseModel):
    """A value that does not fit it cannot be looked at any closer."""

    a: Annotated[str, pydantic.WithJsonSchema({"$ref": "https://elsewhere.example/a"})]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("run_tools", [True, False])
def test_an_answer_whose_value_cannot_be_checked_keeps_its_text(stream: bool, run_tools: bool) -> None:
    sink = CollectSink()
    stack = llmneutral.PromptStack.from_artifact("Hi")
    stack.output_schema = Elsewhere
    with Loopback(talk('{"a": 1}') if stream else whole(answered('{"a": 1}'))) as server:
        outcome = ask(question(chat(server), stack=stack, stream=stream, run_tools=run_tools), sink)
    assert isinstance(outcome.error, llmneutral.ConversionError)
    assert outcome.exchange is not None
    assert sink.exchange is outcome.exchange
    assert (outcome.exchange.status, outcome.exchange.text, outcome.exchange.parsed) == ("failed", '{"a": 1}', None)
    assert outcome.exchange.conversion is not None


class Odd(Echo):
    """Cites what cannot be written down."""

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("word ", citation={"o": object()}))


def test_an_answer_that_cannot_be_written_down_keeps_its_text() -> None:
    sink = CollectSink()
    outcome = ask(question(Odd()), sink)
    assert isinstance(outcome.error, TypeError)
    assert outcome.exchange is not None
    assert sink.exchange is outcome.exchange
    outcome.exchange.to_json()
    assert outcome.exchange.text == "word "
    assert outcome.exchange.status == "failed"


class Late(Echo):
    """Finds only in the middle of its answer that something is missing."""

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("word "))
        raise llmneutral.ConfigurationError("no model")


def test_what_came_before_a_mistake_of_configuration_is_kept() -> None:
    outcome = ask(question(Late()), CollectSink())
    assert isinstance(outcome.error, llmneutral.ConfigurationError)
    assert outcome.exchange is not None
    assert (outcome.exchange.status, outcome.exchange.text) == ("failed", "word ")
