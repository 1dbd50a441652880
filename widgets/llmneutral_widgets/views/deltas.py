"""A stream as it came: the provider's chunks beside what was made of them, over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets.views.blocks import prose, raw
from llmneutral_widgets.views.jsonlines import compact, pretty
from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import LEFT, Html, Room, badge, count, fitted, fold, join, page, part, short, tag
from llmneutral_widgets.views.terminal import beside, cut, wrapped

MOST = 200
"""Rows that are shown: the first and the last half."""
GAP = 1.0
"""Seconds without a chunk that are worth a mark."""
EMPTY = "No stream recorded: %%prompt records one, unless it is asked with --no-stream."
_SO_FAR = 120
_FOLDABLE = frozenset({"text", "thinking", "call"})
_INNER = 20
_ID = 12

Delta = Mapping[str, Any]


class Entry(NamedTuple):
    """A chunk: seconds since the request, the provider's chunk, our deltas; plain data."""

    seconds: float
    chunk: Any
    deltas: Sequence[Delta]


class Row(NamedTuple):
    """A line of the table: chunks that belong together, what marks them, and the changed block so far."""

    entries: tuple[Entry, ...]
    marks: tuple[str, ...]
    so_far: str


def deltas_page(
    record: Sequence[Sequence[Any]],
    *,
    stopped: str | None = None,
    badges: Sequence[str] = (),
    limits: Limits = USUAL,
) -> Html:
    """Returns the inspector as one output.

    Args:
        record: `stream.record` as plain data: seconds, chunk, deltas.
        stopped: Where the recording was stopped ("5,000 of 6,100 chunks"), if it was.
        badges: What is to be said of the stream ("incomplete").
        limits: How many rows are shown.
    """
    entries = [Entry(float(seconds), chunk, deltas) for seconds, chunk, deltas in record]
    if not entries:
        return page(tag("p", f"recording stopped at {stopped}" if stopped else EMPTY), sections=("deltas",))
    table = rows(entries)
    ends = limits.ends(MOST // 2, MOST // 2)
    return fitted(lambda most: page(_table(entries, table, stopped, badges, (most, *ends)), sections=("deltas",)))


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Folds the chunks that only bring more of one block, and marks what is worth it."""
    made: list[Row] = []
    blocks: dict[int, str] = {}
    was_silent, before = True, 0.0
    for entry in entries:
        marks = _marks(entry, before, was_silent)
        was_silent = was_silent and not any([_piece(delta) for delta in entry.deltas])
        so_far = _grow(blocks, entry.deltas)
        before = entry.seconds
        if made and not marks and (kind := _run_kind(entry)) and kind == _run_kind(made[-1].entries[-1]):
            made[-1] = Row((*made[-1].entries, entry), made[-1].marks, so_far) if not _is_full(made[-1]) else made[-1]
            if made[-1].entries[-1] is entry:
                continue
        made.append(Row((entry,), marks, so_far))
    return made


def _is_full(row: Row) -> bool:
    """A fold of very many chunks is closed, so that joining stays linear; so is a first token, which stands alone."""
    return len(row.entries) >= 500 or "first token" in row.marks


def _run_kind(entry: Entry) -> tuple[str, int] | None:
    """Kind and block of a chunk that brings nothing but more of one block."""
    kinds = {(str(delta.get("kind")), _index(delta)) for delta in entry.deltas}
    if len(kinds) != 1:
        return None
    kind, index = next(iter(kinds))
    return (kind, index) if kind in _FOLDABLE and not any([_content(d).get("name") for d in entry.deltas]) else None


def _marks(entry: Entry, before: float, was_silent: bool) -> tuple[str, ...]:
    kinds = {str(delta.get("kind")) for delta in entry.deltas}
    found = [f"{entry.seconds - before:.1f} s gap"] if entry.seconds - before > GAP else []
    if was_silent and any([_piece(delta) for delta in entry.deltas]):
        found.append("first token")
    return (*found, *[kind for kind in ("finish", "usage", "error", "end") if kind in kinds])


def _content(delta: Delta) -> Mapping[str, Any]:
    found = delta.get("content")
    return found if isinstance(found, Mapping) else {}


def _index(delta: Delta) -> int:
    index = _content(delta).get("index", 0)
    return index if isinstance(index, int) else 0


def _piece(delta: Delta) -> str:
    """What a delta adds to its block, as text."""
    content = _content(delta)
    return str(content.get("text") or content.get("partial_input") or content.get("transcript") or "")


def _grow(blocks: dict[int, str], deltas: Sequence[Delta]) -> str:
    """Adds to the blocks, of which only the ends are kept, and returns the end of the one that changed last."""
    changed = ""
    for delta in deltas:
        if piece := _piece(delta):
            index = _index(delta)
            changed = blocks[index] = _ending(blocks.get(index, "") + piece, _SO_FAR)
    return changed


def _ending(text: str, most: int) -> str:
    """The end of a text, with a mark where something stands before it."""
    return text if len(text) <= most else f"…{text[-most:]}"


# ----------------------------------------------------------------------------------------------------------------------
# The stream replayed

REPLAY_SECTIONS = ("blocks", "answer", "deltas", "replay")
_SHOWN = 20_000


def replay_part(record: Sequence[Sequence[Any]], number: int) -> Html:
    """Returns a stream as it stood after a chunk, as a piece of a live view: the chunk, its deltas, the message so far.

    Args:
        record: As for `deltas_page`.
        number: The chunk, counted from 1.
    """
    seconds, chunk, deltas = record[number - 1]
    said = f"chunk {number:,} of {len(record):,} · {float(seconds) * 1000:,.0f} ms"
    came = [_told(delta, 300) for delta in deltas] or [tag("div", tag("small", "nothing for the message"))]
    blocks = [_block(kind, name, text) for (kind, _), (name, text) in _so_far(record[:number]).items()]
    cells = [
        ("chunk: as the provider sent it", tag("pre", pretty(chunk, 40))),
        ("deltas: what it brings", tag("div", *came)),
        ("the message so far", tag("div", *(blocks or [tag("small", "empty")]), class_="answer")),
    ]
    heads = tag("tr", *[tag("th", head, scope="col", style=LEFT) for head, _ in cells])
    row = tag("tr", *[tag("td", cell, style=LEFT) for _, cell in cells])
    table = tag("table", tag("thead", heads), tag("tbody", row))
    head = tag("div", tag("small", said), class_="facts")
    return part(head, tag("div", table, class_="wide"), sections=REPLAY_SECTIONS)


def _so_far(record: Sequence[Sequence[Any]]) -> dict[tuple[str, int], tuple[str, str]]:
    """(kind, index) -> name of the tool and text of each block, in the order in which they began."""
    names: dict[tuple[str, int], str] = {}
    pieces: dict[tuple[str, int], list[str]] = {}
    for _, _, deltas in record:
        for delta in deltas:
            kind = str(delta.get("kind"))
            if kind not in (*_FOLDABLE, "refusal"):
                continue
            key = (kind, _index(delta))
            pieces.setdefault(key, []).append(_piece(delta))
            names[key] = names.get(key) or str(_content(delta).get("name") or "")
    return {key: (names[key], "".join(found)) for key, found in pieces.items()}


def _block(kind: str, name: str, text: str) -> Html:
    shown, room = text[-_SHOWN:], Room(_SHOWN)
    if kind == "call":
        call = tag("div", tag("code", name or "?"), raw(shown, room), class_="call")
        return tag("div", tag("span", "calls", class_="kind"), call, class_="tool")
    if kind == "thinking":
        return fold(f"thinking, {count(len(text), 'character')}", prose(shown, room), class_="thinking", is_open=True)
    return prose(shown, room)


# ----------------------------------------------------------------------------------------------------------------------
# The table


def _table(
    entries: Sequence[Entry],
    table: Sequence[Row],
    stopped: str | None,
    badges: Sequence[str],
    size: tuple[int, int, int],
) -> Html:
    most, first, last = size
    end = _end(entries)
    head = tag("div", tag("small", " · ".join(_facts(entries, stopped))), *map(_warning, badges), class_="facts")
    heads = tag("tr", *[tag("th", name, scope="col", style=LEFT, title=told) for name, told in _HEADS.items()])
    each = max(40, most // max(1, 3 * min(len(table), first + last)))
    if (hidden := len(table) - first - last) <= 0:
        body = [_row(row, end, each) for row in table]
    else:
        gap = tag("tr", tag("td", tag("small", f"{hidden:,} more rows"), colspan=len(_HEADS), style=LEFT))
        body = [*[_row(row, end, each) for row in table[:first]], gap, *[_row(row, end, each) for row in table[-last:]]]
    shown = tag("div", tag("table", tag("thead", heads), tag("tbody", *body)), class_="wide")
    return join([head, shown, _legend(entries, table)])


def _end(entries: Sequence[Entry]) -> float:
    return max(entries[-1].seconds, 1e-9)


def _facts(entries: Sequence[Entry], stopped: str | None) -> list[str]:
    """How much came, and in what time."""
    said = [count(len(entries), "chunk"), f"{_end(entries):.2f} s"]
    return [*said, f"recording stopped at {stopped}"] if stopped else said


_HEADS = {
    "ms": "milliseconds since the question was sent",
    "of the time": "how much of the whole time had passed by then",
    "chunk: as sent": "a piece of the stream, just as the provider sent it",
    "delta: what it brings": "what the library made of it: the same words for every API",
    "part so far": "the text, thinking or call that it belongs to, as long as it was then (its end)",
}
KINDS = {
    "start": "the answer begins: its id, and the model that writes it",
    "text": "a piece of the text",
    "thinking": "a piece of what the model thinks",
    "signature": "the seal of the thinking",
    "redacted": "thinking that is locked",
    "call": "a piece of the call of a tool: its name, or some letters of its arguments",
    "refusal": "a piece of the words with which the model refuses",
    "audio": "a piece of sound",
    "image": "a picture, or a piece of one",
    "citation": "where a text is from",
    "generic": "something that only this API knows",
    "block_done": "one part of the answer is finished",
    "usage": "how many tokens went in and came out, so far",
    "finish": "why the answer ended",
    "error": "what went wrong in the middle",
    "repair": "the answer did not fit, and is asked for again",
    "tool_result": "what a tool gave back",
    "end": "nothing more will come",
}
"""What a delta may bring."""
_MARKS = {
    "first token": "the first piece of the answer: what a reader waits for",
    "gap": f"no chunk came for more than {GAP:g} s",
}


def _legend(entries: Sequence[Entry], table: Sequence[Row]) -> Html:
    """What the columns and words mean, to be opened."""
    seen = {str(delta.get("kind")) for entry in entries for delta in entry.deltas}
    marks = {mark for row in table for mark in row.marks}
    found = [mark for mark in _MARKS if any([each.endswith(mark) for each in marks])]
    items = [
        *[tag("li", tag("b", name), f": {told}") for name, told in _HEADS.items()],
        *[tag("li", tag("mark", mark), f": {_MARKS[mark]}") for mark in found],
        *[tag("li", tag("span", kind, class_="kind"), f": {KINDS[kind]}") for kind in KINDS if kind in seen],
    ]
    return fold("what the columns and words mean", tag("ul", *items), class_="legend")


def _warning(word: str) -> Html:
    return join([" ", badge(word, "warn")])


def _row(row: Row, end: float, most: int) -> Html:
    first, last = row.entries[0], row.entries[-1]
    share = min(1.0, last.seconds / end)
    marks = join([join([tag("mark", mark), " "]) for mark in row.marks])
    if len(row.entries) == 1:
        chunk: Html = tag("code", compact(first.chunk, min(300, most)))
        deltas = join([_told(delta, most) for delta in first.deltas])
    else:
        chunk = fold(_joined(row), tag("pre", "\n".join(_inner(row.entries, min(120, most)))))
        kind = _run_kind(first)
        deltas = tag("div", f"{len(row.entries)} × {kind[0] if kind else 'delta'}")
    cells = [
        tag("td", f"{first.seconds * 1000:,.0f}", style=LEFT),
        tag("td", tag("meter", value=f"{share:.3f}", min="0", max="1", title=f"{share:.0%} of the time"), style=LEFT),
        tag("td", marks, chunk, style=LEFT),
        tag("td", deltas, style=LEFT),
        tag("td", tag("bdi", _ending(row.so_far, min(_SO_FAR, most))), style=LEFT),
    ]
    return tag("tr", *cells)


def _joined(row: Row) -> str:
    """What is said of chunks that were folded into one row."""
    letters = sum([len(_piece(delta)) for entry in row.entries for delta in entry.deltas])
    seconds = row.entries[-1].seconds - row.entries[0].seconds
    return f"{count(len(row.entries), 'chunk')}, {count(letters, 'character')}, {seconds:.2f} s"


def _inner(entries: Sequence[Entry], most: int) -> Iterator[str]:
    for entry in entries[:_INNER]:
        yield f"{entry.seconds * 1000:>8,.0f}  {compact(entry.chunk, most)}"
    if len(entries) > _INNER:
        yield f"… {len(entries) - _INNER:,} more"


class _Words(NamedTuple):
    """A delta in a few words, or of one that has many keys (key, what is shown of its value, its beginning)."""

    kind: str
    said: str = ""
    pairs: tuple[tuple[str, str, str], ...] = ()


def _told(delta: Delta, most: int) -> Html:
    """A delta in a few words: `text "Hel"`, `call get_weather`, `finish stop`; what has many keys, a line for each."""
    found = _words(delta, most)
    name = tag("span", found.kind, class_="kind", title=KINDS.get(found.kind))
    return tag("div", name, found.said, *[_pair(*pair) for pair in found.pairs])


def _pair(key: str, shown: str, whole: str) -> Html:
    return tag("div", tag("small", f"{key}: "), tag("span", shown, title=whole), class_="pair")


def _words(delta: Delta, most: int) -> _Words:
    kind = str(delta.get("kind"))
    content = _content(delta)
    if kind == "call":
        said = [str(content[key]) for key in ("name", "partial_input") if content.get(key)]
        return _Words(kind, short(" ".join(["", *said]), most))
    if piece := _piece(delta):
        return _Words(kind, f" {compact(piece, most)}")
    rest = {key: value for key, value in delta.items() if key not in ("kind", "content") and value is not None}
    if kind == "finish":
        why, own = rest.get("finish_reason"), rest.get("raw_finish_reason")
        return _Words(kind, short(f" {why}{f' ({own})' if own and own != why else ''}", most))
    if kind == "usage" and isinstance(usage := rest.get("usage"), Mapping):
        rest = {key: value for key, value in usage.items() if isinstance(value, int)}
    return _Words(kind, pairs=tuple([_written(key, value, most) for key, value in rest.items()]))


def _written(key: str, value: Any, most: int) -> tuple[str, str, str]:
    """A key and its value on a line; of an id, which nobody reads, the beginning."""
    written = value if isinstance(value, str) else compact(value, min(200, most))
    is_id = key.endswith("id") and len(written) > _ID
    return key, f"{written[:_ID]}…" if is_id else short(written, min(200, most)), written[:200]


# ----------------------------------------------------------------------------------------------------------------------
# The table as text


def deltas_text(
    record: Sequence[Sequence[Any]],
    width: int,
    *,
    stopped: str | None = None,
    badges: Sequence[str] = (),
    limits: Limits = USUAL,
) -> str:
    """Returns the inspector as text: chunk -> delta, line by line.

    Args:
        record: As for `deltas_page`, and so the others.
        width: Cells of a line.
        stopped: Where the recording was stopped.
        badges: What is to be said of the stream.
        limits: How many rows are printed.
    """
    entries = [Entry(float(seconds), chunk, deltas) for seconds, chunk, deltas in record]
    if not entries:
        return "\n".join(wrapped(f"recording stopped at {stopped}" if stopped else EMPTY, width))
    table, (first, last) = rows(entries), limits.ends(_PRINTED // 2, _PRINTED // 2)
    left = max(4, (width - _MS - len(_ARROW)) * 11 // 20)
    sizes = (left, max(4, width - _MS - left - len(_ARROW)))
    named = [cut(name, size) for name, size in zip(_PRINTED_HEADS, sizes, strict=True)]
    heads = beside([f"{'ms':>{_MS - 2}}  {named[0]}"], named[1:], _MS + left, " " * len(_ARROW))
    shown = [
        _printed(row, sizes) for row in (table if len(table) <= first + last else [*table[:first], *table[-last:]])
    ]
    if hidden := len(table) - len(shown):
        shown.insert(first, [f"{'…':>{_MS - 2}}  {hidden:,} more rows"])
    head = wrapped(" · ".join([*_facts(entries, stopped), *badges]), width)
    return "\n".join([*head, *heads, *[each for lines in shown for each in lines]])


_PRINTED = 100
"""Rows that are printed: the first and the last half."""
_MS, _ARROW = 9, " → "
_PRINTED_HEADS = ("chunk: as sent", "delta: what it brings")
_CHUNK_LINES, _DELTA_LINES = 4, 8


def _printed(row: Row, sizes: tuple[int, int]) -> list[str]:
    """A row of the table in lines: when, what came, and what it brought."""
    (left, right), first = sizes, row.entries[0]
    marks = "".join([f"[{mark}] " for mark in row.marks])
    if len(row.entries) == 1:
        chunk = _few(wrapped(f"{marks}{compact(first.chunk, 300)}", left), _CHUNK_LINES, left)
        brought = [each for delta in first.deltas for each in _printed_delta(delta, right)]
    else:
        chunk = [*wrapped(f"{marks}{_joined(row)}", left), cut(f"{compact(first.chunk, 300)} …", left)]
        kind = _run_kind(first)
        pieces = "".join([_piece(delta) for entry in row.entries for delta in entry.deltas])
        brought = wrapped(f"{len(row.entries)} × {kind[0] if kind else 'delta'} {compact(pieces, 300)}", right)
    when = [f"{first.seconds * 1000:>{_MS - 2},.0f}"]
    lines = beside(when, chunk, _MS - 2, "  ")
    return beside(lines, _few(brought, _DELTA_LINES, right), _MS + left, _ARROW if brought else "   ")


def _printed_delta(delta: Delta, width: int) -> list[str]:
    found = _words(delta, 300)
    lines = wrapped(f"{found.kind}{found.said}", width, rest="  ")
    return [*lines, *[cut(f"  {key}: {shown}", width) for key, shown, _ in found.pairs]]


def _few(lines: Sequence[str], most: int, width: int) -> list[str]:
    """The first few lines; where there are more, the last of these ends with a mark."""
    return list(lines) if len(lines) <= most else [*lines[: most - 1], cut(f"{lines[most - 1]}  …", width)]
