"""Any artifact becomes contents, by one open table."""

from __future__ import annotations

import base64

import pytest

from llmneutral import (
    ActionArtifact,
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioArtifact,
    AudioMessageContent,
    BlobArtifact,
    DocumentArtifact,
    DocumentMessageContent,
    ErrorArtifact,
    GenericArtifact,
    GenericMessageContent,
    ImageArtifact,
    ImageMessageContent,
    ImageUrlArtifact,
    JsonArtifact,
    ListArtifact,
    Origin,
    TextArtifact,
    TextMessageContent,
    ToolAction,
    contents_of,
)

RAW = b"\x89PNG\r\n\x1a\n"
DATA = base64.b64encode(RAW).decode()
CALL = ToolAction("t1", "Calculator", "add", {"a": 1})

TABLE = [
    ("x", TextMessageContent("x")),
    (TextArtifact("x"), TextMessageContent("x")),
    (ImageArtifact(RAW), ImageMessageContent(DATA, media_type="image/png")),
    (ImageUrlArtifact("https://x.test/a.png"), ImageMessageContent(url="https://x.test/a.png")),
    (ImageUrlArtifact(f"data:image/png;base64,{DATA}"), ImageMessageContent(DATA, media_type="image/png")),
    (AudioArtifact(RAW, "mp3"), AudioMessageContent(DATA, "audio/mpeg")),
    (DocumentArtifact(RAW, "a.pdf"), DocumentMessageContent(DATA, media_type="application/pdf", name="a.pdf")),
    (
        DocumentArtifact("words", media_type="text/plain"),
        DocumentMessageContent(text="words", media_type="text/plain"),
    ),
    (BlobArtifact(RAW, "image/webp"), ImageMessageContent(DATA, media_type="image/webp")),
    (BlobArtifact(RAW, "audio/wav"), AudioMessageContent(DATA, "audio/wav")),
    (BlobArtifact(RAW, "text/csv", "t.csv"), DocumentMessageContent(DATA, media_type="text/csv", name="t.csv")),
    (GenericArtifact({"type": "video"}), GenericMessageContent({"type": "video"})),
    (GenericArtifact({"t": 1}, "gemini_native"), GenericMessageContent({"t": 1}, origin=Origin("gemini_native"))),
    (ActionArtifact(CALL), ActionCallMessageContent("t1", "Calculator", "add", {"a": 1})),
    (JsonArtifact({"a": 1}), TextMessageContent('{"a": 1}')),
    (42, TextMessageContent("42")),
    (None, TextMessageContent("")),
]


@pytest.mark.parametrize(("artifact", "content"), TABLE, ids=lambda value: type(value).__name__)
def test_the_table(artifact: object, content: object) -> None:
    assert contents_of(artifact) == (content,)


def test_an_action_forks_on_its_output() -> None:
    def with_output(output: object) -> object:
        (found,) = contents_of(ActionArtifact(ToolAction("t1", "f", output=output)))
        return found

    assert with_output(7) == ActionResultMessageContent("t1", 7, name="f")
    assert with_output(TextArtifact("x")) == ActionResultMessageContent("t1", "x", name="f")
    assert with_output(ErrorArtifact("bad")) == ActionResultMessageContent("t1", "bad", name="f", is_error=True)
    pictured = with_output(ListArtifact(["see", ImageArtifact(RAW)]))
    assert isinstance(pictured, ActionResultMessageContent)
    assert pictured.parts == (TextMessageContent("see"), ImageMessageContent(DATA, media_type="image/png"))


def test_lists_are_flattened() -> None:
    nested = ListArtifact(["a", ListArtifact([TextArtifact("b"), ["c"]])])
    assert [content.to_text() for content in contents_of(nested)] == ["a", "b", "c"]


def test_bytes_without_a_type_are_told() -> None:
    with pytest.raises(TypeError, match="bytes have no media type"):
        contents_of(b"x")


def test_the_table_is_open() -> None:
    class Weather:
        celsius = -3

    contents_of.register(Weather, lambda weather: (TextMessageContent(f"{weather.celsius} °C"),))
    assert contents_of(Weather()) == (TextMessageContent("-3 °C"),)
