"""A problem is marked on the line it is about, however its path is written."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral_widgets.views.problems import marked_lines

PAYLOAD = {"messages": [{"role": "user", "content": [{"type": "text"}]}], "metadata": {"a.b": 5, "c/d": 6}}


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        ({"path": "messages[0].content[0]"}, "/messages/0/content/0"),
        ({"path": "$.messages[0].role"}, "/messages/0/role"),
        ({"path": "messages[0].content[0].text"}, "/messages/0/content/0"),
        ({"path": "/metadata/c~1d"}, "/metadata/c~1d"),
        ({"path": "metadata['a.b']", "pointer": "/metadata/a.b"}, "/metadata/a.b"),
        ({"path": "messages[7]"}, "/messages"),
        ({"path": "model"}, ""),
        ({"path": None}, ""),
    ],
)
def test_the_line_of_a_problem(problem: dict[str, Any], line: str) -> None:
    assert marked_lines(PAYLOAD, [problem]) == {line}


def test_no_problems_mark_nothing() -> None:
    assert marked_lines(PAYLOAD, []) == frozenset()
    assert marked_lines(None, [{"path": "a.b"}]) == {""}
