"""Where a stream goes while it comes: paced, so that the front end keeps up and the deltas are never delayed.

What must live here: pacing, the window that is shown of a long text, and the sinks. A sink publishes nothing by
itself: it is given a function that does (`display.publish`), or a stream to write to. This file imports no IPython.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, Protocol, TextIO

from llmneutral_widgets import limits
from llmneutral_widgets.bundles import Bundle, bundle_of
from llmneutral_widgets.drawing import Drawing
from llmneutral_widgets.exchange import Exchange, Exchanges, error_record
from llmneutral_widgets.scrub import Secrets, builtin, clean, current_secrets, plain
from llmneutral_widgets.segments import fence_after
from llmneutral_widgets.views.answer import (
    SECTIONS,
    answer_block,
    columns_page,
    error_body,
    exchange_body,
    frame_body,
    maker,
    round_parts,
    summary_line,
    thinking_fold,
)
from llmneutral_widgets.views.page import Html, Room, join, line, page, tag, visible
from llmneutral_widgets.views.pictures import Album

HZ = 12
"""Frames a second, at most."""
RATE = 95_000
"""Bytes a second that frames may bring: a big frame waits longer for the next one."""
WINDOW = 4_000
"""Characters that stay shown of a text that has grown to twice as many."""
_ROUND, _ROUNDS = 1_000, 24
"""Characters that a frame shows of a piece of an earlier round, and how many pieces."""
_PRINT_HZ = 25
_WORD = re.compile(r"[!-~]*$")
_LONGEST_WORD = 200
_PRINTED = 200
"""Characters of a tool's result that a terminal shows."""

Clock = Callable[[], float]


class Handle(Protocol):
    """An output that can be replaced."""

    def update(self, bundle: Bundle) -> None:
        """Shows another bundle in its place."""


Publish = Callable[[Bundle], Handle]


class Sink(Protocol):
    """Takes a stream: one start, deltas, and one end, whatever happens."""

    def start(self, request: Mapping[str, Any]) -> None:
        """Begins. The request names `provider`, `model` and `api`, as far as they are known."""

    def push(self, delta: Any) -> None:
        """Takes a delta."""

    def finish(self, exchange: Exchange) -> None:
        """Ends with the whole."""

    def abort(self, exchange: Exchange | None, error: BaseException) -> None:
        """Ends before the end: with what there is, and why."""


# ----------------------------------------------------------------------------------------------------------------------
# Pacing


class Throttle:
    """Says when the next frame is due: the first at once, the others by an absolute clock.

    Args:
        hz: Frames a second, at most.
        rate: Bytes a second, at most.
        now: The clock, in seconds.
    """

    def __init__(self, hz: float = HZ, rate: float = RATE, now: Clock = perf_counter) -> None:
        self._least = 1 / hz
        self._rate = rate
        self._now = now
        self._due = float("-inf")

    def is_due(self) -> bool:
        """Whether a frame may be shown now."""
        return self._now() >= self._due

    def shown(self, octets: int = 0) -> None:
        """Notes that a frame of so many bytes was shown."""
        self._due = self._now() + max(self._least, octets / self._rate)


class Window:
    """The end of a growing text.

    Args:
        most: Characters that stay when the text has grown to twice as many. The cut is made at a blank line, so that
            the Markdown stays sane; where it falls into a fence, the fence's first line is put before what stays.
        clean: Takes secrets out, before a cut can run through one.
    """

    def __init__(self, most: int = WINDOW, clean: Callable[[str], str] = str) -> None:
        self.text = ""
        self.seen = 0
        self.hidden = 0
        self._most = most
        self._clean = clean
        self._fence = ""
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """Takes more text."""
        self._pieces.append(piece)
        self.seen += len(piece)

    def shown(self) -> str:
        """Returns what is to be shown now."""
        self.text += "".join(self._pieces)
        self._pieces.clear()
        if len(self.text) > 2 * self._most:
            self._cut()
        return f"{self._fence}\n{self.text}" if self._fence else self.text

    def _cut(self) -> None:
        text = self._clean(self.text)
        at = text.find("\n\n", len(text) - self._most)
        at = at + 2 if at >= 0 else text.find("\n", len(text) - self._most) + 1 or len(text) - self._most
        for each in text[:at].split("\n"):
            self._fence = fence_after(each, self._fence)
        self.hidden = self.seen - len(self.text) + at
        self.text = text[at:]


def frames(
    deltas: Iterable[Any], now: Clock = perf_counter, hz: float = HZ, window: int = WINDOW
) -> Iterator[tuple[int, str]]:
    """Yields (characters hidden, text to show), paced; the deltas are never delayed. The final bundle is no frame."""
    throttle, shown = Throttle(hz, now=now), Window(window)
    for delta in deltas:
        shown.add(delta.text)
        if throttle.is_due():
            text = shown.shown()
            yield shown.hidden, text
            throttle.shown(len(text.encode("utf-8", "replace")))


# ----------------------------------------------------------------------------------------------------------------------
# What has come so far


class Progress:
    """An answer that is coming in, as far as it is shown: the ends of its texts, its calls.

    Where calls are run, it is several answers with the results between them; those that have ended are shown above.
    """

    def __init__(self, request: Mapping[str, Any], secrets: Secrets) -> None:
        self.request = dict(request)
        self._secrets = secrets
        self._rounds: list[Html] = []
        self._letters = 0
        self._begin()

    def _begin(self) -> None:
        self._has_ended = False
        self._answer = Window(clean=self._secrets.text)
        self._thinking = Window(clean=self._secrets.text)
        self._calls: dict[int, tuple[str, Window]] = {}

    def add(self, delta: Any) -> None:
        """Takes a delta."""
        kind, content = delta.kind, delta.content
        if kind == "tool_result":
            self._end_answer()
            self._rounds.append(answer_block(clean(builtin(content.value), self._secrets), Room(_ROUND), Album(0)))
        elif self._has_ended:  # the next answer
            self._end_answer()
        if kind in ("text", "refusal"):
            self._answer.add(content.text or "")
        elif kind == "thinking":
            self._thinking.add(content.text or "")
        elif kind == "call":
            name, given = self._calls.get(content.index, ("", Window(400)))
            given.add(content.partial_input or "")
            self._calls[content.index] = (name or content.name or "", given)
        elif kind == "start" and delta.model:
            self.request["answered_by"] = delta.model
        elif kind == "repair":  # it did not fit its form; another answer comes
            self._begin()
        elif kind == "end":
            self._has_ended = True

    def is_before_a_wait(self, delta: Any) -> bool:
        """Whether nothing may come for long after a delta: calls are run now, or the model is asked again."""
        return delta.kind == "tool_result" or (delta.kind == "end" and bool(self._calls))

    def _end_answer(self) -> None:
        """Puts an answer that has ended among the rounds."""
        if self._answer.seen or self._thinking.seen or self._calls:
            self._letters += self._answer.seen
            self._rounds += round_parts(self._thinking.seen, self._safe(self._answer)[-_ROUND:], self.calls())
        self._begin()

    def body(self) -> Html:
        """Returns a frame without its style sheet."""
        return frame_body(
            maker(self.request),
            rounds=self._rounds[-_ROUNDS:],
            thinking=(self._thinking.seen, "" if self._answer.seen else self._safe(self._thinking)),
            answer=(self._safe(self._answer), self._answer.hidden),
            calls=self.calls(),
        )

    @property
    def number_of_rounds(self) -> int:
        """How many pieces of answers that have ended there are, the results of their calls with them."""
        return len(self._rounds)

    def above(self, *, is_open: bool) -> Html:
        """Returns what stands above the text: earlier rounds, and the thinking as far as it has come."""
        rounds = [tag("div", *self._rounds[-_ROUNDS:], class_="answer")] if self._rounds else []
        return join([*rounds, thinking_fold(self._thinking.seen, self._safe(self._thinking) if is_open else "")])

    def calls(self) -> list[tuple[str, str]]:
        """Returns names and arguments of the calls, as far as they have come."""
        return [(name, self._safe(given)) for name, given in self._calls.values()]

    def said(self) -> str:
        """Returns a frame in a few words."""
        return visible(f"{maker(self.request)} · answering, {self._letters + self._answer.seen:,} characters so far")

    def _safe(self, window: Window) -> str:
        """What is shown of a text, without secrets and without the beginning of one."""
        text = window.shown()
        held = self._secrets.held(text)
        return self._secrets.text(text[: len(text) - held] if held else text)


def frame(progress: Progress) -> Bundle:
    """Returns a frame as a bundle."""
    return Bundle({"text/html": str(page(progress.body(), sections=SECTIONS)), "text/plain": progress.said()})


# ----------------------------------------------------------------------------------------------------------------------
# Sinks


class DisplaySink(Drawing):
    """One output of a notebook: frames while the answer comes, and in the end the whole, which is saved.

    Args:
        publish: Shows a bundle and returns its handle.
        now: The clock, in seconds.
    """

    def __init__(self, publish: Publish, now: Clock = perf_counter) -> None:
        self._publish = publish
        self._throttle = Throttle(now=now)
        self._progress = Progress({}, Secrets())
        self._handle: Handle | None = None

    def _start(self, request: Mapping[str, Any]) -> None:
        self._progress = Progress(request, current_secrets())
        self._show(frame(self._progress))

    def _push(self, delta: Any) -> None:
        self._progress.add(delta)
        if self._throttle.is_due() or self._progress.is_before_a_wait(delta):
            self._throttle.shown()  # one that fails is not tried again before the next is due
            self._show(frame(self._progress))

    def _finish(self, exchange: Exchange) -> None:
        self._show(bundle_of(exchange))

    def _abort(self, exchange: Exchange | None, error: BaseException) -> None:
        self._show(bundle_of(error if exchange is None else exchange))

    def _tell(self, bundle: Bundle) -> None:
        self._show(bundle)

    def _show(self, bundle: Bundle) -> None:
        if self._handle is None:
            self._handle = self._publish(bundle)
        else:
            self._handle.update(bundle)
        self._throttle.shown(_octets(bundle))


class Columns:
    """Several answers side by side in one output; each has a sink of its own, which any thread may push to.

    Args:
        publish: Shows a bundle and returns its handle.
        count: How many answers there are.
        now: The clock, in seconds.
    """

    def __init__(self, publish: Publish, count: int, now: Clock = perf_counter) -> None:
        self._publish = publish
        self._throttle = Throttle(now=now)
        self._lock = threading.RLock()
        self._handle: Handle | None = None
        self.sinks = [_Column(self._changed) for _ in range(count)]

    def _changed(self, change: Callable[[], None], is_frame: bool) -> None:
        """Makes a change of one column and shows all of them, if a frame is due or it is more than a frame."""
        with self._lock:
            change()
            if is_frame and not self._throttle.is_due():
                return
            self._throttle.shown()  # as above
            bundle = self._bundle()
            if self._handle is None:
                self._handle = self._publish(bundle)
            else:
                self._handle.update(bundle)
            self._throttle.shown(_octets(bundle))

    def _bundle(self) -> Bundle:
        done = [sink.exchange for sink in self.sinks if sink.exchange is not None]
        if len(done) == len(self.sinks):
            return bundle_of(Exchanges(done))
        said = "\n".join([sink.unshown or sink.progress.said() for sink in self.sinks])
        try:
            shown = columns_page([maker(sink.progress.request) for sink in self.sinks], [s.body() for s in self.sinks])
        except Exception:
            if not any([sink.unshown for sink in self.sinks]):
                raise
            return Bundle({"text/plain": said})
        return Bundle({"text/html": str(shown), "text/plain": said})


class _Column(Drawing):
    """The sink of one column."""

    def __init__(self, changed: Callable[[Callable[[], None], bool], None]) -> None:
        self._changed = changed
        self._done: Html | None = None
        self.progress = Progress({}, Secrets())
        self.exchange: Exchange | None = None
        self.unshown = ""

    def _start(self, request: Mapping[str, Any]) -> None:
        def change() -> None:
            self.progress = Progress(request, current_secrets())

        self._changed(change, False)

    def _push(self, delta: Any) -> None:
        self._changed(lambda: self.progress.add(delta), not self.progress.is_before_a_wait(delta))

    def _finish(self, exchange: Exchange) -> None:
        def change() -> None:
            self.exchange = exchange
            self._done = exchange_body(exchange.to_json(), Room(20_000), limits.current().album(2))

        self._changed(change, False)

    def _abort(self, exchange: Exchange | None, error: BaseException) -> None:
        if exchange is not None:
            self._finish(exchange)
            return

        def change() -> None:
            self._done = error_body(plain(error_record(error)))

        self._changed(change, False)

    def _tell(self, bundle: Bundle) -> None:
        def change() -> None:
            self.unshown = bundle.data["text/plain"]
            self._done = tag("pre", self.unshown)

        self._changed(change, False)

    def body(self) -> Html:
        """What stands in the column now."""
        return self.progress.body() if self._done is None else self._done


class TextSink(Drawing):
    """A terminal: what comes is printed once, word by word, and never taken back.

    Args:
        stream: Where to write; standard output by default.
        now: The clock, in seconds.
    """

    def __init__(self, stream: TextIO | None = None, now: Clock = perf_counter) -> None:
        self._stream = stream
        self._throttle = Throttle(_PRINT_HZ, now=now)
        self._secrets = Secrets()
        self._pending = ""
        self._is_thinking = False
        self._wrote = False
        self._called: dict[str | None, str] = {}

    def _start(self, request: Mapping[str, Any]) -> None:
        self._secrets = current_secrets()

    def _push(self, delta: Any) -> None:
        if delta.kind == "thinking" and not self._is_thinking:
            self._is_thinking = True
            self._write("(thinking)\n")
        if delta.kind == "repair":  # what is printed is not taken back
            self._flush(0)
            self._write("\n(it does not fit its form; asked again)\n")
            self._is_thinking = False
        if delta.kind == "call" and delta.content.name:
            self._called[delta.content.tag] = delta.content.name
        if delta.kind == "tool_result":
            self._print_result(delta.content.value)
        if delta.kind not in ("text", "refusal"):
            return
        self._pending += delta.content.text or ""
        if self._throttle.is_due():
            word = _WORD.search(self._pending[-_LONGEST_WORD:])
            self._flush(max(len(word[0]) if word else 0, self._secrets.held(self._pending, least=1)))

    def _finish(self, exchange: Exchange) -> None:
        self._flush(0)
        record = exchange.to_json()
        if not self._wrote:
            self._write(self._secrets.text(visible(exchange.text)))
        self._write(f"\n{summary_line(record, with_text=False)}\n")

    def _abort(self, exchange: Exchange | None, error: BaseException) -> None:
        if exchange is not None:
            self._finish(exchange)
        else:
            self._flush(0)
            self._write("\n")

    def _tell(self, bundle: Bundle) -> None:
        self._write(f"\n{bundle.data['text/plain']}\n")

    def _print_result(self, result: Any) -> None:
        """Prints what a tool gave back, in one line."""
        self._flush(0)
        name, text = self._called.get(result.tag, "a tool"), self._secrets.text(result.to_text())
        self._write(visible(f"\n({name} {'failed' if result.is_error else 'gave'}: {line(text, _PRINTED)})\n"))
        self._is_thinking = False

    def _flush(self, held: int) -> None:
        ready = self._pending[: len(self._pending) - held]
        self._pending = self._pending[len(ready) :]
        if ready:
            self._wrote = True
            self._write(self._secrets.text(visible(ready)))
            self._throttle.shown()

    def _write(self, text: str) -> None:
        stream = self._stream or sys.stdout
        stream.write(text)
        stream.flush()


class CollectSink:
    """Keeps everything and shows nothing: for tests, and for `--quiet`."""

    def __init__(self) -> None:
        self.request: Mapping[str, Any] = {}
        self.deltas: list[Any] = []
        self.exchange: Exchange | None = None
        self.error: BaseException | None = None

    def start(self, request: Mapping[str, Any]) -> None:
        """Begins."""
        self.request = request

    def push(self, delta: Any) -> None:
        """Keeps a delta."""
        self.deltas.append(delta)

    def finish(self, exchange: Exchange) -> None:
        """Keeps the whole."""
        self.exchange = exchange

    def abort(self, exchange: Exchange | None, error: BaseException) -> None:
        """Keeps what there is, and why."""
        self.exchange, self.error = exchange, error


def _octets(bundle: Bundle) -> int:
    return len(bundle.data.get("text/html", "").encode("utf-8", "replace"))
