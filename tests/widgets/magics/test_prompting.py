"""Prompts in a real kernel, against a provider on the loopback interface: streams, signals, sizes, secrets."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import nbformat
import pytest

from llmneutral_widgets.exchange import MIME, Exchange
from tests.loopback import HOLD, Answer, Loopback, streamed, talk, whole
from tests.widgets.kernel import HTML, PLAIN, Kernel, Ran

ENVIRONMENT_KEY = "sk-test-0123456789abcdef0123"
TOKEN = "tiger-lily-umbrella-77"
"""Looks like no key at all: only the name of its variable says that it is one."""
TYPED_KEY = "sk-ant-api03-planted-9876543210"
FILE_KEY = "planted-in-a-file-9876543210"
PAUSE = 0.12
"""Seconds between the pieces of a slow stream: longer than a frame, so that each piece is shown."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    with Kernel(folder, OPENAI_API_KEY=ENVIRONMENT_KEY, PLANTED_TOKEN=TOKEN) as made:
        assert made.run("%load_ext llmneutral").outputs == [], "loading says nothing"
        made.run("import llmneutral; session = llmneutral.widgets.session")
        yield made


def serve(kernel: Kernel, server: Loopback, **settings: Any) -> None:
    """Makes `config`, which asks the server."""
    made = f"llmneutral.LocalServerDriversConfig('m', base_url={server.url + '/v1'!r}, **{settings!r})"
    assert kernel.run(f"config = {made}").error is None


def ask(kernel: Kernel, server: Loopback, line: str = "", **options: Any) -> Ran:
    """Asks the server a question in an empty conversation."""
    serve(kernel, server)
    return kernel.run(f"%%prompt -p {{{{config}}}} --new {line}\nHow are you?", **options)


def words(count: int, of: str = "word ") -> list[Any]:
    """A Chat Completions stream of so many pieces, without its end."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
    return [{**head, "choices": [{"index": 0, "delta": {"content": of}, "finish_reason": None}]} for _ in range(count)]


END: list[Any] = [
    {"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    "[DONE]",
]


def shows(*pieces: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a message shows all of these."""

    def is_time(message: Mapping[str, Any]) -> bool:
        shown = message["content"].get("data", {}).get(HTML, "")
        return all([piece in shown for piece in pieces])

    return is_time


def until(is_so: Callable[[], object], seconds: float = 10.0) -> None:
    """Waits for something to happen."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def the_error(ran: Ran) -> list[str]:
    """The lines of the only error output."""
    (error,) = [output for output in ran.outputs if output["output_type"] == "error"]
    lines: list[str] = error["traceback"]
    return lines


# ----------------------------------------------------------------------------------------------------------------------
# Streams


def test_an_answer_is_one_output_that_grows_and_is_saved_whole(kernel: Kernel) -> None:
    frames: list[str] = []
    with Loopback(talk("Fine, thank you.", pause=PAUSE)) as server:
        ran = ask(kernel, server, seen=lambda m: frames.append(m["content"].get("data", {}).get(PLAIN, "")))
    assert ran.error is None
    (output,) = ran.outputs
    assert {*output["data"]} == {HTML, PLAIN, MIME}
    assert output["data"][MIME]["status"] == "complete"
    assert output["data"][MIME]["response"]["text"] == "Fine, thank you."
    assert output["data"][PLAIN].startswith("server · ")
    assert "answering, 8 characters so far" in "\n".join(frames), "it was shown while it came"
    cell = {"cell_type": "code", "id": "a", "execution_count": 1, "metadata": {}, "source": "", "outputs": [output]}
    nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}, version=4)


def test_what_goes_out_is_what_the_line_says(kernel: Kernel) -> None:
    with Loopback(talk("Fine.")) as server:
        ask(kernel, server, '-s "Be brief" --temperature 0.5 --max-tokens 9 --set seed=7 -m other')
    (request,) = server.requests
    body = request.json
    assert [message["content"] for message in body["messages"]] == ["Be brief", "How are you?"]
    assert (body["temperature"], body["seed"], body["model"], body["stream"]) == (0.5, 7, "other", True)
    assert 9 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_a_whole_answer_on_request(kernel: Kernel) -> None:
    with Loopback(talk("Fine.")) as server:
        ran = ask(kernel, server, "--no-stream")
    assert not server.requests[0].json.get("stream")
    assert ran.data(MIME)["response"]["text"] == "Fine."
    assert ran.data(MIME)["timing"]["first_delta_s"] is None


def test_two_thousand_deltas_stay_within_the_budget(
    kernel: Kernel, record_property: Callable[[str, object], None]
) -> None:
    """14,000 characters in some seconds: as many bytes on the iopub socket as the design promises, and no more."""
    pieces = words(2_000, "a word ")
    stream: list[Any] = list(itertools.chain.from_iterable([*pieces[i : i + 20], 0.05] for i in range(0, 2_000, 20)))
    with Loopback(streamed([*stream, *END])) as server:
        ran = ask(kernel, server)
    text = Exchange.from_json(ran.data(MIME)).text
    assert len(text) == 14_000
    record_property("iopub_bytes", ran.octets)
    assert ran.octets <= 700_000
    assert ran.octets <= 20 * len(text) + 100_000 * ran.seconds
    assert ran.messages <= 15 * ran.seconds + 10
    assert ran.biggest <= 3 * len(text) + 20_000, "the biggest message is the final one"


# ----------------------------------------------------------------------------------------------------------------------
# Signals


def test_an_interrupt_ends_the_cell_closes_the_stream_and_keeps_what_had_come(
    kernel: Kernel, record_property: Callable[[str, object], None]
) -> None:
    with Loopback(streamed([*words(3), HOLD], pause=PAUSE)) as server:
        stop = kernel.interrupted_when(shows("word word word"))
        ran = ask(kernel, server, seen=stop)
        assert stop.at is not None
        seconds = time.monotonic() - stop.at
        assert server.closes(1.0), "the connection is closed"
        assert len(server.requests) == 1, "nothing is asked again"
    record_property("interrupt_seconds", round(seconds, 3))
    assert seconds < 1.0
    assert ran.error == "KeyboardInterrupt"
    record = ran.data(MIME)
    assert record["status"] == "interrupted"
    assert record["response"]["text"] == "word word word "
    assert record["response"]["complete"] is False
    assert {*record["response"]["usage"].values()} == {None}, "a count that was cut short is no count"
    assert ">interrupted</b>" in ran.html
    assert the_error(ran) == ["KeyboardInterrupt: the answer was stopped; what had come is kept"]


def test_what_was_interrupted_goes_along_with_the_next_question(kernel: Kernel) -> None:
    with Loopback(streamed([*words(2), HOLD], pause=PAUSE), talk("Fine.")) as server:
        ask(kernel, server, seen=kernel.interrupted_when(shows("word word")))
        kernel.run("%prompt -p {{config}} Go on.")
    told = [message["content"].strip() for message in server.requests[1].json["messages"]]
    assert told == ["How are you?", "word word", "Go on."]


def test_an_interrupt_before_the_first_word(kernel: Kernel) -> None:
    with Loopback(streamed([HOLD])) as server:
        serve(kernel, server)
        sent = kernel.send("%prompt -p {{config}} --new Hello?")
        until(lambda: server.requests)
        time.sleep(PAUSE)
        at = time.monotonic()
        kernel.interrupt()
        ran = kernel.wait(sent)
        assert time.monotonic() - at < 1.0
        assert server.closes(1.0)
        assert len(server.requests) == 1
    assert ran.error == "KeyboardInterrupt"
    assert the_error(ran) == ["KeyboardInterrupt: the answer was stopped; nothing of it had come yet"]
    assert ran.data(MIME)["status"] == "interrupted"
    told = "print(len(session.conversation().stack(is_request=True).messages))"
    assert kernel.run(told).printed == "0\n", "without an answer there is nothing to send on"


def test_cells_that_wait_are_not_run_after_an_interrupt(kernel: Kernel) -> None:
    with Loopback(streamed([*words(2), HOLD], pause=PAUSE)) as server:
        serve(kernel, server)
        stop = kernel.interrupted_when(shows("word word"))
        first = kernel.send("%prompt -p {{config}} --new Hello?")
        second = kernel.send("%prompt -p {{config}} And then?")
        assert kernel.wait(first, stop).error == "KeyboardInterrupt"
        assert kernel.wait(second).error == "aborted"
        assert len(server.requests) == 1


def test_an_interrupt_stops_several_answers_and_keeps_each(kernel: Kernel) -> None:
    def answering(request: Any) -> Answer:
        if request.json["model"] == "slow":
            return streamed([*words(3, "slow "), HOLD], pause=PAUSE)
        return streamed([*words(2), *END])

    with Loopback(answering) as server:
        serve(kernel, server)
        kernel.run("slow = config.evolve(model='slow')")
        stop = kernel.interrupted_when(shows("slow slow slow", "cost n/a"))
        ran = kernel.run("%prompt -p {{config}} -p {{slow}} --new Hello?", seen=stop)
        assert stop.at is not None
        assert time.monotonic() - stop.at < 1.0
    assert ran.error == "KeyboardInterrupt"
    record = ran.data(MIME)
    assert (record["status"], record["response"]["text"]) == ("complete", "word word ")
    assert [(o["status"], o["response"]["text"]) for o in record["others"]] == [("interrupted", "slow slow slow ")]


def test_an_interrupt_while_a_tool_runs_waits_for_nothing_and_keeps_what_was_done(kernel: Kernel) -> None:
    kernel.run("import time\ndef look(where: str) -> str:\n    'Looks.'\n    time.sleep(30)\n    return where")
    called = talk("Let me see.", ("call", "call_1", "look", '{"where": "here"}'))
    with Loopback(called, talk("Fine.")) as server:
        stop = kernel.interrupted_when(shows("look", "here"))
        ran = ask(kernel, server, "-t look --run-tools", seen=stop)
        assert stop.at is not None
        assert time.monotonic() - stop.at < 1.0
        assert ran.error == "KeyboardInterrupt"
        record = ran.data(MIME)
        assert (record["status"], [message["role"] for message in record["rounds"]]) == (
            "interrupted",
            ["assistant", "user"],
        )
        assert len(server.requests) == 1
        assert kernel.run("%prompt -p {{config}} Go on.").error is None
    told = [message["role"] for message in server.requests[1].json["messages"]]
    assert told == ["user", "assistant", "tool", "user"]


# ----------------------------------------------------------------------------------------------------------------------
# Failures


def test_a_provider_that_fails_fails_the_cell_in_one_line(kernel: Kernel) -> None:
    body = {"error": {"type": "invalid_request_error", "message": "no such thing", "code": "x"}}
    with Loopback(whole(body, 400, x_request_id="req_7")) as server:
        ran = ask(kernel, server)
    assert ran.error == "InvalidRequestError"
    assert ran.data(MIME)["status"] == "failed"
    assert "no such thing" in ran.html
    assert the_error(ran) == ["InvalidRequestError (invalid_request_error, status 400): no such thing"]


def test_a_stream_without_its_end_is_incomplete_and_not_sent_on(kernel: Kernel) -> None:
    with Loopback(streamed(words(3)), talk("Fine.")) as server:
        ran = ask(kernel, server)
        assert ran.error == "StreamInterruptedError"
        assert ran.data(MIME)["status"] == "incomplete"
        assert "word word word" in ran.html
        assert len(server.requests) == 1, "what was given is not asked for again"
        kernel.run("%prompt -p {{config}} And now?")
    assert [message["content"] for message in server.requests[1].json["messages"]] == ["And now?"]


def test_one_of_several_that_fails_fails_the_cell_after_the_others_have_answered(kernel: Kernel) -> None:
    def answering(request: Any) -> Answer:
        if request.json["model"] == "bad":
            return whole({"error": {"type": "invalid_request_error", "message": "no such model"}}, 400)
        return streamed([*words(2), *END])

    with Loopback(answering) as server:
        serve(kernel, server)
        kernel.run("bad = config.evolve(model='bad')")
        ran = kernel.run("%prompt -p {{bad}} -p {{config}} --new -o both Hello?")
    assert ran.error == "InvalidRequestError"
    record = ran.data(MIME)
    assert [record["status"], *[other["status"] for other in record["others"]]] == ["failed", "complete"]
    assert kernel.run("print([e.status for e in both])").printed == "['failed', 'complete']\n"


def test_of_several_that_are_not_all_ready_none_is_asked(kernel: Kernel) -> None:
    with Loopback(talk("Fine.")) as server:
        serve(kernel, server)
        ran = kernel.run("%prompt -p {{config}} -p anthropic --new Hello?")
        assert server.requests == []
    assert ran.error == "ConfigurationError"
    assert "ANTHROPIC_API_KEY is not set" in the_error(ran)[0]


def test_a_missing_key_says_which_variable_and_keeps_nothing(kernel: Kernel) -> None:
    kernel.run("%stack reset")
    ran = kernel.run("%prompt -p anthropic Hello?")
    assert ran.error == "ConfigurationError"
    assert "ANTHROPIC_API_KEY is not set" in the_error(ran)[0]
    assert len(the_error(ran)) <= 4
    assert kernel.run("print(len(session.conversation().turns))").printed == "0\n"


def test_a_block_that_cannot_be_sent_is_marked_in_the_conversation(kernel: Kernel) -> None:
    kernel.run("picture = llmneutral.ImageMessageContent(file_id='file_1')")
    ran = kernel.run("%prompt -p openai-chat --new What is {{picture}}?")
    assert ran.error == "ConversionError"
    assert "<del>" in ran.html
    assert len(the_error(ran)) <= 4


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("-p nobody Hi", "UsageError: unknown provider nobody; known: anthropic, "),
        ("-p opeanai Hi", "UsageError: unknown provider opeanai; did you mean openai"),
        ("-p claude Hi", "UsageError: unknown provider claude; did you mean anthropic?"),
        ("-p local openai Hi", "UsageError: openai would be part of the question: write -p openai, or -- before"),
        ("--compare openai gemini\nHi", "UsageError: gemini would be part of the question: write --compare openai,"),
        ("-p {{session}} Hi", "UsageError: -p {{session}} is a module; it takes a driver or a DriversConfig"),
        ("-p local/a -m b Hi", "UsageError: -p asks for the model a, -m for b"),
        ("--temprature 1 Hi", "UsageError: %%prompt has no option --temprature; did you mean --temperature"),
        ("Hi {{nowhere}}", "UsageError: nowhere is not defined"),
        ("--set key=1 Hi", "UsageError: --set takes no key"),
        ("--compare morse Hi", "UsageError: unknown API morse; known: "),
        ("-a nowhere.png Hi", "UsageError: -a nowhere.png: there is no such file"),
        ("-t session Hi", "UsageError: -t session is a module; it takes a function, a Tool, or a list of them"),
        ("", "UsageError: there is nothing to ask"),
        ("--run-tools Hi", "UsageError: --run-tools needs"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_fails_the_cell(kernel: Kernel, line: str, told: str) -> None:
    ran = kernel.run(f"%prompt {line}")
    assert ran.error == "UsageError"
    (output,) = ran.outputs
    assert output["name"] == "stderr"
    assert output["text"].startswith(told)
    assert output["text"].count("\n") == 1


# ----------------------------------------------------------------------------------------------------------------------
# Secrets


def test_no_secret_is_shown_or_saved(kernel: Kernel) -> None:
    """Planted in the environment, a file of it, a variable, the answer, an error of the provider, and an address."""
    secrets = (ENVIRONMENT_KEY, TOKEN, TYPED_KEY, FILE_KEY)
    leaking = " ".join(secrets)
    address = f"https://user:{TOKEN}@example.org/a.png?sig={TOKEN}"
    cells = [
        f"leaked = bytes.fromhex({leaking.encode().hex()!r}).decode()",
        f"address = bytes.fromhex({address.encode().hex()!r}).decode()",
        "%provider key --env",
        "%prompt -p {{config}} --new My key is {{leaked}}",
        "%deltas",
        "%deltas save saved.jsonl",
        "%prompt -p {{config}} this one fails",
        "session.last",
        "%stack",
        "%payload",
        "%payload --json",
        "%payload --changes",
        "%usage",
        "%provider list",
        "%prompt --compare all {{leaked}}",
        "%prompt -p {{leaked}} Hi",
        "%prompt --dry-run -a {{address}} Hi",
        "%stack save saved.json",
        "%stack save saved.md",
        "%config PromptMagics.tracebacks = 'full'",
        "%prompt -p {{config}} this one fails with frames",
        "%config PromptMagics.tracebacks = 'short'",
        "config, config.prompt_driver, session.last",
    ]
    refused = whole({"error": {"type": "authentication_error", "message": f"bad key {leaking}"}}, 401)
    seen: list[Any] = []

    def keep(message: Mapping[str, Any]) -> None:
        if message["msg_type"] != "execute_input":
            seen.append(message["content"])

    (kernel.folder / ".env").write_text(f"XAI_API_KEY='{FILE_KEY}'\n{FILE_KEY}\n")
    with Loopback(talk(f"You said {leaking}.", size=3, pause=0.02), refused, refused) as server:
        serve(kernel, server, api_key=TYPED_KEY)
        for cell in cells:
            seen.append(kernel.run(cell, seen=keep).said)
        assert len(server.requests) == 3
        assert all([secret in json.dumps(server.requests[0].json) for secret in secrets]), "what is sent is not changed"
    files = [(kernel.folder / name).read_text(encoding="utf-8") for name in ("saved.json", "saved.md", "saved.jsonl")]
    saved = json.dumps(seen, ensure_ascii=False) + "".join(files)
    assert saved.count("•••") > 10
    for secret in secrets:
        assert secret not in saved


# ----------------------------------------------------------------------------------------------------------------------
# History: cells have ids


def test_running_a_cell_again_replaces_its_exchange_and_marks_what_follows(kernel: Kernel) -> None:
    with Loopback(talk("Yes.")) as server:
        serve(kernel, server)
        kernel.run("%prompt -p {{config}} --new -c cells First?", cell_id="one")
        kernel.run("%prompt -p {{config}} -c cells Second?", cell_id="two")
        kernel.run("%prompt -p {{config}} -c cells First again?", cell_id="one")
        ran = kernel.run("%stack cells")
    sent = [[message["content"] for message in request.json["messages"]] for request in server.requests]
    assert sent == [["First?"], ["First?", "Yes.", "Second?"], ["First again?"]]
    told = kernel.run("print([(t.key.cell_id, t.is_stale) for t in session.conversation('cells').turns])").printed
    assert told == "[('one', False), ('two', True)]\n"
    assert "stale" in ran.html


def test_a_cell_that_asks_no_more_takes_its_exchange_along(kernel: Kernel) -> None:
    with Loopback(talk("Yes.")) as server:
        serve(kernel, server)
        kernel.run("%prompt -p {{config}} --new -c gone First?", cell_id="one")
        kernel.run("%prompt -p {{config}} -c gone Second?\n%prompt -p {{config}} -c gone Third?", cell_id="two")
        assert _turns(kernel, "gone") == 3
        kernel.run("%prompt -p {{config}} -c gone Second?", cell_id="two")
        assert _turns(kernel, "gone") == 2
        kernel.run("%prompt --no-such-option", cell_id="two")
        assert _turns(kernel, "gone") == 2, "a mistake in the line changes nothing"
        kernel.run("1 + 1", cell_id="two")
        assert _turns(kernel, "gone") == 1


def _turns(kernel: Kernel, name: str) -> int:
    return int(kernel.run(f"print(len(session.conversation({name!r}).turns))").printed)


def test_a_cell_shows_its_exchange_once_and_another_cell_shows_it_again(kernel: Kernel) -> None:
    with Loopback(talk("Yes.")) as server:
        assert len(ask(kernel, server, "-o kept").outputs) == 1
        several = kernel.run("%prompt -p {{config}} -p {{config}} --new Really?")
    assert len(several.outputs) == 1
    again = kernel.run("kept")
    assert MIME in again.outputs[0]["data"]
    assert kernel.run("print(kept.text, type(_).__name__)").printed == "Yes. Exchange\n"


# ----------------------------------------------------------------------------------------------------------------------
# Completion


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%%prompt --temp", "--temperature"),
        ("%prompt -p anth", "anthropic"),
        ("%%prompt --compare chat_completions,anth", "chat_completions,anthropic_messages"),
        ("%%prompt --set temper", "temperature="),
        ("%%prompt\nWhat is {{my_uni", "my_unique_name"),
        ("%prompt {{ my_uni", "my_unique_name"),
        ("%stack re", "reset"),
        ("%%prompt -t my_fun", "my_function"),
    ],
)
def test_tab(kernel: Kernel, typed: str, offered: str) -> None:
    kernel.run("my_unique_name = 1\ndef my_function(): ...")
    assert offered in kernel.complete(typed)
