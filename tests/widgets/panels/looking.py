"""A look into a panel without a front end: what it would show, what it would offer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

STATUS = re.compile(r'<div class="llmn-said(?: bad)?" role="status" aria-live="polite">([^<>]*)</div>')


def widgets(widget: Any) -> Iterator[Any]:
    """A widget and everything in it, in the order in which it is read."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from widgets(child)


def html(widget: Any) -> list[str]:
    """The markup of every piece in a panel, the status lines without their frame."""
    found = [each.value for each in widgets(widget) if type(each).__name__ in ("HTML", "HTMLMath")]
    return [STATUS.sub(r"\1", value) for value in found]


def text(widget: Any) -> str:
    """What a panel shows, without its markup."""
    shown = re.sub(r"<style>.*?</style>", "", "\n".join(html(widget)), flags=re.DOTALL)
    return unescape(re.sub(r"<[^<>]*>", "", shown))


def said(panel: Any) -> str:
    """What the status line of a panel tells."""
    match = STATUS.fullmatch(panel.status.value)
    assert match is not None, panel.status.value
    return match[1]


def buttons(widget: Any) -> dict[str, Any]:
    """The buttons of a panel by their names."""
    return {each.description: each for each in widgets(widget) if "Button" in type(each).__name__}


quiet = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""Of ipywidgets, when it is imported."""
