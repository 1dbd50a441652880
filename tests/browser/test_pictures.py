"""The pictures of README.md can be taken: what they show is there, fits the window, and is cut to it.

They are left in `tests/browser/shots/`; those of README.md are taken by `python -m tests.browser.pictures`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from tests.browser.lab_rig import NotebookPage
from tests.browser.pictures import HEIGHT, PICTURES, main, opened, take
from tests.house.tree import IMAGES, ROOT

pytestmark = [pytest.mark.browser, pytest.mark.live, pytest.mark.slow]

SHOTS = ROOT / "tests" / "browser" / "shots"


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookPage]:
    with opened(tmp_path_factory.mktemp("pictures")) as made:
        yield made


@pytest.mark.parametrize("name", PICTURES)
def test_it_shows_as_much_as_the_one_in_the_readme(page: NotebookPage, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    width, height = size(take(page, name, SHOTS))
    assert width < PICTURES[name].width
    assert height < HEIGHT
    kept = size(IMAGES / f"{name}.png")
    assert width == pytest.approx(kept[0], rel=0.1)
    assert height == pytest.approx(kept[1], rel=0.5), "an answer may be longer; a view that has changed is taken again"
    assert page.external == []


def test_a_name_that_is_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompts"]) == 2
    assert "'prompts'; there are: prompt, payloads" in capsys.readouterr().err
