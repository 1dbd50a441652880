"""The project's files, as the house tests look at them."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "llmneutral", ROOT / "widgets" / "llmneutral_widgets")
IMAGES = ROOT / ".github" / "images"
"""The pictures of README.md."""
MOST_IMAGE_BYTES = 150_000


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git knows, or would know after `git add`; an unpacked sdist is looked at whole."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists():
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        files = (ROOT / name for name in listed.split("\0") if name)
    else:
        files = ROOT.rglob("*")
    return tuple(sorted(file for file in files if file.is_file()))


def python_files(*folders: Path) -> list[Path]:
    """The tracked Python files, of some folders or of all."""
    of = folders or (ROOT,)
    return [file for file in tracked() if file.suffix == ".py" and any(folder in file.parents for folder in of)]


def source_files() -> list[Path]:
    """The Python files that are installed."""
    return python_files(*PACKAGES)


@cache
def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def place(file: Path, node: ast.AST | None = None) -> str:
    """Where something stands, for a message: path from the root, and line."""
    line = getattr(node, "lineno", None)
    return f"{file.relative_to(ROOT)}{f':{line}' if line else ''}"


def module_name(file: Path) -> str:
    """The dotted name by which an installed file is imported."""
    base = ROOT if (ROOT / "llmneutral") in file.parents else ROOT / "widgets"
    parts = file.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
