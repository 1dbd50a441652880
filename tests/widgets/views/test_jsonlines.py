"""JSON to read: every line knows where it stands, long texts are short, nothing else changes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.views.jsonlines import compact, json_lines, pretty, scalar

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_the_lines_are_the_value(value: Any) -> None:
    written = "\n".join([line.text for line in json_lines(value)])
    assert json.loads(written) == value
    assert written == json.dumps(value, indent=2, ensure_ascii=False)


@given(JSON)
def test_pointers_lead_to_what_stands_on_the_line(value: Any) -> None:
    for line in json_lines(value):
        node = value
        for step in line.at.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
        bare = line.text.strip().removesuffix(",")
        assert bare.endswith(("{", "[", "}", "]", json.dumps(node, ensure_ascii=False)))


def test_a_value_under_a_key() -> None:
    assert [line.text for line in json_lines([1], "/a", name="a")] == ['"a": [', "  1", "]"]
    assert [line.text for line in json_lines(1, "/", name="")] == ['"": 1']


def test_long_texts() -> None:
    assert scalar("x " * 300) == json.dumps("x " * 200 + "…", ensure_ascii=False) + " (200 more)"
    assert scalar("QUJD" * 50) == '"' + ("QUJD" * 10) + '…" (160 more)'
    assert scalar(f"data:image/png;base64,{'QUJD' * 50}").endswith("more)")
    assert scalar("word" * 20) == f'"{"word" * 20}"'


def test_deep_values_end_on_one_line() -> None:
    value: Any = []
    for _ in range(500):
        value = [value]
    lines = list(json_lines(value))
    assert len(lines) < 100
    assert max(len(line.text) for line in lines) < 800


def test_one_line_and_a_few_lines() -> None:
    assert compact({"a": [1, "é"]}) == '{"a": [1, "é"]}'
    assert compact(list(range(1_000)), 10) == "[0, 1, 2, … (4,880 more)"
    assert pretty({"a": 1}) == '{\n  "a": 1\n}'
    assert pretty(list(range(10)), 3) == "[\n  0,\n  1,\n… (9 more lines)"
