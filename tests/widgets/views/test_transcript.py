"""A conversation as it reads."""

from __future__ import annotations

from typing import Any

from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.page import LIMIT
from llmneutral_widgets.views.transcript import EMPTY_SAVED, LAST, Said, said, said_part, transcript_page
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.samples import RECORD, stack


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_questions_and_answers_in_order() -> None:
    items = said([RECORD, {**RECORD, "response": None, "error": None}], [None, "not sent along"])
    assert [item.record is not None for item in items] == [False, True, False]
    assert items[2].mark == "not sent along"
    shown = said_part(items)
    assert shown.index("Hi") < shown.index("anthropic · claude-sonnet-5-5") < shown.index("not sent along")


def test_every_role_and_kind_of_block() -> None:
    shown = said_part([Said(message) for message in builtin(stack().messages)])
    assert "<summary>system</summary>" in shown
    assert shown.count("<small>you</small>") == 4
    assert '<code>weather</code><code> {"city": "Paris"}</code>' in shown
    assert outside_views(shown) == []
    assert is_well_nested(shown)


def test_the_last_ones_of_many() -> None:
    items = [Said(user(f"message {n}.")) for n in range(1000)]
    shown = transcript_page(items)
    assert f"{1000 - LAST} earlier messages: %stack --all" in shown
    assert "message 970." in shown
    assert "message 969." not in shown


def test_nothing_was_said() -> None:
    assert EMPTY_SAVED in transcript_page([])


def test_it_keeps_within_its_limit() -> None:
    long = [Said(user("word <b> " * 20_000)) for _ in range(40)]
    assert len(transcript_page(long).encode()) <= LIMIT
    assert "more characters are not shown here" in transcript_page(long)
