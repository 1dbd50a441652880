"""Keys of questions: by cell and place."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from typing import Any

from llmneutral_widgets.cells import RUNS, Key, Run, Runs, is_other_task


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


def test_a_thread_that_outlives_its_cell_is_of_none() -> None:
    """What it asks is added, and takes nobody's place: not that of the cell that runs by then."""
    runs = Runs()
    found: dict[str, Any] = {}

    def look(name: str) -> None:
        found[name] = runs.current.cell_id

    def at_once(work: Any, *args: Any) -> None:
        thread = threading.Thread(target=work, args=args)
        thread.start()
        thread.join()

    runs.begin("first")
    context = copy_context()
    at_once(context.run, look, "with the context")
    at_once(look, "without")
    runs.end()
    at_once(context.run, look, "late")
    runs.begin("second")
    at_once(context.run, look, "while another runs")
    at_once(look, "without, while another runs")
    assert runs.current.cell_id == "second"
    runs.end()
    assert found == {
        "with the context": "first",
        "without": None,
        "late": None,
        "while another runs": None,
        "without, while another runs": None,
    }


async def test_a_callback_is_no_task_of_the_cell() -> None:
    """Whether a cell is running, or has ended by the time it is called."""
    found: list[bool] = []
    RUNS.begin("cell")
    try:
        assert not is_other_task()
        asyncio.get_running_loop().call_soon(lambda: found.append(is_other_task()))
        await asyncio.sleep(0)
    finally:
        RUNS.end()
    asyncio.get_running_loop().call_soon(lambda: found.append(is_other_task()))
    await asyncio.sleep(0)
    assert found == [True, True]


def test_without_a_loop_there_is_no_task() -> None:
    assert not is_other_task()
