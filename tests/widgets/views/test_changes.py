"""The words of changes: each kind has its meaning, each step its sentence, and nobody is left to guess."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from llmneutral.convert.report import ChangeKind
from llmneutral.convert.steps import SUMMARIES
from llmneutral_widgets.views.changes import (
    KINDS,
    LABELS,
    change_line,
    counted,
    flags,
    gathered,
    glossary,
    labelled_line,
    meanings,
    plain_line,
    step_name,
    told_of,
)


def change(**fields: Any) -> dict[str, Any]:
    return {"kind": "dropped", "step": "params", "why": "it takes none", "refs": [], "doc": None, **fields}


def test_every_kind_of_change_has_its_meaning() -> None:
    assert {*KINDS} == {*get_args(ChangeKind)}


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_name_of_a_step_tells_what_it_does(name: str) -> None:
    assert SUMMARIES[name].replace("'", "&#x27;") in step_name(name)
    assert f"by <b>{name}</b>: " in meanings([change(step=name)])


def test_a_step_of_another_package_stands_as_it_is() -> None:
    assert step_name("their_<own>") == "their_&lt;own&gt;"
    assert meanings([change(step="their_own", kind="their kind")]) == ""
    assert glossary([change(step="their_own", kind="their kind")]) == ""


def test_a_change_is_a_sentence() -> None:
    line = change_line(told_of(change(doc="https://x.example/why")), ["a", "b"])
    assert line.startswith('<div class="change"><mark>dropped</mark> for a, b by <span title="Writes each setting')
    assert '>params</span>: it takes none <a href="https://x.example/why"' in line
    assert plain_line(told_of(change())).startswith("dropped by <span")


def test_no_reason_leaves_no_colon() -> None:
    assert change_line(told_of(change(why="", step="x"))) == '<div class="change"><mark>dropped</mark> by x</div>'


def test_each_word_is_explained_once() -> None:
    told = meanings([change(), change(), change(kind="added", step="frame")])
    assert told.count("<li>") == 4
    assert told.index("dropped") < told.index("added") < told.index("by <b>frame") < told.index("by <b>params")


def test_counted() -> None:
    assert counted([change()]) == "1 change: 1 dropped"
    assert counted([change(), change(kind="added"), change()]) == "3 changes: 2 dropped, 1 added"


def test_flags_of_nothing() -> None:
    assert flags({}, 3) == []


def test_the_same_change_is_told_once_with_its_blocks() -> None:
    found = gathered([change(refs=[[1, 0]]), change(refs=[[5, 0], [1, 0]]), change(kind="added", refs=[[0, 0]])])
    assert [*found.values()] == [[(1, 0), (5, 0)], [(0, 0)]]
    same, added = [
        labelled_line(told, refs, lambda ref: "#x" if ref == (1, 0) else None) for told, refs in found.items()
    ]
    assert '<small> (<a href="#x">1.0</a>, 5.0)</small>' in same
    assert "<small> (beside 0.0)</small>" in added
    many = labelled_line(told_of(change()), [(0, b) for b in range(LABELS + 5)], lambda ref: None)
    assert f"0.{LABELS - 1}, …)" in many
    assert labelled_line(told_of(change()), [], lambda ref: None) == change_line(told_of(change()))


def test_what_is_added_beside_a_block_is_not_the_block() -> None:
    told = {told_of(change(kind="added")): ["a", "b"]}
    assert ">2 of 3 add something beside it</mark>" in flags(told, 3)[0]
    assert ">all add something beside it</mark>" in flags(told, 2)[0]
    assert ">a adds something beside it</mark>" in flags({told_of(change(kind="added")): ["a"]}, 2)[0]
    assert ">something is added beside it</mark>" in flags({told_of(change(kind="added")): ["a"]}, 1)[0]
