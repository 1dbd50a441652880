"""Reasoning inside the text, however the text is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmneutral.transports.chat_completions.inline import InlineThinking


def split(*pieces: str) -> tuple[str, str]:
    """The reasoning and the text that some pieces hold."""
    machine = InlineThinking()
    found = [each for piece in pieces for each in machine.feed(piece)] + machine.flush()
    assert all(said for _, said in found)
    return tuple("".join(said for kind, said in found if kind == wanted) for wanted in ("thinking", "text"))  # type: ignore[return-value]


def test_the_tags_and_the_line_breaks_around_them_go() -> None:
    assert split("<think>\na\nb\n</think>\n\nc\n") == ("a\nb", "c\n")
    assert split("  <think>a</think>b") == ("a", "b")
    assert split("<think></think>b") == ("", "b")


def test_only_the_very_start_counts() -> None:
    assert split("a <think>b</think>") == ("", "a <think>b</think>")
    assert split("<think>a</think>b<think>c</think>") == ("a", "b<think>c</think>")


def test_what_looks_like_a_tag_and_is_none_stays() -> None:
    assert split("<thi", "s>") == ("", "<this>")
    assert split("<think>a</thin", "g>b</think>c") == ("a</thing>b", "c")
    assert split("<thi") == ("", "<thi")


def test_an_open_thought_is_reasoning() -> None:
    assert split("<think>a</thi") == ("a</thi", "")


PIECES = st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", "think>", "\n", " ", "a", "<", ">"])


@given(text=st.lists(PIECES, max_size=12).map("".join), data=st.data())
def test_any_cut_means_the_same(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert split(*pieces) == split(text)
