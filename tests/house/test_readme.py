"""The Python of README.md runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = re.compile(r"^```python(?P<live> live)?\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


def _run(code: str, root: Path, folder: Path) -> str:
    script = folder / "readme.py"
    script.write_text(code, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, str(script)], cwd=root, capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def _blocks(root: Path) -> list[tuple[bool, str]]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return [(bool(match["live"]), match["code"]) for match in BLOCK.finditer(text)]


def test_what_needs_no_model_runs(root: Path, tmp_path: Path) -> None:
    told = _run("\n".join(code for live, code in _blocks(root) if not live), root, tmp_path)
    assert "max_tokens" in told, "the example says that it shows a change"


@pytest.mark.live
def test_all_of_it_runs(root: Path, tmp_path: Path) -> None:
    """Without a key the embedded model answers."""
    told = _run("\n".join(code for _, code in _blocks(root)), root, tmp_path)
    assert "input_total" in told
