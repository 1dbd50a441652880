"""The ipykernels that the notebook is tried with: the installed one, and older ones that treat callbacks otherwise.

`python -m tests.kernels` puts the older ones into folders of the environment, where nothing finds them that was not
told of them; `make dev` does so once. A kernel that is started with `environment(version)` is that version: its folder
comes before the environment's own packages. What else an ipykernel needs is there, as the installed one needs it too.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import ROOT

OLDER = {
    "6.31.0": "the last before there were subshells: a callback waits for the cell that runs",
    "7.0.1": "callbacks run in a thread, at once; what a cell sets in a context variable is gone in the next cell",
    "7.1.0": "callbacks run in a thread, at once",
}
INSTALLED = importlib.metadata.version("ipykernel")
VERSIONS: Sequence[str] = tuple(dict.fromkeys([*OLDER, INSTALLED]))
FOLDERS = Path(sys.prefix) / "kernels"


def folder(version: str) -> Path:
    """Returns where an older version lies.

    Raises:
        FileNotFoundError: If it is not there.
    """
    found = FOLDERS / version
    if not _is_there(found, version):
        raise FileNotFoundError(f"ipykernel {version} is not in {found}: make dev puts it there")
    return found


def environment(version: str) -> dict[str, str]:
    """Returns the variables with which a Python of this environment runs a kernel of a version."""
    folders = [ROOT] if version == INSTALLED else [folder(version), ROOT]
    return {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def specify(data: Path, version: str) -> dict[str, str]:
    """Writes the kernelspec of a version, as it brings it, into a data folder of Jupyter.

    Returns:
        What a notebook says of it in its metadata.
    """
    brought = Path(sys.prefix) if version == INSTALLED else folder(version)
    spec = json.loads((brought / "share" / "jupyter" / "kernels" / "python3" / "kernel.json").read_text("utf-8"))
    name = f"ipykernel-{version}"
    made = {**spec, "argv": [sys.executable, *spec["argv"][1:]], "display_name": name, "env": environment(version)}
    written = data / "kernels" / name / "kernel.json"
    written.parent.mkdir(parents=True)
    written.write_text(json.dumps(made), encoding="utf-8")
    return {"name": name, "display_name": name, "language": "python"}


def install() -> None:
    """Fetches the older ones that are not there."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    for version in OLDER:
        if not _is_there(FOLDERS / version, version):
            target = str(FOLDERS / version)
            subprocess.run([*command, "--upgrade", "--target", target, f"ipykernel=={version}"], check=True)


def _is_there(found: Path, version: str) -> bool:
    return (found / f"ipykernel-{version}.dist-info" / "RECORD").is_file()


if __name__ == "__main__":
    install()
