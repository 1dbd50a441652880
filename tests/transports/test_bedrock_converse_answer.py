"""Answers of Converse, whole and streamed."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    AudioMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    NormalizedResponse,
    Origin,
)

API = "bedrock_converse"
CITE = {"title": "t", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 2}}}
CALL = {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
USAGE = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}


def whole(*blocks: Any, reason: Any = "end_turn", **more: Any) -> NormalizedResponse:
    message = {"role": "assistant", "content": list(blocks)}
    return ln.normalize({"output": {"message": message}, "stopReason": reason, **more}, API)


def opened(index: int, **start: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def grown(index: int, **delta: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


def closed(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def ended(reason: Any = "end_turn", **more: Any) -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason, **more}}


START = {"messageStart": {"role": "assistant"}}
METADATA = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 9}}}


def streamed(*events: Any) -> NormalizedResponse:
    return ln.aggregate(list(events), API)


# --- blocks ---------------------------------------------------------------------------------------


def test_a_whole_answer() -> None:
    cited = {"citationsContent": {"content": [{"text": "B"}, {"text": "C"}], "citations": [CITE]}}
    opaque = {"reasoningContent": {"redactedContent": b"RED"}}
    found = whole(THOUGHT, opaque, {"text": "A"}, cited, CALL, reason="tool_use", usage=USAGE)
    told = found.to_dict()
    assert (found.id, found.model, found.text, found.finish_reason) == (None, None, "ABC", "tool_calls")
    assert told["reasoning"] == [
        {"text": "hm", "signature": "s", "redacted": False},
        {"text": "", "signature": None, "redacted": True},
    ]
    assert told["blocks"][1]["data"] == "UkVE"
    assert told["tool_calls"] == [{"index": 0, "id": "t", "name": "f", "arguments": {"a": 1}}]
    assert told["citations"] == [CITE]
    assert [block["type"] for block in told["blocks"]] == ["thinking", "thinking", "text", "text", "tool_call"]


def test_a_streamed_answer_is_the_same() -> None:
    """Text and reasoning have no start event; tool blocks may interleave."""
    events = [
        START,
        grown(0, reasoningContent={"text": "h"}),
        grown(0, reasoningContent={"text": "m"}),
        grown(0, reasoningContent={"signature": "s"}),
        closed(0),
        grown(1, reasoningContent={"redactedContent": "UkVE"}),
        closed(1),
        grown(2, text="A"),
        grown(2, citation=CITE),
        closed(2),
        opened(3, toolUse={"toolUseId": "t", "name": "f"}),
        opened(4, toolUse={"toolUseId": "u", "name": "g"}),
        grown(3, toolUse={"input": '{"a"'}),
        grown(4, toolUse={"input": ""}),
        grown(3, toolUse={"input": ": 1}"}),
        closed(4),
        closed(3),
        ended("tool_use"),
        METADATA,
    ]
    opaque = {"reasoningContent": {"redactedContent": b"RED"}}
    cited = {"citationsContent": {"content": [{"text": "A"}], "citations": [CITE]}}
    other = {"toolUse": {"toolUseId": "u", "name": "g", "input": {}}}
    one = whole(THOUGHT, opaque, cited, CALL, other, reason="tool_use", usage=USAGE).to_dict()
    two = streamed(*events).to_dict()
    for told in (one, two):
        for block in told["blocks"]:
            block.pop("arguments", None)  # the stream tells the text of the arguments too
    assert one == two


def test_reasoning_is_stamped_with_the_model_that_was_asked() -> None:
    asked = ln.convert("q", API, model="us.amazon.nova-pro-v1:0")
    body = {"output": {"message": {"content": [THOUGHT]}}, "stopReason": "end_turn"}
    (block,) = ln.normalize(body, API, names=asked).message.content
    assert block.origin == Origin(API, "us.amazon.nova-pro-v1:0")
    (unasked,) = ln.normalize(body, API).message.content
    assert unasked.origin == Origin(API)


def test_a_router_tells_its_model() -> None:
    trace = {"promptRouter": {"invokedModelId": "arn:x"}}
    assert whole({"text": "A"}, trace=trace).model == "arn:x"
    assert streamed(START, grown(0, text="A"), ended(), {"metadata": {"trace": trace}}).model == "arn:x"


@pytest.mark.parametrize("given", [[1], "no json", 5])
def test_arguments_that_are_no_object_are_never_run(given: Any) -> None:
    call = {"toolUse": {"toolUseId": "t", "name": "f", "input": given}}
    (block,) = whole(call, reason="tool_use").message.content
    assert isinstance(block, InvalidActionCallMessageContent)
    assert whole(call, reason="tool_use").tool_calls == []


def test_pictures_and_sound() -> None:
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    sound = {"audio": {"format": "mp3", "source": {"bytes": "SUQz"}}}
    assert whole(picture, sound).message.content == (
        ImageMessageContent("iVBORw==", media_type="image/png"),
        AudioMessageContent("SUQz", media_type="audio/mpeg"),
    )
    delta = grown(0, image={"source": {"bytes": b"\x89PNG"}})
    assert streamed(START, opened(0, image={"format": "png"}), delta, closed(0), ended()).message.content == (
        ImageMessageContent("iVBORw==", media_type="image/png"),
    )


def test_tools_that_amazon_ran_are_blocks_of_its_own() -> None:
    call = {"toolUse": {"toolUseId": "s", "name": "grounding", "type": "server_tool_use", "input": {"q": "x"}}}
    result = {
        "toolResult": {
            "toolUseId": "s",
            "type": "r",
            "status": "success",
            "content": [{"text": "ab"}, {"json": {"a": 1}}],
        }
    }
    one = whole(call, result, {"text": "A"})
    events = [
        START,
        opened(0, toolUse={"toolUseId": "s", "name": "grounding", "type": "server_tool_use"}),
        grown(0, toolUse={"input": '{"q": '}),
        grown(0, toolUse={"input": '"x"}'}),
        closed(0),
        opened(1, toolResult={"toolUseId": "s", "type": "r", "status": "success"}),
        grown(1, toolResult=[{"text": "a"}]),
        grown(1, toolResult=[{"text": "b"}, {"json": {"a": 1}}]),
        closed(1),
        grown(2, text="A"),
        closed(2),
        ended(),
    ]
    origin = Origin(API)
    assert one.message.content[:2] == (
        GenericMessageContent(call, origin=origin),
        GenericMessageContent(result, origin=origin),
    )
    assert streamed(*events).message == one.message
    assert one.tool_calls == []


def test_blocks_that_are_not_known_yet_are_kept() -> None:
    (block,) = whole({"of_next_year": {"data": b"x"}}).message.content
    assert block == GenericMessageContent({"of_next_year": {"data": "eA=="}}, origin=Origin(API))


def test_what_gateways_add_does_not_matter() -> None:
    assert whole({"type": "text", "text": "A"}).text == "A"
    assert whole({**CALL, "type": "tool"}, reason="tool_use").tool_calls[0].name == "f"
    typed = {"toolUse": {**CALL["toolUse"], "type": "tool_use"}}
    assert whole(typed, reason="tool_use").tool_calls[0].input == {"a": 1}
    assert whole({"reasoningContent": {}}).to_dict()["reasoning"] == [
        {"text": "", "signature": None, "redacted": False}
    ]


def test_names_of_tools_are_looked_up() -> None:
    asked = ln.convert("q", API, tools=[{"type": "function", "function": {"name": "files.read"}}])
    body = {"output": {"message": {"content": [{"toolUse": {"toolUseId": "t", "name": "files_read", "input": {}}}]}}}
    assert ln.normalize(body, API, names=asked).tool_calls[0].name == "files.read"


# --- the end --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filtered", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("of_next_year", "other"),
    ],
)
def test_why_it_ended(reason: str, finish: str) -> None:
    for found in (whole({"text": "A"}, reason=reason), streamed(START, grown(0, text="A"), ended(reason))):
        assert (found.finish_reason, found.raw_finish_reason, found.complete) == (finish, reason, True)


def test_a_stop_with_calls_is_a_call() -> None:
    assert whole(CALL).finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("malformed_model_output", "malformed_response"),
        ("malformed_tool_use", "malformed_function_call"),
    ],
)
def test_output_that_could_not_be_read_is_an_error_that_may_pass(reason: str, kind: str) -> None:
    for found in (whole(reason=reason), streamed(START, ended(reason))):
        assert found.finish_reason == "error"
        assert found.error is not None
        assert (found.error.type, found.error.raw_type, found.error.retryable) == (kind, reason, True)


def test_the_end_of_a_stream_comes_before_its_counts() -> None:
    found = streamed(START, grown(0, text="A"), closed(0), ended(), METADATA)
    assert found.complete
    assert found.usage.total == 7
    assert found.details == {"metrics": {"latencyMs": 9}}
    without = streamed(START, grown(0, text="A"), closed(0), ended())
    assert (without.complete, without.usage.total) == (True, None)


def test_a_stream_that_breaks_off() -> None:
    head = [START, grown(0, text="A"), closed(0), opened(1, toolUse={"toolUseId": "t", "name": "f"})]
    found = streamed(*head, grown(1, toolUse={"input": '{"a": 1}'}))
    assert (found.finish_reason, found.complete, found.text) == ("incomplete", False, "A")
    assert found.tool_calls == []
    assert found.invalid_tool_calls[0].raw == '{"a": 1}'
    done = streamed(*head, grown(1, toolUse={"input": '{"a": 1}'}), closed(1))
    assert [call.input for call in done.tool_calls] == [{"a": 1}]


@pytest.mark.parametrize(
    ("event", "kind", "retryable"),
    [
        ({"throttlingException": {"message": "slow"}}, "rate_limit_error", True),
        ({"modelStreamErrorException": {"originalMessage": "slow", "originalStatusCode": 500}}, "server_error", True),
        ({"serviceUnavailableException": {"message": "slow"}}, "overloaded_error", True),
        ({"validationException": {"message": "slow"}}, "invalid_request_error", False),
    ],
)
def test_exceptions_in_a_stream(event: dict[str, Any], kind: str, retryable: bool) -> None:
    found = streamed(START, grown(0, text="A"), event)
    assert found.error is not None
    assert (found.error.type, found.error.retryable, found.error.message) == (kind, retryable, "slow")
    assert found.error.raw_type == next(iter(event))
    assert (found.text, found.complete, found.finish_reason) == ("A", False, "error")


def test_an_error_instead_of_an_answer() -> None:
    found = ln.normalize({"message": "Too many requests", "__type": "ThrottlingException"}, API)
    assert found.error is not None
    assert (found.error.type, found.error.message) == ("rate_limit_error", "Too many requests")


def test_an_index_that_is_used_again_is_another_block() -> None:
    events = [START, grown(0, text="A"), closed(0), grown(0, text="B"), closed(0), ended()]
    assert [block.text for block in streamed(*events).message.content] == ["A", "B"]  # type: ignore[union-attr]  # texts
    started = [
        START,
        opened(0, toolUse={"toolUseId": "a", "name": "f"}),
        opened(0, toolUse={"toolUseId": "b", "name": "f"}),
    ]
    assert [call.tag for call in streamed(*started, ended("tool_use")).tool_calls] == ["a", "b"]


def test_a_whole_answer_instead_of_a_stream() -> None:
    body = {"output": {"message": {"content": [{"text": "A"}]}}, "stopReason": "end_turn", "usage": USAGE}
    found = streamed(body)
    assert (found.text, found.complete, found.usage.total) == ("A", True, 7)


def test_what_is_not_understood_is_noted() -> None:
    found = streamed(START, grown(0, text={"a": 1}), grown(0, riddle="?"), {"of_next_year": {}}, ended())
    assert found.complete
    assert len(found.notes) == 2


# --- usage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (USAGE, {"input_total": 3, "input_uncached": 3, "output_total": 4, "total": 7}),
        (
            {**USAGE, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 20, "totalTokens": 37},
            {
                "input_total": 33,
                "input_uncached": 3,
                "cache_read": 10,
                "cache_write": 20,
                "output_total": 4,
                "total": 37,
            },
        ),
        (
            {**USAGE, "cacheReadInputTokenCount": 10, "cacheWriteInputTokenCount": 0},
            {
                "input_total": 13,
                "input_uncached": 3,
                "cache_read": 10,
                "cache_write": 0,
                "output_total": 4,
                "total": 17,
            },
        ),
        ({"outputTokens": 4}, {"output_total": 4}),
        ({"inputTokens": True}, {}),
    ],
)
def test_counts(raw: dict[str, Any], expected: dict[str, int]) -> None:
    told = whole({"text": "A"}, usage=raw).usage.to_dict()
    assert {name: count for name, count in told.items() if count is not None} == expected


def test_what_is_said_beside_the_answer_is_kept() -> None:
    beside = {"metrics": {"latencyMs": 3}, "trace": {"guardrail": {}}, "serviceTier": {"type": "flex"}}
    found = whole({"text": "A"}, additionalModelResponseFields={"stop_sequence": "x"}, **beside)
    assert found.details == {**beside, "additionalModelResponseFields": {"stop_sequence": "x"}}
