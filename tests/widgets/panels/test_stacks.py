"""A conversation as a list that grows on request."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.panels import StackView
from llmneutral_widgets.views.stack import EMPTY
from tests.widgets.panels.looking import html, quiet, said, text
from tests.widgets.samples import stack

pytestmark = quiet


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    session.close()


def many(number: int) -> llmneutral.PromptStack:
    made = llmneutral.PromptStack()
    for n in range(number):
        made.add_user_message(f"message {n}")
    return made


def numbers(view: StackView) -> list[int]:
    """The numbers of the messages that are shown, from top to bottom."""
    return [int(n) for value in html(view.box) for n in re.findall(r"<b>(\d+) user</b>", value)]


def test_a_short_one_is_shown_whole() -> None:
    view = StackView(stack())
    assert "7 messages · 1 tool" in text(view.box)
    assert "What is this, and the weather in Paris?" in text(view.box)
    assert view.hidden == 0
    assert view.more not in [child for part in view.box.children for child in getattr(part, "children", ())]


def test_an_empty_one_says_how_to_begin() -> None:
    assert EMPTY in text(StackView(llmneutral.PromptStack()).box)


@settings(max_examples=30)
@given(total=st.integers(0, 130), steps=st.lists(st.integers(1, 60), max_size=4))
def test_what_is_shown_and_what_is_hidden_are_all_messages_in_order(total: int, steps: list[int]) -> None:
    view = StackView(many(total))
    for step in steps:
        view.show_more(step)
    shown = numbers(view)
    assert shown == sorted(set(shown))
    assert len(shown) + view.hidden == total
    hidden = set(range(total)) - set(shown)
    assert hidden == set(range(min(hidden), max(hidden) + 1)) if hidden else view.hidden == 0


def test_the_button_says_how_many_it_brings_and_how_many_there_are() -> None:
    view = StackView(many(1000))
    assert view.more.description == "Show 50 of 967 more messages"
    view.more.click()
    assert numbers(view) == [0, 1, 2, *range(920, 1000)]
    assert said(view) == "50 more messages are shown, from 920 to 969"
    assert view.more.description == "Show 50 of 917 more messages"


def test_what_was_shown_is_not_sent_again() -> None:
    view = StackView(many(1000))
    before = list(view.box.children)
    view.more.click()
    assert before[-2] in view.box.children
    assert len(view.box.children) == len(before) + 1


def test_a_stack_that_grew_is_read_again() -> None:
    grown = many(2)
    view = StackView(grown)
    grown.add_user_message("a third one")
    assert "a third one" not in text(view.box)
    view.refresh()
    assert "a third one" in text(view.box)


def test_the_conversation_of_the_session_by_its_name_or_the_current_one() -> None:
    session.current().conversation("other").load(many(2))
    assert "other · 2 messages" in text(StackView("other").box)
    assert "default · 0 messages" in text(StackView().box)
    with pytest.raises(
        OptionError, match=r"there is no conversation nowhere; .*; to show a text, add it to a PromptStack"
    ):
        StackView("nowhere")


def test_anything_else_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="not a dict"):
        StackView({})


def test_the_static_form_is_the_list_of_the_magic() -> None:
    bundle = StackView(many(1000))._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert "967 more: %stack --all" in bundle["text/html"]
    assert bundle["text/plain"] == "PromptStack of 1,000 messages"
