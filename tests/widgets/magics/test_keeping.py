"""`%stack save` and `%stack load`: what a session held goes on in another, from any of the forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.ipynb.extraction import extract_exchanges
from llmneutral_widgets.providers import Asked, Providers
from tests.laws.stacks import stacks
from tests.widgets import rounds, samples
from tests.widgets.ipynb.test_notebook_file import code, notebook
from tests.widgets.shell import Cells, Echo, running

KEY = "sk-ant-api03-abcdef0123456789abcdef"


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as made:
        yield made


def ask(cells: Cells, *lines: str) -> None:
    for line in lines:
        cells.run(f"%prompt -p {{{{echo}}}} {line}")


def held() -> list[str]:
    """The messages of the current conversation."""
    return [f"{message.role}: {message.to_text()}" for message in session.current().conversation().stack().messages]


def test_a_notebook_goes_on_where_the_session_was(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "-s Terse. one", "two fail", "three")
    path = tmp_path / "kept.ipynb"
    assert "7 messages of default written to kept.ipynb" in cells.run(f"%stack save {path}").plain
    node = nbformat.read(path, as_version=4)
    nbformat.validate(node)
    before = session.current().conversation()
    kept = [turn.exchange.to_json() for turn in before.turns]
    assert [exchange.to_json() for exchange in extract_exchanges(path).exchanges] == kept
    cells.run("%stack use other")
    assert "5 messages loaded into other" in cells.run(f"%stack load {path}").plain
    assert held() == ["system: Terse.", "user: one", "assistant: ONE ", "user: three", "assistant: THREE "]
    ask(cells, "four")
    sent = cells.shell.user_ns["echo"].texts()
    assert sent == [*held()[:-2], "user: four"]
    last = session.current().last
    assert last is not None
    assert last.parent == kept[2]["id"]


def test_saved_again_it_is_the_same_file(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "one", "two")
    first, second = tmp_path / "a.ipynb", tmp_path / "b.ipynb"
    cells.run(f"%stack save {first}")
    cells.run(f"%stack load {first}")
    assert "1 token" in cells.run("%stack").html, "what is known of an answer is known of one that was loaded"
    cells.run(f"%stack save {second}")
    assert first.read_bytes() == second.read_bytes()


def test_a_conversation_that_was_loaded_as_messages_is_saved_as_its_turns(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "-s Terse. one", "two")
    as_json, path = tmp_path / "a.json", tmp_path / "b.ipynb"
    for line in (f"save {as_json}", "reset", f"load {as_json}", f"save {path}", "reset", f"load {path}"):
        assert cells.run(f"%stack {line}").error is None
    assert held() == ["system: Terse.", "user: one", "assistant: ONE ", "user: two", "assistant: TWO "]
    assert len(session.current().conversation().turns) == 2


def test_of_several_conversations_the_one_of_the_same_name_is_loaded(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "several.ipynb"
    ask(cells, "one", "-c other two")
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {key: turn.exchange.to_json()}}
        for conversation in session.current().conversations.values()
        for turn in conversation.turns
        for key in ("application/vnd.llmneutral.exchange.v1+json",)
    ]
    path.write_text(json.dumps(notebook(*[code("%prompt", output) for output in outputs])), encoding="utf-8")
    for name, expected in (("default", "user: one"), ("other", "user: two"), ("new", "user: two")):
        cells.run(f"%stack use {name}")
        cells.run(f"%stack load {path}")
        assert held()[0] == expected


def test_what_a_load_replaces_is_said_and_kept(cells: Cells, tmp_path: Path) -> None:
    cells.shell.user_ns["begun"] = samples.stack()
    assert "before" not in cells.run("%stack load {{begun}}").plain
    assert "7 messages that had been loaded before were replaced" in cells.run("%stack load {{begun}}").plain
    cells.run("%stack reset")
    ask(cells, "one", "two")
    cells.run(f"%stack save {tmp_path / 'kept.ipynb'}")
    ask(cells, "three")
    told = cells.run(f"%stack load {tmp_path / 'kept.ipynb'}").plain
    assert "4 messages loaded into default; the 6 messages it held before are kept as default-2" in told
    assert len(held()) == 4
    cells.run("%stack use default-2")
    ask(cells, "four")
    assert held()[::2] == ["user: one", "user: two", "user: three", "user: four"]


def test_markdown_names_who_answered(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "-s Terse. one", "two fail")
    cells.run(f"%stack save {tmp_path / 'kept.md'}")
    text = (tmp_path / "kept.md").read_text(encoding="utf-8")
    assert text.startswith("# Conversation default\n\n## system\n\nTerse.\n\n## user\n\none\n\n## assistant\n\nONE")
    assert text.endswith("echo-1</sub>\n")
    assert "two" not in text


def test_a_strangers_notebook_is_a_conversation_too(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "other.ipynb"
    markdown = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
    raw = {"cell_type": "raw", "metadata": {}, "source": "x"}
    path.write_text(json.dumps(notebook(markdown, code("1 + 1"), raw)), encoding="utf-8")
    told = cells.run(f"%stack load {path}").plain
    assert "2 messages loaded into default; cell 3 (c3): a raw cell is left out" in told
    assert held() == ["user: # Title", "user: ```python\n1 + 1\n```"]


def test_many_notes_are_counted(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "other.ipynb"
    raw = {"cell_type": "raw", "metadata": {}, "source": "x"}
    path.write_text(json.dumps(notebook(code("1"), raw, raw, raw, raw, raw)), encoding="utf-8")
    told = cells.run(f"%stack load {path}").plain
    assert told.count("left out") == 3
    assert "2 more notes" in told


def test_no_key_is_saved(cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "a-secret-value-of-mine")
    ask(cells, f"-s {KEY} a-secret-value-of-mine {KEY}")
    for name in ("a.ipynb", "a.json", "a.md"):
        cells.run(f"%stack save {tmp_path / name}")
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert KEY not in text
        assert "a-secret-value-of-mine" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "a.json", "a.md"]


def test_a_long_text_of_the_letters_of_base64_is_kept(cells: Cells, tmp_path: Path) -> None:
    cells.shell.user_ns["genome"] = "acgt" * 15_000
    shown = cells.run("%prompt -p {{echo}} {{genome}}")
    assert "ACGTACGT" in shown.html
    assert "was cut" not in shown.html
    before = held()
    assert len(before[1]) > 60_000
    cells.run(f"%stack save {tmp_path / 'a.ipynb'}")
    cells.run(f"%stack load {tmp_path / 'a.ipynb'}")
    assert held() == before


def test_an_empty_conversation_comes_back_empty(cells: Cells, tmp_path: Path) -> None:
    for name in ("a.ipynb", "a.json"):
        assert "0 messages" in cells.run(f"%stack save {tmp_path / name}").plain
        assert "0 messages loaded into default" in cells.run(f"%stack load {tmp_path / name}").plain
        assert session.current().conversation().turns == []
    ask(cells, "one")
    assert cells.shell.user_ns["echo"].texts() == ["user: one"]
    last = session.current().last
    assert last is not None
    assert last.parent is None


def test_what_failed_is_in_no_form_that_cannot_say_so(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "one", "two fail", "three")
    for name in ("a.json", "a.md"):
        told = cells.run(f"%stack save {tmp_path / name}").plain
        assert "4 messages of default written" in told
        assert "1 exchange that failed left out: .ipynb keeps all of them" in told
        assert "two" not in (tmp_path / name).read_text(encoding="utf-8")
    cells.run(f"%stack load {tmp_path / 'a.json'}")
    assert held() == ["user: one", "assistant: ONE ", "user: three", "assistant: THREE "]


def test_markdown_is_only_to_read(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "one")
    path = tmp_path / "talk.md"
    told = cells.run(f"%stack save {path}").plain
    assert "written to talk.md, to read: it cannot be loaded, as .ipynb and .json can" in told
    ran = cells.run(f"%stack load {path}")
    assert "ends in .ipynb or .json, or {{variable}}; a .md is only to read" in ran.printed
    assert type(ran.error).__name__ == "UsageError"


def test_a_file_of_somebody_elses_is_not_replaced(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "one")
    for name, content in (("README.md", "# Mine\n"), ("package.json", "{}"), ("work.ipynb", "{}")):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        ran = cells.run(f"%stack save {path}")
        assert f"%stack save {name} was not exported by llmneutral, and is not replaced" in ran.printed
        assert path.read_text(encoding="utf-8") == content
    ran = cells.run(f"%deltas save {tmp_path / 'README.md'}")
    assert "%deltas save README.md was not exported by llmneutral" in ran.printed
    cells.shell.user_ns["me"] = rounds.driver(rounds.DONE)
    cells.run("%prompt -p {{me}} Hi")
    for _ in range(2):
        assert cells.run(f"%deltas save {tmp_path / 'a.jsonl'}").error is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%stack load {{bad}}", "{{bad}}: unknown setting 'temprature'"),
        ("%stack use {{bad}}", "{{bad}}: unknown setting 'temprature'"),
        ("%stack load {{worse}}", "{{worse}}: tools[0] is an int"),
        ("%stack load {{slip}}", "{{slip}}: message 0 of the stack is a str, not a Message"),
        ("%stack use {{slip}}", "{{slip}}: message 0 of the stack is a str, not a Message"),
    ],
)
def test_what_could_go_along_with_no_question_is_not_loaded(cells: Cells, line: str, told: str) -> None:
    ask(cells, "one")
    before = held()
    cells.shell.user_ns["bad"] = llmneutral.PromptStack(settings={"temprature": 1})
    cells.shell.user_ns["worse"] = llmneutral.PromptStack(tools=[5])
    cells.shell.user_ns["slip"] = slip = llmneutral.PromptStack()
    slip.messages.append("text")  # type: ignore[arg-type]
    ran = cells.run(line)
    assert type(ran.error).__name__ == "UsageError"
    assert told in ran.printed
    assert held() == before
    assert list(session.current().conversations) == ["default"]


def pieces(box: Any) -> list[Any]:
    """What is held by all pieces of a live view."""
    return [box.get_state(), *[piece for child in getattr(box, "children", ()) for piece in pieces(child)]]


def test_the_name_of_a_conversation_shows_no_key(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its name is cut to a line."""
    key = "zq9Wm4Tn-a-long-value-of-mine-77"
    monkeypatch.setenv("LONG_API_KEY", key)
    cells.shell.user_ns |= {"pieces": pieces, "key": key, "named": Echo(f"model-{key}")}
    run = "get_ipython().run_line_magic"
    for line in (
        f'{run}("prompt", "-p {{{{echo}}}} -c " + key + " hi")',
        f'{run}("stack", "use " + key)',
        "%stack list",
        "%stack",
        "%stack --all",
        "%usage",
        f"{run}('prompt', '-p {{{{named}}}} hi')",
        "%stack",
        "from llmneutral_widgets import Conversation, StackView",
        "views = [Conversation(key), StackView(key)]",
        "for view in views:\n    print(view.static(), pieces(view.box))\n    view.close()",
        "%stack reset",
    ):
        ran = cells.run(line)
        assert ran.error is None, line
        assert key[:10] not in json.dumps(ran.outputs) + ran.printed, line


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("no json", "x.ipynb is no notebook: it is no JSON"),
        ("{}", "x.ipynb is no notebook: it has no number nbformat"),
        ('{"messages": 3}', "x.ipynb: this is no PromptStack in JSON"),
        (None, "x.ipynb: No such file"),
    ],
)
def test_what_cannot_be_loaded_is_one_line_and_changes_nothing(
    cells: Cells, tmp_path: Path, content: Any, told: str
) -> None:
    ask(cells, "one")
    before = held()
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ran = cells.run(f"%stack load {path}")
    assert type(ran.error).__name__ == "UsageError"
    assert f"%stack load {told}" in ran.printed
    assert held() == before


def test_a_notebook_in_which_everything_failed_holds_no_conversation(cells: Cells, tmp_path: Path) -> None:
    ask(cells, "fail")
    path = tmp_path / "x.ipynb"
    cells.run(f"%stack save {path}")
    assert "holds no exchange that can go on" in cells.run(f"%stack load {path}").printed


def test_a_folder_that_is_not_there_is_one_line(cells: Cells, tmp_path: Path) -> None:
    ran = cells.run(f"%stack save {tmp_path / 'nowhere' / 'x.ipynb'}")
    assert type(ran.error).__name__ == "UsageError"
    assert "x.ipynb: No such file" in ran.printed


# ----------------------------------------------------------------------------------------------------------------------
# What `%stack` shows is what is sent


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def given_stack(output_schema: Any = None) -> llmneutral.PromptStack:
    """A stack whose instructions lead it, and stand in its middle."""
    made = llmneutral.PromptStack(
        tools=[{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
        output_schema=output_schema,
        settings={"max_tokens": 200, "temperature": 0.5},
    )
    made.add_system_message("Be brief.")
    made.add_user_message("Hello")
    made.add_assistant_message("Hi.")
    made.add_system_message("From now on French.")
    made.add_user_message("And now?")
    return made


GIVEN = ["system: Be brief.", "user: Hello", "assistant: Hi.", "system: From now on French.", "user: And now?"]


def sent(cells: Cells) -> llmneutral.PromptStack:
    """What the driver was sent last."""
    found: llmneutral.PromptStack = cells.shell.user_ns["echo"].stacks[-1]
    return found


def test_a_loaded_stack_is_sent_as_it_stands_with_all_it_brings(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(given_stack().to_json(), encoding="utf-8")
    told = cells.run(f"%stack load {path}").plain
    assert "5 messages loaded into default; with every question go 1 tool, max_tokens=200, temperature=0.5" in told
    assert "max_tokens=200" in cells.run("%stack").html
    assert held() == GIVEN
    cells.run("%prompt -p {{echo}} --temperature 0 Next")
    assert cells.shell.user_ns["echo"].texts() == [*GIVEN, "user: Next"]
    assert sent(cells).settings == {"max_tokens": 200, "temperature": 0, "stream": True}, "an option of the line wins"
    assert sent(cells).tools == given_stack().tools
    cells.run("%prompt -p {{echo}} --history 0 Alone")
    assert cells.shell.user_ns["echo"].texts() == ["system: Be brief.", "user: Alone"]
    cells.run("%prompt -p {{echo}} --new Other")
    assert cells.shell.user_ns["echo"].texts() == ["user: Other"]
    assert (sent(cells).tools, sent(cells).settings) == ([], {"stream": True})


def test_a_system_text_of_the_line_replaces_only_that_of_a_line(cells: Cells) -> None:
    cells.shell.user_ns["s"] = given_stack()
    cells.run("%stack load {{s}}")
    assert "replaced" not in cells.run("%prompt -p {{echo}} -s Terse. one").plain
    assert "replaced" in cells.run("%prompt -p {{echo}} -s Kind. two").plain
    asked = cells.shell.user_ns["echo"].texts()
    assert asked == [GIVEN[0], "system: Kind.", *GIVEN[1:], "user: one", "assistant: ONE ", "user: two"]
    assert held() == [*asked, "assistant: TWO "], "it is shown as it is sent"
    shown = cells.run("%payload chat_completions -o found").plain
    assert "chat_completions" in shown
    body = cells.shell.user_ns["found"]["chat_completions"].payload
    assert [message["content"] for message in body["messages"]] == [text.partition(": ")[2] for text in asked]


@pytest.mark.parametrize("name", ["a.json", "a.ipynb"])
def test_saved_after_it_was_loaded_it_is_all_there(cells: Cells, tmp_path: Path, name: str) -> None:
    cells.shell.user_ns["s"] = stack = given_stack(SCHEMA)
    assert "1 tool, the form of the answer, max_tokens=200" in cells.run("%stack load {{s}}").plain
    told = cells.run(f"%stack save {tmp_path / name}").plain
    cells.run("%stack reset")
    told += cells.run(f"%stack load {tmp_path / name}").plain
    assert held() == GIVEN
    found = session.current().conversation().stack()
    assert (found.settings, found.output_schema) == (stack.settings, stack.output_schema)
    if name == "a.json":
        assert found == stack
        assert "names" not in told
    else:
        assert "of its 1 tool a notebook keeps the names" in told
        assert "of tools (look) the file keeps the names only" in told
    cells.run("%prompt -p {{echo}} Next")  # an answer that does not fit is asked for again: the first request counts
    assert cells.shell.user_ns["echo"].texts(0) == [*GIVEN, "user: Next"]
    assert sent(cells).output_schema == SCHEMA


def converted(stack: llmneutral.PromptStack, api: str) -> Any:
    """The conversion, or the error that comes instead."""
    try:
        return llmneutral.convert(stack, api, stream=True)
    except llmneutral.LLMNeutralError as error:
        return error


SAMPLES = st.one_of(
    stacks.map(llmneutral.PromptStack),
    st.builds(samples.stack),
    st.builds(given_stack, st.sampled_from([None, SCHEMA])),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(SAMPLES)
def test_what_is_loaded_is_what_is_converted(cells: Cells, stack: llmneutral.PromptStack) -> None:
    cells.shell.user_ns["s"] = stack
    with pytest.MonkeyPatch.context() as patch:  # nobody is set, so that nobody's own models and facts count
        patch.setattr(Providers, "rows", lambda self: [])
        patch.setattr(Providers, "asked", lambda *_: Asked("nobody", None))
        assert cells.run("%stack load {{s}}").error is None
        assert cells.run("%payload all -o found").error is None
    assert session.current().conversation().stack(is_request=True) == stack
    for api, found in cells.shell.user_ns["found"].items():
        expected = converted(stack, api)
        if isinstance(expected, Exception):
            assert (type(found), str(found)) == (type(expected), str(expected))
        else:
            assert (found.to_json(), found.changes) == (expected.to_json(), expected.changes)


# ----------------------------------------------------------------------------------------------------------------------
# Conversations of the user's own


def test_a_stack_of_the_users_is_shown_taken_and_bound(cells: Cells) -> None:
    cells.shell.user_ns["s"] = given_stack()
    shown = cells.run("%stack {{s}}")
    assert shown.plain == "PromptStack of 5 messages"
    assert "From now on French." in shown.html
    assert held() == [], "to show is not to take"
    told = cells.run("%stack use {{s}}").plain
    assert "5 messages loaded into s" in told
    assert "questions go to the conversation s" in told
    assert session.current().current == "s"
    cells.run("%prompt -p {{echo}} Next")
    cells.run("%stack -o mine")
    assert [message.to_text() for message in cells.shell.user_ns["mine"].messages][-2:] == ["Next", "NEXT "]
    assert cells.shell.user_ns["mine"].settings == {"max_tokens": 200, "temperature": 0.5}
    assert len(given_stack().messages) == len(cells.shell.user_ns["s"].messages), "the user's own is left as it was"


def test_what_failed_is_not_bound(cells: Cells) -> None:
    ask(cells, "one", "fail")
    cells.run("%stack -o mine")
    assert [message.to_text() for message in cells.shell.user_ns["mine"].messages] == ["one", "ONE "]


def test_messages_in_a_list_are_a_conversation_too(cells: Cells) -> None:
    cells.shell.user_ns["told"] = given_stack().messages
    cells.shell.user_ns["plain"] = [{"role": "user", "content": "Hello"}]
    cells.run("%stack load {{told}}")
    assert held() == GIVEN
    cells.run("%stack load {{plain}}")
    assert held() == ["user: Hello"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%stack load {{number}}", "{{number}} is an int; a conversation is a PromptStack or a list of its messages"),
        ("%stack {{nobody}}", "nobody is not defined"),
        ("%payload all {{number}}", "{{number}} is an int"),
        ("%payload all {{made}}", "is a Conversion already, for chat_completions"),
        ("%stack drop 99", "default holds 1 exchange, and nothing is taken out"),
    ],
)
def test_what_is_no_conversation_is_one_line(cells: Cells, line: str, told: str) -> None:
    ask(cells, "one")
    cells.shell.user_ns |= {"number": 3, "made": llmneutral.convert("?", "chat_completions", model="m")}
    before = held()
    ran = cells.run(line)
    assert type(ran.error).__name__ == "UsageError"
    assert told in ran.printed
    assert held() == before


def test_an_unknown_name_begins_a_conversation_and_says_so(cells: Cells) -> None:
    cells.shell.user_ns["s"] = given_stack()
    told = cells.run("%stack use s").plain
    assert "the conversation s, which begins empty: there was none of this name" in told
    assert "%stack use {{s}} takes the PromptStack s of yours" in told
    assert "begins" not in cells.run("%stack use default").plain
    assert "PromptStack" not in cells.run("%stack use other").plain


def test_payloads_of_a_stack_and_of_a_conversion(cells: Cells) -> None:
    cells.shell.user_ns["s"] = given_stack()
    cells.run("%payload anthropic {{s}} -o found")
    body = cells.shell.user_ns["found"]["anthropic_messages"].payload
    assert body["max_tokens"] == 200
    assert set(cells.shell.user_ns["found"]) == {"anthropic_messages"}
    cells.run("%payload {{ s }} -o found")
    assert len(cells.shell.user_ns["found"]) == 3
    made = cells.shell.user_ns["made"] = llmneutral.convert("one?", "chat_completions", model="m")
    assert "one?" in cells.run("%payload {{made}} -o found").html
    assert cells.shell.user_ns["found"] == {"chat_completions": made}
    assert held() == []
