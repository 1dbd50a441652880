"""FallbackDriver: several drivers, of which the next is asked where one fails for now.

What it never does: ask a second driver after the first piece of content was given, or hide that another one answered
(`driver_in_use`, and the events of each). Each driver converts the conversation anew, for its own API.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from typing import Any

import msgspec

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.call import info_of
from llmneutral.drivers.counting import TokenCount
from llmneutral.drivers.stopping import Stop
from llmneutral.drivers.streams import AsyncPromptStream, PromptStream
from llmneutral.errors import TYPES, ConfigurationError, LLMNeutralError, ProviderError
from llmneutral.events import BaseEvent, Handle
from llmneutral.ir.deltas import CONTENT_KINDS, DeltaMessage
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse


class FallbackDriver(BasePromptDriver):
    """Asks the first driver; where that fails in a way that may pass, after all its attempts, the next one.

    Args:
        drivers: In the order they are asked.
        also: Types of errors that lead to the next driver as well, such as `authentication_error` or `not_found_error`.

    Raises:
        ConfigurationError: If there are no drivers, or a type is unknown.
    """

    needs_key = False

    def __init__(self, drivers: Sequence[BasePromptDriver], *, also: Iterable[str] = ()) -> None:
        self.drivers = tuple(drivers)
        self.also = frozenset(also)
        if not self.drivers or not all(isinstance(driver, BasePromptDriver) for driver in self.drivers):
            raise ConfigurationError("FallbackDriver needs a list of drivers, at least one")
        if unknown := self.also - TYPES:
            raise ConfigurationError(f"unknown types of errors: {', '.join(sorted(unknown))}; known: {sorted(TYPES)}")
        first = self.drivers[0]
        super().__init__(first.model, api_mode=first.api_mode, provider=first.provider, base_url=first.base_url)

    def moves_on(self, error: ProviderError) -> bool:
        """Tells whether the next driver is asked after an error."""
        return error.retryable or error.type in self.also

    def run(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """As every driver's, of the first driver that answers."""
        for driver in self.drivers[:-1]:
            try:
                return driver.run(source, **{**overrides, "on_error": "raise"})
            except ProviderError as error:
                if not self.moves_on(error):
                    return _ended(error, overrides.get("on_error", driver.options.on_error))
        return self.drivers[-1].run(source, **overrides)

    async def arun(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """The async twin of `run`."""
        for driver in self.drivers[:-1]:
            try:
                return await driver.arun(source, **{**overrides, "on_error": "raise"})
            except ProviderError as error:
                if not self.moves_on(error):
                    return _ended(error, overrides.get("on_error", driver.options.on_error))
        return await self.drivers[-1].arun(source, **overrides)

    def stream(self, source: Any, **overrides: Any) -> PromptStream:
        """As every driver's, of the first driver whose stream begins."""
        return FallbackStream(self, lambda driver: driver.stream(source, **overrides))

    def astream(self, source: Any, **overrides: Any) -> AsyncPromptStream:
        """The async twin of `stream`."""
        return AsyncFallbackStream(self, lambda driver: driver.astream(source, **overrides))

    def convert(self, source: Any, **overrides: Any) -> Conversion:
        """As the first driver converts."""
        return self.drivers[0].convert(source, **overrides)

    def preview(self, source: Any, **overrides: Any) -> Conversion:
        """Returns the request that the first driver would send."""
        return self.drivers[0].preview(source, **overrides)

    def count_tokens(self, source: Any, **overrides: Any) -> TokenCount:
        """Counts as the first driver does."""
        return self.drivers[0].count_tokens(source, **overrides)

    async def acount_tokens(self, source: Any, **overrides: Any) -> TokenCount:
        """The async twin of `count_tokens`."""
        return await self.drivers[0].acount_tokens(source, **overrides)

    def on(self, event_type: type[BaseEvent], listener: Callable[[Any], object]) -> Handle:
        """Calls a listener with the events of all drivers, and with those of an agent's run that asks this one."""
        handles = [super().on(event_type, listener), *[driver.on(event_type, listener) for driver in self.drivers]]

        def off() -> None:
            for handle in handles:
                handle.off()

        return Handle(off)

    def close(self) -> None:
        """Closes what the drivers opened."""
        for driver in self.drivers:
            driver.close()

    async def aclose(self) -> None:
        """Closes what the drivers opened, in the running event loop too."""
        for driver in self.drivers:
            await driver.aclose()

    def __repr__(self) -> str:
        """Shows the drivers."""
        return f"FallbackDriver([{', '.join(map(repr, self.drivers))}])"


def _ended(error: ProviderError, on_error: str) -> NormalizedResponse:
    """Raises an error, or gives the response with the error in it."""
    if on_error != "return":
        raise error
    partial: NormalizedResponse = error.partial or NormalizedResponse(Message("assistant"))
    return msgspec.structs.replace(partial, error=info_of(error), finish_reason="error", complete=False)


class _Asking:
    """What both kinds of stream share: the driver in use, and what was held back of it until content came."""

    def __init__(self, owner: FallbackDriver, ask: Callable[[BasePromptDriver], Any]) -> None:
        self.owner = owner
        self.ask = ask
        self.left = list(owner.drivers[1:])
        self.in_use = owner.drivers[0]
        self.stop = Stop()
        self.stream = self._asked()
        self.held: list[DeltaMessage] = []
        self.committed = False

    def keep(self, delta: DeltaMessage) -> list[DeltaMessage]:
        """Takes a delta, and returns those that may be given now."""
        if self.committed:
            return [delta]
        self.held.append(delta)
        self.committed = delta.kind in CONTENT_KINDS
        return self.rest() if self.committed else []

    def rest(self) -> list[DeltaMessage]:
        """Returns what was held back."""
        held, self.held = self.held, []
        return held

    def moved(self, error: ProviderError) -> bool:
        """Asks the next driver after an error, where there is one and it may; tells whether it did."""
        if self.committed or not self.left or not self.owner.moves_on(error):
            return False
        self.in_use, self.held = self.left.pop(0), []
        self.stream = self._asked()
        return True

    def _asked(self) -> Any:
        """The stream of the driver in use; whoever ends ours ends that."""
        stream = self.ask(self.in_use)
        self.stop.wakes(stream.cancel)
        return stream


class FallbackStream(PromptStream):
    """The stream of the first driver whose stream begins.

    Attributes:
        driver_in_use: The driver that is answering.
    """

    def __init__(self, owner: FallbackDriver, ask: Callable[[BasePromptDriver], Any]) -> None:
        self._asking = _Asking(owner, ask)
        super().__init__(self._asking.stream._asked, self._given(), self._asking.stop)

    @property
    def driver_in_use(self) -> BasePromptDriver:
        """The driver that is answering."""
        return self._asking.in_use

    def _given(self) -> Generator[DeltaMessage, None, None]:
        asking = self._asking
        while True:
            stream = asking.stream
            try:
                for delta in stream:
                    yield from asking.keep(delta)
            except LLMNeutralError as error:
                if isinstance(error, ProviderError) and asking.moved(error):
                    self._asked = asking.stream._asked
                    continue
                yield from asking.rest()
                raise
            finally:
                stream.close()
            yield from asking.rest()
            return


class AsyncFallbackStream(AsyncPromptStream):
    """The async twin of `FallbackStream`."""

    def __init__(self, owner: FallbackDriver, ask: Callable[[BasePromptDriver], Any]) -> None:
        self._asking = _Asking(owner, ask)
        super().__init__(self._asking.stream._asked, self._given(), self._asking.stop)

    @property
    def driver_in_use(self) -> BasePromptDriver:
        """The driver that is answering."""
        return self._asking.in_use

    async def _given(self) -> AsyncGenerator[DeltaMessage, None]:
        asking = self._asking
        while True:
            stream = asking.stream
            try:
                async for delta in stream:
                    for given in asking.keep(delta):
                        yield given
            except LLMNeutralError as error:
                if isinstance(error, ProviderError) and asking.moved(error):
                    self._asked = asking.stream._asked
                    continue
                for given in asking.rest():
                    yield given
                raise
            finally:
                await stream.aclose()
            for given in asking.rest():
                yield given
            return
