"""An answer in another form than it reads: as text, as JSON, as one line, or its code."""

from __future__ import annotations

import json
import re

from llmneutral_widgets.bundles import Bundle, bundle_of, unshown
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.sinks import DisplaySink
from llmneutral_widgets.views.answer import SECTIONS, foot, summary_line
from llmneutral_widgets.views.blocks import raw
from llmneutral_widgets.views.page import Html, Room, badge, page, tag, visible

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_ROOM = 100_000


class FormSink(DisplaySink):
    """Shows the answer while it comes as every sink does, and in the end in the form that was asked for."""

    form = "html"

    def _finish(self, exchange: Exchange) -> None:
        self._show(formed(exchange, self.form))


def formed(exchange: Exchange, form: str) -> Bundle:
    """Returns an exchange as a bundle: `html`, `text`, `json`, `code` (as html), or `line` for the footer alone."""
    bundle = bundle_of(exchange)
    make = {"text": _as_text, "json": _as_json, "line": _as_line}.get(form)
    if make is None or exchange.status not in ("complete", "refused"):
        return bundle
    try:
        record = exchange.to_json()
        shown = page(tag("div", make(exchange), foot(record), class_="answer"), sections=SECTIONS)
    except Exception as error:  # noqa: BLE001 - a view that fails must not fail the cell
        return unshown(exchange, error)
    line = {"text/plain": visible(summary_line(record, with_text=False))} if form == "line" else {}
    return Bundle({**bundle.data, "text/html": str(shown), **line}, bundle.metadata)


def _as_line(exchange: Exchange) -> Html:
    return Html()


def _as_text(exchange: Exchange) -> Html:
    return raw(str(plain(exchange.text)), Room(_ROOM))


def _as_json(exchange: Exchange) -> Html:
    """The value of the answer, or its text and why it is none."""
    value = exchange.parsed
    if value is None:
        try:
            value = json.loads(exchange.text)
        except ValueError as error:
            why = tag("p", badge("no JSON", "warn"), f" {error}")
            return tag("div", why, raw(str(plain(exchange.text)), Room(_ROOM)))
    return raw(json.dumps(plain(value), indent=2, ensure_ascii=False), Room(_ROOM))


def first_code(text: str) -> str | None:
    """Returns the first fenced block of a text, or None."""
    found = _FENCE.search(text)
    return found[2].rstrip("\n") if found else None
