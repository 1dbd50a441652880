"""Binder reads binder/ and nothing else: what it finds there must install the library, its model and a fit kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def binder(root: Path) -> Path:
    return root / "binder"


def _requirements(binder: Path) -> list[str]:
    lines = (binder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_library_is_installed_from_this_repository_with_its_model_s_engine(binder: Path) -> None:
    assert _requirements(binder)[0] == ".[local]"


def test_the_kernel_is_newer_than_the_image_s(binder: Path) -> None:
    """7.0, which the image brings, loses context variables between cells."""
    assert "ipykernel>=7.1" in _requirements(binder)


def test_the_image_s_own_jupyterlab_stays(binder: Path) -> None:
    assert [line for line in _requirements(binder) if line.startswith(("jupyterlab", "notebook", "ipywidgets"))] == []


def test_python_is_one_the_image_has(binder: Path) -> None:
    assert (binder / "runtime.txt").read_text(encoding="utf-8").strip() == "python-3.12"


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_scripts_can_be_executed(binder: Path, name: str) -> None:
    assert os.access(binder / name, os.X_OK)
    assert (binder / name).read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")


def test_the_model_is_fetched_while_the_image_is_built(binder: Path) -> None:
    assert "llmneutral local install" in (binder / "postBuild").read_text(encoding="utf-8").splitlines()


def test_start_ends_in_what_it_was_given(binder: Path) -> None:
    assert (binder / "start").read_text(encoding="utf-8").rstrip().splitlines()[-1] == 'exec "$@"'
