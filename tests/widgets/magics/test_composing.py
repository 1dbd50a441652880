"""What `-a`, `-t`, `--schema` and `{{…}}` become."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pandas
import pytest

import llmneutral
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.lines.prompt_line import parse_prompt
from llmneutral_widgets.magics.composing import attachment, blocks_of, compose
from tests.widgets.samples import PNG, png


def kinds(blocks: Any) -> list[str]:
    return [type(block).__name__.removesuffix("MessageContent") for block in blocks]


class Figure:
    """Draws itself, as plots do."""

    def savefig(self, buffer: Any, format: str) -> None:
        assert format == "png"
        buffer.write(png())


class Picture:
    """Draws itself, as pictures in notebooks do."""

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn

    def _repr_png_(self) -> Any:
        if isinstance(self.drawn, Exception):
            raise self.drawn
        return self.drawn


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("text", "Text"),
        (png(), "Image"),
        (bytearray(png()), "Image"),
        (b"%PDF-1.7 ...", "Document"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "Audio"),
        (b"ID3\x04sound", "Audio"),
        (b"plain words", "Document"),
        (Figure(), "Image"),
        (Picture(png()), "Image"),
        (Picture(base64.b64encode(png()).decode()), "Image"),
        (Picture((png(), {"width": 8})), "Image"),
        (llmneutral.ImageUrlArtifact("https://a.example/b.png"), "Image"),
        (llmneutral.TextMessageContent("as it is"), "Text"),
    ],
)
def test_values_become_blocks(value: Any, kind: str) -> None:
    assert kinds(blocks_of(value)) == [kind]


def test_a_picture_keeps_its_bytes() -> None:
    (block,) = blocks_of(Picture(png()))
    assert block.data == PNG
    assert block.media_type == "image/png"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"\xff\xfe\x00\x80", "the bytes: neither picture, sound, PDF nor text"),
        (Picture(ValueError("no ink")), "a Picture could not be drawn: ValueError: no ink"),
    ],
)
def test_what_nobody_takes_is_said(value: Any, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        blocks_of(value)


def test_files_are_read_by_what_they_are(tmp_path: Path) -> None:
    for name, content, kind in (
        ("a.png", png(), "Image"),
        ("b.pdf", b"%PDF-1.7", "Document"),
        ("c.mp3", b"ID3...", "Audio"),
        ("d.csv", b"a,b\n1,2\n", "Document"),
        ("e.py", b"x = 1\n", "Document"),
    ):
        (tmp_path / name).write_bytes(content)
        blocks = attachment(str(tmp_path / name), {})
        assert kinds(blocks) == [kind], name
        if kind == "Document":
            assert blocks[0].name == name, "the name, and no path"
    (text,) = attachment(str(tmp_path / "d.csv"), {})
    assert text.text == "a,b\n1,2\n"


def test_a_file_that_is_not_there_names_the_near_ones(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(png())
    with pytest.raises(OptionError, match=r"there is no such file; did you mean picture\.png"):
        attachment(str(tmp_path / "pictur.png"), {})
    for name in ("nowhere/a.png", "x.pdf"):  # where nothing is near, what else is there is nobody's business
        with pytest.raises(OptionError, match=r"there is no such file$"):
            attachment(str(tmp_path / name), {})


def test_addresses_are_sent_as_addresses() -> None:
    (picture,) = attachment("https://a.example/b.png?c", {})
    assert (kinds([picture]), picture.url) == (["Image"], "https://a.example/b.png?c")
    (document,) = attachment("https://a.example/b.pdf", {})
    assert (kinds([document]), document.name, document.media_type) == (["Document"], "b.pdf", "application/pdf")
    with pytest.raises(OptionError, match="only https addresses"):
        attachment("http://a.example/b.png", {})


def test_variables_are_attached_as_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    names = {
        "picture": png(),
        "table": pandas.DataFrame({"a": [1, 2]}),
        "number": 5,
        "folder": str(tmp_path),
        "where": "https://a.example/b.png",
    }
    assert kinds(attachment("{{picture}}", names)) == ["Image"]
    assert "| 0 | 1 |" in attachment("{{table}}", names)[0].text
    assert attachment("{{number}}", names)[0].text == "5"
    assert kinds(attachment("{{folder}}/a.png", names)) == ["Image"]
    with pytest.raises(OptionError, match="nothing is not defined"):
        attachment("{{nothing}}", names)


def composed(line: str, cell: str | None = None, **names: Any) -> Any:
    return compose(parse_prompt(line), cell, names)


def test_the_line_and_the_body_are_one_question() -> None:
    assert composed("above", "below\n").question.to_text() == "above\nbelow"
    assert composed("", "\n  indented\n\n").question.to_text() == "  indented"
    assert composed("-s {{who}} Hi", who="Kind").system == "Kind"
    assert composed("--raw -s {{who}} {{x}}").system == "{{who}}"


def test_pictures_stand_where_they_are_named_and_attachments_before_them() -> None:
    made = composed("-a {{b}} left {{a}} right", a=png(), b=png(4, 4))
    assert kinds(made.question.content) == ["Image", "Text", "Image", "Text"]


def test_an_attachment_alone_is_a_question() -> None:
    assert kinds(composed("-a {{a}}", a=png()).question.content) == ["Image"]


def test_tools_by_name_alone_or_in_lists() -> None:
    def one() -> None: ...

    def two() -> None: ...

    made = composed("-t one -t several Hi", one=one, several=[two, {"type": "function", "function": {"name": "three"}}])
    assert len(made.tools) == 3
    assert made.tools[:2] == (one, two)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "there is nothing to ask"),
        ("-s {{a}} Hi", "-s takes text"),
        ("-t n Hi", "-t n is an int; it takes a function, a Tool, or a list of them"),
        ("-t nowhere Hi", "-t nowhere: nowhere is not defined"),
        ("-t 0.5 Hi", "-t takes the name of a variable, not 0.5; the temperature is --temperature"),
        ("--schema 5 Hi", "--schema takes the name of a variable, not 5$"),
        ("--schema n Hi", "--schema n is an int; it takes a pydantic model"),
        ("{{x}} {{y}}", "x is not defined.*; y is not defined; .* --raw sends it as typed"),
    ],
)
def test_mistakes_name_the_thing(line: str, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        composed(line, a=png(), n=5)


class Unspeakable:
    """Has no text."""

    def __str__(self) -> str:
        raise ZeroDivisionError("no text")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-a {{odd}}", r"-a \{\{odd\}\} has no text: ZeroDivisionError: no text"),
        ("-a {{frame}}", r"-a \{\{frame\}\} has no text: ZeroDivisionError: no text"),
        ("{{frame}}", r"\{\{frame\}\} has no text: ZeroDivisionError: no text"),
        ('-a "x{{figure}}"', "a picture or document stands alone"),
        ('-a ""', "-a needs a file, an https address or"),
        ("-a .", "-a .: that is a folder; -a takes one file"),
        ("-a /dev/null", "-a /dev/null: that is no file"),
        ("-t len", "-t len: that is Python's own; it takes a variable of the notebook"),
        ("--schema int", "--schema int: that is Python's own"),
        ('-t ""', "-t takes the name of a variable; the temperature is --temperature"),
    ],
)
def test_what_cannot_be_used_is_one_line(line: str, said: str) -> None:
    names = {"odd": Unspeakable(), "frame": pandas.DataFrame({"a": [Unspeakable()]}), "figure": Figure()}
    with pytest.raises(OptionError, match=said):
        compose(parse_prompt(f"{line} Hi" if line.startswith("-") else line), None, names)
