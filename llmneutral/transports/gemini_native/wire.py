"""Two spellings of one request: what google-genai takes (snake_case, bytes) and what REST takes (camelCase, base64).

https://ai.google.dev/api/generate-content; types of google-genai 3: GenerateContentConfig, Part.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Any

from llmneutral.convert.trace import Trace
from llmneutral.ir.jsontext import JSONObject

SKIP_VALIDATION = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made.

https://ai.google.dev/gemini-api/docs/thought-signatures
"""

DATA = frozenset(
    (
        "args",
        "labels",
        "parameters",
        "parametersJsonSchema",
        "partMetadata",
        "response",
        "responseJsonSchema",
        "responseSchema",
    )
)
"""Keys whose value is the caller's own data, or a schema: nothing in it is respelt."""

BYTES = frozenset(("thoughtSignature", "continuationToken"))
INLINE = "inlineData"
TOP_LEVEL = frozenset(
    (
        "cachedContent",
        "continuationToken",
        "labels",
        "modelArmorConfig",
        "safetySettings",
        "serviceTier",
        "store",
        "systemInstruction",
        "toolConfig",
        "tools",
    )
)
"""What of the SDK's config stands in the body itself; the rest is its generationConfig."""

NOT_SENT = frozenset(
    ("http_options", "should_return_http_response", "automatic_function_calling", "automatic_continuation")
)
"""What of the SDK's config only the SDK reads."""

PLAIN_PART = frozenset(("text", "thought"))
_STANDARD = str.maketrans("-_", "+/")


# --- names and bytes ------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """Returns a key in the spelling of REST."""
    return re.sub(r"(?<=[a-zA-Z0-9])_([a-zA-Z])", lambda found: found[1].upper(), name)


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """Returns a key in the spelling of the SDK."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda found: f"_{found[0].lower()}", name)


def from_base64(text: str) -> bytes | None:
    """Returns what base64 of either alphabet says, padded or not; None where it is none."""
    if "-" in text or "_" in text:
        text = text.translate(_STANDARD)
    if len(text) % 4:
        text = text.rstrip("=")
        text += "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # binascii.Error is one
        return None


def to_base64(value: bytes) -> str:
    """Returns bytes in base64; the sentinel is text that happens to be base64, so it stays that text."""
    return SKIP_VALIDATION if value == _SKIP else base64.b64encode(value).decode()


_SKIP = from_base64(SKIP_VALIDATION)


# --- SDK → REST -----------------------------------------------------------------------------------


def to_rest(value: Any, trace: Trace | None = None) -> Any:
    """Returns a value of the SDK's in the spelling of REST; the trace's marks go over to the copies."""
    if isinstance(value, dict):
        made: JSONObject = {}
        for key, entry in value.items():
            name = camel(key)
            made[name] = entry if name in DATA else to_rest(entry, trace)
        if trace is not None:
            trace.alias(value, made)
        return made
    if isinstance(value, list | tuple):
        return [to_rest(entry, trace) for entry in value]
    return to_base64(value) if isinstance(value, bytes) else value


def _content(content: JSONObject, trace: Trace | None) -> JSONObject:
    """A content of nothing but texts is spelt alike in both, and so the same object."""
    given = content["parts"]
    if all([part.keys() <= PLAIN_PART for part in given]):
        return content
    parts = [part if part.keys() <= PLAIN_PART else to_rest(part, trace) for part in given]
    made = {**content, "parts": parts}
    if trace is not None:
        trace.alias(content, made)
    return made


def wire(payload: JSONObject, trace: Trace | None) -> JSONObject:
    """Returns the REST body of a payload; the model stands in the path, `extra_body` is merged in last.

    Args:
        payload: The keyword arguments of `generate_content`.
        trace: Marks on the payload, which go over to the body.
    """
    config = payload.get("config") or {}
    body: JSONObject = {"contents": [_content(content, trace) for content in payload["contents"]]}
    generation: JSONObject = {}
    for key, value in config.items():
        if key in NOT_SENT:
            continue
        name = camel(key)
        (body if name in TOP_LEVEL else generation)[name] = value if name in DATA else to_rest(value, trace)
    if generation:
        body["generationConfig"] = generation
    extra = (config.get("http_options") or {}).get("extra_body")
    return merged(body, extra) if extra else body


def merged(body: JSONObject, extra: JSONObject) -> JSONObject:
    """Returns a body with further keys, objects merged into objects, whatever their spelling; so does the SDK."""
    names = {camel(key): key for key in body}
    made = dict(body)
    for key, value in extra.items():
        name = names.get(camel(key), key)
        known = body.get(name)
        made[name] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return made


def extra_body(payload: JSONObject, extra: JSONObject) -> None:
    """Puts keys of the caller's where the SDK merges them into the body: types.HttpOptions.extra_body."""
    options = payload.setdefault("config", {}).setdefault("http_options", {})
    options["extra_body"] = {**options.get("extra_body", {}), **extra}


# --- REST → SDK, and anything → REST --------------------------------------------------------------


def to_sdk(value: Any, inside: str = "") -> Any:
    """Returns a value of REST in the spelling of the SDK.

    Args:
        value: A value of a REST body, or of one in either spelling.
        inside: The key it stands under.
    """
    if isinstance(value, dict):
        return {snake(key): _sdk_entry(camel(key), entry, inside) for key, entry in value.items()}
    return [to_sdk(entry, inside) for entry in value] if isinstance(value, list | tuple) else value


def _sdk_entry(name: str, entry: Any, inside: str) -> Any:
    if name in DATA:
        return entry
    if isinstance(entry, str) and (name in BYTES or (name == "data" and camel(inside) == INLINE)):
        found = from_base64(entry)
        return entry if found is None else found
    return to_sdk(entry, name)


def spelt_as_rest(value: Any) -> Any:
    """Returns a request body in either spelling, or the SDK's keyword arguments, as a REST body."""
    body = _as_rest(value)
    config = body.pop("config", None)
    if not isinstance(config, dict):
        return body
    generation = {key: entry for key, entry in config.items() if key not in TOP_LEVEL and snake(key) not in NOT_SENT}
    found = {**body, **{key: entry for key, entry in config.items() if key in TOP_LEVEL}}
    if generation:
        found["generationConfig"] = generation
    extra = (config.get("httpOptions") or {}).get("extraBody")
    return merged(found, extra) if extra else found


def _as_rest(value: Any) -> Any:
    if isinstance(value, dict):
        return {(name := camel(key)): entry if name in DATA else _as_rest(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_as_rest(entry) for entry in value]
    return to_base64(bytes(value)) if isinstance(value, bytes | bytearray) else value
