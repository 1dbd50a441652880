"""Tokens by provider: the picture, and the words that say the same."""

from __future__ import annotations

import base64

from llmneutral_widgets.views.spending import LARGEST, Spent, spending_part, spent, spent_words
from llmneutral_widgets.views.usage import EMPTY
from tests.widgets.closed_set import outside_views
from tests.widgets.samples import PNG, ROWS


def test_the_most_comes_first_and_the_unknown_is_unknown() -> None:
    rows = [{"provider": "a", "output_total": 5}, *ROWS, {"provider": "a", "output_total": 2, "input_total": None}]
    assert spent(rows) == [Spent("anthropic", 812, 96), Spent("a", None, 7), Spent("local", None, None)]
    assert spent_words(rows) == "tokens in → out: anthropic 812 → 96 · a – → 7 · local – → –"


def test_no_calls() -> None:
    assert spent_words([]) == EMPTY


def test_a_picture_has_its_words_beside_it() -> None:
    shown = spending_part(ROWS, base64.b64decode(PNG))
    assert f'src="data:image/png;base64,{PNG}"' in shown
    assert shown.count("anthropic 812 → 96") == 2
    assert outside_views(shown) == []


def test_a_picture_that_is_too_big_is_left_out() -> None:
    assert "<img" not in spending_part(ROWS, b"x" * (LARGEST + 1))


def test_a_sum_of_which_not_all_is_known_says_so_as_in_the_table() -> None:
    rows = [*ROWS, {**ROWS[0], "input_total": None}]
    assert spent_words(rows) == "tokens in → out: anthropic ≥ 812 → 192 · local – → –"
