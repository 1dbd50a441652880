"""PromptStack: building, filtering, copying, and JSON both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import pytest
from hypothesis import given
from pydantic import BaseModel

from llmneutral import (
    ActionCallMessageContent,
    ConversionError,
    ImageArtifact,
    Message,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)
from tests.laws.stacks import stacks

PNG = b"\x89PNG\r\n\x1a\n"


class Herb(BaseModel):
    name: str


@dataclass
class Spice:
    name: str


class Tea(TypedDict):
    name: str


def test_messages_are_added_by_role() -> None:
    stack = PromptStack()
    stack.add_system_message("Be brief.")
    stack.add_user_message(["Look:", ImageArtifact(PNG)])
    stack.add_assistant_message("A picture.")
    assert [message.role for message in stack.messages] == ["system", "user", "assistant"]
    assert [type(content).__name__ for content in stack.messages[1].content] == [
        "TextMessageContent",
        "ImageMessageContent",
    ]
    assert stack.system_messages == stack.messages[:1]
    assert stack.user_messages == stack.messages[1:2]
    assert stack.assistant_messages == stack.messages[2:]
    assert len(stack) == 3


def test_from_artifact_asks_one_question() -> None:
    assert PromptStack.from_artifact("hi").messages == [Message("user", (TextMessageContent("hi"),))]


@pytest.mark.parametrize("schema", [Herb, Spice, Tea, {"type": "object", "properties": {"name": {"type": "string"}}}])
def test_the_output_schema_is_json_schema(schema: object) -> None:
    found = PromptStack(output_schema=schema).to_output_json_schema()
    assert found is not None
    assert found["type"] == "object"
    assert found["properties"]["name"]["type"] == "string"


def test_no_output_schema_is_none() -> None:
    assert PromptStack().to_output_json_schema() is None


@given(stacks)
def test_json_loses_nothing(messages: list[Message]) -> None:
    stack = PromptStack([m for m in messages if "nan" not in repr(m)], settings={"seed": 7})
    assert PromptStack.from_json(stack.to_json()) == stack


def test_a_number_beyond_a_float_and_half_a_character_are_read_back() -> None:
    call = ActionCallMessageContent("\ud83d", "look", None, {"n": float("inf")}, '{"n": 1e999}')
    back = PromptStack.from_json(PromptStack([Message("assistant", (call,))]).to_json())
    (found,) = back.messages[0].content
    assert isinstance(found, ActionCallMessageContent)
    assert (found.tag, found.input, found.arguments) == ("\ud83d", {"n": "Infinity"}, '{"n": 1e999}')


def test_json_keeps_tools_as_definitions() -> None:
    def look(city: str) -> str:
        """Looks at a city."""
        return city

    back = PromptStack.from_json(PromptStack(tools=[look], output_schema=Herb).to_json())
    assert back.tools[0]["function"]["name"] == "look"
    assert back.output_schema["properties"]["name"]["type"] == "string"


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"messages": [{"role": 3}]}', '{"messages": [], "settings": 5}'),
        *('{"messages": [], "settings": [1]}', '{"messages": [], "tools": 5}', '{"messages": [], "tools": {"a": 1}}'),
        *('{"messages": [], "output_schema": 5}', '{"messages": [], "read_from": ["a"]}'),
    ],
)
def test_what_is_no_stack_is_told(text: str) -> None:
    with pytest.raises(ConversionError, match="no PromptStack in JSON"):
        PromptStack.from_json(text)


def test_reasoning_after_an_edit_is_left_out() -> None:
    thought = ThinkingMessageContent("hm", signature="s")
    messages = [
        Message("assistant", (thought, TextMessageContent("a"))),
        Message("user", (TextMessageContent("edited"),)),
        Message("assistant", (thought, TextMessageContent("b"))),
    ]
    stack = PromptStack(messages)
    kept = stack.without_reasoning_after((1, 0))
    assert kept.messages[0] == messages[0]
    assert kept.messages[2].content == (TextMessageContent("b"),)
    assert stack.messages == messages


def test_a_stack_shows_roles_and_no_texts() -> None:
    stack = PromptStack.from_artifact("a secret")
    assert repr(stack) == "PromptStack(1 message: user)"
    assert stack != "something else"
