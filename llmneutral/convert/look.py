"""One look at a list of messages, shared by all passes: what has nothing to do sees it at once.

Each question is answered once a list, and in C where that is possible: a conversation of a thousand plain texts goes
through twenty passes, and none of them may walk over it in Python for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter, eq
from typing import Any

import msgspec

from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
)
from llmneutral.ir.messages import Message

CALLS = (ActionCallMessageContent, InvalidActionCallMessageContent)
SYSTEM_ROLES = frozenset(("system", "developer"))
MEDIA = frozenset((ImageMessageContent, AudioMessageContent, DocumentMessageContent))
INPUT = attrgetter("input")
SIMPLE = frozenset((str, int, float, bool, type(None)))
WORDS_OF_MEDIA: dict[type, attrgetter[Any]] = {
    ImageMessageContent: attrgetter("url", "native"),
    AudioMessageContent: attrgetter("transcript", "native"),
    DocumentMessageContent: attrgetter("name", "title", "context", "text", "url", "parts", "native"),
}
"""What may hold words in media; their data is base64, and long."""


class Look:
    """What stands in some messages.

    Attributes:
        messages: The messages looked at.
        contents: The blocks of each message.
        blocks: All blocks, in order.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.contents: list[tuple[Any, ...]] = [message.content for message in messages]
        self.blocks: list[Any] = [block for content in self.contents for block in content]

    @cached_property
    def kinds(self) -> frozenset[type]:
        """The kinds of blocks that occur."""
        return frozenset(map(type, self.blocks))

    @cached_property
    def roles(self) -> list[str]:
        """The role of each message."""
        return [message.role for message in self.messages]

    @cached_property
    def has_instructions(self) -> bool:
        """Whether a message has a role that instructs the model."""
        return not SYSTEM_ROLES.isdisjoint(self.roles)

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the text blocks."""
        if self.kinds == {TextMessageContent}:
            return [block.text for block in self.blocks]
        return [block.text for block in self.blocks if type(block) is TextMessageContent]

    @cached_property
    def calls(self) -> list[Any]:
        """The calls of tools."""
        return [block for block in self.blocks if type(block) in CALLS] if not self.kinds.isdisjoint(CALLS) else []

    @cached_property
    def results(self) -> list[Any]:
        """The results of tools."""
        if ActionResultMessageContent not in self.kinds:
            return []
        return [block for block in self.blocks if type(block) is ActionResultMessageContent]

    @cached_property
    def is_plain(self) -> bool:
        """Whether every message is one text and nothing else."""
        return (
            self.kinds == {TextMessageContent}
            and len(self.blocks) == len(self.messages)
            and not (self.has_empty_messages or self.dressed)
            and not any([message.name for message in self.messages])
        )

    @cached_property
    def has_repeated_blocks(self) -> bool:
        """Whether one block stands in several places."""
        return len(set(map(id, self.blocks))) < len(self.blocks)

    @cached_property
    def has_neighbours(self) -> bool:
        """Whether two messages of one role stand side by side."""
        return any(map(eq, self.roles, self.roles[1:]))

    @cached_property
    def has_blank_texts(self) -> bool:
        """Whether a text is empty or white space."""
        return not all(self.texts) or any(map(str.isspace, self.texts))

    @cached_property
    def has_empty_messages(self) -> bool:
        """Whether a message has no blocks."""
        return not all(self.contents)

    @cached_property
    def dressed(self) -> list[Any]:
        """The blocks that have more than their plain fields: a cache mark, citations, a signature, something native."""
        if self.kinds == {TextMessageContent}:
            return [b for b in self.blocks if b.cache or b.native or b.citations or b.thought_signature]
        return [
            b
            for b in self.blocks
            if b.cache
            or b.native
            or ((kind := type(b)) is TextMessageContent and (b.citations or b.thought_signature))
            or (kind is ActionCallMessageContent and b.thought_signature)
        ]

    @cached_property
    def has_marks(self) -> bool:
        """Whether a block has a cache mark."""
        return any([block.cache for block in self.dressed])

    @cached_property
    def written(self) -> bytes | None:
        """Everything but plain ASCII texts as JSON; None where that is not possible."""
        texts = [] if all(map(str.isascii, self.texts)) else self.texts
        if self.kinds == {TextMessageContent}:
            return json_of([texts, self.dressed])
        others = [x for x in self.blocks if type(x) is not TextMessageContent or x.native or x.citations]
        return json_of([texts, others if self.kinds.isdisjoint(MEDIA) else [_words(block) for block in others]])

    @property
    def may_have_surrogates(self) -> bool:
        """Whether something may not be writable as UTF-8; False is certain."""
        return self.written is None

    @property
    def may_have_nan(self) -> bool:
        """Whether a value may be NaN or infinite, or no plain data, which JSON does not know; False is certain."""
        return self.written is None or b"null" in self.written or not self.has_simple_arguments

    @cached_property
    def has_simple_arguments(self) -> bool:
        """Whether the arguments of all calls hold only texts, numbers, true, false and null, side by side.

        The fast writer knows more than JSON does (dates, sets, bytes): what is not simple has to be looked at.
        """
        try:
            return SIMPLE.issuperset(map(type, chain.from_iterable(map(dict.values, map(INPUT, self.calls)))))
        except (AttributeError, TypeError):  # an invalid call, or arguments that are no dict
            return False


def _words(block: Any) -> Any:
    words = WORDS_OF_MEDIA.get(type(block))
    return block if words is None else [value for value in words(block) if value is not None]


def json_of(value: Any) -> bytes | None:
    """Returns plain data as JSON; None where it holds a lone surrogate, or is no plain data."""
    try:
        return msgspec.json.encode(value)
    except (ValueError, TypeError, RecursionError):  # UnicodeEncodeError is a ValueError
        return None
