"""Files of Jupyter's: read whatever left them, written whole, valid, and the same for the same."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets.ipynb.notebook_file import (
    Notebook,
    NotebookError,
    check_replaced,
    notebook_text,
    open_notebook,
    parse_notebook,
    write_notebook,
    write_text,
)

KEY = "sk-ant-api03-abcdef0123456789abcdef"


def code(source: Any, *outputs: Any, **fields: Any) -> dict[str, Any]:
    """A code cell."""
    given: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None, "source": source}
    return {**given, "outputs": list(outputs), **fields}


def notebook(*cells: Any, minor: int = 5, **fields: Any) -> dict[str, Any]:
    """A notebook as data; from 4.5 on its cells have ids."""
    named = [
        {"id": f"c{n}", **cell} if minor >= 5 and isinstance(cell, dict) else cell for n, cell in enumerate(cells, 1)
    ]
    return {"nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": named, **fields}


def said(role: str, text: str) -> llmneutral.Message:
    """A message of one text."""
    return llmneutral.Message(role, (llmneutral.TextMessageContent(text),))


def test_sources_and_ids(tmp_path: Path) -> None:
    data = notebook(code(["a\n", "b"]), code("c"), {"cell_type": "raw", "metadata": {}, "source": ""})
    path = tmp_path / "some.ipynb"
    path.write_text("\ufeff" + json.dumps(data), encoding="utf-8")
    for found in (open_notebook(path), open_notebook(str(path))):
        assert found.name == "some.ipynb"
        assert [(cell.number, cell.id, cell.kind, cell.source) for cell in found.cells] == [
            (1, "c1", "code", "a\nb"),
            (2, "c2", "code", "c"),
            (3, "c3", "raw", ""),
        ]
    assert [cell.place for cell in found.cells] == ["cell 1 (c1)", "cell 2 (c2)", "cell 3 (c3)"]
    assert open_notebook(found) is found
    assert open_notebook(nbformat.from_dict(data)).cells == found.cells


def test_before_4_5_cells_have_no_ids() -> None:
    found = open_notebook(notebook(code("a"), minor=4))
    assert [(cell.id, cell.place) for cell in found.cells] == [(None, "cell 1")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_forms_are_read_and_the_same_twice() -> None:
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [
            {
                "metadata": {},
                "cells": [
                    {"cell_type": "heading", "level": 2, "metadata": {}, "source": "Title"},
                    {"cell_type": "code", "language": "python", "metadata": {}, "input": "1+1", "outputs": []},
                ],
            }
        ],
    }
    found = parse_notebook(json.dumps(old), "old.ipynb")
    assert [(cell.kind, cell.source, cell.id) for cell in found.cells] == [
        ("markdown", "## Title", None),
        ("code", "1+1", None),
    ]
    assert parse_notebook(json.dumps(old), "old.ipynb") == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe", "no text in UTF-8"),
        ("", "no JSON (Expecting value at line 1, column 1)"),
        (
            '{"nbformat": 4,\n<<<<<<< HEAD',
            "no JSON (Expecting property name enclosed in double quotes at line 2, column",
        ),
        ("[" * 200_000, "no JSON"),
        ("[]", "holds a list, not an object"),
        ("{}", "has no number nbformat"),
        ('{"nbformat": "4"}', "has no number nbformat"),
        ('{"nbformat": 4, "cells": {}}', "has no list of cells"),
        ('{"nbformat": 5, "cells": []}', "written in nbformat 5; this version reads up to 4.5"),
        ('{"nbformat": 3}', "cannot be read"),
    ],
)
def test_what_is_no_notebook_is_said_in_one_line(text: str | bytes, told: str) -> None:
    with pytest.raises(NotebookError) as caught:
        parse_notebook(text, "x.ipynb")
    assert told in str(caught.value)
    assert str(caught.value).startswith("x.ipynb ")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, llmneutral.LLMNeutralError)


def test_what_cannot_be_opened_names_the_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.ipynb", tmp_path):
        with pytest.raises(NotebookError, match=path.name):
            open_notebook(path)
    with pytest.raises(NotebookError, match="not a float"):
        open_notebook(1.5)


def test_what_is_broken_in_a_cell_is_told_and_left_aside() -> None:
    data = notebook(3, code({"a": 1}), code("x", 7, {"output_type": "stream"}), code("y", outputs="none"), {"id": "z"})
    found = open_notebook(data)
    assert [cell.number for cell in found.cells] == [2, 3, 4]
    assert found.cells[1].outputs == ({"output_type": "stream"},)
    assert found.notes == (
        "cell 1: it is no cell, and is left aside",
        "cell 2 (c2): its source is no text",
        "cell 3 (c3): its output 1 is no output, and is left aside",
        "cell 4 (c4): its outputs are no list",
        "cell 5: it is no cell, and is left aside",
    )


def test_cells_that_have_the_id_of_another_are_told() -> None:
    found = open_notebook(notebook(code("a", id="x"), code("b"), code("c", id="x")))
    assert [cell.source for cell in found.cells] == ["a", "b", "c"]
    assert found.notes == ("cell 3 (x): cell 1 has the same id",)


def test_what_is_written_has_ids_that_differ_and_the_same_every_time() -> None:
    data = notebook(code("a", id="x"), code("b", id="x"), code("b", id="x"))
    data["cells"].append(code(["b"]))
    text = notebook_text(data)
    ids = [cell["id"] for cell in json.loads(text)["cells"]]
    assert ids[0] == "x"
    assert len(set(ids)) == 4
    assert notebook_text(data) == text
    assert data["cells"][1]["id"] == "x", "what was given is not changed"
    assert "id" not in json.loads(notebook_text(notebook(code("a"), minor=4)))["cells"][0]


def test_a_newer_minor_form_is_read_and_said() -> None:
    found = open_notebook(notebook(code("a", invented=1), minor=9, invented={}))
    assert found.cells[0].source == "a"
    assert found.notes == ("the notebook is written in nbformat 4.9; what that adds to 4.5 is left aside",)


def test_nan_that_a_tool_wrote_is_null() -> None:
    text = json.dumps(notebook(code("a", {"data": {"x/json": float("nan")}, "output_type": "display_data"})))
    assert "NaN" in text
    assert parse_notebook(text, "x").cells[0].outputs[0]["data"] == {"x/json": None}


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({}, "python"),
        ({"language_info": {"name": "R"}}, "R"),
        ({"kernelspec": {"language": "julia"}, "language_info": 3}, "julia"),
        ({"language_info": {"name": ""}}, "python"),
    ],
)
def test_the_language(metadata: Any, language: str) -> None:
    assert open_notebook(notebook(metadata=metadata)).language == language


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["cell_type", "source", "outputs", "data", "id", "metadata", "attachments", "text"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(st.lists(anything, max_size=4), anything)
def test_nothing_in_a_cell_makes_reading_fail(cells: list[Any], metadata: Any) -> None:
    found = open_notebook({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells})
    assert isinstance(found, Notebook)
    assert found.language
    assert len(found.cells) + len([note for note in found.notes if "no cell" in note]) == len(cells)


# ----------------------------------------------------------------------------------------------------------------------
# Writing


def test_written_without_secrets_and_nan_and_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-secret-value-of-mine")
    shown = {"output_type": "display_data", "metadata": {}, "data": {"application/json": {"x": float("nan"), "k": KEY}}}
    path = tmp_path / "out.ipynb"
    write_notebook(notebook(code("a-secret-value-of-mine", shown)), path)
    text = path.read_text(encoding="utf-8")
    assert "NaN" not in text
    assert KEY not in text
    assert "secret" not in text
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text.endswith("}\n")


def test_the_same_notebook_is_the_same_bytes() -> None:
    data = notebook(code("größer\n\ud800", {"output_type": "stream", "name": "stdout", "text": "a\nb"}))
    text = notebook_text(data)
    assert text == notebook_text(json.loads(json.dumps(data)))
    assert "größer" in text
    text.encode("utf-8")
    assert "\\ud800" not in text, "a notebook server could not send it"
    assert parse_notebook(text, "x").cells[0].source == "größer\n\ufffd"


def test_an_invalid_notebook_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "out.ipynb"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(NotebookError, match="is not valid"):
        write_notebook(notebook({"cell_type": "code"}), path)
    with pytest.raises(NotebookError, match=r"x\.ipynb: No such file"):
        write_notebook(notebook(), tmp_path / "nowhere" / "x.ipynb")
    assert path.read_text(encoding="utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["out.ipynb"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.ipynb"
    write_notebook(notebook(), path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o600)
    write_notebook(notebook(code("a")), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.ipynb"
    write_notebook(notebook(), path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(NotebookError, match="No space left on device"):
        write_notebook(notebook(code("a")), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["out.ipynb"]


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "target.md", tmp_path / "link.md"
    target.parent.mkdir()
    for content in (None, "old"):
        if content is not None:
            target.write_text(content, encoding="utf-8")
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write_text("new", link)
        assert link.is_symlink()
        assert target.read_text(encoding="utf-8") == "new"
    assert [each.name for each in target.parent.iterdir()] == ["target.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_what_is_no_file_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.md"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(NotebookError, match="is no file, and nothing is written in its place"):
            write_text("new", path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    "content",
    [
        "# A title\n\nand text",
        '{"name": "a-package", "version": "1"}',
        '{"messages": [{"role": "user", "content": "q"}], "model": "m"}',
        "[1, 2]",
        "import os\n",
        "## Installation\n\nfirst",
        "\udcff\udcfe",
    ],
)
def test_what_was_not_written_here_stays(tmp_path: Path, content: str) -> None:
    for name in ("x.md", "x.json", "x.ipynb", "x.txt", "x"):
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        with pytest.raises(NotebookError, match=f"^{name} was not exported by llmneutral, and is not replaced"):
            check_replaced(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n",
        "## user\n\nhello",
        '{"messages":[],"tools":[],"output_schema":null,"settings":{}}',
        json.dumps({"notebook": "x", "exchanges": [], "missing": [], "notes": []}),
        "x.ipynb: 1 exchange of 1 conversation (default)\n  cell 1",
        '{"llmneutral_recording": 1, "api": "chat_completions"}\n{"t": 0}\n',
    ],
)
def test_what_was_written_here_is_replaced(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x"
    check_replaced(path)
    path.write_text(content, encoding="utf-8")
    check_replaced(path)
