"""A conversation as a notebook: it comes back the same, asks the same again, and shows nothing that acts."""

from __future__ import annotations

import base64
import json
import math
import re
from typing import Any

import msgspec
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.ipynb.exports import (
    STYLES,
    conversation_to_notebook,
    escaped,
    fence,
    is_tame,
    linked,
    prompt_source,
    quoted,
)
from llmneutral_widgets.ipynb.extraction import extract_exchanges
from llmneutral_widgets.ipynb.lacking import HEAD
from llmneutral_widgets.ipynb.notebook_file import NotebookError, notebook_text, open_notebook, parse_notebook
from llmneutral_widgets.ipynb.transcribing import stack_from_notebook
from llmneutral_widgets.lines.options import all_words
from llmneutral_widgets.lines.prompt_line import parse_prompt
from llmneutral_widgets.magics.composing import compose
from llmneutral_widgets.views.page import visible
from tests.laws.stacks import exchanges, stacks
from tests.widgets.closed_set import HOSTILE, OWN_ATTACKS
from tests.widgets.ipynb.test_notebook_file import said
from tests.widgets.samples import RECORD, response, stack
from tests.widgets.shell import running

KEY = "sk-ant-api03-abcdef0123456789abcdef"


def back(notebook: Any) -> list[Any]:
    """The messages of the conversation in a notebook, by way of a file."""
    found = extract_exchanges(parse_notebook(notebook_text(notebook), "x"))
    assert found.notes == ()
    return [message for exchange in found.conversation() for message in exchange.turn]


def without_nan(message: llmneutral.Message) -> llmneutral.Message:
    """A message in which results that are NaN are null, as in every file."""
    blocks = [
        msgspec.structs.replace(block, output=None)
        if isinstance(block, llmneutral.ActionResultMessageContent) and block.output != block.output
        else block
        for block in message.content
    ]
    return msgspec.structs.replace(message, content=tuple(blocks))


def kept(messages: list[llmneutral.Message]) -> list[llmneutral.Message]:
    """What a file can hold of messages: results that are NaN are null, and half a character is none."""
    text = llmneutral.PromptStack([without_nan(message) for message in messages]).to_json()
    return llmneutral.PromptStack.from_json(text.replace("\\ud83d", "\ufffd")).messages


@given(stacks)
def test_a_conversation_comes_back_the_same(messages: list[llmneutral.Message]) -> None:
    notebook = conversation_to_notebook(llmneutral.PromptStack(messages))
    nbformat.validate(notebook)
    assert back(notebook) == kept(messages)


STATUSES = ["complete", "refused", "interrupted", "failed", "incomplete"]


@given(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=6))
def test_exchanges_come_back_as_they_were(statuses: list[Any]) -> None:
    given: list[Exchange] = []
    for number, status in enumerate(statuses):
        sendable = [each.id for each in given if each.status in ("complete", "refused", "interrupted")]
        question = said("user", f"q{number}")
        parent = sendable[-1] if sendable else None
        answer = response(f"a{number}")
        given.append(Exchange(id=f"x-{number}", status=status, parent=parent, messages=[question], response=answer))
    found = extract_exchanges(conversation_to_notebook(given))
    assert [each.to_json() for each in found.exchanges] == [each.to_json() for each in given]
    again = conversation_to_notebook(found.exchanges)
    assert [each.to_json() for each in extract_exchanges(again).exchanges] == [each.to_json() for each in given]
    assert [cell.source for cell in again.cells] == [cell.source for cell in conversation_to_notebook(given).cells]


def test_the_cells() -> None:
    notebook = conversation_to_notebook(stack())
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"] == [
        "%load_ext llmneutral",
        (
            '%%prompt -s "You are terse." --set temperature=0.2 --set seed=7\n'
            "What is this, and the weather in Paris?\n[image/png]\n\nAnswer in **one** line."
        ),
        "%%prompt --set temperature=0.2 --set seed=7\nThanks! And tomorrow?",
    ]
    assert notebook.metadata["llmneutral"] == {"schema": 1}
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    (remark,) = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    assert notebook.cells.index(remark) == 1
    assert remark.source.split("\n")[2:] == [
        "* tools, which the notebook it was asked in had defined: define them, and add `-t weather` and `--run-tools`",
        "* 1 of what was attached: add `-a FILE` in the place of what stands in brackets",
    ]
    assert [set(output.data) for cell in notebook.cells for output in cell.get("outputs", ())] == [
        {MIME, "text/html", "text/plain"}
    ] * 2
    assert notebook.cells[2].outputs[0].metadata["llmneutral"]["schema"] == 1


def test_an_exchange_asks_whom_it_asked() -> None:
    exchange = Exchange.from_json({**RECORD, "stack": "my talk"})
    _, source = prompt_source(exchange)
    assert source == '%%prompt -p anthropic/claude-sonnet-5-5 -c "my talk" --set temperature=0.2\nHi'
    _, other = prompt_source(Exchange.from_json({**RECORD, "provider": "mine"}))
    assert "-p" not in other


def code_of(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"][1:]


def remarks_of(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


LINES = [
    "-s Terse. one",
    "-s Kind. --temperature 0.5 two",
    "--history 1 --set seed=7 three",
    '-s "" --history 0 four',
    "five",
]


def test_what_is_run_again_sends_the_same() -> None:
    """Also where the system text changes, goes, and where not all of the history went along."""
    with running(is_kernel=True) as cells:
        for line in LINES:
            assert cells.run(f"%prompt -p {{{{echo}}}} {line}").error is None
        asked = cells.shell.user_ns["echo"].stacks
        notebook = conversation_to_notebook([turn.exchange for turn in session.current().conversation().turns])
        kept = session.current().conversation().kept()
    assert code_of(notebook)[2:4] == ["%%prompt --set seed=7 --history 1\nthree", '%%prompt -s "" --history 0\nfour']
    assert extract_exchanges(notebook).stack().messages == kept.messages
    with running(is_kernel=True) as cells:
        for source in code_of(notebook):
            assert cells.run(source.replace("%%prompt", "%%prompt -p {{echo}}", 1)).error is None
        again = cells.shell.user_ns["echo"].stacks
    assert [each.messages for each in again] == [each.messages for each in asked]
    assert [each.settings for each in again] == [each.settings for each in asked]


def test_what_a_line_cannot_say_is_said_before_it_once() -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": {}}}
    first = Exchange(
        id="x-1", status="complete", messages=[said("user", "a")], tools=[tool], provider="mine", model="m"
    )
    second = msgspec.structs.replace(first, id="x-2", parent="x-1", settings={"unheard_of": 1})
    third = msgspec.structs.replace(first, id="x-3", parent="x-2", provider="openai")
    notebook = conversation_to_notebook([first, second, third])
    one, two = remarks_of(notebook)
    assert "add `-t weather`" in one
    assert "`mine · m`: no name of a provider" in one
    assert two == f"{HEAD.format(number=5, question='a')}\n\n* settings that no line takes: `unheard_of`"
    assert "cell 3 (a)" in one
    assert [cell.source[:8] for cell in (notebook.cells[2], notebook.cells[4])] == ["%%prompt", "%%prompt"]
    assert [message.to_text() for message in stack_from_notebook(notebook).messages][1] == "a", "it is no message"
    assert remarks_of(conversation_to_notebook(third))[0].count("* ") == 1


def test_instructions_in_the_middle_of_a_loaded_conversation_are_told() -> None:
    made = llmneutral.PromptStack([said(role, role) for role in ("system", "user", "assistant", "system", "user")])
    notebook = conversation_to_notebook(made)
    (remark,) = remarks_of(notebook)
    assert "its instructions in this place" in remark
    assert back(notebook) == made.messages


@pytest.mark.parametrize("name", ["<img src=x>", "a`b", "![x](http://e.example)", "x" * 200, "a\nb"])
def test_a_remark_shows_nothing_of_a_strangers_but_plain_names(name: str) -> None:
    tool = {"type": "function", "function": {"name": name, "parameters": {}}}
    made = Exchange(id="x-1", status="complete", messages=[said("user", "a")], tools=[tool], provider=name, model=name)
    (remark,) = remarks_of(conversation_to_notebook(msgspec.structs.replace(made, settings={name: 1})))
    assert name not in remark
    assert remark.count("…") == 4


def test_the_same_conversation_is_the_same_bytes() -> None:
    assert notebook_text(conversation_to_notebook(stack())) == notebook_text(conversation_to_notebook(stack()))


def test_ids_stay_where_a_turn_is_put_in_before() -> None:
    messages = exchanges(3)
    all_cells, fewer = (
        conversation_to_notebook(llmneutral.PromptStack(part)).cells for part in (messages, messages[4:])
    )
    assert [cell.id for cell in all_cells][2:] == [cell.id for cell in fewer][1:]
    same = conversation_to_notebook(llmneutral.PromptStack([*messages[:4], *messages[:4]])).cells
    assert len({cell.id for cell in same}) == 3


def test_no_secret_no_path_no_big_media(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "my-very-secret-value")
    big = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40_000)).decode()
    made = llmneutral.PromptStack(settings={"extra_body": {"key": KEY}})
    made.add_system_message(f"the {KEY}")
    made.add_user_message(
        [
            llmneutral.TextMessageContent("use my-very-secret-value"),
            llmneutral.ImageMessageContent(data=big, media_type="image/png"),
            llmneutral.DocumentMessageContent(data="AAAA", name="/srv/ada/a.pdf", media_type="application/pdf"),
        ]
    )
    made.add_assistant_message(f"no {KEY}")
    for style in STYLES:
        text = notebook_text(conversation_to_notebook(made, style))
        assert KEY not in text
        assert "my-very-secret-value" not in text
        assert "/srv" not in text
        assert big[:1000] not in text
    (exchange,) = extract_exchanges(conversation_to_notebook(made)).exchanges
    assert exchange.cut[0]["at"] == "/messages/1/content/1"
    assert exchange.cut[0]["was"] == "image/png, 40008 bytes"
    blocks = exchange.question[1].content
    assert blocks[1] == llmneutral.ImageMessageContent(media_type="image/png"), "named in cut, and else the same"


def test_numbers_that_json_does_not_have_are_null() -> None:
    made = llmneutral.PromptStack(settings={"temperature": math.nan})
    made.add_user_message("q")
    text = notebook_text(conversation_to_notebook(made))
    assert "NaN" not in text


def test_a_conversation_that_was_loaded_becomes_its_turns() -> None:
    opening = Exchange(id="x-1", status="complete", messages=tuple(stack().messages), name="b")
    later = Exchange(id="x-2", status="complete", parent="x-1", messages=[said("user", "q")], name="b")
    notebook = conversation_to_notebook([opening, later])
    assert len([cell for cell in notebook.cells if cell.cell_type == "code"]) == 4
    assert back(notebook) == [*stack().messages, *later.question]


def test_a_chain_whose_beginning_was_asked_again_is_mended() -> None:
    made = [
        Exchange(id="x-new", status="complete", messages=[said("user", "q")]),
        Exchange(id="x-2", status="complete", parent="x-old", messages=[said("user", "r")]),
        Exchange(id="x-2", status="complete", parent="x-2", messages=[said("user", "s")]),
    ]
    assert [(each.id, each.parent) for each in linked(made)] == [("x-new", None), ("x-2", "x-new"), ("x-2-2", "x-2")]
    assert [message.to_text() for message in back(conversation_to_notebook(made))] == ["q", "r", "s"]


def test_what_is_no_conversation() -> None:
    for wrong in (3, ["text"], stack().messages):
        with pytest.raises(NotebookError, match="is a PromptStack or exchanges, not"):
            conversation_to_notebook(wrong)
    with pytest.raises(NotebookError, match="style prompt or markdown, not html"):
        conversation_to_notebook(stack(), "html")  # type: ignore[arg-type]
    assert [cell.source for cell in conversation_to_notebook([]).cells] == ["%load_ext llmneutral"]


def test_an_exchange_makes_a_notebook_of_what_was_sent() -> None:
    *earlier, question = stack().messages
    exchange = Exchange(
        id="x-9",
        status="complete",
        parent="x-8",
        messages=[question],
        response=response(),
        stack=stack(),
        history={"messages": 5},
    )
    assert back(exchange.to_notebook()) == [*earlier, question, response().message]
    alone = Exchange.from_json(exchange.to_json())
    assert back(alone.to_notebook()) == [question, response().message]
    system = said("system", "Anew.")
    anew = Exchange(id="x-9", status="complete", messages=[system, question], response=response(), stack=stack())
    assert [message.to_text() for message in back(anew.to_notebook()) if message.is_system()] == ["Anew."]
    assert exchange.to_notebook("markdown").cells[0].cell_type == "markdown"


# ----------------------------------------------------------------------------------------------------------------------
# The line of a cell


lines = st.text(alphabet="a \"'{}\\-\né\t$\x85", max_size=9)


@given(lines)
def test_a_word_is_read_as_it_was_written(word: str) -> None:
    written = quoted(word)
    if written is not None:
        assert all_words(f"-x {written} y") == ["-x", word, "y"]


@given(lines, lines)
def test_the_question_is_asked_again_as_it_was(system: str, question: str) -> None:
    exchange = Exchange(
        id="x-1",
        status="complete",
        messages=[said("system", system), said("user", f"a{question}b")],
        settings={"stop": ["a", '"'], "seed": 7, "user": "x y", "tool_choice": "auto", "unheard_of": 3},
    )
    before, source = prompt_source(exchange)
    names: dict[str, Any] = {}
    if before is not None:
        exec(before, names)
    first, _, body = source.partition("\n")
    given = parse_prompt(first.removeprefix("%%prompt"))
    composed = compose(given, body, names)
    assert composed.question.to_text() == f"a{question}b".replace("\x85", "\ufffd")
    assert composed.system == system
    assert given.settings["seed"] == 7
    assert "unheard_of" not in given.settings


@pytest.mark.parametrize("text", ["{{a}}", "{{{a}}}", "\\{{a}}", "{{ a.b['c'] }} {", "{{", "}}{{"])
def test_braces_of_a_question_are_no_variables(text: str) -> None:
    composed = compose(parse_prompt(""), escaped(text), {"a": 1})
    assert composed.question.to_text() == text


def test_a_turn_without_a_question_has_a_cell() -> None:
    made = llmneutral.PromptStack([said("assistant", "hello")])
    notebook = conversation_to_notebook(made)
    assert notebook.cells[1].source.startswith("#")
    assert back(notebook) == made.messages


# ----------------------------------------------------------------------------------------------------------------------
# To read


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text(max_size=20)), max_size=5))
def test_texts_to_read_come_back(told: list[tuple[str, str]]) -> None:
    made = llmneutral.PromptStack([said(role, visible(text)) for role, text in told])
    notebook = conversation_to_notebook(made, "markdown")
    assert [cell.cell_type for cell in notebook.cells] == ["markdown"] * len(told)
    found = stack_from_notebook(parse_notebook(notebook_text(notebook), "x"))
    assert found.notes == ()
    kept = [message for message in made.messages if not message.is_system()]
    assert [message for message in found.messages if not message.is_system()] == kept


@pytest.mark.parametrize("text", [*HOSTILE.values(), *OWN_ATTACKS.values()], ids=[*HOSTILE, *OWN_ATTACKS])
def test_a_hostile_text_stands_in_a_fence(text: str) -> None:
    made = llmneutral.PromptStack([said("assistant", text)])
    (cell,) = conversation_to_notebook(made, "markdown").cells
    if cell.metadata["llmneutral"]["fenced"]:
        marks = cell.source.split("\n")[2]
        assert set(marks) == {"`"}
        assert cell.source.endswith(f"\n{marks}")
        assert cell.source.count(marks) == 2
    else:  # what is shown as Markdown holds nothing that a front end could act on
        assert not re.search(r"[<$]|!\[|javascript|\\\(|&", cell.source), cell.source


@pytest.mark.parametrize(
    ("text", "tame"),
    [
        ("# Title\n\n* **a** `b`\n\n```python\nx = 1\n```", True),
        ("see [this](https://a.example/b) and R&D", True),
        ("a < b", False),
        ("![a](https://a.example/b.png)", False),
        ("[a](javascript:x)", False),
        ("[a](https://a.example 'x')", False),
        ("[a]: https://a.example", False),
        ("[a][b]", False),
        ("[https://good.example](https://evil.example)", False),
        ('~~~x" onmouseover="y\nx\n~~~', False),
        ("costs $5", False),
        ("&#106;", False),
        ("```mermaid\ngraph\n```", False),
        ("\\begin{align}", False),
        ("\nleading", False),
        ("a\rb", False),
    ],
)
def test_what_is_shown_as_markdown(text: str, tame: bool) -> None:
    assert is_tame(text) is tame


@given(st.text(alphabet="`a\n~ ", max_size=20))
def test_a_fence_is_longer_than_any_in_it(text: str) -> None:
    first, *inner, last = fence(text, "x").split("\n")
    assert "\n".join(inner) == text
    assert first == f"{last}x"
    assert last not in text


# ----------------------------------------------------------------------------------------------------------------------
# Size


def test_a_thousand_exchanges_cost_in_proportion() -> None:
    """Counted, not timed: what is written for a turn does not grow with the turns before it."""
    few, many = (len(json.dumps(conversation_to_notebook(llmneutral.PromptStack(exchanges(n))))) / n for n in (50, 200))
    assert many < 1.1 * few


@pytest.mark.slow
def test_a_thousand_exchanges_come_back() -> None:
    made = llmneutral.PromptStack(exchanges(1000))
    assert back(conversation_to_notebook(made)) == made.messages
    assert len(open_notebook(conversation_to_notebook(made)).cells) == 1001
