"""Lines of JSON that are too long for a column: the text stays the JSON, and its indentation stays to be seen."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.views.hanging import FITS, hanging
from llmneutral_widgets.views.page import style_section
from tests.widgets.closed_set import outside_views

CHARACTERS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=60)


def bare(markup: str) -> str:
    return html.unescape(re.sub(r"<[^<>]*>", "", markup))


@given(st.integers(0, 30), CHARACTERS, st.booleans())
def test_it_reads_as_it_was_written(pad: int, text: str, is_marked: bool) -> None:
    shown = hanging(" " * pad + text, is_marked=is_marked)
    assert bare(shown) == " " * pad + text + "\n"
    assert outside_views(f"<pre>{shown}</pre>") == []


def test_a_short_line_needs_no_markup() -> None:
    assert hanging('  "a": 1,') == '  "a": 1,\n'


@pytest.mark.parametrize(("pad", "name"), [(0, "i2"), (2, "i4"), (6, "i8"), (8, "i10"), (10, "i12"), (20, "i12")])
def test_a_long_line_goes_on_further_in(pad: int, name: str) -> None:
    assert hanging(" " * pad + "word " * FITS).startswith(f'<span class="{name}">')
    assert f".i{name[1:]}{{padding-left:{name[1:]}ch;text-indent:-{name[1:]}ch}}" in style_section("side")


def test_no_line_breaks_behind_an_opening_quote() -> None:
    assert '"text": <span>"(</span>empty' in hanging('      "text": "(empty) and more"')
    assert '"text": <span>"&lt;</span>system' in hanging('"text": "<system>Be brief</system>"')
    assert "<span>" not in hanging('"text": "words that follow"').partition('class="i2"')[2]


def test_no_empty_line_stands_before_a_long_word() -> None:
    """Between spaces and a word a line may break: what belongs together is kept together."""
    assert '<span>    "</span>reasoning.encrypted_content' in hanging('    "reasoning.encrypted_content"')
    assert "<span>    " not in hanging('    "role": "assistant", and more')


def test_a_problem_is_marked_without_the_spaces() -> None:
    assert hanging("  1", is_marked=True) == "  <mark>1</mark>\n"
