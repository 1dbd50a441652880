"""A stream as it came, and as it stood after any of its chunks."""

from __future__ import annotations

from typing import Any

from llmneutral_widgets import limits, session
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.failures import brief
from llmneutral_widgets.panels.base import Panel, button, piece, row
from llmneutral_widgets.panels.sources import conversation_of, unshown
from llmneutral_widgets.recording import clean_record, stopped_at
from llmneutral_widgets.session import Conversation
from llmneutral_widgets.views.deltas import EMPTY, REPLAY_SECTIONS, deltas_page, deltas_text, replay_part
from llmneutral_widgets.views.page import count

_HEAVY = 2 * 1024 * 1024
"""Characters of a recording that are kept for a panel; what comes later is told, and not shown."""


class DeltaView(Panel):
    """A recorded stream: the provider's chunks, what was made of them, and the message so far, chunk by chunk.

    Attributes:
        slider: The chunk that is shown; away where nothing was recorded.

    Args:
        exchange: An `Exchange` with a recording; the name of a conversation of this session, or one itself, of which
            it is the last one; None is the session's last one. The last ones are taken anew when the view is refreshed.

    Raises:
        OptionError: If there is no conversation of this name.
        TypeError: If it is neither.
    """

    @brief
    def __init__(self, exchange: Exchange | Conversation | str | None = None) -> None:
        import ipywidgets

        super().__init__(*REPLAY_SECTIONS)
        self._source = conversation_of(exchange) if isinstance(exchange, str) else exchange
        if not isinstance(self._source, Exchange | Conversation | None):
            raise unshown("a DeltaView shows an Exchange, or a conversation by its name", exchange)
        self._record: list[Any] = []
        self._stopped: str | None = None
        self._badges: list[str] = []
        self.slider = ipywidgets.IntSlider(
            description="Chunk", min=1, max=1, value=1, layout={"flex": "1 1 32em", "max_width": "80em"}
        )
        steps = [
            button(text, self.guarded(self._stepper(by)), tip=f"One chunk {where}")
            for text, by, where in (("Back", -1, "back"), ("Forward", 1, "forward"))
        ]
        refresh = button("Refresh", self.guarded(lambda _: self.refresh()), tip="Take the last exchange")
        self._controls = row(self.slider, *steps, refresh)
        self._moment, self._table = piece(), piece()
        self.slider.observe(self.guarded(lambda _: self._replay()), "value")
        self.children = [self._style, self._controls, self._moment, self._table, self.status]
        self.refresh()

    def refresh(self) -> None:
        """Takes the recording anew: of the exchange it was given, or else of the last one there is."""
        exchange = self._exchange()
        self._record, self._stopped = _bounded(exchange)
        self._badges = [] if exchange is None or exchange.status == "complete" else [exchange.status]
        total = len(self._record)
        # In this order, because a slider's value never leaves its bounds.
        self.slider.max = max(1, total)
        self.slider.value = self.slider.max
        self._table.value = self._page()
        self._replay()
        for control in self._controls.children[:-1]:  # without a recording there is nothing to replay
            control.layout.display = None if total else "none"
        self.keep()

    def _exchange(self) -> Exchange | None:
        if self._source is None:
            return session.current().last
        if isinstance(self._source, Conversation):
            return self._source.turns[-1].exchange if self._source.turns else None
        return self._source

    def _stepper(self, by: int) -> Any:
        def step(_: Any) -> None:
            self.slider.value = min(self.slider.max, max(1, self.slider.value + by))

        return step

    def _replay(self) -> None:
        self._moment.value = str(replay_part(self._record, self.slider.value)) if self._record else ""

    def _page(self) -> str:
        return str(deltas_page(self._record, stopped=self._stopped, badges=self._badges, limits=limits.current()))

    def static(self) -> Bundle:
        """Returns the table as `%deltas` shows it."""
        text = f"{count(len(self._record), 'chunk')} recorded" if self._record else EMPTY
        record, stopped, badges, now = self._record, self._stopped, self._badges, limits.current()
        return Bundle(
            {"text/html": self._page(), "text/plain": text},
            printed=lambda width: deltas_text(record, width, stopped=stopped, badges=badges, limits=now),
        )


def _bounded(exchange: Exchange | None) -> tuple[list[Any], str | None]:
    """A recording as far as it is kept, and where it was stopped."""
    if exchange is None:
        return [], None
    record, letters = clean_record(exchange.deltas), 0
    for number, (_, chunk, _deltas) in enumerate(record):
        letters += len(str(chunk))
        if letters > _HEAVY:
            return record[:number], f"{count(number, 'chunk')}: they are too big"
    return record, stopped_at(exchange)
