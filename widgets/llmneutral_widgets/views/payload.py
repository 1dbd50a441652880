"""One conversation as several providers' payloads, side by side, aligned by meaning; static, with CSS for the light.

Hovering a block or a run of JSON lights up its origin and all its renderings: `:has()` rules inside a table row, so
that their number is that of the blocks of the fullest row, and not of the conversation. Opening a block pins it.
Where style sheets are taken out, the labels `7.0` at both ends say the same in text.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from llmneutral_widgets.views.aligned import escaped, layout, nested_form, rows
from llmneutral_widgets.views.blocks import (
    address,
    blocks_of,
    content,
    facts,
    first_words,
    kind_of,
    messages_of,
    preview,
    tool_name,
)
from llmneutral_widgets.views.changes import (
    Change,
    Told,
    change_line,
    flags,
    plain_line,
    step_name,
    told_of,
)
from llmneutral_widgets.views.columns import Column as Column
from llmneutral_widgets.views.columns import column_head, guide, is_the_error, origin_of, source_head
from llmneutral_widgets.views.hanging import hanging
from llmneutral_widgets.views.jsonlines import LONGEST, Line, element_lines, json_lines
from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import (
    LEFT,
    LIMIT,
    RIGHT,
    Html,
    Room,
    fitted,
    fold,
    join,
    page,
    tag,
    text,
)
from llmneutral_widgets.views.problems import marked_lines

FIRST, MOST = 3, 60
"""Rows that are always shown at the top, and rows that are shown at all."""
_PLACES = 40
"""Blocks of a row that light up; a row of more is too full to follow a light in it."""
_LINES = 400
_FIT = 4
"""Columns beside the neutral one that a page has room for."""
_FAR = 3
"""The message from which on the cells say whose they are."""
_BLOCK_TEXT = 2_000
_LIT = "background:color-mix(in srgb,var(--ln-accent) 20%,transparent);box-shadow:inset 3px 0 var(--ln-accent)"
_LOSS = {"dropped": 0, "refused": 1, "merged": 2}

Ref = tuple[int, int]


class Shown(NamedTuple):
    """A comparison: the output, and how many of its rows it has no room for."""

    html: Html
    hidden: int


def comparison(
    messages: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    settings: Mapping[str, Any] | None = None,
    tools: Sequence[Any] = (),
    output_schema: Any = None,
    most: int = MOST,
    limits: Limits = USUAL,
    said: Sequence[str] = (),
) -> Html:
    """Returns the comparison as one output.

    Args:
        messages: The source as plain data: role, and content blocks.
        columns: The payloads.
        settings: Neutral settings of the source.
        tools: Definitions of its tools, in OpenAI's format.
        output_schema: JSON Schema of the answer, or None.
        most: Rows of messages that are shown; a live view shows more on request, and has as much more room.
        limits: How much is shown of pictures.
        said: What is to be said above the columns, a line each.
    """
    return compared(
        messages,
        columns,
        settings=settings,
        tools=tools,
        output_schema=output_schema,
        most=most,
        more="%stack --all",
        limits=limits,
        said=said,
    ).html


def compared(
    messages: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    settings: Mapping[str, Any] | None = None,
    tools: Sequence[Any] = (),
    output_schema: Any = None,
    most: int = MOST,
    more: str = "",
    limits: Limits = USUAL,
    said: Sequence[str] = (),
) -> Shown:
    """Returns the comparison with the number of rows that it hides; `more` says where they are, the rest as above."""
    source = (dict(settings or {}), [_tool_line(tool) for tool in tools], output_schema or {})
    limit = LIMIT * (1 if more else max(1, most // MOST))  # what is saved has the room of one output
    hidden = 0

    mark = sha256(repr((messages, columns)).encode("utf-8", "replace")).hexdigest()[:8]

    def render(letters: int) -> Html:
        nonlocal hidden
        view = _Comparison(messages, columns, letters, _Size(most, limit, more, mark, limits))
        html = _comparison(view, source, said)
        hidden = view.hidden
        return html

    return Shown(fitted(render, limit=limit), hidden)


def _comparison(view: _Comparison, source: tuple[Any, Any, Any], said: Sequence[str]) -> Html:
    top = view.keys_row("settings", source[0], "settings")
    body = view.message_rows() if view.messages or any(column.payload for column in view.columns) else []
    head = [source_head(view.columns), *[column_head(column, view.place_of) for column in view.columns]]
    below = [
        view.keys_row("tools", source[1], "tools"),
        view.keys_row("form of the answer", source[2], "form"),
    ]
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", top, *body, *below), class_="side")
    return page(_wide(table, len(view.columns), said), sections=("blocks", "side"), rules=rules(view.most))


def _wide(table: Html, columns: int, said: Sequence[str]) -> Html:
    """A table that may be wider than the page; of one that is, a line says so: its shadow is lost with the sheet."""
    wide = [f"{columns} columns: where they do not all fit, scroll sideways"] if columns > _FIT else []
    hints = [tag("p", tag("small", each), class_="hint") for each in [*said, *wide]]
    return join([*hints, tag("div", table, class_="wide")])


def payload_page(columns: Sequence[Column], said: Sequence[str] = ()) -> Html:
    """Returns payloads side by side without their source: whole, labelled where they are traced."""

    def render(most: int) -> Html:
        lines, longest = max(10, most // 100 // max(1, len(columns))), max(10, min(LONGEST, most // 200))
        cells = []
        for column in columns:
            wrong = marked_lines(column.payload, column.problems)
            payload = column.payload or {}
            found = [
                line
                for key, value in payload.items()
                for line in json_lines(value, f"/{escaped(key)}", name=key, longest=longest)
            ]
            runs = _runs(found, column, wrong, lines)
            cells.append(tag("td", *[_run(refs, written, {}) for refs, written in runs], style=LEFT))
        head = tag("thead", tag("tr", *[column_head(column) for column in columns]))
        table = tag("table", head, tag("tbody", tag("tr", *cells)), class_="side")
        return page(guide(columns, has_source=False), _wide(table, len(columns), said), sections=("blocks", "side"))

    return fitted(render)


def rules(places: int) -> str:
    """Returns the light: inside a row, whatever shares the class `kN` lights up, hovered, focused, linked or open."""
    kinds = range(1, min(places, _PLACES) + 1)
    return "".join([f".llmn tr:has(.k{n}:is(:hover,:focus-within,:target,[open])) .k{n}{{{_LIT}}}" for n in kinds])


class _Size(NamedTuple):
    """Rows, bytes, where the rows are that do not fit, what its ids begin with, and how much is shown of pictures."""

    most: int
    limit: int
    more: str
    mark: str
    limits: Limits


class _Comparison:
    """What the rows share: the layouts, the changes of each block, and the number of places of the fullest row."""

    def __init__(
        self, messages: Sequence[Mapping[str, Any]], columns: Sequence[Column], most: int, size: _Size
    ) -> None:
        self.size = size
        self.hidden = 0
        self.block_text = min(_BLOCK_TEXT, most // 80)
        self.blocks = max(3, most // 400)
        self.lines = max(10, min(_LINES, most // 200 // max(1, len(columns))))
        self.longest = max(10, min(LONGEST, most // 200))
        self.messages = messages_of(messages)
        self.columns = columns
        self.layouts = [layout(column.payload or {}, column.trace) for column in columns]
        self.rendered = [{address(ref) for refs in column.trace.values() for ref in refs} for column in columns]
        self.marked = [marked_lines(column.payload, column.problems) for column in columns]
        self.changes = _changes_by_ref(columns)
        self.album = size.limits.album()
        self.most = 0
        self.linked: dict[Ref, str] = {}

    def place_of(self, ref: Ref) -> str | None:
        """The address of a block that is shown, for a link."""
        name = self.linked.get(ref)
        return None if name is None else f"#{name}"

    def message_rows(self) -> list[Html]:
        """The rows of messages: the first few and the last ones, as many as an output has room for."""
        groups = rows(len(self.messages), [found.elements for found in self.layouts]) or [[]]
        begin, end = Limits(self.size.most).ends(FIRST, MOST - FIRST)
        first, last = groups[:begin], groups[begin:][-end:]
        shown = [self.row(group, group is groups[-1]) for group in first]
        room = self.size.limit * 3 // 4 - sum(map(len, shown))
        kept: list[Html] = []
        for group in reversed(last):
            made = self.row(group, group is groups[-1])
            if room < len(made) and kept:
                self.linked = {ref: name for ref, name in self.linked.items() if ref[0] not in group}
                break
            room -= len(made)
            kept.append(made)
        self.hidden = len(groups) - len(shown) - len(kept)
        where = f": {self.size.more}" if self.size.more else ""
        note = [self.note(f"{self.hidden:,} more{where}")] if self.hidden else []
        return [*shown, *note, *reversed(kept)]

    def note(self, said: str) -> Html:
        """A row that says what is not shown."""
        return tag("tr", tag("td", tag("small", said), colspan=len(self.columns) + 1, style=LEFT))

    def row(self, group: Sequence[int], is_last: bool) -> Html:
        """One row: the messages, and what each payload makes of them."""
        refs = [(m, b) for m in group for b in range(len(blocks_of(self.messages[m])))]
        place = {ref: n for n, ref in enumerate(refs[:_PLACES], 1)}
        self.most = max(self.most, len(place))
        kept = refs[: self.blocks]
        numbers = group if len(kept) == len(refs) else sorted({m for m, _ in kept})
        shown = [self.message(m, [b for number, b in kept if number == m], place) for m in numbers]
        hidden = tag("p", tag("small", f"{len(refs) - len(kept):,} more blocks")) if len(kept) < len(refs) else Html()
        cells = [join([*shown, hidden])]
        for i, (column, found) in enumerate(zip(self.columns, self.layouts, strict=True)):
            lost = {ref: self.lost(column, ref, place) for ref in kept if ref not in self.rendered[i]}
            first = min(self.rendered[i].intersection(kept), default=(0, 0))
            before, after = [[lost[ref] for ref in lost if (ref < first) is is_before] for is_before in (True, False)]
            cell = join([*before, self.parts(i, found.places(group, is_last), place), *after])
            cells.append(self.named(i, cell) if min(group, default=0) >= _FAR else cell)
        return tag("tr", *[tag("td", cell, style=LEFT) for cell in cells])

    def named(self, i: int, cell: Html) -> Html:
        """A cell with the name of its column: its head has left the page."""
        return join([tag("div", tag("small", self.columns[i].api), class_="whose"), cell]) if cell else cell

    def message(self, number: int, blocks: Sequence[int], place: Mapping[Ref, int]) -> Html:
        """A message of the source, with some of its blocks."""
        message = self.messages[number]
        head = tag("div", tag("b", f"{number} {message.get('role', '?')}"), class_="role")
        return join([head, *[self.block(number, b, blocks_of(message)[b], place) for b in blocks]])

    def block(self, number: int, index: int, block: Mapping[str, Any], place: Mapping[Ref, int]) -> Html:
        """A block of the source, closed; its changes are counted outside and told inside."""
        told = self.changes.get((number, index), {})
        sent = {self.columns[i].api for i, refs in enumerate(self.rendered) if (number, index) in refs}
        label = tag("small", f"{number}.{index}", style=RIGHT)
        summary = join(
            [
                label,
                tag("span", kind_of(block), class_="kind"),
                " ",
                *flags(told, len(self.columns), sent),
                preview(block),
            ]
        )
        inner = content(block, Room(self.block_text), self.album)
        changes = [change_line(change, apis) for change, apis in told.items()]
        name = self.linked.setdefault((number, index), f"ln-{self.size.mark}-{number}-{index}") if told else None
        return fold(summary, inner, facts(block), *changes, class_=_class([(number, index)], place), id_=name)

    def parts(self, i: int, places: Sequence[tuple[str, bool]], place: Mapping[Ref, int]) -> Html:
        """Elements of a payload: a `pre` for each run of lines of one origin, as many lines as a cell takes."""
        column, left = self.columns[i], self.lines
        shown: list[Html] = []
        for n, (pointer, is_guest) in enumerate(places):
            if left <= 0:
                shown.append(tag("p", tag("small", f"{len(places) - n:,} more elements")))
                break
            before, after = (places[i][0] if 0 <= i < len(places) else "" for i in (n - 1, n + 1))
            lines = list(islice(element_lines(column.payload, pointer, before, after, self.longest), left + 1))
            part = self.piece(i, lines, place, left)
            if is_guest:  # but for the brackets around it
                own = [line.at.startswith(pointer) for line in lines]
                first, behind = own.index(True), len(own) - own[::-1].index(True)
                added = tag("ins", self.piece(i, lines[first:behind], place, left), title="added by the conversion")
                part = join(
                    [self.piece(i, lines[:first], place, left), added, self.piece(i, lines[behind:], place, left)]
                )
            shown.append(part)
            left -= len(lines)
        return join(shown)

    def piece(self, i: int, lines: Sequence[Line], place: Mapping[Ref, int], most: int) -> Html:
        """Lines of a payload, a `pre` for each run of one origin."""
        runs = _runs(lines, self.columns[i], self.marked[i], most)
        return join([_run(refs, written, place) for refs, written in runs])

    def lost(self, column: Column, ref: Ref, place: Mapping[Ref, int]) -> Html:
        """A block that a payload does not have, with the change that says why."""
        refused = column.error is not None and ref in map(address, column.error.get("refs") or ())
        if column.payload is None and not refused:
            return Html()
        block = blocks_of(self.messages[ref[0]])[ref[1]]
        found = sorted([c for c in column.changes if ref in map(address, c.get("refs") or ())], key=_loss)
        why = plain_line(told_of(found[0])) if found else text("not rendered")
        if refused and column.error:  # the head of the column says why
            rule = column.error.get("rule")
            why = join(["refused by ", step_name(str(rule))]) if rule else text("refused")
        label = tag("small", f"{ref[0]}.{ref[1]}", style=RIGHT)
        gone = tag("del", f"{kind_of(block)}: {first_words(block, 40)}")
        return tag("div", label, gone, tag("div", tag("small", why)), class_=_class([ref], place, "gone"))

    def keys_row(self, name: str, neutral: Any, part: str) -> Html:
        """A row of what is not messages: settings, tools, the form of the answer; left out where there is none."""
        keys = [getattr(found, part) for found in self.layouts]
        if not neutral and not any(keys):
            return Html()
        first = join([tag("div", tag("b", name), class_="role"), tag("pre", _neutral(neutral)) if neutral else Html()])
        cells = [self.keys_cell(i, found) if found else self.elsewhere(i, part) for i, found in enumerate(keys)]
        if part == "settings":
            cells = [join([cell, *self.left_out(i, neutral)]) for i, cell in enumerate(cells)]
        if part != "settings" and len(self.messages) > _FAR:
            cells = [self.named(i, cell) for i, cell in enumerate(cells)]
        return tag("tr", *[tag("td", cell, style=LEFT) for cell in (first, *cells)])

    def left_out(self, i: int, settings: Mapping[str, Any]) -> list[Html]:
        """The settings of the source that a payload does not have, or not all of, each with the reason."""
        lost = [change for change in self.columns[i].changes if change.get("kind") == "dropped"]
        told = [told_of(change) for change in lost if str(change.get("why")).partition(":")[0] in settings]
        return [tag("div", tag("small", plain_line(each)), class_="gone") for each in told]

    def elsewhere(self, i: int, part: str) -> Html:
        """Where the tools, or the form of the answer, are that have no key of their own here."""
        payload = self.columns[i].payload
        if not payload or part == "settings":
            return Html()
        nested = nested_form(payload) if part == "form" else None
        return tag("small", f"above: {nested}" if nested else "no field of its own: the changes at the head tell how")

    def keys_cell(self, i: int, keys: Sequence[str]) -> Html:
        """Some keys of a payload as one piece of JSON."""
        payload = self.columns[i].payload or {}
        lines = [
            line
            for key in keys
            for line in json_lines(payload[key], f"/{escaped(key)}", name=key, longest=self.longest)
        ]
        return join([_run(refs, written, {}) for refs, written in _runs(lines, None, self.marked[i], self.lines)])


# ----------------------------------------------------------------------------------------------------------------------
# Words and pieces


def _changes_by_ref(columns: Iterable[Column]) -> dict[Ref, dict[Told, list[str]]]:
    """Block -> its changes, the same change of several APIs once, with these APIs.

    What refused a whole payload has no reason here: it stands in the head of the column.
    """
    found: dict[Ref, dict[Told, list[str]]] = {}
    for column in columns:
        for change in column.changes:
            for ref in change.get("refs") or ():
                key = told_of(change)
                key = key._replace(why="") if is_the_error(change, column) else key
                found.setdefault(address(ref), {}).setdefault(key, []).append(column.api)
    return found


def _loss(change: Change) -> int:
    return _LOSS.get(str(change.get("kind")), 9)


def _class(refs: Sequence[Ref], place: Mapping[Ref, int], *more: str) -> str | None:
    return " ".join([*more, *[f"k{place[ref]}" for ref in refs if ref in place]]) or None


def _runs(
    lines: Iterable[Line], column: Column | None, wrong: Container[str], most: int
) -> Iterator[tuple[list[Ref], Html]]:
    """Joins the lines of one origin (the innermost that is known); a line with a problem is marked."""
    runs: list[tuple[list[Ref], list[Html]]] = []
    marked: set[str] = set()
    for n, (at, line) in enumerate(lines):
        if n >= most:
            runs.append(([], [Html("…")]))
            break
        refs = origin_of(column, at) if column else []
        written = hanging(line, is_marked=at in wrong and at not in marked)
        marked.add(at)
        if runs and runs[-1][0] == refs:
            runs[-1][1].append(written)
        else:
            runs.append((refs, [written]))
    for refs, written_lines in runs:
        yield refs, Html("".join(written_lines).removesuffix("\n"))


def _neutral(value: Any) -> Html:
    """What the source has, set as the payloads are: the keys without the braces around them."""
    items = value.items() if isinstance(value, Mapping) else [(None, item) for item in value]
    lines = [hanging(line.text) for key, item in items for line in json_lines(item, name=key)]
    return Html("".join(lines).removesuffix("\n"))


def _run(refs: Sequence[Ref], written: Html, place: Mapping[Ref, int]) -> Html:
    """Lines of one origin. The label says in text what the light shows."""
    if not refs:
        return tag("pre", written)
    label = ", ".join([f"{m}.{b}" for m, b in refs[:6]]) + (", …" if len(refs) > 6 else "")
    return tag("pre", tag("small", label, style=RIGHT), written, class_=_class(refs, place), title=f"from {label}")


def _tool_line(tool: Any) -> str:
    """A tool by its name: the definitions stand in the payloads."""
    given = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return tool_name(given if isinstance(given, Mapping) else {}) or str(tool)[:100]
