"""What README.md shows is so: its Python and its cells run, its commands exist, its pictures and lessons are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import llmneutral.cli
from tests.house.tree import IMAGES, MOST_IMAGE_BYTES

PYTHON = re.compile(r"^```python(?P<live> live)?\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^```\n(?P<code>%.*?)^```", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[(?P<told>[^\]]*)\]\((?P<file>[^)]+)\)")
LESSON = re.compile(r"^\| \[(?P<name>[^\]]+)\]\((?P<file>notebooks/[^)]+)\)", re.MULTILINE)
COMMAND = re.compile(r"`llmneutral((?: [a-z]+)+)[^`]*`")
BINDER = re.compile(r"\((https://mybinder\.org/v2/[^)]+)\)")

RUN_CELLS = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in sys.argv[1:]:
    shell.run_cell(cell).raise_error()
"""


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def _run(code: str, root: Path, folder: Path, *arguments: str) -> str:
    script = folder / "readme.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, str(script), *arguments]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def _blocks(readme: str) -> list[tuple[bool, str]]:
    return [(bool(match["live"]), match["code"]) for match in PYTHON.finditer(readme)]


def test_what_needs_no_model_runs(readme: str, root: Path, tmp_path: Path) -> None:
    told = _run("\n".join(code for live, code in _blocks(readme) if not live), root, tmp_path)
    assert "max_tokens" in told, "the example says that it shows a change"


@pytest.mark.live
def test_all_of_it_runs(readme: str, root: Path, tmp_path: Path) -> None:
    """Without a key the embedded model answers."""
    told = _run("\n".join(code for _, code in _blocks(readme)), root, tmp_path)
    assert "input_total" in told


@pytest.mark.live
def test_the_cells_run(readme: str, root: Path, tmp_path: Path) -> None:
    cells = [match["code"] for match in CELL.finditer(readme)]
    assert [cell.split()[0] for cell in cells] == ["%load_ext", "%%prompt"]
    told = _run(RUN_CELLS, root, tmp_path, *cells)
    assert "smollm2-135m-instruct" in told


def test_every_block_is_one_that_runs(readme: str) -> None:
    assert readme.count("\n```\n") == len(_blocks(readme)) + 2 * len(CELL.findall(readme))


def test_every_command_exists(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = {match[1] for match in COMMAND.finditer(readme)}
    assert len(told) >= 5
    for command in told:
        with pytest.raises(SystemExit) as ended:
            llmneutral.cli.main([*command.split(), "--help"])
        assert ended.value.code == 0, command
        assert f"usage: llmneutral{command}" in capsys.readouterr().out


def test_every_lesson_is_listed_once_and_in_order(readme: str, root: Path) -> None:
    listed = [(match["name"], match["file"]) for match in LESSON.finditer(readme)]
    there = sorted(file.stem for file in (root / "notebooks").glob("*.ipynb"))
    assert listed == [(name, f"notebooks/{name}.ipynb") for name in there]


def test_every_picture_is_there_is_told_in_words_and_is_small(readme: str, root: Path) -> None:
    shown = {root / match["file"]: match["told"] for match in PICTURE.finditer(readme) if "://" not in match["file"]}
    assert {*shown} == {*IMAGES.iterdir()}, "every picture is shown, and every one shown is there"
    for file, told in shown.items():
        assert len(told.split()) >= 10, f"{file.name} needs words for those who do not see it"
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size <= MOST_IMAGE_BYTES


def test_binder_opens_the_first_lesson(readme: str, root: Path) -> None:
    (address,) = BINDER.findall(readme)
    (opened,) = parse_qs(urlsplit(address).query)["urlpath"]
    assert opened == "lab/tree/notebooks/00-start.ipynb"
    assert (root / opened.removeprefix("lab/tree/")).is_file()
