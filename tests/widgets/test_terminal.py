"""A real `ipython` in a terminal: what a reader sees there of a conversation, its payloads and its stream."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.widgets.closed_set import HIDDEN

WIDTH = 72
KEY = "sk-proj-0123456789abcdefghij"
_PROMPT = re.compile(r"In \[\d+\]: $")


class Terminal:
    """An `ipython` that believes to be in front of somebody.

    Args:
        home: A folder for what it writes.
    """

    def __init__(self, home: Path) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
        bare = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        paths = os.pathsep.join([str(ROOT), str(ROOT / "widgets")])
        env = {**bare, "IPYTHONDIR": str(home), "PYTHONPATH": paths, "TERM": "dumb", "SOME_API_KEY": KEY}
        options = ["--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "IPython", *options], stdin=slave, stdout=slave, stderr=slave, cwd=home, env=env
        )
        os.close(slave)
        self._read()

    def run(self, line: str) -> str:
        """Types a line, and returns what is printed until it can be typed again."""
        os.write(self.master, f"{line}\n".encode())
        told = self._read().replace("\r\n", "\n")
        return _PROMPT.sub("", told).partition("\n")[2].rstrip("\n")

    def close(self) -> None:
        """Ends it."""
        os.write(self.master, b"exit\n")
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.master)

    def _read(self, seconds: float = 60) -> str:
        said, end = b"", time.monotonic() + seconds
        while not _PROMPT.search(said.decode("utf-8", "ignore")):
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(said.decode("utf-8", "replace"))
            said += os.read(self.master, 65_536)
        return said.decode("utf-8")


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    if sys.platform == "win32":
        pytest.skip("there is no pty")
    made = Terminal(tmp_path_factory.mktemp("ipython"))
    try:
        assert made.run("%load_ext llmneutral") == ""
        assert made.run("from tests.widgets.shell import Echo; echo = Echo()") == ""
        asked = made.run(f"%prompt -p {{{{echo}}}} -s Terse. --temperature 0.5 why {KEY} \x1b[31mred")
        assert asked.count("WHY") == 1, "terminals print once"
        yield made
    finally:
        made.close()


def seen(printed: str) -> list[str]:
    """The lines, after what holds for whatever is printed: it fits, it is readable, and it tells no secret."""
    assert not HIDDEN.search(printed)
    assert "sk-proj" not in printed
    lines = printed.split("\n")
    assert all(len(line) <= WIDTH for line in lines)
    return lines


def test_the_conversation_is_shown(terminal: Terminal) -> None:
    lines = seen(terminal.run("%stack"))
    assert lines[0] == "default · 3 messages"
    assert "  0.0 text  Terse." in lines
    assert any(line.startswith("  2.0 text  WHY •••") for line in lines)


def test_every_change_is_shown_with_the_payload(terminal: Terminal) -> None:
    printed = terminal.run("%payload openai anthropic")
    lines = seen(printed[printed.index("── your conversation ") :])  # a remark before it is a line of its own
    assert re.search(r"POST /v1/messages · valid \(anthropic [\d.]+ types\)", " ".join(printed.split()))
    assert any(line.startswith("── chat_completions ") for line in lines)
    assert "  dropped by params: temperature: claude-sonnet-5-5 takes no sampling" in lines
    assert '0.0   "system": "Terse.",' in lines
    changes = seen(terminal.run("%payload --changes anthropic"))
    assert any(line.startswith("anthropic_messages: dropped – by params: temperature") for line in changes)


@pytest.mark.parametrize("option", ["--dry-run -p anthropic", "--compare anthropic"])
def test_what_would_be_sent_is_shown(terminal: Terminal, option: str) -> None:
    lines = seen(terminal.run(f"%prompt {option} --new --temperature 0.5 Is it {KEY}?"))
    assert "  0.0 text  Is it •••?" in lines
    assert "POST /v1/messages · valid" in " ".join(" ".join(lines).split())
    assert "  dropped by params: temperature: claude-sonnet-5-5 takes no sampling" in lines
    assert any('"text": "Is it •••?"' in line or '"content": "Is it •••?"' in line for line in lines)


def test_the_stream_is_shown(terminal: Terminal) -> None:
    lines = seen(terminal.run("%deltas"))
    assert re.match(r"\d+ chunks · ", lines[0])
    assert any('→ text "WHY "' in line for line in lines)
    assert any("→ finish stop" in line for line in lines)


def test_values_show_themselves_as_in_a_notebook(terminal: Terminal) -> None:
    terminal.run("import llmneutral; from llmneutral.widgets import show, session")
    terminal.run("x = llmneutral.PromptStack(); x.add_user_message('Hi'); None")
    told = ["1 message", "0 user · 1 block", "  0.0 text  Hi"]
    assert seen(terminal.run("show(x)")) == told
    assert seen(terminal.run("x"))[1:] == told
    assert any('"content": "Hi"' in line for line in seen(terminal.run("show(llmneutral.convert(x, 'openai-chat'))")))
    assert "  text  WHY" in "\n".join(seen(terminal.run("show(session.last)")))
