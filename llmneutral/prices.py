"""What a call cost: a usage × prices.

Prices are the caller's own, else those of the `genai-prices` package (extra `prices`), which knows
tiers, caches and dates and is used offline. What is not known stays None, never 0; only of the embedded model
it is known that there is nothing to pay.
Source: github.com/pydantic/genai-prices
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from llmneutral.errors import ConfigurationError
from llmneutral.events import FinishPromptEvent
from llmneutral.ir.responses import Usage
from llmneutral.profiles import profile
from llmneutral.profiles.hosts import normalize_provider

MILLION = Decimal(1_000_000)
PRICED = {"input": "input_uncached", "cache_read": "cache_read", "cache_write": "cache_write", "output": "output_total"}
"""Names of prices → counts of a usage."""
CACHED = ("cache_read", "cache_write")
PROVIDERS = {
    "gemini": "google",
    "vertex": "google",
    "bedrock": "aws",
    "xai": "x-ai",
    "dashscope": None,
    "unknown": None,
}
"""Our names of providers → those of the package, where they differ; None: it knows none."""
UNKNOWN_PROVIDER = "unknown"
"""One without published prices: a name of a model alone does not say what is paid for it."""
EMBEDDED = "local"
"""The embedded model: nobody is paid for what this computer does. Of a server of one's own nothing is known."""


class Cost(msgspec.Struct, frozen=True):
    """What a call cost.

    Attributes:
        amount: In `currency`; None if it is not known.
        currency: Always US dollars: what providers publish.
        source: Where that is known from: `own prices`, `reference_price`, the package with its version, or
            `runs on this computer`, which costs 0.
    """

    amount: Decimal | None = None
    currency: str = "USD"
    source: str | None = None


UNKNOWN = Cost()
FREE = Cost(Decimal(0), source="runs on this computer")


def cost_of(
    usage: Usage,
    *,
    model: str | None,
    provider: str | None = None,
    api: str | None = None,
    prices: Mapping[str, Mapping[str, float | Decimal]] | None = None,
) -> Cost:
    """Returns what a call cost.

    Args:
        usage: Its token counts.
        model: The model that answered.
        provider: Who was asked; "local" is the embedded model, which costs nothing.
        api: The API mode, for the profile's `reference_price`.
        prices: Own prices in US dollars per million tokens: model → `input`, `cache_read`, `cache_write`, `output`.
            What is read from or written to a cache costs what `input` does, unless it has a price of its own.

    Raises:
        ConfigurationError: If an own price of the model has an unknown name, or is no number from 0.
    """
    if model is None:
        return UNKNOWN
    if prices is not None and (own := prices.get(model)) is not None:
        _check(model, own)
        return Cost(_sum(usage, own), source="own prices")
    reference = profile(api, provider, None, model).reference_price if api is not None else None
    if reference is not None:
        return Cost(_sum(usage, dict(reference)), source="reference_price")
    if normalize_provider(provider) == EMBEDDED:
        return FREE
    return _published(usage, model, provider)


class PricedPromptEvent(FinishPromptEvent, frozen=True, kw_only=True):
    """The `FinishPromptEvent` that drivers publish: it knows what the call cost, and reckons it when it is asked.

    Attributes:
        endpoint: Whose prices count (`profiles.hosts.find_endpoint`); None for a relay, of which none are known.
    """

    endpoint: str | None = None

    @property
    def type(self) -> str:
        """The name of the event, whoever made it."""
        return FinishPromptEvent.__name__

    @property
    def cost(self) -> Cost | None:
        """What the call cost; None if it is not known, never 0."""
        usage = self.response.usage
        for model in (self.response.model, self.model):  # the answer names a snapshot, for which none may be known
            found = cost_of(usage, model=model, provider=self.endpoint or UNKNOWN_PROVIDER, api=self.api)
            if found.amount is not None:
                return found
        return None


def _check(model: str, own: Mapping[str, Any]) -> None:
    """Refuses what would be a wrong sum: a name that is none of ours would be left out of it."""
    for name, price in own.items():
        if name not in PRICED:
            raise ConfigurationError(f"the prices of {model} have no {name!r}; known: {', '.join(PRICED)}")
        is_number = isinstance(price, int | float | Decimal) and not isinstance(price, bool)
        if not is_number or not 0 <= price < math.inf:
            raise ConfigurationError(
                f"the price {name} of {model} is {price!r}; it has to be US dollars per million tokens, from 0"
            )


def _sum(usage: Usage, prices: Mapping[str, float | Decimal]) -> Decimal | None:
    """The counts × their prices; None where a count that is priced is not known.

    A cache without prices of its own is no gift: its tokens are input, and cost what input costs.
    """
    total = Decimal(0)
    for name, field in PRICED.items():
        count, price = getattr(usage, field), prices.get(name)
        if name in CACHED:
            if not count:
                continue  # a provider without a cache reports none
            price = prices.get("input") if price is None else price
        elif name == "input" and count is None:
            count = usage.input_total
        if price is None:
            continue
        if count is None:
            return None
        total += Decimal(str(price)) * count / MILLION
    return total


def _published(usage: Usage, model: str, provider: str | None) -> Cost:
    if usage.input_total is None or usage.output_total is None:
        return UNKNOWN
    name = normalize_provider(provider)
    known = PROVIDERS.get(name, name) if name is not None else None
    if name is not None and known is None:
        return UNKNOWN
    found = _package()  # last: importing it takes half a second
    if found is None:
        return UNKNOWN
    module, version = found
    counts = module.Usage(
        input_tokens=usage.input_total,
        output_tokens=usage.output_total,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    try:
        price = module.calc_price(counts, model_ref=model, provider_id=known)
    except (LookupError, ValueError):
        return UNKNOWN
    return Cost(price.total_price, source=f"genai-prices {version}")


def _package() -> tuple[Any, str] | None:
    """The package and its version, or None where the extra is not installed."""
    try:
        import genai_prices
    except ImportError:
        return None
    from importlib.metadata import version

    return genai_prices, version("genai-prices")
