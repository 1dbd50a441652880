"""Answers that are more than a text, by the lines of magics: calls that are run, forms, repairs, costs, keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.exchange import MIME
from llmneutral_widgets.ipynb.extraction import extract_exchanges
from tests.drivers.scripted import Scripted, chunks, whole
from tests.widgets.shell import Cells, running

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CALL = [("call", "call_1", "weather", '{"city": "Rome"}')]
DONE = [("text", "It is sunny.")]
BAD, GOOD = [("text", '{"a": "x"}')], [("text", '{"a": 1}')]


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        found.shell.user_ns.update(weather=weather, Form=SCHEMA, ran=[])
        found.run("import llmneutral; session = llmneutral.widgets.session")
        RAN.clear()
        yield found


@pytest.fixture
def terminal() -> Iterator[Cells]:
    with running(is_kernel=False) as found:
        found.shell.user_ns.update(weather=weather)
        yield found


RAN: list[str] = []


def weather(city: str) -> str:
    """Tells the weather of a city."""
    RAN.append(city)
    return f"sunny in {city}"


def script(cells: Cells, *answers: Any, api: str = "chat_completions", name: str = "me", stream: bool = True) -> Any:
    """Makes a driver of a name that gives these answers."""
    given = [
        answer if isinstance(answer, BaseException) else (chunks if stream else whole)(answer, api=api)
        for answer in answers
    ]
    made = Scripted(*given, api_mode=api)
    cells.shell.user_ns[name] = made
    return made


# ----------------------------------------------------------------------------------------------------------------------
# Tools


def test_calls_are_run_on_request_and_the_next_question_knows_of_them(cells: Cells) -> None:
    asked = script(cells, CALL, DONE, [("text", "Fine.")])
    ran = cells.run("%prompt -p {{me}} -t weather --run-tools How is Rome?")
    assert ran.error is None
    assert RAN == ["Rome"]
    assert (ran.value.text, len(ran.value.rounds)) == ("It is sunny.", 2)
    (output,) = ran.outputs
    assert "sunny in Rome" in output["text/html"]
    assert output[MIME]["rounds"][1]["content"][0]["output"] == "sunny in Rome"
    cells.run("%prompt -p {{me}} And tomorrow?")
    assert [message["role"] for message in asked.sent[-1]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    frame = cells.run("%usage").value
    assert frame["finish_reason"].tolist() == ["tool_calls", "stop", "stop"]
    assert "Rome" in cells.run("%stack").html
    assert "weather" in cells.run("%payload").html
    assert "chunks recorded" in cells.run("%deltas").plain


def test_without_the_flag_calls_are_only_shown(cells: Cells) -> None:
    script(cells, CALL)
    ran = cells.run("%prompt -p {{me}} -t weather How is Rome?")
    assert RAN == []
    assert "calls weather" in ran.plain
    assert ran.value.rounds == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--run-tools Hi", "--run-tools needs tools to run: -t NAME names one"),
        ("--run-tools -t weather --dry-run Hi", "--dry-run and --run-tools contradict each other"),
        ("--run-tools -t weather --compare all Hi", "--compare and --run-tools contradict each other"),
    ],
)
def test_what_cannot_be_run_is_one_line(cells: Cells, line: str, told: str) -> None:
    ran = cells.run(f"%prompt -p {{{{echo}}}} {line}")
    assert type(ran.error).__name__ == "UsageError"
    assert told in ran.printed


def test_several_run_their_tools_side_by_side(cells: Cells) -> None:
    script(cells, CALL, DONE)
    script(cells, CALL, [("text", "Hot.")], api="anthropic_messages", name="other")
    ran = cells.run("%prompt -p {{me}} -p {{other}} -t weather --run-tools How is Rome?")
    assert RAN == ["Rome", "Rome"]
    assert [exchange.text for exchange in ran.value] == ["It is sunny.", "Hot."]
    assert ran.html.count("sunny in Rome") == 2


def test_an_interrupted_tool_ends_the_cell_and_is_kept(cells: Cells) -> None:
    def interrupted(city: str) -> str:
        """Tells nothing."""
        raise KeyboardInterrupt

    interrupted.__name__ = "weather"
    cells.shell.user_ns["stop"] = interrupted
    script(cells, CALL, [("text", "Then not.")])
    ran = cells.run("%prompt -p {{me}} -t stop --run-tools How is Rome?")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.outputs[0][MIME]["status"] == "interrupted"
    assert ran.outputs[0][MIME]["rounds"][0]["content"][0]["name"] == "weather"
    assert cells.run("%prompt -p {{me}} Then?").value.history["messages"] == 3


def test_what_was_run_comes_back_from_a_file(cells: Cells, tmp_path: Path) -> None:
    script(cells, CALL, DONE, [("text", "Fine.")])
    first = cells.run("%prompt -p {{me}} -t weather --run-tools How is Rome?").value
    cells.run("%prompt -p {{me}} And tomorrow?")
    file = tmp_path / "kept.ipynb"
    cells.run(f"%stack save {file}")
    found = extract_exchanges(file)
    assert found.exchanges[0].to_json()["rounds"] == first.to_json()["rounds"]
    asked = script(cells, [("text", "Good.")])
    cells.run(f"%stack load {file}")
    cells.run("%prompt -p {{me}} And then?")
    assert [message["role"] for message in asked.sent[0]["messages"]][:4] == ["user", "assistant", "tool", "assistant"]


def test_a_terminal_says_what_was_run(terminal: Cells) -> None:
    script(terminal, CALL, DONE)
    ran = terminal.run("%prompt -p {{me}} -t weather --run-tools How is Rome?")
    assert "(weather gave: sunny in Rome)\nIt is sunny." in ran.printed


def test_tools_as_text(cells: Cells) -> None:
    wants = [("text", 'Thought: I look.\nActions: [{"tag": "t1", "name": "weather", "input": {"city": "Rome"}}]')]
    asked = script(cells, wants, [("text", "Thought: Done.\nAnswer: Sunny.")])
    ran = cells.run("%prompt -p {{me}} -t weather --tool-style react --run-tools How is Rome?")
    assert "tools" not in asked.sent[0]
    assert RAN == ["Rome"]
    assert ran.value.text == "Sunny."
    assert ran.html.count('<details class="thinking">') == 2
    assert "Actions:" not in ran.html


# ----------------------------------------------------------------------------------------------------------------------
# Forms


@pytest.mark.parametrize("how", ["native", "tool", "rule", "auto"])
def test_a_form_in_each_way(cells: Cells, how: str) -> None:
    answer = [("call", "call_1", "final_answer", '{"a": 1}')] if how == "tool" else GOOD
    script(cells, answer)
    ran = cells.run(f"%prompt -p {{{{me}}}} --schema Form --structured {how} Give me one.")
    assert ran.error is None
    assert ran.value.parsed == {"a": 1}
    assert ran.value.output_schema["required"] == ["a"]


def test_an_answer_that_does_not_fit_is_asked_for_again_and_told(cells: Cells) -> None:
    script(cells, BAD, GOOD)
    ran = cells.run("%prompt -p {{me}} --schema Form -f json Give me one.")
    assert (ran.value.text, ran.value.parsed) == ('{"a": 1}', {"a": 1})
    assert '"x"' not in ran.html, "a rejected answer is no part of the answer"
    assert "2 requests, 1 rejected" in ran.html
    assert "1 rejected" in ran.plain
    frame = cells.run("%usage").value
    assert frame["status"].tolist() == ["rejected", "complete"]
    assert frame["total"].tolist() == [12, 12]
    assert ran.outputs[0][MIME]["response"]["usage"]["total"] == 24


def test_how_often_is_an_option_of_the_call(cells: Cells) -> None:
    asked = script(cells, BAD, GOOD)
    ran = cells.run("%prompt -p {{me}} --schema Form --set max_repairs=0 Give me one.")
    assert isinstance(ran.error, llmneutral.StructuredOutputError)
    assert len(asked.sent) == 1
    assert "max_repairs" not in json.dumps(asked.sent)
    assert ran.outputs[0][MIME]["status"] == "failed"
    for line, told in (("max_repairs=x", "max_repairs"), ("max_repair=1", "did you mean max_repairs")):
        for end in ("", "--dry-run "):
            wrong = cells.run(f"%prompt -p {{{{me}}}} --schema Form --set {line} {end}Give me one.")
            assert told in wrong.printed + str(wrong.error)
    assert len(asked.sent) == 1


@pytest.mark.parametrize("stream", ["", "--no-stream "])
def test_rejected_answers_are_kept_where_that_is_wanted(cells: Cells, stream: str) -> None:
    asked = script(cells, BAD, GOOD, GOOD, stream=not stream)
    ran = cells.run(f"%prompt -p {{{{me}}}} {stream}--schema Form --set keep_repairs=true Give me one.")
    assert ran.value.text == '{"a": 1}'
    assert [message.role for message in ran.value.turn] == ["user", "assistant", "user", "assistant"]
    assert "an answer that did not fit" in ran.html
    cells.run(f"%prompt -p {{{{me}}}} {stream}And now?")
    assert len(asked.sent[-1]["messages"]) == 5


# ----------------------------------------------------------------------------------------------------------------------
# Cost, keys


def test_a_cost_comes_from_prices_of_ones_own(cells: Cells, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"m": {"input": 1e6, "output": 0}}))
    script(cells, DONE, DONE)
    assert "cost n/a" in cells.run("%prompt -p {{me}} Hi").plain
    cells.run(f"%config PromptMagics.prices = {str(file)!r}")
    ran = cells.run("%prompt -p {{me}} Hi")
    assert "cost 5.00 USD (mine.json)" in ran.plain
    assert ran.value.cost == {"amount": 5.0, "currency": "USD", "source": "mine.json"}
    assert cells.run("%usage").value["cost"].tolist() == [5.0, 5.0], "earlier calls too"
    dear = tmp_path / "dear.json"
    dear.write_text(json.dumps({"m": {"input": 2e6, "output": 0}}))
    frame = cells.run(f"%usage --prices {dear}").value
    assert frame["cost"].tolist() == [10.0, 10.0]
    assert "prices: dear.json" in frame._repr_mimebundle_()["text/html"]
    cells.run(f"%config PromptMagics.prices = {str(tmp_path / 'none.json')!r}")
    assert "PromptMagics.prices none.json: No such file" in cells.run("%usage").printed
    cells.run("%config PromptMagics.prices = ''")


def test_published_prices_name_their_source(cells: Cells) -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` is not installed")
    cells.shell.user_ns["me"] = Scripted(chunks(DONE), model="gpt-4.1", provider="openai")
    ran = cells.run("%prompt -p {{me}} Hi")
    assert ran.value.cost["source"].startswith("genai-prices ")
    assert ran.value.cost["amount"] > 0
    assert f'title="prices: {ran.value.cost["source"]}"' in ran.html
    assert f"({ran.value.cost['source']})" in ran.plain
    frame = cells.run("%usage").value
    assert frame["cost"].tolist() == [ran.value.cost["amount"]]
    assert "prices: genai-prices" in frame._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("stream", ["", "--no-stream "])
def test_a_missing_key_of_one_of_several_says_what_helps(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    asked = script(cells, DONE)
    for line in (f"-p {{{{me}}}} -p anthropic {stream}Hi", f"-p anthropic -p {{{{me}}}} {stream}Hi"):
        ran = cells.run(f"%prompt {line}")
        told = "\n".join(ran.error._render_traceback_())
        assert "ANTHROPIC_API_KEY" in told
        assert "%provider key anthropic" in told
        assert "%provider local" in told
    assert asked.sent == [], "nobody was asked"


def test_a_key_that_comes_into_the_environment_counts_at_once(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As `%load_ext dotenv` brings it there from a file; a kernel need not begin anew, and what was given stays."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")  # so that nothing of it is left afterwards
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (tmp_path / ".env").write_text("ANTHROPIC_API_KEY=sk-ant-first-0123456789\n")
    assert "ANTHROPIC_API_KEY is not set" in str(cells.run("%prompt -p anthropic Hi").error)
    cells.run(
        f"import os, pathlib\nfor line in pathlib.Path({str(tmp_path / '.env')!r}).read_text().splitlines():\n"
        "    os.environ.update([line.split('=', 1)])"
    )
    assert "ANTHROPIC_API_KEY set" in cells.run("%provider list").plain
    kept = "session.providers.config('anthropic').prompt_driver"
    assert cells.run(f"{kept}.api_key.read() == 'sk-ant-first-0123456789'").value is True
    monkeypatch.setattr("getpass.getpass", lambda prompt: "sk-ant-typed-0123456789")
    cells.run("%provider key anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-second-0123456789")
    assert cells.run(f"{kept}.api_key.read() == 'sk-ant-typed-0123456789'").value is True, "what was typed stays"
    assert "sk-ant" not in "".join([cells.run("%provider list").plain, cells.run(f"repr({kept})").value])


# ----------------------------------------------------------------------------------------------------------------------
# What else goes out, and where


def test_what_only_one_provider_knows_passes_through(cells: Cells) -> None:
    asked = script(cells, DONE)
    cells.run("%prompt -p {{me}} --set extra_body='{\"top_k\": 5}' --set top_p=0.5 --effort low Hi")
    assert (asked.sent[0]["top_k"], asked.sent[0]["top_p"]) == (5, 0.5)


def test_a_conversation_goes_on_with_another_provider(cells: Cells) -> None:
    script(cells, CALL, DONE)
    asked = script(cells, [("text", "Hot.")], api="anthropic_messages", name="other")
    cells.run("%prompt -p {{me}} -s Terse. -t weather --run-tools How is Rome?")
    ran = cells.run("%prompt -p {{other}} And tomorrow?")
    assert ran.value.text == "Hot."
    assert [message["role"] for message in asked.sent[0]["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert asked.sent[0]["system"] == "Terse."
    assert "4 earlier messages sent" in ran.plain


def test_the_result_is_the_object_wherever_it_is_looked_for(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} -o kept Hi")
    assert cells.run("_ is kept").value is True
    assert cells.run(f"Out[{ran.value.execution_count}] is kept").value is True


def test_all_frames_are_shown_on_request(cells: Cells) -> None:
    script(cells, llmneutral.InvalidRequestError("no"), llmneutral.InvalidRequestError("no"))
    short = cells.run("%prompt -p {{me}} Hi").error._render_traceback_()
    assert len(short) == 1
    cells.run("%config PromptMagics.tracebacks = 'full'")
    full = cells.run("%prompt -p {{me}} Hi").error._render_traceback_()
    assert len(full) > 5
    assert "asking.py" in "".join(full)
    assert full[-1].endswith("InvalidRequestError: no. %payload shows what was sent.")


async def test_calls_of_sync_code_work_inside_the_running_loop_of_a_kernel(cells: Cells) -> None:
    assert asyncio.get_running_loop().is_running()
    script(cells, CALL, DONE, DONE)
    assert cells.run("%prompt -p {{me}} -t weather --run-tools How is Rome?").value.text == "It is sunny."
    script(cells, DONE, CALL, DONE, stream=False)
    assert cells.run("me.run('Hi').text").value == "It is sunny."

    async def later(city: str) -> str:
        """Tells the weather of a city."""
        await asyncio.sleep(0)
        return f"foggy in {city}"

    later.__name__ = "weather"
    cells.shell.user_ns["later"] = later
    ran = cells.run("%prompt -p {{me}} --no-stream -t later --run-tools How is Rome?")
    assert "foggy in Rome" in ran.html


@pytest.mark.parametrize("how", ["--dry-run", "", "--no-stream"])
def test_a_form_that_refers_to_what_is_not_in_it_is_refused_before_anything_is_sent(cells: Cells, how: str) -> None:
    asked = script(cells, GOOD)
    cells.shell.user_ns["Far"] = {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/a"}}}
    ran = cells.run(f"%prompt -p {{{{me}}}} --schema Far {how} Hi")
    assert "the output schema: the schema refers to 'https://elsewhere.example/a', which is not in it" in ran.printed
    assert not asked.sent
