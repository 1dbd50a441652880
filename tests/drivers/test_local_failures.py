"""How the embedded model says that it cannot start: one sentence each. Nothing here needs the engine or the model."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from llmneutral.drivers import local_server
from llmneutral.drivers.local_server import LocalServer, LocalSettings
from llmneutral.errors import (
    ConfigurationError,
    LLMNeutralError,
    MissingExtraError,
    ProviderConnectionError,
    ProviderTimeoutError,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"port": 70000}, "port"),
        ({"n_ctx": 0}, "n_ctx"),
        ({"n_parallel": 0}, "n_parallel"),
        ({"n_threads": "2"}, "n_thr"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigurationError, match=word):
        LocalSettings(**settings)


def test_a_server_that_does_not_run_has_no_address() -> None:
    with pytest.raises(ConfigurationError, match="not running"):
        _ = LocalServer().base_url


@pytest.fixture
def own_model(tmp_path: Path) -> LocalSettings:
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF")
    return LocalSettings(model=str(file))


def test_a_missing_engine_names_the_extra(monkeypatch: pytest.MonkeyPatch, own_model: LocalSettings) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"xllamacpp is not installed.*llmneutral\[local\]") as caught:
        LocalServer(own_model).start()
    assert caught.value.extra == "local"


def start_with_child(
    code: str, settings: LocalSettings, monkeypatch: pytest.MonkeyPatch, timeout: float = 20
) -> LLMNeutralError:
    """Start with a child process of our own writing; return the error that must come of it."""
    children: list[subprocess.Popen[bytes]] = []

    def spawn(*, quiet: bool) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-S", "-c", code]
        children.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return children[0]

    monkeypatch.setattr(local_server, "_spawn", spawn)
    with pytest.raises(LLMNeutralError) as caught:
        LocalServer(settings, start_timeout=timeout).start()
    assert children[0].returncode is not None, "the child must be gone"
    return caught.value


@posix
def test_a_processor_without_avx2_is_told(monkeypatch: pytest.MonkeyPatch, own_model: LocalSettings) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    error = start_with_child(code, own_model, monkeypatch)
    assert isinstance(error, ConfigurationError)
    assert "AVX2" in str(error)
    assert "Ollama" in str(error)


def test_a_child_that_ends_at_once_is_told(monkeypatch: pytest.MonkeyPatch, own_model: LocalSettings) -> None:
    error = start_with_child("raise SystemExit(3)", own_model, monkeypatch)
    assert isinstance(error, ProviderConnectionError)
    assert "exit status 3" in str(error)


def test_an_engine_that_cannot_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch, own_model: LocalSettings) -> None:
    answer = {"ok": False, "reason": "ImportError", "error": "GLIBC_2.38 not found"}
    error = start_with_child(f"print({json.dumps(answer)!r})", own_model, monkeypatch)
    assert isinstance(error, MissingExtraError)
    assert "GLIBC_2.38 not found" in str(error)


def test_a_child_that_says_nothing_is_ended(monkeypatch: pytest.MonkeyPatch, own_model: LocalSettings) -> None:
    started = time.perf_counter()
    error = start_with_child("import sys; sys.stdin.read()", own_model, monkeypatch, timeout=0.3)
    assert isinstance(error, ProviderTimeoutError)
    assert time.perf_counter() - started < 3


@posix
def test_a_child_that_will_not_end_is_killed(monkeypatch: pytest.MonkeyPatch, own_model: LocalSettings) -> None:
    monkeypatch.setattr(local_server, "_GRACE_SECONDS", 0.2)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    assert isinstance(start_with_child(code, own_model, monkeypatch, timeout=0.5), ProviderTimeoutError)
