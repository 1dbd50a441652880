"""What every test stands on: no way out to the network, no keys of the person running it, and no silent skips in CI.

`LLMNEUTRAL_REQUIRE_BROWSER=1` and `LLMNEUTRAL_REQUIRE_LIVE=1` turn a skipped test of that mark into a failure: the CI
script sets them after it has installed what those tests need, so that a green run means they ran.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
"""Reference material beside the project: cases, recordings. Not part of it, and not everywhere."""

REQUIRED = {"browser": "LLMNEUTRAL_REQUIRE_BROWSER", "live": "LLMNEUTRAL_REQUIRE_LIVE"}
"""Marks whose skipped tests fail where the variable is set."""

_PRIVATE = re.compile(
    r"^(OPENAI|ANTHROPIC|AWS|AZURE|GOOGLE|GEMINI)_|_(API_KEY|AUTH_TOKEN)$"
    r"|^LLMNEUTRAL_(PROVIDER|LOG_CONTENT)$|^(all|https?|no)_proxy$",
    re.IGNORECASE,
)
"""Settings that would change what a test sees: keys, endpoints, proxies."""

# Deadlines measure the machine, not the code: on two busy cores they fail at random.
hypothesis.settings.register_profile("house", deadline=None)
# In CI the examples are the same each time, and fewer: it looks for what a change broke. Who works here looks for more.
hypothesis.settings.register_profile("house-ci", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("house-ci" if "CI" in os.environ else "house")


# ----------------------------------------------------------------------------------------------------------------------
# The environment


@pytest.fixture(autouse=True, scope="session")
def interrupts_that_reach() -> None:
    """What a shell starts in the background (`nohup`, `&`) ignores interrupts, and so would all that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def neutral_environment() -> Iterator[None]:
    """Takes provider settings out of the environment, so that no test can find a key or a foreign endpoint."""
    taken = {name: os.environ.pop(name) for name in [*os.environ] if _PRIVATE.search(name)}
    yield
    os.environ.update(taken)


@pytest.fixture(autouse=True)
def defaults_as_they_were() -> Iterator[None]:
    """Whoever a test binds to Defaults (a picker, say) is not told in the next one, where it would settle the base."""

    def state() -> tuple[Any, Any]:
        scope, defaults = (sys.modules.get(f"llmneutral.configs.{name}") for name in ("scope", "defaults"))
        return (scope and scope.changes), (defaults and defaults.Defaults)

    changes, defaults = state()
    before = (changes._callbacks if changes else (), defaults._base if defaults else None)
    yield
    changes, defaults = state()
    if changes and defaults:
        changes._callbacks, defaults._base = before


class OutsideAccessError(OSError):
    """A test tried to leave this machine."""


def _is_loopback(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _guarded(original: Callable[..., Any], attempts: list[str], host_of: Callable[..., Any]) -> Callable[..., Any]:
    def guard(*args: Any, **kwargs: Any) -> Any:
        host = host_of(*args)
        if not _is_loopback(host):
            attempts.append(str(host))
            raise OutsideAccessError(f"tests may talk to this machine only, not to {host!r}")
        return original(*args, **kwargs)

    return guard


def _address_host(sock: socket.socket, *args: Any) -> Any:
    """The host of the address that ends a socket call; sockets of the file system have none."""
    return args[-1][0] if sock.family in (socket.AF_INET, socket.AF_INET6) else None


@pytest.fixture(autouse=True)
def outside_attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuses every connection and name look-up but loopback's, and fails the test that tried one.

    A client may catch the refusal and try again, hence the look at the end. A test that wants to see what happens
    asks for this fixture and clears the list.
    """
    attempts: list[str] = []
    for name in ("connect", "connect_ex", "sendto"):
        original = getattr(socket.socket, name)
        monkeypatch.setattr(socket.socket, name, _guarded(original, attempts, _address_host))
    look_up = _guarded(socket.getaddrinfo, attempts, lambda host, *_: host)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield attempts
    if attempts:
        pytest.fail(f"the test tried to reach {', '.join(sorted({*attempts}))}")


# ----------------------------------------------------------------------------------------------------------------------
# What may be absent: the reference material, a browser, the embedded model


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the reference material (../shared) is not here")
    return SHARED


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@cache
def _without_browser() -> str | None:
    """Why browser tests cannot run; None if they can."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    if os.environ.get("CHROMIUM") or any(map(shutil.which, names)):
        return None
    return "no Chromium here: install one (apt-get install chromium), or name it in $CHROMIUM"


@cache
def _without_model() -> str | None:
    """Why tests of the embedded model cannot run; None if they can."""
    command = [sys.executable, "-m", "llmneutral", "local", "path"]
    found = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=60, check=False)
    return None if found.returncode == 0 else "the embedded model is not installed: llmneutral local install"


MISSING: dict[str, Callable[[], str | None]] = {"browser": _without_browser, "live": _without_model}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips, with the reason, what cannot run here; last, so that only the chosen tests are asked about."""
    for item in items:
        for mark, reason_of in MISSING.items():
            if item.get_closest_marker(mark) and (reason := reason_of()):
                item.add_marker(pytest.mark.skip(reason=reason))


def _must_run(mark: str) -> bool:
    return os.environ.get(REQUIRED[mark], "") not in ("", "0")


def _fail(report: pytest.TestReport | pytest.CollectReport, mark: str) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{reason} (a skipped {mark} test is a failure where {REQUIRED[mark]} is set)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns the skip of a test that must run into a failure."""
    report = yield
    for mark in REQUIRED:
        if report.skipped and item.get_closest_marker(mark) and _must_run(mark):
            _fail(report, mark)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module of browser tests that skips itself (an `importorskip` at its top)."""
    report = yield
    if report.skipped and (ROOT / "tests" / "browser") in collector.path.parents and _must_run("browser"):
        _fail(report, "browser")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says once more, at the end, what could not run and what would let it."""
    skipped = terminalreporter.stats.get("skipped", [])
    for mark, reason_of in MISSING.items():
        if count := sum(mark in report.keywords for report in skipped):
            terminalreporter.write_line(f"NOTE: {count} {mark} tests did not run: {reason_of()}", yellow=True)
