"""Answers of Cohere, whole and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import NormalizedResponse, aggregate, convert, normalize, normalize_stream
from llmneutral.ir import contents as c
from llmneutral.transports.cohere_chat.answer import FINISH, usage

ORIGIN = c.Origin("cohere_chat")
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
CITE = {"start": 0, "end": 1, "text": "a", "sources": [{"type": "tool", "id": "c1:0"}], "type": "TEXT_CONTENT"}


def whole(finish: str = "COMPLETE", /, **message: Any) -> NormalizedResponse:
    body = {"id": "x", "finish_reason": finish, "message": {"role": "assistant", **message}}
    return normalize(body, "cohere_chat")


def event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind} if index is None else {"type": kind, "index": index}
    return found | ({"delta": {"message": message}} if message else {})


def content(index: int, *pieces: dict[str, Any], closed: bool = True) -> list[dict[str, Any]]:
    first, *rest = pieces
    end = [event("content-end", index)] if closed else []
    return [
        event("content-start", index, content=first),
        *[event("content-delta", index, content=p) for p in rest],
        *end,
    ]


def end(finish: str = "COMPLETE", **delta: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": finish, **delta}}


START = {
    "type": "message-start",
    "id": "x",
    "delta": {"message": {"role": "assistant", "content": [], "tool_plan": ""}},
}


def streamed(*events: Any) -> NormalizedResponse:
    return aggregate([START, *events], "cohere_chat")


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thinking(said: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said}


# --- content ------------------------------------------------------------------------------------


def test_a_plain_answer() -> None:
    found = whole(content=[text("hello")])
    assert (found.id, found.model, found.text, found.finish_reason) == ("x", None, "hello", "stop")
    assert found.raw_finish_reason == "COMPLETE"
    assert found.complete
    assert streamed(*content(0, text("hel"), {"text": "lo"}), end()).to_dict() == found.to_dict()


def test_one_index_for_the_thought_and_for_the_text() -> None:
    """A slot opens at each start; the index is only a key until the end."""
    found = streamed(*content(0, thinking(""), {"thinking": "hm"}), *content(0, text(""), {"text": "a"}), end())
    assert found.message.content == (c.ThinkingMessageContent("hm", origin=ORIGIN), c.TextMessageContent("a"))
    assert whole(content=[thinking("hm"), text("a")]).message.content == found.message.content


def test_a_start_without_an_end_and_a_piece_without_a_start() -> None:
    unclosed = streamed(*content(0, text("a"), closed=False), *content(0, text("b")), end())
    assert [block.to_text() for block in unclosed.message.content] == ["a", "b"]
    headless = streamed(
        event("content-delta", 3, content={"text": "a"}), event("content-delta", 3, content={"text": "b"}), end()
    )
    assert headless.message.content == (c.TextMessageContent("ab"),)


def test_a_plan_is_text_before_the_calls_and_goes_back_as_one() -> None:
    found = whole("TOOL_CALL", tool_plan="I look.", tool_calls=[CALL])
    assert found.text == "I look."
    plan, call = found.message.content
    assert plan == c.TextMessageContent("I look.", native={"plan": True}, origin=ORIGIN)
    assert (call.tag, call.input) == ("c1", {"a": 1})  # type: ignore[union-attr]  # a call
    pieces = [event("tool-plan-delta", tool_plan=piece) for piece in ("I ", "look.")]
    start = event("tool-call-start", 0, tool_calls={**CALL, "function": {"name": "f", "arguments": ""}})
    delta = event("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"a": 1}'}})
    parts = streamed(*pieces, start, delta, event("tool-call-end", 0), end("TOOL_CALL"))
    assert parts.message == found.message
    sent = convert([{"role": "user", "content": "q"}, found.message], "cohere_chat", model="command-a-03-2025")
    assert sent.payload["messages"][1] == {"role": "assistant", "tool_plan": "I look.", "tool_calls": [CALL]}


def test_events_of_no_kind_we_know_are_not_read() -> None:
    found = streamed(
        {"type": "debug", "prompt": "…"}, {"type": "new"}, *content(0, text("a")), event("citation-end", 0), end()
    )
    assert (found.text, found.notes) == ("a", ())


# --- calls --------------------------------------------------------------------------------------


def test_calls_in_pieces() -> None:
    def call(index: int, tag: str) -> list[dict[str, Any]]:
        start = event("tool-call-start", index, tool_calls={"id": tag, "function": {"name": "f", "arguments": '{"a"'}})
        return [
            start,
            event("tool-call-delta", index, tool_calls={"function": {"arguments": ": 1}"}}),
            event("tool-call-end", index),
        ]

    found = streamed(*call(0, "c1"), *call(1, "c2"), *call(0, "c3"), end("TOOL_CALL"))
    assert [(each.tag, each.input) for each in found.tool_calls] == [(tag, {"a": 1}) for tag in ("c1", "c2", "c3")]
    assert found.finish_reason == "tool_calls"


def test_blank_arguments_are_none_and_broken_ones_are_invalid() -> None:
    blank = whole("TOOL_CALL", tool_calls=[{"id": "a", "function": {"name": "f", "arguments": ""}}])
    assert blank.tool_calls[0].input == {}
    broken = whole("MAX_TOKENS", tool_calls=[{"id": "a", "function": {"name": "f", "arguments": "{"}}])
    assert (broken.invalid_tool_calls[0].raw, broken.finish_reason) == ("{", "length")


def test_a_call_that_broke_off_is_invalid() -> None:
    start = event("tool-call-start", 0, tool_calls={"id": "a", "function": {"name": "f", "arguments": "{}"}})
    assert len(streamed(start).invalid_tool_calls) == 1
    assert len(streamed(start, event("tool-call-end", 0)).tool_calls) == 1


# --- citations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cite", "cited"),
    [
        (CITE, "b"),
        ({**CITE, "content_index": 1}, "a"),
        ({**CITE, "content_index": 0}, "b"),  # a thought: the index is wrong
        ({**CITE, "type": "PLAN"}, "plan"),
        ({**CITE, "type": "THINKING_CONTENT"}, None),
        ({**CITE, "content_index": None}, "b"),
    ],
)
def test_citations(cite: dict[str, Any], cited: str | None) -> None:
    parts = [thinking("hm"), text("a"), text("b")]
    told = {key: value for key, value in cite.items() if value is not None}
    events = [each for part in parts for each in content(0, part)]
    events += [event("tool-plan-delta", tool_plan="plan"), event("citation-start", 0, citations=cite)]
    for found in (whole(content=parts, tool_plan="plan", citations=[cite]), streamed(*events, end())):
        assert found.citations == (told,)
        texts = [block for block in found.message.content if isinstance(block, c.TextMessageContent)]
        assert [block.text for block in texts if block.citations] == ([] if cited is None else [cited])


def test_a_citation_of_nothing_but_a_plan() -> None:
    found = whole("TOOL_CALL", tool_plan="p", tool_calls=[CALL], citations=[CITE])
    assert found.message.content[0].citations == (CITE,)  # type: ignore[union-attr]  # the plan
    assert whole(citations=[CITE]).citations == (CITE,)


# --- finish, errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(("raw", "reason"), [*FINISH.items(), ("complete", "stop"), ("NEW", "other")])
def test_finish_reasons(raw: str, reason: str) -> None:
    for found in (whole(raw, content=[text("a")]), streamed(*content(0, text("a")), end(raw))):
        assert (found.finish_reason, found.raw_finish_reason) == (reason, raw)
        assert (found.error is not None) is (reason == "error")


def test_an_error_at_the_end_of_a_stream() -> None:
    found = streamed(*content(0, text("a")), end("ERROR", error="No valid response generated."), *content(0, text("b")))
    assert found.error is not None
    assert (found.error.type, found.error.raw_type, found.error.message) == (
        "server_error", "ERROR", "No valid response generated.",
    )  # fmt: skip
    assert (found.complete, found.text, found.usage.total) == (False, "a", None)
    late = streamed(end("TIMEOUT"))
    assert late.error is not None
    assert (late.error.type, late.error.retryable) == ("timeout_error", True)
    odd = streamed(*content(0, text("a")), end("COMPLETE", error="but"))
    assert odd.error is not None
    assert odd.error.message == "but"


def test_a_stream_without_its_end_is_incomplete() -> None:
    found = streamed(*content(0, text("a")))
    assert (found.complete, found.finish_reason, found.text) == (False, "incomplete", "a")


def test_errors_instead_of_an_answer() -> None:
    for found in (
        normalize({"message": "invalid api token"}, "cohere_chat"),
        streamed({"message": "invalid api token"}),
    ):
        assert found.error is not None
        assert (found.error.message, found.complete) == ("invalid api token", False)
    none = normalize({"id": "x"}, "cohere_chat")
    assert none.error is not None
    assert none.error.type == "malformed_response"


def test_a_plain_string_is_one_text() -> None:
    """Cohere's own type is a list; servers that imitate the API write a string."""
    found = whole(content="said", citations=[CITE])
    assert (found.text, found.error, found.complete) == ("said", None, True)
    assert len(found.to_dict()["blocks"]) == 1
    assert found.citations == (CITE,)
    listed = whole(content=["a", text("b")])
    assert (listed.text, listed.error) == ("ab", None)
    assert whole(content="").text == ""
    pieces: list[Any] = [event("content-start", 0, content="a"), event("content-delta", 0, content="b")]
    stream = streamed(*pieces, event("content-end", 0), end())
    assert (stream.text, stream.error, len(stream.to_dict()["blocks"])) == ("ab", None, 1)


def test_the_start_has_the_id() -> None:
    start, *_ = normalize_stream([START, *content(0, text("a"))], "cohere_chat")
    assert (start.kind, start.id) == ("start", "x")


def test_probabilities_are_kept() -> None:
    told = {"text": "a", "token_ids": [1], "logprobs": [-0.5]}
    body = {"id": "x", "finish_reason": "COMPLETE", "message": {"content": [text("a")]}, "logprobs": [told]}
    delta = {**event("content-delta", 0, content={"text": "a"}), "logprobs": told}
    parts = streamed(event("content-start", 0, content=text("")), delta, end())
    assert normalize(body, "cohere_chat").details == parts.details == {"logprobs": [told]}


def test_an_object_of_the_sdk() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies warn at import
        from cohere.v2.types import V2ChatResponse
    message = {"role": "assistant", "content": [thinking("hm"), text("a")], "citations": [CITE]}
    body = {"id": "x", "finish_reason": "COMPLETE", "message": message, "usage": {"tokens": {"input_tokens": 1.0}}}
    found = normalize(V2ChatResponse.model_validate(body), "cohere_chat")
    assert (found.text, found.reasoning[0]["text"], found.usage.input_total) == ("a", "hm", 1)
    assert found.citations[0]["sources"][0]["id"] == "c1:0"


# --- usage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "counts"),
    [
        (
            {"tokens": {"input_tokens": 10.0, "output_tokens": 2.0}, "cached_tokens": 4.0, "billed_units": {}},
            (10, 6, 4, 2, 12),
        ),
        ({"tokens": {"input_tokens": 10, "output_tokens": 2}}, (10, 10, None, 2, 12)),
        ({"tokens": {"input_tokens": 1, "output_tokens": None}, "cached_tokens": 4}, (1, None, 4, None, None)),
        ({"tokens": {"input_tokens": 1.5, "output_tokens": True}}, (None, None, None, None, None)),
        ({"billed_units": {"input_tokens": 3}}, (None, None, None, None, None)),
    ],
)
def test_usage(raw: dict[str, Any], counts: tuple[int | None, ...]) -> None:
    found = usage(raw)
    assert (found.input_total, found.input_uncached, found.cache_read, found.output_total, found.total) == counts
    assert (found.raw, found.reasoning, found.cache_write) == (raw, None, None)
