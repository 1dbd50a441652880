"""A whole call, not streamed: CPU beside the official SDK's `create()` and its lean path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.bench import providers as p
from tests.bench.answers import MODEL
from tests.bench.conversations import neutral, pairs, texts
from tests.bench.handwritten import WRITERS, Conversation
from tests.bench.measure import compare
from tests.bench.table import Row, show

TYPED = "SDK typed"
"""`create()`, and what it is called elsewhere."""

SIZES: dict[str, tuple[Callable[[], Conversation], int]] = {
    "small": (lambda: texts(1), 41),
    "1,000 messages": (texts, 5),
    "500 call/result pairs": (pairs, 5),
}
"""Conversations, and how many rounds are measured."""

AIMS = {
    ("small", "chat_completions"): 0.65,
    ("small", "codex_responses"): 0.65,
    ("small", "anthropic_messages"): 0.85,
    ("1,000 messages", "chat_completions"): 0.05,
    ("1,000 messages", "codex_responses"): 0.05,
    ("1,000 messages", "anthropic_messages"): 0.9,
    ("500 call/result pairs", "chat_completions"): 0.05,
    ("500 call/result pairs", "codex_responses"): 0.05,
    ("500 call/result pairs", "anthropic_messages"): 0.6,
}
"""Ours, as ratios to `create()`."""


def whole_calls(url: str) -> None:
    """Three conversations, each API."""
    for size, (made, rounds) in SIZES.items():
        conversation = made()
        rows: list[Row] = []
        for api in p.APIS:
            taken = compare(_sides(api, f"{url}/0", conversation), rounds)
            create = taken[TYPED] * 1e3
            rows += [Row(f"{api.mode}: {name}", seconds * 1e3, create) for name, seconds in taken.items()]
            rows[-1] = rows[-1]._replace(ratio_aim=AIMS.get((size, api.mode)))
        show(f"a whole call, {size}", "ms CPU", rows)


def _sides(api: p.Api, base: str, conversation: Conversation) -> dict[str, Callable[[], object]]:
    client, ours, stack = p.sdk_client(api, base), p.driver(api, base), neutral(conversation)
    body: dict[str, Any] = WRITERS[api.mode](conversation, MODEL)
    calls = {TYPED: api.sdk.whole, "SDK lean": api.sdk.lean_whole}
    return {
        **{name: partial(call, client, body) for name, call in calls.items() if call is not None},
        "ours": lambda: ours.run(stack),
    }
