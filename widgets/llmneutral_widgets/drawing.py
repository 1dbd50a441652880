"""What every sink that draws has in common: a fault of its own drawing ends no answer.

What must live here: the guard around a sink. The answer is on its way, paid for, and kept by whoever asks; a frame that
cannot be drawn is left out, and an end that cannot be drawn is told in plain words. An interrupt is no such fault.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from llmneutral_widgets.bundles import Bundle, unshown
from llmneutral_widgets.exchange import Exchange


class Drawing(abc.ABC):
    """A sink that draws: what its four drawing functions raise is caught here."""

    def start(self, request: Mapping[str, Any]) -> None:
        """Begins."""
        with contextlib.suppress(Exception):
            self._start(request)

    def push(self, delta: Any) -> None:
        """Takes a delta."""
        with contextlib.suppress(Exception):
            self._push(delta)

    def finish(self, exchange: Exchange) -> None:
        """Shows the whole."""
        self._ended(exchange, lambda: self._finish(exchange))

    def abort(self, exchange: Exchange | None, error: BaseException) -> None:
        """Shows what there is, and why it is not more."""
        self._ended(error if exchange is None else exchange, lambda: self._abort(exchange, error))

    def _ended(self, value: Any, draw: Callable[[], None]) -> None:
        try:
            draw()
        except Exception as fault:  # noqa: BLE001 - a view that fails must not fail the cell
            with contextlib.suppress(Exception):  # where nothing at all can be shown, it is kept all the same
                self._tell(unshown(value, fault))

    @abc.abstractmethod
    def _start(self, request: Mapping[str, Any]) -> None: ...

    @abc.abstractmethod
    def _push(self, delta: Any) -> None: ...

    @abc.abstractmethod
    def _finish(self, exchange: Exchange) -> None: ...

    @abc.abstractmethod
    def _abort(self, exchange: Exchange | None, error: BaseException) -> None: ...

    @abc.abstractmethod
    def _tell(self, bundle: Bundle) -> None:
        """Shows plain words in the place of an end that could not be drawn."""
