"""Runs the lessons as a reader would, on the embedded model, without keys and without a way out to the network.

    python -m tests.notebooks.lessons             runs every lesson and saves it with its outputs
    python -m tests.notebooks.lessons 00-start    only that one

What differs from run to run (times, ids, speeds) is no reason to change a file: a lesson that says the same as before
stays as it was. If anything in it changed, all its outputs are of the new run: its times are then of one run, too.
"""

from __future__ import annotations

import copy
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.conftest import ROOT

LESSONS = ROOT / "notebooks"
PATIENCE = 120
WIDGET = "application/vnd.jupyter.widget-view+json"
_PRIVATE = re.compile(
    r"^(OPENAI|ANTHROPIC|AWS|AZURE|GOOGLE|GEMINI)_|_(KEY|TOKEN)$|^LLMNEUTRAL_PROVIDER$|_proxy$", re.IGNORECASE
)
"""Variables that would change who answers: a lesson runs as on a fresh machine."""
_GUARD = """
import ipaddress, socket

def _refuse_the_outside(original, place):
    def guard(*args, **options):
        host = place(*args)
        if host not in ("", "localhost", None) and not ipaddress.ip_address(host).is_loopback:
            raise OSError(f"a lesson tried to reach {host}")
        return original(*args, **options)
    return guard

def _host(sock, address, *_):
    return address[0] if sock.family in (socket.AF_INET, socket.AF_INET6) else None

socket.socket.connect = _refuse_the_outside(socket.socket.connect, _host)
socket.socket.connect_ex = _refuse_the_outside(socket.socket.connect_ex, _host)
"""
"""Runs in the kernel before the lesson does."""

_VARYING = (
    (r"\bx-[0-9a-f]{8}\b", "x-id"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|\+00:00)?", "TIME"),
    (r"first [\d.]+ s, [\d.]+ s(?:, \d+ tok/s)?", "SPEED"),
    (r'<span title=\\?"cached: [^>]*>([^<]*)</span>', r"\1"),  # two that ask at once: who finds what in the cache,
    (r" \(\d[\d,]* cached\)", ""),  # if anything, is a matter of who was first
    (r"\(\d[\d,]* cached, ", "("),
    (r'("(?:first_delta_s|total_s|tokens_per_s)": )[\d.]+', r"\1TIME"),
    (r'("(?:input_uncached|cache_read)": )\d+', r"\1COUNT"),
    (r'((\\?)"(?:id|item_id)\2": \2")[^"\\]*', r"\1ID"),  # as JSON, and as it is shown in a text
    (
        r'((\\?)"tag\2": \2")[A-Za-z0-9]{32}\b',
        r"\1ID",
    ),  # of a call: what a server makes up, and no tag of the lesson's own
)
"""What a run changes, and what stands for it while two runs are compared."""
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def lessons() -> list[Path]:
    """Returns the lessons in their order."""
    return sorted(LESSONS.glob("[0-9]*.ipynb"))


def read(path: Path) -> Any:
    """Returns a lesson as plain data."""
    return json.loads(path.read_text(encoding="utf-8"))


def executed(notebook: Mapping[str, Any]) -> Any:
    """Returns a lesson with the outputs of a run in a fresh kernel; the first error ends it."""
    node: Any = nbformat.reads(json.dumps(notebook), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        startup = Path(folder) / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00-guard.py").write_text(_GUARD, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not _PRIVATE.search(name)}
        environment = {**kept, "IPYTHONDIR": str(Path(folder) / "ipython")}
        client = NotebookClient(node, timeout=PATIENCE, kernel_name="python3", store_widget_state=False)
        client.coalesce_streams = True
        client.execute(env=environment, cwd=folder)
    return tidied(json.loads(nbformat.writes(node)))


def tidied(notebook: Any) -> Any:
    """Returns a lesson without what belongs to one run: widgets that are gone, times of execution, the machine."""
    found = copy.deepcopy(notebook)
    found["metadata"] = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in found["cells"]:
        cell["metadata"].pop("execution", None)
        for output in cell.get("outputs", ()):
            if "data" in output:
                output["data"].pop(WIDGET, None)
        if "outputs" in cell:  # an output that was nothing but a widget shows nothing any more
            cell["outputs"] = [output for output in cell["outputs"] if output.get("data") != {}]
    return found


def settled(value: Any, *, with_style: bool = True) -> str:
    """Returns an output, or several, as text in which nothing varies from run to run.

    Args:
        value: The output, as plain data.
        with_style: Whether style sheets count: what is saved has the present ones, and what is said is the same in any.
    """
    written = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not with_style:
        written = _STYLE.sub("", written)
    if "tok/s</th>" in written:  # the table of usage: nothing but times, speeds, and counts that caches change
        written = re.sub(r" +|\d[\d.,:]*", " ", written)
    if "of the time</th>" in written:  # a stream: when each chunk came, and what the server calls the answer
        written = re.sub(r"\bchatc[\w-]*…?|\d[\d.,]*|value=\S+", " ", written)
    for pattern, replacement in _VARYING:
        written = re.sub(pattern, replacement, written)
    return written


def latest(old: Any, new: Any) -> Any:
    """Returns the old run where the new one says the same in every cell, else the new one: never cells of both."""
    was, now = [[settled(cell.get("outputs")) for cell in lesson["cells"]] for lesson in (old, new)]
    return old if was == now and _frame(old) == _frame(new) else new


def _frame(notebook: Any) -> Any:
    """A lesson without its outputs."""
    cells = [{name: value for name, value in cell.items() if name != "outputs"} for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def write(path: Path, notebook: Any) -> None:
    """Writes a lesson as Jupyter does."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def regenerate(names: Iterable[str] = ()) -> None:
    """Runs lessons and saves them with their outputs."""
    wanted = set(names)
    for path in lessons():
        if wanted and path.stem not in wanted:
            continue
        old = read(path)
        new = latest(old, executed(old))
        write(path, new)
        sys.stdout.write(f"{path.name}: {'as it was' if new == old else 'changed'}\n")


if __name__ == "__main__":
    regenerate(sys.argv[1:])
