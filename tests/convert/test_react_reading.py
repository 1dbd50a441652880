"""Answers in the form of ReAct behind the readers of the APIs: deltas, blocks, finish reasons, remarks."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    DeltaMessage,
    DoneDeltaMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    PromptStack,
    RefusalMessageContent,
    TextDeltaMessageContent,
    TextMessageContent,
    ThinkingDeltaMessageContent,
    ThinkingMessageContent,
    ToolDefinition,
)
from llmneutral.convert import feedback
from llmneutral.convert.names import ToolNames
from llmneutral.convert.neutral import neutral_normalizer
from llmneutral.convert.react import Form, lacks_answer, thought_of
from llmneutral.convert.react.parser import INVENTED
from llmneutral.convert.react.reading import NO_ANSWER

CHAT = "chat_completions"
REACT = Origin("react")
GET = '[{"tag": "a1", "name": "get", "input": {"q": 1}}]'
Text, Thinking, Call = TextMessageContent, ThinkingMessageContent, ActionCallMessageContent


def form(*taken: str) -> Form:
    names = ToolNames()
    names.add(("get", None), "get")
    names.add(("files", "read"), "files_read")
    return Form(names, frozenset(taken))


def read(*content: Any, taken: tuple[str, ...] = ()) -> tuple[list[Any], list[str]]:
    return form(*taken).blocks(content)


def asked(**settings: Any) -> llmneutral.Conversion:
    stack = PromptStack([Message("user", (Text("q"),))], tools=[ToolDefinition("get"), ToolDefinition("files", "read")])
    return llmneutral.convert(stack, CHAT, model="m", use_native_tools=False, **settings)


def answered(text: str, finish: str = "stop", **message: Any) -> llmneutral.NormalizedResponse:
    content = {"role": "assistant", "content": text, **message}
    body = {"id": "c", "choices": [{"index": 0, "finish_reason": finish, "message": content}]}
    return llmneutral.normalize(body, CHAT, names=asked())


def test_thought_text_and_calls_are_blocks() -> None:
    found, notes = read(Text(f"So:\nThought: hm\nActions: {GET}"))
    assert found == [Text("So:"), Thinking("hm", origin=REACT), Call("a1", "get", None, {"q": 1}, '{"q": 1}')]
    assert notes == []


def test_texts_of_several_blocks_are_joined() -> None:
    assert read(Text("Thought: a\nAns"), Text("wer: 4"), Text("2"))[0] == [Thinking("a", origin=REACT), Text("42")]


def test_the_providers_own_reasoning_keeps_its_place() -> None:
    sealed = Thinking("deep", signature="s")
    found, _ = read(sealed, Text("Thought: a"), Thinking("more"), Text("Answer: b"))
    assert found == [sealed, Thinking("a", origin=REACT), Thinking("more"), Text("b")]


def test_citations_stand_with_the_answer() -> None:
    cited = Text("Thought: a\n", citations=({"n": 1},)), Text("Answer: b", citations=({"n": 2},))
    assert read(*cited)[0] == [Thinking("a", origin=REACT), Text("b", citations=({"n": 1}, {"n": 2}))]


def test_names_are_looked_up() -> None:
    found, _ = read(
        Text('Actions: [{"name": "files_read"}, {"name": "files", "path": "read"}, {"name": "no", "path": "p"}]')
    )
    assert [(call.name, call.path) for call in found] == [("files", "read"), ("files", "read"), ("no", "p")]
    assert read(Text('Actions: {"name": "get", "path": "x"}'))[0] == [Call("a1", "get")]


def test_tags_of_the_conversation_do_not_come_again() -> None:
    assert [call.tag for call in read(Text(f"Actions: {GET}"), taken=("a1",))[0]] == ["a2"]


def test_a_native_call_passes_all_the_same() -> None:
    own = Call("c1", "get", input={})
    assert read(Text("Thought: x"), own) == ([Thinking("x", origin=REACT), own], [])


# --- whole answers ------------------------------------------------------------------------------------


def test_a_call_is_the_reason_why_the_answer_ended() -> None:
    response = answered(f"Thought: x\nActions: {GET}")
    assert (response.finish_reason, response.raw_finish_reason) == ("tool_calls", "stop")
    assert [(call.tag, call.input) for call in response.tool_calls] == [("a1", {"q": 1})]
    assert response.text == ""
    assert response.reasoning == [{"text": "x", "signature": None, "redacted": False}]


def test_a_cut_array_is_an_invalid_call_and_length_stays() -> None:
    response = answered('Thought: x\nActions: [{"name": "get", "inp', "length")
    assert response.finish_reason == "length"
    assert response.tool_calls == []
    assert [feedback.is_unread(call) for call in response.invalid_tool_calls] == [True]
    assert not lacks_answer(response)


def test_a_cut_answer_with_a_whole_array_keeps_its_reason() -> None:
    response = answered(f"Actions: {GET}\nObserv", "length")
    assert response.finish_reason == "length"
    assert len(response.tool_calls) == 1


def test_remarks_are_kept() -> None:
    assert answered(f"Actions: {GET}\nAnswer: 5").notes == (INVENTED,)


@pytest.mark.parametrize("text", ["Thought: hm", "", "Observations: x", "Actions: []"])
def test_neither_actions_nor_answer_is_known(text: str) -> None:
    response = answered(text)
    assert lacks_answer(response)
    assert NO_ANSWER in response.notes
    assert thought_of(response) == ("hm" if "hm" in text else "")


@pytest.mark.parametrize("text", ["42", "Answer: 42", f"Actions: {GET}", "Actions: none", "Thought: a\nAnswer: b"])
def test_what_has_either_lacks_nothing(text: str) -> None:
    assert not lacks_answer(answered(text))


def test_an_answer_that_was_cut_or_refused_is_not_reminded() -> None:
    assert not lacks_answer(answered("Thought: hm", "length"))
    assert not lacks_answer(answered("", refusal="no"))
    assert not lacks_answer(answered("Thought: hm", "content_filter"))


def test_only_thoughts_of_the_form_count_as_an_answer() -> None:
    response = answered("Thought: a", reasoning_content="deep")
    assert thought_of(response) == "a"
    assert [each["text"] for each in response.reasoning] == ["deep", "a"]


def test_without_the_conversion_the_text_is_text() -> None:
    body = {"id": "c", "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Thought: x"}}]}
    assert llmneutral.normalize(body, CHAT, names=asked().names).text == "Thought: x"


# --- streams ------------------------------------------------------------------------------------------


def shown(deltas: list[DeltaMessage]) -> list[tuple[str, Any, Any]]:
    return [
        (delta.kind, delta.content.index, getattr(delta.content, "text", None) or getattr(delta.content, "tag", None))
        for delta in deltas
        if delta.content is not None
    ]


def test_a_stream_gives_thoughts_text_and_calls_as_they_come() -> None:
    reader = neutral_normalizer(form())
    pieces = ["Thou", "ght: I ", "am\nAct", f"ions: {GET[:-1]}", "]", "\nmore"]
    found = [shown(reader.feed(DeltaMessage("text", TextDeltaMessageContent(piece)))) for piece in pieces]
    assert found == [
        [], [("thinking", 0, "I")], [("thinking", 0, " am")], [],
        [("block_done", 0, None), ("call", 1, "a1"), ("block_done", 1, None)], [],
    ]  # fmt: skip
    reader.feed(DeltaMessage("end", complete=True))
    assert [delta.kind for delta in reader.close()] == ["end"]
    assert reader.response.finish_reason == "tool_calls"
    assert "text after the actions was ignored" in reader.response.notes


def test_a_stream_that_breaks_off_keeps_what_came() -> None:
    reader = neutral_normalizer(form())
    reader.feed(DeltaMessage("text", TextDeltaMessageContent(f"Thought: a\nActions: {GET[:-9]}")))
    deltas = reader.close(interrupted=True)
    assert [delta.kind for delta in deltas] == ["block_done", "call", "block_done", "end"]
    assert deltas[-1].complete is False
    response = reader.response
    assert response.finish_reason == "incomplete"
    assert [type(block) for block in response.message.content] == [Thinking, InvalidActionCallMessageContent]


def test_the_numbers_of_the_slots_are_new() -> None:
    reader = neutral_normalizer(form())
    given = [
        DeltaMessage("thinking", ThinkingDeltaMessageContent("deep", index=0)),
        DeltaMessage("text", TextDeltaMessageContent("Thought: a", index=1)),
        DeltaMessage("block_done", DoneDeltaMessageContent(index=1)),
        DeltaMessage("refusal", llmneutral.RefusalDeltaMessageContent("no", index=2)),
        DeltaMessage("text", TextDeltaMessageContent("Answer: b", index=3)),
        DeltaMessage("usage"),
    ]
    found = [each for delta in given for each in reader.feed(delta)]
    assert shown(found) == [
        ("thinking", 0, "deep"), ("thinking", 1, "a"), ("refusal", 2, "no"), ("block_done", 1, None), ("text", 3, "b"),
    ]  # fmt: skip
    reader.close()
    assert [type(block) for block in reader.response.message.content] == [
        Thinking,
        Thinking,
        RefusalMessageContent,
        Text,
    ]


def test_what_a_block_is_in_the_end_is_read_once() -> None:
    reader = neutral_normalizer(form())
    reader.feed(DeltaMessage("text", TextDeltaMessageContent("Answer: a")))
    value = Text("Answer: ab", citations=({"n": 1},))
    found = reader.feed(DeltaMessage("block_done", DoneDeltaMessageContent(value=value)))
    assert shown(found) == [("text", 0, "b")]
    assert reader.response.text == "ab"
