"""How much is shown now: what `%config PromptMagics.max_rows` and `.max_image_bytes` say.

What must live here: the one place where the views' limits are set and read. The views are pure, and are given them.
"""

from __future__ import annotations

from collections.abc import Callable

from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.views.limits import MOST_ROWS, USUAL, Limits
from llmneutral_widgets.views.pictures import LARGEST


def limits_of(max_rows: int, max_image_bytes: int) -> Limits:
    """Returns the limits that two traits say.

    Raises:
        OptionError: If one cannot be meant.
    """
    where = "%config PromptMagics"
    if not 0 <= max_rows <= MOST_ROWS:
        raise OptionError(f"{where}.max_rows is {max_rows}; it is 1 to {MOST_ROWS}, or 0: what suits each view")
    if not 0 <= max_image_bytes <= LARGEST:
        raise OptionError(f"{where}.max_image_bytes is {max_image_bytes}; it is 0 to {LARGEST}")
    return Limits(max_rows or None, max_image_bytes)


def current() -> Limits:
    """Returns the limits of this moment; the usual ones where a trait cannot be meant, which the next magic tells."""
    try:
        return _SOURCES[-1]() if _SOURCES else USUAL
    except OptionError:
        return USUAL


def follow(source: Callable[[], Limits]) -> None:
    """Takes the limits from a shell that has loaded the magics."""
    _SOURCES.append(source)


def leave(source: Callable[[], Limits]) -> None:
    """Ends that."""
    if source in _SOURCES:
        _SOURCES.remove(source)


_SOURCES: list[Callable[[], Limits]] = []
