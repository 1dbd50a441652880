"""Tools as text with the embedded model on its three protocols: whatever so small a model writes, nothing raises."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral import (
    Agent,
    LocalPromptDriver,
    Message,
    NormalizedResponse,
    PromptStack,
    TextMessageContent,
    ToolLoopError,
)
from llmneutral.drivers.local_server import LocalSettings, stop_shared

pytestmark = pytest.mark.live

APIS = ("chat_completions", "codex_responses", "anthropic_messages")
SETTINGS = LocalSettings(cache_prompt=False, n_ctx=2048)
LIMITS: dict[str, Any] = {"use_native_tools": False, "max_tokens": 60}


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@pytest.fixture(scope="module")
def drivers() -> Iterator[dict[str, LocalPromptDriver]]:
    made = {api: LocalPromptDriver(api_mode=api, server=SETTINGS) for api in APIS}
    yield made
    for driver in made.values():
        driver.close()
    stop_shared()


@pytest.mark.parametrize("api", APIS)
def test_run_and_stream_read_the_same(drivers: dict[str, LocalPromptDriver], api: str) -> None:
    stack = PromptStack([Message("user", (TextMessageContent("What is 17 + 25?"),))], tools=[add])
    whole = drivers[api].run(stack, **LIMITS)
    stream = drivers[api].stream(stack, **LIMITS)
    shown = "".join([delta.text for delta in stream])
    assert shown == stream.response.text
    assert said(stream.response) == said(whole)
    assert whole.usage.output_total


def said(response: NormalizedResponse) -> list[tuple[str, str]]:
    return [(type(block).__name__, block.to_text()) for block in response.message.content]


@pytest.mark.parametrize("api", APIS)
def test_a_loop_comes_to_an_end(drivers: dict[str, LocalPromptDriver], api: str) -> None:
    agent = Agent(drivers[api], tools=[add], max_steps=3, max_format_errors=9, **LIMITS)
    with contextlib.suppress(ToolLoopError):  # its end is three answers, or one that answers
        assert agent.run("What is 17 + 25?").steps <= 3
