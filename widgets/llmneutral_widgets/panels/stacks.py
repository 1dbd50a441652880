"""A conversation as a list that grows on request."""

from __future__ import annotations

from typing import Any

from llmneutral_widgets import limits
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.failures import brief
from llmneutral_widgets.panel_sink import dispose
from llmneutral_widgets.panels.base import MORE, Panel, button, piece, row
from llmneutral_widgets.panels.sources import Source, Told, told
from llmneutral_widgets.views.listed import stack_text
from llmneutral_widgets.views.page import count, part, tag
from llmneutral_widgets.views.stack import EMPTY, FIRST, LAST, SECTIONS, stack_head, stack_page, stack_part


class StackView(Panel):
    """A conversation: who speaks, what each block is, and all of it on request.

    Of a long one the first and the last messages are shown, and a button between them brings more.

    Attributes:
        more: The button that brings the next messages; away where nothing is hidden.

    Args:
        stack: A `PromptStack`; an `Exchange`, whose answer is the last message; the name of a conversation of this
            session; None is the current one.

    Raises:
        OptionError: If there is no conversation of this name.
        TypeError: If it is none of them.
    """

    @brief
    def __init__(self, stack: Source = None) -> None:
        super().__init__(*SECTIONS)
        self._source = stack
        self._told = Told(())
        self._shown = 0
        self._head, self._first, self._last = piece(width="auto", flex="1 1 auto"), piece(), piece()
        self.more = button("", self.guarded(lambda _: self.show_more()))
        self._gap = row(self.more)
        refresh = button("Refresh", self.guarded(lambda _: self.refresh()), tip="Read the conversation again")
        self._top = row(self._head, refresh)
        self._pieces: list[Any] = []
        self.refresh()

    def refresh(self) -> None:
        """Reads the conversation again: it may have grown."""
        found = self._told = told(self._source)
        total = len(found.messages)
        self._ends = limits.current().ends(FIRST, LAST)
        self._shown = min(total, self._ends[1])
        first = self._head_numbers()
        self._head.value = self._heading()
        empty = str(part(tag("p", EMPTY), sections=SECTIONS))
        self._first.value = self._part(first) if total else empty
        self._last.value = self._part(range(total - self._shown, total))
        dispose(*self._pieces[:-1])
        self._arrange([self._last])
        self.keep()

    def show_more(self, number: int = MORE) -> None:
        """Shows the next messages above those at the end."""
        bottom = len(self._told.messages) - self._shown
        top = max(len(self._head_numbers()), bottom - number)
        if top == bottom:
            return
        self._shown += bottom - top
        self._arrange([piece(self._part(range(top, bottom))), *self._pieces])
        self.say(f"{bottom - top} more messages are shown, from {top} to {bottom - 1}")

    def close(self) -> None:
        """Takes the panel off the page."""
        dispose(self._gap)
        super().close()

    @property
    def hidden(self) -> int:
        """How many messages are not shown."""
        return len(self._told.messages) - self._shown - len(self._head_numbers())

    def _head_numbers(self) -> range:
        first, last = self._ends
        return range(min(first, max(0, len(self._told.messages) - last)))

    def _arrange(self, pieces: list[Any]) -> None:
        self._pieces = pieces
        hidden = self.hidden
        self.more.description = f"Show {min(MORE, hidden)} of {hidden:,} more messages"
        self.more.tooltip = self.more.description
        gap = [self._gap] if hidden else []
        self.children = [self._style, self._top, self._first, *gap, *pieces, self.status]

    def _heading(self) -> str:
        found = self._told
        return str(part(stack_head(len(found.messages), found.tools, found.name), sections=SECTIONS))

    def _part(self, numbers: range) -> str:
        found, now = self._told, limits.current()
        return str(stack_part(found.messages, numbers, **found.about, limits=now)) if numbers else ""

    def static(self) -> Bundle:
        """Returns the list as `%stack` shows it."""
        found = self._told
        view = {"tools": found.tools, "name": found.name, **found.about, "limits": limits.current()}
        data = {
            "text/html": str(stack_page(found.messages, **view)),
            "text/plain": f"PromptStack of {count(len(found.messages), 'message')}",
        }
        return Bundle(data, printed=lambda width: stack_text(found.messages, width, **view))
