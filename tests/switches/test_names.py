"""Tools of any name come back to the right tool on every API, and the history calls them as they are offered.

The server knows the tools by their descriptions only: it calls each by whatever name the request offers it under.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral import Agent, Conversion, PromptStack, Tool, ToolDefinition, activity
from llmneutral.ir.tools import native_name
from tests.drivers import endpoints
from tests.loopback import Answer, Loopback, Request
from tests.switches.scenes import APIS, MODELS, assert_taken, calls, driver_for, ran, spoken

NAMES = [
    "look_up",
    "_",
    "mcp__server__tool",
    "files.read",
    "a.b",
    "a_b",
    "a b",
    "a-b",
    "7up",
    "n" * 64,
    "n" * 80,
    "n" * 80 + "1",
    "größe",
    "天气",
    "气天",
    "🙂",
    "Desk_top_look_up",
    "final_answer",
]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
KEYS: list[tuple[str, str | None]] = [
    *[(name, None) for name in NAMES],
    ("Desk_top", "look_up"),
    ("Desk", "top_look_up"),
]
over_apis = pytest.mark.parametrize("api", APIS)
over_tools = pytest.mark.parametrize("native", [True, False], ids=["native tools", "ReAct"])


class Desk(Tool):
    """Has an activity whose flat name another tool has too."""

    def __init__(self, name: str, number: int, seen: list[tuple[int, int]]) -> None:
        super().__init__(name)
        self.number = number
        self.seen = seen


class DeskTop(Desk):
    @activity(config={"description": "Tool number 18."})
    def look_up(self, n: int) -> int:
        self.seen.append((self.number, n))
        return n


class DeskOf(Desk):
    @activity(config={"description": "Tool number 19."})
    def top_look_up(self, n: int) -> int:
        self.seen.append((self.number, n))
        return n


def tools(seen: list[tuple[int, int]]) -> list[Any]:
    """Tools that write down which of them was run, and with what."""

    def made(number: int, name: str) -> ToolDefinition:
        def run(n: int) -> int:
            seen.append((number, n))
            return n

        return ToolDefinition(name, description=f"Tool number {number}.", parameters=SCHEMA, function=run)

    own = [made(number, name) for number, name in enumerate(NAMES)]
    return [*own, DeskTop("Desk_top", 18, seen), DeskOf("Desk", 19, seen)]


# --- what stands in a request -------------------------------------------------------------------


def walked(value: Any) -> Iterator[Any]:
    """Everything in a body, from the top."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from walked(each)


def offered(body: Any) -> list[str]:
    """The names that the tools are offered under, by their numbers."""
    found: dict[int, str] = {}
    for each in walked(body):
        if isinstance(each, dict) and (number := re.fullmatch(r"Tool number (\d+)\.", str(each.get("description")))):
            found[int(number[1])] = each["name"]
        elif isinstance(each, str):
            found |= {int(number): name for name, number in re.findall(r"^- (\S+): Tool number (\d+)\.$", each, re.M)}
    return [found[number] for number in range(len(KEYS))]


def called(body: Any) -> list[str]:
    """The names in the calls of the history, and in the results of APIs that name them there."""
    found: list[str] = []
    for each in walked(body):
        if isinstance(each, dict) and "name" in each and {"arguments", "args", "input", "response"} & {*each}:
            found.append(each["name"])
        elif isinstance(each, str) and (actions := re.search(r"^Actions: (\[\{.*)\Z", each, re.M)):
            found += [call["name"] for call in json.loads(actions[1])]
    return found


def answering(api: str, native: bool) -> Any:
    """Calls every tool in one turn, then answers; each request holds the names of the one before."""
    seen: list[list[str]] = []

    def answer(request: Request) -> Answer:
        names = offered(request.json)
        seen.append(names)
        if len(seen) > 1:
            return spoken(api, [("text", "done" if native else "Answer: done")], request)
        wanted = [(name, {"n": number}) for number, name in enumerate(names)]
        return spoken(api, calls(*wanted, as_text=not native), request)

    return answer, seen


# --- tests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "astream"])
@over_tools
@over_apis
def test_through_an_agent(api: str, native: bool, way: str) -> None:
    seen: list[tuple[int, int]] = []
    answer, names = answering(api, native)
    with Loopback(answer) as server, driver_for(api, server, model=MODELS[api], max_tokens=500) as driver:
        agent = Agent(driver, tools=tools(seen), use_native_tools=native)
        result, _ = ran(agent, way, "go")
        ran(agent, way, "again")
    assert sorted(seen) == [(number, number) for number in range(len(KEYS))]
    assert [(call.name, call.path) for call in result.calls] == KEYS
    assert (result.text, len(names)) == ("done", 3)
    assert len({*names[0]}) == len(KEYS)
    assert names[1] == names[2] == names[0]
    assert_taken(api, server.requests)
    for request in server.requests[1:]:
        history = called(request.json)
        assert history[: len(KEYS)] == names[0]
        assert history[len(KEYS) :] in ([], names[0])


@pytest.mark.parametrize("way", endpoints.WAYS)
@over_tools
@over_apis
def test_through_a_driver(api: str, native: bool, way: str) -> None:
    answer, _ = answering(api, native)
    with Loopback(answer) as server, driver_for(api, server, model=MODELS[api], max_tokens=500) as driver:
        response = endpoints.WAYS[way](driver, "go", tools=tools([]), use_native_tools=native)
    assert [(call.name, call.path, call.input) for call in response.tool_calls] == [
        (*key, {"n": number}) for number, key in enumerate(KEYS)
    ]
    assert len({call.tag for call in response.tool_calls}) == len(KEYS)


@pytest.mark.parametrize("told", [True, False], ids=["with the tools", "without them"])
@over_tools
@over_apis
def test_a_conversation_of_another_api_goes_by_the_names_of_this_one(api: str, native: bool, told: bool) -> None:
    messages = [
        llmneutral.Message("user", (llmneutral.TextMessageContent("go"),)),
        llmneutral.Message(
            "assistant",
            tuple([llmneutral.ActionCallMessageContent(f"c{n}", *key, {"n": n}) for n, key in enumerate(KEYS)]),
        ),
        llmneutral.Message(
            "user", tuple([llmneutral.ActionResultMessageContent(f"c{n}", str(n)) for n in range(len(KEYS))])
        ),
    ]
    stack = PromptStack(messages, tools=tools([]) if told else [])
    made = llmneutral.convert(stack, api, model=MODELS[api], max_tokens=500, use_native_tools=native)
    assert isinstance(made, Conversion)
    body = made.to_json()
    assert [*llmneutral.validate(made), *llmneutral.lint(made), *made.open_calls] == []
    history = called(body)[: len(KEYS)]
    if told:
        assert history == offered(body)
        assert len({*history}) == len(KEYS)
    else:  # nobody can call them any more; one flat name has one name
        flat = [native_name(*key) for key in KEYS]
        assert len({*zip(history, flat, strict=True)}) == len({*flat})
    if told and native:
        assert [made.names[name] for name in history] == KEYS
