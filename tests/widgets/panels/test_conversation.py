"""Talking in a panel: threads, stops, errors, and what is kept; without a front end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets import session
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.panels import WIDGET, Conversation
from llmneutral_widgets.pricing import OwnPrices
from llmneutral_widgets.views.transcript import EMPTY
from tests.widgets.kernel import Kernel
from tests.widgets.panels.looking import buttons, quiet, said, text, widgets
from tests.widgets.panels.test_stacks import many
from tests.widgets.shell import Echo

pytestmark = [quiet, pytest.mark.usefixtures("echo")]
SOON = 20.0
HERE: ContextVar[str] = ContextVar("HERE", default="nowhere")


class Waiting(Echo):
    """Says one word, then waits for leave, or for ever."""

    def __init__(self) -> None:
        super().__init__("waiting-1")
        self.leave = threading.Event()
        self.spoke = threading.Event()
        self.where = ""

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        self.where = HERE.get()
        yield llmneutral.DeltaMessage("start", id="w", model=self.model)
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("Well, "))
        self.spoke.set()
        self.leave.wait(SOON)
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent("yes."))
        yield llmneutral.DeltaMessage("finish", finish_reason="stop")


@pytest.fixture
def panel() -> Iterator[Conversation]:
    made = Conversation()
    yield made
    made.close()


def ask(panel: Conversation, words: str) -> str:
    """Types a question, presses Send, waits; returns what the status line tells."""
    panel.question.value = words
    panel.send_button.click()
    assert panel.wait(SOON)
    return said(panel)


def waiting() -> Waiting:
    driver = Waiting()
    Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=driver)
    return driver


def test_a_question_is_answered_into_the_panel_and_the_session(panel: Conversation, echo: Echo) -> None:
    assert EMPTY in text(panel.box)
    assert ask(panel, "hello there") == "done, 2 tokens"
    shown = text(panel.box)
    assert "hello there" in shown
    assert "HELLO THERE" in shown
    assert "custom · echo-1 · no earlier messages" in shown, "who answered is named"
    assert EMPTY not in shown
    assert panel.question.value == ""
    (turn,) = session.current().conversation().turns
    assert turn.exchange.status == "complete"
    assert len(session.current().rows) == 1


def test_an_enter_at_its_end_is_no_part_of_a_question(panel: Conversation, echo: Echo) -> None:
    ask(panel, "\n  one\n\ntwo \n\n")
    assert echo.texts() == ["user:   one\n\ntwo"]
    assert panel.question.value == ""


def test_the_next_question_takes_the_conversation_along(panel: Conversation, echo: Echo) -> None:
    ask(panel, "one")
    ask(panel, "two")
    assert echo.texts() == ["user: one", "assistant: ONE ", "user: two"]


def test_whoever_defaults_names_at_the_moment_of_sending_answers(panel: Conversation) -> None:
    ask(panel, "one")
    Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=Echo("echo-2"))
    ask(panel, "two")
    assert [turn.exchange.model for turn in session.current().conversation().turns] == ["echo-1", "echo-2"]
    assert panel.picker.model.value == "echo-2"


def test_the_driver_is_pinned_when_it_is_sent(panel: Conversation) -> None:
    driver = waiting()
    panel.send("a question")
    assert driver.spoke.wait(SOON)
    Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=Echo("another"))
    driver.leave.set()
    assert panel.wait(SOON)
    exchange = session.current().last
    assert exchange is not None
    assert (exchange.model, exchange.text) == ("waiting-1", "Well, yes.")


def test_the_thread_has_the_context_of_the_press_and_prints_nothing(
    panel: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = waiting()
    driver.leave.set()
    token = HERE.set("in the cell")
    try:
        panel.send("where are you?")
    finally:
        HERE.reset(token)
    assert panel.wait(SOON)
    assert driver.where == "in the cell"
    assert capsys.readouterr() == ("", "")


def test_stop_keeps_what_has_come_though_the_provider_is_silent(panel: Conversation) -> None:
    driver = waiting()
    panel.send("a question")
    assert driver.spoke.wait(SOON)
    assert panel.is_answering
    assert (panel.send_button.disabled, panel.stop_button.disabled) == (True, False)
    began = time.monotonic()
    panel.stop_button.click()
    assert panel.wait(SOON)
    assert time.monotonic() - began < 5
    assert said(panel) == "stopped; what had come is kept"
    exchange = session.current().last
    assert exchange is not None
    assert (exchange.status, exchange.text) == ("interrupted", "Well, ")
    assert exchange.usage.output_total is None, "a count that was cut short is no count"
    assert (panel.send_button.disabled, panel.stop_button.disabled) == (False, True)
    assert "interrupted" in text(panel.box)
    driver.leave.set()
    time.sleep(0.2)
    assert "yes." not in text(panel.box), "what comes after the end is not shown"
    assert len(session.current().conversation().turns) == 1


def test_a_second_question_waits_for_the_first_answer(panel: Conversation) -> None:
    driver = waiting()
    panel.send("a question")
    panel.send("another one")
    assert said(panel) == "An answer is coming: Stop ends it."
    panel.new_button.click()
    assert said(panel) == "An answer is coming: Stop ends it."
    driver.leave.set()
    assert panel.wait(SOON)
    assert len(session.current().conversation().turns) == 1


def test_an_error_is_in_the_status_line_and_the_question_in_its_field(
    panel: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(panel, "please fail now") == "InvalidRequestError: it failed → Ask something else."
    assert isinstance(panel.last_error, llmneutral.InvalidRequestError)
    assert panel.question.value == "please fail now"
    assert "PLEASE FAIL" in text(panel.box), "what had come is kept"
    assert "not sent along" in panel._repr_mimebundle_()["text/html"]
    assert capsys.readouterr() == ("", "")
    assert ask(panel, "better now") == "done, 2 tokens"
    assert panel.last_error is None


def test_an_error_stays_in_the_status_line_while_tabs_are_opened(panel: Conversation) -> None:
    told = ask(panel, "please fail now")
    for number in (1, 2, 0):
        panel.box.children[1].selected_index = number
    assert said(panel) == told


def test_the_question_leaves_its_field_when_it_is_answered_and_not_before(panel: Conversation) -> None:
    driver = waiting()
    panel.question.value = "a question"
    panel.send_button.click()
    assert driver.spoke.wait(SOON)
    assert (panel.question.value, panel.question.disabled) == ("a question", True)
    driver.leave.set()
    assert panel.wait(SOON)
    assert (panel.question.value, panel.question.disabled) == ("", False)


def test_a_question_that_is_sent_by_code_leaves_the_field_alone(panel: Conversation) -> None:
    panel.question.value = "half a thought"
    panel.send("another question")
    assert panel.wait(SOON)
    assert panel.question.value == "half a thought"


def test_an_interrupt_inside_the_driver_is_an_end_and_no_error(panel: Conversation) -> None:
    assert ask(panel, "please stop now") == "stopped; what had come is kept"
    assert panel.last_error is None
    assert session.current().conversation().turns[0].exchange.status == "interrupted"


def test_a_notice_of_the_library_is_told_in_the_panel(
    panel: Conversation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that the embedded model answers because nothing is configured."""
    driver = waiting()
    asked = panel.picker.providers.asked

    def notices(*given: Any) -> Any:
        Defaults.on_notice("the embedded model answers")
        return asked(*given)

    monkeypatch.setattr(panel.picker.providers, "asked", notices)
    panel.send("hello")
    assert said(panel) == "the embedded model answers; answering: custom · waiting-1"
    assert capsys.readouterr() == ("", "")
    driver.leave.set()
    assert panel.wait(SOON)


def test_nobody_is_asked_without_a_key_and_the_question_stays(
    panel: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    Defaults.drivers_config = llmneutral.AnthropicDriversConfig()
    told = ask(panel, "hello")
    assert "ANTHROPIC_API_KEY" in told
    assert "%provider key anthropic" in text(panel.box), "what a notebook has against that"
    assert "%provider local" in text(panel.box)
    assert panel.question.value == "hello"
    assert session.current().conversation().turns == []


def test_prices_of_ones_own_count_here_too(panel: Conversation) -> None:
    session.current().prices = OwnPrices({"echo-1": {"input": 0.0, "output": 1e6}}, "mine.json")
    ask(panel, "one two three")
    (turn,) = session.current().conversation().turns
    assert turn.exchange.cost == {"amount": 3.0, "currency": "USD", "source": "mine.json"}
    assert "cost 3.00 USD" in text(panel.box)


def test_a_secret_is_told_nowhere(panel: Conversation, echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "geheimnis-0815-4711")
    monkeypatch.setattr(echo, "try_stream", _leaking)
    told = ask(panel, "tell me geheimnis-0815-4711")
    everything = told + text(panel.box) + str(panel._repr_mimebundle_())
    assert "geheimnis-0815-4711" not in everything
    assert "•••" in told


def _leaking(prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
    for piece in ("it is geheimnis", "-0815", "-4711, really"):
        yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(piece))
    raise llmneutral.InvalidRequestError("no geheimnis-0815-4711 here")


@pytest.mark.parametrize("words", ["", "  \n"])
def test_an_empty_question_is_none(panel: Conversation, words: str) -> None:
    assert ask(panel, words) == "Type a question first."
    assert session.current().conversation().turns == []


def test_a_stack_is_a_conversation_of_its_own_with_its_tools_and_settings(echo: Echo) -> None:
    def leaf(colour: str) -> str:
        """Tells of a leaf."""
        return colour

    given = llmneutral.PromptStack(tools=[leaf], settings={"temperature": 0.5})
    given.add_system_message("Be brief.")
    given.add_user_message("one")
    given.add_assistant_message("ONE")
    panel = Conversation(given)
    assert panel.name == "panel-1"
    assert "ONE" in text(panel.box)
    ask(panel, "two")
    assert echo.texts() == ["system: Be brief.", "user: one", "assistant: ONE", "user: two"]
    assert list(echo.stacks[-1].tools) == [leaf]
    assert echo.stacks[-1].settings["temperature"] == 0.5
    assert len(given.messages) == 3, "the user's own stack is left as it is"
    assert Conversation(given).name == "panel-2"
    panel.close()


def test_a_name_is_a_conversation_of_the_session() -> None:
    panel = Conversation("other")
    ask(panel, "hello")
    assert len(session.current().conversation("other").turns) == 1
    assert session.current().conversation("default").turns == []
    panel.close()


def test_new_empties_the_conversation(panel: Conversation) -> None:
    ask(panel, "hello")
    panel.new_button.click()
    assert session.current().conversation().turns == []
    assert EMPTY in text(panel.box)
    assert said(panel) == "The conversation is empty."


def test_a_long_one_shows_its_end_and_a_button_brings_earlier_ones() -> None:
    panel = Conversation(many(100))
    assert "message 70" in text(panel.box)
    assert "message 69" not in text(panel.box)
    buttons(panel.box)["Show 50 of 70 earlier messages"].click()
    assert "message 20" in text(panel.box)
    assert "message 19" not in text(panel.box)
    buttons(panel.box)["Show 20 of 20 earlier messages"].click()
    assert "message 0you" in text(panel.box)
    assert not [name for name in buttons(panel.box) if "earlier" in name]
    panel.close()


def test_a_tab_says_that_it_is_coming_and_is_empty_where_it_fails(
    panel: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    tabs = panel.box.children[1]
    seen: list[str] = []

    def fails(*_: object) -> None:
        seen.append(text(tabs.children[1]))
        raise RuntimeError("no view")

    monkeypatch.setattr("llmneutral_widgets.panels.conversation.StackView", fails)
    tabs.selected_index = 1
    assert seen == ["One moment …"]
    assert tabs.children[1].children == ()
    assert isinstance(panel.last_error, RuntimeError)


def test_the_tabs_show_the_conversation_as_it_is(panel: Conversation) -> None:
    tabs = panel.box.children[1]
    assert tabs.titles == ("Talk", "Stack", "Payloads", "Deltas", "Usage")
    ask(panel, "hello")
    for number, words in enumerate(("HELLO", "2 messages", "anthropic_messages", "chunk 5 of 5", "echo-1")):
        tabs.selected_index = number
        assert words in text(tabs.children[number])
    tabs.selected_index = 1
    ask(panel, "again")
    assert "4 messages" in text(tabs.children[1]), "the open tab follows"
    assert panel.last_error is None


def test_what_is_read_and_reached_by_tab_is_in_order_and_has_names(panel: Conversation) -> None:
    controls = [
        each for each in widgets(panel.box) if type(each).__name__ in ("Dropdown", "Combobox", "Textarea", "Button")
    ]
    assert [each.description for each in controls] == ["Provider", "Model", "Question", "Send", "Stop", "New"]
    assert all([each.tooltip for each in controls[3:]])


def test_the_saved_form_is_the_transcript_with_its_exchanges(panel: Conversation) -> None:
    ask(panel, "one")
    ask(panel, "two")
    bundle = panel.static()
    assert "ONE" in bundle.data["text/html"]
    assert bundle.data["text/plain"] == "Conversation default: 4 messages"
    newest = bundle.data[MIME]
    assert Exchange.from_json(newest).text == "TWO "
    assert [Exchange.from_json(other).text for other in newest["others"]] == ["ONE "]
    assert bundle.metadata["llmneutral"]["exchange_id"] == newest["id"]


def test_what_is_saved_has_an_end(panel: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmneutral_widgets.panels.conversation._ROOM", 4_000)
    for n in range(6):
        ask(panel, f"number {n}")
    kept = panel.static().data[MIME]
    assert Exchange.from_json(kept).text == "NUMBER 5 "
    assert 1 <= len(kept["others"]) < 5


def test_the_tab_of_deltas_is_about_this_conversation(panel: Conversation) -> None:
    other = Conversation("other")
    ask(panel, "one two three four")
    ask(other, "one")
    tabs = panel.box.children[1]
    tabs.selected_index = 3
    assert "FOUR" in text(tabs.children[3])
    other.close()


def test_closing_stops_the_answer() -> None:
    driver = waiting()
    panel = Conversation()
    panel.send("a question")
    assert driver.spoke.wait(SOON)
    panel.close()
    assert panel.wait(SOON)
    exchange: Any = session.current().last
    assert exchange.status == "interrupted"
    driver.leave.set()


KERNEL_DRIVER = """
%load_ext llmneutral
import llmneutral, time
from llmneutral import widgets

class Slow(llmneutral.BasePromptDriver):
    needs_key = False
    def try_stream(self, prompt_stack):
        for word in "one two three four five".split():
            time.sleep(0.05)
            yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(word + " "))
        yield llmneutral.DeltaMessage("finish", finish_reason="stop")

llmneutral.Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=Slow("slow-1", api_mode="chat_completions"))
talk = widgets.Conversation()
talk
"""


def test_in_a_real_kernel_threads_show_and_save_and_no_cell_hears_of_them(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        first = kernel.run(KERNEL_DRIVER, cell_id="one")
        assert [sorted(output["data"]) for output in first.outputs] == [[WIDGET], ["text/html", "text/plain"]]
        asked = kernel.run("talk.send('Count.'); talk.wait(20), talk.status.value", cell_id="two")
        assert asked.error is None
        assert "stopped" not in asked.plain
        assert "(True," in asked.plain
        assert "done" in asked.plain
        assert asked.printed == ""
        begun = kernel.run("talk.send('Once more.')", cell_id="three")
        assert (begun.error, begun.printed) == (None, "")
        stopped = kernel.run(
            "talk.stop(); talk.wait(20); talk.status.value, widgets.session.last.status", cell_id="four"
        )
        assert "interrupted" in stopped.plain
        assert stopped.printed == ""
        table = kernel.run("%usage", cell_id="five")
        assert table.plain.startswith("2 calls")


def test_after_the_extension_is_loaded_anew_the_panel_goes_on_with_its_own(panel: Conversation, echo: Echo) -> None:
    ask(panel, "one")
    session.close()  # as %reload_ext does
    assert ask(panel, "two") == "done, 1 token"
    assert echo.texts() == ["user: one", "assistant: ONE ", "user: two"]
    assert len(session.current().conversation(panel.name).turns) == 2


def test_it_takes_nothing_from_another_conversation_of_its_name(panel: Conversation, echo: Echo) -> None:
    ask(panel, "one")
    session.close()
    other = Conversation()
    ask(other, "else")
    panel.question.value = "two"
    panel.send_button.click()
    assert panel.wait(SOON)
    assert panel.name == "default-2"
    assert len(session.current().conversation("default-2").turns) == 2
    assert len(session.current().conversation("default").turns) == 1
    other.close()


def test_a_closed_panel_asks_nobody(panel: Conversation, echo: Echo) -> None:
    panel.close()
    with pytest.raises(RuntimeError, match=r"this panel is closed; widgets.Conversation\('default'\) goes on"):
        panel.send("hello")
    assert echo.stacks == []
