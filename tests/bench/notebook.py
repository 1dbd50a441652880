"""A streamed answer in a notebook: what goes over the kernel's iopub socket."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.bench.answers import MODEL, PIECE
from tests.bench.table import Row, show

DELTAS = 2_000
STREAM = """
from llmneutral import make_driver
from llmneutral_widgets import show
driver = make_driver("chat_completions", model="{model}", base_url="{base}/v1", api_key="k")
"""
PRINTED = STREAM + "for delta in driver.stream('Hello'): print(delta.text, end='', flush=True)"
SHOWN = STREAM + "exchange = show(driver.stream('Hello'))"


def is_there() -> bool:
    """Whether the notebook layer, and what runs a kernel, can be imported."""
    return all([find_spec(name) is not None for name in ("llmneutral_widgets", "jupyter_client", "ipykernel")])


def iopub(url: str) -> None:
    """Bytes and messages for an answer of 2,000 deltas: printed piece by piece, and shown by us."""
    if not is_there():
        print("\nbytes on the iopub socket: not measured here, the notebook layer cannot be imported")
        return
    from tests.widgets.kernel import Kernel

    base = f"{url}/{DELTAS}"
    with tempfile.TemporaryDirectory() as folder, Kernel(Path(folder)) as kernel:
        printed = _ran(kernel, PRINTED.format(base=base, model=MODEL))
        shown = _ran(kernel, SHOWN.format(base=base, model=MODEL))
    budget = (20 * DELTAS * len(PIECE) + 100_000 * shown.seconds) / 1e3
    show(
        f"iopub socket, {DELTAS:,} deltas",
        "kB",
        [
            Row("print() for each delta", printed.octets / 1e3),
            Row("show()", shown.octets / 1e3, printed.octets / 1e3, aim=budget),
        ],
    )
    messages = [Row("print() for each delta", printed.messages), Row("show()", shown.messages, printed.messages)]
    show("the same in messages", "messages", messages)


def _ran(kernel: Any, code: str) -> Any:
    ran = kernel.run(code)
    if ran.error:
        raise RuntimeError(f"the cell failed: {ran.error}: {ran.said}")
    return ran
