"""What is built is what is meant: one wheel with both packages, their types and their style sheet, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.tree import PACKAGES, ROOT, tracked


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_holds_every_file_of_both_packages_and_no_other(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    meant = {
        file.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for file in tracked()
        if package in file.parents
    }
    assert held == meant


def test_the_wheel_brings_the_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (entry_points,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert "llmneutral = llmneutral.cli:main" in archive.read(entry_points).decode()
