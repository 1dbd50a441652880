"""The child process and its lines: who is answered, and when it ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from llmneutral import ConfigurationError, InvalidRequestError, ProviderConnectionError, ServerError
from llmneutral.drivers.codex_process import GONE, CodexProcess, Wire, rpc_error
from tests.drivers.codex_script import Scene, answer


def ends(pid: int, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_it_ends_with_close_and_leaves_no_folder(scene: Scene) -> None:
    process = CodexProcess(scene.command())
    assert process.running
    process.close()
    assert not process.running
    assert ends(process.pid)
    assert not os.path.exists(process.folder)
    process.close()
    with pytest.raises(ProviderConnectionError, match="has ended"):
        process.request("model/list", {})


def test_it_ends_when_nobody_holds_it(scene: Scene) -> None:
    process = CodexProcess(scene.command())
    pid = process.pid
    del process
    gc.collect()
    assert ends(pid)


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGKILL)"], ids=["exit", "kill"])
def test_it_ends_with_the_program(scene: Scene, end: str) -> None:
    program = (
        "import os, signal\nfrom llmneutral.drivers.codex_process import CodexProcess\n"
        f"process = CodexProcess({scene.command()!r})\nprint(process.pid, flush=True)\n{end}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == (-signal.SIGKILL if end else 0), done.stderr
    assert ends(int(done.stdout))


def test_a_program_that_is_no_app_server_says_its_last_words() -> None:
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.exit('unknown command app-server')"]
    with pytest.raises(ConfigurationError, match=r"did not start: .*unknown command app-server.*too old"):
        CodexProcess(command)


def test_every_answer_goes_to_whoever_asked() -> None:
    import queue

    wire = Wire()
    mine: queue.SimpleQueue[object] = queue.SimpleQueue()
    wire.waiting[1], wire.threads["t"] = mine, mine
    assert wire.take({"id": 1, "result": {}})
    assert wire.take({"method": "a", "params": {"threadId": "t"}})
    assert wire.take({"method": "a", "params": {"threadId": "another"}})  # a notification may be passed over
    assert wire.take({"id": 99, "result": {}})
    assert wire.take({"id": ["no", "number"], "result": {}})
    assert not wire.take({"id": 2, "method": "ask", "params": {"threadId": "another"}})  # a request may not
    assert not wire.take({"id": 3, "method": "account/chatgptAuthTokens/refresh"})
    wire.end()
    got = [mine.get_nowait() for _ in range(mine.qsize())]
    assert got == [{"id": 1, "result": {}}, {"method": "a", "params": {"threadId": "t"}}, GONE]


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-32600, InvalidRequestError), (-32602, InvalidRequestError), (-32601, ConfigurationError), (-32603, ServerError)],
)
def test_refusals_in_the_terms_of_the_taxonomy(code: int, kind: type[Exception]) -> None:
    error = rpc_error("turn/start", {"code": code, "message": "no"})
    assert isinstance(error, kind)
    assert not error.retryable
    assert "turn/start: no" in error.message


def test_a_refused_request(scene: Scene) -> None:
    errors = {"thread/start": {"code": -32600, "message": "bad cwd"}}
    process = CodexProcess(scene.command(answer(), errors=errors))
    try:
        with pytest.raises(InvalidRequestError, match="bad cwd"):
            process.request("thread/start", {})
    finally:
        process.close()


def test_log_of_the_end_is_kept_until_it_is_closed(scene: Scene) -> None:
    process = CodexProcess(scene.command())
    told: Callable[[], ProviderConnectionError] = process.lost
    assert told().raw_type == "process_ended"
    process.close()
    assert told().message == "the process has ended"
