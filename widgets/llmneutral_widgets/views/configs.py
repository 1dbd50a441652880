"""Who could answer: the configs by name, and what each of them lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmneutral_widgets.views.page import LEFT, Html, badge, join, page, tag

_HEADS = ("name", "API mode", "model", "SDK", "key")


def configs_page(rows: Sequence[Mapping[str, Any]], *, current: str | None = None) -> Html:
    """Returns the table of configs as one output.

    Args:
        rows: What `DriversConfig.status()` tells, as plain data; of a key only whether it is set.
        current: Name of the config in effect.
    """
    heads = tag("tr", *[tag("th", name, scope="col", style=LEFT) for name in _HEADS])
    body = [_row(row, row.get("name") == current) for row in rows]
    table = tag("table", tag("thead", heads), tag("tbody", *body))
    return page(tag("div", table, class_="wide"), sections=("usage",))


def _row(row: Mapping[str, Any], is_current: bool) -> Html:
    mark = [" ", badge("in effect", "good")] if is_current else []
    cells = [row.get("api_mode") or "–", row.get("model") or "–", _sdk(row), _key(row)]
    first = tag("th", str(row.get("name")), *mark, scope="row", style=LEFT)
    return tag("tr", first, *[tag("td", cell, style=LEFT) for cell in cells])


def _sdk(row: Mapping[str, Any]) -> Html:
    sdk = str(row.get("sdk") or "–")
    if row.get("sdk_installed"):
        return join([sdk])
    extra = f": pip install 'llmneutral[{row['extra']}]'" if row.get("extra") else ""
    return join([badge("not installed", "warn"), f" {sdk}{extra}"])


def _key(row: Mapping[str, Any]) -> Html:
    variable, words = row.get("key_variable"), row.get("key_words")
    if not variable:
        return join(["no key needed"])
    if row.get("key_set"):
        return join([badge("set", "good"), f" {words or variable}"])
    if words:
        return join([badge("not found", "warn"), f" {words} (or {variable})"])
    return join([badge("not set", "warn"), f" {variable}"])
