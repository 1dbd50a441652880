"""The five magics beside `%%prompt`, in a shell that looks like a kernel's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets import panels, session
from tests.loopback import Loopback, talk
from tests.widgets.shell import Cells, running


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        yield found


def echo(cells: Cells) -> Any:
    return cells.shell.user_ns["echo"]


def test_provider_sets_the_base_and_says_what_is_missing(cells: Cells) -> None:
    ran = cells.run("%provider anthropic")
    assert ran.plain == "anthropic · claude-sonnet-5-5 answers from now on; ANTHROPIC_API_KEY is not set"
    assert llmneutral.Defaults.base.name == "anthropic"
    cells.run("%provider local/tiny")
    assert llmneutral.Defaults.base.model == "tiny"
    with llmneutral.drivers_config("openai"):
        assert "inside this `with` it is still openai" in cells.run("%provider local").plain


@pytest.mark.parametrize("name", ["ollama", "groq", "azure"])
def test_where_a_model_has_to_be_named_it_says_what_to_type(
    cells: Cells, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")
    ran = cells.run(f"%provider {name}")
    assert ran.plain.startswith(f"{name} answers once a model is named: %provider {name}/MODEL, or -m MODEL with a ")
    for line, said in (
        ("%prompt Hi", f"Name one with -m MODEL, or for all questions %provider {name}/MODEL."),
        (f"%prompt -p {name} Hi", f"Name one: -p {name}/MODEL, or -m MODEL."),
        (f"%prompt -p {name} --dry-run Hi", f"Name one: -p {name}/MODEL, or -m MODEL."),
    ):
        told = "\n".join(cells.run(line).error._render_traceback_())
        assert f"{name} has no model of its own" in told
        assert said in told
    assert f"-p mine asks {name}; a model has to be named" in cells.run(f"%provider preset mine {name}").plain
    assert "-p mine/MODEL, or -m MODEL" in "\n".join(cells.run("%prompt -p mine Hi").error._render_traceback_())
    assert f"-p mine asks {name} · m" in cells.run(f"%provider preset mine {name}/m").plain
    cells.run("import llmneutral\nbare = llmneutral.OllamaDriversConfig()")
    cells.run("driver = llmneutral.OpenAiChatPromptDriver(api_key='none')")
    for bare in ("{{bare}}", "{{driver}}"):
        assert "Name one with -m MODEL." in "\n".join(cells.run(f"%prompt -p {bare} Hi").error._render_traceback_())


def test_what_has_its_own_model_answers_without_one(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert cells.run("%provider codex").plain.startswith("codex answers from now on; the program codex is not there")


def test_provider_lists_all_and_shows_no_key(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    ran = cells.run("%provider list")
    for name in llmneutral.CONFIGS:
        assert name in ran.plain
    assert "ANTHROPIC_API_KEY set" in ran.plain
    assert "0123456789" not in ran.plain + ran.html


def test_a_variable_of_blanks_is_no_key(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "   ")
    assert "ANTHROPIC_API_KEY not set" in cells.run("%provider list").plain
    assert "ANTHROPIC_API_KEY is not set" in cells.run("%provider anthropic").plain
    assert "%provider key anthropic" in "\n".join(cells.run("%prompt Hi").error._render_traceback_())


def test_a_key_is_asked_for_and_never_shown(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: "TYPED-AND-SECRET-7")
    assert "never the key itself" in cells.run("%provider key anthropic TYPED-AND-SECRET-7").printed
    ran = cells.run("%provider key anthropic")
    assert "in this process only" in ran.plain
    assert "ANTHROPIC_API_KEY set" in cells.run("%provider list").plain
    cells.run("import llmneutral; session = llmneutral.widgets.session")
    assert "key set" in repr(cells.run("session.providers.config('anthropic').prompt_driver").value)
    assert "TYPED-AND-SECRET-7" not in cells.run("%prompt -p {{echo}} it is TYPED-AND-SECRET-7").html
    assert "needs no key" in cells.run("%provider key local").printed


def test_a_typed_key_that_wins_over_the_environment_says_so_and_can_be_forgotten(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "OF-THE-ENVIRONMENT-8")
    monkeypatch.setattr("getpass.getpass", lambda prompt: "TYPED-AND-SECRET-8")
    not_used = "OPENAI_API_KEY of the environment is not used"
    assert not_used not in cells.run("%provider list").plain + cells.run("%provider openai-chat").plain
    ran = cells.run("%provider key openai-chat")
    assert f"in this process only; {not_used}, until %provider key openai-chat --forget" in ran.plain
    listed = cells.run("%provider list")
    assert listed.plain.count(f"OPENAI_API_KEY set: typed; {not_used}") == 1
    assert listed.html.count(f"typed; {not_used}") == 1
    assert cells.run("%provider openai-chat").plain.endswith(not_used)
    picker = panels.picker(session.current().providers)
    assert not_used in picker.status.value
    assert "forgotten; OPENAI_API_KEY is used again" in cells.run("%provider key openai-chat --forget").plain
    assert not_used not in cells.run("%provider list").plain
    assert "no key was typed for openai-chat" in cells.run("%provider key openai-chat --forget").printed
    for line in ("openai --forget", "key --forget", "list --forget"):
        assert "%provider key NAME --forget" in cells.run(f"%provider {line}").printed
    assert "contradict" in cells.run("%provider key openai --env --forget").printed


def test_provider_list_takes_nothing(cells: Cells) -> None:
    assert "%provider list takes no name; openai is too much" in cells.run("%provider list openai").printed


def test_keys_are_taken_from_a_file_when_it_is_asked_for(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("ANTHROPIC_API_KEY=READ-AND-SECRET-7\nOPENAI_API_KEY\n")
    takes = "ANTHROPIC_API_KEY not set: %provider key --env takes it from .env"
    listed = cells.run("%provider list")
    assert takes in listed.plain
    assert takes.partition(" not set")[2] in listed.html
    assert "OPENAI_API_KEY not set\n" in listed.plain
    assert cells.run("%provider anthropic").plain.endswith("is not set; %provider key --env takes it from .env")
    told = "\n".join(cells.run("%prompt Hi").error._render_traceback_())
    assert "Take it from .env with %provider key --env, type it with %provider key anthropic" in told
    ran = cells.run("%provider key --env")
    said = "ANTHROPIC_API_KEY taken from .env, in this process only; line 2 cannot be read as NAME=value"
    assert ran.plain == said
    assert "ANTHROPIC_API_KEY set" in cells.run("%provider list").plain
    cells.run("import llmneutral, os; session = llmneutral.widgets.session")
    assert cells.run("llmneutral.Defaults.base.prompt_driver.api_key.read() == 'READ-AND-' + 'SECRET-7'").value is True
    assert cells.run("'ANTHROPIC_API_KEY' in os.environ").value is False
    assert "READ-AND-SECRET-7" not in cells.run("%prompt -p {{echo}} it is READ-AND-SECRET-7").html
    for line, said in (
        ("%provider key --env no.env", "there is no file no.env"),
        ("%provider key --env READ-AND-SECRET-7", "there is no file •••"),
        ("%provider key --env a b", "%provider key --env takes one file; b is too much"),
        ("%provider --env", "--env stands behind key: %provider key --env [FILE]"),
        ("%provider list --env", "--env stands behind key"),
    ):
        assert said in cells.run(line).printed, line


def test_bedrock_says_what_it_needs(cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    assert "AWS credentials not found (or AWS_BEARER_TOKEN_BEDROCK)" in cells.run("%provider list").plain
    assert "no AWS credentials" in cells.run("%provider bedrock").plain
    monkeypatch.setenv("AWS_PROFILE", "work")
    (tmp_path / "none").write_text("[profile work]\nrole_arn = r\n")
    assert "AWS credentials set" in cells.run("%provider list").plain


def test_a_key_that_is_missing_can_be_typed(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for line in ("%prompt -p anthropic Hello", "%prompt -p anthropic --no-stream Hello"):
        ran = cells.run(line)
        told = "\n".join(ran.error._render_traceback_())
        assert "ANTHROPIC_API_KEY is not set" in told
        assert "%provider key anthropic" in told
        assert "%provider local" in told
        assert "set ANTHROPIC_API_KEY before the kernel starts" in told
    told = "\n".join(cells.run("%prompt -p anthropic -p {{echo}} Hello").error._render_traceback_())
    assert "Nobody was asked: not Echo either." in told
    assert echo(cells).stacks == []
    ran = cells.run("%prompt -p {{llmneutral.AnthropicDriversConfig(model='m').prompt_driver}} Hello")
    assert "%provider key" not in str(ran.error), "a driver of the user's has no name for it"


def test_stack_shows_names_drops_and_keeps(cells: Cells, tmp_path: Path) -> None:
    for word in ("one", "two", "three"):
        cells.run(f"%prompt -p {{{{echo}}}} {word}")
    shown = cells.run("%stack")
    assert shown.plain == "PromptStack of 6 messages"
    assert "echo-1" in shown.html, "each answer names who gave it"
    assert "THREE" not in cells.run("%stack 0:2").html
    path = tmp_path / "kept.json"
    cells.run(f"%stack save {path}")
    assert "1 exchange taken out" in cells.run("%stack drop 1").plain
    assert "default is empty; 2 exchanges" in cells.run("%stack reset").plain
    assert "6 messages loaded" in cells.run(f"%stack load {path}").plain
    cells.run("%prompt -p {{echo}} four")
    assert len(echo(cells).texts()) == 7
    cells.run("%stack use other")
    cells.run("%prompt -p {{echo}} five")
    assert echo(cells).texts() == ["user: five"]
    assert "> other: 1 exchange" in cells.run("%stack list").plain
    cells.run(f"%stack save {tmp_path / 'kept.md'}")
    told = (tmp_path / "kept.md").read_text(encoding="utf-8").partition("<sub>")[0]
    assert told == "# Conversation other\n\n## user\n\nfive\n\n## assistant\n\nFIVE \n\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%stack nowhere", "there is no conversation nowhere"),
        ("%stack clear", "nor a command of that name; known: default, drop, list, load, reset"),
        ("%payload --compare openai", "compares without an option: %payload openai anthropic"),
        ("%stack drop", "takes how many"),
        ("%stack drop x", "needs a whole number from 1"),
        ("%stack save a.txt", "ends in .ipynb or .json or .md"),
        ("%stack load nowhere.json", "No such file"),
        ("%stack a b", "shows one conversation; b is too much"),
        ("%stack use", "takes the name"),
        ("%payload", "nothing was sent yet"),
        ("%payload all", "is empty"),
        ("%payload morse", "unknown API morse"),
        ("%deltas 99", "no exchange was made by the cell 99"),
        ("%deltas -p nobody", "-p nobody was not asked last"),
        ("%deltas save", "takes one file"),
        ("%deltas save x", "no stream is recorded"),
        ("%usage --by moon", "--by is one of provider, model, stack, day; not moon"),
        ("%usage --prices nowhere.json", "--prices nowhere.json: No such file"),
        ("%usage words", "takes no words; words is too much"),
        ("%provider nobody", "unknown provider nobody"),
        ("%provider key", "takes the name of a provider"),
        ("%provider preset x", "takes a name"),
        ("%provider a b", "takes one name"),
    ],
)
def test_what_cannot_be_meant_is_one_line(cells: Cells, line: str, told: str) -> None:
    ran = cells.run(line)
    assert type(ran.error).__name__ == "UsageError"
    assert told in ran.printed
    assert ran.printed.count("\n") == 1


def test_payload_shows_the_conversation_for_the_main_apis(cells: Cells) -> None:
    cells.run("%prompt -p {{echo}} -s Terse. --temperature 0.5 one")
    ran = cells.run("%payload -o found")
    for api in ("chat_completions", "codex_responses", "anthropic_messages"):
        assert api in ran.html
        assert api in cells.shell.user_ns["found"]
    assert "temperature" in cells.run("%payload --changes").plain
    assert "neutral" not in cells.run("%payload --json").html
    cells.run("%prompt -p {{echo}} two")
    asked = cells.run("%payload claude").html
    assert asked.count("<th") < ran.html.count("<th")
    assert ">Continue." not in asked, "the conversation ends with the question"


def test_deltas_show_the_stream_of_an_exchange(cells: Cells) -> None:
    assert "No stream recorded" in cells.run("%deltas").plain
    ran = cells.run("%prompt -p {{echo}} one two three four")
    number = ran.value.execution_count
    assert "chunks recorded" in cells.run("%deltas").plain
    assert "chunks recorded" in cells.run(f"%deltas {number}").plain
    assert "first token" in cells.run("%deltas").html


def test_a_recording_is_played_again(cells: Cells, tmp_path: Path) -> None:
    with Loopback(talk("Fine, thanks.")) as server:
        cells.run("import llmneutral")
        cells.run(f"config = llmneutral.LocalServerDriversConfig('m', base_url='{server.url}/v1')")
        cells.run("%prompt -p {{config}} How are you?")
    file = tmp_path / "said.jsonl"
    assert "played" in cells.run(f"%deltas save {file}").plain.replace("plays", "played")
    ran = cells.run(f"%prompt -p replay:{file} --new And now?")
    assert ran.value.text == "Fine, thanks."
    assert ran.value.provider == "replay"


def test_usage_is_a_table_and_a_frame(cells: Cells) -> None:
    cells.run("%prompt -p {{echo}} one two")
    cells.run("%prompt -p {{echo}} please stop")
    ran = cells.run("%usage")
    frame = ran.value
    assert ran.outputs == [], "the frame shows itself, once"
    assert "≥ 10" in frame._repr_mimebundle_()["text/html"]
    assert frame["input_total"].tolist()[0] == 10
    assert frame["input_total"].isna().tolist() == [False, True], "unknown is <NA>, never 0"
    assert frame["status"].tolist() == ["complete", "interrupted"]
    assert type(frame[frame["status"] == "complete"]).__name__ == "DataFrame"
    grouped = cells.run("%usage --by provider").value
    assert grouped["calls"].sum() == 2
    assert "begins again" in cells.run("%usage --reset").plain
    assert cells.run("%usage").value.shape[0] == 0


def test_usage_has_a_column_of_costs(cells: Cells, tmp_path: Path) -> None:
    cells.run("%prompt -p {{echo}} one two")
    plain = cells.run("%usage").value
    assert plain["cost"].isna().all(), "what nobody knows is <NA>, never 0"
    assert "cost n/a" in plain._repr_mimebundle_()["text/plain"]
    model = plain["model"].tolist()[0]
    file = tmp_path / "prices of mine.json"
    file.write_text(json.dumps({model: {"input": 1_000_000, "output": 0}}))
    frame = cells.run(f"%usage --prices '{file}'").value
    assert frame["cost"].tolist() == [10.0]
    assert frame["currency"].tolist() == ["USD"]
    shown = frame._repr_mimebundle_()
    assert "prices: prices of mine.json" in shown["text/html"]
    assert "cost 10.00 USD" in shown["text/plain"]
    assert cells.run(f"%usage --by model --prices '{file}'").value["cost"].tolist() == [10.0]


@pytest.mark.parametrize("name", ["list", "save", "1:2", ":", "-3:"])
def test_a_conversation_has_a_name_that_can_be_shown(cells: Cells, name: str) -> None:
    ran = cells.run(f"%prompt -p {{{{echo}}}} -c {name} Hi")
    assert f"no conversation can be called {name}" in ran.printed
    assert f"no conversation can be called {name}" in cells.run(f"%stack use {name}").printed or name == "-3:"
    assert echo(cells).stacks == []


def test_a_range_may_count_from_the_end(cells: Cells) -> None:
    for word in ("one", "two"):
        cells.run(f"%prompt -p {{{{echo}}}} {word}")
    shown = cells.run("%stack -2:").html
    assert "TWO" in shown
    assert "ONE" not in shown
    assert "needs a whole number from 1, not -1" in cells.run("%stack drop -1").printed


def test_a_recording_that_was_written_anew_is_played_anew(cells: Cells, tmp_path: Path) -> None:
    file = tmp_path / "it is said.jsonl"
    for number, answer in enumerate(("First.", "Second answer.")):
        with Loopback(talk(answer)) as server:
            cells.run("import llmneutral")
            cells.run(f"config = llmneutral.LocalServerDriversConfig('m', base_url='{server.url}/v1')")
            cells.run("%prompt -p {{config}} --new Hi")
        said = cells.run(f"%deltas save '{file}'").plain
        assert said.endswith(f'-p "replay:{file}" plays them')
        for _ in range(2):
            assert cells.run(f"%prompt -p 'replay:{file}' --new Hi").value.text == answer, number
    assert not [name for name in cells.run("%provider list").plain.split() if name.startswith("replay:")]
    file.unlink()
    assert "no recording at" in str(cells.run(f"%prompt -p 'replay:{file}' --new Hi").error)


def test_presets_of_the_config_are_what_it_says_now(cells: Cells) -> None:
    cells.run("%config PromptMagics.presets = {'fast': 'openai-chat/a'}")
    cells.run("%provider list")
    cells.run("%config PromptMagics.presets = {'fast': 'openai-chat/b'}")
    assert cells.run("%prompt -p fast --dry-run Hi").value.payload["model"] == "b"


def test_a_preset_that_could_not_be_asked_is_told_when_it_is_set(
    cells: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    cells.run("%config PromptMagics.presets = {'fast': 'openai-chat/b'}")
    cells.run("%config PromptMagics.presets = {'fast': 'openai-chat/b', 5: 'openai'}")
    assert "%config PromptMagics.presets: 5 is no name of a preset: it is one word" in caplog.text
    assert "unknown provider nobody" in cells.run("%provider nobody").printed
    assert cells.run("%prompt -p fast --dry-run Hi").value.payload["model"] == "b", "those before stay"
    for line, said in (
        ("%provider preset list openai", "list is a command of %provider"),
        ("%provider preset x/y openai", "x/y is no name of a preset"),
        ("%provider preset q 'openai/a k=v'", "settings are given by %provider preset q openai/a k=v"),
    ):
        assert said in cells.run(line).printed, line


def test_a_missing_key_of_a_preset_can_be_typed_as_the_error_says(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("getpass.getpass", lambda prompt: "typed-in-a-test-7")
    cells.run("%provider preset cold openai-chat/a temperature=0")
    told = "\n".join(cells.run("%prompt -p cold Hello").error._render_traceback_())
    assert "%provider key openai-chat" in told
    cells.run("%provider key openai-chat")
    cells.run("import llmneutral; session = llmneutral.widgets.session")
    assert "key set" in repr(cells.run("session.providers.config('cold').prompt_driver").value)
