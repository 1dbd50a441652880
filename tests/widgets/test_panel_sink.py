"""An answer inside a widget: finished pieces stay, frames are paced, the end is the whole."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.asking import ask
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.panel_sink import HZ, WHOLE, PanelSink
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.panels.looking import html, quiet, text, widgets
from tests.widgets.rounds import DONE, Weather, call, driver, question
from tests.widgets.test_sinks import REQUEST, Clock, delta, exchange

pytestmark = quiet
PARAGRAPH = "A leaf is **green** because it takes up red and blue light.\n\n"


def sink(clock: Clock | None = None) -> PanelSink:
    import ipywidgets

    made = PanelSink(ipywidgets.VBox(), clock or Clock())
    made.start(REQUEST)
    return made


def streamed(made: PanelSink, clock: Clock, pieces: int, piece: str = PARAGRAPH) -> None:
    for _ in range(pieces):
        made.push(delta("text", piece))
        clock.time += 0.01


def segments(made: PanelSink) -> list[Any]:
    return [each for group in made._groups for each in group.children]


def test_the_first_frame_names_who_answers() -> None:
    assert "anthropic · claude-sonnet-5-5 · answering …" in text(sink().box)


def test_finished_pieces_never_change_again() -> None:
    clock = Clock()
    made = sink(clock)
    seen: dict[str, str] = {}
    for _ in range(40):
        streamed(made, clock, 10)
        for piece in segments(made):
            assert seen.setdefault(piece.model_id, piece.value) == piece.value
    assert len(seen) > 10


def test_formulas_are_set_in_what_is_finished_and_not_in_every_frame() -> None:
    clock = Clock()
    made = sink(clock)
    streamed(made, clock, 100)
    assert {type(piece).__name__ for piece in segments(made)} == {"HTMLMath"}
    assert type(made._end).__name__ == "HTML"
    made.finish(exchange("Hello."))
    assert type(made._end).__name__ == "HTMLMath"


def test_frames_are_paced() -> None:
    clock = Clock()
    made = sink(clock)
    frames = []
    made._end.observe(lambda change: frames.append(change["new"]), "value")
    streamed(made, clock, 300, "word ")
    assert 3 * HZ * 0.8 <= len(frames) <= 3 * HZ + 2


def test_a_long_answer_costs_what_it_is_long() -> None:
    """Bytes that go to the front end: at most a few times the text, however often it is painted."""
    clock = Clock()
    made = sink(clock)
    octets = 0

    def count(change: Any) -> None:
        nonlocal octets
        octets += len(str(change["new"]))

    made._end.observe(count, "value")
    made._above.observe(count, "value")
    streamed(made, clock, 2000)
    length = 2000 * len(PARAGRAPH)
    pieces = sum([len(piece.value) for piece in segments(made)])
    assert pieces <= 3 * length
    assert octets <= 100_000 * 20, "a hundred kilobytes a second, for twenty seconds"


def test_boxes_are_small() -> None:
    """A box tells all its children when it gets one more."""
    clock = Clock()
    made = sink(clock)
    streamed(made, clock, 3000)
    assert len(segments(made)) > 60
    assert max([len(each.children) for each in widgets(made.box) if hasattr(each, "children")]) <= 32


def test_a_short_answer_ends_as_what_is_saved() -> None:
    made = sink()
    made.push(delta("text", "Hel"))
    made.finish(exchange("Hello."))
    assert "Hello." in text(made.box)
    assert "answering" not in text(made.box)
    assert "812 → 96 tokens" in text(made.box)


def test_a_long_answer_keeps_its_pieces_and_gets_its_footer() -> None:
    clock = Clock()
    made = sink(clock)
    streamed(made, clock, 400)
    before = [piece.value for piece in segments(made)]
    made.finish(exchange(PARAGRAPH * 400))
    after = [piece.value for piece in segments(made)]
    assert after[: len(before)] == before
    assert text(made.box).count("A leaf is green") == 400
    assert "812 → 96 tokens" in text(made.box)
    assert text(made.box).count("Hm.") == 1, "the thinking, once"


def test_an_answer_in_several_parts_is_painted_as_a_whole() -> None:
    clock = Clock()
    made = sink(clock)
    streamed(made, clock, 400)
    parts = [llmneutral.TextMessageContent("one"), llmneutral.TextMessageContent("x" * WHOLE)]
    answer = llmneutral.NormalizedResponse(llmneutral.Message("assistant", tuple(parts)), finish_reason="stop")
    made.finish(Exchange(id="x-1", status="complete", response=answer))
    assert segments(made) == []
    assert "one" in text(made.box)


def test_thinking_is_open_until_the_answer_begins() -> None:
    clock = Clock()
    made = sink(clock)
    made.push(delta("thinking", "Let me see."))
    clock.time += 1
    made.push(delta("thinking", " Yes."))
    assert "<details" in "".join(html(made.box))
    assert "Let me see. Yes." in text(made.box)
    clock.time += 1
    made.push(delta("text", "It is."))
    assert "Let me see." not in text(made.box)
    assert "thinking, 16 characters" in text(made.box)


def test_calls_are_shown_as_they_come() -> None:
    clock = Clock()
    made = sink(clock)
    made.push(delta("call", '{"city": ', index=0, name="weather"))
    clock.time += 1
    made.push(delta("call", '"Paris"}', index=0))
    assert 'weather{"city": "Paris"}' in text(made.box)


def test_after_a_repair_the_answer_begins_anew() -> None:
    clock = Clock()
    made = sink(clock)
    streamed(made, clock, 200)
    made.push(delta("repair", details={"number": 1, "problems": ["no object"]}))
    clock.time += 1
    made.push(delta("text", "Another answer."))
    assert segments(made) == []
    assert "A leaf is" not in text(made.box)
    assert "Another answer." in text(made.box)


def test_an_error_without_an_exchange_is_told() -> None:
    made = sink()
    made.abort(None, llmneutral.ConfigurationError("no <model>"))
    assert "ConfigurationError: no <model>" in text(made.box)


def test_after_the_end_nothing_changes() -> None:
    made = sink()
    made.finish(exchange("Hello."))
    before = html(made.box)
    made.push(delta("text", "late"))
    made.finish(exchange("Another."))
    made.abort(None, RuntimeError("late"))
    assert html(made.box) == before


def test_any_thread_may_push() -> None:
    made = sink()

    def push() -> None:
        for _ in range(500):
            made.push(delta("text", "ab "))

    threads = [threading.Thread(target=push) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.finish(exchange("Hello."))
    assert "Hello." in text(made.box)


@pytest.mark.parametrize(
    "hostile", ['<script>1</script>"', "\u202e\x1b[1m", "![x](https://evil.invalid/x.png)", "```\n<b>"]
)
def test_hostile_texts(hostile: str) -> None:
    clock = Clock()
    made = sink(clock)
    for kind in ("thinking", "text"):
        for _ in range(200):
            made.push(delta(kind, hostile + " word " * 10))
            clock.time += 0.05
    made.push(delta("call", hostile, index=0, name=hostile))
    for value in [v for v in html(made.box) if v]:
        assert outside_views(value) == []
        assert is_well_nested(value)
    made.finish(exchange(hostile * 2000))
    for value in [v for v in html(made.box) if v]:
        assert outside_views(value) == []


def test_a_secret_that_comes_in_pieces_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "geheimnis-0815-4711")
    clock = Clock()
    made = sink(clock)
    shown = []
    made._end.observe(lambda change: shown.append(change["new"]), "value")
    for piece in ("It is geh", "eimnis-08", "15-4711", ", really."):
        made.push(delta("text", piece))
        clock.time += 1
    assert not [value for value in shown if re.search("geheim", value)]
    assert "•••, really." in shown[-1] or "•••, really." in re.sub("<[^<>]*>", "", shown[-1])


def test_answers_before_the_last_stand_above_it_with_the_results_of_their_calls() -> None:
    clock, frames = Clock(), []

    class Seen(PanelSink):
        def push(self, each: Any) -> None:
            clock.time += 1
            super().push(each)
            frames.append(text(self.box))
            assert is_well_nested("".join(html(self.box)))
            assert outside_views("".join(html(self.box))) == []

    import ipywidgets

    answers = driver([("text", "Let me look."), call()], DONE)
    ask(question(answers, Weather().tool()), Seen(ipywidgets.VBox(), clock))
    words = ("Let me look.", "weather", "sunny in Rome", "It is sunny.")
    places = [frames[-1].index(each) for each in words]
    assert places == sorted(places)
    assert frames[-1].count("Let me look.") == 1, "it went above, and is not below any more"
    assert any(["sunny in Rome" in frame and "It is sunny." not in frame for frame in frames]), "seen while it comes"


def test_a_long_answer_after_calls_is_painted_as_a_whole() -> None:
    import ipywidgets

    made = PanelSink(ipywidgets.VBox(), Clock())
    ask(question(driver([call()], [("text", PARAGRAPH * (WHOLE // len(PARAGRAPH) + 1))]), Weather().tool()), made)
    assert segments(made) == []
    assert text(made.box).index("sunny in Rome") < text(made.box).index("A leaf is")
