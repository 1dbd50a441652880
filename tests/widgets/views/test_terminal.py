"""Lines of a terminal: as wide as it is, broken between words, nothing lost."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.views.terminal import beside, cells, cut, excerpt, heading, several, wrapped

TEXT = st.text(alphabet=st.one_of(st.sampled_from("ab \n\t日本é\u0301\u200b\x1b\u202e"), st.characters()), max_size=200)

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
)


@given(source=TEXT, width=st.integers(8, 90), first=st.sampled_from(["", "  ", "1.0 "]))
def test_no_line_is_wider_and_nothing_but_blanks_is_lost(source: str, width: int, first: str) -> None:
    lines = wrapped(source, width, first=first)
    assert all(_cells(line) <= width for line in lines)
    kept = re.sub(r"[ \t\n]", "", "".join(line[len(first) :] for line in lines))
    clean = HIDDEN.sub("\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))
    assert kept == re.sub(r"[ \t\n]", "", clean)


def _cells(line: str) -> int:
    """Written down a second time."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") and not c.isascii() else
        2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in line
    )  # fmt: skip


@given(source=TEXT, width=st.integers(1, 40))
def test_a_cut_text_is_one_line_that_fits_and_says_so(source: str, width: int) -> None:
    shown = cut(source, width)
    assert "\n" not in shown
    assert _cells(shown) <= max(width, 3)
    assert shown.endswith("…") or shown.split() == cut(source, 10_000).split()


@given(title=TEXT, width=st.integers(20, 90))
def test_a_heading_fills_its_line(title: str, width: int) -> None:
    assert cells(heading(title, width)) == width


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("one twothreefour", ["one twot", "hreefour"]),
        ("  a\n\nb", ["  a", "", "b"]),
        ("日本語の文章", ["日本語の", "文章"]),
    ],
)
def test_lines_are_broken_between_words_where_there_are_any(source: str, lines: list[str]) -> None:
    assert wrapped(source, 8) == lines


def test_what_is_cut_says_how_much_there_is() -> None:
    assert excerpt("abc", 3) == "abc"
    assert excerpt("abcdef", 3) == "abc… (3 more)"
    assert excerpt("a\nb\nc\nd", 99, lines=2) == "a\nb… (4 more)"
    assert several(["a", "b", "c"], 1, "change") == ["a", "… 2 more changes"]
    assert several(["a"], 1, "change") == ["a"]


def test_columns_stand_beside_each_other() -> None:
    assert beside(["a", "b"], ["c"], 3, " → ") == ["a   → c", "b"]
    assert beside(["日"], ["c", "d"], 3, "|") == ["日 |c", "    d"]
