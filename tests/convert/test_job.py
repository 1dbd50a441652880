"""One conversion in progress."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import (
    ActionCallMessageContent,
    Change,
    ConversionError,
    GenericMessageContent,
    Ref,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert.settings import SETTINGS
from tests.convert.jobs import job
from tests.payloads import APIS, made, turn

STACK = [turn("user", "q"), turn("assistant", "a", "b")]


def test_a_setting_or_its_default() -> None:
    assert job().setting("orphan_calls") == "answer"
    assert job(orphan_calls="strip").setting("orphan_calls") == "strip"
    assert job().setting("temperature") is None
    assert job(temperature=0).setting("temperature") == 0
    assert job(pad_reasoning=False).setting("pad_reasoning") is False
    for name, setting in SETTINGS.items():
        assert job().setting(name) == setting.default


def test_one_look_a_list() -> None:
    made_job = job(STACK)
    assert made_job.look(made_job.messages) is made_job.look(made_job.messages)
    other = list(STACK)
    assert made_job.look(other).messages is other


def test_a_refusal_says_what_where_why_and_to_whom() -> None:
    made_job = job(STACK, model="claude-sonnet-4-5")
    made_job.note.step = "step"
    made_job.note("moved", "before", made_job.messages[1].content[0])
    with pytest.raises(ConversionError) as caught:
        made_job.refuse("it cannot be", made_job.messages[1].content[1], doc="https://x.test")
    error = caught.value
    assert (error.refs, error.rule, error.api, error.model) == (
        (Ref(1, 1),),
        "step",
        "anthropic_messages",
        "claude-sonnet-4-5",
    )
    assert [change.kind for change in error.changes] == ["moved", "refused"]
    assert error.changes[-1] == Change("step", "refused", (Ref(1, 1),), "it cannot be", "https://x.test")
    with pytest.raises(ConversionError) as caught:
        made_job.refuse("it cannot be", rule="a rule")
    assert caught.value.rule == "a rule"


def test_what_is_rendered_is_marked_where_there_is_a_trace() -> None:
    for trace in (True, False):
        made_job = job(STACK, trace=trace)
        first, second = made_job.messages[1].content
        node = made_job.render(first)
        also = made_job.write[TextMessageContent](second, made_job)
        text = {"content": "a"}
        made_job.mark(text, first, key="content")
        made_job.mark_each([text], [second], key="more")
        assert node == {"type": "text", "text": "a"}
        if made_job.trace is not None:
            assert made_job.trace.pointers([node, also, text]) == {
                "/0": (Ref(1, 0),), "/1": (Ref(1, 1),), "/2/content": (Ref(1, 0),),
            }  # fmt: skip
            assert made_job.refs_of(second) == (Ref(1, 1),)


def test_every_kind_of_block_has_a_function() -> None:
    for api in APIS:
        made_job = job(api=api)
        assert {ThinkingMessageContent, GenericMessageContent, ActionCallMessageContent} <= set(made_job.write)


@pytest.mark.parametrize(
    ("kind", "refs", "why", "refused"),
    [
        ("dropped", True, "gone", True),
        ("coerced", True, "changed", True),
        ("added", False, "a turn of the user is needed", True),
        ("added", True, "an empty result is refused", True),
        ("added", False, "max_tokens: Messages demands it", False),
        ("added", False, "the tool 'final_answer' takes the answer", False),
        ("dropped", False, "temperature: not taken", False),
        ("moved", True, "elsewhere", False),
        ("merged", True, "one turn", False),
        ("rewritten", True, "as text", False),
        ("renamed", True, "other id", False),
    ],
)
def test_strict_conversion(kind: Any, refs: bool, why: str, refused: bool) -> None:
    for strict in (True, False):
        made_job = job(STACK, strict_conversion=strict)
        made_job.note.step = "step"
        made_job.note(kind, why, *(made_job.messages[0].content if refs else ()))
        if strict and refused:
            with pytest.raises(ConversionError, match=why) as caught:
                made_job.check_strict()
            assert caught.value.rule == "step"
        else:
            made_job.check_strict()


@pytest.mark.parametrize("api", APIS)
def test_settings_are_no_content(api: str) -> None:
    stack = [turn("user", "q"), turn("assistant", "a"), turn("user", "b")]
    found = made(api, stack, strict_conversion=True, temperature=9, seed=1, max_tokens=None)
    assert found.changes
