"""A whole run over each API: what the SDK's body holds at each step; tools native and as text; the official SDKs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pydantic
import pytest

from llmneutral import Agent, AgentResult, InvalidActionCallMessageContent, PromptStack, Tool, ToolLoopError, activity
from llmneutral.agent.planning import TAKEN
from llmneutral.convert.feedback import NO_ACTION
from llmneutral.transports import registered
from tests.agent.scripts import Counter, Turns, Wired, assert_valid, call, results
from tests.agent.ways import WAYS, Asking, ways
from tests.drivers.endpoints import APIS, body_of, chunks_of, driver_for
from tests.laws.answers import WIRE
from tests.loopback import Loopback, streamed, whole

CALLS = [("call", "call00001", "count", '{"n": 1}'), ("call", "call00002", "count", '{"n": 2}')]


class Answer(pydantic.BaseModel):
    n: int


DEEP = [450, 700, 900]

# --- every API ----------------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("api", [api for api in registered() if api in WIRE])
def test_a_run_over_each_api(api: str, ask: Asking) -> None:
    counter = Counter()
    driver = Wired(api, CALLS, "three in all", "well", max_tokens=100)
    agent = Agent(driver, tools=[counter.tool(lambda n: {"counted": n})], system="be kind")
    result = ask(agent, "count")
    assert (result.text, result.steps) == ("three in all", 2)
    assert sorted(counter.seen) == [1, 2]
    second = json.dumps(driver.sent[1].to_json(), ensure_ascii=False)
    assert second.index("counted") < second.rindex("counted")
    assert driver.sent[1].open_calls == ()
    assert [change.why for change in driver.sent[1].changes] == [change.why for change in driver.sent[0].changes]
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    assert ask(agent, "and?").text == "well"


@ways
@pytest.mark.parametrize("levels", DEEP)
@pytest.mark.parametrize("api", [api for api in registered() if api in WIRE])
def test_input_that_no_later_step_could_get_to_the_end_of_is_no_input(api: str, levels: int, ask: Asking) -> None:
    """A model that writes brackets only: half a character beside them makes every text be gone through."""
    counter = Counter()
    deep = f'{{"n": {"[" * levels}{"]" * levels}}}'
    driver = Wired(api, [("call", "call00001", "count", deep)], "sorry", "well", max_tokens=100)
    agent = Agent(driver, tools=[counter.tool()])
    result = ask(agent, "half \ud83d")
    assert (result.text, counter.seen) == ("sorry", [])
    (told,) = results(result.messages).values()
    assert told.is_error
    assert agent.memory is not None
    assert PromptStack.from_json(agent.memory.stack.to_json()).messages == agent.memory.messages
    assert_valid(agent.memory.messages)


@pytest.mark.parametrize("way", ["stream", "astream"])
@pytest.mark.parametrize("api", [api for api in registered() if api in WIRE])
def test_a_stream_that_is_closed_anywhere_leaves_what_every_api_takes(api: str, way: str) -> None:
    turns = [[("thinking", "Well, well.", "c2VhbA=="), ("text", "I count"), *CALLS], [("text", "three in all")]]

    def closed(after: int) -> bool:
        """Closes the stream behind a number of deltas; returns whether it was over before."""
        counter = Counter()
        agent = Agent(Wired(api, *turns, "well", max_tokens=100), tools=[counter.tool()])
        seen = 0

        async def read() -> None:
            nonlocal seen
            async with agent.astream("count") as deltas:
                async for _ in deltas:
                    if (seen := seen + 1) > after:
                        return

        if way == "astream":
            asyncio.run(read())
        else:
            with agent.stream("count") as deltas:
                for _ in deltas:
                    if (seen := seen + 1) > after:
                        break
        assert agent.memory is not None
        assert len(agent.memory) in (0, 3, 4)
        assert_valid(agent.memory.messages)
        assert len(counter.seen) in (0, 2)
        return seen <= after

    over = [closed(after) for after in range(0, 80, 3)]
    assert over[0] is False
    assert over[-1] is True


@pytest.mark.parametrize("api", [api for api in registered() if api in WIRE])
def test_names_come_back_by_the_table_of_the_request(api: str) -> None:
    class Desk_top(Tool):  # noqa: N801  # a name that cannot be split at an underscore
        @activity
        def look_up(self, word: str) -> str:
            """Looks a word up."""
            return word.upper()

    driver = Wired(api, [("call", "call00001", "Desk_top_look_up", '{"word": "a"}')], "done", max_tokens=100)
    result = Agent(driver, tools=[Desk_top()]).run("look")
    assert [(each.name, each.path, each.output) for each in result.calls] == [("Desk_top", "look_up", "A")]


@ways
@pytest.mark.parametrize("api", ["chat_completions", "codex_responses", "anthropic_messages", "gemini_native"])
def test_tools_as_text_make_no_difference(api: str, ask: Asking) -> None:
    counter = Counter()
    turns = [
        'Thought: I count.\nActions: [{"tag": "a1", "name": "count", "input": {"n": 1}}]',
        'Thought: Again.\nActions: [{"tag": "a1", "name": "count", "input": {"n": 1}}, {"name": "cuont", "input": {}}]',
        "Actions: [{",
        "Thought: That was two.",
        "Answer: two",
        "Answer: well",
    ]
    driver = Wired(api, *turns, max_tokens=100, use_native_tools=False)
    agent = Agent(driver, tools=[counter.tool()])
    result = ask(agent, "count")
    assert (result.text, result.steps) == ("two", 5)
    assert counter.seen == [1, 1]
    assert result.calls[0].tag == "a1"
    assert len({call.tag for call in result.calls}) == 4
    assert agent.memory is not None
    told = [each.output for each in results(agent.memory.messages).values() if each.is_error]
    assert str(told[0]).startswith("There is no tool 'cuont'. Tools: count")
    assert "not valid JSON" in str(told[1])
    assert any([NO_ACTION in message.to_text() for message in agent.memory.messages])
    body = driver.sent[1].to_json()
    assert "tools" not in body
    assert "Observations" in json.dumps(body)
    assert_valid(agent.memory.messages)
    assert ask(agent, "well?").text == "well"


@ways
def test_tools_as_text_that_cannot_be_read_are_bounded(ask: Asking) -> None:
    driver = Wired("chat_completions", *["Actions: [{"] * 3, use_native_tools=False)
    agent = Agent(driver, tools=[Counter().tool()])
    with pytest.raises(ToolLoopError, match="3 answers in a row"):
        ask(agent, "count")
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    blocks = [block for message in agent.memory.messages for block in message.content]
    assert len([block for block in blocks if isinstance(block, InvalidActionCallMessageContent)]) == 3


@ways
def test_a_driver_of_ones_own_reads_tools_as_text_too(ask: Asking) -> None:
    counter = Counter()
    driver = Turns('Actions: {"name": "count", "input": {"n": 4}}', "Answer: four", use_native_tools=False)
    result = ask(Agent(driver, tools=[counter.tool()]), "count")
    assert (result.text, counter.seen) == ("four", [4])
    assert "Observations:" in driver.stacks[1].messages[-1].to_text()


@ways
@pytest.mark.parametrize("text", [False, True], ids=["native", "as text"])
def test_a_structured_answer_is_repaired_within_the_run(ask: Asking, text: bool) -> None:
    counter = Counter()
    turns: list[Any]
    if text:
        first = 'Actions: [{"name": "count", "input": {"n": 1}}]'
        turns = [first, 'Answer: {"n": "x"}', 'Answer: {"n": 3}']
        options: dict[str, Any] = {"use_native_tools": False, "structured_output_strategy": "rule"}
    else:
        turns = [CALLS, [("call", "x1", "final_answer", '{"n": "x"}')], [("call", "x2", "final_answer", '{"n": 3}')]]
        options = {"structured_output_strategy": "tool"}
    driver = Wired("chat_completions", *turns, **options)
    agent = Agent(driver, tools=[counter.tool()], output_schema=Answer)
    result = ask(agent, "count")
    assert result.parsed == Answer(n=3)
    assert result.steps == 2
    assert len(driver.sent) == 3
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    told = results(agent.memory.messages)
    assert text or told["x2"].output == TAKEN
    assert "x1" not in told  # the rejected answer is no part of the conversation


@ways
@pytest.mark.parametrize("text", [False, True], ids=["native", "as text"])
def test_a_driver_of_ones_own_gives_structured_answers_too(ask: Asking, text: bool) -> None:
    counter = Counter()
    turns: list[Any] = [call("1", "count", n=1), call("2", "final_answer", n=3)]
    if text:
        turns = [
            'Actions: [{"name": "count", "input": {"n": 1}}]',
            'Actions: [{"name": "final_answer", "input": {"n": 3}}]',
        ]
    driver = Turns(*turns, "well", structured_output_strategy="tool", use_native_tools=not text)
    agent = Agent(driver, tools=[counter.tool()], output_schema=Answer)
    assert ask(agent, "count").parsed == Answer(n=3)
    assert counter.seen == [1]
    assert agent.memory is not None
    assert_valid(agent.memory.messages)
    agent.output_schema = None
    assert "well" in ask(agent, "well?").text


@ways
def test_rejected_answers_are_kept_where_that_is_asked_for(ask: Asking) -> None:
    turns = [[("call", "x", "final_answer", '{"n": "x"}')], [("call", "x", "final_answer", '{"n": 3}')]]
    driver = Wired("chat_completions", *turns, structured_output_strategy="tool", keep_repairs=True)
    agent = Agent(driver, output_schema=Answer)
    ask(agent, "count")
    assert agent.memory is not None
    told = results(agent.memory.messages)
    assert (told["x"].is_error, told["x_2"].output) == (True, TAKEN)
    assert_valid(agent.memory.messages)


# --- the official SDKs --------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("api", APIS)
def test_a_run_over_the_official_sdk(api: str, ask: Asking) -> None:
    counter = Counter()
    is_streamed = ask in (WAYS["stream"], WAYS["astream"])
    turns = [[("text", "I count"), *CALLS], [("text", "three in all")]]
    answers = [streamed(chunks_of(api, turn)) if is_streamed else whole(body_of(api, turn)) for turn in turns]
    with Loopback(*answers) as server:
        driver = driver_for(api, server, max_tokens=100)
        try:
            agent = Agent(driver, tools=[counter.tool()])
            result = ask(agent, "count")
        finally:
            driver.close()
    assert (result.text, result.steps, result.usage.total) == ("three in all", 2, 24)
    assert sorted(counter.seen) == [1, 2]
    assert len(server.requests) == 2
    said = json.dumps(server.requests[1].json)
    assert said.index("call00001") < said.index("call00002")


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_breaks_off_keeps_what_was_done(api: str) -> None:
    from llmneutral import StreamInterruptedError

    counter = Counter()
    first = streamed(chunks_of(api, CALLS))
    pieces = chunks_of(api, [("text", "three in all")])
    torn = streamed(pieces[: len(pieces) // 2 + 1])
    with Loopback(first, torn) as server, driver_for(api, server, max_tokens=100, max_attempts=1) as driver:
        agent = Agent(driver, tools=[counter.tool()])
        deltas = agent.stream("count")
        with pytest.raises(StreamInterruptedError):
            for _ in deltas:
                pass
    assert agent.memory is not None
    assert len(agent.memory) == 3
    assert_valid(agent.memory.messages)
    assert sorted(counter.seen) == [1, 2]
    assert isinstance(deltas.result, AgentResult)


async def test_many_runs_at_once_over_one_driver() -> None:
    with Loopback(*[whole(body_of("chat_completions", [("text", f"answer {n}")])) for n in range(8)]) as server:
        driver = driver_for("chat_completions", server)
        found = await asyncio.gather(*[Agent(driver).arun(f"question {n}") for n in range(8)])
        await driver.aclose()
    assert sorted([result.text for result in found]) == [f"answer {n}" for n in range(8)]


GO = {"type": "function", "function": {"name": "go"}}


@pytest.mark.parametrize("native", [True, False], ids=["native", "text"])
@pytest.mark.parametrize(
    "choice", ["none", {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [GO]}}]
)
def test_what_the_caller_ruled_out_is_not_run(native: bool, choice: Any) -> None:
    """A model may call it all the same, above all where tools are text and it imitates its own earlier turns."""
    counter = Counter()

    def go() -> str:
        """Goes."""
        return "gone"

    wanted: list[Any] = [("call", "c1", "count", '{"n": 1}')]
    if not native:
        wanted = [("text", 'Actions: [{"tag": "c1", "name": "count", "input": {"n": 1}}]')]
    driver = Wired("chat_completions", wanted, "Answer: well" if not native else "well")
    agent = Agent(driver, tools=[counter.tool(), go], use_native_tools=native)
    result = agent.run("hi", tool_choice=choice)
    assert result.text == "well"
    assert counter.seen == []
    (told,) = results(result.messages).values()
    assert told.is_error
    assert "There is no tool 'count'" in told.to_text()
