"""The first lesson in JupyterLab and Notebook 7, as a newcomer runs it: no key, no network, a real model.

Pictures are left in `tests/browser/shots/`, to be looked at by a person when a view changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from llmneutral_widgets.exchange import MIME
from tests.browser.lab_rig import Jupyter, NotebookPage
from tests.conftest import ROOT
from tests.notebooks.lessons import LESSONS, read

pytestmark = [pytest.mark.browser, pytest.mark.live]

SHOTS = ROOT / "tests" / "browser" / "shots"
LESSON = LESSONS / "00-start.ipynb"
PLACE = {cell["id"]: i for i, cell in enumerate(read(LESSON)["cells"])}
OWN_ERRORS = ("schema",)
"""What Notebook 7 logs by itself, with an empty notebook too."""


@pytest.fixture(scope="module", params=["lab", "notebook"])
def jupyter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    cache = {"XDG_CACHE_HOME": str(Path.home() / ".cache")}  # the model is where the person's own home has it
    folder = tmp_path_factory.mktemp(request.param)
    with Jupyter(folder, app=request.param, env=cache, viewport=(1280, 1700)) as made:
        yield made


@pytest.fixture(scope="module")
def page(jupyter: Jupyter) -> Iterator[NotebookPage]:
    opened = jupyter.open(LESSON, "00-start.ipynb")
    opened.command("notebook:clear-all-cell-outputs" if jupyter.app == "lab" else "editmenu:clear-all")
    opened.run_all()
    yield opened
    opened.close()


def shoot(page: NotebookPage, name: str, cell: str | None = None) -> None:
    SHOTS.mkdir(exist_ok=True)
    path = SHOTS / f"{page.jupyter.app}-{name}.png"
    page.screenshot(path, None if cell is None else PLACE[cell])
    assert path.stat().st_size > 2_000


def says(page: NotebookPage, cell: str, text: str) -> None:
    """Waits until a reader sees a text below a cell."""
    expect(page.output(PLACE[cell])).to_contain_text(text)


def answer(page: NotebookPage, cell: str) -> dict[str, Any]:
    """The exchange that a cell holds."""
    (found,) = [o["data"][MIME] for o in page.outputs(PLACE[cell]) if MIME in o.get("data", {})]
    kept: dict[str, Any] = found
    return kept


def test_it_runs_without_an_error_and_stays_on_this_machine(page: NotebookPage) -> None:
    assert page.errors() == []
    assert page.external == []
    assert [text for text in page.console_errors() if not any(own in text for own in OWN_ERRORS)] == []


def test_the_answer_comes_from_the_model_and_says_who_and_how(page: NotebookPage) -> None:
    kept = answer(page, "ask")
    assert kept["status"] == "complete"
    assert len(kept["response"]["text"]) > 20
    says(page, "ask", "No OPENAI_API_KEY: answering with the embedded model")
    says(page, "ask", "local · smollm2-135m-instruct · no earlier messages")
    says(page, "ask", "tok/s")
    says(page, "again", "2 earlier messages sent")


def test_the_conversation_is_shown_as_three_payloads_with_what_was_changed_and_why(page: NotebookPage) -> None:
    for api in ("chat_completions", "codex_responses", "anthropic_messages"):
        says(page, "payload", api)
    says(page, "payload", "temperature: gpt-6-luna does not take it")
    says(page, "payload", "max_tokens: Messages demands it")


def test_a_block_under_the_mouse_lights_up_with_all_its_copies(page: NotebookPage) -> None:
    output = page.output(PLACE["payload"])
    row = output.locator("tbody tr").filter(has_text="What is photosynthesis?").first
    twins = row.locator(".k1")
    assert twins.count() == 4, "the block, and one run of each payload"
    page.page.mouse.move(0, 0)
    dark = [colour(twins.nth(i)) for i in range(4)]
    twins.first.hover()
    lit = [colour(twins.nth(i)) for i in range(4)]
    assert all([after != before for before, after in zip(dark, lit, strict=True)])
    other = output.locator("tbody tr").filter(has_text="You are a kind teacher").first.locator(".k1").first
    assert colour(other) == dark[0], "nothing else does"
    page.page.mouse.move(0, 0)
    twins.first.locator("summary").click()
    page.page.mouse.move(0, 0)
    assert [colour(twins.nth(i)) for i in range(4)] == lit, "opening pins it"
    shoot(page, "light-payload-lit", "payload")
    twins.first.locator("summary").click()


def colour(locator: Any) -> str:
    return str(locator.evaluate("element => getComputedStyle(element).backgroundColor"))


def test_the_picker_moved_by_a_click_changes_who_answers_the_next_cell(page: NotebookPage) -> None:
    dropdown = page.output(PLACE["picker"]).locator("select")
    expect(dropdown).to_have_value("local-messages (embedded model)")  # the line after it has followed
    dropdown.click()
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("Enter")
    expect(dropdown).to_have_value("local-responses (embedded model)")
    page.run(PLACE["example"])
    assert answer(page, "example")["provider"] == "local-responses"
    says(page, "example", "local-responses · smollm2-135m-instruct · 4 earlier messages sent")
    page.run(PLACE["switch"])
    expect(dropdown).to_have_value("local-messages (embedded model)")


def test_a_cell_that_is_run_again_replaces_its_answer(page: NotebookPage) -> None:
    before = answer(page, "again")["id"]
    page.run(PLACE["again"])
    assert answer(page, "again")["id"] != before
    page.run(PLACE["stack"])
    says(page, "stack", "7 messages")
    says(page, "stack", "stale")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_for_a_person(page: NotebookPage, theme: str) -> None:
    page.set_theme(theme)
    page.page.mouse.move(0, 0)
    for cell in ("ask", "stack", "payload", "picker", "usage"):
        shoot(page, f"{theme}-{cell}", cell)
    page.scroll_to(0)
    shoot(page, f"{theme}-page")


def test_the_saved_file_holds_the_answers_and_no_widget_state(page: NotebookPage) -> None:
    saved = page.save()
    assert "widgets" not in saved["metadata"]
    assert MIME in json.dumps(saved)
    page.reload()
    says(page, "ask", "local · smollm2-135m-instruct")
    assert page.external == []
