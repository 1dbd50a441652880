"""Which cell is running, and which questions it has asked: the little that must be known of every cell.

A question of a notebook is keyed by its cell's id and its place in that run, so that running the cell again replaces
it. Terminals and some clients give no id: then there is no key, and every question is a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from contextvars import ContextVar
from typing import Any, NamedTuple

from llmneutral_widgets.interrupts import Heartbeat, heartbeat


def shell() -> Any:
    """Returns the running IPython shell, or None."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    return get_ipython()


def is_other_task() -> bool:
    """Whether an event loop runs this in something else than the task of the cell: in another one, or in a callback.

    A KeyboardInterrupt that leaves it ends the event loop, and with it the kernel.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop is running here
        return False
    return task is None or task is not RUNS.current.task


def number_of(shell: Any) -> int | None:
    """Returns the number of the execution that is going on, as it stands beside the cell; None outside of IPython.

    IPython 9.18 counts on before a cell is run, earlier versions after it; what counts results knows which.
    """
    counted: int | None = getattr(getattr(shell, "displayhook", None), "prompt_count", None)
    return counted


class Key(NamedTuple):
    """The place of a question in the notebook: the cell, and how many questions it had asked before."""

    cell_id: str
    number: int


class Run:
    """One execution of a cell.

    Attributes:
        cell_id: The cell's id in the file, or None.
        made: Conversation and key of each question it has asked.
        task: The task of asyncio that runs it, if one does.
        heartbeat: What keeps the event loop awake for the stop button, where it is needed.
    """

    def __init__(self, cell_id: str | None, task: Any = None) -> None:
        self.cell_id = cell_id
        self.task = task
        self.heartbeat: Heartbeat | None = None
        self.made: set[tuple[str, Key]] = set()
        self._count = 0

    def next_key(self, conversation: str) -> Key | None:
        """Returns the key of the next question; None where cells have no ids."""
        if self.cell_id is None:
            return None
        key = Key(self.cell_id, self._count)
        self._count += 1
        self.made.add((conversation, key))
        return key

    def end(self) -> None:
        """Ends what lasts as long as the cell."""
        if self.heartbeat is not None:
            self.heartbeat.end()


class Runs:
    """The cells that run now: one, or several where a cell runs others."""

    def __init__(self) -> None:
        self._open: list[Run] = []

    @property
    def current(self) -> Run:
        """The one that asks; outside of a cell, and in a thread or task that has outlived its cell, one without an id.

        A thread that was started without a copy of its cell's context is of no cell either: another may run by now.
        """
        own = _HERE.get()
        if own is not None and any([own is run for run in self._open]):
            return own
        is_main = threading.current_thread() is threading.main_thread()
        return self._open[-1] if self._open and is_main and own is None else Run(None)

    @property
    def task(self) -> Any:
        """The task that runs the cell that runs now, whoever asks; None where none does."""
        return self._open[-1].task if self._open else None

    def begin(self, cell_id: str | None) -> None:
        """Notes that a cell begins."""
        task = None
        with contextlib.suppress(RuntimeError):  # no loop is running here
            task = asyncio.current_task()
        run = Run(cell_id, task)
        run.heartbeat = heartbeat(task)
        self._open.append(run)
        _HERE.set(run)

    def end(self) -> Run | None:
        """Notes that the innermost has ended and returns it; None if its beginning was not seen."""
        ended = self._open.pop() if self._open else None
        if ended is not None:
            ended.end()
        _HERE.set(self._open[-1] if self._open else None)
        return ended

    def clear(self) -> None:
        """Forgets everything."""
        while self._open:
            self._open.pop().end()


_HERE: ContextVar[Run | None] = ContextVar("llmneutral_cell", default=None)

RUNS = Runs()
"""Those of this kernel."""
