"""Which formulas are harmless."""

from __future__ import annotations

import pytest

from llmneutral_widgets.views.tex import COMMANDS, ENVIRONMENTS, is_harmless


@pytest.mark.parametrize(
    "tex",
    [
        "x^2",
        r"\frac{a}{b}",
        r"\sum_{i=1}^{n} \alpha_i \cdot x_i \leq \infty",
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
        r"\text{if } x \in \mathbb{R}",
        r"\left\{ a \,\middle|\, b \right\}",
        r"\lim_{x \to 0} \frac{\sin x}{x} = 1",
        r"\hat{\theta} = \operatorname{argmax}_\theta \log p",
        r"\underbrace{a + b}_{\text{sum}}",
        r"\begin{aligned} a &= b \\ &= c \end{aligned}",
        r"e^{i\pi} + 1 = 0",
        r"\|x\|_2 \%",
    ],
)
def test_mathematics(tex: str) -> None:
    assert is_harmless(tex)


@pytest.mark.parametrize(
    "tex",
    [
        r"\href{javascript:1}{x}",
        r"a \HREF{x}{y}",
        r"\begin{html}x\end{html}",
        r"\begin {html}x",
        r"\begin{align",
        r"\begin\href",
        "a $ b",
        "",
        " ",
        "x" * 3_000,
        r"\unknown",
        r"\mathrmx",
    ],
)
def test_anything_else(tex: str) -> None:
    assert not is_harmless(tex)


def test_nothing_dangerous_is_in_the_tables() -> None:
    dangerous = r"""href url require style class cssId data html htmlClass htmlId htmlStyle htmlData mmlToken def gdef
        let newcommand renewcommand newenvironment unicode input include includegraphics rule hspace vspace kern mkern
        raise lower moveleft moveright label ref eqref csname definecolor color textcolor colorbox fcolorbox bbox
        enclose DeclareMathOperator catcode write openout special Rule Space toggle texttip mathtip""".split()
    assert COMMANDS.isdisjoint(dangerous)
    assert ENVIRONMENTS.isdisjoint(dangerous)
    assert all(name.isalpha() and name.isascii() for name in COMMANDS)
