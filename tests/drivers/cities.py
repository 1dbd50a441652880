"""A question for a city, and answers that fit or do not: what the tests of repairs share."""

from __future__ import annotations

import json
from typing import Any

import pydantic

from llmneutral import BasePromptDriver, DeltaMessage, NormalizedResponse
from llmneutral.structured import ANSWER_TOOL
from tests.drivers.endpoints import WAYS
from tests.drivers.scripted import Scripted, chunks, whole

APIS = (
    "chat_completions", "codex_responses", "anthropic_messages", "gemini_native", "bedrock_converse", "cohere_chat",
    "mistral_chat",
)  # fmt: skip
STRATEGIES = ("native", "tool", "rule")
FACTS = {"native_json_schema": True, "tools": True}
GOOD, BAD = {"name": "Rome", "size": 3}, {"name": "Rome", "size": "big"}
PROBLEM = 'size: expected integer, got "big"'
NUMBERS = {"input_total": 5, "output_total": 7, "total": 12}


class City(pydantic.BaseModel):
    name: str
    size: int


ROME = City(name="Rome", size=3)


def form(strategy: str, value: Any, number: int = 1) -> list[tuple[Any, ...]]:
    """An answer by a strategy."""
    text = json.dumps(value)
    return [("call", f"call_{number}", ANSWER_TOOL, text)] if strategy == "tool" else [("text", text)]


def script(*answers: Any, stream: bool, api: str = "chat_completions", size: int = 3) -> list[Any]:
    return [
        each if isinstance(each, Exception) else chunks(each, size, api) if stream else whole(each, api)
        for each in answers
    ]


def driver(*answers: Any, stream: bool = False, api: str = "chat_completions", **options: Any) -> Scripted:
    """A driver that answers so, one after the other."""
    return Scripted(*script(*answers, stream=stream, api=api), api_mode=api, **{"facts": FACTS, **options})


def asked(way: str, made: Scripted, **settings: Any) -> NormalizedResponse:
    return WAYS[way](made, settings.pop("source", "Which city?"), **{"output_schema": City, **settings})


def deltas_of(made: BasePromptDriver, **settings: Any) -> tuple[list[DeltaMessage], Any, Exception | None]:
    """The deltas of a stream, the stream, and what it ended with."""
    stream = made.stream(settings.pop("source", "Which city?"), **{"output_schema": City, **settings})
    found: list[DeltaMessage] = []
    try:
        for delta in stream:
            found.append(delta)
    except Exception as error:  # noqa: BLE001
        return found, stream, error
    return found, stream, None


def comparable(response: NormalizedResponse) -> Any:
    """What does not depend on the way: neither times nor ids that were made here."""
    assert response.metadata is not None
    told = response.to_dict()
    del told["blocks"]  # a stream keeps the arguments as they were written
    return told, response.metadata.repairs, response.metadata.attempts, [a.problems for a in response.metadata.rejected]
