"""Which lines of a payload the problems of its verdict are about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def marked_lines(payload: Any, problems: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Returns pointers to the lines with problems: of a key that is missing, to what it is missing from.

    Args:
        payload: Plain JSON data.
        problems: Each with a path, and a JSON pointer if there is one.
    """
    told = [str(problem.get("pointer") or "") or _pointer(problem.get("path")) for problem in problems]
    return frozenset([_standing(payload, pointer) for pointer in told])


def _standing(node: Any, pointer: str) -> str:
    """The longest part of a pointer that leads to something."""
    found = ""
    for key in pointer.split("/")[1:]:
        name: Any = key.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Sequence) and not isinstance(node, str) and name.isdecimal():
            name = int(name)
        try:
            node = node[name]
        except (LookupError, TypeError):
            break
        found += f"/{key}"
    return found


def _pointer(path: Any) -> str:
    """A problem's path as a JSON pointer: it may come as one, or as `messages[0].content`."""
    told = str(path or "")
    if told.startswith("/") or not told:
        return told
    return "/" + re.sub(r"\]?\.|\[|\](?=\[)", "/", told.removeprefix("$.")).replace("]", "").replace("//", "/")
