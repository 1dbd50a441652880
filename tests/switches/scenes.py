"""A question that takes a tool and an answer in a form, on every API, over the official SDKs: what a model says to it.

A scene is a server on the loopback interface that plays the turns of a script, whole or streamed as each request asks.
Where tools are text, so are the turns: Thought, Actions, Answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

import llmneutral
from llmneutral import Agent, AgentResult, BaseMessageContent, DeltaMessage, Message
from llmneutral.ir.deltas import CONTENT_KINDS
from llmneutral.structured import ANSWER_TOOL
from tests.drivers import endpoints, sdk_endpoints
from tests.drivers.cities import form
from tests.faults.wires import APIS, driver_for
from tests.loopback import Answer, Answering, Request, streamed, whole

__all__ = ["APIS", "driver_for"]

MODELS = {
    "chat_completions": "gpt-4.1",
    "codex_responses": "gpt-4.1",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_native": "gemini-3-pro-preview",
    "bedrock_converse": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere_chat": "command-a-03-2025",
    "mistral_chat": "mistral-large-latest",
}
"""Models that can be held to a schema beside tools; Cohere's cannot."""

Turn = list[tuple[Any, ...]]

# --- what the model says ------------------------------------------------------------------------


def calls(*wanted: tuple[str, Any], as_text: bool = False) -> Turn:
    """A turn that calls tools: (name, input)."""
    if not as_text:
        made = [("call", f"call0000{n}", name, json.dumps(given)) for n, (name, given) in enumerate(wanted)]
        return [("text", "I look."), *made]
    actions = [{"tag": f"a{n}", "name": name, "input": given} for n, (name, given) in enumerate(wanted)]
    return [("text", f"Thought: I look.\nActions: {json.dumps(actions)}\nObservations: made up")]


def answers(value: Any, strategy: str, *, as_text: bool = False) -> Turn:
    """A turn that gives a value in the form that a strategy asks for."""
    if not as_text:
        return form(strategy, value, 7)
    if strategy == "rule":
        return [("text", f"Thought: That is it.\nAnswer: {json.dumps(value)}")]
    return calls((ANSWER_TOOL, value), as_text=True)


def plays(api: str, turns: Iterable[Turn]) -> Answering:
    """Answers each request with the next turn."""
    coming = iter(turns)

    def answering(request: Request) -> Answer:
        return spoken(api, next(coming), request)

    return answering


def spoken(api: str, turn: Turn, request: Request) -> Answer:
    """A turn as the API writes it, streamed where the request says so."""
    stream = sdk_endpoints.wants_stream(request)
    if api in endpoints.APIS:
        return streamed(endpoints.chunks_of(api, turn)) if stream else whole(endpoints.body_of(api, turn))
    if stream:
        return sdk_endpoints.stream_of(api, sdk_endpoints.chunks_of(api, turn))
    return sdk_endpoints.body_answer(api, sdk_endpoints.body_of(api, turn))


# --- what it was asked --------------------------------------------------------------------------


def assert_taken(api: str, requests: Sequence[Request]) -> None:
    """The SDK's own types and the provider's rules take every request as it came over the wire."""
    for number, request in enumerate(requests):
        found = [*llmneutral.validate(request.json, api), *llmneutral.lint(request.json, api)]
        assert found == [], (number, found)


# --- four ways to run an agent ------------------------------------------------------------------

WAYS = ("run", "arun", "stream", "astream")


def ran(agent: Agent, way: str, question: str, **settings: Any) -> tuple[AgentResult, list[DeltaMessage]]:
    """Runs an agent in a way; also returns the deltas that way gives."""
    if way == "run":
        return agent.run(question, **settings), []
    if way == "arun":
        return asyncio.run(agent.arun(question, **settings)), []
    if way == "stream":
        with agent.stream(question, **settings) as stream:
            deltas = list(stream)
        return stream.result, deltas

    async def read() -> tuple[AgentResult, list[DeltaMessage]]:
        async with agent.astream(question, **settings) as stream:
            deltas = [delta async for delta in stream]
        return stream.result, deltas

    return asyncio.run(read())


# --- deltas -------------------------------------------------------------------------------------


def joined(deltas: Iterable[DeltaMessage]) -> list[list[tuple[str, str]]]:
    """The answers that deltas add up to, as kinds and texts of blocks."""
    found: list[dict[int, list[Any]]] = []
    for delta in deltas:
        if delta.kind in ("start", "repair"):
            found.append({})
        elif delta.kind in CONTENT_KINDS:
            piece: Any = delta.content
            found[-1].setdefault(piece.index, []).append(piece)
    return [shown([pieces[0].builds.from_deltas(pieces) for pieces in answer.values()]) for answer in found]


def shown(blocks: Iterable[BaseMessageContent]) -> list[tuple[str, str]]:
    """Kinds and texts of blocks."""
    return [(type(block).__name__, block.to_text()) for block in blocks]


def said(messages: Iterable[Message]) -> list[list[tuple[str, str]]]:
    """The same of the model's messages."""
    return [shown(message.content) for message in messages if message.is_assistant()]
