"""`%payload` and `%deltas` where a question is more than one request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.asking import MOST_CHUNKS
from llmneutral_widgets.exchange import MIME
from tests.widgets.magics.test_magics_answers import BAD, CALL, DONE, GOOD, SCHEMA, script, weather
from tests.widgets.rounds import driver
from tests.widgets.shell import Cells, running

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
AGAIN = [("call", "call_2", "weather", '{"city": "Oslo"}')]


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        found.shell.user_ns.update(weather=weather, Form=SCHEMA)
        yield found


def with_tools(cells: Cells, how: str = "") -> Any:
    script(cells, CALL, AGAIN, DONE, stream="--no-stream" not in how)
    ran = cells.run(f"%prompt -p {{{{me}}}} {how} -t weather --run-tools How is Rome?")
    assert ran.error is None
    return ran.value


@pytest.mark.parametrize("how", ["", "--no-stream"])
def test_an_exchange_has_every_request_with_what_it_was_made_of(cells: Cells, how: str) -> None:
    exchange = with_tools(cells, how)
    assert [len(request.stack.messages) for request in exchange.requests] == [1, 3, 5]
    assert [len(request.conversion.payload["messages"]) for request in exchange.requests] == [1, 3, 5]
    assert all([request.conversion.trace for request in exchange.requests])
    assert [bool(request.deltas) for request in exchange.requests] == [not how] * 3
    assert exchange.requests[0].conversion.payload == exchange.conversion.payload
    assert list(exchange.requests[-1].deltas) == list(exchange.deltas)
    converted = llmneutral.convert(exchange.requests[-1].stack, "chat_completions", model="m")
    assert converted.payload["messages"] == exchange.requests[-1].conversion.payload["messages"]


def test_payload_shows_each_request_the_last_one_open_and_beside_the_other_apis(cells: Cells) -> None:
    with_tools(cells)
    ran = cells.run("%payload -o found")
    first, second, last = [output["text/html"] for output in ran.outputs]
    assert first.startswith("<details><summary>request 1 of 3, of the question</summary>")
    assert second.startswith("<details><summary>request 2 of 3, with the results of the calls</summary>")
    assert last.startswith("<details open><summary>request 3 of 3, with the results of the calls</summary>")
    assert "sunny in Rome" not in first
    assert "sunny in Rome" in second
    assert "sunny in Oslo" not in second
    assert "sunny in Oslo" in last
    assert "anthropic_messages" not in first + second
    assert "anthropic_messages" in last
    assert ran.plain.startswith("request 1 of 3, of the question\nchat_completions: ")
    found = cells.shell.user_ns["found"]
    assert len(found["chat_completions"].payload["messages"]) == 5
    assert "anthropic_messages" in found


def test_a_round_can_be_chosen(cells: Cells) -> None:
    with_tools(cells)
    (output,) = cells.run("%payload --round 2 -o found").outputs
    assert "<details open><summary>request 2 of 3" in output["text/html"]
    assert len(cells.shell.user_ns["found"]["chat_completions"].payload["messages"]) == 3
    (output,) = cells.run("%deltas --round 1").outputs
    assert "weather" in output["text/html"]
    assert "It is sunny" not in output["text/html"]
    for line, said in (
        ("%payload --round 4", "--round 4: the exchange has 3 requests"),
        ("%deltas --round 4", "--round 4: the exchange has 3 requests"),
        ("%payload --round 0", "--round needs a whole number from 1"),
        ("%payload --round 1 openai", "--round shows a request that was sent"),
    ):
        ran = cells.run(line)
        assert type(ran.error).__name__ == "UsageError"
        assert said in ran.printed


def test_deltas_shows_each_stream(cells: Cells) -> None:
    with_tools(cells)
    ran = cells.run("%deltas")
    heads = [output["text/html"].partition("</summary>")[0] for output in ran.outputs]
    assert [head.rpartition(">")[2].split(",")[0] for head in heads] == [f"request {n} of 3" for n in (1, 2, 3)]
    assert [head.startswith("<details open>") for head in heads] == [False, False, True]
    assert "It is sunny" in ran.outputs[-1]["text/html"].replace("</span>", "")


def test_changes_are_told_for_each_request(cells: Cells) -> None:
    with_tools(cells)
    assert cells.run("%payload --changes").plain.count("request ") == 3
    assert cells.run("%payload --json --round 1").html.count("<td") >= 1


def test_a_question_of_one_request_has_no_heading(cells: Cells) -> None:
    cells.run("%prompt -p {{echo}} Hi")
    for line in ("%payload", "%deltas"):
        (output,) = cells.run(line).outputs
        assert "request 1" not in output["text/html"]
        assert cells.run(f"{line} --round 1").error is None
        assert "the exchange has 1 request\n" in cells.run(f"{line} --round 2").printed


@pytest.mark.parametrize("kept", [False, True])
def test_a_repair_is_a_request_too(cells: Cells, kept: bool) -> None:
    script(cells, BAD, GOOD)
    ran = cells.run(f"%prompt -p {{{{me}}}} --schema Form --set keep_repairs={str(kept).lower()} Hi")
    assert [request.is_repair for request in ran.value.requests] == [False, True]
    assert (ran.value.requests[1].stack is not None) is kept
    first, last = cells.run("%payload").outputs
    assert "request 2 of 2, for an answer that fits" in last["text/html"]
    assert ("anthropic_messages" in last["text/html"]) is kept, "what a repair added is known where it is kept"
    assert "request 1 of 2, of the question" in first["text/html"]
    shown = cells.run("%deltas")
    assert [output["text/plain"].partition(",")[0] for output in shown.outputs] == ["request 1 of 2", "request 2 of 2"]
    assert "No stream recorded" not in shown.html


def test_repairs_and_rounds_together(cells: Cells) -> None:
    script(cells, CALL, BAD, GOOD)
    ran = cells.run("%prompt -p {{me}} --schema Form -t weather --run-tools Hi")
    told = [(request.is_repair, request.stack and len(request.stack.messages)) for request in ran.value.requests]
    assert told == [(False, 1), (False, 3), (True, None)]


def test_a_recording_of_all_rounds_is_played_again(cells: Cells, tmp_path: Path) -> None:
    with_tools(cells)
    file = tmp_path / "rounds.jsonl"
    assert "of 3 answers written to rounds.jsonl" in cells.run(f"%deltas save {file}").plain
    ran = cells.run(f"%prompt -p replay:{file} --new -t weather --run-tools How is Rome?")
    assert (ran.value.text, len(ran.value.requests)) == ("It is sunny.", 3)
    cells.run(f"%deltas save --round 3 {file}")
    assert len(llmneutral.load_recordings(file)) == 1


def test_each_request_has_the_recording_of_its_own_answer(cells: Cells, tmp_path: Path) -> None:
    """A repair's is not that of the answer it follows, and one that is refused has none."""
    script(cells, BAD, GOOD)
    ran = cells.run("%prompt -p {{me}} --schema Form Hi")
    said = [llmneutral.aggregate([entry[1] for entry in one.deltas], "openai").text for one in ran.value.requests]
    assert said == [BAD[0][1], GOOD[0][1]]
    file = tmp_path / "repaired.jsonl"
    cells.run(f"%deltas save {file}")
    played = cells.run(f"%prompt -p replay:{file} --new --schema Form Hi")
    assert (played.value.parsed, len(played.value.requests)) == (ran.value.parsed, 2)
    cells.shell.user_ns["me"] = driver(CALL, llmneutral.InvalidRequestError("no"))
    cells.run("%prompt -p {{me}} -t weather --run-tools --new -o kept Hi")
    kept = cells.shell.user_ns["kept"]
    assert [bool(request.deltas) for request in kept.requests] == [True, False]
    assert not kept.deltas
    assert "No stream recorded" in cells.run("%deltas").outputs[-1]["text/html"]
    saved = cells.run(f"%deltas save {file}")
    assert "request 2 of 2 has no recording" in saved.printed
    assert "chunks written to repaired.jsonl" in cells.run(f"%deltas save {file} --round 1").plain


def test_each_question_of_a_recording_begins_at_its_beginning(cells: Cells, tmp_path: Path) -> None:
    """So a cell that is run again, or asks twice, gives the same; a driver in a variable plays on."""
    with_tools(cells)
    file = tmp_path / "rounds.jsonl"
    cells.run(f"%deltas save {file}")
    first = [cells.run(f"%prompt -p replay:{file} --new Hi").value for _ in range(2)]
    assert [[call.input["city"] for call in each.response.tool_calls] for each in first] == [["Rome"]] * 2
    both = cells.run(f"%prompt -p replay:{file} -p replay:{file} --new -t weather --run-tools Hi").value
    assert [each.text for each in both] == ["It is sunny."] * 2
    cells.run(f"%provider preset shown replay:{file}")
    played = [cells.run("%prompt -p shown --new Hi").value.response.tool_calls for _ in range(2)]
    assert [bool(calls) for calls in played] == [True, True]
    cells.shell.user_ns["playing"] = llmneutral.ReplayPromptDriver(file)
    texts = [cells.run("%prompt -p {{playing}} --new Hi").value.text for _ in range(3)]
    assert texts == ["", "", "It is sunny."]


def test_what_a_driver_makes_itself_is_no_recording(cells: Cells, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    cells.run("%prompt -p {{echo}} Hi")
    ran = cells.run(f"%deltas save {file}")
    assert type(ran.error).__name__ == "UsageError"
    assert "the driver makes its deltas itself" in ran.printed
    assert not file.exists()


def test_only_the_last_exchange_keeps_them(cells: Cells) -> None:
    with_tools(cells)
    cells.run("%prompt -p {{echo}} Hi")
    kept = [len(turn.exchange.requests) for turn in session.current().conversation().turns]
    assert kept == [0, 1]


def test_long_recordings_lose_their_first_answers(cells: Cells) -> None:
    many = [("text", "w" * 4 * (MOST_CHUNKS + 100))]
    script(cells, CALL, AGAIN, many)
    ran = cells.run("%prompt -p {{me}} -t weather --run-tools How is Rome?")
    sizes = [len(request.deltas) for request in ran.value.requests]
    assert sizes == [0, 0, MOST_CHUNKS]
    first = cells.run("%deltas --round 1")
    assert "0 of 11 chunks recorded" in first.plain
    assert "recording stopped at 0 of 11 chunks" in first.html


def test_a_recording_that_is_cut_says_so_and_is_not_saved(cells: Cells, tmp_path: Path) -> None:
    """Of one answer, and in the middle of several."""
    half = [("text", "w" * 3 * (MOST_CHUNKS // 2 + 500))]
    script(cells, [*half, *CALL], half)
    ran = cells.run("%prompt -p {{me}} -t weather --run-tools How is Rome?")
    kept = [(len(request.deltas), request.lost_chunks) for request in ran.value.requests]
    first, last = kept
    assert (last[1], first[0] + last[0]) == (0, MOST_CHUNKS)
    assert first[1] > 500
    told = f"{first[0]:,} of {sum(first):,} chunks"
    shown = cells.run("%deltas --round 1")
    assert f"{told} recorded" in shown.plain
    assert f"recording stopped at {told}" in shown.html
    assert "stopped at" not in cells.run("%deltas --round 2").html
    file = tmp_path / "long.jsonl"
    refused = cells.run(f"%deltas save {file}")
    assert f"the recording is not whole ({told} are kept): a replay would break off there" in refused.printed
    assert not file.exists()
    assert cells.run(f"%deltas save {file} --round 2").error is None
    script(cells, [("text", "w" * 3 * (MOST_CHUNKS + 100))])
    ran = cells.run("%prompt -p {{me}} --new Hi")
    assert ran.value.lost_chunks > 100
    assert "recording stopped at 5,000 of 5,1" in cells.run("%deltas").html
    assert "the recording is not whole (5,000 of 5,1" in cells.run(f"%deltas save {file}").printed
    cells.run("%prompt -p {{echo}} Hi")
    assert session.current().conversation().turns[0].exchange.lost_chunks == 0


def test_a_recording_of_what_broke_off_says_so(cells: Cells, tmp_path: Path) -> None:
    me = script(cells, DONE)
    me.answers = [[*me.answers[0][:2], llmneutral.ServerError("broke")]]
    cells.run("%prompt -p {{me}} Hi")
    ran = cells.run(f"%deltas save {tmp_path / 'half.jsonl'}")
    assert "half.jsonl plays them, up to where the answer broke off" in ran.plain


def columns(html: str) -> dict[str, bool]:
    """The columns of a comparison, and whether they are marked as sent."""
    found = re.findall(r"<div><b>([^<]*)</b>(.*?)</div>", html)
    return {name: ">sent<" in rest for name, rest in found if name != "your conversation"}


def test_every_payload_that_was_sent_is_marked_where_several_were_asked(cells: Cells) -> None:
    names = cells.shell.user_ns
    names["one"], names["two"] = driver(DONE), driver(DONE, api="anthropic_messages")
    names["three"] = driver(DONE)
    cells.run("%prompt -p {{one}} -p {{two}} -p {{three}} Hi")
    ran = cells.run("%payload -o found")
    (output,) = ran.outputs
    again = next(name for name in columns(output["text/html"]) if name.startswith("chat_completions ("))
    sent = {"chat_completions": True, "anthropic_messages": True, again: True}
    assert columns(output["text/html"]) == {**sent, "codex_responses": False}
    kept = [each.requests[0].conversion for each in session.results]
    assert [names["found"][name] for name in sent] == [kept[0], kept[1], kept[2]]
    (output,) = cells.run("%payload --json").outputs
    assert columns(output["text/html"]) == {**sent, "codex_responses": False}


def test_the_later_requests_of_several_are_shown_with_whom_they_went_to(cells: Cells) -> None:
    names = cells.shell.user_ns
    names["one"], names["two"] = driver(CALL, DONE), driver(CALL, AGAIN, DONE, api="anthropic_messages")
    cells.run("%prompt -p {{one}} -p {{two}} -t weather --run-tools How is Rome?")
    ran = cells.run("%payload -o found")
    heads = [output["text/plain"].partition("\n")[0] for output in ran.outputs]
    first, second = [each.provider for each in session.results]
    assert heads == [
        "request 1 of 2, of the question",
        f"request 2 of 3 to {second}, with the results of the calls",
        f"request 3 of 3 to {second}, with the results of the calls",
        f"request 2 of 2 to {first}, with the results of the calls",
    ]
    assert columns(ran.outputs[0]["text/html"]) == {"chat_completions": True, "anthropic_messages": True}
    assert columns(ran.outputs[1]["text/html"]) == {"anthropic_messages": True}
    assert columns(ran.outputs[3]["text/html"])["chat_completions"]
    assert not columns(ran.outputs[3]["text/html"])["anthropic_messages"], (
        "what it would be sent for the other's answer"
    )
    assert names["found"]["chat_completions"] is session.last.requests[1].conversion
    assert [len(cells.run(f"%payload --round {n}").outputs) for n in (1, 2)] == [1, 2]
    assert "--round 3: the exchange has 2 requests" in cells.run("%payload --round 3").printed


def test_a_dry_run_for_several_models_of_one_provider_shows_each(cells: Cells) -> None:
    ran = cells.run("%prompt -p openai-chat/a -p openai-chat/b -p openai-chat/c -p openai-chat/c --dry-run Hi")
    assert [payload["model"] for payload in ran.outputs[0][MIME]["payload"].values()] == ["a", "b", "c", "c"]


def test_payload_takes_a_model_for_every_column_or_for_one(cells: Cells) -> None:
    cells.shell.user_ns["s"] = llmneutral.PromptStack.from_artifact("Hi")
    assert cells.run("%payload openai codex {{s}} -m gpt-6-luna -o found").error is None
    assert {made.payload["model"] for made in cells.shell.user_ns["found"].values()} == {"gpt-6-luna"}
    ran = cells.run("%payload openai codex {{s}} -m codex=gpt-5 -m gpt-4.1 -o found")
    assert [made.payload["model"] for made in cells.shell.user_ns["found"].values()] == ["gpt-4.1", "gpt-5"]
    assert "openai is here the API chat_completions; the provider openai is asked by codex_responses" in ran.plain
    assert "is here the API" not in cells.run("%payload chat {{s}}").plain


def test_beside_what_was_sent_stand_the_models_that_were_named(cells: Cells) -> None:
    with_tools(cells)
    assert cells.run("%payload -m claude=claude-opus-5 -o found").error is None
    found = cells.shell.user_ns["found"]
    assert found["anthropic_messages"].payload["model"] == "claude-opus-5"
    assert found["chat_completions"].payload["model"] != "claude-opus-5"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("openai {{s}} -m gemini=x", "gemini_native is no column that is converted here"),
        ("{{made}} -m x", "is a Conversion already, for chat_completions; -m is too much"),
        ("--round 1 -m x", "contradict each other: what was sent has its model"),
        ("openai {{s}} -m opnai=x", "unknown API opnai; did you mean openai"),
    ],
)
def test_a_model_that_has_no_column_is_said(cells: Cells, line: str, said: str) -> None:
    source = llmneutral.PromptStack.from_artifact("Hi")
    cells.shell.user_ns.update(s=source, made=llmneutral.convert(source, "chat_completions", model="m"))
    assert said in str(cells.run(f"%payload {line}").error)


def test_compare_says_where_a_name_means_two_things(cells: Cells) -> None:
    ran = cells.run("%prompt --compare openai,codex Hi")
    assert ran.error is None
    assert (
        "openai is here the API chat_completions; the provider openai is asked by codex_responses"
        in (ran.outputs[-1]["text/html"])
    )
