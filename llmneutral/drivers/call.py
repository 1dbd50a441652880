"""One call in progress: what is asked, of whom, and what it has come to so far.

Nothing here waits or talks. The script of a call stands in `flow`, the loops that do what it says in `runners`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import tenacity

from llmneutral.convert.neutral import neutral_normalizer
from llmneutral.convert.stream import StreamNormalizer
from llmneutral.convert.transport import Conversion
from llmneutral.drivers.options import CallOptions
from llmneutral.errors import LLMNeutralError, ProviderError, StreamInterruptedError, provider_error, scrub
from llmneutral.events import Publisher
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.responses import ErrorInfo, FailedAttempt, NormalizedResponse, ResponseMetadata

Record = list[tuple[float, Any, list[DeltaMessage]]]


class Body(dict[str, Any]):
    """A whole answer's body, and what came beside it.

    Attributes:
        request_id: What the provider called the request.
        headers: Headers of the answer.
    """

    request_id: str | None = None
    headers: Mapping[str, str] = {}


class Call:
    """One call in progress.

    Args:
        conversion: The request; every attempt sends the same. None: the driver makes its own, or it waits for `fetch`.
        io: What sends and opens: the driver, as a rule.
        stream: Whether the answer is streamed.
        retrying: Tenacity's policy.
        publisher: Where events go.
        normalizer: Makes the normaliser of one attempt.
        options: Time-out, what becomes of failures, record.
        clock: Seconds, monotonic.
        context: Attributes of errors: provider, api, model, host.
        secrets: What must not stand in an error.
        hint: What to do about an error, or None for the class's own words.
        recover: Makes the request once more without reasoning, for a provider that refuses the reasoning.
        fetch: Addresses to fetch before the conversion, and the conversion of what was fetched.
        after: Called with the response when the call has ended well.
        since: When the time began that `timeout` bounds, where that was before the call.

    Attributes:
        current: The normaliser of the last attempt.
        attempts: Requests sent so far.
        committed: Whether content was given: from then on nothing is sent a second time.
        held: Deltas of the last attempt that were not given yet.
        over: Whether the call's last event is out.
        answer: The body of a call that is no prompt (counting tokens).
        fetched: The setting `fetch` with what was fetched for the conversion, if anything was.
        record: Raw chunks with their times and deltas, or None.
    """

    def __init__(
        self,
        conversion: Conversion | None,
        *,
        io: Any,
        stream: bool,
        retrying: tenacity.Retrying,
        publisher: Publisher,
        normalizer: Callable[[Conversion | None], StreamNormalizer],
        options: CallOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
        context: Mapping[str, Any] | None = None,
        secrets: tuple[str, ...] = (),
        hint: Callable[[ProviderError], str | None] | None = None,
        recover: Callable[[], Conversion] | None = None,
        fetch: tuple[list[str], Callable[[Any], Conversion]] | None = None,
        after: Callable[[NormalizedResponse], None] | None = None,
        since: float | None = None,
    ) -> None:
        self.conversion = conversion
        self.io = io
        self.stream = stream
        self.retrying = retrying
        self.publisher = publisher
        self.options = options or CallOptions()
        self.clock = clock
        self.context = dict(context or {})
        self.recover = recover
        self.fetch = fetch
        self.after = after
        self.since = since
        self.attempts = 0
        self.committed = False
        self.over = False
        self.held: list[DeltaMessage] = []
        self.answer: Any = None
        self.fetched: dict[str, Any] = {}
        self.record: Record | None = [] if self.options.record else None
        self._normalizer = normalizer
        self._secrets = tuple([secret for secret in secrets if secret])
        self._hint = hint
        self._request_id: str | None = None
        self._headers: Mapping[str, str] = {}
        self._retries: list[FailedAttempt] = []
        self._first_delta: float | None = None
        self._total: float | None = None
        self._final: NormalizedResponse | None = None
        self.current = neutral_normalizer() if fetch else normalizer(conversion)
        self.began = clock()

    # --- as it goes on --------------------------------------------------------------------------

    def begin(self) -> None:
        """The call begins now."""
        self.began = self.clock()
        self.since = self.began if self.since is None else self.since

    def attempt(self, number: int) -> StreamNormalizer:
        """Begins an attempt: nothing of an earlier one is kept but that it failed."""
        self.attempts = self.publisher.attempt = number
        self.current = self._normalizer(self.conversion)
        self.held = []
        if self.record is not None:
            self.record.clear()
        if self.options.timeout is not None:
            self.io.timeout = max(0.001, self.rest())
        return self.current

    def heard(self, answer: Any) -> None:
        """An answer begins: what came beside it is kept."""
        self._request_id = getattr(answer, "request_id", None)
        self._headers = getattr(answer, "headers", None) or {}

    def commit(self) -> float:
        """The first piece of content is about to be given; returns the seconds it took."""
        self.committed = True
        self._first_delta = self.clock() - self.began
        return self._first_delta

    def failed(self, error: Exception, wait: float) -> ErrorInfo:
        """An attempt failed and is followed by another one."""
        info = self.info(self.described(error))
        request_id = getattr(error, "request_id", None) or self._request_id
        self._retries.append(FailedAttempt(info, wait, self.current.response.usage, request_id))
        self._request_id, self._headers = None, {}
        return info

    def finish(self) -> None:
        """The call has ended, well or badly."""
        self.over = True
        self._total = self.clock() - self.began

    def rest(self) -> float:
        """Seconds that are left of the time-out."""
        assert self.options.timeout is not None
        since = self.began if self.since is None else self.since
        return since + self.options.timeout - self.clock()

    def check_time(self) -> None:
        """Raises where the time-out is over.

        Raises:
            ProviderTimeoutError: If it is.
        """
        if self.options.timeout is not None and self.rest() <= 0:
            raise provider_error("timeout_error", f"the call took longer than timeout={self.options.timeout:g} s")

    # --- what it has come to --------------------------------------------------------------------

    @property
    def response(self) -> NormalizedResponse:
        """The answer as far as it has come."""
        if self._final is not None:
            return self._final
        response = msgspec.structs.replace(self.current.response, metadata=self.metadata)
        if self.over:
            self._final = response
        return response

    @property
    def metadata(self) -> ResponseMetadata:
        """Attempts, times and request id, as far as they are known."""
        limits = {name.lower(): text for name, text in self._headers.items() if _is_limit(name)}
        return ResponseMetadata(
            self.attempts, self._first_delta, self._total, self._request_id, limits, tuple(self._retries)
        )

    # --- errors ---------------------------------------------------------------------------------

    def described(self, error: Exception) -> Exception:
        """Completes an error by what the call knows of itself, and takes the key out of it."""
        if not isinstance(error, LLMNeutralError):
            return error
        for name, value in self.context.items():
            if getattr(error, name, None) is None:
                setattr(error, name, value)
        error.message = self.clean(error.message)
        error.args = (error.message, *error.args[1:])
        if isinstance(error, ProviderError):
            self._completed(error)
        return error

    def _completed(self, error: ProviderError) -> None:
        error.attempts = self.attempts
        error.request_id = error.request_id or self._request_id
        self._request_id = self._request_id or error.request_id
        if self._hint is not None and (hint := self._hint(error)) is not None:
            error.hint = hint

    def keep_partial(self, error: Exception) -> NormalizedResponse | None:
        """Gives an error the answer as far as it came, where something came; returns it."""
        if isinstance(error, LLMNeutralError):
            if error.partial is None and self.current.reader.slots:
                error.partial = self.response
            return error.partial if isinstance(error.partial, NormalizedResponse) else None
        return None

    def interrupted(self, message: str, raw_type: str | None = None) -> StreamInterruptedError:
        """Returns the error for a stream that broke off: it may be repeated as long as nothing was given."""
        return StreamInterruptedError(message, raw_type=raw_type, retryable=not self.committed)

    def check_reason(self) -> None:
        """Raises where the answer ended for a reason that the caller wants raised.

        Raises:
            ProviderError: If it did.
        """
        response = self.response
        if (reason := response.finish_reason) in self.options.raise_on:
            kind, hint = REASONS.get(str(reason), ("server_error", None))
            said = f": {response.refusal['text']}" if response.refusal and response.refusal["text"] else ""
            message = f"the answer ended with {reason}{said}"
            raise provider_error(
                kind, message, raw_type=response.raw_finish_reason, hint=hint, partial=response, retryable=False
            )

    def info(self, error: Exception) -> ErrorInfo:
        """Returns an error as a value, without secrets."""
        return self._clean_info(info_of(error))

    def clean(self, text: str) -> str:
        """Returns a text without secrets."""
        return scrub(text, *self._secrets)

    def cleaned(self, deltas: list[DeltaMessage]) -> list[DeltaMessage]:
        """Takes the key out of an error that stands inside an answer, and returns the deltas without it."""
        reader = self.current.reader
        assert reader.error_info is not None
        reader.error_info = self._clean_info(reader.error_info)
        return [
            delta if delta.error is None else msgspec.structs.replace(delta, error=self._clean_info(delta.error))
            for delta in deltas
        ]

    def _clean_info(self, info: ErrorInfo) -> ErrorInfo:
        return msgspec.structs.replace(info, message=self.clean(info.message))

    def error_of(self, info: ErrorInfo) -> ProviderError:
        """Returns the exception for an error that stood inside an answer."""
        return provider_error(
            info.type,
            message=info.message or "the provider gave no reason",
            raw_type=info.raw_type,
            status=info.status,
            code=info.code,
            retryable=info.retryable,
        )


REASONS: dict[str, tuple[str, str | None]] = {
    "refusal": ("content_filter_error", "The model refused; the refusal stands in the error's `partial`."),
    "content_filter": ("content_filter_error", "The provider's content filter ended the answer."),
    "length": ("invalid_request_error", "Raise max_tokens; what came stands in the error's `partial`."),
    "incomplete": ("stream_interrupted", None),
}
"""What a finish reason is as an error, and what to do about it."""


def _is_limit(header: str) -> bool:
    name = header.lower()
    return "ratelimit" in name or "rate-limit" in name or name == "retry-after"


def info_of(error: Exception) -> ErrorInfo:
    """Returns an exception as a value."""
    if not isinstance(error, LLMNeutralError):
        return ErrorInfo("server_error", type(error).__name__, str(error))
    code = None if error.code is None else str(error.code)
    kind = error.type or "server_error"
    return ErrorInfo(kind, error.raw_type, error.message, error.status, error.retryable, code)
