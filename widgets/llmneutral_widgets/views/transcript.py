"""A conversation as it reads: who said what, from top to bottom. Input is plain data: messages and saved exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets.views.answer import answer_block, exchange_body
from llmneutral_widgets.views.blocks import blocks_of
from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import Html, Room, badge, fitted, fold, join, page, part, tag
from llmneutral_widgets.views.pictures import Album

LAST = 30
"""Messages that are shown of a long conversation."""
SECTIONS = ("blocks", "answer", "talk")
EMPTY = "Nothing was said yet. Type a question below; the provider in the list answers it."
EMPTY_SAVED = "Nothing was said yet."

Data = Mapping[str, Any]


class Said(NamedTuple):
    """Something that was said.

    Attributes:
        message: A message as plain data; None for an answer with its exchange.
        record: The exchange whose answer it is, as it is saved; None for a bare message.
        mark: What is to be told of it ("stale", "failed, not sent").
    """

    message: Data | None
    record: Data | None = None
    mark: str | None = None


def said(records: Sequence[Data], marks: Sequence[str | None] = ()) -> list[Said]:
    """Returns what was said, in order: the questions of each exchange, and its answer.

    Args:
        records: The exchanges as they are saved.
        marks: What is to be told of each.
    """
    found: list[Said] = []
    for n, record in enumerate(records):
        mark = marks[n] if n < len(marks) else None
        messages = [message for message in record.get("messages") or () if isinstance(message, Mapping)]
        found += [Said(message, mark=mark) for message in messages]
        if record.get("response") or record.get("error"):
            found.append(Said(None, record, mark))
    return found


def transcript_page(items: Sequence[Said], *, hidden: int = 0, limits: Limits = USUAL) -> Html:
    """Returns a conversation as one output: the last messages, and how many stand before them."""
    total = len(items)
    shown = items[-limits.most(LAST) :]
    hidden += total - len(shown)

    def render(most: int) -> Html:
        room, album = Room(most), limits.album()
        gap = [tag("p", tag("small", f"{hidden:,} earlier messages: %stack --all"), class_="gap")] if hidden else []
        body = [said_body(item, room, album) for item in shown] or [tag("p", EMPTY_SAVED)]
        return page(*gap, *body, sections=SECTIONS)

    return fitted(render)


def said_part(items: Sequence[Said], limits: Limits = USUAL) -> Html:
    """Returns some of what was said as a piece of a live view."""

    def render(most: int) -> Html:
        room, album = Room(most), limits.album()
        return part(*[said_body(item, room, album) for item in items], sections=SECTIONS)

    return fitted(render)


def said_body(item: Said, room: Room, album: Album) -> Html:
    """Returns one thing that was said: a question in a frame, an answer with its footer, a system text folded."""
    mark = [" ", badge(item.mark, "warn")] if item.mark else []
    if item.record is not None:
        return tag("div", *([tag("p", *mark)] if mark else []), exchange_body(item.record, room, album), class_="reply")
    message = item.message or {}
    role = str(message.get("role") or "?")
    blocks = [answer_block(block, room, album) for block in blocks_of(message)]
    if role in ("system", "developer"):
        return fold(role, *blocks, class_="thinking")
    if role == "assistant":
        return tag("div", tag("div", *blocks, class_="answer"), *mark, class_="reply")
    name = "you" if role == "user" else role
    return tag("div", tag("div", tag("small", name), *mark), join(blocks), class_="asked")
