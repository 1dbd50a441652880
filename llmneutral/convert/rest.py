"""Payloads that hold bytes, and the plain JSON they are: what goes over the wire, into a file or a view.

SDKs that take raw bytes (boto3, google-genai) write them as base64 themselves; here the same is done for `to_json()`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from llmneutral.convert.trace import Trace

BYTES = (bytes, bytearray, memoryview)
LEAVES = frozenset((str, int, float, bool, type(None)))


def base64_of(value: bytes | bytearray | memoryview) -> str:
    """Returns bytes as base64 text."""
    return base64.b64encode(value).decode()


def bytes_of(text: str) -> bytes | None:
    """Returns the bytes that base64 text stands for, in either alphabet, padded or not; None if it is no base64."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # binascii.Error is one
        plain = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return binascii.a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:
        return None


def plain_json(node: Any, trace: Trace | None = None) -> Any:
    """Returns plain data with its bytes as base64 text.

    What holds no bytes is returned as it is, the very object; what has to be copied gives its marks to the copy.

    Args:
        node: A payload, or a part of one.
        trace: Marks on its nodes.
    """
    if not isinstance(node, dict | list):
        return base64_of(node) if isinstance(node, BYTES) else node
    open_nodes = [_Node(node)]  # no recursion: what a model writes may be nested as deeply as JSON can be read
    while True:
        current = open_nodes[-1]
        if (inner := current.next_inner()) is not None:
            open_nodes.append(inner)
            continue
        open_nodes.pop()
        made = current.made(trace)
        if not open_nodes:
            return made
        if made is not current.node:
            open_nodes[-1].changed[current.key] = made


class _Node:
    """An object or array that is being gone through, with the entries that hold bytes, without them."""

    __slots__ = ("_entries", "changed", "key", "node")

    def __init__(self, node: Any, key: Any = None) -> None:
        self.node = node
        self.key = key
        self.changed: dict[Any, Any] = {}
        self._entries: Iterator[tuple[Any, Any]] = iter(node.items() if isinstance(node, dict) else enumerate(node))

    def next_inner(self) -> _Node | None:
        """Goes on to the next object or array in it; most entries are leaves, and nothing is to be done for them."""
        for key, value in self._entries:
            if value.__class__ in LEAVES:
                continue
            if isinstance(value, dict | list):
                return _Node(value, key)
            if isinstance(value, BYTES):
                self.changed[key] = base64_of(value)
        return None

    def made(self, trace: Trace | None) -> Any:
        """The node without bytes; the very object where it holds none."""
        node, changed = self.node, self.changed
        if not changed:
            return node
        made: Any
        if isinstance(node, dict):
            made = {**node, **changed}
            if trace is not None:
                for key in node:
                    trace.alias_key(node, key, made, key)
        else:
            made = [changed.get(place, entry) for place, entry in enumerate(node)]
        if trace is not None:
            trace.alias(node, made)
        return made
