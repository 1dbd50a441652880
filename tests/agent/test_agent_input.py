"""What is no agent, and no input of one: told before anything is asked."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Agent, ConfigurationError, DummyDriversConfig
from tests.agent.scripts import Turns


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"driver": "openai"}, "driver of an agent is a str"),
        ({"driver": DummyDriversConfig}, "driver of an agent is the class DummyDriversConfig"),
        ({"driver": Turns(), "prompt_driver": Turns()}, "two names of one argument"),
        ({"tools": [3]}, r"tools\[0\] is an int"),
        ({"tools": "look"}, "tools is a str"),
        ({"temprature": 1}, "temprature"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"max_format_errors": True}, "max_format_errors is True"),
        ({"parallel_tools": -1}, "parallel_tools is -1"),
        ({"tool_timeout": 0}, "tool_timeout"),
        ({"memory": []}, "memory is a list"),
        ({"stream": "yes"}, "stream"),
        ({"system": 5}, "system is an int; give the instructions as text"),
        ({"system": ["be brief"]}, "system is a list"),
        ({"rules": 5}, "rules is an int; give a list of texts"),
        ({"rules": {"be": "brief"}}, "rules is a dict"),
        ({"model": 5}, "model is an int"),
        ({"facts": ["vision"]}, "facts is a list"),
        ({"tool_timeout": 10**400}, "tool_timeout is 1000"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_asked(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Agent(**options)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("tools", 5, "tools is an int"),
        ("rules", 5, "rules is an int"),
        ("system", 5, "system is an int"),
        ("memory", 5, "memory is an int"),
        ("settings", {"temprature": 1}, "temprature"),
        ("prompt_driver", 5, "driver of an agent is an int"),
    ],
)
def test_what_is_set_wrong_later_is_told_too(name: str, value: Any, says: str) -> None:
    driver = Turns("never asked")
    agent = Agent(driver)

    def ask() -> None:
        setattr(agent, name, value)
        agent.run("hi")

    with pytest.raises(ConfigurationError, match=says):
        ask()
    with pytest.raises(ConfigurationError, match="tools is an int"):
        Agent(driver).run("hi", tools=5)
    assert driver.stacks == []


def test_what_may_be_given_may_be_set_later() -> None:
    agent = Agent(Turns("one", "two"), memory=None)
    agent.tools, agent.rules, agent.memory = None, "be brief", True  # type: ignore[assignment]
    agent.run("hi")
    agent.run("hi")
    assert agent.instructions == "- be brief"
    assert agent.memory.turns == 2  # type: ignore[union-attr]
