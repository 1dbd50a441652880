"""One value, whatever the switches say: {native tools, ReAct} × strategy × {whole, streamed} × {sync, async} × API."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import pytest

from llmneutral import Agent, AgentResult, DeltaMessage
from llmneutral.structured import ANSWER_TOOL
from tests.drivers.cities import BAD, GOOD, ROME, STRATEGIES, City
from tests.loopback import Loopback, Request
from tests.switches.scenes import (
    APIS,
    MODELS,
    WAYS,
    answers,
    assert_taken,
    calls,
    driver_for,
    joined,
    plays,
    ran,
    said,
)

FIELDS = {
    "chat_completions": "response_format",
    "codex_responses": "text",
    "anthropic_messages": "output_config",
    "gemini_native": "responseJsonSchema",
    "bedrock_converse": "outputConfig",
    "mistral_chat": "response_format",
}
"""Where the API's own place for a schema is; Cohere has none beside tools."""

RULE = "JSON Schema"


class Cell(msgspec.Struct, frozen=True):
    """What came of one run.

    Attributes:
        result: What the agent gave.
        deltas: What its stream gave.
        requests: What the server was sent.
        looked: How often the tool was run, with what.
    """

    result: AgentResult
    deltas: list[DeltaMessage]
    requests: list[Request]
    looked: list[str]


@functools.cache
def cell(api: str, native: bool, strategy: str, way: str, wrong: bool) -> Cell:
    """Asks an agent on an API; the model calls the tool, gives a wrong answer first where that is asked for."""
    looked: list[str] = []

    def look(city: str) -> dict[str, Any]:
        """Looks a city up."""
        looked.append(city)
        return {"found": city}

    form = told(api, native, strategy)
    turns = [calls(("look", {"city": "Rome"}), as_text=not native)]
    turns += [answers(value, form, as_text=not native) for value in ((BAD, GOOD) if wrong else (GOOD,))]
    with Loopback(plays(api, turns)) as server, driver_for(api, server, model=MODELS[api]) as driver:
        agent = Agent(driver, tools=[look], output_schema=City)
        result, deltas = ran(
            agent, way, "Which city?", use_native_tools=native, structured_output_strategy=strategy, max_tokens=500
        )
    return Cell(result, deltas, server.requests, looked)


def told(api: str, native: bool, strategy: str) -> str:
    """The strategy that is taken: a field for JSON would forbid the text of calls, and not all have it beside tools."""
    return "tool" if strategy == "native" and not (native and api in FIELDS) else strategy


over_apis = pytest.mark.parametrize("api", APIS)
over_tools = pytest.mark.parametrize("native", [True, False], ids=["native tools", "ReAct"])
over_strategies = pytest.mark.parametrize("strategy", STRATEGIES)
over_scripts = pytest.mark.parametrize("wrong", [False, True], ids=["right at once", "repaired"])


@over_scripts
@pytest.mark.parametrize("way", WAYS)
@over_strategies
@over_tools
@over_apis
def test_the_same_value_comes_out(api: str, native: bool, strategy: str, way: str, wrong: bool) -> None:
    found = cell(api, native, strategy, way, wrong)
    assert found.result.parsed == ROME
    assert found.looked == ["Rome"]
    assert (found.result.steps, len(found.requests)) == (2, 3 if wrong else 2)
    assert_taken(api, found.requests)
    metadata = found.result.response.metadata if found.result.response else None
    assert metadata is not None
    assert metadata.repairs == wrong
    if "stream" in way:
        first, *rejected, last = joined(found.deltas)
        assert [first, last] == said(found.result.messages)
        assert len(rejected) == wrong
        assert all("big" in answer[-1][1] for answer in rejected)
        visible = "".join([delta.text for delta in found.deltas])
        assert not any(heading in visible for heading in ("Thought", "Actions", "Answer", "Observations"))


@over_strategies
@over_tools
@over_apis
def test_the_requests_are_as_the_switches_say(api: str, native: bool, strategy: str) -> None:
    found = cell(api, native, strategy, "run", True)
    form = told(api, native, strategy)
    for request in found.requests:
        text = request.body.decode()
        assert (FIELDS.get(api) in {*request.json, *request.json.get("generationConfig", ())}) is (form == "native")
        assert ("Actions: [" in text) is not native
        assert (ANSWER_TOOL in text) is (form == "tool")
        assert (RULE in text) is (form == "rule")
        assert any(key in request.json for key in ("tools", "toolConfig")) is native
    first, second, third = [request.body.decode() for request in found.requests]
    assert ("found" in first, "found" in second) == (False, True)
    assert ("expected integer" in second, "expected integer" in third) == (False, True)


@over_scripts
@over_strategies
@over_tools
@over_apis
def test_every_way_asks_and_remembers_the_same(api: str, native: bool, strategy: str, wrong: bool) -> None:
    cells = [cell(api, native, strategy, way, wrong) for way in WAYS]
    bodies = [[without_stream(request.json) for request in found.requests] for found in cells]
    messages = [said(found.result.messages) for found in cells]
    for way, body, message in zip(WAYS, bodies, messages, strict=True):
        assert (way, body) == (way, bodies[0])
        assert (way, message) == (way, messages[0])


def without_stream(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
