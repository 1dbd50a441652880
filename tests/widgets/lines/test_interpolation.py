"""`{{name}}` in a prompt: what is put in, what is left alone, what is refused."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets.lines.interpolation import LONGEST, interpolate, only_place, resolve
from llmneutral_widgets.lines.options import OptionError


class Figure:
    def _repr_png_(self) -> bytes:
        return b"\x89PNG"


class Broken:
    @property
    def bad(self) -> Any:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")


NAMES: dict[str, Any] = {
    "name": "Ada",
    "data": {"a b": [1, {"k": "v"}], "x}y": "brace"},
    "thing": SimpleNamespace(size=3, parts=["p", "q"]),
    "In": ["", "first"],
    "Out": {3: "third"},
    "braces": "{{name}}",
    "broken": Broken(),
    "_hidden": 1,
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hello {{name}}!", "Hello Ada!"),
        ("{{ name }}{{name}}", "AdaAda"),
        ("{{data['a b'][0]}} {{data[\"a b\"][1]['k']}}", "1 v"),
        ("{{data['x}y']}}", "brace"),
        ("{{thing.size}} {{ thing.parts[-1] }}", "3 q"),
        ("{{In[1]}} {{Out[3]}}", "first third"),
        ("{{braces}}", "{{name}}"),
        (r"\{{name}} is {{name}}", "{{name}} is Ada"),
        (r"\{{ alone", "{{ alone"),
        ('{"a": {"b": 1}} $x^2$ %s \\n {name} {{}} {{', '{"a": {"b": 1}} $x^2$ %s \\n {name} {{}} {{'),
        ("{{name", "{{name"),
        ("", ""),
    ],
)
def test_text(text: str, filled: str) -> None:
    assert "".join(interpolate(text, NAMES)) == filled


@given(st.text(st.characters(exclude_characters="{")))
def test_what_has_no_braces_is_left_alone(text: str) -> None:
    assert "".join(interpolate(text, {})) == text


def test_objects_stand_in_place() -> None:
    picture, figure = llmneutral.ImageArtifact(b"\x89PNG\r\n\x1a\n", "png"), Figure()
    names = {"picture": picture, "figure": figure, "raw": b"abc", "word": "and"}
    assert interpolate("see {{picture}} {{word}} {{figure}}{{raw}}.", names) == [
        "see ",
        picture,
        " and ",
        figure,
        b"abc",
        ".",
    ]


def test_a_class_is_text() -> None:
    assert interpolate("{{f}}", {"f": Figure}) == [str(Figure)]


def test_tables() -> None:
    small = pandas.DataFrame({"a": [1, 2], "b|c": ["x", "y\nz"]})
    assert interpolate("{{t}}", {"t": small}) == [
        "|  | a | b\\|c |\n| --- | --- | --- |\n| 0 | 1 | x |\n| 1 | 2 | y z |"
    ]
    big = pandas.DataFrame({f"c{i}": range(30) for i in range(14)})
    (text,) = interpolate("{{t}}", {"t": big})
    assert text.endswith("(the first 20 rows and 12 columns of 30 × 14)")
    assert text.count("\n") == 22


def test_every_undefined_name_is_named_with_the_nearest() -> None:
    with pytest.raises(OptionError) as caught:
        interpolate("{{nme}} {{name}} {{thin.size}} {{thing.siz}} {{data['a c']}}", NAMES)
    assert str(caught.value) == (
        "nme is not defined (did you mean name?); thin is not defined (did you mean thing?); "
        "thing has no attribute siz (did you mean size?) (AttributeError); "
        "data has no ['a c'] (did you mean a b?) (KeyError)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{_hidden}}", "names that begin with an underscore are not followed"),
        ("{{thing.__class__}}", "names that begin with an underscore are not followed"),
        ("{{name.upper()}}", "behind name.upper only .attribute"),
        ("{{name + name}}", "behind name only .attribute"),
        ("{{name | upper}}", "behind name only .attribute"),
        ("{{1 + 1}}", "begins with no name"),
        ("{{data[name]}}", "behind data only .attribute"),
        ("{{data[1:2]}}", "behind data only .attribute"),
        ("{{broken.bad}}", "broken.bad could not be read: RuntimeError: no"),
        ("{{broken}}", "has no text: RuntimeError"),
        ("{{thing.parts[7]}}", re.escape("thing.parts has no [7] (IndexError)")),
    ],
)
def test_nothing_is_evaluated(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        interpolate(text, NAMES)


def test_too_much_text_is_refused() -> None:
    assert interpolate("{{x}}", {"x": "a" * LONGEST})
    with pytest.raises(OptionError, match=r"\{\{x\}\} brings 102,401 bytes"):
        interpolate("{{x}}", {"x": "a" * (LONGEST + 1)})


def test_a_value_that_is_one_place() -> None:
    assert only_place("{{ driver }}") == " driver "
    assert only_place(r"\{{driver}}") is None
    assert only_place("{{a}}{{b}}") is None
    assert only_place("a {{b}}") is None
    assert resolve(" thing.parts ", NAMES) == ["p", "q"]
    with pytest.raises(OptionError, match="nowhere is not defined"):
        resolve("nowhere", NAMES)
