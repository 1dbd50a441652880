"""Cache breakpoints: at most four, the caller's own first, and none where there is no cache to mark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ImageMessageContent,
    Message,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert.cache import MOST, limit_cache_marks, marks_on_results
from llmneutral.ir.tools import ToolDefinition
from tests.convert.jobs import run, told
from tests.laws.stacks import PNG, calls, images, results, texts, thinking
from tests.payloads import kinds, made, turn
from tests.payloads import told as changes_of

TARGETS: dict[str, dict[str, Any]] = {
    "messages": {"api": "anthropic_messages", "model": "claude-sonnet-4-5"},
    "chat breakpoints": {"api": "chat_completions", "model": "gpt-5.6-sol"},
    "chat envelope": {"api": "chat_completions", "model": "anthropic/claude-sonnet-4.5", "provider": "openrouter"},
    "responses": {"api": "codex_responses", "model": "gpt-5.6-sol"},
}
WITHOUT: dict[str, dict[str, Any]] = {
    "chat": {"api": "chat_completions", "model": "gpt-4.1"},
    "responses": {"api": "codex_responses", "model": "gpt-5.4"},
    "messages at DeepSeek": {"api": "anthropic_messages", "model": "deepseek-chat", "provider": "deepseek"},
}
over_targets = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
over_others = pytest.mark.parametrize("target", WITHOUT.values(), ids=list(WITHOUT))
KEYS = ("cache_control", "prompt_cache_breakpoint")


def text(said: str = "t", cache: Any = True) -> TextMessageContent:
    return TextMessageContent(said, cache=cache)


def tool(name: str, cache: Any = None) -> ToolDefinition:
    return ToolDefinition(name, parameters={"type": "object", "properties": {}}, cache=cache)


def marks(node: Any, path: str = "") -> list[str]:
    """Where marks stand in a body."""
    found = []
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key in KEYS:
            found.append(path)
        found += marks(value, f"{path}/{key}")
    return found


def sent(target: dict[str, Any], messages: list[Message], **more: Any) -> tuple[list[str], Any]:
    conversion = made(source=messages, **target, **more)
    return marks(conversion.to_json()), conversion


@over_targets
def test_a_mark_stands_on_its_block(target: dict[str, Any]) -> None:
    found, conversion = sent(target, [turn("user", text("a"), "b"), turn("assistant", "c"), turn("user", "d")])
    assert len(found) == 1
    assert conversion.changes == ()
    whole = json.dumps(conversion.to_json())
    assert whole.index('"a"') < whole.index("cache") < whole.index('"b"')


@over_targets
@pytest.mark.parametrize("block", [ImageMessageContent(PNG, cache=True), text()])
def test_what_the_user_says_carries_marks(target: dict[str, Any], block: Any) -> None:
    found, conversion = sent(target, [turn("user", block, "x")])
    assert len(found) == 1
    assert conversion.changes == ()


@over_targets
def test_a_result_carries_a_mark(target: dict[str, Any]) -> None:
    result = ActionResultMessageContent("a", "ok", cache=True)
    found, conversion = sent(
        target, [turn("user", "q"), turn("assistant", ActionCallMessageContent("a", "look")), turn("user", result)]
    )
    assert len(found) == 1
    assert conversion.changes == ()


@over_others
def test_where_there_is_no_cache_no_mark_goes(target: dict[str, Any]) -> None:
    stack = [turn("system", text("s")), turn("user", text("a")), turn("assistant", "b"), turn("user", text("c", "1h"))]
    conversion = made(source=stack, tools=[tool("look", cache=True)], **target)
    assert "cache" not in json.dumps(conversion.to_json())
    dropped = [change for change in conversion.changes if "cache" in change.why]
    assert {change.kind for change in dropped} == {"dropped"}
    assert {ref for change in dropped for ref in change.refs} == {(0, 0), (1, 0), (3, 0)}
    assert sum(bool(change.refs) for change in dropped) == 1


@over_targets
def test_of_five_marks_the_system_and_the_latest_stay(target: dict[str, Any]) -> None:
    stack = [turn("system", text("s"))]
    for n in range(4):
        stack += [turn("user", text(f"u{n}")), turn("assistant", f"a{n}")]
    found, conversion = sent(target, [*stack, turn("user", "end")])
    assert len(found) == MOST
    assert [(change.kind, change.refs) for change in conversion.changes] == [("dropped", ((1, 0),))]


def test_marks_on_tools_come_first() -> None:
    stack = [turn("system", text("s")), *[turn("user", text(str(n))) for n in range(4)]]
    found, conversion = sent(TARGETS["messages"], stack, tools=[tool("a", True), tool("b", "1h")])
    assert found == ["/system/0", "/messages/0/content/3", "/tools/0", "/tools/1"]
    assert len(changes_of(conversion, "dropped")) == 3


def test_of_more_tools_than_marks_the_latest_stay() -> None:
    offered = [tool(f"t{n}", cache=True) for n in range(6)]
    found, conversion = sent(TARGETS["messages"], [turn("user", text())], tools=offered)
    assert found == ["/tools/2", "/tools/3", "/tools/4", "/tools/5"]
    assert [change.kind for change in conversion.changes] == ["dropped"] * 3
    assert "'t0'" in conversion.changes[0].why


@pytest.mark.parametrize("name", ["chat breakpoints", "chat envelope", "responses"])
def test_where_tools_carry_no_mark_it_is_told(name: str) -> None:
    found, conversion = sent(TARGETS[name], [turn("user", "q")], tools=[tool("look", cache=True)])
    assert found == []
    assert any("look" in change.why for change in changes_of(conversion, "dropped"))


def test_a_mark_on_thinking_moves_to_the_block_before() -> None:
    thought = ThinkingMessageContent("hm", signature="s", cache=True)
    found, conversion = sent(
        TARGETS["messages"], [turn("user", "q"), turn("assistant", "x", thought, "y"), turn("user", "z")]
    )
    assert found == ["/messages/1/content/0"]
    assert [(change.kind, change.refs) for change in conversion.changes] == [("moved", ((1, 1),))]
    found, conversion = sent(
        TARGETS["messages"], [turn("user", "q"), turn("assistant", thought, "y"), turn("user", "z")]
    )
    assert found == []
    assert kinds(conversion) == ["dropped"]


@pytest.mark.parametrize(
    "gone", [text(" "), ThinkingMessageContent("hm", cache=True)], ids=["blank text", "reasoning that is not sent"]
)
def test_the_mark_of_a_block_that_is_left_out_stays(gone: Any) -> None:
    found, conversion = sent(TARGETS["messages"], [turn("user", "q"), turn("assistant", "x", gone), turn("user", "z")])
    assert found == ["/messages/1/content/0"]
    assert kinds(conversion) == ["dropped", "moved"]


def test_a_mark_inside_a_result_stands_on_the_result() -> None:
    result = ActionResultMessageContent("a", parts=(text("in"), TextMessageContent("more")))
    stack = [turn("user", "q"), turn("assistant", ActionCallMessageContent("a", "look")), turn("user", result)]
    found, conversion = sent(TARGETS["messages"], stack)
    assert found == ["/messages/2/content/0"]
    assert [(change.kind, change.refs) for change in conversion.changes] == [("moved", ((2, 0),))]


@pytest.mark.parametrize(("asked", "told_kind"), [("1h", None), ("5m", None), ("7d", "coerced")])
def test_lifetimes(asked: str, told_kind: str | None) -> None:
    conversion = made(source=[turn("user", text("a", asked))], **TARGETS["messages"])
    mark = conversion.to_json()["messages"][0]["content"][0]["cache_control"]
    assert mark == ({"type": "ephemeral", "ttl": asked} if told_kind is None else {"type": "ephemeral"})
    assert kinds(conversion) == ([] if told_kind is None else [told_kind])


# --- automatic marks ----------------------------------------------------------------------------

TALK = [
    turn("system", "s"),
    turn("user", "1"),
    turn("assistant", "2"),
    turn("user", "3"),
    turn("assistant", "4"),
    turn("user", "5"),
]


def test_automatic_marks() -> None:
    found, conversion = sent(TARGETS["messages"], TALK, tools=[tool("a"), tool("b")], cache="auto")
    assert found == ["/system/0", "/messages/2/content/0", "/messages/4/content/0", "/tools/1"]
    assert conversion.changes == ()


@over_others
def test_there_are_no_automatic_marks_without_a_cache(target: dict[str, Any]) -> None:
    conversion = made(source=TALK, cache="auto", **target)
    assert marks(conversion.to_json()) == []
    assert not [change for change in conversion.changes if "cache" in change.why]


@pytest.mark.parametrize("cache", [False, "none", None])
def test_without_the_setting_there_are_none(cache: Any) -> None:
    assert sent(TARGETS["messages"], TALK, tools=[tool("a")], cache=cache)[0] == []


stacks = st.lists(
    st.one_of(
        st.lists(texts, min_size=1, max_size=3).map(lambda b: turn("system", *b)),
        st.lists(st.one_of(texts, images, results), max_size=3).map(lambda b: turn("user", *b)),
        st.lists(st.one_of(texts, thinking, calls), max_size=3).map(lambda b: turn("assistant", *b)),
    ),
    min_size=1,
    max_size=7,
)
tools = st.lists(st.sampled_from([None, None, True, "1h"]), max_size=6).map(
    lambda given: [tool(f"t{n}", cache) for n, cache in enumerate(given)]
)


@over_targets
@settings(max_examples=100)
@given(stacks, tools, st.sampled_from([None, "auto"]))
def test_there_are_at_most_four(target: dict[str, Any], stack: list[Message], offered: Any, cache: Any) -> None:
    conversion = made(source=stack, tools=offered, cache=cache, orphan_calls="answer", **target)
    assert len(marks(conversion.to_json())) <= MOST


@settings(max_examples=200)
@given(stacks, tools)
def test_the_callers_own_marks_are_never_pushed_out_by_automatic_ones(stack: list[Message], offered: Any) -> None:
    own, first = run(limit_cache_marks, stack, tools=offered)
    both, second = run(limit_cache_marks, stack, tools=offered, cache="auto")

    def places(messages: list[Message]) -> set[tuple[int, int]]:
        return {(i, j) for i, m in enumerate(messages) for j, block in enumerate(m.content) if block.cache}

    assert places(own) <= places(both)
    assert {t.name for t in first.tools if t.cache} <= {t.name for t in second.tools if t.cache}
    assert sorted(told(first)) == sorted(told(second))


@pytest.mark.parametrize("step", [limit_cache_marks, marks_on_results])
def test_nothing_to_do_is_the_same_list(step: Any) -> None:
    from tests.convert.jobs import job

    stack = [turn("user", "q"), turn("assistant", "a"), turn("user", "b")]
    made_job = job(stack)
    assert step.run(made_job.messages, made_job) is made_job.messages
    assert told(made_job) == []
