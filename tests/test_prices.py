"""Costs: own prices, published ones, and unknown that stays unknown."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from llmneutral import (
    BaseEvent,
    ConfigurationError,
    FinishPromptEvent,
    NormalizedResponse,
    ServerError,
    Usage,
    register_profile,
)
from llmneutral.ir.messages import Message
from llmneutral.prices import UNKNOWN, PricedPromptEvent, cost_of
from tests.drivers.scripted import Scripted
from tests.laws.answers import WIRE

USAGE = Usage(input_total=1_000_000, input_uncached=600_000, cache_read=400_000, output_total=100_000)
OWN = {"m": {"input": 2.0, "cache_read": 0.5, "output": 10.0}}


def test_own_prices() -> None:
    found = cost_of(USAGE, model="m", prices=OWN)
    assert found.amount == Decimal("2.4")
    assert (found.currency, found.source) == ("USD", "own prices")


def test_a_count_that_is_not_known_makes_the_cost_unknown() -> None:
    assert cost_of(Usage(input_total=5), model="m", prices=OWN).amount is None


@pytest.mark.parametrize(
    ("own", "amount"),
    [
        ({"input": 2.0, "output": 10.0}, "4.6"),
        ({"input": 2.0, "cache_read": 0.5, "output": 10.0}, "3.1"),
        ({"input": 2.0, "cache_read": 0.5, "cache_write": 2.5, "output": 10.0}, "3.2"),
        ({"input": 2.0, "cache_read": 0, "cache_write": 0, "output": 10.0}, "2.2"),
        ({"output": 10.0}, "1.0"),
    ],
)
def test_a_cache_without_prices_is_no_gift(own: dict[str, float], amount: str) -> None:
    """Its tokens cost what input costs: most tables name two prices."""
    usage = Usage(
        input_total=1_800_000, input_uncached=600_000, cache_read=1_000_000, cache_write=200_000, output_total=100_000
    )
    assert cost_of(usage, model="m", prices={"m": own}).amount == Decimal(amount)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"input": 2.0, "cache_reads": 0.5}, "the prices of m have no 'cache_reads'; known: input, cache_read,"),
        ({"input": ...}, "the price input of m is Ellipsis"),
        ({"input": "2"}, "the price input of m is '2'"),
        ({"output": True}, "the price output of m is True"),
        ({"output": -1}, "the price output of m is -1"),
        ({"output": float("nan")}, "the price output of m is nan"),
        ({"output": float("inf")}, "US dollars per million tokens"),
    ],
)
def test_a_price_that_is_none_is_refused(own: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        cost_of(USAGE, model="m", prices={"m": own, "other": {"input": 1.0}})
    assert cost_of(USAGE, model="other", prices={"m": own, "other": {"input": 1.0}}).amount == Decimal(1)


def test_a_price_may_be_exact() -> None:
    assert cost_of(USAGE, model="m", prices={"m": {"output": Decimal("0.1")}}).amount == Decimal("0.01")


def test_reference_prices_of_the_profile() -> None:
    undo = register_profile("house-model", {"reference_price": {"input": 1.0, "output": 1.0}})
    try:
        found = cost_of(USAGE, model="house-model", api="chat_completions")
    finally:
        undo()
    assert found.amount == Decimal("1.1"), "cached tokens are input"
    assert found.source == "reference_price"


def test_published_prices() -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` is not installed")
    found = cost_of(USAGE, model="gpt-4.1", provider="openai")
    assert found.amount is not None
    assert found.amount > 0
    assert found.source is not None
    assert found.source.startswith("genai-prices ")


@pytest.mark.parametrize(
    ("usage", "model", "provider"),
    [
        (USAGE, "no-such-model-anywhere", None),
        (USAGE, None, "openai"),
        (Usage(), "gpt-4.1", "openai"),
        (USAGE, "m", "unknown"),
        (USAGE, "m", "ollama"),
        (USAGE, None, "local"),
    ],
)
def test_unknown_stays_unknown(usage: Usage, model: str | None, provider: str | None) -> None:
    assert cost_of(usage, model=model, provider=provider) == UNKNOWN


@pytest.mark.parametrize("usage", [USAGE, Usage()], ids=["counted", "not counted"])
def test_what_runs_on_this_computer_costs_nothing_unless_somebody_has_a_price_for_it(usage: Usage) -> None:
    found = cost_of(usage, model="smollm2-135m-instruct", provider="local")
    assert found.amount == 0
    assert found.source == "runs on this computer"
    assert cost_of(USAGE, model="m", provider="local", prices=OWN).amount == Decimal("2.4")


@pytest.mark.parametrize(("address", "amount"), [(None, Decimal(0)), ("http://localhost:9/v1", None)])
def test_only_the_embedded_model_is_known_to_be_free(address: str | None, amount: Decimal | None) -> None:
    """A server that bears its name may be anybody's."""
    driver = Scripted(WIRE["chat_completions"][0]([("text", "hi")]), provider="local", base_url=address)
    heard: list[Any] = []
    driver.on(FinishPromptEvent, heard.append)
    driver.run("hello", stream=False)
    assert getattr(heard[0].cost, "amount", None) == amount


# --- the event that tells it ------------------------------------------------------------------------------------------


def finished(endpoint: str | None, *, answered: str | None = "gpt-4.1", usage: Usage = USAGE) -> PricedPromptEvent:
    response = NormalizedResponse(Message("assistant"), model=answered, usage=usage)
    return PricedPromptEvent(
        id="e", timestamp=0.0, run_id="r", model="gpt-4.1", response=response, latency=1.0, endpoint=endpoint
    )


def test_an_event_tells_the_cost_and_stays_the_event_it_is() -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` is not installed")
    event = finished("openai")
    assert event.cost == cost_of(USAGE, model="gpt-4.1", provider="openai")
    assert event.cost is not None
    assert finished("openai", answered="gpt-4.1-of-next-year").cost == event.cost
    assert event.type == "FinishPromptEvent"
    assert msgspec.json.decode(msgspec.json.encode(event))["endpoint"] == "openai"


@pytest.mark.parametrize(
    "event",
    [finished(None), finished("openai", usage=Usage()), finished("ollama"), finished("dashscope")],
    ids=["relay", "no counts", "own server", "no prices"],
)
def test_a_cost_that_is_not_known_is_none(event: PricedPromptEvent) -> None:
    assert event.cost is None


def test_prices_of_the_profile_count_for_a_relay_too() -> None:
    undo = register_profile("gpt-4.1", {"reference_price": {"input": 1.0, "output": 1.0}})
    try:
        event = msgspec.structs.replace(finished(None), api="chat_completions")
        assert event.cost is not None
        assert event.cost.amount == Decimal("1.1")
    finally:
        undo()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("base_url", [None, "https://relay.example/v1"])
def test_drivers_publish_it_and_reckon_nothing(
    stream: bool, base_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reckoned: list[str | None] = []

    def reckoning(usage: Usage, *, model: str | None, **_: object) -> object:
        reckoned.append(model)
        return UNKNOWN

    monkeypatch.setattr("llmneutral.prices.cost_of", reckoning)
    whole, pieces = WIRE["chat_completions"]
    answer = [("text", "hi")]
    driver = Scripted(list(pieces(answer, 4)) if stream else whole(answer), provider="openai", base_url=base_url)
    heard: list[BaseEvent] = []
    driver.on(FinishPromptEvent, heard.append)
    driver.run("hello", stream=stream)
    [event] = heard
    assert isinstance(event, PricedPromptEvent)
    assert event.endpoint == ("openai" if base_url is None else None)
    assert reckoned == []
    assert event.cost is None
    assert reckoned


def test_a_failed_call_has_no_cost() -> None:
    driver = Scripted(ServerError("down"), provider="openai")
    heard: list[BaseEvent] = []
    driver.on(FinishPromptEvent, heard.append)
    with pytest.raises(ServerError):
        driver.run("hello", max_attempts=1)
    assert heard == []
