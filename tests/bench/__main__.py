"""`python -m tests.bench`: the speed of the library as ratios to what else there is, all in one run.

The names of some tables may be given (`python -m tests.bench streaming calls`). What is measured is CPU time with the
garbage collector as it is, unless a table says otherwise; the figures are medians, and never a test.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable

from tests.bench import calls, conversion, growth, importing, notebook, streaming
from tests.bench.measure import server

TABLES: dict[str, Callable[[str], None]] = {
    "import": lambda url: importing.imports(),
    "first": importing.first_answer,
    "conversion": lambda url: conversion.side_by_side(),
    "calls": calls.whole_calls,
    "streaming": streaming.per_delta,
    "delta": streaming.first_delta,
    "growth": lambda url: growth.conversions(),
    "length": growth.streams,
    "notebook": notebook.iopub,
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        sys.exit(f"no such table: {', '.join(unknown)}; known: {', '.join(TABLES)}")
    began = time.monotonic()
    print(f"Python {platform.python_version()}, {platform.system()} on {platform.machine()}")
    with server() as url:
        for name in names or TABLES:
            TABLES[name](url)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
