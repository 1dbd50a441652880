"""Every shape of an error body, and every form in which a provider says how long to wait."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.errors import TYPES, parse_retry_after, read_error_body

NOW = 1_800_000_000.0

SHAPES: list[tuple[str, Any, int | None, dict[str, Any]]] = [
    (
        "openai",
        {"error": {"message": "no key", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}},
        401,
        {"type": "authentication_error", "raw_type": "invalid_request_error", "code": "invalid_api_key"},
    ),
    (
        "openai, the inner error by itself",
        {"message": "no quota", "type": "insufficient_quota", "code": "insufficient_quota"},
        429,
        {"type": "billing_error", "raw_type": "insufficient_quota", "message": "no quota"},
    ),
    (
        "anthropic",
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_7"},
        529,
        {"type": "overloaded_error", "raw_type": "overloaded_error", "request_id": "req_7", "retryable": True},
    ),
    (
        "gemini",
        {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}},
        429,
        {"type": "rate_limit_error", "raw_type": "RESOURCE_EXHAUSTED", "code": "429"},
    ),
    (
        "gemini, in a list",
        [{"error": {"code": 400, "message": "Bad", "status": "INVALID_ARGUMENT"}}],
        400,
        {"type": "invalid_request_error", "raw_type": "INVALID_ARGUMENT", "message": "Bad"},
    ),
    (
        "mistral, object",
        {"object": "error", "message": "Rate limit exceeded", "type": "rate_limited", "param": None, "code": "1300"},
        429,
        {"type": "rate_limit_error", "raw_type": "rate_limited", "code": "1300", "message": "Rate limit exceeded"},
    ),
    (
        "mistral, message",
        {"message": "Unauthorized", "request_id": "634b"},
        401,
        {"type": "authentication_error", "raw_type": None, "request_id": "634b"},
    ),
    (
        "mistral, detail",
        {"detail": [{"type": "missing", "loc": ["body", "tools", 0], "msg": "Field required", "input": "my prompt"}]},
        422,
        {"type": "invalid_request_error", "message": "Field required (at body.tools.0)", "raw_type": None},
    ),
    ("a detail that is text", {"detail": "Unauthorized"}, 401, {"message": "Unauthorized"}),
    (
        "xai",
        {"code": "Client specified an invalid argument", "error": "Incorrect API key"},
        400,
        {"type": "invalid_request_error", "raw_type": "Client specified an invalid argument"}
        | {"message": "Incorrect API key"},
    ),
    (
        "an error that is text, beside a message",
        {"error": "Unauthorized", "message": "bad token"},
        401,
        {"raw_type": "Unauthorized", "message": "bad token"},
    ),
    (
        "openrouter",
        {
            "error": {
                "message": "Provider returned error",
                "code": 429,
                "metadata": {"raw": '{"error": {"message": "try later"}}', "provider_name": "X"},
            },
            "user_id": "user_1",
        },
        429,
        {"type": "rate_limit_error", "raw_type": "429", "message": "Provider returned error: try later"},
    ),
    (
        "openrouter, wrapped once more",
        {"type": "json", "content": {"error": {"code": 429, "message": "Provider returned error"}}},
        429,
        {"type": "rate_limit_error", "message": "Provider returned error", "code": "429"},
    ),
    (
        "openrouter, in a stream",
        {"error": {"code": 502, "message": "m"}},
        None,
        {"type": "server_error", "code": "502"},
    ),
    (
        "cohere",
        {"error_type": "TOO_MANY_TOKENS", "id": "c1", "message": "too many tokens: size limit exceeded"},
        400,
        {"type": "context_length_error", "raw_type": "TOO_MANY_TOKENS", "request_id": "c1"},
    ),
    (
        "boto3",
        {
            "Error": {"Code": "ThrottlingException", "Message": "Too many requests"},
            "ResponseMetadata": {"RequestId": "r-1", "HTTPStatusCode": 429},
        },
        429,
        {"type": "rate_limit_error", "raw_type": "ThrottlingException", "request_id": "r-1"}
        | {"message": "Too many requests"},
    ),
    ("a router's page", "<html><head><title>502 Bad\n Gateway</title>", 502, {"type": "server_error"}),
    ("plain text", "upstream request timeout\n", 408, {"type": "timeout_error", "message": "upstream request timeout"}),
    ("a page instead of an answer", "<!DOCTYPE html><p>hello", 200, {"type": "malformed_response", "retryable": True}),
    ("nothing instead of an answer", b"", 200, {"type": "malformed_response", "message": ""}),
    ("broken JSON", '{"error": {"mess', 500, {"type": "server_error", "message": '{"error": {"mess'}),
    ("nothing", None, 500, {"type": "server_error", "message": "", "raw_type": None, "code": None}),
]


@pytest.mark.parametrize(("body", "status", "expected"), [shape[1:] for shape in SHAPES], ids=[s[0] for s in SHAPES])
def test_shapes(body: Any, status: int | None, expected: dict[str, Any]) -> None:
    facts = read_error_body(body, status)
    assert {name: facts[name] for name in expected} == expected  # type: ignore[literal-required]
    assert facts["status"] == status
    if isinstance(body, dict | list):
        as_text = json.dumps(body)
        assert read_error_body(as_text, status) == facts
        assert read_error_body(as_text.encode(), status) == facts


PATHS: list[tuple[str, Any, str | None]] = [
    ("OpenAI", {"error": {"message": "bad", "param": "messages[0].content[1].type"}}, "messages[0].content[1].type"),
    ("OpenAI, no place", {"error": {"message": "bad", "param": "tool calling"}}, None),
    ("OpenAI, none", {"error": {"message": "bad", "param": None}}, None),
    ("Anthropic", {"error": {"message": "messages.0.content.1.image: no"}}, "messages.0.content.1.image"),
    ("Bedrock", {"message": "The value at messages.1.content.0 is empty."}, "messages.1.content.0"),
    ("Bedrock, quoted", {"message": "Value '' at 'messages.1.member.role' failed"}, "messages.1.member.role"),
    ("an imitator", {"error": {"message": "no JSON of ours: messages[0]: unknown variant"}}, "messages[0]"),
    ("Mistral", {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "required"}]}, "messages.0.content"),
    ("Mistral, nested", {"message": {"detail": [{"loc": ["body", "tools", 1], "msg": "no"}]}}, "tools.1"),
    (
        "Gemini",
        [{"error": {"message": "bad", "details": [{"fieldViolations": [{"field": "contents[0].parts[1]"}]}]}}],
        "contents[0].parts[1]",
    ),
    ("a host", {"error": {"message": "api.host.example: refused"}}, None),
    ("words", {"error": {"message": "look at messages. They are empty: no"}}, None),
]


@pytest.mark.parametrize(("body", "expected"), [each[1:] for each in PATHS], ids=[each[0] for each in PATHS])
def test_the_place_in_the_request(body: Any, expected: str | None) -> None:
    assert read_error_body(body, 400)["path"] == expected


def test_a_page_gives_its_title() -> None:
    text = "<html><head><title>502 Bad\n Gateway</title>"
    assert read_error_body(text, 502)["message"] == "an HTML page instead of JSON (502 Bad Gateway)"
    assert read_error_body("<p>no title", 502)["message"] == "an HTML page instead of JSON"


def test_the_caller_s_prompt_is_not_repeated() -> None:
    detail = [{"loc": ["body"], "msg": "Input should be a string", "input": "the secret plan"}]
    assert "secret" not in read_error_body({"detail": detail}, 422)["message"]


def test_bedrock_s_type_stands_in_a_header() -> None:
    headers = {"X-Amzn-ErrorType": "ExpiredTokenException:http://internal.amazon.com/", "x-amzn-RequestId": "r-2"}
    facts = read_error_body({"message": "The security token is expired"}, 403, headers)
    assert (facts["type"], facts["raw_type"]) == ("authentication_error", "ExpiredTokenException")
    assert facts["request_id"] == "r-2"
    assert facts["retryable"] is False


def test_the_header_says_whether_to_retry() -> None:
    body = {"error": {"type": "rate_limit_error", "message": "m"}}
    assert read_error_body(body, 429, {"x-should-retry": "false"})["retryable"] is False
    assert read_error_body(body, 429, {"x-should-retry": "true"})["retryable"] is True
    assert read_error_body(body, 429)["retryable"] is True


def test_a_final_code_inside_an_answer_is_final() -> None:
    assert read_error_body({"error": {"code": 402, "message": "m"}}, None)["retryable"] is False
    assert read_error_body({"error": {"code": 429, "message": "m"}}, 200)["retryable"] is True


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "660"}, 0.66),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "7", "retry-after-ms": "soon"}, 7.0),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_headers_that_say_how_long_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert parse_retry_after(headers, now=NOW) == expected
    assert read_error_body({}, 429, headers, now=NOW)["retry_after"] == expected


def test_a_date_is_held_against_the_answer_s_own() -> None:
    headers = {"retry-after": formatdate(NOW + 30, usegmt=True), "date": formatdate(NOW, usegmt=True)}
    assert parse_retry_after(headers) == 30.0
    assert parse_retry_after({"retry-after": headers["retry-after"]}) is None


@pytest.mark.parametrize(
    ("delay", "expected"), [("7s", 7.0), ("0.5s", 0.5), ("7", 7.0), (3, 3.0), ("soon", None), (None, None)]
)
def test_gemini_says_it_in_the_body(delay: Any, expected: float | None) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}
    assert parse_retry_after({}, body) == expected
    assert read_error_body([body], 429)["retry_after"] == expected
    assert parse_retry_after({"retry-after": "1"}, body) == 1.0


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "type", "code", "message", "detail", "details", "loc", "param", "fieldViolations"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(body=_JSON | st.text() | st.binary(), status=st.none() | st.integers(100, 599))
def test_no_body_is_too_odd(body: Any, status: int | None) -> None:
    facts = read_error_body(body, status)
    assert facts["type"] in TYPES
    assert isinstance(facts["message"], str)
    assert facts["path"] is None or facts["path"].isascii()
