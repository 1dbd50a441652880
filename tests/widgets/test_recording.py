"""A recorded stream holds no secret, however it was cut."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets.recording import clean_record
from llmneutral_widgets.scrub import Secrets

VALUE = "tiger-lily-umbrella"
SECRETS = Secrets([VALUE])


def record(pieces: list[str], kind: str = "text") -> list[tuple[float, Any, list[Any]]]:
    """A stream that brings these pieces, each in a chunk of its own."""
    made = []
    for n, piece in enumerate(pieces):
        content = (
            llmneutral.TextDeltaMessageContent(piece)
            if kind == "text"
            else llmneutral.ActionCallDeltaMessageContent(partial_input=piece, index=1)
        )
        made.append((n / 10, {"delta": {"content": piece}}, [llmneutral.DeltaMessage(kind, content)]))  # type: ignore[arg-type]
    return made


def joined(entries: list[Any]) -> tuple[str, str]:
    """The text of the deltas, and of the chunks."""
    deltas = [entry[2][0]["content"] for entry in entries]
    text = "".join([content.get("text") or content.get("partial_input") or "" for content in deltas])
    return text, "".join([entry[1]["delta"]["content"] for entry in entries])


@given(
    st.text("ab -", max_size=12), st.text("ab -", max_size=12), st.lists(st.integers(1, 30), max_size=8), st.booleans()
)
def test_no_cut_brings_a_secret_back(before: str, after: str, cuts: list[int], is_call: bool) -> None:
    text = f"{before}{VALUE}{after}{VALUE}"
    places = sorted({0, *[cut % len(text) for cut in cuts], len(text)})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    for shown in joined(clean_record(record(pieces, "call" if is_call else "text"), SECRETS)):
        assert VALUE not in shown
        assert "•••" in shown
        assert shown.startswith(before)


def test_what_is_no_secret_stays_as_it_was() -> None:
    entries = clean_record(record(["Hel", "lo"]), SECRETS)
    assert joined(entries) == ("Hello", "Hello")
    assert [entry[0] for entry in entries] == [0.0, 0.1]
    json.dumps(entries)


def test_blocks_are_looked_at_apart() -> None:
    text, call = record(["tiger-lily"]), record(["-umbrella"], "call")
    entries = clean_record([*text, *call], SECRETS)
    assert "•••" not in json.dumps(entries, ensure_ascii=False)


def test_an_empty_recording() -> None:
    assert clean_record([]) == []
