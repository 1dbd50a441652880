"""What an import costs and leaves behind, each seen in a fresh interpreter."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.house.tree import PACKAGES, ROOT, module_name, parsed, place, source_files

HEAVY = [
    "IPython",
    "anthropic",
    "asyncio",
    "boto3",
    "botocore",
    "cohere",
    "genai_prices",
    "google.genai",
    "httpx",
    "httpx2",
    "ipywidgets",
    "mistralai",
    "nbformat",
    "numpy",
    "openai",
    "pandas",
    "pydantic",
    "requests",
    "tenacity",
    "traitlets",
    "urllib.request",
    "xllamacpp",
]
"""Nothing of this is needed to describe and convert a conversation."""

HEAVY_MODULES = [name for name in HEAVY if name not in {"asyncio", "tenacity", "urllib.request"}]
"""What no module may import at its top; the floor that waits may have the standard library and tenacity there."""

LOOK = """
import json, logging, os, signal, sys, threading, warnings
class Spy:
    written = ""
    def write(self, text): Spy.written += text; return len(text)
    def flush(self): pass
def state():
    loggers = {name: [type(h).__name__ for h in logger.handlers if type(h) is not logging.NullHandler]
               for name, logger in [("", logging.root), *logging.root.manager.loggerDict.items()]
               if isinstance(logger, logging.Logger)}
    return {"environment": dict(os.environ), "threads": threading.active_count(), "folder": os.getcwd(),
            "handlers": {name: found for name, found in loggers.items() if found}, "level": logging.root.level,
            "signals": [repr(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)],
            "filters": len(warnings.filters), "hooks": [repr(sys.excepthook), repr(sys.displayhook)],
            "path": list(sys.path), "recursion": sys.getrecursionlimit()}
before = state()
real, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), Spy(), Spy()
import importlib
try:
    for name in %(names)r:
        importlib.import_module(name)
finally:
    sys.stdout, sys.stderr = real
after = state()
print(json.dumps({"modules": sorted(sys.modules), "before": before, "after": after, "written": Spy.written}))
"""


def _after_importing(*names: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", "-c", LOOK % {"names": names}]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    told: dict[str, Any] = json.loads(found.stdout)
    return told


def _loaded(told: dict[str, Any], unwanted: list[str]) -> list[str]:
    return [name for name in unwanted if name in told["modules"]]


def _all_modules() -> list[str]:
    names = [module_name(file) for file in source_files() if file.stem != "__main__"]
    return [name for name in names if "static" not in name]


def test_the_face_loads_nothing_heavy() -> None:
    assert _loaded(_after_importing("llmneutral"), HEAVY) == []


def test_no_module_loads_anything_heavy_at_its_top() -> None:
    # A panel is a widget (decision 14): its module is imported when the first one is made.
    light = [name for name in _all_modules() if not name.startswith("llmneutral_widgets.panels")]
    assert len(light) < len(_all_modules())
    assert _loaded(_after_importing(*light), HEAVY_MODULES) == []


@pytest.mark.parametrize(
    "names", [["llmneutral"], ["llmneutral_widgets"], _all_modules()], ids=["face", "widgets", "all"]
)
def test_importing_changes_nothing_around_it(names: list[str]) -> None:
    told = _after_importing(*names)
    assert told["after"] == told["before"]
    assert told["written"] == ""


def test_the_notebook_package_is_cheap_too() -> None:
    """`%load_ext llmneutral` imports it: pandas, nbformat and ipywidgets come at first use."""
    assert _loaded(_after_importing("llmneutral_widgets"), HEAVY_MODULES) == []


def test_every_source_file_postpones_its_annotations() -> None:
    """Then a name in an annotation costs no import at run time; a mere docstring needs no such line."""
    without = [
        place(file)
        for file in source_files()
        if any(not isinstance(node, ast.Expr) for node in parsed(file).body)
        and not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in parsed(file).body)
    ]
    assert without == []


def test_both_packages_are_typed() -> None:
    assert [package.name for package in PACKAGES if not (package / "py.typed").is_file()] == []
