"""Nothing grows too big to be read at once: files, functions, classes."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.house.tree import PACKAGES, ROOT, parsed, place, python_files, source_files

FILE_LINES = 500
CLASS_LINES = 250
FUNCTION_STATEMENTS = 40
COMPLEXITY = 10


def test_files_are_short() -> None:
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in python_files()}
    assert [f"{place(file)}: {lines} lines" for file, lines in lengths.items() if lines > FILE_LINES] == []


def test_classes_are_short() -> None:
    classes = [
        (file, node) for file in source_files() for node in ast.walk(parsed(file)) if isinstance(node, ast.ClassDef)
    ]
    lengths = {place(file, node): (node.end_lineno or node.lineno) - node.lineno + 1 for file, node in classes}
    assert [f"{where}: {lines} lines" for where, lines in lengths.items() if lines > CLASS_LINES] == []


def test_functions_are_short_and_simple() -> None:
    """Ruff counts, and no `noqa` counts against it."""
    limits = [f"lint.pylint.max-statements={FUNCTION_STATEMENTS}", f"lint.mccabe.max-complexity={COMPLEXITY}"]
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa", "--no-cache", "--quiet"]
    command += ["--output-format=concise", "--select=C901,PLR0915", *(f"--config={limit}" for limit in limits)]
    found = subprocess.run([*command, *map(str, PACKAGES)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
