"""The transcript of a panel: what was said so far, and boxes for answers that are coming."""

from __future__ import annotations

import threading
from typing import Any

from llmneutral_widgets import limits
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.panel_sink import dispose
from llmneutral_widgets.panels.base import MORE, Panel, button, piece, row
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.session import Conversation, Turn, is_sent
from llmneutral_widgets.views.page import part, tag
from llmneutral_widgets.views.transcript import EMPTY, LAST, SECTIONS, Said, said, said_part

_TALLEST = "30em"


class Talk:
    """Shows a conversation from its end, which stays in view while it grows; any thread may call it.

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
        self._lock = threading.RLock()
        self._is_empty = True
        self._drawn: list[tuple[str, bool]] = []
        self._coming: list[Any] = []  # a question on its way, and the box for its answer
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
        marks = [_mark(turn) for turn in turns]
        return said([turn.exchange.to_json() for turn in turns], marks)

    def begin(self) -> None:
        """Shows the end of what was said."""
        self._shown = limits.current().most(LAST)
        self.draw()

    def follow(self) -> bool:
        """Shows what the conversation holds by now; returns whether that is something else than before.

        While an answer is coming nothing moves: `end` shows what has changed meanwhile.
        """
        with self._lock:
            if self._coming or self._state() == self._drawn:
                return False
            self.draw()
            return True

    def _state(self) -> list[tuple[str, bool]]:
        return [(turn.exchange.id, turn.is_stale) for turn in self._conversation.turns]

    def draw(self) -> None:
        """Shows as much of the end as was asked for, and below it an answer that is coming."""
        with self._lock:
            self._draw()

    def _draw(self) -> None:
        self._drawn, items = self._state(), self.items()
        hidden = max(0, len(items) - self._shown)
        shown = items[hidden:]
        self._earlier.description = self._earlier.tooltip = f"Show {min(MORE, hidden)} of {hidden:,} earlier messages"
        above = [self._gap] if hidden else []
        pieces = [piece(str(said_part(shown[at : at + MORE], limits.current()))) for at in range(0, len(shown), MORE)]
        self._is_empty = not items and not self._coming
        empty = [piece(str(part(tag("p", tag("small", EMPTY)), sections=SECTIONS)))] if self._is_empty else []
        before = [each for each in self._said.children if each not in (self._gap, *self._coming)]
        self._said.children = [*above, *pieces, *empty, *self._coming]
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
        with self._lock:
            self._coming = [piece(str(said_part([question], limits.current()))), box]
            if self._is_empty:
                self._draw()
            else:
                self._said.children = [*self._said.children, *self._coming]
        return box

    def end(self, exchange: Exchange | None) -> None:
        """Takes note that the answer has come, in its box; what else has changed is shown now.

        Args:
            exchange: What has become of it in the conversation; None if nothing has.
        """
        with self._lock:
            self._coming = []
            if exchange is not None:
                self._drawn.append((exchange.id, False))  # it is on the page already
            self.follow()

    def close(self) -> None:
        """Closes what is not on the page at this moment."""
        dispose(self._gap)


def _mark(turn: Turn) -> str | None:
    """What is to be told of a turn."""
    told = [] if is_sent(turn.exchange) else ["not sent along"]
    told += ["stale"] if turn.is_stale else []
    return ", ".join(told) or None
