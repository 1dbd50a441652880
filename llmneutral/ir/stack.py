"""PromptStack: the one thing a caller builds.

It is the only mutable value of the library. A driver works on a frozen snapshot of it, so nothing
that happens in a run is ever seen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from llmneutral.ir import wire
from llmneutral.ir.contents import BaseMessageContent, ThinkingMessageContent
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message, only_messages
from llmneutral.ir.reduction import contents_of
from llmneutral.ir.schemas import to_json_schema


class PromptStack:
    """A conversation, the tools it may use, and the form its answer shall have.

    Attributes:
        messages: The messages in order; an ordinary list.
        tools: Functions, `Tool` objects, or OpenAI-format dicts.
        output_schema: A pydantic model, dataclass, TypedDict, or JSON Schema dict.
        settings: Neutral settings (temperature …); a keyword of the call wins over them.
        read_from: The API mode whose request it was read from, if it was; what stands in `settings["extra_body"]` is
            then that API's own, and no other one is sent it.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        tools: Sequence[Any] = (),
        output_schema: Any = None,
        settings: JSONObject | None = None,
        read_from: str | None = None,
    ) -> None:
        self.messages = list(messages)
        self.tools = list(tools)
        self.output_schema = output_schema
        self.settings = dict(settings or {})
        self.read_from = read_from

    @classmethod
    def from_artifact(cls, artifact: Any) -> PromptStack:
        """Returns a stack with one message of the user."""
        stack = cls()
        stack.add_user_message(artifact)
        return stack

    def add_message(self, artifact: Any, role: str) -> Message:
        """Adds a message of a role; any artifact, text, content or list of these is reduced to blocks.

        Raises:
            TypeError: If it is None or `...`: a value that was forgotten, such as what a function did not return; or
                bytes without a media type.
        """
        if artifact is None or artifact is ...:
            raise TypeError(f"{artifact} is no content of a message: give text, an artifact, or a list of these")
        message = Message(role, contents_of(artifact))
        self.messages.append(message)
        return message

    def add_system_message(self, artifact: Any) -> Message:
        """Adds an instruction."""
        return self.add_message(artifact, Message.SYSTEM_ROLE)

    def add_user_message(self, artifact: Any) -> Message:
        """Adds a message of the user."""
        return self.add_message(artifact, Message.USER_ROLE)

    def add_assistant_message(self, artifact: Any) -> Message:
        """Adds a message of the model."""
        return self.add_message(artifact, Message.ASSISTANT_ROLE)

    @property
    def system_messages(self) -> list[Message]:
        """The instructions."""
        return [message for message in self.messages if message.is_system()]

    @property
    def user_messages(self) -> list[Message]:
        """The user's messages, results of tools included."""
        return [message for message in self.messages if message.is_user()]

    @property
    def assistant_messages(self) -> list[Message]:
        """The model's messages."""
        return [message for message in self.messages if message.is_assistant()]

    def to_output_json_schema(self) -> JSONObject | None:
        """Returns the output schema as JSON Schema (draft 2020-12), or None."""
        return None if self.output_schema is None else to_json_schema(self.output_schema)

    def without_reasoning_after(self, ref: Sequence[int]) -> PromptStack:
        """Returns a copy without the reasoning that stands after an address `(message, block)`.

        Some models bind reasoning to everything before it: whoever edits an earlier turn must drop what
        was thought after it. Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking
        """
        at = tuple(ref)
        kept = [
            msgspec.structs.replace(
                message,
                content=tuple([c for j, c in enumerate(message.content) if not (_is_thinking(c) and (i, j) > at)]),
            )
            for i, message in enumerate(self.messages)
        ]
        return PromptStack(
            kept,
            tools=self.tools,
            output_schema=self.output_schema,
            settings=self.settings,
            read_from=self.read_from,
        )

    def to_openai(self) -> list[JSONObject]:
        """Returns the messages in OpenAI's format.

        Raises:
            ConversionError: If a member of `messages` is no message.
        """
        return wire.to_openai(only_messages(self.messages))

    @classmethod
    def from_openai(cls, messages: Iterable[Any]) -> PromptStack:
        """Reads messages in OpenAI's format.

        Raises:
            ConversionError: If one is malformed, naming the message and the part.
        """
        return cls(wire.from_openai(messages))

    def to_json(self) -> str:
        """Returns the stack as JSON text, without loss; functions among the tools become their definitions.

        Raises:
            ConversionError: If a member of `messages` is no message.
        """
        return wire.stack_to_json(**{**vars(self), "messages": only_messages(self.messages)})

    @classmethod
    def from_json(cls, text: str | bytes) -> PromptStack:
        """Reads what `to_json` wrote.

        Raises:
            ConversionError: If it is no such text.
        """
        return cls(**wire.stack_from_json(text))

    def __eq__(self, other: object) -> bool:
        """Whether two stacks hold the same."""
        if not isinstance(other, PromptStack):
            return NotImplemented
        return vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __len__(self) -> int:
        """Returns the number of messages."""
        return len(self.messages)

    def __repr__(self) -> str:
        """Shows roles and counts, not texts."""
        roles = ", ".join([str(getattr(message, "role", type(message).__name__)) for message in self.messages[:6]])
        more = ", …" if len(self.messages) > 6 else ""
        noun = "message" if len(self.messages) == 1 else "messages"
        return f"PromptStack({len(self.messages)} {noun}: {roles}{more})"


def _is_thinking(content: BaseMessageContent) -> bool:
    return isinstance(content, ThinkingMessageContent)
