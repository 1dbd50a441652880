"""JSON as lines to read: pretty, with long texts shortened, and each line with the place it stands at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from llmneutral_widgets.views.aligned import MESSAGE_LISTS, element, key_of

LONGEST = 400
"""Characters of a text that are shown."""
LONGEST_BASE64 = 40
_DEEPEST = 40
_BASE64 = re.compile(r"(?:data:[\w.+/;=-]{1,200},)?[A-Za-z0-9+/_-]{100,}={0,2}")


class Line(NamedTuple):
    """One line, and the JSON pointer of the innermost value it belongs to."""

    at: str
    text: str


def json_lines(
    node: Any, at: str = "", pad: int = 0, name: str | None = None, comma: str = "", longest: int = LONGEST
) -> Iterator[Line]:
    """Yields pretty JSON line by line.

    Args:
        node: Plain JSON data.
        at: Its JSON pointer.
        pad: Spaces before it.
        name: Its key, if it stands in an object.
        comma: What follows it.
        longest: Characters of a text that are shown.
    """
    lead = " " * pad + ("" if name is None else f"{json.dumps(name, ensure_ascii=False)}: ")
    if not (isinstance(node, (dict, list)) and node) or pad > 2 * _DEEPEST:
        yield Line(at, lead + scalar(node, longest) + comma)
        return
    is_object = isinstance(node, dict)
    yield Line(at, lead + ("{" if is_object else "["))
    items: list[tuple[Any, Any]] = list(node.items() if isinstance(node, dict) else enumerate(node))
    for n, (key, value) in enumerate(items, 1):
        step = str(key).replace("~", "~0").replace("/", "~1")
        more = "," if n < len(items) else ""
        yield from json_lines(value, f"{at}/{step}", pad + 2, str(key) if is_object else None, more, longest)
    yield Line(at, " " * pad + ("}" if is_object else "]") + comma)


def element_lines(
    payload: Any, pointer: str, before: str = "", after: str = "", longest: int = LONGEST
) -> Iterator[Line]:
    """Yields an element of a payload under its key: of messages, which fill the rows, the first one has it.

    Args:
        payload: The whole payload.
        pointer: The JSON pointer of the element: a key at the top, or an entry of the list there.
        before: The pointer of the element that is shown before it, if any.
        after: The pointer of the element that is shown after it, if any.
        longest: Characters of a text that are shown.
    """
    node, key = element(payload, pointer), key_of(pointer)
    around, _, step = pointer.rpartition("/")
    if not around:
        yield from json_lines(node, pointer, name=key, longest=longest)
        return
    n, last = int(step), len(payload[key]) - 1
    comma = "," if n < last else ""
    opened = f"{json.dumps(key, ensure_ascii=False)}: ["
    if key in MESSAGE_LISTS:  # not indented: they fill the column
        if n == 0:
            yield Line(around, opened)
        yield from json_lines(node, pointer, comma=comma, longest=longest)
        if n == last:
            yield Line(around, "]")
        return
    if not before or key_of(before) != key:  # "…" stands for the entries of other rows
        yield Line(around, opened + ("" if n == 0 else " …,"))
    yield from json_lines(node, pointer, 2, comma=comma, longest=longest)
    if not after or key_of(after) != key:
        yield Line(around, "]" if n == last else "… ]")


def pretty(node: Any, most: int = 200) -> str:
    """Returns pretty JSON, at most so many lines of it."""
    lines = [line.text for line in json_lines(node)]
    return "\n".join(lines if len(lines) <= most else [*lines[:most], f"… ({len(lines) - most:,} more lines)"])


def compact(node: Any, most: int = LONGEST) -> str:
    """Returns JSON on one line, shortened in the middle of it where it must be."""
    written = _one_line(node)
    return written if len(written) <= most else f"{written[:most]}… ({len(written) - most:,} more)"


def _one_line(node: Any) -> str:
    try:
        return json.dumps(node, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(node)


def scalar(node: Any, longest: int = LONGEST) -> str:
    """Returns what stands on one line; a long text ends with how much more there is."""
    if not isinstance(node, str):
        return compact(node, longest)
    most = min(longest, LONGEST_BASE64) if _BASE64.fullmatch(node) else longest
    if len(node) <= most:
        return json.dumps(node, ensure_ascii=False)
    return f"{json.dumps(node[:most] + '…', ensure_ascii=False)} ({len(node) - most:,} more)"
