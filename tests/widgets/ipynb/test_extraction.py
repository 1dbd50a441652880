"""Exchanges out of a notebook: the chain is the conversation, and nothing that is broken raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.ipynb.exports import conversation_to_notebook
from llmneutral_widgets.ipynb.extraction import Extract, extract_exchanges
from llmneutral_widgets.ipynb.notebook_file import NotebookError
from llmneutral_widgets.ipynb.runs import diff_runs
from llmneutral_widgets.ipynb.transcribing import stack_from_notebook
from llmneutral_widgets.session import Conversation
from tests.widgets.ipynb.test_notebook_file import code, notebook, said
from tests.widgets.samples import RECORD, response

ASK = "%%prompt\nWhat?"


def shown(record: Any, mime: str = MIME, kind: str = "display_data") -> dict[str, Any]:
    """An output with an exchange in it."""
    found = {"output_type": kind, "metadata": {}, "data": {mime: record, "text/plain": "x"}}
    return {**found, "execution_count": None} if kind == "execute_result" else found


def record(number: int, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    """An exchange as it is saved."""
    made = Exchange(
        id=f"x-{number}",
        status="complete",
        parent=None if parent is None else f"x-{parent}",
        messages=[said("user", f"q{number}")],
        response=response(f"a{number}"),
        history={"messages": None if parent is None else 2 * number},
    )
    return {**made.to_json(), **fields}


def extracted(*records: Any, **fields: Any) -> Extract:
    """The exchanges of a notebook with a cell for each."""
    return extract_exchanges(notebook(*[code(ASK, shown(each)) for each in records], **fields))


def texts(messages: Any) -> list[str]:
    return [message.content[-1].to_text() for message in messages]


def test_the_chain_is_the_conversation() -> None:
    found = extracted(record(0), record(1, 0), record(2, 1))
    assert [exchange.id for exchange in found.exchanges] == ["x-0", "x-1", "x-2"]
    assert [each.cell.place for each in found.found] == ["cell 1 (c1)", "cell 2 (c2)", "cell 3 (c3)"]
    assert found.conversation() == found.chain("x-2")
    assert texts(found.stack().messages) == ["q0", "a0", "q1", "a1", "q2", "a2"]
    assert texts(found.sent("x-1").messages) == ["q0", "a0", "q1"]
    assert (found.missing, found.notes, found.names) == ((), (), ["default"])
    assert "3 exchanges of 1 conversation (default)" in found.to_text()


def test_the_exchange_is_the_one_that_was_saved() -> None:
    assert extracted(RECORD).exchanges[0].to_json() == RECORD


def test_what_stands_in_no_conversation_is_left_out_of_it() -> None:
    found = extracted(
        record(0),
        record(1, 0, status="failed"),
        record(2, 0, status="dry_run"),
        record(3, 0),
        record(4, 3, status="incomplete"),
        record(5, stack="other"),
    )
    assert texts(found.stack("default").messages) == ["q0", "a0", "q3", "a3"]
    assert texts(found.stack().messages) == ["q5", "a5"], "the one that was asked last"
    assert found.names == ["default", "other"]
    assert len(found.exchanges) == 6
    with pytest.raises(NotebookError, match="no conversation othr; did you mean other"):
        found.stack("othr")
    with pytest.raises(NotebookError, match="no exchange x-9"):
        found.sent("x-9")


def test_a_conversation_that_began_anew_is_what_came_since() -> None:
    found = extracted(record(0), record(1, 0), record(2))
    assert texts(found.stack().messages) == ["q2", "a2"]


def test_nothing_at_all() -> None:
    found = extract_exchanges(notebook())
    assert found.stack().messages == []
    assert (list(found.conversation()), found.names, found.to_json()["exchanges"]) == ([], [], [])


def test_settings_and_schema_come_back() -> None:
    schema = {"type": "object", "properties": {}}
    found = extracted(record(0, settings={"temperature": 0.5}, output_schema=schema))
    assert found.sent("x-0").settings == {"temperature": 0.5}
    assert found.sent("x-0").output_schema == schema


def test_answers_beside_the_first_are_told_and_do_not_go_on() -> None:
    same = record(1, messages=record(0)["messages"])
    found = extracted({**record(0), "others": [same, "odd", record(2, schema=2)]}, record(3, 0))
    assert [(each.exchange.id, each.nth, each.is_aside) for each in found.found] == [
        ("x-0", 0, False),
        ("x-1", 1, True),
        ("x-3", 0, False),
    ]
    assert texts(found.stack().messages) == ["q0", "a0", "q3", "a3"]
    assert len(found.notes) == 2
    assert "written by a newer llmneutral (schema 2)" in found.notes[1]


@pytest.mark.parametrize("apart", [1, 0], ids=["a minute apart", "within a second"])
def test_answers_of_a_panel_come_one_after_the_other(apart: int) -> None:
    """A panel keeps what it shows in one output, the last answer first: they were asked in time, not side by side."""
    asked = [record(n, n - 1 if n else None, created=f"2026-11-30T10:0{n * apart}:00Z") for n in range(3)]
    found = extracted({**asked[2], "others": [asked[1], asked[0]]})
    assert [(each.exchange.id, each.is_aside) for each in found.found] == [
        ("x-0", False),
        ("x-1", False),
        ("x-2", False),
    ]
    assert "beside" not in found.to_text()
    assert texts(found.stack().messages) == ["q0", "a0", "q1", "a1", "q2", "a2"]


def tries(*seconds: int) -> list[dict[str, Any]]:
    """The same question asked several times, the last one answered; in a panel, which is in no cell."""
    made = [record(n, created=f"2026-11-30T10:00:{second:02}Z", cell_id=None) for n, second in enumerate(seconds)]
    failed = {"messages": record(0)["messages"], "status": "failed"}
    return [*[{**each, **failed} for each in made[:-1]], {**made[-1], "messages": record(0)["messages"]}]


def test_a_question_that_a_panel_sent_again_after_a_failure_is_another_try() -> None:
    first, second, third = tries(1, 3, 9)
    found = extracted({**third, "others": [second, first]})
    assert [(each.exchange.id, each.is_aside) for each in found.found] == [
        ("x-0", False),
        ("x-1", False),
        ("x-2", False),
    ]
    lines = found.to_text().splitlines()[1:4]
    assert [", another try" in told for told in lines] == [False, True, True]
    assert "beside" not in found.to_text()
    assert texts(found.stack().messages) == ["q0", "a2"]
    assert (found.missing, found.notes) == ((), ())


def test_tries_within_a_second_are_told_by_the_questions_beside_them() -> None:
    before = record(7, created="2026-11-30T10:00:00Z", cell_id=None)
    first, second = [{**each, "parent": "x-7"} for each in tries(1, 1)]
    found = extracted({**second, "others": [first, before]})
    assert [(each.exchange.id, each.is_aside) for each in found.found] == [
        ("x-7", False),
        ("x-0", False),
        ("x-1", False),
    ]
    alone = extracted({**second, "others": [first]})
    assert [each.is_aside for each in alone.found] == [False, True], "the file does not tell"


def test_what_several_answered_is_no_other_try_however_it_ended() -> None:
    """They are asked at once, and stand in the order in which they were asked."""
    same = {"messages": record(0)["messages"], "cell_id": None}
    at = "2026-11-30T10:00:0{}Z".format
    first = record(0, created=at(1), cell_id=None)
    others = [record(1, created=at(1), status="failed", **same), record(2, created=at(2), **same)]
    found = extracted({**first, "others": others})
    assert [each.is_aside for each in found.found] == [False, True, True]
    assert "another try" not in found.to_text()


# ----------------------------------------------------------------------------------------------------------------------
# What is broken


def test_newer_foreign_and_broken_exchanges_are_told_with_their_cell() -> None:
    found = extract_exchanges(
        notebook(
            code(ASK, shown(record(0, schema=2))),
            code(ASK, shown({}, mime="application/vnd.llmneutral.exchange.v2+json")),
            code(ASK, shown("{broken")),
            code(ASK, shown({"hello": 1})),
            code(ASK, shown([1])),
            code(ASK, shown(record(5, messages=[{"role": "user", "content": [{"type": "invented"}]}]))),
            code(ASK, shown(record(6, messages=["text"]))),
            code(ASK, shown(json.dumps(record(7)).splitlines(keepends=True))),
            code(ASK, shown(record(8, 7))),
        )
    )
    assert [exchange.id for exchange in found.exchanges] == ["x-7", "x-8"]
    told = [note.partition(": ") for note in found.notes]
    assert [place for place, _, _ in told] == [f"cell {n} (c{n})" for n in range(1, 8)]
    said = [what for _, _, what in told]
    assert said[0] == "written by a newer llmneutral (schema 2)"
    assert said[1] == "written by a newer llmneutral (exchange form 2)"
    assert said[2].startswith("its exchange is no JSON: ")
    assert said[3] == "this is no exchange of llmneutral: it has no schema"
    assert all("cannot be read" in what for what in said[5:])
    assert [missing.cell.number for missing in found.missing] == list(range(1, 8))


def test_media_that_were_cut_are_named() -> None:
    cut = [{"at": "/messages/0/content/1", "was": "image/png, 812331 bytes", "sha256": "00"}]
    assert extracted(record(0, cut=cut)).notes == (
        "cell 1 (c1): /messages/0/content/1 was cut when it was saved: image/png, 812331 bytes",
    )


def test_unknown_keys_are_ignored() -> None:
    assert extracted(record(0, invented={"a": 1})).exchanges[0].text == "a0"


def test_broken_chains_are_told_and_begin_behind_the_break() -> None:
    found = extracted(record(1, 0), record(2, 1))
    assert texts(found.stack().messages) == ["q1", "a1", "q2", "a2"]
    (note,) = found.notes
    assert note.startswith(
        "cell 1 (c1): its exchange goes on from x-0, which is not in this notebook: its cell was run"
    )


def test_chains_that_run_in_a_circle_end() -> None:
    found = extracted(record(0, 2), record(1, 0), record(2, 1), record(3, 2), record(4, 4))
    assert [exchange.id for exchange in found.chain("x-3")] == ["x-0", "x-1", "x-2", "x-3"]
    assert [note.partition(":")[0] for note in found.notes] == [
        "cell 1 (c1)",
        "cell 2 (c2)",
        "cell 3 (c3)",
        "cell 5 (c5)",
    ]


def test_an_exchange_that_is_shown_again_is_told_once_where_it_was_made() -> None:
    kept = record(0, cell_id="c2")
    again = extract_exchanges(notebook(code("_", shown(kept)), code(ASK, shown(kept)), code("_", shown(kept))))
    assert [(each.exchange.id, each.cell.id) for each in again.found] == [("x-0", "c2")]
    assert again.notes == ()
    other = extracted(record(0), record(0, model="another"))
    assert len(other.found) == 1
    assert "another exchange has the id x-0 already, in cell 1 (c1)" in other.notes[0]


@pytest.mark.parametrize(
    ("source", "is_missing"),
    [
        ("%%prompt\nWhat?", True),
        ("%%prompt", True),
        ("x = %prompt What?", True),
        ("import os\n  %prompt -p local What?", True),
        ("%%prompt -h", False),
        ("%prompt --help", False),
        ("%%prompter", False),
        ("# %prompt", False),
        ("7 % prompt", False),
        ("%load_ext llmneutral", False),
    ],
)
def test_cells_that_ask_and_keep_no_answer(source: str, is_missing: bool) -> None:
    found = extract_exchanges(notebook(code(source), {"cell_type": "markdown", "metadata": {}, "source": source}))
    assert [missing.cell.number for missing in found.missing] == [1] * is_missing


def test_why_an_answer_is_missing() -> None:
    error = {"output_type": "error", "ename": "ProviderError", "evalue": "x", "traceback": []}
    text = {"output_type": "stream", "name": "stdout", "text": "x"}
    found = extract_exchanges(notebook(code(ASK), code(ASK, error), code(ASK, text)))
    assert [missing.why for missing in found.missing] == [
        "it has not run, or its outputs were cleared",
        "it ended with ProviderError",
        "it keeps no exchange",
    ]
    assert "cell 2 (c2): it ended with ProviderError: %%prompt What?" in found.to_text()


def test_a_line_that_could_not_be_meant_has_asked_nobody() -> None:
    printed = {"output_type": "stream", "name": "stderr", "text": ["UsageError: there is nothing to ask\n"]}
    raised = {"output_type": "error", "ename": "UsageError", "evalue": "x", "traceback": []}
    found = extract_exchanges(notebook(code(ASK, printed), code(ASK), code(ASK, raised)))
    assert [missing.cell.number for missing in found.missing] == [2]
    assert found.notes == ("mistyped, so nobody was asked: cell 1 (c1), cell 3 (c3)",)


def test_cells_without_ids() -> None:
    found = extracted(record(0), record(1, 0), minor=4)
    assert [each.cell.place for each in found.found] == ["cell 1", "cell 2"]
    assert texts(found.stack().messages) == ["q0", "a0", "q1", "a1"]


def test_what_is_told_of_a_strangers_notebook_drives_no_terminal_and_holds_no_key() -> None:
    key = "sk-ant-api03-abcdef0123456789abcdef"
    found = extract_exchanges(
        notebook(
            code(f"%%prompt\x1b[2J {key}", id="a\x1bb"),
            code("x", shown(record(0, model=f"\x1b]0;t\x07{key}", stack="\u202ename"), kind="execute_result")),
            code("x", shown(record(0, schema="\x1b[2J"))),
        )
    )
    told = found.to_text()
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert key not in told
    assert key not in json.dumps(found.to_json())


values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-1, 3), st.text(max_size=3), st.sampled_from(["user", "text", "x-0"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["role", "content", "type", "text", "blocks", "messages"]), inner, max_size=3),
    ),
    max_leaves=8,
)


def everything_works(records: list[Any]) -> None:
    """Goes every way that an exchange can go."""
    found = extracted(*records)
    json.dumps(found.to_json(), allow_nan=False)
    assert found.to_text()
    for exchange in found.exchanges:
        assert found.sent(exchange.id).messages is not None
        assert found.chain(exchange.id)[-1].id == exchange.id
    for name in found.names:
        found.stack(name)
    assert len(extract_exchanges(conversation_to_notebook(found.exchanges)).found) == len(found.found)
    conversation_to_notebook(found.exchanges, "markdown")
    difference = diff_runs(found, found)
    assert difference.is_same
    assert difference.to_text()
    assert difference.compare().html
    stack_from_notebook(notebook(*[code(ASK, shown(each)) for each in records]))


ODD: list[dict[str, Any]] = [
    {"timing": {"total_s": "x"}},
    {"timing": {"attempts": "x"}},
    {"response": {"usage": {"input_total": "x", "cache_read": "y", "output_total": "z"}}},
    {"response": {"text": {"a": 1}, "finish_reason": [1], "blocks": []}},
    {"response": [1]},
    {"response": {"blocks": [3]}},
    {"cut": [{}]},
    {"cost": {"amount": True, "currency": 3}},
    {"history": {"messages": -3}},
    {"error": [1]},
    {"settings": {"a b": 1, "stop": ["x"], "temperature": "q"}},
    {"stack": "a\nb", "provider": "openai", "model": "gpt \"x'"},
    {"rounds": [{"role": "assistant", "content": [], "usage": 3}]},
    {"messages": []},
]


@pytest.mark.parametrize("change", ODD, ids=str)
def test_values_that_nobody_expects_make_nothing_fail(change: dict[str, Any]) -> None:
    everything_works([{**record(0), **change}])


@given(st.lists(st.dictionaries(st.sampled_from([*RECORD, "others", "invented"]), values, max_size=3), max_size=4))
def test_nothing_in_an_exchange_makes_reading_fail(changes: list[dict[str, Any]]) -> None:
    records = [{**record(number, number - 1 if number else None), **change} for number, change in enumerate(changes)]
    everything_works([*records, "text"])


# ----------------------------------------------------------------------------------------------------------------------
# The law: what a session kept is what comes back


def asked(conversation: Conversation, number: int, status: Any, **given: Any) -> tuple[Exchange, Any]:
    """Plans a question, keeps its exchange, and returns it with what was sent."""
    question = said("user", f"q{number}")
    sent = conversation.plan(question, **{"key": None, "system": None, "last": None, "new": False, **given})
    made = Exchange(
        id=f"x-{number}",
        status=status,
        parent=sent.parent,
        messages=sent.added,
        history={"messages": sent.earlier},
        response=response(f"a{number}"),
    )
    if given.get("new"):
        conversation.turns.clear()
    conversation.put(None, made)
    return made, llmneutral.PromptStack(sent.messages)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["complete", "complete", "failed", "interrupted"]),
            st.sampled_from([None, None, "one", "two", ""]),
            st.sampled_from([None, None, 0, 1, 2]),
            st.sampled_from([False, False, False, True]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_the_stack_that_was_sent_comes_back_from_the_chain(turns: list[tuple[Any, Any, Any, bool]]) -> None:
    conversation = Conversation()
    made = [
        asked(conversation, number, status, system=system, last=last, new=new)
        for number, (status, system, last, new) in enumerate(turns)
    ]
    found = extracted(*[json.loads(json.dumps(exchange.to_json())) for exchange, _ in made])
    assert found.notes == ()
    for exchange, sent in made:
        assert found.sent(exchange.id) == sent
    standing = [turn.exchange.id for turn in conversation.turns if session.is_sent(turn.exchange)]
    if standing:
        chain = [exchange.id for exchange in found.chain(standing[-1])]
        assert chain == standing
