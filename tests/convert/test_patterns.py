"""Patterns of a JSON Schema: found as everywhere, and never at a price."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmneutral.convert.checker import check
from llmneutral.convert.patterns import found, unchecked

SECONDS = 2.0  # of processor time; the engine takes thousandths, a search that doubles would take years

ATOMS = ("a", "b", ".", "[ab]", "[^b]", r"\w", r"\d", "é", "(?:ab)", "(a|b)", "(a)", r"\.")
LOOPS = ("", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?")
piece = st.tuples(st.sampled_from(ATOMS), st.sampled_from(LOOPS)).map("".join)
plain = st.lists(piece, max_size=5).map("".join)
anchored = st.tuples(st.sampled_from(("", "^")), plain, st.sampled_from(("", "$"))).map("".join)
look = st.tuples(st.sampled_from(("(?=", "(?!", "(?<=a)(?=")), plain).map(lambda parts: f"{parts[0]}{parts[1]})")
looking = st.tuples(look, anchored).map("".join)
nested = st.recursive(
    piece,
    lambda inner: st.tuples(st.lists(inner, min_size=1, max_size=3).map("".join), st.sampled_from(LOOPS[2:])).map(
        lambda parts: f"({parts[0]}){parts[1]}"
    ),
    max_leaves=6,
)
texts = st.text("abé1. ", max_size=12)


@given(st.one_of(anchored, looking), texts)
def test_a_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    assert found(pattern, text) in (re.search(pattern, text) is not None, None)


@given(anchored, texts)
def test_without_look_around_it_is_always_looked_at(pattern: str, text: str) -> None:
    assert found(pattern, text) is not None


@pytest.mark.parametrize("text", ["a" * 20_000, "a" * 40, "ab" * 500 + "é"])
@settings(max_examples=40, deadline=None)
@given(pattern=st.one_of(nested, st.tuples(look, nested).map("".join), st.tuples(nested, look).map("".join)))
def test_no_pattern_stalls(text: str, pattern: str) -> None:
    began = time.process_time()
    found(f"^{pattern}$", f"{text}!")
    found(pattern, f"{text}!")
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("length", [11, 12, 13, 30, 5_000])
@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", r"^(\w+\s?)*$", "(?=a)^(a+)+$", "(?!b)(a|aa)+$", r"(a*)*\1$", "^(?=(a+)+$)a"]
)
def test_a_caller_s_schema_does_not_stall_the_checker(pattern: str, length: int) -> None:
    began = time.process_time()
    schema = {"properties": {"a": {"pattern": pattern}}, "patternProperties": {pattern: {}}}
    check({"a": "a" * length + "!"}, schema)
    check({"a" * length + "!": 1}, schema)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        (r"^(?=.*[A-Z])(?=.*\d).{8,}$", 2_236),  # the usual one for passwords: nothing is gone back into twice
        (r"(?=a)b*", 2_236),
        (r"(?=a)b", 5_000_000),
        (r"^(?!x)(a+)+$", 12),
        (r"^(?!x)(a|b)+$", 12),
        (r"(.+)\1", 170),
    ],
)
def test_how_long_a_text_may_be_for_a_pattern_that_goes_back(pattern: str, longest: int) -> None:
    assert found(pattern, "a" * longest) is not None
    assert found(pattern, "a" * (longest + 1)) is None
    assert unchecked(pattern).endswith(f"texts of more than {longest} characters could take it too long")


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        ("a$", "a\n", False),  # as in ECMA: the end is the end
        (r"\/x", "/x", True),
        ("[a&&b]", "&", True),  # a set of three characters, and no intersection
        ("[[a]", "[", True),
        (r"[\]\[]+$", "[]", True),
        ("[+--]", ",", True),  # from plus to minus
        ("[--/]", ".", True),
        ("[^--/]", ".", False),
        ("[a~~]", "~", True),
        ("^[[:alpha:]]$", "b", False),  # no class of POSIX
        ("^[[:alpha:]]$", ":]", True),
        (r"(?<n>a)", "a", True),
        (r"(a)\1", "aa", True),
        (r"(?=a)a", "ba", True),
        (r"\d{1,1000}{1000}", "1", None),
        ("(?<broken", "a", None),
        ("[", "a", None),
        ("^a.c$", "a\ud800c", True),
        ("^.\ud800", "a\ud800", True),
    ],
)
def test_what_is_read_how(pattern: str, text: str, is_found: bool | None) -> None:
    assert found(pattern, text) is is_found


def test_what_was_not_checked_is_said_once() -> None:
    notes: list[str] = []
    schema = {"items": {"pattern": "^(?!b)(a+)+$"}, "contains": {"pattern": "(?<broken"}}
    assert check(["a" * 50 + "!", "a" * 60 + "!", "b"], schema, notes) == check(["b"], schema)[:0] + [
        problem for problem in check(["", "", "b"], schema) if problem.path == "[2]"
    ]
    assert notes == [
        "the pattern ^(?!b)(a+)+$ was not checked: texts of more than 12 characters could take it too long",
        "the pattern (?<broken was not checked: it cannot be read here",
    ]
