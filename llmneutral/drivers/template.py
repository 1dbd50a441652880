"""Drivers in Griptape's style: a subclass that overrides `try_run` and `try_stream` does it all by itself.

What they return is neutral already; here it takes the place of what a provider sends, so that retry,
events and aggregation are the same for every driver.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from llmneutral.drivers.runners import close
from llmneutral.errors import LLMNeutralError, exception_type, provider_error
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.stack import PromptStack
from llmneutral.pipeline import snapshot

if TYPE_CHECKING:
    from llmneutral.drivers.base import BasePromptDriver

_END = DeltaMessage("end", complete=True)


class TemplateIO:
    """`try_run` and `try_stream` of a driver, as `send` and `open`."""

    def __init__(self, driver: BasePromptDriver, has_run: bool, has_stream: bool) -> None:
        self.driver = driver
        self.has_run = has_run
        self.has_stream = has_stream
        self.stack = PromptStack()

    def take(self, source: Any, settings: dict[str, Any]) -> PromptStack:
        """Keeps the stack of this call: the source's, with the call's settings."""
        given = snapshot(source)
        settings = dict(settings)
        tools, schema = settings.pop("tools", None), settings.pop("output_schema", None)
        self.stack = PromptStack(
            given.messages,
            tools=given.tools if tools is None else tools,
            output_schema=given.output_schema if schema is None else schema,
            settings={**given.settings, **settings},
        )
        return self.stack

    def send(self, conversion: Any) -> Any:
        """Returns the message that `try_run` gives."""
        del conversion
        try:
            return self.driver.try_run(self.stack)
        except Exception as error:
            raise _translated(error) from error

    def open(self, conversion: Any) -> Iterator[DeltaMessage]:
        """Returns the deltas that `try_stream` gives, with an end."""
        del conversion
        deltas = self.driver.try_stream(self.stack)
        try:
            yield from deltas
        except Exception as error:
            raise _translated(error) from error
        finally:
            close(deltas)
        yield _END

    async def asend(self, conversion: Any) -> Any:
        """The async twin of `send`, in a thread."""
        return await asyncio.to_thread(self.send, conversion)

    async def aopen(self, conversion: Any) -> AsyncIterator[Any]:
        """The async twin of `open`, through a thread."""
        return threaded(self.open(conversion))


def template_of(driver: BasePromptDriver) -> TemplateIO | None:
    """Returns the template of a driver that overrides `try_run` or `try_stream`, or None."""
    from llmneutral.drivers.base import BasePromptDriver

    kind = type(driver)
    has_run = kind.try_run is not BasePromptDriver.try_run
    has_stream = kind.try_stream is not BasePromptDriver.try_stream
    return TemplateIO(driver, has_run, has_stream) if has_run or has_stream else None


async def threaded(chunks: Iterator[Any]) -> AsyncIterator[Any]:
    """Reads a sync iterator from async code: each step in a thread."""
    done = object()
    try:
        while (chunk := await asyncio.to_thread(next, chunks, done)) is not done:
            yield chunk
    finally:
        close(chunks)


def _translated(error: Exception) -> Exception:
    """Returns a lost connection or a time-out as the taxonomy has it; anything else as it is."""
    if isinstance(error, LLMNeutralError):
        return error
    kind = exception_type(error)
    return error if kind is None else provider_error(kind, message=str(error))
