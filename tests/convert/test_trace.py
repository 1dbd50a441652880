"""Which node of a payload came from which block."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import Message, Ref, TextMessageContent
from llmneutral.convert.trace import Trace, apart, escaped
from tests.laws.stacks import stacks
from tests.payloads import APIS, made, turn

ONE, TWO, THREE = (Ref(0, 0),), (Ref(1, 0),), (Ref(2, 1),)


def test_a_node_is_found_wherever_it_went() -> None:
    trace, node = Trace(), {"type": "text"}
    trace.mark(node, ONE)
    assert trace.pointers({"messages": [{"content": [{"x": 1}, node]}]}) == {"/messages/0/content/1": ONE}
    assert trace.pointers(node) == {"": ONE}
    assert trace.pointers({"other": []}) == {}


def test_a_text_is_marked_by_its_key() -> None:
    trace, turn_ = Trace(), {"role": "user", "content": "q"}
    trace.mark(turn_, ONE, "content")
    assert trace.pointers({"messages": [turn_]}) == {"/messages/0/content": ONE}


def test_marks_add_up_each_once() -> None:
    trace, node = Trace(), {}  # type: ignore[var-annotated]
    trace.mark(node, ONE)
    trace.mark(node, TWO + ONE)
    trace.mark(node, ())
    assert trace.pointers([node]) == {"/0": ONE + TWO}


def test_many_at_once() -> None:
    trace, nodes = Trace(), [{"a": "x"}, {"a": "y"}]
    trace.mark_each(nodes, [ONE, TWO])
    trace.mark_each(nodes, [TWO, THREE], "a")
    assert trace.pointers(nodes) == {"/0": ONE, "/0/a": TWO, "/1": TWO, "/1/a": THREE}


def test_a_copy_takes_the_marks_over() -> None:
    trace, node, copied = Trace(), {"text": "x"}, {"words": "x"}
    trace.mark(node, ONE)
    trace.mark(node, TWO, "text")
    trace.alias(node, copied)
    trace.alias_key(node, "text", copied, "words")
    trace.alias({}, copied)
    trace.alias_key(node, "none", copied, "words")
    assert trace.pointers([copied]) == {"/0": ONE, "/0/words": TWO}


def test_a_marked_node_stays_alive() -> None:
    """Else a new one could get its id, and its mark."""
    trace = Trace()
    for n in range(50):
        trace.mark({"n": n}, ONE)
    assert trace.pointers([{"n": n} for n in range(50)]) == {}


@pytest.mark.parametrize(("key", "text"), [("a", "a"), ("a/b", "a~1b"), ("~", "~0"), ("~1", "~01"), (3, "3"), ("", "")])
def test_keys_in_a_pointer(key: Any, text: str) -> None:
    assert escaped(key) == text


@given(
    st.recursive(
        st.text(max_size=3),
        lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.lists(inner, max_size=3),
    )
)
def test_a_pointer_leads_back_to_its_node(payload: Any) -> None:
    trace, nodes = Trace(), list(containers(payload))
    for number, node in enumerate(nodes):
        trace.mark(node, (Ref(number, 0),))
    found = trace.pointers(payload) if isinstance(payload, dict | list) else {}
    assert sorted(refs[0].message for refs in found.values()) == list(range(len(nodes)))
    for pointer, refs in found.items():
        node = payload
        for step in pointer.split("/")[1:]:
            node = node[int(step)] if isinstance(node, list) else node[step.replace("~1", "/").replace("~0", "~")]
        assert node is nodes[refs[0].message]


def containers(value: Any) -> Any:
    if isinstance(value, dict | list):
        yield value
        for entry in value.values() if isinstance(value, dict) else value:
            yield from containers(entry)


# --- one block in several places ----------------------------------------------------------------


def test_a_block_in_two_places_becomes_two() -> None:
    block, other = TextMessageContent("x"), TextMessageContent("y")
    stack = [turn("user", block, other), turn("assistant", "z"), turn("user", block, block)]
    found = apart(stack)
    blocks = [b for message in found for b in message.content]
    assert len({id(b) for b in blocks}) == len(blocks)
    assert found == stack
    assert found[1] is stack[1]


@given(stacks)
def test_apart_changes_nothing_else(stack: list[Message]) -> None:
    doubled = [*stack, *stack]
    found = apart(doubled)
    assert found == doubled
    blocks = [b for message in found for b in message.content]
    assert len({id(b) for b in blocks}) == len(blocks)


@pytest.mark.parametrize("api", APIS)
def test_texts_and_blocks_of_a_conversation(api: str) -> None:
    stack = [turn("system", "be"), turn("user", "q"), turn("assistant", "a"), turn("user", "b", "c")]
    found = made(api, stack, trace=True)
    assert found.trace is not None
    refs = [tuple(ref) for each in found.trace.values() for ref in each]
    assert sorted(refs) == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1)]
    assert made(api, stack).trace is None
