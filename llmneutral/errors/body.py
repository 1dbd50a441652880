"""Reads what stands in an error answer, in every shape a provider gives it.

Bodies differ between providers and inside one: OpenAI and Anthropic nest an object `error`, Gemini does in a list or
not, Mistral has three shapes, xAI's `error` is a string, OpenRouter keeps the upstream body as a string in
`metadata.raw`, Bedrock's type stands only in a header, and routers answer in HTML or plain text. This file knows no
SDK, no clock and no error class.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypedDict

from llmneutral.errors.classify import classify_names, is_retryable

_LONGEST_TEXT = 2000
"""Characters of a plain text answer that are kept."""


class ErrorFacts(TypedDict):
    """What an error answer says; the keys are attributes of `ProviderError`.

    Attributes:
        type: Our type, one of `TYPES`.
        raw_type: The provider's own type, None if it gives none.
        code: The provider's own code, as text.
        message: The provider's text; "" if it gives none.
        path: Where in the request the fault is, in the provider's spelling ("messages[1].content"); None if it is not
            said.
        status: The HTTP status.
        request_id: What the provider's support asks for.
        retry_after: Seconds to wait at least, None if nothing was said.
        retryable: Whether the same request may succeed later.
    """

    type: str
    raw_type: str | None
    code: str | None
    message: str
    path: str | None
    status: int | None
    request_id: str | None
    retry_after: float | None
    retryable: bool


def read_error_body(
    body: Any, status: int | None = None, headers: Mapping[str, str] | None = None, *, now: float | None = None
) -> ErrorFacts:
    """Reads an error answer, or an error object out of a stream.

    Args:
        body: The body as JSON values, or as text or bytes (JSON, HTML, plain text); an error object by itself, as the
            SDKs keep it, and the response of a boto3 error are read as well.
        status: The HTTP status, None for an error inside a stream.
        headers: The headers of the response, in any case.
        now: Seconds since the epoch, for a Retry-After that is a date; without it the response's own `date` counts.
    """
    body = _decoded(body)
    lower = {str(name).lower(): str(value) for name, value in (headers or {}).items()}
    types, message = _read(body)
    if header := lower.get("x-amzn-errortype", "").partition(":")[0]:
        types.insert(0, header)
    own = [name for name in types if not name.isdecimal()]
    code = _code_of(body)
    kind = classify_names([*types, code], status=status, message=message, body=body)
    said = {"true": True, "false": False}.get(lower.get("x-should-retry", ""))
    told = status if status is not None and status >= 400 else _number(code)
    return ErrorFacts(
        type=kind,
        raw_type=next(iter(own or types), None),
        code=code,
        message=message,
        path=_path(body, message),
        status=status,
        request_id=_request_id(body, lower),
        retry_after=parse_retry_after(lower, body, now=now),
        retryable=is_retryable(kind, told, said),
    )


def parse_retry_after(headers: Mapping[str, str], body: Any = None, *, now: float | None = None) -> float | None:
    """Returns how many seconds the provider asks to wait, or None.

    Read are `retry-after-ms`, `retry-after` (seconds, or an HTTP date) and the RetryInfo of Gemini's details ("7s");
    the first that is a time counts. https://datatracker.ietf.org/doc/html/rfc9110#field.retry-after

    Args:
        headers: Headers of a response, in any case.
        body: The JSON body.
        now: Seconds since the epoch; without it a date is held against the response's own `date` header.
    """
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    milliseconds = _seconds(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = lower.get("retry-after")
    if value:
        seconds = _seconds(value)
        if seconds is None:
            until, start = _date(value), now if now is not None else _date(lower.get("date", ""))
            seconds = None if until is None or start is None else max(0.0, until - start)
        if seconds is not None:
            return seconds
    return _retry_delay(body)


def _decoded(body: Any) -> Any:
    """Text that is JSON becomes JSON; anything else stays text."""
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(body)
        except ValueError:
            return body
    return body


def _read(body: Any) -> tuple[list[str], str]:
    """Returns what may be called the type, the best first, and the message."""
    if isinstance(body, list):
        return _read(body[0]) if body else ([], "")
    if isinstance(body, str):
        return [], _plain(body)
    if not isinstance(body, Mapping):
        return [], _text(body)
    outer = [body.get("type"), body.get("code"), body.get("__type"), body.get("error_type")]
    error = _inner(body)
    if error is not body:
        types = [error.get("type"), error.get("status"), error.get("code"), error.get("Code"), error.get("error_type")]
        message = _upstream(error, _message(error) or _message(body))
        return _named(types + outer), message
    said = body.get("error")
    message = _message(body)
    if isinstance(said, str) and message and said != message:
        outer.insert(0, said)
    return _named(outer), message or _text(said)


def _inner(body: Any) -> Mapping[str, Any]:
    """The object that speaks of the error: nested, in a list, in OpenRouter's `content`, or the body itself."""
    if isinstance(body, list):
        return _inner(body[0]) if body else {}
    if not isinstance(body, Mapping):
        return {}
    for key in ("error", "Error"):
        if isinstance(body.get(key), Mapping):
            return dict(body[key])
    content = body.get("content")
    return _inner(content) if isinstance(content, Mapping) and "error" in content else body


def _named(values: list[Any]) -> list[str]:
    """Names before numbers: a number repeats the status."""
    names = [str(value) for value in values if value not in (None, "", "error") and isinstance(value, str | int)]
    return sorted(names, key=str.isdecimal)


def _message(error: Mapping[str, Any]) -> str:
    value = next((error[key] for key in ("message", "Message", "detail", "msg") if error.get(key)), None)
    return _told(value)


def _told(value: Any) -> str:
    """A text; of validation details each with its place, but never the input, which is the caller's prompt."""
    if isinstance(value, list):
        return "; ".join(text for entry in value[:4] if (text := _told(entry)))
    if not isinstance(value, Mapping):
        return _text(value)
    text = _told(next((value[key] for key in ("message", "msg", "detail") if value.get(key)), ""))
    place = value.get("loc")
    return f"{text} (at {'.'.join(str(step) for step in place)})" if isinstance(place, list) and text else text


def _upstream(error: Mapping[str, Any], message: str) -> str:
    """OpenRouter says "Provider returned error" and keeps what the provider said in `metadata.raw`."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if not isinstance(raw, str) or not raw:
        return message
    said = _read(_decoded(raw))[1]
    return f"{message}: {said}" if said and said not in message else message


def _plain(text: str) -> str:
    """Of a page its title, of a text the text."""
    stripped = text.strip()
    if not stripped.startswith("<"):
        return stripped[:_LONGEST_TEXT]
    title = re.search(r"<title[^>]*>(.*?)</title>", stripped, re.IGNORECASE | re.DOTALL)
    return f"an HTML page instead of JSON ({' '.join(title[1].split())})" if title else "an HTML page instead of JSON"


def _code_of(body: Any) -> str | None:
    error = _inner(body)
    found = next((error[key] for key in ("code", "Code") if error.get(key) not in (None, "")), None)
    return str(found) if isinstance(found, str | int) else None


def _path(body: Any, message: str) -> str | None:
    """Where the fault is: as a field of its own (OpenAI, Mistral, Gemini), or in the text (Anthropic, Bedrock)."""
    error = _inner(body)
    said = error.get("message")
    details = said.get("detail") if isinstance(said, Mapping) else None
    fields = [
        error.get("param"),
        *(place for each in (error.get("detail"), said, details) for place in _locations(each)),
    ]
    fields += [
        violation.get("field")
        for detail in _objects(error.get("details"))
        for violation in _objects(detail.get("fieldViolations"))
    ]
    told = next((each for each in fields if isinstance(each, str) and _PATH.fullmatch(each)), None)
    if told is None and (found := _PATH_IN_TEXT.search(message)):
        told = found[1]
    return told


def _locations(entries: Any) -> list[str]:
    """The places of validation details: `{"loc": ["body", "messages", 0]}` is `messages.0`."""
    places = [entry["loc"] for entry in _objects(entries) if isinstance(entry.get("loc"), list)]
    return [".".join(str(step) for step in place[place[:1] == ["body"] :]) for place in places]


def _objects(values: Any) -> list[Mapping[str, Any]]:
    return [each for each in values if isinstance(each, Mapping)] if isinstance(values, list) else []


_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*", re.ASCII)
_PATH_IN_TEXT = re.compile(
    r"(?:^|: |\bat '?)((?:messages|input|contents|tools|system|thinking|output_config|response_format|toolConfig"
    r"|generation_?config)(?:\.\w+|\[\d+\])+)(?=: |'|\s|$)",
    re.ASCII | re.IGNORECASE,
)
"""`messages.0.content: Input should be …`, `The value at messages.1.content is …`: only what begins as a request does,
for a host has dots, too."""


def _request_id(body: Any, headers: Mapping[str, str]) -> str | None:
    for name in ("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id", "cf-ray"):
        if headers.get(name):
            return headers[name]
    outer = body[0] if isinstance(body, list) and body else body
    if not isinstance(outer, Mapping):
        return None
    metadata = outer.get("ResponseMetadata")
    found = outer.get("request_id") or (metadata.get("RequestId") if isinstance(metadata, Mapping) else outer.get("id"))
    return found if isinstance(found, str) else None


def _retry_delay(body: Any) -> float | None:
    """google.rpc.RetryInfo: {"@type": "…RetryInfo", "retryDelay": "7s"}."""
    details = _inner(body).get("details")
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, Mapping) and str(detail.get("@type", "")).endswith("RetryInfo"):
            delay = detail.get("retryDelay")
            return _seconds(delay[:-1] if isinstance(delay, str) and delay.endswith("s") else delay)
    return None


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _date(value: str) -> float | None:
    """Seconds since the epoch of an HTTP date."""
    from email.utils import parsedate_to_datetime  # costs milliseconds, and dates are rare

    try:
        return parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, IndexError):
        return None


def _number(code: str | None) -> int | None:
    return int(code) if code is not None and len(code) == 3 and code.isdecimal() else None


def _text(value: Any) -> str:
    return "" if value is None else str(value)
