"""Where citations may stand, and what a format of the answer excludes: by a target with a schema."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    Conversion,
    DocumentMessageContent,
    GenericMessageContent,
    Message,
    PromptStack,
    TextMessageContent,
)

CLAUDE = {"anthropic_messages": "claude-sonnet-4-5", "bedrock_converse": "us.anthropic.claude-sonnet-4-5-v1:0"}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
ON, OFF = {"citations": {"enabled": True}}, {"citations": {"enabled": False}}
over_apis = pytest.mark.parametrize("api", list(CLAUDE))


def made(api: str, *messages: Message, **more: Any) -> Conversion:
    found = ln.convert(PromptStack(messages), api, model=CLAUDE[api], **{"max_tokens": 500, **more})
    assert isinstance(found, Conversion)
    return found


def steps(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes if change.step != "frame"]


def _values(node: Any) -> list[Any]:
    """Every object in a body."""
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [node, *[value for entry in inner for value in _values(entry)]]


def document(native: dict[str, Any]) -> DocumentMessageContent:
    return DocumentMessageContent(text="t", name="a", native=native)


@over_apis
@pytest.mark.parametrize(
    "cited",
    [
        document(ON),
        GenericMessageContent({"searchResult": {"source": "s", **ON}}),
        GenericMessageContent({"type": "search_result", **ON}),
    ],
)
def test_nothing_is_to_be_cited_beside_a_format(api: str, cited: Any) -> None:
    message = Message("user", (cited, TextMessageContent("q")))
    assert ON["citations"] not in _values(made(api, message, output_schema=SCHEMA).to_json())
    assert steps(made(api, message, output_schema=SCHEMA)) == [("room_for_format", "coerced")]
    assert steps(made(api, message)) == []


@over_apis
def test_what_stands_in_a_result_is_not_to_be_cited_either(api: str) -> None:
    call = Message("assistant", (ActionCallMessageContent("c", "look"),))
    done = Message("user", (ActionResultMessageContent("c", parts=(document(ON),)),))
    tools = [{"type": "function", "function": {"name": "look"}}]
    found = made(api, Message("user", "q"), call, done, output_schema=SCHEMA, tools=tools)  # type: ignore[arg-type]
    assert ("room_for_format", "coerced") in steps(found)


@over_apis
def test_citations_that_are_off_stay(api: str) -> None:
    message = Message("user", (document(OFF), TextMessageContent("q")))
    assert steps(made(api, message, output_schema=SCHEMA)) == []


@over_apis
def test_an_answer_in_a_format_is_not_begun(api: str) -> None:
    turns = [Message("user", (TextMessageContent("q"),)), Message("assistant", (TextMessageContent("{"),))]
    assert steps(made(api, *turns, output_schema=SCHEMA)) == [("room_for_format", "added")]
    assert steps(made(api, *turns)) == []
