"""Recorded traffic of real providers, held against the code by the checker that lies beside the recordings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.tree import ROOT

MODES = ("chat_completions", "codex_responses", "anthropic_messages")
ALL_MODES = (*MODES, "gemini_native", "bedrock_converse", "cohere_chat", "mistral_chat")
PARTS = ["responses", "requests", "errors"]
if all([*(ROOT / "llmneutral" / "transports").glob(f"{mode}*")] for mode in ALL_MODES):
    PARTS.append("cross")  # every request, converted to each of the other six
SETS = {"dev": PARTS, "errors_extra": ["errors"]}
LEAST = 0.98
"""The share of exchanges that must pass, or differ only in what the conversion reports."""

ROW = re.compile(r"^(?P<part>\w+) +(?P<api>\w+) +(?P<numbers>[\d ]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A line of the checker's table."""

    part: str
    api: str
    checked: int
    passed: int
    told: int
    doubtful: int
    skipped: int
    failed: int


def rows(output: str) -> Iterator[Row]:
    """Reads the table that `check.py` prints."""
    for match in ROW.finditer(output):
        yield Row(match["part"], match["api"], *map(int, match["numbers"].split()))


def _checked(corpus: Path, folder: str, api: str) -> str:
    command = [sys.executable, str(corpus / "check.py"), "--face", "llmneutral", "--set", str(corpus / folder)]
    command += ["--api", api, *(word for part in SETS[folder] for word in ("--part", part))]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    last = found.stdout.rstrip().rpartition("\n")[2]
    assert re.fullmatch(r"\d+ passed, \d+ failed", last), found.stdout + found.stderr
    return found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("api", MODES)
@pytest.mark.parametrize("folder", SETS)
def test_recorded_traffic(shared: Path, folder: str, api: str) -> None:
    output = _checked(shared / "corpus", folder, api)
    found = [row for row in rows(output) if row.api == api]
    assert {row.part for row in found} == {*SETS[folder]}, output
    for row in found:
        judged = row.checked - row.doubtful
        assert row.skipped == 0, output
        assert row.passed + row.told >= LEAST * judged, output


def test_the_table_is_read() -> None:
    table = "part      api             checked  passed\nrequests  codex_responses      12  1  2  3  4  5\n9 passed"
    assert [*rows(table)] == [Row("requests", "codex_responses", 12, 1, 2, 3, 4, 5)]
