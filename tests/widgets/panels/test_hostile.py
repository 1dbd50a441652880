"""All panels with hostile strings in every field, and with secrets: nothing gets out of what a view may make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.panels import Conversation, DeltaView, Panel, PayloadView, ProviderPicker, StackView, UsageView
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.panels.looking import html, quiet, widgets
from tests.widgets.samples import PNG
from tests.widgets.shell import Echo
from tests.widgets.views.test_hostile import ATTACKS

pytestmark = quiet
SECRET = "geheimnis-0815-4711"
PLANTED = [SECRET, "sk-proj-0123456789abcdef", "Bearer abcdef0123456789", "https://me:pass0815word@a.example/x"]


@pytest.fixture(autouse=True)
def someone_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    before = llmneutral.Defaults.drivers_config if llmneutral.Defaults.is_set else None
    llmneutral.Defaults.drivers_config = llmneutral.DriversConfig(prompt_driver=Parrot())
    yield
    session.close()
    llmneutral.Defaults.drivers_config = before


class Parrot(Echo):
    """Says what it is told, as it was told: a link in capitals would be another one."""

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        question = prompt_stack.messages[-1].to_text()
        for at in range(0, len(question), 3):
            yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(question[at : at + 3]))
        if question.startswith("fail"):
            raise llmneutral.InvalidRequestError(question, hint=question)
        yield llmneutral.DeltaMessage("finish", finish_reason="stop")


def stack(text: str) -> llmneutral.PromptStack:
    """A conversation that says the same wherever something can be said; a secret is no name, and no id."""
    name = "weather" if any([secret in text for secret in PLANTED]) else text
    call = llmneutral.ActionCallMessageContent(name, name, None, {text: text})
    origin = llmneutral.Origin(api=text, model=text)
    made = llmneutral.PromptStack(settings={"stop": [text]})
    made.add_system_message(text)
    made.add_user_message([llmneutral.TextMessageContent(text), llmneutral.ImageMessageContent(PNG, "image/png")])
    made.add_assistant_message([llmneutral.ThinkingMessageContent(text, signature=text, origin=origin), call])
    made.add_user_message([llmneutral.ActionResultMessageContent(name, {text: text})])
    made.add_assistant_message(text)
    made.add_user_message(text)
    return made


def recorded(text: str) -> Exchange:
    deltas = [
        llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(text)),
        llmneutral.DeltaMessage(
            "call", llmneutral.ActionCallDeltaMessageContent(name=text, partial_input=text, index=1)
        ),
    ]
    record = tuple([(0.1 * n, {text: text}, [delta]) for n, delta in enumerate(deltas)])
    return Exchange(id="x-1", status="failed", provider=text, model=text, deltas=record)


def rows(text: str) -> list[dict[str, Any]]:
    return [dict.fromkeys(("time", "stack", "cell", "provider", "model", "status", "currency"), text)]


def talked(text: str) -> Panel:
    panel = Conversation(stack(text))
    panel.send(text)
    panel.wait(20)
    panel.send(f"fail {text} fail")
    panel.wait(20)
    panel.tell_error(llmneutral.RateLimitError(text, hint=text))
    for number in range(5):
        panel.box.children[1].selected_index = number
    return panel


PANELS: dict[str, Callable[[str], Panel]] = {
    "stack": lambda text: StackView(stack(text)),
    "payload": lambda text: PayloadView(stack(text), "all"),
    "deltas": lambda text: DeltaView(recorded(text)),
    "usage": lambda text: UsageView(rows(text)),
    "talk": talked,
}


def shown(panel: Panel) -> list[str]:
    return [value for value in [*html(panel.box), str(panel.static().data["text/html"])] if value]


@pytest.mark.parametrize("make", PANELS)
@pytest.mark.parametrize("attack", ATTACKS[::4])
def test_hostile_in_every_field(make: str, attack: str) -> None:
    panel = PANELS[make](attack)
    for value in shown(panel):
        assert outside_views(value) == []
        assert is_well_nested(re.sub(r"<style>.*?</style>", "", value, flags=re.DOTALL))
    panel.close()


@pytest.mark.parametrize("make", PANELS)
@pytest.mark.parametrize("secret", PLANTED)
def test_secrets_in_every_field(make: str, secret: str) -> None:
    panel = PANELS[make](f"it is {secret} and")
    bare = re.sub(r"^(Bearer |https://me:)|@.*", "", secret)
    printed = "\n".join([panel.static().text(width) for width in (20, 60, 159)])
    told = "\n".join([*shown(panel), panel.status.value, str(panel.static()), printed])
    assert bare not in told
    assert re.sub(r"\s", "", bare) not in re.sub(r"\s", "", printed), "nor is it broken over two lines"
    assert "•••" in told
    names = [str(getattr(each, "description", "")) for each in widgets(panel.box)]
    assert not [name for name in names if bare in name]
    panel.close()


def test_a_picker_with_a_hostile_name_and_a_key() -> None:
    class Mine(llmneutral.OpenAiDriversConfig):
        @property
        def name(self) -> str:
            return '"><script>1<b>'

    llmneutral.Defaults.drivers_config = Mine("<b>model", api_key="sk-proj-0123456789abcdef")
    panel = ProviderPicker()
    with llmneutral.drivers_config("local"):
        for value in shown(panel):
            assert outside_views(value) == []
            assert "sk-proj" not in value
    panel.close()
