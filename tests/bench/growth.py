"""What happens as things get longer: conversations of up to 10,000 messages, answers of up to 20,000 deltas."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from functools import partial

import psutil

from llmneutral import BasePromptDriver, convert
from tests.bench import providers as p
from tests.bench.conversations import MODELS, neutral, pairs, texts
from tests.bench.handwritten import Conversation
from tests.bench.measure import compare
from tests.bench.table import Row, show

GROWTH = 1.05
SIZES = (100, 1_000, 10_000)
SHORT, LONG = 2_500, 20_000
SAME = 1.05
"""What counts as the same time per delta: the noise of the measurement."""

MOST_MEMORY = 2.0
"""MB."""


def conversions(rounds: int = 5) -> None:
    """How the time grows with the number of messages: the exponent between two sizes, 1 is linear."""
    rows = []
    for kind, made in (("texts", texts), ("calls and results", lambda count: pairs(count // 2))):
        for api, model in MODELS.items():
            taken = compare(_by_size(made, api, model), rounds)
            few, some, many = [taken[str(size)] for size in SIZES]
            for name, ratio, times in (("100 to 10,000", many / few, 100), ("1,000 to 10,000", many / some, 10)):
                rows.append(Row(f"{kind} → {api}, {name}", math.log(ratio) / math.log(times), aim=GROWTH))
    show("growth of a conversion", "exponent", rows)


def _by_size(made: Callable[[int], Conversation], api: str, model: str) -> dict[str, Callable[[], object]]:
    return {str(size): partial(convert, neutral(made(size)), api, model=model) for size in SIZES}


def streams(url: str, rounds: int = 3) -> None:
    """Time per delta of a short and of a long answer, and what the long one needs of memory."""
    times, memory = [], []
    for api in p.APIS:
        drivers = {count: p.driver(api, f"{url}/{count}", listens=True) for count in (SHORT, LONG)}
        taken = compare({str(count): _reading(driver) for count, driver in drivers.items()}, rounds)
        short, long = [taken[str(count)] / count * 1e6 for count in (SHORT, LONG)]
        times += [Row(f"{api.mode}: {SHORT:,} deltas", short), Row(f"    {LONG:,} deltas", long, short, SAME)]
        extra, grown = _memory_of(_reading(drivers[LONG]))
        memory += [Row(f"{api.mode}: most at a time", extra, aim=MOST_MEMORY), Row("    growth of the process", grown)]
    show("growth of a stream", "µs a delta", times)
    show(f"memory of {LONG:,} deltas", "MB", memory)


def _reading(driver: BasePromptDriver) -> Callable[[], object]:
    def read() -> object:
        stream = driver.stream(p.QUESTION)
        for _ in stream:
            pass
        return stream.response

    return read


def _memory_of(read: Callable[[], object]) -> tuple[float, float]:
    """Most memory that Python's objects took while reading, and by how much the process grew; both in MB."""
    process = psutil.Process()
    before = process.memory_info().rss
    read()
    grown = process.memory_info().rss - before
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1] / 1e6, grown / 1e6
    finally:
        tracemalloc.stop()
