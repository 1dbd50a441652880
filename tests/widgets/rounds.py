"""Questions whose calls are run: a driver that says what it is told to, and a tool that remembers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.asking import Outcome, Question
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.providers import Asked
from llmneutral_widgets.session import Sent
from tests.drivers.scripted import Scripted, chunks, whole

APIS = ("chat_completions", "codex_responses", "anthropic_messages")
WAYS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
DONE = [("text", "It is sunny.")]


def call(number: int = 1, city: str = "Rome", name: str = "weather") -> tuple[str, str, str, str]:
    return ("call", f"call_{number}", name, f'{{"city": "{city}"}}')


class Weather:
    """A tool that remembers where it was asked about."""

    def __init__(self, fails: BaseException | None = None) -> None:
        self.cities: list[str] = []
        self.fails = fails

    def tool(self) -> Callable[[str], str]:
        def weather(city: str) -> str:
            """Tells the weather of a city."""
            self.cities.append(city)
            if self.fails is not None:
                raise self.fails
            return f"sunny in {city}"

        return weather


def driver(*answers: Any, stream: bool = True, api: str = "chat_completions", **options: Any) -> Scripted:
    made = [
        answer if isinstance(answer, BaseException) else (chunks if stream else whole)(answer, api=api)
        for answer in answers
    ]
    return Scripted(*made, api_mode=api, **options)


def question(asked: Any, *tools: Any, stream: bool = True, schema: Any = None, **fields: Any) -> Question:
    stack = llmneutral.PromptStack.from_artifact("How is the weather?")
    stack.tools, stack.output_schema = list(tools), schema
    stack.settings.update(fields.pop("settings", {}))
    sent = Sent(tuple(stack.messages), tuple(stack.messages), None, 0, False)
    given = {"stack": stack, "sent": sent, "conversation": "default", "run_tools": True, **fields}
    return Question(asked=Asked("me", asked), stream=stream, **given)


def done(outcome: Outcome) -> Exchange:
    assert outcome.error is None
    assert outcome.exchange is not None
    return outcome.exchange
