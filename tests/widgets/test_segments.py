"""A growing text in pieces: nothing is lost, nothing changes again, and a fence that is cut is mended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.scrub import MASK, Secrets
from llmneutral_widgets.segments import SIZE, Segment, Segments, fence_after

TEXTS = st.lists(st.text(alphabet="ab \n`~-1.", max_size=300), max_size=80)


def cut(pieces: list[str], size: int = 100) -> tuple[list[Segment], Segment]:
    segments, found = Segments(size=size), []
    for piece in pieces:
        segments.add(piece)
        found += segments.finished()
    return found, segments.end()


@given(TEXTS)
def test_the_pieces_are_the_text(pieces: list[str]) -> None:
    found, end = cut(pieces)
    assert "".join([segment.source for segment in found]) + end.source == "".join(pieces)


@given(TEXTS)
def test_pieces_are_neither_tiny_nor_big_and_the_end_is_bounded(pieces: list[str]) -> None:
    found, end = cut(pieces)
    assert all([50 <= len(segment.source) <= 200 for segment in found])
    assert len(end.source) <= 300


@given(TEXTS)
def test_every_piece_has_its_fences_closed(pieces: list[str]) -> None:
    found, _ = cut(pieces)
    for segment in found:
        fence = ""
        for line in segment.shown.split("\n"):
            fence = fence_after(line, fence)
        assert fence == ""


@given(TEXTS, TEXTS)
def test_what_was_finished_does_not_depend_on_what_comes_later(pieces: list[str], more: list[str]) -> None:
    before, _ = cut(pieces)
    after, _ = cut(pieces + more)
    assert after[: len(before)] == before


def test_the_cut_is_made_between_paragraphs() -> None:
    paragraph = "word " * 30 + "\n\n"
    found, _ = cut([paragraph] * 40, size=400)
    assert found
    assert all([segment.source.endswith("\n\n") for segment in found])


def test_a_paragraph_s_own_list_is_not_torn_where_there_is_another_place() -> None:
    text = "Intro.\n\n" + "x" * 60 + "\n\nNext.\n\n   still of the item\n" + "y" * 400
    found, _ = cut([text])
    assert found[0].source.endswith("\n\n")
    assert not found[1].source.startswith("   ")


def test_a_fence_that_is_cut_is_closed_and_opened_again() -> None:
    code = "```python\n" + "x = 1\n" * 100
    found, end = cut([code])
    assert found[0].shown.startswith("```python\nx = 1\n")
    assert found[0].shown.endswith("x = 1\n```")
    assert found[1].shown.startswith("```python\nx = 1\n")
    assert end.shown.startswith("```python\n")
    after = Segments(size=100)
    after.add(code + "```\ntext")
    after.finished()
    assert after.end().shown.endswith("```\ntext")


def test_the_beginning_of_a_secret_is_held_back_and_a_whole_one_is_masked() -> None:
    secrets = Secrets(["geheimnis-0815-4711"])
    segments = Segments(secrets.text, secrets.held, size=100)
    shown = ""
    for piece in ["word " * 30, "geheim", "nis-0815", "-4711 and ", "word " * 60]:
        segments.add(piece)
        shown += "".join([segment.shown for segment in segments.finished()])
        assert "geheim" not in segments.end().shown
    shown += segments.end().shown
    assert "geheim" not in shown
    assert MASK in shown


def test_a_secret_is_never_cut_in_two() -> None:
    secrets = Secrets(["x" * 120])
    segments = Segments(secrets.text, secrets.held, size=100)
    found = []
    for piece in ["a " * 80, "x" * 60, "x" * 60, " b" * 200]:
        segments.add(piece)
        found += segments.finished()
    everything = "".join([segment.shown for segment in found]) + segments.end().shown
    assert "xxxx" not in everything


@pytest.mark.parametrize("size", [SIZE])
def test_a_long_text_costs_what_it_is_long(size: int) -> None:
    """Every character is rendered once as part of a piece: 100 KB come in about 50 pieces."""
    found, _ = cut(["word " * 20 + "\n\n"] * 1000, size)
    assert 30 <= len(found) <= 120
