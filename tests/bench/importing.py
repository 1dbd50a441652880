"""Imports, and the first answer of a process: wall time and memory, each time in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial

import psutil

from tests.bench import providers as p
from tests.bench.answers import MODEL
from tests.bench.measure import medians
from tests.bench.table import Row, show

IMPORTS = {
    "import openai": "import openai",
    "bare Python": "",
    "import anthropic": "import anthropic",
    "import google.genai": "import google.genai",
    "import boto3": "import boto3",
    "import cohere": "import cohere; cohere.ClientV2",
    "import mistralai.client": "import mistralai.client",
    "import llmneutral": "import llmneutral",
}
IMPORT_AIM, MEMORY_AIM, FIRST_AIM = 0.12, 22.0, 1.05

# The first answer of each API by its SDK. Bedrock's credentials are in the environment, for both sides.
OPENAI = 'import openai\nclient = openai.OpenAI(base_url="{base}/v1", api_key="k", max_retries=0)'
ANTHROPIC = 'import anthropic\nclient = anthropic.Anthropic(base_url="{base}", api_key="k", max_retries=0)'
GOOGLE = """
from google import genai
client = genai.Client(api_key="k", vertexai=False, http_options={{"base_url": "{base}", "api_version": "v1beta"}})
client.models.generate_content(model="{model}", contents="Hello")
"""
BEDROCK = """
import boto3
client = boto3.client("bedrock-runtime", endpoint_url="{base}")
client.converse(modelId="{model}", messages=[{{"role": "user", "content": [{{"text": "Hello"}}]}}])
"""
COHERE = 'import cohere\nclient = cohere.ClientV2(api_key="k", base_url="{base}")'
MISTRAL = 'from mistralai.client import Mistral\nclient = Mistral(api_key="k", server_url="{base}/mistral")'
ASKED = '(model="{model}", messages=[{{"role": "user", "content": "Hello"}}])'
RAW = {
    "chat_completions": f"{OPENAI}\nclient.chat.completions.create{ASKED}",
    "codex_responses": f'{OPENAI}\nclient.responses.create(model="{{model}}", input="Hello")',
    "anthropic_messages": f"{ANTHROPIC}\nclient.messages.create{ASKED.replace('(', '(max_tokens=1_000, ', 1)}",
    "gemini_native": GOOGLE,
    "bedrock_converse": BEDROCK,
    "cohere_chat": f"{COHERE}\nclient.chat{ASKED}",
    "mistral_chat": f"{MISTRAL}\nclient.chat.complete{ASKED}",
}
OURS = """
import llmneutral
llmneutral.make_driver("{mode}", model="{model}", base_url="{address}", api_key={key!r}).run("Hello")
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


def first_answer(url: str, rounds: int = 3) -> None:
    """Wall time of a process that asks once."""
    base, rows = f"{url}/0", []
    for api in p.APIS:
        said = {
            "base": base,
            "address": base + api.sdk.at,
            "mode": api.mode,
            "model": MODEL,
            "key": p.key(api),
        }
        sides = {"raw SDK": RAW[api.mode], "ours": OURS}
        taken = medians({name: partial(_seconds, text.format(**said)) for name, text in sides.items()}, rounds)
        raw, ours = [taken[name] * 1e3 for name in sides]
        rows += [Row(f"{api.mode}: raw SDK", raw), Row("    ours", ours, raw, FIRST_AIM)]
    show("first answer, whole process", "ms wall", rows)


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
