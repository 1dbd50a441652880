"""The switches with the embedded model, on its three protocols: a grammar holds it to tools and to schemas.

What it answers says nothing: it is far too small to know. Its calls and objects have to be valid, each time. What no
grammar holds (a rule; for tools as text see the tests of drivers) it seldom gets right: then an error says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral import Agent, LocalPromptDriver, NormalizedResponse, StructuredOutputError
from llmneutral.convert.checker import check
from llmneutral.drivers.local_server import LocalSettings, stop_shared
from tests.drivers.cities import STRATEGIES
from tests.drivers.endpoints import APIS, WAYS
from tests.switches.scenes import WAYS as RUNS
from tests.switches.scenes import ran

pytestmark = pytest.mark.live

SETTINGS = LocalSettings(n_ctx=2048)
apis = pytest.mark.parametrize("api", APIS)


def form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def upto(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": most}


def one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": [*values]}


TEXT = {"type": "string", "maxLength": 12}
TEXTS = {"type": "array", "items": TEXT, "maxItems": 2}
TOOLS = {
    "get_weather": form(city=TEXT, unit=one_of("celsius", "fahrenheit")),
    "add": form(a=upto(1000), b=upto(1000)),
    "set_alarm": form(hour=upto(23), loud={"type": "boolean"}),
}
OFFERED = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]
CALLS = [
    "What is the weather in Paris in celsius?",
    "Is it warm in Cairo today?",
    "Tell me the weather of Lima in fahrenheit",
    "Does it rain in Oslo?",
    "How cold is it in Moscow?",
    "Do I need a hat in Rome?",
    "Weather, please",
    "What is 17 plus 25?",
    "Add 3 and 4",
    "Add 100 to 250",
    "What is the sum of 8 and 9?",
    "1 + 1?",
    "How many are two apples and two pears?",
    "Count 5 and 5 together",
    "Wake me at 7",
    "Set an alarm for 22 o'clock",
    "Set a loud alarm at 6",
    "Alarm at noon, please, not loud",
    "I have to get up at 5",
    "Hello!",
]
FORMS = {
    "country": form(name=TEXT, is_island={"type": "boolean"}),
    "person": form(age=upto(120), job=one_of("doctor", "baker", "poet")),
    "meal": form(minutes=upto(90), needs=TEXTS),
    "ticket": form(urgency=one_of("low", "high"), by=form(name=TEXT)),
}
ABOUT = {
    "country": [
        "Describe Italy.",
        "Tell me about Japan.",
        "Where do I find Brazil?",
        "Describe Iceland.",
        "And Egypt?",
    ],
    "person": ["Invent a person.", "Ada is a poet of 36.", "Tom bakes bread.", "Think of a doctor.", "Who are you?"],
    "meal": ["How do I cook rice?", "A quick soup, please.", "What is in a pizza?", "Tea?", "Something with eggs."],
    "ticket": ["The printer is broken!", "Login fails.", "Paint the wall.", "The cat is on fire", "It is slow."],
}
CITY = form(name=TEXT, size=upto(1000))


@pytest.fixture(scope="module")
def drivers() -> Iterator[dict[str, LocalPromptDriver]]:
    options: dict[str, Any] = {"server": SETTINGS, "temperature": 0, "max_tokens": 60}
    made = {api: LocalPromptDriver(api_mode=api, **options) for api in APIS}
    yield made
    for driver in made.values():
        driver.close()
    stop_shared()


def asked(drivers: dict[str, LocalPromptDriver], number: int, question: str, **settings: Any) -> NormalizedResponse:
    """Asks on one of the three protocols, in one of the four ways: each question in the next."""
    ask = [*WAYS.values()][number % len(WAYS)]
    return ask(drivers[APIS[number % len(APIS)]], question, **settings)


def counted(what: str, valid: list[bool], capsys: pytest.CaptureFixture[str]) -> None:
    """Says how many are valid, and wants all."""
    per_api = [f"{api} {sum(valid[place::3])} of {len(valid[place::3])}" for place, api in enumerate(APIS)]
    with capsys.disabled():
        print(f"\n{sum(valid)} of {len(valid)} {what} are valid: {', '.join(per_api)}")  # noqa: T201  # measured
    assert sum(valid) == len(valid) == 20


# --- twenty questions ---------------------------------------------------------------------------


def test_calls_are_valid(drivers: dict[str, LocalPromptDriver], capsys: pytest.CaptureFixture[str]) -> None:
    valid = []
    for number, question in enumerate(CALLS):
        response = asked(drivers, number, question, tools=OFFERED, tool_choice="required")
        called = [(call.name in TOOLS and not check(call.input, TOOLS[call.name])) for call in response.tool_calls]
        valid.append(called == [True])
        assert response.invalid_tool_calls == []
    counted("calls", valid, capsys)


def test_objects_are_valid(drivers: dict[str, LocalPromptDriver], capsys: pytest.CaptureFixture[str]) -> None:
    questions = [(FORMS[name], question) for name, each in ABOUT.items() for question in each]
    valid = []
    for number, (schema, question) in enumerate(questions):
        response = asked(drivers, number, question, output_schema=schema, max_repairs=0)
        valid.append(not check(response.parsed, schema))
    counted("objects", valid, capsys)


# --- the table ----------------------------------------------------------------------------------


def shows(driver: LocalPromptDriver, way: str, strategy: str) -> None:
    found = WAYS[way](driver, "Tell me about Rome.", output_schema=CITY, structured_output_strategy=strategy)
    assert check(found.parsed, CITY) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strategy", ["native", "tool"])
@apis
def test_a_value_that_a_grammar_holds(drivers: dict[str, LocalPromptDriver], api: str, strategy: str, way: str) -> None:
    shows(drivers[api], way, strategy)


@apis
def test_a_value_by_a_rule_is_right_or_refused(drivers: dict[str, LocalPromptDriver], api: str) -> None:
    with contextlib.suppress(StructuredOutputError):
        shows(drivers[api], "run", "rule")


@pytest.mark.parametrize("strategy", STRATEGIES)
@apis
def test_an_agent_with_a_tool(drivers: dict[str, LocalPromptDriver], api: str, strategy: str) -> None:
    looked = []

    def look(city: str) -> dict[str, Any]:
        """Looks a city up."""
        looked.append(city)
        return {"name": city, "size": 3}

    agent = Agent(drivers[api], tools=[look], output_schema=CITY, structured_output_strategy=strategy)
    way = RUNS[(STRATEGIES.index(strategy) + APIS.index(api)) % len(RUNS)]
    with contextlib.suppress(*([StructuredOutputError] if strategy == "rule" else [])):
        found, _ = ran(agent, way, "Look Rome up, then tell me about it.")
        assert check(found.parsed, CITY) == []
        assert found.steps == 2
    assert looked == ["Rome"]
