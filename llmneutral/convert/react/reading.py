"""An answer in the form of ReAct, as thoughts, calls and text: deltas of a stream, and blocks of a whole answer.

It stands behind the reader of an API, which knows nothing of it: what the provider sends as text goes through the
parser, everything else (its own reasoning, refusals, token counts) passes as it is, and the slots are counted anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from llmneutral.convert.names import ToolNames
from llmneutral.convert.react.parser import Piece, ReactParser
from llmneutral.ir import contents as c
from llmneutral.ir import deltas as d
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.tools import native_name

NO_ANSWER = "the model wrote neither Actions nor Answer"
"""The note of an answer that has neither; see `lacks_answer`."""

THOUGHT = c.Origin("react")
"""Who made a thought that was written as text: no API takes it back as reasoning of its own."""

ENDED = ("stop", "other", "tool_calls", None)
Delta = d.DeltaMessage
Call = c.ActionCallMessageContent | c.InvalidActionCallMessageContent


class Form(msgspec.Struct, frozen=True):
    """How an answer to a request with tools as text is read.

    Attributes:
        names: The tools by the names the model was told.
        taken: Tags of calls that the conversation has already; no call of the answer gets one of them.
    """

    names: ToolNames
    taken: frozenset[str] = frozenset()

    def deltas(self) -> ReactDeltas:
        """Returns what turns the deltas of one stream into those of thoughts, calls and text."""
        return ReactDeltas(self)

    def blocks(self, content: Sequence[Any]) -> tuple[list[Any], list[str]]:
        """Returns the blocks of a whole answer, by the same way as a stream, and remarks."""
        from llmneutral.convert.neutral import neutral_normalizer

        view, normalizer = self.deltas(), neutral_normalizer()
        whole = [Delta("block_done", d.DoneDeltaMessageContent(index=i, value=x)) for i, x in enumerate(content)]
        for delta in (*view.feed(whole), *view.close()):
            normalizer.feed(delta)
        slots = normalizer.reader.slots
        found = [(slot.index in view.thoughts, block) for slot in slots if (block := slot.content()) is not None]
        return [msgspec.structs.replace(x, origin=THOUGHT) if own else x for own, x in found], view.notes


class ReactDeltas:
    """The deltas of one stream.

    Attributes:
        form: How they are read.
        notes: Remarks so far.
        thoughts: Slots that hold thoughts which were written as text.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self._parser = ReactParser(form.taken)
        self._slots: dict[int, int] = {}  # the reader's number of a slot → ours
        self._texts: dict[int, int] = {}  # the reader's slots of text → characters read
        self._count = 0
        self._open: tuple[str, int] | None = None  # the thought or text that still grows
        self._citations: list[Any] = []
        self._answered = self._called = False
        self.notes: list[str] = []
        self.thoughts: set[int] = set()

    def feed(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Takes deltas of the reader."""
        return [made for delta in deltas for made in self._take(delta)]

    def close(self) -> list[Delta]:
        """Ends the text; nothing is fed after it."""
        made = [*self._given(self._parser.close()), *self._ended()]
        if not self._answered:
            self.notes.append(NO_ANSWER)
        loose, self._citations = self._citations, []
        return [*made, *[Delta("citation", details=value) for value in loose]]

    # --- what the reader gives --------------------------------------------------------------------

    def _take(self, delta: Delta) -> list[Delta]:
        content = delta.content
        if isinstance(content, d.TextDeltaMessageContent):
            return self._read(content.index, content.text, [content.citation])
        if isinstance(content, d.DoneDeltaMessageContent):
            if type(content.value) is c.TextMessageContent:
                known = self._texts.get(content.index)
                cited = content.value.citations if known is None else ()
                return self._read(content.index, content.value.text[known or 0 :], cited)
            if content.index in self._texts:
                return []
        if content is not None:
            return [self._passed(delta, content)]
        if delta.kind == "finish" and self._called and delta.finish_reason in ("stop", "other"):
            return [msgspec.structs.replace(delta, finish_reason="tool_calls")]
        return [delta]

    def _read(self, index: int, text: str, citations: Iterable[Any]) -> list[Delta]:
        self._texts[index] = self._texts.get(index, 0) + len(text)
        self._citations += [value for value in citations if value is not None]
        return [*self._given(self._parser.feed(text)), *self._cited()]

    def _passed(self, delta: Delta, content: Any) -> Delta:
        """What is no text keeps its place, under a number of ours."""
        if content.index not in self._slots:
            self._slots[content.index] = self._new()
            self._parser.boundary()
        if delta.kind in d.CONTENT_KINDS - {"thinking", "signature", "redacted"} or _is_answer(content):
            self._answered = True
        return msgspec.structs.replace(
            delta, content=msgspec.structs.replace(content, index=self._slots[content.index])
        )

    # --- what is given ----------------------------------------------------------------------------

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def _given(self, pieces: Iterable[Piece]) -> list[Delta]:
        made: list[Delta] = []
        for kind, value in pieces:
            if kind == "note":
                self.notes.append(value)
            elif kind == "call":
                made += [*self._ended(), *self._call(value)]
            else:
                made += self._grown(kind, value)
        return made

    def _grown(self, kind: str, text: str) -> list[Delta]:
        made: list[Delta] = []
        if self._open is None or self._open[0] != kind:
            made = self._ended()
            self._open = (kind, self._new())
        slot = self._open[1]
        if kind == "thinking":
            self.thoughts.add(slot)
            return [*made, Delta("thinking", d.ThinkingDeltaMessageContent(text, index=slot))]
        self._answered = True
        return [*made, Delta("text", d.TextDeltaMessageContent(text, index=slot)), *self._cited()]

    def _cited(self) -> list[Delta]:
        """Citations stand with the text that is shown."""
        if not self._citations or self._open is None or self._open[0] != "text":
            return []
        slot, cited, self._citations = self._open[1], self._citations, []
        return [Delta("citation", d.TextDeltaMessageContent(index=slot, citation=value)) for value in cited]

    def _ended(self) -> list[Delta]:
        opened, self._open = self._open, None
        return [] if opened is None else [Delta("block_done", d.DoneDeltaMessageContent(index=opened[1]))]

    def _call(self, call: Call) -> list[Delta]:
        """A call comes at once, when its array is whole: before that nobody knows whether it counts."""
        names = self.form.names
        key = names.get(native_name(call.name, call.path)) or names.get(call.name) or (call.name, call.path)
        call = msgspec.structs.replace(call, name=key[0], path=key[1])
        self._answered = True
        valid = isinstance(call, c.ActionCallMessageContent)
        self._called = self._called or valid
        written = (call.arguments or "") if isinstance(call, c.ActionCallMessageContent) else call.raw
        slot = self._new()
        piece = d.ActionCallDeltaMessageContent(call.tag, call.name, call.path, written, index=slot)
        return [
            Delta("call", piece),
            Delta("block_done", d.DoneDeltaMessageContent(index=slot, value=None if valid else call)),
        ]


def _is_answer(content: Any) -> bool:
    """Whether a block that came at once is more than reasoning."""
    value = getattr(content, "value", None)
    return value is not None and type(value) is not c.ThinkingMessageContent


def lacks_answer(response: NormalizedResponse) -> bool:
    """Tells whether a model that was told to write Actions or Answer wrote neither: it is reminded, once.

    An answer that was cut, refused or filtered lacks nothing of the kind.
    """
    return NO_ANSWER in response.notes and response.finish_reason in ENDED


def thought_of(response: NormalizedResponse) -> str:
    """Returns the thoughts that a model wrote as text: what counts as the answer if it gives none twice."""
    thoughts = [x for x in response.message.content if type(x) is c.ThinkingMessageContent and x.origin == THOUGHT]
    return "\n".join([thought.text for thought in thoughts])
