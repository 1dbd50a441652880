"""Reasoning inside the text: `<think>…</think>` at the very start, where a server does not take it out.

A machine that is fed pieces and gives what is certain: a piece of a tag is held back until it is one or is none.
The line breaks around the tags belong to them. It is used only where the fact `inline_think` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

OPEN, CLOSE = "<think>", "</think>"
Kind = Literal["text", "thinking"]


class InlineThinking:
    """Splits one text into reasoning and answer.

    Attributes:
        state: start (nothing has been said), opened and closed (line breaks behind a tag), thinking, or text.
        held: What cannot be told yet.
    """

    __slots__ = ("held", "state")

    def __init__(self) -> None:
        self.state: Literal["start", "opened", "thinking", "closed", "text"] = "start"
        self.held = ""

    def feed(self, piece: str) -> list[tuple[Kind, str]]:
        """Takes a piece of the text and returns what is certain, in order."""
        given, self.held = self.held + piece, ""
        return _STEPS[self.state](self, given)

    def flush(self) -> list[tuple[Kind, str]]:
        """Returns what was held back: nothing more comes."""
        held, self.held = self.held, ""
        if self.state == "start":
            self.state = "text"
        return _piece("thinking" if self.state == "thinking" else "text", held)

    def _start(self, given: str) -> list[tuple[Kind, str]]:
        begun = given.lstrip()
        if begun.startswith(OPEN):
            self.state = "opened"
            return self._opened(begun.removeprefix(OPEN))
        if OPEN.startswith(begun):
            self.held = given
            return []
        self.state = "text"
        return self._text(given)

    def _opened(self, given: str) -> list[tuple[Kind, str]]:
        said = given.lstrip("\n")
        if not said:
            return []
        self.state = "thinking"
        return self._thinking(said)

    def _thinking(self, given: str) -> list[tuple[Kind, str]]:
        said, tag, rest = given.partition(CLOSE)
        if tag:
            self.state = "closed"
            return [*_piece("thinking", said.rstrip("\n")), *self._closed(rest)]
        begun = next((n for n in range(len(CLOSE) - 1, 0, -1) if given.endswith(CLOSE[:n])), 0)
        cut = len(given[: len(given) - begun].rstrip("\n"))
        self.held = given[cut:]
        return _piece("thinking", given[:cut])

    def _closed(self, given: str) -> list[tuple[Kind, str]]:
        said = given.lstrip("\n")
        if said:
            self.state = "text"
        return _piece("text", said)

    def _text(self, given: str) -> list[tuple[Kind, str]]:
        return _piece("text", given)


def _piece(kind: Kind, said: str) -> list[tuple[Kind, str]]:
    return [(kind, said)] if said else []


_STEPS: dict[str, Callable[[InlineThinking, str], list[tuple[Kind, str]]]] = {
    "start": InlineThinking._start,
    "opened": InlineThinking._opened,
    "thinking": InlineThinking._thinking,
    "closed": InlineThinking._closed,
    "text": InlineThinking._text,
}
