"""A fault of our own drawing: the answer is kept, the cell goes on, and the end is told in plain words."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llmneutral_widgets import display, session
from llmneutral_widgets.exchange import MIME
from llmneutral_widgets.panel_sink import PanelSink
from llmneutral_widgets.sinks import Columns, DisplaySink, Sink, TextSink
from tests.widgets.panels.looking import quiet, text
from tests.widgets.shell import Cells, running
from tests.widgets.test_sinks import REQUEST, Clock, Screen, delta, exchange

pytestmark = quiet


class FaultError(Exception):
    """A bug of ours."""


def broken(*_: Any, **__: Any) -> Any:
    raise FaultError("of ours")


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        yield found


DRAWN = [
    "sinks.frame_body",
    "sinks.page",
    "sinks.frame",
    "sinks.maker",
    "sinks.Progress.add",
    "sinks.Progress.said",
    "sinks.Throttle.is_due",
    "sinks.bundle_of",
    "bundles.exchange_page",
    "bundles.summary_line",
    "magics.formats.formed",
    "display.publish",
    "display.Output.update",
]


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("line", ["", "-f text", "--no-stream"])
def test_a_fault_of_a_drawing_loses_no_answer(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    monkeypatch.setattr(f"llmneutral_widgets.{name}", broken)
    ran = cells.run(f"%prompt -p {{{{echo}}}} -o kept {line} Hello there")
    monkeypatch.undo()
    assert ran.error is None
    kept = cells.shell.user_ns["kept"]
    assert (kept.status, kept.text) == ("complete", "HELLO THERE ")
    assert [turn.exchange for turn in session.current().conversation().turns] == [kept]


@pytest.mark.parametrize("name", [*DRAWN, "sinks.columns_page", "sinks.exchange_body", "bundles.comparison_page"])
def test_a_fault_of_a_drawing_loses_none_of_several(cells: Cells, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(f"llmneutral_widgets.{name}", broken)
    ran = cells.run("%prompt -p {{echo}} -p {{echo}} -o both Hello")
    monkeypatch.undo()
    assert ran.error is None
    assert [each.text for each in cells.shell.user_ns["both"]] == ["HELLO "] * 2


@pytest.mark.parametrize("name", ["sinks.frame_body", "sinks.Progress.add", "bundles.exchange_page", "display.publish"])
@pytest.mark.parametrize("code", ["show(echo.stream('Hello'))", "await show(echo.astream('Hello'))"])
def test_a_fault_of_a_drawing_loses_no_stream_that_is_shown(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    cells.run("show = __import__('llmneutral').widgets.show")
    monkeypatch.setattr(f"llmneutral_widgets.{name}", broken)
    ran = cells.run(f"kept = {code}")
    monkeypatch.undo()
    assert ran.error is None
    assert cells.shell.user_ns["kept"].text == "HELLO "


def test_a_fault_of_a_frame_leaves_the_end_as_it_is(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmneutral_widgets.sinks.frame_body", broken)
    (output,) = cells.run("%prompt -p {{echo}} Hello there").outputs
    assert "HELLO THERE" in output["text/html"]
    assert "could not be shown" not in str(output)


def test_a_fault_of_the_end_tells_the_answer_in_plain_words(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the place of the last frame, with its record, which a saved notebook is read from."""
    monkeypatch.setattr("llmneutral_widgets.bundles.exchange_page", broken)
    (output,) = cells.run("%prompt -p {{echo}} Hello there").outputs
    first, why, said = output["text/plain"].split("\n", 2)
    assert first.startswith("<Exchange ")
    assert why == "could not be shown: FaultError: of ours"
    assert said == "HELLO THERE "
    assert output[MIME]["response"]["text"] == "HELLO THERE "
    assert "text/html" not in output


def test_a_failure_keeps_its_own_error(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmneutral_widgets.bundles.exchange_page", broken)
    ran = cells.run("%prompt -p {{echo}} -o kept now fail")
    assert type(ran.error).__name__ == "InvalidRequestError"
    assert cells.shell.user_ns["kept"].status == "failed"


def column(screen: Screen, clock: Clock) -> Sink:
    return Columns(screen.publish, 1, clock).sinks[0]


def panel(screen: Screen, clock: Clock) -> PanelSink:
    import ipywidgets

    return PanelSink(ipywidgets.VBox(), clock)


def terminal(screen: Screen, clock: Clock) -> TextSink:
    return TextSink(io.StringIO(), clock)


SINKS: dict[str, Callable[[Screen, Clock], Any]] = {
    "display": lambda screen, clock: DisplaySink(screen.publish, clock),
    "column": column,
    "panel": panel,
    "terminal": terminal,
}


def told(sink: Any, screen: Screen) -> str:
    """What is read at the end."""
    if isinstance(sink, PanelSink):
        return text(sink.box)
    if isinstance(sink, TextSink):
        assert isinstance(sink._stream, io.StringIO)
        return sink._stream.getvalue()
    return str(screen.shown[-1].data)


@pytest.mark.parametrize("hook", ["_start", "_push", "_finish", "_abort"])
@pytest.mark.parametrize("kind", SINKS)
def test_no_function_of_a_sink_raises(monkeypatch: pytest.MonkeyPatch, kind: str, hook: str) -> None:
    for ending in ("finish", "abort", "abort without an answer"):
        screen, clock = Screen(), Clock()
        sink = SINKS[kind](screen, clock)
        monkeypatch.setattr(type(sink), hook, broken)
        sink.start(REQUEST)
        sink.push(delta("text", "Hello."))
        clock.time += 1
        if ending == "finish":
            sink.finish(exchange("Hello."))
        else:
            sink.abort(exchange("Hello.", status="failed") if ending == "abort" else None, ValueError("cut"))
        monkeypatch.undo()
        shown = told(sink, screen)
        why = "could not be shown: FaultError: of ours"
        assert why in shown or not ending.startswith(hook.strip("_"))
        assert why not in shown or hook in ("_finish", "_abort")
        assert ("cut" if "without" in ending else "Hello.") in shown or kind == "terminal"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("hook", ["start", "push", "finish", "abort"])
@pytest.mark.parametrize("kind", SINKS)
def test_an_interrupt_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, kind: str, hook: str, interrupt: type[BaseException]
) -> None:
    def pressed(*_: Any) -> None:
        raise interrupt

    sink = SINKS[kind](Screen(), Clock())
    monkeypatch.setattr(type(sink), f"_{hook}", pressed)
    given = {
        "start": (REQUEST,),
        "push": (delta("text", "Hello."),),
        "finish": (exchange("Hello."),),
        "abort": (None, ValueError()),
    }
    with pytest.raises(interrupt):
        getattr(sink, hook)(*given[hook])


@pytest.mark.parametrize(("kind", "place"), [("display", "sinks"), ("column", "sinks"), ("panel", "panel_sink")])
def test_a_frame_that_fails_is_not_tried_with_every_delta(
    monkeypatch: pytest.MonkeyPatch, kind: str, place: str
) -> None:
    clock, tried = Clock(), [0]

    def fails(*_: Any, **__: Any) -> Any:
        tried[0] += 1
        return broken()

    sink = SINKS[kind](Screen(), clock)
    sink.start(REQUEST)
    monkeypatch.setattr(f"llmneutral_widgets.{place}.frame_body", fails)
    clock.time += 1
    for _ in range(100):
        sink.push(delta("text", "a "))
    assert tried == [1]


def test_where_nothing_can_be_shown_nothing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = DisplaySink(broken)
    sink.start(REQUEST)
    sink.finish(exchange("Hello."))
    assert display.has_kernel() is False
