"""Chunks in, deltas out, a response at the end. No I/O: sync and async loops feed it.

A transport's `chunk` function calls the `Reader`'s methods with the provider's own keys; the reader
numbers the slots, makes the deltas and keeps what has come. State lives here and nowhere else, so
interleaved streams stay apart. A whole answer goes through the same reader, so whole equals streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from llmneutral.convert.names import digest
from llmneutral.errors import classify, is_retryable
from llmneutral.errors.wording import a_kind
from llmneutral.ir import contents as c
from llmneutral.ir import deltas as d
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import ErrorInfo, FinishReason, NormalizedResponse, Usage

if TYPE_CHECKING:
    from llmneutral.convert.echo import EchoDeltas
    from llmneutral.convert.react.reading import Form, ReactDeltas
    from llmneutral.profiles import Profile

COMPACT_AT = 512
FAULTS = (KeyError, TypeError, AttributeError, IndexError, ValueError)
Delta = d.DeltaMessage


class _Slot:
    """One block in the making."""

    __slots__ = ("builds", "compact_at", "done", "index", "pieces", "value")

    def __init__(self, index: int, builds: type) -> None:
        self.index = index
        self.builds = builds
        self.pieces: list[Any] = []
        self.value: Any = None  # what the provider says the block is in the end
        self.done = False
        self.compact_at = COMPACT_AT

    def content(self) -> Any:
        """Returns the block, or None if nothing of it has come."""
        if self.value is not None:
            return self.value
        return self.builds.builds.from_deltas(self.pieces) if self.pieces else None  # type: ignore[attr-defined]


class Reader:
    """What the chunk functions of a transport write to.

    Attributes:
        out: Deltas made since they were last taken.
        state: The transport's own notes about this stream.
        facts: The profile of the target that answers, where it is known.
        raw_usage: The provider's usage object, merged per field: the last value that is not null wins.
        counts: The same in the neutral form.
        raw_finish: The provider's word for why it ended.
        terminated: Whether the stream said that it is over.
        notes: Remarks for the curious.
    """

    def __init__(
        self,
        api: str,
        finish: Mapping[str, FinishReason],
        usage: Callable[[JSONObject], Usage],
        names: Any,
        facts: Profile | None = None,
    ) -> None:
        self.api = api
        self.finish_table = finish
        self.usage_of = usage
        self.names = names
        self.facts = facts
        self.out: list[Delta] = []
        self.state: dict[Any, Any] = {}
        self.slots: list[_Slot] = []
        self._by_key: dict[Hashable, _Slot] = {}
        self.id: str | None = None
        self.model: str | None = None
        self.started = False
        self.raw_usage: JSONObject = {}
        self.counts = Usage()
        self.raw_finish: str | None = None
        self.reason: FinishReason | None = None
        self.finished = False
        self.terminated = False
        self.incomplete = False  # a transport may say that an answer which ended is not whole
        self.ended_by_error = False  # the error is the reason why the answer ended: it is whole all the same
        self.error_info: ErrorInfo | None = None
        self.details: Any = None
        self.notes: list[str] = []
        self.citations: list[JSONObject] = []

    # --- what a transport says ------------------------------------------------------------------

    def start(self, id: str | None = None, model: str | None = None) -> None:
        """The answer begins; later calls fill in what the first did not tell."""
        self.id = self.id or id
        self.model = self.model or model
        if not self.started:
            self.started = True
            self.out.insert(0, Delta("start", id=self.id, model=self.model))

    def text(self, key: Hashable, piece: str, *, kind: d.DeltaKind = "text", native: JSONObject | None = None) -> None:
        """A piece of text for the slot of a key."""
        if piece or native:
            slot = self._slot(key, d.TextDeltaMessageContent)
            self._grow(slot, kind, d.TextDeltaMessageContent(piece, index=slot.index, native=native))

    def thinking(self, key: Hashable, piece: str = "", **marks: Any) -> None:
        """A piece of reasoning, or its `signature`, `data` (redacted), `id` or `native`."""
        if not piece and not any(marks.values()):
            return
        slot = self._slot(key, d.ThinkingDeltaMessageContent)
        kind: d.DeltaKind = (
            "redacted" if marks.get("data") else ("signature" if not piece and marks.get("signature") else "thinking")
        )
        self._grow(slot, kind, d.ThinkingDeltaMessageContent(piece, index=slot.index, **marks))

    def call(
        self, key: Hashable, tag: str | None = None, name: str | None = None, fragment: str = "", **marks: Any
    ) -> None:
        """A piece of a call: its id and (native) name once, then fragments of its arguments."""
        slot = self._slot(key, d.ActionCallDeltaMessageContent)
        path = None
        if name and self.names is not None:
            name, path = self.names.get(name, (name, None))
        piece = d.ActionCallDeltaMessageContent(tag, name, path, fragment, index=slot.index, **marks)
        self._grow(slot, "call", piece)

    def refusal(self, key: Hashable, piece: str, category: str | None = None) -> None:
        """A piece of a refusal."""
        if piece or category:
            slot = self._slot(key, d.RefusalDeltaMessageContent)
            self._grow(slot, "refusal", d.RefusalDeltaMessageContent(piece, category, index=slot.index))

    def audio(self, key: Hashable, **pieces: Any) -> None:
        """A piece of sound (`data`), of its `transcript`, its `id`, `expires_at` or `media_type`."""
        slot = self._slot(key, d.AudioDeltaMessageContent)
        self._grow(slot, "audio", d.AudioDeltaMessageContent(index=slot.index, **pieces))

    def citation(self, key: Hashable | None, value: JSONObject) -> None:
        """A citation, to the text of a slot, or to the whole answer (key None)."""
        self.citations.append(value)
        if key is None:
            self.out.append(Delta("citation", details=value))
            return
        slot = self._slot(key, d.TextDeltaMessageContent)
        self._grow(slot, "citation", d.TextDeltaMessageContent(index=slot.index, citation=value))

    def block(self, key: Hashable, content: Any, *, kind: d.DeltaKind = "block_done") -> None:
        """A block is complete, and this is what it is: it replaces what its pieces built."""
        slot = self._by_key.get(key) or self.open(key, d.BaseDeltaMessageContent)
        slot.value, slot.done, slot.pieces = self._named(content), True, []
        self.out.append(Delta(kind, d.DoneDeltaMessageContent(index=slot.index, value=slot.value)))

    def done(self, key: Hashable) -> None:
        """A block is complete; what its pieces built stands."""
        if (slot := self._by_key.get(key)) is not None and not slot.done:
            slot.done = True
            self.out.append(Delta("block_done", d.DoneDeltaMessageContent(index=slot.index)))

    def forget(self, key: Hashable) -> None:
        """The next piece under this key belongs to a new block; the old one is complete."""
        self.done(key)
        self._by_key.pop(key, None)

    def has(self, key: Hashable) -> bool:
        """Whether a slot is open under a key."""
        return key in self._by_key

    def so_far(self, key: Hashable) -> str:
        """Returns the text, or the arguments, that the pieces under a key add up to."""
        slot = self._by_key.get(key)
        if slot is None:
            return ""
        return "".join([str(getattr(p, "partial_input", None) or getattr(p, "text", "")) for p in slot.pieces])

    def usage(self, fields: Any, *, replace: bool = False) -> None:
        """Token counts: per field, the last value that is not null stands (or the whole object, `replace`)."""
        if not isinstance(fields, dict):
            return
        if replace:
            self.raw_usage = fields
        else:
            _merge(self.raw_usage, fields)
        self.counts = self.usage_of(self.raw_usage)
        self.out.append(Delta("usage", usage=self.counts))

    def finish(self, raw: str | None, *, reason: FinishReason | None = None, details: Any = None) -> None:
        """Why the answer ended, in the provider's word; the last one stands."""
        self.finished = True
        if raw is not None:
            self.raw_finish = raw
        self.reason = reason or (self.finish_table.get(raw, "other") if raw is not None else self.reason)
        self.details = details if details is not None else self.details
        self.out.append(Delta("finish", finish_reason=self.reason, raw_finish_reason=raw, details=details))

    def terminate(self) -> None:
        """The stream said that it is over; what still comes (usage, metadata) is read all the same."""
        self.terminated = True

    def error(
        self,
        raw_type: str | None,
        message: str = "",
        *,
        status: int | None = None,
        code: str | None = None,
        type: str | None = None,
        is_end: bool = False,
    ) -> None:
        """An error inside the answer; it breaks it off, or is (`is_end`) the reason it gives for its end."""
        self.ended_by_error = is_end
        kind = type or classify(status=status, type=raw_type, code=code, message=message)
        self.error_info = ErrorInfo(kind, raw_type, message, status, is_retryable(kind, status), code)
        self.out.append(Delta("error", error=self.error_info))

    def note(self, remark: str) -> None:
        """Keeps a remark, each once."""
        if remark not in self.notes:
            self.notes.append(remark)

    # --- slots ----------------------------------------------------------------------------------

    def _slot(self, key: Hashable, builds: type) -> _Slot:
        """The slot under a key; a piece of another kind than those before it begins a new one."""
        slot = self._by_key.get(key)
        if slot is None:
            return self.open(key, builds)
        if slot.builds is not builds and slot.builds is not d.BaseDeltaMessageContent:
            self.forget(key)
            return self.open(key, builds)
        return slot

    def open(self, key: Hashable, builds: type) -> _Slot:
        """Opens a slot under a key."""
        if not self.started:
            self.start()
        slot = _Slot(len(self.slots), builds)
        self.slots.append(slot)
        self._by_key[key] = slot
        return slot

    def grow(self, key: Hashable, kind: d.DeltaKind, piece: Any) -> None:
        """A piece that is made already, for the slot of a key."""
        slot = self._slot(key, type(piece))
        self._grow(slot, kind, msgspec.structs.replace(piece, index=slot.index))

    def _grow(self, slot: _Slot, kind: d.DeltaKind, piece: Any) -> None:
        if slot.builds is d.BaseDeltaMessageContent:
            slot.builds = type(piece)
        pieces = slot.pieces
        pieces.append(piece)
        if len(pieces) >= slot.compact_at:
            slot.pieces = type(piece).compacted(pieces)
            slot.compact_at = max(COMPACT_AT, 2 * len(slot.pieces))  # what does not get shorter is not tried each time
        self.out.append(Delta(kind, piece))

    def _named(self, content: Any) -> Any:
        """A whole call, under the name the caller knows."""
        if self.names is not None and isinstance(
            content, c.ActionCallMessageContent | c.InvalidActionCallMessageContent
        ):
            name, path = self.names.get(content.name, (content.name, None))
            return msgspec.structs.replace(content, name=name, path=path)
        return content


class StreamNormalizer:
    """One stream: `feed` chunks, `close` once, take `response` at any time.

    `feed` never raises for what a provider sends, and ignores what comes after `close`.
    """

    def __init__(
        self,
        api: str,
        *,
        chunk: Callable[[Any, Reader], None],
        read: Callable[[Any, Reader], None],
        finish: Mapping[str, FinishReason],
        usage: Callable[[JSONObject], Usage],
        settle: Callable[[Reader, FinishReason | None], FinishReason | None] | None = None,
        names: Any = None,
        host: str | None = None,
        facts: Profile | None = None,
        model: str | None = None,
        react: Form | None = None,
    ) -> None:
        self._chunk = chunk
        self._read = read
        self._settle = settle
        self._host = host
        self._asked_model = model
        self._closed = False
        self._complete = True
        self._names = names
        self._view: ReactDeltas | EchoDeltas | None = None if react is None else react.deltas()
        self.reader = Reader(api, finish, usage, names, facts)

    def read_through(self, view: EchoDeltas) -> None:
        """What the reader reads is changed by this before it is given; nothing was fed yet."""
        self._view = view

    def feed(self, chunk: Any) -> list[Delta]:
        """Takes one chunk (a dict, or the sentinel `"[DONE]"`) and returns its deltas."""
        reader = self.reader
        if self._closed:
            return []
        if chunk.__class__ is str and chunk == "[DONE]":
            reader.terminate()
            return []
        try:
            self._chunk(chunk, reader)
        except FAULTS as error:
            reader.note(f"a chunk was not understood ({type(error).__name__}: {error})")
        out = reader.out
        if not out:
            return []  # not `out`, which the next chunk fills: whoever kept it would see that chunk's deltas
        reader.out = []
        if not reader.started:
            reader.started = True
            out.insert(0, Delta("start", id=reader.id, model=reader.model))
        return out if self._view is None else self._view.feed(out)

    def whole(self, response: Any) -> list[Delta]:
        """Takes a whole answer."""
        reader = self.reader
        try:
            if not isinstance(response, Mapping | Message):
                raise TypeError(f"it is {a_kind(response)}, not an object or a Message")
            self._read(response, reader)
        except FAULTS as error:
            reader.error("malformed_response", f"the answer was not understood: {error}", type="malformed_response")
        reader.terminated = True
        out, reader.out = reader.out, []
        return out if self._view is None else self._view.feed(out)

    def fail(self, error: ErrorInfo) -> None:
        """Notes an error from outside the stream: a lost connection, a status."""
        self.reader.error_info = self.reader.error_info or error

    def close(self, *, interrupted: bool = False) -> list[Delta]:
        """Ends the stream and returns the last deltas; `end` is always the last one, and comes once."""
        if self._closed:
            return []
        reader = self.reader
        reader.start()
        self._closed = True
        over = (reader.terminated or reader.finished) and not interrupted and not reader.incomplete
        self._complete = over and (reader.error_info is None or reader.ended_by_error)
        out, reader.out = reader.out, []
        if self._view is not None:
            out = [*self._view.feed(out), *self._view.close()]
        return [*out, Delta("end", complete=self._complete)]

    @property
    def response(self) -> NormalizedResponse:
        """The answer as far as it has come."""
        reader = self.reader
        complete = self._complete and self._closed
        blocks, notes = self._blocks(complete), reader.notes
        if self._view is not None:
            blocks, remarks = self._view.form.blocks(blocks)
            notes = [*notes, *remarks]
        content = tuple([self._stamped(block, place) for place, block in enumerate(blocks)])
        message = Message("assistant", content)
        citations = tuple([cite for x in content if isinstance(x, c.TextMessageContent) for cite in x.citations])
        loose = [cite for cite in reader.citations if cite not in citations]
        return NormalizedResponse(
            message,
            reader.id,
            reader.model,
            self._reason(content, complete),
            reader.raw_finish,
            complete,
            reader.counts if reader.raw_usage else Usage(),
            reader.error_info,
            (*citations, *loose),
            None,
            tuple(notes),
            reader.details,
        )

    def _blocks(self, complete: bool) -> list[Any]:
        """The blocks; of a stream that broke off, calls that were still open are invalid."""
        found = []
        slots = self.reader.slots
        for slot in slots:
            block = slot.content()
            if block is None or (type(block) is c.TextMessageContent and block == _NO_TEXT):
                continue
            last = slot is slots[-1]
            if not complete and type(block) is c.ActionCallMessageContent and not slot.done and last:
                block = c.InvalidActionCallMessageContent(block.tag, block.name, block.path, block.arguments or "")
            found.append(block)
        return found

    def _stamped(self, block: Any, place: int) -> Any:
        """A block with its origin where that matters, a call with an id and the caller's property names."""
        changed: JSONObject = {}
        if isinstance(block, _STAMPED) and block.origin is None and _is_bound(block):
            changed["origin"] = c.Origin(self.reader.api, self.reader.model or self._asked_model, self._host)
        if isinstance(block, c.ActionCallMessageContent | c.InvalidActionCallMessageContent):
            if not (block.tag or "").strip():
                said = (
                    block.raw
                    if isinstance(block, c.InvalidActionCallMessageContent)
                    else (block.arguments or dumps(block.input))
                )
                changed["tag"] = f"call_{digest(f'{self.reader.id}:{place}:{block.name}:{said}', 12)}"
            if self._names is not None and isinstance(block, c.ActionCallMessageContent):
                restored = self._names.restored(self._names.native(block.name, block.path), block.input)
                if restored is not block.input:
                    changed |= {"input": restored, "arguments": None}
        return msgspec.structs.replace(block, **changed) if changed else block

    def _reason(self, content: tuple[Any, ...], complete: bool) -> FinishReason | None:
        reader = self.reader
        if reader.error_info is not None:
            return "error"
        if not complete:
            return "incomplete"
        reason = reader.reason
        if reason is None:
            reason = "stop"
            reader.note("the provider gave no finish reason")
        if any(type(x) is c.RefusalMessageContent for x in content) and reason in ("stop", "other", "tool_calls"):
            reason = "refusal"
        elif any(type(x) is c.ActionCallMessageContent for x in content) and reason in ("stop", "other"):
            reason = "tool_calls"
        return reason if self._settle is None else self._settle(reader, reason)


_NO_TEXT = c.TextMessageContent("")
_STAMPED = (
    c.ThinkingMessageContent,
    c.GenericMessageContent,
    c.TextMessageContent,
    c.ActionCallMessageContent,
    c.AudioMessageContent,
    c.ImageMessageContent,
    c.DocumentMessageContent,
    c.RefusalMessageContent,
)


def _is_bound(block: Any) -> bool:
    """Whether a block holds something that only its maker can read."""
    if isinstance(block, c.ThinkingMessageContent | c.GenericMessageContent):
        return True
    return bool(block.native or getattr(block, "thought_signature", None) or getattr(block, "item_id", None))


def _merge(into: JSONObject, fields: JSONObject) -> None:
    for key, value in fields.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif value is not None:
            into[key] = dict(value) if isinstance(value, dict) else value
