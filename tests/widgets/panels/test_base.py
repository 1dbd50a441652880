"""What every panel shares: two outputs of which one is seen, a status line, callbacks that tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import llmneutral
import llmneutral_widgets
from llmneutral_widgets import display, session
from llmneutral_widgets.exchange import Exchanges
from llmneutral_widgets.panels import (
    WIDGET,
    Conversation,
    DeltaView,
    Panel,
    PayloadView,
    ProviderPicker,
    StackView,
    UsageView,
)
from llmneutral_widgets.panels.base import saved
from tests.widgets.panels.looking import html, quiet, said, widgets
from tests.widgets.samples import ROWS, stack
from tests.widgets.shell import Echo, running

pytestmark = quiet

PANELS: dict[str, Callable[[], Panel]] = {
    "ProviderPicker": ProviderPicker,
    "StackView": lambda: StackView(stack()),
    "PayloadView": lambda: PayloadView(stack()),
    "DeltaView": DeltaView,
    "UsageView": lambda: UsageView(ROWS),
    "Conversation": lambda: Conversation(stack()),
}


@pytest.fixture(autouse=True)
def someone_answers() -> Iterator[None]:
    before = llmneutral.Defaults.drivers_config if llmneutral.Defaults.is_set else None
    llmneutral.Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=Echo())
    yield
    session.close()
    llmneutral.Defaults.drivers_config = before


@pytest.fixture(params=PANELS)
def panel(request: pytest.FixtureRequest) -> Iterator[Panel]:
    made = PANELS[request.param]()
    yield made
    made.close()


def test_every_one_has_a_public_name() -> None:
    for name in PANELS:
        assert name in dir(llmneutral.widgets)
        assert getattr(llmneutral.widgets, name) is getattr(llmneutral_widgets, name)


def test_the_static_form_holds_no_widget(panel: Panel) -> None:
    bundle = panel._repr_mimebundle_()
    assert {"text/html", "text/plain"} <= set(bundle)
    assert WIDGET not in bundle
    assert bundle["text/plain"]


def test_every_one_has_a_status_line_that_is_read_aloud(panel: Panel) -> None:
    panel.say("It is <done>.")
    assert said(panel) == "It is &lt;done&gt;."
    assert any([each is panel.status for each in widgets(panel.box)])


def test_a_kernel_is_shown_the_live_view_and_beside_it_what_is_saved(panel: Panel) -> None:
    with running(is_kernel=True) as cells:
        cells.shell.user_ns["panel"] = panel
        ran = cells.run("panel")
    live, kept = ran.outputs
    assert list(live) == [WIDGET]
    assert {"text/html", "text/plain"} <= set(kept)
    assert 'class="llmn-saved"' in kept["text/html"]
    assert ran.error is None


def test_a_terminal_is_told_in_words(panel: Panel) -> None:
    with running(is_kernel=False) as cells:
        cells.shell.user_ns["panel"] = panel
        ran = cells.run("panel")
    assert all([WIDGET not in output for output in ran.outputs])
    assert panel.static().text(display.width()) in ran.plain + ran.printed


def test_what_changes_is_saved_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(is_kernel=True) as cells:
        cells.shell.user_ns["stack"] = grown = llmneutral.PromptStack()
        ran = cells.run(
            "from llmneutral import widgets\nview = widgets.StackView(stack)\ndisplay(view)\n"
            "stack.add_user_message('It has grown.')\nview.refresh()"
        )
    assert ran.error is None
    assert len(grown.messages) == 1
    assert "It has grown." in ran.outputs[-1]["text/html"]


def test_what_a_callback_fails_with_is_told_without_secrets_and_forgotten_when_it_goes_well(panel: Panel) -> None:
    fails = True

    def act(_: Any) -> None:
        if fails:
            raise RuntimeError("no <list> for sk-0123456789abcdef")

    call = panel.guarded(act)
    call(None)
    assert said(panel) == "RuntimeError: no &lt;list&gt; for •••"
    assert type(panel.last_error) is RuntimeError
    fails = False
    call(None)
    assert said(panel) == ""
    assert str(panel.last_error) == "None"


def test_a_hint_is_told(panel: Panel) -> None:
    panel.tell_error(llmneutral.RateLimitError("too fast", status=429, hint="Wait."))
    assert said(panel) == "RateLimitError: too fast → Wait."


def test_the_live_style_stands_once_and_first(panel: Panel) -> None:
    assert html(panel.box)[0].startswith("<style>")
    assert ".llmn-live" in html(panel.box)[0]


def test_a_form_without_html_is_saved_as_it_is() -> None:
    from llmneutral_widgets.bundles import Bundle

    assert saved(Bundle({"text/plain": "x"})).data == {"text/plain": "x"}


def test_controls_have_names(panel: Panel) -> None:
    for each in widgets(panel.box):
        if re.fullmatch(r"Button|ToggleButton|Dropdown|Combobox|IntSlider|Textarea", type(each).__name__):
            assert each.description


def open_widgets() -> int:
    """How many widgets the kernel keeps, with their layouts and styles."""
    from ipywidgets.widgets import widget

    return len(widget._instances)


@pytest.mark.parametrize("make", PANELS)
def test_what_is_closed_is_not_kept(make: str) -> None:
    before = open_widgets()
    panel = PANELS[make]()
    panel.close()
    assert open_widgets() == before


@pytest.mark.parametrize("make", [name for name in PANELS if name not in ("ProviderPicker", "Conversation")])
def test_what_is_read_again_is_not_kept_twice(make: str) -> None:
    panel: Any = PANELS[make]()
    panel.refresh()
    before = open_widgets()
    for _ in range(3):
        panel.refresh()
    assert open_widgets() == before
    panel.close()


def test_a_conversation_that_begins_anew_keeps_nothing_of_the_old_one() -> None:
    panel = Conversation("other")
    before = open_widgets()
    for words in ("one", "two", "please fail now"):
        panel.send(words)
        assert panel.wait(20)
    panel.begin()
    assert open_widgets() == before
    panel.send("again")
    assert panel.wait(20)
    panel.close()


def test_a_panel_that_is_closed_still_shows_what_is_saved(panel: Panel) -> None:
    """What was taken off the page is shown by its static form alone: no traceback of the notebook's."""
    assert not panel.is_closed
    panel.close()
    assert panel.is_closed
    with running(is_kernel=True) as cells:
        cells.shell.push({"panel": panel})
        shown = cells.run("panel")
    assert shown.error is None
    assert WIDGET not in str(shown)
    assert "llmn-saved" in shown.html


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DeltaView(5), "not an int"),  # type: ignore[arg-type]
        (lambda: PayloadView(stack(), 5), "names of APIs"),  # type: ignore[arg-type]
        (lambda: UsageView(5), "list of dicts"),  # type: ignore[arg-type]
        (lambda: StackView(5), "a panel shows a PromptStack, an Exchange, or a conversation by its name; not an int"),
        (lambda: StackView(Exchanges()), "not an Exchanges, of which it shows one"),
        (lambda: Conversation().send(5), "a question is a text"),  # type: ignore[arg-type]
    ],
)
def test_what_a_panel_does_not_take_is_told_in_a_line(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make()


def test_a_stack_with_a_text_among_its_messages_is_shown_with_it() -> None:
    """A common slip: `stack.messages.append("text")`."""
    broken = stack()
    broken.messages.append("just a text")  # type: ignore[arg-type]
    assert any("just a text" in value and "(not a message)" in value for value in html(StackView(broken).box))
    shown = "".join(html(PayloadView(broken).box))
    assert shown.count("message 7 of the stack is a str, not a Message") == 3
    assert "just a text" in shown


def test_a_form_that_is_none_is_told_by_each_column() -> None:
    broken = stack()
    broken.output_schema = 5
    view = PayloadView(broken)
    assert {type(found).__name__ for found in view.conversions.values()} == {"ConfigurationError"}


def test_a_panel_is_a_widget_that_others_hold(panel: Panel) -> None:
    import ipywidgets

    page = ipywidgets.HBox([panel, ipywidgets.HTML("beside it")])
    assert page.children[0] is panel
    assert panel.children, "what it shows"
    page.close()


def test_its_repr_says_nothing_of_what_is_typed() -> None:
    panel = Conversation()
    panel.question.value = "my key is sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2"
    assert repr(panel) == "<Conversation>"


def test_it_is_closed_once(panel: Panel) -> None:
    panel.close()
    panel.close()
    assert panel.is_closed
    assert panel._repr_mimebundle_()["text/html"]
