"""The parser of Thought / Actions / Answer: every row of what models write, cut anywhere, in linear time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmneutral.convert.react.parser import Piece, ReactParser
from llmneutral.ir.contents import ActionCallMessageContent
from tests.convert.react_outputs import ROWS, Row

fragments = st.sampled_from(
    ["Thought:", "Actions:", "Answer:", "Observations:", "**", "\n", "\n", " ", "\t", "\r\n", "[", "]", "{", "}", '"',
     '"name"', ":", '"x"', ",", '"input"', "{}", "\\", "`", "```json\n", "abc", "t", "Ans", "wer:", "\uff1a", "\ufeff",
     "é中",
     '[{"name": "x", "input": {"a": 1}}]']
)  # fmt: skip
texts = st.one_of(
    st.lists(fragments, max_size=25).map("".join), st.sampled_from([row[1] for row in ROWS]), st.text(max_size=40)
)


def read(pieces: Sequence[str], taken: Sequence[str] = ()) -> tuple[list[tuple[Any, ...]], set[str]]:
    """What is read of a text that comes in pieces, in the form of the table."""
    parser = ReactParser(taken)
    given = [each for piece in pieces for each in parser.feed(piece)] + parser.close()
    found: list[tuple[Any, ...]] = []
    for kind, value in given:
        if kind == "call":
            found.append(as_row(value))
        elif kind != "note":
            name = "T" if kind == "thinking" else "A"
            if found and found[-1][0] == name:
                found[-1] = (name, found[-1][1] + value)
            else:
                found.append((name, value))
    remarks = [value for kind, value in given if kind == "note"]
    assert len(set(remarks)) == len(remarks)
    return found, set(remarks)


def as_row(call: Any) -> tuple[Any, ...]:
    valid = isinstance(call, ActionCallMessageContent)
    return ("C", call.tag, call.name, call.input) if valid else ("X", call.tag, call.name, call.raw)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_models_write_is_read(row: Row) -> None:
    _, text, found, remarks = row
    assert read([text]) == (found, remarks)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_it_is_read_the_same_letter_by_letter(row: Row) -> None:
    assert read(list(row[1])) == read([row[1]])


@settings(max_examples=500)
@given(texts, st.lists(st.integers(0, 400), max_size=8))
def test_any_cut_gives_the_same(text: str, cuts: list[int]) -> None:
    places = sorted({0, *[min(cut, len(text)) for cut in cuts], len(text)})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    assert read(pieces) == read([text])


@given(texts)
def test_a_text_without_headings_is_the_answer(text: str) -> None:
    plain = text.replace(":", ";").replace("\uff1a", ";")
    found, remarks = read([plain])
    assert remarks == set()
    assert [kind for kind, _ in found] in ([], ["A"])
    assert "".join("".join(words for _, words in found).split()) == "".join(plain.removeprefix("\ufeff").split())


def test_text_is_given_as_it_comes() -> None:
    parser = ReactParser()
    assert parser.feed("Thought: I am ") == [Piece("thinking", "I am")]
    assert parser.feed("thinking\nAns") == [Piece("thinking", " thinking")]
    assert parser.feed("wer: 4") == [Piece("text", "4")]
    assert parser.feed("2 \n") == [Piece("text", "2")]
    assert parser.feed("Thought: x") == [Piece("text", " \nThought: x")]
    assert parser.close() == []
    assert parser.feed("more") == []


def test_a_call_is_given_as_soon_as_its_array_is_whole() -> None:
    parser = ReactParser()
    assert parser.feed('Actions: [{"name": "x"}') == []
    assert [each.kind for each in parser.feed("]")] == ["call"]


def test_the_arguments_stay_as_they_were_written() -> None:
    written = '{ "a":1.0,\n  "b" : "\\u00e9" }'
    parser = ReactParser()
    call = parser.feed(f'Actions: [{{"name": "x", "input": {written}}}]')[0].value
    assert call.arguments == written
    assert call.input == {"a": 1.0, "b": "é"}


def test_no_tag_of_the_conversation_comes_again() -> None:
    text = 'Actions: [{"tag": "a1", "name": "x"}, {"tag": "t", "name": "y"}, {"name": "z"}]'
    found, _ = read([text], ["a1", "a2", "t"])
    assert [row[1] for row in found] == ["a3", "t_2", "a4"]


def test_a_block_between_two_texts_ends_a_line() -> None:
    parser = ReactParser()
    given = parser.feed("Thought: a")
    parser.boundary()
    assert [*given, *parser.feed("Answer: b")] == [Piece("thinking", "a"), Piece("text", "b")]


LONG = {
    "open brackets": lambda n: "Actions: " + "[" * n,
    "nested": lambda n: "Actions: " + "[" * n + "]" * n,
    "spaces": lambda n: " " * n,
    "spaces in a thought": lambda n: "Thought: a" + " \n" * (n // 2),
    "line ends": lambda n: "\n" * n,
    "headings": lambda n: "Thought:\n" * (n // 9),
    "actions": lambda n: "Actions:\n" * (n // 9),
    "stars": lambda n: "*" * n,
    "backticks": lambda n: "Actions: " + "`" * n,
    "backslashes": lambda n: 'Actions: ["' + "\\" * n,
    "lines in an array": lambda n: "Actions: [" + "\n" * n,
    "one tag": lambda n: "Actions: [" + '{"tag": "x", "name": "y"},' * (n // 26) + "{}]",
    "lines of an answer": lambda n: "Answer: " + "x\n" * (n // 2),
    "fences": lambda n: "Answer: " + "```" * (n // 3),
    "broken lines": lambda n: "Actions: [}" + "x\n" * (n // 2),
    "quotes": lambda n: "Actions: [" + '"' * n,
}


@pytest.mark.parametrize("made", LONG.values(), ids=LONG)
def test_long_texts_come_to_an_end(made: Callable[[int], str]) -> None:
    """100 KB, whole and cut small: some hundredths of a second; what backtracks would take minutes."""
    text, spent = made(100_000), []
    for _ in range(3):
        began = time.process_time()
        read([text])
        read([text[i : i + 7] for i in range(0, len(text), 7)])
        spent.append(time.process_time() - began)
        if spent[-1] < 5:
            return
    raise AssertionError(f"100 KB took {min(spent):.1f} s")
