"""A model's text as HTML: what it looks like, that nothing outside the closed set comes of it, and that it is quick."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmneutral_widgets.views.markdown import DEPTH, html
from tests.widgets.closed_set import HOSTILE, OWN_ATTACKS, depth, is_well_nested, outside_markdown, parsed

ATTACKS = {**HOSTILE, **OWN_ATTACKS}


# ----------------------------------------------------------------------------------------------------------------------
# What it looks like


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Hello *big* **bold** ~~gone~~ world", "<p>Hello <em>big</em> <strong>bold</strong> <s>gone</s> world</p>"),
        ("***both***", "<p><em><strong>both</strong></em></p>"),
        ("snake_case_name and _em_", "<p>snake_case_name and <em>em</em></p>"),
        ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
        ("**** and ****", "<p>**** and ****</p>"),
        ("`a < b` and ``a ` b``", "<p><code>a &lt; b</code> and <code>a ` b</code></p>"),
        ("an unclosed `tick", "<p>an unclosed `tick</p>"),
        ("# One\n###### Six", "<h4>One</h4><h6>Six</h6>"),
        ("# C#\n## Two ##", "<h4>C#</h4><h5>Two</h5>"),
        ("#hashtag", "<p>#hashtag</p>"),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
        ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"),
        ("one  \ntwo\\\nthree\nfour", "<p>one<br>\ntwo<br>\nthree\nfour</p>"),
        ("a & b &amp; c", "<p>a &amp; b &amp;amp; c</p>"),
        (r"\*not\* \# \[a]", "<p>*not* # [a]</p>"),
        ("C:\\new\\table", "<p>C:<span>\\</span>new<span>\\</span>table</p>"),
        ("", ""),
        ("\n \n", ""),
        ("a\r\nb\rc", "<p>a\nb\nc</p>"),
    ],
)
def test_text(source: str, shown: str) -> None:
    assert html(source) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("1. a\n   - b\n   - c\n2. d", '<ol start="1"><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol>'),
        ("- a\n\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("- a\n\n  more\n- b", "<ul><li><p>a</p><p>more</p></li><li>b</li></ul>"),
        ("- a\nlazy\n- b", "<ul><li>a\nlazy</li><li>b</li></ul>"),
        ("- [ ] open\n- [x] done", "<ul><li>☐ open</li><li>☑ done</li></ul>"),
        ("- a\n  ```\n  x\n  ```", "<ul><li>a<pre><code>x</code></pre></li></ul>"),
        ("* * *", "<hr>"),
        ("- a\n---\nb", "<ul><li>a</li></ul><hr><p>b</p>"),
        ("text\n1. one", '<p>text</p><ol start="1"><li>one</li></ol>'),
        ("It was\n2026. A good year.", "<p>It was\n2026. A good year.</p>"),
        ("1. a\n2026. b", '<ol start="1"><li>a</li><li>b</li></ol>'),
    ],
)
def test_lists(source: str, shown: str) -> None:
    assert html(source) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("```python\nif a:\n    b\n```\nc", '<pre><code class="language-python">if a:\n    b</code></pre><p>c</p>'),
        ("~~~\n```\n~~~", "<pre><code>```</code></pre>"),
        ("````\n```\n````", "<pre><code>```</code></pre>"),
        ("```\nstill open", "<pre><code>still open</code></pre>"),
        ("```mermaid\na-->b\n```", '<pre><code class="language-mermaid">a--&gt;b</code></pre>'),
        ("```c++ title=x\n```", '<pre><code class="language-c++"></code></pre>'),
        ("  ```\n  a\n    b\n  ```", "<pre><code>a\n  b</code></pre>"),
        ("a\n\n    code\n\n      more\n\nb", "<p>a</p><pre><code>code\n\n  more</code></pre><p>b</p>"),
        ("a\n    no code", "<p>a\nno code</p>"),
        ("\ttab", "<pre><code>tab</code></pre>"),
    ],
)
def test_code(source: str, shown: str) -> None:
    assert html(source) == shown


def test_table() -> None:
    cell = '<{0} style="text-align:left">{1}</{0}>'
    head = "".join([cell.format("th", name) for name in ("a", "b")])
    body = "".join([cell.format("td", name) for name in ("1 | 2", "<em>x</em>")])
    shown = f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>"
    assert html("| a | b |\n|:--|--:|\n| 1 \\| 2 | *x* |") == shown
    assert html("a | b\n--- | ---\n1 \\| 2 | *x*") == shown
    assert "<table>" not in html("a | b\nc | d")


LINK = '<a href="{0}" target="_blank" rel="noopener noreferrer">{1}</a>'


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[a](https://x.example)", LINK.format("https://x.example", "a")),
        ('[a](https://x.example?b=1&c=2 "title")', LINK.format("https://x.example?b=1&amp;c=2", "a")),
        ("[*a*](https://x.example)", LINK.format("https://x.example", "<em>a</em>")),
        ("[a](https://x.example/b_(c))", LINK.format("https://x.example/b_(c)", "a")),
        ("<https://x.example>", LINK.format("https://x.example", "https://x.example")),
        ("<me@x.example>", LINK.format("mailto:me@x.example", "me@x.example")),
        ("https://x.example/a_b_c.", LINK.format("https://x.example/a_b_c", "https://x.example/a_b_c") + "."),
        ("https://x.example/a_(b)", LINK.format("https://x.example/a_(b)", "https://x.example/a_(b)")),
        ("![a cat](https://x.example/c.png)", LINK.format("https://x.example/c.png", "image: a cat")),
        ("![](https://x.example/c.png)", LINK.format("https://x.example/c.png", "image: untitled")),
        ("[a](javascript:alert)", "a <code>javascript:alert</code>"),
        ("[a](/relative)", "a <code>/relative</code>"),
        ("[a] (b)", "[a] (b)"),
        ("[a][ref]", "[a][ref]"),
        ("[a](b", "[a](b"),
        ("[]()", "[]()"),
    ],
)
def test_links(source: str, shown: str) -> None:
    assert html(source) == f"<p>{shown}</p>"


def test_a_label_that_is_an_address_leads_to_where_it_says() -> None:
    shown = html("[https://good.example](https://evil.invalid/)")
    good = LINK.format("https://good.example", "https://good.example")
    assert shown == f"<p>{good} {LINK.format('https://evil.invalid/', 'https://evil.invalid/')}</p>"


# ----------------------------------------------------------------------------------------------------------------------
# Formulas and dollars


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("$x^2$", "<span>$x^2$</span>"),
        (r"\(a < b\)", "<span>$a &lt; b$</span>"),
        (r"$\frac{a}{b}$", r"<span>$\frac{a}{b}$</span>"),
        ("it is $5 and $6", "it is <span>$</span>5 and <span>$</span>6"),
        ("pay $5 for $x^2$ and $6", "pay <span>$</span>5 for <span>$x^2$</span> and <span>$</span>6"),
        (r"\$5", "<span>$</span>5"),
        ("a $ b $ c", "a <span>$</span> b <span>$</span> c"),
        (r"$\unknowncommand{x}$", r"<code>\unknowncommand{x}</code>"),
        (r"\begin{x}", r"<span>\</span>begin{x}"),
    ],
)
def test_dollars(source: str, shown: str) -> None:
    assert html(source) == f"<p>{shown}</p>"


def test_a_formula_that_stands_alone() -> None:
    shown = html("\\[\n\\begin{aligned}\na &= b\n+ c\n\\end{aligned}\n\\]")
    assert shown == "<p><span>$$\\begin{aligned}\na &amp;= b\n+ c\n\\end{aligned}$$</span></p>"
    assert html("$$x$$") == "<p><span>$$x$$</span></p>"
    assert html("text\n$$\nx\n$$\nmore") == "<p>text</p><p><span>$$x$$</span></p><p>more</p>"


@pytest.mark.parametrize(
    "command",
    r"\href \url \require \style \class \cssId \data \html \htmlClass \mmlToken \def \let \newcommand \unicode \input"
    r" \includegraphics \rule \hspace \kern \label \ref \csname \DeclareMathOperator \begin{html}".split(),
)
def test_commands_that_do_more_than_set_a_formula_are_code(command: str) -> None:
    for source in (
        f"${command}{{a}}{{b}}$",
        rf"\({command}{{a}}\)",
        f"$$x {command}{{a}}$$",
        f"$$\n{command}{{a}}\n$$",
    ):
        shown = html(source)
        assert "<code>" in shown
        assert "<span>$" not in shown


# ----------------------------------------------------------------------------------------------------------------------
# The closed set


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_stay_text(name: str) -> None:
    shown = html(ATTACKS[name])
    assert outside_markdown(shown) == []
    assert is_well_nested(shown)
    for tag, attributes in parsed(shown):
        assert tag not in ("img", "script", "style", "iframe", "base", "svg")
        assert not any([key.startswith("on") for key in attributes])
    assert shown, "an attack is shown as what it is"


def test_what_is_refused_stays_visible() -> None:
    for name in ("js-link", "data-link", "script", "base"):
        text = html(HOSTILE[name])
        assert ("javascript:" in text) or ("data:" in text) or ("&lt;" in text)


PIECES = [
    *ATTACKS.values(),
    *("*", "**", "_", "~~", "`", "``", "```", "~~~", "$", "$$", "[", "]", "(", ")", "![", "](", "<", ">", "\\", "|"),
    *(
        "\n",
        "\n\n",
        "  \n",
        "- ",
        "1. ",
        "> ",
        "# ",
        "|-|\n",
        "    ",
        "\t",
        "&",
        '"',
        "'",
        "https://a.example",
        "a@b.c",
    ),
    *(
        r"\(",
        r"\)",
        r"\[",
        r"\]",
        r"\begin{x}",
        r"\href{a}{b}",
        "word ",
        "ü",
        "\u202e",
        "\x00",
        "\x1b[1m",
        "😀",
        "\ud800",
    ),
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=24).map("".join))
@settings(max_examples=400)
def test_any_mixture_stays_in_the_closed_set(source: str) -> None:
    shown = html(source)
    assert outside_markdown(shown) == []
    assert is_well_nested(shown)


@given(st.lists(st.sampled_from([p for p in PIECES if len(p) <= 3]), min_size=1, max_size=200).map("".join))
@settings(max_examples=100)
def test_elements_do_not_pile_up(source: str) -> None:
    assert depth(html(source)) <= 2 * DEPTH + 60


def test_nesting_ends() -> None:
    assert html(">" * 1000 + "a").count("<blockquote>") == DEPTH
    assert html("\n".join("  " * i + "- a" for i in range(100))).count("<ul>") == DEPTH
    assert depth(html("*a " * 5000 + "b* " * 5000)) < 20
    assert depth(html("***a " * 5000 + "b*** " * 5000)) < 40


@given(st.text(alphabet="ab \n", max_size=80))
def test_plain_words_survive(source: str) -> None:
    shown = html(source)
    words = "".join([char for char in source if char in "ab"])
    assert "".join([char for char in re.sub("<[^<>]*>", "", shown) if char in "ab"]) == words


# ----------------------------------------------------------------------------------------------------------------------
# Linear time

PATHOLOGICAL: dict[str, Callable[[int], str]] = {
    "spaces in a line": lambda n: "a" + " " * n + "b",
    "stars": lambda n: "*" * n + "a" + "*" * n,
    "spaces in a target": lambda n: ("[](" + " " * 1990) * (n // 2000),
    "open emphasis": lambda n: "*a **b " * (n // 7),
    "open and closed emphasis": lambda n: "*a **b " * (n // 14) + "c** d* " * (n // 14),
    "stars and words": lambda n: "*a" * (n // 2),
    "underscores": lambda n: "_a_ " * (n // 4),
    "tildes": lambda n: "~~a" * (n // 3),
    "open brackets": lambda n: "[" * n,
    "brackets": lambda n: "[" * (n // 5) + "](a)" * (n // 5),
    "pictures": lambda n: "![a](" * (n // 5),
    "titles": lambda n: '[a](b "' * (n // 7),
    "ticks of all lengths": lambda n: " ".join("`" * i for i in range(1, int((2 * n) ** 0.5))),
    "open ticks": lambda n: "`a ``b " * (n // 7),
    "fences": lambda n: "```\n~~~\n" * (n // 8),
    "open fence": lambda n: "```\n" + "a\n" * (n // 2),
    "tick fence with ticks": lambda n: ("```" + "`a" * 50 + "\n") * (n // 104),
    "quotes": lambda n: ">" * n,
    "quoted lines": lambda n: "> > > > > > > > > > > a\n" * (n // 24),
    "items": lambda n: "- a\n" * (n // 4),
    "deep items": lambda n: "\n".join(" " * (i % 60) + "- a" for i in range(n // 40)),
    "loose items": lambda n: "- a\n\n" * (n // 5),
    "lazy items": lambda n: "- a\n" + "b\n" * (n // 2),
    "table": lambda n: "|a" * (n // 6) + "\n" + "|-" * (n // 6) + "\n" + "|b" * (n // 6),
    "rows": lambda n: "|a|\n|-|\n" + "|b|\n" * (n // 4),
    "bars without table": lambda n: "|a\n" * (n // 3),
    "dashes": lambda n: "-" * n,
    "rules": lambda n: "---\n" * (n // 4),
    "headings": lambda n: "# a\n" * (n // 4),
    "hashes": lambda n: "#" * n,
    "dollars": lambda n: "$5 " * (n // 3),
    "displays": lambda n: "\\[\n" * (n // 3),
    "double dollars": lambda n: "$$\na\n" * (n // 5),
    "inline formulas": lambda n: "\\(" * (n // 2),
    "addresses": lambda n: "https://x(" * (n // 10),
    "long address": lambda n: "https://" + "a(b)" * (n // 4),
    "angle addresses": lambda n: "<https://" * (n // 9),
    "mail": lambda n: "<a@" * (n // 3),
    "mail names": lambda n: ("<" + "a" * 64) * (n // 65),
    "backslashes": lambda n: "\\" * n,
    "line ends": lambda n: "a  \n" * (n // 4),
    "blank lines": lambda n: "\n" * n,
    "tabs": lambda n: "\t" * (n // 4),
    "indented": lambda n: "    a\n" * (n // 6),
    "control characters": lambda n: "\x00" * n,
    "less than": lambda n: "<" * n,
    "ampersands": lambda n: "&" * n,
}


def _seconds(source: str) -> float:
    """The quickest of three, in processor time: the other core's work does not count."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        html(source)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_time_is_linear(name: str) -> None:
    """Eight times the text may take twenty times as long, caches and all; quadratic would be sixty-four."""
    make = PATHOLOGICAL[name]
    small, large = _seconds(make(5_000)), _seconds(make(40_000))
    assert large < 20 * small + 0.02, f"{small * 1000:.1f} ms for 5,000 characters, {large * 1000:.1f} ms for 40,000"
