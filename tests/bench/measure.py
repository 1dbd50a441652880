"""How things are measured: side by side, round by round, as CPU time; the median counts.

All sides of a comparison take turns in every round, so what slows the machine for a while slows them all.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial


def compare(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Returns the median of the CPU seconds that each side takes; one round before the first does not count."""
    return medians({name: partial(cpu_of, work) for name, work in sides.items()}, rounds)


def cpu_of(work: Callable[[], object]) -> float:
    """Returns the CPU seconds that some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def medians(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The same for sides that tell by themselves what they took."""
    told: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, side in sides.items():
            taken = side()
            if number:
                told[name].append(taken)
    return {name: statistics.median(values) for name, values in told.items()}


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a provider in a process of its own; it ends with the block."""
    command = [sys.executable, "-m", "tests.bench.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            process.wait(10)
