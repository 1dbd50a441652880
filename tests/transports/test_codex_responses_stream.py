"""The events of a stream → deltas and an answer."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral as ln
from llmneutral import ActionCallMessageContent, InvalidActionCallMessageContent, ThinkingMessageContent

CREATED = {"type": "response.created", "response": {"id": "r1", "model": "gpt-5.4", "status": "in_progress"}}
COMPLETED = {
    "type": "response.completed",
    "response": {"id": "r1", "model": "gpt-5.4", "status": "completed", "output": []},
}


def aggregate(*events: Any) -> Any:
    return ln.aggregate([*events], "codex_responses")


def deltas(*events: Any) -> list[Any]:
    return [*ln.normalize_stream([*events], "codex_responses")]


def kinds(*events: Any) -> list[str]:
    return [delta.kind for delta in deltas(*events)]


def event(kind: str, place: int | None = 0, **more: Any) -> dict[str, Any]:
    told = {} if place is None else {"output_index": place}
    return {"type": f"response.{kind}", **told, **more}


def added(item: Any, place: int | None = 0) -> dict[str, Any]:
    return event("output_item.added", place, item=item)


def done(item: Any, place: int | None = 0) -> dict[str, Any]:
    return event("output_item.done", place, item=item)


def text(piece: str, place: int | None = 0, part: int = 0) -> dict[str, Any]:
    return event("output_text.delta", place, content_index=part, delta=piece)


def message(*words: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": word, "annotations": []} for word in words]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content, **more}


CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "", "status": "in_progress"}
WHOLE_CALL = {**CALL, "arguments": '{"a":1}', "status": "completed"}


def arguments(piece: str, place: int = 0) -> dict[str, Any]:
    return event("function_call_arguments.delta", place, item_id="changes", delta=piece)


# --- one kind of event after another ------------------------------------------------------------


def test_a_plain_stream() -> None:
    events = (CREATED, added(message()), text("Hel"), text("lo"), done(message("Hello")), COMPLETED)
    assert kinds(*events) == ["start", "text", "text", "block_done", "finish", "end"]
    start, *_, end = deltas(*events)
    assert (start.id, start.model, end.complete) == ("r1", "gpt-5.4", True)
    assert aggregate(*events).text == "Hello"


def test_the_finished_item_fills_what_was_missed() -> None:
    found = deltas(CREATED, text("Hel"), done(message("Hello", "!")), COMPLETED)
    assert "".join([delta.text for delta in found]) == "Hello!"


def test_the_finished_item_replaces_what_deltas_built() -> None:
    found = aggregate(CREATED, text("Helo"), done(message("Hello")), COMPLETED)
    assert found.text == "Hello"
    assert [delta.text for delta in deltas(text("Helo"), done(message("Hello")))].count("Hello") == 0
    assert aggregate(CREATED, text("a"), text("b", part=1), done(message("a")), COMPLETED).text == "a"


def test_the_end_of_a_text_fills_what_was_missed() -> None:
    found = aggregate(CREATED, text("Hel"), event("output_text.done", content_index=0, text="Hello"), COMPLETED)
    assert found.text == "Hello"


def test_parts_are_known_by_their_order_whatever_their_index() -> None:
    opened = event("content_part.added", content_index=1, part={"type": "output_text", "text": ""})
    found = aggregate(CREATED, added(message()), opened, text("a", part=1), done(message("a")), COMPLETED)
    assert [block.text for block in found.message.content] == ["a"]


def test_a_part_that_stayed_empty_keeps_its_place() -> None:
    opened = [event("content_part.added", content_index=n, part={}) for n in range(2)]
    found = aggregate(CREATED, *opened, text("b", part=1), done(message("", "b")), COMPLETED)
    assert [block.text for block in found.message.content] == ["b"]


def test_commentary_is_known_from_its_first_piece() -> None:
    found = aggregate(CREATED, added({**message(), "phase": "commentary"}), text("on it"))
    assert (found.text, found.reasoning[0]["text"]) == ("", "on it")


def test_citations() -> None:
    cited = {"type": "url_citation", "url": "https://x.example"}
    note = event("output_text.annotation.added", content_index=0, annotation=cited)
    finished = message("a")
    finished["content"][0]["annotations"] = [cited]
    assert "citation" in kinds(CREATED, text("a"), note)
    assert aggregate(CREATED, text("a"), note, done(finished), COMPLETED).citations == (cited,)
    assert aggregate(CREATED, text("a"), note, COMPLETED).citations == (cited,)


def test_a_refusal() -> None:
    piece = event("refusal.delta", content_index=0, delta="I can")
    whole = {**message(), "content": [{"type": "refusal", "refusal": "I cannot."}]}
    assert kinds(CREATED, piece).count("refusal") == 1
    found = aggregate(CREATED, piece, done(whole), COMPLETED)
    assert (found.refusal["text"], found.finish_reason) == ("I cannot.", "refusal")
    assert aggregate(CREATED, piece, COMPLETED).finish_reason == "refusal"


def summary(piece: str, part: int | None = 0) -> dict[str, Any]:
    return event("reasoning_summary_text.delta", summary_index=part, delta=piece)


def test_parts_of_a_summary_are_set_apart() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    whole = {**item, "summary": [{"text": "ab"}, {"text": "c"}], "encrypted_content": "E2"}
    events = [CREATED, added({**item, "encrypted_content": "E1"}), summary("a"), summary("b"), summary("c", 1)]
    assert aggregate(*events).reasoning[0]["text"] == "ab\n\nc"
    found = aggregate(*events, done(whole), COMPLETED)
    assert found.message.content[0].text == "ab\n\nc"
    assert found.message.content[0].encrypted_content == "E2"
    assert [delta.content.text for delta in deltas(*events, done(whole)) if delta.kind == "thinking"] == [
        "",
        "a",
        "b",
        "\n\nc",
    ]


def test_open_reasoning() -> None:
    piece = event("reasoning_text.delta", content_index=0, delta="t")
    assert aggregate(CREATED, piece, COMPLETED).reasoning[0]["text"] == "t"


def test_calls_come_in_pieces() -> None:
    events = [CREATED, added(CALL), arguments('{"a"'), arguments(":1}"), done(WHOLE_CALL), COMPLETED]
    first, *rest = [delta.content for delta in deltas(*events) if delta.kind == "call"]
    assert (first.tag, first.name, first.item_id) == ("c", "f", "fc_1")
    assert [piece.partial_input for piece in rest] == ['{"a"', ":1}"]
    found = aggregate(*events)
    assert (found.tool_calls[0].input, found.finish_reason) == ({"a": 1}, "tool_calls")


def test_a_call_that_comes_whole_is_told_in_one_piece() -> None:
    (piece,) = [delta.content for delta in deltas(CREATED, done(WHOLE_CALL), COMPLETED) if delta.kind == "call"]
    assert (piece.tag, piece.name, piece.partial_input) == ("c", "f", '{"a":1}')
    pieces = [
        delta.content.partial_input for delta in deltas(CREATED, added(CALL), done(WHOLE_CALL)) if delta.kind == "call"
    ]
    assert pieces == ["", '{"a":1}']


def test_a_custom_call() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "g", "input": ""}
    piece = event("custom_tool_call_input.delta", delta="print(1)")
    found = aggregate(CREATED, added(item), piece, done({**item, "input": "print(1)"}), COMPLETED)
    assert found.tool_calls[0].input == {"input": "print(1)"}


def test_other_items_arrive_whole_and_keep_their_place() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    events = (CREATED, added(search, 0), event("web_search_call.searching"), text("a", 1), done(search, 0), COMPLETED)
    assert [block.to_text() for block in aggregate(*events).message.content] == ["[web_search_call]", "a"]
    assert aggregate(*events).notes == ()


# --- where a piece belongs ----------------------------------------------------------------------


def test_places_count_and_item_ids_do_not() -> None:
    events = [
        CREATED,
        added({**CALL, "id": "x1"}, 0),
        added({**CALL, "id": "x2", "call_id": "d"}, 1),
        arguments('{"a":', 0),
        arguments('{"b":2}', 1),
        arguments("1}", 0),
        done({**WHOLE_CALL, "id": "y1"}, 0),
        done({**WHOLE_CALL, "id": "y2", "call_id": "d", "arguments": '{"b":2}'}, 1),
        COMPLETED,
    ]
    assert [(one.tag, one.input) for one in aggregate(*events).tool_calls] == [("c", {"a": 1}), ("d", {"b": 2})]


def test_without_places_a_piece_belongs_to_the_item_opened_last() -> None:
    events = [
        CREATED,
        added(message(), None),
        text("a", None),
        done(message("a"), None),
        added(CALL, None),
        event("function_call_arguments.delta", None, delta='{"a":1}'),
        done(WHOLE_CALL, None),
        COMPLETED,
    ]
    found = aggregate(*events)
    assert (found.text, found.tool_calls[0].input) == ("a", {"a": 1})


# --- the end ------------------------------------------------------------------------------------


def end(**response: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", **response}}


def test_the_output_of_the_last_event_counts_only_alone() -> None:
    assert aggregate(CREATED, end(output=[message("whole")])).text == "whole"
    assert aggregate(CREATED, text("a"), done(message("a")), end(output=[message("other")])).text == "a"
    assert aggregate(CREATED, text("a"), end(output=None)).text == "a"


def test_usage_and_finish_of_the_last_event() -> None:
    limit = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": {"output_tokens": 9},
    }
    found = aggregate(CREATED, text("a"), {"type": "response.incomplete", "response": limit})
    assert (found.finish_reason, found.usage.output_total, found.complete) == ("length", 9, True)


def test_without_a_terminal_event_the_answer_is_incomplete() -> None:
    for events in ([CREATED], [CREATED, text("a")], [CREATED, text("a"), done(message("a"))], []):
        found = aggregate(*events)
        assert (found.finish_reason, found.complete) == ("incomplete", False)
        assert not aggregate(*events, "[DONE]").complete or not events
    assert aggregate(CREATED, text("a"), COMPLETED, "[DONE]").complete


def test_calls_of_a_stream_that_broke_off() -> None:
    broken = [CREATED, added(CALL), arguments('{"a":1}')]
    assert aggregate(*broken).message.content == (InvalidActionCallMessageContent("c", "f", None, '{"a":1}'),)
    kept = aggregate(CREATED, added(CALL), done(WHOLE_CALL), added({**CALL, "call_id": "d"}, 1))
    assert [type(block) for block in kept.message.content] == [
        ActionCallMessageContent,
        InvalidActionCallMessageContent,
    ]


def test_calls_that_were_never_told_to_be_done() -> None:
    cut = aggregate(CREATED, added(CALL), arguments('{"a":1}'), COMPLETED)
    assert (cut.tool_calls, cut.invalid_tool_calls[0].raw, cut.finish_reason) == ([], '{"a":1}', "stop")
    whole = event("function_call_arguments.done", arguments='{"a":1}')
    assert aggregate(CREATED, added(CALL), arguments('{"a"'), whole, COMPLETED).tool_calls[0].input == {"a": 1}


def test_other_items_that_were_never_told_to_be_done() -> None:
    item = {"type": "mcp_list_tools", "id": "l", "tools": []}
    found = aggregate(CREATED, added(item), text("a", 1), end(output=[{**item, "tools": ["t"]}]))
    assert found.message.content[0].value["tools"] == ["t"]
    assert aggregate(CREATED, added(item), text("a", 1), COMPLETED).message.content[0].value == item


@pytest.mark.parametrize(
    "failure",
    [
        {"type": "error", "code": "server_is_overloaded", "message": "busy", "param": None},
        {"type": "error", "error": {"type": "server_is_overloaded", "code": None, "message": "busy"}},
        {"error": {"code": "server_is_overloaded", "message": "busy"}},
        {
            "type": "response.failed",
            "response": {"status": "failed", "error": {"code": "server_is_overloaded", "message": "busy"}},
        },
    ],
    ids=["top level", "nested", "without a type", "failed"],
)
def test_errors(failure: Any) -> None:
    found = aggregate(CREATED, text("half"), failure)
    assert found.error.to_dict() == {
        "type": "overloaded_error",
        "raw_type": "server_is_overloaded",
        "message": "busy",
        "status": None,
        "retryable": True,
    }
    assert (found.text, found.finish_reason, found.complete) == ("half", "error", False)
    assert kinds(CREATED, failure)[-1] == "end"
    assert "error" in kinds(CREATED, failure)


def test_the_first_error_stands() -> None:
    first = {"type": "error", "code": "rate_limit_exceeded", "message": "one"}
    failed = {
        "type": "response.failed",
        "response": {"status": "failed", "error": {"code": "server_error", "message": "two"}},
    }
    assert aggregate(CREATED, first, failed).error.message == "one"


@pytest.mark.parametrize(
    "odd", [{"type": "response.something.new"}, {"type": "keepalive"}, {}, {"type": "ping"}, "words", None, 5]
)
def test_odd_chunks_do_no_harm(odd: Any) -> None:
    found = aggregate(CREATED, odd, text("a"), COMPLETED)
    assert (found.text, found.complete) == ("a", True)
    assert bool(found.notes) is not (
        isinstance(odd, dict) and str(odd.get("type")).startswith(("response.", "keepalive"))
    )


# --- laws ---------------------------------------------------------------------------------------

WORDS = st.text(min_size=1, max_size=6)
ITEMS = st.lists(
    st.one_of(
        st.lists(WORDS, min_size=1, max_size=2).map(lambda words: message(*words)),
        st.builds(
            lambda parts, seal: {
                "type": "reasoning",
                "id": "rs",
                "summary": [{"type": "summary_text", "text": p} for p in parts],
                **seal,
            },
            st.lists(WORDS, max_size=2),
            st.sampled_from([{}, {"encrypted_content": "E"}]),
        ),
        st.builds(
            lambda raw, status: {**CALL, "arguments": raw, "status": status},
            st.sampled_from(['{"a":1}', "", "[1]", '{"a']),
            st.sampled_from(["completed", "incomplete"]),
        ),
        st.builds(
            lambda words: {"type": "custom_tool_call", "id": "t", "call_id": "c", "name": "g", "input": words}, WORDS
        ),
        st.just({"type": "web_search_call", "id": "ws", "status": "completed"}),
    ),
    max_size=4,
)


def pieces(words: str) -> list[str]:
    return [words[n : n + 2] for n in range(0, len(words), 2)]


def events_of(item: Any, place: int) -> Iterator[dict[str, Any]]:
    """The events in which an item comes."""
    kind = item["type"]
    yield added({**item, "content": [], "summary": [], "arguments": "", "input": ""}, place)
    if kind == "message":
        for number, part in enumerate(item["content"]):
            yield from [text(piece, place, number) for piece in pieces(part["text"])]
    elif kind == "reasoning":
        for number, part in enumerate(item["summary"]):
            yield from [{**summary(piece, number), "output_index": place} for piece in pieces(part["text"])]
    elif kind == "function_call":
        yield from [arguments(piece, place) for piece in pieces(item["arguments"])]
    elif kind == "custom_tool_call":
        yield from [event("custom_tool_call_input.delta", place, delta=piece) for piece in pieces(item["input"])]
    yield done(item, place)


@given(ITEMS)
def test_the_whole_is_its_stream(items: list[Any]) -> None:
    body = {"id": "r1", "model": "gpt-5.4", "status": "completed", "output": items, "usage": {"input_tokens": 1}}
    events = [CREATED, *[one for place, item in enumerate(items) for one in events_of(item, place)]]
    events.append({"type": "response.completed", "response": {**body, "output": []}})
    kept = copy.deepcopy(events)
    whole = ln.normalize(body, "codex_responses")
    assert aggregate(*events) == whole
    assert events == kept
    assert "".join([delta.text for delta in deltas(*events)]) == whole.text


@given(ITEMS, st.data())
def test_a_cut_stream_keeps_what_came(items: list[Any], data: st.DataObject) -> None:
    events = [CREATED, *[one for place, item in enumerate(items) for one in events_of(item, place)]]
    cut = data.draw(st.integers(0, len(events)))
    found = deltas(*events[:cut])
    assert (found[0].kind, found[-1].kind) == ("start", "end")
    assert [delta.kind for delta in found].count("end") == 1
    answer = aggregate(*events[:cut])
    assert (answer.complete, answer.finish_reason) == (False, "incomplete")
    whole = "".join([part["text"] for item in items if item["type"] == "message" for part in item["content"]])
    assert whole.startswith(answer.text)


def test_two_streams_stay_apart() -> None:
    transport = ln.get_transport("codex_responses")
    one, two = transport.stream(), transport.stream()
    for left, right in zip(
        (CREATED, text("a"), text("b"), COMPLETED), (CREATED, text("x"), text("y"), COMPLETED), strict=True
    ):
        one.feed(left)
        two.feed(right)
    one.close()
    two.close()
    assert (one.response.text, two.response.text) == ("ab", "xy")


def test_reasoning_without_anything_is_still_a_block() -> None:
    found = aggregate(CREATED, done({"type": "reasoning", "id": "rs", "summary": []}), COMPLETED)
    assert [type(block) for block in found.message.content] == [ThinkingMessageContent]
