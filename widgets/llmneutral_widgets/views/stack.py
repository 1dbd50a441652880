"""A conversation as a list: who speaks, what each block is, and all of it on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmneutral_widgets.views.blocks import (
    address,
    blocks_of,
    content,
    facts,
    first_words,
    kind_of,
    messages_of,
    origin,
    preview,
    raw,
    tool_name,
)
from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import RIGHT, Html, Room, badge, count, fitted, fold, join, page, part, tag

FIRST, LAST = 3, 30
"""Messages shown at the beginning and at the end of a long conversation."""
_BLOCK_TEXT = 20_000
_WORDS = 110
"""Characters that say what a block is: a line of the usual page holds as many."""
SECTIONS = ("blocks", "stack")
EMPTY = "No messages yet. %%prompt adds the first."

Ref = tuple[int, int]


def stack_page(
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Any] = (),
    tokens: Mapping[int, int] | None = None,
    marks: Mapping[int, str] | None = None,
    makers: Mapping[int, str] | None = None,
    bad: Sequence[Sequence[int]] = (),
    shown: slice | None = None,
    name: str | None = None,
    limits: Limits = USUAL,
) -> Html:
    """Returns a conversation as one output.

    Args:
        messages: Plain data: role, content blocks, name.
        tools: Definitions of its tools, in OpenAI's format.
        tokens: Message -> tokens of the answer, where they are known.
        marks: Message -> what is to be said of it ("stale", "failed, not sent").
        makers: Message -> who made it, where that is known; otherwise its blocks may tell.
        bad: Addresses of blocks that a conversion refused.
        shown: Which messages; without it the first and the last ones of a long conversation.
        name: Name of the conversation.
        limits: How much is shown of it.
    """
    messages, numbers = messages_of(messages), chosen(len(messages), shown, limits)
    refused = {address(ref) for ref in bad}

    def render(most: int) -> Html:
        view = _List(messages, tokens or {}, marks or {}, makers or {}, refused, most, limits)
        return page(_list(messages, numbers, view, tools, name), sections=SECTIONS)

    return fitted(render)


def stack_part(
    messages: Sequence[Mapping[str, Any]],
    numbers: Sequence[int],
    *,
    tokens: Mapping[int, int] | None = None,
    marks: Mapping[int, str] | None = None,
    makers: Mapping[int, str] | None = None,
    bad: Sequence[Sequence[int]] = (),
    limits: Limits = USUAL,
) -> Html:
    """Returns some messages of a conversation as a piece of a live view: without head, and without its style sheet.

    Args:
        messages: All of them, as plain data.
        numbers: Which of them.
        tokens: As for `stack_page`, and so the others.
        marks: What is to be said of messages.
        makers: Who made them.
        bad: Addresses of blocks that a conversion refused.
        limits: How much is shown of pictures.
    """
    messages, refused = messages_of(messages), {address(ref) for ref in bad}

    def render(most: int) -> Html:
        view = _List(messages, tokens or {}, marks or {}, makers or {}, refused, most, limits)
        return part(*[view.message(number) for number in numbers], sections=SECTIONS)

    return fitted(render)


def stack_head(total: int, tools: Sequence[Any] = (), name: str | None = None) -> Html:
    """Returns what stands above the messages: the conversation's name, how many they are, and what tools there are."""
    return tag("div", tag("small", head_words(total, tools, name)), class_="facts")


def head_words(total: int, tools: Sequence[Any] = (), name: str | None = None) -> str:
    """Returns the same in words."""
    said = [name, count(total, "message"), count(len(tools), "tool") if tools else None]
    return " · ".join([word for word in said if word])


def chosen(total: int, shown: slice | None, limits: Limits = USUAL) -> list[int]:
    """Returns the messages that are shown, by their numbers: without a slice the first and the last ones."""
    numbers = list(range(total))
    if shown is not None:
        return numbers[shown]
    first, last = limits.ends(FIRST, LAST)
    return numbers if total <= first + last else numbers[:first] + numbers[-last:]


def _list(
    messages: Sequence[Mapping[str, Any]], numbers: Sequence[int], view: _List, tools: Sequence[Any], name: str | None
) -> Html:
    head = stack_head(len(messages), tools, name)
    if not messages:
        return join([head, tag("p", EMPTY)])
    items: list[Html] = []
    before = -1
    for number in numbers:
        if number > before + 1:
            items.append(_gap(number - before - 1))
        items.append(view.message(number))
        before = number
    if before < len(messages) - 1:
        items.append(_gap(len(messages) - 1 - before))
    named = tool_words(tools)
    return join([head, *items, tag("div", tag("small", named), class_="facts") if named else Html()])


def tool_words(tools: Sequence[Any]) -> str:
    """Returns what tools there are: `tools: weather, time`."""
    return f"tools: {', '.join([_tool_name(tool) for tool in tools[:40]])}" if tools else ""


def _gap(number: int) -> Html:
    return tag("p", tag("small", gap_words(number)), class_="gap")


def gap_words(number: int) -> str:
    """Returns how many messages are not shown, and what shows them."""
    return f"{number:,} more: %stack --all"


def _tool_name(tool: Any) -> str:
    given = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return tool_name(given) if isinstance(given, Mapping) else "?"


class _List:
    """What the messages share: which result answers which call, and the room of the output."""

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        tokens: Mapping[int, int],
        marks: Mapping[int, str],
        makers: Mapping[int, str],
        refused: set[Ref],
        most: int,
        limits: Limits,
    ) -> None:
        self.messages = messages
        self.tokens = tokens
        self.marks = marks
        self.makers = makers
        self.refused = refused
        self.room = Room(most)
        self.album = limits.album()
        self.partners = partners(messages)

    def message(self, number: int) -> Html:
        """A message: its head, and one fold for each block."""
        message = self.messages[number]
        blocks = blocks_of(message)
        words = " · ".join(["", *message_words(message, self.makers.get(number), self.tokens.get(number))])
        mark = [" ", badge(self.marks[number], "warn")] if number in self.marks else []
        head = tag("div", tag("b", f"{number} {message.get('role', '?')}"), tag("small", words), *mark, class_="role")
        folds = [self.block((number, b), block) for b, block in enumerate(blocks)]
        return tag("div", head, *folds, class_=f"message {_speaker(message)}")

    def block(self, ref: Ref, block: Mapping[str, Any]) -> Html:
        """A block, closed: kind and first words; open: all of it, as it reads and as it is."""
        label = tag("small", f"{ref[0]}.{ref[1]}", style=RIGHT)
        partner = [tag("small", f" → {self.partners[ref]}")] if ref in self.partners else []
        shown = tag("del", first_words(block, _WORDS)) if ref in self.refused else preview(block, _WORDS)
        summary = join([label, tag("span", kind_of(block), class_="kind"), " ", shown, *partner])
        inner = [content(block, self._share(), self.album), facts(block)]
        if kind_of(block) == "text" and _has_markup(str(block.get("text") or "")):
            inner.insert(1, fold("as typed", raw(str(block["text"]), self._share())))
        return fold(summary, *inner)

    def _share(self) -> Room:
        """The room of one block; what it may use is taken from the output's."""
        share = Room(min(_BLOCK_TEXT, self.room.left))
        self.room.left = max(0, self.room.left - _BLOCK_TEXT // 20)
        return share


def _has_markup(source: str) -> bool:
    """Whether a text may read otherwise than it is typed."""
    return any([sign in source for sign in "*_`#<>[]|$\\~"]) or "\n" in source


def _speaker(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    return role if role in ("system", "developer", "user", "assistant") else "other"


def message_words(message: Mapping[str, Any], maker: str | None, tokens: int | None) -> list[str]:
    """Returns what is said of a message beside its role: who made it, its name, how many blocks and tokens it has."""
    blocks = blocks_of(message)
    made = maker or next((told for block in blocks if (told := origin(block))), None)
    said = [made, message.get("name"), count(len(blocks), "block"), None if tokens is None else count(tokens, "token")]
    return [str(part) for part in said if part]


def partners(messages: Sequence[Mapping[str, Any]]) -> dict[Ref, str]:
    """Returns call -> address of its result, and back, by the order in which ids occur."""
    open_calls: dict[str, list[Ref]] = {}
    found: dict[Ref, str] = {}
    for m, message in enumerate(messages):
        for b, block in enumerate(blocks_of(message)):
            tag_of = str(block.get("tag") or "")
            if kind_of(block) in ("tool_call", "invalid_tool_call"):
                open_calls.setdefault(tag_of, []).append((m, b))
            elif kind_of(block) == "tool_result" and open_calls.get(tag_of):
                call = open_calls[tag_of].pop(0)
                found[call], found[m, b] = f"{m}.{b}", f"{call[0]}.{call[1]}"
    return found
