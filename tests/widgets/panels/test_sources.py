"""Whatever holds a conversation can be shown by every panel that shows one."""

from __future__ import annotations

from contextlib import closing

import pytest

from llmneutral_widgets import session
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.panels import Conversation, DeltaView, PayloadView, StackView
from tests.widgets.panels.looking import quiet, text
from tests.widgets.panels.test_conversation import ask
from tests.widgets.shell import Echo, running

pytestmark = quiet


@pytest.mark.parametrize("is_of_a_file", [False, True])
def test_every_view_shows_an_exchange(echo: Echo, is_of_a_file: bool) -> None:
    """What `-o NAME` binds."""
    with closing(Conversation()) as panel:
        ask(panel, "one")
        ask(panel, "two")
    exchange = session.current().last
    assert exchange is not None
    if is_of_a_file:
        exchange = Exchange.from_json(exchange.to_json())
    shown = text(StackView(exchange).box)
    assert "two" in shown
    assert shown.index("two") < shown.index("TWO")
    assert ("ONE" in shown) is not is_of_a_file, "the history is known while the kernel lives"
    payload = text(PayloadView(exchange, "chat").box)
    assert "two" in payload
    assert "TWO" not in payload, "what was sent, and not what came"
    assert ("chunk" in text(DeltaView(exchange).box)) is not is_of_a_file
    with closing(Conversation(exchange)) as further:
        ask(further, "three")
        assert echo.texts()[-3:] == ["user: two", "assistant: TWO ", "user: three"]
    assert further.name == "panel-1"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("widgets.StackView(42)", "TypeError: a panel shows a PromptStack"),
        ("widgets.StackView('Be a pirate.')", "OptionError: there is no conversation Be a pirate."),
        ("widgets.PayloadView(apis=['opnai'])", "OptionError: "),
        ("widgets.UsageView(5)", "TypeError: UsageView takes a list of dicts"),
        ("widgets.DeltaView(5)", "TypeError: a DeltaView shows"),
        ("widgets.Conversation(5)", "TypeError: a panel shows a PromptStack"),
        ("widgets.Conversation().send(5)", "TypeError: a question is a text, not an int"),
    ],
)
def test_what_a_panel_does_not_take_is_told_in_a_few_lines(code: str, said: str) -> None:
    with running(is_kernel=True) as cells:
        error = cells.run(f"from llmneutral import widgets\n{code}").error
        lines = error._render_traceback_()
        assert lines[:2] == ["Cell In[1], line 2", f"    {code}"]
        assert lines[2].startswith(said)
        assert len(lines) == 4, "and where the rest is"
        cells.run("%config PromptMagics.tracebacks = 'full'")
        full = cells.run(f"from llmneutral import widgets\n{code}").error._render_traceback_()
        assert len(full) > 6
