"""How the messages of errors name what they were given."""

from __future__ import annotations

from typing import Any


def a_kind(value: Any) -> str:
    """Returns the type of a value with its article: "an int", "a str"."""
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeio' else 'a'} {kind}"
