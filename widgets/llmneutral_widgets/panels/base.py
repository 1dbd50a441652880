"""What every panel shares: the live view, its saved form beside it, a status line, and callbacks that tell what failed.

A panel is shown as two outputs. The first holds nothing but the live view; the second is the static form, and that is
what a saved notebook shows: a front end that reopens it finds no live view any more. While the live one stands on the
page, a rule of the style sheet hides the static one, so that only one of them is seen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from html import escape
from typing import Any

import ipywidgets  # noqa: TID253  # a panel is a widget: who imports this makes one

from llmneutral_widgets import display
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.exchange import error_record
from llmneutral_widgets.panel_sink import dispose
from llmneutral_widgets.scrub import current_secrets, plain
from llmneutral_widgets.views.page import Html, line, sheet, style_section, tag, visible

WIDGET = "application/vnd.jupyter.widget-view+json"
MORE = 50
"""Rows, or messages, that a press of "show more" brings."""
_LONGEST_STATUS = 400


class Panel(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A live view of something, which is bound to this kernel: a widget that other widgets can hold.

    Attributes:
        status: Its line for what is going on; a screen reader tells when it changes.
        last_error: What a callback failed with, or None.
        is_closed: Whether it was taken off the page.

    Args:
        *sections: Parts of the style sheet that its pieces need.
    """

    def __init__(self, *sections: str) -> None:
        super().__init__(layout={"width": "100%"})
        self.add_class("llmn-live")
        self.last_error: BaseException | None = None
        self.is_closed = False
        self._style = ipywidgets.HTML(_live_sheet(sections), layout={"display": "none"})
        self.status = ipywidgets.HTML(_status(""))
        self._outputs: list[display.Output] = []

    @property
    def box(self) -> Any:
        """The widget: the panel itself."""
        return self

    @abstractmethod
    def static(self) -> Bundle:
        """Returns the static form: what is saved, and what is shown where there are no widgets."""

    def close(self) -> None:
        """Ends what the panel listens to, and takes it off the page; its saved form stays."""
        if self.is_closed:
            return
        self.is_closed = True
        dispose(*self.children)
        self.layout.close()
        super().close()
        del self._repr_mimebundle_  # of a widget that is closed it is None; what was shown stays true

    def __del__(self) -> None:
        """A widget closes when it is forgotten; the page may still show this one, and it has been told when to end."""

    def __repr__(self) -> str:
        """Nothing of what is typed or shown in it."""
        return f"<{type(self).__name__}>"

    # ------------------------------------------------------------------------------------------------------------------
    # Showing

    def show(self) -> None:
        """Shows the panel: the live view, and beside it the form that is saved."""
        live = (super()._repr_mimebundle_() or {}) if display.has_kernel() and not self.is_closed else {}
        if WIDGET in live:
            display.publish(Bundle({WIDGET: live[WIDGET]}))
        self._outputs.append(display.publish(saved(self.static())))

    def keep(self) -> None:
        """Brings the saved form up to date."""
        if self._outputs:
            bundle = saved(self.static())
            for output in self._outputs:
                output.update(bundle)

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return dict(self.static().data)

    # ------------------------------------------------------------------------------------------------------------------
    # Telling

    def say(self, text: str, *, is_bad: bool = False) -> None:
        """Tells something in the status line, without secrets."""
        told = _status(line(current_secrets().text(visible(text)), _LONGEST_STATUS), is_bad=is_bad)
        if self.status.value != told:
            self.status.value = told

    def tell_error(self, error: BaseException) -> None:
        """Tells in the status line what failed, and what to do."""
        self.last_error = error
        record = plain(error_record(error)) or {}
        hint = f" → {record['hint']}" if record.get("hint") else ""
        self.say(f"{record.get('name')}: {record.get('message')}{hint}", is_bad=True)

    def guarded(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Returns a callback that tells in the panel what it fails with: nothing of it reaches a cell's output."""
        own: BaseException | None = None

        @wraps(callback)
        def call(*given: Any) -> None:
            nonlocal own
            try:
                callback(*given)
            except Exception as error:  # noqa: BLE001  # whatever it is, it belongs into the panel
                own = error
                self.tell_error(error)
            else:
                # Only what this callback told itself: that a tab was opened does not mean that an answer came.
                if own is not None and self.last_error is own:
                    self.last_error = None
                    self.say("")
                own = None

        return call


# ----------------------------------------------------------------------------------------------------------------------
# Pieces


def saved(bundle: Bundle) -> Bundle:
    """Returns a static form as the output that is saved, which a live view before it hides."""
    html = bundle.data.get("text/html")
    if html is None:
        return bundle
    wrapped = tag("style", Html(style_section("saved"))) + tag("div", Html(html), class_="llmn-saved")
    return Bundle({**bundle.data, "text/html": wrapped}, bundle.metadata, bundle.printed)


def button(text: str, act: Callable[..., None], *, tip: str | None = None, is_main: bool = False) -> Any:
    """Returns a button with a name that can be read, and heard."""
    import ipywidgets

    made = ipywidgets.Button(
        description=text, tooltip=tip or text, button_style="primary" if is_main else "", layout={"width": "auto"}
    )
    made.on_click(act)
    return made


def piece(html: str = "", **layout: str) -> Any:
    """Returns a piece of a view as a widget; formulas are set as in outputs."""
    import ipywidgets

    return ipywidgets.HTMLMath(html, layout={"width": "auto", "margin": "0", **layout})


def row(*widgets: Any) -> Any:
    """Returns controls beside one another, in as many lines as they need."""
    import ipywidgets

    return ipywidgets.HBox(widgets, layout={"flex_flow": "row wrap", "align_items": "center"})


def rows_of(given: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Returns rows as plain data without secrets."""
    found: list[Mapping[str, Any]] = plain(list(given))
    return found


def _live_sheet(sections: Sequence[str]) -> str:
    return sheet("live", *dict.fromkeys(sections))


def _status(text: str, *, is_bad: bool = False) -> str:
    kind = " bad" if is_bad else ""
    return f'<div class="llmn-said{kind}" role="status" aria-live="polite">{escape(text)}</div>'
