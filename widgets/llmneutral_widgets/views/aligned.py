"""Which parts of several payloads belong side by side: by what they were made of, never by their position.

An element of a payload is an entry of a list of messages, or a key at the top. The trace tells the messages in it.
Messages that share an element in any payload share a row, so turns that were merged never split, and nothing is
paired by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Trace = Mapping[str, Sequence[Sequence[int]]]
"""JSON pointer -> addresses (message, block)."""

MESSAGE_LISTS = frozenset({"messages", "input", "contents"})
TOOLS = frozenset("tools tool_choice parallel_tool_calls toolConfig tool_config toolChoice functions".split())
FORMS = frozenset("response_format text output_config outputConfig output_format".split())


NESTED_FORMS = frozenset("responseJsonSchema responseSchema responseMimeType".split())
"""Keys about the form of the answer that stand one level deeper, among the settings."""


class Layout(NamedTuple):
    """Where the parts of one payload go.

    Attributes:
        elements: Pointer of each element that holds messages -> these messages, in the order of the payload.
        guests: Pointer of each element that nobody wrote (a placeholder turn) -> the element it stands beside, if any.
        settings: The other keys at the top.
        tools: Keys about tools.
        form: Keys about the form of the answer.
    """

    elements: dict[str, frozenset[int]]
    guests: dict[str, str | None]
    settings: tuple[str, ...]
    tools: tuple[str, ...]
    form: tuple[str, ...]

    def places(self, group: Iterable[int], is_last: bool) -> list[tuple[str, bool]]:
        """Returns the elements of a row, in order, each with whether it is a guest.

        Args:
            group: The messages of the row.
            is_last: Whether the row also takes the guests that stand beside nothing.
        """
        here = set(group)
        own = {pointer for pointer, messages in self.elements.items() if messages & here}
        found = [(pointer, False) for pointer in own]
        found += [(at, True) for at, host in self.guests.items() if host in own or (host is None and is_last)]
        return sorted(found, key=lambda place: _order(place[0]))


def layout(payload: Mapping[str, Any], trace: Trace) -> Layout:
    """Sorts the parts of a payload."""
    traced: dict[str, set[int]] = {}
    for pointer, refs in trace.items():
        if unit := unit_of(payload, pointer):
            traced.setdefault(unit, set()).update([ref[0] for ref in refs])
    lists = MESSAGE_LISTS | {unit.split("/")[1] for unit in traced if unit.count("/") == 2}
    elements = {unit: frozenset(traced[unit]) for unit in sorted(traced, key=_order)}
    plain = [key for key in payload if f"/{escaped(key)}" not in elements and not _is_list(payload, key, lists)]
    return Layout(
        elements,
        _guests(payload, lists, elements),
        settings=tuple([key for key in plain if key not in TOOLS and key not in FORMS]),
        tools=tuple([key for key in plain if key in TOOLS]),
        form=tuple([key for key in plain if key in FORMS]),
    )


def nested_form(payload: Mapping[str, Any]) -> str | None:
    """Returns where the form of the answer stands among the settings: `generationConfig.responseSchema`, or None."""
    for key, value in payload.items():
        found = [name for name in value if name in NESTED_FORMS] if isinstance(value, Mapping) else []
        if found:
            return f"{key}.{min(found)}"
    return None


def unit_of(payload: Mapping[str, Any], pointer: str) -> str | None:
    """Returns the element that a pointer lies in, or None if it is none of this payload."""
    key, *rest = pointer[1:].split("/")
    if key.replace("~1", "/").replace("~0", "~") not in payload:
        return None
    return f"/{key}/{rest[0]}" if rest and isinstance(payload.get(key), list) else f"/{key}"


def element(payload: Any, pointer: str) -> Any:
    """Returns what stands at the pointer of an element."""
    node = payload
    for step in pointer[1:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        node = node[int(key)] if isinstance(node, list) else node[key]
    return node


def key_of(pointer: str) -> str:
    """Returns the key at the top of a payload that a pointer begins with."""
    return pointer[1:].partition("/")[0].replace("~1", "/").replace("~0", "~")


def escaped(key: str) -> str:
    """Returns a key as a step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def rows(count: int, columns: Iterable[Mapping[str, Iterable[int]]]) -> list[list[int]]:
    """Returns the messages that stand in one row, row by row.

    Args:
        count: The number of messages.
        columns: For each payload, its elements and the messages in them.
    """
    parent = list(range(count))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for found in columns:
        for messages in found.values():
            known = sorted([message for message in messages if 0 <= message < count])
            for other in known[1:]:
                one, two = sorted((root(known[0]), root(other)))
                parent[two] = one
    grouped: dict[int, list[int]] = {}
    for i in range(count):
        grouped.setdefault(root(i), []).append(i)
    return list(grouped.values())


def _is_list(payload: Mapping[str, Any], key: str, lists: Iterable[str]) -> bool:
    return escaped(key) in lists and isinstance(payload[key], list)


def _guests(payload: Mapping[str, Any], lists: Iterable[str], elements: Mapping[str, Any]) -> dict[str, str | None]:
    """Elements without origin, each with the element before it in its list, or after it, if it is the first."""
    found: dict[str, str | None] = {}
    for key in payload:
        if not _is_list(payload, key, lists):
            continue
        pointers = [f"/{escaped(key)}/{i}" for i in range(len(payload[key]))]
        host = next((pointer for pointer in pointers if pointer in elements), None)
        for pointer in pointers:
            if pointer in elements:
                host = pointer
            else:
                found[pointer] = host
    return found


def _order(pointer: str) -> tuple[bool, str, int]:
    """By key, and within a list by index; what is no list (a system text) comes first."""
    key, _, index = pointer[1:].partition("/")
    return key in MESSAGE_LISTS, key, int(index) if index.isdigit() else -1
