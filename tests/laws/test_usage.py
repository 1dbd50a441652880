"""Laws of the counts, over every transport: what is not told is unknown; what follows from the told is worked out."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import Usage
from llmneutral.transports import get_transport, registered

# What an API calls the tokens of prompt, answer, cache (read) and both together; None: it does not tell.
NAMES: dict[str, tuple[str, str, str, str | None]] = {
    "chat_completions": ("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "total_tokens"),
    "codex_responses": ("input_tokens", "output_tokens", "input_tokens_details.cached_tokens", "total_tokens"),
    "anthropic_messages": ("input_tokens", "output_tokens", "cache_read_input_tokens", None),
    "bedrock_converse": ("inputTokens", "outputTokens", "cacheReadInputTokens", None),
    "gemini_native": (
        "promptTokenCount",
        "candidatesTokenCount",
        "cachedContentTokenCount",
        "totalTokenCount",
    ),
    "mistral_chat": (
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details.cached_tokens",
        "total_tokens",
    ),
    "cohere_chat": ("tokens.input_tokens", "tokens.output_tokens", "cached_tokens", None),
}
APART = {"anthropic_messages", "bedrock_converse"}
"""Their prompt's count leaves out what the cache gave."""

over_apis = pytest.mark.parametrize("api", registered())


def counts(api: str, into: int | None = None, out: int | None = None, **more: int) -> Usage:
    """The counts of an answer, told in the names of an API."""
    names = dict(zip(("into", "out", "cached", "total"), NAMES[api], strict=True))
    raw: dict[str, Any] = {}
    for key, value in {"into": into, "out": out, **more}.items():
        if value is None or (name := names[key]) is None:
            continue
        holder, _, last = name.rpartition(".")
        (raw.setdefault(holder, {}) if holder else raw)[last] = value
    return get_transport(api).usage(raw)


@over_apis
def test_the_total_is_the_sum_where_none_is_reported(api: str) -> None:
    found = counts(api, 1000, 50)
    assert (found.input_total, found.output_total, found.total) == (1000, 50, 1050)


@over_apis
def test_a_reported_total_stands(api: str) -> None:
    if NAMES[api][3] is not None:
        assert counts(api, 1000, 50, total=1050).total == 1050


@over_apis
def test_nothing_told_is_nothing_known(api: str) -> None:
    assert counts(api).to_dict() == dict.fromkeys(Usage().to_dict())


@over_apis
def test_half_a_sum_is_no_total(api: str) -> None:
    assert counts(api, 1000).total is None
    assert counts(api, None, 50).total is None
    assert counts(api, 1000).output_total is None
    assert counts(api, None, 50).input_total is None


@over_apis
def test_all_of_the_prompt_is_new_where_no_cache_is_told(api: str) -> None:
    found = counts(api, 1000, 50)
    assert (found.input_uncached, found.cache_read, found.cache_write) == (1000, None, None)


@over_apis
def test_the_cached_part_is_told_apart(api: str) -> None:
    found = counts(api, 1000, 50, cached=400)
    assert (found.input_total, found.input_uncached, found.cache_read) == (
        (1400, 1000, 400) if api in APART else (1000, 600, 400)
    )


@over_apis
def test_no_count_is_negative(api: str) -> None:
    """More cached tokens than there are (seen at Azure): how many are new is unknown."""
    if api not in APART:
        assert counts(api, 1000, 50, cached=1400).input_uncached is None
