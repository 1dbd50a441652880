"""Usage and the contract's form of an answer."""

from __future__ import annotations

from llmneutral import (
    ActionCallMessageContent,
    ErrorInfo,
    InvalidActionCallMessageContent,
    Message,
    NormalizedResponse,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
    Usage,
)

KEYS = (
    "id model text reasoning tool_calls invalid_tool_calls refusal finish_reason raw_finish_reason complete usage"
    " error citations parsed blocks"
).split()


def test_every_key_is_there_and_unknown_is_null() -> None:
    found = NormalizedResponse(Message("assistant")).to_dict()
    assert sorted(found) == sorted(KEYS)
    assert set(found["usage"].values()) == {None}
    assert found["id"] is found["refusal"] is found["error"] is found["parsed"] is None


def test_the_form() -> None:
    content = (
        ThinkingMessageContent("h", signature="s"),
        ThinkingMessageContent(data="x"),
        TextMessageContent("a", native={"phase": "commentary"}),
        TextMessageContent("b"),
        TextMessageContent("c"),
        ActionCallMessageContent("c1", "f", "p", {"a": 1}, thought_signature="g"),
        InvalidActionCallMessageContent("c2", "f", raw="{"),
        RefusalMessageContent("no", "harm"),
    )
    found = NormalizedResponse(Message("assistant", content), error=ErrorInfo("server_error", message="x")).to_dict()
    assert found["text"] == "bc"
    assert found["reasoning"] == [
        {"text": "h", "signature": "s", "redacted": False},
        {"text": "", "signature": None, "redacted": True},
        {"text": "a", "signature": None, "redacted": False},
    ]
    (call,) = found["tool_calls"]
    assert (call["index"], call["id"], call["name"], call["path"], call["thought_signature"]) == (
        0,
        "c1",
        "f",
        "p",
        "g",
    )
    assert found["invalid_tool_calls"] == [{"id": "c2", "name": "f", "raw_arguments": "{"}]
    assert found["refusal"] == {"category": "harm", "text": "no"}
    assert found["error"]["type"] == "server_error"
    assert [block["type"] for block in found["blocks"]][-3:] == ["tool_call", "invalid_tool_call", "refusal"]


def test_sums_keep_unknown_visible() -> None:
    one, two = Usage(input_total=5, output_total=2, total=7), Usage(input_total=3)
    found = Usage.sum([one, two])
    assert (found.input_total, found.output_total, found.reasoning) == (8, 2, None)
    assert found.partial
    assert not Usage.sum([one, one]).partial
    assert Usage.sum([]) == Usage()
