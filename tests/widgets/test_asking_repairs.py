"""An answer that does not fit its form and is asked for again, as a notebook shows and keeps it."""

from __future__ import annotations

import io

import pytest

import llmneutral
from llmneutral_widgets.asking import Question, ask
from llmneutral_widgets.providers import Asked
from llmneutral_widgets.scrub import Secrets
from llmneutral_widgets.session import Sent
from llmneutral_widgets.sinks import CollectSink, Progress, TextSink
from tests.drivers.scripted import Scripted, chunks, whole

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
BAD, GOOD = [("text", '{"a": "x"}')], [("text", '{"a": 1}')]


def question(driver: Scripted, *, stream: bool = True) -> Question:
    stack = llmneutral.PromptStack.from_artifact("Hi")
    stack.output_schema = SCHEMA
    sent = Sent(tuple(stack.messages), tuple(stack.messages), None, 0, False)
    return Question(asked=Asked("me", driver), stack=stack, sent=sent, conversation="default", stream=stream)


@pytest.mark.parametrize("stream", [True, False])
def test_one_exchange_with_the_last_answer_and_the_first_request(stream: bool) -> None:
    driver = Scripted(chunks(BAD), chunks(GOOD)) if stream else Scripted(whole(BAD), whole(GOOD))
    outcome = ask(question(driver, stream=stream), CollectSink())
    assert outcome.error is None
    exchange = outcome.exchange
    assert exchange is not None
    assert (exchange.status, exchange.text, exchange.parsed) == ("complete", '{"a": 1}', {"a": 1})
    assert len(exchange.payload["messages"]) == 1
    assert exchange.to_json()["response"]["usage"]["total"] == 24


def test_what_never_fits_is_one_failure() -> None:
    outcome = ask(question(Scripted(chunks(BAD), chunks(BAD))), CollectSink())
    assert isinstance(outcome.error, llmneutral.StructuredOutputError)
    assert len(outcome.error.attempts) == 2
    assert outcome.exchange is not None
    assert (outcome.exchange.status, outcome.exchange.text) == ("failed", '{"a": "x"}')


def test_a_frame_shows_the_answer_in_progress_alone() -> None:
    progress = Progress({"provider": "p", "model": "m", "api": "a"}, Secrets())
    stream = Scripted(chunks(BAD), chunks(GOOD)).stream("Hi", output_schema=SCHEMA)
    seen = []
    for delta in stream:
        progress.add(delta)
        if delta.kind == "repair":
            assert "0 characters" in progress.said()
        seen.append(delta.kind)
    assert "repair" in seen
    assert '"x"' not in str(progress.body())
    assert "8 characters" in progress.said()


def test_a_terminal_says_that_it_is_asked_again() -> None:
    printed = io.StringIO()
    ask(question(Scripted(chunks(BAD), chunks(GOOD))), TextSink(printed))
    first, said, last = printed.getvalue().partition("\n(it does not fit its form; asked again)\n")
    assert (first, bool(said)) == ('{"a": "x"}', True)
    assert last.startswith('{"a": 1}\n')
