"""`llmneutral demo`: one conversation on three protocols, answered by the embedded model through the official SDKs.

It shows what the library is for: the conversation is written once; what a protocol is sent, what had to be changed for
it, and what comes back in one form, stands side by side. `--payloads` shows what each of the three is sent.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import msgspec

from llmneutral.drivers import local_weights
from llmneutral.drivers.local_server import shared_server, stop_shared

PROTOCOLS = {
    "chat_completions": "openai SDK",
    "codex_responses": "openai SDK",
    "anthropic_messages": "anthropic SDK",
}
SHOWN = "anthropic_messages"
"""Whose payload stands for all: the one of the three that is least like the conversation."""

SYSTEM = "You are a helpful assistant. Give short answers."
QUESTION = "What is the capital of France?"
SETTINGS: dict[str, Any] = {"temperature": 0, "max_tokens": 80, "seed": 7}

#: Gives the driver that speaks a protocol.
DriverOf = Callable[[str], Any]


class Answered(msgspec.Struct, frozen=True):
    """One protocol's answer, with its times in seconds from the request on."""

    protocol: str
    conversion: Any
    response: Any
    first: float | None
    total: float


def add_parser(commands: Any) -> None:
    """Adds `demo`."""
    demo = commands.add_parser("demo", help="ask the embedded model one question on three protocols")
    demo.add_argument("question", nargs="?", type=_question, default=QUESTION, help="default: %(default)s")
    demo.add_argument("--payloads", action="store_true", help=f"show what each is sent, not only {SHOWN}")
    demo.set_defaults(run=_run)


def _question(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _run(arguments: argparse.Namespace) -> int:
    local_weights.path()  # what is missing is told before anything is shown
    page = Page(sys.stdout)
    page.title("One conversation, three protocols, a small model on this machine")
    started = time.perf_counter()
    server = shared_server()
    page.line(f"{server.model} started in {time.perf_counter() - started:.1f} s, at {server.base_url}")
    if server.model == local_weights.SMOLLM2.name:
        page.line("With 135 million parameters it shows how everything works, not how well a model can answer.")
    try:
        page.line(f"the SDKs loaded in {_load_sdks():.1f} s")
        show(arguments.question, page, _local_driver, every_payload=arguments.payloads)
    finally:
        stop_shared()
    return 0


def _load_sdks() -> float:
    """Loads them before the clock of an answer runs; returns the seconds it took."""
    started = time.perf_counter()
    for name in ("openai", "anthropic"):
        importlib.import_module(name)
    return time.perf_counter() - started


def _local_driver(protocol: str) -> Any:
    from llmneutral.configs import LocalDriversConfig

    return LocalDriversConfig(api_mode=protocol).prompt_driver


def show(question: str, page: Page, driver_of: DriverOf, *, every_payload: bool = False) -> None:
    """Asks on every protocol and shows the answers, a payload, the changes and the usage.

    Args:
        question: What the user asks.
        page: Where it is shown.
        driver_of: Gives the driver of a protocol.
        every_payload: Whether all payloads are shown, and not only the one of `SHOWN`.

    Raises:
        LLMNeutralError: A request could not be made or was not answered.
    """
    conversation = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    page.title("The conversation, written once")
    settings = ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
    page.table([*((message["role"], message["content"]) for message in conversation), ("settings", settings)])

    page.title("The answers, as they come in")
    answers = [_ask(protocol, conversation, page, driver_of) for protocol in PROTOCOLS]

    _show_payloads(answers, page, every_payload)

    page.title("What had to be changed for it")
    page.table([row for answer in answers for row in _changes(answer)])

    page.title("What it cost, in one form")
    page.table([_USAGE_HEADER, *map(_usage, answers)])


def _show_payloads(answers: list[Answered], page: Page, every: bool) -> None:
    page.title("What each protocol was sent" if every else "What one of the three protocols was sent")
    for answer in answers:
        if every or answer.protocol == SHOWN:
            page.line(f"{answer.protocol}  {' '.join(answer.conversion.endpoint)}", bold=True)
            page.block(json.dumps(answer.conversion.to_json(), indent=2, ensure_ascii=False))
    if not every:
        page.line("All three: llmneutral demo --payloads")


def _ask(protocol: str, conversation: list[dict[str, str]], page: Page, driver_of: DriverOf) -> Answered:
    page.line(f"{protocol}, through the {PROTOCOLS[protocol]}", bold=True)
    driver = driver_of(protocol)
    started, first = time.perf_counter(), None
    with driver.stream(conversation, **SETTINGS) as stream:
        for delta in stream:
            if delta.kind == "text" and delta.text:
                first = first or time.perf_counter() - started
                page.stream(delta.text)
        total = time.perf_counter() - started
        page.end_stream()
        return Answered(protocol, stream.conversion, stream.response, first, total)


def _changes(answer: Answered) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (answer.protocol, str(change.kind), str(change.why)) for change in answer.conversion.changes
    ]
    return rows or [(answer.protocol, "-", "nothing: every part has its exact place")]


_USAGE_HEADER = ("protocol", "input", "output", "total", "finish", "first token", "all of it", "tokens/s")


def _usage(answer: Answered) -> tuple[str, ...]:
    usage = answer.response.usage
    counts = (usage.input_total, usage.output_total, usage.total)
    return (
        answer.protocol,
        *("?" if count is None else str(count) for count in counts),
        str(answer.response.finish_reason),
        "-" if answer.first is None else f"{answer.first:.2f} s",
        f"{answer.total:.2f} s",
        _speed(answer),
    )


def _speed(answer: Answered) -> str:
    tokens = answer.response.usage.output_total
    if answer.first is None or not tokens or tokens < 2 or answer.total <= answer.first:
        return "-"
    return f"{(tokens - 1) / (answer.total - answer.first):.0f}"


class Page:
    """Plain text on a stream; headings are bold on a terminal, unless NO_COLOR is set (https://no-color.org)."""

    INDENT = "  "

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bold = stream.isatty() and not os.environ.get("NO_COLOR")
        self._at_line_start = True

    def title(self, text: str) -> None:
        """Writes a heading with an empty line before it."""
        self._write(f"\n{self._strong(text)}\n")

    def line(self, text: str, *, bold: bool = False) -> None:
        """Writes one line."""
        self._write(f"{self.INDENT}{self._strong(text) if bold else text}\n")

    def block(self, text: str) -> None:
        """Writes several lines, further in."""
        self._write("".join(f"{self.INDENT * 2}{line}\n" for line in text.splitlines()))

    def table(self, rows: Iterable[Sequence[str]]) -> None:
        """Writes rows whose columns stand under one another; the last column is as wide as it likes."""
        rows = [tuple(row) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            self._write(f"{self.INDENT}{'  '.join(cells).rstrip()}\n")

    def stream(self, text: str) -> None:
        """Writes a piece of an answer at once."""
        for line in text.splitlines(keepends=True):
            self._write((self.INDENT * 2 if self._at_line_start else "") + line)
            self._at_line_start = line.endswith("\n")

    def end_stream(self) -> None:
        """Ends the line of an answer."""
        if not self._at_line_start:
            self._write("\n")
        self._at_line_start = True

    def _strong(self, text: str) -> str:
        return f"\033[1m{text}\033[0m" if self._bold else text

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        # A terminal that cannot show a character of the answer shows a question mark.
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()
