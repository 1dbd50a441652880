"""A remark to the reader: small, calm, and not red."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

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
    defaults.on_notice = lambda text: note(f"{text[:1].upper()}{text[1:]}.")
    try:
        yield
    finally:
        defaults.on_notice = before
