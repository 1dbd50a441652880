"""Tools as text through the drivers: run and stream, sync and async, on the wire and in drivers of the two hooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    Agent,
    BasePromptDriver,
    DeltaMessage,
    Message,
    NormalizedResponse,
    PromptStack,
    TextDeltaMessageContent,
    TextMessageContent,
)
from llmneutral.convert.react import lacks_answer
from tests.drivers.scripted import Scripted, chunks, whole
from tests.laws.answers import WIRE

CALL = 'Thought: hm\nActions: [{"tag": "a1", "name": "add", "input": {"a": 1, "b": 2}}]\nObservations: 4'
OTHER = 'Actions:\n```json\n[{"tag": "a1", "name": "add", "input": {"a": 3, "b": 4}}]\n```'
ANSWER = "Thought: done\nAnswer: It is 3."
over_apis = pytest.mark.parametrize("api", list(WIRE))


class City(BaseModel):
    """A city."""

    name: str


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def stack(**more: Any) -> PromptStack:
    return PromptStack([Message("user", (TextMessageContent("1 + 2?"),))], tools=[add], **more)


def plain(response: NormalizedResponse) -> NormalizedResponse:
    """Without what differs from call to call."""
    return msgspec.structs.replace(response, metadata=None)


class Own(BasePromptDriver):
    """Makes its own requests: what it is given and what it says are kept in two lists."""

    needs_key = False

    def __init__(self, *texts: str, **options: Any) -> None:
        super().__init__("own", api_mode="chat_completions", **options)
        self.texts = list(texts)
        self.given: list[PromptStack] = []

    def try_run(self, prompt_stack: PromptStack) -> Message:
        self.given.append(prompt_stack)
        return Message("assistant", (TextMessageContent(self.texts.pop(0)),))

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        self.given.append(prompt_stack)
        text = self.texts.pop(0)
        for place in range(0, len(text), 4):
            yield DeltaMessage("text", TextDeltaMessageContent(text[place : place + 4]))


@over_apis
@pytest.mark.parametrize("text", [CALL, OTHER, ANSWER, "plain", "Thought: only"])
async def test_all_ways_of_a_driver_give_the_same(api: str, text: str) -> None:
    answer = [("text", text)]

    def driver(reply: Any) -> Scripted:
        return Scripted(reply, api_mode=api, use_native_tools=False)

    stream = driver(chunks(answer, api=api)).stream(stack())
    shown = "".join([delta.text for delta in stream])
    astream = driver(chunks(answer, api=api)).astream(stack())
    ashown = "".join([delta.text async for delta in astream])
    asked = driver(None).convert(stack())
    found = [
        plain(driver(whole(answer, api)).run(stack())),
        plain(await driver(whole(answer, api)).arun(stack())),
        plain(stream.response),
        plain(astream.response),
        llmneutral.normalize(whole(answer, api), api, names=asked),
        llmneutral.aggregate(chunks(answer, api=api), api, names=asked),
    ]
    assert all(each == found[0] for each in found)
    assert shown == ashown == found[0].text
    assert [call.name for call in found[0].tool_calls] == (["add"] if "Actions" in text else [])


async def test_a_driver_of_the_two_hooks_is_given_text_and_read_as_text() -> None:
    settings = {"use_native_tools": False}
    driver = Own(CALL, CALL, CALL, CALL, ANSWER)
    one = driver.run(stack(), **settings)
    stream = driver.stream(stack(), **settings)
    assert [delta.kind for delta in stream if delta.kind in ("thinking", "call")] == ["thinking", "call"]
    other = await driver.arun(stack(), **settings)
    astream = driver.astream(stack(), **settings)
    assert "".join([delta.text async for delta in astream]) == ""
    assert plain(one) == plain(other)
    assert one.message == stream.response.message == astream.response.message
    assert [(call.tag, call.input) for call in one.tool_calls] == [("a1", {"a": 1, "b": 2})]
    assert one.finish_reason == "tool_calls"
    given = driver.given[0]
    assert given.tools == []
    assert "use_native_tools" not in given.settings
    assert "Adds two numbers." in given.messages[0].to_text()
    more = stack()
    more.messages.append(one.message)
    more.add_user_message(llmneutral.ActionArtifact(llmneutral.ToolAction("a1", "add", output=3)))
    assert driver.run(more, **settings).text == "It is 3."
    assert driver.given[-1].messages[-1].to_text() == 'Observations:\n{"tag": "a1", "output": 3}'
    assert len(more.messages) == 3


def test_a_driver_of_the_two_hooks_keeps_its_tools_unless_it_is_told() -> None:
    driver = Own(CALL)
    assert driver.run(stack()).text == CALL
    assert len(driver.given[0].tools) == 1


@pytest.mark.parametrize("strategy", ["tool", "rule", "native", "auto"])
def test_an_answer_in_a_form_comes_through_the_form(strategy: str) -> None:
    action = 'Actions: [{"name": "final_answer", "input": {"name": "Oslo"}}]'
    text = 'Answer: {"name": "Oslo"}' if strategy == "rule" else action
    options = {"use_native_tools": False, "structured_output_strategy": strategy, "output_schema": City}
    assert Scripted(whole([("text", text)])).run(stack(), **options).parsed == City(name="Oslo")
    assert Own(text).run(stack(), **options).parsed == City(name="Oslo")


def test_an_answer_that_does_not_fit_is_asked_for_again_in_the_form() -> None:
    wrong = 'Actions: [{"name": "final_answer", "input": {"name": 5}}]'
    right = 'Actions: [{"name": "final_answer", "input": {"name": "Oslo"}}]'
    driver = Scripted(whole([("text", wrong)]), whole([("text", right)]), use_native_tools=False)
    assert driver.run(stack(), output_schema=City, structured_output_strategy="tool").parsed == City(name="Oslo")
    said, told = driver.sent[1]["messages"][-2:]
    assert said["content"] == 'Actions: [{"tag": "a1", "name": "final_answer", "input": {"name": 5}}]'
    assert told["content"].startswith('Observations:\n{"tag": "a1", "error": "The arguments do not match the schema:')


@pytest.mark.parametrize("own", [False, True])
def test_a_loop_runs_tools_that_are_text(own: bool) -> None:
    texts = [CALL, OTHER, ANSWER]
    replies = texts if own else [whole([("text", text)]) for text in texts]
    driver: Any = Own(*replies) if own else Scripted(*replies)
    found = Agent(driver, tools=[add], use_native_tools=False).run("1 + 2?")
    assert found.text == "It is 3."
    calls = [
        block for message in found.messages for block in message.content if type(block) is ActionCallMessageContent
    ]
    assert [call.tag for call in calls] == ["a1", "a2"]
    last = driver.given[-1].messages[-1].to_text() if own else driver.sent[-1]["messages"][-1]["content"]
    assert last == 'Observations:\n{"tag": "a2", "output": 7}'


def test_what_cannot_be_run_is_fed_back() -> None:
    texts = [
        'Actions: [{"name": "add", "input": {"a": 1,}}]',
        'Actions: [{"name": "ad", "input": {}}, {"name": "add", "input": {"a": "x", "b": 1}}, {"input": {}}]',
        "Thought: hm",
        ANSWER,
    ]
    driver = Scripted(*[whole([("text", text)]) for text in texts])
    found = Agent(driver, tools=[add], use_native_tools=False, max_format_errors=5).run("1 + 2?")
    assert found.text == "It is 3."
    told = [sent["messages"][-1]["content"] for sent in driver.sent[1:]]
    assert told[0].startswith('Observations:\n{"error": "Actions is not valid JSON: ')
    lines = told[1].split("\n")[1:]
    assert "There is no tool 'ad'. Tools: add" in lines[0]
    assert "input.a: " in lines[1]
    assert "name: expected string" in lines[2]
    assert told[2] == "Write either Actions or Answer."
    assert driver.sent[1]["messages"][-2]["content"] == texts[0]
    assert driver.sent[3]["messages"][-2]["content"] == "Thought: hm"


def test_only_thoughts_are_known() -> None:
    assert lacks_answer(Scripted(whole([("text", "Thought: hm")])).run(stack(), use_native_tools=False))


def test_there_is_nothing_of_it_where_tools_go_natively() -> None:
    driver = Scripted(whole([("text", CALL)]))
    assert driver.run(stack()).text == CALL
    assert "tools" in driver.sent[0]
