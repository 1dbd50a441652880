"""How many tokens a prompt has: asked of the provider where it counts, else estimated.

Chat Completions and Mistral count nothing (OpenAI's own Chat is counted by its Responses). Sources:
developers.openai.com/api/docs/api-reference/responses/input-tokens,
platform.claude.com/docs/en/build-with-claude/token-counting, ai.google.dev/api/tokens,
docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html, docs.cohere.com/reference/tokenize
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from llmneutral.convert.transport import Conversion
from llmneutral.errors import InvalidRequestError, MalformedResponseError, NotFoundError, ProviderError
from llmneutral.ir.jsontext import JSONObject
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
RESPONSES_KEYS = (
    "model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "parallel_tool_calls",
    "previous_response_id", "truncation", "conversation",
)  # fmt: skip
MESSAGES_KEYS = (
    "model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control",
)  # fmt: skip
CONVERSE_KEYS = ("messages", "system", "toolConfig", "additionalModelRequestFields")
"""Keys of a request that its count takes."""
GEOGRAPHY = re.compile(r"^(?:us|eu|apac|jp|au|ca|us-gov|global)\.(?=[a-z])")
"""What makes the id of a model that of an inference profile, for which Bedrock counts nothing."""


class TokenCount(msgspec.Struct, frozen=True):
    """A number of tokens.

    Attributes:
        tokens: The number; `int(count)` is it.
        estimated: Whether it is not the provider's number for this very request, but reckoned from its bytes, or (of
            Cohere) from the tokens of its texts alone: leave a margin of a tenth or more.
    """

    tokens: int
    estimated: bool = False

    def __int__(self) -> int:
        return self.tokens


class Counting(msgspec.Struct, frozen=True):
    """How an API counts.

    Attributes:
        path: The path that counts, or of an action its end: `…/m:generateContent` becomes `…/m:countTokens`.
        endpoints: Those that are known to have it.
        payload: Request → the request that counts it.
        number: Its answer → the number, or what is none.
        is_action: Whether the path begins as that of the request.
        texts_only: Whether it counts the texts alone, without what the model's template adds, and without media.
    """

    path: str
    endpoints: tuple[str, ...]
    payload: Callable[[Conversion], JSONObject]
    number: Callable[[Any], Any]
    is_action: bool = False
    texts_only: bool = False


def counter_of(api: str, provider: str | None, base_url: str | None) -> str | None:
    """Returns the API that counts for an endpoint, or None where nothing is known to.

    An endpoint of which nothing is known (a relay) is asked all the same; it says 404 where it does not count.
    """
    counting = COUNTED_BY.get(api, api)
    if counting not in COUNTING:
        return None
    endpoint = find_endpoint(provider, base_url)
    known = COUNTING[counting].endpoints
    return counting if endpoint in known or (endpoint is None and counting == api) else None


def as_count(conversion: Conversion) -> Conversion:
    """Returns the request that asks for the tokens of a request."""
    counting = COUNTING[conversion.api]
    path = counting.path
    if counting.is_action:
        path = conversion.endpoint[1].rpartition(path[0])[0] + path
    return msgspec.structs.replace(conversion, payload=counting.payload(conversion), endpoint=("POST", path))


def is_count(conversion: Conversion) -> bool:
    """Tells whether a request is one of `as_count`."""
    counting = COUNTING.get(conversion.api)
    return counting is not None and conversion.endpoint[1].endswith(counting.path)


def read_count(body: Any, conversion: Conversion) -> TokenCount:
    """Reads the answer to the count of a request.

    Raises:
        MalformedResponseError: If it holds no number.
    """
    counting = COUNTING[COUNTED_BY.get(conversion.api, conversion.api)]
    tokens = counting.number(body)
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        raise MalformedResponseError("the answer to a count of tokens holds no number of them")
    if counting.texts_only:
        tokens += _parts(conversion.to_json())[1] * MEDIA_TOKENS
    return TokenCount(tokens, estimated=counting.texts_only)


def cannot_count(error: ProviderError, api: str) -> bool:
    """Tells whether an error says that nobody counts here: a relay's 404, and Bedrock's refusal of most models.

    Bedrock counts for some models only, and says of the others, and of inference profiles, that the request is invalid.
    """
    return isinstance(error, NotFoundError) or (api == "bedrock_converse" and isinstance(error, InvalidRequestError))


def estimate(conversion: Conversion) -> TokenCount:
    """Reckons the tokens of a request from its bytes."""
    return TokenCount(max(1, tokens_in(conversion.to_json())), estimated=True)


def tokens_in(data: Any) -> int:
    """Reckons the tokens of plain data from the bytes of its texts."""
    latin = cjk = 0
    texts, media = _parts(data)
    for text in texts:
        wide = sum([len(sign.encode("utf-8", "replace")) for sign in text if ord(sign) >= CJK])
        cjk += wide
        latin += len(text.encode("utf-8", "replace")) - wide
    return round(latin / BYTES_PER_TOKEN + cjk / CJK_BYTES_PER_TOKEN + media * MEDIA_TOKENS)


def _parts(body: Any) -> tuple[list[str], int]:
    """The texts of a request, and how many of them are data, which are left out."""
    prose: list[str] = []
    media = 0
    for text in _texts(body):
        if len(text) > LONGEST_WORD and " " not in text[:LONGEST_WORD]:
            media += 1
        else:
            prose.append(text)
    return prose, media


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


# --- the APIs -----------------------------------------------------------------------------------


def _picked(*keys: str) -> Callable[[Conversion], JSONObject]:
    def payload(conversion: Conversion) -> JSONObject:
        body = conversion.to_json()
        return {key: body[key] for key in keys if key in body}

    return payload


def _gemini(conversion: Conversion) -> JSONObject:
    """The request itself: what the SDK makes of it depends on the client (Vertex or not)."""
    return conversion.payload


def _bedrock(conversion: Conversion) -> JSONObject:
    payload = conversion.payload  # not its JSON: the SDK wants bytes as bytes
    asked = {key: payload[key] for key in CONVERSE_KEYS if key in payload}
    return {"modelId": GEOGRAPHY.sub("", str(payload.get("modelId", ""))), "input": {"converse": asked}}


def _cohere(conversion: Conversion) -> JSONObject:
    """The texts of messages and tools."""
    body = conversion.to_json()
    texts, _ = _parts([body.get("messages"), body.get("tools"), body.get("documents")])
    return {"model": body.get("model"), "text": "\n".join(texts)}


def _tokens_listed(body: Any) -> Any:
    tokens = body.get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _input_tokens(body: Any) -> Any:
    return body.get("input_tokens")


COUNTING = {
    "codex_responses": Counting(
        "/responses/input_tokens", ("openai", "local"), _picked(*RESPONSES_KEYS), _input_tokens
    ),
    "anthropic_messages": Counting(
        "/v1/messages/count_tokens", ("anthropic", "local"), _picked(*MESSAGES_KEYS), _input_tokens
    ),
    "gemini_native": Counting(
        ":countTokens", ("gemini", "vertex"), _gemini, lambda body: body.get("totalTokens"), is_action=True
    ),
    "bedrock_converse": Counting(
        "/count-tokens", ("bedrock",), _bedrock, lambda body: body.get("inputTokens"), is_action=True
    ),
    "cohere_chat": Counting("/v1/tokenize", ("cohere",), _cohere, _tokens_listed, texts_only=True),
}
