"""The conversation that is read from a notebook is the one that its session held, whatever was asked again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.bundles import exchange_bundle, exchanges_bundle
from llmneutral_widgets.cells import Key
from llmneutral_widgets.exchange import MIME, Exchange, Exchanges, new_id
from llmneutral_widgets.ipynb.extraction import Extract, extract_exchanges
from llmneutral_widgets.session import Conversation, is_sent
from tests.widgets.ipynb.test_extraction import record, shown
from tests.widgets.ipynb.test_notebook_file import code, notebook, said
from tests.widgets.samples import response
from tests.widgets.shell import running

CELLS = ("a", "b", "c", "d")


class Ask(NamedTuple):
    """A question of a cell."""

    status: Any = "complete"
    system: str | None = None
    last: int | None = None
    new: bool = False


class Page:
    """A notebook and the conversation of its session: cells are asked, and asked again."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.outputs: dict[str, list[dict[str, Any]]] = {}
        self._number = 0

    def run(self, cell: str, asks: Sequence[Ask]) -> None:
        """Runs a cell to its end."""
        self.outputs[cell] = []
        keys = [Key(cell, number) for number in range(len(asks))]
        for key, ask in zip(keys, asks, strict=True):
            exchange = self.asked(key, ask)
            if ask.new:
                self.conversation.turns.clear()
            self.conversation.put(key, exchange)
            self.outputs[cell].append(json.loads(json.dumps(exchange_bundle(exchange).data[MIME])))
        self.conversation.forget(cell, keys)

    def asked(self, key: Key, ask: Ask) -> Exchange:
        self._number += 1
        question = said("user", f"q{self._number}")
        sent = self.conversation.plan(question, key=key, system=ask.system, last=ask.last, new=ask.new)
        assert sent.place is not None
        id = new_id()
        made = Exchange(
            id=id,
            status=ask.status,
            parent=sent.parent,
            cell_id=key.cell_id,
            created="2026-11-30T10:00:00Z",  # all within a second
            messages=sent.added,
            response=response(f"a{self._number}"),
            history={"messages": sent.earlier, **sent.place.history(id)},
        )
        return msgspec.structs.replace(made, history={**made.history, "sent": is_sent(made)})

    def saved(self) -> Any:
        """The notebook as it stands."""
        cells = [code("%%prompt\nWhat?", *map(shown, self.outputs.get(name, ())), id=name) for name in CELLS]
        return notebook(*cells)

    def read(self) -> Extract:
        return extract_exchanges(self.saved())


ASKS = st.builds(
    Ask,
    status=st.sampled_from(["complete", "complete", "complete", "failed", "interrupted"]),
    system=st.sampled_from([None, None, None, "one", "two", ""]),
    last=st.sampled_from([None, None, None, 0, 1]),
    new=st.sampled_from([False, False, False, False, True]),
)
RUNS = st.tuples(st.sampled_from(CELLS), st.lists(ASKS, min_size=1, max_size=2))
DROPS = st.tuples(st.just("drop"), st.integers(1, 2))
LOADS = st.tuples(st.just("load"), st.sampled_from(["stack", "file"]))
BEGUN = llmneutral.PromptStack([said("system", "Be a pirate."), said("user", "Hi"), said("assistant", "Arr")])


def act(page: Page, step: tuple[str, Any]) -> None:
    what, how = step
    if what == "drop":
        page.conversation.drop(how)
    elif what == "load" and how == "stack":
        page.conversation.load(BEGUN)
    elif what == "load":
        page.conversation.resume(page.read().conversation())
    else:
        page.run(what, how)


@settings(max_examples=150, deadline=None)
@given(st.lists(RUNS, min_size=1, max_size=8))
def test_the_notebook_tells_the_conversation_of_its_session(steps: list[tuple[str, Any]]) -> None:
    page = Page()
    for step in steps:
        act(page, step)
    found, kept = page.read(), page.conversation.kept()
    if any([is_sent(turn.exchange) for turn in page.conversation.turns]):
        assert found.stack().messages == kept.messages
    assert not [note for note in found.notes if "taken for it" in note]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(RUNS, RUNS, RUNS, DROPS, LOADS), max_size=8), RUNS)
def test_what_is_loaded_and_what_is_taken_out_changes_nothing_of_that(
    steps: list[tuple[str, Any]], last: tuple[str, Any]
) -> None:
    """Once something is asked after it, that is: until then nothing in the notebook tells of it."""
    page = Page()
    for step in [*steps, last]:
        act(page, step)
    newest = page.conversation.turns[-1].exchange
    if is_sent(newest) and newest.id == page.outputs[last[0]][-1]["id"]:
        assert page.read().stack().messages == page.conversation.kept().messages


def held(page: Page) -> tuple[list[str], list[str]]:
    """The texts of the conversation as the notebook and as the session have it."""
    stacks = (page.read().stack(), page.conversation.kept())
    return tuple([[message.to_text() for message in stack.messages] for stack in stacks])  # type: ignore[return-value]


def test_a_cell_that_is_run_again_keeps_its_place() -> None:
    page = Page()
    for step in (("a", [Ask(system="Terse.")]), ("b", [Ask()]), ("c", [Ask()]), ("b", [Ask()])):
        act(page, step)
    read, kept = held(page)
    assert read == kept == ["Terse.", "q1", "Hm.\na1", "q4", "Hm.\na4", "q3", "Hm.\na3"]
    assert page.read().notes == ()


def test_what_was_asked_first_comes_first_wherever_it_stands() -> None:
    page = Page()
    for step in (("c", [Ask()]), ("a", [Ask()]), ("c", [Ask("failed")]), ("c", [Ask()])):
        act(page, step)
    read, kept = held(page)
    assert read == kept == ["q4", "Hm.\na4", "q2", "Hm.\na2"]


def test_what_was_taken_out_stays_out_once_more_was_asked() -> None:
    page = Page()
    for step in (("a", [Ask()]), ("b", [Ask()]), ("c", [Ask()]), ("drop", 2), ("b", [Ask()]), ("d", [Ask()])):
        act(page, step)
    read, kept = held(page)
    assert read == kept == ["q1", "Hm.\na1", "q4", "Hm.\na4", "q5", "Hm.\na5"]


def test_what_a_conversation_began_with_is_kept_once() -> None:
    page = Page()
    for step in (("load", "stack"), ("a", [Ask()]), ("b", [Ask()]), ("a", [Ask()]), ("c", [Ask()])):
        act(page, step)
    read, kept = held(page)
    assert read == kept
    assert read[:3] == ["Be a pirate.", "Hi", "Arr"]
    keepers = [name for name in CELLS if "Be a pirate." in json.dumps(page.outputs.get(name, []))]
    assert keepers == ["a"]
    assert page.read().notes == ()
    page.outputs["a"] = []
    assert ["left out: everything before it" in note for note in page.read().notes] == [True]


def test_of_several_answers_the_first_keeps_what_the_conversation_began_with() -> None:
    page = Page()
    page.conversation.load(BEGUN)
    both = Exchanges([page.asked(Key("a", 0), Ask()), page.asked(Key("a", 0), Ask())])
    kept = exchanges_bundle(both).data[MIME]
    assert ("begun" in kept["history"], "begun" in kept["others"][0]["history"]) == (True, False)
    found = extract_exchanges(notebook(code("%%prompt", shown(kept), id="a")))
    assert [message.to_text() for message in found.stack().messages][:4] == ["Be a pirate.", "Hi", "Arr", "q1"]


def test_a_conversation_that_was_loaded_from_its_own_notebook_goes_on() -> None:
    page = Page()
    for step in (("a", [Ask()]), ("b", [Ask()]), ("load", "file"), ("c", [Ask()]), ("b", [Ask()])):
        act(page, step)
    read, kept = held(page)
    assert read == kept
    assert read[::2] == ["q1", "q2", "q3", "q4"]


def test_parts_are_told_in_the_order_of_their_asking() -> None:
    page = Page()
    for step in (("b", [Ask()]), ("c", [Ask()]), ("a", [Ask(new=True)]), ("d", [Ask()])):
        act(page, step)
    found = page.read()
    told = [[message.to_text() for message in found.stack(part=part).messages] for part in (1, 2)]
    assert [texts[::2] for texts in told] == [["q1", "q2"], ["q3", "q4"]]
    assert told[1] == held(page)[1]


def test_before_places_were_told_a_gap_is_filled_by_what_stands_there() -> None:
    """Exchanges of earlier versions: the second of three was asked again."""
    records = [record(0), record(7, 0), record(2, 1, history={"messages": 4}), record(3, 2)]
    found = extract_exchanges(notebook(*[code("%%prompt\nWhat?", shown(each)) for each in records]))
    assert [exchange.id for exchange in found.conversation()] == ["x-0", "x-7", "x-2", "x-3"]
    (told,) = found.notes
    assert "cell 3 (c3): its exchange goes on from x-1, which is not in this notebook" in told
    assert told.endswith("that of cell 2 (c2) is taken for it")


def test_what_cannot_be_known_is_said_to_be_left_out() -> None:
    records = [record(0), record(2, 1, history={"messages": 6}), record(3, 2, stack="other")]
    found = extract_exchanges(notebook(*[code("%%prompt\nWhat?", shown(each)) for each in records]))
    assert [note.rpartition("; ")[2] for note in found.notes] == ["left out: 4 messages before it"]
    alone = extract_exchanges(notebook(code("%%prompt\nWhat?", shown(record(3, 2)))))
    assert alone.notes[0].endswith("left out: everything before it")


STEPS = st.tuples(
    st.sampled_from(CELLS), st.sampled_from(["one", "two", "fail", "-s Terse. three", "--new four", "x\n"])
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.booleans(), st.lists(STEPS, min_size=1, max_size=7))
def test_in_a_shell_what_is_saved_is_what_goes_along(is_loaded: bool, steps: list[tuple[str, str]]) -> None:
    outputs: dict[str, list[Any]] = {}
    with running(is_kernel=True) as cells:
        cells.shell.user_ns["begun"] = BEGUN
        if is_loaded:
            cells.run("%stack load {{begun}}")
        for cell, asked in steps:
            again = "\n%prompt -p {{echo}} more" if asked.endswith("\n") else ""
            ran = cells.run(f"%prompt -p {{{{echo}}}} {asked.strip()}{again}", cell)
            outputs[cell] = [shown(json.loads(json.dumps(each[MIME]))) for each in ran.outputs if MIME in each]
        conversation = session.current().conversation()
        asked_last = conversation.turns and not conversation.turns[-1].is_brought
        kept = conversation.kept()
        is_any = any([is_sent(turn.exchange) for turn in conversation.turns])
    if is_any and asked_last:
        made = notebook(*[code("%%prompt\nWhat?", *outputs.get(name, ()), id=name) for name in CELLS])
        assert extract_exchanges(made).stack().messages == kept.messages
