"""A driver whose answers are a list, and a clock that is told the time: calls without network, wait and mock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from llmneutral import BaseEvent, BasePromptDriver, ServerError
from tests.laws.answers import WIRE

TEXT = [("text", "Hello there")]


class Scripted(BasePromptDriver):
    """Answers an exception, a body, or a list of chunks (an exception in it is raised)."""

    needs_key = False

    def __init__(self, *answers: Any, api_mode: str = "chat_completions", **options: Any) -> None:
        super().__init__(options.pop("model", "m"), api_mode=api_mode, **options)
        self.answers = list(answers)
        self.sent: list[dict[str, Any]] = []
        self.slept: list[float] = []
        self.closed = 0
        self.sleep = self.slept.append
        self.asleep = self._asleep

    async def _asleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def _next(self, conversion: Any) -> Any:
        self.sent.append(conversion.to_json())
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def send(self, conversion: Any) -> Any:
        return self._next(conversion)

    def open(self, conversion: Any) -> Iterator[Any]:
        return Played(self, self._next(conversion))


class Played:
    """The chunks of one stream."""

    def __init__(self, driver: Scripted, chunks: list[Any]) -> None:
        self.driver = driver
        self.chunks = list(chunks)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self.chunks:
            raise StopIteration
        chunk = self.chunks.pop(0)
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk

    def close(self) -> None:
        self.driver.closed += 1


class Clock:
    """Seconds, which pass by `step` with every look."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 100.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def whole(answer: Any = TEXT, api: str = "chat_completions") -> dict[str, Any]:
    return WIRE[api][0](answer)


def chunks(answer: Any = TEXT, size: int = 3, api: str = "chat_completions") -> list[Any]:
    return WIRE[api][1](answer, size)


def busy(**more: Any) -> ServerError:
    return ServerError("busy", **more)


def kinds(events: list[BaseEvent]) -> list[str]:
    return [event.type for event in events]
