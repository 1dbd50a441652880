"""The stop button while a magic runs: it ends the waiting at once, and never the keeping of what has come.

What must live here: the handler of the signal. A cell with `await` in it has one that only cancels the cell's task,
which a magic, as it does not await, would never notice: while a magic runs, the signal is a KeyboardInterrupt. From
the moment an answer has ended until it is shown and recorded, a press is noted, and raised after that.

And the heartbeat of a cell that awaits: that handler only asks the event loop to cancel the cell, which a loop that
sleeps until something comes from outside does not hear.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

BEAT = 0.1
"""Seconds that the stop button may take to be heard by a cell that awaits."""


class Heartbeat:
    """Wakes the event loop of a cell that awaits, until that has ended: what a press has asked of it is done then.

    Args:
        task: The task that runs the cell. When it is done there is no beat more, whoever forgets to call `end`.
    """

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self._loop = task.get_loop()
        self._timer = self._loop.call_later(BEAT, self._beat)

    def _beat(self) -> None:
        if not self._task.done():
            self._timer = self._loop.call_later(BEAT, self._beat)

    def end(self) -> None:
        """Ends it."""
        self._timer.cancel()


def heartbeat(task: asyncio.Task[Any] | None) -> Heartbeat | None:
    """Returns the heartbeat of a cell that begins; None for one whose press is a KeyboardInterrupt, which needs none.

    Args:
        task: The task that runs the cell, if one does.
    """
    handler = signal.getsignal(signal.SIGINT)
    is_heard = handler is signal.default_int_handler or not callable(handler)
    return None if task is None or is_heard else Heartbeat(task)


class _Presses:
    """What becomes of a press now."""

    def __init__(self) -> None:
        self.is_heard = False
        self.is_held = False
        self.is_pressed = False

    def press(self, number: int, frame: Any) -> None:
        """Is called in the main thread, between any two of its instructions."""
        if not self.is_held:
            signal.default_int_handler(number, frame)
        self.is_pressed = True


_PRESSES = _Presses()


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """A press in this block is a KeyboardInterrupt, now or as soon as it is let go.

    Raises:
        KeyboardInterrupt: At the end, for a press that was held.
    """
    if _PRESSES.is_heard or not _is_main():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        _PRESSES.is_heard = True
        signal.signal(signal.SIGINT, _PRESSES.press)
        yield
    finally:
        _PRESSES.is_held = True  # a press now must not keep the handler from being put back
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)
        pressed = _PRESSES.is_pressed
        _PRESSES.is_heard = _PRESSES.is_held = _PRESSES.is_pressed = False
    if pressed:
        raise KeyboardInterrupt


def hold() -> None:
    """From now on a press waits; in other threads, which no press reaches, this does nothing."""
    if _PRESSES.is_heard and _is_main():
        _PRESSES.is_held = True


def is_pressed() -> bool:
    """Presses count again; tells whether one came meanwhile, which counts now. In other threads none does."""
    if not _is_main():
        return False
    pressed, _PRESSES.is_held, _PRESSES.is_pressed = _PRESSES.is_pressed, False, False
    return pressed


def let_go() -> None:
    """Presses count again.

    Raises:
        KeyboardInterrupt: For one that came meanwhile.
    """
    if is_pressed():
        raise KeyboardInterrupt


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
