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

CONTAINERS = (dict, list)


class Trace:
    """Marks on the nodes of one payload."""

    __slots__ = ("_kept", "_keyed", "_refs")

    def __init__(self) -> None:
        self._refs: dict[int | tuple[int, str], tuple[Ref, ...]] = {}
        self._keyed = False  # whether a value under a key was marked
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
        marks = self._refs
        if refs := marks.get(id(node)):
            found[at] = refs
        if isinstance(node, dict):
            for key, value in node.items():
                marked = marks.get((id(node), key)) if self._keyed else None
                deeper = isinstance(value, CONTAINERS)
                if not marked and not deeper:
                    continue
                pointer = f"{at}/{escaped(key)}"
                if marked:
                    found[pointer] = marked
                if deeper:
                    self._walk(value, pointer, found)
        elif isinstance(node, list):
            for i, value in enumerate(node):
                if isinstance(value, CONTAINERS):
                    self._walk(value, f"{at}/{i}", found)


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
