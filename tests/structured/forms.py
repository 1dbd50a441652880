"""Schemas, plans and answers that the tests of structured output share."""

from __future__ import annotations

import dataclasses
from typing import Any, TypedDict

import pydantic

import llmneutral
from llmneutral import profile
from llmneutral.convert.settings import canonical_settings
from llmneutral.ir.jsontext import dumps
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.tools import definitions
from llmneutral.structured import Plan, plan

SCHEMA = {
    "title": "City",
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name"],
}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
NO_FIELD = {"native_json_schema": False}


class City(pydantic.BaseModel):
    name: str
    size: int = 0


@dataclasses.dataclass
class Town:
    name: str


class Village(TypedDict):
    name: str


def planned(schema: Any = SCHEMA, *, tools: Any = (), facts: dict[str, Any] | None = None, **settings: Any) -> Plan:
    """The plan for a Claude, with other facts."""
    found = profile("anthropic_messages", model="claude-sonnet-4-5", facts=facts)
    return plan(schema, canonical_settings(settings), found, definitions(tools))


RULE = planned(structured_output_strategy="rule")
NATIVE = planned(facts={"native_json_schema": True})
BY_TOOL = planned(facts=NO_FIELD)


def answer(text: str, *calls: dict[str, Any], finish: str = "stop", refusal: str | None = None) -> NormalizedResponse:
    """An answer of Chat Completions; a call has a name and an `input`, or its arguments as they are (`raw`)."""
    tool_calls = [
        {
            "id": f"c{place}",
            "type": "function",
            "function": {"name": call["name"], "arguments": call.get("raw") or dumps(call["input"])},
        }
        for place, call in enumerate(calls)
    ]
    message = {
        "role": "assistant",
        "content": text,
        "refusal": refusal,
        **({"tool_calls": tool_calls} if calls else {}),
    }
    return llmneutral.normalize({"choices": [{"message": message, "finish_reason": finish}]}, "chat_completions")
