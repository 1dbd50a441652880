"""The six panels in JupyterLab: they paint, they act, they are saved as what they showed, and they stay at home.

Pictures are left in `tests/browser/shots/`, to be looked at by a person when a view changes. What is measured (sizes,
painting, frames) is printed and not asserted: it depends on the machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Locator, expect

from llmneutral_widgets.exchange import MIME
from llmneutral_widgets.panels import WIDGET
from tests.browser.lab_rig import Jupyter, NotebookPage
from tests.conftest import ROOT

pytestmark = pytest.mark.browser

SHOTS = ROOT / "tests" / "browser" / "shots"
SETUP = r'''
%load_ext llmneutral
import time
import llmneutral
from llmneutral import widgets
from tests.widgets.samples import stack

TEXT = """Light of **two colours** does the work: red and blue.

1. A pigment takes up the light.
2. Water is split, and oxygen goes.

```python
def glucose(light: float) -> float:
    return 0.11 * light
```

So $E = h\\nu$ is paid back as sugar, and a leaf costs $5 nowhere. """


class Synthetic(llmneutral.BasePromptDriver):
    needs_key = False

    def try_stream(self, prompt_stack):
        yield llmneutral.DeltaMessage("start", id="m1", model=self.model)
        for word in "The question is about leaves. ".split(" "):
            yield llmneutral.DeltaMessage("thinking", llmneutral.ThinkingDeltaMessageContent(word + " "))
        question = prompt_stack.messages[-1].to_text()
        if "fail" in question:
            raise llmneutral.RateLimitError("too many requests", status=429, hint="Wait a minute, then send it again.")
        pause, times = (0.0, 350) if "long" in question else (0.25, 20) if "slow" in question else (0.005, 1)
        for number, word in enumerate((TEXT * times).split(" ")):
            time.sleep(pause if number % 4 == 0 or pause > 0.1 else 0.001)
            yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(word + " ", index=1))
        usage = llmneutral.Usage(input_total=len(question), cache_read=6, output_total=70 * times)
        yield llmneutral.DeltaMessage("usage", usage=usage)
        yield llmneutral.DeltaMessage("finish", finish_reason="stop")


class Config(llmneutral.DriversConfig):
    @property
    def name(self):
        return "synthetic"


llmneutral.Defaults.drivers_config = Config(prompt_driver=Synthetic("leaf-1", api_mode="chat_completions"))
long = llmneutral.PromptStack()
for n in range(1000):
    add = long.add_assistant_message if n % 2 else long.add_user_message
    add(f"Message {n}: a leaf is **green** because it takes up red and blue light.")
'''
EMPTY = """
from llmneutral_widgets.exchange import Exchange

nothing = llmneutral.PromptStack()
none = Exchange(id="x-0", status="complete")
display(widgets.StackView(nothing), widgets.PayloadView(nothing), widgets.DeltaView(none), widgets.UsageView([]))
widgets.Conversation(nothing)
"""
CELLS = {
    "setup": SETUP,
    "prompt": "%%prompt -s 'You are a kind teacher.'\nHow does a leaf make sugar?",
    "picker": "widgets.ProviderPicker()",
    "stack": "widgets.StackView(stack())",
    "payload": "widgets.PayloadView(stack())",
    "deltas": "widgets.DeltaView()",
    "usage": "from tests.widgets.samples import ROWS\nwidgets.UsageView([*ROWS, *widgets.session.rows])",
    "talk": "talk = widgets.Conversation()\ntalk",
    "empty": EMPTY,
    "thousand": "widgets.StackView(long)",
    "wide": "widgets.PayloadView(stack(), 'all')",
    "magic": "%payload all",
}
AROUND = 400
"""CSS pixels of the window that are not the notebook's: menus, and the cell above an output."""
PLACE = {name: number for number, name in enumerate(CELLS)}


expect.set_options(timeout=30_000)
"""Milliseconds that anything may take to appear: the machine may be busy."""


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    environment = {"PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    with Jupyter(tmp_path_factory.mktemp("panels"), env=environment, viewport=(1280, 1400)) as made:
        yield made


@pytest.fixture(scope="module")
def page(jupyter: Jupyter) -> Iterator[NotebookPage]:
    opened = jupyter.open(CELLS.values(), "panels.ipynb")
    opened.run_all()
    yield opened
    opened.close()


def output(page: NotebookPage, cell: str) -> Locator:
    return page.output(PLACE[cell])


def live(page: NotebookPage, cell: str) -> Locator:
    """The live view below a cell, once it is painted."""
    found = output(page, cell).locator(".llmn-live").first
    expect(found).to_be_visible()
    return found


def shoot(page: NotebookPage, name: str, cell: str) -> None:
    """Takes a picture of a whole output: the window is as tall as it needs, or the status bar would lie over it."""
    SHOTS.mkdir(exist_ok=True)
    path = SHOTS / f"panel-{name}.png"
    page.page.mouse.move(0, 0)
    before = page.page.viewport_size or {"width": 1280, "height": 1400}
    box = output(page, cell).bounding_box()
    assert box is not None
    height = max(before["height"], int(box["height"]) + AROUND)
    page.page.set_viewport_size({"width": before["width"], "height": height})
    page.screenshot(path, PLACE[cell])
    page.page.set_viewport_size({"width": before["width"], "height": before["height"]})
    assert path.stat().st_size > 2_000


def button(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=name)


def test_all_six_paint_without_an_error_and_stay_on_this_machine(page: NotebookPage) -> None:
    for cell in ("picker", "stack", "payload", "deltas", "usage", "talk"):
        live(page, cell)
        expect(output(page, cell).locator(".llmn-saved").first).to_be_hidden()
    assert page.errors() == []
    assert page.external == []
    assert page.console_errors() == []


def test_the_empty_states(page: NotebookPage) -> None:
    for text in ("No messages yet.", "No stream recorded", "No calls yet.", "Nothing was said yet."):
        expect(output(page, "empty").locator(".llmn-live").get_by_text(text).first).to_be_visible()
    shoot(page, "light-empty", "empty")


def test_a_button_brings_more_of_a_thousand_messages(page: NotebookPage) -> None:
    view = live(page, "thousand")
    expect(view.locator(".message")).to_have_count(33)
    button(view, "Show 50 of 967 more messages").click()
    expect(view.locator(".message")).to_have_count(83)
    expect(view.get_by_role("status")).to_contain_text("50 more messages are shown, from 920 to 969")
    expect(button(view, "Show 50 of 917 more messages")).to_be_visible()


def test_an_api_becomes_a_column_by_its_button(page: NotebookPage) -> None:
    view = live(page, "payload")
    expect(view.locator("thead th")).to_have_count(4)
    button(view, "gemini_native").click()
    expect(view.locator("thead th")).to_have_count(5)
    button(view, "gemini_native").click()
    expect(view.locator("thead th")).to_have_count(4)


def test_a_block_lights_up_with_its_renderings_and_nothing_else(page: NotebookPage) -> None:
    row = live(page, "payload").locator("tbody tr").filter(has_text="Answer in **one** line").first
    twins = row.locator(".k1")
    dark = colour(twins.last)
    twins.first.hover()
    assert colour(twins.last) != dark
    page.page.mouse.move(0, 0)
    assert colour(twins.last) == dark


def colour(locator: Locator) -> str:
    return str(locator.evaluate("element => getComputedStyle(element).backgroundColor"))


PLACES = """box => {
    const cell = box.querySelector('tbody td'), left = each => each.getBoundingClientRect().left;
    return [box.scrollWidth - box.clientWidth, left(cell), left(cell.nextElementSibling)];
}"""
"""Of a wide table: how much does not fit, and where its first two columns begin."""


@pytest.mark.parametrize("cell", ["wide", "magic"])
def test_the_first_column_stays_while_the_others_scroll_by(page: NotebookPage, cell: str) -> None:
    view = live(page, cell) if cell == "wide" else output(page, cell)
    expect(view.get_by_text("7 columns: where they do not all fit, scroll sideways")).to_be_visible()
    wide = view.locator(".wide").first
    over, first, other = wide.evaluate(PLACES)
    assert over > 200
    wide.evaluate("box => { box.scrollLeft = 150; }")
    _, first_after, other_after = wide.evaluate(PLACES)
    assert abs(first_after - first) < 2
    assert abs(other_after - (other - 150)) < 2
    shoot(page, f"light-{cell}", cell)


def test_the_slider_replays_the_stream(page: NotebookPage) -> None:
    view = live(page, "deltas")
    slider = view.get_by_role("slider")
    slider.focus()
    page.page.keyboard.press("Home")
    expect(view.get_by_text("chunk 1 of")).to_be_visible()
    for _ in range(12):
        button(view, "Forward").click()
    expect(view.get_by_text("chunk 13 of")).to_be_visible()


def test_a_question_by_keyboard_alone_is_answered(page: NotebookPage) -> None:
    view = live(page, "talk")
    view.get_by_label("Question").click()
    page.page.keyboard.type("Why is a leaf green?")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    expect(view.get_by_role("status").first).to_contain_text("done, 70 tokens")
    expect(view.get_by_text("two colours").last).to_be_visible()
    expect(view.get_by_label("Question")).to_have_value("")
    shoot(page, "light-talk", "talk")


def test_stop_keeps_what_has_come(page: NotebookPage) -> None:
    view = live(page, "talk")
    view.get_by_label("Question").fill("A slow one, please.")
    button(view, "Send").click()
    expect(view.get_by_text("answering …")).to_be_visible()
    expect(view.get_by_text("Light of").last).to_be_visible()
    button(view, "Stop").click()
    expect(view.get_by_role("status").first).to_contain_text("stopped; what had come is kept")
    expect(view.locator(".tag", has_text="interrupted")).to_be_visible()


def test_an_error_is_told_and_the_question_is_kept(page: NotebookPage) -> None:
    view = live(page, "talk")
    view.get_by_label("Question").fill("This will fail.")
    button(view, "Send").click()
    expect(view.get_by_role("status").first).to_contain_text("RateLimitError: too many requests")
    expect(view.get_by_label("Question")).to_have_value("This will fail.")
    assert page.errors() == []
    shoot(page, "light-talk-error", "talk")


def test_the_tabs_show_the_conversation_as_it_is_now(page: NotebookPage) -> None:
    view = live(page, "talk")
    for tab, text in (("Stack", "How does a leaf make sugar?"), ("Deltas", "chunk"), ("Usage", "synthetic")):
        view.get_by_role("tab", name=tab).click()
        expect(view.get_by_text(text).filter(visible=True).first).to_be_visible()
    view.get_by_role("tab", name="Talk").click()


def test_tabs_are_opened_by_keys_and_the_keys_lead_out_again(page: NotebookPage) -> None:
    view = live(page, "talk")
    view.get_by_role("tab", name="Talk").focus()
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Enter")
    expect(view.get_by_role("tab", name="Stack")).to_have_attribute("aria-selected", "true")
    view.get_by_role("tab", name="Talk").click()
    view.get_by_label("Provider").focus()
    steps = 0
    while view.evaluate("box => box.contains(document.activeElement)") and steps < 12:
        page.page.keyboard.press("Tab")
        steps += 1
    assert 5 <= steps < 12, "the model, the folds of what was said, the question, Send, New, and out"


FOCUSED = """() => {
    const at = document.activeElement, style = getComputedStyle(at);
    const line = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
    return [at.textContent.trim() || at.getAttribute('role') || at.tagName, line || style.boxShadow !== 'none'];
}"""


@pytest.mark.parametrize("cell", ["payload", "deltas", "usage", "talk"])
def test_whatever_the_keys_reach_shows_that_it_is_reached(page: NotebookPage, cell: str) -> None:
    """WCAG 2.2, 2.4.7."""
    view = live(page, cell)
    page.page.keyboard.press("Escape")
    view.locator("button:visible, select:visible, [role=slider]:visible").first.focus()
    unseen = []
    for _ in range(30):
        page.page.keyboard.press("Tab")
        if not view.evaluate("box => box.contains(document.activeElement)"):
            break
        name, is_seen = page.page.evaluate(FOCUSED)
        if not is_seen:
            unseen.append(name)
    assert unseen == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_for_a_person(page: NotebookPage, theme: str) -> None:
    page.set_theme(theme)
    for cell in ("picker", "stack", "payload", "deltas", "usage", "talk", "empty", "thousand", "wide", "magic"):
        expect(output(page, cell)).to_be_visible()
        shoot(page, f"{theme}-{cell}", cell)
    page.set_theme("light")


FRAMES = """() => {
    window.rigFrames = {times: [], stop: false, long: 0, added: 0};
    const told = window.rigFrames;
    new PerformanceObserver(list => { told.long += list.getEntries().length; }).observe({type: 'longtask'});
    const tick = now => { told.times.push(now); if (!told.stop) requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
}"""
FRAMES_END = """() => {
    const told = window.rigFrames; told.stop = true;
    const gaps = told.times.slice(1).map((t, i) => t - told.times[i]).sort((a, b) => a - b);
    const whole = told.times[told.times.length - 1] - told.times[0];
    return {fps: 1000 * gaps.length / whole, worst: gaps[gaps.length - 1], seconds: whole / 1000, long: told.long};
}"""


def test_sizes_and_speeds_are_told(page: NotebookPage, capsys: pytest.CaptureFixture[str]) -> None:
    view = live(page, "talk")
    button(view, "New").click()
    page.page.evaluate(FRAMES)
    view.get_by_label("Question").fill("A long one, please.")
    button(view, "Send").click()
    expect(view.get_by_role("status").first).to_contain_text("done, 24,500 tokens", timeout=120_000)
    talk: dict[str, Any] = page.page.evaluate(FRAMES_END)
    letters = len(view.inner_text())
    thousand = live(page, "thousand")
    page.page.evaluate(FRAMES)
    for _ in range(3):
        name = thousand.get_by_role("button", name="Show 50 of")
        before = thousand.locator(".message").count()
        name.click()
        expect(thousand.locator(".message")).to_have_count(before + 50)
    more: dict[str, Any] = page.page.evaluate(FRAMES_END)
    sizes = {cell: len(json.dumps(page.outputs(PLACE[cell]))) for cell in PLACE}
    with capsys.disabled():
        sys.stdout.write(
            f"\nan answer of {letters:,} characters in a panel: {talk}\n150 more of 1,000 messages: {more}\n"
            f"bytes saved below each cell: {sizes}\n"
        )
    assert letters > 80_000


def test_what_is_saved_is_what_was_shown_and_stays_when_the_kernel_has_gone(page: NotebookPage) -> None:
    view = live(page, "talk")
    view.get_by_label("Question").fill("And at night?")
    button(view, "Send").click()
    expect(view.get_by_role("status").first).to_contain_text("done, 70 tokens")
    saved = page.save()
    assert "widgets" not in saved["metadata"]
    for cell in ("picker", "stack", "payload", "deltas", "usage", "talk"):
        shown, kept = saved["cells"][PLACE[cell]]["outputs"][-2:]
        assert list(shown["data"]) == [WIDGET]
        assert {"text/html", "text/plain"} <= set(kept["data"])
        assert WIDGET not in kept["data"]
    assert saved["cells"][PLACE["talk"]]["outputs"][-1]["data"][MIME]["status"] == "complete"
    page.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.sessionContext.restartKernel()")
    page.wait_idle()
    page.command("docmanager:save")
    page.reload()
    for cell in ("picker", "stack", "payload", "deltas", "usage", "talk"):
        expect(output(page, cell).locator(".llmn-saved").first).to_be_visible()
        expect(output(page, cell).get_by_text("Loading widget")).to_be_hidden()
        expect(output(page, cell).get_by_text("Error displaying widget")).to_be_hidden()
    shoot(page, "light-reopened-talk", "talk")
    shoot(page, "light-reopened-picker", "picker")


def test_where_nobody_trusts_the_file_what_was_saved_can_still_be_read(page: NotebookPage) -> None:
    """As a notebook that came by mail: its style, its scripts and its live views are taken out."""
    saved = json.loads((page.jupyter.root / page.name).read_text(encoding="utf-8"))
    saved["metadata"]["from"] = "elsewhere"  # another file than the one that was signed
    path = page.jupyter.folder / "foreign.ipynb"
    path.write_text(json.dumps(saved), encoding="utf-8")
    foreign = page.jupyter.open(path)
    for cell, text in (
        ("picker", " answers"),
        ("stack", "You are terse."),
        ("payload", "valid (openai"),
        ("usage", "sum"),
    ):
        shown = foreign.output(PLACE[cell])
        expect(shown.get_by_text(text).first).to_be_visible()
        expect(shown.get_by_text("Loading widget")).to_have_count(0)
        assert shown.locator("style").count() == 0
    picked = foreign.output(PLACE["picker"])
    picked.locator("summary").click()
    expect(picked.get_by_text("in effect")).to_be_visible()
    shoot(foreign, "untrusted-payload", "payload")
    assert foreign.external == []
    foreign.close()
