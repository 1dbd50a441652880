"""A stream in a real kernel: what goes over its socket, and what the notebook keeps of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from llmneutral_widgets.exchange import MIME, Exchange
from tests.conftest import ROOT

SECONDS, LETTERS = 2.0, 20_000
CELL = f"""
import sys, time
sys.path[:0] = {[str(ROOT), str(ROOT / "widgets")]}
import llmneutral
from llmneutral_widgets.display import show

class Stream:
    text = ("Some **words** and `code`.\\n\\n" * 1000)[:{LETTERS}]
    record = conversion = None
    at = 0
    def __iter__(self): return self
    def __next__(self):
        if self.at >= len(self.text): raise StopIteration
        piece, self.at = self.text[self.at:self.at + 10], self.at + 10
        time.sleep({SECONDS} / len(self.text) * 10)
        return llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(piece))
    @property
    def response(self):
        return llmneutral.NormalizedResponse(llmneutral.Message("assistant", self.text[:self.at]), model="tiny")

started = time.perf_counter()
exchange = show(Stream())
print(time.perf_counter() - started)
"""


class Listener(NotebookClient):
    """Runs a notebook and keeps what the kernel publishes to be shown."""

    heard: list[dict[str, Any]]

    def process_message(self, msg: dict[str, Any], *args: Any) -> Any:
        if "display" in msg["msg_type"]:
            self.heard.append(msg)
        return super().process_message(msg, *args)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.slow
def test_the_budget_on_the_socket_and_one_saved_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL), nbformat.v4.new_code_cell("exchange.text[:4]")]
    )
    client = Listener(notebook, timeout=60, kernel_name="python3", store_widget_state=False)
    client.heard = []
    client.execute()
    shown, printed = notebook.cells[0].outputs
    seconds = float(printed.text)
    sizes = [len(json.dumps(message, default=str).encode()) for message in client.heard]
    assert sum(sizes) <= 20 * LETTERS + 100_000 * seconds
    assert 5 <= len(sizes) <= 15 * seconds + 2
    assert max(sizes) == sizes[-1]
    assert len({message["content"]["transient"]["display_id"] for message in client.heard}) == 1
    assert set(shown.data) == {"text/html", "text/plain", MIME}
    assert len(Exchange.from_json(shown.data[MIME]).text) == LETTERS
    assert shown.metadata["llmneutral"]["schema"] == 1
    assert notebook.cells[1].outputs[0].data["text/plain"] == "'Some'"
    nbformat.validate(notebook)
