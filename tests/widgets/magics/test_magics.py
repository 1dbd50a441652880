"""The lines of the six magics, in a shell that looks like a kernel's and in one that is a terminal's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.exchange import MIME, Exchange, Exchanges
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
    cells.run(
        "from llmneutral_widgets.magics.formats import first_code; code = first_code('a\\n```py\\nx = 1\\n```\\nb')"
    )
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


@pytest.mark.parametrize("line", ["--dry-run -p anthropic", "--compare anthropic"])
def test_a_terminal_prints_prompt_payload_and_changes(terminal: Cells, line: str) -> None:
    ran = terminal.run(f"%prompt {line} --temperature 0.5 Hello there")
    assert "0.0 text  Hello there" in ran.plain
    assert '"model": "claude-sonnet-5-5"' in ran.plain
    assert "dropped by params: temperature: claude-sonnet-5-5 takes no sampling settings" in " ".join(ran.plain.split())


def test_with_plain_a_kernel_prints_what_a_terminal_does(cells: Cells) -> None:
    asked = "%prompt -p {{echo}} Hello there"
    cells.run(asked)
    lines = ("%stack", "%payload anthropic", "%payload --changes anthropic", "%deltas", "%stack list", "%provider list")
    shown = [cells.run(line) for line in lines]
    assert all(["text/html" in output for ran in shown for output in ran.outputs])
    saved = [ran.plain for ran in shown]
    cells.run("%config PromptMagics.plain = 1")
    for line, text in zip(lines, saved, strict=True):
        ran = cells.run(line)
        assert ran.outputs == []
        assert len(ran.printed) > len(text)
    assert "  0.0 text  Hello there" in cells.run("%stack").printed


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


def test_options_at_the_end_of_a_question_are_text_and_that_is_said(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} Say that again. --history 0")
    assert "--history 0 at the end is part of the question: options come first" in ran.plain
    assert echo(cells).texts() == ["user: Say that again. --history 0"]
    assert "at the end" not in cells.run("%%prompt -p {{echo}}\nSay that again. --history 0").plain


def test_proposed_code_holds_nothing_hidden_and_no_key(cells: Cells) -> None:
    proposed: list[str] = []
    cells.shell.set_next_input = lambda text, replace=False: proposed.append(text)

    class Coder(type(echo(cells))):  # type: ignore[misc]
        def try_stream(self, prompt_stack: Any) -> Iterator[Any]:
            code = "```python\nkey = 'sk-abc1234567890def'\nx = 1  # \u202e\x1b[2J\n```"
            yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(code))
            yield llmneutral.DeltaMessage("finish", finish_reason="stop")

    cells.shell.user_ns["coder"] = Coder()
    cells.run("%prompt -p {{coder}} -f code Hi")
    (code,) = proposed
    assert code.split("\n") == ["key = '•••'", "x = 1  # \ufffd\ufffd[2J"]
