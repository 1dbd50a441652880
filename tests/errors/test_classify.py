"""Every row of the tables of error types, the order of judgement, and every recorded error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral.errors import RETRYABLE_TYPES, TYPES, classify, error_from_response, exception_type, is_retryable
from llmneutral.errors.classify import classify_names

BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    418: "invalid_request_error",
    422: "invalid_request_error",
    424: "invalid_request_error",
    429: "rate_limit_error",
    498: "authentication_error",
    500: "server_error",
    502: "server_error",
    503: "server_error",
    504: "server_error",
    521: "server_error",
    529: "overloaded_error",
}
BY_NAME = {
    "rate_limit_exceeded": "rate_limit_error",
    "insufficient_quota": "billing_error",
    "context_length_exceeded": "context_length_error",
    "content_filter": "content_filter_error",
    "invalid_api_key": "authentication_error",
    "model_not_found": "not_found_error",
    "server_error": "server_error",
    "server_is_overloaded": "overloaded_error",
    "slow_down": "overloaded_error",
    "api_error": "server_error",
    "internal_server_error": "server_error",
    "INVALID_ARGUMENT": "invalid_request_error",
    "FAILED_PRECONDITION": "invalid_request_error",
    "UNAUTHENTICATED": "authentication_error",
    "PERMISSION_DENIED": "permission_error",
    "NOT_FOUND": "not_found_error",
    "RESOURCE_EXHAUSTED": "rate_limit_error",
    "UNAVAILABLE": "overloaded_error",
    "DEADLINE_EXCEEDED": "timeout_error",
    "INTERNAL": "server_error",
    "ABORTED": "conflict_error",
    "ValidationException": "invalid_request_error",
    "AccessDeniedException": "permission_error",
    "ResourceNotFoundException": "not_found_error",
    "ThrottlingException": "rate_limit_error",
    "ModelNotReadyException": "rate_limit_error",
    "ServiceQuotaExceededException": "billing_error",
    "ModelTimeoutException": "timeout_error",
    "ModelErrorException": "server_error",
    "InternalServerException": "server_error",
    "ServiceUnavailableException": "overloaded_error",
    "UnrecognizedClientException": "authentication_error",
    "ExpiredToken": "authentication_error",
    "ExpiredTokenException": "authentication_error",
    "throttlingException": "rate_limit_error",
    "ThrottlingException:http://internal.amazon.com/coral/": "rate_limit_error",
    "com.amazonaws.bedrock#ThrottlingException": "rate_limit_error",
}
TOO_LONG = [
    "prompt is too long: 3333404 tokens > 200000 maximum",
    "This model's maximum context length is 8192 tokens.",
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "available_tokens: 12",
    "too many tokens: size limit exceeded by 25836 tokens.",
    "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it",
    "Input Tokens Exceeded",
    "prompt too long; exceeded max context length by 1119046 tokens",
]


@pytest.mark.parametrize(("status", "expected"), BY_STATUS.items())
def test_by_status(status: int, expected: str) -> None:
    assert classify(status=status) == expected


@pytest.mark.parametrize(("name", "expected"), BY_NAME.items())
def test_by_the_providers_own_name(name: str, expected: str) -> None:
    assert classify(type=name) == expected
    assert classify(code=name) == expected
    assert classify(type=name, status=200) == expected


def test_our_own_names_are_kept() -> None:
    assert {name: classify(type=name) for name in TYPES} == {name: name for name in TYPES}


@pytest.mark.parametrize("text", TOO_LONG)
@pytest.mark.parametrize("status", [400, 413, 422, None])
def test_texts_that_say_the_context_is_too_long(text: str, status: int | None) -> None:
    assert classify(status=status, type="invalid_request_error", message=text) == "context_length_error"


def test_a_rate_limit_may_speak_of_tokens() -> None:
    assert classify(status=429, message="too many tokens per minute") == "rate_limit_error"
    assert classify(status=429, type="tokens", code="rate_limit_exceeded") == "rate_limit_error"


def test_the_name_comes_before_the_status() -> None:
    assert classify(status=429, code="insufficient_quota") == "billing_error"
    assert classify(status=400, code="content_filter") == "content_filter_error"
    assert classify(status=401, type="invalid_request_error", code="invalid_api_key") == "authentication_error"


def test_a_general_name_says_less_than_the_status() -> None:
    assert classify(status=404, type="api_error") == "not_found_error"
    assert classify(status=403, type="invalid_request_error") == "permission_error"
    assert classify(status=400, type="invalid_request_error") == "invalid_request_error"
    assert classify(status=500, type="server_error") == "server_error"


def test_the_status_comes_before_the_exception() -> None:
    assert classify(status=429, exception="APITimeoutError") == "rate_limit_error"
    assert classify(exception="APITimeoutError") == "timeout_error"


def test_texts_beside_a_status() -> None:
    assert classify(status=503, message="The model is overloaded.") == "overloaded_error"
    assert classify(status=503, message="Service capacity limit has been reached.") == "overloaded_error"
    assert classify(status=424, message="Model invocation timed out") == "timeout_error"


def test_inside_an_answer_a_number_is_the_status() -> None:
    assert classify(code=429) == "rate_limit_error"
    assert classify(code="502", status=200) == "server_error"
    assert classify(code="1305") == "server_error"
    assert classify(type="never_heard_of") == "server_error"
    assert classify() == "server_error"


def test_the_body_is_asked_for_names() -> None:
    assert classify(status=200, body={"error": {"type": "overloaded_error"}}) == "overloaded_error"
    assert classify(body={"type": "rate_limit_error"}) == "rate_limit_error"
    assert classify(body={"error": {"type": None, "code": {"odd": 1}}}) == "server_error"


@pytest.mark.parametrize("body", ["<html>", "", b"<html>", {}, []])
def test_an_answer_that_is_no_json_is_malformed(body: Any) -> None:
    assert classify(status=200, body=body) == "malformed_response"
    assert classify(status=502, body=body) == "server_error"


def test_the_most_telling_of_several_names_counts() -> None:
    assert classify_names([None, "", "invalid_request_error", "model_not_found"]) == "not_found_error"
    assert classify_names(["x", "server_error", "overloaded_error"], status=500) == "overloaded_error"


# ----------------------------------------------------------------------------------------------------------------------
# Exceptions


class APIConnectionError(Exception):
    """Named like the SDKs' own."""


class APITimeoutError(APIConnectionError):
    """The more special one."""


class OddTimeoutError(APITimeoutError):
    """A class nobody has heard of, below one that is known."""


@pytest.mark.parametrize(
    ("exception", "expected"),
    [
        (APIConnectionError, "connection_error"),
        (APITimeoutError, "timeout_error"),
        (OddTimeoutError(), "timeout_error"),
        (TimeoutError(), "timeout_error"),
        (ConnectionResetError, "connection_error"),
        (BrokenPipeError(), "connection_error"),
        (json.JSONDecodeError("no", "", 0), "malformed_response"),
        ("EndpointConnectionError", "connection_error"),
        ("ReadTimeoutError", "timeout_error"),
        ("NoCredentialsError", "authentication_error"),
        ("ResponseValidationError", "malformed_response"),
        (TypeError, None),
        (KeyError("x"), None),
        (KeyboardInterrupt, None),
        ("Nonsense", None),
    ],
)
def test_by_exception(exception: Any, expected: str | None) -> None:
    assert exception_type(exception) == expected


def test_the_exceptions_of_the_http_library_are_known() -> None:
    httpx2 = pytest.importorskip("httpx2")
    assert exception_type(httpx2.RemoteProtocolError("gone")) == "connection_error"
    assert exception_type(httpx2.ConnectError("refused")) == "connection_error"
    assert exception_type(httpx2.ReadTimeout("slow")) == "timeout_error"
    assert exception_type(httpx2.PoolTimeout) == "timeout_error"


def test_the_exceptions_of_the_core_sdks_are_known() -> None:
    import anthropic
    import openai

    for sdk in (openai, anthropic):
        assert exception_type(sdk.APITimeoutError) == "timeout_error"
        assert exception_type(sdk.APIConnectionError) == "connection_error"
        assert exception_type(sdk.APIResponseValidationError) == "malformed_response"
        assert exception_type(sdk.RateLimitError) == "rate_limit_error"
        assert exception_type(sdk.InternalServerError) == "server_error"


# ----------------------------------------------------------------------------------------------------------------------
# Retrying


@pytest.mark.parametrize("status", [401, 402, 403, 404])
@pytest.mark.parametrize("should_retry", [True, False, None])
def test_some_statuses_are_final(status: int, should_retry: bool | None) -> None:
    assert not any(is_retryable(name, status, should_retry) for name in TYPES)


def test_the_header_decides_both_ways() -> None:
    assert is_retryable("rate_limit_error", 429, False) is False
    assert is_retryable("invalid_request_error", 400, True) is True


@pytest.mark.parametrize("status", [400, 405, 413, 422])
def test_what_was_refused_is_refused_again(status: int) -> None:
    assert not any(is_retryable(name, status) for name in TYPES)


def test_else_the_type_decides() -> None:
    for status in (None, 200, 408, 409, 429, 500, 529):
        assert {name for name in TYPES if is_retryable(name, status)} == RETRYABLE_TYPES


# ----------------------------------------------------------------------------------------------------------------------
# Recorded errors


def _recorded(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every recorded HTTP error with what is true of it."""
    exchanges = {}
    for file in folder.glob("*/*.json"):
        exchange = json.loads(file.read_text(encoding="utf-8"))
        exchanges[exchange["id"]] = exchange
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        for true in map(json.loads, lines):
            if true["form"] == "error":
                yield exchanges[true["id"]], true


@pytest.mark.parametrize("folder", ["dev", "errors_extra"])
def test_recorded_errors(folder: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(shared / "corpus"))
    judge = pytest.importorskip("check")
    failures, seen = [], 0
    for exchange, true in _recorded(shared / "corpus" / folder):
        headers = {name.lower(): value for name, value in (exchange.get("response_headers") or {}).items()}
        body = exchange["response"]
        text = exchange.get("response_text") or "" if body is None else json.dumps(body)
        error = error_from_response(text.encode(), exchange["status"], headers)
        reasons = judge.unlike_error(true["error"], error.to_dict(), headers)
        names = [*true["error"]["raw_types"], None, None]
        kind = classify(
            status=exchange["status"], type=names[0], code=names[1], message=true["error"]["message"], body=body
        )
        if kind not in judge.expected_types(true["error"]):
            reasons.append(f"classify says {kind}")
        seen += 1
        failures += [f"{true['id']}: {reasons}"] if reasons and not true["doubtful"] else []
    assert failures == []
    assert seen > 50
