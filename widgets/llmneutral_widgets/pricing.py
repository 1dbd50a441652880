"""What the calls of a session cost: by the user's own prices, else by published ones, else nobody knows.

A file of prices is JSON or TOML: a name of a model, and in US dollars per million tokens what `input`, `cache_read`,
`cache_write` and `output` cost.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.views.usage import COUNTS, FREE

PRICED = ("input", "cache_read", "cache_write", "output")
EXAMPLE = '{"gpt-4.1": {"input": 2, "output": 8}}'
_DATE = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
"""The end of a snapshot's name, which an answer tells where the question said the model alone."""

Prices = dict[str, dict[str, float]]
Row = dict[str, Any]


def read_prices(written: str) -> Prices:
    """Reads a file of prices.

    Raises:
        OptionError: If it cannot be read, or says something else.
    """
    path = Path(written).expanduser()
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise OptionError(f"--prices {path.name or written}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"--prices {path.name} is no text") from None
    try:
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error) or type(error).__name__
        raise OptionError(f"--prices {path.name} is no JSON or TOML, such as {EXAMPLE}: {why}") from None
    if not isinstance(found, dict):
        raise OptionError(f"--prices {path.name} is a table of models, such as {EXAMPLE}")
    return {model: _of_model(f"--prices {path.name}: {model}", told) for model, told in found.items()}


def _of_model(place: str, told: Any) -> dict[str, float]:
    if not isinstance(told, dict):
        raise OptionError(f"{place} is a table of {', '.join(PRICED)}")
    if any([isinstance(price, dict) for price in told.values()]):
        raise OptionError(f"{place} holds tables: the name of a model that has a dot in it stands in quotes")
    if unknown := [name for name in told if name not in PRICED]:
        raise OptionError(f"{place} has no price {', '.join(unknown)}; known: {', '.join(PRICED)}")
    for name, price in told.items():
        if isinstance(price, bool) or not isinstance(price, (int, float)) or not 0 <= price < math.inf:
            raise OptionError(f"{place}.{name} is {price!r}; it takes US dollars per million tokens")
    if not told:
        raise OptionError(f"{place} names no price; known: {', '.join(PRICED)}")
    return dict(told)


class OwnPrices(msgspec.Struct, frozen=True):
    """The user's own prices.

    Attributes:
        prices: Model -> US dollars per million tokens; empty: there are none.
        name: What they are called.
    """

    prices: Prices = {}
    name: str = ""

    def cost(self, usage: Any, *models: str | None) -> Any:
        """Returns what a call cost as a `Cost`, or None where they say nothing of it.

        Args:
            usage: Its tokens.
            models: Names of its model: as it answered, as it was asked.
        """
        import llmneutral

        for model in models:
            if (own := _own(self.prices, model)) is not None:
                cost = llmneutral.cost_of(usage, model=str(model), prices={str(model): own})
                return msgspec.structs.replace(cost, source=self.name)
        return None


def own_prices(written: str) -> OwnPrices:
    """Returns the prices of a file; "" is none. A file is read once, and again when it has changed.

    Raises:
        OptionError: If it cannot be read, or says something else.
    """
    if not written:
        return OwnPrices()
    try:
        changed = Path(written).expanduser().stat().st_mtime_ns
    except OSError:
        changed = 0
    return _read_once(written, changed)


@lru_cache(maxsize=8)
def _read_once(written: str, changed: int) -> OwnPrices:
    return OwnPrices(read_prices(written), Path(written).name)


def priced(rows: Sequence[Mapping[str, Any]], providers: Providers, own: OwnPrices) -> tuple[list[Row], str]:
    """Returns the rows of calls with what each of them cost, and in words where the prices are from.

    Args:
        rows: As of `views.usage`, and with `prices`, where a cost is from; a cost that a row has stays, unless the user
            has prices of their own for it.
        providers: Who was asked, by the name a row has.
        own: The user's own prices.
    """
    known: dict[Any, tuple[str, str | None]] = {}
    found, sources = [], []
    for row in rows:
        cost = _cost(row, providers, own, known)
        if cost is not None and cost.amount is not None:
            row = {**row, "cost": float(cost.amount), "currency": cost.currency, "prices": cost.source}
        elif cost is not None and row.get("prices") == FREE:  # the user's own price of tokens that nobody has counted
            row = {**row, "cost": None, "currency": None, "prices": None}
        found.append(dict(row))
        if row.get("cost") is not None and row.get("prices"):
            sources.append(str(row["prices"]))
    return found, ", ".join(dict.fromkeys(sources))


def _cost(row: Mapping[str, Any], providers: Providers, own: OwnPrices, known: dict[Any, Any]) -> Any:
    """What a call cost, where that is to be reckoned: by the user's prices, else by those of who was asked."""
    import llmneutral

    counts: dict[str, Any] = {key: row.get(key) for key in COUNTS}
    usage, model = llmneutral.Usage(**counts), row.get("model")
    cost = own.cost(usage, model)
    if cost is not None or row.get("cost") is not None:
        return cost
    name = row.get("provider")
    provider, api = known[name] = known.get(name) or _asked(providers, name)
    return llmneutral.cost_of(usage, model=model, provider=provider, api=api)


def _own(prices: Prices, model: Any) -> dict[str, float] | None:
    """The user's prices of a model, or of the one that it is a snapshot of."""
    if not isinstance(model, str):
        return None
    return prices.get(model) or prices.get(_DATE.sub("", model))


def _asked(providers: Providers, name: Any) -> tuple[str, str | None]:
    """Whose prices count for a name behind `-p`, and the API; a name that is none any more says itself who it was.

    A driver with an address of its own (a relay) is asked at prices that nobody publishes.
    """
    import llmneutral

    try:
        driver = providers.config(str(name)).prompt_driver
    except (OptionError, llmneutral.LLMNeutralError):
        return str(name), None
    if driver.base_url and _is_here(driver.base_url):
        return "unknown", driver.api_mode
    return driver.base_url or driver.provider or str(name), driver.api_mode


def _is_here(address: str) -> bool:
    """Whether an address is this machine: nobody publishes what that costs."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
