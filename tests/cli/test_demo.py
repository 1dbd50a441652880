"""`llmneutral demo`: the page it writes, with drivers of our own, and once with the embedded model."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmneutral.cli import demo, main
from llmneutral.cli.demo import PROTOCOLS, SHOWN, Page, show
from llmneutral.drivers import local_weights
from llmneutral.errors import LLMNeutralError, ProviderConnectionError

ROOT = Path(__file__).parents[2]


class Stream:
    """What a driver gives back, as far as the demo looks at it."""

    def __init__(self, protocol: str, source: Any, settings: dict[str, Any], pieces: list[str]) -> None:
        dropped = [SimpleNamespace(kind="dropped", why="seed: this API has none")]
        self.conversion = SimpleNamespace(
            endpoint=("POST", f"/{protocol}"),
            to_json=lambda: {"model": "m", "messages": source, **settings},
            changes=dropped if protocol == "anthropic_messages" else [],
        )
        usage = SimpleNamespace(input_total=30, output_total=None if protocol == "codex_responses" else 2, total=32)
        self.response = SimpleNamespace(usage=usage, finish_reason="stop")
        self.closed = False
        self._pieces = pieces

    def __iter__(self) -> Iterator[Any]:
        yield SimpleNamespace(kind="start", text=None)
        for piece in self._pieces:
            yield SimpleNamespace(kind="text", text=piece)
        yield SimpleNamespace(kind="end", text=None)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True


def driver_of(protocol: str) -> Any:
    pieces = ["The capital", " is\nParis", "."]
    return SimpleNamespace(stream=lambda source, **settings: Stream(protocol, source, settings, pieces))


def shown(question: str = "Where?", stream: io.StringIO | None = None, every_payload: bool = False) -> str:
    stream = stream or io.StringIO()
    show(question, Page(stream), driver_of, every_payload=every_payload)
    return stream.getvalue()


def test_shows_every_protocol_with_answer_payload_changes_and_usage() -> None:
    page = shown(every_payload=True)
    assert page.count("    The capital is\n    Paris.\n") == 3
    for protocol, sdk in PROTOCOLS.items():
        assert f"{protocol}, through the {sdk}" in page
        assert f"{protocol}  POST /{protocol}" in page
    assert page.count('"content": "Where?"') == 3
    assert re.search(r"anthropic_messages +dropped +seed: this API has none", page)
    assert re.search(r"chat_completions +- +nothing", page)
    assert re.search(r"chat_completions +30 +2 +32 +stop", page)


def test_one_payload_stands_for_all_and_the_page_says_how_to_see_the_others() -> None:
    page = shown()
    assert page.count('"content": "Where?"') == 1
    assert page.count("  POST /") == 1
    assert f"{SHOWN}  POST /{SHOWN}" in page
    assert "llmneutral demo --payloads" in page
    assert "--payloads" not in shown(every_payload=True), "who sees them all is told of no others"


@pytest.mark.parametrize("flags", [[], ["--payloads"]])
def test_the_command_hands_on_what_is_to_be_shown(flags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []
    monkeypatch.setattr(local_weights, "path", lambda: None)
    monkeypatch.setattr(demo, "shared_server", lambda: SimpleNamespace(model="m", base_url="here"))
    monkeypatch.setattr(demo, "show", lambda question, *_, every_payload: asked.append((question, every_payload)))
    assert main(["demo", "Why?", *flags]) == 0
    assert asked == [("Why?", bool(flags))]


def test_what_is_not_reported_is_shown_as_unknown() -> None:
    assert re.search(r"codex_responses +30 +\? +32", shown())


def test_columns_stand_under_one_another() -> None:
    rows = shown().split("in one form\n")[1].splitlines()
    assert len(rows) == 4
    assert len({row.index(word) for row, word in zip(rows[:2], ("finish", "stop"), strict=True)}) == 1


def test_the_question_is_the_readers() -> None:
    assert "Why is the sky blue?" in shown("Why is the sky blue?")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bold_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\033[1m" in shown(stream=Terminal())
    assert "\033" not in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in shown(stream=Terminal())


def test_a_terminal_of_few_characters_is_no_reason_to_fail() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Page(stream).line("→ é")
    assert raw.getvalue() == b"  ? ?\n"


def test_an_answer_is_written_as_it_comes() -> None:
    stream = io.StringIO()
    page = Page(stream)
    page.stream("one")
    assert stream.getvalue() == "    one"
    page.stream(" two\nthree")
    page.end_stream()
    page.end_stream()
    assert stream.getvalue() == "    one two\n    three\n"


def test_a_failure_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> LLMNeutralError:
        raise ProviderConnectionError("nobody there", hint="Look again.")

    monkeypatch.setattr(local_weights, "path", fail)
    assert main(["demo"]) == 1
    assert capsys.readouterr() == ("", "llmneutral: nobody there. Look again.\n")


def test_a_missing_model_is_told_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["demo"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "llmneutral local install" in err


@pytest.mark.live
def test_the_embedded_model_answers_on_three_protocols() -> None:
    command = [sys.executable, "-m", "llmneutral", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("    The capital of France is Paris.") == 3
    for protocol in PROTOCOLS:
        assert re.search(rf"^  {protocol} +\d+ +\d+ +\d+ +stop", done.stdout, re.MULTILINE)
