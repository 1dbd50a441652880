"""What TAB offers, as IPython's own completer gives it; a real kernel's TAB is tried in test_prompting."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

import llmneutral
from llmneutral_widgets.lines.prompt_line import CALL_OPTIONS, NOT_ON_A_LINE
from llmneutral_widgets.magics import completion
from tests.widgets.shell import Cells, running

NAMES = """
import llmneutral
city, City, _hidden, form = "Rome", type("City", (), {}), 1, {"type": "object"}
def weather(): ...
"""


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    for name in (
        "talk.ipynb",
        "talk.json",
        "rec.jsonl",
        "talk.md",
        "prices.toml",
        "my file.png",
        "b[1].png",
        "sub/inner.json",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with running(is_kernel=True) as found:
        found.run(NAMES)
        found.run("%prompt -p {{echo}} -c travel Hi")
        yield found


def tab(cells: Cells, line: str) -> list[str]:
    """What the line becomes by each of the completions."""
    with provisionalcompleter():
        return [line[: each.start] + each.text for each in cells.shell.Completer.completions(line, len(line))]


OFFERED = [
    # options and their values
    ("%%prompt --te", ["%%prompt --temperature"]),
    ("x = %prompt --te", ["x = %prompt --temperature"]),
    ("%prompt --effort me", ["%prompt --effort medium"]),
    ("%prompt --effort=me", ["%prompt --effort=medium"]),
    ("%prompt -f ", [f"%prompt -f {form}" for form in ("html", "text", "json", "code")]),
    ("%prompt --set parallel", ["%prompt --set parallel_tool_calls="]),
    ("%prompt --set tool_choice=", [f"%prompt --set tool_choice={word}" for word in ("auto", "none", "required")]),
    ("%prompt --set tool_choice=re", ["%prompt --set tool_choice=required"]),
    ("%prompt --set=tool_choice=re", ["%prompt --set=tool_choice=required"]),
    ("%prompt --set store=", ["%prompt --set store=true", "%prompt --set store=false"]),
    ("%prompt --set keep_repairs=t", ["%prompt --set keep_repairs=true"]),
    ("%prompt --set seed=", []),
    ("%prompt --set metadata=", []),
    ("%prompt --set nothing=", []),
    ("%prompt --effort we", []),
    ("%prompt --schema we", []),
    ("%provider key we", []),
    ("%provider we", []),
    ("%prompt -t we", ["%prompt -t weather"]),
    ("%prompt --schema ", ["%prompt --schema City", "%prompt --schema form"]),
    ("%%prompt --compare chat_completions,anthr", ["%%prompt --compare chat_completions,anthropic_messages"]),
    ("%stack --", ["%stack --all", "%stack --help", "%stack --out"]),
    ("%payload --r", ["%payload --round"]),
    ("%deltas --", ["%deltas --help", "%deltas --provider", "%deltas --round"]),
    ("%usage ", ["%usage --by", "%usage --help", "%usage --prices", "%usage --reset"]),
    ("%usage --by ", [f"%usage --by {word}" for word in ("provider", "model", "stack", "day")]),
    ("%provider -", ["%provider --env", "%provider --forget", "%provider --help", "%provider -h"]),
    # commands, conversations, APIs, providers
    ("%stack ", [f"%stack {word}" for word in "list use reset drop save load default travel".split()]),
    ("%stack re", ["%stack reset"]),
    ("%stack use ", ["%stack use default", "%stack use travel"]),
    ("%stack reset tr", ["%stack reset travel"]),
    ("%prompt -c tr", ["%prompt -c travel"]),
    ("%prompt --stack=tr", ["%prompt --stack=travel"]),
    ("%deltas s", ["%deltas save"]),
    ("%payload anthr", ["%payload anthropic_messages"]),
    ("%payload op", ["%payload openai", "%payload openai-chat"]),
    ("%payload goo", ["%payload google"]),
    ("%payload chat_completions,op", [f"%payload chat_completions,{name}" for name in ("openai", "openai-chat")]),
    ("%prompt --compare op", ["%prompt --compare openai", "%prompt --compare openai-chat"]),
    ("%payload we", []),
    ("%payload gemini anthr", ["%payload gemini anthropic_messages"]),
    ("%payload chat_completions,anthr", ["%payload chat_completions,anthropic_messages"]),
    ("%provider pre", ["%provider preset"]),
    ("%provider anthr", ["%provider anthropic"]),
    ("%provider key anthr", ["%provider key anthropic"]),
    ("%provider key --env ta", [f"%provider key --env talk.{end}" for end in ("ipynb", "json", "md")]),
    ("%provider key --env sub/", ["%provider key --env sub/inner.json"]),
    ("%provider key --env anthr", []),
    ("%provider key --env --h", ["%provider key --env --help"]),
    ("%provider preset mine anthr", ["%provider preset mine anthropic"]),
    ("%provider anthropic/", ["%provider anthropic/claude-sonnet-5-5"]),
    ("%prompt -p loc", [f"%prompt -p {name}" for name in ("local", "local-messages", "local-responses")]),
    ("%prompt -p rep", ["%prompt -p replay", "%prompt -p replay:"]),
    # files
    ("%stack load ta", ["%stack load talk.ipynb", "%stack load talk.json"]),
    ("%stack save ta", [f"%stack save talk.{end}" for end in ("ipynb", "json", "md")]),
    ("%stack load my", []),
    ("%stack save re", []),
    ("%stack load su", ["%stack load sub/"]),
    ("%stack load sub/", ["%stack load sub/inner.json"]),
    ("%deltas save re", ["%deltas save rec.jsonl"]),
    ("%usage --prices pr", ["%usage --prices prices.toml"]),
    ("%usage --prices=pr", ["%usage --prices=prices.toml"]),
    ("%%prompt -p replay:re", ["%%prompt -p replay:rec.jsonl"]),
    ("%prompt -a my", ['%prompt -a "my file.png"']),
    ("%prompt -a 'my f", ['%prompt -a "my file.png"']),
    ("%prompt -a b[1", ["%prompt -a b[1].png"]),
    # variables
    ("%prompt {{ci", ["%prompt {{city"]),
    ("%prompt -s '{{ci", ["%prompt -s '{{city"]),
    ("%stack load {{ci", ["%stack load {{city"]),
    ("%%prompt\nWhat is {{ci", ["%%prompt\nWhat is {{city"]),
]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("%prompt -p anthropic -m ", "claude-sonnet-5-5"),
        ("%prompt --provider=openai -m ", llmneutral.drivers_config("openai").model),
        ("%payload chat -m ", "claude-sonnet-5-5"),
    ],
)
def test_the_model_of_who_is_asked_is_offered_first(cells: Cells, line: str, first: str) -> None:
    llmneutral.Defaults.drivers_config = llmneutral.drivers_config("anthropic")
    found = tab(cells, line)
    assert found[0] == f"{line}{first}"
    assert f"{line}none" not in found, "it answers nothing"
    assert len(found) > 5


def test_a_key_is_offered_for_those_that_take_one(cells: Cells) -> None:
    found = tab(cells, "%provider key ")
    assert "%provider key openai" in found
    assert not {f"%provider key {name}" for name in ("local", "codex", "replay:", "dummy")} & {*found}


@pytest.mark.parametrize(("line", "lines"), OFFERED, ids=[line for line, _ in OFFERED])
def test_exactly_this_is_offered(cells: Cells, line: str, lines: list[str]) -> None:
    """Nothing of Python stands among it, whatever finds Python's names."""
    for use_jedi in (True, False):
        cells.shell.Completer.use_jedi = use_jedi
        assert sorted(tab(cells, line)) == sorted(lines)


def test_every_api_and_every_provider_is_offered(cells: Cells) -> None:
    offered = [line.removeprefix("%payload ") for line in tab(cells, "%payload ")]
    assert len(offered) > 5
    assert all([cells.run(f"%prompt --compare {api} Hi").error is None for api in offered]), "and each can be taken"
    assert {f"%prompt -p {name}" for name in llmneutral.CONFIGS} <= {*tab(cells, "%prompt -p ")}
    assert "%prompt -m gpt-6-luna" in tab(cells, "%prompt -m gpt")


KEYS = sorted({*llmneutral.SETTINGS, *CALL_OPTIONS} - NOT_ON_A_LINE)


@pytest.mark.parametrize("key", KEYS)
def test_the_values_of_a_setting_are_those_it_takes(cells: Cells, key: str) -> None:
    """Each one that is offered is taken; all are offered, where the library says in words which they are."""
    before = f"%prompt --set {key}="
    offered = [line.removeprefix(before) for line in tab(cells, before)]
    for value in offered:
        ran = cells.run(f"%prompt --dry-run -p openai-chat -t weather --set {key}={value} Hi")
        assert ran.error is None, (value, ran.error)
    with pytest.raises(llmneutral.LLMNeutralError) as refused:
        llmneutral.OpenAiChatPromptDriver("x").preview("?", **{key: object()})
    words = re.search(r"to be (one of [^;]*|True or False|'auto', 'none', 'required')", str(refused.value))
    told = [] if words is None else re.findall(r"'(\w+)'|\b(True|False)\b", words[1])
    assert {*offered} == {text or word.lower() for text, word in told} - ({"false"} if key == "cache" else set())


def test_every_setting_is_offered(cells: Cells) -> None:
    assert {f"%prompt --set {key}=" for key in KEYS} == {*tab(cells, "%prompt --set ")}


@pytest.mark.parametrize(
    "line",
    ["%prompt why is --te", "%prompt a question we", "%prompt -- we", "%%prompt --raw\nwe", "x = {{ci", "%time we"],
)
def test_the_text_of_a_question_and_other_cells_are_left_alone(cells: Cells, line: str) -> None:
    cells.shell.Completer.use_jedi = False
    before = tab(cells, line)
    cells.shell.extension_manager.unload_extension("llmneutral")
    assert before == tab(cells, line)


def test_a_path_in_the_home_folder_stays_one(cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tab(cells, "%stack load ~/tal") == ["%stack load ~/talk.ipynb", "%stack load ~/talk.json"]


def test_it_is_quick(cells: Cells) -> None:
    tab(cells, "%prompt -p ")
    began = time.perf_counter()
    tab(cells, "%prompt -p ")
    assert time.perf_counter() - began < 0.2


def fails(self: Any) -> Any:
    raise RuntimeError("outside of a request")


Nothing = type("Nothing", (), {"__class__": property(fails)})
"""A proxy of nothing, as some web frameworks have one: whatever looks at it fails."""


def test_what_cannot_be_looked_at_hides_nothing_else(cells: Cells, capsys: pytest.CaptureFixture[str]) -> None:
    cells.shell.user_ns.update({"aproxy": Nothing(), "Form": {"type": "object"}, 5: "no name"})
    assert "%prompt --schema Form" in tab(cells, "%prompt --schema ")
    assert "%prompt {{aproxy" in tab(cells, "%prompt {{apr")
    assert "Traceback" not in "".join(capsys.readouterr())


def test_completion_never_raises(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(completion, "_sources", broken)
    tab(cells, "%prompt --schema ")
    assert "Traceback" not in "".join(capsys.readouterr())


def test_a_file_of_the_environment_is_offered_though_it_is_hidden(cells: Cells) -> None:
    Path(".env").touch()
    Path(".env.local").touch()
    told = {line.removeprefix("%provider key --env ") for line in tab(cells, "%provider key --env ")}
    assert told > {".env", ".env.local", "prices.toml", "sub/"}
    assert tab(cells, "%provider key --env .env.l") == ["%provider key --env .env.local"]
