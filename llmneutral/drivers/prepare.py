"""Prepares a call: everything that can go wrong before the network goes wrong here."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from llmneutral import pipeline, structured
from llmneutral.convert.neutral import neutral_normalizer
from llmneutral.convert.report import Change
from llmneutral.convert.settings import flag
from llmneutral.convert.stream import StreamNormalizer
from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Call
from llmneutral.drivers.counting import as_count, counter_of, estimate, read_count
from llmneutral.drivers.fetching import addresses_of
from llmneutral.drivers.flow import Flow, counted
from llmneutral.drivers.options import CallOptions
from llmneutral.drivers.repair import Asked
from llmneutral.drivers.template import TemplateIO, stack_of, template_of
from llmneutral.errors import ConversionError
from llmneutral.events import Publisher
from llmneutral.ir.messages import Message
from llmneutral.profiles.hosts import read_address

if TYPE_CHECKING:
    from llmneutral.drivers.base import BasePromptDriver


def prompt(driver: BasePromptDriver, base: Any, source: Any, overrides: Mapping[str, Any]) -> Asked:
    """Returns a prompt on its way.

    Args:
        driver: Who is asked.
        base: The class of all drivers: what a driver overrides of it decides how the call is made.
        source: As for `llmneutral.convert`.
        overrides: Settings and options of the call.

    Raises:
        ConfigurationError: If the key is missing, or a setting or option is unknown.
        ConversionError: If the source cannot be sent.
    """
    options, settings = driver.options.taken(overrides)
    given = pipeline.snapshot(source)
    stream = is_streamed(driver, settings, given.settings)
    own = template_of(driver, base, given, carried(driver, given, settings))
    if own is not None:
        driver.before_run(own.stack)
        return _own_prompt(driver, own, options, settings, stream)
    driver.require_key()
    driver.require_model(settings.get("model") or driver.model)
    made = _wire_call(driver, given, options, settings, stream)
    driver.before_run(stack_of(given, carried(driver, given, settings)))

    def again(messages: tuple[Message, ...], plan: structured.Plan, before: Call) -> Call:
        asked = {**settings, "structured_output_strategy": plan.strategy, **before.fetched}
        longer = msgspec.structs.replace(given, messages=(*given.messages, *messages))
        call = _wire_call(driver, longer, following(options, before), asked, stream, since=before.since)
        call.fetched = before.fetched
        return call

    has_form = made.fetch is not None or (made.conversion is not None and made.conversion.answer is not None)
    return Asked(made, again, has_form=has_form, after=driver.after_run)


def _own_prompt(
    driver: BasePromptDriver, own: TemplateIO, options: CallOptions, settings: Mapping[str, Any], stream: bool
) -> Asked:
    """A prompt of a driver that makes its own requests."""
    stream = stream or not own.has_run

    def again(messages: tuple[Message, ...], plan: structured.Plan, before: Call) -> Call:
        io = own.continued(messages)
        return call_of(driver, None, following(options, before), settings, io=io, stream=stream, since=before.since)

    made = call_of(driver, None, options, settings, io=own, stream=stream)
    return Asked(made, again, plan=own.plan, has_form=own.plan is not None, after=driver.after_run)


def following(options: CallOptions, before: Call) -> CallOptions:
    """Returns the options of a call that goes on with another one: its events belong to the same run."""
    return msgspec.structs.replace(options, run_id=before.publisher.run_id)


def _wire_call(
    driver: BasePromptDriver,
    given: pipeline.Snapshot,
    options: CallOptions,
    settings: dict[str, Any],
    stream: bool,
    *,
    since: float | None = None,
) -> Call:
    """The call of a driver that fills in `send` and `open`."""
    conversion: Conversion | None = None
    urls: list[str] | None = None
    try:
        conversion = converted(driver, given, settings)
    except ConversionError as error:
        if (urls := _to_fetch(driver, given, settings, error)) is None:
            raise
    stream = stream or (conversion is not None and conversion.target.facts.thinking_requires_stream)
    made = call_of(driver, conversion, options, settings, io=_view(driver, options), stream=stream, since=since)
    if urls is not None:
        made.fetch = (
            urls,
            lambda fetched: converted(driver, given, {**settings, "fetch": fetched}),
        )
    elif recovers(driver, settings, given.settings):
        made.recover = lambda: without_reasoning(driver, given, settings)
    return made


def _view(driver: BasePromptDriver, options: CallOptions) -> BasePromptDriver:
    """The driver, or for a call with a time-out a view of its own: it is told how much time is left."""
    return driver if options.timeout is None else copy.copy(driver)


def count_call(driver: BasePromptDriver, source: Any, overrides: Mapping[str, Any]) -> tuple[Call, Flow]:
    """Returns the call that counts the tokens of a prompt, and its script; the count will be its `answer`.

    Raises:
        ConversionError: If the source cannot be sent.
    """
    options, settings = driver.options.taken(overrides)
    given = pipeline.snapshot(source)
    api = counter_of(driver.api_mode, driver.provider, driver.base_url)
    conversion = driver.convert(given, **settings)
    request = None
    if api is not None:
        driver.require_key()
        driver.require_model(settings.get("model") or driver.model)
        request = as_count(conversion if api == driver.api_mode else driver.convert(given, **settings, api_mode=api))
    made = call_of(driver, request, options, settings, io=_view(driver, options), stream=False)
    return made, counted(made, lambda: estimate(conversion), lambda body: read_count(body, conversion))


def carried(driver: BasePromptDriver, given: pipeline.Snapshot, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a call with those of the driver that neither the stack nor the call overrides."""
    return {**{k: v for k, v in driver.settings.items() if k not in given.settings}, **settings}


def is_streamed(driver: BasePromptDriver, settings: Mapping[str, Any], carried: Mapping[str, Any]) -> bool:
    """Tells whether the wire is to stream: the call's word, the stack's, the driver's."""
    for given in (settings, carried, driver.settings):
        if (value := given.get("stream")) is not None:
            return flag("stream", value)
    return driver.stream_by_default


def requested(driver: BasePromptDriver, given: pipeline.Snapshot, settings: Mapping[str, Any]) -> Conversion:
    """Returns the request that a call sends, streamed where the call is.

    Raises:
        ConversionError: If the source cannot be sent.
    """
    if is_streamed(driver, settings, given.settings):
        return driver.convert(given, **{**settings, "stream": True})
    conversion = driver.convert(given, **settings)
    if conversion.target.facts.thinking_requires_stream:
        return driver.convert(given, **{**settings, "stream": True})
    return conversion


def converted(driver: BasePromptDriver, given: pipeline.Snapshot, settings: Mapping[str, Any]) -> Conversion:
    """Returns the request of a call, and refuses one whose calls still wait for their results.

    Raises:
        ConversionError: If the source cannot be sent.
    """
    conversion = requested(driver, given, settings)
    if open_calls := conversion.open_calls:
        listed = ", ".join(open_calls[:5]) + (f" and {len(open_calls) - 5} more" if len(open_calls) > 5 else "")
        raise ConversionError(
            f"the calls {listed} still wait for their results: add them, or set orphan_calls",
            rule="open_calls",
            api=driver.api_mode,
        )
    return conversion


def recovers(driver: BasePromptDriver, *settings: Mapping[str, Any]) -> bool:
    """Tells whether reasoning that is refused may be left out and the request sent once more."""
    return any(each.get("recover_reasoning") for each in (*settings, driver.settings))


def without_reasoning(driver: BasePromptDriver, given: pipeline.Snapshot, settings: dict[str, Any]) -> Conversion:
    """Returns the request once more without the reasoning of earlier turns, and says so."""
    made = converted(driver, given, {**settings, "replay_reasoning": False})
    why = "the provider refused the reasoning of earlier turns; it is left out (recover_reasoning)"
    return msgspec.structs.replace(made, changes=(*made.changes, Change("recover_reasoning", "dropped", (), why)))


def _to_fetch(
    driver: BasePromptDriver, given: pipeline.Snapshot, settings: Mapping[str, Any], error: ConversionError
) -> list[str] | None:
    """The addresses to fetch where that is what a conversion wants and the driver may; else None."""
    if error.rule != "media" or any("fetch" in each for each in (settings, given.settings, driver.settings)):
        return None
    if not driver.profile(settings).fetch_allowed:
        return None
    return addresses_of(given.messages) or None


def call_of(
    driver: BasePromptDriver,
    conversion: Conversion | None,
    options: CallOptions,
    settings: Mapping[str, Any],
    *,
    io: Any,
    stream: bool,
    since: float | None = None,
) -> Call:
    """Returns a call of a driver."""
    names = {
        "provider": driver.provider,
        "api": driver.api_mode,
        "model": settings.get("model") or driver.model,
    }

    def normalizer(request: Conversion | None) -> StreamNormalizer:
        if request is None:
            return neutral_normalizer(io.react if isinstance(io, TemplateIO) else None)
        return driver.normalizer(request)

    return Call(
        conversion,
        io=io,
        stream=stream,
        retrying=driver.retrying(options.max_attempts, options.retry_deadline),
        publisher=Publisher(
            driver.listeners, run_id=options.run_id, driver=type(driver).__name__, meta=options.meta, **names
        ),
        normalizer=normalizer,
        options=options,
        clock=driver.clock,
        context={**names, "host": read_address(driver.base_url).host or _host_of(conversion)},
        secrets=driver.secrets(),
        hint=driver.hint,
        since=since,
    )


def _host_of(conversion: Conversion | None) -> str | None:
    return None if conversion is None else conversion.target.host
