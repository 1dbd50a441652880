"""Tokens by provider: a picture where one was drawn, and always the words that say the same."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets.views.page import Html, join, part, tag
from llmneutral_widgets.views.usage import EMPTY, GROUPS, summed

LARGEST = 64 * 1024
"""Bytes of a picture that is shown; a bigger one is told in words."""

Row = Mapping[str, Any]


class Spent(NamedTuple):
    """Tokens of one provider; None where no call told them."""

    provider: str
    given: int | None
    made: int | None


def spent(rows: Sequence[Row]) -> list[Spent]:
    """Returns the tokens that went to each provider and came back, those that told most first."""
    groups = _by_provider(rows).items()
    found = [Spent(name, _sum(rows, "input_total"), _sum(rows, "output_total")) for name, rows in groups]
    return sorted(found, key=lambda each: -((each.given or 0) + (each.made or 0)))


def _by_provider(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(GROUPS["provider"](row), []).append(row)
    return groups


def _sum(rows: Sequence[Row], key: str) -> int | None:
    known = [int(row[key]) for row in rows if isinstance(row.get(key), (int, float))]
    return sum(known) if known else None


def spent_words(rows: Sequence[Row]) -> str:
    """Returns tokens by provider in one line, `≥` where not all are known: `tokens in → out: anthropic ≥ 812 → 96`."""
    groups = _by_provider(rows)
    sums = [(each.provider, summed(groups[each.provider])) for each in spent(rows)]
    said = [f"{name} {found['input_total']} → {found['output_total']}" for name, found in sums]
    return f"tokens in → out: {' · '.join(said)}" if said else EMPTY


def spending_part(rows: Sequence[Row], picture: bytes | None = None) -> Html:
    """Returns tokens by provider as a piece of a page.

    Args:
        rows: One for each call, with the keys of `views.usage.COLUMNS`.
        picture: A PNG that shows the same; None where there is nothing to draw with.
    """
    words = spent_words(rows)
    line = tag("p", tag("small", words))
    if picture is None or len(picture) > LARGEST:
        return part(line, sections=("usage",))
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return part(join([tag("img", src=source, alt=words, class_="chart"), line]), sections=("usage",))
