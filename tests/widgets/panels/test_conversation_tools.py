"""Tools in a panel: calls that nobody runs are told, calls that are run are seen round by round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets import session
from llmneutral_widgets.panels import Conversation
from tests.widgets.panels.looking import quiet, text
from tests.widgets.panels.test_conversation import ask
from tests.widgets.rounds import DONE, Weather, call, driver

pytestmark = quiet


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    before = Defaults.drivers_config if Defaults.is_set else None
    yield
    session.close()
    Defaults.drivers_config = before


def answering(*answers: Any) -> None:
    Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=driver(*answers))


def test_a_call_that_nobody_runs_is_told_with_what_runs_it() -> None:
    weather = Weather()
    answering([call()], DONE)
    panel = Conversation(llmneutral.PromptStack(tools=[weather.tool()]))
    told = ask(panel, "How is the weather?")
    assert told.startswith("done")
    assert told.endswith(
        "; weather was called, and not run: widgets.Conversation(stack, run_tools=True) runs the stack&#x27;s functions"
    )
    assert weather.cities == []
    panel.close()


def test_calls_are_run_and_each_round_is_seen_and_kept() -> None:
    weather = Weather()
    answering([call()], [("text", "And Oslo?"), call(2, "Oslo")], DONE)
    panel = Conversation(llmneutral.PromptStack(tools=[weather.tool()]), run_tools=True)
    told = ask(panel, "How is the weather?")
    assert told.startswith("done")
    assert "called" not in told
    assert weather.cities == ["Rome", "Oslo"]
    for shown in (text(panel.box), panel.static().data["text/html"]):
        places = [shown.index(words) for words in ("sunny in Rome", "And Oslo?", "sunny in Oslo", "It is sunny.")]
        assert places == sorted(places)
    (turn,) = session.current().conversation(panel.name).turns
    assert [message.role for message in turn.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    panel.close()


def test_without_tools_there_is_nothing_to_run() -> None:
    answering(DONE)
    panel = Conversation(run_tools=True)
    assert ask(panel, "How is the weather?").startswith("done")
    panel.close()


def test_a_tool_without_a_function_is_handed_back() -> None:
    answering([call()], DONE)
    tool = {"type": "function", "function": {"name": "weather", "description": "", "parameters": {"type": "object"}}}
    panel = Conversation(llmneutral.PromptStack(tools=[tool]), run_tools=True)
    assert ask(panel, "How is the weather?").endswith("; weather was called, and not run")
    panel.close()
