"""A prompt in each ipykernel of the matrix: it streams into one output, and the stop button ends it.

What more is promised of streams and signals stands in `test_prompting`, for the installed one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmneutral_widgets.exchange import MIME
from tests.kernels import INSTALLED, VERSIONS, environment, folder
from tests.loopback import HOLD, Loopback, streamed, talk
from tests.widgets.kernel import HTML, PLAIN, Kernel
from tests.widgets.magics.test_prompting import PAUSE, ask, serve, shows, the_error, words

WHICH = "import ipykernel; print(ipykernel.__version__, ipykernel.__file__)"


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def kernel(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(tmp_path_factory.mktemp("kernel"), **environment(version)) as made:
        assert made.run("%load_ext llmneutral").outputs == [], "loading says nothing"
        assert made.run("import llmneutral").error is None
        yield made


def test_it_is_this_ipykernel_that_runs(kernel: Kernel, version: str) -> None:
    told, file = kernel.run(WHICH).printed.split()
    assert told == version
    assert version == INSTALLED or Path(file).is_relative_to(folder(version))


def test_an_answer_grows_in_one_output(kernel: Kernel) -> None:
    frames: list[str] = []
    with Loopback(talk("Fine, thank you.", pause=PAUSE)) as server:
        ran = ask(kernel, server, seen=lambda m: frames.append(m["content"].get("data", {}).get(PLAIN, "")))
    assert ran.error is None
    (output,) = ran.outputs
    assert {*output["data"]} == {HTML, PLAIN, MIME}
    assert output["data"][MIME]["response"]["text"] == "Fine, thank you."
    assert "answering, 8 characters so far" in "\n".join(frames), "it was shown while it came"


def test_two_answers_come_in_threads_and_both_are_shown(kernel: Kernel) -> None:
    with Loopback(lambda request: talk(f"I am {request.json['model']}.")(request)) as server:
        serve(kernel, server)
        kernel.run("other = config.evolve(model='n')")
        ran = kernel.run("%prompt -p {{config}} -p {{other}} --new Who are you?")
    assert (ran.error, ran.printed) == (None, "")
    assert [each in ran.html for each in ("I am m.", "I am n.")] == [True, True]


def test_the_stop_button_ends_it_and_the_cells_that_wait(kernel: Kernel) -> None:
    with Loopback(streamed([*words(3), HOLD], pause=PAUSE), talk("Fine.")) as server:
        serve(kernel, server)
        stop = kernel.interrupted_when(shows("word word word"))
        first = kernel.send("%%prompt -p {{config}} --new\nHow are you?")
        second = kernel.send("%prompt -p {{config}} And then?")
        ran = kernel.wait(first, stop)
        assert stop.at is not None
        seconds = time.monotonic() - stop.at
        assert kernel.wait(second).error == "aborted"
        assert server.closes(5.0), "the connection is closed"
        assert len(server.requests) == 1
        again = kernel.run("%prompt -p {{config}} Go on.")
    assert seconds < 5, "not when the provider speaks: it never does"
    assert ran.error == "KeyboardInterrupt"
    assert the_error(ran) == ["KeyboardInterrupt: the answer was stopped; what had come is kept"]
    record = ran.data(MIME)
    assert (record["status"], record["response"]["text"]) == ("interrupted", "word word word ")
    assert again.data(MIME)["response"]["text"] == "Fine."
    assert [message["role"] for message in server.requests[1].json["messages"]] == ["user", "assistant", "user"]


SILENT = {
    "arun": "await config.prompt_driver.arun('Hi')",
    "arun of a stream": "await config.prompt_driver.arun('Hi', stream=True)",
    "shown": "await show(config.prompt_driver.astream('Hi'))",
    "in a task": "await asyncio.gather(config.prompt_driver.arun('Hi'), asyncio.sleep(12))",
    "no question": "print('asleep'); await asyncio.sleep(12)",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_the_stop_button_ends_a_cell_that_awaits_what_is_silent(kernel: Kernel, code: str) -> None:
    """The loop of such a cell sleeps until something comes: the press alone would be heard when the provider speaks."""
    with Loopback(streamed([HOLD], delay=12.0)) as server:
        serve(kernel, server)
        kernel.run("import asyncio; show = llmneutral.widgets.show")
        sent = kernel.send(code)
        assert "asleep" in code or server.asked(20.0)
        time.sleep(0.7)
        kernel.interrupt()
        at = time.monotonic()
        ran = kernel.wait(sent)
        seconds = time.monotonic() - at
        assert server.closes(5.0), "the connection is closed"
    assert ran.error == "CancelledError"
    assert seconds < 6, "not when the provider speaks, after twelve"
    assert kernel.run("1 + 1").plain == "2"


def test_no_beat_is_left_when_the_cell_has_ended(kernel: Kernel) -> None:
    kernel.run("import asyncio; loop = asyncio.get_running_loop()")
    beats = "sum('Heartbeat' in repr(each) and not each.cancelled() for each in loop._scheduled)"
    assert kernel.run(f"await asyncio.sleep(0.25)\n{beats}").plain == "1"
    assert kernel.run(beats).plain == "0", "nor has a cell one that awaits nothing"
