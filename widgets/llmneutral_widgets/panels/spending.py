"""What was spent: the table of calls, its sums, and tokens by provider as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from llmneutral_widgets import limits, session
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.failures import brief
from llmneutral_widgets.lines.options import a_kind
from llmneutral_widgets.panels.base import Panel, button, piece, row, rows_of
from llmneutral_widgets.views.page import Html
from llmneutral_widgets.views.spending import spending_part, spent, spent_words
from llmneutral_widgets.views.usage import COLUMNS, GROUPS, usage_page

_CALLS = "call"
PAPER, INK = "#f7f7f7", "#4a4a4a"
"""A picture knows no themes, and no grey can be read on white and on black alike: it brings its own paper."""
COLOURS = ("#1f77b4", "#c96a10")
"""Of input and output."""


class UsageView(Panel):
    """Tokens, time and cost of the calls of this session.

    Attributes:
        by: What the rows are: calls, or sums by provider, model, stack or day.

    Args:
        rows: Other calls than the session's: dicts with some of the keys of the table (`provider`, `input_total`,
            `output_total`, `total_s`, `cost` …); the columns that no row has are left out.

    Raises:
        TypeError: If a row is no dict, or has none of these keys.
    """

    @brief
    def __init__(self, rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        import ipywidgets

        super().__init__("usage")
        self._given = rows if rows is None else _checked(rows)
        self._rows: list[Mapping[str, Any]] = []
        self._prices = ""
        self._picture: bytes | None = None
        self._drawn: list[Any] | None = None
        self.by = ipywidgets.Dropdown(description="A row for each", options=[_CALLS, *GROUPS], layout={"width": "18em"})
        self.by.style.description_width = "8em"
        self.by.observe(self.guarded(lambda _: self._draw()), "value")
        self._table, self._chart = piece(), piece()
        refresh = button("Refresh", self.guarded(lambda _: self.refresh()), tip="Read the calls again")
        self.children = [self._style, row(self.by, refresh), self._table, self._chart, self.status]
        self.refresh()

    @property
    def frame(self) -> Any:
        """The calls, or their sums as they are chosen, as a pandas DataFrame; what is unknown is `<NA>`."""
        from llmneutral_widgets.tables import usage_frame

        return usage_frame(self._rows, self._by(), self._prices)

    def refresh(self) -> None:
        """Reads the calls again: there may be more."""
        rows, self._prices = session.current().priced_rows() if self._given is None else (self._given, "")
        self._rows = rows_of(rows)
        self._draw()

    def _by(self) -> str | None:
        return None if self.by.value == _CALLS else self.by.value

    def _draw(self) -> None:
        self._table.value = str(usage_page(self._rows, by=self._by(), prices=self._prices, limits=limits.current()))
        tokens = spent(self._rows)
        if tokens != self._drawn:
            self._drawn, self._picture = tokens, picture(tokens)
        self._chart.value = str(spending_part(self._rows, self._picture)) if self._rows else ""
        self.keep()

    def static(self) -> Bundle:
        """Returns the table as `%usage` shows it, with the picture below."""
        table = usage_page(self._rows, by=self._by(), prices=self._prices, limits=limits.current())
        chart = spending_part(self._rows, self._picture) if self._rows else Html()
        return Bundle({"text/html": f"{table}{chart}", "text/plain": spent_words(self._rows)})


def _checked(rows: Any) -> Sequence[Mapping[str, Any]]:
    """Rows of the user's, of which each says something that the table has a column for."""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise TypeError(f"UsageView takes a list of dicts, not {a_kind(rows)}")
    for number, given in enumerate(rows):
        if not isinstance(given, Mapping):
            raise TypeError(f"row {number} is {a_kind(given)}; a row is a dict with keys of {', '.join(COLUMNS)}")
        if not set(COLUMNS) & {*given}:
            named = ", ".join(map(str, given)) or "nothing"
            raise TypeError(f"row {number} has {named}; it takes some of {', '.join(COLUMNS)}")
    checked: Sequence[Mapping[str, Any]] = rows
    return checked


def picture(tokens: Sequence[Any]) -> bytes | None:
    """Returns tokens by provider as a PNG, drawn by pandas; None without matplotlib, or if no tokens are known.

    Args:
        tokens: What `views.spending.spent` returns.
    """
    known = [each for each in tokens if each.given or each.made][:12]
    if not known:
        return None
    try:
        figures = import_module(
            "matplotlib.figure"
        )  # by its name: it need not be there, and ships no types where it is
    except ImportError:
        return None
    import pandas

    # A figure of its own: pyplot would keep it, and choose a window system.
    figure = figures.Figure(figsize=(6.4, 0.8 + 0.42 * len(known)), dpi=110, layout="constrained", facecolor=PAPER)
    axes = figure.subplots(subplot_kw={"facecolor": PAPER})
    frame = pandas.DataFrame(
        {"input": [each.given or 0 for each in known], "output": [each.made or 0 for each in known]},
        index=[each.provider[:40].replace("$", r"\$") for each in known],
    )
    bars(frame[::-1], axes)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def bars(frame: Any, axes: Any) -> None:
    """Draws the rows of a DataFrame as bars: no frame, no title (the words below say what it is)."""
    frame.plot.barh(ax=axes, stacked=True, color=COLOURS, width=0.62)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(INK)
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.set_xlabel("tokens", color=INK, fontsize=9)
    axes.legend(frameon=False, labelcolor=INK, fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
