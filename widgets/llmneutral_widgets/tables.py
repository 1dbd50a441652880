"""Usage as a DataFrame that shows itself as our table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from llmneutral_widgets import limits
from llmneutral_widgets.views.page import count
from llmneutral_widgets.views.usage import COLUMNS, COUNTS, EMPTY, GROUPS, SHORT, UNKNOWN, summed, usage_page

_FLOATS = ("first_delta_s", "total_s", "tokens_per_s", "cost")

Row = Mapping[str, Any]


def usage_frame(rows: Sequence[Row], by: str | None = None, prices: str = "") -> Any:
    """Returns the calls as a DataFrame: a row for each, or sums by provider, model, stack or day.

    What a provider did not tell is `<NA>`; a sum over nothing but unknowns is `<NA>` too.

    Args:
        rows: One for each call, with the keys of `views.usage.COLUMNS`.
        by: One of `views.usage.GROUPS`.
        prices: Where the prices are from.
    """
    import pandas

    columns = {key: pandas.array([row.get(key) for row in rows], dtype=_dtype(key)) for key in COLUMNS}
    columns["time"] = pandas.to_datetime(columns["time"], utc=True)
    found = pandas.DataFrame(columns)
    if by is not None:
        found = _grouped(found, [GROUPS[by](row) for row in rows], by)
    shown = _frame_class()(found)
    shown.usage_page = str(usage_page(rows, by=by, prices=prices, limits=limits.current()))
    shown.usage_text = _text(rows)
    return shown


def _dtype(key: str) -> str:
    return "Int64" if key in COUNTS else "Float64" if key in _FLOATS else "string"


def _grouped(frame: Any, names: Sequence[str], by: str) -> Any:
    groups = frame.groupby(frame.index.map(dict(enumerate(names))))
    sums = groups[[*COUNTS, "total_s", "cost"]].sum(min_count=1)
    sums.insert(0, "calls", groups.size())
    return sums.rename_axis(by)


def _text(rows: Sequence[Row]) -> str:
    """The sums in one line."""
    if not rows:
        return EMPTY
    found = summed(rows)
    cost = "n/a" if found["cost"] == UNKNOWN else found["cost"]
    tokens = f"{found['input_total']} → {found['output_total']} tokens"
    return f"{count(int(found['calls']), 'call')} · {tokens} · {found['total_s']} s · cost {cost}"


@cache
def _frame_class() -> Any:
    import pandas

    class UsageFrame(pandas.DataFrame):  # type: ignore[misc]  # pandas comes without types here
        """A DataFrame that shows itself as our table; whatever is made of it is an ordinary one."""

        _metadata = ("usage_page", "usage_text")

        @property
        def _constructor(self) -> Any:
            return pandas.DataFrame

        def __getitem__(self, key: Any) -> Any:
            try:
                return super().__getitem__(key)
            except KeyError:
                if not isinstance(key, str) or SHORT.get(key) not in self.columns:
                    raise
                raise KeyError(f"the column that the table calls {key!r} is {SHORT[key]!r}") from None

        def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
            return {"text/html": self.usage_page, "text/plain": f"{self.usage_text}\n{self.to_string(max_rows=20)}"}

    return UsageFrame
