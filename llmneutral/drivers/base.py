"""BasePromptDriver: the template every driver shares.

A provider's driver fills in `send` and `open` (and their async twins): I/O, and the SDK's errors turned
into the taxonomy's, nothing else; translation belongs to the transport. A driver in Griptape's style
overrides `try_run` and `try_stream` instead and gets retry, events and aggregation.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, Literal, Self

import tenacity

from llmneutral import pipeline
from llmneutral.convert.settings import canonical_settings, flag
from llmneutral.convert.stream import StreamNormalizer
from llmneutral.convert.transport import Conversion
from llmneutral.drivers import prepare, retry, runners
from llmneutral.drivers.call import Body
from llmneutral.drivers.counting import TokenCount
from llmneutral.drivers.hints import hint_for
from llmneutral.drivers.keys import ApiKey, is_local, key_variables_of
from llmneutral.drivers.options import CallOptions
from llmneutral.drivers.streams import AsyncPromptStream, PromptStream
from llmneutral.drivers.threads import Pumped, in_thread
from llmneutral.errors import ConfigurationError, ProviderError, scrub
from llmneutral.events import BaseEvent, Handle, Listeners
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.stack import PromptStack
from llmneutral.profiles import Profile, are_texts, joined, profile
from llmneutral.resolve import resolve_api_mode
from llmneutral.transports import get_transport


class _Managed:
    """What can be closed, and is at the end of a `with` block."""

    def close(self) -> None:
        """Closes what this driver opened for sync calls; the caller's clients stay open."""

    async def aclose(self) -> None:
        """Closes what this driver opened, in the running event loop too."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class BasePromptDriver(_Managed):
    """Talks to one endpoint. Stateless between calls, and safe to share between threads; a context manager.

    Args:
        model: Model to ask for.
        api_mode: API mode or alias; resolved from provider, address and model unless given.
        provider: Name of the provider.
        base_url: Address of the endpoint.
        api_key: Key; the environment variable of the endpoint's vendor counts unless given. It is in no repr.
        facts: Overrides of the model's profile.
        stream: Whether `run` streams underneath, and so publishes chunks.
        client: An SDK client of the caller's; it is never closed here.
        async_client: The same for async calls.
        **settings: Neutral settings and the options of `CallOptions` (`max_attempts`, `timeout` …); each may be
            overridden per call.

    Raises:
        ConfigurationError: If a mode, setting, option or fact is unknown.
    """

    key_variable: str | None = None
    needs_key: bool = True
    needs_model: bool = False
    form_by_default: Literal["native", "tool", "rule"] | None = None
    """How a driver that makes its own requests is asked for an answer in a form, where nobody says; None: by facts."""

    def __init__(
        self,
        model: str | None = None,
        *,
        api_mode: str | None = None,
        provider: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        facts: Mapping[str, Any] | None = None,
        stream: bool = False,
        client: Any = None,
        async_client: Any = None,
        **settings: Any,
    ) -> None:
        are_texts(model=model, provider=provider, base_url=base_url, api_key=api_key)
        self.model = model
        self.provider = provider
        self.base_url = base_url
        self.api_mode = _resolved(api_mode, provider, base_url, model)
        self.api_key = ApiKey(api_key, key_variables_of(provider, base_url, self.key_variable))
        self.facts = joined(facts)
        self.stream_by_default = flag("stream", stream)
        self.options, settings = CallOptions().taken(settings)
        self.settings = canonical_settings(settings)
        self.profile({})  # an unknown fact is told at once
        self.listeners = Listeners()
        self.clock: Callable[[], float] = time.monotonic
        self.sleep: Callable[[float], object] = time.sleep
        self.asleep: Callable[[float], Awaitable[object]] = asyncio.sleep
        self.timeout: float | None = None
        self._client = client
        self._async_client = async_client

    # --- what a caller uses ---------------------------------------------------------------------

    def run(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """Asks, and waits for the whole answer.

        Args:
            source: As for `llmneutral.convert`.
            **overrides: Settings of this call; also `model`, `tools`, `tool_choice`, `output_schema`, `facts`, and the
                options of `CallOptions` (`max_attempts`, `timeout`, `on_error="return"`, `raise_on={"refusal"}` …).

        Returns:
            The answer; its `metadata` tells attempts, times and request id.

        Raises:
            ConfigurationError: If a setting is unknown or the key is missing.
            ConversionError: If the source cannot be sent.
            ProviderError: If the provider failed, after all retries.
            StructuredOutputError: If an output schema was asked for and the answer does not fit it, after all repairs
                (`max_repairs`, 1 unless said otherwise; each is a call that is billed).
        """
        asked = prepare.prompt(self, BasePromptDriver, source, overrides)
        for _ in runners.run(asked.flow(), asked, self.sleep):
            pass
        return asked.response

    def stream(self, source: Any, **overrides: Any) -> PromptStream:
        """Asks, and gives the answer piece by piece; arguments and errors as for `run`.

        The request is sent with the first `next`. An answer that does not fit its output schema is followed by a delta
        `repair` and by the next answer; where the last one does not fit, that is raised after the `end`.
        """
        asked = prepare.prompt(self, BasePromptDriver, source, {**overrides, "stream": True})
        return PromptStream(asked, runners.run(asked.flow(), asked, asked.stoppable().pausing(self.sleep)))

    async def arun(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """The async twin of `run`."""
        asked = prepare.prompt(self, BasePromptDriver, source, overrides)
        async with contextlib.aclosing(runners.arun(asked.flow(), asked, self.asleep)) as deltas:
            async for _ in deltas:
                pass
        return asked.response

    def astream(self, source: Any, **overrides: Any) -> AsyncPromptStream:
        """The async twin of `stream`; the request is sent with the first `anext`."""
        asked = prepare.prompt(self, BasePromptDriver, source, {**overrides, "stream": True})
        return AsyncPromptStream(asked, runners.arun(asked.flow(), asked, asked.stoppable().apausing(self.asleep)))

    def preview(self, source: Any, **overrides: Any) -> Conversion:
        """Returns the request that `run` would send; sends nothing and needs no key."""
        return prepare.requested(self, pipeline.snapshot(source), self.options.taken(overrides)[1])

    def count_tokens(self, source: Any, **overrides: Any) -> TokenCount:
        """Counts the tokens of a prompt: by the provider where it counts, else estimated.

        Args:
            source: As for `llmneutral.convert`.
            **overrides: As for `run`.

        Raises:
            ConversionError: If the source cannot be sent.
            ProviderError: If the provider failed, after all retries.
        """
        call, flow = prepare.count_call(self, source, overrides)
        for _ in runners.run(flow, call.io, self.sleep):
            pass
        return call.answer  # type: ignore[no-any-return]  # the flow leaves a count

    async def acount_tokens(self, source: Any, **overrides: Any) -> TokenCount:
        """The async twin of `count_tokens`."""
        call, flow = prepare.count_call(self, source, overrides)
        async for _ in runners.arun(flow, call.io, self.asleep):
            pass
        return call.answer  # type: ignore[no-any-return]

    def on(self, event_type: type[BaseEvent], listener: Callable[[Any], object]) -> Handle:
        """Calls a listener with this driver's events of a class."""
        return self.listeners.on(event_type, listener)

    # --- the template (Griptape's names) --------------------------------------------------------

    def before_run(self, prompt_stack: PromptStack) -> None:
        """A hook before the first request of a call; for subclasses."""

    def after_run(self, response: NormalizedResponse) -> None:
        """A hook after the answer of a call, streamed or not; for subclasses."""

    def retrying(self, max_attempts: int | None = None, retry_deadline: float | None = None) -> tenacity.Retrying:
        """Returns tenacity's policy of one call."""
        attempts = self.options.max_attempts if max_attempts is None else max_attempts
        return retry.retrying(attempts, self.options.retry_deadline if retry_deadline is None else retry_deadline)

    def try_run(self, prompt_stack: PromptStack) -> Message:
        """Asks once and returns the answer's message; a subclass may do it all by itself here."""
        conversion = self.convert(prompt_stack)
        normalizer = self.normalizer(conversion)
        normalizer.whole(self.send(conversion))
        normalizer.close()
        return normalizer.response.message

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
        raise _unfilled(self, "send")

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Sends a request and returns its chunks as dicts; the iterator's `close()` ends the connection.

        A driver that fills in `send` alone cannot stream: its answer comes as one piece.

        Raises:
            ProviderError: In place of the SDK's own errors.
        """
        if type(self).send is BasePromptDriver.send:
            raise _unfilled(self, "open")
        return iter((Body(self.send(conversion)),))

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`; in a thread unless a provider has better."""
        return await in_thread(self.send, conversion)

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`; through a thread unless a provider has better."""
        return Pumped(await in_thread(self.open, conversion, unused=runners.close))

    # --- inside ---------------------------------------------------------------------------------

    def convert(self, source: Any, **overrides: Any) -> Conversion:
        """Converts a source for this driver's endpoint; settings of the driver count unless overridden."""
        _are_of_a_call(overrides)
        facts = joined(self.facts, overrides.pop("facts", None))
        model = overrides.pop("model", None) or self.model
        given = pipeline.snapshot(source)
        carried = {name: value for name, value in self.settings.items() if name not in given.settings}
        return pipeline.convert_snapshot(
            given,
            overrides.pop("api_mode", self.api_mode),
            model=model,
            provider=self.provider,
            base_url=self.base_url,
            facts=facts or None,
            **{**carried, **overrides},
        )

    def normalizer(self, conversion: Conversion) -> StreamNormalizer:
        """Returns a normaliser for one answer of a request."""
        return get_transport(self.api_mode).stream(names=conversion.names, **pipeline.asked_of(conversion))

    def profile(self, overrides: Mapping[str, Any]) -> Profile:
        """Returns the facts that count for a call."""
        facts = joined(self.facts, overrides.get("facts"))
        return profile(self.api_mode, self.provider, self.base_url, overrides.get("model") or self.model, facts)

    def hint(self, error: ProviderError) -> str | None:
        """Returns what to do about a failure, or None for its class's own words."""
        return hint_for(error, self.api_key.name)

    def secrets(self) -> tuple[str, ...]:
        """Returns what must not stand in an error or event."""
        return tuple([key for key in (self.api_key.read(), getattr(self._client, "api_key", None)) if key])

    def require_key(self) -> None:
        """Raises a ConfigurationError where a key is needed and there is none; it names the variable."""
        if _is_key_needed(self):
            self.api_key.require(type(self).__name__, self.provider)

    def require_model(self, model: str | None) -> None:
        """Raises a ConfigurationError where a model must be named and a call has none: the SDKs' own words are dark."""
        if self.needs_model and not model:
            name = type(self).__name__
            hint = f"Name one: {name}(model='…'), or for one call run(…, model='…')."
            raise ConfigurationError(f"{name} has no model", provider=self.provider, hint=hint)

    def __repr__(self) -> str:
        """Shows where it talks to, and of the key only whether it is set: nothing where none is needed."""
        place = f", base_url={scrub(self.base_url)!r}" if self.base_url else ""
        key = f", {self.api_key}" if _is_key_needed(self) or self.api_key.is_set else ""
        return f"{type(self).__name__}(model={self.model!r}, api_mode={self.api_mode!r}{place}{key})"


def _is_key_needed(driver: BasePromptDriver) -> bool:
    is_own = driver._client is not None or driver._async_client is not None
    return driver.needs_key and not is_own and not is_local(driver.base_url)


def _resolved(api_mode: str | None, provider: str | None, base_url: str | None, model: str | None) -> str:
    if api_mode is not None:
        return pipeline.mode_of(api_mode)
    return resolve_api_mode(provider=provider, base_url=base_url, model=model).mode


def _are_of_a_call(overrides: Mapping[str, Any]) -> None:
    are_texts(model=overrides.get("model"))
    for name in ("provider", "base_url", "api_key"):
        if name in overrides:
            raise ConfigurationError(f"{name} belongs to a driver, not to a call; make another driver")


def _unfilled(driver: BasePromptDriver, what: str) -> ConfigurationError:
    return ConfigurationError(f"{type(driver).__name__} can neither {what} nor try_run: it fills in none of them")
