"""The table of usage: what is unknown is unknown, and a sum over it says so."""

from __future__ import annotations

import re
from typing import Any

import pytest

from llmneutral import Usage, cost_of
from llmneutral_widgets.views.usage import (
    COLUMNS,
    EMPTY,
    FREE,
    MOST,
    SHORT,
    money,
    priced_by,
    summed,
    tokens_per_second,
    usage_page,
)
from tests.widgets.samples import ROWS


def lines(output: str) -> list[list[str]]:
    found = re.findall(r"<tr>(.*?)</tr>", output)
    return [[re.sub(r"<[^<>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in found]


def row(**fields: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), **fields}


def test_calls_and_their_sum() -> None:
    head, one, two, total = lines(usage_page(ROWS))
    assert head[:5] == ["time", "stack", "provider", "model", "status"]
    assert one[0] == "2026-11-30 10:00:00"
    assert one[5:] == ["812", "640", "96", "908", "0.42", "3.10", "36", "0.0031 USD"]
    assert two[4:6] == ["interrupted", ""]
    assert total[0] == "sum"
    assert total[5:9] == ["≥ 812", "≥ 640", "≥ 96", "≥ 908"]


def test_columns_that_say_nothing_take_no_room() -> None:
    one = row(time="2026-11-30T10:00:00Z", input_total=1)
    assert {"written", "reasoning"} & {*lines(usage_page([one]))[0]} == set()
    assert lines(usage_page([one]))[0][-1] == "cost"
    head, first, second, total = lines(usage_page([one, row(reasoning=7)]))
    place = head.index("reasoning")
    assert (first[place], second[place], total[place]) == ("–", "7", "≥ 7")


def test_rows_of_ones_own_show_the_columns_they_have() -> None:
    assert lines(usage_page([{"provider": "mine", "input_total": 5}, {"provider": "mine", "cost": 0.5}])) == [
        ["provider", "input", "cost"],
        ["mine", "5", ""],
        ["mine", "", "0.5000"],
        ["sum", "≥ 5", "≥ 0.5000"],
    ]
    assert lines(usage_page([{"input_total": 5}])) == [["provider", "input"], ["", "5"], ["sum", "5"]]


def test_every_column_says_what_it_means() -> None:
    output = usage_page(ROWS)
    shown = lines(output)[0]
    told = re.findall(r"<li><b>([^<]+)</b>(?: \(<code>\w+</code>\))?: [^<]{12,}</li>", output)
    assert told == shown
    assert output.count("<th title=") + output.count('title="') >= len(shown)
    assert "what the columns mean" in usage_page(ROWS, by="model")


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("mine.json", "prices: mine.json"),
        ("runs on this computer", "cost 0: it runs on this computer"),
        ("a 1, runs on this computer, b", "prices: a 1, b; cost 0: it runs on this computer"),
    ],
)
def test_where_costs_are_from(sources: str, said: str) -> None:
    assert priced_by(sources) == said


def test_what_is_free_is_known_by_the_words_of_the_library() -> None:
    usage = Usage(input_total=1, output_total=1)
    assert cost_of(usage, model="m", provider="local").source == FREE


def test_calls_of_one_day_say_the_time_of_day() -> None:
    calls = [row(time="2026-11-30T10:00:00Z"), row(time="2026-11-30T11:00:00Z")]
    assert [line[0] for line in lines(usage_page(calls))] == ["time", "10:00:00", "11:00:00", "sum"]


def test_a_sum_over_what_is_known_is_plain() -> None:
    found = summed([row(input_total=1_000, total_s=1.5), row(input_total=2_000, total_s=1.0)])
    assert found["input_total"] == "3,000"
    assert found["total_s"] == "2.5"
    assert found["output_total"] == "–"
    assert found["cost"] == "–"


def test_money_of_several_currencies_is_not_added() -> None:
    rows = [row(cost=1.0, currency="USD"), row(cost=2.0, currency="EUR")]
    assert summed(rows)["cost"] == "several currencies"
    assert summed(rows[:1])["cost"] == "1.00 USD"
    assert summed([*rows[:1], row()])["cost"] == "≥ 1.00 USD"


@pytest.mark.parametrize(("by", "names"), [("provider", ["anthropic", "local"]), ("day", ["2026-11-30", "2026-12-01"])])
def test_groups(by: str, names: list[str]) -> None:
    head, *groups = lines(usage_page(ROWS, by=by))
    assert head[:2] == [by, "calls"]
    assert [group[0] for group in groups] == [*names, "sum"]
    assert [group[1] for group in groups] == ["1", "1", "2"]


def test_unknown_groups_are_together() -> None:
    assert lines(usage_page([row(), row(model="m")], by="model"))[1][0] == "–"


def test_empty() -> None:
    output = usage_page([])
    assert EMPTY in output
    assert len(lines(output)) == 1


def test_long_tables_show_the_end_and_count_all() -> None:
    output = usage_page([row(input_total=n) for n in range(MOST + 50)])
    shown = lines(output)
    assert len(shown) == MOST + 2
    assert shown[1][5] == "50"
    assert shown[-1][5] == f"{sum(range(MOST + 50)):,}"
    assert "50 earlier calls are not shown, but counted" in output


@pytest.mark.parametrize(
    ("output", "first", "total", "speed"),
    [
        (96, 0.42, 3.1, 96 / 2.68),
        (96, None, 3.2, 30.0),
        (None, 0.4, 3.0, None),
        (96, 0.4, None, None),
        (96, 3.0, 3.0, 32.0),
        (9, 0, 0, None),
    ],
)
def test_speed(output: Any, first: Any, total: Any, speed: float | None) -> None:
    assert tokens_per_second(output, first, total) == (None if speed is None else pytest.approx(speed))


def test_amounts() -> None:
    assert (money(1234.5), money(0.00314), money(0)) == ("1,234.50", "0.00314", "0")
    assert (money(0.5), money(0.0031), money(0.000002)) == ("0.5000", "0.0031", "0.000002")


def test_headings() -> None:
    output = usage_page(ROWS)
    assert output.count('scope="col"') == 13
    assert output.count('scope="row"') == 1


def test_the_legend_names_the_columns_of_the_data_frame_where_they_are_called_otherwise() -> None:
    output = usage_page(ROWS)
    for head, key in SHORT.items():
        if f">{head}</th>" in output:
            assert f"<b>{head}</b> (<code>{key}</code>): " in output
    assert SHORT["input"] == "input_total"
    assert "<b>model</b>: " in output
    assert "<b>input</b> (<code>input_total</code>): " in usage_page(ROWS, by="model")
