"""What TAB offers, as IPython asks for it; a real kernel's TAB is tried in test_prompting."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmneutral_widgets.completion import completers, names_completer


class City:
    """A class of the user's."""


def weather() -> None:
    """A function of the user's."""


NAMES = {"city": "Rome", "City": City, "weather": weather, "_hidden": 1, "exit": print, "form": {"type": "object"}}
IP = SimpleNamespace(user_ns=NAMES, user_ns_hidden={"exit"})


def offered(line: str, symbol: str) -> list[str]:
    command = line.split(None, 1)[0]
    event = SimpleNamespace(line=line, symbol=symbol, command=command, text_until_cursor=line)
    return completers()[command](IP, event)


@pytest.mark.parametrize(
    ("line", "symbol", "expected"),
    [
        ("%%prompt --te", "--te", ["--temperature"]),
        ("%%prompt --compare chat_completions,anthropic", "anthropic", ["anthropic_messages"]),
        ("%prompt -t ", "", ["weather"]),
        ("%prompt --schema ", "", ["City", "form"]),
        ("%prompt --set parallel", "parallel", ["parallel_tool_calls="]),
        ("%prompt --effort me", "me", ["medium"]),
        ("%provider ", "", ["list", "key", "preset"]),
        ("%usage --by ", "", ["provider", "model", "stack", "day"]),
        ("%prompt a question", "question", []),
        ("%prompt {{ci", "ci", ["city"]),
    ],
)
def test_lines(line: str, symbol: str, expected: list[str]) -> None:
    assert offered(line, symbol) == expected


def test_who_can_be_asked() -> None:
    assert {"local", "local-messages", "local-responses"} <= {*offered("%prompt -p loc", "loc")}
    assert offered("%prompt -c ", "") == ["default"]
    assert "gpt-6-luna" in offered("%prompt -m gpt", "gpt")


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.png", "ab.png", "b[1].png"):
        (tmp_path / name).touch()
    assert offered("%prompt -a a", "a") == ["a.png", "ab.png"]
    assert offered("%prompt -a b[1", "1") == ["1].png"]


def test_names_behind_braces_anywhere() -> None:
    def names(before: str) -> list[Any]:
        return names_completer(IP, SimpleNamespace(text_until_cursor=before))

    assert names("What is {{ci") == ["city"]
    assert names("What is {{ ") == ["City", "In", "Out", "city", "form", "last_error", "weather"]
    assert names("nothing") == []
    assert names("{{city}} and then") == []
