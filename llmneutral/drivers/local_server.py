"""Starts and stops the embedded model: llama.cpp's HTTP server in a child process of this one.

```python
with LocalServer() as server:
    openai.OpenAI(base_url=server.openai_base_url, api_key=server.api_key, default_headers=CLIENT_HEADERS, ...)
    anthropic.Anthropic(base_url=server.base_url, api_key=server.api_key, default_headers=CLIENT_HEADERS, ...)
```

The server answers on the three paths `/v1/chat/completions`, `/v1/responses` and `/v1/messages`, on 127.0.0.1 only and
with a key of its own. It lives in a child process because llama.cpp inside the user's process can hold the
interpreter's lock for seconds, never return from its destructor, and take the user's variables along when it aborts.

What must hold: the child never outlives its parent (it leaves when its stdin ends, which also a SIGKILL brings about);
an interrupt meant for the user's code does not reach it (it has a session of its own); a forked copy of this process
may use the server and cannot stop it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn, Self

import msgspec

from llmneutral.drivers import local_weights
from llmneutral.drivers.local_template import chat_template
from llmneutral.errors import ConfigurationError, MissingExtraError, ProviderConnectionError, ProviderTimeoutError

#: Headers every client must send. The server closes kept-alive connections after a stream without saying so, and the
#: next request on one of them fails.
CLIENT_HEADERS = {"Connection": "close"}

_CHILD_MODULE = "llmneutral.drivers.local_child"
_NO_AVX2 = {-4, 0xC000001D}  # SIGILL; Windows' STATUS_ILLEGAL_INSTRUCTION
_GRACE_SECONDS = 1.0
# DRY sampling breaks the loops of a very small model: a repeat longer than three tokens costs.
_DRY = {"dry_multiplier": 0.8, "dry_allowed_length": 3, "dry_penalty_last_n": 256}


class LocalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedded server is started with.

    Attributes:
        model: Path of a GGUF file; None takes what `local_weights.path` finds.
        port: TCP port on 127.0.0.1; 0 lets the system choose a free one.
        n_ctx: Context of one conversation in tokens, prompt and answer; the embedded model can do 8192.
        n_parallel: Requests answered at the same time; further ones wait.
        n_threads: Threads that compute; None leaves one core free and takes at most four.
        chat_template: Jinja source; None is ours for the embedded model and the file's own for another one.
        cache_prompt: Keep what a conversation has in common with the one before. Faster; without it, temperature 0 or
            a seed gives the same bytes every time.
        temperature: For requests that name none; None is 0 for the embedded model and llama.cpp's default for another.
        seed: For requests that name none.
        max_tokens: Most tokens of an answer, for requests that name none: a very small model may never come to an end.
        cache_ram_mib: Memory for saved prompts, in MiB.
        sse_ping_interval: Seconds of silence after which a stream gets a comment line.
        verbosity: What llama.cpp says on stderr: 0 nothing, 1 errors, 2 warnings, 3 everything.
    """

    model: str | None = None
    port: int = 0
    n_ctx: int = 4096
    n_parallel: int = 2
    n_threads: int | None = None
    chat_template: str | None = None
    cache_prompt: bool = True
    temperature: float | None = None
    seed: int = 42
    max_tokens: int = 1024
    cache_ram_mib: int = 64
    sse_ping_interval: int = 15
    verbosity: int = 0

    def __post_init__(self) -> None:
        limits: dict[str, tuple[object, int, int]] = {
            "port": (self.port, 0, 65535),
            "n_ctx": (self.n_ctx, 64, 1 << 24),
            "n_parallel": (self.n_parallel, 1, 64),
            "max_tokens": (self.max_tokens, 1, 1 << 24),
            "n_threads": (1 if self.n_threads is None else self.n_threads, 1, 1024),
            "verbosity": (self.verbosity, 0, 5),
        }
        for name, (value, least, most) in limits.items():
            if not isinstance(value, int) or not least <= value <= most:
                raise ConfigurationError(f"{name}={value!r} cannot be: the embedded model takes {least} to {most}")


class LocalServer:
    """One embedded model in one child process; safe to share between threads.

    A context manager. A server that is no longer referenced is stopped, and so is every server when Python exits.

    Args:
        settings: How to start; None takes the defaults.
        api_key: What clients must send, as `Authorization: Bearer` or `x-api-key`; made up if None.
        start_timeout: Seconds the model may take to load and answer once.

    Attributes:
        api_key: The key; it stays the same over a restart.
        settings: What the server is started with.
    """

    def __init__(
        self, settings: LocalSettings | None = None, *, api_key: str | None = None, start_timeout: float = 60.0
    ) -> None:
        self.settings = settings or LocalSettings()
        self.api_key = api_key or "local-" + secrets.token_urlsafe(24)
        self._timeout = start_timeout
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._address: str | None = None
        self._model = local_weights.SMOLLM2.name
        _servers.add(self)

    def __repr__(self) -> str:
        return f"LocalServer({self._address or 'not running'})"

    # -- life cycle

    def start(self) -> Self:
        """Starts the model and waits until it answers; nothing happens where it runs already.

        Raises:
            MissingExtraError: The engine is not installed.
            ConfigurationError: There is no model, it cannot be loaded, or the engine cannot run on this machine.
            ProviderTimeoutError: It did not answer in time.
        """
        with self._lock:
            if self.running:
                return self
            self.stop()
            settings = self._child_settings()
            process = _spawn(quiet=self.settings.verbosity == 0)
            self._process, self._end = process, weakref.finalize(self, _end_process, process, os.getpid())
            try:
                self._address = _address_of(process, settings, self._timeout)
                self._warm_up()
            except BaseException:  # an interrupt must not leave a child behind either
                self.stop()
                raise
            return self

    def stop(self) -> None:
        """Stops the model at once, whatever it is doing; nothing happens where it does not run.

        In a forked copy of the process that started it, the server is only forgotten.
        """
        with self._lock:
            end, self._end, self._process, self._address = self._end, None, None, None
            if end is not None:
                end()

    def restart(self) -> Self:
        """Stops and starts; the key stays, the address may change."""
        with self._lock:
            self.stop()
            return self.start()

    @property
    def running(self) -> bool:
        """Whether the model can be asked now."""
        process, address = self._process, self._address
        if address is None:
            return False
        if process is None:  # inherited by a fork: not ours to wait for
            return _is_listening(address)
        return process.poll() is None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    # -- what a driver needs

    @property
    def base_url(self) -> str:
        """The address without `/v1`, as the anthropic SDK wants it."""
        address = self._address
        if address is None:
            raise ConfigurationError("the embedded model is not running", hint="Call start() first.")
        return address

    @property
    def openai_base_url(self) -> str:
        """The address with `/v1`, as the openai SDK wants it."""
        return f"{self.base_url}/v1"

    @property
    def model(self) -> str:
        """The name that answers carry; requests may name any."""
        return self._model

    @property
    def pid(self) -> int | None:
        """The process id of the model, or None."""
        return self._process.pid if self._process is not None else None

    # -- inside

    def _child_settings(self) -> dict[str, Any]:
        chosen = self.settings
        model = local_weights.path(chosen.model)
        embedded = model.name == local_weights.SMOLLM2.file
        self._model = local_weights.SMOLLM2.name if embedded else model.stem
        temperature = 0.0 if chosen.temperature is None and embedded else chosen.temperature
        template = chat_template() if chosen.chat_template is None and embedded else chosen.chat_template
        return {
            **msgspec.structs.asdict(chosen),
            "model": str(model),
            "alias": self._model,
            "api_key": self.api_key,
            "n_threads": chosen.n_threads or _default_threads(),
            "chat_template": template,
            "sampling": {"seed": chosen.seed, "temp": temperature, **(_DRY if embedded else {})},
            "sys_path": [entry for entry in sys.path if entry],
        }

    def _warm_up(self) -> None:
        """Asks for one token: a model that answered once is loaded, and its main loop runs."""
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        try:
            status, answer = _post(self.base_url, "/v1/chat/completions", body, self.api_key, self._timeout)
        except TimeoutError:
            raise _timeout(self._timeout) from None
        except OSError as error:
            raise ProviderConnectionError(f"the embedded model did not answer after its start: {error}") from error
        if status != 200:
            raise ConfigurationError(f"the embedded model cannot answer (status {status}): {answer[:300]}")

    def _forget_after_fork(self) -> None:
        """Runs in a forked child: the lock may be held by a thread that does not exist here."""
        self._lock = threading.RLock()
        process, self._process = self._process, None
        if self._end is not None:
            self._end.detach()
            self._end = None
        if process is not None:
            process.returncode = 0  # not our child: nothing to wait for
            _close(process.stdin)  # with this copy open, the model would outlive its real parent


_servers: weakref.WeakSet[LocalServer] = weakref.WeakSet()
_shared: dict[LocalSettings, LocalServer] = {}
_shared_lock = threading.RLock()


def shared_server(settings: LocalSettings | None = None) -> LocalServer:
    """Returns this process's running server for these settings, started if need be.

    Drivers call it for every request: a model that was stopped or killed in between comes back.

    Raises:
        LLMNeutralError: As `LocalServer.start`.
    """
    settings = settings or LocalSettings()
    with _shared_lock:
        server = _shared.get(settings)
        if server is None:
            server = _shared[settings] = LocalServer(settings)
    return server.start()


def stop_shared() -> None:
    """Stops every shared server of this process; the next `shared_server` starts anew."""
    with _shared_lock:
        servers = list(_shared.values())
        _shared.clear()
    for server in servers:
        server.stop()


def _after_fork_in_child() -> None:
    global _shared_lock
    _shared_lock = threading.RLock()
    for server in list(_servers):
        server._forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


# -- the child process, seen from outside


def _default_threads() -> int:
    """Leaves a core free: threads that wait for one another beside a busy process are many times slower than one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(4, cores - 1))


def _spawn(*, quiet: bool) -> subprocess.Popen[bytes]:
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtraError(package="xllamacpp", extra="local", hint=_ENGINE_HINT)
    if not sys.executable:
        raise ConfigurationError("the embedded model needs a Python to run in, and sys.executable is empty")
    options: dict[str, Any] = {"start_new_session": True}  # Jupyter's interrupt goes to the kernel's process group
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return subprocess.Popen(
        [sys.executable, "-m", _CHILD_MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        env=_child_environment(),
        **options,
    )


_ENGINE_HINT = (
    "pip install 'llmneutral[local]' (wheels: Linux with glibc, macOS 13 or newer, Windows on x86-64); elsewhere use "
    "Ollama (OllamaDriversConfig) or a provider's key."
)


def _child_environment() -> dict[str, str]:
    environ = dict(os.environ)
    environ["OMP_WAIT_POLICY"] = "passive"  # read when libgomp is loaded; spinning threads starve their neighbours
    environ["PYTHONSAFEPATH"] = "1"  # a json.py beside the user's notebook must not be ours
    environ.pop("AIP_MODE", None)  # llama.cpp would take its port from AIP_HTTP_PORT
    home = Path(__file__).parents[2]
    if home.name not in ("site-packages", "dist-packages"):  # not installed: run from a folder of sources
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [environ.get("PYTHONPATH"), str(home)]))
    return environ


def _address_of(process: subprocess.Popen[bytes], settings: dict[str, Any], timeout: float) -> str:
    """Hands over the settings and waits for the address."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):  # a child that died already is reported below
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
    lines: list[bytes] = []
    stdout = process.stdout
    reader = threading.Thread(target=lambda: lines.append(stdout.readline()), daemon=True)
    reader.start()
    reader.join(timeout)
    if not lines:
        raise _timeout(timeout)
    if not lines[0]:
        _explain_death(process)
    answer = json.loads(lines[0])
    if not answer["ok"]:
        _explain_refusal(answer, settings)
    return str(answer["address"])


def _explain_death(process: subprocess.Popen[bytes]) -> NoReturn:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    if process.returncode in _NO_AVX2:
        raise ConfigurationError(
            "this processor cannot run the embedded model: its engine's wheel needs AVX2, FMA, F16C and BMI2",
            hint="Use Ollama (OllamaDriversConfig), a provider's key, or build xllamacpp from source.",
        )
    raise ProviderConnectionError(
        f"the embedded model's process ended while starting (exit status {process.returncode})",
        hint=f"LocalSettings(verbosity=3) shows what llama.cpp says; else use {local_weights.ALTERNATIVES}.",
    )


def _explain_refusal(answer: dict[str, Any], settings: dict[str, Any]) -> NoReturn:
    if answer["reason"] in ("ImportError", "ModuleNotFoundError"):
        raise MissingExtraError(
            f"xllamacpp cannot be loaded: {answer['error']}", package="xllamacpp", extra="local", hint=_ENGINE_HINT
        )
    port = f" or port {settings['port']} is taken" if settings["port"] else ""
    raise ConfigurationError(
        f"llama.cpp could not load {settings['model']}{port}: {answer['error']}",
        hint="LocalSettings(verbosity=3) shows why; `llmneutral local install` brings the embedded model back.",
    )


def _timeout(seconds: float) -> ProviderTimeoutError:
    return ProviderTimeoutError(
        f"the embedded model did not answer within {seconds:g} s of its start",
        hint="The machine may be busy: try again, or give LocalServer a longer start_timeout.",
    )


def _end_process(process: subprocess.Popen[bytes], owner: int) -> None:
    """Ends the child: asks by closing its stdin, then insists. Does nothing in a forked copy of the owner."""
    if os.getpid() != owner:
        return
    _close(process.stdin)
    for insist in (None, process.terminate, process.kill):
        if insist is not None:
            insist()
        try:
            process.wait(_GRACE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            continue
    _close(process.stdout)  # only now: closing waits for whoever still reads from it


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()


@contextlib.contextmanager
def _connection(address: str, timeout: float) -> Iterator[Any]:
    """A plain connection; unlike urllib's it never goes through a proxy."""
    from http.client import HTTPConnection

    connection = HTTPConnection(address.removeprefix("http://"), timeout=timeout)
    try:
        yield connection
    finally:
        connection.close()


def _post(address: str, path: str, body: dict[str, Any], key: str, timeout: float) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **CLIENT_HEADERS}
    with _connection(address, timeout) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")


def _is_listening(address: str) -> bool:
    with _connection(address, _GRACE_SECONDS) as connection:
        try:
            connection.connect()
        except OSError:
            return False
        return True
