"""What may stand in the list of messages of a stack."""

from __future__ import annotations

import re
from typing import Any

import pytest

import llmneutral
from llmneutral import ConversionError, Message, PromptStack


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (["text"], "message 0 of the stack is a str, not a Message; add texts by stack.add_user_message"),
        ([Message("user", ()), {"role": "user"}], "message 1 of the stack is a dict"),
        ([Message("user", ("q",))], "block 0 of message 0 is a str, not a block"),  # type: ignore[arg-type]
        ([Message("user", (None,))], "block 0 of message 0 is a NoneType"),  # type: ignore[arg-type]
        (5, "the messages of the stack are an int, not a list"),
        ("text", "the messages of the stack are a str"),
    ],
)
def test_what_is_no_message_is_told_by_its_place_before_anything_is_done_with_it(members: Any, said: str) -> None:
    stack = PromptStack()
    stack.messages = members
    driver = llmneutral.make_driver("openai", model="gpt-4.1", api_key="never used")
    for use in (
        stack.to_json,
        stack.to_openai,
        lambda: llmneutral.convert(stack, "anthropic_messages"),
        lambda: driver.run(stack),
        lambda: list(driver.stream(stack)),
        lambda: llmneutral.Agent(prompt_driver=driver).run(stack),
    ):
        with pytest.raises(ConversionError, match=re.escape(said)):
            use()


def test_the_repr_of_a_stack_shows_what_stands_among_its_messages() -> None:
    stack = PromptStack([Message("user", ())])
    stack.messages.append("text")  # type: ignore[arg-type]
    assert repr(stack) == "PromptStack(2 messages: user, str)"


@pytest.mark.parametrize("forgotten", [None, ...])
def test_a_forgotten_value_is_no_message(forgotten: Any) -> None:
    stack = PromptStack()
    for add in (stack.add_user_message, stack.add_system_message, stack.add_assistant_message):
        with pytest.raises(TypeError, match=f"{forgotten} is no content of a message: give text"):
            add(forgotten)
    assert stack.messages == []
