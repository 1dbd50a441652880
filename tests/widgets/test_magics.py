"""The lines of the six magics, in a shell that looks like a kernel's and in one that is a terminal's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.exchange import MIME, Exchange, Exchanges
from tests.loopback import Loopback, talk
from tests.widgets.samples import png
from tests.widgets.shell import Cells, running


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        yield found


@pytest.fixture
def terminal() -> Iterator[Cells]:
    with running(is_kernel=False) as found:
        yield found


def echo(cells: Cells) -> Any:
    return cells.shell.user_ns["echo"]


# ----------------------------------------------------------------------------------------------------------------------
# %%prompt


def test_both_forms_ask_and_return_the_exchange(cells: Cells) -> None:
    ran = cells.run("%%prompt -p {{echo}} above\nand below")
    assert ran.error is None
    assert isinstance(ran.value, Exchange)
    assert ran.value.text == "ABOVE AND BELOW "
    assert ran.value.payload is None, "this driver makes its own requests"
    assert cells.run("%prompt -p {{echo}} Why is the sky blue?").value.text == "WHY IS THE SKY BLUE? "
    assert cells.run("answer = %prompt -p {{echo}} one more").outputs[-1][MIME]["response"]["text"] == "ONE MORE "
    assert cells.shell.user_ns["answer"].text == "ONE MORE "


@pytest.mark.parametrize(
    "line",
    ["%prompt -p {{echo}} really?", "if True:\n    %prompt -p {{echo}} really?", "%prompt -p {{echo}} rea\\\nlly?"],
)
def test_a_question_mark_asks_the_model_and_not_for_help(cells: Cells, line: str) -> None:
    cells.run(line)
    assert echo(cells).texts()[-1].replace(" ", "") == "user:really?"


@pytest.mark.parametrize("line", ["%prompt?", "%%prompt?", "%prompt -h", "%usage?", "%stack -h", "%deltas --help"])
def test_help_shows_every_option(cells: Cells, line: str) -> None:
    cells.shell.set_hook("show_in_pager", lambda _, data, **rest: print(data["text/plain"]))  # noqa: T201
    ran = cells.run(line)
    assert ran.error is None
    assert "-h, --help" in ran.printed + ran.plain


@pytest.mark.parametrize(
    "text", ["don't you know?", 'say "hi', "a \\n b", "100% of {x} for $5?", "'why'?", "x = ?", "why??", "a # b?"]
)
def test_the_text_stays_as_it_is_typed(cells: Cells, text: str) -> None:
    cells.run(f"%prompt -p {{{{echo}}}} {text}")
    assert echo(cells).texts() == [f"user: {text}"]


def test_a_python_text_that_looks_like_a_prompt_is_left_alone(cells: Cells) -> None:
    ran = cells.run("text = '''\n%prompt really?\n'''\nprompt = 5\nrest = 7 % prompt")
    assert ran.error is None
    assert cells.shell.user_ns["text"] == "\n%prompt really?\n"
    assert echo(cells).stacks == []


def test_earlier_messages_go_along_as_far_as_the_line_says(cells: Cells) -> None:
    for line in ("-s Terse. one", "two", "--history 1 three", "--history 0 four", "--new five", "-c other six"):
        cells.run(f"%prompt -p {{{{echo}}}} {line}")
    sent = [echo(cells).texts(n) for n in range(6)]
    assert sent[0] == ["system: Terse.", "user: one"]
    assert sent[1] == ["system: Terse.", "user: one", "assistant: ONE ", "user: two"]
    assert sent[2] == ["system: Terse.", "user: two", "assistant: TWO ", "user: three"]
    assert sent[3] == ["system: Terse.", "user: four"]
    assert sent[4] == ["user: five"]
    assert sent[5] == ["user: six"]


def test_a_system_text_is_replaced_and_that_is_said(cells: Cells) -> None:
    cells.run("%prompt -p {{echo}} -s Terse. one")
    ran = cells.run("%prompt -p {{echo}} -s Kind. two")
    assert "the system text of the conversation is replaced" in ran.plain
    assert echo(cells).texts()[0] == "system: Kind."
    assert [text[:6] for text in echo(cells).texts()].count("system") == 1
    assert "replaced" not in cells.run("%prompt -p {{echo}} -s Kind. three").plain
    cells.run('%prompt -p {{echo}} -s "" four')
    assert not [text for text in echo(cells).texts() if text.startswith("system")]


def test_variables_are_put_in_and_left_out_on_request(cells: Cells) -> None:
    cells.run("city, rows = 'Rome', {'a': [1, 2]}")
    cells.run("%prompt -p {{echo}} -s {{city}} {{ city }} {{rows['a'][1]}} {a} $b")
    assert echo(cells).texts() == ["system: Rome", "user: Rome 2 {a} $b"]
    cells.run("%prompt -p {{echo}} --new --raw {{city}}")
    assert echo(cells).texts() == ["user: {{city}}"]


def test_local_names_count_in_a_function(cells: Cells) -> None:
    cells.run("def ask(where):\n    %prompt -p {{echo}} {{where}}\nask('inside')")
    assert echo(cells).texts() == ["user: inside"]


def test_the_last_error_can_be_asked_about(cells: Cells) -> None:
    cells.run("1 / 0")
    cells.run("%prompt -p {{echo}} {{last_error}}")
    assert "ZeroDivisionError: division by zero" in echo(cells).texts()[0]


def test_attachments_become_blocks_before_the_question(cells: Cells, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "b.txt").write_text("some text")
    cells.run(f"%prompt -p {{{{echo}}}} -a {tmp_path / 'a.png'} -a {tmp_path / 'b.txt'} What is this?")
    kinds = [type(block).__name__ for block in echo(cells).stacks[-1].messages[-1].content]
    assert kinds == ["ImageMessageContent", "DocumentMessageContent", "TextMessageContent"]
    assert str(tmp_path) not in json.dumps(cells.run("llmneutral = 0; _").html), "names of files only"


def test_tools_and_the_form_of_the_answer_are_taken_by_name(cells: Cells) -> None:
    cells.run("def weather(city: str):\n    'Tells the weather.'\nschema = {'type': 'object', 'properties': {}}")
    ran = cells.run("%prompt -p {{echo}} -t weather --schema schema Hi")
    request = echo(cells).stacks[-1]
    assert [tool.__name__ for tool in request.tools] == ["weather"]
    assert request.output_schema == {"type": "object", "properties": {}}
    assert ran.outputs[0][MIME]["tools"][0]["name"] == "weather"


def test_out_binds_the_result_even_where_the_cell_fails(cells: Cells) -> None:
    cells.run("%prompt -p {{echo}} -o kept Hi")
    assert cells.shell.user_ns["kept"].text == "HI "
    assert cells.run("%prompt -p {{echo}} -o kept please fail now").error is not None
    assert cells.shell.user_ns["kept"].status == "failed"
    assert cells.shell.user_ns["kept"].text == "PLEASE FAIL "


def test_a_failure_is_shown_kept_and_raised(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} please fail")
    assert isinstance(ran.error, llmneutral.InvalidRequestError)
    assert ran.outputs[0][MIME]["status"] == "failed"
    assert "Ask something else." in ran.html
    cells.run("%prompt -p {{echo}} again")
    assert echo(cells).texts() == ["user: again"], "what failed is not sent on"
    assert "failed, not sent" in cells.run("%stack").html


def test_an_interrupt_is_kept_and_passed_on(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} please stop it")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.outputs[0][MIME]["status"] == "interrupted"
    cells.run("%prompt -p {{echo}} go on")
    assert echo(cells).texts() == ["user: please stop it", "assistant: PLEASE STOP ", "user: go on"]


def test_several_are_asked_and_the_first_goes_on(cells: Cells) -> None:
    cells.run("other = type(echo)('other')")
    ran = cells.run("%prompt -p {{echo}} -p {{other}} Hi")
    assert isinstance(ran.value, Exchanges)
    assert [exchange.model for exchange in ran.value] == ["echo-1", "other"]
    assert ran.value.compare().html.count("HI") == 2
    cells.run("%prompt -p {{echo}} And?")
    assert echo(cells).texts() == ["user: Hi", "assistant: HI ", "user: And?"]
    assert len(cells.run("spent = %usage").outputs) == 0
    assert len(cells.shell.user_ns["spent"]) == 3


@pytest.mark.parametrize(
    ("form", "shown"), [("text", "<pre>{&quot;A&quot;: 1} </pre>"), ("json", "&quot;A&quot;: 1"), ("html", "prose")]
)
def test_the_answer_in_another_form(cells: Cells, form: str, shown: str) -> None:
    ran = cells.run(f'%prompt -p {{{{echo}}}} -f {form} -- {{"a": 1}}')
    assert shown.replace("&quot;", '"') in ran.html.replace("&quot;", '"')
    assert ran.outputs[0][MIME]["response"]["text"] == '{"A": 1} '


def test_no_json_says_why_and_shows_the_text(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} -f json words")
    assert "no JSON" in ran.html
    assert "WORDS" in ran.html


def test_code_is_proposed_for_a_new_cell_and_never_run(cells: Cells) -> None:
    proposed: list[str] = []
    cells.shell.set_next_input = lambda text, replace=False: proposed.append(text)
    assert "no fenced code" in cells.run("%prompt -p {{echo}} -f code words").plain
    cells.run("from llmneutral_widgets.formats import first_code; code = first_code('a\\n```py\\nx = 1\\n```\\nb')")
    assert cells.shell.user_ns["code"] == "x = 1"
    assert proposed == []


def test_quiet_is_one_line_and_still_keeps_the_exchange(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} --quiet Hello")
    (output,) = ran.outputs
    assert "HELLO" not in output["text/html"]
    assert "echo-1" in output["text/plain"]
    assert output[MIME]["response"]["text"] == "HELLO "


def test_a_dry_run_sends_nothing_needs_no_key_and_keeps_nothing(cells: Cells) -> None:
    ran = cells.run("%prompt -p anthropic --dry-run -s Terse. Hello")
    assert ran.error is None
    assert ran.value.status == "dry_run"
    assert list(ran.outputs[0][MIME]["payload"]) == ["anthropic_messages"]
    assert "claude-sonnet-5-5" in ran.html
    assert "max_tokens" in ran.html
    assert "0 messages" in cells.run("%stack").plain


def test_compare_shows_every_registered_api(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} --compare all Hello")
    registered = set(llmneutral.convert("?", to="all"))  # type: ignore[call-overload]  # "all" gives a dict
    assert set(ran.outputs[0][MIME]["payload"]) == registered
    assert len(registered) >= 3
    assert all([api in ran.html for api in registered])
    assert echo(cells).stacks == []
    payloads = ran.outputs[0][MIME]["payload"]
    assert payloads["bedrock_converse"]["modelId"].startswith("us.anthropic."), "each is asked for a model of its own"
    assert all(
        [payload.get("model") or payload.get("modelId") for api, payload in payloads.items() if "gem" not in api]
    )
    assert " problem" not in ran.html
    named = cells.run("%prompt -p {{echo}} --compare claude,openai Hello")
    assert list(named.outputs[0][MIME]["payload"]) == ["anthropic_messages", "chat_completions"]


def test_an_api_that_cannot_take_it_says_so_in_its_column(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} --compare claude,codex_app_server Hello")
    assert ran.error is None
    assert "ConversionError" in ran.html
    assert "no payload" in ran.html


# ----------------------------------------------------------------------------------------------------------------------
# Settings


def test_config_says_who_is_asked_how_much_is_sent_and_how(cells: Cells) -> None:
    cells.run("%config PromptMagics.provider = 'anthropic'")
    cells.run("%config PromptMagics.model = 'claude-x'")
    assert cells.run("%prompt --dry-run Hi").value.payload["model"] == "claude-x"
    cells.run("%config PromptMagics.model = ''")
    cells.run("%prompt -p {{echo}} one")
    cells.run("%config PromptMagics.history = 0")
    cells.run("%prompt -p {{echo}} two")
    assert echo(cells).texts() == ["user: two"]
    cells.run("%config PromptMagics.plain = 1")
    ran = cells.run("%prompt -p {{echo}} three")
    assert ran.outputs == []
    assert ran.printed.startswith("THREE")


@pytest.mark.parametrize(("trait", "value"), [("stream", "'perhaps'"), ("tracebacks", "'long'")])
def test_a_setting_that_cannot_be_meant_is_told_when_it_is_used(cells: Cells, trait: str, value: str) -> None:
    cells.run(f"%config PromptMagics.{trait} = {value}")
    ran = cells.run("%prompt -p {{echo}} Hi")
    assert f"PromptMagics.{trait} is {value}" in ran.printed
    assert ran.error is not None
    assert cells.run("%reload_ext llmneutral").error is None, "and the extension can still be loaded"


def test_presets_are_names_for_p(cells: Cells) -> None:
    assert "-p cold asks" in cells.run("%provider preset cold openai-chat temperature=0").plain
    ran = cells.run("%prompt -p cold --dry-run Hi")
    assert ran.outputs[0][MIME]["payload"]["chat_completions"]["temperature"] == 0
    assert "is a provider already" in cells.run("%provider preset openai anthropic").printed
    cells.run("%config PromptMagics.presets = {'warm': 'openai-chat/gpt-x'}")
    assert "gpt-x" in cells.run("%prompt -p warm --dry-run Hi").html


# ----------------------------------------------------------------------------------------------------------------------
# The other five


def test_provider_sets_the_base_and_says_what_is_missing(cells: Cells) -> None:
    ran = cells.run("%provider anthropic")
    assert ran.plain == "anthropic · claude-sonnet-5-5 answers from now on; ANTHROPIC_API_KEY is not set"
    assert llmneutral.Defaults.base.name == "anthropic"
    cells.run("%provider local/tiny")
    assert llmneutral.Defaults.base.model == "tiny"
    with llmneutral.drivers_config("openai"):
        assert "inside this `with` it is still openai" in cells.run("%provider local").plain


def test_provider_lists_all_and_shows_no_key(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    ran = cells.run("%provider list")
    for name in llmneutral.CONFIGS:
        assert name in ran.plain
    assert "ANTHROPIC_API_KEY set" in ran.plain
    assert "0123456789" not in ran.plain + ran.html


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
    assert (tmp_path / "kept.md").read_text() == "## user\n\nfive\n\n## assistant\n\nFIVE \n"


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


# ----------------------------------------------------------------------------------------------------------------------
# Terminals


def test_a_terminal_prints_the_answer_once(terminal: Cells) -> None:
    ran = terminal.run("%prompt -p {{echo}} Hello there")
    assert ran.outputs == []
    assert ran.printed.count("HELLO THERE") == 1
    assert "echo-1" in ran.printed
    several = terminal.run("%prompt -p {{echo}} -p {{echo}} --new Hi")
    assert several.printed.count("HI") == 2
    failed = terminal.run("%prompt -p {{echo}} please fail")
    assert "PLEASE FAIL" in failed.printed
    assert isinstance(failed.error, llmneutral.InvalidRequestError)


def test_a_terminal_has_a_table_for_a_picker(terminal: Cells) -> None:
    terminal.run("%provider local")
    ran = terminal.run("%provider")
    assert "> local " in ran.plain + ran.printed


def test_the_notice_that_the_embedded_model_answers_is_a_calm_remark(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    llmneutral.Defaults.drivers_config = None
    ran = cells.run("%prompt --dry-run Hi")
    assert "No OPENAI_API_KEY: answering with the embedded model" in ran.plain
    assert "OPENAI_API_KEY" not in ran.printed
    assert "No OPENAI_API_KEY" not in cells.run("%prompt --dry-run Hi").plain
