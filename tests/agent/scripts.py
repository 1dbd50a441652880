"""Drivers whose turns are a list, and tools that count: runs without network."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    BasePromptDriver,
    Conversion,
    InvalidActionCallMessageContent,
    Message,
    PromptStack,
    TextMessageContent,
)
from llmneutral.convert.pairing import well_formed
from llmneutral.transports import registered
from tests.laws.answers import WIRE


class Turns(BasePromptDriver):
    """A driver in Griptape's style: it answers with the next turn: a message, a text, calls, or what is raised."""

    needs_key = False

    def __init__(self, *turns: Any, **options: Any) -> None:
        super().__init__("scripted", api_mode="chat_completions", **options)
        self.turns = list(turns)
        self.stacks: list[PromptStack] = []
        self.sleep = lambda seconds: None

    def try_run(self, prompt_stack: PromptStack) -> Message:
        self.stacks.append(prompt_stack)
        turn = self.turns.pop(0)
        turn = turn(prompt_stack) if callable(turn) and not isinstance(turn, type) else turn
        if isinstance(turn, BaseException) or (isinstance(turn, type) and issubclass(turn, BaseException)):
            raise turn
        return answer(turn)


class Wired(BasePromptDriver):
    """A driver that answers as an API writes it: each turn is a list of blocks as in `tests.laws.answers`."""

    needs_key = False

    def __init__(self, api: str, *turns: Any, **options: Any) -> None:
        super().__init__(options.pop("model", "m"), api_mode=api, **options)
        self.turns = list(turns)
        self.sent: list[Conversion] = []

    def _next(self, conversion: Conversion) -> Any:
        self.sent.append(conversion)
        turn = self.turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return [("text", turn)] if isinstance(turn, str) else turn

    def send(self, conversion: Conversion) -> Any:
        turn = self._next(conversion)
        return turn if isinstance(turn, dict) else WIRE[self.api_mode][0](turn)

    def open(self, conversion: Conversion) -> Any:
        turn = self._next(conversion)
        return iter(WIRE[self.api_mode][1](turn, 3))


def answer(turn: Any) -> Message:
    """A turn as a message: text, a call, or a list of these."""
    if isinstance(turn, Message):
        return turn
    blocks = turn if isinstance(turn, list) else [turn]
    return Message("assistant", tuple([TextMessageContent(b) if isinstance(b, str) else b for b in blocks]))


def call(tag: str, name: str, path: str | None = None, /, **input: Any) -> ActionCallMessageContent:
    return ActionCallMessageContent(tag, name, path, input)


def invalid(tag: str, name: str, raw: str) -> InvalidActionCallMessageContent:
    return InvalidActionCallMessageContent(tag, name, raw=raw)


def results(messages: Any) -> dict[str | None, ActionResultMessageContent]:
    """The results in some messages, by id."""
    found = [block for message in messages for block in message.content]
    return {block.tag: block for block in found if isinstance(block, ActionResultMessageContent)}


def texts(messages: Any) -> list[str]:
    return [f"{message.role}: {message.to_text()}" for message in messages]


class Counter:
    """A tool that knows how often it was run, with what."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self._lock = threading.Lock()

    def tool(self, behaviour: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def count(n: int = 0) -> Any:
            """Counts."""
            with self._lock:
                self.seen.append(n)
            return n if behaviour is None else behaviour(n)

        return count


def assert_valid(messages: list[Message], *, tools: Any = ()) -> None:
    """A conversation is well formed, and every API takes it."""
    blocks = [block for message in messages for block in message.content]
    calls = [b for b in blocks if isinstance(b, ActionCallMessageContent | InvalidActionCallMessageContent)]
    answers = [b for b in blocks if isinstance(b, ActionResultMessageContent)]
    assert well_formed(messages, len(calls), len(answers)), messages
    if not messages:
        return
    for api in registered():
        made = llmneutral.convert(PromptStack(messages, tools=tools), api, model="m", max_tokens=100)
        assert isinstance(made, Conversion)
        assert made.open_calls == ()
