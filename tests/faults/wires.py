"""What each of the seven APIs puts on the wire: an answer in pieces, its errors by status, its errors in a stream.

Sources: https://platform.openai.com/docs/guides/error-codes, https://platform.claude.com/docs/en/api/errors,
https://ai.google.dev/gemini-api/docs/troubleshooting,
https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
"""

from __future__ import annotations

import functools
from typing import Any

from llmneutral import BasePromptDriver
from tests.drivers import endpoints, sdk_endpoints
from tests.loopback import Answer, Answering, Loopback, event, talk, whole

APIS = [*endpoints.APIS, *sdk_endpoints.APIS]
OPENAI = ("chat_completions", "codex_responses")
EVENT_STREAM = sdk_endpoints.EVENT_STREAM
HELLO: str = endpoints.TEXT[0][1]
PIECES = 5
"""Chunks that HELLO is streamed in."""

BEFORE = {
    "chat_completions": 1,
    "codex_responses": 2,
    "anthropic_messages": 3,
    "gemini_native": 0,
    "bedrock_converse": 1,
    "cohere_chat": 2,
    "mistral_chat": 1,
}
"""Chunks before the first one with content."""


def driver_for(api: str, server: Loopback, **options: Any) -> BasePromptDriver:
    """A driver whose endpoint is the loopback provider."""
    if api in endpoints.APIS:
        return endpoints.driver_for(api, server, **options)
    if api == "bedrock_converse":
        options = {"session": session(), **options}
    return sdk_endpoints.sdk_driver(api, server, **options)


@functools.cache
def session() -> Any:
    """One session of boto3 for all: it reads the descriptions of the service, which takes longer than most cells."""
    import boto3

    return boto3.Session()


def body_of(api: str) -> dict[str, Any]:
    """The whole answer."""
    found: dict[str, Any] = (endpoints if api in endpoints.APIS else sdk_endpoints).body_of(api)
    return found


@functools.cache
def chunks_of(api: str, text: str = HELLO, size: int = 4) -> tuple[bytes, ...]:
    """The bytes of the stream, chunk by chunk."""
    made = (endpoints if api in endpoints.APIS else sdk_endpoints).chunks_of(api, [("text", text)], size)
    return tuple([chunk if isinstance(chunk, bytes) else event(chunk) for chunk in made])


def talks(api: str) -> Answering:
    """Answers as it should."""
    return talk(HELLO) if api in endpoints.APIS else sdk_endpoints.talks(api)


def media_of(api: str) -> str:
    """The content type of a stream."""
    return EVENT_STREAM if api == "bedrock_converse" else "text/event-stream"


# --- errors by status -------------------------------------------------------------------------------------------------

NAMES: dict[int, tuple[str, str | None, str, str, str, str]] = {
    400: ("invalid_request_error", None, "invalid_request_error", "INVALID_ARGUMENT", "ValidationException",
          "invalid_request_error"),
    401: ("invalid_request_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED",
          "UnrecognizedClientException", "unauthorized"),
    403: ("request_forbidden", "unsupported_country_region_territory", "permission_error", "PERMISSION_DENIED",
          "AccessDeniedException", "forbidden"),
    404: ("invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND", "ResourceNotFoundException",
          "not_found"),
    408: ("server_error", None, "timeout_error", "DEADLINE_EXCEEDED", "ModelTimeoutException", "timeout"),
    413: ("invalid_request_error", None, "request_too_large", "INVALID_ARGUMENT", "ValidationException",
          "invalid_request_error"),
    422: ("invalid_request_error", None, "invalid_request_error", "INVALID_ARGUMENT", "ValidationException",
          "invalid_request_error"),
    429: ("tokens", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "ThrottlingException",
          "rate_limited"),
    500: ("server_error", None, "api_error", "INTERNAL", "InternalServerException", "internal_server_error"),
    503: ("server_error", None, "api_error", "UNAVAILABLE", "ServiceUnavailableException", "service_unavailable"),
    529: ("overloaded_error", None, "overloaded_error", "UNAVAILABLE", "ServiceUnavailableException", "overloaded"),
}  # fmt: skip
"""By status: OpenAI's type and code, the types of Anthropic, Gemini, Bedrock and Mistral; Cohere gives none."""


def error_answer(api: str, status: int, message: str = "it says no", *, delay: Any = None, **headers: Any) -> Answer:
    """An error as the API says it; `delay` stands in the details of its body, as Gemini tells when to come again."""
    openai, code, anthropic, google, amazon, mistral = NAMES[status]
    if api in OPENAI:
        body: dict[str, Any] = {"error": {"message": message, "type": openai, "param": None, "code": code}}
    elif api == "anthropic_messages":
        body = {"type": "error", "error": {"type": anthropic, "message": message}, "request_id": "req_1"}
    elif api == "gemini_native":
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}] if delay else []
        body = {"error": {"code": status, "message": message, "status": google, "details": details}}
    elif api == "bedrock_converse":
        body, headers = {"message": message}, {**headers, "x_amzn_errortype": amazon}
    elif api == "cohere_chat":
        body = {"id": "e1", "message": message}
    else:
        body = {"object": "error", "message": message, "type": mistral, "param": None, "code": "3000"}
    return whole(body, status, **headers)


# --- errors inside a stream -------------------------------------------------------------------------------------------


def error_chunk(api: str, *, final: bool = False) -> bytes:
    """An error in the middle of a stream: the service is overloaded, or (`final`) the request will never do."""
    kind = "invalid_request_error" if final else "overloaded_error"
    error = {"type": kind, "message": "too busy"}
    if api == "chat_completions":
        return event({"error": {**error, "code": None}})
    if api == "codex_responses":
        code = {"code": kind, "message": "too busy"}
        return event(
            {"type": "response.failed", "response": {"id": "r1", "status": "failed", "output": [], "error": code}}
        )
    if api == "anthropic_messages":
        return event({"type": "error", "error": error})
    if final:
        return _final_chunk(api)
    found = sdk_endpoints.error_chunk(api)
    return found if isinstance(found, bytes) else event(found)


def _final_chunk(api: str) -> bytes:
    if api == "gemini_native":
        return event({"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}})
    if api == "bedrock_converse":
        return exception_frame("validationException")
    return event({"object": "error", "message": "no", "type": "invalid_request_error", "code": "3000"})


def other_error_chunk(api: str) -> bytes:
    """The second form of OpenAI's two APIs: an event that is called `error`."""
    if api == "chat_completions":
        return b"event: error\n" + event({"error": {"type": "overloaded_error", "message": "too busy"}})
    return event({"type": "error", "code": "overloaded_error", "message": "too busy", "sequence_number": 3})


def exception_frame(kind: str) -> bytes:
    """An exception of Amazon's event stream."""
    return sdk_endpoints.exception_frame(kind, {"message": "no"})


def error_frame() -> bytes:
    """An error of Amazon's event stream, which is no exception of the service's: a code, a text and no payload."""
    return sdk_endpoints.frame(
        {":message-type": "error", ":error-code": "internalServerException", ":error-message": "no"}, {}
    )


def unknown_chunks(api: str) -> list[bytes]:
    """What no version of the API known here sends."""
    if api == "bedrock_converse":
        return [sdk_endpoints.frame_of({"brandNewEvent": {"a": 1}})]
    values: dict[str, Any] = {
        "chat_completions": {"object": "brand.new", "choices": [], "brand_new": {"a": 1}},
        "codex_responses": {"type": "response.brand_new.delta", "output_index": 9, "delta": "x"},
        "anthropic_messages": {"type": "brand_new", "index": 9, "delta": {"text": "x"}},
        "gemini_native": {"brandNew": {"a": 1}},
        "cohere_chat": {"type": "brand-new", "index": 9, "delta": {"a": 1}},
        "mistral_chat": {"object": "brand.new", "choices": [], "brand_new": {"a": 1}},
    }
    return [event(values[api])]
