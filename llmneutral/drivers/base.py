"""BasePromptDriver: the template every driver shares.

A provider's driver fills in `send` and `open` (and their async twins): I/O, and the SDK's errors turned
into the taxonomy's, nothing else; translation belongs to the transport. A driver in Griptape's style
overrides `try_run` and `try_stream` instead and gets retry, events and aggregation.
"""

from __future__ import annotations

import asyncio
import copy
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec
import tenacity

from llmneutral import pipeline, structured
from llmneutral.convert.settings import canonical_settings
from llmneutral.convert.stream import StreamNormalizer, neutral_normalizer
from llmneutral.convert.transport import Conversion
from llmneutral.drivers import retry, runners
from llmneutral.drivers.flow import Call, exchange, info_of
from llmneutral.drivers.streams import AsyncPromptStream, PromptStream
from llmneutral.drivers.template import template_of, threaded
from llmneutral.errors import ConfigurationError, ConversionError, ProviderError, provider_error
from llmneutral.events import BaseEvent, Handle, Listeners, Publisher
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.stack import PromptStack
from llmneutral.profiles import profile
from llmneutral.resolve import canonical_api_mode, resolve_api_mode
from llmneutral.transports import get_transport

CALL_OPTIONS = ("max_attempts", "retry_deadline", "timeout", "on_error", "raise_on", "meta", "run_id", "record")
"""Options of one call that are no settings: they never reach a payload."""


class BasePromptDriver:
    """Talks to one endpoint. Stateless between calls, and safe to share between threads.

    Args:
        model: Model to ask for.
        api_mode: API mode or alias; resolved from provider, address and model unless given.
        provider: Name of the provider.
        base_url: Address of the endpoint.
        api_key: Key; the provider's environment variable counts unless given. It is in no repr.
        facts: Overrides of the model's profile.
        max_attempts: Most requests of one call.
        retry_deadline: Most seconds of all waits of one call.
        timeout: Seconds for a whole request; None leaves it to the SDK.
        stream: Whether `run` streams underneath, and so publishes chunks.
        client: An SDK client of the caller's; it is never closed here.
        async_client: The same for async calls.
        **settings: Neutral settings, each may be overridden per call.

    Raises:
        ConfigurationError: If a mode, setting or fact is unknown.
    """

    key_variable: str | None = None
    needs_key: bool = True

    def __init__(
        self,
        model: str | None = None,
        *,
        api_mode: str | None = None,
        provider: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        facts: Mapping[str, Any] | None = None,
        max_attempts: int = 3,
        retry_deadline: float = 60.0,
        timeout: float | None = None,
        stream: bool = False,
        client: Any = None,
        async_client: Any = None,
        **settings: Any,
    ) -> None:
        self.model = model
        self.provider = provider
        self.base_url = base_url
        self.api_mode = self._resolved(api_mode)
        self.facts = dict(facts or {})
        self.max_attempts = max_attempts
        self.retry_deadline = retry_deadline
        self.timeout = timeout
        self.stream_by_default = stream
        self.settings = canonical_settings(settings)
        profile(self.api_mode, provider, base_url, model, self.facts)  # an unknown fact is told at once
        self.listeners = Listeners()
        self.clock: Callable[[], float] = time.monotonic
        self.sleep: Callable[[float], object] = time.sleep
        self._api_key = api_key
        self._client = client
        self._async_client = async_client

    def _resolved(self, api_mode: str | None) -> str:
        if api_mode is not None:
            return canonical_api_mode(api_mode)
        decision = resolve_api_mode(provider=self.provider, base_url=self.base_url, model=self.model)
        return decision.mode

    # --- what a caller uses ---------------------------------------------------------------------

    def run(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """Asks, and waits for the whole answer.

        Args:
            source: As for `llmneutral.convert`.
            **overrides: Settings of this call; also `model`, `tools`, `tool_choice`, `output_schema`, `facts`, and
                `max_attempts`, `retry_deadline`, `timeout`, `on_error="return"`, `raise_on={"refusal"}`, `meta`.

        Raises:
            ConfigurationError: If a setting is unknown or the key is missing.
            ConversionError: If the source cannot be sent.
            ProviderError: If the provider failed, after all retries.
            StructuredOutputError: If an output schema was asked for and the answer does not fit it.
        """
        options = _taken(overrides)
        call = self._call(source, overrides, options)
        try:
            for _ in runners.run(exchange(call), call.io, self.sleep):
                pass
        except ProviderError as error:
            return _returned(error, call, options)
        return self._answer(call, options)

    def stream(self, source: Any, **overrides: Any) -> PromptStream:
        """Asks, and gives the answer piece by piece; arguments and errors as for `run`."""
        options = _taken(overrides)
        call = self._call(source, {**overrides, "stream": True}, options)
        deltas = runners.run(exchange(call), call.io, self.sleep)
        return PromptStream(call, deltas, lambda response: pipeline.with_parsed(response, call.conversion))

    async def arun(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """The async twin of `run`."""
        options = _taken(overrides)
        call = self._call(source, overrides, options)
        deltas = runners.arun(exchange(call), call.io, asyncio.sleep)
        try:
            async for _ in deltas:
                pass
        except ProviderError as error:
            return _returned(error, call, options)
        finally:
            await runners.aclose(deltas)
        return self._answer(call, options)

    def astream(self, source: Any, **overrides: Any) -> AsyncPromptStream:
        """The async twin of `stream`; the call begins with the first `anext`."""
        options = _taken(overrides)
        call = self._call(source, {**overrides, "stream": True}, options)
        deltas = runners.arun(exchange(call), call.io, asyncio.sleep)
        return AsyncPromptStream(call, deltas, lambda response: pipeline.with_parsed(response, call.conversion))

    def preview(self, source: Any, **overrides: Any) -> Conversion:
        """Returns the request that a call would send; sends nothing and needs no key."""
        _taken(overrides)
        return self.convert(source, **overrides)

    def on(self, event_type: type[BaseEvent], listener: Callable[[Any], object]) -> Handle:
        """Calls a listener with this driver's events of a class."""
        return self.listeners.on(event_type, listener)

    def close(self) -> None:
        """Closes what this driver opened; the caller's clients stay open."""

    # --- the template (Griptape's names) --------------------------------------------------------

    def before_run(self, prompt_stack: PromptStack) -> None:
        """A hook before the first request of a call; for subclasses."""

    def after_run(self, response: NormalizedResponse) -> None:
        """A hook after the answer of a call; for subclasses."""

    def retrying(self, max_attempts: int | None = None, retry_deadline: float | None = None) -> tenacity.Retrying:
        """Returns tenacity's policy of one call."""
        attempts = self.max_attempts if max_attempts is None else max_attempts
        return retry.retrying(attempts, self.retry_deadline if retry_deadline is None else retry_deadline)

    def try_run(self, prompt_stack: PromptStack) -> Message:
        """Asks once and returns the answer's message; a subclass may do it all by itself here."""
        conversion = self.convert(prompt_stack)
        return self.normalizer(conversion, whole=self.send(conversion)).response.message

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        """Asks once and yields the answer's deltas; a subclass may do it all by itself here."""
        conversion = self.convert(prompt_stack, stream=True)
        normalizer = self.normalizer(conversion)
        for chunk in self.open(conversion):
            yield from normalizer.feed(chunk)
        yield from normalizer.close()

    # --- what a provider fills in ---------------------------------------------------------------

    def send(self, conversion: Conversion) -> Any:
        """Sends a request and returns the answer's body as a dict.

        Raises:
            ProviderError: In place of the SDK's own errors.
        """
        raise self._unfilled("send")

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Sends a request and returns its chunks as dicts; the iterator's `close()` ends the connection.

        Raises:
            ProviderError: In place of the SDK's own errors.
        """
        raise self._unfilled("open")

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`; in a thread unless a provider has better."""
        return await asyncio.to_thread(self.send, conversion)

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`; through a thread unless a provider has better."""
        return threaded(await asyncio.to_thread(self.open, conversion))

    def _unfilled(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{type(self).__name__} can neither {what} nor try_run: it fills in none of them")

    # --- inside ---------------------------------------------------------------------------------

    def convert(self, source: Any, **overrides: Any) -> Conversion:
        """Converts a source for this driver's endpoint; settings of the driver count unless overridden."""
        facts = {**self.facts, **(overrides.pop("facts", None) or {})}
        model = overrides.pop("model", None) or self.model
        given = pipeline.snapshot(source)
        carried = {name: value for name, value in self.settings.items() if name not in given.settings}
        return pipeline.convert_snapshot(
            given,
            self.api_mode,
            model=model,
            provider=self.provider,
            base_url=self.base_url,
            facts=facts or None,
            **{**carried, **overrides},
        )

    def normalizer(self, conversion: Conversion, whole: Any = None) -> StreamNormalizer:
        """Returns a normaliser for one answer of a request; with a whole answer, one that has read it."""
        target = conversion.target
        found = get_transport(self.api_mode).stream(names=conversion.names, host=target.host, facts=target.facts)
        if whole is not None:
            found.whole(whole)
            found.close()
        return found

    def _call(self, source: Any, overrides: dict[str, Any], options: dict[str, Any]) -> Call:
        """Prepares a call: everything that can go wrong before the network goes wrong here."""
        stream = bool(overrides.get("stream", self.settings.get("stream", self.stream_by_default)))
        own = template_of(self)
        conversion = None
        if own is None:
            self._require_key()
            conversion = self._conversion(source, overrides, stream)
            stream = stream or conversion.target.facts.thinking_requires_stream
            self.before_run(PromptStack(pipeline.snapshot(source).messages))
        else:
            self.before_run(own.take(source, {**self.settings, **overrides}))
            stream = own.has_stream and (stream or not own.has_run)
        names = {
            "provider": self.provider,
            "api": self.api_mode,
            "model": overrides.get("model") or self.model,
        }
        return Call(
            conversion,
            io=own or self._with_timeout(options.get("timeout")),
            stream=stream,
            retrying=self.retrying(options.get("max_attempts"), options.get("retry_deadline")),
            publisher=Publisher(
                self.listeners,
                run_id=options.get("run_id"),
                driver=type(self).__name__,
                meta=options.get("meta"),
                **names,
            ),
            normalizer=neutral_normalizer if conversion is None else lambda: self.normalizer(conversion),
            clock=self.clock,
            record=bool(options.get("record")),
            context={**names, "host": None if conversion is None else conversion.target.host},
        )

    def _with_timeout(self, timeout: float | None) -> BasePromptDriver:
        """Returns this driver, or for a call with a time-out of its own a view of it that shares its clients."""
        if timeout is None:
            return self
        view = copy.copy(self)
        view.timeout = timeout
        return view

    def _conversion(self, source: Any, overrides: dict[str, Any], stream: bool) -> Conversion:
        conversion = self.convert(source, **{**overrides, "stream": stream})
        if conversion.target.facts.thinking_requires_stream and not stream:
            conversion = self.convert(source, **{**overrides, "stream": True})
        if conversion.open_calls:
            listed = ", ".join(conversion.open_calls)
            raise ConversionError(
                f"the calls {listed} still wait for their results: add them, or set orphan_calls",
                rule="open_calls",
                api=self.api_mode,
            )
        return conversion

    def _answer(self, call: Call, options: dict[str, Any]) -> NormalizedResponse:
        response = call.response
        plan = None if call.conversion is None else call.conversion.answer
        if plan is not None and structured.wants_parsing(response, plan):
            response = msgspec.structs.replace(response, parsed=structured.parse(response, plan))
        self.after_run(response)
        reason = response.finish_reason
        if reason in (options.get("raise_on") or ()):
            info = response.error
            kind = info.type if info is not None else "content_filter_error"
            raise call.described(
                provider_error(
                    kind,
                    message=f"the answer ended with {reason}",
                    raw_type=response.raw_finish_reason,
                    partial=response,
                )
            )
        return response

    def key(self) -> str | None:
        """Returns the key of this moment: the given one, else the environment's."""
        return self._api_key or (os.environ.get(self.key_variable) if self.key_variable else None) or None

    def _require_key(self) -> None:
        if self.needs_key and self._client is None and self._async_client is None and not self.key():
            name = self.key_variable or "api_key="
            raise ConfigurationError(
                f"{type(self).__name__} has no key: {name} is not set",
                provider=self.provider,
                hint=f"Set {name}, or use a driver that needs none (LocalDriversConfig, `%provider local`).",
            )

    def __repr__(self) -> str:
        """Shows where it talks to, and of the key only whether it is set."""
        key = "key set" if self.key() else "key not set"
        place = f", base_url={self.base_url!r}" if self.base_url else ""
        return f"{type(self).__name__}(model={self.model!r}, api_mode={self.api_mode!r}{place}, {key})"


def _taken(overrides: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of a call out of its overrides."""
    return {name: overrides.pop(name) for name in CALL_OPTIONS if name in overrides}


def _returned(error: ProviderError, call: Call, options: dict[str, Any]) -> NormalizedResponse:
    """Raises an error, or (on_error="return") gives the response with the error in it."""
    if options.get("on_error") != "return":
        raise error
    call.current.fail(info_of(error))
    call.current.close()
    return msgspec.structs.replace(call.response, complete=False)
