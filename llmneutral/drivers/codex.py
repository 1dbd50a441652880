"""CodexAppServerPromptDriver: prompts to a local `codex app-server`, which owns the conversation, tools and sandbox.

There is no request to convert: the driver tells the process one turn and reads neutral deltas out of what it reports.
Source: https://developers.openai.com/codex/app-server.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.codex_input import Asked, digest_of, read_stack, with_earlier
from llmneutral.drivers.codex_process import GONE, CodexProcess, Lines
from llmneutral.drivers.codex_requests import OnApproval, answer_to
from llmneutral.drivers.codex_turn import TurnReader, turn_error
from llmneutral.errors import (
    AuthenticationError,
    ConfigurationError,
    LLMNeutralError,
    ProviderError,
    StreamInterruptedError,
)
from llmneutral.events import ConversionChangedEvent, Publisher
from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
POLICIES = ("never", "on-request", "untrusted")
LEAVE = 2.0
"""Seconds an interrupted turn has to end."""
BEAT = 1.0
"""Seconds of silence after which a delta without content is given: a call's time-out, and the end of a task that was
cancelled, are noticed then."""
NOTHING = DeltaMessage("usage")
LOGIN = "Run `codex login`, or point codex at a provider of yours (model_provider in its config)."


class Session:
    """A thread of codex, and what it holds.

    Attributes:
        thread_id: Its id.
        lines: What is said about it.
        digest: What it is known by (`digest_of`); "" while a turn runs, and after one that did not end well.
        spent: Its token counts so far.
        model: Model it was started with.
    """

    def __init__(self, process: CodexProcess, started: JSONObject) -> None:
        self.process = process
        self.thread_id = str(started["thread"]["id"])
        self.lines: Lines = process.listen(self.thread_id)
        self.digest = ""
        self.spent: JSONObject = {}
        self.model: str | None = started.get("model")


class CodexAppServerPromptDriver(BasePromptDriver):
    """Asks a local `codex app-server`; one process a driver, started at the first call.

    A conversation that goes on where the last call ended stays in its thread; any other begins a new one, in which
    what came earlier is told in one text. Codex repeats failed requests itself, so a turn is never repeated here.
    Changes are published as ConversionChangedEvent: there is no request that could carry them.

    Args:
        model: Model to ask for; codex' own default unless given.
        command: The program and its first arguments (`["codex", "-c", "model_provider=…"]`); `app-server` is added.
        environment: Variables for it beside those of this process (`CODEX_HOME` …).
        cwd: Folder the turns work in; an empty temporary one unless given.
        sandbox: read-only, workspace-write or danger-full-access.
        approval_policy: When codex asks for leave: never, on-request or untrusted.
        on_approval: Called with each request for leave (`{"method", "command", …}`); returns accept, acceptForSession,
            decline or cancel, or an object of the protocol. Without one everything is declined.
        dynamic_tools: Whether the caller's tools are offered: experimental, and they are run in the middle of a turn.
        **options: As for `BasePromptDriver`; codex has its own login and addresses.

    Raises:
        ConfigurationError: If an argument has no place here, or is none of its values.
    """

    needs_key = False
    form_by_default = "native"

    def __init__(
        self,
        model: str | None = None,
        *,
        command: Sequence[str] = ("codex",),
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        sandbox: str = "read-only",
        approval_policy: str = "never",
        on_approval: OnApproval | None = None,
        dynamic_tools: bool = False,
        **options: Any,
    ) -> None:
        for name in ("api_key", "base_url"):
            if options.get(name) is not None:
                raise ConfigurationError(f"{name} has no place here: codex app-server has its own", hint=LOGIN)
        super().__init__(model, **{**options, "api_mode": options.get("api_mode") or "codex_app_server"})
        if self.api_mode != "codex_app_server":
            raise ConfigurationError(f"codex app-server speaks codex_app_server; not {self.api_mode}")
        if isinstance(command, str) or not command:
            raise ConfigurationError(f"command={command!r} has to be a list: the program, then its arguments")
        self.command = tuple(command)
        self.environment = dict(environment or {})
        self.cwd = cwd
        self.sandbox = _one_of("sandbox", sandbox, SANDBOXES)
        self.approval_policy = _one_of("approval_policy", approval_policy, POLICIES)
        self.on_approval = on_approval
        self.dynamic_tools = dynamic_tools
        self._lock = threading.Lock()
        self._process: CodexProcess | None = None
        self._idle: Session | None = None

    # --- what a caller uses -----------------------------------------------------------------------

    def before_run(self, prompt_stack: PromptStack) -> None:
        """Refuses what cannot be told to codex before anything is started."""
        self._read(prompt_stack)

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        """Has codex take one turn, and yields its deltas.

        Raises:
            ConversionError: If the stack holds what codex cannot be told.
            MissingExtraError: If codex is not installed.
            ProviderError: If the turn failed; it is not repeated.
        """
        asked = self._read(prompt_stack)
        tell = Publisher(self.listeners, driver=type(self).__name__, api=self.api_mode, model=asked.turn.get("model"))
        session, items, changes = self._session(asked)
        reader = TurnReader(asked.turn.get("model") or session.model, session.spent)
        try:
            for change in (*asked.changes, *changes):
                tell.publish(ConversionChangedEvent, change=change)
            _begin(session, reader, {"threadId": session.thread_id, "input": items, **asked.turn})
            yield from self._turn(session, reader, asked, tell)
        except BaseException:
            _drop(session, reader, tell)
            raise
        session.spent = reader.spent
        answer = Message("assistant", (TextMessageContent("".join(reader.texts.values())),))
        session.digest = digest_of(asked.thread, (*asked.earlier, *asked.now, answer))
        self._keep(session)

    def close(self) -> None:
        """Ends the process; the next call starts another."""
        with self._lock:
            process, self._process, self._idle = self._process, None, None
        if process is not None:
            process.close()

    # --- processes and threads --------------------------------------------------------------------

    def _read(self, stack: PromptStack) -> Asked:
        return read_stack(stack, self.model, self.profile({}), dynamic_tools=self.dynamic_tools)

    def process(self) -> CodexProcess:
        """Returns the running process; starts it, or starts it again, if it is not.

        Raises:
            LLMNeutralError: If it cannot be started, or is not logged in.
        """
        with self._lock:
            if self._process is not None and self._process.running:
                return self._process
            if self._process is not None:
                self._process.close()
            self._process = self._idle = None
            started = CodexProcess(
                self.command, environment=self.environment, version=_version(), experimental=self.dynamic_tools
            )
            try:
                _check_login(started)
            except BaseException:
                started.close()
                raise
            self._process = started
            return started

    def _session(self, asked: Asked) -> tuple[Session, list[JSONObject], tuple[Any, ...]]:
        """A thread that holds what came earlier, the input of the turn, and what that changes."""
        process = self.process()
        with self._lock:
            idle, self._idle = self._idle, None
        if idle is not None and idle.process is process:
            if idle.digest == digest_of(asked.thread, asked.earlier):
                idle.digest = ""
                return idle, asked.items, ()
            process.forget(idle.thread_id)
        items, changes = with_earlier(asked)
        started = process.request(
            "thread/start",
            {
                **({"model": asked.turn["model"]} if "model" in asked.turn else {}),
                "cwd": self.cwd or process.folder,
                "sandbox": self.sandbox,
                "approvalPolicy": self.approval_policy,
                "ephemeral": True,
                **asked.thread,
            },
        )
        return Session(process, started), items, changes

    def _keep(self, session: Session) -> None:
        """A thread is kept for the next call; of several that ran at once, the last."""
        with self._lock:
            idle, self._idle = self._idle, session
        if idle is not None and idle.process is session.process:
            session.process.forget(idle.thread_id)

    # --- a turn -----------------------------------------------------------------------------------

    def _turn(self, session: Session, reader: TurnReader, asked: Asked, tell: Publisher) -> Iterator[DeltaMessage]:
        while reader.status is None:
            try:
                message = session.lines.get(timeout=BEAT)
            except queue.Empty:
                yield NOTHING
                continue
            if message is GONE:
                raise _broken_off(session.process)
            if "id" in message:
                _reply(session.process, message, *answer_to(message, self.on_approval, asked.tools, tell))
            else:
                yield from reader.read(message)
        if reader.status == "interrupted":
            raise StreamInterruptedError("the turn was interrupted", raw_type="interrupted", retryable=False)
        if reader.status != "completed":
            raise turn_error(reader.error)


def _begin(session: Session, reader: TurnReader, params: JSONObject) -> None:
    try:
        turn = session.process.request("turn/start", params).get("turn") or {}
    except LLMNeutralError:
        reader.status = "failed"  # there is no turn that would have to be ended
        raise
    reader.turn_id = reader.turn_id or turn.get("id")


def _drop(session: Session, reader: TurnReader, tell: Publisher) -> None:
    """Ends a turn that still runs, waits a moment for that, and lets the thread go."""
    process, until, told = session.process, time.monotonic() + LEAVE, False
    with contextlib.suppress(queue.Empty, LLMNeutralError):
        while reader.status is None and process.running:
            if reader.turn_id is not None and not told:
                told = True
                process.ask_only("turn/interrupt", {"threadId": session.thread_id, "turnId": reader.turn_id})
            message = session.lines.get(timeout=max(0.0, until - time.monotonic()))
            if message is GONE:
                break
            if "id" in message:
                _reply(process, message, *answer_to(message, None, {}, tell))
            else:
                reader.read(message)
    process.forget(session.thread_id)


def _reply(
    process: CodexProcess, message: JSONObject, result: JSONObject | None, failure: BaseException | None
) -> None:
    """Answers a request, and raises what a callback raised."""
    if result is None:
        process.refuse(message["id"], str(message["method"]))
    else:
        process.answer(message["id"], result)
    if failure is not None:
        raise failure


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ConfigurationError(f"{name}={value!r} is unknown; known: {', '.join(known)}")
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("llmneutral")
    except PackageNotFoundError:
        return "0"


def _check_login(process: CodexProcess) -> None:
    try:
        found = process.request("account/read", {})
    except (ConfigurationError, ProviderError):  # a version that does not tell; the turn will
        return
    if found.get("requiresOpenaiAuth") and found.get("account") is None:
        raise AuthenticationError("codex is not logged in", raw_type="requiresOpenaiAuth", hint=LOGIN)


def _broken_off(process: CodexProcess) -> StreamInterruptedError:
    return StreamInterruptedError(
        f"codex app-server ended in the middle of the turn: {process.lost().message}",
        raw_type="process_ended",
        retryable=False,
    )
