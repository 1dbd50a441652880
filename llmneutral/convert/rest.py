"""Payloads that hold bytes, and the plain JSON they are: what goes over the wire, into a file or a view.

SDKs that take raw bytes (boto3, google-genai) write them as base64 themselves; here the same is done for `to_json()`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from llmneutral.convert.trace import Trace

BYTES = (bytes, bytearray, memoryview)


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
        changed = {key: plain for key, value in node.items() if (plain := _plain(value, trace)) is not value}
        if not changed:
            return node
        made = {**node, **changed}
        if trace is not None:
            trace.alias(node, made)
            for key in node:
                trace.alias_key(node, key, made, key)
        return made
    if isinstance(node, list):
        entries = [_plain(value, trace) for value in node]
        if all([entry is value for entry, value in zip(entries, node, strict=True)]):
            return node
        if trace is not None:
            trace.alias(node, entries)
        return entries
    return _plain(node, trace)


def _plain(value: Any, trace: Trace | None) -> Any:
    if isinstance(value, dict | list):
        return plain_json(value, trace)
    return base64_of(value) if isinstance(value, BYTES) else value
