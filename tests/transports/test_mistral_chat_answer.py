"""Answers of Mistral, whole and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import NormalizedResponse, aggregate, normalize, normalize_stream
from llmneutral.ir import contents as c
from llmneutral.transports.mistral_chat.answer import usage

ORIGIN = c.Origin("mistral_chat", "m")


def whole(content: Any, finish: str = "stop", **message: Any) -> NormalizedResponse:
    said = {"role": "assistant", "content": content, "tool_calls": None, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return normalize({"id": "x", "model": "m", "object": "chat.completion", "choices": [choice]}, "mistral_chat")


def piece(content: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {"content": content, **more}
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def streamed(*chunks: Any) -> NormalizedResponse:
    return aggregate([*chunks, "[DONE]"], "mistral_chat")


def thinking(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}] if text else [], **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thought(said: str, **more: Any) -> c.ThinkingMessageContent:
    return c.ThinkingMessageContent(said, origin=ORIGIN, **more)


REFERENCE = {"type": "reference", "reference_ids": [1, "b"]}


# --- content ------------------------------------------------------------------------------------


def test_a_plain_answer() -> None:
    found = whole("hello")
    assert (found.id, found.model, found.text, found.finish_reason) == ("x", "m", "hello", "stop")
    assert found.complete


@pytest.mark.parametrize(
    ("chunks", "blocks"),
    [
        ([thinking("hm", closed=True), text("a")], (thought("hm"), c.TextMessageContent("a"))),
        ([thinking("a"), thinking("b")], (thought("ab"),)),
        ([thinking("a", signature="s"), text("b")], (thought("a", signature="s"), c.TextMessageContent("b"))),
        ([thinking("a", signature="s"), thinking("b")], (thought("a", signature="s"), thought("b"))),
        (
            [thinking("a"), text("b"), thinking("c"), text("d")],
            (thought("a"), c.TextMessageContent("b"), thought("c"), c.TextMessageContent("d")),
        ),
        (
            [text("a"), REFERENCE, text("b")],
            (c.TextMessageContent("a", citations=(REFERENCE,)), c.TextMessageContent("b")),
        ),
        ([{"type": "thinking", "thinking": "hm"}, text("a")], (thought("hm"), c.TextMessageContent("a"))),
        (
            [{"type": "resource_link", "uri": "u"}],
            (c.GenericMessageContent({"type": "resource_link", "uri": "u"}, origin=ORIGIN),),
        ),
        (
            [{"type": "image_url", "image_url": "https://e.org/a"}],
            (c.ImageMessageContent(url="https://e.org/a"),),
        ),
    ],
)
def test_content_that_is_a_list(chunks: list[Any], blocks: tuple[Any, ...]) -> None:
    found = whole(chunks)
    assert found.message.content == blocks
    assert found.citations == tuple([chunk for chunk in chunks if chunk["type"] == "reference"])
    parts = [piece([chunk]) for chunk in chunks]
    assert streamed(*parts, piece("", "stop")).message.content == blocks


def test_reasoning_in_pieces_with_its_signature_at_the_end_or_in_each() -> None:
    late = streamed(piece([thinking("a")]), piece([thinking("b")]), piece([thinking("", signature="s")]))
    assert late.message.content == (thought("ab", signature="s"),)
    each = streamed(piece([thinking("a", signature="s")]), piece([thinking("b", signature="s")]))
    assert each.message.content == (thought("ab", signature="s"),)


def test_what_is_cited_inside_of_reasoning_is_kept() -> None:
    inner = [text("a"), REFERENCE, text("b")]
    found = whole([{"type": "thinking", "thinking": inner}, text("c")])
    assert found.message.content[0] == thought("ab", native={"thinking": inner})
    chunks = [piece([{"type": "thinking", "thinking": [each]}]) for each in (text(""), *inner)]
    assert streamed(*chunks, piece("c", "stop")).message.content == found.message.content


def test_text_and_reasoning_may_come_in_one_chunk_with_calls_and_usage() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}, "index": 0}
    chunk = piece([thinking("hm"), text("a")], "tool_calls", tool_calls=[call])
    found = streamed(chunk | {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}})
    assert [type(block) for block in found.message.content] == [
        c.ThinkingMessageContent, c.TextMessageContent, c.ActionCallMessageContent,
    ]  # fmt: skip
    assert (found.finish_reason, found.usage.total) == ("tool_calls", 3)


def test_the_start_has_the_id_even_if_reasoning_comes_first() -> None:
    start, *_ = normalize_stream([piece([thinking("hm")])], "mistral_chat")
    assert (start.kind, start.id, start.model) == ("start", "x", "m")


def test_events_of_the_sdk_have_the_chunk_inside() -> None:
    found = streamed({"data": piece([thinking("hm")])}, {"data": piece("a", "stop")})
    assert (found.text, found.reasoning[0]["text"], found.complete) == ("a", "hm", True)


def test_an_object_of_the_sdk() -> None:
    from mistralai.client.models import ChatCompletionResponse

    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    message = {"role": "assistant", "content": [thinking("hm", closed=True), text("a")], "tool_calls": [call]}
    body = {
        "id": "x", "object": "chat.completion", "model": "m", "created": 1,
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "num_cached_tokens": 1},
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }  # fmt: skip
    found = normalize(ChatCompletionResponse.model_validate(body), "mistral_chat")
    assert (found.text, found.reasoning[0]["text"], found.usage.cache_read) == ("a", "hm", 1)
    (made,) = found.tool_calls
    assert made.input == {"a": 1}
    assert made.tag != "null"


# --- calls --------------------------------------------------------------------------------------


def test_arguments_may_be_an_object_or_text() -> None:
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
        {"id": "b", "function": {"name": "f", "arguments": '{"x": 2}'}, "index": 1},
    ]
    for found in (whole("", "tool_calls", tool_calls=calls), streamed(piece("", "tool_calls", tool_calls=calls))):
        assert [(call.tag, call.input) for call in found.tool_calls] == [("a", {"x": 1}), ("b", {"x": 2})]
        assert found.finish_reason == "tool_calls"


def test_calls_without_an_id_stay_apart() -> None:
    """The SDK has "null" for an id that did not come, and 0 for an index."""
    calls = [{"id": "null", "index": 0, "function": {"name": "f", "arguments": {"x": n}}} for n in (1, 2)]
    found = streamed(piece("", "tool_calls", tool_calls=calls))
    assert [call.input for call in found.tool_calls] == [{"x": 1}, {"x": 2}]
    assert len({call.tag for call in found.tool_calls}) == 2
    assert all((call.tag or "").startswith("call_") for call in found.tool_calls)


def test_broken_arguments_are_an_invalid_call() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": '{"x"'}}
    found = whole("", "length", tool_calls=[call])
    assert [(bad.tag, bad.raw) for bad in found.invalid_tool_calls] == [("a", '{"x"')]
    assert found.finish_reason == "length"


# --- choices ------------------------------------------------------------------------------------


def test_only_the_first_choice_is_read() -> None:
    one, two = piece([thinking("a")])["choices"][0], piece([thinking("b")])["choices"][0] | {"index": 1}
    found = streamed({"id": "x", "model": "m", "choices": [two, one]}, piece("c", "stop"))
    assert [block["text"] for block in found.reasoning] == ["a"]
    assert any("more than one choice" in note for note in found.notes)


def test_an_answer_of_several_messages() -> None:
    """The provider's own tools speak between the model's words."""
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    said = [
        {"role": "assistant", "content": "Looking.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "s1", "content": "found"},
        {"role": "assistant", "content": [text("Here."), REFERENCE]},
    ]  # fmt: skip
    body = {"id": "x", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "messages": said}]}
    found = normalize(body, "mistral_chat")
    assert found.text == "Looking.Here."
    assert found.citations == (REFERENCE,)
    assert len(found.tool_calls) == 1


def test_the_words_of_a_tool_are_not_the_models() -> None:
    tool = piece("found", role="tool", tool_call_id="s1")
    found = streamed(piece("a"), tool, piece("b", "stop"))
    assert found.text == "ab"
    assert found.notes == ("a message of one of the provider's tools is not read",)


# --- finish, errors, usage ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("stop", "stop"), ("length", "length"), ("model_length", "length"), ("error", "error"), ("new", "other")],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    for found in (whole("a", raw), streamed(piece("a"), piece("", raw))):
        assert (found.finish_reason, found.raw_finish_reason) == (reason, raw)


def test_a_stream_without_its_end_is_incomplete() -> None:
    found = aggregate([piece("a")], "mistral_chat")
    assert (found.complete, found.finish_reason, found.text) == (False, "incomplete", "a")
    done = aggregate([piece("a", "stop")], "mistral_chat")
    assert (done.complete, done.finish_reason) == (True, "stop")


def test_an_error_in_a_stream_ends_it() -> None:
    error = {"object": "error", "message": "Service unavailable.", "type": "internal_server_error", "code": "1000"}
    found = streamed(piece("a"), error, piece([thinking("b")]), piece("c", "stop"))
    assert found.error is not None
    assert (found.error.type, found.error.raw_type, found.error.retryable) == (
        "server_error", "internal_server_error", True,
    )  # fmt: skip
    assert (found.text, found.reasoning, found.finish_reason) == ("a", [], "error")


def test_a_body_without_choices_is_malformed() -> None:
    found = normalize({"id": "x", "model": "m"}, "mistral_chat")
    assert found.error is not None
    assert found.error.type == "malformed_response"


@pytest.mark.parametrize(
    ("raw", "counts"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}, (5, 5, None, 7, 12)),
        ({"prompt_tokens": 5, "completion_tokens": 7}, (5, 5, None, 7, 12)),
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "num_cached_tokens": 4},
            (10, 6, 4, 2, 12),
        ),
        (  # sound is in the total only
            {
                "prompt_tokens": 11, "completion_tokens": 15, "total_tokens": 401, "prompt_audio_seconds": 5,
                "prompt_tokens_details": {"audio_tokens": 375, "cached_tokens": 9},
            },
            (386, 377, 9, 15, 401),
        ),
        (
            {"prompt_tokens": 11, "completion_tokens": 15, "prompt_tokens_details": {"audio_tokens": 375}},
            (386, 386, None, 15, 401),
        ),
        ({"completion_tokens": 7, "total_tokens": 3, "prompt_tokens": 5}, (5, 5, None, 7, 3)),
        ({}, (None, None, None, None, None)),
    ],
)  # fmt: skip
def test_usage(raw: dict[str, Any], counts: tuple[int | None, ...]) -> None:
    found = usage(raw)
    assert (found.input_total, found.input_uncached, found.cache_read, found.output_total, found.total) == counts
    assert found.raw == raw
    assert found.reasoning is None
