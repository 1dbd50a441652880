"""Usage as a DataFrame."""

from __future__ import annotations

import pickle

import pandas
import pytest

from llmneutral_widgets.tables import usage_frame
from llmneutral_widgets.views.usage import COLUMNS
from tests.widgets.samples import ROWS


def test_columns_and_types() -> None:
    frame = usage_frame(ROWS)
    assert tuple(frame.columns) == COLUMNS
    assert str(frame["input_total"].dtype) == "Int64"
    assert str(frame["first_delta_s"].dtype) == "Float64"
    assert isinstance(frame["time"].dtype, pandas.DatetimeTZDtype)
    assert frame["input_total"].isna().tolist() == [False, True]
    assert frame["total"].sum() == 908


def test_sums_keep_the_unknown() -> None:
    frame = usage_frame(ROWS, "provider")
    assert frame.index.name == "provider"
    assert frame["calls"].to_dict() == {"anthropic": 1, "local": 1}
    assert frame.loc["anthropic", "input_total"] == 812
    assert frame.loc["local", "input_total"] is pandas.NA
    assert usage_frame(ROWS, "day").index.tolist() == ["2026-11-30", "2026-12-01"]


def test_it_shows_itself_and_what_is_made_of_it_is_ordinary() -> None:
    frame = usage_frame(ROWS)
    shown = frame._repr_mimebundle_()
    assert "≥ 812" in shown["text/html"]
    assert "2 calls · ≥ 812 → ≥ 96 tokens" in shown["text/plain"]
    for made in (
        frame[frame["status"] == "complete"],
        frame.copy(),
        frame.head(1),
        pickle.loads(pickle.dumps(frame[:])),
    ):
        assert type(made) is pandas.DataFrame


def test_a_word_of_the_table_names_its_column() -> None:
    for frame in (usage_frame(ROWS), usage_frame(ROWS, "provider")):
        with pytest.raises(KeyError, match="the column that the table calls 'input' is 'input_total'"):
            frame["input"]
    with pytest.raises(KeyError, match=r"^'tok'$"):
        usage_frame(ROWS)["tok"]
    with pytest.raises(KeyError, match=r"^'tok/s'$"):  # sums have no speed
        usage_frame(ROWS, "provider")["tok/s"]


def test_no_calls() -> None:
    frame = usage_frame([])
    assert len(frame) == 0
    assert tuple(frame.columns) == COLUMNS
    assert "No calls yet." in frame._repr_mimebundle_()["text/html"]
    assert len(usage_frame([], "model")) == 0
