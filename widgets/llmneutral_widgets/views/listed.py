"""A conversation, and an answer, as text: what `stack` and `answer` show, for where there is no front end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets.views.answer import summary_line
from llmneutral_widgets.views.blocks import Block, address, block_text, blocks_of, fact_words, kind_of, messages_of
from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import Room, count, line
from llmneutral_widgets.views.stack import (
    EMPTY,
    chosen,
    gap_words,
    head_words,
    message_words,
    partners,
    tool_words,
)
from llmneutral_widgets.views.terminal import cells, cut, excerpt, wrapped

MOST = 60_000
"""Characters of text of one output."""
_BLOCK_TEXT, _LEAST, _ANSWER_TEXT = 2_000, 100, 20_000
_BLOCKS = 60
"""Blocks of a message that are shown."""
_LABEL = 20


def stack_text(
    messages: Sequence[Mapping[str, Any]],
    width: int,
    *,
    tools: Sequence[Any] = (),
    tokens: Mapping[int, int] | None = None,
    marks: Mapping[int, str] | None = None,
    makers: Mapping[int, str] | None = None,
    bad: Sequence[Sequence[int]] = (),
    shown: slice | None = None,
    name: str | None = None,
    most: int = _BLOCK_TEXT,
    limits: Limits = USUAL,
) -> str:
    """Returns a conversation as text: message by message, each with its blocks.

    Args:
        messages: Plain data, as for `stack_page`, and so the others.
        width: Cells of a line.
        tools: Definitions of its tools.
        tokens: Message -> tokens of the answer.
        marks: Message -> what is to be said of it.
        makers: Message -> who made it.
        bad: Addresses of blocks that a conversion refused.
        shown: Which messages; without it the first and the last ones of a long conversation.
        name: Name of the conversation.
        most: Characters of a block; where there are many blocks, each has less.
        limits: How many messages are shown.
    """
    messages, room = messages_of(messages), Room(MOST)
    numbers = chosen(len(messages), shown, limits)
    total = sum([min(_BLOCKS, len(blocks_of(messages[number]))) for number in numbers])
    size = _Size(width, max(_LEAST, min(most, MOST // max(1, total))))
    linked, refused = partners(messages), {address(ref) for ref in bad}
    made, before = wrapped(head_words(len(messages), tools, name), width), -1
    for number in numbers:
        if number > before + 1:
            made.append(gap_words(number - before - 1))
        if room.left <= 0:
            made += wrapped(f"… too long to go on: %stack {number}: shows the rest", width)
            before = len(messages) - 1
            break
        before = number
        message = messages[number]
        said = [
            f"{number} {message.get('role', '?')}",
            *message_words(message, (makers or {}).get(number), (tokens or {}).get(number)),
        ]
        mark = f" [{(marks or {})[number]}]" if number in (marks or {}) else ""
        made += wrapped(line(f"{' · '.join(said)}{mark}", 200), width, rest="    ")
        blocks = blocks_of(message)
        refs = [(number, b) for b in range(len(blocks))]
        labels = [f"{m}.{b} " for m, b in refs]
        ends = [_ending(ref in refused, linked.get(ref)) for ref in refs]
        made += _blocks(blocks, labels, ends, size, room)
    if messages and before < len(messages) - 1:
        made.append(gap_words(len(messages) - 1 - before))
    named = tool_words(tools)
    made += [] if messages else wrapped(EMPTY, width)
    return "\n".join([*made, *(wrapped(named, width, rest="    ") if named else [])])


def exchange_text(record: Mapping[str, Any], width: int) -> str:
    """Returns an exchange as text: who answered and how, what its tools gave, and the whole answer.

    Args:
        record: The exchange as it is saved, plain data without secrets.
        width: Cells of a line.
    """
    response = record.get("response")
    if not isinstance(response, Mapping):
        return "\n".join(wrapped(summary_line(record), width))
    made = wrapped(summary_line({**record, "response": {**response, "text": "", "blocks": []}}), width)
    rounds = messages_of(record.get("rounds") or ())
    answer = [block for block in response.get("blocks") or () if isinstance(block, Mapping)]
    answer = answer or [{"type": "text", "text": str(response.get("text") or "")}]
    blocks = [*[block for message in rounds for block in blocks_of(message)], *answer]
    bare = [""] * len(blocks)
    return "\n".join([*made, *_blocks(blocks, bare, bare, _Size(width, _ANSWER_TEXT), Room(MOST))])


class _Size(NamedTuple):
    """Cells of a line, and characters of a block."""

    width: int
    most: int


def _ending(is_refused: bool, partner: str | None) -> str:
    """What is said of a block behind its text: that it cannot be sent, and where the call or the result of it is."""
    return " ".join([*(["[refused]"] if is_refused else []), *([f"→ {partner}"] if partner else [])])


def _blocks(blocks: Sequence[Block], labels: Sequence[str], ends: Sequence[str], size: _Size, room: Room) -> list[str]:
    """Blocks with what they are at the left, and what they say beside it."""
    heads = [f"  {label}{cut(kind_of(block), _LABEL)}  " for label, block in zip(labels, blocks, strict=True)]
    column = min(max(map(cells, heads[:_BLOCKS]), default=0), max(4, size.width // 3))
    made: list[str] = []
    for head, block, end in [*zip(heads, blocks, ends, strict=True)][:_BLOCKS]:
        written = block_text(block)
        said = excerpt(written, min(size.most, room.left))
        room.take(written, size.most)
        said = f"{said} {end}" if end else said
        facts = " · ".join(fact_words(block))
        lead = " " * column
        if cells(head) > column:
            made += wrapped(head.rstrip(), size.width, rest=lead)
            head = lead
        made += wrapped(said, size.width, first=head + " " * (column - cells(head)), rest=lead)
        made += wrapped(f"({line(facts, 300)})", size.width, first=lead) if facts else []
    hidden = len(blocks) - _BLOCKS
    return [*made, f"  … {count(hidden, 'more block')}"] if hidden > 0 else made
