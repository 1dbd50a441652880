"""A recorded stream, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from llmneutral_widgets import session
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.panels import DeltaView
from llmneutral_widgets.views.deltas import EMPTY
from tests.widgets.panels.looking import buttons, html, quiet, text
from tests.widgets.samples import STREAM

pytestmark = quiet


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    session.close()


def exchange(deltas: Any = tuple(STREAM), **fields: Any) -> Exchange:
    return Exchange(**{"id": "x-1", "status": "complete", "deltas": deltas, **fields})


def test_it_begins_at_the_end() -> None:
    view = DeltaView(exchange())
    assert (view.slider.min, view.slider.max, view.slider.value) == (1, len(STREAM), len(STREAM))
    assert f"chunk {len(STREAM)} of {len(STREAM)} · 3,320 ms" in text(view.box)
    assert "w38 w39" in text(view.box)


def test_the_slider_replays_to_any_chunk() -> None:
    view = DeltaView(exchange())
    view.slider.value = 3
    moment = next(value for value in html(view.box) if "chunk 3 of" in value)
    assert "<p>w0 w1</p>" in moment
    view.slider.value = 43
    moment = next(value for value in html(view.box) if "chunk 43 of" in value)
    assert '<code>weather</code><pre>{"city": </pre>' in moment
    assert "Paris" not in moment


def test_the_buttons_step_and_stay_within_the_stream() -> None:
    view = DeltaView(exchange())
    found = buttons(view.box)
    found["Back"].click()
    assert view.slider.value == len(STREAM) - 1
    found["Forward"].click()
    found["Forward"].click()
    assert view.slider.value == len(STREAM)
    view.slider.value = 1
    found["Back"].click()
    assert view.slider.value == 1
    assert view.last_error is None


def test_without_a_recording_there_is_no_slider() -> None:
    view = DeltaView(exchange(()))
    assert EMPTY in text(view.box)
    assert view.slider.layout.display == "none"
    assert {name: each.layout.display for name, each in buttons(view.box).items()} == {
        "Back": "none",
        "Forward": "none",
        "Refresh": None,
    }
    assert DeltaView(exchange()).slider.layout.display is None


def test_a_partial_stream_has_its_badge() -> None:
    assert "interrupted" in text(DeltaView(exchange(status="interrupted")).box)


def test_a_recording_that_is_too_big_is_told() -> None:
    big: list[Any] = [(n / 10, {"data": "x" * 300_000}, []) for n in range(10)]
    view = DeltaView(exchange(big))
    assert view.slider.max == 6
    assert "recording stopped at 6 chunks: they are too big" in text(view.box)


def test_a_recording_of_which_chunks_are_lost_is_told() -> None:
    view = DeltaView(msgspec.structs.replace(exchange(), lost_chunks=1_000))
    assert f"recording stopped at {len(STREAM)} of {1_000 + len(STREAM):,} chunks" in text(view.box)


def test_the_session_s_last_one() -> None:
    view = DeltaView()
    assert EMPTY in text(view.box)
    session.current().record(None, [exchange(name="default")])
    view.refresh()
    assert view.slider.max == len(STREAM)


def test_the_static_form() -> None:
    bundle = DeltaView(exchange())._repr_mimebundle_()
    assert bundle["text/plain"] == f"{len(STREAM)} chunks recorded"
    assert "first token" in bundle["text/html"]
