"""What `with config:` changes, and who is told of a change.

The overrides are a stack per context (thread or task), so that blocks nest and one config may be entered twice, in
several threads and tasks at once: nothing is kept on the config.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from llmneutral.events import Handle


def innermost() -> Any:
    """Returns the config of the innermost `with` of this context, or None."""
    stack = _overrides.get()
    return stack[-1] if stack else None


def enter(config: Any) -> None:
    """A `with` block begins."""
    before = _overrides.get()
    _overrides.set((*before, config))
    try:
        changes.tell()
    except BaseException:  # interrupted: the block is not entered, so it will not be left
        _overrides.set(before)
        raise


def leave(config: Any) -> None:
    """A `with` block ends.

    Raises:
        RuntimeError: If it is not the innermost one.
    """
    if (inner := innermost()) is not config:
        raise RuntimeError(f"`with` blocks were left in the wrong order: {config!r} is not the innermost, {inner!r} is")
    _overrides.set(_overrides.get()[:-1])
    changes.tell()


class Changes:
    """Who is told when another config comes into effect."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: tuple[Callable[[], object], ...] = ()

    def subscribe(self, callback: Callable[[], object]) -> Handle:
        """Calls back on every change, in the thread that makes it."""
        with self._lock:
            self._callbacks = (*self._callbacks, callback)

        def off() -> None:
            with self._lock:
                self._callbacks = tuple([each for each in self._callbacks if each is not callback])

        return Handle(off)

    def tell(self) -> None:
        """Tells everybody; one that fails is warned of, and changes nothing."""
        for callback in self._callbacks:
            try:
                callback()
            except Exception as error:  # noqa: BLE001  # whatever a subscriber does, the switch is made
                warnings.warn(f"a subscriber of Defaults failed: {error!r}", RuntimeWarning, stacklevel=3)


changes = Changes()
_overrides: ContextVar[tuple[Any, ...]] = ContextVar("llmneutral_drivers_config", default=())
