"""The transcript of a panel: what was said so far, and boxes for answers that are coming."""

from __future__ import annotations

from typing import Any

from llmneutral_widgets import limits
from llmneutral_widgets.panel_sink import dispose
from llmneutral_widgets.panels.base import MORE, Panel, button, piece, row
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.session import Conversation, is_sent
from llmneutral_widgets.views.page import part, tag
from llmneutral_widgets.views.transcript import EMPTY, LAST, SECTIONS, Said, said, said_part

_TALLEST = "30em"


class Talk:
    """Shows a conversation from its end, which stays in view while it grows.

    Attributes:
        box: The widget.

    Args:
        panel: Tells what a button fails with.
        conversation: What is shown.
    """

    def __init__(self, panel: Panel, conversation: Conversation) -> None:
        import ipywidgets

        self._conversation = conversation
        self._shown = limits.current().most(LAST)
        self._is_empty = True
        self._earlier = button("", panel.guarded(lambda _: self.show_earlier()))
        self._gap = row(self._earlier)
        self._said = ipywidgets.VBox(layout={"flex": "0 0 auto", "width": "100%"})
        # A column in reverse stays at its end while it grows, without a script.
        layout = {"max_height": _TALLEST, "overflow": "auto", "display": "flex", "flex_flow": "column-reverse nowrap"}
        self.box = ipywidgets.VBox([self._said], layout=layout)
        self.box.add_class("llmn-talk")

    def items(self) -> list[Said]:
        """Returns what was said, in order."""
        turns = self._conversation.turns
        marks = [None if is_sent(turn.exchange) else "not sent along" for turn in turns]
        return said([turn.exchange.to_json() for turn in turns], marks)

    def begin(self) -> None:
        """Shows the end of what was said."""
        self._shown = limits.current().most(LAST)
        self.draw()

    def draw(self) -> None:
        """Shows as much of the end as was asked for."""
        items = self.items()
        hidden = max(0, len(items) - self._shown)
        shown = items[hidden:]
        self._earlier.description = self._earlier.tooltip = f"Show {min(MORE, hidden)} of {hidden:,} earlier messages"
        above = [self._gap] if hidden else []
        pieces = [piece(str(said_part(shown[at : at + MORE], limits.current()))) for at in range(0, len(shown), MORE)]
        empty = [] if items else [piece(str(part(tag("p", tag("small", EMPTY)), sections=SECTIONS)))]
        self._is_empty = not items
        before = [each for each in self._said.children if each is not self._gap]
        self._said.children = [*above, *pieces, *empty]
        dispose(*before)

    def show_earlier(self, number: int = MORE) -> None:
        """Shows earlier messages above the others."""
        self._shown += number
        self.draw()

    def ask(self, text: str) -> Any:
        """Shows a question, and returns the box for its answer."""
        import ipywidgets

        question = Said(plain({"role": "user", "content": [{"type": "text", "text": text}]}))
        box = ipywidgets.VBox(layout={"width": "100%"})
        before, gone = ([], self._said.children) if self._is_empty else (self._said.children, [])
        self._is_empty = False
        self._said.children = [*before, piece(str(said_part([question], limits.current()))), box]
        dispose(*gone)
        return box

    def close(self) -> None:
        """Closes what is not on the page at this moment."""
        dispose(self._gap)
