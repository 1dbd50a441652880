"""How places are written, and words."""

from __future__ import annotations

import pytest

from llmneutral.validation.problems import (
    Problem,
    below,
    listed,
    problems,
    shown,
    unknown_key,
    written_path,
    written_pointer,
)


@pytest.mark.parametrize(
    ("loc", "path", "pointer"),
    [
        ((), "", ""),
        (("messages", 1, "content", 0, "type"), "messages[1].content[0].type", "/messages/1/content/0/type"),
        (("metadata", "a.b"), "metadata['a.b']", "/metadata/a.b"),
        (("a/b", "~"), "['a/b']['~']", "/a~1b/~0"),
        (("x-own", "größe", ""), "x-own.größe['']", "/x-own/größe/"),
        ((0, 1), "[0][1]", "/0/1"),
    ],
)
def test_places(loc: tuple[str | int, ...], path: str, pointer: str) -> None:
    assert written_path(loc) == path
    assert written_pointer(loc) == pointer


def test_a_problem_reads_as_a_sentence() -> None:
    found = problems(below("messages", below(1, [(("role",), "is required"), ((), "is empty")])))
    assert [*map(str, found)] == ["messages[1].role: is required", "messages[1]: is empty"]
    assert str(Problem("", "must be an object, not a list")) == "payload: must be an object, not a list"
    assert found[0] == Problem("messages[1].role", "is required", "/messages/1/role")


def test_alternatives_are_listed() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a or b"
    assert listed(["a", "b", "c"]) == "a, b or c"
    assert listed([*"abcdef"], most=2) == "a, b or one of 4 more"


def test_long_values_are_cut() -> None:
    assert shown("x" * 10) == repr("x" * 10)
    assert len(shown("x" * 1000)) == 60


def test_a_key_that_is_nearly_known() -> None:
    assert unknown_key("max_token", ["max_tokens", "model"]) == "is unknown; did you mean 'max_tokens'?"
    assert unknown_key("zzz", ["max_tokens"]) == "is unknown"
    assert unknown_key(5, ["max_tokens"]) == "is unknown"
