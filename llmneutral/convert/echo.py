"""Takes a template's own marks out of an answer that begins by echoing a tool's result.

A small model that is told of results as `<tool_response>…</tool_response>` at times begins its answer with the same
marks. They are the template's, not the model's words: what stands between them is. Marks in the middle of an answer
are left as they are. What is held back is never more than a beginning of a mark, so that text still streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.deltas import DeltaMessage, DoneDeltaMessageContent, TextDeltaMessageContent


class Echo(msgspec.Struct, frozen=True):
    """How an answer is read that may begin with marks.

    Attributes:
        opened: The mark before a result.
        closed: The mark behind it.
    """

    opened: str
    closed: str

    def deltas(self) -> EchoDeltas:
        """Returns what takes the marks out of the deltas of one stream."""
        return EchoDeltas(self)

    def blocks(self, content: Sequence[Any]) -> tuple[list[Any], list[str]]:
        """Returns the blocks of an answer without the marks, and remarks."""
        marks, found = Marks(self), []
        for block in content:
            if type(block) is TextMessageContent:
                text = marks.feed(block.text) + marks.close()
                if block.text:
                    marks.boundary()
                if text != block.text:
                    block = msgspec.structs.replace(block, text=text) if text else None
            if block is not None:
                found.append(block)
        return found, []


class Marks:
    """The text of one answer, in pieces: the marks it begins with are taken out, and the white space inside of them."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._held = ""
        self._may_open = True
        self._is_open = self._was_open = self._has_given = False

    def feed(self, text: str) -> str:
        """Takes a piece, and returns what can be given of it."""
        if not (self._may_open or self._is_open):
            return text
        self._held += text
        given = ""
        while self._is_open or self._may_open:
            piece, is_waiting = self._inside() if self._is_open else self._outside()
            given += piece
            if is_waiting:
                return given
        return given + self._rest()

    def close(self) -> str:
        """The text is over: returns what was held back, unless it is the beginning of a mark that ends nothing else."""
        held = self._rest()
        text = held.strip()
        is_mark = self._is_open and self._echo.closed.startswith(text)
        return "" if is_mark or (self._was_open and not text) else held

    def boundary(self) -> None:
        """Another block begins: what follows is no beginning."""
        self._may_open = self._is_open = False

    def _rest(self) -> str:
        held, self._held = self._held, ""
        return held

    def _outside(self) -> tuple[str, bool]:
        """Before a result: what can be given, and whether more has to come first."""
        text, mark = self._held.lstrip(), self._echo.opened
        if text.startswith(mark):
            self._held = text[len(mark) :]
            between = "\n" if self._was_open else ""
            self._is_open = self._was_open = True
            self._has_given = False
            return between, False
        if mark.startswith(text):
            return "", True
        self._may_open = False
        return "", False

    def _inside(self) -> tuple[str, bool]:
        """The same in a result."""
        if not self._has_given:
            self._held = self._held.lstrip()
        before, mark, after = self._held.partition(self._echo.closed)
        if mark:
            self._held, self._is_open = after, False
            return before.rstrip(), False
        keep = self._tail()
        given, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        self._has_given = self._has_given or bool(given)
        return given, True

    def _tail(self) -> int:
        """How many of the last characters may belong to the closing mark, or to the white space before it."""
        held, mark = self._held, self._echo.closed
        most = min(len(held), len(mark) - 1)
        begun = next((size for size in range(most, 0, -1) if mark.startswith(held[-size:])), 0)
        text = held[: len(held) - begun]
        return begun + len(text) - len(text.rstrip())


class EchoDeltas:
    """The deltas of one stream, without the marks it begins with."""

    def __init__(self, echo: Echo) -> None:
        self.form = echo
        self.notes: list[str] = []
        self._marks = Marks(echo)
        self._index: int | None = None  # of the text that is being read

    def feed(self, deltas: Iterable[DeltaMessage]) -> list[DeltaMessage]:
        """Takes deltas of the reader."""
        return [made for delta in deltas for made in self._take(delta)]

    def close(self) -> list[DeltaMessage]:
        """Ends the text; nothing is fed after it."""
        index, self._index = self._index, None
        text = "" if index is None else self._marks.close()
        return [DeltaMessage("text", TextDeltaMessageContent(text, index=index))] if text and index is not None else []

    def _take(self, delta: DeltaMessage) -> list[DeltaMessage]:
        content = delta.content
        if content is None:
            return [delta]
        if isinstance(content, TextDeltaMessageContent) and self._index in (None, content.index):
            self._index = content.index
            text = self._marks.feed(content.text)
            if text == content.text:
                return [delta]
            return [msgspec.structs.replace(delta, content=msgspec.structs.replace(content, text=text))] if text else []
        if self._index is not None:
            held = self.close()
            self._marks.boundary()
        else:
            held = []
        if isinstance(content, DoneDeltaMessageContent) and type(content.value) is TextMessageContent:
            found, _ = self.form.blocks([content.value])
            if not found:
                return held
            delta = msgspec.structs.replace(delta, content=msgspec.structs.replace(content, value=found[0]))
        return [*held, delta]
