"""What stands side by side: messages that share an element share a row, and every element has exactly one place."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.views.aligned import element, layout, rows, unit_of
from tests.widgets.samples import conversions, stack

COLUMNS = st.lists(
    st.dictionaries(st.integers(0, 9).map(lambda n: f"/messages/{n}"), st.sets(st.integers(0, 11), min_size=1))
)


def test_merged_turns_share_a_row() -> None:
    chat = {"/messages/0": {0}, "/messages/1": {1}, "/messages/2": {2}}
    merged = {"/system": {0}, "/messages/0": {1, 2}}
    assert rows(4, [chat, merged]) == [[0], [1, 2], [3]]
    assert rows(4, [chat]) == [[0], [1], [2], [3]]
    assert rows(6, [{"/system": {0, 4}}, {"/messages/0": {4, 5}}]) == [[0, 4, 5], [1], [2], [3]]
    assert rows(0, []) == []
    assert rows(2, [{"/messages/0": {0, 7}}]) == [[0], [1]]


@given(st.integers(0, 12), COLUMNS)
def test_rows_are_the_connected_components(count: int, columns: list[dict[str, set[int]]]) -> None:
    found = rows(count, columns)
    assert sorted(message for row in found for message in row) == list(range(count))
    assert found == sorted(sorted(row) for row in found)
    place = {message: n for n, row in enumerate(found) for message in row}
    for column in columns:
        for messages in column.values():
            assert len({place[message] for message in messages if message < count}) <= 1
    assert len(found) == _components(count, columns)


def _components(count: int, columns: list[dict[str, set[int]]]) -> int:
    """Counted by flooding, not by joining."""
    left, number = set(range(count)), 0
    groups = [messages for column in columns for messages in column.values()]
    while left:
        reached, border = set(), {min(left)}
        while border:
            reached |= border
            border = {m for group in groups if group & border for m in group if m < count} - reached
        left -= reached
        number += 1
    return number


def test_where_the_parts_of_a_payload_go() -> None:
    payload: dict[str, Any] = {
        "model": "m",
        "system": [{"text": "a"}],
        "messages": [{"role": "user"}, {"role": "user"}, {"role": "assistant"}, {"role": "user"}],
        "tools": [],
        "tool_choice": "auto",
        "response_format": {},
        "temperature": 1,
    }
    trace = {"/system/0": [(0, 0)], "/messages/1/content/0": [(1, 0)], "/messages/2": [(2, 0), (3, 0)]}
    found = layout(payload, trace)
    assert found.elements == {"/system/0": {0}, "/messages/1": {1}, "/messages/2": {2, 3}}
    assert found.guests == {"/messages/0": "/messages/1", "/messages/3": "/messages/2"}
    assert found.settings == ("model", "temperature")
    assert found.tools == ("tools", "tool_choice")
    assert found.form == ("response_format",)
    assert found.places([1], False) == [("/messages/0", True), ("/messages/1", False)]
    assert found.places([2, 3], True) == [("/messages/2", False), ("/messages/3", True)]
    assert found.places([0], False) == [("/system/0", False)]


def test_a_placeholder_beside_nothing_stands_in_the_last_row() -> None:
    found = layout({"messages": [{"role": "user"}]}, {})
    assert found.guests == {"/messages/0": None}
    assert found.places([0], False) == []
    assert found.places([0], True) == [("/messages/0", True)]


def test_a_text_at_the_top_and_odd_keys() -> None:
    payload = {"system": "a", "a/b~c": [1]}
    assert unit_of(payload, "/system") == "/system"
    assert unit_of(payload, "/gone/0") is None
    found = layout(payload, {"/system": [(0, 0)], "/gone/1": [(1, 0)]})
    assert found.elements == {"/system": {0}}
    assert found.settings == ("a/b~c",)
    assert element(payload, "/a~1b~0c/0") == 1


def test_many_messages_are_in_the_order_of_their_numbers() -> None:
    payload: dict[str, list[dict[str, str]]] = {"messages": [{} for _ in range(12)]}
    trace = {f"/messages/{n}": [(n, 0)] for n in range(12)}
    assert list(layout(payload, trace).elements) == [f"/messages/{n}" for n in range(12)]


def test_every_element_of_a_real_payload_has_one_place() -> None:
    count = len(stack().messages)
    columns = {api: layout(found.to_json(), found.trace) for api, found in conversions().items()}
    groups = rows(count, [column.elements for column in columns.values()])
    for api, column in columns.items():
        places = [at for n, group in enumerate(groups) for at, _ in column.places(group, n == len(groups) - 1)]
        assert sorted(places) == sorted([*column.elements, *column.guests]), api
        payload = conversions()[api].to_json()
        assert len([at for at in places if at.startswith("/messages/")]) == len(payload["messages"])
