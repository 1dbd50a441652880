"""What an endpoint may answer instead of what was asked for, and what becomes of it: errors, rubbish, half a stream."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import pytest

from llmneutral import (
    AuthenticationError,
    ContextLengthError,
    DeltaMessage,
    InvalidRequestError,
    LLMNeutralError,
    MalformedResponseError,
    ProviderConnectionError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    StreamInterruptedError,
    make_driver,
)
from tests.drivers.endpoints import APIS, TEXT, WAYS, Asking, body_of, chunks_of, deltas_before, driver_for
from tests.loopback import CUT, HOLD, RESET, RESET_AT_ONCE, Answer, Loopback, Torn, event, page, split, streamed, whole
from tests.loopback import talk as talking

apis = pytest.mark.parametrize("api", APIS)
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
streams = pytest.mark.parametrize("ask", [WAYS["stream"], WAYS["astream"]], ids=["stream", "astream"])
HELLO = TEXT[0][1]


def fails(api: str, *answers: Any, ask: Asking = WAYS["run"], attempts: int = 1, **options: Any) -> Any:
    """The error a call ends with; every answer must have been asked for."""
    with (
        Loopback(*answers) as server,
        driver_for(api, server, max_attempts=attempts, **options) as driver,
        pytest.raises(LLMNeutralError) as caught,
    ):
        ask(driver, "hi")
    assert len(server.requests) == len(answers)
    return caught.value


# --- statuses ---------------------------------------------------------------------------------------------------------


STATUSES = [
    (400, "invalid_request_error", False),
    (401, "authentication_error", False),
    (402, "billing_error", False),
    (403, "permission_error", False),
    (404, "not_found_error", False),
    (408, "timeout_error", True),
    (409, "conflict_error", True),
    (413, "request_too_large", False),
    (422, "invalid_request_error", False),
    (429, "rate_limit_error", True),
    (500, "server_error", True),
    (503, "server_error", True),
    (529, "overloaded_error", True),
]


@apis
@ways
def test_a_status_becomes_an_error_of_the_taxonomy(api: str, ask: Asking) -> None:
    body = {"error": {"message": "no such luck", "type": None, "code": None}}
    answers = [whole(body, status, x_request_id="req_7") for status, _, _ in STATUSES]
    with Loopback(*answers) as server, driver_for(api, server, max_attempts=1) as driver:
        for status, kind, retryable in STATUSES:
            with pytest.raises(ProviderError) as caught:
                ask(driver, "hi")
            error = caught.value
            assert (error.type, error.status, error.retryable) == (kind, status, retryable)
            assert (error.message, error.request_id, error.attempts) == ("no such luck", "req_7", 1)
            assert (error.api, error.model, error.host) == (api, "m", "127.0.0.1")


@apis
@ways
def test_a_hint_says_what_to_do(api: str, ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    error = fails(api, whole({"error": {"message": "bad key"}}, 401), ask=ask)
    assert isinstance(error, AuthenticationError)
    assert "key" in (error.hint or "")
    too_long = {"error": {"message": "This model's maximum context length is 8192 tokens", "type": "x"}}
    assert isinstance(fails(api, whole(too_long, 400), ask=ask), ContextLengthError)
    too_many = fails(api, whole({"error": {"message": "max_tokens: 99999 > 4096, which is the maximum"}}, 400), ask=ask)
    assert "max_tokens to 4096" in str(too_many)


@apis
def test_an_error_names_the_variable_of_its_key(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "ANTHROPIC_API_KEY" if api == "anthropic_messages" else "OPENAI_API_KEY"
    monkeypatch.setenv(variable, "k-from-the-environment")
    with Loopback(whole({"error": {"message": "no"}}, 401)) as server:
        driver = make_driver(api, model="m")
        monkeypatch.setattr(type(driver), "client_base_url", lambda self: server.url)
        with driver, pytest.raises(AuthenticationError, match=f"Set {variable} to a valid key"):
            driver.run("hi")


@apis
@ways
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "2.5"}, 2.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
    ],
)
def test_the_time_to_wait_is_read(api: str, ask: Asking, headers: dict[str, Any], seconds: float) -> None:
    error = fails(api, whole({"error": {"message": "slow down"}}, 429, **headers), ask=ask)
    assert isinstance(error, RateLimitError)
    assert error.retry_after == seconds


@apis
def test_the_time_to_wait_may_be_a_date(api: str) -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    error = fails(api, whole({"error": {"message": "slow down"}}, 429, retry_after=date))
    assert 27 < error.retry_after <= 31


@apis
@ways
def test_the_provider_is_waited_for_as_long_as_it_says(api: str, ask: Asking) -> None:
    waited: list[float] = []

    async def asleep(seconds: float) -> None:
        waited.append(seconds)

    busy = whole({"error": {"message": "slow down"}}, 429, retry_after="7")
    with Loopback(busy, talking(*TEXT)) as server, driver_for(api, server) as driver:
        driver.sleep, driver.asleep = waited.append, asleep
        response = ask(driver, "hi")
    assert waited == [7.0]
    assert response.metadata is not None
    assert response.metadata.retries[0].wait == 7.0


@apis
@ways
@pytest.mark.parametrize(("status", "word", "sent"), [(500, "false", 1), (400, "true", 2), (401, "true", 1)])
def test_the_servers_own_word_on_retries_is_heeded(api: str, ask: Asking, status: int, word: str, sent: int) -> None:
    answer = whole({"error": {"message": "no"}}, status, x_should_retry=word)
    error = fails(api, *[answer] * sent, ask=ask, attempts=2)
    assert error.retryable is (sent == 2)
    assert error.attempts == sent


@apis
def test_limits_of_the_account_are_told(api: str) -> None:
    answer = whole(body_of(api), x_ratelimit_remaining_requests="9", anthropic_ratelimit_tokens_limit="5", server="x")
    with Loopback(answer) as server, driver_for(api, server) as driver:
        metadata = driver.run("hi").metadata
    assert metadata is not None
    assert metadata.rate_limits == {"x-ratelimit-remaining-requests": "9", "anthropic-ratelimit-tokens-limit": "5"}
    assert metadata.total is not None
    assert 0 < metadata.total < 10


# --- a success that is none -------------------------------------------------------------------------------------------


@apis
@ways
def test_rubbish_with_a_status_of_success(api: str, ask: Asking) -> None:
    for answer in (page(), page(""), page("busy", media="text/plain"), whole([1])):
        error = fails(api, answer, answer, ask=ask, attempts=2)
        assert isinstance(error, MalformedResponseError)
        assert error.retryable
        assert error.status == 200


@apis
@ways
def test_an_error_with_a_status_of_success(api: str, ask: Asking) -> None:
    body = {"error": {"message": "upstream is busy", "type": "overloaded_error", "code": 529}}
    with Loopback(whole(body), talking(*TEXT)) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == HELLO
    error = fails(api, whole(body), ask=ask)
    assert (error.type, error.retryable, error.message) == ("overloaded_error", True, "upstream is busy")


@apis
@ways
def test_an_error_page_is_an_error_of_its_status(api: str, ask: Asking) -> None:
    error = fails(api, page("<html><title>502 Bad Gateway</title></html>", 502), ask=ask)
    assert (error.type, error.status) == ("server_error", 502)
    assert "502 Bad Gateway" in error.message
    assert "<html>" not in error.message


# --- a stream that ends too early -------------------------------------------------------------------------------------


def cut_after(api: str, count: int, *end: Any) -> Answer:
    return streamed([*chunks_of(api)[:count], *end])


@apis
@streams
@pytest.mark.parametrize("end", [(), (RESET,), (CUT,), (Torn(b"data: {"), CUT)], ids=["eof", "reset", "cut", "torn"])
def test_before_the_first_content_a_stream_is_asked_for_again(api: str, ask: Asking, end: tuple[Any, ...]) -> None:
    lost = cut_after(api, deltas_before(api), *end)
    with Loopback(lost, talking(*TEXT)) as server, driver_for(api, server) as driver:
        response = ask(driver, "hi")
    assert response.text == HELLO
    assert len(server.requests) == 2


@apis
@streams
@pytest.mark.parametrize("end", [(), (RESET,), (CUT,), (Torn(b"data: {"), CUT)], ids=["eof", "reset", "cut", "torn"])
def test_after_the_first_content_it_is_not(api: str, ask: Asking, end: tuple[Any, ...]) -> None:
    error = fails(api, cut_after(api, deltas_before(api) + 2, *end), ask=ask, attempts=3)
    assert isinstance(error, StreamInterruptedError)
    assert not error.retryable
    assert error.attempts == 1
    assert error.partial.text
    assert HELLO.startswith(error.partial.text)
    assert (error.partial.finish_reason, error.partial.complete) == ("incomplete", False)


@apis
def test_a_stream_that_fails_ends_before_it_raises(api: str) -> None:
    with (
        Loopback(cut_after(api, deltas_before(api) + 2, RESET)) as server,
        driver_for(api, server, max_attempts=1) as driver,
    ):
        stream = driver.stream("hi")
        kinds: list[str] = []
        with pytest.raises(StreamInterruptedError):
            kinds.extend(delta.kind for delta in stream)
    assert (kinds[0], kinds[-1], kinds.count("end")) == ("start", "end", 1)
    assert not stream.response.complete
    assert stream.metadata.attempts == 1


@apis
def test_a_request_that_fails_at_once_ends_its_stream_too(api: str) -> None:
    with Loopback(whole({"error": {"message": "no"}}, 400)) as server, driver_for(api, server) as driver:
        stream = driver.stream("hi")
        deltas: list[DeltaMessage] = []
        with pytest.raises(InvalidRequestError):
            deltas.extend(stream)
    assert [delta.kind for delta in deltas] == ["start", "end"]
    assert stream.response.error is not None
    assert stream.response.error.status == 400
    assert stream.response.finish_reason == "error"


@apis
@streams
@pytest.mark.parametrize("size", [1, 7])
def test_a_stream_may_be_cut_anywhere_even_inside_a_character(api: str, ask: Asking, size: int) -> None:
    pieces = split(chunks_of(api), size)
    with Loopback(streamed(pieces)) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == HELLO


@apis
@streams
def test_a_connection_lost_after_the_end_does_no_harm(api: str, ask: Asking) -> None:
    with Loopback(streamed([*chunks_of(api), RESET])) as server, driver_for(api, server) as driver:
        response = ask(driver, "hi")
    assert (response.text, response.complete, response.error) == (HELLO, True, None)


@streams
def test_a_finish_reason_is_an_end_where_the_rest_is_lost(ask: Asking) -> None:
    chunks = [chunk for chunk in chunks_of("chat_completions") if chunk != "[DONE]" and chunk["choices"]]
    with Loopback(streamed([*chunks, RESET])) as server, driver_for("chat_completions", server) as driver:
        response = ask(driver, "hi")
    assert (response.text, response.complete, response.finish_reason) == (HELLO, True, "stop")
    assert any("connection was lost" in note for note in response.notes)


@apis
@streams
def test_the_last_event_may_lack_its_blank_line(api: str, ask: Asking) -> None:
    raw = b"".join([event(chunk) for chunk in chunks_of(api)]).rstrip(b"\n")
    with Loopback(streamed([raw])) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").complete


@apis
@streams
def test_a_stream_without_chunks_of_http_is_read_to_its_end(api: str, ask: Asking) -> None:
    answer = streamed(chunks_of(api))
    plain = Answer(answer.status, answer.headers, None, answer.pieces, chunked=False)
    with Loopback(plain) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == HELLO


@apis
@streams
def test_comments_and_pings_are_no_chunks(api: str, ask: Asking) -> None:
    pieces: list[Any] = [b": ping\n\n"]
    for chunk in chunks_of(api):
        pieces += [event(chunk), b":\n\n", b'event: ping\ndata: {"type": "ping"}\n\n']
    with Loopback(streamed(pieces)) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == HELLO


@apis
@streams
def test_a_line_that_is_no_json(api: str, ask: Asking) -> None:
    error = fails(api, streamed([b"data: {not json\n\n"]), ask=ask)
    assert isinstance(error, MalformedResponseError)
    assert "{not json" in error.message


# --- errors inside a stream -------------------------------------------------------------------------------------------


def inside(api: str, kind: str = "overloaded_error", message: str = "Overloaded") -> list[Any]:
    """The ways an API says inside a stream that it failed."""
    error = {"type": kind, "message": message}
    if api == "chat_completions":
        return [[{"error": {**error, "code": None}}], [b"event: error\n" + event({"error": error})]]
    if api == "codex_responses":
        failed = {"id": "r1", "status": "failed", "output": [], "error": {"code": kind, "message": message}}
        return [
            [{"type": "response.failed", "response": failed}],
            [{"type": "error", "code": kind, "message": message, "sequence_number": 3}],
        ]
    return [[{"type": "error", "error": error}]]


@apis
@streams
def test_an_error_before_content_is_repeated(api: str, ask: Asking) -> None:
    for chunks in inside(api):
        lost = streamed([*chunks_of(api)[: deltas_before(api)], *chunks])
        with Loopback(lost, talking(*TEXT)) as server, driver_for(api, server) as driver:
            assert ask(driver, "hi").text == HELLO
        assert len(server.requests) == 2


@apis
@streams
def test_an_error_after_content_is_raised_with_what_came(api: str, ask: Asking) -> None:
    for chunks in inside(api):
        broken = streamed([*chunks_of(api)[: deltas_before(api) + 2], *chunks])
        error = fails(api, broken, ask=ask, attempts=3)
        assert (error.type, error.message) == ("overloaded_error", "Overloaded")
        assert error.partial.text
        assert error.partial.finish_reason == "error"


@apis
@streams
def test_an_error_that_will_not_go_away_is_not_repeated(api: str, ask: Asking) -> None:
    for chunks in inside(api, "invalid_request_error", "no"):
        assert isinstance(fails(api, streamed(chunks), ask=ask, attempts=3), InvalidRequestError)


# --- connections and time ---------------------------------------------------------------------------------------------


@apis
@ways
def test_a_connection_that_is_reset_is_tried_again(api: str, ask: Asking) -> None:
    with Loopback(RESET_AT_ONCE, talking(*TEXT)) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == HELLO
    error = fails(api, RESET_AT_ONCE, ask=ask)
    assert isinstance(error, ProviderConnectionError)
    assert error.retryable
    assert error.message != "Connection error."


@apis
@pytest.mark.parametrize("ask", [WAYS["run"], WAYS["arun"]], ids=["run", "arun"])
def test_a_body_that_breaks_off_is_tried_again(api: str, ask: Asking) -> None:
    half = Answer(200, (("content-type", "application/json"),), None, (json.dumps(body_of(api)).encode()[:50], CUT))
    with Loopback(half, talking(*TEXT)) as server, driver_for(api, server) as driver:
        assert ask(driver, "hi").text == HELLO


@apis
@ways
def test_nobody_listening(api: str, ask: Asking) -> None:
    with Loopback() as server:
        driver = driver_for(api, server, max_attempts=1)
    with driver, pytest.raises(ProviderConnectionError, match="base_url"):
        ask(driver, "hi")


@apis
@ways
def test_a_time_out_is_of_the_whole_call(api: str, ask: Asking) -> None:
    began = time.monotonic()
    with (
        Loopback(*[whole(body_of(api), delay=5.0)] * 3) as server,
        driver_for(api, server) as driver,
        pytest.raises(ProviderTimeoutError),
    ):
        ask(driver, "hi", timeout=0.3)
    assert time.monotonic() - began < 2
    assert len(server.requests) == 1, "there is no time left for another attempt"


@apis
@streams
def test_a_stream_that_drips_is_ended_by_the_time_out(api: str, ask: Asking) -> None:
    drip = streamed(chunks_of(api, [("text", "drip " * 40)]), pause=0.05)
    began = time.monotonic()
    with (
        Loopback(drip) as server,
        driver_for(api, server) as driver,
        pytest.raises(ProviderTimeoutError, match=r"timeout=0\.5 s") as caught,
    ):
        ask(driver, "hi", timeout=0.5)
    assert time.monotonic() - began < 2
    assert caught.value.partial is not None
    assert caught.value.partial.text.startswith("drip")
    assert server.closes()


@apis
@streams
def test_a_stream_may_not_be_silent_for_too_long(api: str, ask: Asking) -> None:
    silent = streamed([*chunks_of(api)[: deltas_before(api) + 2], HOLD])
    error = fails(api, silent, ask=ask, idle_timeout=0.2, model="gpt-4.1")
    assert error.type == "timeout_error"
    assert error.partial.text


def test_a_slow_first_byte_is_waited_for() -> None:
    with (
        Loopback(talking(*TEXT, delay=0.4)) as server,
        driver_for("chat_completions", server, idle_timeout=0.1) as driver,
    ):
        assert driver.stream("hi").response.text == ""
        assert WAYS["stream"](driver, "hi").text == HELLO
