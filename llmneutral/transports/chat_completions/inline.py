"""Reasoning inside the text: `<think>…</think>` at the very start, where a server does not take it out.

A machine that is fed pieces and gives what is certain: a piece of a tag is held back until it is one or is none.
The line breaks around the tags belong to them. It is used only where the fact `inline_think` says so.
"""

from __future__ import annotations

from typing import Literal

OPEN, CLOSE = "<think>", "</think>"
Kind = Literal["text", "thinking"]


class InlineThinking:
    """Splits one text into reasoning and answer.

    Attributes:
        state: start (nothing has been said), thinking, after (the line breaks behind the tag), or text.
        held: What cannot be told yet.
    """

    __slots__ = ("held", "state")

    def __init__(self) -> None:
        self.state: Literal["start", "thinking", "after", "text"] = "start"
        self.held = ""

    def feed(self, piece: str) -> list[tuple[Kind, str]]:
        """Takes a piece of the text and returns what is certain, in order."""
        if self.state == "text":
            return [("text", piece)]
        given, self.held = self.held + piece, ""
        if self.state == "start":
            return self._start(given)
        return self._thinking(given) if self.state == "thinking" else self._after(given)

    def flush(self) -> list[tuple[Kind, str]]:
        """Returns what was held back: nothing more comes."""
        held, self.held = self.held, ""
        if self.state == "start":
            self.state = "text"
        return _piece("thinking" if self.state == "thinking" else "text", held)

    def _start(self, given: str) -> list[tuple[Kind, str]]:
        begun = given.lstrip()
        if begun.startswith(OPEN):
            self.state = "thinking"
            return self._thinking(begun.removeprefix(OPEN).lstrip("\n"))
        if OPEN.startswith(begun):
            self.held = given
            return []
        self.state = "text"
        return [("text", given)]

    def _thinking(self, given: str) -> list[tuple[Kind, str]]:
        said, tag, rest = given.partition(CLOSE)
        if tag:
            self.state = "after"
            return [*_piece("thinking", said.rstrip("\n")), *self._after(rest)]
        cut = len(given) - next(
            (n for n in range(min(len(given), len(CLOSE) - 1), 0, -1) if CLOSE.startswith(given[-n:])), 0
        )
        cut = len(given[:cut].rstrip("\n"))
        self.held = given[cut:]
        return _piece("thinking", given[:cut])

    def _after(self, given: str) -> list[tuple[Kind, str]]:
        said = given.lstrip("\n")
        if said:
            self.state = "text"
        return _piece("text", said)


def _piece(kind: Kind, said: str) -> list[tuple[Kind, str]]:
    return [(kind, said)] if said else []
