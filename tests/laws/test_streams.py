"""Laws of reading answers, over every transport: whole = stream, any cut, interleaved, replayed, never raising."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import Conversion, Message, PromptStack, TextMessageContent
from tests.laws.answers import WIRE, Answer, Chunk, answers

KEEP_REASONING = ("anthropic_messages", "bedrock_converse", "mistral_chat", "cohere_chat")
over_apis = pytest.mark.parametrize("api", list(WIRE))
sizes = st.integers(min_value=1, max_value=20)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)


def plain(response: Any) -> dict[str, Any]:
    """The answer in the contract's form; the text of arguments aside, which only some APIs send in a whole answer."""
    found: dict[str, Any] = response.to_dict()
    for block in found["blocks"]:
        block.pop("arguments", None)
    return found


@over_apis
@given(answers(), sizes)
def test_whole_equals_streamed(api: str, answer: Answer, size: int) -> None:
    whole, stream = WIRE[api]
    assert plain(llmneutral.aggregate(stream(answer, size), api)) == plain(llmneutral.normalize(whole(answer), api))


@over_apis
@given(answers(), sizes)
def test_the_deltas_add_up_to_the_answer(api: str, answer: Answer, size: int) -> None:
    _, stream = WIRE[api]
    deltas = list(llmneutral.normalize_stream(stream(answer, size), api))
    kinds = [delta.kind for delta in deltas]
    assert kinds[0] == "start"
    assert kinds.count("start") == 1
    assert kinds[-1] == "end"
    assert kinds.count("end") == 1
    assert "".join(delta.text for delta in deltas) == "".join(block[1] for block in answer if block[0] == "text")


@over_apis
@given(answers(), answers(), sizes)
def test_interleaved_streams_stay_apart(api: str, one: Answer, two: Answer, size: int) -> None:
    _, stream = WIRE[api]
    chunks = [stream(one, size), stream(two, size)]
    transport = llmneutral.get_transport(api)
    readers = [transport.stream(), transport.stream()]
    for place in range(max(map(len, chunks))):
        for reader, given_chunks in zip(readers, chunks, strict=True):
            if place < len(given_chunks):
                reader.feed(given_chunks[place])
    for reader, given_chunks in zip(readers, chunks, strict=True):
        reader.close()
        assert plain(reader.response) == plain(llmneutral.aggregate(given_chunks, api))


@over_apis
@given(answers(), sizes, st.data())
def test_a_stream_that_breaks_off_keeps_what_came(api: str, answer: Answer, size: int, data: st.DataObject) -> None:
    _, stream = WIRE[api]
    chunks = stream(answer, size)
    cut = data.draw(st.integers(min_value=0, max_value=len(chunks) - 1))
    response = llmneutral.aggregate(chunks[:cut], api)
    whole = llmneutral.aggregate(chunks, api)
    assert whole.text.startswith(response.text)
    if not response.complete:
        assert response.finish_reason == "incomplete"
    calls = [(call.tag, call.input) for call in response.tool_calls]
    assert calls == [(call.tag, call.input) for call in whole.tool_calls][: len(calls)]


@over_apis
@settings(max_examples=100)
@given(st.lists(junk, max_size=6))
def test_no_chunk_raises(api: str, chunks: list[Any]) -> None:
    deltas = list(llmneutral.normalize_stream([chunk for chunk in chunks if chunk != "[DONE]"], api))
    assert deltas[0].kind == "start"
    assert deltas[-1].kind == "end"


@over_apis
@settings(max_examples=100)
@given(answers(), sizes, st.data())
def test_no_spoilt_chunk_raises(api: str, answer: Answer, size: int, data: st.DataObject) -> None:
    """Real chunks with a value of another kind somewhere in them."""
    _, stream = WIRE[api]
    chunks = stream(answer, size)
    place = data.draw(st.integers(min_value=0, max_value=len(chunks) - 1))
    chunks[place] = spoilt(chunks[place], data)
    response = llmneutral.aggregate(chunks, api)
    json.dumps(response.to_dict())


def spoilt(chunk: Chunk, data: st.DataObject) -> Any:
    if not isinstance(chunk, dict) or not chunk or data.draw(st.booleans()):
        return data.draw(junk)
    key = data.draw(st.sampled_from(sorted(chunk)))
    value = chunk[key]
    if isinstance(value, list) and value:
        return {**chunk, key: [spoilt(value[0], data), *value[1:]]}
    return {**chunk, key: spoilt(value, data) if isinstance(value, dict) else data.draw(junk)}


@over_apis
@given(answers())
def test_an_answer_goes_back_as_it_came(api: str, answer: Answer) -> None:
    whole, _ = WIRE[api]
    response = llmneutral.normalize(whole(answer), api)
    stack = PromptStack([Message("user", (TextMessageContent("q"),)), response.message])
    for call in response.tool_calls:
        stack.add_user_message(llmneutral.ActionArtifact(llmneutral.ToolAction(call.tag or "", call.name, output="ok")))
    sent = llmneutral.convert(stack, api, model="m", max_tokens=100, facts={"same_model_as_history": True})
    assert isinstance(sent, Conversion)
    body = json.dumps(sent.to_json(), ensure_ascii=False)
    for block in answer:
        if block[0] == "thinking" and not takes_back(api, answer):
            continue
        unsealed = block[0] == "thinking" and api == "cohere_chat"
        for value in block[1:2] if unsealed else block[1:]:
            # An answer that stands last is a prefill: some APIs refuse white space at its end, and a blank text at all.
            assert stands_in(value.rstrip() if block[0] == "text" else value, body)


def takes_back(api: str, answer: Answer) -> bool:
    """Whether reasoning goes back: never to official Chat Completions, to Responses only before what it led to."""
    return api in KEEP_REASONING or (api == "codex_responses" and len(answer) > 1)


def stands_in(value: str, body: str) -> bool:
    """Whether a text stands in a body, as text or (arguments) as the object it says."""
    if json.dumps(value, ensure_ascii=False)[1:-1] in body:
        return True
    return value.startswith("{") and json.dumps(json.loads(value), ensure_ascii=False) in body
