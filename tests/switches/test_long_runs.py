"""Two hundred steps on one API go to every other, native or as text: no rule is broken, and the cost is linear."""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import pytest

import llmneutral
from llmneutral import Agent, Conversion, Message, PromptStack
from tests.agent.scripts import Counter, Wired
from tests.drivers.cities import City
from tests.switches.scenes import APIS, MODELS, calls

STEPS = 200
UNREAD = "[{"
over_apis = pytest.mark.parametrize("api", APIS)
over_tools = pytest.mark.parametrize("native", [True, False], ids=["native tools", "ReAct"])
RUNS = [*[(api, True) for api in APIS], ("chat_completions", False)]
"""Where tools are text, a run is the same on every API."""


def step(number: int, native: bool) -> list[tuple[Any, ...]]:
    """A turn with one to three calls; now and then one fails, or there is no such tool, or it cannot be read."""
    wanted: list[tuple[str, Any]] = [("count", {"n": number + each}) for each in range(1 + number % 3)]
    if number % 7 == 3:
        wanted.append(("cuont", {}))
    if number % 11 == 5:
        wanted.append(("count", {"n": "many"}))
    turn = calls(*wanted, as_text=not native)
    if not native:
        return [("text", f"Actions: {UNREAD}")] if number % 13 == 4 else turn
    turn = [
        (*block[:1], f"call{number:03}{place:02}", *block[2:]) if place else block for place, block in enumerate(turn)
    ]
    return [("thinking", f"Step {number}.", "c2VhbA=="), *turn]


@functools.cache
def run_of(api: str, native: bool) -> tuple[Message, ...]:
    """The conversation that a run on an API leaves behind."""

    def behave(n: int) -> Any:
        if n % 17 == 0:
            raise LookupError(n)
        return {"n": n}

    turns = [*[step(number, native) for number in range(STEPS)], [("text", "done" if native else "Answer: done")]]
    driver = Wired(api, *turns, model=MODELS[api], use_native_tools=native, max_tokens=500)
    result = Agent(driver, tools=[Counter().tool(behave)], max_steps=STEPS + 1).run("go")
    assert (result.steps, result.text) == (STEPS + 1, "done")
    return result.messages


def asked(messages: Any, api: str, native: bool) -> Conversion:
    stack = PromptStack(messages, tools=[Counter().tool()], output_schema=City)
    found = llmneutral.convert(stack, api, model=MODELS[api], use_native_tools=native, max_tokens=500)
    assert isinstance(found, Conversion)
    return found


@pytest.mark.parametrize(("api", "native"), RUNS)
def test_a_run_goes_to_every_api(api: str, native: bool) -> None:
    messages = [*run_of(api, native), Message("user", (llmneutral.TextMessageContent("And now?"),))]
    for other in APIS:
        for as_native in (True, False):
            made = asked(messages, other, as_native)
            broken = [*llmneutral.validate(made), *llmneutral.lint(made)]
            assert [problem for problem in broken if not is_excused(problem)] == [], (other, as_native)
            assert made.open_calls == ()
            text = json.dumps(made.to_json(), ensure_ascii=False)
            assert text.count("LookupError") == text_of(messages).count("LookupError") > 10, (other, as_native)


def is_excused(problem: llmneutral.Problem) -> bool:
    """What the model wrote that is no JSON goes back to it as it came."""
    return problem.message == f"has arguments that are no JSON object: {UNREAD!r}"


def text_of(messages: Any) -> str:
    return "\n".join([message.to_text() for message in messages])


def work(messages: Any, api: str, native: bool) -> int:
    """How many Python functions a conversion calls."""
    counted = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        asked(messages, api, native)
    finally:
        sys.setprofile(before)
    return counted


@over_tools
@over_apis
def test_the_work_grows_with_the_length_and_no_faster(api: str, native: bool) -> None:
    messages = run_of("chat_completions", True)
    work(messages[:9], api, native)  # what is made once is made
    half, whole = STEPS // 2, STEPS
    first = work(messages[: half + 1], api, native)
    second, third = [work(messages[: number + 1], api, native) for number in (2 * half, 2 * whole)]
    assert third - second <= 2.2 * (second - first) + 50, f"{third / second:.2f} times the work for twice the steps"
