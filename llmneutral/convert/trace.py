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

CONTAINERS = frozenset((dict, list))


class Trace:
    """Marks on the nodes of one payload."""

    __slots__ = ("_by_key", "_kept", "_refs")

    def __init__(self) -> None:
        self._refs: dict[int, tuple[Ref, ...]] = {}
        self._by_key: dict[str, dict[int, tuple[Ref, ...]]] = {}
        self._kept: list[Any] = []  # a marked node stays alive, so that its id stays its own

    def mark(self, node: Any, refs: tuple[Ref, ...], key: str | None = None) -> None:
        """Marks a dict or list, or (strings have no identity) the value under a key of it."""
        if not refs:
            return
        marks = self._refs if key is None else self._by_key.setdefault(key, {})
        known = marks.get(id(node))
        marks[id(node)] = refs if known is None else known + tuple([ref for ref in refs if ref not in known])
        self._kept.append(node)

    def mark_each(self, nodes: Sequence[Any], refs: Sequence[tuple[Ref, ...]], key: str | None = None) -> None:
        """Marks many new nodes, or the value under a key of each, at once."""
        marks = self._refs if key is None else self._by_key.setdefault(key, {})
        marks.update(zip(map(id, nodes), refs, strict=True))
        self._kept += nodes

    def alias(self, node: Any, copied: Any) -> None:
        """Gives a copy of a node the marks of the node."""
        if refs := self._refs.get(id(node)):
            self.mark(copied, refs)

    def alias_key(self, node: Any, key: str, copied: Any, copied_key: str) -> None:
        """Gives the value under a key of a copy the marks of the original's."""
        if refs := self._by_key.get(key, {}).get(id(node)):
            self.mark(copied, refs, copied_key)

    def pointers(self, payload: Any) -> dict[str, tuple[Ref, ...]]:
        """Returns a JSON pointer (RFC 6901) for each marked node of a payload, in its order."""
        found: dict[str, tuple[Ref, ...]] = {}
        self._walk(payload, "", found)
        return found

    def _walk(self, node: Any, at: str, found: dict[str, tuple[Ref, ...]]) -> None:
        mine, by_key = id(node), self._by_key
        if refs := self._refs.get(mine):
            found[at] = refs
        if type(node) is list:
            for i, value in enumerate(node):
                if type(value) in CONTAINERS:
                    self._walk(value, f"{at}/{i}", found)
            return
        for key, value in node.items():
            if key in by_key and (refs := by_key[key].get(mine)):
                found[f"{at}/{escaped(key)}"] = refs
            if type(value) in CONTAINERS:
                self._walk(value, f"{at}/{escaped(key)}", found)


def escaped(key: Any) -> str:
    """Returns a key as a part of a JSON pointer."""
    text = key if type(key) is str else str(key)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


def apart(messages: Sequence[Message]) -> list[Message]:
    """Gives a block that stands in several places an identity for each, so that each keeps its address."""
    seen: set[int] = set()
    found = []
    for message in messages:
        content = tuple([copy.copy(block) if id(block) in seen else block for block in message.content])
        if any([id(block) in seen for block in message.content]) or len(set(map(id, content))) < len(content):
            content = tuple([copy.copy(block) for block in message.content])
            message = msgspec.structs.replace(message, content=content)
        seen.update(map(id, message.content))
        found.append(message)
    return found
