"""Imports, and the first answer of a process: wall time and memory, each time in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial

import psutil

from tests.bench.measure import medians
from tests.bench.server import MODEL
from tests.bench.table import Row, show

IMPORTS = {
    "import openai": "import openai",
    "bare Python": "",
    "import anthropic": "import anthropic",
    "import llmneutral": "import llmneutral",
}
IMPORT_AIM, MEMORY_AIM, FIRST_AIM = 0.12, 22.0, 1.05

RAW = """
import openai
client = openai.OpenAI(base_url="{base}/v1", api_key="k", max_retries=0)
client.chat.completions.create(model="{model}", messages=[{{"role": "user", "content": "Hello"}}])
"""
OURS = """
import llmneutral
llmneutral.make_driver("chat_completions", model="{model}", base_url="{base}/v1", api_key="k").run("Hello")
"""


def imports(rounds: int = 5) -> None:
    """Wall time and memory of an import."""
    memory: dict[str, float] = {}

    def measured(name: str) -> float:
        taken, memory[name] = _process(IMPORTS[name])
        return taken

    taken = medians({name: partial(measured, name) for name in IMPORTS}, rounds)
    sdk = taken["import openai"] * 1e3
    aims = {"import llmneutral": (IMPORT_AIM, MEMORY_AIM)}
    rows = [Row(name, s * 1e3, sdk, aims.get(name, (None, None))[0]) for name, s in taken.items()]
    show("import, whole process", "ms wall", rows)
    show("memory after it", "MB RSS", [Row(n, mb, aim=aims.get(n, (None, None))[1]) for n, mb in memory.items()])


def first_answer(url: str, rounds: int = 5) -> None:
    """Wall time of a process that asks OpenAI's API once."""
    named = {"raw SDK": RAW, "ours": OURS}
    code = {name: text.format(base=f"{url}/0", model=MODEL) for name, text in named.items()}
    taken = medians({name: partial(_seconds, text) for name, text in code.items()}, rounds)
    raw, ours = [taken[name] * 1e3 for name in named]
    show("first answer, whole process", "ms wall", [Row("raw SDK", raw), Row("ours", ours, raw, FIRST_AIM)])


def _seconds(code: str) -> float:
    return _process(code)[0]


def _process(code: str) -> tuple[float, float]:
    """Seconds from the start of a process until it has run some code, and its memory then in MB."""
    told = f"{code}\nprint(flush=True); import sys; sys.stdin.read()"
    # Compiled modules are kept, as usual; the first round, which may have to compile them, does not count.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", told]
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = process.stdout.readline()
        taken = time.perf_counter() - began
        memory = psutil.Process(process.pid).memory_info().rss / 1e6
        process.stdin.close()
    if not said:
        raise RuntimeError(f"this code does not run:\n{code}")
    return taken, memory
