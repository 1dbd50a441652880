"""Every lesson in JupyterLab and in Notebook 7: run as a reader runs it, and read without style.

The first lesson has tests of its own (`test_lesson.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from tests.browser.lab_rig import Jupyter, NotebookPage
from tests.conftest import ROOT
from tests.notebooks.lessons import lessons, read

pytestmark = pytest.mark.browser

SHOTS = ROOT / "tests" / "browser" / "shots"
OWN_ERRORS = ("schema",)
"""What Notebook 7 logs by itself, with an empty notebook too."""
_UNSTYLED = "() => document.querySelectorAll('.jp-OutputArea style').forEach(style => style.remove())"
_READABLE = """cell => {
    const output = document.querySelectorAll('.jp-Cell')[cell].querySelector('.jp-OutputArea');
    return output && (output.innerText.trim() || output.querySelector('img'));
}"""


def _is_live(path: Path) -> bool:
    return any(["live" in cell["metadata"].get("tags", ()) for cell in read(path)["cells"]])


CASES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.live] if _is_live(path) else [])
    for path in lessons()
    if path.stem != "00-start"  # it has a module of its own
]


@pytest.fixture(scope="module", params=["lab", "notebook"])
def jupyter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    cache = {"XDG_CACHE_HOME": str(Path.home() / ".cache")}  # the model is where the person's own home has it
    folder = tmp_path_factory.mktemp(request.param)
    with Jupyter(folder, app=request.param, env=cache, viewport=(1280, 1700)) as made:
        yield made


@pytest.fixture
def page(jupyter: Jupyter, path: Path) -> Iterator[NotebookPage]:
    opened = jupyter.open(path, path.name)
    yield opened
    opened.close()


def shoot(page: NotebookPage, path: Path) -> None:
    """Leaves pictures of the lesson's richest output, light and dark, to be looked at when a view changes."""
    SHOTS.mkdir(exist_ok=True)
    sizes = [len(json.dumps(cell.get("outputs", []))) for cell in read(path)["cells"]]
    for theme in ("dark", "light"):
        page.set_theme(theme)
        page.output(sizes.index(max(sizes)))
        page.screenshot(SHOTS / f"{page.jupyter.app}-{theme}-{path.stem}.png")


@pytest.mark.parametrize("path", CASES)
def test_it_runs_without_an_error_and_every_output_can_be_read_without_style(page: NotebookPage, path: Path) -> None:
    page.command("notebook:clear-all-cell-outputs" if page.jupyter.app == "lab" else "editmenu:clear-all")
    page.run_all()
    assert page.errors() == []
    shoot(page, path)
    page.page.evaluate(_UNSTYLED)
    for number, cell in enumerate(read(path)["cells"]):
        if cell.get("outputs"):
            page.output(number)
            page.page.wait_for_function(_READABLE, arg=number)  # it may be drawn anew when it comes into sight
    assert page.external == []
    assert [text for text in page.console_errors() if not any([own in text for own in OWN_ERRORS])] == []
