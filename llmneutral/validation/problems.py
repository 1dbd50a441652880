"""What a judge finds, and how its place is written.

While a payload is walked, a finding carries the keys and indexes from the value that was looked at; whoever
stands further out puts its own key in front (`below`). So a valid payload pays nothing for addresses.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

import msgspec

Loc = tuple[str | int, ...]
Finding = tuple[Loc, str]
"""Keys and indexes down to the place, and what is wrong there."""
Findings = list[Finding]

NOTHING: Findings = []
"""What is found in a valid value; shared, and never added to."""

_LONGEST = 60
"""Characters of a value that are shown."""
_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*")


class Problem(msgspec.Struct, frozen=True):
    """One thing in a payload that the SDK's own types do not allow, or that the provider refuses all the same.

    Attributes:
        path: Where it is: `messages[1].content[0].type`; "" is the whole payload. A missing key is named as if it
            were there.
        message: What is wrong there, in a few words that follow the path: `must be a string, not a list`.
        pointer: The same place as a JSON pointer: `/messages/1/content/0/type`.
        doc: Where the provider says so; None where the SDK's types do.
    """

    path: str
    message: str
    pointer: str = ""
    doc: str | None = None

    def __str__(self) -> str:
        """Says the place and what is wrong."""
        return f"{self.path or 'payload'}: {self.message}"


def problems(findings: Iterable[Finding]) -> list[Problem]:
    """Returns findings as problems, in the order they were found."""
    return [Problem(written_path(loc), message, written_pointer(loc)) for loc, message in findings]


def below(key: str | int, inner: Findings) -> Findings:
    """Returns what was found in a value as found under the key it stands at."""
    return [((key, *loc), message) for loc, message in inner]


def written_path(loc: Loc) -> str:
    """Returns a place in the style of the contract; a key that is no plain word stands quoted in brackets."""
    parts: list[str] = []
    for key in loc:
        if isinstance(key, int):
            parts.append(f"[{key}]")
        elif _PLAIN_KEY.fullmatch(key):
            parts.append(f".{key}" if parts else key)
        else:
            parts.append(f"[{key!r}]")
    return "".join(parts)


def written_pointer(loc: Loc) -> str:
    """Returns a place as a JSON pointer (RFC 6901)."""
    return "".join(["/" + str(key).replace("~", "~0").replace("/", "~1") for key in loc])


# ----------------------------------------------------------------------------------------------------------------------
# Words


def shown(value: object) -> str:
    """Returns a value as it is shown in a message."""
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def listed(words: Sequence[str], most: int = 12) -> str:
    """Returns alternatives as read: `a, b or c`; what is beyond `most` is counted."""
    if len(words) > most:
        return f"{', '.join(words[:most])} or one of {len(words) - most} more"
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def unknown_key(key: object, known: Iterable[str]) -> str:
    """Returns the message about a key that the types do not have."""
    near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.7)
    return f"is unknown; did you mean {near[0]!r}?" if near else "is unknown"
