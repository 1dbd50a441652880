"""The table of facts as a page: what each fact means, and every row with its source.

`.github/facts.md` is this page; a test fails when it is not. It is written again with
`python -c "from llmneutral.profiles.page import facts_page; print(facts_page(), end='')" > .github/facts.md`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from llmneutral.profiles.facts import FACT_NAMES, Profile
from llmneutral.profiles.rows import API_ROWS, ENDPOINT_ROWS, MODEL_ROWS, ModelRow

_HEAD = """# Facts about models and endpoints

Generated from `llmneutral/profiles`; do not edit. Any fact can be overridden: `facts={"prefill": False}` for a call,
`register_profile("my-model-*", {"vision": True})` for a process. Later layers win fact by fact: API, endpoint, family
of the model, discovered, registered, call.
"""


def facts_page() -> str:
    """Returns the page in Markdown: the facts, then the rows of APIs, endpoints and families with their sources."""
    parts = [
        _HEAD,
        "## The facts\n",
        _table(
            ("fact", "default", "meaning"),
            ((name, _value(getattr(Profile(), name)), _told(name)) for name in FACT_NAMES),
        ),
        "## By API mode\n",
        _table(("API", "facts", "source"), ((name, _facts(row.facts), row.source) for name, row in API_ROWS.items())),
        "## By endpoint\n",
        _table(
            ("endpoint", "facts", "source"),
            ((name, _nested(row.facts, row.by_api), row.source) for name, row in ENDPOINT_ROWS.items()),
        ),
        "## By family of models, the first that fits\n",
        _table(("family", "models", "where", "facts", "source"), (_family(row) for row in MODEL_ROWS)),
    ]
    return "\n".join(parts)


def _family(row: ModelRow) -> tuple[str, ...]:
    where = " at ".join(part for part in (", ".join(row.apis), ", ".join(row.endpoints)) if part)
    return (
        row.name,
        ", ".join(row.patterns),
        where or "everywhere",
        _nested(row.facts, {**row.by_api, **row.at}),
        row.source,
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def _nested(facts: Mapping[str, Any], elsewhere: Mapping[str, Mapping[str, Any]]) -> str:
    parts = [_facts(facts), *(f"{place}: {_facts(found)}" for place, found in elsewhere.items() if found)]
    return "; ".join(part for part in parts if part)


def _facts(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in facts.items())


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(str(one) for one in value) or "none"
    return str(value)


def _told(name: str) -> str:
    """What the docstring of `Profile` says of a fact."""
    text = inspect.getdoc(Profile) or ""
    after = text.partition(f"\n    {name}: ")[2]
    lines = after.split("\n")
    further = [line for line in lines[1:] if not line.startswith("     ")]
    return " ".join(line.strip() for line in lines[: len(lines) if not further else lines.index(further[0])])
