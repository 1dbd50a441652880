"""The child process of the embedded model: what it sets, and what it says when it cannot start. Needs no engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmneutral.drivers import local_child

SETTINGS: dict[str, Any] = {
    "model": "m.gguf",
    "alias": "m",
    "port": 0,
    "api_key": "key",
    "n_ctx": 1000,
    "n_parallel": 3,
    "n_threads": 2,
    "chat_template": "template",
    "verbosity": 0,
    "cache_ram_mib": 64,
    "cache_prompt": True,
    "max_tokens": 1024,
    "sse_ping_interval": 15,
    "sampling": {"seed": 7, "temp": None, "dry_multiplier": 0.8},
    "sys_path": [],
}


def engine_parameters(**optional: Any) -> SimpleNamespace:
    """What the engine's parameters look like in a release that has these optional names."""
    return SimpleNamespace(
        model=SimpleNamespace(path=""),
        cpuparams=SimpleNamespace(n_threads=0),
        sampling=SimpleNamespace(seed=0, temp=0.5),
        **optional,
    )


@pytest.mark.parametrize(
    ("name", "expected"), [("hostnames", ["127.0.0.1"]), ("hostname", "127.0.0.1")], ids=["new", "old"]
)
def test_listens_on_loopback_in_every_release(name: str, expected: Any) -> None:
    parameters = local_child._parameters(engine_parameters(**{name: None}), SETTINGS)
    assert getattr(parameters, name) == expected


def test_slots_share_the_context() -> None:
    assert local_child._parameters(engine_parameters(), SETTINGS).n_ctx == 3000


def test_closes_the_port_to_web_pages_where_the_release_can() -> None:
    parameters = local_child._parameters(engine_parameters(cors_origins="*", cors_credentials=True), SETTINGS)
    assert (parameters.cors_origins, parameters.cors_credentials) == ("localhost", False)


def test_leaves_out_what_the_release_does_not_know() -> None:
    parameters = local_child._parameters(engine_parameters(), SETTINGS)
    assert not hasattr(parameters, "cors_origins")
    assert not hasattr(parameters.sampling, "dry_multiplier")


def test_an_unset_sampling_value_keeps_the_engines() -> None:
    sampling = local_child._parameters(engine_parameters(), SETTINGS).sampling
    assert (sampling.seed, sampling.temp) == (7, 0.5)


def run_child(settings: dict[str, Any], engine: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a real child with an engine of our own writing."""
    (folder / "xllamacpp.py").write_text(engine)
    line = json.dumps(settings).encode() + b"\n"
    # -S: without site-packages, so that the folder below is the only place with an engine
    command = [sys.executable, "-S", "-m", local_child.__name__]
    root = Path(local_child.__file__).parents[2]
    return subprocess.run(command, input=line, capture_output=True, cwd=root, timeout=30, check=False)


def test_says_why_it_cannot_start(tmp_path: Path) -> None:
    engine = "print('noise')\nraise ImportError('libgomp.so.1: cannot open shared object file')"
    done = run_child({**SETTINGS, "sys_path": [str(tmp_path)]}, engine, tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "ok": False,
        "reason": "ImportError",
        "error": "libgomp.so.1: cannot open shared object file",
    }


def test_serves_until_stdin_ends_and_keeps_stdout_clean(tmp_path: Path) -> None:
    engine = """
import types
class CommonParams(types.SimpleNamespace):
    def __init__(self):
        super().__init__(model=types.SimpleNamespace(), cpuparams=types.SimpleNamespace(),
                         sampling=types.SimpleNamespace())
class Server:
    def __init__(self, parameters):
        print("noise", flush=True)
        self.listening_address = "http://127.0.0.1:1"
"""
    done = run_child({**SETTINGS, "sys_path": [str(tmp_path)]}, engine, tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"ok": True, "address": "http://127.0.0.1:1"}
    assert b"noise" in done.stderr
