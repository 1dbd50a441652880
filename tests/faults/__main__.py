"""`python -m tests.faults`: the matrix of faults, rows by APIs and ways to ask.

A cell tells the class of the error, the requests sent, and how much of the answer is kept; `!` marks one that is not as
the table has it, told in full below. Words of the names of rows and APIs may be given, which choose some of them:

    python -m tests.faults 429 bedrock
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.drivers.sdk_endpoints import without_aws
from tests.faults.cells import WAYS, Cell, Outcome, cells, differences, kept_of, measured
from tests.faults.table import FAULTS, Fault
from tests.faults.wires import APIS

NONE = "·"


def shown(cell: Cell, found: Outcome) -> str:
    """One cell in words."""
    kept = kept_of(cell, found) or "–"
    mark = "!" if differences(cell, found) else ""
    return f"{mark}{found.error.removesuffix('Error') or 'ok'}/{found.requests}/{kept}"


def chosen(words: Sequence[str]) -> tuple[list[Fault], list[str]]:
    """The rows and APIs that are meant: all where none is named."""
    faults = [fault for fault in FAULTS if any(word in fault.name for word in words)]
    apis = [api for api in APIS if any(word in api for word in words)]
    return faults or FAULTS, apis or APIS


def rows(words: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The matrix as texts, by fault and API (ways with one outcome stand together), and what is not as it should be."""
    faults, apis = chosen(words)
    lines: list[list[str]] = [["fault", *apis]]
    wrong: list[str] = []
    for fault in faults:
        line = [fault.name]
        for api in apis:
            said: dict[str, list[str]] = {}
            for cell in cells([fault]):
                if cell.api == api:
                    found = measured(cell)
                    said.setdefault(shown(cell, found), []).append(cell.way)
                    wrong += [f"{cell}: {told}" for told in differences(cell, found)]
            line.append(together(said))
        lines.append(line)
    return lines, wrong


def together(said: dict[str, list[str]]) -> str:
    """What all ways say is said once."""
    if len(said) == 1 and len(next(iter(said.values()))) in (2, len(WAYS)):
        return next(iter(said))
    return " ".join([f"{','.join(ways)}:{text}" for text, ways in said.items()]) or NONE


def main(words: Sequence[str]) -> int:
    """Prints the matrix; 1 where a cell is not as it should be."""
    with pytest.MonkeyPatch.context() as patch:
        without_aws(patch, Path(os.devnull))
        lines, wrong = rows(words)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print(" | ".join([text.ljust(width) for text, width in zip(line, widths, strict=True)]).rstrip())  # noqa: T201
    print(f"\n{len(wrong)} differences", *wrong, sep="\n")  # noqa: T201
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
