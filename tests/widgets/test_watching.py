"""What the calls of a question cost that did not come to their end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.asking import ask
from llmneutral_widgets.exchange import Exchange, usage_rows
from llmneutral_widgets.pricing import OwnPrices, priced
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.sinks import CollectSink
from tests.drivers.scripted import Scripted, chunks
from tests.widgets.rounds import DONE, question

FREE = {"amount": 0.0, "currency": "USD", "source": "runs on this computer"}


class Stopped(CollectSink):
    """Somebody presses the stop button at the first word."""

    def push(self, delta: Any) -> None:
        super().push(delta)
        if delta.kind == "text":
            raise KeyboardInterrupt


class Own(llmneutral.BasePromptDriver):
    """Makes its own requests, and is interrupted."""

    needs_key = False

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("a "))
        raise KeyboardInterrupt


def stopped(driver: Any, prices: OwnPrices = OwnPrices()) -> Exchange:  # noqa: B008
    outcome = ask(question(driver, run_tools=False, prices=prices), Stopped())
    assert isinstance(outcome.error, KeyboardInterrupt)
    assert outcome.exchange is not None
    assert outcome.exchange.status == "interrupted"
    return outcome.exchange


def scripted(**options: Any) -> Scripted:
    return Scripted(chunks(DONE), **options)


def test_an_interrupted_answer_of_the_embedded_model_costs_nothing() -> None:
    for driver in (scripted(provider="local"), Own("m", api_mode="chat_completions", provider="local")):
        exchange = stopped(driver)
        assert exchange.cost == FREE
        assert exchange.output_tokens is None, "what it has read and written nobody knows"
        (row,) = usage_rows(exchange.to_json())
        assert (row["cost"], row["prices"], row["output_total"]) == (0.0, FREE["source"], None)


@pytest.mark.parametrize(
    "options", [{}, {"provider": "openai"}, {"provider": "local", "base_url": "http://127.0.0.1:9"}]
)
def test_an_interrupted_answer_of_others_costs_what_nobody_knows(options: dict[str, Any]) -> None:
    assert stopped(scripted(**options)).cost == {}


def test_a_failed_answer_of_the_embedded_model_costs_nothing_either() -> None:
    class Broken(CollectSink):
        def push(self, delta: Any) -> None:
            raise llmneutral.ServerError("it died")

    outcome = ask(question(scripted(provider="local"), run_tools=False), Broken())
    assert outcome.exchange is not None
    assert (outcome.exchange.status, outcome.exchange.cost) == ("failed", FREE)


def test_own_prices_win_and_tokens_that_nobody_counted_have_none() -> None:
    prices = OwnPrices({"m": {"input": 1.0, "output": 2.0}}, "mine.json")
    exchange = stopped(scripted(provider="local"), prices)
    assert exchange.cost == {}
    rows = usage_rows(stopped(scripted(provider="local")).to_json())
    providers = Providers()
    try:
        assert [row["cost"] for row in priced(rows, providers, OwnPrices())[0]] == [0.0]
        assert [row["cost"] for row in priced(rows, providers, prices)[0]] == [None]
    finally:
        providers.close()
