"""Prompts over a table: one question for each row of a pandas DataFrame, and token counts as a DataFrame.

    import pandas
    import llmneutral

    reviews = pandas.DataFrame({"review": ["Great!", "It broke."]})
    found = llmneutral.run_frame(reviews, "Is this review positive? {{review}}", max_tokens=20)
    again = reviews[found["status"] != "complete"]  # what failed can be asked once more

A row that fails does not lose the others, and what has come is never lost: an interrupt carries the rows that are done,
and a mistake in the settings is raised only if no row has come to anything.
"""

from __future__ import annotations

import linecache
import queue
import re
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from llmneutral.agent import Agent
from llmneutral.configs import DriversConfig
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.stopping import LOOK_UP
from llmneutral.drivers.threads import start
from llmneutral.errors import ConfigurationError, LLMNeutralError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import COUNTS, NormalizedResponse

PLACE = re.compile(r"\\\{\{|\{\{\s*([^{}\n]+?)\s*\}\}")
TEXTS = ("answer", "status", "error")
RESULTS = {*TEXTS, "parsed", "finish_reason", *COUNTS, "total_s"}
HURRY = 0.25
"""Seconds after a press of Ctrl-C in which another one is the same wish."""
LARGEST_COUNT = 2**63 - 1
"""A column of whole numbers holds no more; a provider may tell anything."""


class FrameInterrupt(KeyboardInterrupt):
    """A run over a table was interrupted.

    Attributes:
        frame: The table as far as it came, as `run_frame` returns it; in a notebook `sys.last_value.frame`.
    """

    def __init__(self, frame: Any) -> None:
        done = int((frame["status"] == "complete").sum())
        super().__init__(f"{done} of {len(frame)} rows are complete; they stand in this interrupt's `frame`")
        self.frame = frame

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: the line that asked, what has come, and where it is."""
        frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(self.__traceback__)]
        asked = [*takewhile(lambda place: place[0] != __file__, frames)][-1:]
        return [
            *[f"line {line}: {linecache.getline(file, line).strip()}" for file, line in asked],
            f"{type(self).__name__}: {self}",
            "→ import sys; sys.last_value.frame is the table as far as it came",
        ]


class _Row(msgspec.Struct):
    """What a row has come to."""

    status: str = "interrupted"
    response: NormalizedResponse | None = None
    error: str | None = None
    is_refused: bool = False  # by a `ConfigurationError`


def run_frame(
    frame: Any,
    prompt: str,
    driver: BasePromptDriver | DriversConfig | None = None,
    *,
    into: Any = None,
    concurrency: int = 4,
    **settings: Any,
) -> Any:
    r"""Asks one question for each row of a table.

    Args:
        frame: A pandas DataFrame; it is not changed.
        prompt: The question; `{{name}}` stands for the row's value in the column of this name, and `\{{` for `{{`.
        driver: Who is asked; the driver of `Defaults` unless given.
        into: The form of the answers: a pydantic model, dataclass, TypedDict or JSON Schema.
        concurrency: Most questions on their way at the same time, each in a thread.
        **settings: Settings and options of each call, as for `driver.run` (`max_tokens`, `max_attempts`, `timeout` …).

    Returns:
        A DataFrame with the rows and columns of `frame` in their order, and beside them `answer`, `status`, `error`,
        `finish_reason`, the token counts of `Usage` and `total_s`, all with nullable types; and with `into` the values,
        `parsed`. Where columns have several levels, these names stand in the first. The status is `complete`,
        `incomplete` (the answer broke off), `failed` (`error` says why; what had come stands in `answer`) or `skipped`
        (the row has no value for the prompt, and nobody was asked).

    Raises:
        ConfigurationError: If an argument, setting or column is wrong, or a key is missing; before anything is sent.
            One that comes later, after other rows have come, is its row's failure.
        FrameInterrupt: If it is interrupted; it has the rows that are done. What is on its way is not waited for.
    """
    parts = _parts(prompt, frame)
    if taken := sorted(RESULTS & {str(name) for name in frame.columns.get_level_values(0)}):
        raise ConfigurationError(
            f"the frame has columns that the results need: {', '.join(taken)}", hint="Rename them."
        )
    if type(concurrency) is not int or concurrency < 1:
        raise ConfigurationError(f"concurrency={concurrency!r} cannot be: it is a whole number above 0")
    asked = Agent(driver, memory=None).prompt_driver
    asked.require_key()
    asked.require_model(settings.get("model") or asked.model)
    if into is not None:
        settings["output_schema"] = into
    rows = [_Row() for _ in range(len(frame))]
    presses = _Presses()
    try:
        presses.hear()
        _all(rows, lambda place: _asked(asked, lambda: _filled(parts, frame, place), settings), concurrency)
        found = _with_results(frame, rows, into)
        presses.is_kept = True
        return found
    except BaseException as stopped:
        presses.is_kept = True
        if isinstance(stopped, ConfigurationError):
            raise
        interrupt = FrameInterrupt(_with_results(frame, rows, into))
        presses.wait()
        raise interrupt from stopped
    finally:
        presses.leave()


def usage_frame(responses: Iterable[Any]) -> Any:
    """Returns what answers used up as a DataFrame, a row for each; what a provider did not tell is `<NA>`.

    Args:
        responses: Answers of `driver.run`, `stream.response`, `result.response` …
    """
    import pandas

    given = list(responses)
    if wrong := [response for response in given if not isinstance(response, NormalizedResponse)]:
        raise ConfigurationError(f"usage_frame takes responses, and {a_kind(wrong[0])} is none")
    models = pandas.array([response.model for response in given], dtype="string")
    return pandas.DataFrame({"model": models} | _counted(given))


class _Presses:
    """Presses of Ctrl-C: whoever listens to them still does, until one is raised; those after it are not heard.

    What came is being kept and shown then, and whoever is in a hurry presses twice: a shell that is pressed while it
    shows an error forgets it. Other threads have no part in it.

    Attributes:
        is_kept: Whether presses are not heard any more.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._until = 0.0
        self.is_kept = False

    def hear(self) -> None:
        """Begins; in a block that ends with `leave`, as a press may come at once."""
        if threading.current_thread() is threading.main_thread() and callable(
            before := signal.getsignal(signal.SIGINT)
        ):
            self._before = before
            signal.signal(signal.SIGINT, self._press)

    def _press(self, number: int, frame: Any) -> None:
        if not self.is_kept:
            try:
                self._before(number, frame)
            except BaseException:
                self.is_kept, self._until = True, time.monotonic() + HURRY
                raise

    def wait(self) -> None:
        """Waits for those who press twice."""
        time.sleep(max(0.0, self._until - time.monotonic()))

    def leave(self) -> None:
        """Puts the handler back; call it when presses are not heard any more, or one would prevent it."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


# --- the prompt -----------------------------------------------------------------------------------


def _parts(prompt: str, frame: Any) -> list[str | int]:
    """The texts of a prompt, and between them the places of the columns that are filled in."""
    if type(frame).__name__ != "DataFrame" or not hasattr(frame, "iloc"):
        raise ConfigurationError(f"run_frame takes a pandas DataFrame, and {a_kind(frame)} is none")
    if not isinstance(prompt, str):
        raise ConfigurationError(f"the prompt is a text with {{{{column}}}} in it, not {a_kind(prompt)}")
    names = [str(name) for name in frame.columns]
    parts: list[str | int] = []
    at = 0
    for found in PLACE.finditer(prompt):
        parts.append(prompt[at : found.start()])
        at = found.end()
        if found[1] is None:
            parts.append("{{")
        elif names.count(found[1]) != 1:
            many = f"{names.count(found[1]) or 'none'} of this name: {', '.join(names)}"
            raise ConfigurationError(f"the prompt names the column {found[1]!r}, and the frame has {many}")
        else:
            parts.append(names.index(found[1]))
    return [*parts, prompt[at:]]


def _filled(parts: Sequence[str | int], frame: Any, place: int) -> str | None:
    """The prompt of a row; None where a value is missing."""
    import pandas

    texts = []
    for part in parts:
        value = part if isinstance(part, str) else frame.iat[place, part]
        missing = pandas.isna(value)
        if isinstance(missing, bool) and missing:
            return None
        texts.append(str(value))
    return "".join(texts)


# --- the questions --------------------------------------------------------------------------------


def _asked(driver: BasePromptDriver, fill: Callable[[], str | None], settings: Mapping[str, Any]) -> _Row:
    try:
        if (question := fill()) is None:
            return _Row("skipped", error="a column of the prompt has no value in this row")
        response = driver.run(question, **settings)
    except (ConfigurationError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  # one row's failure is told in its row, also where it means to exit
        partial = getattr(error, "partial", None)
        return _Row("failed", partial if isinstance(partial, NormalizedResponse) else None, _told(error))
    if response.error is not None:  # on_error="return"
        return _Row("failed", response, f"{response.error.type}: {response.error.message}")
    return _Row("complete" if response.complete else "incomplete", response)


def _told(error: BaseException) -> str:
    """What went wrong in a row."""
    return f"{(isinstance(error, LLMNeutralError) and error.type) or type(error).__name__}: {error}"


def _settled(found: _Row | BaseException, refused: list[ConfigurationError]) -> _Row:
    if isinstance(found, ConfigurationError):
        refused.append(found)
        return _Row("failed", error=_told(found), is_refused=True)
    if isinstance(found, BaseException):
        raise found
    return found


def _has_come(row: _Row) -> bool:
    return not row.is_refused and row.status not in ("interrupted", "skipped")


def _all(rows: list[_Row], ask: Callable[[int], _Row], concurrency: int) -> None:
    """Asks for each row, so many at the same time; what is raised ends it, and leaves the rows that are done.

    A `ConfigurationError` ends it if the first ones asked are all refused so: then it is no row's own.
    """
    waiting, stopped = deque(range(len(rows))), threading.Event()
    came: dict[int, _Row | BaseException] = {}
    finished: queue.SimpleQueue[int] = queue.SimpleQueue()

    def work() -> None:
        while not stopped.is_set():
            try:
                place = waiting.popleft()
            except IndexError:
                return
            try:
                came[place] = ask(place)
            except BaseException as error:  # noqa: BLE001  # told to whoever waits
                came[place] = error
            finished.put(place)

    try:
        for _ in range(min(concurrency, len(rows))):
            start(work)
        left = len(rows)
        refused: list[ConfigurationError] = []
        while left:
            try:
                place = finished.get(timeout=LOOK_UP)
            except queue.Empty:
                continue
            rows[place] = _settled(came[place], refused)
            left -= 1
            if len(refused) >= (concurrency if left else 1) and not any(map(_has_come, rows)):
                raise refused[0]
    finally:
        stopped.set()
        for at, row in came.copy().items():  # what nobody has taken yet has come all the same
            rows[at] = row if isinstance(row, _Row) else rows[at]


# --- the table ------------------------------------------------------------------------------------


def _with_results(frame: Any, rows: Sequence[_Row], into: Any) -> Any:
    import pandas

    responses = [row.response for row in rows]
    texts = [
        [None if response is None else response.text for response in responses],
        [row.status for row in rows],
        [row.error for row in rows],
    ]
    columns: dict[str, Any] = {
        name: pandas.array(values, dtype="string") for name, values in zip(TEXTS, texts, strict=True)
    }
    if into is not None:
        columns["parsed"] = pandas.Series([None] * len(rows), dtype="object")
        for place, response in enumerate(responses):
            columns["parsed"].iat[place] = None if response is None else response.parsed
    results = pandas.DataFrame(columns | _counted(responses)).set_axis(frame.index)
    if below := frame.columns.nlevels - 1:
        names = [(name, *[""] * below) for name in results.columns]
        results.columns = pandas.MultiIndex.from_tuples(names, names=frame.columns.names)
    return pandas.concat([frame, results], axis="columns")


def _counted(responses: Sequence[NormalizedResponse | None]) -> dict[str, Any]:
    """Counts and times as columns; what is not known is `<NA>`."""
    import pandas

    given = [NormalizedResponse(Message("assistant")) if response is None else response for response in responses]
    reasons = [None if response is None else response.finish_reason for response in responses]
    seconds = [None if response.metadata is None else response.metadata.total for response in given]
    counts = {name: [_count(getattr(response.usage, name)) for response in given] for name in COUNTS}
    return {
        "finish_reason": pandas.array(reasons, dtype="string"),
        **{name: pandas.array(values, dtype="Int64") for name, values in counts.items()},
        "total_s": pandas.array(seconds, dtype="Float64"),
    }


def _count(value: Any) -> int | None:
    """A count as a column can hold it; what is none is not known."""
    return int(value) if hasattr(value, "__index__") and 0 <= value <= LARGEST_COUNT else None
