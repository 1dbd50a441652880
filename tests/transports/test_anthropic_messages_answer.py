"""Answers, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import NormalizedResponse

API = "anthropic_messages"


def turn(role: str, content: Any, name: str | None = None) -> ln.Message:
    """A message; text stands for one block."""
    return ln.Message(role, content, name)


def whole(*blocks: Any, reason: Any = "end_turn", **more: Any) -> NormalizedResponse:
    answer = {"id": "m", "type": "message", "model": "claude-x", "content": list(blocks), "stop_reason": reason, **more}
    return ln.normalize(answer, API)


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m", "model": "claude-x", "content": [], "usage": usage}}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, kind: str, **piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **piece}}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: Any = "end_turn", usage: Any = None, **more: Any) -> list[dict[str, Any]]:
    delta = {"type": "message_delta", "delta": {"stop_reason": reason, **more}, "usage": usage or {}}
    return [delta, {"type": "message_stop"}]


def streamed(*events: Any) -> NormalizedResponse:
    return ln.aggregate(list(events), API)


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return [opened(index, type="text", text=""), *[grown(index, "text_delta", text=p) for p in pieces], closed(index)]


# --- blocks ---------------------------------------------------------------------------------------


def test_a_whole_answer() -> None:
    found = whole(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "text", "text": "A", "citations": [{"type": "char_location"}]},
        {"type": "text", "text": "B"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        reason="tool_use",
    )
    told = found.to_dict()
    assert (found.id, found.model, found.text, found.finish_reason) == ("m", "claude-x", "AB", "tool_calls")
    assert told["reasoning"] == [
        {"text": "hm", "signature": "s", "redacted": False},
        {"text": "", "signature": None, "redacted": True},
    ]
    assert told["tool_calls"] == [{"index": 0, "id": "t", "name": "f", "arguments": {"a": 1}}]
    assert told["citations"] == [{"type": "char_location"}]
    assert [block["type"] for block in told["blocks"]] == ["thinking", "thinking", "text", "text", "tool_call"]


def test_reasoning_is_stamped_with_who_made_it() -> None:
    (block,) = whole({"type": "thinking", "thinking": "", "signature": "s"}).message.content
    assert block.origin == ln.Origin(API, "claude-x")


def test_a_streamed_answer_is_the_same() -> None:
    events = [
        start(input_tokens=3),
        opened(0, type="thinking", thinking="", signature=""),
        grown(0, "thinking_delta", thinking="h"),
        grown(0, "thinking_delta", thinking="m"),
        grown(0, "signature_delta", signature="s"),
        closed(0),
        {"type": "ping"},
        opened(1, type="redacted_thinking", data="blob"),
        closed(1),
        *text(2, "F", "act"),
        opened(3, type="tool_use", id="t", name="f", input={}),
        grown(3, "input_json_delta", partial_json=""),
        grown(3, "input_json_delta", partial_json='{"a"'),
        grown(3, "input_json_delta", partial_json=": 1}"),
        closed(3),
        {"type": "of_next_year"},
        *ended("tool_use", {"output_tokens": 4}),
    ]
    one = whole(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "text", "text": "Fact"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        reason="tool_use",
        usage={"input_tokens": 3, "output_tokens": 4},
    ).to_dict()
    other = streamed(*events).to_dict()
    for told in (one, other):
        for block in told["blocks"]:
            block.pop("arguments", None)  # the stream tells the text of the arguments too
    assert one == other


def test_citations_are_added_to_their_text() -> None:
    events = [opened(0, type="text", text="", citations=[]), grown(0, "text_delta", text="F")]
    events += [grown(0, "citations_delta", citation={"type": "char_location", "cited_text": "F"}), closed(0)]
    found = streamed(start(), *events, *ended())
    assert found.citations == ({"type": "char_location", "cited_text": "F"},)


@pytest.mark.parametrize("raw", ["", "  "])
def test_blank_arguments_are_none(raw: str) -> None:
    events = [opened(0, type="tool_use", id="t", name="f", input={}), grown(0, "input_json_delta", partial_json=raw)]
    found = streamed(start(), *events, closed(0), *ended("tool_use"))
    assert found.tool_calls[0].input == {}


def test_input_that_came_with_the_start_counts_if_nothing_follows() -> None:
    begun = opened(0, type="tool_use", id="t", name="f", input={"a": 1})
    assert streamed(start(), begun, closed(0), *ended("tool_use")).tool_calls[0].input == {"a": 1}
    piece = grown(0, "input_json_delta", partial_json='{"b": 2}')
    assert streamed(start(), begun, piece, closed(0), *ended("tool_use")).tool_calls[0].input == {"b": 2}


def test_arguments_that_are_no_object_are_invalid() -> None:
    found = whole({"type": "tool_use", "id": "t", "name": "f", "input": [1]}, reason="tool_use")
    assert [call.raw for call in found.invalid_tool_calls] == ["[1]"]
    found = whole({"type": "tool_use", "id": "t", "name": "f", "input": '{"a": 1}'}, reason="tool_use")
    assert found.tool_calls[0].input == {"a": 1}
    piece = grown(0, "input_json_delta", partial_json='{"a": ')
    cut = streamed(
        start(), opened(0, type="tool_use", id="t", name="f", input={}), piece, closed(0), *ended("max_tokens")
    )
    assert (cut.complete, cut.finish_reason, cut.tool_calls) == (True, "length", [])
    assert [call.raw for call in cut.invalid_tool_calls] == ['{"a": ']


def test_who_called_is_kept_for_the_way_back() -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "srv"}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": caller}
    for found in (whole(call, reason="tool_use"), streamed(start(), opened(0, **call), closed(0), *ended("tool_use"))):
        assert found.tool_calls[0].native == {"caller": caller}


def test_the_providers_own_tools_are_no_calls_of_ours() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    events = [
        opened(0, **{**use, "input": {}}),
        grown(0, "input_json_delta", partial_json='{"query"'),
        grown(0, "input_json_delta", partial_json=': "x"}'),
        closed(0),
        opened(1, **result),
        closed(1),
    ]
    for found in (whole(use, result, reason="pause_turn"), streamed(start(), *events, *ended("pause_turn"))):
        assert found.tool_calls == []
        assert [block["value"] for block in found.to_dict()["blocks"]] == [use, result]
        assert found.finish_reason == "pause"


def test_blocks_that_are_not_known_grow_all_the_same() -> None:
    events = [opened(0, type="compaction", content=None), grown(0, "compaction_delta", content="so "), closed(0)]
    events.insert(2, grown(0, "compaction_delta", content="far", encrypted_content="x"))
    found = streamed(start(), *events, *ended("compaction"))
    assert found.to_dict()["blocks"][0]["value"] == {
        "type": "compaction",
        "content": "so far",
        "encrypted_content": "x",
    }
    assert (found.finish_reason, found.raw_finish_reason) == ("other", "compaction")


def test_an_index_that_is_used_again_is_a_new_block() -> None:
    found = streamed(start(), *text(0, "A"), *text(0, "B"), *ended())
    assert [block["text"] for block in found.to_dict()["blocks"]] == ["A", "B"]


# --- why it ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("of_next_year", "other"),
    ],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    for found in (whole({"type": "text", "text": "t"}, reason=raw), streamed(start(), *text(0, "t"), *ended(raw))):
        assert (found.finish_reason, found.raw_finish_reason, found.complete) == (reason, raw, True)


def test_no_reason_in_a_whole_answer_is_a_stop_with_a_note() -> None:
    found = whole({"type": "text", "text": "t"}, reason=None)
    assert (found.finish_reason, found.raw_finish_reason) == ("stop", None)
    assert found.notes


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "No."}
    for found in (
        whole({"type": "text", "text": "t"}, reason="refusal", stop_details=details),
        streamed(start(), *text(0, "t"), *ended("refusal", stop_details=details)),
    ):
        assert found.refusal == {"category": "cyber", "text": "No."}
        assert (found.text, found.finish_reason, found.complete) == ("t", "refusal", True)
        assert found.details == {"stop_details": details}


# --- streams that end otherwise -------------------------------------------------------------------


def test_an_error_event_ends_it() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = streamed(start(input_tokens=9), *text(0, "Par")[:2], error)
    assert (found.text, found.finish_reason, found.complete) == ("Par", "error", False)
    assert found.error is not None
    assert (found.error.type, found.error.raw_type, found.error.retryable) == (
        "overloaded_error",
        "overloaded_error",
        True,
    )


def test_an_error_instead_of_an_answer() -> None:
    found = ln.normalize({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, API)
    assert found.error is not None
    assert (found.error.type, found.error.message, found.finish_reason) == ("invalid_request_error", "no", "error")


def test_a_stream_that_breaks_off_is_incomplete() -> None:
    events = [start(), *text(0, "a"), opened(1, type="tool_use", id="t", name="f", input={})]
    found = streamed(*events, grown(1, "input_json_delta", partial_json='{"a": 1}'))
    assert (found.text, found.finish_reason, found.complete) == ("a", "incomplete", False)
    assert [call.raw for call in found.invalid_tool_calls] == ['{"a": 1}']


def test_a_stop_reason_before_the_end_counts_with_a_note() -> None:
    found = streamed(start(), *text(0, "a"), ended()[0])
    assert (found.finish_reason, found.complete) == ("stop", True)
    assert found.notes == ("the stream ended without message_stop",)


def test_a_gateway_may_end_with_the_sentinel_of_another_api() -> None:
    found = streamed(start(), *text(0, "a"), *ended(), "[DONE]")
    assert (found.text, found.complete, found.notes) == ("a", True, ())


def test_a_whole_answer_may_come_in_a_stream() -> None:
    found = streamed(
        {"type": "message", "id": "m", "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"}
    )
    assert (found.text, found.complete) == ("a", True)


@pytest.mark.parametrize("event", [[], "x", None, {}, {"type": "content_block_delta"}, {"type": "message_start"}])
def test_nonsense_is_noted_and_passed_over(event: Any) -> None:
    found = streamed(start(), event, *text(0, "a"), *ended())
    assert (found.text, found.complete) == ("a", True)


# --- usage ----------------------------------------------------------------------------------------


def test_usage_counts_every_token_of_the_prompt() -> None:
    given = {
        "input_tokens": 7,
        "cache_creation_input_tokens": 400,
        "cache_read_input_tokens": 9600,
        "output_tokens": 50,
    }
    told = whole(usage={**given, "output_tokens_details": {"thinking_tokens": 20}}).usage.to_dict()
    assert told == {
        "input_total": 10007,
        "input_uncached": 7,
        "cache_read": 9600,
        "cache_write": 400,
        "output_total": 50,
        "reasoning": 20,
        "total": 10057,
    }


@pytest.mark.parametrize("usage", [None, {}, {"output_tokens": "many", "output_tokens_details": 3}])
def test_what_is_not_told_stays_unknown(usage: Any) -> None:
    assert set(whole(usage=usage).usage.to_dict().values()) == {None}


def test_the_last_count_that_was_told_stands() -> None:
    found = streamed(
        start(input_tokens=100, output_tokens=1, cache_read_input_tokens=50),
        *ended(None, {"output_tokens": 12, "input_tokens": 130})[:1],
        *ended("end_turn", {"output_tokens": 40, "input_tokens": None}),
    )
    assert found.usage.to_dict() | {"cache_write": None} == {
        "input_total": 180,
        "input_uncached": 130,
        "cache_read": 50,
        "cache_write": None,
        "output_total": 40,
        "reasoning": None,
        "total": 220,
    }


# --- the way back ---------------------------------------------------------------------------------


def test_an_answer_goes_back_byte_for_byte() -> None:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "hm\n", "signature": "s"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "text", "text": " A "},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s",
            "content": [{"type": "web_search_result", "page_age": None}],
        },
        {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1, "a": 12345678901234567890}},
    ]
    first = ln.convert("q", API, model="claude-x", max_tokens=10)
    answer = {"model": "claude-x", "content": blocks, "stop_reason": "tool_use"}
    found = ln.normalize(json.loads(json.dumps(answer)), API, names=first)
    result = ln.ActionResultMessageContent("t", "r")
    stack = ln.PromptStack([turn("user", "q"), found.message, turn("user", (result,))])
    again = ln.convert(stack, API, model="claude-x", max_tokens=10)
    assert again.payload["messages"][1]["content"] == blocks
    assert again.changes == ()
