"""The only place that publishes: `show`, and the handle of an output.

What must live here: everything that asks IPython to show something. What is shown is made elsewhere (`bundles`);
IPython is imported when something is shown, and not before.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from llmneutral_widgets.bundles import Bundle, bundle_of
from llmneutral_widgets.cells import number_of, shell
from llmneutral_widgets.exchange import Exchange, new_id, status_of
from llmneutral_widgets.interrupts import heard, hold, is_pressed
from llmneutral_widgets.sinks import DisplaySink, Sink, TextSink
from llmneutral_widgets.views.terminal import NARROWEST

_WIDEST = 160
"""Cells of a line that is still easy to read."""


class Output:
    """An output of a cell that can be replaced; without a front end, what is shown is printed once, as text."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def update(self, bundle: Bundle) -> None:
        """Shows another bundle in its place."""
        if self._handle is not None:
            self._handle.update(bundle.data, metadata=dict(bundle.metadata), raw=True)


def publish(bundle: Bundle) -> Output:
    """Shows a bundle as a new output with an id of its own, and returns its handle."""
    if shell() is None:
        print_out(bundle)
        return Output(None)
    from IPython import display as front

    display: Any = front.display  # has no types
    return Output(display(shown_here(bundle), metadata=dict(bundle.metadata), raw=True, display_id=True))


def shown_here(bundle: Bundle) -> dict[str, Any]:
    """Returns the data of a bundle; where there is no front end, which shows the text alone, the text says it all."""
    return {**bundle.data} if has_kernel() else {**bundle.data, "text/plain": bundle.text(width())}


def print_out(bundle: Bundle) -> None:
    """Shows the text of a bundle alone, as wide as the terminal is; what its encoding does not have becomes `?`."""
    stream = sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(f"{bundle.text(width())}\n".encode(encoding, "replace").decode(encoding))


def width() -> int:
    """Returns the cells of a line of this terminal, but for the last one, at which some begin the next line."""
    return min(_WIDEST, max(NARROWEST, shutil.get_terminal_size().columns - 1))


def has_kernel() -> bool:
    """Whether outputs can be replaced: in a kernel (nbclient included), not in a terminal."""
    return hasattr(shell(), "kernel")


def sink() -> Sink:
    """Returns the sink for one answer, here: an output of a notebook, or a terminal."""
    return DisplaySink(publish) if has_kernel() else TextSink()


def show(value: Any, source: Any = None) -> Any:
    """Shows a value.

    Args:
        value: A stack, conversion, dict of conversions, message, response, exchange, config or error; or a stream of
            deltas, which is shown while it comes (`await show(driver.astream(…))` for an async one).
        source: For conversions: the stack they were made of, to be set beside them.

    Returns:
        For a stream the finished `Exchange` (for an async one a coroutine that returns it), otherwise None.
    """
    if isinstance(value, AsyncIterator):
        return _show_async(value)
    if isinstance(value, Iterator):
        return _show_stream(value)
    publish(_compared(value, source) if _are_conversions(value) else bundle_of(value, source))
    return None


def _are_conversions(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all([hasattr(each, "payload") for each in value.values()])


def _compared(found: Mapping[str, Any], source: Any) -> Bundle:
    """Conversions side by side, each with what the types of its SDK say, as in the other views."""
    from llmneutral_widgets.comparing import compared

    try:
        return compared(found, source)
    except Exception:  # noqa: BLE001 - a view that fails must not fail the cell: this one says what is wrong
        return bundle_of(found, source)


def _show_stream(stream: Any) -> Exchange:
    here = sink()
    with _calm(), heard():
        return _kept(stream, here, _ended(stream, here))


async def _show_async(stream: Any) -> Exchange:
    here = sink()
    error = await _ended_async(stream, here)
    with _calm(), heard():
        hold()
        return _kept(stream, here, error)


def _ended(stream: Any, here: Sink) -> BaseException | None:
    """Shows what comes, closes the stream, and returns what ended it early; from then on a press waits."""
    close: Callable[[], object] = getattr(stream, "close", _nothing)
    error: BaseException | None = None
    try:
        try:
            here.start(_request(stream))
            for delta in stream:
                here.push(delta)
        except BaseException as raised:  # noqa: BLE001  # an interrupt too: what has come is shown before it goes on
            error = raised
        finally:
            close()
        hold()
    except BaseException as late:  # noqa: BLE001  # a press while the stream was closed
        hold()
        error = late if error is None else error
    return error


async def _ended_async(stream: Any, here: Sink) -> BaseException | None:
    close: Callable[[], Awaitable[object]] = getattr(stream, "aclose", _async_nothing)
    error: BaseException | None = None
    try:
        try:
            here.start(_request(stream))
            async for delta in stream:
                here.push(delta)
        except BaseException as raised:  # noqa: BLE001  # as above; a cancellation too
            error = raised
        finally:
            await close()
    except BaseException as late:  # noqa: BLE001  # as above
        error = late if error is None else error
    return error


def _kept(stream: Any, here: Sink, error: BaseException | None) -> Exchange:
    """Ends the output with what has come, and lets go of a press that waits."""
    exchange: Exchange | None = None
    try:
        exchange = _exchange(stream, error)
    except Exception as broken:  # noqa: BLE001  # a stream of the user's own that cannot tell its answer
        error = broken if error is None else error
    if error is not None:
        here.abort(exchange, error)
    elif exchange is not None:
        here.finish(exchange)
    if is_pressed() and (error is None or isinstance(error, Exception)):
        error = KeyboardInterrupt()
    if error is not None:
        raise error
    assert exchange is not None  # without an error there is one
    return exchange


@contextlib.contextmanager
def _calm() -> Iterator[None]:
    """What leaves this block tells itself in a line, as a cell shows it."""
    try:
        yield
    except BaseException as error:
        found = _told(error)
        if found is error:
            raise
        raise found from None


def _told(error: BaseException) -> BaseException:
    """An error as a cell shows it: what had come, and what went wrong, stands in the output already."""
    from llmneutral_widgets.failures import of_task, presentable

    return of_task(presentable(error, "short", is_shown=has_kernel()))


def _nothing() -> None:
    """Closes a stream that has no connection."""


async def _async_nothing() -> None:
    """Closes a stream that has no connection."""


def _request(stream: Any) -> dict[str, Any]:
    """Who is asked, as far as the stream tells."""
    conversion = getattr(stream, "conversion", None)
    target = getattr(conversion, "target", None)
    return {
        "provider": getattr(target, "provider", None),
        "api": getattr(conversion, "api", None),
        "model": getattr(target, "model", None),
    }


def _exchange(stream: Any, error: BaseException | None = None) -> Exchange:
    conversion, response = getattr(stream, "conversion", None), getattr(stream, "response", None)
    return Exchange(
        id=new_id(),
        status=status_of(response, error),
        **_request(stream),
        answered_by=getattr(response, "model", None),
        response=response,
        conversions={} if conversion is None else {conversion.api: conversion},
        deltas=tuple(getattr(stream, "record", None) or ()),
        error=error if isinstance(error, Exception) else None,
        execution_count=number_of(shell()),
    )
