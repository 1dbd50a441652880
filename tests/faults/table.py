"""The one table: each fault, what is sent for it, and what must become of it.

Where an API may differ from the rest, the row says so beside the rule. Sources of the rules: the statuses that the
vendors' SDKs retry (408, 409, 429, ≥ 500, lost connections), RFC 9110 for Retry-After, and the providers' pages on
errors named in `wires`.
"""

from __future__ import annotations

import dataclasses
import email.utils
import gzip
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.faults.wires import (
    APIS,
    BEFORE,
    HELLO,
    OPENAI,
    PIECES,
    body_of,
    chunks_of,
    error_answer,
    error_chunk,
    error_frame,
    exception_frame,
    media_of,
    other_error_chunk,
    unknown_chunks,
)
from tests.loopback import CUT, HOLD, RESET, RESET_AT_ONCE, Answer, Piece, Torn, page

ATTEMPTS = 3
"""Requests of one call at most: what the drivers do unless they are told otherwise."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """What must become of a fault.

    Attributes:
        error: Name of the class; "" where the answer comes all the same.
        requests: How many are sent.
        retryable: What the error says of itself.
        partial: "" for nothing, "some" or "all": how much of the answer is kept.
        wait: Seconds between the requests, from and to; None where nothing is said about them.
    """

    error: str = ""
    requests: int = 1
    retryable: bool = False
    partial: str = "all"
    wait: tuple[float, float] | None = None


def fatal(error: str, *, retryable: bool = False, partial: str = "") -> Expected:
    """Not asked again."""
    return Expected(error, 1, retryable, partial)


def again(error: str, wait: float | tuple[float, float] | None = None) -> Expected:
    """Asked again as often as may be."""
    return Expected(error, ATTEMPTS, True, "", (wait, wait) if isinstance(wait, float) else wait)


FINE = Expected()
CUT_OFF = fatal("StreamInterruptedError", partial="some")
LOST = again("ProviderConnectionError")
INTERRUPTED = again("StreamInterruptedError")
MALFORMED = again("MalformedResponseError")


@dataclasses.dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: What it is called.
        whole: Its answer to a request for a whole body, by the API; None where there is no such thing.
        stream: Its answer to a request for a stream.
        expected: What must become of it when a body is asked for.
        streamed: The same of a stream; None where it is the same.
        unlike: By API, where it is another for both.
        apis: The APIs it may happen to.
        options: Options of the driver.
        settings: Settings of the call.
        text: The answer's text, when it comes.
        listening: Whether anybody listens.
    """

    name: str
    whole: Callable[[str], Answer] | None
    stream: Callable[[str], Answer] | None
    expected: Expected
    streamed: Expected | None = None
    unlike: Mapping[str, Expected] = dataclasses.field(default_factory=dict)
    apis: tuple[str, ...] = tuple(APIS)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    text: str = HELLO
    listening: bool = True

    def happens(self, api: str, stream: bool) -> bool:
        """Whether there is such a cell."""
        return api in self.apis and (self.stream if stream else self.whole) is not None

    def answer(self, api: str, stream: bool) -> Answer:
        """What the provider answers."""
        make = self.stream if stream else self.whole
        assert make is not None
        return make(api)

    def outcome(self, api: str, stream: bool) -> Expected:
        """What must become of it."""
        if api in self.unlike:
            return self.unlike[api]
        return self.streamed if stream and self.streamed is not None else self.expected


# --- answers ----------------------------------------------------------------------------------------------------------


def sends(api: str, *pieces: Piece, **headers: str) -> Answer:
    """A stream of these pieces."""
    given = {"content-type": media_of(api), **{name.replace("_", "-"): text for name, text in headers.items()}}
    return Answer(200, tuple(given.items()), None, pieces)


def begins(api: str, count: int, *end: Piece) -> Answer:
    """A stream that ends otherwise after so many pieces of content; -1 is before anything at all."""
    return sends(api, *chunks_of(api)[: 0 if count < 0 else BEFORE[api] + count], *end)


def bodied(content: bytes, **headers: str) -> Answer:
    """A whole body of these bytes."""
    given = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return Answer(200, tuple(given.items()), content)


def body_bytes(api: str) -> bytes:
    return json.dumps(body_of(api), ensure_ascii=False).encode()


def pieces_of_body(api: str, *end: Piece) -> Answer:
    """The first half of a body, and then something else."""
    content = body_bytes(api)
    return Answer(200, (("content-type", "application/json"),), None, (content[: len(content) // 2], *end))


def half(api: str, place: int) -> bytes:
    """The first half of a chunk of content."""
    chunk = chunks_of(api)[BEFORE[api] + place]
    return chunk[: len(chunk) * 2 // 3]


def to_character(content: bytes) -> bytes:
    """As far as the first of the two bytes of `ö`."""
    return content[: content.index("ö".encode()) + 1]


def in_character(api: str, *end: Piece) -> Answer:
    """A stream that ends inside `ö`; Amazon's frames are ASCII, so that one ends inside the frame that has it."""
    chunk = chunks_of(api)[BEFORE[api] + 3]
    begun = half(api, 3) if api == "bedrock_converse" else to_character(chunk)
    return begins(api, 3, begun, *end)


def doubled(api: str) -> Answer:
    """Every chunk but those with content comes twice."""
    chunks = chunks_of(api)
    content = range(BEFORE[api], BEFORE[api] + PIECES)
    return sends(api, *[chunk for place, chunk in enumerate(chunks) for _ in range(1 if place in content else 2)])


def mixed(api: str) -> Answer:
    """Unknown events between all others."""
    return sends(api, *[piece for chunk in chunks_of(api) for piece in (chunk, *unknown_chunks(api))])


def commented(api: str) -> Answer:
    """Comments, names, ids and times between the events, as proxies send them to keep a connection open."""
    return sends(api, *[piece for chunk in chunks_of(api) for piece in (chunk, b": ping\n\n", b"id: 7\nretry: 9\n\n")])


def slowly(pieces: tuple[bytes, ...], pause: float) -> list[Piece]:
    return [piece for chunk in pieces for piece in (chunk, pause)]


def later(answer: Answer, delay: float) -> Answer:
    return dataclasses.replace(answer, delay=delay)


def healthy_body(api: str) -> Answer:
    return bodied(body_bytes(api))


def healthy_stream(api: str) -> Answer:
    return sends(api, *chunks_of(api))


HUGE = "x" * (10 << 20)


def huge_body(api: str) -> Answer:
    return bodied(body_bytes(api).replace(HELLO.encode(), HUGE.encode()))


def zipped_stream(api: str) -> Answer:
    content = gzip.compress(b"".join(chunks_of(api)))
    return sends(api, *[content[at : at + 50] for at in range(0, len(content), 50)], content_encoding="gzip")


def date() -> str:
    return email.utils.formatdate(time.time() + 30, usegmt=True)


# --- rows -------------------------------------------------------------------------------------------------------------


def status(name: str, number: int, expected: Expected, *, unlike: Any = None, apis: Any = None, **said: Any) -> Fault:
    """A row of an error that the API says by a status; what is callable among `said` is called when it is sent."""

    def answer(api: str) -> Answer:
        return error_answer(api, number, **{key: value() if callable(value) else value for key, value in said.items()})

    return Fault(name, answer, answer, expected, unlike=unlike or {}, apis=apis or tuple(APIS))


def streams(name: str, stream: Callable[[str], Answer], expected: Expected, **more: Any) -> Fault:
    """A row that only a stream has."""
    return Fault(name, None, stream, expected, **more)


def both(name: str, answer: Callable[[str], Answer], expected: Expected, **more: Any) -> Fault:
    """A row with one answer, whatever was asked for."""
    return Fault(name, answer, answer, expected, **more)


OVERLOADED = dict.fromkeys(("gemini_native", "bedrock_converse"), again("OverloadedError"))
"""Their names for 503 say that it is too busy."""
TOLD_BY_TYPE = dict.fromkeys((*OPENAI, "anthropic_messages"), again("ServerError"))
"""Their types count before the text."""
TOO_LATE = fatal("ProviderTimeoutError", retryable=True)
TOO_LATE_IN_MIDDLE = fatal("ProviderTimeoutError", retryable=True, partial="some")
SERVER_IN_MIDDLE = fatal("ServerError", retryable=True, partial="some")
BUSY_IN_MIDDLE = fatal("OverloadedError", retryable=True, partial="some")
ALL_BUT_THE_END = fatal("StreamInterruptedError", partial="all")
AMAZON = ("bedrock_converse",)
ALL_BUT_COHERE = tuple([api for api in APIS if api != "cohere_chat"])
SSE = tuple([api for api in APIS if api not in (*AMAZON, "gemini_native")])
"""The google-genai SDK takes a comment for the beginning of an error; Google sends none."""

STATUSES = [
    status("400", 400, fatal("InvalidRequestError")),
    status("401", 401, fatal("AuthenticationError")),
    status("403", 403, fatal("PermissionDeniedError")),
    status("404", 404, fatal("NotFoundError")),
    status("408", 408, again("ProviderTimeoutError")),
    status("413", 413, fatal("RequestTooLargeError")),
    status("422", 422, fatal("InvalidRequestError")),
    status("429 Retry-After in seconds", 429, again("RateLimitError", 2.0), retry_after="2"),
    status("429 Retry-After as a date", 429, again("RateLimitError", (25.0, 31.0)), retry_after=date),
    status("429 in milliseconds", 429, again("RateLimitError", 1.5), retry_after_ms="1500", retry_after="9"),
    status("429 in the body", 429, again("RateLimitError", 7.0), delay="7s", apis=("gemini_native",)),
    status("429 without a time", 429, again("RateLimitError", (0.0, 1.0))),
    status("429 later than may be", 429, fatal("RateLimitError", retryable=True), retry_after="600"),
    status("500", 500, again("ServerError")),
    both("502 as a page", lambda api: page(status=502), again("ServerError")),
    status("503", 503, again("ServerError"), message="Service unavailable", unlike=OVERLOADED),
    status("503 overloaded", 503, again("OverloadedError"), message="The model is overloaded.", unlike=TOLD_BY_TYPE),
    status("529", 529, again("OverloadedError")),
]

TIMES = [
    Fault("slow first byte", lambda api: later(healthy_body(api), 0.1), lambda api: later(healthy_stream(api), 0.1),
          FINE, options={"idle_timeout": 0.05}),
    Fault("slow first byte, too late", lambda api: later(healthy_body(api), 5.0),
          lambda api: later(healthy_stream(api), 5.0), TOO_LATE, settings={"timeout": 0.2}),
    Fault("slow", lambda api: pieces_of_body(api, 0.1, body_bytes(api)[len(body_bytes(api)) // 2 :]),
          lambda api: sends(api, *slowly(chunks_of(api), 0.01)), FINE),
    streams("slow, too late", lambda api: sends(api, *slowly(chunks_of(api, "drip " * 100), 0.04)), TOO_LATE_IN_MIDDLE,
            settings={"timeout": 0.6}, text="drip " * 100),
    streams("silent after content", lambda api: begins(api, 2, HOLD), TOO_LATE_IN_MIDDLE,
            options={"idle_timeout": 0.2}),
    streams("silent after content, too late", lambda api: begins(api, 2, HOLD), TOO_LATE_IN_MIDDLE,
            settings={"timeout": 0.4}),
]  # fmt: skip

CONNECTIONS = [
    both("refused", healthy_body, LOST, listening=False),
    both("reset at once", lambda api: RESET_AT_ONCE, LOST),
    Fault("reset in the body", lambda api: pieces_of_body(api, RESET), None, LOST),
    streams("reset before content", lambda api: begins(api, 0, 0.05, RESET), LOST),
    streams("reset after content", lambda api: begins(api, 2, 0.05, RESET), CUT_OFF),
    streams("closed after content", lambda api: begins(api, 2, CUT), CUT_OFF),
    streams("reset after the end", lambda api: sends(api, *chunks_of(api), 0.05, RESET), FINE),
]  # fmt: skip

CUTS = [
    streams("no terminator", lambda api: begins(api, PIECES), ALL_BUT_THE_END),
    streams("no content", lambda api: begins(api, 0), INTERRUPTED),
    streams("nothing", lambda api: begins(api, -1), INTERRUPTED),
    streams("ends in JSON before content", lambda api: begins(api, 0, half(api, 0)), INTERRUPTED),
    Fault("ends in JSON", pieces_of_body, lambda api: begins(api, 2, half(api, 2)), MALFORMED, CUT_OFF),
    Fault("closed in JSON", lambda api: pieces_of_body(api, CUT),
          lambda api: begins(api, 2, Torn(half(api, 2)), CUT), LOST, CUT_OFF),
    Fault("ends in a character", lambda api: bodied(to_character(body_bytes(api))), in_character, MALFORMED, CUT_OFF),
    Fault("closed in a character", lambda api: pieces_of_body(api, Torn(b"\xc3"), CUT),
          lambda api: in_character(api, CUT), LOST, CUT_OFF),
]  # fmt: skip

ERRORS_INSIDE = [
    streams("error before content", lambda api: begins(api, 0, error_chunk(api)), again("OverloadedError"),
            unlike={"cohere_chat": again("ServerError")}),
    streams("error after content", lambda api: begins(api, 2, error_chunk(api)), BUSY_IN_MIDDLE,
            unlike={"cohere_chat": SERVER_IN_MIDDLE}),
    streams("error, its other form", lambda api: begins(api, 2, other_error_chunk(api)), BUSY_IN_MIDDLE, apis=OPENAI),
    streams("error for good, before content", lambda api: begins(api, 0, error_chunk(api, final=True)),
            fatal("InvalidRequestError"), apis=ALL_BUT_COHERE),
    streams("throttlingException before content", lambda api: begins(api, 0, exception_frame("throttlingException")),
            again("RateLimitError"), apis=AMAZON),
    streams("throttlingException", lambda api: begins(api, 2, exception_frame("throttlingException")),
            fatal("RateLimitError", retryable=True, partial="some"), apis=AMAZON),
    streams("modelStreamErrorException", lambda api: begins(api, 2, exception_frame("modelStreamErrorException")),
            SERVER_IN_MIDDLE, apis=AMAZON),
    streams("internalServerException", lambda api: begins(api, 2, exception_frame("internalServerException")),
            SERVER_IN_MIDDLE, apis=AMAZON),
    streams("frame of an error", lambda api: begins(api, 2, error_frame()), SERVER_IN_MIDDLE, apis=AMAZON),
    streams("frame with a wrong checksum", lambda api: begins(api, 2, chunks_of(api)[3][:-1] + b"\0"),
            fatal("MalformedResponseError", retryable=True, partial="some"), apis=AMAZON),
]  # fmt: skip

ODDITIES = [
    streams("events twice", doubled, FINE),
    Fault("unknown events", lambda api: bodied(json.dumps({**body_of(api), "brand_new": {"a": 1}}).encode()), mixed,
          FINE),
    Fault("empty body", lambda api: bodied(b""), lambda api: page("", media=media_of(api)), MALFORMED, INTERRUPTED),
    streams("comments and fields of SSE", commented, FINE, apis=SSE),
    both("empty page", lambda api: page(""), MALFORMED),
    both("page of HTML", lambda api: page(), MALFORMED),
    both("list of JSON", lambda api: bodied(b"[1]"), MALFORMED),
    Fault("10 MB in one chunk", huge_body, lambda api: sends(api, *chunks_of(api, HUGE, len(HUGE))), FINE, text=HUGE),
    Fault("gzip", lambda api: bodied(gzip.compress(body_bytes(api)), content_encoding="gzip"), zipped_stream, FINE,
          unlike=dict.fromkeys(AMAZON, MALFORMED)),
    Fault("no gzip, though it says so", lambda api: bodied(body_bytes(api), content_encoding="gzip"),
          lambda api: sends(api, *chunks_of(api), content_encoding="gzip"), MALFORMED,
          unlike=dict.fromkeys(AMAZON, FINE)),  # boto3 asks for no compression, and looks for none
]  # fmt: skip

FAULTS = [*STATUSES, *TIMES, *CONNECTIONS, *CUTS, *ERRORS_INSIDE, *ODDITIES]
