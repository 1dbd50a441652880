"""What an agent remembers: valid at any time, within its budget."""

from __future__ import annotations

import copy
import os
import pickle
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ActionResultMessageContent,
    ConfigurationError,
    ConversationMemory,
    ConversionError,
    Message,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)
from tests.agent.scripts import answer, assert_valid, call, invalid, texts


def user(text: str) -> Message:
    return Message("user", (TextMessageContent(text),))


def results(*tags: str, text: str = "ok") -> Message:
    return Message("user", tuple([ActionResultMessageContent(tag, text) for tag in tags]))


def exchange(n: int, *, sealed: bool = False) -> list[Message]:
    thought = [ThinkingMessageContent("hm", signature="seal")] if sealed else []
    return [
        user(f"question {n}"),
        answer([*thought, call(f"a{n}", "look"), invalid(f"b{n}", "look", "x")]),
        results(f"a{n}", f"b{n}"),
        answer(f"answer {n}"),
    ]


def long(n: int, **more: Any) -> list[Message]:
    return [message for each in range(n) for message in exchange(each, **more)]


SYSTEM = Message("system", (TextMessageContent("be kind"),))


def test_whole_exchanges_are_forgotten_from_the_oldest_on() -> None:
    memory = ConversationMemory(long(5), max_turns=2)
    assert memory.turns == 5
    kept = memory.recall()
    assert list(kept) == [*exchange(3), *exchange(4)]
    assert memory.messages == list(kept)
    memory.add(exchange(5))
    assert memory.messages == [*exchange(4), *exchange(5)]


def test_instructions_stay_wherever_they_stand() -> None:
    memory = ConversationMemory([SYSTEM, *exchange(0), SYSTEM, *exchange(1), *exchange(2)], max_turns=1)
    memory.trim()
    assert memory.messages == [SYSTEM, SYSTEM, *exchange(2)]


def test_a_budget_of_tokens_is_kept_but_for_the_last_exchange() -> None:
    memory = ConversationMemory(long(6))
    whole = memory.tokens
    memory.max_tokens = whole // 2
    assert memory.trim() > 0
    assert whole // 4 < memory.tokens <= whole // 2
    memory.max_tokens = 1
    memory.trim()
    assert memory.messages == exchange(5)
    assert memory.trim() == 0


def test_a_counter_of_the_callers_is_asked_seldom() -> None:
    asked: list[int] = []

    def count(stack: PromptStack) -> int:
        asked.append(len(stack))
        return len(stack)

    memory = ConversationMemory(long(64), max_tokens=30, count=count)
    memory.trim()
    assert len(memory) == 28
    assert len(asked) <= 8
    assert memory.tokens == 28
    asked.clear()
    memory.trim()
    assert asked == [28]


def test_reasoning_goes_once_something_before_it_is_gone() -> None:
    memory = ConversationMemory(long(3, sealed=True), max_turns=3)
    assert memory.trim() == 0
    assert memory.messages == long(3, sealed=True)
    memory.add(exchange(3, sealed=True))
    assert memory.messages == [*exchange(1), *exchange(2), *exchange(3)]


def test_reasoning_goes_where_the_instructions_before_it_change() -> None:
    memory = ConversationMemory(exchange(0, sealed=True))
    assert list(memory.recall("one")) == exchange(0, sealed=True)
    assert list(memory.recall("one")) == exchange(0, sealed=True)
    assert list(memory.recall("two")) == exchange(0)
    bare = ConversationMemory(exchange(0, sealed=True))
    assert list(bare.recall()) == list(bare.recall(None)) == list(bare.recall("")) == exchange(0, sealed=True)


def test_reasoning_goes_where_another_run_came_in_between() -> None:
    memory = ConversationMemory(exchange(0))
    before = memory.recall()
    memory.add(exchange(1, sealed=True), after=before)
    memory.add(exchange(2, sealed=True), after=before)
    assert memory.messages == [*exchange(0), *exchange(1, sealed=True), *exchange(2)]


def test_a_call_that_is_answered_later_is_not_parted_from_its_result() -> None:
    late = [user("one"), answer(call("x", "look")), user("two"), results("x"), answer("done"), user("three")]
    memory = ConversationMemory(late, max_turns=2)
    assert memory.turns == 2
    memory.max_turns = 1
    memory.trim()
    assert texts(memory.messages) == ["user: three"]


def test_a_file_is_written_at_once_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    memory = ConversationMemory([SYSTEM, *long(2, sealed=True)])
    memory.save(path)
    again = ConversationMemory.load(path, max_turns=9)
    assert again.messages == memory.messages
    assert again.max_turns == 9
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    memory.clear()
    memory.save(path)
    assert ConversationMemory.load(path).messages == []
    assert [each.name for each in tmp_path.iterdir()] == ["talk.json"]


def test_a_file_that_cannot_be_written_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "talk.json"
    memory = ConversationMemory(exchange(0))
    memory.save(path)
    memory.add(exchange(1))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        memory.save(path)
    assert ConversationMemory.load(path).messages == exchange(0)
    assert [each.name for each in tmp_path.iterdir()] == ["talk.json"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"messages": [{"role": 1}]}'])
def test_a_file_with_something_else_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(ConversionError, match="no PromptStack in JSON"):
        ConversationMemory.load(tmp_path / "x")


@pytest.mark.parametrize("bound", [0, -1, True, 1.5, "9"])
def test_a_bound_is_a_whole_number_from_1(bound: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"max_turns is .* whole number from 1"):
        ConversationMemory(max_turns=bound)
    with pytest.raises(ConfigurationError, match="max_tokens"):
        ConversationMemory(max_tokens=bound)


@pytest.mark.parametrize("stack", [5, None, "text", b"x", [5], ["a"], {"a": 1}, [{"role": "user", "content": "x"}]])
def test_what_is_no_conversation_is_told(stack: Any) -> None:
    with pytest.raises(ConfigurationError, match="give a PromptStack or messages"):
        ConversationMemory(stack)


@pytest.mark.parametrize("gives", [None, "many", float("nan"), float("inf"), [3]])
def test_a_counter_that_counts_nothing_is_told(gives: Any) -> None:
    with pytest.raises(ConfigurationError, match="count is an int"):
        ConversationMemory(count=5)  # type: ignore[arg-type]
    memory = ConversationMemory(exchange(0) + exchange(1), max_tokens=5, count=lambda stack: gives)
    with pytest.raises(ConfigurationError, match=r"count gave a .*number of tokens"):
        memory.recall()


def test_a_copy_is_a_memory_of_its_own() -> None:
    memory = ConversationMemory(exchange(0), max_turns=3)
    for again in (copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        again.add(exchange(1))
        assert (again.turns, again.max_turns, memory.turns) == (2, 3, 1)
        assert again.messages[: len(memory)] == memory.messages


def test_an_empty_memory_is_one_and_shows_counts() -> None:
    memory = ConversationMemory(max_tokens=5)
    assert memory
    assert len(memory) == memory.turns == memory.tokens == memory.trim() == 0
    memory.add(exchange(0))
    assert repr(memory) == "ConversationMemory(1 turns, 4 messages, max_tokens=5)"


def test_exchanges_of_several_threads_stay_whole() -> None:
    memory = ConversationMemory(max_turns=50)

    def add(first: int) -> None:
        for n in range(first, first + 10):
            memory.add(exchange(n))

    threads = [threading.Thread(target=add, args=(n * 10,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.turns == 40
    assert_valid(memory.messages)


# --- laws ---------------------------------------------------------------------------------------

turns = st.lists(
    st.one_of(
        st.just([user("q")]),
        st.just([answer("a")]),
        st.just([SYSTEM]),
        st.integers(0, 99).map(lambda n: exchange(n)),
        st.integers(100, 199).map(lambda n: exchange(n, sealed=True)),
        st.integers(200, 299).map(lambda n: [answer(call(f"c{n}", "look")), results(f"c{n}")]),
    ),
    max_size=8,
    unique_by=lambda turn: turn[0].to_text() + turn[-1].to_text() + str(len(turn)),
)


@given(turns, st.none() | st.integers(1, 5), st.none() | st.integers(1, 400))
def test_forgetting_keeps_a_tail_that_is_valid_and_all_instructions(
    given_turns: list[list[Message]], max_turns: int | None, max_tokens: int | None
) -> None:
    messages = [message for turn in given_turns for message in turn]
    memory = ConversationMemory(messages, max_turns=max_turns, max_tokens=max_tokens)
    memory.trim()
    kept = memory.messages
    assert_valid(kept)
    assert [m for m in kept if m.is_system()] == [m for m in messages if m.is_system()]
    bare = PromptStack(messages).without_reasoning_after((-1, 0)).messages
    tail = [m for m in kept if not m.is_system()]
    said = [m for m in bare if not m.is_system()]
    assert tail == (said[len(said) - len(tail) :] if len(kept) < len(messages) else [m for m in messages if m in tail])
    if max_turns is not None:
        assert memory.turns <= max_turns
    if max_tokens is not None:
        assert memory.turns <= 1 or memory.tokens <= max_tokens
    assert memory.trim() == 0
