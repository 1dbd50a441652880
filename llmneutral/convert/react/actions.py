"""The calls that stand in an array of the form `[{"tag": …, "name": …, "input": {…}}]`.

Nothing is repaired by guessing: an array that is no JSON is one invalid call, and so is an entry without a name or
with an input that is no object. The arguments stay as they were written, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from llmneutral.convert.feedback import UNREAD
from llmneutral.ir.contents import ActionCallMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.jsontext import dumps, is_too_deep, loads

NAMES = ("name", "tool", "action")
INPUTS = ("input", "arguments", "parameters", "action_input")
NUMBERED = re.compile(r"a[0-9]{1,9}")
RAW: Any = msgspec.Raw
Call = ActionCallMessageContent | InvalidActionCallMessageContent


class Tags:
    """The tags of a conversation's calls, each once.

    Args:
        taken: Those it has already.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next = 1
        self._again: dict[str, int] = {}

    def new(self, wanted: Any) -> str:
        """Returns a tag as it was written; where it is missing or taken, another: a1, a2 …, or `tag_2`."""
        tag = str(wanted).strip() if isinstance(wanted, str | int) and not isinstance(wanted, bool) else ""
        if not tag or (tag in self._taken and NUMBERED.fullmatch(tag)):
            while (tag := f"a{self._next}") in self._taken:
                self._next += 1
        first = tag
        while tag in self._taken:
            again = self._again[first] = self._again.get(first, 1) + 1
            tag = f"{first}_{again}"
        self._taken.add(tag)
        return tag


def unread(text: str, tags: Tags) -> InvalidActionCallMessageContent:
    """Returns the invalid call that stands for a text which is no array of calls."""
    return InvalidActionCallMessageContent(tags.new(None), UNREAD, raw=text)


def calls_of(text: str, tags: Tags) -> list[Call] | None:
    """Reads an array of calls, or a single one; None if it is no JSON.

    Args:
        text: The JSON text of an array or object.
        tags: The tags of the conversation.
    """
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value, text = [value], f"[{text}]"
    written = _written(text, value)
    own = [entry.get("tag") if isinstance(entry, dict) else None for entry in value]
    return [_call(entry, tags.new(tag), raw) for entry, tag, raw in zip(value, own, written, strict=True)]


def _written(text: str, value: list[Any]) -> list[str]:
    """Each entry as it was written; where the fast reader cannot say it, as we would write it."""
    try:
        return [bytes(entry).decode() for entry in msgspec.json.decode(text.encode(), type=list[RAW])]
    except (ValueError, RecursionError):  # an unpaired surrogate
        return [dumps(entry) for entry in value]


def _call(entry: Any, tag: str, written: str) -> Call:
    key = next((each for each in NAMES if _is_name(entry.get(each))), None) if isinstance(entry, dict) else None
    if key is None:
        return InvalidActionCallMessageContent(tag, raw=written)
    name, path = entry[key].strip(), entry["path"] if _is_name(entry.get("path")) else None
    field = next((each for each in INPUTS if each in entry), None)
    if field is None:
        return ActionCallMessageContent(tag, name, path)
    arguments = _member(written, field, entry[field])
    if not isinstance(entry[field], dict) or is_too_deep(entry[field]):
        return InvalidActionCallMessageContent(tag, name, path, arguments)
    return ActionCallMessageContent(tag, name, path, entry[field], arguments)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _member(written: str, field: str, value: Any) -> str:
    """A member of an object as it was written."""
    try:
        return bytes(msgspec.json.decode(written.encode(), type=dict[str, RAW])[field]).decode()
    except (ValueError, RecursionError):
        return dumps(value)
