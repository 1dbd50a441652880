"""Contents: made of artifacts, put together from their own deltas."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ActionArtifact,
    ActionCallDeltaMessageContent,
    ActionCallMessageContent,
    AudioMessageContent,
    GenericDeltaMessageContent,
    GenericMessageContent,
    ImageArtifact,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    RefusalDeltaMessageContent,
    RefusalMessageContent,
    TextArtifact,
    TextDeltaMessageContent,
    TextMessageContent,
    ThinkingDeltaMessageContent,
    ThinkingMessageContent,
    ToolAction,
)
from llmneutral.ir.deltas import AudioDeltaMessageContent

Call = ActionCallDeltaMessageContent


def test_contents_take_artifacts_as_in_griptape() -> None:
    assert TextMessageContent(TextArtifact("x")) == TextMessageContent("x")  # type: ignore[arg-type]
    raw = ImageArtifact(b"\x89PNG")
    assert ImageMessageContent(raw).data == base64.b64encode(b"\x89PNG").decode()  # type: ignore[arg-type]
    action = ToolAction("t", "Calculator", "add", {"a": 1})
    content = ActionCallMessageContent(ActionArtifact(action))  # type: ignore[arg-type]
    assert content.action == action
    assert content.artifact == ActionArtifact(action)
    assert TextMessageContent("x").artifact == TextArtifact("x")


@given(st.lists(st.text(), min_size=1))
def test_text_is_concatenated(pieces: list[str]) -> None:
    deltas = [TextDeltaMessageContent(piece) for piece in pieces]
    assert TextMessageContent.from_deltas(deltas).text == "".join(pieces)
    assert TextMessageContent.from_deltas(TextDeltaMessageContent.compacted(deltas)).text == "".join(pieces)


def test_citations_keep_their_order() -> None:
    deltas = [TextDeltaMessageContent("a"), *[TextDeltaMessageContent(citation={"n": n}) for n in (1, 2)]]
    assert TextMessageContent.from_deltas(deltas).citations == ({"n": 1}, {"n": 2})
    assert TextDeltaMessageContent.compacted(deltas) == deltas


def test_a_signature_is_assigned_and_not_joined() -> None:
    deltas = [
        ThinkingDeltaMessageContent("a"),
        ThinkingDeltaMessageContent("b"),
        ThinkingDeltaMessageContent(signature="s1"),
        ThinkingDeltaMessageContent(signature="s2"),
    ]
    assert ThinkingMessageContent.from_deltas(deltas) == ThinkingMessageContent("ab", signature="s2")
    assert ThinkingMessageContent.from_deltas([ThinkingDeltaMessageContent(data="x")]).is_redacted


@pytest.mark.parametrize(
    ("fragments", "arguments"),
    [
        (['{"a"', ": 1}"], {"a": 1}),
        ([""], {}),
        (["  "], {}),
        ([], {}),
        (['{"n": 123456789012345678901}'], {"n": 123456789012345678901}),
    ],
)
def test_arguments_are_parsed_once_at_the_end(fragments: list[str], arguments: object) -> None:
    deltas = [Call("c1", "f"), *[Call(partial_input=fragment) for fragment in fragments]]
    found = ActionCallMessageContent.from_deltas(deltas)
    assert isinstance(found, ActionCallMessageContent)
    assert (found.tag, found.name, found.input) == ("c1", "f", arguments)
    assert ActionCallMessageContent.from_deltas(Call.compacted(deltas)) == found


@pytest.mark.parametrize("raw", ["null", "[1]", '"{}"', '{"a": ', "not json", '{"a": NaN}'])
def test_what_is_no_object_is_an_invalid_call(raw: str) -> None:
    found = ActionCallMessageContent.from_deltas([Call("c1", "f", partial_input=raw)])
    assert found == InvalidActionCallMessageContent("c1", "f", raw=raw)


def test_id_and_name_are_assigned_once() -> None:
    deltas = [Call("c1", "f"), Call("c1", "f", partial_input="{}"), Call("", "")]
    found = ActionCallMessageContent.from_deltas(deltas)
    assert (found.tag, found.name) == ("c1", "f")


def test_pieces_of_sound_are_decoded_before_they_are_joined() -> None:
    pieces = [base64.b64encode(piece).decode() for piece in (b"a", b"bc")]
    deltas = [AudioDeltaMessageContent(data=piece, transcript="t", id="au_1") for piece in pieces]
    found = AudioMessageContent.from_deltas(deltas)
    assert base64.b64decode(found.data or "") == b"abc"
    assert (found.transcript, found.id) == ("tt", "au_1")


def test_whole_values_replace_one_another() -> None:
    deltas = [GenericDeltaMessageContent(value=GenericMessageContent({"n": n})) for n in (1, 2)]
    assert GenericMessageContent.from_deltas(deltas) == GenericMessageContent({"n": 2})


def test_refusals() -> None:
    deltas = [RefusalDeltaMessageContent("no"), RefusalDeltaMessageContent(" way", "harm")]
    assert RefusalMessageContent.from_deltas(deltas) == RefusalMessageContent("no way", "harm")
