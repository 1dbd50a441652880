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
    assert found(pattern, text) in (re.search(pattern, text, re.ASCII) is not None, None)


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
        (r"^\d+$", "١٢٣", False),  # ASCII, as in ECMA
        (r"^\D+$", "١٢٣", True),
        (r"^\w+$", "été", False),
        (r"^\W$", "é", True),
        (r"^[^\w]$", "é", True),
        (r"^[\w-.]+$", "a-b.c", True),
        (r"^[\w-.]+$", "`", False),  # no range from `_` on
        (r"^[!-\d]+$", "!-1", True),
        (r"^[!-\d]+$", "/", False),
        (r"^[\d-\s]+$", "1 -", True),
        (r"^[\\d]$", "1", False),
        (r"^[\D]$", "1", False),
        (r"^\s\s$", "\u00a0\ufeff", True),
        (r"^\s$", "\x85", False),
        (r"^\S$", "\x1c", True),
        (r"\bfoo\b", "éfoo", True),
        (r"^(?!x)\bfoo\b$", "foo", True),
        (r"^(?!x)\d+$", "١٢", False),
        (r"(?=\bfoo)", "éfoo", True),
        (r"^(?!x)[^\S]$", "\ufeff", True),
        ("^a.c$", "a\ud800c", True),
        ("^.\ud800", "a\ud800", True),
    ],
)
def test_what_is_read_how(pattern: str, text: str, is_found: bool | None) -> None:
    assert found(pattern, text) is is_found


@given(st.characters(), st.sampled_from("dDwWsS"), st.sampled_from(("{}", "[{}]", "[^{}]", "(?!ab){}", "[-{}-]")))
def test_classes_are_those_of_ecma(sign: str, letter: str, written: str) -> None:
    spaces = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
    in_class = {"d": sign in "0123456789", "w": re.match(r"(?a)\w", sign) is not None, "s": sign in spaces}
    fits = in_class[letter.lower()] is letter.islower()
    if written.startswith("[-"):
        fits = fits or sign == "-"
    assert found(f"^{written.format(chr(92) + letter)}$", sign) is (fits is not written.startswith("[^"))


@pytest.mark.parametrize(
    ("pattern", "length", "is_found"),
    [
        ("(a{100}){100}", 5_000, False),
        ("(a{100}){100}", 5_001, None),
        ("a[ab]{3000}c", 50_000, None),
        ("((a{0,30}){30}){30}c", 5_000, None),
        ("^[ab]*a[ab]{1000}c", 100_000, None),
        ("^(a{50}){50}$", 1_000_000, False),  # what lies behind the longest that fits is never met
        ("^.{1,5000}$", 1_000_000, False),
        ("^[a-z]+$", 1_000_000, True),
        ("^(?:[a-z]{1,63}-)*[a-z]{1,63}$", 300_000, False),
    ],
)
def test_what_is_counted_costs_no_more_than_it_may(pattern: str, length: int, is_found: bool | None) -> None:
    began = time.process_time()
    assert found(pattern, "a" * length) is is_found
    assert time.process_time() - began < SECONDS
    if is_found is None:
        assert "characters could take it too long" in unchecked(pattern)


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
