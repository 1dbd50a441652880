"""Marks of a template at the beginning of an answer are not the model's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmneutral.convert.echo import Echo
from llmneutral.convert.neutral import neutral_normalizer
from llmneutral.ir.contents import ActionCallMessageContent, TextMessageContent, ThinkingMessageContent
from llmneutral.ir.deltas import CONTENT_KINDS, DeltaMessage, DoneDeltaMessageContent, TextDeltaMessageContent
from llmneutral.ir.messages import Message

ECHO = Echo("<tool_response>", "</tool_response>")
PIECES = (
    "<tool_response>",
    "</tool_response>",
    "<tool_",
    "response>",
    "</tool",
    "<",
    ">",
    "\n",
    " ",
    "It is 4.",
    "a<b",
)
texts = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
BLOCKS: dict[str, Any] = {
    "thinking": lambda text: ThinkingMessageContent(text or "t"),
    "call": lambda text: ActionCallMessageContent("c1", "look", None, {}),
    "text": TextMessageContent,
}
blocks = st.lists(st.tuples(st.sampled_from(sorted(BLOCKS)), texts.filter(bool)), min_size=1, max_size=3)


def cut(text: str, sizes: list[int]) -> list[str]:
    found = []
    for size in sizes:
        found.append(text[:size])
        text = text[size:]
    return [piece for piece in [*found, text] if piece]


def streamed(pieces: list[str]) -> tuple[str, str, list[DeltaMessage]]:
    """What the deltas said, what the response says, and the deltas."""
    normalizer = neutral_normalizer()
    normalizer.read_through(ECHO.deltas())
    given = []
    for piece in pieces:
        given += normalizer.feed(DeltaMessage("text", TextDeltaMessageContent(piece, index=0)))
    normalizer.feed(DeltaMessage("end", complete=True))
    given += normalizer.close()
    return "".join([delta.text for delta in given]), normalizer.response.text, given


def whole(text: str) -> str:
    normalizer = neutral_normalizer()
    normalizer.read_through(ECHO.deltas())
    normalizer.whole(Message("assistant", (TextMessageContent(text),)))
    normalizer.close()
    return normalizer.response.text


@given(texts, st.lists(st.integers(1, 9), max_size=12))
@example("<tool_response>\nIt is 4.\n</tool_response>", [1] * 40)
def test_whole_and_in_any_pieces_it_is_the_same(text: str, sizes: list[int]) -> None:
    said, response, deltas = streamed(cut(text, sizes))
    assert said == response == whole(text)
    assert [delta.kind for delta in deltas if delta.kind not in CONTENT_KINDS] == ["start", "end"]


@given(texts.filter(lambda text: not text.lstrip().startswith("<tool_response>")))
def test_what_does_not_begin_with_a_mark_stays(text: str) -> None:
    assert whole(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<tool_response>\nIt is sunny in Paris.\n</tool_response>", "It is sunny in Paris."),
        ("<tool_response>\n4\n</tool_response>\n<tool_response>\n5\n</tool_response>", "4\n5"),
        ("\n<tool_response>4</tool_response>\n\nSo it is 4.", "4\n\nSo it is 4."),
        ("<tool_response>\nIt is cut", "It is cut"),
        ("<tool_response>\nIt is cut\n</tool_resp", "It is cut"),
        ("<tool_response>", ""),
        ("<tool_response>\na < b\n</tool_response>", "a < b"),
        ("You write <tool_response> for it.", "You write <tool_response> for it."),
        ("<tool_resp", "<tool_resp"),
        ("", ""),
    ],
)
def test_what_is_left(text: str, left: str) -> None:
    assert whole(text) == left
    assert streamed(list(text))[0] == left


def test_text_still_streams() -> None:
    _, _, deltas = streamed(list("<tool_response>\nIt is sunny.\n</tool_response>"))
    assert len([delta for delta in deltas if delta.text]) >= 10


@given(blocks)
def test_of_several_blocks_only_the_first_text_begins_the_answer(kinds: list[tuple[str, str]]) -> None:
    made = [BLOCKS[kind](text) for kind, text in kinds]
    found, notes = ECHO.blocks(made)
    first = next((place for place, block in enumerate(made) if type(block) is TextMessageContent), len(made))
    assert notes == []
    assert made[:first] == found[:first]
    assert made[first + 1 :] == (found[len(found) - len(made[first + 1 :]) :] if made[first + 1 :] else [])
    normalizer = neutral_normalizer()
    normalizer.read_through(ECHO.deltas())
    for index, block in enumerate(made):
        normalizer.feed(DeltaMessage("block_done", DoneDeltaMessageContent(index=index, value=block)))
    normalizer.close()
    said = [block.to_text() for block in normalizer.response.message.content]
    assert said == [block.to_text() for block in found]
