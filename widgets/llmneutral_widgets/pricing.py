"""What the calls of a session cost: by the user's own prices, else by published ones, else nobody knows.

A file of prices is JSON or TOML: a name of a model, and in US dollars per million tokens what `input`, `cache_read`,
`cache_write` and `output` cost.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from llmneutral_widgets.options import OptionError
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.views.usage import COUNTS

PRICED = ("input", "cache_read", "cache_write", "output")
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
        raise OptionError(f"--prices {path.name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"--prices {path.name} is no text") from None
    try:
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--prices {path.name}: {str(error) or type(error).__name__}") from None
    if not isinstance(found, dict):
        raise OptionError(
            f'--prices {path.name} is a table of models, such as {{"gpt-4.1": {{"input": 2, "output": 8}}}}'
        )
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


def priced(rows: Sequence[Mapping[str, Any]], providers: Providers, prices: Prices, name: str) -> tuple[list[Row], str]:
    """Returns the rows of calls with what each of them cost, and in words where the prices are from.

    Args:
        rows: As of `views.usage`; a cost that a row has stays.
        providers: Who was asked, by the name a row has.
        prices: The user's own.
        name: What they are called.
    """
    known = {told: _asked(providers, told) for told in {row.get("provider") for row in rows}}
    found, sources = [], []
    for row in rows:
        cost = None if row.get("cost") is not None else _cost(row, *known[row.get("provider")], prices, name)
        if cost is None or cost.amount is None:
            found.append(dict(row))
        else:
            found.append({**row, "cost": float(cost.amount), "currency": cost.currency})
            sources.append(str(cost.source))
    return found, ", ".join(dict.fromkeys(sources))


def _cost(row: Mapping[str, Any], provider: str, api: str | None, prices: Prices, name: str) -> Any:
    import llmneutral

    counts: dict[str, Any] = {key: row.get(key) for key in COUNTS}
    model, own = row.get("model"), _own(prices, row.get("model"))
    given = None if own is None else {str(model): own}
    cost = llmneutral.cost_of(llmneutral.Usage(**counts), model=model, provider=provider, api=api, prices=given)
    return cost if own is None else msgspec.structs.replace(cost, source=name)


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
    return driver.base_url or driver.provider or str(name), driver.api_mode
