"""The child process `codex app-server`, and the JSON-RPC spoken with it: one object a line, without `jsonrpc`.

Source: https://developers.openai.com/codex/app-server. The process belongs to one driver. One thread reads what it
says and hands it on: answers to whoever asked, everything about a conversation ("thread") to the queue of that
conversation. It ends when its stdin does, so also with the program that started it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import IO, Any

from llmneutral.errors import (
    ConfigurationError,
    LLMNeutralError,
    MissingExtraError,
    ProviderConnectionError,
    ProviderTimeoutError,
    provider_error,
)
from llmneutral.ir.jsontext import JSONObject, dumps, loads

LINE_LIMIT = 16 << 20
"""Bytes of the longest line that is read."""
GRACE = 1.0
"""Seconds the process has to leave by itself."""
START_TIMEOUT = 30.0
"""Seconds until it has to answer its first request."""
ANSWER_TIMEOUT = 60.0
"""Seconds until it has to answer any other; a turn is not waited for here."""
OVERLOADED, INVALID, NO_METHOD, BAD_PARAMS = -32001, -32600, -32601, -32602
INSTALL = "Install it (npm install -g @openai/codex), or name the program by command=[…]."
OUTDATED = "This codex may be too old, or too new: npm install -g @openai/codex@latest."

Lines = queue.SimpleQueue[Any]


class Gone:
    """Stands in a queue where the process has ended."""


GONE = Gone()


class Wire:
    """Who waits for what; the reading thread holds this and not the process, so that a forgotten process ends."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.dead = False
        self.waiting: dict[int, Lines] = {}
        self.threads: dict[str, Lines] = {}

    def take(self, message: JSONObject) -> bool:
        """Hands a message on; returns False for a request that nobody is there for."""
        if "method" not in message:
            number = message.get("id")
            with self.lock:
                asked = self.waiting.pop(number, None) if isinstance(number, int) else None
            if asked is not None:
                asked.put(message)
            return True
        params = message.get("params")
        about = params.get("threadId") if isinstance(params, dict) else None
        with self.lock:
            listening = self.threads.get(about) if isinstance(about, str) else None
        if listening is not None:
            listening.put(message)
        return listening is not None or "id" not in message

    def end(self) -> None:
        """Tells everybody that nothing more will come."""
        with self.lock:
            self.dead = True
            for each in (*self.waiting.values(), *self.threads.values()):
                each.put(GONE)
            self.waiting.clear()


class CodexProcess:
    """A running `codex app-server`, after its handshake.

    Args:
        command: The program and its first arguments; `app-server` is added.
        environment: Variables beside those of this process (`CODEX_HOME` …).
        version: What is told of the client.
        experimental: Whether parts of the protocol that may change are asked for (`dynamicTools`).

    Raises:
        MissingExtraError: If the program is not there.
        ConfigurationError: If it cannot be started, or ended at once.
        ProviderTimeoutError: If it did not answer in time.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        version: str = "0",
        experimental: bool = False,
    ) -> None:
        self.folder = tempfile.mkdtemp(prefix="llmneutral-codex-")
        self._told = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._wire = Wire()
        self._writing = threading.Lock()
        self._last_id = 0
        try:
            self._process = _spawned(command, environment, self._told)
        except BaseException:
            self._told.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._end = weakref.finalize(self, _end_process, self._process, self.folder, self._told, os.getpid())
        lines, wire, answer = self._process.stdout, self._wire, _Writer(self._process, self._writing)
        self._reader = threading.Thread(target=_read, args=(lines, wire, answer), name="llmneutral-codex", daemon=True)
        self._reader.start()
        try:
            self._greet(version, experimental)
        except BaseException:  # an interrupt must not leave a child behind either
            self.close()
            raise

    def _greet(self, version: str, experimental: bool) -> None:
        client = {"name": "llmneutral", "title": "llmneutral", "version": version}
        capabilities = {"capabilities": {"experimentalApi": True}} if experimental else {}
        try:
            self.about = self.request("initialize", {"clientInfo": client, **capabilities}, START_TIMEOUT)
        except ProviderConnectionError as error:
            raise ConfigurationError(f"codex app-server did not start: {error.message}", hint=OUTDATED) from None
        self.notify("initialized")

    @property
    def running(self) -> bool:
        """Whether it can be asked now."""
        return not self._wire.dead and self._end.alive and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def request(self, method: str, params: JSONObject, timeout: float = ANSWER_TIMEOUT) -> JSONObject:
        """Asks, and returns the result.

        Raises:
            ProviderError: If it answers with an error, in the taxonomy's terms; a timeout, or its end.
        """
        answer: Lines = queue.SimpleQueue()
        with self._wire.lock:
            if self._wire.dead:
                raise self.lost()
            self._last_id += 1
            number = self._last_id
            self._wire.waiting[number] = answer
        self._write({"id": number, "method": method, "params": params})
        try:
            message = answer.get(timeout=timeout)
        except queue.Empty:
            raise ProviderTimeoutError(
                f"codex app-server did not answer {method} in {timeout:g} s", retryable=False
            ) from None
        finally:
            with self._wire.lock:
                self._wire.waiting.pop(number, None)
        if message is GONE:
            raise self.lost()
        if (refused := message.get("error")) is not None:
            raise rpc_error(method, refused)
        result = message.get("result")
        return result if isinstance(result, dict) else {}

    def notify(self, method: str, params: JSONObject | None = None) -> None:
        """Tells something that has no answer."""
        self._write({"method": method} if params is None else {"method": method, "params": params})

    def ask_only(self, method: str, params: JSONObject) -> None:
        """Asks without waiting; what is answered concerns nobody."""
        with self._wire.lock:
            self._last_id += 1
            number = self._last_id
        with contextlib.suppress(LLMNeutralError):
            self._write({"id": number, "method": method, "params": params})

    def answer(self, number: Any, result: JSONObject) -> None:
        """Answers a request of the process."""
        self._write({"id": number, "result": result})

    def refuse(self, number: Any, method: str) -> None:
        """Answers a request of the process that is not known here."""
        self._write(_unknown(number, method))

    def listen(self, thread_id: str) -> Lines:
        """Returns the queue of what is said about a conversation from now on."""
        found: Lines = queue.SimpleQueue()
        with self._wire.lock:
            self._wire.threads[thread_id] = found
            if self._wire.dead:
                found.put(GONE)
        return found

    def forget(self, thread_id: str) -> None:
        """Ends the listening, and lets the process drop the conversation."""
        with self._wire.lock:
            self._wire.threads.pop(thread_id, None)
        self.ask_only("thread/unsubscribe", {"threadId": thread_id})

    def lost(self) -> ProviderConnectionError:
        """Returns the error for its end, with the last words of its log."""
        said = self._last_words()
        return ProviderConnectionError(
            f"the process has ended{f': {said}' if said else ''}", raw_type="process_ended", retryable=False
        )

    def close(self) -> None:
        """Ends it at once, and what it had started."""
        self._end()
        if self._reader is not threading.current_thread():
            self._reader.join(GRACE)

    def _write(self, message: JSONObject) -> None:
        try:
            _Writer(self._process, self._writing)(message)
        except (OSError, ValueError):  # its end of the pipe, or ours, is closed
            raise self.lost() from None

    def _last_words(self) -> str:
        try:
            size = self._told.seek(0, os.SEEK_END)
            self._told.seek(max(0, size - 2000))
            text = self._told.read().decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""
        return text.strip().splitlines()[-1][-300:] if text.strip() else ""


class _Writer:
    """Writes one message a line."""

    def __init__(self, process: subprocess.Popen[bytes], lock: threading.Lock) -> None:
        self._pipe = process.stdin
        self._lock = lock

    def __call__(self, message: JSONObject) -> None:
        assert self._pipe is not None
        line = dumps(message).encode() + b"\n"
        with self._lock:
            self._pipe.write(line)
            self._pipe.flush()


def rpc_error(method: str, refused: Any) -> LLMNeutralError:
    """Returns the error of an answer `{code, message}`."""
    facts = refused if isinstance(refused, dict) else {}
    code, said = facts.get("code"), str(facts.get("message") or refused)
    message = f"codex app-server refused {method}: {said}"
    if code == NO_METHOD:
        return ConfigurationError(message, code=code, hint=OUTDATED)
    if code == OVERLOADED:
        return provider_error("overloaded_error", message, code=code, retryable=True)
    kind = "invalid_request_error" if code in (INVALID, BAD_PARAMS) else "server_error"
    return provider_error(kind, message, code=code, retryable=False)


def _spawned(command: Sequence[str], environment: Mapping[str, str] | None, log: IO[bytes]) -> subprocess.Popen[bytes]:
    program = shutil.which(command[0])
    if program is None:
        raise MissingExtraError(f"the program {command[0]!r} is not there", package="codex", hint=INSTALL)
    try:
        return subprocess.Popen(
            [program, *command[1:], "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl-C in a terminal is for the program, which then interrupts the turn
        )
    except OSError as error:
        raise ConfigurationError(f"{program} cannot be started: {error}", hint=INSTALL) from error


def _read(lines: Any, wire: Wire, answer: _Writer) -> None:
    """Reads until the process ends; what is no JSON object is passed over."""
    try:
        while line := lines.readline(LINE_LIMIT):
            try:
                message = loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and not wire.take(message):
                answer(_unknown(message["id"], str(message["method"])))
    except (OSError, ValueError):  # the pipe was closed
        pass
    finally:
        wire.end()
        lines.close()


def _unknown(number: Any, method: str) -> JSONObject:
    return {"id": number, "error": {"code": NO_METHOD, "message": f"{method} is not supported by llmneutral"}}


def _end_process(process: subprocess.Popen[bytes], folder: str, log: IO[bytes], owner: int) -> None:
    """Ends a process and its group; in a forked copy of the owner it is not ours to end."""
    if os.getpid() != owner:
        return
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    until = time.monotonic() + GRACE
    while not _has_left(process) and time.monotonic() < until:
        time.sleep(0.01)
    with contextlib.suppress(OSError):  # not reaped yet, so the number is still its own
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    log.close()
    shutil.rmtree(folder, ignore_errors=True)


def _has_left(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended; it is not reaped, where that can be had."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    if process.returncode is not None:
        return True
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    return True
