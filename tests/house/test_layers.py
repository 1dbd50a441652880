"""Imports run one way only. The contracts stand in pyproject.toml; import-linter holds the code against them."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import PACKAGES, ROOT, module_name, parsed, place, source_files

LIBRARY, WIDGETS = PACKAGES
PURE = ("ir", "convert", "transports", "structured")
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def _contract(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = next(each for each in CONFIG["contracts"] if each["name"] == name)
    return found


MODULES = {module_name(file) for file in source_files()}


def _imports(file: Path) -> Iterator[tuple[ast.AST, str]]:
    """Every module a file imports, anywhere in it, with relative names made absolute."""
    package = module_name(file).split(".")
    package = package if file.stem == "__init__" else package[:-1]
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node, inner if inner in MODULES else base


def test_every_contract_holds() -> None:
    run = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    found = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "0 broken" in found.stdout


def test_every_module_of_the_library_has_a_floor() -> None:
    """Said by the linter too (`exhaustive`), here in words that name the remedy."""
    floors = "|".join(_contract("The floors of the library")["layers"])
    known = {floor.strip(" ()") for floor in floors.split("|")} | {"__init__", "__main__", "py", "widgets"}
    present = {file.stem if file.parent == LIBRARY else file.parent.name for file in LIBRARY.glob("*.py")}
    present |= {folder.parent.name for folder in LIBRARY.glob("*/__init__.py")}
    assert present - known == set(), "give these a floor in pyproject.toml, [tool.importlinter]"


@pytest.mark.parametrize("floor", PURE)
def test_pure_floors_are_held_to_it(floor: str) -> None:
    if not [*LIBRARY.glob(f"{floor}.py"), *LIBRARY.glob(f"{floor}/__init__.py")]:
        pytest.skip(f"llmneutral.{floor} is not written yet")
    sources = _contract("The pure floors neither wait nor talk")["source_modules"]
    assert f"llmneutral.{floor}" in sources, "add it to the contract in pyproject.toml"


def test_nobody_inside_imports_the_face() -> None:
    inside = [file for file in source_files() if LIBRARY in file.parents and file != LIBRARY / "__init__.py"]
    found = [place(file, node) for file in inside for node, name in _imports(file) if name == "llmneutral"]
    assert found == []


def test_the_notebook_imports_only_the_face() -> None:
    notebook = [file for file in source_files() if WIDGETS in file.parents]
    inner = [place(file, node) for file in notebook for node, name in _imports(file) if name.startswith("llmneutral.")]
    assert inner == []


def test_the_library_names_the_notebook_package_in_no_import() -> None:
    """`llmneutral.widgets` stands for it, and tells type checkers so; nothing else does, and nobody imports that."""
    library = [file for file in source_files() if LIBRARY in file.parents]
    named = ("llmneutral_widgets", "llmneutral.widgets")
    found = [(file, node) for file in library for node, name in _imports(file) if name.startswith(named)]
    assert [place(file, node) for file, node in found if file != LIBRARY / "widgets.py"] == []
