"""The ground of every view: elements that cannot be forged, texts that are what they seem, sizes that hold."""

from __future__ import annotations

import re

import pytest

from llmneutral_widgets.views.page import (
    LIMIT,
    Html,
    Room,
    View,
    badge,
    count,
    doc_link,
    fitted,
    fold,
    join,
    line,
    page,
    short,
    size,
    style_section,
    tag,
    text,
    visible,
)
from tests.widgets.closed_set import outside_views


def test_texts_are_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>", Html("<i>")) == "<p>&lt;b&gt;<i></p>"
    assert tag("p", tag("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert join(["<", tag("br")], " · ") == "&lt; · <br>"
    assert isinstance(join(["a"]), Html)


def test_what_is_put_together_without_care_is_text_again() -> None:
    assert tag("p", f"{tag('b', 'x')}!") == "<p>&lt;b&gt;x&lt;/b&gt;!</p>"


def test_attributes() -> None:
    assert (
        tag("td", title='"<x>\n', class_="a", colspan=2) == '<td title="&quot;&lt;x&gt;\n" class="a" colspan="2"></td>'
    )
    assert tag("details", open=True) == "<details open></details>"
    assert tag("details", open=False, class_=None) == "<details></details>"


@pytest.mark.parametrize(("name", "attributes"), [("script", {}), ("p", {"onclick": "1"}), ("p", {"id": "x"})])
def test_a_view_cannot_make_anything_else(name: str, attributes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="a view"):
        tag(name, **attributes)


def test_dollars_and_backslashes_start_no_formula() -> None:
    assert text("$5 \\(x\\)") == "<span>$</span>5 <span>\\</span>(x<span>\\</span>)"
    assert tag("pre", "$5 \\(x\\)") == "<pre>$5 \\(x\\)</pre>"
    assert tag("td", "$", title="$") == '<td title="$"><span>$</span></td>'


@pytest.mark.parametrize("char", "\x00\x07\x0b\x1b\x7f\x85\x9b\u061c\u200e\u202a\u202e\u2028\u2066\u2069\ud800\udfff")
def test_hidden_characters_are_seen(char: str) -> None:
    assert visible(f"a{char}b") == "a\ufffdb"
    assert char not in tag("p", char, title=char)


@pytest.mark.parametrize("source", ["a\tb\nc", "é ü 漢字 😀", "\u200d\u200c", "family: 👨‍👩‍👧"])
def test_visible_characters_stay(source: str) -> None:
    assert visible(source) == source


def test_line_ends_are_one() -> None:
    assert visible("a\r\nb\rc") == "a\nb\nc"


def test_small_pieces() -> None:
    assert badge("failed", "bad") == '<b class="tag bad">failed</b>'
    assert fold("more", "x", is_open=True) == "<details open><summary>more</summary>x</details>"
    assert count(1, "block") == "1 block"
    assert count(1200, "block") == "1,200 blocks"
    assert (size(12), size(20_480)) == ("12 bytes", "20 KB")
    assert short("abcdef", 3) == "abc… (3 more)"
    assert short("abc", 3) == "abc"
    assert line("a\n b\tc") == "a b c"
    assert line("word " * 100, 10) == "word word…"


@pytest.mark.parametrize(
    "url", ["javascript:1", "http://a b", 'https://a"b', "//a", "", "data:text/html,x", "https://a<b"]
)
def test_only_web_addresses_are_linked(url: str) -> None:
    assert doc_link(url) == ""
    assert doc_link(None) == ""


def test_a_link_to_documentation() -> None:
    shown = doc_link("https://a.example/x?b&c")
    assert shown == '<a href="https://a.example/x?b&amp;c" target="_blank" rel="noopener noreferrer">why</a>'


def test_a_page_has_its_style_once() -> None:
    shown = page("<x>", sections=("answer",))
    assert shown.count("<style>") == 1
    assert shown.endswith('<div class="llmn answer">&lt;x&gt;</div>')
    assert outside_views(shown) == []


@pytest.mark.parametrize("name", ["deltas", "usage", "replay"])
def test_a_section_about_all_tables_of_a_view_means_that_view_only(name: str) -> None:
    """The style sheets of all outputs of a notebook hold for all of them."""
    for rule in style_section(name).split("}"):
        for selector in filter(None, rule.partition("{")[0].split(", ")):
            assert re.match(rf"(\.llmn)+\.{name} |td\)", selector), selector


@pytest.mark.parametrize("name", "base blocks answer side stack deltas usage replay talk live".split())
def test_the_style_sheet(name: str) -> None:
    """It fetches nothing, concerns nothing but our own output, and moves nothing."""
    rules = style_section(name)
    assert not re.search(r"url\(|@import|@font-face|/\*|expression|<|animation|transition|!important", rules)
    selectors = re.findall(r"(?:^|\})([^{}]+)\{", rules)
    assert selectors
    for selector in selectors:
        assert all(part.startswith(".llmn") for part in _parts(selector)), selector
    assert rules.count("{") == rules.count("}")


def _parts(selector: str) -> list[str]:
    return re.split(r",(?![^(]*\))", selector)


def test_the_saved_form_and_the_live_one_hide_each_other_and_nothing_else() -> None:
    """Rules about the front end's own elements, and so the only ones: each needs one of ours beside it."""
    rules = style_section("saved")
    assert re.findall(r"\{([^{}]*)\}", rules) == ["display:none"] * 2
    assert all("llmn-saved" in selector and "llmn-live" in selector for selector in re.findall(r"([^{}]+)\{", rules))


def test_an_unknown_part_of_the_style_sheet() -> None:
    with pytest.raises(KeyError):
        style_section("nothing")


def test_the_style_of_an_answer_is_small() -> None:
    assert len(page(sections=("blocks", "answer"))) < 6_000


def test_an_output_is_made_to_fit() -> None:
    asked: list[int] = []

    def render(most: int) -> Html:
        asked.append(most)
        return Html("é" * most)

    assert LIMIT * 9 // 10 < len(fitted(render, 400_000).encode()) <= LIMIT
    assert len(asked) == 2
    assert len(fitted(lambda most: Html("x" * (LIMIT + 1)), 400_000)) == LIMIT + 1, (
        "what cannot fit is shown all the same"
    )


def test_room_is_used_up_from_the_top() -> None:
    room = Room(10)
    assert room.take("abcdef") == ("abcdef", 0)
    assert room.take("ghijkl") == ("ghij", 2)
    assert room.take("x") == ("", 1)
    assert Room(10).take("abcdef", 3) == ("abc", 3)


def test_a_view_shows_itself() -> None:
    assert View("<p>x</p>", "x")._repr_mimebundle_(include=None) == {"text/html": "<p>x</p>", "text/plain": "x"}
