"""Remarks: of the magics, and of the library in plain cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import llmneutral
from llmneutral_widgets import notes
from tests.widgets.kernel import Kernel
from tests.widgets.shell import Cells, running

SAID = "No OPENAI_API_KEY: answering with the embedded model; set a key or Defaults.drivers_config to change."


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    for name in ("OPENAI_API_KEY", "LLMNEUTRAL_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    with running(is_kernel=True) as found:
        llmneutral.Defaults.drivers_config = None
        yield found


def test_a_plain_cell_of_a_kernel_shows_a_calm_remark_once(tmp_path: Path) -> None:
    with Kernel(tmp_path, OPENAI_API_KEY="", LLMNEUTRAL_PROVIDER="") as kernel:
        kernel.run("%load_ext llmneutral")
        kernel.run("from llmneutral import Defaults")
        ran = kernel.run("Defaults.drivers_config.name")
        again = kernel.run("Defaults.drivers_config.name")
    assert ran.plain == f"{SAID}\n'local'"
    assert "<small>" in ran.html
    assert (ran.printed, again.printed) == ("", ""), "nothing is red"
    assert again.plain == "'local'"


def test_a_terminal_says_it_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with running(is_kernel=False) as terminal:
        llmneutral.Defaults.drivers_config = None
        ran = terminal.run("import llmneutral\nllmneutral.Defaults.drivers_config.name")
    assert "llmneutral: no OPENAI_API_KEY" in ran.printed
    assert ran.outputs == []


def test_a_function_of_the_users_is_called_as_before(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(llmneutral.Defaults, "on_notice", told.append)
    ran = cells.run("llmneutral = __import__('llmneutral')\nllmneutral.Defaults.drivers_config.name")
    assert len(told) == 1
    assert SAID not in ran.plain


def test_unloading_ends_it(cells: Cells) -> None:
    before = llmneutral.Defaults.on_notice
    cells.run("import llmneutral")
    assert llmneutral.Defaults.on_notice is not before
    cells.shell.extension_manager.unload_extension("llmneutral")
    assert llmneutral.Defaults.on_notice is before
    assert not notes.is_listening()


def test_where_nothing_can_be_shown_it_is_printed(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a thread of a kernel that knows no cell there: a notice ends nothing."""

    def refuse(bundle: object) -> None:
        raise LookupError("shell_parent")

    cells.run("import llmneutral")
    monkeypatch.setattr("llmneutral_widgets.display.publish", refuse)
    ran = cells.run("llmneutral.Defaults.drivers_config.name")
    assert ran.error is None
    assert "llmneutral: no OPENAI_API_KEY" in ran.printed
