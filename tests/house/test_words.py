"""What stands in tracked files: no path of one machine, no host of a package registry, no promise that is not kept."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.house.tree import ROOT, place, tracked

# Put together here, so that this file does not hold what it looks for.
MACHINE_FOLDERS = ["wo" + "rk", "ro" + "ot", "home/" + r"\w+", "Users/" + r"\w+"]
MACHINE_PATHS = re.compile(rf"(?<![\w.~/<>$-])/(?:{'|'.join(MACHINE_FOLDERS)})\b")
REGISTRIES = [f"py{'pi'}.org", f"python{'hosted'}.org", f"npm{'js'}.org", f"npm{'js'}.com", f"deb.{'debian'}.org"]
BINARY = {".png", ".jpg", ".gif", ".webp", ".pdf", ".wav", ".mp3", ".gguf", ".ico"}
PAGES = [ROOT / "README.md", ROOT / ".github" / "CONTRIBUTING.md"]
BINDER_HOME = "home/" + "jovyan"


def _texts() -> list[tuple[Path, str]]:
    return [(file, file.read_text(encoding="utf-8")) for file in tracked() if file.suffix not in BINARY]


def test_no_path_of_one_machine() -> None:
    found = [(file, match[0]) for file, text in _texts() for match in MACHINE_PATHS.finditer(text)]
    assert [f"{place(file)}: {path}" for file, path in found if BINDER_HOME not in path] == []


def test_no_host_of_a_registry() -> None:
    assert [f"{place(file)}: {host}" for file, text in _texts() for host in REGISTRIES if host in text] == []


def _code(page: Path) -> str:
    """Everything of a page that is set as code."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", text)])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_command_exists(page: Path) -> None:
    targets = re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    told = set(re.findall(r"\bmake ([a-z][\w-]*)", _code(page)))
    assert told, f"{page.name} names no make command"
    assert told - {*targets} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_linked_file_exists(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_extra_exists(page: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = {extra for group in re.findall(r"(?:llmneutral|\.)\[([\w,]+)\]", _code(page)) for extra in group.split(",")}
    assert told - {*project["optional-dependencies"]} == set()
