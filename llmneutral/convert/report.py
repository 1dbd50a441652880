"""What a conversion changed, and which block it was.

Blocks are known by identity. Addresses are worked out on the first remark, so a conversion that
changes nothing pays nothing for its report.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from llmneutral.ir.messages import Message

ChangeKind = Literal["dropped", "merged", "moved", "rewritten", "renamed", "added", "coerced", "refused"]


class Ref(NamedTuple):
    """Address of a block in the caller's stack: both count from 0, the block over parts, then calls."""

    message: int
    block: int


_ref = Ref._make  # half the time of Ref(i, j)


class Change(msgspec.Struct, frozen=True):
    """One thing that is not a one-to-one rendering.

    Attributes:
        step: The pass or step that did it.
        kind: What was done.
        refs: The blocks it was done to; empty for tools and settings, which `why` names.
        why: One sentence.
        doc: Where the provider says so, or None.
    """

    step: str
    kind: ChangeKind
    refs: tuple[Ref, ...]
    why: str
    doc: str | None = None


class Notes:
    """The report in the making, one per conversion.

    Call it to record a change: `note("dropped", why, *blocks)`; a block that a pass makes anew is given
    as `new=`, or told by `became`, so that later remarks and the trace find its source.
    """

    def __init__(self, given: Sequence[Message]) -> None:
        self.changes: list[Change] = []
        self.step = ""
        self._given = given
        self._made: dict[int, tuple[Any, tuple[Any, ...]]] = {}  # holds the new blocks, so that ids stay theirs

    def __call__(self, kind: ChangeKind, why: str, *blocks: Any, new: Any = None, doc: str | None = None) -> None:
        """Records a change of some blocks."""
        self.changes.append(Change(self.step, kind, self.refs(*blocks), why, doc))
        if new is not None:
            self.became(new, *blocks)

    def became(self, new: Any, *old: Any) -> Any:
        """Notes that a block stands for earlier ones, and returns it."""
        self._made[id(new)] = (new, old)
        return new

    def refs(self, *blocks: Any) -> tuple[Ref, ...]:
        """Returns the addresses of blocks, each once, in order."""
        if len(blocks) == 1:
            return self._refs_of(blocks[0])
        found: dict[Ref, None] = {}
        for block in blocks:
            for ref in self._refs_of(block):
                found[ref] = None
        return tuple(found)

    def message_refs(self, message: Message, fallback: int | None = None) -> tuple[Ref, ...]:
        """Returns the addresses of all blocks of a message."""
        return self.refs(*message.content) or (() if fallback is None else (Ref(fallback, 0),))

    def refs_of_each(self, blocks: Sequence[Any]) -> list[tuple[Ref, ...]]:
        """Returns the addresses of many blocks."""
        known = self._addresses
        return [known.get(id(block)) or self._refs_of(block) for block in blocks]

    def _refs_of(self, block: Any) -> tuple[Ref, ...]:
        known = self._addresses.get(id(block))
        if known is not None:
            return known
        made = self._made.get(id(block))
        return () if made is None else self.refs(*made[1])

    @cached_property
    def _addresses(self) -> dict[int, tuple[Ref, ...]]:
        return {
            id(content): (_ref((i, j)),)
            for i, message in enumerate(self._given)
            for j, content in enumerate(message.content)
        }
