"""The matrix sees what is wrong: each of its checks, and a call that does not end."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.faults import cells as faults_cells
from tests.faults.__main__ import main, together
from tests.faults.cells import Cell, Outcome, cells, differences, measured
from tests.faults.table import FAULTS, FINE, INTERRUPTED, Fault, begins
from tests.faults.wires import APIS, HELLO
from tests.loopback import HOLD

BUSY = next(fault for fault in FAULTS if fault.name == "429 Retry-After in seconds")
CELL = Cell(BUSY, "chat_completions", "stream")
RIGHT = Outcome("RateLimitError", "", True, 3, 3, "", "", [2.0, 2.0], None, HELLO, 1)


def test_every_api_and_way_has_its_cells_and_no_two_have_one_name() -> None:
    names = [str(cell) for cell in cells()]
    assert len(names) == len({*names})
    for api in APIS:
        for way in ("run", "stream", "arun", "astream"):
            assert sum(name.endswith(f"-{api}-{way}") for name in names) > 25


def test_what_is_right_differs_in_nothing() -> None:
    assert differences(CELL, RIGHT) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"error": "ServerError"}, "ServerError, not RateLimitError"),
        ({"error": ""}, "no error, not RateLimitError"),
        ({"retryable": False}, "retryable is False"),
        ({"requests": 9}, "9 requests, told as 3, not 3"),
        ({"attempts": 1}, "3 requests, told as 1, not 3"),
        ({"partial": "Hell", "delivered": "Hell"}, "some is kept"),
        ({"partial": "Bye", "delivered": "Bye"}, "another is kept"),
        ({"delivered": "Hell"}, "the deltas said 'Hell'"),
        ({"waits": [2.0]}, "it waited 1 times"),
        ({"waits": [2.0, 1.0]}, "not (2.0, 2.0)"),
        ({"next": None}, "the next call gives None"),
        ({"connections": 2}, "2 connections"),
        ({"left_open": True}, "open after the driver was closed"),
        ({"threads": ["llmneutral-io"]}, "llmneutral-io"),
        ({"hung": True}, "had not ended"),
    ],
)
def test_what_is_wrong_is_told(wrong: dict[str, Any], said: str) -> None:
    assert said in " ".join(differences(CELL, dataclasses.replace(RIGHT, **wrong)))


def test_an_answer_that_counts_its_tokens_twice_is_told() -> None:
    fine = next(cell for cell in cells() if cell.expected == FINE)
    found = Outcome("", "", False, 1, 1, HELLO, None, [], (10, 14), HELLO, 1)
    assert differences(fine, found) == ["usage is (10, 14)"]


def test_a_call_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_cells, "LIMIT", 0.3)
    silent = Fault("silence", None, lambda api: begins(api, 0, HOLD), INTERRUPTED)
    cell = Cell(silent, "chat_completions", "stream")
    assert differences(cell, measured(cell)) == ["it had not ended after 0.3 s"]


def test_the_matrix_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["429 in seconds", "Retry-After in", "cohere"]) == 0
    head, row, *_, count = capsys.readouterr().out.strip().splitlines()
    assert head.split() == ["fault", "|", "cohere_chat"]
    assert row.split("|")[1].strip() == "RateLimit/3/–"
    assert count == "0 differences"


def test_what_differs_by_way_is_told_by_way() -> None:
    assert together({"ok/1/all": ["run", "arun"], "!Server/3/–": ["stream"]}) == "run,arun:ok/1/all stream:!Server/3/–"
    assert together({"ok/1/all": ["run", "stream", "arun", "astream"]}) == "ok/1/all"
    assert together({}) == "·"
