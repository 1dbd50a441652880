"""How many rows and how large pictures views show, where it is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.views.answer import comparison_page, exchange_page
from llmneutral_widgets.views.deltas import deltas_page, deltas_text
from llmneutral_widgets.views.limits import MOST_ROWS, USUAL, Limits
from llmneutral_widgets.views.listed import stack_text
from llmneutral_widgets.views.page import LIMIT
from llmneutral_widgets.views.payload import Column, comparison
from llmneutral_widgets.views.pictures import LARGEST
from llmneutral_widgets.views.stack import stack_page, stack_part
from llmneutral_widgets.views.transcript import Said, said_part, transcript_page
from llmneutral_widgets.views.usage import usage_page
from tests.widgets.samples import PNG, RECORD

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": f"word {n} here"}]} for n in range(300)
]
RECORDED = [[n / 10, {"id": n}, [{"type": "generic", "payload": {"n": n}}]] for n in range(300)]
CALLS = [{"input_total": n} for n in range(300)]
PAYLOAD = {"m": [{"a": n} for n in range(300)]}
TRACED = [Column(api="one", payload=PAYLOAD, trace={f"/m/{n}": ((n, 0),) for n in range(300)})]


def numbers(text: str, pattern: str) -> list[int]:
    return [int(found) for found in re.findall(pattern, text)]


SHOWN: Mapping[str, Any] = {
    "stack": lambda limits: numbers(stack_page(MESSAGES, limits=limits), r'<div class="role"><b>(\d+) user'),
    "stack as text": lambda limits: numbers(stack_text(MESSAGES, 80, limits=limits), r"(?m)^(\d+) user"),
    "transcript": lambda limits: numbers(
        transcript_page([Said(message) for message in MESSAGES], limits=limits), r"word (\d+) here"
    ),
    "comparison": lambda limits: numbers(
        comparison(MESSAGES, TRACED, most=limits.most(60), limits=limits), r'<div class="role"><b>(\d+) user'
    ),
    "deltas": lambda limits: numbers(deltas_page(RECORDED, limits=limits), r"<code>{.id.: (\d+)}</code>"),
    "deltas as text": lambda limits: numbers(deltas_text(RECORDED, 100, limits=limits), r"{.id.: (\d+)}"),
    "usage": lambda limits: numbers(usage_page(CALLS, limits=limits), r"vertical-align:top\">(\d+)</td>"),
}
USUALLY = {"stack": 33, "stack as text": 33, "transcript": 30, "comparison": 60, "deltas": 200, "deltas as text": 100}
LAST_ONLY = ("transcript", "usage")


@pytest.mark.parametrize("view", SHOWN)
def test_every_view_has_a_limit_of_its_own_that_is_kept_where_nothing_is_said(view: str) -> None:
    assert len(SHOWN[view](USUAL)) == USUALLY.get(view, 200)
    assert Limits(image_bytes=LARGEST) == USUAL


@pytest.mark.parametrize("view", SHOWN)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 50, MOST_ROWS])
def test_so_many_rows_are_shown_of_both_ends_in_order(view: str, rows: int) -> None:
    found = SHOWN[view](Limits(rows))
    assert len(found) == rows
    assert found == sorted(found)
    assert found[-1] == 299, "the newest is always there"
    assert (found[0] == 0) is (view not in LAST_ONLY and rows > 1)


@given(st.integers(1, 400), st.integers(0, 200), st.integers(1, 200))
def test_both_ends_together_are_what_was_asked_for(rows: int, first: int, last: int) -> None:
    begin, end = Limits(rows).ends(first, last)
    assert begin + end == rows
    assert 0 <= begin <= first
    assert end >= 1
    assert USUAL.ends(3, 30) == (3, 30)


def test_as_many_rows_as_there_may_be_fit_into_an_output() -> None:
    wide = [{"role": "user", "content": [{"type": "text", "text": "word " * 500}] * 3} for _ in range(300)]
    assert len(stack_page(wide, limits=Limits(MOST_ROWS)).encode()) <= LIMIT * 2
    assert len(comparison(wide, TRACED, most=MOST_ROWS, limits=Limits(MOST_ROWS)).encode()) <= LIMIT


PICTURE = {"type": "image", "data": PNG, "media_type": "image/png"}
ASKED = [{"role": "user", "content": [PICTURE]}]
ANSWER = {**RECORD, "response": {**RECORD["response"], "message": {"role": "assistant", "content": [PICTURE]}}}
PICTURED: Mapping[str, Any] = {
    "stack": lambda limits: stack_page(ASKED, limits=limits),
    "part of a stack": lambda limits: stack_part(ASKED, [0], limits=limits),
    "transcript": lambda limits: transcript_page([Said(ASKED[0])], limits=limits),
    "part of a transcript": lambda limits: said_part([Said(ASKED[0])], limits),
    "comparison": lambda limits: comparison(ASKED, TRACED, limits=limits),
    "answer": lambda limits: exchange_page(ANSWER, limits),
    "answers": lambda limits: comparison_page([ANSWER], limits),
}
OCTETS = len(PNG) * 3 // 4 - PNG.count("=")


@pytest.mark.parametrize("view", PICTURED)
def test_larger_pictures_are_a_line_with_their_size(view: str) -> None:
    for limits in (USUAL, Limits(image_bytes=OCTETS)):
        assert '<img src="data:image/png' in PICTURED[view](limits)
    shown = PICTURED[view](Limits(image_bytes=OCTETS - 1))
    assert "<img" not in shown
    assert re.search(r"<small>image/png, \d+×\d+, \d+ bytes</small>", shown) is not None
