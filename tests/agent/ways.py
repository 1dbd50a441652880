"""The four ways to run an agent, with one signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from llmneutral import Agent, AgentResult


def run(agent: Agent, *given: Any, **more: Any) -> AgentResult:
    return agent.run(*given, **more)


def arun(agent: Agent, *given: Any, **more: Any) -> AgentResult:
    return asyncio.run(agent.arun(*given, **more))


def stream(agent: Agent, *given: Any, **more: Any) -> AgentResult:
    with agent.stream(*given, **more) as deltas:
        for _ in deltas:
            pass
    return deltas.result


def astream(agent: Agent, *given: Any, **more: Any) -> AgentResult:
    async def read() -> AgentResult:
        async with agent.astream(*given, **more) as deltas:
            async for _ in deltas:
                pass
        return deltas.result

    return asyncio.run(read())


WAYS = {"run": run, "arun": arun, "stream": stream, "astream": astream}
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
Asking = Callable[..., AgentResult]
