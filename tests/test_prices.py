"""Costs: own prices, published ones, and unknown that stays unknown."""

from __future__ import annotations

from decimal import Decimal

import pytest

from llmneutral import Usage, register_profile
from llmneutral.prices import UNKNOWN, cost_of

USAGE = Usage(input_total=1_000_000, input_uncached=600_000, cache_read=400_000, output_total=100_000)
OWN = {"m": {"input": 2.0, "cache_read": 0.5, "output": 10.0}}


def test_own_prices() -> None:
    found = cost_of(USAGE, model="m", prices=OWN)
    assert found.amount == Decimal("2.4")
    assert (found.currency, found.source) == ("USD", "own prices")


def test_a_count_that_is_not_known_makes_the_cost_unknown() -> None:
    assert cost_of(Usage(input_total=5), model="m", prices=OWN).amount is None


def test_reference_prices_of_the_profile() -> None:
    undo = register_profile("house-model", {"reference_price": {"input": 1.0, "output": 1.0}})
    try:
        found = cost_of(USAGE, model="house-model", api="chat_completions")
    finally:
        undo()
    assert found.amount == Decimal("0.7")
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
        (USAGE, "m", "local"),
    ],
)
def test_unknown_stays_unknown(usage: Usage, model: str | None, provider: str | None) -> None:
    assert cost_of(usage, model=model, provider=provider) == UNKNOWN
