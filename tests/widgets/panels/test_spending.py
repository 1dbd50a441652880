"""What was spent: table, sums, picture."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral_widgets import session
from llmneutral_widgets.panels import UsageView
from llmneutral_widgets.panels.spending import COLOURS, INK, PAPER, picture
from llmneutral_widgets.pricing import OwnPrices
from llmneutral_widgets.views.spending import Spent, spent
from llmneutral_widgets.views.usage import EMPTY
from tests.widgets.closed_set import outside_views
from tests.widgets.panels.looking import html, quiet, text
from tests.widgets.samples import ROWS

pytestmark = quiet
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    session.close()


def test_calls_and_what_they_come_to() -> None:
    view = UsageView(ROWS)
    assert "claude-sonnet-5-5" in text(view.box)
    assert "≥ 812" in text(view.box)
    assert "tokens in → out: anthropic 812 → 96 · local – → –" in text(view.box)


@pytest.mark.parametrize("by", ["provider", "model", "stack", "day"])
def test_sums_by(by: str) -> None:
    view = UsageView(ROWS)
    view.by.value = by
    assert view.frame.index.name == by
    assert list(view.frame["calls"]) == [1, 1]
    assert view.last_error is None


def test_no_calls_yet() -> None:
    view = UsageView()
    assert EMPTY in text(view.box)
    assert len(view.frame) == 0


def test_the_calls_of_the_session_are_read_again() -> None:
    view = UsageView()
    session.current().rows += ROWS
    view.refresh()
    assert "anthropic" in text(view.box)


def test_costs_are_those_of_the_session_and_of_prices_of_ones_own() -> None:
    view = UsageView()
    session.current().rows.append({**ROWS[0], "prices": "published"})
    view.refresh()
    assert "0.0031 USD" in text(view.box)
    assert "prices: published" in text(view.box)
    session.current().prices = OwnPrices({"claude-sonnet-5-5": {"input": 1e6, "output": 0.0}}, "mine.json")
    view.refresh()
    assert "prices: mine.json" in text(view.box)
    assert view.frame["cost"].tolist() == [812.0], "what is cached costs what input does, here"


def test_the_frame_knows_what_is_unknown() -> None:
    import pandas

    frame = UsageView(ROWS).frame
    assert frame["input_total"].dtype == "Int64"
    assert frame["input_total"][1] is pandas.NA


def test_rows_of_ones_own() -> None:
    rows = [{"provider": "mine", "input_total": 5, "output_total": 2}]
    view = UsageView(rows)
    assert "status" not in text(view.box)
    rows.append({"provider": "other", "input_total": 7})
    view.refresh()
    assert "other" in text(view.box)


@pytest.mark.parametrize(
    ("row", "said"), [({"tokens": 5}, "row 0 has tokens"), ([1], "row 0 is a list"), ({}, "nothing")]
)
def test_a_row_that_says_nothing_of_a_call_is_told(row: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said) as caught:
        UsageView([row])
    assert "input_total" in str(caught.value)


def ratio(one: str, other: str) -> float:
    """How two colours stand out from each other: WCAG 2.2, from 1 to 21."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, bright = sorted([light(one), light(other)])
    return (bright + 0.05) / (dark + 0.05)


def test_the_picture_can_be_read_in_any_theme() -> None:
    """It brings its own paper, because no grey stands out by 4.5 from white and from Lab's dark page alike."""
    assert ratio("#000000", "#ffffff") == 21
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(256)]
    assert [grey for grey in greys if min(ratio(grey, "#ffffff"), ratio(grey, "#111111")) >= 4.5] == []
    assert ratio(INK, PAPER) >= 4.5
    assert all(ratio(colour, PAPER) >= 3 for colour in COLOURS), "WCAG 1.4.11, of what is no text"


@pytest.mark.skipif(not HAS_MATPLOTLIB, reason="matplotlib is not installed")
def test_its_paper_has_no_holes() -> None:
    from matplotlib.image import imread

    png = picture([Spent("local", 5, 2)])
    assert png is not None
    pixels = imread(io.BytesIO(png))
    assert pixels[..., 3].min() == 1.0 if pixels.shape[-1] == 4 else pixels.shape[-1] == 3


def test_without_matplotlib_there_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    view = UsageView(ROWS)
    assert not any(["<img" in value for value in html(view.box)])
    assert "anthropic 812 → 96" in text(view.box)


@pytest.mark.skipif(not HAS_MATPLOTLIB, reason="draws with matplotlib, which the library does not need")
@pytest.mark.filterwarnings("ignore")  # of matplotlib's own imports
def test_with_matplotlib_there_is_a_picture_and_the_words() -> None:
    view = UsageView(ROWS)
    shown = next(value for value in html(view.box) if "<img" in value)
    assert 'alt="tokens in → out: anthropic 812 → 96 · local – → –"' in shown
    assert outside_views(shown) == []
    plots = sys.modules.get("matplotlib.pyplot")
    assert plots is None or plots.get_fignums() == [], "nothing is left open"


def test_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for matplotlib: which numbers are drawn, in which order."""
    drawn: list[Any] = []
    monkeypatch.setitem(sys.modules, "matplotlib", _Module())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", _Module())
    monkeypatch.setattr("llmneutral_widgets.panels.spending.bars", lambda frame, axes: drawn.append(frame))
    made = picture([Spent("a$b", 5, None), Spent("b", None, None), Spent("c", 1, 2)])
    assert made == b"png"
    (frame,) = drawn
    assert list(frame.index) == ["c", r"a\$b"]
    assert frame.to_dict("list") == {"input": [1, 5], "output": [2, 0]}


class _Axes:
    pass


class _Figure:
    def __init__(self, **options: Any) -> None:
        assert options["figsize"][0] > options["figsize"][1]
        assert options["facecolor"] == PAPER

    def subplots(self, **options: Any) -> _Axes:
        assert options == {"subplot_kw": {"facecolor": PAPER}}
        return _Axes()

    def savefig(self, buffer: Any, **options: Any) -> None:
        assert options == {"format": "png"}
        buffer.write(b"png")


class _Module:
    Figure = _Figure


def test_nothing_is_drawn_of_nothing() -> None:
    assert picture(spent([{"provider": "local"}])) is None
    assert picture([]) is None


def test_the_static_form() -> None:
    bundle = UsageView(ROWS)._repr_mimebundle_()
    assert bundle["text/plain"] == "tokens in → out: anthropic 812 → 96 · local – → –"
    assert "≥ 812" in bundle["text/html"]


def test_the_session_s_own_prices_count_and_are_named() -> None:
    current = session.current()
    current.rows += [{**ROWS[0], "cost": None, "currency": None}]
    prices = {"claude-sonnet-5-5": dict.fromkeys(("input", "cache_read", "cache_write", "output"), 1_000.0)}
    current.prices = type(current.prices)(prices, "mine.json")
    view = UsageView()
    assert "prices: mine.json" in text(view.box)
    assert list(view.frame["cost"].notna()) == [True]
    assert "prices: mine.json" in view._repr_mimebundle_()["text/html"]
