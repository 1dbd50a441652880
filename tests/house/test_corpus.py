"""Recorded traffic of real providers, held against the code by the checker that lies beside the recordings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.house.tree import ROOT

SETS = {"dev": ("responses", "requests", "errors", "cross"), "errors_extra": ("errors",)}
LEAST = {"responses": 1, "errors": 1, "requests": 0.998, "cross": 1}
"""The share of exchanges that must pass, or differ only in what the conversion reports."""

JUDGES_LIMIT = re.compile(r"anthropic_messages: extra_body: Extra inputs are not permitted")
"""The checker's judge knows no `extra_body`. The official SDK has no argument for temperature, top_p and top_k any
more, so a payload of Messages that holds one can be a legal call only by `extra_body`: that is set aside here, and
`tests/laws/test_payloads_validate.py` judges the rest of such a payload."""

SUM = re.compile(r"(?P<good>\d+) passed, (?P<bad>\d+) failed")


def outcomes(corpus: Path, folder: str, part: str) -> tuple[int, list[dict[str, Any]]]:
    """How many exchanges are good, and what is said of all that did not simply pass."""
    command = [sys.executable, str(corpus / "check.py"), "--face", "llmneutral"]
    command += ["--set", str(corpus / folder), "--part", part, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    told, _, last = done.stdout.rstrip().rpartition("\n")
    found = SUM.fullmatch(last)
    assert found, done.stdout + done.stderr
    return int(found["good"]), json.loads(told)


def failures(told: list[dict[str, Any]]) -> list[str]:
    """The exchanges that failed by our fault, with their reasons."""
    failed = [each for each in told if each["status"] == "failed"]
    return [
        f"{each['id']}: {each['reasons']}"
        for each in failed
        if not all(JUDGES_LIMIT.match(reason) for reason in each["reasons"])
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "part"), [(folder, part) for folder, parts in SETS.items() for part in parts])
def test_recorded_traffic(shared: Path, folder: str, part: str) -> None:
    good, told = outcomes(shared / "corpus", folder, part)
    counts = Counter(each["status"] for each in told)
    failed = failures(told)
    assert counts["skipped"] == 0
    assert good >= LEAST[part] * (good + len(failed)), "\n".join(failed)


def test_only_the_judges_limit_is_set_aside() -> None:
    limit = "anthropic_messages: extra_body: Extra inputs are not permitted [extra_forbidden]"
    told = [
        {"id": "a", "status": "failed", "reasons": [limit]},
        {"id": "b", "status": "failed", "reasons": [limit, "cohere_chat: x: is no text"]},
        {"id": "c", "status": "told", "reasons": ["refused"]},
    ]
    assert failures(told) == ["b: " + str(told[1]["reasons"])]
