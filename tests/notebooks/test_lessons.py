"""The lessons: each runs from top to bottom on the embedded model, and its saved outputs are what a run gives."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbconvert
import nbformat
import pytest

import llmneutral
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.scrub import LARGEST_MEDIA
from llmneutral_widgets.views.answer import foot
from tests.notebooks.lessons import LESSONS, WIDGET, executed, latest, lessons, read, settled, tidied, write
from tests.widgets.kernel import PLAIN, Kernel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
every_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
MOST_WORDS = 1_000
"""Words of a lesson: what is read in five minutes."""
REMOTE = re.compile(r"<script|(?:src|href)=[\"']?(?:https?:)?//", re.IGNORECASE)
FOREIGN_PATH = re.compile(r"(?<![\w+/.:-])(?:/(?:home|root|tmp|work|Users|usr|var)/|[A-Z]:\\\\)")
KEY = re.compile(
    r"\bsk-[\w-]{8,}|\bAIza[\w-]{20,}|\bAKIA[A-Z0-9]{12,}|\bBearer \S{8,}|\b[A-Z]+_(?:KEY|TOKEN) ?= ?\S{8,}"
)
SCHOOL = "https://models.example.org/v1"
PREDICTION = "**Before you run it:**"


def needs_the_model(path: Path) -> bool:
    return any(["live" in cell["metadata"].get("tags", ()) for cell in read(path)["cells"]])


each_to_run = pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.live] * needs_the_model(path)) for path in lessons()],
)
"""Every lesson; those that ask the embedded model only where it is installed."""


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
            assert Exchange.from_json(data[MIME]).status in ("complete", "dry_run")
            assert len(json.dumps(data[MIME])) < LARGEST_MEDIA


def told(notebook: Any) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


@every_lesson
def test_questions_come_before_answers(path: Path) -> None:
    """A lesson asks for a prediction, shows, and explains."""
    text = "\n".join(told(read(path)))
    assert text.count(PREDICTION) >= 3
    assert "## Your turn" in text
    assert len(text.split()) <= MOST_WORDS, "five minutes"


@every_lesson
def test_a_prediction_is_followed_by_what_it_is_about_and_an_explanation(path: Path) -> None:
    cells = read(path)["cells"]
    places = [i for i, cell in enumerate(cells) if PREDICTION in "".join(cell["source"])]
    for place, until in zip(places, [*places[1:], len(cells)], strict=True):
        kinds = [cell["cell_type"] for cell in cells[place + 1 : until]]
        assert kinds[0] == "code", cells[place]["id"]
        assert "markdown" in kinds, f"nothing explains {cells[place]['id']}"
        assert any([cell.get("outputs") for cell in cells[place + 1 : until]]), "an answer is shown"


@every_lesson
def test_the_exercise_has_a_hidden_check_that_waits_kindly(path: Path) -> None:
    cells = {cell["id"]: cell for cell in read(path)["cells"]}
    order = [cell["id"] for cell in read(path)["cells"]]
    assert order.index("exercise-text") < order.index("exercise") < order.index("check")
    assert cells["check"]["metadata"]["jupyter"]["source_hidden"] is True
    (said,) = cells["check"]["outputs"]
    assert said["output_type"] == "stream"
    assert "".join(said["text"]).startswith("Not "), "saved as a reader finds it: not tried yet"


@every_lesson
def test_a_change_below_an_answer_is_spoken_of(path: Path) -> None:
    """A reader who meets `1 change` is told what it is."""
    html = ["".join(each.get("data", {}).get("text/html", "")) for each in outputs(read(path))]
    shown = [found for each in html for found in re.findall(r'class="changes"><summary>(\d+ changes?):', each)]
    assert {*shown} <= {*re.findall(r"\*(\d+ changes?)\*", "\n".join(told(read(path))))}


@every_lesson
def test_its_links_lead_to_other_lessons(path: Path) -> None:
    text = "\n".join(told(read(path)))
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not (path.parent / link).is_file()] == []


def test_each_lesson_leads_on_to_the_next() -> None:
    """The last words of a lesson; the last lesson leads back to the first."""
    paths = lessons()
    for path, following in zip(paths, [*paths[1:], paths[0]], strict=True):
        last = read(path)["cells"][-1]
        assert last["cell_type"] == "markdown"
        text = "".join(last["source"])
        assert text.startswith("**Next:**"), path.name
        assert re.findall(r"\]\(([^)]+\.ipynb)\)", text)[:1] == [following.name], path.name


@every_lesson
def test_it_holds_no_key_and_nothing_of_the_machine_it_ran_on(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    assert KEY.findall(written) == []
    assert FOREIGN_PATH.findall(written) == []


@every_lesson
def test_as_a_page_it_runs_no_script_and_fetches_nothing_of_its_own(path: Path) -> None:
    """What nbconvert makes of a lesson holds only the scripts and addresses of its template, as an empty page does."""
    make: Any = nbconvert.HTMLExporter  # has no types
    pages = make()
    node: Any = nbformat.read(path, as_version=4)
    empty = nbformat.from_dict({**node, "cells": []})
    shown, template = [pages.from_notebook_node(each)[0] for each in (node, empty)]
    assert sorted(REMOTE.findall(shown)) == sorted(REMOTE.findall(template))


def solution(notebook: Any) -> str | None:
    """The code that a reader finds behind "A solution", or None."""
    (text,) = [text for text in told(notebook) if "<summary>" in text] or [""]
    fenced = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    return fenced[1] if fenced else None


def with_solution(notebook: Any) -> Any:
    """A lesson with two more cells: its solution, and the check once more."""
    found = copy.deepcopy(notebook)
    answer = solution(notebook)
    if answer is not None:
        (check,) = [cell for cell in found["cells"] if cell["id"] == "check"]
        found["cells"] += [
            {**check, "id": f"more-{i}", "source": each} for i, each in enumerate((answer, check["source"]))
        ]
    return found


def judged(lesson: str, mine: str) -> str:
    """What the check of a lesson says to an answer, in a room with as much of the lesson as it needs."""
    cells = {cell["id"]: "".join(cell["source"]) for cell in read(LESSONS / f"{lesson}.ipynb")["cells"]}
    talk = llmneutral.PromptStack(settings={"max_tokens": 200})
    talk.add_user_message("Which number up to 12 has the most divisors?")
    talk.add_assistant_message("12.")
    talk.add_user_message("And up to 24?")
    room: dict[str, Any] = {"llmneutral": llmneutral, "answers": {"Claude": None}, "talk": lambda _: talk}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for source in (cells["exercise"], mine, cells["check"]):
            exec(source, room)
    return printed.getvalue()


@pytest.mark.parametrize(
    ("lesson", "mine", "said"),
    [
        ("05-reasoning", 'convert(found, "anthropic_messages")', "Not yet: say which model is asked."),
        ("05-reasoning", 'convert(found, "anthropic_messages", model="claude-sonnet-5-5")', "Not yet: the signature"),
        ("05-reasoning", 'convert(found, "anthropic_messages", model="claude-opus-5-5")', "Right: claude-opus-5-5"),
        ("10-switching", f'resolve_api_mode(base_url="{SCHOOL}")', "That is chat_completions"),
        ("10-switching", f'resolve_api_mode(base_url="{SCHOOL}/anthropic")', "Messages, by the rule suffix:anthropic"),
        ("10-switching", 'resolve_api_mode(base_url="https://api.anthropic.com")', "Messages, by the rule host:"),
        (
            "10-switching",
            f'resolve_api_mode(base_url="{SCHOOL}", provider="anthropic")',
            "Right, by the rule provider:",
        ),
        ("10-switching", f'resolve_api_mode(base_url="{SCHOOL}", api_mode="messages")', "Right, by the rule explicit"),
    ],
)
def test_a_check_takes_what_is_right_and_nothing_else(lesson: str, mine: str, said: str) -> None:
    assert judged(lesson, f"mine = llmneutral.{mine}").startswith(said)


@each_to_run
def test_it_runs_and_says_what_was_saved(path: Path) -> None:
    """Cells that show the model's own words are tagged `live`: they run, and what they say is not compared."""
    saved = read(path)
    ran = executed(with_solution(saved))
    for before, now in zip(saved["cells"], ran["cells"], strict=False):
        if before["cell_type"] == "code" and "live" not in before["metadata"].get("tags", ()):
            said, saved_text = [settled(cell["outputs"], with_style=False) for cell in (now, before)]
            assert said == saved_text, before["id"]
    kept = [output["data"][MIME] for output in outputs(ran) if MIME in output.get("data", {})]
    answered = [record for record in kept if record["status"] != "dry_run"]
    assert [record["status"] for record in answered] == ["complete"] * len(answered)
    assert all([record["response"]["text"] or record["response"]["tool_calls"] for record in answered])
    if solution(saved) is not None:
        (checked,) = ran["cells"][-1]["outputs"]
        assert "".join(checked["text"]).startswith("Right"), "the check takes the solution"


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


def test_an_output_that_was_nothing_but_a_widget_is_none() -> None:
    made = lesson("words", "0.42")
    live = {"output_type": "display_data", "data": {WIDGET: {}}, "metadata": {}}
    made["cells"][0]["outputs"].insert(0, live)
    assert tidied(made) == tidied(lesson("words", "0.42"))


def test_what_only_took_longer_is_no_change(tmp_path: Path) -> None:
    old, new = tidied(lesson("words", "0.42")), tidied(lesson("words", "1.71"))
    assert latest(old, new) == old
    assert latest(old, other := tidied(lesson("other words", "1.71"))) == other
    assert WIDGET not in json.dumps(old)
    assert old["cells"][0]["metadata"] == {"tags": ["live"]}
    write(tmp_path / "a.ipynb", old)
    assert read(tmp_path / "a.ipynb") == old


def test_a_saved_lesson_is_of_one_run() -> None:
    """A cell that says the same as before is saved anew where another one changed: their times belong together."""
    old, new = [tidied(lesson("words", seconds)) for seconds in ("0.42", "1.71")]
    for made, said in ((old, "3 calls"), (new, "4 calls")):
        made["cells"] += [{**cell, "id": "b"} for cell in tidied(lesson(said, "9"))["cells"]]
    assert latest(old, new) == new
    assert latest(new, new) == new


def test_a_number_that_varies_in_one_cell_does_not_hide_another() -> None:
    """In a table of usage no number counts; elsewhere in the same lesson each does."""
    old, new = [tidied(lesson(f"{count} messages", "1")) for count in (3, 4)]
    for made in (old, new):
        made["cells"] += [{**cell, "id": "b"} for cell in tidied(lesson("<th>tok/s</th>", "9"))["cells"]]
    assert latest(old, new) == new


def footed(cached: int, output: int = 9) -> str:
    """The foot of an answer as it is shown."""
    usage = {"input_total": 35, "output_total": output, "cache_read": cached}
    return str(foot({"status": "complete", "provider": "local", "response": {"usage": usage}}))


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        ({"id": "x-0123abcd"}, {"id": "x-99999999"}, True),
        ('native {"id": "msg_QGd4v9"}', 'native {"id": "msg_ELj5r1"}', True),
        ('native {"id": "msg_QGd4v9"}', 'native {"id": "msg_ELj5r1", "phase": "x"}', False),
        ({"tag": "dxyegwIp2rCXUzJBA2FugnsB219eSMBe"}, {"tag": "97e7c9uhnSK4CMkoJlz415P0p7VfZ595"}, True),
        ({"tag": "call_1"}, {"tag": "call_2"}, False),
        ("2026-11-30T10:00:00Z", "2027-01-01T00:00:00Z", True),
        ("<th>tok/s</th><td>5</td><td>0.1</td>", "<th>tok/s</th><td>77</td><td>12.5</td>", True),
        (
            '<th>of the time</th><td>2,402</td><code>{"created": 179, "id": "chatcmpl-MNa… (9 more)</code>',
            '<th>of the time</th><td>97</td><code>{"created": 185, "id": "chatc… (12 more)</code>',
            True,
        ),
        ("<th>of the time</th><td>2,402</td><td>rain</td>", "<th>of the time</th><td>97</td><td>snow</td>", False),
        ("29 → 42 tokens", "29 → 43 tokens", False),
        ("35 → 9 tokens · first 1 s, 2 s", "35 → 9 tokens (18 cached) · first 1 s, 2 s", True),
        ("35 → 9 tokens (1,018 cached, 4 reasoning)", "35 → 9 tokens (4 reasoning)", True),
        ("35 → 9 tokens (18 cached, 4 reasoning)", "35 → 9 tokens (18 cached, 5 reasoning)", False),
        ({"cache_read": 0, "input_uncached": 35}, {"cache_read": 18, "input_uncached": 17}, True),
        ({"cache_read": None}, {"cache_read": 18}, False),
        (footed(0), footed(18), True),
        (footed(0), footed(18, output=10), False),
        ("The sky is blue.", "The sky is red.", False),
    ],
)
def test_what_varies_and_what_does_not(one: Any, other: Any, are_equal: bool) -> None:
    assert (settled(one) == settled(other)) is are_equal


def test_a_new_style_is_worth_saving_and_says_nothing_new() -> None:
    one, other = [
        {"text/html": [f"<style>.a{{color:{colour}}}\n</style>", "<p>It is.</p>"]} for colour in ("red", "blue")
    ]
    assert settled(one) != settled(other)
    assert settled(one, with_style=False) == settled(other, with_style=False)
    assert "It is." in settled(one, with_style=False)
