"""The provider on the loopback interface, as a process of its own: for tests that cannot hold it themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from llmneutral import ServerError, make_driver
from tests.conftest import ROOT
from tests.loopback import Loopback, talk


def serve(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "tests.loopback", *arguments]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout is not None
    return child, json.loads(child.stdout.readline())["url"]


def end(child: subprocess.Popen[str]) -> int:
    child.communicate(timeout=20)  # its stdin ends
    return child.returncode


def test_it_says_what_it_is_told_and_ends_with_its_stdin() -> None:
    child, url = serve("--say", "hello there")
    try:
        for api, base_url in (("chat_completions", f"{url}/v1"), ("anthropic_messages", url)):
            with make_driver(api, model="m", base_url=base_url) as driver:
                assert driver.run("hi").text == "hello there"
                assert "".join([delta.text for delta in driver.stream("hi")]) == "hello there"
    finally:
        assert end(child) == 0


def test_it_plays_a_script(tmp_path: Path) -> None:
    script = tmp_path / "answers.json"
    busy = {"status": 500, "headers": {"x_should_retry": "false"}, "body": {"error": {"message": "broke"}}}
    script.write_text(json.dumps([{"say": ["one"]}, busy, {"drop": True}, {"say": ["two"]}]), encoding="utf-8")
    child, url = serve("--script", str(script))
    try:
        with make_driver("chat_completions", model="m", base_url=f"{url}/v1") as driver:
            driver.sleep = lambda seconds: None
            assert driver.run("hi").text == "one"
            with pytest.raises(ServerError, match="broke"):
                driver.run("hi")
            assert driver.run("hi").text == "two"
            with pytest.raises(ServerError, match="the script is over"):
                driver.run("hi")
    finally:
        assert end(child) == 0


def test_it_ends_by_itself() -> None:
    with Loopback(talk("x"), seconds=0.1) as server:
        for thread in server._threads:
            thread.join(5)
        assert server.over
        assert not any(thread.is_alive() for thread in server._threads)
