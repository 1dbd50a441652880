"""A law over every transport: what a block carries beside its content goes out, or a Change names the block."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    Change,
    Conversion,
    ConversionError,
    DocumentMessageContent,
    ImageMessageContent,
    Message,
    PromptStack,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from tests.laws.stacks import PDF, PNG, stacks
from tests.laws.test_conversion import TOOL, converted, many, over_targets

MARK = "bWFyay1vZi1pdCEh"  # also the base64 of something, so that it is a seal wherever one is read
CITED = ({"type": "foreign", "url": MARK},)
ID = "callab123"
Text, Document = TextMessageContent, DocumentMessageContent


def user(block: Any) -> tuple[list[Message], tuple[int, int]]:
    return [Message("user", (block, Text("q")))], (0, 0)


def answer(*blocks: Any) -> tuple[list[Message], tuple[int, int]]:
    return [Message("user", (Text("q"),)), Message("assistant", blocks), Message("user", (Text("go"),))], (1, 0)


def called(result: dict[str, Any] | None = None, **call: Any) -> tuple[list[Message], tuple[int, int]]:
    messages = [
        Message("user", (Text("q"),)),
        Message("assistant", (ActionCallMessageContent(ID, "look", **{"input": {"a": 1}, **call}),)),
        Message("user", (ActionResultMessageContent(ID, **(result or {"output": "out"})),)),
    ]
    return messages, (1, 0) if result is None else (2, 0)


MARKED: dict[str, tuple[tuple[list[Message], tuple[int, int]], str]] = {
    "signature of the only text": (answer(Text("x", thought_signature=MARK)), MARK),
    "signature of a text": (answer(Text("x", thought_signature=MARK), Text("y")), MARK),
    "signature of a user's text": (user(Text("x", thought_signature=MARK)), MARK),
    "signature of a call": (called(thought_signature=MARK), MARK),
    "signature of a text before a call": (
        answer(Text("x", thought_signature=MARK), ActionCallMessageContent(ID, "look")),
        MARK,
    ),
    "citations of the only text": (answer(Text("x", citations=CITED)), MARK),
    "citations of a text": (answer(Text("x", citations=CITED), Text("y")), MARK),
    "citations of a user's text": (user(Text("x", citations=CITED)), MARK),
    "citations in a result": (called({"parts": (Text("x", citations=CITED),)}), MARK),
    "signature in a result": (called({"parts": (Text("x", thought_signature=MARK),)}), MARK),
    "custom call": (called(native={"custom": True}, input={"input": "x"}), '"custom'),
    "cache of a text": (user(Text("x", cache=True)), "cache"),
    "cache of a call": (called(cache=True), "cache"),
    "cache of a result": (called({"output": "x", "cache": True}), "cache"),
    "detail of an image": (user(ImageMessageContent(PNG, detail="low")), '"detail": "low"'),
    "detail of an image in a result": (
        called({"parts": (ImageMessageContent(PNG, detail="low"),)}),
        '"detail": "low"',
    ),
    "name of a text document": (user(Document(text="t", name=f"{MARK}.txt")), MARK),
    "name of a PDF": (user(Document(PDF, media_type="application/pdf", name=f"{MARK}.pdf")), MARK),
    "name beside a title": (user(Document(text="t", name=f"{MARK}.txt", title="T")), MARK),
    "title of a document": (user(Document(text="t", title=MARK)), MARK),
    "title of a PDF": (user(Document(PDF, media_type="application/pdf", title=MARK)), MARK),
    "context of a document": (user(Document(text="t", context=MARK)), MARK),
    "wish to cite a document": (user(Document(text="t", native={"citations": {"enabled": True}})), "enabled"),
    "name of a document in a result": (called({"parts": (Document(text="t", name=f"{MARK}.txt"),)}), MARK),
    "summary of reasoning": (answer(ThinkingMessageContent("x", summary=("x", MARK)), Text("y")), MARK),
    "item id of reasoning": (answer(ThinkingMessageContent("x", id=MARK), Text("y")), MARK),
    "encrypted reasoning": (answer(ThinkingMessageContent("x", encrypted_content=MARK), Text("y")), MARK),
    "signature of reasoning": (answer(ThinkingMessageContent("x", signature=MARK), Text("y")), MARK),
    "both seals of reasoning": (
        answer(ThinkingMessageContent("x", signature="c2ln", encrypted_content=MARK), Text("y")),
        MARK,
    ),
    "opaque reasoning": (answer(ThinkingMessageContent(data=MARK), Text("y")), MARK),
    "category of a refusal": (answer(RefusalMessageContent("no", category=MARK)), MARK),
}
CITES_ALL = {("cohere_chat", "wish to cite a document")}
"""Cohere cites documents unless `citation_options` says otherwise: there is nothing to ask for."""


@over_targets
@pytest.mark.parametrize("mark", MARKED)
def test_a_mark_goes_out_or_its_block_is_named(api: str, model: str | None, mark: str) -> None:
    (messages, ref), shown = MARKED[mark]
    try:
        found = llmneutral.convert(PromptStack(messages), api, model=model, max_tokens=500)
    except ConversionError:
        return  # said aloud
    assert isinstance(found, Conversion)
    told = [change for change in found.changes if ref in map(tuple, change.refs)]
    assert told or shown in json.dumps(found.to_json()) or (api, mark) in CITES_ALL, found.payload


@over_targets
@many
@given(stacks)
def test_no_seal_of_gemini_is_lost_in_silence(api: str, model: str | None, messages: list[Message]) -> None:
    """Whatever else becomes of a block, and wherever it stands."""
    found = converted(messages, api, model)
    if isinstance(found, ConversionError) or api == "gemini_native":
        return
    told = {tuple(ref) for change in found.changes for ref in change.refs}
    for i, message in enumerate(messages):
        for j, block in enumerate(message.content):
            if getattr(block, "thought_signature", None):
                assert (i, j) in told, (block, found.changes)


@over_targets
def test_what_is_one_to_one_is_no_change(api: str, model: str | None) -> None:
    """Item ids and the native remarks of an origin: nothing a model would see is lost."""
    messages = [
        Message("user", (Text("q"),)),
        Message("assistant", (Text("x", native={"id": "msg_1", "status": "completed", "phase": "commentary"}),)),
        Message("user", (Text("go"),)),
        Message("assistant", (ActionCallMessageContent(ID, "look", input={"a": 1}, item_id="fc_1"),)),
        Message("user", (ActionResultMessageContent(ID, "out"),)),
    ]
    found = llmneutral.convert(PromptStack(messages, tools=[TOOL]), api, model=model, max_tokens=500)
    assert isinstance(found, Conversion)
    ours = [change for change in found.changes if change.step != "thought_signatures"]  # Gemini's own wish
    assert [change for change in ours if change.refs] == []


@over_targets
def test_each_mark_is_told_once(api: str, model: str | None) -> None:
    messages = [
        Message("user", (Text("q"),)),
        Message("assistant", (Text("x", citations=CITED, thought_signature=MARK),)),
        Message("user", (Text("go"),)),
    ]
    found = llmneutral.convert(PromptStack(messages), api, model=model, max_tokens=500)
    assert isinstance(found, Conversion)
    told: list[Change] = [change for change in found.changes if (1, 0) in map(tuple, change.refs)]
    assert len([change for change in told if "citations" in change.why]) == 1
    signed = MARK in json.dumps(found.to_json()) or base64.b64decode(MARK).decode() in json.dumps(found.to_json())
    assert len([change for change in told if "signature" in change.why]) == (0 if signed else 1)
