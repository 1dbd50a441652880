"""A structured answer while it comes: the best value so far. For display only; the value that counts is validated.

A piece costs an append; what it says is read when the value is asked for. Each character is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llmneutral.convert.partial_json import PartialJson
from llmneutral.convert.schema import rename_keys_back
from llmneutral.ir.contents import ActionCallMessageContent
from llmneutral.ir.deltas import DeltaMessage, DoneDeltaMessageContent
from llmneutral.structured.planning import Plan
from llmneutral.structured.reading import VALUE

FENCED = re.compile(r"```[ \t]*(?:json)?[ \t]*$", re.IGNORECASE)
OBJECT = re.compile(r"\{(?=[\s\"}])")
LINES = re.compile(r"[^\n]*\n|[^\n]+")
BLANK = " \t\r\n\ufeff"
LONGEST_MARK = 64
"""Characters of a line of prose in which the beginning of some JSON is looked for."""


class PartialAnswer:
    """What an answer that is coming in holds so far, as plain data.

    It only grows: keys, entries and texts are added, none is taken back (the last number may still get more digits).
    Where a text holds several JSON values, the first is shown, though the last fenced one may be the answer.

    Args:
        plan: How the answer was asked for.
        restored: Gives the arguments of the answer's call their own property names back.
    """

    def __init__(self, plan: Plan, restored: Callable[[Any], Any] = lambda value: value) -> None:
        self._plan = plan
        self._restored = restored
        self._pending: list[str] = []
        self._aside: set[int] = set()
        self._slot: int | None = None  # of the answer's call
        self._whole: Any = None  # a call that came at once
        self._reader: Any = PartialJson() if plan.tool is not None else _Text(plan)
        self.seen = 0
        """Characters that have come."""

    def add(self, delta: DeltaMessage) -> bool:
        """Takes a delta, and tells whether it may have changed the value."""
        kind, content = delta.kind, delta.content
        if kind == "text" and self._plan.tool is None:
            return self._add_text(content)
        if kind == "call" and self._plan.tool is not None:
            return self._add_call(content)
        if isinstance(content, DoneDeltaMessageContent) and self._slot is None:
            call = content.value
            if isinstance(call, ActionCallMessageContent) and call.name == self._plan.tool:
                self._whole, self._slot = call.input, content.index
                return True
        return False

    def _add_text(self, content: Any) -> bool:
        if content.native is not None and content.native.get("phase") == "commentary":
            self._aside.add(content.index)
        return content.index not in self._aside and self._take(content.text)

    def _add_call(self, content: Any) -> bool:
        if self._slot is None and content.name == self._plan.tool:
            self._slot = content.index
        return content.index == self._slot and self._take(content.partial_input)

    def _take(self, piece: str) -> bool:
        if piece:
            self._pending.append(piece)
            self.seen += len(piece)
        return bool(piece)

    @property
    def value(self) -> Any:
        """The value so far, a copy; None as long as there is none."""
        pending, self._pending = self._pending, []
        for piece in pending:
            self._reader.push(piece)
        value = self._reader.value if self._whole is None else self._whole
        try:
            return self._caller_s(_copied(value))
        except RecursionError:  # nested more deeply than a value can be shown
            return None

    def _caller_s(self, value: Any) -> Any:
        """The value as the caller's schema has it."""
        if value is not None:
            value = rename_keys_back(value, self._plan.renamed)
            value = value if self._plan.tool is None else self._restored(value)
        return value.get(VALUE) if self._plan.wrapped and isinstance(value, dict) else value


class _Text:
    """Finds the JSON in a text that is coming: at its start, in a fence, or (loose) where an object begins."""

    def __init__(self, plan: Plan) -> None:
        self._loose = plan.strategy == "rule"
        self._opening = "[" if plan.schema.get("type") == "array" else "{"
        self._empty: Any = [] if self._opening == "[" else {}
        self._json: PartialJson | None = None
        self._begun = False
        self._line = ""  # of prose
        self._skips = False  # to the end of the line in which some JSON broke
        self.value: Any = None

    def push(self, text: str) -> None:
        for piece in LINES.findall(text):
            self._push(piece)

    def _push(self, piece: str) -> None:
        if self._json is not None:
            self._read(piece)
        elif self._skips:
            self._skips = not piece.endswith("\n")
        elif self._begun:
            self._look(piece)
        elif piece := piece.lstrip(BLANK):
            self._begun = True
            if piece[0] == self._opening:
                self._open(piece)
            else:
                self._look(piece)

    def _look(self, piece: str) -> None:
        """A piece of a line of prose."""
        self._line += piece
        ends = piece.endswith("\n")
        if ends and FENCED.search(self._line.rstrip()):
            self._line = ""
            self._json = PartialJson()
        elif self._loose and (found := OBJECT.search(self._line)):
            rest, self._line = self._line[found.start() :], ""
            self._open(rest)
        else:
            self._line = "" if ends else self._line[-LONGEST_MARK:]

    def _open(self, text: str) -> None:
        self._json = PartialJson()
        self._read(text)

    def _read(self, text: str) -> None:
        assert self._json is not None
        self._json.push(text)
        self.value = self._json.value
        if self._json.broken and self.value in (None, self._empty):
            # It was no JSON, or none that says anything: there may be some later.
            self._json, self._skips = None, not text.endswith("\n")


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_copied(entry) for entry in value]
    return value
