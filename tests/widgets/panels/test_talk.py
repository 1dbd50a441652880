"""A panel's transcript follows its conversation, whoever goes on with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets import session
from llmneutral_widgets.panels import Conversation
from llmneutral_widgets.views.transcript import EMPTY
from tests.widgets.panels.looking import quiet, text
from tests.widgets.panels.test_conversation import SOON, ask, waiting
from tests.widgets.shell import Cells, Echo, running

pytestmark = [quiet, pytest.mark.usefixtures("echo")]


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        yield found


def test_it_follows_what_cells_ask_in_the_same_conversation(cells: Cells) -> None:
    panel = Conversation()
    cells.run("%%prompt\nfrom a cell", cell_id="a")
    assert "FROM A CELL" in text(panel.box)
    assert "FROM A CELL" in panel.static().data["text/html"]
    cells.run("%%prompt\nplease fail", cell_id="b")
    assert "not sent along" in text(panel.box), "a cell that failed is followed, too"
    cells.run("%%prompt --stack other\nelsewhere", cell_id="c")
    assert "ELSEWHERE" not in text(panel.box)
    cells.run("%stack reset", cell_id="d")
    assert EMPTY in text(panel.box)
    panel.close()


def test_a_cell_that_is_run_again_makes_what_follows_stale(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    panel, kept = Conversation(), []
    for name in "abc":
        cells.run(f"%%prompt\nfrom {name}", cell_id=name)
    ask(panel, "from the panel")
    tabs = panel.box.children[1]
    tabs.selected_index = 1
    monkeypatch.setattr(panel, "keep", lambda: kept.append(panel.static().data["text/html"]))
    cells.run("%%prompt\nfrom b", cell_id="b")
    shown = text(tabs.children[0])
    assert shown.index("FROM A") < shown.index("FROM B") < shown.index("FROM C") < shown.index("FROM THE PANEL")
    assert "stale" not in shown[: shown.index("FROM B")]
    assert "stale" in shown[shown.index("FROM B") : shown.index("FROM C")]
    assert "stale" in shown[shown.index("FROM C") :]
    assert len(kept) == 1, "saved once for a cell"
    assert kept[0].count(">stale<") == 4
    assert "stale" in text(tabs.children[1]), "the open tab follows, too"
    cells.run("1 + 1", cell_id="d")
    assert len(kept) == 1, "where nothing has changed, nothing is drawn"
    panel.close()


def test_panels_of_one_conversation_follow_one_another_until_they_are_closed() -> None:
    panel, other, closed = Conversation(), Conversation(), Conversation()
    closed.close()
    closed.close()
    ask(panel, "hello there")
    assert "HELLO THERE" in text(other.box)
    assert text(panel.box.children[1].children[0]).count("HELLO THERE") == 1, "what came in its box is not drawn anew"
    panel.new_button.click()
    assert EMPTY in text(other.box)
    assert len(session.current().conversation().followers) == 2
    panel.close()
    other.close()


def test_while_an_answer_comes_nothing_moves_and_then_all_is_there(cells: Cells) -> None:
    panel = Conversation()
    driver = waiting()
    panel.send("a slow question")
    assert driver.spoke.wait(SOON)
    Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=Echo())
    cells.run("%%prompt\nmeanwhile", cell_id="a")
    shown = text(panel.box)
    assert "a slow question" in shown
    assert "MEANWHILE" not in shown
    panel._talk.show_earlier()
    shown = text(panel.box)
    assert shown.index("MEANWHILE") < shown.index("a slow question"), "what is coming stays at the end"
    driver.leave.set()
    assert panel.wait(SOON)
    shown = text(panel.box)
    assert shown.index("MEANWHILE") < shown.index("Well, yes.")
    panel.close()


def test_an_edit_that_a_press_has_overtaken_is_what_is_asked(echo: Echo) -> None:
    panel = Conversation()

    async def pressed() -> None:
        panel.question.value = "First text"
        panel.send_button.click()
        await asyncio.sleep(0.02)  # the front end has held this edit back until the first one was heard
        panel.question.value = "Second text, edited"
        while not panel.is_answering and not echo.stacks:
            await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(pressed(), SOON))
    assert panel.wait(SOON)
    assert echo.texts() == ["user: Second text, edited"]
    assert panel.question.value == ""
    panel.close()
