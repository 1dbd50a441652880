"""The picker and the Conversation panel in JupyterLab, on each ipykernel of the matrix.

The kernels differ in when a callback runs (while a cell runs, or after it), in which thread, and in what it knows of
context variables. What the reader is promised does not differ, and that is what stands here; one notebook per kernel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Locator, TimeoutError, expect

from llmneutral_widgets.exchange import MIME
from tests.browser.lab_rig import Jupyter, NotebookPage, notebook
from tests.kernels import INSTALLED, VERSIONS, folder, specify

pytestmark = pytest.mark.browser

SETUP = '''
%load_ext llmneutral
import pathlib, time
import ipykernel
import llmneutral
from llmneutral import Defaults, widgets

def waiting(file, seconds=30):
    """Until the test has made a file."""
    end = time.monotonic() + seconds
    while not pathlib.Path(file).exists() and time.monotonic() < end:
        time.sleep(0.02)
        yield

class Scripted(llmneutral.BasePromptDriver):
    """Tells what it was told; a word of the question says what else it does."""
    needs_key = False

    def try_stream(self, prompt_stack):
        def text(of):
            return llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(of))
        told = [message.to_text() for message in prompt_stack.messages]
        yield llmneutral.DeltaMessage("start", id="m", model=self.model)
        yield text(f"I, {self.model}, was told ")
        for _ in waiting("answer") if "wait" in told[-1] else ():
            yield text("on and ")
        if "divide" in told[-1]:
            1 / 0
        yield text(" / ".join(told) + " (the end)")
        yield llmneutral.DeltaMessage("usage", usage=llmneutral.Usage(input_total=9, output_total=7))
        yield llmneutral.DeltaMessage("finish", finish_reason="stop")

class Config(llmneutral.DriversConfig):
    @property
    def name(self):
        return self.prompt_driver.model.split("-")[0]

configs = {}
for each in ("ash", "beech", "cedar", "dogwood"):
    configs[each] = Config(prompt_driver=Scripted(f"{each}-1", api_mode="chat_completions"))
for each in ("ash", "beech", "cedar"):
    widgets.session.providers.keep(each, configs[each])
Defaults.drivers_config = configs["ash"]
print(ipykernel.__version__, ipykernel.__file__)
'''
WITH = """
with configs["beech"]:
    print("running")
    for _ in waiting("go"):
        pass
    told = Defaults.drivers_config.prompt_driver.run("Hi").text
    inside, base, mark = Defaults.drivers_config.name, Defaults.base.name, talk.picker.mark.value
after = Defaults.drivers_config.name, Defaults.base.name
print("after")
"""
CELLS = {
    "setup": SETUP,
    "picker": "%provider",
    "who": "print(Defaults.drivers_config.name, Defaults.base.name)",
    "prompt": "%prompt --new Who are you?",
    "with": WITH,
    "block": "print(inside, base, told, mark, *after, sep='; ')",
    "set": "Defaults.drivers_config = configs['dogwood']",
    "talk": "talk = widgets.Conversation('talk')\ntalk",
    "no key": "Defaults.drivers_config = llmneutral.drivers_config('anthropic')",
}
PLACE = {name: number for number, name in enumerate(CELLS)}

AT_ONCE, AT_THE_END = ("7.0.1", "7.1.0"), ("6.31.0",)
"""When a callback runs that comes while a cell runs; of the installed one either is right."""

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with Jupyter(tmp_path_factory.mktemp("kernels"), viewport=(1280, 1400)) as made:
        yield made


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def page(jupyter: Jupyter, version: str) -> Iterator[NotebookPage]:
    made = notebook(CELLS.values())
    made["metadata"]["kernelspec"] = specify(jupyter.folder / "data", version)
    path = jupyter.folder / f"kernel-{version}.ipynb"
    path.write_text(json.dumps(made), encoding="utf-8")
    opened = _begun(jupyter, path, version, "") or _begun(jupyter, path, version, "-again")
    assert opened is not None, "two kernels, and both hung"
    yield opened
    opened.close()


def _begun(jupyter: Jupyter, path: Path, version: str, suffix: str) -> NotebookPage | None:
    """The notebook in which the first cells have run; None where its kernel hung, as a 7.0 may on a busy machine."""
    # A name without further dots: it is the name of a workspace, too.
    opened = jupyter.open(path, f"kernel-{version.replace('.', '-')}{suffix}.ipynb")
    try:
        for cell in ("setup", "picker", "talk"):
            opened.run(PLACE[cell])
    except TimeoutError:
        opened.close()
        return None
    return opened


def live(page: NotebookPage, cell: str) -> Locator:
    """The live view below a cell."""
    return page.output(PLACE[cell]).locator(".llmn-live").first


def chosen(page: NotebookPage, cell: str = "picker") -> Locator:
    """The dropdown of the picker, or of the panel."""
    return live(page, cell).get_by_label("Provider")


def pick(page: NotebookPage, name: str, cell: str = "picker") -> None:
    chosen(page, cell).select_option(name)


def picked(page: NotebookPage, name: str) -> None:
    """Waits until the kernel has told of a pick: both pickers name the model that goes with it."""
    for cell in ("picker", "talk"):
        expect(live(page, cell).get_by_label("Model")).to_have_value(f"{name}-1")
        expect(chosen(page, cell)).to_have_value(name)


def ran(page: NotebookPage, cell: str) -> str:
    """Runs a cell, and returns what it prints."""
    page.run(PLACE[cell])
    return "".join([output.get("text", "") for output in page.outputs(PLACE[cell])]).strip()


@contextmanager
def file(page: NotebookPage, name: str) -> Iterator[None]:
    """Makes a file that something in the kernel waits for."""
    made = page.jupyter.root / name
    made.touch()
    yield
    made.unlink()


def test_it_is_this_ipykernel_that_runs(page: NotebookPage, version: str) -> None:
    told, _, file = page.text(PLACE["setup"]).strip().partition(" ")
    assert told == version
    assert version == INSTALLED or Path(file).is_relative_to(folder(version))


# ----------------------------------------------------------------------------------------------------------------------
# The picker


def test_a_pick_reaches_the_next_cell(page: NotebookPage) -> None:
    pick(page, "beech")
    picked(page, "beech")
    assert ran(page, "who") == "beech beech"
    page.run(PLACE["prompt"])
    assert "I, beech-1, was told Who are you? (the end)" in page.text(PLACE["prompt"])


def test_a_pick_while_a_block_runs_does_not_change_the_block(page: NotebookPage, version: str) -> None:
    pick(page, "ash")
    picked(page, "ash")
    page.run(PLACE["with"], wait=False)
    page.wait_text(PLACE["with"], "running")
    expect(live(page, "picker").get_by_text("inside with: beech (after it: ash)")).to_be_visible()
    pick(page, "cedar")
    if version in AT_ONCE:
        expect(live(page, "picker").get_by_text("inside with: beech (after it: cedar)")).to_be_visible()
    with file(page, "go"):
        expect(page.output(PLACE["with"]).get_by_text("after")).to_be_visible()
    picked(page, "cedar")
    assert ran(page, "who") == "cedar cedar"
    inside, base, told, mark, *after = ran(page, "block").split("; ")
    assert (inside, told) == ("beech", "I, beech-1, was told Hi (the end)")
    assert mark.startswith("inside <code>with</code>: beech")
    assert base == "cedar" or version not in AT_ONCE
    assert base == "ash" or version not in AT_THE_END
    assert {*after} <= {"ash", "cedar"}
    for cell in ("picker", "talk"):
        expect(live(page, cell).get_by_text("inside with")).to_have_count(0)


def test_what_is_set_in_code_moves_the_dropdown(page: NotebookPage) -> None:
    page.run(PLACE["set"])
    picked(page, "dogwood")


# ----------------------------------------------------------------------------------------------------------------------
# The panel


def ask(page: NotebookPage, question: str) -> Locator:
    """Sends a question, and returns the panel."""
    panel = live(page, "talk")
    panel.get_by_label("Question").fill(question)
    panel.get_by_role("button", name="Send").click()
    return panel


def says(panel: Locator, text: str) -> None:
    """Waits for a text in the panel's own status line: the first one is its picker's, which may say the same.

    The kernel has then dealt with all that was sent to it: an edit of the field that comes sooner may be held back by
    the front end, and a press of Send would overtake it.
    """
    expect(panel.locator("[role=status]").last).to_contain_text(text)


def test_an_answer_streams_into_the_panel(page: NotebookPage) -> None:
    panel = ask(page, "Please wait.")
    expect(panel.get_by_text("I, dogwood-1, was told on and on and").last).to_be_visible()
    says(panel, "answering")
    with file(page, "answer"):
        says(panel, "done, 7 tokens")
    expect(panel.get_by_text("and Please wait. (the end)").last).to_be_visible()
    expect(panel.get_by_label("Question")).to_have_value("")


def test_a_second_turn_carries_the_first(page: NotebookPage) -> None:
    panel = ask(page, "Go on.")
    says(panel, "done, 7 tokens")
    expect(panel.get_by_text("was told Please wait. / I, dogwood-1, was told on and on and").last).to_be_visible()
    expect(panel.get_by_text("Please wait. (the end) / Go on. (the end)").last).to_be_visible()


def test_a_question_while_a_block_runs_is_answered_by_the_base(page: NotebookPage, version: str) -> None:
    page.run(PLACE["with"], wait=False)
    expect(live(page, "picker").get_by_text("inside with: beech (after it: dogwood)")).to_be_visible()
    panel = ask(page, "Who answers now?")
    answer = panel.get_by_text(re.compile(r"^I, dogwood-1, .* / Who answers now\? \(the end\)$"))
    if version in AT_ONCE:
        expect(answer).to_be_visible()
    with file(page, "go"):
        expect(page.output(PLACE["with"]).get_by_text("after")).to_be_visible()
    expect(answer).to_be_visible()


def test_stop_keeps_the_part_and_the_panel_can_be_used_again(page: NotebookPage) -> None:
    panel = live(page, "talk")
    panel.get_by_role("button", name="New").click()
    says(panel, "The conversation is empty.")
    ask(page, "Wait, please: wait.")
    expect(panel.get_by_text("on and on and").last).to_be_visible()
    panel.get_by_role("button", name="Stop").click()
    says(panel, "stopped; what had come is kept")
    expect(panel.locator(".tag", has_text="interrupted")).to_be_visible()
    panel = ask(page, "And now?")
    says(panel, "done, 7 tokens")
    expect(panel.get_by_text("on and / And now? (the end)").last).to_be_visible()


def test_what_fails_in_a_callback_is_told_in_the_status_line(page: NotebookPage) -> None:
    page.run(PLACE["no key"])
    panel = ask(page, "Who is there?")
    says(panel, "ANTHROPIC_API_KEY")
    pick(page, "ash")
    panel = ask(page, "Please divide.")
    says(panel, "ZeroDivisionError")
    panel = ask(page, "And now?")
    says(panel, "done, 7 tokens")


def test_nothing_else_was_told_and_the_answers_are_in_the_file(page: NotebookPage) -> None:
    assert page.errors() == []
    assert page.external == []
    assert page.console_errors() == []
    outputs = {cell: page.outputs(PLACE[cell]) for cell in CELLS}
    assert [outputs[cell] for cell in ("set", "no key")] == [[], []]
    assert [len(outputs[cell]) for cell in ("setup", "picker", "prompt", "talk")] == [1, 2, 1, 2]
    saved = outputs["talk"][-1]["data"][MIME]
    assert [each["status"] for each in (saved, *saved["others"])] == ["complete", "failed", "complete", "interrupted"]
