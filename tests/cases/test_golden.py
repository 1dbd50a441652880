"""What is converted and read today is what the golden files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import golden

FILES = dict(golden.files())


@pytest.mark.parametrize("path", list(FILES), ids=lambda path: path.relative_to(golden.HERE).as_posix())
def test_the_truth_still_holds(path: Path) -> None:
    assert path.exists(), "no truth yet: python -m tests.cases.golden, then read it"
    assert FILES[path] == path.read_text("utf-8")


def test_no_truth_is_left_over() -> None:
    known = {path for path in golden.HERE.rglob("*.json") if not path.name.endswith(".stack.json")}
    assert known == set(FILES)
