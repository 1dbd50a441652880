"""The lessons: each runs from top to bottom on the embedded model, and its saved outputs are what a run gives."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.scrub import LARGEST_MEDIA
from tests.notebooks.lessons import WIDGET, executed, lessons, merged, read, settled, tidied, write
from tests.widgets.kernel import PLAIN, Kernel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
every_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)


def outputs(notebook: Any) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def test_there_is_a_first_lesson() -> None:
    assert lessons()[0].name == "00-start.ipynb"


@every_lesson
def test_it_is_a_valid_notebook_with_its_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook, version=4)
    assert "widgets" not in notebook["metadata"]
    assert outputs(notebook), "the saved page shows what it teaches"
    ran = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert ran == list(range(1, len(ran) + 1)), "saved after one run from top to bottom"
    assert path.stat().st_size < 512 * 1024


@every_lesson
def test_every_output_can_be_read_without_a_kernel_and_fetches_nothing(path: Path) -> None:
    for output in outputs(read(path)):
        assert output["output_type"] != "error"
        data = output.get("data", {})
        assert WIDGET not in data, "a widget without its kernel is an empty frame"
        html = "".join(data.get("text/html", ""))
        assert not re.search(r"<script|<iframe|<link|@import|url\(|src=[\"']?http", html, re.IGNORECASE)
        if MIME in data:
            assert Exchange.from_json(data[MIME]).status == "complete"
            assert len(json.dumps(data[MIME])) < LARGEST_MEDIA


@every_lesson
def test_questions_come_before_answers(path: Path) -> None:
    """A lesson asks for a prediction, shows, and explains."""
    told = [cell for cell in read(path)["cells"] if cell["cell_type"] == "markdown"]
    text = "\n".join(["".join(cell["source"]) for cell in told])
    assert text.count("**Before you run it:**") >= 3
    assert "## Your turn" in text


@pytest.mark.live
@every_lesson
def test_it_runs_and_says_what_was_saved(path: Path) -> None:
    """Cells that show the model's own words are tagged `live`: they run, and what they say is not compared."""
    saved = read(path)
    ran = executed(saved)
    for before, now in zip(saved["cells"], ran["cells"], strict=True):
        if before["cell_type"] == "code" and "live" not in before["metadata"].get("tags", ()):
            assert settled(now["outputs"]) == settled(before["outputs"]), before["id"]
    kept = [output["data"][MIME] for output in outputs(ran) if MIME in output.get("data", {})]
    assert [record["status"] for record in kept] == ["complete"] * len(kept)
    assert all([record["response"]["text"] for record in kept])


@pytest.mark.live
def test_a_newcomer_without_a_key_sees_tokens_come_from_a_real_model(tmp_path: Path) -> None:
    frames: list[int] = []

    def look(message: Mapping[str, Any]) -> None:
        said = message["content"].get("data", {}).get(PLAIN, "")
        if found := re.search(r"answering, (\d+) characters so far", said):
            frames.append(int(found[1]))

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext llmneutral")
        ran = kernel.run("%%prompt --max-tokens 60\nWhat is photosynthesis?", seen=look)
    assert ran.error is None
    assert len({*frames}) > 3, "it is shown while it comes"
    assert frames == sorted(frames)
    notice, answer = ran.outputs
    assert "answering with the embedded model" in notice["data"][PLAIN]
    assert ran.printed == "", "and nothing is red"
    record = answer["data"][MIME]
    assert (record["provider"], record["api"]) == ("local", "chat_completions")
    assert record["response"]["usage"]["output_total"] > 3
    for told in ("local · smollm2-135m-instruct", "no earlier messages", " tokens", "first ", "tok/s"):
        assert told in answer["data"]["text/html"]


@pytest.mark.live
def test_without_the_model_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    with Kernel(tmp_path, XDG_CACHE_HOME=str(tmp_path), HOME=str(tmp_path)) as kernel:
        kernel.run("%load_ext llmneutral")
        ran = kernel.run("%prompt Hello?")
    assert ran.error == "ConfigurationError"
    (error,) = [output for output in ran.outputs if output["output_type"] == "error"]
    (line,) = error["traceback"]
    assert line.startswith("ConfigurationError: the embedded model is not installed")
    assert "llmneutral local install" in ran.html


# ----------------------------------------------------------------------------------------------------------------------
# Making them again


def lesson(text: str, seconds: str) -> dict[str, Any]:
    said = f"local · tiny · first {seconds} s, {seconds} s, 40 tok/s · cost n/a\n{text}"
    output = {"output_type": "display_data", "data": {"text/plain": said, WIDGET: {}}, "metadata": {}}
    cell = {"cell_type": "code", "id": "a", "source": "", "outputs": [output], "execution_count": 1}
    return {"cells": [{**cell, "metadata": {"execution": {"iopub": "now"}, "tags": ["live"]}}], "metadata": {"x": 1}}


def test_what_only_took_longer_is_no_change(tmp_path: Path) -> None:
    old, new = tidied(lesson("words", "0.42")), tidied(lesson("words", "1.71"))
    assert merged(old, new) == old
    assert merged(old, tidied(lesson("other words", "1.71"))) != old
    assert WIDGET not in json.dumps(old)
    assert old["cells"][0]["metadata"] == {"tags": ["live"]}
    write(tmp_path / "a.ipynb", old)
    assert read(tmp_path / "a.ipynb") == old


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        ({"id": "x-0123abcd"}, {"id": "x-99999999"}, True),
        ("2026-11-30T10:00:00Z", "2027-01-01T00:00:00Z", True),
        ("<th>tok/s</th><td>5</td><td>0.1</td>", "<th>tok/s</th><td>77</td><td>12.5</td>", True),
        ("29 → 42 tokens", "29 → 43 tokens", False),
        ("The sky is blue.", "The sky is red.", False),
    ],
)
def test_what_varies_and_what_does_not(one: Any, other: Any, are_equal: bool) -> None:
    assert (settled(one) == settled(other)) is are_equal
