"""`llmneutral notebook`: what it prints, what it writes, and the exit codes."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

import llmneutral
from llmneutral.cli import main
from tests.conftest import ROOT
from tests.widgets.ipynb.test_extraction import record, shown
from tests.widgets.ipynb.test_notebook_file import code, notebook

LESSON = ROOT / "notebooks" / "00-start.ipynb"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    stack = llmneutral.PromptStack()
    stack.add_system_message("Be brief.")
    stack.add_user_message("Größe?")
    stack.add_assistant_message("7 m")
    path = tmp_path / "conversation.json"
    path.write_text(stack.to_json(), encoding="utf-8")
    return path


def refused(arguments: list[str], capsys: Captured) -> str:
    """Runs with wrong arguments; returns what stands on stderr."""
    with pytest.raises(SystemExit) as caught:
        main(["notebook", *arguments])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def given(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Puts something on standard input."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_alone_it_lists_its_commands(capsys: Captured) -> None:
    assert main(["notebook"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("extract", "export", "diff"))


@pytest.mark.parametrize("command", ["extract", "export", "diff"])
def test_each_explains_itself(command: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["notebook", command, "--help"])
    assert caught.value.code == 0
    assert "standard input" in capsys.readouterr().out


def test_extract_lists_a_line_for_each_exchange(capsys: Captured) -> None:
    assert main(["notebook", "extract", str(LESSON)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "00-start.ipynb: 3 exchanges of 1 conversation (default)"
    assert "cell 4 (ask)" in out
    assert err == ""


def test_extract_tells_what_was_asked(capsys: Captured) -> None:
    assert main(["notebook", "extract", str(LESSON)]) == 0
    for row in capsys.readouterr().out.splitlines()[1:4]:
        assert re.match(r'  cell \d+ \(\w+\)  x-\w{8}  default  "[^"]{5,60}"  ', row)


@pytest.mark.parametrize(
    ("cells", "heads"),
    [("1:2", ["a", "b"]), ("2", ["b"]), ("3:", ["c", "d"]), (":1", ["a"]), ("3:-1", ["c", "d"]), ("c4", ["d"])],
)
def test_cells_are_counted_as_messages_count_them(
    cells: str, heads: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    written = [{"cell_type": "markdown", "id": f"c{n}", "metadata": {}, "source": t} for n, t in enumerate("abcd", 1)]
    given(monkeypatch, json.dumps(notebook(*written)).encode())
    assert main(["notebook", "extract", "-", "--whole", "--cells", cells]) == 0
    stack = llmneutral.PromptStack.from_json(capsys.readouterr().out)
    assert [message.to_text() for message in stack.messages] == heads


def test_a_conversation_that_began_anew_says_so_and_gives_its_other_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    cells = [code("%%prompt", shown(each)) for each in (record(0), record(1, 0), record(2))]
    content = json.dumps(notebook(*cells)).encode()
    for arguments in (["extract", "-", "--stack"], ["export", "-", "--to", "json"]):
        given(monkeypatch, content)
        assert main(["notebook", *arguments]) == 0
        out, err = capsys.readouterr()
        assert "q2" in out
        assert "q1" not in out
        assert "conversation default began anew and has 2 parts: this is the last one; " in err
        given(monkeypatch, content)
        assert main(["notebook", *arguments, "--part", "1"]) == 0
        out, err = capsys.readouterr()
        assert "q1" in out
        assert "q2" not in out
        assert "parts" not in err
    given(monkeypatch, content)
    assert main(["notebook", "extract", "-"]) == 0
    rows = [row.split("  ")[1] for row in capsys.readouterr().out.splitlines()[1:]]
    assert rows == ["default, part 1:", "cell 1 (c1)", "cell 2 (c2)", "default, part 2:", "cell 3 (c3)"]


def test_extract_as_json(capsys: Captured) -> None:
    assert main(["notebook", "extract", str(LESSON), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["cell_id"] for each in found["exchanges"]] == ["ask", "again", "example"]
    assert found["exchanges"][0]["exchange"]["schema"] == 1
    assert (found["missing"], found["notes"]) == ([], [])


def test_extract_as_a_stack_that_the_library_reads(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, LESSON.read_bytes())
    assert main(["notebook", "extract", "-", "--stack"]) == 0
    stack = llmneutral.PromptStack.from_json(capsys.readouterr().out)
    assert [message.role for message in stack.messages] == ["system", *["user", "assistant"] * 3]


def test_extract_the_whole_notebook(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "whole.json"
    arguments = ["--whole", "--cells", "1:3", "--cap", "40", "--no-outputs", "-o", str(target)]
    assert main(["notebook", "extract", str(LESSON), *arguments]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "cell 1 (what): its text" in err or "were cut to 40" in err
    stack = llmneutral.PromptStack.from_json(target.read_text(encoding="utf-8"))
    assert {message.role for message in stack.messages} == {"user"}


def test_export_and_back_is_the_same_conversation(conversation: Path, tmp_path: Path, capsys: Captured) -> None:
    notebook, again = tmp_path / "out.ipynb", tmp_path / "again.json"
    assert main(["notebook", "export", str(conversation), "-o", str(notebook)]) == 0
    nbformat.validate(nbformat.read(notebook, as_version=4))
    assert main(["notebook", "export", str(notebook), "-o", str(again)]) == 0
    read = [llmneutral.PromptStack.from_json(path.read_text(encoding="utf-8")) for path in (conversation, again)]
    assert read[0].messages == read[1].messages
    assert capsys.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.json", "conversation.json", "out.ipynb"]


def test_export_to_standard_output(conversation: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, conversation.read_bytes())
    assert main(["notebook", "export", "-", "--to", "md"]) == 0
    assert capsys.readouterr().out == "## system\n\nBe brief.\n\n## user\n\nGröße?\n\n## assistant\n\n7 m\n"
    assert main(["notebook", "export", str(conversation), "--style", "markdown"]) == 0
    cells = nbformat.reads(capsys.readouterr().out, as_version=4).cells
    assert [cell.cell_type for cell in cells] == ["markdown"] * 3


def test_diff_of_a_notebook_with_itself(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, LESSON.read_bytes())
    assert main(["notebook", "diff", str(LESSON), "-", "--exit-code"]) == 0
    assert capsys.readouterr().out.startswith("00-start.ipynb → standard input: 3 same\n")


def test_diff_tells_what_changed_and_ends_with_one_on_request(tmp_path: Path, capsys: Captured) -> None:
    other = tmp_path / "other.ipynb"
    other.write_text(LESSON.read_text(encoding="utf-8").replace("makes food from the sun", "eats light"), "utf-8")
    assert main(["notebook", "diff", str(LESSON), str(other)]) == 0
    out = capsys.readouterr().out
    assert "2 same, 1 changed" in out
    assert "+Photosynthesis is like a machine that eats light." in out
    assert main(["notebook", "diff", str(LESSON), str(other), "--exit-code", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [row["change"] for row in found["rows"]] == ["same", "changed", "same"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["extract", "nowhere.ipynb"], "nowhere.ipynb: No such file or directory"),
        (["export", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["diff", str(LESSON), "nowhere.ipynb"], "nowhere.ipynb: No such file or directory"),
        (["extract", str(ROOT / "README.md")], "README.md is no notebook: it is no JSON"),
        (["extract", str(LESSON), "--stack", "-c", "defalt"], "holds no conversation defalt; did you mean default?"),
        (["export", str(LESSON), "-c", "other"], "holds no conversation other; known: default"),
        (["export", str(LESSON), "--part", "2"], "conversation default has 1 part, and no part 2"),
        (["extract", str(LESSON), "--whole", "--cells", "exampel"], "no cell with the id exampel; did you mean"),
        (["export", str(LESSON), "-o", "nowhere/x.ipynb"], "x.ipynb: No such file or directory"),
    ],
    ids=lambda value: " ".join(value)[-30:] if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], told: str, capsys: Captured) -> None:
    assert main(["notebook", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("llmneutral: ")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["extract"], "FILE"),
        (["extract", "x", "--json", "--stack"], "not allowed with"),
        (["extract", str(LESSON), "-c", "a"], "--conversation belongs to --stack"),
        (["extract", str(LESSON), "--cap", "5"], "--cap belongs to --whole"),
        (["extract", str(LESSON), "--whole", "--cap", "0"], "from 1"),
        (["extract", str(LESSON), "--whole", "--cells", "3:x"], "no range"),
        (["extract", str(LESSON), "--whole", "--cells", "0:3"], "cells are counted from 1"),
        (["extract", str(LESSON), "--part", "1"], "--part belongs to --stack"),
        (["extract", str(LESSON), "-o", str(LESSON)], "would replace the file"),
        (["export", str(LESSON), "-o", "x.txt"], "x.txt ends in none of .ipynb, .json, .md"),
        (["export", str(LESSON), "--to", "html"], "html"),
        (["diff", "-", "-"], "standard input holds one notebook"),
    ],
    ids=lambda value: " ".join(value)[-30:] if isinstance(value, list) else None,
)
def test_wrong_arguments_are_one_line(arguments: list[str], told: str, capsys: Captured) -> None:
    assert told in refused(arguments, capsys)


def test_a_screen_that_lacks_letters_gets_question_marks(conversation: Path) -> None:
    command = [sys.executable, "-m", "llmneutral", "notebook", "export", str(conversation), "--to", "md"]
    done = subprocess.run(
        command, capture_output=True, cwd=ROOT, timeout=60, check=True, env={"PYTHONIOENCODING": "ascii"}
    )
    assert b"Gr??e?" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_full_disk_is_one_line(size: int, tmp_path: Path) -> None:
    stack = llmneutral.PromptStack()
    stack.add_user_message("word " * size)
    path = tmp_path / "a.json"
    path.write_text(stack.to_json(), encoding="utf-8")
    command = [sys.executable, "-m", "llmneutral", "notebook", "export", str(path), "--to", "md"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 1
    assert "the output cannot be written: No space left on device" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_without_an_output_it_says_so(conversation: Path) -> None:
    command = f"{sys.executable} -m llmneutral notebook export {conversation} --to md >&-"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "llmneutral: there is no output to print to: name a file with -o\n"


def test_what_turns_letters_about_is_printed_as_an_escape(tmp_path: Path, capsys: Captured) -> None:
    stack = llmneutral.PromptStack()
    stack.add_user_message("a\u202eb\x9bc\x1b[2J")
    path = tmp_path / "a.json"
    path.write_text(stack.to_json(), encoding="utf-8")
    for form in ("json", "md", "ipynb"):
        assert main(["notebook", "export", str(path), "--to", form]) == 0
        printed = capsys.readouterr().out
        assert not {"\u202e", "\x9b", "\x1b"} & set(printed)
        if form == "json":
            assert llmneutral.PromptStack.from_json(printed) == stack


def test_notes_and_errors_hold_no_secret(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "a-secret-of-mine-0123456789"
    monkeypatch.setenv("SOME_API_KEY", key)
    cell = {"cell_type": "raw", "id": key, "metadata": {}, "source": "x"}
    path = tmp_path / "a.ipynb"
    path.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell, cell]}), encoding="utf-8"
    )
    for command in (["extract", "--whole"], ["extract"], ["extract", "--json"], ["export", "--to", "md"]):
        main(["notebook", *command, str(path)])
        out, err = capsys.readouterr()
        assert key not in out + err
    main(["notebook", "diff", str(path), str(path)])
    out, err = capsys.readouterr()
    assert key not in out + err
    assert "tokens:" not in out


def test_an_export_replaces_no_file_of_anybodys(conversation: Path, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "README.md"
    path.write_text("# Mine\n", encoding="utf-8")
    for command in (["export", str(conversation)], ["extract", str(LESSON)]):
        assert main(["notebook", *command, "-o", str(path)]) == 1
        assert "README.md was not exported by llmneutral" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "# Mine\n"
    for name, command in (
        ("a.md", ["export", str(conversation)]),
        ("a.json", ["extract", "--json", str(LESSON)]),
        ("a.txt", ["extract", str(LESSON)]),
        ("b.json", ["extract", "--whole", str(LESSON)]),
    ):
        for _ in range(2):
            assert main(["notebook", *command, "-o", str(tmp_path / name)]) == 0, name


def test_the_parser_loads_nothing_of_the_notebook() -> None:
    code = "import sys, llmneutral.cli; llmneutral.cli.parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = done.stdout.split()
    assert [name for name in loaded if name.split(".")[0] in ("nbformat", "llmneutral_widgets", "IPython")] == []
