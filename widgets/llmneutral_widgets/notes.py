"""A remark to the reader: small, calm, and not red."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from llmneutral_widgets import display
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.scrub import current_secrets
from llmneutral_widgets.views.page import page, tag, visible


def note(text: str, *, as_typed: bool = False) -> None:
    """Shows a remark.

    Args:
        text: What to say.
        as_typed: Whether lines and blanks stay as they are (a help text).
    """
    clean = visible(current_secrets().text(text))
    shown = tag("pre", clean) if as_typed else tag("p", tag("small", clean))
    display.publish(Bundle({"text/html": str(page(shown)), "text/plain": clean}))


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """What the library has to say while this lasts (that the embedded model answers, say) is shown as a remark."""
    import llmneutral

    defaults, before = llmneutral.Defaults, llmneutral.Defaults.on_notice
    defaults.on_notice = _remark
    try:
        yield
    finally:
        defaults.on_notice = before


def listen() -> None:
    """From now on it is shown as a remark in plain cells too: red would look like a mistake of the reader's.

    A function that the user has set in its place stays.
    """
    import llmneutral

    defaults = llmneutral.Defaults
    if str(getattr(defaults.on_notice, "__module__", "")).partition(".")[0] == llmneutral.__name__:
        _BEFORE.append(defaults.on_notice)
        defaults.on_notice = _aside


def deafen() -> None:
    """Ends that."""
    import llmneutral

    while _BEFORE:
        before = _BEFORE.pop()
        if llmneutral.Defaults.on_notice is _aside:
            llmneutral.Defaults.on_notice = before


def is_listening() -> bool:
    """Whether `listen` was called, and not ended."""
    return bool(_BEFORE)


def _remark(text: str) -> None:
    note(f"{text[:1].upper()}{text[1:]}.")


def _aside(text: str) -> None:
    """A remark in a cell that runs, from whatever thread: where nothing can be shown, it is printed as before."""
    try:
        _remark(text)
    except Exception:  # noqa: BLE001 - some kernels show nothing that comes from a thread
        _BEFORE[-1](text)


_BEFORE: list[Callable[[str], object]] = []
"""What was called for a notice before `listen`."""
