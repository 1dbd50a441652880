"""Keys of questions: by cell and place."""

from __future__ import annotations

from llmneutral_widgets.cells import Key, Run, Runs


def test_questions_of_a_cell_are_counted() -> None:
    run = Run("cell")
    assert [run.next_key("default"), run.next_key("other")] == [Key("cell", 0), Key("cell", 1)]
    assert run.made == {("default", Key("cell", 0)), ("other", Key("cell", 1))}


def test_without_an_id_there_is_no_key() -> None:
    assert Run(None).next_key("default") is None
    assert Runs().current.cell_id is None


def test_cells_that_run_cells() -> None:
    runs = Runs()
    runs.begin("outer")
    runs.current.next_key("default")
    runs.begin("inner")
    assert runs.current.cell_id == "inner"
    ended = runs.end()
    assert ended is not None
    assert ended.cell_id == "inner"
    assert runs.current.next_key("default") == Key("outer", 1)
    runs.end()
    assert runs.end() is None, "the cell that loads the extension has begun before it"
