"""Two runs beside each other: what differs is told, what always differs is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.ipynb.extraction import extract_exchanges
from llmneutral_widgets.ipynb.notebook_file import NotebookError
from llmneutral_widgets.ipynb.runs import RunsDiff, diff_runs
from tests.widgets.closed_set import HOSTILE
from tests.widgets.ipynb.test_extraction import record, shown
from tests.widgets.ipynb.test_notebook_file import code, notebook
from tests.widgets.samples import response

KEY = "sk-ant-api03-abcdef0123456789abcdef"


def answer(text: str, **fields: Any) -> dict[str, Any]:
    return response(text, **fields).to_dict()


def run(*texts: str, minor: int = 5, **fields: Any) -> dict[str, Any]:
    """A notebook with a question for each text."""
    cells = [code(f"%%prompt\nq{n}", shown(record(n, response=answer(text), **fields))) for n, text in enumerate(texts)]
    return notebook(*cells, minor=minor)


def changes(found: RunsDiff) -> list[str]:
    return [row.change for row in found.rows]


def test_the_same_answers_are_the_same_however_long_they_took() -> None:
    other = run("a", "b", timing={"total_s": 9.0, "first_delta_s": 1.0, "attempts": 2}, created="2027-01-01T00:00:00Z")
    found = diff_runs(run("a", "b"), other)
    assert found.is_same
    assert changes(found) == ["same", "same"]
    assert found.changed == []
    assert "2 same" in found.to_text()


def test_what_changed() -> None:
    found = diff_runs(run("one\ntwo\nthree", "b"), run("one\n2\nthree", "b"))
    assert not found.is_same
    (row,) = found.changed
    assert (row.cell, row.cell_id, row.question) == ("cell 1 (c1)", "c1", "q0")
    assert row.diff == ("@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")
    assert "+2" in found.to_text()


def test_usage_of_both() -> None:
    usage = {"input_total": 812, "output_total": 100, "reasoning": 5}
    other = run("a")
    other["cells"][0]["outputs"][0]["data"] = shown(record(0, response={**answer("a"), "usage": usage}))["data"]
    found = diff_runs(run("a"), other)
    assert found.is_same, "tokens are told, and are no difference of the answer"
    assert found.rows[0].usage == {"output_total": 4}
    first, second = found.totals()
    assert (first["output_total"], second["output_total"]) == (96, 100)
    assert (first["reasoning"], second["reasoning"]) == (None, 5)
    assert "output_total: 96 → 100" in found.to_text()
    assert "reasoning: n/a → 5" in found.to_text()


def test_how_it_ended_and_what_was_called_count() -> None:
    calls = {**answer(""), "blocks": [{"type": "tool_call", "tag": "c", "name": "look", "input": {"a": 1}}]}
    first = notebook(
        code("a", shown(record(0))), code("b", shown(record(1))), code("c", shown(record(2, response=calls)))
    )
    second = notebook(
        code("a", shown(record(0, status="incomplete"))),
        code("b", shown(record(1, response=answer("a1", finish_reason="length")))),
        code("c", shown(record(2, response={**calls, "blocks": [{**calls["blocks"][0], "input": {"a": 2}}]}))),
    )
    found = diff_runs(first, second)
    assert changes(found) == ["changed"] * 3
    text = found.to_text()
    assert "complete → incomplete" in text
    assert "ended by stop → length" in text
    assert 'calls look({"a":1}) → look({"a":2})' in text.replace('": ', '":')


def test_questions_of_one_run_only() -> None:
    second = run("a", "b", "c")
    del second["cells"][0]
    found = diff_runs(run("a", "b"), second)
    assert [(row.cell_id, row.change) for row in found.rows] == [
        ("c1", "only_first"),
        ("c2", "same"),
        ("c3", "only_second"),
    ]
    assert "1 same, 1 only in the first, 1 only in the second" in found.to_text()


def test_questions_of_one_cell_belong_together_by_their_order() -> None:
    first = notebook(code("x", shown(record(0)), shown(record(1))))
    second = notebook(code("x", shown(record(2, response=answer("a0"))), shown(record(3, response=answer("other")))))
    found = diff_runs(first, second)
    assert [(row.nth, row.change) for row in found.rows] == [(0, "same"), (1, "changed")]


def test_without_ids_those_belong_together_that_are_typed_alike() -> None:
    second = run("a", "x", minor=4)
    second["cells"].insert(0, code("%load_ext llmneutral"))
    found = diff_runs(run("a", "b", minor=4), second)
    assert changes(found) == ["same", "changed"]
    assert "cells without ids" in found.matching


def test_notebooks_that_have_nothing_to_do_with_each_other() -> None:
    found = diff_runs(run("a"), notebook(code("%%prompt", shown(record(1)), id="elsewhere")))
    assert changes(found) == ["only_first", "only_second"]
    assert "no cell of one is a cell of the other: these are runs of different" in found.to_text().splitlines()[1]


def test_what_asks_the_same_belongs_together_where_no_cell_does() -> None:
    """As in a panel, and in its export that was run."""
    panel = notebook(code("panel", shown({**record(1), "others": [record(0)]}), id="panel"))
    again = notebook(*[code("%%prompt", shown(record(n, response=answer(text)))) for n, text in enumerate(("a0", "b"))])
    found = diff_runs(panel, again)
    assert sorted(changes(found)) == ["changed", "same"]
    assert found.to_text().splitlines()[1].endswith("questions belong together that ask the same")


def test_what_is_missing_or_broken_is_told() -> None:
    found = diff_runs(run("a"), notebook(code("%%prompt\nq"), code("", shown({"odd": 1}))))
    assert [note.partition(" (")[0] for note in found.notes] == ["the notebook: cell 2", "the notebook: cell 1"]
    same = notebook(code("%%prompt\nq"))
    assert len(diff_runs(same, same).notes) == 1, "of a run and itself each is told once"
    assert diff_runs(notebook(), notebook()).to_text() == "the notebook → the notebook: no exchange in either"
    with pytest.raises(NotebookError):
        diff_runs("nowhere.ipynb", notebook())


def test_an_extract_will_do() -> None:
    assert diff_runs(extract_exchanges(run("a")), run("a")).is_same


def test_a_long_answer_is_compared_as_far_as_it_goes() -> None:
    long = "\n".join(map(str, range(2_500)))
    found = diff_runs(run(long), run(f"x\n{long}"))
    assert found.rows[0].diff[-1] == "… lines after 2,000 are not compared"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_shown_as_text(text: str) -> None:
    found = diff_runs(run("a"), run(f"{text} {KEY} \x1b[2J"))
    view = found.compare()
    assert KEY not in view.html + view.text + json.dumps(found.to_json())
    assert "\x1b" not in view.html + view.text
    body = view.html.partition("</style>")[2]
    assert not set("".join(part.partition(">")[0] for part in body.split("<")[1:]).split()) & {
        "script",
        "img",
        "iframe",
    }
    assert set(found._repr_mimebundle_()) == {"text/html", "text/plain"}


@given(st.lists(st.sampled_from("abc"), max_size=5), st.lists(st.sampled_from("abc"), max_size=5))
def test_a_run_is_the_same_as_itself_and_the_other_way_round_is_the_mirror(one: list[str], other: list[str]) -> None:
    assert diff_runs(run(*one), run(*one)).is_same
    there, back = diff_runs(run(*one), run(*other)), diff_runs(run(*other), run(*one))
    mirror = {"only_first": "only_second", "only_second": "only_first"}
    assert changes(back) == [mirror.get(change, change) for change in changes(there)]
    assert there.is_same == (one == other)
    json.dumps(there.to_json(), allow_nan=False)
