"""ReplayPromptDriver: answers out of a file, as a provider once gave them. It needs no key and no network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.call import Body
from llmneutral.drivers.recordings import File, Recording, load_recordings
from llmneutral.errors import ConfigurationError
from llmneutral.ir.responses import NormalizedResponse


class ReplayPromptDriver(BasePromptDriver):
    """Gives the recordings of a file in their order, one a call, and then the first again.

    What is asked is not looked at; requests are converted as for the API that was recorded, so that a preview shows
    what would be sent. What was recorded is what comes: unless `max_attempts` says so, nothing is asked a second time.

    Args:
        path: A file of recordings (see `recordings`); all of one API.
        model: Model to show; the recorded one unless given.
        speed: 1.0 keeps the recorded pace, 2.0 is twice as fast; None gives everything at once.
        **options: As for `BasePromptDriver`.

    Raises:
        ConfigurationError: If the file cannot be read as recordings, or they are of several APIs.
    """

    needs_key = False

    def __init__(self, path: File, model: str | None = None, *, speed: float | None = None, **options: Any) -> None:
        self.recordings = load_recordings(path)
        if len(apis := {recording.api for recording in self.recordings}) > 1:
            raise ConfigurationError(f"{path} holds recordings of several APIs: {', '.join(sorted(apis))}")
        if speed is not None and speed <= 0:
            raise ConfigurationError(f"speed={speed!r} cannot be: it is a number above 0, or None")
        first = self.recordings[0]
        super().__init__(model or first.model or "recorded", **{"max_attempts": 1, **options, "api_mode": first.api})
        self.speed = speed
        self.has_streams = any([recording.is_stream for recording in self.recordings])
        """A whole body is played as a stream too; a stream as a whole body is not."""
        self._lock = threading.Lock()
        self._place = 0

    def run(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """As every driver's; streamed where a recording is: a repair takes the next one."""
        return super().run(source, **{**overrides, "stream": self.has_streams})

    async def arun(self, source: Any, **overrides: Any) -> NormalizedResponse:
        """The async twin of `run`."""
        return await super().arun(source, **{**overrides, "stream": self.has_streams})

    def _next(self, *, take: bool = False) -> Recording:
        with self._lock:
            found = self.recordings[self._place % len(self.recordings)]
            self._place += take
        return found

    def send(self, conversion: Conversion) -> Any:
        """Returns the recorded answer."""
        [(seconds, body)] = self._next(take=True).pieces
        if self.speed is not None:
            self.sleep(seconds / self.speed)
        return Body(body)

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Returns the recorded chunks."""
        return _played(self._next(take=True), self.speed, self.sleep)

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`."""
        [(seconds, body)] = self._next(take=True).pieces
        if self.speed is not None:
            await self.asleep(seconds / self.speed)
        return Body(body)

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`."""
        return self._aplayed(self._next(take=True))

    async def _aplayed(self, recording: Recording) -> AsyncIterator[Any]:
        for pause, chunk in _pauses(recording, self.speed):
            if pause:
                await self.asleep(pause)
            else:
                await asyncio.sleep(0)
            yield chunk


def _played(recording: Recording, speed: float | None, sleep: Callable[[float], object]) -> Iterator[Any]:
    for pause, chunk in _pauses(recording, speed):
        if pause:
            sleep(pause)
        yield chunk


def _pauses(recording: Recording, speed: float | None) -> Iterator[tuple[float, Any]]:
    """The pieces, each with the seconds to wait before it."""
    before = 0.0
    for seconds, piece in recording.pieces:
        chunk = piece if recording.is_stream else Body(piece)
        yield (0.0 if speed is None else max(0.0, seconds - before) / speed), chunk
        before = seconds
