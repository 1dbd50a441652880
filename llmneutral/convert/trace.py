"""Which JSON node of a payload came from which block.

By identity: a node is marked when it is rendered, and may then be moved anywhere. Nothing here knows
a JSON path until `pointers` walks the finished payload, once, when somebody asks.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import msgspec

from llmneutral.convert.report import Ref
from llmneutral.ir.messages import Message


class Trace:
    """Marks on the nodes of one payload."""

    __slots__ = ("_kept", "_refs")

    def __init__(self) -> None:
        self._refs: dict[int | tuple[int, str], tuple[Ref, ...]] = {}
        self._kept: list[Any] = []  # a marked node stays alive, so that its id stays its own

    def mark(self, node: Any, refs: tuple[Ref, ...], key: str | None = None) -> None:
        """Marks a dict or list, or (strings have no identity) the value under a key of it."""
        if not refs:
            return
        place = id(node) if key is None else (id(node), key)
        self._keyed = self._keyed or key is not None
        known = self._refs.get(place)
        self._refs[place] = refs if known is None else known + tuple([ref for ref in refs if ref not in known])
        self._kept.append(node)

    def alias(self, node: Any, copied: Any) -> None:
        """Gives a copy of a node the marks of the node."""
        if refs := self._refs.get(id(node)):
            self.mark(copied, refs)

    def alias_key(self, node: Any, key: str, copied: Any, copied_key: str) -> None:
        """Gives the value under a key of a copy the marks of the original's."""
        if refs := self._refs.get((id(node), key)):
            self.mark(copied, refs, copied_key)

    def pointers(self, payload: Any) -> dict[str, tuple[Ref, ...]]:
        """Returns a JSON pointer (RFC 6901) for each marked node of a payload, in its order."""
        found: dict[str, tuple[Ref, ...]] = {}
        self._walk(payload, "", found)
        return found

    def _walk(self, node: Any, at: str, found: dict[str, tuple[Ref, ...]]) -> None:
        if refs := self._refs.get(id(node)):
            found[at] = refs
        if isinstance(node, dict):
            for key, value in node.items():
                pointer = f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}"
                if refs := self._refs.get((id(node), key)):
                    found[pointer] = refs
                if isinstance(value, dict | list):
                    self._walk(value, pointer, found)
        elif isinstance(node, list):
            for i, value in enumerate(node):
                if isinstance(value, dict | list):
                    self._walk(value, f"{at}/{i}", found)


def apart(messages: Sequence[Message]) -> list[Message]:
    """Gives a block that stands in several places an identity for each, so that each keeps its address."""
    seen: set[int] = set()
    count = 0
    for message in messages:
        count += len(message.content)
        seen.update(map(id, message.content))
    if len(seen) == count:
        return list(messages)
    seen.clear()
    found = []
    for message in messages:
        content = tuple([copy.copy(block) if id(block) in seen else block for block in message.content])
        if any([id(block) in seen for block in message.content]) or len(set(map(id, content))) < len(content):
            content = tuple([copy.copy(block) for block in message.content])
            message = msgspec.structs.replace(message, content=content)
        seen.update(map(id, message.content))
        found.append(message)
    return found
