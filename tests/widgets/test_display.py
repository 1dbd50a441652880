"""Publishing: in a kernel-like shell, in a terminal, and without any."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

import llmneutral
from llmneutral_widgets import cells, display
from llmneutral_widgets.bundles import bundle_of
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.sinks import DisplaySink, TextSink
from tests.widgets.samples import response, stack


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell that publishes, without history and without a kernel."""
    made: InteractiveShell = InteractiveShell.instance()
    try:
        yield made
    finally:
        assert made.history_manager is not None
        made.history_manager.end_session()
        InteractiveShell.clear_instance()


@pytest.fixture
def kernel(shell: InteractiveShell) -> InteractiveShell:
    """A shell that looks like a kernel's."""
    vars(shell)["kernel"] = SimpleNamespace()
    return shell


class Stream:
    """A stream as drivers give it."""

    record = None
    conversion = None

    def __init__(self, ending: BaseException | None = None) -> None:
        self.ending = ending
        self.closed = 0
        self._words = iter(["He", "llo."])

    @property
    def response(self) -> Any:
        return response("Hello.", complete=self.ending is None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        for word in self._words:
            return llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(word))
        raise StopIteration if self.ending is None else self.ending

    def close(self) -> None:
        self.closed += 1


class AsyncStream(Stream):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return next(iter(self))
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.closed += 1


AsyncStream.__iter__ = Stream.__iter__  # type: ignore[method-assign]


def outputs(shell: InteractiveShell, code: str) -> list[RichOutput]:
    with capture_output() as captured:
        shell.run_cell(code, store_history=True)
    return list(captured.outputs)


def test_a_value_is_shown(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        assert display.show(stack()) is None
    assert "7 messages" in captured.outputs[0].data["text/html"]


def test_conversions_are_shown_side_by_side_each_with_what_its_sdk_says(shell: InteractiveShell) -> None:
    asked = llmneutral.PromptStack(settings={"max_tokens": 20})
    asked.add_user_message("Why is the sky blue?")
    found = {name: llmneutral.convert(asked, "openai", model="gpt-4.1", trace=True) for name in ("one", "other")}
    asked.add_user_message(llmneutral.GenericArtifact({"type": "txt", "text": "Why?"}))
    found["wrong"] = llmneutral.convert(asked, "openai", model="gpt-4.1", trace=True)
    with capture_output() as captured:
        display.show(found, asked)
    html = captured.outputs[0].data["text/html"]
    assert html.count(">valid (openai") == 2
    assert "1 problem" in html
    assert "not checked" not in html
    with capture_output() as captured:
        display.show({"one": found["one"], "not one": SimpleNamespace(payload=None)})
    assert len(captured.outputs) == 1, "a view that fails does not fail the cell"


def test_without_a_shell_the_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cells.shell() is None
    display.publish(bundle_of(stack())).update(bundle_of(stack()))
    told = capsys.readouterr().out
    assert told.startswith("7 messages · 1 tool\n0 system")
    assert told.count("You are terse.") == 1


@pytest.mark.parametrize(("columns", "width"), [("50", 49), ("5", 20), ("500", 160)])
def test_lines_are_as_wide_as_the_terminal(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert display.width() == width
    display.show(llmneutral.convert(stack(), "openai", model="gpt-4.1"))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == width, "the heading fills it"


def test_what_an_encoding_does_not_have_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    display.show(stack())
    assert b"5.0 text  A gradient; 18 ?C and clear." in written.getvalue()


def test_in_a_kernel_nothing_of_it_is_saved(kernel: InteractiveShell) -> None:
    kernel.extension_manager.load_extension("llmneutral")  # type: ignore[union-attr]
    try:
        kernel.user_ns["x"] = stack()
        (shown,) = outputs(kernel, "from llmneutral_widgets.display import show; show(x)")
        assert shown.data["text/plain"] == "PromptStack of 7 messages"
    finally:
        kernel.extension_manager.unload_extension("llmneutral")  # type: ignore[union-attr]


def test_which_sink(shell: InteractiveShell) -> None:
    assert isinstance(display.sink(), TextSink)
    vars(shell)["kernel"] = SimpleNamespace()
    assert isinstance(display.sink(), DisplaySink)


def test_a_stream_ends_as_one_saved_output(kernel: InteractiveShell) -> None:
    stream = Stream()
    with capture_output() as captured:
        exchange = display.show(stream)
    assert isinstance(exchange, Exchange)
    assert (exchange.status, exchange.text) == ("complete", "Hello.")
    assert stream.closed == 1
    assert captured.outputs[-1].data[MIME]["status"] == "complete"
    updates = [output for output in captured.outputs if output.transient.get("display_id")]
    assert len({output.transient["display_id"] for output in updates}) == 1


@pytest.mark.parametrize(
    ("ending", "status"), [(KeyboardInterrupt(), "interrupted"), (llmneutral.ServerError("broke"), "failed")]
)
def test_a_stream_that_breaks_is_closed_shown_and_raised(
    kernel: InteractiveShell, ending: BaseException, status: str
) -> None:
    stream = Stream(ending)
    with capture_output() as captured, pytest.raises(type(ending)):
        display.show(stream)
    assert stream.closed == 1
    assert captured.outputs[-1].data[MIME]["status"] == status


def test_every_output_has_an_id_of_its_own(kernel: InteractiveShell) -> None:
    """With the id of an earlier run, a front end would change the output of that run too."""
    with capture_output() as captured:
        for _ in range(3):
            display.publish(bundle_of(stack())).update(bundle_of(stack()))
    ids = [output.transient["display_id"] for output in captured.outputs]
    assert len(ids) == 6
    assert len(set(ids)) == 3


def test_nothing_appends_to_an_output_and_nothing_runs_a_loop() -> None:
    """Appending to an output of ipywidgets sends all of it again; a loop of our own would fail inside a kernel's."""
    sources = sorted(Path(display.__file__).parent.rglob("*.py"))
    assert len(sources) > 30
    refused = re.compile(r"append_std|append_display|widgets\.Output\(|import Output|asyncio\.run|nest_asyncio")
    found = [(path.name, match[0]) for path in sources for match in refused.finditer(path.read_text("utf-8"))]
    assert found == []
    assert refused.search("out.append_stdout('x')"), "it would be noticed"


async def test_an_async_stream_is_awaited(kernel: InteractiveShell) -> None:
    stream = AsyncStream()
    with capture_output() as captured:
        exchange = await display.show(stream)
    assert exchange.text == "Hello."
    assert stream.closed == 1
    assert MIME in captured.outputs[-1].data


async def test_a_cancelled_async_stream_is_interrupted(kernel: InteractiveShell) -> None:
    stream = AsyncStream(asyncio.CancelledError())
    with capture_output() as captured, pytest.raises(asyncio.CancelledError):
        await display.show(stream)
    assert stream.closed == 1
    assert captured.outputs[-1].data[MIME]["status"] == "interrupted"


def test_a_terminal_prints_a_stream(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    display.show(Stream())
    assert capsys.readouterr().out.startswith("Hello.\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), ValueError("no city")])
async def test_what_ends_a_shown_stream_is_told_in_a_line(kernel: InteractiveShell, error: BaseException) -> None:
    """An async one and a sync one: their frames are of libraries."""
    kind = asyncio.CancelledError if isinstance(error, KeyboardInterrupt) else type(error)
    with capture_output(), pytest.raises(kind) as found:  # in a task, an interrupt is its cancellation
        await display.show(AsyncStream(error))
    lines: list[str] = getattr(found.value, "_render_traceback_", list)()
    assert (
        lines[0].startswith(("KeyboardInterrupt", "CancelledError", "ValueError"))
        or "Cell" in lines[0]
        or "File test_display.py" in lines[0]
    )
    assert not [line for line in lines if "widgets" in line]
    with capture_output(), pytest.raises(kind):
        display.show(Stream(error))
