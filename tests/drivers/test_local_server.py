"""The life of the embedded model's process: start, stop, who can kill it and who cannot.

What the model answers stands in `test_local_protocols.py`, how failures are told in `test_local_failures.py`.
"""

from __future__ import annotations

import contextlib
import gc
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from llmneutral.drivers import local_server, local_weights
from llmneutral.drivers.local_server import LocalServer, LocalSettings, shared_server, stop_shared
from llmneutral.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
live = pytest.mark.live
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of POSIX")
SMALL = LocalSettings(n_ctx=512, n_parallel=1)


@pytest.fixture(autouse=True)
def no_shared_server_left() -> Iterator[None]:
    yield
    stop_shared()


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer(SMALL) as running:
        yield running


def ask(server: LocalServer, *, key: str | None = None, tokens: int = 1, timeout: float = 30) -> tuple[int, Any]:
    """One small request without an SDK: the status and the body."""
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": tokens, "ignore_eos": tokens > 100}
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=timeout)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def wait_until(condition: Any, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@contextlib.contextmanager
def python(code: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Another Python that runs this code, with the library on its path; ended in any case."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environ", {})}
    options |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env=environ, text=True, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


# ----------------------------------------------------------------------------------------------------------------------
# Start and stop


@live
def test_starts_answers_and_stops() -> None:
    server = LocalServer(SMALL)
    assert not server.running
    assert server.start() is server
    pid = server.pid
    assert pid is not None
    assert server.running
    assert ask(server, key=server.api_key)[0] == 200
    assert server.start().pid == pid, "a running server is left alone"
    server.stop()
    assert not server.running
    assert server.pid is None
    assert is_gone(pid)
    server.stop()


@live
def test_restart_keeps_the_key() -> None:
    with LocalServer(SMALL) as server:
        before, key = server.pid, server.api_key
        server.restart()
        assert server.pid != before
        assert server.api_key == key
        assert ask(server, key=key)[0] == 200


@live
def test_two_servers_know_nothing_of_each_other(server: LocalServer) -> None:
    with LocalServer(SMALL) as other:
        assert other.base_url != server.base_url
        assert ask(other, key=other.api_key)[0] == 200
        assert ask(other, key=server.api_key)[0] == 401
    assert ask(server, key=server.api_key)[0] == 200


@live
def test_a_forgotten_server_is_stopped() -> None:
    server = LocalServer(SMALL).start()
    pid = server.pid
    assert pid is not None
    del server
    gc.collect()
    assert wait_until(lambda: is_gone(pid))


@live
def test_an_interrupt_while_starting_leaves_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    server = LocalServer(SMALL)
    pids: list[int | None] = []

    def interrupt() -> None:
        pids.append(server.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "_warm_up", interrupt)
    with pytest.raises(KeyboardInterrupt):
        server.start()
    assert not server.running
    assert pids[0] is not None
    assert is_gone(pids[0])


@live
def test_threads_that_start_at_once_share_one_child() -> None:
    server, pids = LocalServer(SMALL), []
    threads = [threading.Thread(target=lambda: pids.append(server.start().pid)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len(pids) == 4
        assert len({*pids}) == 1
    finally:
        server.stop()


@live
def test_stops_at_once_with_a_request_in_flight() -> None:
    with LocalServer(SMALL) as server:
        outcome: list[Any] = []

        def long_request() -> None:
            try:
                outcome.append(ask(server, key=server.api_key, tokens=400))
            except (OSError, http.client.HTTPException) as error:
                outcome.append(error)

        thread = threading.Thread(target=long_request)
        thread.start()
        time.sleep(0.3)
        assert not outcome, "the request must still be running"
        started = time.perf_counter()
        server.stop()
        seconds = time.perf_counter() - started
        thread.join(5)
        assert seconds < 1
        assert isinstance(outcome[0], (OSError, http.client.HTTPException))


# ----------------------------------------------------------------------------------------------------------------------
# The shared server


@live
def test_one_shared_server_for_each_setting() -> None:
    first = shared_server(SMALL)
    assert shared_server(LocalSettings(n_ctx=512, n_parallel=1)) is first
    other = shared_server(LocalSettings(n_ctx=256, n_parallel=1))
    assert other is not first
    stop_shared()
    assert (first.running, other.running) == (False, False)


@live
def test_a_killed_shared_server_comes_back() -> None:
    server = shared_server(SMALL)
    before = server.pid
    psutil.Process(before).kill()
    assert wait_until(lambda: not server.running)
    assert shared_server(SMALL) is server
    assert server.pid != before
    assert ask(server, key=server.api_key)[0] == 200


# ----------------------------------------------------------------------------------------------------------------------
# Who may talk to it


@live
def test_listens_on_loopback_only(server: LocalServer) -> None:
    assert server.pid is not None
    listening = [c.laddr.ip for c in psutil.Process(server.pid).net_connections() if c.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]


@live
@pytest.mark.parametrize("key", [None, "wrong"])
def test_refuses_a_request_without_the_key(server: LocalServer, key: str | None) -> None:
    assert ask(server, key=key)[0] == 401


@live
def test_the_key_stands_in_no_process_list(server: LocalServer) -> None:
    assert server.pid is not None
    child = psutil.Process(server.pid)
    assert server.api_key not in " ".join([*child.cmdline(), *child.environ().values()])


@live
def test_says_nothing_on_stderr() -> None:
    code = f"from llmneutral.drivers.local_server import *\nwith LocalServer({SMALL!r}): pass"
    with python(code) as process:
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0


@live
def test_starts_behind_a_proxy_and_beside_shadowing_files(tmp_path: Path) -> None:
    """Neither HTTP_PROXY nor a json.py in the notebook's folder may reach the model's process."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    code = (
        "import sys; sys.path.remove('')\nfrom llmneutral.drivers.local_server import *\n"
        f"with LocalServer({SMALL!r}) as server: print(server.running)"
    )
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    with python(code, cwd=tmp_path, environ=proxies) as process:
        assert process.communicate(timeout=30) == ("True\n", "")


# ----------------------------------------------------------------------------------------------------------------------
# Who may end it

SERVING = f"""
import sys, time, os, signal, threading
from llmneutral.drivers.local_server import LocalServer, LocalSettings
server = LocalServer({SMALL!r}).start()
print(server.pid, flush=True)
"""


@live
@posix
def test_a_killed_parent_takes_the_model_along() -> None:
    with python(SERVING + "time.sleep(60)") as process:
        pid = int(told(process))
        process.send_signal(signal.SIGKILL)
        assert wait_until(lambda: is_gone(pid), 2)


@live
def test_the_model_ends_when_python_ends_though_a_request_runs() -> None:
    code = """
def ask():
    import http.client, json
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=60)
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 400, "ignore_eos": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"x-api-key": server.api_key})
    connection.getresponse()
threading.Thread(target=ask, daemon=True).start()
time.sleep(0.3)
"""
    with python(SERVING + code) as process:
        pid = int(told(process))
        assert process.wait(10) == 0
        assert is_gone(pid)


@live
@posix
def test_an_interrupt_of_the_process_group_does_not_reach_the_model() -> None:
    code = """
try:
    print("waiting", flush=True)  # an interrupt before this would end the script
    time.sleep(60)
except KeyboardInterrupt:
    print(server.running, flush=True)
    server._warm_up()
    print("answered", flush=True)
"""
    with python(SERVING + code, start_new_session=True) as process:
        assert int(told(process))
        assert told(process) == "waiting"
        os.killpg(process.pid, signal.SIGINT)
        assert [told(process), told(process)] == ["True", "answered"]


@live
@posix
def test_a_forked_copy_may_use_the_model_and_cannot_stop_it() -> None:
    code = """
child = os.fork()
if child == 0:
    server._warm_up()
    print("copy", server.running, server.start() is server, server.pid, flush=True)
    server.stop()
    print("copy", server.running, flush=True)
    os._exit(0)
os.waitpid(child, 0)
server._warm_up()
print("owner", server.running, flush=True)
"""
    with python(SERVING + code) as process:
        told(process)
        assert told(process) == "copy True True None"
        assert told(process) == "copy False"
        assert told(process) == "owner True"


@live
@posix
def test_the_model_does_not_outlive_its_owner_for_a_forked_copy() -> None:
    code = """
copy = os.fork()
if copy == 0:
    time.sleep(60)
    os._exit(0)
print(copy, flush=True)
time.sleep(60)
"""
    with python(SERVING + code) as process:
        pid, copy = int(told(process)), int(told(process))
        try:
            process.send_signal(signal.SIGKILL)
            assert wait_until(lambda: is_gone(pid), 2)
        finally:
            os.kill(copy, signal.SIGKILL)


# ----------------------------------------------------------------------------------------------------------------------
# A model of the user's own


@live
def test_another_gguf_file_is_named_by_its_file(tmp_path: Path) -> None:
    own = tmp_path / "my-model.gguf"
    own.symlink_to(local_weights.path())
    with LocalServer(LocalSettings(model=str(own), n_ctx=512, n_parallel=1)) as server:
        assert server.model == "my-model"
        assert ask(server, key=server.api_key)[1]["model"] == "my-model"


@live
def test_a_broken_model_file_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ConfigurationError, match=r"could not load .*broken\.gguf"):
        LocalServer(LocalSettings(model=str(broken))).start()


@live
def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} is taken"):
            LocalServer(LocalSettings(port=port, n_ctx=512)).start()


# ----------------------------------------------------------------------------------------------------------------------
# What the process is started with; needs neither engine nor model


def test_the_child_finds_sources_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIP_MODE", "PREDICTION")
    environ = local_server._child_environment()
    assert str(ROOT) in environ["PYTHONPATH"].split(os.pathsep)
    assert "AIP_MODE" not in environ
    assert (environ["OMP_WAIT_POLICY"], environ["PYTHONSAFEPATH"]) == ("passive", "1")


def test_importing_it_loads_no_engine_and_no_sdk() -> None:
    code = "import sys, llmneutral.drivers.local_server as _; print(*sys.modules)"
    with python(code) as process:
        loaded = process.communicate(timeout=30)[0].split()
    assert [name for name in ("xllamacpp", "numpy", "openai", "anthropic", "pydantic") if name in loaded] == []
