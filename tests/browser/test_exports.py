"""Hostile texts of a conversation, exported to be read, in JupyterLab: nothing runs, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright")

import llmneutral
from llmneutral_widgets.ipynb.exports import conversation_to_notebook
from llmneutral_widgets.ipynb.notebook_file import write_notebook
from tests.browser.lab_rig import Jupyter, NotebookPage, notebook
from tests.widgets.closed_set import HOSTILE, OWN_ATTACKS

pytestmark = pytest.mark.browser

TEXTS = [*HOSTILE.values(), *OWN_ATTACKS.values(), "The last text is **bold** and harmless."]


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with Jupyter(tmp_path_factory.mktemp("exports"), app="lab", timeout=120) as made:
        yield made


def read(page: NotebookPage, cells: int) -> list[str]:
    """Scrolls through the notebook as a reader does; returns what each cell shows."""
    shown = []
    for number in range(cells):
        page.scroll_to(number)
        cell = page.page.locator(".jp-Cell").nth(number).locator(".jp-RenderedMarkdown").first
        cell.wait_for()
        shown.append(cell.inner_html())
    return shown


def acts(html: str) -> bool:
    """Whether a cell shows a picture, a formula, or an address of script outside of code."""
    return "<img" in html or "mjx-" in html or "javascript:" in html.partition("<pre")[0]


def test_hostile_texts_neither_run_nor_fetch(jupyter: Jupyter, tmp_path: Path) -> None:
    stack = llmneutral.PromptStack()
    for text in TEXTS:
        stack.add_assistant_message(text)
    path = tmp_path / "exported.ipynb"
    write_notebook(conversation_to_notebook(stack, "markdown"), path)
    page = jupyter.open(path, path.name)
    try:
        shown = read(page, len(TEXTS))
        assert "<strong>bold</strong>" in shown[-1]
        assert [html for html in shown if acts(html)] == []
        assert page.page.evaluate("window.__hit") is None
        assert page.external == []
        assert page.page.evaluate("document.baseURI").startswith(jupyter.base)
    finally:
        page.close()


def test_hostile_questions_and_answers_open_in_the_form_that_asks_again(jupyter: Jupyter, tmp_path: Path) -> None:
    stack = llmneutral.PromptStack()
    for text in TEXTS:
        stack.add_user_message(text)
        stack.add_assistant_message(text)
    path = tmp_path / "again.ipynb"
    write_notebook(conversation_to_notebook(stack), path)
    page = jupyter.open(path, path.name)
    try:
        for number in range(1, len(TEXTS) + 1):
            page.output(number)
        assert "The last text is bold and harmless." in page.text(len(TEXTS))
        assert page.page.evaluate("window.__hit") is None
        assert page.external == []
        assert page.page.evaluate("document.baseURI").startswith(jupyter.base)
    finally:
        page.close()


def test_the_browser_would_tell(jupyter: Jupyter, tmp_path: Path) -> None:
    """A text as it is: the reason for the fences."""
    path = tmp_path / "bare.ipynb"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "![x](https://evil.invalid/x.png)"}]
    write_notebook({**notebook([]), "cells": cells}, path)
    page = jupyter.open(path, path.name)
    try:
        assert acts(read(page, 1)[0])
        assert page.external == ["https://evil.invalid/x.png"]
    finally:
        page.close()
