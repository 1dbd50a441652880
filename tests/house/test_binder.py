"""Binder reads binder/ and nothing else: what it finds there must install the library, its model and a fit kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
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


# ----------------------------------------------------------------------------------------------------------------------
# What Binder would do, without its image


def _run(root: Path, *command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **(env or {})}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False, env=own)


@pytest.fixture(scope="module")
def image(root: Path) -> list[str]:
    """The steps by which repo2docker would build the image; it needs no Docker to tell them."""
    found = _run(root, sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(root))
    assert found.returncode == 0, found.stderr
    assert "Building conda environment for python=3.12" in found.stdout + found.stderr
    return [line.strip() for line in found.stdout.splitlines()]


def _step(image: list[str], text: str) -> int:
    (found,) = [number for number, line in enumerate(image) if text in line]
    return found


def test_the_library_is_installed_when_its_files_are_there_and_the_model_after_it(image: list[str]) -> None:
    """repo2docker installs a list of packages before it copies the rest, unless the list names the folder itself."""
    files = _step(image, "COPY --chown=0:0 src/ ${REPO_DIR}/")
    library = _step(image, 'pip install --no-cache-dir -r "binder/requirements.txt"')
    model = _step(image, "RUN ./binder/postBuild")
    assert files < library < model
    users = [line for line in image[:model] if line.startswith("USER")]
    assert users[-1] == "USER ${NB_USER}", "the model lies in the reader's home"


def test_every_start_goes_through_the_script(image: list[str]) -> None:
    _step(image, 'ENV R2D_ENTRYPOINT="${REPO_DIR}/binder/start"')


def test_pip_reads_the_requirements_and_they_go_together(root: Path) -> None:
    """Everything is installed here already: only the library is built anew, and pip needs no index."""
    options = "--dry-run --no-index --no-build-isolation --disable-pip-version-check -r binder/requirements.txt"
    found = _run(root, sys.executable, "-m", "pip", "install", *options.split())
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[-1].startswith("Would install llmneutral-")
    assert "does not provide the extra" not in found.stdout + found.stderr


@pytest.mark.live
def test_post_build_runs(root: Path, tmp_path: Path) -> None:
    """The model is here already: nothing is fetched."""
    found = _run(root, "binder/postBuild", env={"PIP_NO_INDEX": "1", "JUPYTER_DATA_DIR": str(tmp_path)})
    assert found.returncode == 0, found.stderr
    model, *trusted = found.stdout.splitlines()
    assert model.endswith(".gguf")
    assert trusted == [f"Signing notebook: {lesson}" for lesson in sorted(map(str, _lessons(root)))]


def _lessons(root: Path) -> list[Path]:
    return [path.relative_to(root) for path in (root / "notebooks").glob("*.ipynb")]


@pytest.mark.parametrize("home", ["empty", "own"])
def test_start_hands_over_with_or_without_a_model(root: Path, tmp_path: Path, home: str) -> None:
    elsewhere = {"XDG_CACHE_HOME": str(tmp_path)} if home == "empty" else {}
    told = "import sys; print(sys.argv[1]); sys.exit(3)"
    found = _run(root, "binder/start", sys.executable, "-c", told, "two words", env=elsewhere)
    assert (found.returncode, found.stdout) == (3, "two words\n"), found.stderr
