"""Payloads side by side, with a button for each API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.panels import PayloadView
from llmneutral_widgets.views.payload import MOST
from llmneutral_widgets.views.stack import EMPTY
from tests.widgets.panels.looking import html, quiet, said, text
from tests.widgets.panels.test_stacks import many
from tests.widgets.samples import stack

pytestmark = quiet


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    session.close()


def heads(view: PayloadView) -> int:
    return "".join(html(view.box)).count('<th scope="col"') - 1


def test_three_apis_unless_others_are_named() -> None:
    view = PayloadView(stack())
    assert [*view.conversions] == ["chat_completions", "codex_responses", "anthropic_messages"]
    assert heads(view) == 3
    assert "merged" in text(view.box)
    assert "valid (openai" in text(view.box)


def test_short_names_and_all() -> None:
    assert [*PayloadView(stack(), "anthropic").conversions] == ["anthropic_messages"]
    every: Any = llmneutral.convert("x", to="all")
    assert heads(PayloadView(stack(), "all")) == len(every)
    with pytest.raises(OptionError, match="unknown API anthropc"):
        PayloadView(stack(), "anthropc")


def test_columns_stand_in_the_order_that_was_asked_for() -> None:
    asked = ["gemini_native", "anthropic_messages", "chat_completions"]
    view = PayloadView(stack(), asked)
    assert [*view.conversions] == asked
    assert [*view.apis][:3] == asked
    output = "".join(html(view.box))
    assert sorted(asked, key=lambda api: output.index(f"<b>{api}</b>")) == asked


def test_a_button_makes_a_column_and_takes_it_away() -> None:
    view = PayloadView(stack())
    toggle = view.apis["gemini_native"]
    assert toggle.description == "gemini_native"
    toggle.value = True
    assert toggle.description == "✓ gemini_native"
    assert heads(view) == 4
    toggle.value = False
    assert heads(view) == 3
    assert view.last_error is None


def test_an_api_that_refuses_has_a_column_that_says_why_and_the_others_stay() -> None:
    sound = llmneutral.PromptStack()
    sound.add_user_message([llmneutral.AudioMessageContent(data="AAAA", media_type="audio/wav")])
    view = PayloadView(sound, ["chat_completions", "anthropic_messages"])
    errors = {api: found for api, found in view.conversions.items() if isinstance(found, Exception)}
    assert set(errors) == {"anthropic_messages"}
    assert "ConversionError" in text(view.box)
    assert "input_audio" in text(view.box)


def test_an_empty_one_shows_its_settings() -> None:
    view = PayloadView(llmneutral.PromptStack(settings={"temperature": 0.2}))
    assert '"temperature": 0.2' in "".join(html(view.box))
    assert "ConversionError" not in text(view.box)
    assert said(view) == EMPTY


def test_more_rows_of_a_long_one() -> None:
    view = PayloadView(many(200), "chat_completions")
    assert view.hidden == 200 - MOST
    assert view.more.description == "Show 50 of 140 more rows"
    assert "%stack --all" not in text(view.box)
    view.more.click()
    assert view.hidden == 90
    assert "message 100" in text(view.box)


def test_the_conversation_of_the_session_as_whoever_answers_now_would_get_it() -> None:
    session.current().conversation().load(many(1))
    before = llmneutral.Defaults.drivers_config if llmneutral.Defaults.is_set else None
    llmneutral.Defaults.drivers_config = llmneutral.AnthropicDriversConfig("claude-mine", api_key="k" * 20)
    try:
        view = PayloadView(apis="anthropic")
    finally:
        llmneutral.Defaults.drivers_config = before
    payload = view.conversions["anthropic_messages"].payload
    assert payload["model"] == "claude-mine"
    assert payload["stream"] is True


def test_the_static_form_is_the_comparison_of_the_magic() -> None:
    bundle = PayloadView(many(200), "chat_completions")._repr_mimebundle_()
    assert "140 more: %stack --all" in bundle["text/html"]
    assert bundle["text/plain"] == "chat_completions: POST /chat/completions, 0 changes"


def test_one_model_in_every_column_or_one_for_an_api() -> None:
    apis = ["openai", "codex_responses"]
    view = PayloadView(stack(), apis, "gpt-6-luna")
    assert [found.payload["model"] for found in view.conversions.values()] == ["gpt-6-luna"] * 2
    assert "".join(html(view.box)).count("<small>for gpt-6-luna</small>") == 2
    assert "openai is here the API chat_completions" in text(view.box)
    assert view.static().text(100).startswith("openai is here the API chat_completions")
    one = PayloadView(stack(), apis, models={"responses": "gpt-5"})
    assert one.conversions["codex_responses"].payload["model"] == "gpt-5"
    assert "is here the API" not in text(PayloadView(stack()).box)
    with pytest.raises(OptionError, match=r"unknown API opnai; did you mean openai"):
        PayloadView(stack(), apis, {"opnai": "x"})
    with pytest.raises(TypeError, match="models is int; it takes a model, or a map"):
        PayloadView(stack(), apis, 5)  # type: ignore[arg-type]
