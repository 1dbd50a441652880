"""The panels in Notebook 7: the same elements, and so the same rules of which form is shown."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from tests.browser.lab_rig import Jupyter
from tests.browser.test_panels import CELLS, SHOTS
from tests.conftest import ROOT

pytestmark = pytest.mark.browser


def test_in_notebook_7_they_live_and_are_saved_alike(tmp_path_factory: pytest.TempPathFactory) -> None:
    cells = [CELLS[name] for name in ("setup", "prompt", "picker", "stack", "talk")]
    environment = {"PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    with Jupyter(tmp_path_factory.mktemp("seven"), app="notebook", env=environment) as jupyter:
        page = jupyter.open(cells, "panels.ipynb")
        page.run_all()
        for number in (2, 3, 4):
            expect(page.output(number).locator(".llmn-live").first).to_be_visible()
            expect(page.output(number).locator(".llmn-saved").first).to_be_hidden()
        assert page.errors() == []
        assert page.external == []
        SHOTS.mkdir(exist_ok=True)
        page.screenshot(SHOTS / "panel-notebook-talk.png", 4)
        page.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.sessionContext.restartKernel()")
        page.wait_idle()
        page.save()
        page.reload()
        for number in (2, 3, 4):
            expect(page.output(number).locator(".llmn-saved").first).to_be_visible()
            expect(page.output(number).get_by_text("Loading widget")).to_be_hidden()
