"""Chunks in, deltas out, an answer at the end. The API of these tests says everything by the reader's own methods."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ActionCallMessageContent,
    GenericMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert.names import ToolNames, digest
from llmneutral.convert.neutral import neutral_normalizer
from llmneutral.convert.stream import COMPACT_AT, Reader, StreamNormalizer
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.responses import ErrorInfo, NormalizedResponse, Usage

FINISH: dict[str, Any] = {"STOP": "stop", "TOOLS": "tool_calls", "CUT": "length"}


def say(chunk: Any, reader: Reader) -> None:
    """A chunk is a list of (method, arguments, keywords)."""
    for method, arguments, keywords in chunk:
        getattr(reader, method)(*arguments, **keywords)


def read(body: Any, reader: Reader) -> None:
    say(body["say"], reader)
    reader.terminate()


def usage(raw: Any) -> Usage:
    return Usage(input_total=raw.get("in"), output_total=raw.get("out"), total=raw.get("all"))


def normalizer(**options: Any) -> StreamNormalizer:
    return StreamNormalizer("test", chunk=say, read=read, finish=FINISH, usage=usage, **options)


def op(method: str, *arguments: Any, **keywords: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    return method, arguments, keywords


def streamed(*ops: Any, end: bool = True, **options: Any) -> tuple[list[DeltaMessage], NormalizedResponse]:
    """Each operation is a chunk of its own."""
    made = normalizer(**options)
    deltas = [delta for each in ops for delta in made.feed([each])]
    if end:
        deltas += made.feed("[DONE]")
    return deltas + made.close(), made.response


def content(response: NormalizedResponse) -> Any:
    """The blocks of an answer, whatever they are."""
    return response.message.content


def blocks(*ops: Any, **options: Any) -> Any:
    return content(streamed(*ops, **options)[1])


# --- blocks -------------------------------------------------------------------------------------


def test_pieces_of_a_key_are_one_block() -> None:
    found = blocks(op("text", 0, "Hel"), op("text", 1, "Other"), op("text", 0, "lo"))
    assert found == (TextMessageContent("Hello"), TextMessageContent("Other"))


def test_deltas_that_were_given_stay_as_they_were() -> None:
    made = normalizer()
    kept = [made.feed([]), made.feed([]), made.feed([op("text", "a", "Hel")]), made.feed([])]
    made.feed([op("text", "a", "lo")])
    assert [len(deltas) for deltas in kept] == [0, 0, 2, 0]


def test_slots_are_numbered_as_they_appear() -> None:
    deltas, _ = streamed(op("text", 7, "a"), op("thinking", 3, "b"), op("text", 7, "c"))
    assert [delta.content.index for delta in deltas if delta.content is not None] == [0, 1, 0]


def test_thinking_and_its_marks() -> None:
    (block,) = blocks(
        op("thinking", 0, "h"), op("thinking", 0, "m"), op("thinking", 0, signature="s"), op("thinking", 0)
    )
    assert block == ThinkingMessageContent("hm", signature="s", origin=Origin("test"))
    (block,) = blocks(op("thinking", 0, data="blob"))
    assert block.is_redacted
    kinds = [
        delta.kind
        for delta in streamed(op("thinking", 0, "h"), op("thinking", 0, signature="s"), op("thinking", 1, data="b"))[0]
    ]
    assert kinds == ["start", "thinking", "signature", "redacted", "end"]


def test_a_call_is_put_together_once() -> None:
    ops = [op("call", 0, "id1", "look", '{"a"'), op("call", 0, "id1", None, ": 1}"), op("call", 0, None, None, "")]
    assert blocks(*ops) == (ActionCallMessageContent("id1", "look", input={"a": 1}, arguments='{"a": 1}'),)


@pytest.mark.parametrize("raw", ["", "  "])
def test_no_arguments_are_an_empty_object(raw: str) -> None:
    (block,) = blocks(op("call", 0, "id1", "look", raw), op("done", 0))
    assert block.input == {}


@pytest.mark.parametrize("raw", ["null", "[1]", "3", '"{}"', '{"a": ', "no json", '{"a": NaN}'])
def test_arguments_that_are_no_object_are_invalid_and_kept(raw: str) -> None:
    _, response = streamed(op("call", 0, "id1", "look", raw), op("done", 0))
    assert response.message.content == (InvalidActionCallMessageContent("id1", "look", raw=raw),)
    assert response.to_dict()["invalid_tool_calls"] == [{"id": "id1", "name": "look", "raw_arguments": raw}]


def test_a_call_without_an_id_gets_a_stable_one_of_its_own() -> None:
    ops = [op("start", "r1"), op("call", 0, "", "look", "{}"), op("call", 1, None, "look", "{}"), op("finish", "TOOLS")]
    first, second = blocks(*ops)
    assert (first.tag, second.tag) == (f"call_{digest('r1:0:look:{}', 12)}", f"call_{digest('r1:1:look:{}', 12)}")
    assert blocks(*ops) == (first, second)


def test_a_whole_block_replaces_its_pieces() -> None:
    found = blocks(op("text", 0, "Helo"), op("block", 0, TextMessageContent("Hello")), op("text", 1, "!"))
    assert [block.to_text() for block in found] == ["Hello", "!"]


def test_a_forgotten_key_begins_anew() -> None:
    deltas, response = streamed(op("text", 0, "a"), op("forget", 0), op("text", 0, "b"))
    assert [block.to_text() for block in response.message.content] == ["a", "b"]
    assert [delta.kind for delta in deltas] == ["start", "text", "block_done", "text", "end"]


def test_a_piece_of_another_kind_begins_a_new_block() -> None:
    found = blocks(op("text", 0, "a"), op("thinking", 0, "b"), op("text", 0, "c"))
    assert [block.to_text() for block in found] == ["a", "b", "c"]


def test_nothing_is_no_block() -> None:
    assert blocks(op("text", 0, ""), op("refusal", 1, ""), op("thinking", 2, "")) == ()
    assert blocks(op("citation", 0, {"url": "u"}))[0].citations == ({"url": "u"},)


def test_refusals_sounds_and_citations() -> None:
    _, response = streamed(
        op("text", 0, "a"), op("citation", 0, {"n": 1}), op("citation", None, {"n": 2}),
        op("refusal", 1, "no", "safety"), op("audio", 2, data="AAAA", id="au_1"), op("audio", 2, transcript="hi"),
    )  # fmt: skip
    text, refusal, sound = content(response)
    assert text.citations == ({"n": 1},)
    assert response.citations == ({"n": 1}, {"n": 2})
    assert (refusal.text, refusal.category) == ("no", "safety")
    assert (sound.data, sound.id, sound.transcript) == ("AAAA", "au_1", "hi")
    assert response.finish_reason == "refusal"


def test_what_a_reader_knows_so_far() -> None:
    made = normalizer()
    made.feed([op("text", 0, "ab"), op("text", 0, "c"), op("call", 1, "i", "look", '{"a')])
    assert made.reader.so_far(0) == "abc"
    assert made.reader.so_far(1) == '{"a'
    assert made.reader.so_far(2) == ""
    assert made.reader.has(0)
    assert not made.reader.has(2)


# --- names, origins -----------------------------------------------------------------------------


def test_the_caller_gets_the_names_he_knows() -> None:
    names = ToolNames()
    names.add(("files", "read"), "files_read")
    names.renamed["files_read"] = {"a_b": "a b"}
    found = blocks(
        op("call", 0, "i", "files_read", '{"a_b": 1}'), op("call", 1, "j", "other", '{"a_b": 1}'), names=names
    )
    assert [(block.name, block.path, block.input) for block in found] == [
        ("files", "read", {"a b": 1}),
        ("other", None, {"a_b": 1}),
    ]
    whole = blocks(op("block", 0, ActionCallMessageContent("i", "files_read", input={"a_b": 1})), names=names)
    assert (whole[0].name, whole[0].path, whole[0].input) == ("files", "read", {"a b": 1})
    assert found[1].arguments == '{"a_b": 1}'
    assert found[0].arguments is None  # they are not what was written any more


def test_what_only_its_maker_can_read_is_stamped() -> None:
    server = GenericMessageContent({"type": "x"})
    found = blocks(
        op("start", "r1", "m-1"), op("thinking", 0, "hm"), op("text", 1, "a"), op("block", 2, server), host="h"
    )
    assert [block.origin for block in found] == [Origin("test", "m-1", "h"), None, Origin("test", "m-1", "h")]
    signed = blocks(op("block", 0, TextMessageContent("a", thought_signature="s")), model="asked")
    assert signed[0].origin == Origin("test", "asked")


# --- beginning and end --------------------------------------------------------------------------


def test_there_is_one_start_first_and_one_end_last() -> None:
    made = normalizer()
    deltas = [*made.feed([op("text", 0, "a")]), *made.feed([op("start", "r1", "m")]), *made.close(), *made.close()]
    assert [delta.kind for delta in deltas] == ["start", "text", "end"]
    assert made.feed([op("text", 0, "more")]) == []
    assert made.response.text == "a"
    assert (made.response.id, made.response.model) == ("r1", "m")
    assert [delta.kind for delta in normalizer().close()] == ["start", "end"]


@pytest.mark.parametrize(
    ("ops", "done", "complete", "reason"),
    [
        ([op("text", 0, "a")], True, True, "stop"),
        ([op("text", 0, "a")], False, False, "incomplete"),
        ([op("text", 0, "a"), op("finish", "STOP")], False, True, "stop"),
        ([op("text", 0, "a"), op("finish", "CUT")], False, True, "length"),
        ([op("finish", "WEIRD")], False, True, "other"),
        ([op("finish", "STOP"), op("finish", "CUT")], False, True, "length"),
        ([op("call", 0, "i", "look", "{}"), op("finish", "STOP")], False, True, "tool_calls"),
        ([op("call", 0, "i", "look", "{}")], True, True, "tool_calls"),
        ([op("call", 0, "i", "look", "{}"), op("finish", "CUT")], False, True, "length"),
        ([op("refusal", 0, "no"), op("finish", "STOP")], False, True, "refusal"),
        ([op("text", 0, "a"), op("error", "overloaded_error", "busy")], True, False, "error"),
        ([], True, True, "stop"),
        ([], False, False, "incomplete"),
    ],
)
def test_how_it_ended(ops: list[Any], done: bool, complete: bool, reason: str) -> None:
    _, response = streamed(*ops, end=done)
    assert (response.complete, response.finish_reason) == (complete, reason)


def test_a_transport_may_have_the_last_word() -> None:
    _, response = streamed(op("finish", "STOP"), settle=lambda reader, reason: "pause")
    assert response.finish_reason == "pause"
    made = normalizer()
    made.feed([op("text", 0, "a"), op("finish", "STOP")])
    made.reader.incomplete = True
    made.close()
    assert (made.response.complete, made.response.finish_reason) == (False, "incomplete")


def test_an_interrupted_stream_keeps_what_came() -> None:
    made = normalizer()
    made.feed([op("text", 0, "Hel"), op("call", 1, "i", "look", "{}"), op("call", 2, "j", "look", "{}")])
    assert [delta.complete for delta in made.close(interrupted=True)] == [False]
    text, first, second = content(made.response)
    assert text.to_text() == "Hel"
    assert isinstance(first, ActionCallMessageContent)  # another block followed: it was whole
    assert second == InvalidActionCallMessageContent("j", "look", raw="{}")
    assert made.response.finish_reason == "incomplete"


def test_a_call_that_was_closed_stays_valid() -> None:
    made = normalizer()
    made.feed([op("call", 0, "i", "look", "{}"), op("done", 0), op("done", 0), op("done", 9)])
    made.close(interrupted=True)
    assert isinstance(made.response.message.content[0], ActionCallMessageContent)


def test_an_error_from_outside() -> None:
    made = normalizer()
    made.feed([op("text", 0, "a")])
    made.fail(ErrorInfo("connection_error", message="gone"))
    made.fail(ErrorInfo("timeout_error"))
    made.close(interrupted=True)
    assert made.response.error == ErrorInfo("connection_error", message="gone")
    assert made.response.finish_reason == "error"
    assert made.response.text == "a"


def test_an_error_inside_the_stream_is_classified() -> None:
    _, response = streamed(op("error", "overloaded_error", "busy", status=529))
    assert response.error is not None
    assert (response.error.type, response.error.raw_type, response.error.retryable) == (
        "overloaded_error", "overloaded_error", True,
    )  # fmt: skip


# --- usage --------------------------------------------------------------------------------------


def test_of_each_count_the_last_value_stands() -> None:
    deltas, response = streamed(
        op("usage", {"in": 5, "out": 1}), op("usage", {"in": None, "out": 7, "more": {"a": 1}}), op("usage", None)
    )
    assert (response.usage.input_total, response.usage.output_total, response.usage.total) == (5, 7, None)
    assert [delta.usage.output_total for delta in deltas if delta.usage is not None] == [1, 7]
    _, replaced = streamed(op("usage", {"in": 5}), op("usage", {"out": 7}, replace=True))
    assert (replaced.usage.input_total, replaced.usage.output_total) == (None, 7)


def test_no_usage_is_unknown() -> None:
    assert set(streamed(op("text", 0, "a"))[1].usage.to_dict().values()) == {None}


def test_counts_inside_counts_are_merged() -> None:
    made = normalizer()
    made.feed([op("usage", {"details": {"a": 1, "b": 2}}), op("usage", {"details": {"a": None, "b": 3}})])
    assert made.reader.raw_usage == {"details": {"a": 1, "b": 3}}


# --- what is not understood ---------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [None, 3, "text", [3], [("text",)], [op("text")], [op("nothing")], {"a": 1}])
def test_a_chunk_that_is_not_understood_is_a_note(chunk: Any) -> None:
    made = normalizer()
    assert all(delta.kind != "error" for delta in made.feed(chunk))
    made.feed([op("text", 0, "a"), op("finish", "STOP")])
    made.close()
    assert made.response.text == "a"
    assert made.response.complete


@pytest.mark.parametrize("body", [None, 3, [], "text", {}, {"say": 3}])
def test_an_answer_that_is_not_understood_is_an_error(body: Any) -> None:
    made = normalizer()
    made.whole(body)
    made.close()
    assert made.response.error is not None
    assert made.response.error.type == "malformed_response"
    assert made.response.finish_reason == "error"


def test_remarks_are_kept_once() -> None:
    made = normalizer()
    for _ in range(3):
        made.feed([op("note", "odd")])
    made.close()
    assert [note for note in made.response.notes if note == "odd"] == ["odd"]


# --- length -------------------------------------------------------------------------------------


def test_long_streams_are_folded_and_stay_the_same() -> None:
    pieces = [f"{n} " for n in range(3 * COMPACT_AT)]
    made = normalizer()
    made.feed([op("call", 2, "i", "look")])
    for piece in pieces:
        made.feed([op("text", 0, piece), op("thinking", 1, piece), op("call", 2, fragment=piece)])
    assert all(len(slot.pieces) <= COMPACT_AT for slot in made.reader.slots)
    made.close()
    call, text, thinking = content(made.response)
    assert text.to_text() == thinking.to_text() == "".join(pieces)
    assert isinstance(call, InvalidActionCallMessageContent)
    assert call.raw == "".join(pieces)


# --- laws ---------------------------------------------------------------------------------------

words = st.text(max_size=4)
operations = st.one_of(
    st.builds(lambda k, w: op("text", k, w), st.integers(0, 2), words),
    st.builds(lambda k, w: op("thinking", k, w), st.integers(3, 4), words),
    st.builds(lambda k, w: op("call", k, f"c{k}", "look", w), st.integers(5, 6), words),
    st.builds(lambda k: op("done", k), st.integers(0, 6)),
    st.builds(lambda k: op("forget", k), st.integers(0, 6)),
    st.builds(lambda n: op("usage", {"out": n}), st.none() | st.integers(0, 9)),
    st.builds(lambda r: op("finish", r), st.sampled_from(["STOP", "CUT", "WEIRD"])),
    st.just(op("start", "r1", "m")),
)


@given(st.lists(operations, max_size=12))
def test_any_cut_gives_the_same(ops: list[Any]) -> None:
    one = normalizer()
    together = [*one.feed(ops), *one.close()]
    apart, response = streamed(*ops, end=False)
    assert [d for d in together if d.kind != "start"] == [d for d in apart if d.kind != "start"]
    assert one.response == response


@given(st.lists(operations, max_size=12))
def test_whole_is_streamed(ops: list[Any]) -> None:
    made = normalizer()
    made.whole({"say": ops})
    made.close()
    assert made.response == streamed(*ops)[1]


@given(st.lists(operations, max_size=12))
def test_the_answer_as_far_as_it_has_come(ops: list[Any]) -> None:
    made = normalizer()
    for each in ops:
        before = made.response.text
        made.feed([each])
        assert len(made.response.text) >= len(before)
        json.dumps(made.response.to_dict())


@given(st.lists(operations, max_size=8), st.lists(operations, max_size=8))
def test_two_streams_stay_apart(first: list[Any], second: list[Any]) -> None:
    one, two = normalizer(), normalizer()
    for place in range(max(len(first), len(second))):
        one.feed(first[place : place + 1])
        two.feed(second[place : place + 1])
    one.close()
    two.close()
    assert one.response == streamed(*first, end=False)[1]
    assert two.response == streamed(*second, end=False)[1]


# --- deltas of ours -----------------------------------------------------------------------------


@given(st.lists(operations, max_size=12))
def test_deltas_of_ours_go_through_a_stream_of_ours(ops: list[Any]) -> None:
    deltas, response = streamed(*ops)
    again = neutral_normalizer()
    for delta in deltas:
        again.feed(delta)
    again.close()
    found = again.response
    assert [type(block) for block in found.message.content] == [type(block) for block in response.message.content]
    assert (found.text, found.complete) == (response.text, response.complete)
    assert found.finish_reason == response.finish_reason


def test_a_message_of_ours_is_a_whole_answer() -> None:
    made = neutral_normalizer()
    made.whole(Message("assistant", (TextMessageContent("a"), ActionCallMessageContent("i", "look"))))
    made.close()
    assert made.response.text == "a"
    assert made.response.finish_reason == "tool_calls"
    assert made.response.complete
