"""The notebook package by the name that goes with the library's, in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys

import pytest

import llmneutral
import llmneutral_widgets


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "code",
    [
        "import llmneutral.widgets; show = llmneutral.widgets.show",
        "from llmneutral.widgets import show",
        "from llmneutral import widgets; show = widgets.show",
        "import llmneutral; show = llmneutral.widgets.show",
        "from llmneutral.widgets import *",
    ],
)
def test_every_way_to_import_it_finds_the_same(code: str) -> None:
    same = "from llmneutral_widgets import show as the_same; assert show is the_same"
    light = "import sys; assert 'IPython' not in sys.modules" if "*" not in code else ""  # the panels are widgets
    found = ran(f"{code}\n{same}\n{light}")
    assert found.returncode == 0, found.stderr


def test_every_name_is_the_same_object_and_is_listed() -> None:
    assert dir(llmneutral.widgets) == sorted(dir(llmneutral_widgets))
    for name in llmneutral_widgets.__all__:
        assert getattr(llmneutral.widgets, name) is getattr(llmneutral_widgets, name), name


def test_the_session_is_one() -> None:
    from llmneutral.widgets import session

    assert session is llmneutral_widgets.session


def test_importing_the_library_does_not_import_it() -> None:
    found = ran("import sys, llmneutral; print([name for name in sys.modules if 'widgets' in name])")
    assert found.stdout.strip() == "[]", found.stderr


def test_importing_it_imports_no_notebook() -> None:
    found = ran("import sys, llmneutral.widgets; print([name for name in sys.modules if name == 'llmneutral_widgets'])")
    assert found.stdout.strip() == "[]", found.stderr


def test_it_has_no_modules_of_its_own() -> None:
    found = ran("import llmneutral.widgets.session")
    assert "'llmneutral.widgets' is not a package" in found.stderr


def test_a_name_that_is_not_there_is_told() -> None:
    assert "cannot import name 'shwo' from 'llmneutral.widgets'" in ran("from llmneutral.widgets import shwo").stderr
