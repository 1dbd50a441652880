"""The stop button at bad moments: what has come is kept all the same, and the interrupt goes on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral_widgets import display, interrupts, session
from llmneutral_widgets.cells import Runs
from llmneutral_widgets.exchange import MIME
from llmneutral_widgets.sinks import CollectSink, DisplaySink, TextSink
from tests.loopback import HOLD, Loopback, streamed
from tests.widgets.kernel import Kernel, Ran
from tests.widgets.magics.test_prompting import PAUSE, shows, words
from tests.widgets.shell import Cells, running


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        yield found


def press(*_: Any, **__: Any) -> None:
    signal.raise_signal(signal.SIGINT)


PLACES = [
    "llmneutral_widgets.magics.formats.FormSink.finish",
    "llmneutral_widgets.asking._Call.exchange",
    "llmneutral_widgets.session.Session.record",
    "llmneutral_widgets.session.Conversation.put",
    "llmneutral_widgets.watching.Watch.end",
]


@pytest.mark.parametrize("place", PLACES)
def test_a_press_while_the_answer_is_kept_loses_nothing(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    holder, _, name = place.rpartition(".")
    module, _, owner = holder.rpartition(".")
    kind = getattr(__import__(module, fromlist=[owner]), owner)
    original = getattr(kind, name)

    def pressed(*args: Any, **named: Any) -> Any:
        press()
        return original(*args, **named)

    monkeypatch.setattr(kind, name, pressed)
    ran = cells.run("%prompt -p {{echo}} -o kept Hello there")
    assert isinstance(ran.error, KeyboardInterrupt), "queued cells are not run"
    (output,) = ran.outputs
    assert output[MIME]["response"]["text"] == "HELLO THERE "
    assert "so far" not in output["text/plain"]
    (turn,) = session.current().conversation().turns
    assert turn.exchange.text == "HELLO THERE "
    assert cells.shell.user_ns["kept"] is turn.exchange
    monkeypatch.undo()
    assert cells.run("%prompt -p {{echo}} again").error is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


STARTS = ["llmneutral_widgets.sinks.DisplaySink.start", "llmneutral_widgets.sinks.DisplaySink._show"]


@pytest.mark.parametrize("place", STARTS)
def test_a_press_while_the_first_frame_is_shown_ends_the_output(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    name = place.rpartition(".")[2]
    original = getattr(DisplaySink, name)
    pressed: list[bool] = []

    def start(*args: Any) -> None:
        original(*args)
        if not pressed:
            pressed.append(True)
            press()

    monkeypatch.setattr(DisplaySink, name, start)
    ran = cells.run("%prompt -p {{echo}} Hello")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert "answering" not in ran.html
    (turn,) = session.current().conversation().turns
    assert turn.exchange.status == "interrupted"


SHOWN = [
    "llmneutral_widgets.display._exchange",
    "llmneutral_widgets.exchange.Exchange.to_json",
    "llmneutral_widgets.sinks.DisplaySink.finish",
    "llmneutral.drivers.streams.PromptStream.close",
]


@pytest.mark.parametrize("way", ["show", "await show"])
@pytest.mark.parametrize("stops", [False, True], ids=["at the end", "the second press"])
@pytest.mark.parametrize("place", SHOWN)
def test_a_press_while_a_shown_stream_ends_loses_nothing(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, place: str, stops: bool, way: str
) -> None:
    holder, _, name = place.rpartition(".")
    name = "aclose" if name == "close" and way != "show" else name
    holder = holder.replace(".PromptStream", ".AsyncPromptStream") if way != "show" else holder
    module, _, owner = holder.rpartition(".")
    kind = getattr(__import__(module, fromlist=[owner]), owner)
    original = getattr(kind, name)

    def pressed(*args: Any, **named: Any) -> Any:
        press()
        return original(*args, **named)

    monkeypatch.setattr(kind, name, pressed)
    cells.run("show = __import__('llmneutral').widgets.show")
    text = "One stop two" if stops else "One two"
    stream = "stream" if way == "show" else "astream"
    ran = cells.run(f"shown = {way}(echo.{stream}('{text}'))")
    assert isinstance(ran.error, KeyboardInterrupt), "queued cells are not run"
    (output,) = ran.outputs
    assert output[MIME]["response"]["text"] == ("ONE STOP " if stops else "ONE TWO ")
    assert output[MIME]["status"] == ("interrupted" if stops or "close" in name else "complete")
    monkeypatch.undo()
    assert cells.run(f"shown = {way}(echo.{stream}('again'))").error is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_stream_that_is_shown_by_a_tool_leaves_the_stop_button_alive(cells: Cells) -> None:
    """It is one magic inside another: what waited while the stream was kept counts again for the one outside."""
    with interrupts.heard():
        display.show(cells.shell.user_ns["echo"].stream("One"))
        with pytest.raises(KeyboardInterrupt):
            press()


def test_two_presses_lose_nothing_of_several(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    original, main, count = threading.Thread.join, threading.current_thread(), [0]

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        original(thread, timeout)
        sent = len(server.requests) == 2 and all([len(found.deltas) > 1 for found in sinks])
        if threading.current_thread() is main and count[0] < 3 and sent:
            count[0] += 1
            press()

    sinks: list[Any] = []

    class Kept(CollectSink):
        def __init__(self) -> None:
            super().__init__()
            sinks.append(self)

    with Loopback(streamed([*words(2), HOLD]), streamed([*words(2), HOLD])) as server:
        cells.run("import llmneutral")
        cells.run(f"config = llmneutral.LocalServerDriversConfig('m', base_url='{server.url}/v1')")
        monkeypatch.setattr("llmneutral_widgets.magics.prompting.CollectSink", Kept)
        monkeypatch.setattr(threading.Thread, "join", join)
        ran = cells.run("%prompt -p {{config}} -p {{config}} --quiet -o both Hi")
        monkeypatch.undo()
        assert server.closes(1.0)
    assert count[0] >= 2
    assert isinstance(ran.error, KeyboardInterrupt)
    both = cells.shell.user_ns["both"]
    assert [(each.status, each.text) for each in both] == [("interrupted", "word word ")] * 2
    assert len(session.current().conversation().turns) == 1


def test_answers_one_after_another_end_with_the_one_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    original = TextSink.finish

    def finish(*args: Any) -> None:
        press()
        original(*args)

    monkeypatch.setattr(TextSink, "finish", finish)
    with running(is_kernel=False) as terminal:
        ran = terminal.run("%prompt -p {{echo}} -p {{echo}} -o both Hi")
        assert isinstance(ran.error, KeyboardInterrupt)
        assert [each.text for each in terminal.shell.user_ns["both"]] == ["HI "]


def at_once() -> None:
    with interrupts.heard():
        press()
        raise AssertionError("it went on")


def let_go() -> None:
    with interrupts.heard():
        interrupts.hold()
        press()
        with interrupts.heard():  # one magic inside another changes nothing
            pass
        interrupts.let_go()
        raise AssertionError("it went on")


def at_the_end() -> None:
    with interrupts.heard():
        interrupts.hold()
        press()


@pytest.mark.parametrize("block", [at_once, let_go, at_the_end])
def test_a_press_is_raised_at_once_or_when_it_is_let_go(block: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        block()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("nth", [1, 2], ids=["as the handler is set", "as it is put back"])
def test_a_press_at_the_edge_puts_the_handler_back(monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    original, calls = signal.signal, [0]

    def pressed(*args: Any) -> Any:
        calls[0] += 1
        if nth == 2 and calls[0] == 2:
            press()
        before = original(*args)
        if nth == 1 and calls[0] == 1:
            press()
        return before

    monkeypatch.setattr(signal, "signal", pressed)
    with pytest.raises(KeyboardInterrupt), interrupts.heard():
        pass
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    at_once_again = interrupts.heard()
    with pytest.raises(KeyboardInterrupt), at_once_again:
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_have_no_part_in_it() -> None:
    found: list[Any] = []

    def work() -> None:
        with interrupts.heard():
            interrupts.hold()
            interrupts.let_go()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


@contextlib.contextmanager
def handled(by: Any = lambda *_: None) -> Iterator[None]:
    """As in a cell that awaits: a press is no KeyboardInterrupt there."""
    before = signal.signal(signal.SIGINT, by)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def test_a_heart_beats_until_it_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "BEAT", 0.001)
    with handled():
        heart = interrupts.heartbeat(asyncio.current_task())
    assert heart is not None
    first = heart._timer
    await asyncio.sleep(0.05)
    assert heart._timer is not first
    assert not heart._timer.cancelled()
    heart.end()
    assert heart._timer.cancelled()


async def test_a_heart_that_nobody_ends_beats_no_longer_than_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "BEAT", 0.001)
    found: list[Any] = []

    async def cell() -> None:
        with handled():
            found.append(interrupts.heartbeat(asyncio.current_task()))

    await asyncio.create_task(cell())
    await asyncio.sleep(0.01)
    last = found[0]._timer
    assert last.when() < asyncio.get_running_loop().time()
    await asyncio.sleep(0.01)
    assert found[0]._timer is last


async def test_a_cell_whose_press_is_an_interrupt_has_no_heart() -> None:
    with handled(signal.default_int_handler):
        assert interrupts.heartbeat(asyncio.current_task()) is None
    with handled():
        assert interrupts.heartbeat(None) is None


@pytest.mark.parametrize("ends", ["end", "clear"])
async def test_a_heart_ends_with_its_cell(ends: str) -> None:
    runs = Runs()
    with handled():
        runs.begin("cell")
    heart = runs.current.heartbeat
    assert heart is not None
    getattr(runs, ends)()
    assert heart._timer.cancelled()


SETUP = """
%load_ext llmneutral
import asyncio, llmneutral
show = llmneutral.widgets.show
config = llmneutral.LocalServerDriversConfig('m', base_url='URL/v1')
def ask():
    return get_ipython().run_line_magic("prompt", "-p {{config}} -o kept Hi")
def look():
    global kept
    kept = show(config.prompt_driver.stream("Hi"))
async def f():
    return ask()
async def g():
    return look()
"""


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[tuple[Kernel, Loopback]]:
    """A kernel whose `config` asks a provider that answers slowly."""
    with Kernel(tmp_path) as kernel, Loopback(streamed(words(150), pause=PAUSE)) as server:
        assert kernel.run(SETUP.replace("URL", server.url)).error is None
        yield kernel, server


def stopped(asking: tuple[Kernel, Loopback], code: str) -> Ran:
    """Runs a cell, presses the stop button when its answer has begun, and looks at what is left of it."""
    kernel, server = asking
    ran = kernel.run(f"{code}\nprint('went on')", seen=kernel.interrupted_when(shows("word word")))
    assert server.closes(1.0)
    assert ran.seconds < 8
    assert ran.error is not None, "queued cells are not run"
    assert "went on" not in ran.printed
    assert kernel.run("1 + 1").plain == "2"
    return ran


def test_a_prompt_in_a_cell_that_awaits_can_be_stopped(asking: tuple[Kernel, Loopback]) -> None:
    ran = stopped(asking, "await asyncio.sleep(0)\nkept = %prompt -p {{config}} Hi")
    assert ran.data(MIME)["status"] == "interrupted"


TASKS = {
    "gathered": "await asyncio.gather(f(), asyncio.sleep(30))",
    "awaited": "t = asyncio.create_task(f()); await t",
    "bounded": "await asyncio.wait_for(f(), 30)",
    "waited for": "await asyncio.wait([asyncio.create_task(f())])",
    "beside": "t = asyncio.create_task(f()); await asyncio.sleep(30)",
    "in a group": "async with asyncio.TaskGroup() as g_: [g_.create_task(each) for each in (f(), asyncio.sleep(30))]",
    "shown in a group": "async with asyncio.TaskGroup() as g_: g_.create_task(g())",
}


@pytest.mark.parametrize("code", TASKS.values(), ids=TASKS)
def test_a_press_while_a_task_asks_cancels_it_and_its_cell_and_the_kernel_lives_on(
    asking: tuple[Kernel, Loopback], code: str
) -> None:
    """An interrupt that leaves a task ends the event loop, and the kernel's with it: there it is a cancellation."""
    ran = stopped(asking, code)
    assert ran.error == "CancelledError"
    assert ran.data(MIME)["status"] == "interrupted"
    if "g()" not in code:
        assert asking[0].run("kept.status").plain == "'interrupted'"


def pressed(asking: tuple[Kernel, Loopback], code: str) -> Ran:
    """Runs a cell that shows nothing itself, and presses the stop button when its provider answers."""
    kernel, server = asking
    sent = kernel.send(code)
    assert server.asked(20.0)
    time.sleep(1.0)
    kernel.interrupt()
    assert server.closes(3.0)
    ran = kernel.wait(sent)
    assert ran.seconds < 8
    assert kernel.run("1 + 1").plain == "2"
    return ran


def test_a_press_while_a_task_asks_that_has_outlived_its_cell_cancels_the_one_that_runs(
    asking: tuple[Kernel, Loopback],
) -> None:
    asking[0].run("async def later():\n    await asyncio.sleep(0.3)\n    ask()\nt = asyncio.create_task(later())")
    assert pressed(asking, "await asyncio.sleep(30)").error == "CancelledError"


@pytest.mark.parametrize("code", ["ask", "look"])
def test_a_press_while_a_callback_asks_leaves_the_kernel_alive(asking: tuple[Kernel, Loopback], code: str) -> None:
    """What leaves a callback of the loop leaves the loop, unless it is an error or a cancellation."""
    assert pressed(asking, f"later = asyncio.get_running_loop().call_later(0.2, {code})").error is None


CALLS = {
    "run": "config.prompt_driver.run('Hi', stream=True)",
    "stream": "list(config.prompt_driver.stream('Hi'))",
    "agent": "llmneutral.Agent(config, stream=True).run('Hi')",
    "arun": "await config.prompt_driver.arun('Hi', stream=True)",
}


@pytest.mark.parametrize("code", CALLS.values(), ids=CALLS)
def test_a_press_in_a_plain_call_tells_in_a_few_lines_where_and_what_is_kept(
    asking: tuple[Kernel, Loopback], code: str
) -> None:
    ran = pressed(asking, code)
    assert ran.error == ("CancelledError" if "await" in code else "KeyboardInterrupt")
    (error,) = [output for output in ran.outputs if output["output_type"] == "error"]
    assert error["traceback"][1].strip() == code
    assert len(error["traceback"]) <= 6
    assert "word" in asking[0].run("import sys; sys.last_value.partial.text").plain


def test_two_presses_leave_the_rows_of_a_table_in_reach(asking: tuple[Kernel, Loopback]) -> None:
    kernel, server = asking
    kernel.run("import pandas, sys\nrows = pandas.DataFrame({'a': range(9)})")
    sent = kernel.send("llmneutral.run_frame(rows, '{{a}}', config, concurrency=1)")
    assert server.asked(20.0)
    kernel.interrupt()
    time.sleep(0.01)
    kernel.interrupt()
    ran = kernel.wait(sent)
    assert ran.error == "FrameInterrupt"
    (error,) = [output for output in ran.outputs if output["output_type"] == "error"]
    assert error["traceback"][0].startswith("line 1: llmneutral.run_frame(")
    assert kernel.run("len(sys.last_value.frame)").plain == "9"


def test_a_stream_that_is_shown_in_a_cell_that_awaits_can_be_stopped(asking: tuple[Kernel, Loopback]) -> None:
    ran = stopped(asking, "await asyncio.sleep(0)\nlook()")
    (error,) = [output for output in ran.outputs if output["output_type"] == "error"]
    assert len(error["traceback"]) == 1
    assert ran.data(MIME)["status"] == "interrupted"
