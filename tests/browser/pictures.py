"""Takes the pictures of README.md: JupyterLab, the embedded model, nothing made up but the question.

    python -m tests.browser.pictures              takes all of them
    python -m tests.browser.pictures payloads     takes some

They are cut to what they show, and lie in `.github/images/`. Take them again when a view has changed, and look at each.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Locator, expect

from tests.browser.lab_rig import Jupyter, NotebookPage
from tests.house.tree import IMAGES, MOST_IMAGE_BYTES

PATIENCE = 120_000
"""Milliseconds that an answer may take: the machine may be busy."""
MIDDLE = 9
"""The chunk that the slider is moved to."""
MARGIN = 4
"""CSS pixels above and beside what is shown; with more, or any below, the border of a neighbour would be seen."""

LOAD = """
%load_ext llmneutral
import llmneutral
from llmneutral import widgets
"""
TOOL = '''
def weather(city: str) -> str:
    """Tells the weather in a city, now."""
    return "7 degrees, rain"

stack = llmneutral.PromptStack(tools=[weather], settings={"temperature": 0.2})
stack.add_system_message("Answer in one sentence.")
stack.add_user_message("Do I need a coat in Oslo?")
call = llmneutral.ActionCallMessageContent("call_1", "weather", None, {"city": "Oslo"})
stack.add_assistant_message([call])
stack.add_user_message([llmneutral.ActionResultMessageContent("call_1", weather("Oslo"))])
'''
TALK = """
teacher = llmneutral.PromptStack(settings={"temperature": 0})
teacher.add_system_message("You are a kind teacher. Answer in one sentence.")
widgets.Conversation(teacher)
"""
QUESTION = '%%prompt --temperature 0 -s "You are a kind teacher. Answer in one sentence."\nWhat is photosynthesis?'
CELLS = {
    "load": LOAD,
    "picker": "%provider",
    "ask": QUESTION,
    "tool": TOOL,
    "payloads": "widgets.PayloadView(stack)",
    "responses": "%prompt -p local-responses --temperature 0 Say that again, in simpler words.",
    "messages": "%prompt -p local-messages --temperature 0 Give one example of it.",
    "deltas": "widgets.DeltaView()",
    "usage": "widgets.UsageView()",
    "talk": TALK,
}
PLACE = {name: number for number, name in enumerate(CELLS)}


# ----------------------------------------------------------------------------------------------------------------------
# Cutting


def _cell(page: NotebookPage, name: str) -> Locator:
    return page.page.locator(".jp-Cell").nth(PLACE[name])


def _input(page: NotebookPage, name: str) -> Locator:
    return _cell(page, name).locator(".jp-InputArea").first


def _live(page: NotebookPage, name: str) -> Locator:
    """The live panel of a cell, painted."""
    found = page.output(PLACE[name]).locator(".llmn-live").first
    expect(found).to_be_visible()
    return found


def cut(page: NotebookPage, path: Path, *shown: Locator) -> None:
    """Writes the part of the page from the first to the last of what is to be seen."""
    boxes = [box for each in shown if (box := each.bounding_box())]
    left = min(box["x"] for box in boxes) - MARGIN
    top = min(box["y"] for box in boxes) - MARGIN
    right = max(box["x"] + box["width"] for box in boxes) + MARGIN
    bottom = max(box["y"] + box["height"] for box in boxes)
    size = page.page.viewport_size or {"width": 0, "height": 0}
    if left < 0 or top < 0 or right > size["width"] or bottom > size["height"]:
        raise ValueError(f"{path.name} does not fit the window: {left}, {top}, {right}, {bottom} of {size}")
    area = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    page.page.screenshot(path=str(path), clip=area)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------------------
# What each picture shows


def _prompt(page: NotebookPage) -> list[Locator]:
    """Who answers, and the first answer."""
    page.scroll_to(PLACE["picker"])
    return [_input(page, "picker"), _cell(page, "ask")]


def _payloads(page: NotebookPage) -> list[Locator]:
    """Three payloads as far as the call of a tool, which lights up in each."""
    view = _live(page, "payloads")
    called = view.locator("tbody tr").filter(has_text="2 assistant")
    called.locator("summary").first.hover()
    return [view.get_by_role("button").first, view.locator("thead"), called]


def _deltas(page: NotebookPage) -> list[Locator]:
    """The stream of the last answer, as Messages sends it, at a chunk in the middle."""
    view = _live(page, "deltas")
    view.get_by_role("slider").focus()
    page.page.keyboard.press("Home")
    for _ in range(MIDDLE - 1):
        view.get_by_role("button", name="Forward").click()
    expect(view.get_by_text(f"chunk {MIDDLE} of")).to_be_visible()
    return [view]


def _usage(page: NotebookPage) -> list[Locator]:
    """What three calls took."""
    return [_live(page, "usage")]


def _talk(page: NotebookPage) -> list[Locator]:
    """Two questions, and their answers."""
    view = _live(page, "talk")
    for earlier, question in enumerate(("What is rain?", "Where does the water come from?")):
        view.get_by_label("Question").fill(question)
        view.get_by_role("button", name="Send").click()
        sent = f"{2 * earlier} earlier messages" if earlier else "no earlier messages"
        expect(view.get_by_text(sent).first).to_be_visible(timeout=PATIENCE)
        expect(view.get_by_role("status").first).to_contain_text("done", timeout=PATIENCE)
    return [view]


class Picture(NamedTuple):
    """What is arranged and cut, and how the window is meanwhile."""

    arrange: Callable[[NotebookPage], list[Locator]]
    width: int
    theme: str = "light"


PICTURES = {
    "prompt": Picture(_prompt, 960),
    "payloads": Picture(_payloads, 1160),
    "deltas": Picture(_deltas, 1080),
    "talk": Picture(_talk, 960),
    "usage": Picture(_usage, 1080, "dark"),
}
HEIGHT = 2000


# ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def opened(folder: Path) -> Iterator[NotebookPage]:
    """The notebook that the pictures are taken of, in JupyterLab without its side bars; every cell has run."""
    environment = {"XDG_CACHE_HOME": str(Path.home() / ".cache")}  # the model is where the person's own home has it
    with Jupyter(folder, env=environment, viewport=(1080, HEIGHT), timeout=120) as jupyter:
        page = jupyter.open(CELLS.values(), "pictures.ipynb")
        page.command("application:toggle-left-area")
        for side in ("left", "right"):
            page.command("application:toggle-side-tabbar", {"side": side})
        page.run_all()
        if page.errors():
            raise RuntimeError("; ".join(page.errors()))
        yield page


def take(page: NotebookPage, name: str, folder: Path = IMAGES) -> Path:
    """Takes one picture.

    Raises:
        ValueError: It does not fit the window, or has too many bytes for a page.
    """
    picture = PICTURES[name]
    page.set_theme(picture.theme)
    page.page.set_viewport_size({"width": picture.width, "height": HEIGHT})
    page.page.mouse.move(0, 0)
    path = folder / f"{name}.png"
    cut(page, path, *picture.arrange(page))
    if path.stat().st_size > MOST_IMAGE_BYTES:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes; at most {MOST_IMAGE_BYTES:,} are wanted")
    return path


def main(names: list[str]) -> int:
    """Takes the named pictures, or all."""
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.stderr.write(f"no picture is called {unknown[0]!r}; there are: {', '.join(PICTURES)}\n")
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as page:
        for name in names or PICTURES:
            sys.stdout.write(f"{take(page, name)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
