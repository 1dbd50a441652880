"""Lines of ours in the caller's instructions."""

from __future__ import annotations

import pytest

from llmneutral import ImageMessageContent, Message, TextMessageContent
from llmneutral.convert.instructions import instructed, says_json
from tests.convert.jobs import job, told
from tests.laws.stacks import PNG
from tests.payloads import turn

PICTURE = ImageMessageContent(PNG)


def texts(messages: list[Message]) -> list[tuple[str, list[str]]]:
    return [(message.role, [block.to_text() for block in message.content]) for message in messages]


@pytest.mark.parametrize(
    ("stack", "found", "refs"),
    [
        ([turn("user", "q")], [("system", ["L"]), ("user", ["q"])], []),
        ([turn("system", "be"), turn("user", "q")], [("system", ["be\n\nL"]), ("user", ["q"])], [(0, 0)]),
        (
            [turn("system", "a", "b"), turn("developer", "c"), turn("user", "q")],
            [("system", ["a", "b"]), ("developer", ["c\n\nL"]), ("user", ["q"])],
            [(1, 0)],
        ),
        ([turn("system", " ")], [("system", [" "]), ("system", ["L"])], []),
        ([turn("system")], [("system", []), ("system", ["L"])], []),
        ([turn("system", PICTURE)], [("system", ["[image]"]), ("system", ["L"])], []),
        (
            [turn("user", "q"), turn("system", "late")],
            [("system", ["L"]), ("user", ["q"]), ("system", ["late"])],
            [],
        ),
        ([], [("system", ["L"])], []),
    ],
)
def test_a_line_stands_at_the_end_of_the_leading_instructions(
    stack: list[Message], found: object, refs: object
) -> None:
    made_job = job(stack)
    assert texts(instructed(made_job.messages, "L", "because", made_job)) == found
    assert told(made_job) == [("added", refs)]
    assert made_job.note.changes[0].why == "because"


def test_a_mark_stays_where_it_was() -> None:
    made_job = job([turn("system", TextMessageContent("be", cache=True))])
    assert instructed(made_job.messages, "L", "because", made_job)[0].content[0].cache is True


@pytest.mark.parametrize(
    ("stack", "says"),
    [
        ([turn("user", "As JSON, please")], True),
        ([turn("system", "in json"), turn("user", "q")], True),
        ([turn("user", "q")], False),
        ([turn("user", PICTURE)], False),
        ([], False),
    ],
)
def test_whether_some_text_says_json(stack: list[Message], says: bool) -> None:
    assert says_json(stack) is says
