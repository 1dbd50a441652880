"""Every exception of the library, in one tree.

```
LLMNeutralError
├─ ConfigurationError         (also a ValueError) unknown mode, provider, setting; absent driver slot; missing key
├─ ConversionError            the source or a setting cannot be sent; before any network
│  └─ SettingError            (also a ConfigurationError) the value of a setting is none that it takes
├─ StructuredOutputError      no valid value after all repairs; carries every attempt
├─ ToolLoopError              bound of the tool loop reached
├─ MissingExtraError          SDK not installed; names the extra to install
└─ ProviderError              type                        retryable
   ├─ AuthenticationError     authentication_error        no
   ├─ PermissionDeniedError   permission_error            no
   ├─ BillingError            billing_error               no
   ├─ NotFoundError           not_found_error             no
   ├─ InvalidRequestError     invalid_request_error       no
   │  ├─ ContextLengthError   context_length_error        no
   │  ├─ RequestTooLargeError request_too_large           no
   │  └─ ContentFilterError   content_filter_error        no
   ├─ RateLimitError          rate_limit_error            yes
   ├─ OverloadedError         overloaded_error            yes
   ├─ ServerError             server_error                yes
   ├─ ConflictError           conflict_error              yes
   ├─ ProviderTimeoutError    timeout_error               yes
   ├─ ProviderConnectionError connection_error            yes
   ├─ StreamInterruptedError  stream_interrupted          only before the first content
   └─ MalformedResponseError  malformed_response, malformed_function_call   yes
```

What must live here: the classes, and the way from a type to its class. `classify` (which type is it?), `body` (what
does the answer say?) and `scrub` (no secrets) stand in files of their own, know no class, and are re-exported here.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from llmneutral.errors.body import ErrorFacts, parse_retry_after, read_error_body
from llmneutral.errors.classify import RETRYABLE_TYPES, TYPES, classify, exception_type, is_retryable, is_too_long
from llmneutral.errors.scrub import MASK, scrub

__all__ = [
    "ERROR_CLASSES",
    "MASK",
    "RETRYABLE_TYPES",
    "TYPES",
    "AuthenticationError",
    "BillingError",
    "ConfigurationError",
    "ConflictError",
    "ContentFilterError",
    "ContextLengthError",
    "ConversionError",
    "ErrorFacts",
    "InvalidRequestError",
    "LLMNeutralError",
    "MalformedResponseError",
    "MissingExtraError",
    "NotFoundError",
    "OverloadedError",
    "PermissionDeniedError",
    "ProviderConnectionError",
    "ProviderError",
    "ProviderTimeoutError",
    "RateLimitError",
    "RequestTooLargeError",
    "ServerError",
    "SettingError",
    "StreamInterruptedError",
    "StructuredOutputError",
    "ToolLoopError",
    "classify",
    "error_from_response",
    "exception_type",
    "is_retryable",
    "is_too_long",
    "parse_retry_after",
    "provider_error",
    "read_error_body",
    "scrub",
]

_LONGEST_LINE = 1000
"""Characters of a line that is shown; `error.message` keeps everything."""
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class LLMNeutralError(Exception):
    """The root of the tree; carries what is known about the failure, as attributes.

    Message and hint are scrubbed of secrets when the error is made. Every error can be pickled, if what it carries can.

    Attributes:
        message: What happened, in the provider's words where it has any.
        provider: Who was asked ("openrouter").
        api: The API mode ("chat_completions").
        model: The model that was asked for.
        host: The host of the endpoint, without credentials.
        status: The HTTP status.
        type: The kind of failure, one of `TYPES` for a `ProviderError`.
        raw_type: The provider's own type.
        code: The provider's own code.
        path: Where in the request the provider sees the fault, in its spelling ("messages[1].content").
        request_id: What the provider's support asks for.
        retry_after: Seconds the provider asks to wait.
        attempts: Number of requests that were made.
        hint: One line: what to do.
        partial: The NormalizedResponse as far as it came, or None.
        retryable: Whether the same call may succeed later.
    """

    type: str | None = None
    retryable: bool = False
    default_hint: ClassVar[str | None] = None

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        api: str | None = None,
        model: str | None = None,
        host: str | None = None,
        status: int | None = None,
        type: str | None = None,
        raw_type: str | None = None,
        code: str | int | None = None,
        path: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        attempts: int | None = None,
        hint: str | None = None,
        partial: Any = None,
        retryable: bool | None = None,
    ) -> None:
        self.message = scrub(message)
        super().__init__(self.message)
        self.provider = provider
        self.api = api
        self.model = model
        self.host = host
        self.status = status
        if type is not None:
            self.type = type
        self.raw_type = raw_type
        self.code = code
        self.path = None if path is None else scrub(path)
        self.request_id = request_id
        self.retry_after = retry_after
        self.attempts: Any = attempts
        self.hint = self.default_hint if hint is None else scrub(hint)
        self.partial = partial
        if retryable is not None:
            self.retryable = retryable

    def __str__(self) -> str:
        """One clear line: the message and the hint."""
        return _line(f"{_sentence(self.message)} {self.hint}" if self.hint else self.message)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: at most four lines, without secrets and locals."""
        facts = [str(fact) for fact in (self.type, f"status {self.status}" if self.status else None) if fact]
        name = builtins.type(self).__name__
        title = f"{name} ({', '.join(facts)})" if facts else name
        lines = [f"{title}: {self.message}", self._place(), f"→ {self.hint}" if self.hint else ""]
        return [_line(scrub(line)) for line in lines if line]

    def _place(self) -> str:
        """Who failed, for the second line."""
        pairs = (
            ("at", self.path if self.path and self.path not in self.message else None),
            ("provider", self.provider),
            ("model", self.model),
            ("api", self.api),
            ("host", self.host),
            ("request id", self.request_id),
            ("attempts", self.attempts if isinstance(self.attempts, int) else None),
            ("retry after", f"{self.retry_after:g} s" if self.retry_after is not None else None),
        )
        return " · ".join(f"{name} {value}" for name, value in pairs if value is not None)


class ConfigurationError(LLMNeutralError, ValueError):
    """A mode, provider or setting is unknown, a driver slot is absent, or a key is missing."""


class ConversionError(LLMNeutralError):
    """The source or a setting cannot be sent to this API; raised before any network use.

    Attributes:
        refs: Where: addresses (message, block) in the source, as `Ref`; the message text need not repeat them.
        rule: The pass or step that refused ("pair_results").
        changes: What the conversion had recorded until then; the last one is of kind refused.
    """

    def __init__(
        self,
        message: str = "",
        *,
        refs: Iterable[Any] = (),
        rule: str | None = None,
        changes: Iterable[Any] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(message, **attributes)
        self.refs = tuple(refs)
        self.rule = rule
        self.changes = tuple(changes)

    def __str__(self) -> str:
        place = self._place()
        told = f"{self.message.strip().removesuffix('.')} ({place})" if place else self.message
        return _line(f"{_sentence(told)} {self.hint}" if self.hint else told)

    def _place(self) -> str:
        where = [_address(ref) for ref in self.refs[:4]]
        if len(self.refs) > 4:
            where.append(f"and {len(self.refs) - 4} more")
        pairs = (("rule", self.rule), ("api", self.api), ("model", self.model))
        return " · ".join([*where, *(f"{name} {value}" for name, value in pairs if value is not None)])


class SettingError(ConversionError, ConfigurationError):
    """The value of a setting is none that it takes."""


class StructuredOutputError(LLMNeutralError):
    """No valid value came, not even after all repairs.

    Attributes:
        attempts: Every attempt: its text, its problems and its usage.
        response: The last response, or None.
    """

    def __init__(
        self, message: str = "", *, attempts: Iterable[Any] = (), response: Any = None, **attributes: Any
    ) -> None:
        super().__init__(message, **attributes)
        self.attempts = tuple(attempts)
        self.response = response


class ToolLoopError(LLMNeutralError):
    """The bound of the tool loop was reached.

    Attributes:
        steps: Number of steps that were made.
        stack: The prompt stack so far, with every call and result.
        response: The last response, or None.
    """

    def __init__(
        self, message: str = "", *, steps: int | None = None, stack: Any = None, response: Any = None, **attributes: Any
    ) -> None:
        super().__init__(message, **attributes)
        self.steps = steps
        self.stack = stack
        self.response = response


class MissingExtraError(LLMNeutralError):
    """A package that an extra brings is not installed.

    Attributes:
        package: What is missing ("google-genai").
        extra: The extra that brings it ("google").
    """

    def __init__(
        self, message: str = "", *, package: str | None = None, extra: str | None = None, **attributes: Any
    ) -> None:
        if not message and package:
            message = f"{package} is not installed"
        if extra and attributes.get("hint") is None:
            attributes["hint"] = f"pip install 'llmneutral[{extra}]'"
        super().__init__(message, **attributes)
        self.package = package
        self.extra = extra


class ProviderError(LLMNeutralError):
    """The provider refused or failed, or could not be reached."""

    type: str = "server_error"

    def to_dict(self) -> dict[str, Any]:
        """Returns the form that stands in `NormalizedResponse.to_dict()["error"]`."""
        return {
            "type": self.type,
            "raw_type": self.raw_type,
            "message": self.message,
            "status": self.status,
            "retryable": self.retryable,
        }


class AuthenticationError(ProviderError):
    """The key is absent, wrong or expired."""

    type = "authentication_error"
    default_hint = "Check the API key, and that it belongs to this endpoint."


class PermissionDeniedError(ProviderError):
    """The key is known, but may not do this."""

    type = "permission_error"
    default_hint = "The key may not use this model or feature; check the project, the region and the terms."


class BillingError(ProviderError):
    """The account has no credit or quota left."""

    type = "billing_error"
    default_hint = "The account has no credit or quota left."


class NotFoundError(ProviderError):
    """The model or the path does not exist here."""

    type = "not_found_error"
    default_hint = "Check the model's name and the base_url."


class InvalidRequestError(ProviderError):
    """The request was understood and refused."""

    type = "invalid_request_error"


class ContextLengthError(InvalidRequestError):
    """The prompt, or prompt and answer, do not fit the context window."""

    type = "context_length_error"
    default_hint = "Shorten the prompt, lower max_tokens, or take a model with a larger context window."


class RequestTooLargeError(InvalidRequestError):
    """The request has more bytes than the endpoint takes."""

    type = "request_too_large"
    default_hint = "Send fewer or smaller media."


class ContentFilterError(InvalidRequestError):
    """A filter of the provider refused the prompt."""

    type = "content_filter_error"
    default_hint = "The provider's content filter refused the prompt."


class RateLimitError(ProviderError):
    """Too many requests or tokens in a time."""

    type = "rate_limit_error"
    retryable = True
    default_hint = "Wait before the next request, and send fewer at a time."


class OverloadedError(ProviderError):
    """The provider has no capacity at the moment."""

    type = "overloaded_error"
    retryable = True
    default_hint = "Ask again later, or another model."


class ServerError(ProviderError):
    """The provider failed."""

    type = "server_error"
    retryable = True
    default_hint = "The fault is the provider's: ask again later, or another model."


class ConflictError(ProviderError):
    """The request met another one."""

    type = "conflict_error"
    retryable = True


class ProviderTimeoutError(ProviderError):
    """No answer came in time."""

    type = "timeout_error"
    retryable = True


class ProviderConnectionError(ProviderError):
    """No response came at all."""

    type = "connection_error"
    retryable = True
    default_hint = "Check the base_url and the network; a local server must be running."


class StreamInterruptedError(ProviderError):
    """A stream broke off; `partial` keeps what had come. Whether it is retryable depends on what was delivered."""

    type = "stream_interrupted"


class MalformedResponseError(ProviderError):
    """The answer is not what the API promises."""

    type = "malformed_response"
    retryable = True


def provider_error(type: str, message: str = "", **attributes: Any) -> ProviderError:
    """Returns the error of a type; raises nothing.

    Args:
        type: One of `TYPES`; another string is classified first ("api_error" makes a `ServerError`).
        message: The provider's text.
        **attributes: As in `LLMNeutralError`; `retryable` is worked out from type and status where it is not given.
    """
    known = type if type in ERROR_CLASSES else classify(type=type, status=attributes.get("status"))
    if attributes.get("retryable") is None:
        attributes["retryable"] = is_retryable(known, attributes.get("status"))
    return ERROR_CLASSES[known](message, type=known, **attributes)


def error_from_response(
    body: Any, status: int | None = None, headers: Mapping[str, str] | None = None, **attributes: Any
) -> ProviderError:
    """Returns the error that an error answer stands for.

    Args:
        body: As in `read_error_body`.
        status: As in `read_error_body`.
        headers: As in `read_error_body`.
        **attributes: Further attributes (provider, api, model, host, attempts …), and `now` of `read_error_body`.
    """
    facts = read_error_body(body, status, headers, now=attributes.pop("now", None))
    message = facts["message"] or (f"the provider answered with status {status}" if status else "no reason was given")
    return provider_error(**{**facts, "message": message, **attributes})


def _sentence(text: str) -> str:
    """Text that another sentence may follow."""
    text = text.strip()
    return f"{text}." if text and text[-1] not in ".!?…:" else text


def _line(text: str) -> str:
    """A text as one line that is what it seems: a terminal obeys none of it, and nothing turns its order around."""
    text = _HIDDEN.sub("\ufffd", " ".join(text.split()))
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


def _address(ref: Any) -> str:
    """A Ref, a pair or a number, in words."""
    message, block = getattr(ref, "message", ref), getattr(ref, "block", None)
    if isinstance(message, tuple):
        message, block = (*message, None)[:2]
    return f"message {message}" if block is None else f"message {message}, block {block}"


ERROR_CLASSES: Mapping[str, builtins.type[ProviderError]] = {
    "authentication_error": AuthenticationError,
    "permission_error": PermissionDeniedError,
    "billing_error": BillingError,
    "not_found_error": NotFoundError,
    "invalid_request_error": InvalidRequestError,
    "context_length_error": ContextLengthError,
    "request_too_large": RequestTooLargeError,
    "content_filter_error": ContentFilterError,
    "rate_limit_error": RateLimitError,
    "overloaded_error": OverloadedError,
    "server_error": ServerError,
    "conflict_error": ConflictError,
    "timeout_error": ProviderTimeoutError,
    "connection_error": ProviderConnectionError,
    "stream_interrupted": StreamInterruptedError,
    "malformed_response": MalformedResponseError,
    "malformed_function_call": MalformedResponseError,
}
