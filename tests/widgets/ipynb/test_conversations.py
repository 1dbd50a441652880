"""The names of the notebook layer's files, and a notebook that was really run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import mistune
import msgspec
import nbformat
import pytest
from nbclient import NotebookClient

import llmneutral
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.ipynb import conversations as ipynb
from llmneutral_widgets.ipynb.conversations import (
    NotebookError,
    conversation_text,
    read_conversation,
    save_conversation,
)
from tests.conftest import ROOT
from tests.widgets.ipynb.test_notebook_file import code, notebook, said
from tests.widgets.samples import response, stack

NAMES = ("stack_from_notebook", "extract_exchanges", "conversation_to_notebook", "diff_runs", "write_notebook")
SETUP = f"""
import sys
sys.path[:0] = {[str(ROOT), str(ROOT / "widgets")]}
from tests.widgets.shell import Echo
echo = Echo()
%load_ext llmneutral
"""
HEADERS = {"api-key": "jsonheaderkey99"}
HELD = """
import json
from llmneutral_widgets import session
found = session.current()
turns = [turn.exchange.to_json() for conversation in found.conversations.values() for turn in conversation.turns]
print(json.dumps({"turns": turns, "sent": [json.loads(stack.to_json())["messages"] for stack in echo.stacks]}))
"""


def test_they_are_reached_from_the_library() -> None:
    for name in (*NAMES, "NotebookError"):
        assert getattr(llmneutral.widgets, name) is getattr(ipynb, name)
        assert name in llmneutral.widgets.__all__


def test_loading_the_magics_loads_no_nbformat() -> None:
    magics = "llmneutral_widgets.magics"
    script = f"import sys, {magics}.loading, {magics}.inspecting; print('nbformat' in sys.modules)"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'widgets'); {script}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "False\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.slow
def test_a_notebook_that_was_run_holds_what_its_session_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    sources = [
        SETUP,
        "%%prompt -p {{echo}} -s Terse.\nFirst?",
        "%prompt -p {{echo}} --history 0 second\n%prompt -p {{echo}} third",
        "%%prompt -p {{echo}} -p {{echo}} -c other\nboth?",
        "%prompt -p {{echo}} --history 1 fourth",
        HELD,
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(made, timeout=60, kernel_name="python3", store_widget_state=False).execute()
    held = json.loads(made.cells[-1].outputs[0].text)
    path = tmp_path / "run.ipynb"
    nbformat.write(made, path)

    found = ipynb.extract_exchanges(path)
    assert (found.notes, found.missing) == ((), ())
    own = sorted([each.exchange.to_json() for each in found.found if not each.is_aside], key=lambda each: each["id"])
    assert own == sorted(held["turns"], key=lambda each: each["id"])
    assert len(found.found) == len(own) + 1
    sent = [json.loads(found.sent(each.exchange.id).to_json())["messages"] for each in found.found]
    assert sent == held["sent"]
    assert [message.to_text() for message in found.stack("default").messages[-2:]] == ["fourth", "FOURTH "]
    assert ipynb.diff_runs(path, made).is_same


def test_the_forms_of_a_conversation(tmp_path: Path) -> None:
    for form in ipynb.FORMS:
        path = tmp_path / f"out.{form}"
        save_conversation(stack(), path)
        assert path.read_text(encoding="utf-8") == conversation_text(stack(), form)
    kept = read_conversation((tmp_path / "out.json").read_bytes(), "out.json").conversation
    assert kept.messages == stack().messages
    found = read_conversation((tmp_path / "out.ipynb").read_bytes(), "out.ipynb").conversation
    assert [message for exchange in found for message in exchange.turn] == stack().messages
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("## system\n\nYou are terse.\n")
    exchange = Exchange(id="x-1", status="complete", messages=[said("user", "q")], response=response("a"))
    assert conversation_text([exchange], "md").endswith("## assistant\n\nHm.\na\n")


def test_markdown_tells_who_answered_and_what_an_answer_lacks() -> None:
    whole = Exchange(
        id="x-1",
        status="complete",
        name="birds",
        provider="anthropic",
        model="claude-sonnet-5-5",
        messages=[said("system", "Terse."), said("user", "q")],
        response=response("a", finish_reason="length"),
    )
    stopped = Exchange(id="x-2", status="interrupted", parent="x-1", name="birds", messages=[said("user", "r")])
    stopped = msgspec.structs.replace(stopped, provider="<b>", response=response("b"))
    text = conversation_text([whole, stopped], "md")
    assert text.startswith("# Conversation birds\n\n## system\n\nTerse.\n\n## user\n\nq\n")
    assert "Hm.\na\n\n<sub>anthropic · claude-sonnet-5-5 · cut off</sub>\n\n## user" in text
    assert text.endswith("Hm.\nb\n\n<sub>interrupted</sub>\n")


def test_markdown_that_was_written_here_is_replaced(tmp_path: Path) -> None:
    exchange = Exchange(id="x-1", status="complete", messages=[said("user", "q")], response=response("a"))
    for text in ("one", "two"):
        save_conversation([msgspec.structs.replace(exchange, name=text)], tmp_path / "out.md")
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("# Conversation two\n\n## user")


@pytest.mark.parametrize(
    "wild",
    [
        "![](https://evil.example/x.png)",
        "```mermaid\nflowchart LR\n```",
        "<img src=https://evil.example/x>",
        "[x](javascript:1)",
        "a $x^2$",
    ],
)
@pytest.mark.parametrize("before", ["tame", "```python\nleft open", "~~~\nopen", "````\n```", "```\nx\n```\n```"])
def test_in_markdown_what_is_no_mere_text_stands_in_a_fence(wild: str, before: str) -> None:
    text = conversation_text(llmneutral.PromptStack([said("user", before), said("assistant", wild)]), "md")
    shown = str(mistune.html(text))
    for sign in ("<img", "<a ", "language-mermaid"):
        assert sign not in shown
    assert shown.count("<h2>") == 2


def test_in_markdown_code_of_an_answer_stays_code() -> None:
    answer = "So:\n\n```python\nx = 1\n```\n\nand `this`."
    assert conversation_text(llmneutral.PromptStack([said("assistant", answer)]), "md") == f"## assistant\n\n{answer}\n"


def test_a_notebook_that_somebody_works_in_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "work.ipynb"
    for content in (json.dumps(notebook(code("x = 1"))), "broken"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(NotebookError, match=r"work\.ipynb was not exported by llmneutral, and is not replaced"):
            save_conversation(stack(), path)
        assert path.read_text(encoding="utf-8") == content
    path.write_text("", encoding="utf-8")
    for style in ipynb.STYLES:  # an empty file, and one that was exported
        save_conversation(stack(), path, style)
        assert path.read_text(encoding="utf-8") == conversation_text(stack(), "ipynb", style)


def test_only_what_was_written_here_is_replaced(tmp_path: Path) -> None:
    """Every form that is written is known again, whatever stands in it; a file of anybody's is none of them."""
    for form in ipynb.FORMS:
        path = tmp_path / f"out.{form}"
        for made in (
            stack(),
            llmneutral.PromptStack(),
            [Exchange(id="x-1", status="complete", response=response("a"))],
        ):
            save_conversation(made, path)
            assert path.read_text(encoding="utf-8") == conversation_text(made, form)
        path.write_text("# Somebody's\n", encoding="utf-8")
        with pytest.raises(NotebookError, match="is not replaced: choose another name"):
            save_conversation(stack(), path)


def test_an_empty_conversation_is_empty_in_every_form() -> None:
    for form in ("ipynb", "json"):
        found = read_conversation(conversation_text(llmneutral.PromptStack(), form), f"x.{form}").conversation
        assert list(getattr(found, "messages", found)) == []


def test_the_values_of_json_are_cleaned_not_its_text() -> None:
    """What is a header in a message is masked in every form."""
    told = llmneutral.PromptStack([said("user", '{"x-api-key": "plainkey123"}')], settings={"extra_headers": HEADERS})
    for form in ipynb.FORMS:
        text = conversation_text(told, form)
        assert "plainkey123" not in text
        assert "jsonheaderkey99" not in text
    kept = json.loads(conversation_text(told, "json"))
    assert kept["messages"][0]["content"][0]["text"] == '{"x-api-key": "•••"}'
    assert kept["settings"]["extra_headers"]["api-key"] == "•••"


def test_messages_in_openais_format_are_a_conversation() -> None:
    found = read_conversation('[{"role": "user", "content": "hi"}]', "oa.json").conversation
    assert [message.to_text() for message in found.messages] == ["hi"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"messages":[],"settings":5}', "x.json: this is no PromptStack in JSON: settings is 5, not an object"),
        ('{"messages":[],"tools":5}', "x.json: this is no PromptStack in JSON: tools is 5, not a list"),
        ('{"messages":[],"tools":[5]}', r"x.json: tools\[0\] is an int"),
        ('{"messages":[],"output_schema":5}', "x.json: this is no PromptStack in JSON: output_schema is 5, not a JSON"),
        ('{"messages":[],"output_schema":{"type":"nope"}}', "x.json: the schema has the type 'nope'"),
        ('{"messages":[],"settings":{"temprature":1}}', "x.json: unknown setting 'temprature'; near it: temperature"),
        ('{"messages":[],"settings":{"max_tokens":-1}}', "x.json: the setting max_tokens is -1"),
        ('{"messages":[],"read_from":5}', "x.json: this is no PromptStack in JSON: read_from is 5"),
        ('[{"role": "user", "content": 5}]', "x.json: "),
        ("[]", "x.json holds no conversation: it is neither a notebook"),
        ("[1]", "x.json holds no conversation: it is neither a notebook"),
        ("5", "x.json holds no conversation: it is neither a notebook"),
        ("{}", "x.json holds no conversation: it is neither a notebook"),
        ("broken", "x.json is no conversation: it is no JSON"),
        ('{"nbformat": "x"}', "x.json is no notebook: it has no number nbformat"),
    ],
)
def test_json_that_holds_no_conversation_is_one_line(content: str, told: str) -> None:
    with pytest.raises(NotebookError, match=f"^{told}") as caught:
        read_conversation(content, "x.json")
    assert "\n" not in str(caught.value)


def test_what_an_exchange_brings_is_looked_at_too() -> None:
    opening = Exchange(
        id="x-1",
        status="complete",
        messages=[said("user", "q")],
        settings={"temprature": 1},
        history={"loaded": True},
        response=response("a"),
    )
    with pytest.raises(NotebookError, match=r"x\.ipynb: unknown setting 'temprature'"):
        read_conversation(conversation_text([opening], "ipynb"), "x.ipynb")


def test_what_cannot_be_saved_or_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotebookError, match=r"out\.txt: a conversation is saved as \.ipynb, \.json, \.md"):
        save_conversation(stack(), tmp_path / "out.txt")
    with pytest.raises(NotebookError, match="written as ipynb, json, md, not as html"):
        conversation_text(stack(), "html")
    with pytest.raises(NotebookError, match="not int"):
        conversation_text(3, "json")
    with pytest.raises(NotebookError, match="x: this is no PromptStack"):
        read_conversation('{"messages": [{"role": 3}]}', "x")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_without_questions_is_told() -> None:
    found = read_conversation(json.dumps(notebook(code("1 + 1"))), "x")
    assert [message.to_text() for message in found.conversation.messages] == ["```python\n1 + 1\n```"]
    with pytest.raises(NotebookError, match="x holds no conversation other"):
        read_conversation(json.dumps(notebook(code("1 + 1"))), "x", "other")
