"""One conversation as several payloads, with a button for each API that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llmneutral_widgets import comparing, limits, session
from llmneutral_widgets.bundles import Bundle, Verdict, column_of, frame_of
from llmneutral_widgets.failures import brief
from llmneutral_widgets.panel_sink import dispose
from llmneutral_widgets.panels.base import MORE, Panel, button, piece, row
from llmneutral_widgets.panels.sources import Source, conversation_of, request_of
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.views.page import Html, count
from llmneutral_widgets.views.payload import MOST, Column, Shown, compared
from llmneutral_widgets.views.payload_text import comparison_text
from llmneutral_widgets.views.stack import EMPTY


class PayloadView(Panel):
    """What each API would be sent of one conversation, side by side, aligned by meaning. Nothing is sent.

    A block under the mouse, or opened, lights up with all its renderings; the changes of each conversion, and what the
    types of its SDK say, stand at the head of its column.

    Attributes:
        apis: API mode -> its button; pressed, the API is a column.
        more: The button that brings the next rows of a long conversation.

    Args:
        stack: A `PromptStack`; an `Exchange`, of which it is what was sent; the name of a conversation of this session;
            None is the current one.
        apis: API modes, or their short names; "all" is every one.
        models: The model of every column: what differs between them is then the API's; or API -> model; without one
            each column has that of its provider.

    Raises:
        OptionError: If an API is unknown, or there is no conversation of this name.
        TypeError: If `stack` is none of them, `apis` no names, or `models` neither a name nor a map.
    """

    @brief
    def __init__(
        self,
        stack: Source = None,
        apis: str | Sequence[str] = comparing.MAIN,
        models: str | Mapping[str, str] | None = None,
    ) -> None:
        import ipywidgets

        super().__init__("blocks", "side")
        self._source = stack
        if not isinstance(apis, Iterable):
            raise TypeError(f"apis is {type(apis).__name__}; it takes names of APIs, or 'all'")
        if not isinstance(models, str | Mapping | None):
            raise TypeError(f"models is {type(models).__name__}; it takes a model, or a map of API -> model")
        named = [apis] if isinstance(apis, str) else [*map(str, apis)]
        chosen = comparing.apis_of(named)
        self._models = comparing.models_of({"": models} if isinstance(models, str) else models)
        self._said = comparing.two_meanings(named, session.current().providers)
        self._most = limits.current().most(MOST)
        self._found: dict[str, tuple[Any, Verdict]] = {}
        self._shown = Shown(Html(), 0)
        self._table = piece()
        self.apis = {
            api: ipywidgets.ToggleButton(
                api in chosen, description=api, tooltip=f"{api} as a column", layout={"width": "auto"}
            )
            for api in comparing.apis_of([*chosen, "all"])  # in the order that was asked for
        }
        for toggle in self.apis.values():
            toggle.observe(self.guarded(lambda _: self._draw()), "value")
        self.more = button("", self.guarded(lambda _: self.show_more()))
        self._gap = row(self.more)
        refresh = button("Refresh", self.guarded(lambda _: self.refresh()), tip="Convert the conversation again")
        self._names = row(*self.apis.values(), refresh)
        self.refresh()

    def refresh(self) -> None:
        """Converts the conversation again: it may have grown."""
        self._request = request_of(self._source)
        self._found = {}
        self._draw()

    def show_more(self, number: int = MORE) -> None:
        """Shows more rows of messages."""
        self._most += number
        self._draw()

    def close(self) -> None:
        """Takes the panel off the page."""
        dispose(self._gap)
        super().close()

    @property
    def conversions(self) -> Mapping[str, Any]:
        """API mode -> `Conversion`, or the error that came instead, of the columns that are shown."""
        return {api: self._found[api][0] for api in self._chosen()}

    @property
    def hidden(self) -> int:
        """How many rows are not shown."""
        return self._shown.hidden

    def _chosen(self) -> list[str]:
        return [api for api, toggle in self.apis.items() if toggle.value]

    def _draw(self) -> None:
        self._shown = self._compared(self._most)
        self._table.value = str(self._shown.html)
        self.more.description = self.more.tooltip = f"Show {min(MORE, self.hidden)} of {self.hidden:,} more rows"
        more = [self._gap] if self.hidden else []
        for api, toggle in self.apis.items():  # in words: a shade alone is not seen by everybody
            toggle.description = f"✓ {api}" if toggle.value else api
        self.children = [self._style, self._names, self._table, *more, self.status]
        self.say("" if self._request.messages else EMPTY)
        self.keep()

    def _convert(self, apis: Sequence[str]) -> None:
        """Converts for the APIs that are new among the columns; without messages there is nothing to convert."""
        new = [api for api in apis if api not in self._found]
        if not new or not self._request.messages:
            return
        current = session.current()
        if conversation_of(self._source) is None:
            made = comparing.conversions(self._request, new, current.providers, models=self._models)
        else:  # as it is asked here: by whoever answers now, and streamed
            asked = current.providers.asked(None, None, {})
            made = comparing.conversions(
                self._request, new, current.providers, asked.driver, asked.model, stream=True, models=self._models
            )
        verdicts = comparing.verdicts(made)
        self._found |= {api: (found, verdicts.get(api, Verdict())) for api, found in made.items()}

    def _compared(self, most: int, more: str = "") -> Shown:
        request, now = self._request, limits.current()
        messages = plain(request.messages)
        size: dict[str, Any] = {"most": most, "more": more, "limits": now}
        return compared(messages, self._columns(), **frame_of(request), **size, said=self._said)

    def _columns(self) -> list[Column]:
        chosen = self._chosen()
        self._convert(chosen)
        return [
            column_of(api, *self._found[api]) if api in self._found else Column(api=api, unchecked="nothing to convert")
            for api in chosen
        ]

    def static(self) -> Bundle:
        """Returns the comparison as `%payload` shows it."""
        shown = self._compared(limits.current().most(MOST), "%stack --all").html
        told = [f"{api}: {_told(found)}" for api, (found, _) in self._found.items() if self.apis[api].value]
        data = {"text/html": str(shown), "text/plain": "\n".join([*self._said, *told]) or EMPTY}
        messages, columns, frame = plain(self._request.messages), self._columns(), frame_of(self._request)

        def printed(width: int) -> str:
            return "\n".join([*self._said, comparison_text(messages, columns, width, **frame)])

        return Bundle(data, printed=printed)


def _told(found: Any) -> str:
    if isinstance(found, BaseException):
        return f"{type(found).__name__}: {plain(str(found))}"
    return f"{' '.join(found.endpoint)}, {count(len(found.changes), 'change')}"
