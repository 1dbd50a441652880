"""Conversions of a request: CPU beside code written by hand."""

from __future__ import annotations

from functools import partial

from llmneutral import convert
from tests.bench.conversations import IMAGES, MODELS, PAIRS, SEEING, TEXTS, named, neutral
from tests.bench.handwritten import WRITERS
from tests.bench.measure import compare
from tests.bench.table import Row, show

AIMS = {
    TEXTS: {"chat_completions": (0.5, 0.28), "codex_responses": (0.5, 0.28), "anthropic_messages": (0.4, 0.17)},
    PAIRS: {
        "chat_completions": (1.6, 1.48),
        "codex_responses": (1.6, 1.48),
        "anthropic_messages": (1.2, 0.41),
    },
    IMAGES: {"anthropic_messages": (0.1, 0.03)},
}
"""Ours with report: milliseconds, and those that code written by hand took when the aim was set."""

TRACE = 4.0
"""Ours with trace, as a ratio to ours without."""


def side_by_side(rounds: int = 15) -> None:
    """Three conversations, each to all APIs."""
    for name, conversation in named().items():
        stack = neutral(conversation)
        stored = stack.to_openai()
        rows: list[Row] = []
        for api, write in WRITERS.items():
            model = SEEING.get(api, MODELS[api]) if name == IMAGES else MODELS[api]
            taken = compare(
                {
                    "hand": partial(write, conversation, model),
                    "ours": partial(convert, stack, api, model=model),
                    "trace": partial(convert, stack, api, model=model, trace=True),
                    "stored": partial(convert, stored, api, model=model),
                },
                rounds,
            )
            hand, ours, trace, stored_ms = [taken[side] * 1e3 for side in ("hand", "ours", "trace", "stored")]
            aim, then = AIMS[name].get(api, (None, None))
            rows += [
                Row(f"→ {api}: by hand", hand),
                Row("    ours, from a PromptStack", ours, hand, aim / then if aim and then else None, aim),
                Row("    ours, from OpenAI's messages", stored_ms, hand),
                Row("    ours with trace, to ours", trace, ours, TRACE),
            ]
        show(name, "ms CPU", rows)
