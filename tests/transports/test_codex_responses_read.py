"""A whole answer → the neutral one."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ActionCallMessageContent, InvalidActionCallMessageContent, Origin, TextMessageContent

MADE = Origin("codex_responses", "gpt-5.4")


def normalize(*output: Any, **body: Any) -> Any:
    whole = {"id": "resp_1", "model": "gpt-5.4", "status": "completed", "output": [*output], "error": None, **body}
    return ln.normalize(whole, "codex_responses")


def message(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [*parts], **more}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": [], **more}


def call(arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": arguments, **more}


# --- items --------------------------------------------------------------------------------------


def test_text() -> None:
    found = normalize(message(text("Hello"), text(" there")))
    assert (found.text, found.finish_reason, found.raw_finish_reason, found.complete) == (
        "Hello there",
        "stop",
        "completed",
        True,
    )
    assert (found.id, found.model) == ("resp_1", "gpt-5.4")
    native = {"id": "m", "status": "completed"}
    assert found.message.content == (
        TextMessageContent("Hello", origin=MADE, native=native),
        TextMessageContent(" there", origin=MADE, native=native),
    )


def test_citations() -> None:
    cited = {"type": "url_citation", "url": "https://x.example", "title": "x", "start_index": 0, "end_index": 1}
    found = normalize(message(text("a", annotations=[cited])))
    assert found.citations == (cited,)
    assert found.message.content[0].citations == (cited,)


def test_commentary_is_no_part_of_the_text() -> None:
    found = normalize(message(text("on it"), phase="commentary"), message(text("done"), phase="final_answer"))
    assert found.text == "done"
    assert found.reasoning == [{"text": "on it", "signature": None, "redacted": False}]


def test_an_empty_text_is_no_block() -> None:
    assert normalize(message(text(""))).message.content == ()


def test_content_that_is_a_string_and_parts_nobody_knows() -> None:
    assert normalize({"type": "message", "content": "a"}).text == "a"
    found = normalize(message({"type": "output_hologram"}, text("a")))
    assert found.text == "a"
    assert "output_hologram" in found.notes[0]


def test_a_refusal() -> None:
    found = normalize(message({"type": "refusal", "refusal": "I cannot."}))
    assert found.refusal == {"category": None, "text": "I cannot."}
    assert found.finish_reason == "refusal"
    assert found.message.content[0].origin == MADE


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"summary": [{"text": "a"}, {"text": "b"}]}, "a\n\nb"),
        ({"summary": [], "content": [{"type": "reasoning_text", "text": "t"}]}, "t"),
        ({"summary": []}, ""),
        ({}, ""),
    ],
)
def test_reasoning(item: Any, words: str) -> None:
    found = normalize({"type": "reasoning", "id": "rs_1", "encrypted_content": "E", **item}, message(text("x")))
    assert found.reasoning == [{"text": words, "signature": "E", "redacted": False}]
    block = found.message.content[0]
    assert (block.id, block.encrypted_content, block.origin) == ("rs_1", "E", MADE)


def test_reasoning_only_is_a_stop_with_empty_text() -> None:
    found = normalize({"type": "reasoning", "id": "rs_1", "summary": []})
    assert (found.text, found.finish_reason) == ("", "stop")


def test_calls() -> None:
    found = normalize(
        call('{"a":1}', status="completed", namespace="n"), call("", call_id="d"), call({"b": 2}, call_id="e")
    )
    assert [(one["id"], one["arguments"]) for one in found.to_dict()["tool_calls"]] == [
        ("c", {"a": 1}),
        ("d", {}),
        ("e", {"b": 2}),
    ]
    assert found.finish_reason == "tool_calls"
    assert found.message.content[0] == ActionCallMessageContent(
        "c", "f", None, {"a": 1}, '{"a":1}', None, "fc_1", origin=MADE, native={"namespace": "n"}
    )


@pytest.mark.parametrize(
    ("item", "raw"),
    [
        (call('{"a":', status="incomplete"), '{"a":'),
        (call("[1]"), "[1]"),
        (call('{"a":1}', status="incomplete"), '{"a":1}'),
    ],
)
def test_calls_that_are_never_run(item: Any, raw: str) -> None:
    found = normalize(item)
    assert found.message.content == (InvalidActionCallMessageContent("c", "f", None, raw),)
    assert (found.tool_calls, found.finish_reason) == ([], "stop")


def test_a_call_in_progress_is_a_call_like_any_other() -> None:
    assert normalize(call(status="in_progress")).finish_reason == "tool_calls"


def test_a_call_without_an_id_gets_one() -> None:
    first, second = normalize(call(call_id=None), call(call_id="")).tool_calls
    assert first.tag.startswith("call_")
    assert first.tag != second.tag


def test_the_input_of_a_custom_call_is_text() -> None:
    found = normalize(
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "g", "input": '{"not": "parsed"}'}
    )
    assert found.tool_calls[0].input == {"input": '{"not": "parsed"}'}
    assert found.finish_reason == "tool_calls"


def test_other_items_are_kept_as_they_are() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    found = normalize(item, message(text("a")))
    assert found.message.content[0] == ln.GenericMessageContent(item, origin=MADE)
    assert (found.tool_calls, found.finish_reason) == ([], "stop")


def test_text_beside_an_empty_output() -> None:
    assert normalize(output_text="gateway").text == "gateway"
    assert normalize(message(text("a")), output_text="a").text == "a"


# --- the end ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "finish", "raw", "complete"),
    [
        ({}, "stop", "completed", True),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
            True,
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "content_filter",
            True,
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "incomplete", "steered", True),
        ({"status": "incomplete", "incomplete_details": {"reason": "new"}}, "incomplete", "new", True),
        ({"status": "queued"}, "incomplete", "queued", False),
        ({"status": "in_progress"}, "incomplete", "in_progress", False),
        ({"status": "cancelled"}, "incomplete", "cancelled", False),
        ({"status": "new"}, "other", "new", True),
        ({"status": None}, "stop", None, True),
    ],
)
def test_finish(body: Any, finish: str, raw: str | None, complete: bool) -> None:
    found = normalize(message(text("x")), **body)
    assert (found.finish_reason, found.raw_finish_reason, found.complete) == (finish, raw, complete)
    assert found.text == "x"


CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize(
    ("items", "finish"),
    [
        ((call(),), "tool_calls"),
        ((call('{"a":', status="incomplete"),), "length"),
        ((message({"type": "refusal", "refusal": "no"}), call()), "refusal"),
    ],
)
def test_what_counts_before_a_limit(items: Any, finish: str) -> None:
    assert normalize(*items, **CUT).finish_reason == finish


def test_a_failure() -> None:
    error = {"code": "rate_limit_exceeded", "message": "slow down"}
    found = normalize(message(text("half")), status="failed", error=error)
    assert found.error.to_dict() == {
        "type": "rate_limit_error",
        "raw_type": "rate_limit_exceeded",
        "message": "slow down",
        "status": None,
        "retryable": True,
    }
    assert (found.text, found.finish_reason, found.raw_finish_reason, found.complete) == (
        "half",
        "error",
        "failed",
        False,
    )


def test_a_failure_without_a_reason_and_an_error_without_a_status() -> None:
    assert normalize(status="failed").finish_reason == "error"
    assert normalize(error="boom").error.message == "boom"


def test_what_is_no_answer_is_an_error() -> None:
    found = ln.normalize(["odd"], "codex_responses")
    assert found.finish_reason == "error"
    assert found.error is not None
    assert found.error.type == "malformed_response"


# --- usage --------------------------------------------------------------------------------------


def test_usage() -> None:
    raw = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    }
    found = normalize(usage=raw, tool_usage={"web_search": {"num_requests": 1}})
    assert found.usage.to_dict() == {
        "input_total": 100,
        "input_uncached": 30,
        "cache_read": 60,
        "cache_write": 10,
        "output_total": 20,
        "reasoning": 5,
        "total": 120,
    }
    assert found.usage.raw == raw
    assert found.details == {"tool_usage": {"web_search": {"num_requests": 1}}}


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (None, (None, None, None)),
        ({}, (None, None, None)),
        ({"input_tokens": 5, "output_tokens": 2}, (5, 2, 7)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 9}, (5, 2, 9)),
        ({"input_tokens": 5}, (5, None, None)),
    ],
)
def test_usage_that_is_not_told_is_unknown(raw: Any, wanted: Any) -> None:
    usage = normalize(usage=raw).usage
    assert (usage.input_total, usage.output_total, usage.total) == wanted


# --- and back again -----------------------------------------------------------------------------


def test_an_answer_goes_back_as_it_came() -> None:
    output = [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "s"}],
            "encrypted_content": "E",
        },
        message(text("on it"), {"type": "refusal", "refusal": "hm"}, phase="commentary"),
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
    ]
    stack = ln.PromptStack()
    stack.add_user_message("q")
    first = ln.convert(stack, "codex_responses", model="gpt-5.4")
    answer = ln.normalize(
        {"model": "gpt-5.4-2026-03-05", "status": "completed", "output": output}, "codex_responses", names=first
    )
    stack.messages.append(answer.message)
    stack.add_user_message(ln.ActionResultMessageContent("c", "r"))
    made = ln.convert(stack, "codex_responses", model="gpt-5.4")
    assert made.payload["input"][1:-1] == output
    assert made.changes == ()
