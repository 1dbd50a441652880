"""The written page is the table, and says of every fact what it means."""

from __future__ import annotations

from pathlib import Path

from llmneutral.profiles import API_ROWS, ENDPOINT_ROWS, FACT_NAMES, MODEL_ROWS
from llmneutral.profiles.page import facts_page


def test_the_written_page_is_up_to_date(root: Path) -> None:
    assert (root / ".github" / "facts.md").read_text(encoding="utf-8") == facts_page()


def test_the_page_has_every_fact_and_every_row_with_its_source() -> None:
    rows = {
        line.split(" | ")[0].removeprefix("| "): line for line in facts_page().splitlines() if line.startswith("| ")
    }
    assert {*FACT_NAMES, *API_ROWS, *ENDPOINT_ROWS, *(row.name for row in MODEL_ROWS)} <= {*rows}
    assert all(len(rows[name].split(" | ")[2]) > 8 for name in FACT_NAMES)
    for row in MODEL_ROWS:
        assert rows[row.name].endswith(f"| {row.source} |")
