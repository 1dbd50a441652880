"""`%stack save` and `%stack load`: what a session held goes on in another, from any of the forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from llmneutral_widgets import session
from llmneutral_widgets.extraction import extract_exchanges
from tests.widgets.shell import Cells, running
from tests.widgets.test_notebook_file import code, notebook

KEY = "sk-ant-api03-abcdef0123456789abcdef"


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as made:
        yield made


def ask(cells: Cells, *lines: str) -> None:
    for line in lines:
        cells.run(f"%prompt -p {{{{echo}}}} {line}")


def held() -> list[str]:
    """The messages of the current conversation."""
    return [f"{message.role}: {message.to_text()}" for message in session.current().conversation().stack().messages]


def test_a_notebook_goes_on_where_the_session_was(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "-s Terse. one", "two fail", "three")
    path = tmp_path / "kept.ipynb"
    assert "7 messages of default written to kept.ipynb" in cells.run(f"%stack save {path}").plain
    node = nbformat.read(path, as_version=4)
    nbformat.validate(node)
    before = session.current().conversation()
    kept = [turn.exchange.to_json() for turn in before.turns]
    assert [exchange.to_json() for exchange in extract_exchanges(path).exchanges] == kept
    cells.run("%stack use other")
    assert "5 messages loaded into other" in cells.run(f"%stack load {path}").plain
    assert held() == ["system: Terse.", "user: one", "assistant: ONE ", "user: three", "assistant: THREE "]
    ask(cells, "four")
    sent = cells.shell.user_ns["echo"].texts()
    assert sent == [*held()[:-2], "user: four"]
    last = session.current().last
    assert last is not None
    assert last.parent == kept[2]["id"]


def test_saved_again_it_is_the_same_file(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "one", "two")
    first, second = tmp_path / "a.ipynb", tmp_path / "b.ipynb"
    cells.run(f"%stack save {first}")
    cells.run(f"%stack load {first}")
    assert "tokens" in cells.run("%stack").html, "what is known of an answer is known of one that was loaded"
    cells.run(f"%stack save {second}")
    assert first.read_bytes() == second.read_bytes()


def test_a_conversation_that_was_loaded_as_messages_is_saved_as_its_turns(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "-s Terse. one", "two")
    as_json, path = tmp_path / "a.json", tmp_path / "b.ipynb"
    for line in (f"save {as_json}", "reset", f"load {as_json}", f"save {path}", "reset", f"load {path}"):
        assert cells.run(f"%stack {line}").error is None
    assert held() == ["system: Terse.", "user: one", "assistant: ONE ", "user: two", "assistant: TWO "]
    assert len(session.current().conversation().turns) == 2


def test_of_several_conversations_the_one_of_the_same_name_is_loaded(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "several.ipynb"
    ask(cells, "one", "-c other two")
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {key: turn.exchange.to_json()}}
        for conversation in session.current().conversations.values()
        for turn in conversation.turns
        for key in ("application/vnd.llmneutral.exchange.v1+json",)
    ]
    path.write_text(json.dumps(notebook(*[code("%prompt", output) for output in outputs])), encoding="utf-8")
    for name, expected in (("default", "user: one"), ("other", "user: two"), ("new", "user: two")):
        cells.run(f"%stack use {name}")
        cells.run(f"%stack load {path}")
        assert held()[0] == expected


def test_a_strangers_notebook_is_a_conversation_too(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "other.ipynb"
    markdown = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
    raw = {"cell_type": "raw", "metadata": {}, "source": "x"}
    path.write_text(json.dumps(notebook(markdown, code("1 + 1"), raw)), encoding="utf-8")
    told = cells.run(f"%stack load {path}").plain
    assert "2 messages loaded into default; cell 3 (c3): a raw cell is left out" in told
    assert held() == ["user: # Title", "user: ```python\n1 + 1\n```"]


def test_many_notes_are_counted(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "other.ipynb"
    raw = {"cell_type": "raw", "metadata": {}, "source": "x"}
    path.write_text(json.dumps(notebook(code("1"), raw, raw, raw, raw, raw)), encoding="utf-8")
    told = cells.run(f"%stack load {path}").plain
    assert told.count("left out") == 3
    assert "2 more notes" in told


def test_no_key_is_saved(cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "a-secret-value-of-mine")
    ask(cells, f"-s {KEY} a-secret-value-of-mine {KEY}")
    for name in ("a.ipynb", "a.json", "a.md"):
        cells.run(f"%stack save {tmp_path / name}")
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert KEY not in text
        assert "a-secret-value-of-mine" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "a.json", "a.md"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("no json", "x.ipynb is no notebook: it is no JSON"),
        ("{}", "x.ipynb is no notebook: it has no number nbformat"),
        ('{"messages": 3}', "x.ipynb: this is no PromptStack in JSON"),
        (None, "x.ipynb: No such file"),
    ],
)
def test_what_cannot_be_loaded_is_one_line_and_changes_nothing(
    cells: Cells, tmp_path: Path, content: Any, told: str
) -> None:
    ask(cells, "one")
    before = held()
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ran = cells.run(f"%stack load {path}")
    assert type(ran.error).__name__ == "UsageError"
    assert f"%stack load {told}" in ran.printed
    assert held() == before


def test_a_notebook_in_which_everything_failed_holds_no_conversation(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "fail")
    path = tmp_path / "x.ipynb"
    cells.run(f"%stack save {path}")
    assert "holds no exchange that can go on" in cells.run(f"%stack load {path}").printed


def test_a_folder_that_is_not_there_is_one_line(cells: Cells, tmp_path: Path) -> None:
    ran = cells.run(f"%stack save {tmp_path / 'nowhere' / 'x.ipynb'}")
    assert type(ran.error).__name__ == "UsageError"
    assert "x.ipynb: No such file" in ran.printed
