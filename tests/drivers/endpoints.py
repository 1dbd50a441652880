"""Drivers pointed at the loopback provider, for the three protocols, in sync and in async code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from llmneutral import BasePromptDriver, DeltaMessage, NormalizedResponse, make_driver
from tests.laws.answers import WIRE
from tests.loopback import Loopback

KEY = "planted-key-0123456789"
APIS = ["chat_completions", "codex_responses", "anthropic_messages"]
PATHS = {
    "chat_completions": "/v1/chat/completions",
    "codex_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
}
TEXT = [("text", "Hello there, wörld")]
CALLS = [
    ("text", "I look"),
    ("call", "call_1", "look", '{"a": 1}'),
    ("call", "call_2", "look", '{"b": "x"}'),
]


def driver_for(api: str, server: Loopback, **options: Any) -> BasePromptDriver:
    """A driver of an API whose endpoint is the loopback provider; it waits for nothing between attempts."""
    base_url = server.url if api == "anthropic_messages" else f"{server.url}/v1"
    driver = make_driver(api, **{"model": "m", "base_url": base_url, "api_key": KEY, **options})
    driver.sleep = lambda seconds: None
    driver.asleep = lambda seconds: asyncio.sleep(0)
    return driver


def body_of(api: str, answer: Any = TEXT) -> Any:
    """The whole answer as the API writes it."""
    return WIRE[api][0](answer)


def chunks_of(api: str, answer: Any = TEXT, size: int = 4) -> list[Any]:
    """The stream of an answer as the API writes it."""
    return WIRE[api][1](answer, size)


def deltas_before(api: str) -> int:
    """How many chunks of TEXT come before the first one with content."""
    return {"chat_completions": 1, "codex_responses": 2, "anthropic_messages": 3}[api]


# Four ways to ask, with one signature: (driver, source, **settings) -> response.


def run(driver: BasePromptDriver, source: Any, **settings: Any) -> NormalizedResponse:
    return driver.run(source, **settings)


def streamed(driver: BasePromptDriver, source: Any, **settings: Any) -> NormalizedResponse:
    stream = driver.stream(source, **settings)
    check_deltas(list(stream))
    return stream.response


def arun(driver: BasePromptDriver, source: Any, **settings: Any) -> NormalizedResponse:
    async def ask() -> NormalizedResponse:
        return await driver.arun(source, **settings)

    return asyncio.run(ask())


def astreamed(driver: BasePromptDriver, source: Any, **settings: Any) -> NormalizedResponse:
    async def ask() -> NormalizedResponse:
        stream = driver.astream(source, **settings)
        check_deltas([delta async for delta in stream])
        return stream.response

    return asyncio.run(ask())


def check_deltas(deltas: list[DeltaMessage]) -> None:
    """One start, first, and one end, last."""
    kinds = [delta.kind for delta in deltas]
    assert (kinds[0], kinds[-1]) == ("start", "end")
    assert (kinds.count("start"), kinds.count("end")) == (1, 1)


Asking = Callable[..., NormalizedResponse]
WAYS: dict[str, Asking] = {"run": run, "stream": streamed, "arun": arun, "astream": astreamed}
