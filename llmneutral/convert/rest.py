"""Payloads that hold bytes, and the plain JSON they are: what goes over the wire, into a file or a view.

SDKs that take raw bytes (boto3, google-genai) write them as base64 themselves; here the same is done for `to_json()`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
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
    if isinstance(node, dict):
        changed = _changed(node.items(), trace)
        if not changed:
            return node
        made: Any = {**node, **changed}
        if trace is not None:
            for key in node:
                trace.alias_key(node, key, made, key)
    elif isinstance(node, list):
        changed = _changed(enumerate(node), trace)
        if not changed:
            return node
        made = [changed.get(place, entry) for place, entry in enumerate(node)]
    else:
        return base64_of(node) if isinstance(node, BYTES) else node
    if trace is not None:
        trace.alias(node, made)
    return made


def _changed(entries: Iterable[tuple[Any, Any]], trace: Trace | None) -> dict[Any, Any]:
    """The entries that hold bytes, without them; most entries are leaves, and nothing is to be done for them."""
    found = {}
    for key, value in entries:
        if value.__class__ not in LEAVES and (plain := plain_json(value, trace)) is not value:
            found[key] = plain
    return found
