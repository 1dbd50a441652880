"""What was spent: a row for each call, sums that admit what they do not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import LEFT, Html, fold, page, tag

COLUMNS = tuple(
    """time stack cell provider model status finish_reason input_total input_uncached cache_read cache_write
    output_total reasoning total first_delta_s total_s tokens_per_s cost currency""".split()
)
COUNTS = ("input_total", "input_uncached", "cache_read", "cache_write", "output_total", "reasoning", "total")
MOST = 200
"""Rows that are shown; the sums are over all."""
EMPTY = "No calls yet."
UNKNOWN = "–"
FREE = "runs on this computer"
"""Where the library knows from that there is nothing to pay: `llmneutral.Cost.source`."""
GROUPS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "provider": lambda row: str(row.get("provider") or UNKNOWN),
    "model": lambda row: str(row.get("model") or UNKNOWN),
    "stack": lambda row: str(row.get("stack") or UNKNOWN),
    "day": lambda row: str(row.get("time") or UNKNOWN)[:10],
}
_HEADS = {
    "time": "time",
    "stack": "stack",
    "provider": "provider",
    "model": "model",
    "status": "status",
    "calls": "calls",
    "input_total": "input",
    "cache_read": "cached",
    "cache_write": "written",
    "output_total": "output",
    "reasoning": "reasoning",
    "total": "total",
    "first_delta_s": "first s",
    "total_s": "total s",
    "tokens_per_s": "tok/s",
    "cost": "cost",
}
_MEANINGS = {
    "time": "when the question was sent",
    "stack": "which conversation it belongs to",
    "provider": "who was asked, as behind -p",
    "model": "which model answered",
    "status": "how it ended: complete, interrupted (you stopped it), incomplete (it broke off), refused, failed",
    "calls": "how many answers were asked for",
    "input_total": "tokens that went there: the question, and all that was sent along; a token is about a short word",
    "cache_read": "how many of those the provider still had from before; they cost less",
    "cache_write": "how many of those it wrote down for next time",
    "output_total": "tokens that came back",
    "reasoning": "how many of those were thinking",
    "total": "input and output together",
    "first_delta_s": "seconds until the first piece of the answer",
    "total_s": "seconds until its end",
    "tokens_per_s": "tokens a second, once it had begun",
    "cost": "what it costs; – where no price is known",
}
SHORT = {head: key for key, head in _HEADS.items() if head != key}
"""What a column is called above its numbers -> its name in a DataFrame."""
_CALL_HEADS = tuple([key for key in _HEADS if key != "calls"])
_GROUP_HEADS = tuple("calls input_total cache_read cache_write output_total reasoning total total_s cost".split())

_NUMBERS = {*COUNTS, "calls", "first_delta_s", "total_s", "tokens_per_s", "cost"}
_RIGHT = "text-align:right;vertical-align:top"

Row = Mapping[str, Any]


def usage_page(rows: Sequence[Row], *, by: str | None = None, prices: str = "", limits: Limits = USUAL) -> Html:
    """Returns the table as one output.

    Args:
        rows: One for each call, with the keys of `COLUMNS`; what is unknown is None.
        by: One of `GROUPS`: sums by provider, model, stack or day instead of the calls.
        prices: Where the prices are from.
        limits: How many calls are shown; all are counted.
    """
    source = [tag("p", tag("small", priced_by(prices)))] if prices else []
    if not rows:
        return page(_table(_CALL_HEADS, []), tag("p", EMPTY), sections=("usage",))
    if by is not None:
        return page(_grouped(rows, by), *source, _legend(_GROUP_HEADS), sections=("usage",))
    most = limits.most(MOST)
    hidden = len(rows) - most
    note = [tag("p", tag("small", f"{hidden:,} earlier calls are not shown, but counted"))] if hidden > 0 else []
    keys, days = _told(rows), {str(row.get("time"))[:10] for row in rows}
    body = [_line(_in_short(row) if len(days) == 1 else row, keys) for row in rows[-most:]]
    table = _table(keys, [*body, _line(summed(rows), keys, "sum")])
    return page(table, *note, *source, _legend(keys), sections=("usage",))


def _legend(keys: Sequence[str]) -> Html:
    """What the columns mean, to be opened: a word above a number is too short to say it.

    Where a DataFrame calls the column by another name, that stands beside it.
    """
    items = [tag("li", *_named(key), f": {_MEANINGS[key]}") for key in keys if key in _MEANINGS]
    return fold("what the columns mean", tag("ul", *items), class_="legend")


def _named(key: str) -> list[Any]:
    head = _HEADS[key]
    return [tag("b", head), *([] if head == key else [" (", tag("code", key), ")"])]


def _told(rows: Sequence[Row]) -> list[str]:
    """The columns that a narrow page has room for: without those of which no call tells anything.

    That a call of the session has no time or cost is told; rows of one's own need not have such a column at all.
    """
    rare = ("cache_write", "reasoning")
    had = [key for key in _CALL_HEADS if any([key in row for row in rows])] or list(_CALL_HEADS)
    named = had if had[0] not in _NUMBERS else ["provider", *had]  # the sums begin with a word, too
    return [key for key in named if key not in rare or any([row.get(key) is not None for row in rows])]


def _in_short(row: Row) -> Row:
    """The row with the time of day: the day is the same in all."""
    return {**row, "time": str(row.get("time"))[11:19]} if row.get("time") else row


def summed(rows: Sequence[Row]) -> dict[str, Any]:
    """Returns the sums of some calls, as texts: over unknowns `≥ 812`, where nothing is known `–`."""
    found: dict[str, Any] = {"calls": f"{len(rows):,}"}
    for key in COUNTS:
        found[key] = _sum([row.get(key) for row in rows], lambda total: f"{total:,.0f}")
    found["total_s"] = _sum([row.get("total_s") for row in rows], lambda total: f"{total:,.1f}")
    currencies = {row.get("currency") for row in rows if row.get("cost") is not None}
    currency = next(iter(currencies)) if len(currencies) == 1 else None
    found["cost"] = _sum([row.get("cost") for row in rows], lambda total: f"{money(total)} {currency or ''}".strip())
    if len(currencies) > 1:
        found["cost"] = "several currencies"
    return found


def _sum(values: Sequence[Any], written: Callable[[float], str]) -> str:
    known = [value for value in values if isinstance(value, (int, float))]
    if not known:
        return UNKNOWN
    return ("" if len(known) == len(values) else "≥ ") + written(sum(known))


def money(amount: float) -> str:
    """Returns an amount with as many digits as it needs: `1.25`, `0.5000`, `0.00296`, and `0` of what is free."""
    if amount >= 1 or not amount:
        return f"{amount:,.2f}" if amount else "0"
    digits = f"{amount:.6f}".rstrip("0")
    return digits.ljust(len("0.0000"), "0")


def priced_by(sources: str) -> str:
    """Returns where costs are from, in words: `prices: mine.json`, or `cost 0: it runs on this computer`."""
    others = [source for source in sources.split(", ") if source != FREE]
    free = [f"cost 0: it {FREE}"] if FREE in sources.split(", ") else []
    return "; ".join([*([f"prices: {', '.join(others)}"] if others else []), *free])


def tokens_per_second(output: Any, first: Any, total: Any) -> float | None:
    """Returns the speed of an answer: its tokens over the seconds since the first of them, or else over all."""
    if not isinstance(output, (int, float)) or not isinstance(total, (int, float)):
        return None
    seconds = total - first if isinstance(first, (int, float)) and first < total else total
    return output / seconds if seconds > 0 else None


def _grouped(rows: Sequence[Row], by: str) -> Html:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(GROUPS[by](row), []).append(row)
    body = [_line(summed(found), _GROUP_HEADS, name) for name, found in groups.items()]
    heads = tag("tr", *map(_head, (by, *_GROUP_HEADS)))
    sums = _line(summed(rows), _GROUP_HEADS, "sum")
    return tag("div", tag("table", tag("thead", heads), tag("tbody", *body, sums)), class_="wide")


def _head(key: str) -> Html:
    return tag("th", _HEADS.get(key, key), scope="col", style=_side(key), title=_MEANINGS.get(key))


def _side(key: str) -> str:
    return _RIGHT if key in _NUMBERS else LEFT


def _table(keys: Sequence[str], body: Sequence[Html]) -> Html:
    heads = tag("tr", *map(_head, keys))
    return tag("div", tag("table", tag("thead", heads), tag("tbody", *body)), class_="wide")


def _line(row: Row, keys: Sequence[str], name: str | None = None) -> Html:
    """A row; a named one (a group, the sums) begins with its name as the row's heading."""
    cells = [tag("td", _written(key, row), style=_side(key)) for key in keys]
    if name is None:
        return tag("tr", *cells)
    rest = cells if "calls" in keys else cells[1:]
    return tag("tr", tag("th", name, scope="row", style=LEFT), *rest)


def _written(key: str, row: Row) -> str:
    value = row.get(key)
    if value is None:
        return UNKNOWN if key in row else ""
    if isinstance(value, str):
        return value[:19].replace("T", " ") if key == "time" else value
    if not isinstance(value, (int, float)):
        return str(value)
    if key == "cost":
        return f"{money(value)} {row.get('currency') or ''}".strip()
    return f"{value:,.2f}" if key in ("first_delta_s", "total_s") else f"{value:,.0f}"
