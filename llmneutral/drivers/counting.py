"""How many tokens a prompt has: asked of the provider where it counts, else estimated.

Sources: developers.openai.com/api/docs/api-reference/responses/input-tokens,
platform.claude.com/docs/en/build-with-claude/token-counting
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from llmneutral.convert.transport import Conversion
from llmneutral.errors import MalformedResponseError
from llmneutral.profiles.hosts import find_endpoint

BYTES_PER_TOKEN, CJK_BYTES_PER_TOKEN = 4.0, 2.2
MEDIA_TOKENS = 1500
"""An image of a usual size, at every provider about this or less."""
LONGEST_WORD = 2048
"""A text without a blank that is longer is data (base64), no prose."""
CJK = 0x2E80
"""From here on, characters take three bytes and about a token each."""

COUNTED_BY = {"chat_completions": "codex_responses"}
"""APIs that cannot count, and the API of the same endpoint that counts for them."""
ENDPOINTS = {
    "codex_responses": ("/responses/input_tokens", ("openai", "local")),
    "anthropic_messages": ("/v1/messages/count_tokens", ("anthropic", "local")),
}
"""The path that counts, and the endpoints that are known to have it."""
KEYS = {
    "codex_responses": (
        "model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "parallel_tool_calls",
        "previous_response_id", "truncation", "conversation",
    ),
    "anthropic_messages": (
        "model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control",
    ),
}  # fmt: skip
"""Keys of a request that its count takes."""


class TokenCount(msgspec.Struct, frozen=True):
    """A number of tokens.

    Attributes:
        tokens: The number; `int(count)` is it.
        estimated: Whether it was reckoned here from the bytes of the request: leave a margin of a tenth or more.
    """

    tokens: int
    estimated: bool = False

    def __int__(self) -> int:
        return self.tokens


def counter_of(api: str, provider: str | None, base_url: str | None) -> str | None:
    """Returns the API that counts for an endpoint, or None where nothing is known to.

    An endpoint of which nothing is known (a relay) is asked all the same; it says 404 where it does not count.
    """
    counting = COUNTED_BY.get(api, api)
    if counting not in ENDPOINTS:
        return None
    endpoint = find_endpoint(provider, base_url)
    known = ENDPOINTS[counting][1]
    return counting if endpoint in known or (endpoint is None and counting == api) else None


def as_count(conversion: Conversion) -> Conversion:
    """Returns the request that asks for the tokens of a request."""
    body = conversion.to_json()
    payload = {key: body[key] for key in KEYS[conversion.api] if key in body}
    return msgspec.structs.replace(conversion, payload=payload, endpoint=("POST", ENDPOINTS[conversion.api][0]))


def read_count(body: Any) -> TokenCount:
    """Reads the answer to it.

    Raises:
        MalformedResponseError: If it holds no number.
    """
    tokens = body.get("input_tokens")
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        raise MalformedResponseError("the answer to a count of tokens holds no input_tokens")
    return TokenCount(tokens)


def estimate(conversion: Conversion) -> TokenCount:
    """Reckons the tokens of a request from its bytes."""
    latin = cjk = media = 0
    for text in _texts(conversion.to_json()):
        if len(text) > LONGEST_WORD and " " not in text[:LONGEST_WORD]:
            media += 1
            continue
        wide = sum([len(sign.encode("utf-8", "replace")) for sign in text if ord(sign) >= CJK])
        cjk += wide
        latin += len(text.encode("utf-8", "replace")) - wide
    tokens = latin / BYTES_PER_TOKEN + cjk / CJK_BYTES_PER_TOKEN + media * MEDIA_TOKENS
    return TokenCount(max(1, round(tokens)), estimated=True)


def _texts(value: Any) -> Iterator[str]:
    """Every text of a request, and the names of its keys, which are written into the prompt of most models too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
