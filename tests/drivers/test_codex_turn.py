"""The notifications of a turn as deltas, and its failures in the taxonomy's terms."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral.convert.neutral import neutral_normalizer
from llmneutral.drivers.codex_turn import TurnReader, turn_error
from tests.drivers.codex_script import COMPLETED, item, piece, said


def read(*steps: Any, spent: dict[str, Any] | None = None) -> tuple[Any, TurnReader]:
    reader, normalizer = TurnReader("m", spent or {}), neutral_normalizer()
    for step in (*steps, COMPLETED):
        for delta in reader.read(step):
            normalizer.feed(delta)
    normalizer.close()
    return normalizer.response, reader


def summary(text: str, part: int) -> Any:
    return said("item/reasoning/summaryTextDelta", itemId="rs", summaryIndex=part, delta=text)


def test_reasoning_has_a_blank_line_between_its_parts() -> None:
    pieces = [summary("a", 0), summary("b", 0), summary("c", 1)]
    response, _ = read(*pieces, item("reasoning", "rs", summary=["ab", "c"], content=[]), piece("x"))
    [thinking, _] = response.message.content
    assert (thinking.text, thinking.summary, thinking.origin.api) == ("ab\n\nc", ("ab", "c"), "codex_app_server")
    assert read(*pieces)[0].message.content[0].text == "ab\n\nc"


def test_raw_reasoning_of_open_models() -> None:
    raw = said("item/reasoning/textDelta", itemId="rs", contentIndex=0, delta="raw")
    response, _ = read(raw, item("reasoning", "rs", summary=[], content=["raw"]))
    assert [block.text for block in response.message.content] == ["raw"]
    assert read(item("reasoning", "rs", summary=[], content=[]))[0].message.content == ()


def test_what_an_item_says_of_itself_in_the_end_stands() -> None:
    response, reader = read(piece("hel"), item("agentMessage", text="hello"))
    assert response.text == "hello" == "".join(reader.texts.values())
    assert read(item("agentMessage", text="at once"))[0].text == "at once"


def test_several_messages_are_several_blocks_even_under_one_id() -> None:
    begins = said("item/started", item={"type": "agentMessage", "id": "msg_0", "text": ""})
    first = [begins, piece("one"), item("agentMessage", text="one")]
    done = item("commandExecution", "c", command="ls", status="completed")
    response, _ = read(*first, done, begins, piece("two"), item("agentMessage", text="two"))
    blocks = response.to_dict()["blocks"]
    assert [block["type"] for block in blocks] == ["text", "generic", "text"]
    assert [blocks[0]["text"], blocks[2]["text"]] == ["one", "two"]


def test_counts_are_those_of_the_turn() -> None:
    counts = {"inputTokens": 30, "cachedInputTokens": 10, "cacheWriteInputTokens": 5, "outputTokens": 9}
    told = said("thread/tokenUsage/updated", tokenUsage={"total": {**counts, "reasoningOutputTokens": 3}, "last": {}})
    usage = read(told, spent={"inputTokens": 10, "outputTokens": 4})[0].usage
    assert usage.to_dict() == {
        "input_total": 20,
        "input_uncached": 5,
        "cache_read": 10,
        "cache_write": 5,
        "output_total": 5,
        "reasoning": 3,
        "total": None,
    }


def test_another_model_may_answer() -> None:
    assert read(said("model/rerouted", fromModel="m", toModel="n"), piece("x"))[0].model == "n"


def test_what_is_of_another_turn_or_unknown_is_passed_over() -> None:
    reader = TurnReader("m", {})
    reader.turn_id = "mine"
    assert (
        reader.read({"method": "item/agentMessage/delta", "params": {"turnId": "x", "itemId": "i", "delta": "d"}}) == []
    )
    reader.read({"method": "turn/completed", "params": {"turn": {"id": "x", "status": "completed"}}})
    assert reader.status is None
    assert reader.read({"method": "item/plan/delta", "params": {"delta": "d"}}) == []
    assert reader.read({"method": "turn/completed"}) == []


@pytest.mark.parametrize(
    ("info", "kind", "status"),
    [
        ("contextWindowExceeded", "context_length_error", None),
        ("ContextWindowExceeded", "context_length_error", None),
        ("usageLimitExceeded", "rate_limit_error", None),
        ("unauthorized", "authentication_error", None),
        ("badRequest", "invalid_request_error", None),
        ("serverOverloaded", "overloaded_error", None),
        ("sandboxError", "server_error", None),
        ("somethingNew", "server_error", None),
        (None, "server_error", None),
        ({"httpConnectionFailed": {"httpStatusCode": None}}, "connection_error", None),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "authentication_error", 401),
        ({"responseStreamConnectionFailed": {"httpStatusCode": 429}}, "rate_limit_error", 429),
        ({"responseStreamDisconnected": {"httpStatusCode": None}}, "stream_interrupted", None),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": None}}, "server_error", None),
        ({"activeTurnNotSteerable": {"turnKind": "review"}}, "server_error", None),
    ],
)
def test_failures_in_the_terms_of_the_taxonomy(info: Any, kind: str, status: int | None) -> None:
    error = turn_error({"message": "m", "codexErrorInfo": info, "additionalDetails": "more"})
    assert (error.type, error.status, error.retryable, error.message) == (kind, status, False, "m; more")
    assert turn_error(None).type == "server_error"
