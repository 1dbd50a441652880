"""Payloads as text: where they go, whether they are valid, every change, and the JSON with its origins."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.payload import Column
from llmneutral_widgets.views.payload_text import HINT, comparison_text, payload_text
from tests.widgets.samples import PNG, column, conversions, stack


def columns(**fields: Any) -> list[Column]:
    return [column(api, found, **fields) for api, found in conversions().items()]


def test_the_head_tells_route_verdict_and_every_change() -> None:
    given = columns(checked="openai 3.57 types")
    printed = payload_text(given, 150)
    assert "POST /chat/completions · valid (openai 3.57 types)" in printed
    assert "4 changes: 1 merged, 1 added, 2 dropped" in printed
    assert "  dropped by params: temperature: claude-sonnet-5-5 takes no sampling settings\n" in printed
    for each in given:
        for change in each.changes:
            assert f"  {change['kind']} by {change['step']}: {change['why']}" in printed
    assert printed.index("── chat_completions ") < printed.index("── anthropic_messages ")
    assert printed.endswith(HINT)


def test_what_is_wrong_is_told_and_marked_where_it_is() -> None:
    problems = [{"path": "/messages/0/content", "message": "must be a list"}]
    (first, _) = columns(checked="sdk", problems=problems)
    printed = payload_text([first], 100)
    assert "1 problem\n  ! /messages/0/content: must be a list" in printed
    assert re.search(r'^! 0\.0 +"content": "You are terse\."$', printed, re.MULTILINE)
    refused = Column(api="cohere_chat", error={"name": "ConversionError", "rule": "media", "message": "no picture"})
    assert "ConversionError\n  media: no picture" in payload_text([refused], 100)
    alone = Column(api="x", payload={}, unchecked="SDK not installed")
    assert "not checked (SDK not installed)" in payload_text([alone], 100)
    assert "── x · sent ──" in payload_text([Column(api="x", payload={}, is_sent=True)], 100)
    assert "no change" in payload_text([Column(api="x", payload={})], 100)
    assert "for m · not checked" in payload_text([Column(api="x", payload={}, model="m")], 100)


def test_each_block_stands_beside_what_was_made_of_it() -> None:
    (first, _) = columns()
    lines = payload_text([first], 100).split("\n")
    labelled = {line.split()[0] for line in lines if re.match(r"\d+\.\d+ ", line)}
    assert labelled == {"0.0", "1.0", "1.1", "2.0", "3.1", "3.2", "4.0", "5.0", "6.0"}, "3.0 is dropped"


def test_what_nobody_wrote_is_marked() -> None:
    given = llmneutral.PromptStack()
    given.add_assistant_message("Hello.")
    given.add_user_message("Hi")
    found = llmneutral.convert(given, "anthropic_messages", model="claude-sonnet-5-5", trace=True)
    printed = payload_text([column("anthropic_messages", found)], 100)
    assert any(change.kind == "added" for change in found.changes)
    assert re.search(r"^\+ ", printed, re.MULTILINE)


@pytest.mark.parametrize("api", ["chat_completions", "codex_responses", "anthropic_messages", "gemini_native"])
def test_short_payloads_are_whole_and_can_be_read_as_json(api: str) -> None:
    given = llmneutral.PromptStack(settings={"max_tokens": 20})
    given.add_system_message("Be terse.")
    given.add_user_message("Why is the sky blue? " * 10)
    found = llmneutral.convert(given, api, model="m")
    printed = payload_text([column(api, found)], 1_000)
    assert json.loads(printed[printed.index("\n{") :].removesuffix(HINT)) == builtin(found.to_json())


def test_what_is_long_is_cut_and_says_so() -> None:
    (first, _) = columns()
    printed = payload_text([first], 100)
    assert PNG not in printed
    assert '"data:image/png;base64,iVBORw0KGgoAAAANSU…" (238 more)' in printed
    many = Column(api="x", payload={f"k{n}": n for n in range(5_000)})
    assert payload_text([many], 100).endswith("… 4,402 more lines")
    told = [{"kind": "dropped", "step": "params", "why": f"{n}", "refs": []} for n in range(200)]
    assert "… 140 more changes" in payload_text([Column(api="x", payload={}, changes=told)], 100)
    same = [{"kind": "dropped", "step": "params", "why": "w", "refs": [[n, 0]]} for n in range(200)]
    assert payload_text([Column(api="x", payload={}, changes=same)], 100).count("dropped by params: w") == 1


def test_the_conversation_stands_above() -> None:
    printed = comparison_text(
        builtin(stack().messages), columns(), 100, settings={"temperature": 0.2}, output_schema={"type": "object"}
    )
    assert printed.startswith("── your conversation ──")
    assert 'settings: {"temperature": 0.2}' in printed
    assert 'form of the answer: {"type": "object"}' in printed
    assert printed.index("1.0 text   What is this") < printed.index("── chat_completions ")
