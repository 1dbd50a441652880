"""Sinks: paced by a clock that the tests turn, within the budget of a front end, with nothing lost at the end."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.sinks import (
    HZ,
    WINDOW,
    CollectSink,
    Columns,
    DisplaySink,
    TextSink,
    Throttle,
    Window,
    frames,
)
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.samples import response

REQUEST = {"provider": "anthropic", "model": "claude-sonnet-5-5", "api": "anthropic_messages"}
ENVELOPE = 600
"""Bytes around each message on the kernel's socket."""


@dataclass
class Clock:
    """A clock that stands still until it is turned."""

    time: float = 100.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Screen:
    """What a front end would have got."""

    shown: list[Bundle] = field(default_factory=list)
    outputs: int = 0

    def publish(self, bundle: Bundle) -> Screen:
        self.outputs += 1
        self.shown.append(bundle)
        return self

    def update(self, bundle: Bundle) -> None:
        self.shown.append(bundle)

    @property
    def last(self) -> str:
        return str(self.shown[-1].data["text/html"])

    def sizes(self) -> list[int]:
        return [len(json.dumps(bundle.data).encode()) + ENVELOPE for bundle in self.shown]


def delta(kind: Any, text: str = "", **fields: Any) -> llmneutral.DeltaMessage:
    contents = {
        "text": llmneutral.TextDeltaMessageContent,
        "thinking": llmneutral.ThinkingDeltaMessageContent,
        "refusal": llmneutral.RefusalDeltaMessageContent,
    }
    if kind == "call":
        return llmneutral.DeltaMessage(kind, llmneutral.ActionCallDeltaMessageContent(partial_input=text, **fields))
    if kind in contents:
        return llmneutral.DeltaMessage(kind, contents[kind](text, **fields))
    return llmneutral.DeltaMessage(kind, **fields)


def exchange(text: str = "Hello.", **fields: Any) -> Exchange:
    return Exchange(**{"id": "x-1", "status": "complete", **REQUEST, "response": response(text), **fields})


# ----------------------------------------------------------------------------------------------------------------------
# Pacing


def test_the_first_frame_is_due_at_once_and_the_next_a_twelfth_of_a_second_later() -> None:
    clock = Clock()
    throttle = Throttle(now=clock)
    assert throttle.is_due()
    throttle.shown()
    assert not throttle.is_due()
    clock.time += 1 / HZ - 0.001
    assert not throttle.is_due()
    clock.time += 0.002
    assert throttle.is_due()


def test_a_big_frame_waits_longer() -> None:
    clock = Clock()
    throttle = Throttle(hz=10, rate=1000, now=clock)
    throttle.shown(500)
    clock.time += 0.4
    assert not throttle.is_due()
    clock.time += 0.11
    assert throttle.is_due()


def test_frames_are_paced_and_deltas_are_not() -> None:
    clock, taken = Clock(), []

    def stream() -> Iterator[llmneutral.DeltaMessage]:
        for n in range(100):
            taken.append(n)
            yield delta("text", "ab ")
            clock.time += 0.01

    shown = list(frames(stream(), clock))
    assert taken == list(range(100))
    assert 10 <= len(shown) <= 13
    assert shown[0] == (0, "ab ")


@given(st.lists(st.text(alphabet="ab \n`~", max_size=900), max_size=60))
def test_a_window_shows_the_end_and_counts_the_rest(pieces: list[str]) -> None:
    window, whole = Window(most=500), ""
    for piece in pieces:
        window.add(piece)
        whole += piece
        shown = window.shown()
        assert window.seen == len(whole)
        assert whole.endswith(window.text)
        assert window.hidden + len(window.text) == len(whole)
        assert len(window.text) <= 1000
        assert shown.endswith(window.text)


def test_the_cut_is_made_at_a_blank_line() -> None:
    window = Window(most=100)
    window.add("first\n\n" + "a" * 150 + "\n\n" + "b" * 60)
    assert window.shown() == "b" * 60
    assert window.hidden == 159


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("```python\n" + "x\n" * 120, "```python\n"),
        ("~~~~\n```\n" + "x\n" * 120, "~~~~\n"),
        ("```\nx\n```\n" + "y\n" * 120, "y\n"),
        ("````\n```\n" + "x\n" * 120, "````\n"),
    ],
)
def test_a_cut_in_a_fence_begins_with_the_fence(before: str, first: str) -> None:
    window = Window(most=100)
    window.add(before)
    shown = window.shown()
    assert shown.startswith(first)
    assert len(shown) < 200


def test_a_cut_runs_through_no_secret() -> None:
    key = "sk-ant-" + "a1" * 40
    window = Window(most=50, clean=lambda text: text.replace(key, "•••"))
    window.add("x" * 90 + key)
    assert "a1" not in window.shown()


# ----------------------------------------------------------------------------------------------------------------------
# The display


def test_one_output_a_last_frame_and_the_whole() -> None:
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    sink.start(REQUEST)
    assert "claude-sonnet-5-5 · answering" in screen.last
    for word in ("He", "llo", "."):
        clock.time += 0.2
        sink.push(delta("text", word))
    assert "Hello." in screen.last
    sink.finish(exchange())
    assert screen.outputs == 1
    assert screen.shown[-1].data[MIME]["id"] == "x-1"
    assert screen.shown[-1].metadata["llmneutral"]["exchange_id"] == "x-1"
    assert "answering" not in screen.last
    assert all(set(bundle.data) == {"text/html", "text/plain"} for bundle in screen.shown[:-1])


def test_thinking_is_open_until_the_answer_begins() -> None:
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    sink.start(REQUEST)
    clock.time += 1
    sink.push(delta("thinking", "Let me *see*"))
    assert '<details class="thinking" open>' in screen.last
    assert "<em>see</em>" in screen.last
    clock.time += 1
    sink.push(delta("text", "So"))
    assert '<details class="thinking"><summary>thinking, 12 characters</summary></details>' in screen.last
    assert "see" not in screen.last


def test_calls_are_seen_as_they_come() -> None:
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    sink.start(REQUEST)
    sink.push(delta("start", model="claude-answered"))
    sink.push(delta("call", index=1, tag="c1", name="weather"))
    sink.push(delta("call", '{"city": ', index=1))
    clock.time += 1
    sink.push(delta("call", '"Pa', index=1))
    assert '<code>weather</code><pre>{"city": "Pa</pre>' in screen.last
    assert "claude-answered" in screen.last


def test_frames_are_in_the_closed_set_at_every_cut() -> None:
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    sink.start({"provider": "<b>", "model": "<script>"})
    for char in "**a** `b` [c](javascript:1) $x$ <img src=x onerror=1> ```\n<b>\n":
        clock.time += 1
        sink.push(delta("text", char))
        assert outside_views(screen.last) == []
        assert is_well_nested(screen.last)


def test_secrets_are_in_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "exact-secret-value-0123"
    monkeypatch.setenv("SOME_API_KEY", key)
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    sink.start(REQUEST)
    for char in f"It is {key}, and sk-ant-abc123def456, you see.":
        clock.time += 1
        sink.push(delta("text", char))
    sink.finish(exchange(f"It is {key}."))
    everything = json.dumps([bundle.data for bundle in screen.shown])
    assert "exact-s" not in everything
    assert "sk-ant-a" not in everything


@pytest.mark.parametrize(
    ("rate", "seconds", "piece"),
    [(1_360, 10, 7), (5_450, 20, 5), (50, 30, 5), (100_000, 5, 50), (20, 20, 1)],
)
def test_the_budget(rate: int, seconds: int, piece: int) -> None:
    """Bytes ≤ 20 × text + 100 KB/s × seconds; messages ≤ 15/s; no message is bigger than the final bundle."""
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    text = ("Some **words** of prose with `code` & more.\n" * 4 + "\n- an item\n- another\n\n") * (
        rate * seconds // 200 + 1
    )
    text = text[: rate * seconds]
    sink.start(REQUEST)
    for at in range(0, len(text), piece):
        sink.push(delta("text", text[at : at + piece]))
        clock.time += piece / rate
    sink.finish(exchange(text))
    sizes = screen.sizes()
    assert sum(sizes) <= 20 * len(text) + 100_000 * seconds
    assert len(sizes) <= 15 * seconds
    assert max(sizes) == sizes[-1]
    assert len(sizes) > min(5, len(text)) * seconds / 2


def test_a_long_answer_costs_what_a_window_costs() -> None:
    screen, clock = Screen(), Clock()
    sink = DisplaySink(screen.publish, clock)
    sink.start(REQUEST)
    for _ in range(2_000):
        sink.push(delta("text", "A line of text that goes on.\n\n"))
        clock.time += 0.01
    longest = max(len(bundle.data["text/html"]) for bundle in screen.shown)
    assert longest < 2 * WINDOW * 1.5 + 8_000
    assert "earlier characters are hidden while streaming" in screen.last


def test_an_interrupt_shows_what_there_is() -> None:
    screen = Screen()
    sink = DisplaySink(screen.publish, Clock())
    sink.start(REQUEST)
    sink.abort(exchange("Half of", status="interrupted"), KeyboardInterrupt())
    assert "Half of" in screen.last
    assert ">interrupted<" in screen.last


def test_an_error_without_an_exchange_is_shown_by_itself() -> None:
    screen = Screen()
    sink = DisplaySink(screen.publish, Clock())
    sink.abort(None, llmneutral.RateLimitError("too fast", status=429, hint="wait"))
    assert "RateLimitError (429)" in screen.last
    assert "→ wait" in screen.last


# ----------------------------------------------------------------------------------------------------------------------
# Columns


def test_columns_share_an_output() -> None:
    screen, clock = Screen(), Clock()
    columns = Columns(screen.publish, 2, clock)
    for sink, name in zip(columns.sinks, ("one", "two"), strict=True):
        sink.start({"provider": name, "model": name})
    clock.time += 1
    columns.sinks[0].push(delta("text", "first"))
    clock.time += 1
    columns.sinks[1].push(delta("text", "second"))
    assert "first" in screen.last
    assert "second" in screen.last
    columns.sinks[1].finish(exchange("second.", id="x-2"))
    assert MIME not in screen.shown[-1].data
    columns.sinks[0].finish(exchange("first.", id="x-1"))
    assert screen.outputs == 1
    saved = screen.shown[-1].data[MIME]
    assert (saved["id"], [other["id"] for other in saved["others"]]) == ("x-1", ["x-2"])
    assert Exchange.from_json(saved).id == "x-1"


def test_a_column_that_failed_leaves_the_others() -> None:
    screen = Screen()
    columns = Columns(screen.publish, 2, Clock())
    columns.sinks[0].start(REQUEST)
    columns.sinks[0].abort(None, ValueError("no driver"))
    columns.sinks[1].finish(exchange("fine"))
    assert "no driver" in screen.last
    assert "fine" in screen.last
    columns.sinks[0].abort(exchange("half", status="failed"), ValueError("late"))
    assert MIME in screen.shown[-1].data


def test_columns_take_threads() -> None:
    screen = Screen()
    columns = Columns(screen.publish, 4)

    def run(sink: Any, name: str) -> None:
        sink.start({"provider": name})
        for n in range(200):
            sink.push(delta("text", f"{n} "))
        sink.finish(exchange(name, id=name))

    threads = [threading.Thread(target=run, args=(sink, f"x-{n}")) for n, sink in enumerate(columns.sinks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert screen.outputs == 1
    assert len(screen.shown[-1].data[MIME]["others"]) == 3
    assert all(is_well_nested(str(bundle.data["text/html"])) for bundle in screen.shown)


# ----------------------------------------------------------------------------------------------------------------------
# Terminals, and keeping


def test_a_terminal_prints_once() -> None:
    out, clock = io.StringIO(), Clock()
    sink = TextSink(out, clock)
    sink.start(REQUEST)
    sink.push(delta("thinking", "hm"))
    sink.push(delta("thinking", "hm"))
    for piece in ("Hel", "lo \x1b[2J", "wor", "ld"):
        sink.push(delta("text", piece))
        clock.time += 0.01
    sink.finish(exchange("Hello world"))
    printed = out.getvalue()
    assert printed.startswith("(thinking)\nHello \ufffd[2Jworld\nanthropic")
    assert printed.count("Hello") == 1
    assert printed.endswith("cost n/a\n")


def test_a_terminal_prints_an_answer_that_did_not_stream() -> None:
    out = io.StringIO()
    sink = TextSink(out, Clock())
    sink.start(REQUEST)
    sink.finish(exchange("All at once.", status="interrupted"))
    assert out.getvalue().startswith("All at once.\n")
    assert "interrupted" in out.getvalue()


def test_a_terminal_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "exact-secret-value-0123"
    monkeypatch.setenv("SOME_API_KEY", key)
    out, clock = io.StringIO(), Clock()
    sink = TextSink(out, clock)
    sink.start(REQUEST)
    for char in f"It is {key}, or Bearer abcdefghij klm.":
        clock.time += 1
        sink.push(delta("text", char))
    sink.abort(None, KeyboardInterrupt())
    assert out.getvalue() == "It is •••, or Bearer ••• klm.\n"


def test_collecting() -> None:
    sink = CollectSink()
    sink.start(REQUEST)
    sink.push(delta("text", "a"))
    sink.finish(exchange())
    assert (sink.request, [each.text for each in sink.deltas]) == (REQUEST, ["a"])
    assert sink.exchange is not None
    error = ValueError("x")
    sink.abort(None, error)
    assert sink.exchange is None
    assert sink.error is error
