"""One cell of the matrix: a call that meets a fault, what became of it, and what it left behind."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

from llmneutral import BasePromptDriver, DeltaMessage, LLMNeutralError, NormalizedResponse, ProviderError
from tests.faults.table import FAULTS, Expected, Fault
from tests.faults.wires import APIS, HELLO, driver_for, talks
from tests.loopback import Answer, Loopback, Request

WAYS = ("run", "stream", "arun", "astream")
LIMIT = 20.0
"""Seconds after which a cell is said to hang; the longest one takes about a second."""
SETTLED = 2.0
"""Seconds that connections and threads have to go away."""


@dataclasses.dataclass
class Outcome:
    """What became of a call.

    Attributes:
        error: Name of the class of its error; "" where it was answered.
        detail: The error in words.
        retryable: What the error says of itself.
        attempts: Requests as the error or the answer counts them.
        requests: Requests as the provider counts them.
        partial: What is kept of the answer.
        delivered: What the deltas said, of a stream.
        waits: Seconds it waited between requests.
        usage: Tokens in and out, of an answer.
        next: What the same driver answers to a call after it.
        connections: Connections that were open after that; at most one, which is kept for the next call.
        left_open: Whether one is open after the driver was closed.
        threads: Names of threads that are left.
        hung: Whether it did not end.
    """

    error: str = ""
    detail: str = ""
    retryable: bool = False
    attempts: int = 0
    requests: int = 0
    partial: str = ""
    delivered: str | None = None
    waits: list[float] = dataclasses.field(default_factory=list)
    usage: tuple[int | None, int | None] | None = None
    next: str | None = None
    connections: int = 0
    left_open: bool = False
    threads: list[str] = dataclasses.field(default_factory=list)
    hung: bool = False

    def failed(self, error: LLMNeutralError) -> None:
        """Keeps what an error says, and not the error, which holds the frames it came through."""
        self.error, self.detail, self.retryable = type(error).__name__, str(error), error.retryable
        self.attempts = error.attempts if isinstance(error, ProviderError) else 0
        if isinstance(error.partial, NormalizedResponse):
            self.partial = error.partial.text

    def answered(self, response: NormalizedResponse) -> None:
        """Keeps what an answer says."""
        self.partial = response.text
        self.usage = (response.usage.input_total, response.usage.output_total)
        self.attempts = response.metadata.attempts if response.metadata is not None else 0


@dataclasses.dataclass(frozen=True)
class Cell:
    """A fault, an API, and a way to ask."""

    fault: Fault
    api: str
    way: str

    @property
    def streams(self) -> bool:
        return "stream" in self.way

    @property
    def expected(self) -> Expected:
        """What must become of it."""
        return self.fault.outcome(self.api, self.streams)

    def __str__(self) -> str:
        return f"{self.fault.name.replace(' ', '_')}-{self.api}-{self.way}"


def cells(faults: list[Fault] = FAULTS) -> list[Cell]:
    """All cells that there are."""
    return [
        cell
        for fault in faults
        for api in APIS
        for way in WAYS
        if fault.happens(api, (cell := Cell(fault, api, way)).streams)
    ]


# --- measuring --------------------------------------------------------------------------------------------------------


def measured(cell: Cell) -> Outcome:
    """Does what a cell says, in a thread, so that nothing can keep the tests waiting."""
    before, found, problems = set(threading.enumerate()), Outcome(), list[BaseException]()
    broken, healed = cell.fault.answer(cell.api, cell.streams), threading.Event()

    def answering(request: Request) -> Answer:
        if not healed.is_set():
            return broken
        answer = talks(cell.api)
        return answer(request)

    def ask() -> None:
        try:
            _ask(cell, server, healed, found)
        except BaseException as error:  # noqa: BLE001  # raised below, in the thread of the test
            problems.append(error)

    with Loopback(answering) as server:
        if not cell.fault.listening:
            server.stop()
        thread = threading.Thread(target=ask, name="cell", daemon=True)
        thread.start()
        thread.join(LIMIT)
        found.hung = thread.is_alive()
        found.left_open = not server.closes(SETTLED)
    if problems:
        raise problems[0]
    found.threads = _left(before)
    return found


def _left(before: set[threading.Thread]) -> list[str]:
    """Names of the threads that are more than before, when they had time to end."""
    until = time.monotonic() + SETTLED
    while left := [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]:
        if time.monotonic() > until:
            break
        left[0].join(0.02)
    return [thread.name for thread in left]


def _ask(cell: Cell, server: Loopback, healed: threading.Event, found: Outcome) -> None:
    driver = driver_for(cell.api, server, **cell.fault.options)

    async def asleep(seconds: float) -> None:
        found.waits.append(seconds)

    driver.sleep, driver.asleep = found.waits.append, asleep
    if cell.way in ("arun", "astream"):
        asyncio.run(_afaced(cell, driver, server, healed, found))
    else:
        _faced(cell, driver, server, healed, found)


def _faced(cell: Cell, driver: BasePromptDriver, server: Loopback, healed: threading.Event, found: Outcome) -> None:
    with driver:
        try:
            if cell.streams:
                stream = driver.stream("hi", **cell.fault.settings)
                _told(found, stream)
                found.answered(stream.response)
            else:
                found.answered(driver.run("hi", **cell.fault.settings))
        except LLMNeutralError as error:
            found.failed(error)
        found.requests = len(server.requests) if cell.fault.listening else found.attempts
        healed.set()
        if cell.fault.listening:
            found.next = driver.run("hi", stream=cell.streams).text
        found.connections = _open(server)


def _told(found: Outcome, deltas: Any) -> None:
    found.delivered = ""
    for delta in deltas:
        _take(found, delta)


def _take(found: Outcome, delta: DeltaMessage) -> None:
    found.delivered = (found.delivered or "") + delta.text


async def _afaced(
    cell: Cell, driver: BasePromptDriver, server: Loopback, healed: threading.Event, found: Outcome
) -> None:
    async with driver:
        try:
            if cell.streams:
                stream = driver.astream("hi", **cell.fault.settings)
                found.delivered = ""
                async for delta in stream:
                    _take(found, delta)
                found.answered(stream.response)
            else:
                found.answered(await driver.arun("hi", **cell.fault.settings))
        except LLMNeutralError as error:
            found.failed(error)
        found.requests = len(server.requests) if cell.fault.listening else found.attempts
        healed.set()
        if cell.fault.listening:
            found.next = (await driver.arun("hi", stream=cell.streams)).text
        found.connections = await asyncio.to_thread(_open, server)


def _open(server: Loopback) -> int:
    """Open connections, when those that are to be closed had time for it."""
    until = time.monotonic() + SETTLED
    while (count := server.open_connections) > 1 and time.monotonic() < until:
        time.sleep(0.005)
    return count


# --- judging ----------------------------------------------------------------------------------------------------------

Check = Callable[[Cell, Outcome], str | None]


def differences(cell: Cell, found: Outcome) -> list[str]:
    """What is not as the table has it, in words; nothing where all is well."""
    if found.hung:
        return [f"it had not ended after {LIMIT:g} s"]
    return [said for check in CHECKS if (said := check(cell, found)) is not None]


def _class(cell: Cell, found: Outcome) -> str | None:
    wanted = cell.expected.error
    return None if found.error == wanted else f"{found.error or 'no error'}, not {wanted or 'none'} ({found.detail})"


def _retryable(cell: Cell, found: Outcome) -> str | None:
    return None if found.retryable is cell.expected.retryable else f"retryable is {found.retryable}"


def _requests(cell: Cell, found: Outcome) -> str | None:
    wanted = cell.expected.requests
    if (found.requests, found.attempts) == (wanted, wanted):
        return None
    return f"{found.requests} requests, told as {found.attempts}, not {wanted}"


def _partial(cell: Cell, found: Outcome) -> str | None:
    kept = kept_of(cell, found)
    return None if kept == cell.expected.partial else f"{kept or 'nothing'} is kept: {found.partial[:60]!r}"


def _delivered(cell: Cell, found: Outcome) -> str | None:
    if found.delivered is None or found.delivered == found.partial:
        return None
    return f"the deltas said {found.delivered[:60]!r}, and {found.partial[:60]!r} is kept"


def _waits(cell: Cell, found: Outcome) -> str | None:
    wanted = cell.expected.wait
    if len(found.waits) != cell.expected.requests - 1:
        return f"it waited {len(found.waits)} times"
    if wanted is None or all(wanted[0] <= wait <= wanted[1] for wait in found.waits):
        return None
    return f"it waited {found.waits} s, not {wanted}"


def _usage(cell: Cell, found: Outcome) -> str | None:
    return None if found.error or found.usage == (5, 7) else f"usage is {found.usage}"


def _next(cell: Cell, found: Outcome) -> str | None:
    return f"the next call gives {found.next!r}" if cell.fault.listening and found.next != HELLO else None


def _leaks(cell: Cell, found: Outcome) -> str | None:
    if found.connections <= 1 and not found.left_open and not found.threads:
        return None
    closed = "open after the driver was closed" if found.left_open else "closed with the driver"
    return f"{found.connections} connections, {closed}; threads left: {found.threads}"


CHECKS: list[Check] = [_class, _retryable, _requests, _partial, _delivered, _waits, _usage, _next, _leaks]


def kept_of(cell: Cell, found: Outcome) -> str:
    """How much of the answer is kept: "", "some", "all", or "another"."""
    text = cell.fault.text
    if found.partial in ("", text):
        return "all" if found.partial else ""
    return "some" if text.startswith(found.partial) else "another"
