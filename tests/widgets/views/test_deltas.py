"""The inspector of a stream: what is folded, what is marked, what is capped."""

from __future__ import annotations

import re
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from llmneutral.ir.deltas import DeltaKind
from llmneutral_widgets.views.deltas import EMPTY, KINDS, MOST, Entry, deltas_page, deltas_text, replay_part, rows
from llmneutral_widgets.views.page import LIMIT
from tests.widgets.samples import STREAM


def text(seconds: float, piece: str, index: int = 0) -> Entry:
    return Entry(seconds, {"t": piece}, [{"kind": "text", "content": {"text": piece, "index": index}}])


def test_runs_are_folded_and_what_matters_is_marked() -> None:
    table = rows([Entry(*entry) for entry in STREAM])
    assert [(len(row.entries), row.marks) for row in table] == [
        (1, ()),
        (1, ("first token",)),
        (39, ()),
        (1, ("1.8 s gap",)),
        (2, ()),
        (1, ("finish",)),
        (1, ("usage",)),
        (1, ("end",)),
    ]
    assert table[4].so_far == '{"city": "Paris"}'


def test_the_page() -> None:
    output = deltas_page(STREAM, stopped="5,000 chunks", badges=["incomplete"])
    assert "47 chunks · 3.32 s · recording stopped at 5,000 chunks" in output
    assert ">incomplete<" in output
    assert "39 chunks, 147 characters, 0.76 s" in output
    assert "39 × text" in output
    assert "finish</span> tool_calls (tool_use)" in output
    assert re.search(r"usage</span><div[^>]*><small>output_total: </small><span[^>]*>96</span>", output)
    assert "call</span> weather" in output
    assert output.count("<meter") == 8
    assert 'value="1.000"' in output


def test_every_kind_of_delta_has_its_words() -> None:
    assert {*KINDS} == {*get_args(DeltaKind)}


def test_a_reader_is_told_what_the_columns_and_words_mean() -> None:
    output = deltas_page(STREAM)
    legend = output.partition("what the columns and words mean</summary>")[2]
    assert re.findall(r"<li><b>([^<]+)</b>: ", legend) == re.findall(r"<th [^>]*>([^<]+)</th>", output)
    assert re.findall(r"<li><mark>([^<]+)</mark>", legend) == ["first token", "gap"]
    kinds = {delta["kind"] for _, _, deltas in STREAM for delta in deltas}
    assert {*re.findall(r'<li><span class="kind">([^<]+)</span>', legend)} == kinds


def test_a_long_id_is_short_and_its_place_has_all_of_it() -> None:
    name = "chatcmpl-zTdNVJyd6g1TJBnArtRYsJvx7e31FJDw"
    output = deltas_page([(0.1, {}, [{"kind": "start", "id": name, "model": "tiny", "content": None}])])
    assert f'<small>id: </small><span title="{name}">chatcmpl-zTd…</span>' in output
    assert '<small>model: </small><span title="tiny">tiny</span>' in output


def test_other_blocks_and_gaps_end_a_run() -> None:
    entries = [text(0, "a"), text(0.1, "b"), text(0.2, "c"), text(0.3, "d", 1), text(0.4, "e", 1), text(2, "f", 1)]
    assert [[entry.chunk["t"] for entry in row.entries] for row in rows(entries)] == [
        ["a"],
        ["b", "c"],
        ["d", "e"],
        ["f"],
    ]


def test_the_block_so_far_is_its_end() -> None:
    entries = [text(n / 100, f"{n} ") for n in range(200)]
    assert rows(entries)[-1].so_far == "…" + "".join(f"{n} " for n in range(200))[-120:]
    shown = deltas_page([tuple(entry) for entry in entries])
    assert f"<bdi>…{rows(entries)[-1].so_far[1:]}</bdi>" in shown
    assert "…" not in rows(entries[:5])[-1].so_far, "what is whole has no mark"


def test_empty_and_silent() -> None:
    assert EMPTY in deltas_page([])
    assert "1 chunk" in deltas_page([(0.0, None, [])])


@given(
    st.lists(
        st.tuples(st.floats(0, 5), st.sampled_from(["text", "thinking", "call", "usage", "end"]), st.text(max_size=4))
    )
)
def test_no_chunk_is_lost(given_stream: list[tuple[float, str, str]]) -> None:
    entries = [
        Entry(at, n, [{"kind": kind, "content": {"text": piece}}]) for n, (at, kind, piece) in enumerate(given_stream)
    ]
    found = [entry.chunk for row in rows(entries) for entry in row.entries]
    assert found == list(range(len(entries)))


def test_long_streams_are_capped() -> None:
    record: list[Any] = [(n / 10, {"big": "x" * 5_000}, [{"kind": "generic", "value": {"n": n}}]) for n in range(1_000)]
    output = deltas_page(record)
    assert f"{1_000 - MOST} more rows" in output
    assert output.count("<meter") == MOST
    assert len(output.encode()) <= LIMIT


def test_a_long_run_is_made_in_linear_time() -> None:
    table = rows([text(n / 1000, "a") for n in range(5_000)])
    assert max(len(row.entries) for row in table) <= 500
    assert sum(len(row.entries) for row in table) == 5_000


def test_keys_are_columns_with_scope() -> None:
    assert len(re.findall(r'<th scope="col"', deltas_page(STREAM))) == 5


def test_the_message_as_it_stood_after_a_chunk() -> None:
    shown = replay_part(STREAM, 3)
    assert "chunk 3 of 47 · 420 ms" in shown
    assert "<p>w0 w1</p>" in shown
    assert "w2" not in shown
    assert '<code>weather</code><pre>{"city": </pre>' in replay_part(STREAM, 43)


def test_blocks_stand_in_the_order_in_which_they_began() -> None:
    deltas = [("thinking", "Hm."), ("text", "So "), ("thinking", " Yes."), ("text", "be it.")]
    record: list[Any] = [(n, {}, [{"kind": kind, "content": {"text": text}}]) for n, (kind, text) in enumerate(deltas)]
    shown = replay_part(record, 4)
    assert shown.index("Hm. Yes.") < shown.index("So be it.")


def test_a_chunk_that_brings_nothing_says_so() -> None:
    assert "nothing for the message" in replay_part([(0.0, {"ping": 1}, [])], 1)


# ----------------------------------------------------------------------------------------------------------------------
# The table as text


def test_each_chunk_stands_beside_what_it_brought() -> None:
    printed = deltas_text(STREAM, 100, badges=["incomplete"])
    assert printed.startswith("47 chunks · 3.32 s · incomplete\n")
    assert re.search(r'^ +400  \[first token\] \{"delta": \{"text": "w0 "\}\} +→ text "w0 "$', printed, re.MULTILINE)
    assert re.search(r'^ +420  39 chunks, 147 characters, 0\.76 s +→ 39 × text "w1 w2', printed, re.MULTILINE)
    for said in ("[1.8 s gap]", "→ call weather", "→ finish tool_calls (tool_use)", "output_total: 96", "id: msg_1"):
        assert said in printed


def test_a_stream_as_text_is_bounded_and_says_so() -> None:
    long = [(0.01 * n, {"a": "x" * 5_000}, [{"kind": "block_done"}]) for n in range(1_000)]
    printed = deltas_text(long, 100)
    assert "900 more rows" in printed
    assert printed.count("\n") < 1_000
    assert deltas_text([], 100) == EMPTY
    assert deltas_text([], 100, stopped="0 of 11 chunks") == "recording stopped at 0 of 11 chunks"
    assert "recording stopped at 2 of 9 chunks" in deltas_text(long[:2], 100, stopped="2 of 9 chunks")


def test_a_reason_that_is_the_provider_s_own_word_too_stands_once() -> None:
    def told(own: str) -> str:
        delta = {"kind": "finish", "finish_reason": "length", "raw_finish_reason": own}
        return deltas_text([(0.1, {}, [delta])], 120)

    assert "length (max_tokens)" in told("max_tokens")
    assert "length (length)" not in told("length")
    assert "finish length" in told("length")
