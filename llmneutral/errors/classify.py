"""One classifier for every way a provider says that something failed.

HTTP errors, errors inside a stream and error finishes all come through `classify`: by the provider's type or code
first, then by the status, then by the class of the exception. This file knows no error class of ours, only the names
of the types, and no SDK: classes of exceptions are known by their names.

Sources:
    OpenAI: https://platform.openai.com/docs/guides/error-codes
    Anthropic: https://platform.claude.com/docs/en/api/errors
    Gemini: https://ai.google.dev/gemini-api/docs/troubleshooting
    Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
    Cohere: https://docs.cohere.com/reference/errors
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

TYPES = frozenset(
    (
        "authentication_error",
        "permission_error",
        "billing_error",
        "not_found_error",
        "invalid_request_error",
        "context_length_error",
        "request_too_large",
        "content_filter_error",
        "conflict_error",
        "rate_limit_error",
        "overloaded_error",
        "server_error",
        "timeout_error",
        "connection_error",
        "stream_interrupted",
        "malformed_function_call",
        "malformed_response",
    )
)
"""The strings of `error.type`."""

RETRYABLE_TYPES = frozenset(
    (
        "conflict_error",
        "rate_limit_error",
        "overloaded_error",
        "server_error",
        "timeout_error",
        "connection_error",
        "malformed_function_call",
        "malformed_response",
    )
)
"""Types that may go away by themselves (a stream that was interrupted only before its first content)."""

_FINAL = frozenset((401, 402, 403, 404))
"""Statuses that are never retried, whatever the type or a header says."""

_REFUSED = frozenset((400, 405, 413, 422))
"""Statuses that are not retried unless a header asks for it: the same bytes would be refused again."""

_GENERIC = frozenset(("invalid_request_error", "server_error"))
"""Types that some servers give to every error: a status that says more wins (Ollama sends `api_error` with 404)."""


def classify(
    *,
    status: int | None = None,
    type: str | None = None,
    code: str | int | None = None,
    exception: str | type[BaseException] | None = None,
    message: str = "",
    body: Any = None,
) -> str:
    """Returns the type of an error, one of `TYPES`.

    Args:
        status: The HTTP status; None or one below 400 where the error came inside an answer.
        type: The provider's own type ("overloaded_error", "RESOURCE_EXHAUSTED", "ThrottlingException").
        code: The provider's own code; a number from 100 to 599 counts as the status where there is none.
        exception: The class of the exception an SDK raised, or its name.
        message: The provider's text: some say only here that the context is too long.
        body: The body, if it is not read yet: further types are looked for in it.
    """
    return classify_names(
        (type, code, *_names_in(body)), status=status, exception=exception, message=message, body=body
    )


def classify_names(
    names: Iterable[str | int | None],
    *,
    status: int | None = None,
    exception: str | type[BaseException] | None = None,
    message: str = "",
    body: Any = None,
) -> str:
    """Does what `classify` does, where a provider gives more than one name; the most telling one counts.

    Args:
        names: Types, statuses and codes of the provider, the best first.
        status: As in `classify`.
        exception: As in `classify`.
        message: As in `classify`.
        body: Only for an answer with a status below 400: text instead of JSON is a malformed response.
    """
    given = [str(name) for name in names if name not in (None, "")]
    if status is None or status < 400:
        if status is not None and not given and _is_no_json(body):
            return "malformed_response"
        status = _status_in(given)
    found = [known for name in given if (known := _BY_NAME.get(_folded(name)))]
    telling = [name for name in found if name not in _GENERIC]
    if "context_length_error" in telling or (_may_be_too_long(status) and is_too_long(" ".join([message, *given]))):
        return "context_length_error"
    if telling:
        return telling[0]
    if status is not None:
        by_status = _by_status(status, message)
        return found[0] if found and _agrees(found[0], by_status) else by_status
    if found:
        return found[0]
    return (exception_type(exception) if exception is not None else None) or "server_error"


def exception_type(exception: str | type[BaseException] | BaseException) -> str | None:
    """Returns the type an exception of an SDK or an HTTP library stands for, or None if its class is not known.

    None means that the failure is no matter of the provider: a bug here, say, that must not be retried.

    Args:
        exception: An exception, its class, or the name of its class; base classes are tried in their order.
    """
    if isinstance(exception, str):
        return _BY_EXCEPTION.get(exception)
    kind = exception if isinstance(exception, type) else type(exception)
    return next((known for base in kind.__mro__ if (known := _BY_EXCEPTION.get(base.__name__))), None)


def is_retryable(type: str, status: int | None = None, should_retry: bool | None = None) -> bool:
    """Tells whether the same request may succeed later.

    401, 402, 403 and 404 never; then the header `x-should-retry` both ways, as the base clients of the vendors' SDKs
    obey it; then 400, 405, 413 and 422 not; then by the type.

    Args:
        type: One of `TYPES`.
        status: The HTTP status, if there was one.
        should_retry: What the header `x-should-retry` said, None without one.
    """
    if status in _FINAL:
        return False
    if should_retry is not None:
        return should_retry
    return status not in _REFUSED and type in RETRYABLE_TYPES


def is_too_long(text: str) -> bool:
    """Tells whether a provider's text says that the prompt does not fit the context window."""
    return _TOO_LONG.search(text) is not None


def _folded(name: str) -> str:
    """`ThrottlingException:http://…`, `com.amazon#ThrottlingException`, `throttlingException`: one spelling for all."""
    return name.partition(":")[0].rpartition("#")[2].strip().lower()


def _names_in(body: Any) -> list[Any]:
    if not isinstance(body, Mapping):
        return []
    error = body.get("error")
    inner = error if isinstance(error, Mapping) else body
    return [inner.get(key) for key in ("type", "status", "code") if isinstance(inner.get(key), str | int)]


def _is_no_json(body: Any) -> bool:
    """Text, nothing, or a list of anything but objects: no error is ever told so."""
    if isinstance(body, list):
        return not body or not isinstance(body[0], Mapping)
    return isinstance(body, str | bytes) or body == {}


def _status_in(names: list[str]) -> int | None:
    return next((int(name) for name in names if len(name) == 3 and name.isdecimal() and "400" <= name <= "599"), None)


def _may_be_too_long(status: int | None) -> bool:
    """A text alone decides only where the status leaves it open: a rate limit speaks of tokens as well."""
    return status in (None, 400, 413, 422, 500)


def _agrees(by_name: str, by_status: str) -> bool:
    """A general type stands beside a status that says nothing more special."""
    return by_name == by_status or (by_name == "server_error" and by_status == "overloaded_error")


def _by_status(status: int, message: str) -> str:
    if status == 424 and _TIMED_OUT.search(message):
        return "timeout_error"
    if status == 503 and _OVERLOADED.search(message):
        return "overloaded_error"
    return _BY_STATUS.get(status) or ("server_error" if status >= 500 else "invalid_request_error")


_TIMED_OUT = re.compile(r"time[ds]?[ -]?out", re.IGNORECASE)
_OVERLOADED = re.compile(r"overload|capacity|busy|high demand|slow down|too many", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"prompt (?:is )?too long|max(?:imum)? (?:context|prompt) length|context_length_exceeded|input is too long"
    r"|exceeds? the (?:available )?context (?:window|size)|input token count.*exceeds|available_tokens"
    r"|too many (?:prompt )?tokens|too_many_(?:prompt_)?tokens|exceed_context_size|input tokens? exceed",
    re.IGNORECASE,
)
"""Texts of OpenAI, Anthropic, Gemini and Bedrock; Cohere, llama.cpp, Ollama and Perplexity as they were recorded."""

_BY_STATUS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    498: "authentication_error",
    529: "overloaded_error",
}

_BY_NAME = {
    # OpenAI and its imitators
    "rate_limit_exceeded": "rate_limit_error",
    "insufficient_quota": "billing_error",
    "context_length_exceeded": "context_length_error",
    "exceed_context_size_error": "context_length_error",
    "content_filter": "content_filter_error",
    "invalid_api_key": "authentication_error",
    "model_not_found": "not_found_error",
    "internal_server_error": "server_error",
    "server_is_overloaded": "overloaded_error",
    "slow_down": "overloaded_error",
    # Anthropic: its names are ours but for this one
    "api_error": "server_error",
    # Gemini, the status of google.rpc
    "invalid_argument": "invalid_request_error",
    "failed_precondition": "invalid_request_error",
    "unauthenticated": "authentication_error",
    "permission_denied": "permission_error",
    "not_found": "not_found_error",
    "resource_exhausted": "rate_limit_error",
    "unavailable": "overloaded_error",
    "deadline_exceeded": "timeout_error",
    "internal": "server_error",
    "aborted": "conflict_error",
    # Bedrock: as a header (ThrottlingException), and in a stream (throttlingException)
    "validationexception": "invalid_request_error",
    "accessdeniedexception": "permission_error",
    "resourcenotfoundexception": "not_found_error",
    "throttlingexception": "rate_limit_error",
    "modelnotreadyexception": "rate_limit_error",
    "servicequotaexceededexception": "billing_error",
    "modeltimeoutexception": "timeout_error",
    "modelerrorexception": "server_error",
    "modelstreamerrorexception": "server_error",
    "internalserverexception": "server_error",
    "serviceunavailableexception": "overloaded_error",
    "unrecognizedclientexception": "authentication_error",
    "invalidsignatureexception": "authentication_error",
    "expiredtoken": "authentication_error",
    "expiredtokenexception": "authentication_error",
} | {name: name for name in TYPES}

_BY_EXCEPTION = {
    # openai, anthropic (and google-genai, mistralai, which let httpx2 through)
    "APITimeoutError": "timeout_error",
    "APIConnectionError": "connection_error",
    "APIResponseValidationError": "malformed_response",
    "ResponseValidationError": "malformed_response",
    "TimeoutException": "timeout_error",
    "TransportError": "connection_error",
    "StreamError": "connection_error",
    "DecodingError": "malformed_response",
    "TooManyRedirects": "invalid_request_error",
    "InvalidURL": "invalid_request_error",
    "UnsupportedProtocol": "invalid_request_error",
    # boto3 and urllib3
    "ReadTimeoutError": "timeout_error",
    "ConnectTimeoutError": "timeout_error",
    "HTTPClientError": "connection_error",
    "ConnectionClosedError": "connection_error",
    "EndpointConnectionError": "connection_error",
    "IncompleteReadError": "connection_error",
    "ResponseStreamingError": "connection_error",
    "ProtocolError": "connection_error",
    "EventStreamError": "server_error",
    "ResponseParserError": "malformed_response",
    "ChecksumMismatch": "malformed_response",
    "NoCredentialsError": "authentication_error",
    "PartialCredentialsError": "authentication_error",
    "CredentialRetrievalError": "authentication_error",
    "TokenRetrievalError": "authentication_error",
    "UnauthorizedSSOTokenError": "authentication_error",
    "NoAuthTokenError": "authentication_error",
    # Names a status would give as well: openai, anthropic, cohere
    "AuthenticationError": "authentication_error",
    "UnauthorizedError": "authentication_error",
    "InvalidTokenError": "authentication_error",
    "PermissionDeniedError": "permission_error",
    "ForbiddenError": "permission_error",
    "NotFoundError": "not_found_error",
    "BadRequestError": "invalid_request_error",
    "UnprocessableEntityError": "invalid_request_error",
    "RequestTooLargeError": "request_too_large",
    "ConflictError": "conflict_error",
    "RateLimitError": "rate_limit_error",
    "TooManyRequestsError": "rate_limit_error",
    "OverloadedError": "overloaded_error",
    "ServiceUnavailableError": "server_error",
    "GatewayTimeoutError": "server_error",
    "DeadlineExceededError": "timeout_error",
    "InternalServerError": "server_error",
    # The language's own
    "TimeoutError": "timeout_error",
    "ConnectionError": "connection_error",
    "SSLError": "connection_error",
    "gaierror": "connection_error",
    "IncompleteRead": "connection_error",
    "JSONDecodeError": "malformed_response",
    "DecodeError": "malformed_response",
}
"""By the name of a class. httpx and httpx2 name their timeouts and broken connections below the two base classes."""
