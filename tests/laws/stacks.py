"""Conversations as Hypothesis draws them: every kind of block, in every role, paired or not."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
APIS = ("chat_completions", "codex_responses", "anthropic_messages", "bedrock_converse", "gemini_native")
ORIGINS = st.sampled_from([None, *[Origin(api, "m") for api in APIS], Origin("anthropic_messages", "other")])
IDS = st.sampled_from([None, "", "a", "b", "a|b", "call.1", "fc_9", "x" * 80, " a "])
NAMES = st.sampled_from(["look", "files.read", "a b", "n" * 70, "look_up", ""])
ARGUMENTS = st.sampled_from(['{"a": 1}', "", "null", "[1]", "not json", '"{\\"a\\": 2}"'])
TEXTS = st.sampled_from(["", " ", "x", "y\n", "größer", "\ud83d", "$5 {a}"])
SIGNATURES = st.sampled_from([None, None, "c2VhbA==", "no seal!"])
MARKS = st.sampled_from([None, None, None, True, "1h"])

texts = st.builds(TextMessageContent, TEXTS, cache=MARKS)
signed = st.builds(TextMessageContent, TEXTS, thought_signature=SIGNATURES, origin=ORIGINS)
images = st.builds(
    ImageMessageContent, st.just(PNG), media_type=st.sampled_from([None, "image/png", "image/jpg"]), cache=MARKS
)
documents = st.builds(
    DocumentMessageContent, st.just(PDF), media_type=st.just("application/pdf"), name=st.sampled_from([None, "a.pdf"])
)
thinking = st.builds(
    ThinkingMessageContent,
    TEXTS,
    signature=st.sampled_from([None, "sig"]),
    encrypted_content=st.sampled_from([None, None, "enc"]),
    id=st.sampled_from([None, "rs_1"]),
    origin=ORIGINS,
)
redacted = st.builds(ThinkingMessageContent, data=st.sampled_from(["", "blob"]), origin=ORIGINS)
calls = st.one_of(
    st.builds(ActionCallMessageContent, IDS, NAMES, input=st.just({"a": 1})),
    st.builds(ActionCallMessageContent, IDS, NAMES, input=st.just({}), thought_signature=SIGNATURES, origin=ORIGINS),
    st.builds(ActionCallMessageContent, IDS, NAMES, input=st.just(None), arguments=ARGUMENTS),
    st.builds(InvalidActionCallMessageContent, IDS, NAMES, raw=st.just('{"a": ')),
)
parts = st.lists(
    st.one_of(st.builds(TextMessageContent, TEXTS), st.builds(ImageMessageContent, st.just(PNG))), max_size=3
)
results = st.builds(
    ActionResultMessageContent,
    IDS,
    st.sampled_from([None, "", "ok", {"t": 4}, [1, 2], float("nan"), True]),
    st.one_of(st.none(), parts.map(tuple)),
    is_error=st.booleans(),
    cache=MARKS,
)
refusals = st.builds(RefusalMessageContent, TEXTS)
generic = st.builds(
    GenericMessageContent,
    st.just({"type": "web_search_call", "id": "ws_1"}),
    origin=st.sampled_from([None, *[Origin(api) for api in APIS]]),
)

users = st.lists(st.one_of(texts, images, documents, results), max_size=3)
assistants = st.lists(st.one_of(texts, signed, thinking, redacted, calls, refusals, images), max_size=4)
systems = st.lists(texts, max_size=2)


def _messages(role: str, content: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    return content.map(lambda blocks: Message(role, tuple(blocks)))


messages = st.one_of(
    _messages("user", users),
    _messages("user", users),
    _messages("assistant", assistants),
    _messages("assistant", assistants),
    _messages("system", systems),
    _messages("developer", systems),
)
stacks = st.lists(messages, min_size=1, max_size=7)


def exchanges(n: int) -> list[Message]:
    """A tidy conversation: n times a question, a call, its result and an answer; the ids are such that all take."""
    found: list[Message] = []
    for i in range(n):
        found += [
            Message("user", (TextMessageContent(f"question {i}"),)),
            Message("assistant", (ActionCallMessageContent(f"call{i:05}", "look", input={"n": i}),)),
            Message("user", (ActionResultMessageContent(f"call{i:05}", f"result {i}"),)),
            Message("assistant", (TextMessageContent(f"answer {i}"),)),
        ]
    return found
