"""The exchange: what it offers, what it keeps, and what it reads back."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from typing import Any

import nbformat
import pytest

import llmneutral
from llmneutral_widgets.exchange import (
    MIME,
    SCHEMA,
    Exchange,
    Exchanges,
    SchemaError,
    error_record,
    folded,
    new_id,
    payload_digest,
    status_of,
    tool_record,
    unfolded,
    usage_rows,
)
from llmneutral_widgets.scrub import Secrets
from llmneutral_widgets.views.usage import COLUMNS
from tests.widgets.samples import PNG, conversions, response, stack

KEYS = """schema id parent cell_id stack created status provider api model answered_by settings history messages tools
    output_schema response rounds calls changes payload payload_sha256 cost timing error cut""".split()


def made(**changes: Any) -> Exchange:
    given: dict[str, Any] = {
        "id": "x-3f9a0c1e",
        "status": "complete",
        "name": "other",
        "created": "2026-11-30T10:00:00Z",
        "provider": "anthropic",
        "api": "anthropic_messages",
        "model": "claude-sonnet-5-5",
        "settings": {"temperature": 0.2},
        "history": {"messages": 4, "sent": True},
        "messages": stack().messages[1:2],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {}}}],
        "response": response(),
        "conversions": {"anthropic_messages": conversions()["anthropic_messages"]},
        "timing": {"first_delta_s": 0.42, "total_s": 3.1, "attempts": 1},
    }
    return Exchange(**{**given, **changes})


def test_what_it_offers() -> None:
    exchange = made(stack=stack())
    assert exchange.text == "It is **sunny**."
    assert exchange.message == response().message
    assert exchange.usage.output_total == 96
    assert exchange.parsed is None
    assert exchange.payload["model"] == "claude-sonnet-5-5"
    assert exchange.conversion.api == "anthropic_messages"
    assert exchange.stack.messages == stack().messages
    assert exchange.status == "complete"
    assert "merged" in [change.kind for change in exchange.changes]
    assert repr(exchange) == "<Exchange x-3f9a0c1e: anthropic · claude-sonnet-5-5: It is **sunny**.>"


def test_without_an_answer() -> None:
    exchange = Exchange(id="x-1", status="failed", error=ValueError("no"))
    assert (exchange.text, exchange.message, exchange.usage, exchange.payload) == ("", None, None, None)
    record = exchange.to_json()
    assert record["error"]["message"] == "no"
    assert sorted(record) == sorted(KEYS)


def test_every_key_is_there_and_it_is_json() -> None:
    record = made().to_json()
    assert list(record) == [*KEYS[:-1], "cut"]
    assert record["schema"] == SCHEMA
    json.dumps(record, allow_nan=False)
    assert record["response"] == response().to_dict()
    assert record["stack"] == "other"
    assert record["payload"] is None
    assert record["messages"][0]["content"][1]["data"] == PNG
    assert record["tools"][0]["name"] == "weather"
    assert len(record["tools"][0]["schema_sha256"]) == 64
    assert record["changes"][0]["api"] == "anthropic_messages"
    assert record["cost"] == {"amount": None, "currency": None, "source": None}


def test_back_from_json() -> None:
    record = json.loads(json.dumps(made().to_json()))
    read = Exchange.from_json(record)
    assert read.to_json() == record
    assert read.text == made().text
    assert read.message == made().message
    assert read.usage["output_total"] == 96
    assert read.changes == made().changes


def test_the_messages_are_those_of_a_stack() -> None:
    record = made(messages=stack().messages).to_json()
    read = llmneutral.PromptStack.from_json(json.dumps({"messages": record["messages"]}))
    assert read.messages == stack().messages


def test_a_notebook_takes_it() -> None:
    output = nbformat.v4.new_output("display_data", data={MIME: made().to_json(), "text/plain": "x"})
    cell = nbformat.v4.new_code_cell("%%prompt", outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    back = nbformat.reads(nbformat.writes(notebook), as_version=4)
    assert back.cells[0].outputs[0].data[MIME] == made().to_json()


def test_unknown_keys_are_ignored_and_absent_ones_unknown() -> None:
    read = Exchange.from_json({"schema": 1, "id": "x-1", "status": "complete", "invented": 1})
    assert (read.model, read.text) == (None, "")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"schema": 2, "id": "x-1", "status": "complete"}, r"written by a newer llmneutral \(schema 2\)"),
        ({"id": "x-1"}, "no schema"),
        ("text", "no schema"),
        ({"schema": 1, "status": "complete"}, "id"),
        ({"schema": 1, "id": "x", "status": "odd"}, "Invalid enum value 'odd'"),
        ({"schema": 1, "id": "x", "status": "failed", "changes": 3}, "no exchange of llmneutral"),
    ],
)
def test_what_is_no_exchange_is_said(record: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Exchange.from_json(record)


def test_no_infinite_numbers_no_secrets_no_paths_no_big_media() -> None:
    key = "my-very-secret-value"
    big = base64.b64encode(bytes(40_000)).decode()
    content = (
        llmneutral.TextMessageContent(f"the key is {key} or sk-ant-abc1234567"),
        llmneutral.ImageMessageContent(data=big, media_type="image/png"),
        llmneutral.DocumentMessageContent(data="AAAA", name="/srv/ada/papers/a.pdf"),
        llmneutral.DocumentMessageContent(data="AAAA", name=r"C:\Users\Ada\b.pdf"),
    )
    exchange = made(
        messages=[llmneutral.Message("user", content)],
        timing={"first_delta_s": math.nan, "total_s": math.inf},
        error=RuntimeError(f"failed with {key}"),
    )
    record = exchange.to_json(Secrets([key]))
    text = json.dumps(record, allow_nan=False)
    assert key not in text
    assert "sk-ant" not in text
    assert "/srv" not in text
    assert "Users" not in text
    assert [block.get("name") for block in record["messages"][0]["content"][2:]] == ["a.pdf", "b.pdf"]
    assert record["timing"] == {"first_delta_s": None, "total_s": None, "attempts": None}
    assert record["cut"][0]["at"] == "/messages/0/content/1"
    assert record["cut"][0]["was"] == "image/png, 40000 bytes"
    assert Exchange.from_json(record).to_json()["cut"] == record["cut"]


def test_only_what_was_not_sent_keeps_its_payload() -> None:
    both = made(status="dry_run", response=None, conversions=conversions())
    record = both.to_json()
    assert set(record["payload"]) == {"chat_completions", "anthropic_messages"}
    read = Exchange.from_json(record)
    assert read.payload == record["payload"]["chat_completions"]
    assert read.to_json()["payload_sha256"] == record["payload_sha256"]


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert payload_digest({"a": 1, "b": [2]}) == payload_digest({"b": [2], "a": 1})
    assert payload_digest({"a": 1}) != payload_digest({"a": 2})


def test_tools_keep_a_name_and_a_digest() -> None:
    def function() -> None: ...

    assert tool_record(function) == {"name": "function", "schema_sha256": None}
    kept = tool_record({"name": "f", "parameters": {}})
    assert tool_record(kept) == kept


def test_errors() -> None:
    error = llmneutral.RateLimitError("too fast", status=429, provider="openai", request_id="r1", hint="wait")
    record = error_record(error)
    assert record is not None
    picked = {key: record[key] for key in ("name", "type", "status", "provider", "request_id", "hint", "message")}
    assert picked == {
        "name": "RateLimitError",
        "type": "rate_limit_error",
        "status": 429,
        "provider": "openai",
        "request_id": "r1",
        "hint": "wait",
        "message": "too fast",
    }
    refused = llmneutral.ConversionError("no picture", rule="media", refs=[(1, 1)], api="cohere_chat")
    assert (error_record(refused) or {})["refs"] == [[1, 1]]
    assert error_record(None) is None
    assert error_record({"message": "kept"}) == {"message": "kept"}


@pytest.mark.parametrize(
    ("given", "error", "status"),
    [
        (response(), None, "complete"),
        (response(complete=False, finish_reason="incomplete"), None, "incomplete"),
        (response(finish_reason="refusal"), None, "refused"),
        (response(finish_reason="length"), None, "complete"),
        (response(), KeyboardInterrupt(), "interrupted"),
        (response(), asyncio.CancelledError(), "interrupted"),
        (None, llmneutral.ProviderError("x"), "failed"),
        (response(), llmneutral.StreamInterruptedError("x"), "incomplete"),
        ({"complete": True, "error": {"type": "server_error"}}, None, "failed"),
    ],
)
def test_how_it_ended(given: Any, error: BaseException | None, status: str) -> None:
    assert status_of(given, error) == status


def test_ids_differ() -> None:
    ids = {new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(each) == 10 and each.startswith("x-") for each in ids)


def test_answers_side_by_side() -> None:
    several = Exchanges([made(), made(model="other", provider="openai", response=response("No."))])
    view = several.compare()
    assert view.html.count("<td") == 2
    assert "openai" in view.html
    assert "No." in view.text
    assert set(view._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_rows_of_usage() -> None:
    calls = [
        {"status": "complete", "usage": {"input_total": 5, "output_total": 1}, "finish_reason": "tool_calls"},
        {"status": "retried", "usage": {}},
        {"status": "complete", "usage": {"input_total": 8}, "cost": {"amount": 0.5, "currency": "EUR", "source": "me"}},
    ]
    rows = usage_rows(made(calls=calls).to_json())
    assert [row["input_total"] for row in rows] == [5, None, 8]
    assert [row["status"] for row in rows] == ["complete", "retried", "complete"]
    assert [row["finish_reason"] for row in rows] == ["tool_calls", None, None]
    assert [(row["cost"], row["currency"], row["prices"]) for row in rows][1:] == [
        (None, None, None),
        (0.5, "EUR", "me"),
    ]
    assert all(set(row) == {*COLUMNS, "prices"} for row in rows)
    [only] = usage_rows(made(cost={"amount": 0.5, "currency": "EUR"}).to_json())
    assert only["input_total"] == 812
    assert only["tokens_per_s"] == pytest.approx(96 / (3.1 - 0.42))
    assert (only["cost"], only["currency"], only["status"]) == (0.5, "EUR", "complete")
    assert only["model"] == "claude-sonnet-5-5-20261101"
    assert usage_rows(made(status="dry_run", response=None).to_json()) == []


def test_the_text_of_a_long_answer_is_kept_once() -> None:
    text = "A word. " * 1000
    answer = Exchange(id="x-1", status="complete", response=response(text))
    record = answer.to_json()
    kept = folded(record)
    assert json.dumps(kept).count(text) == 1
    assert set(kept["response"]) == set(record["response"])
    back = Exchange.from_json(json.loads(json.dumps(kept)))
    assert back.text == text
    assert back.to_json() == record
    short = Exchange(id="x-1", status="complete", response=response("short")).to_json()
    assert folded(short) == short


@pytest.mark.parametrize(
    "answer",
    [None, 3, {}, {"text": None, "blocks": [3, {"type": "text"}, {"type": "text", "text": 3}]}, {"blocks": "text"}],
)
def test_an_answer_of_a_strangers_is_unfolded_all_the_same(answer: Any) -> None:
    assert (unfolded(answer) or {"text": ""})["text"] == "" if isinstance(answer, dict) else unfolded(answer) == answer


def test_commentary_is_no_part_of_a_text_that_was_folded() -> None:
    aside = {"type": "text", "text": "hm", "native": {"phase": "commentary"}}
    assert unfolded({"text": None, "blocks": [aside, {"type": "text", "text": "yes"}]})["text"] == "yes"


def test_the_repr_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "a-secret-of-mine-0123456789-and-still-more-of-it"
    monkeypatch.setenv("SOME_API_KEY", key)
    for text in (key, f"{'x' * 40}{key}", f"{'word ' * 8}{key}"):
        told = repr(Exchange(id="x-1", status="complete", provider=key, response=response(text)))
        assert key[:12] not in told
    assert repr(Exchange(id="x-1", status="failed")).endswith(": failed>")
