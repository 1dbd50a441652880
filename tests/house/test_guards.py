"""The guards of tests/conftest.py do what they say: each is tried on a small test run of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SWALLOWED = """
import contextlib, socket
def test_it():
    with contextlib.suppress(OSError):
        {attempt}
"""
LOOPBACK = """
import socket
def test_it():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    assert socket.getaddrinfo("localhost", 80)
"""
SETTINGS = """
import os
def test_it():
    assert [name for name in os.environ if "OPENAI" in name or name.lower().endswith("_proxy")] == []
"""
IN_A_BROWSER = """
import pytest
@pytest.mark.browser
def test_it():
    pytest.skip("no reason")
"""
OF_THE_MODEL = IN_A_BROWSER.replace("browser", "live")


def _run(root: Path, folder: Path, test: str, **environment: str) -> tuple[int, str]:
    file = folder / "test_tried.py"
    file.write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", str(root / "pyproject.toml"), str(file)]
    base = {name: value for name, value in os.environ.items() if not name.startswith("LLMNEUTRAL_REQUIRE")}
    found = subprocess.run(
        [*command, "-p", "no:cacheprovider"],
        cwd=root,
        env={**base, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return found.returncode, found.stdout + found.stderr


@pytest.mark.parametrize(
    "attempt",
    [
        'socket.create_connection(("192.0.2.1", 80), timeout=1)',
        'socket.getaddrinfo("host.example", 80)',
        'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 9))',
        'socket.socket().connect_ex(("192.0.2.1", 80))',
    ],
)
def test_reaching_out_fails_even_if_the_refusal_is_swallowed(root: Path, tmp_path: Path, attempt: str) -> None:
    code, told = _run(root, tmp_path, SWALLOWED.format(attempt=attempt))
    assert code == 1, told
    assert "tried to reach" in told


def test_loopback_is_open(root: Path, tmp_path: Path) -> None:
    code, told = _run(root, tmp_path, LOOPBACK)
    assert code == 0, told


def test_keys_and_proxies_are_taken_away(root: Path, tmp_path: Path) -> None:
    code, told = _run(root, tmp_path, SETTINGS, OPENAI_API_KEY="k", OPENAI_BASE_URL="u", HTTPS_PROXY="p", no_proxy="n")
    assert code == 0, told


@pytest.mark.parametrize(
    ("test", "variable"),
    [(IN_A_BROWSER, "LLMNEUTRAL_REQUIRE_BROWSER"), (OF_THE_MODEL, "LLMNEUTRAL_REQUIRE_LIVE")],
    ids=["browser", "live"],
)
def test_a_skip_is_a_failure_where_it_is_required(root: Path, tmp_path: Path, test: str, variable: str) -> None:
    code, told = _run(root, tmp_path, test)
    assert code == 0, told
    assert "1 skipped" in told
    code, told = _run(root, tmp_path, test, **{variable: "1"})
    assert code == 1, told
    assert variable in told


def test_what_did_not_run_is_told_at_the_end(root: Path, tmp_path: Path) -> None:
    """Without a Chromium on the path, and with none named."""
    _, told = _run(root, tmp_path, IN_A_BROWSER, PATH=str(tmp_path), CHROMIUM="")
    assert "NOTE: 1 browser tests did not run: no Chromium here" in told
