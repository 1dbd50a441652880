"""A message: one role, a tuple of blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import BaseMessageContent, MessageContent, TextMessageContent

_put = msgspec.structs.force_setattr


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation.

    Results of tools stand in messages of the user, as most providers have it; OpenAI's role `tool` is
    the same thing in another spelling.

    Attributes:
        role: system, developer, user or assistant.
        content: The blocks; a plain string becomes one text block.
        name: Name of the participant, where the caller gave one.
    """

    SYSTEM_ROLE: ClassVar[str] = "system"
    DEVELOPER_ROLE: ClassVar[str] = "developer"
    USER_ROLE: ClassVar[str] = "user"
    ASSISTANT_ROLE: ClassVar[str] = "assistant"

    role: str
    content: tuple[MessageContent, ...] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        content: Any = self.content
        if type(content) is not tuple:
            _put(self, "content", (TextMessageContent(content),) if isinstance(content, str) else _blocks(content))

    def is_system(self) -> bool:
        """Whether it instructs the model (roles system and developer)."""
        return self.role in ("system", "developer")

    def is_user(self) -> bool:
        """Whether it is the user's, results of tools included."""
        return self.role == "user"

    def is_assistant(self) -> bool:
        """Whether it is the model's."""
        return self.role == "assistant"

    def to_text(self) -> str:
        """Returns the texts of the blocks, one a line."""
        return "\n".join([content.to_text() for content in self.content])


def _blocks(content: Any) -> tuple[Any, ...]:
    return (content,) if isinstance(content, BaseMessageContent) else tuple(content)


def only_messages(members: Any) -> tuple[Message, ...]:
    """Returns the members of a stack as a tuple, once each of them is a message made of blocks.

    A stack's `messages` is an ordinary list, so that a text can get into it that was meant for `add_user_message`.

    Raises:
        ConversionError: If a member is no Message, or a part of one no block, naming its place.
    """
    if not isinstance(members, Iterable) or isinstance(members, str | bytes):
        raise ConversionError(f"the messages of the stack are {a_kind(members)}, not a list of messages", rule="source")
    found = tuple(members)
    for place, member in enumerate(found):
        if not isinstance(member, Message):
            why = f"message {place} of the stack is {a_kind(member)}, not a Message"
            raise ConversionError(f"{why}; add texts by stack.add_user_message(...)", rule="source", refs=[(place,)])
        for block, content in enumerate(member.content):
            if not isinstance(content, BaseMessageContent):
                why = f"block {block} of message {place} is {a_kind(content)}, not a block of content"
                remedy = "give text, an artifact or a content to stack.add_message(..., role)"
                raise ConversionError(f"{why}; {remedy}", rule="source", refs=[(place, block)])
    return found
