"""The rules of history: what is sent along, what is replaced, what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import session
from llmneutral_widgets.cells import Key, Run
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.session import Conversation, Session, is_sent

STATUSES = ("complete", "refused", "interrupted", "incomplete", "failed")


def user(text: str) -> llmneutral.Message:
    return llmneutral.Message("user", (llmneutral.TextMessageContent(text),))


def exchange(number: int, status: str = "complete", text: str | None = "", **fields: Any) -> Exchange:
    """An exchange `q1` and its answer `a1`; with `text=None` there was none."""
    content = () if text is None else (llmneutral.TextMessageContent(text or f"a{number}"),)
    answer = llmneutral.NormalizedResponse(llmneutral.Message("assistant", content), usage=llmneutral.Usage())
    fields = {"messages": (user(f"q{number}"),), "provider": "p", "model": "m", **fields}
    return Exchange(id=f"x-{number}", status=status, response=answer, **fields)  # type: ignore[arg-type]


def filled(*statuses: str) -> Conversation:
    made = Conversation()
    for number, status in enumerate(statuses):
        made.put(Key("cell", number), exchange(number, status))
    return made


def texts(messages: Any) -> list[str]:
    return [message.to_text() for message in messages]


def plan(conversation: Conversation, **given: Any) -> session.Sent:
    return conversation.plan(user("?"), **{"key": None, "system": None, "last": None, "new": False, **given})


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        ("complete", "", True),
        ("refused", "", True),
        ("interrupted", "", True),
        ("interrupted", None, False),
        ("incomplete", "", False),
        ("failed", "", False),
        ("dry_run", "", False),
    ],
)
def test_what_goes_along_with_later_questions(status: str, text: str | None, expected: bool) -> None:
    assert is_sent(exchange(1, status, text)) is expected


def test_only_what_may_be_sent_is_and_the_rest_stays_in_the_list() -> None:
    conversation = filled("complete", "failed", "incomplete", "interrupted", "refused")
    sent = plan(conversation)
    assert texts(sent.messages) == ["q0", "a0", "q3", "a3", "q4", "a4", "?"]
    assert (sent.parent, sent.earlier) == ("x-4", 6)
    assert len(conversation.stack().messages) == 10
    assert texts(conversation.stack(is_request=True).messages) == ["q0", "a0", "q3", "a3", "q4"]
    assert conversation.marks() == {
        **dict.fromkeys((2, 3), "failed, not sent"),
        **dict.fromkeys((4, 5), "incomplete, not sent"),
        7: "interrupted",
    }


@given(st.lists(st.sampled_from(STATUSES), max_size=6), st.integers(0, 7))
def test_the_last_exchanges_are_the_end_of_all_of_them(statuses: list[str], last: int) -> None:
    conversation = filled(*statuses)
    everything, some = plan(conversation), plan(conversation, last=last)
    assert everything.messages[len(everything.messages) - len(some.messages) :] == some.messages
    assert some.earlier == 2 * min(last, everything.earlier // 2)
    assert some.parent == everything.parent, "the chain does not depend on how much of it is sent"
    assert (some.parent is None) == (everything.earlier == 0)
    alone = plan(conversation, new=True)
    assert (alone.messages, alone.parent) == ((user("?"),), None)


@given(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=6), st.data())
def test_a_cell_that_asks_again_sends_what_stands_before_it(statuses: list[str], data: st.DataObject) -> None:
    conversation = filled(*statuses)
    at = data.draw(st.integers(0, len(statuses) - 1))
    key = Key("cell", at)
    before = plan(filled(*statuses[:at]))
    assert plan(conversation, key=key).messages == before.messages
    conversation.put(key, exchange(99))
    assert len(conversation.turns) == len(statuses)
    assert conversation.turns[at].exchange.id == "x-99"
    assert [turn.is_stale for turn in conversation.turns] == [n > at for n in range(len(statuses))]


def test_a_stale_exchange_that_is_asked_again_is_fresh() -> None:
    conversation = filled("complete", "complete", "complete")
    conversation.put(Key("cell", 0), exchange(7))
    conversation.put(Key("cell", 1), exchange(8))
    assert [turn.is_stale for turn in conversation.turns] == [False, False, True]


def test_what_was_asked_after_an_exchange_that_is_gone_is_stale() -> None:
    conversation = filled("complete", "complete", "failed", "complete")
    conversation.forget("cell", [Key("cell", n) for n in (0, 1, 3)])
    assert [turn.is_stale for turn in conversation.turns] == [False, False, False], "what failed was not sent along"
    conversation.forget("cell", [Key("cell", n) for n in (0, 3)])
    assert [turn.is_stale for turn in conversation.turns] == [False, True]


# ----------------------------------------------------------------------------------------------------------------------
# The system text


def system_of(sent: session.Sent) -> list[str]:
    return [message.to_text() for message in sent.messages if message.is_system()]


def asked(conversation: Conversation, status: str = "complete", **given: Any) -> session.Sent:
    """Plans a question and keeps its exchange."""
    sent = plan(conversation, **given)
    conversation.put(None, exchange(len(conversation.turns), status, messages=sent.added, parent=sent.parent))
    return sent


def chained(conversation: Conversation, earlier: int) -> list[str]:
    """What was sent last, as a reader of the saved exchanges puts it together again: along `parent`."""
    by_id = {turn.exchange.id: turn for turn in conversation.turns}
    way, at = [], conversation.turns[-1].exchange.id
    while at is not None:
        way.append(by_id[at])
        at = by_id[at].exchange.parent  # type: ignore[assignment]
    messages = [message for turn in reversed(way) for message in turn.messages][:-1]
    system = [message for message in messages if message.is_system()][-1:]
    others = [message for message in messages if not message.is_system()]
    return [*filter(None, texts(system)), *texts(others[len(others) - 1 - earlier :])]


def test_the_last_system_text_counts_and_stands_first() -> None:
    conversation = Conversation()
    assert system_of(asked(conversation, system="one")) == ["one"]
    assert system_of(asked(conversation)) == ["one"]
    replaced = asked(conversation, system="two")
    assert system_of(replaced) == ["two"]
    assert replaced.replaced
    assert replaced.messages[0].is_system()
    assert not asked(conversation, system="two").replaced
    assert system_of(asked(conversation, system="")) == []
    assert system_of(asked(conversation)) == []


def test_a_system_text_that_was_set_by_a_failure_still_counts() -> None:
    conversation = Conversation()
    asked(conversation, "failed", system="one")
    sent = asked(conversation)
    assert system_of(sent) == ["one"]
    assert len(sent.added) == 2, "and is kept where the chain begins"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["complete", "failed"]),
            st.sampled_from([None, None, "one", "two", ""]),
            st.sampled_from([None, None, 0, 1, 2]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_the_chain_of_saved_exchanges_is_what_was_sent(turns: list[tuple[str, str | None, int | None]]) -> None:
    conversation = Conversation()
    for status, system, last in turns:
        sent = asked(conversation, status, system=system, last=last)
        assert chained(conversation, sent.earlier) == texts(sent.messages)


# ----------------------------------------------------------------------------------------------------------------------
# Sessions


@pytest.fixture
def here() -> Any:
    made = Session()
    yield made
    made.providers.close()


def test_what_a_cell_asks_no_more_is_taken_out(here: Session) -> None:
    for number in range(2):
        here.record(Key("one", number), [exchange(number)])
    here.record(Key("two", 0), [exchange(2)])
    here.record(Key("one", 0), [exchange(3, name="other")])
    run = Run("one")
    run.next_key("default")
    here.end_cell(run)
    assert [turn.key for turn in here.conversation().turns] == [Key("one", 0), Key("two", 0)]
    assert here.conversation("other").turns == []
    here.end_cell(Run(None))
    assert len(here.conversation().turns) == 2


def test_of_several_answers_the_first_goes_on_and_all_are_counted(here: Session) -> None:
    here.record(None, [exchange(1), exchange(2, "failed")])
    assert [turn.exchange.id for turn in here.conversation().turns] == ["x-1"]
    assert here.last is not None
    assert here.last.id == "x-1"
    assert len(here.results) == 2
    assert [row["status"] for row in here.rows] == ["complete", "failed"]


def test_only_the_newest_recording_is_kept(here: Session) -> None:
    for number in range(3):
        here.record(None, [exchange(number, deltas=((0.1, {}, []),))])
    assert [len(turn.exchange.deltas) for turn in here.conversation().turns] == [0, 0, 1]


def test_an_exchange_is_found_by_its_cell_or_its_number(here: Session) -> None:
    here.record(Key("cell", 0), [exchange(1, cell_id="cell", execution_count=7)])
    for word in ("x-1", "cell", "7", "[7]"):
        assert here.find(word).id == "x-1"
    with pytest.raises(OptionError, match="no exchange was made by the cell 8"):
        here.find("8")


def test_loaded_messages_are_where_the_conversation_begins(here: Session) -> None:
    conversation = here.conversation()
    system = llmneutral.Message("system", (llmneutral.TextMessageContent("s"),))
    conversation.load(llmneutral.PromptStack([system, user("q")]))
    sent = plan(conversation)
    assert texts(sent.messages) == ["s", "q", "?"]
    assert sent.added == (user("?"),)


def test_makers_and_tokens_belong_to_the_answers(here: Session) -> None:
    conversation = filled("complete", "complete")
    assert conversation.makers() == {1: "p · m", 3: "p · m"}
    assert conversation.tokens() == {}


def test_an_unknown_conversation_names_the_near_ones(here: Session) -> None:
    with pytest.raises(OptionError, match="there is no conversation defalt; did you mean default"):
        here.known("defalt")


def test_the_module_answers_for_the_session_of_the_moment() -> None:
    session.close()
    assert session.begun() is None
    assert llmneutral.widgets.session.last is None
    assert session.begun() is session.current()
    assert session.conversation() is session.current().conversation()
    with pytest.raises(AttributeError):
        session.nothing_of_that_name  # noqa: B018  # that it raises is the point
    session.close()


def test_a_failure_takes_nothing_from_a_loaded_stack(here: Session) -> None:
    conversation = here.conversation()
    answer = llmneutral.Message("assistant", (llmneutral.TextMessageContent("a"),))
    stack = llmneutral.PromptStack([user("q"), answer], settings={"seed": 7})
    conversation.load(stack)
    assert conversation.stack(is_request=True) == stack, "it ends as it stands"
    asked = llmneutral.PromptStack([*stack.messages, user("?")], settings={"seed": 8})
    conversation.put(None, exchange(1, "failed", stack=asked))
    assert texts(conversation.stack(is_request=True).messages) == ["q", "a"]
    assert conversation.kept() == stack
    conversation.put(None, exchange(2, stack=asked))
    found = conversation.stack(is_request=True)
    assert texts(found.messages) == ["q", "a", "q2"]
    assert found.settings == {"seed": 8}


def test_without_a_loaded_stack_nothing_is_kept_beside_the_messages(here: Session) -> None:
    conversation = here.conversation()
    assert conversation.frame() == {}
    assert conversation.stack(is_request=True) == llmneutral.PromptStack()
    conversation.load(llmneutral.PromptStack([user("q")], settings={"seed": 7}))
    conversation.drop(1)
    assert conversation.frame() == {}
