"""Names say what a thing is: no module that could hold anything, no name that is mangled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import parsed, place, python_files, source_files

VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
MANGLED = re.compile(r"^__.*(?<!__)$")


def test_no_module_is_called_by_a_vague_name() -> None:
    names = [(file, part) for file in python_files() for part in (file.stem, file.parent.name)]
    assert [place(file) for file, part in names if part.lower() in VAGUE] == []


def _names(node: ast.AST) -> Iterator[str]:
    """The names a node brings in: of definitions, variables, attributes and arguments."""
    for field in ("name", "id", "attr", "arg", "asname"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name


def mangled_names(file: Path) -> list[str]:
    nodes = ast.walk(parsed(file))
    return [f"{place(file, node)}: {name}" for node in nodes for name in _names(node) if MANGLED.match(name)]


def test_no_name_begins_with_two_underscores() -> None:
    assert [found for file in source_files() for found in mangled_names(file)] == []


@pytest.mark.parametrize(("name", "is_mangled"), [("__secret", True), ("__init__", False), ("_one", False)])
def test_mangled_names_are_told_from_special_ones(name: str, is_mangled: bool) -> None:
    assert bool(MANGLED.match(name)) is is_mangled
