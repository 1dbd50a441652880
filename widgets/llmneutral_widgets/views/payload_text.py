"""Payloads as text, one below the other: what each one is, what was changed for it and why, and its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from llmneutral_widgets.views.aligned import escaped, layout
from llmneutral_widgets.views.changes import LABELS, Change, Ref, Told, counted, gathered
from llmneutral_widgets.views.columns import (
    PROBLEMS,
    Column,
    error_words,
    is_the_error,
    origin_of,
    verdict_words,
)
from llmneutral_widgets.views.jsonlines import compact, json_lines, pretty
from llmneutral_widgets.views.listed import stack_text
from llmneutral_widgets.views.page import count, line, short
from llmneutral_widgets.views.problems import marked_lines
from llmneutral_widgets.views.terminal import cells, cut, heading, several, wrapped

_LINES = 600
"""Lines of JSON of all payloads together; of each one at least the following."""
_FEWEST = 60
_CHANGES = 60
_SOURCE_TEXT = 1_000
"""Characters of a block of the conversation that stands above its payloads."""
_LONGEST_LINE = 1_000
_GUTTER = 12
HINT = "At the left: 1.0 was made of message 1, block 0; + nobody wrote it; ! does not fit the types."


def comparison_text(
    messages: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    width: int,
    *,
    settings: Mapping[str, Any] | None = None,
    tools: Sequence[Any] = (),
    output_schema: Any = None,
) -> str:
    """Returns a conversation, and below it its payloads, as text.

    Args:
        messages: The source as plain data, as for `comparison`, and so the others.
        columns: The payloads.
        width: Cells of a line.
        settings: Neutral settings of the source.
        tools: Definitions of its tools.
        output_schema: JSON Schema of the answer, or None.
    """
    made = [heading("your conversation", width), stack_text(messages, width, tools=tools, most=_SOURCE_TEXT)]
    for name, value in (("settings", settings), ("form of the answer", output_schema)):
        if value:
            short_form = compact(value, 120)
            made += wrapped(f"{name}: {short_form if len(short_form) <= 100 else pretty(value, 60)}", width, rest="  ")
    return "\n".join([*made, "", payload_text(columns, width)])


def payload_text(columns: Sequence[Column], width: int) -> str:
    """Returns payloads as text, one below the other.

    Args:
        columns: The payloads.
        width: Cells of a line.
    """
    most = max(_FEWEST, _LINES // max(1, len(columns)))
    made = [line for column in columns for line in [*_head(column, width), *_json(column, width, most), ""]]
    is_labelled = any([column.trace and column.payload for column in columns])
    return "\n".join([*made, *wrapped(HINT, width)] if is_labelled else made[:-1])


def change_lines(changes: Sequence[Change], width: int, most: int = _CHANGES, first: str = "  ") -> list[str]:
    """Returns changes in lines: `dropped by params: temperature is not taken (1.0)`, the same one once.

    Args:
        changes: As `Conversion.changes`, plain data.
        width: Cells of a line.
        most: How many are told.
        first: What stands before each.
    """
    told = several([_change(change, refs) for change, refs in gathered(changes).items()], most, "change")
    return [line for each in told for line in wrapped(each, width, first, rest=f"{first}    ")]


def _change(change: Told, refs: Sequence[Ref]) -> str:
    why = f": {change.why}" if change.why else ""
    labels = [f"{m}.{b}" for m, b in refs[:LABELS]] + (["…"] if len(refs) > LABELS else [])
    beside = "beside " if change.kind == "added" else ""
    where = f" ({beside}{', '.join(labels)})" if labels else ""
    doc = f" {change.doc}" if change.doc else ""
    return line(f"{change.kind} by {change.step}{why}{where}{doc}", 600)


def _head(column: Column, width: int) -> list[str]:
    """What a payload is, whether it is valid, and what was changed."""
    model = f"for {column.model}" if column.model else ""
    said = [model, " ".join(map(str, column.endpoint or ())), verdict_words(column)]
    made = [heading(f"{column.api}{' · sent' if column.is_sent else ''}", width)]
    made += wrapped(line(" · ".join([part for part in said if part]), 300), width, rest="    ")
    if column.error is not None:
        made += wrapped(short(error_words(column.error), 2_000), width, first="  ")
    else:
        found = [short(f"{problem.get('path')}: {problem.get('message')}", 400) for problem in column.problems]
        for problem in several(found, PROBLEMS, "problem"):
            made += wrapped(problem, width, first="  ! ")
    changes = [change for change in column.changes if not is_the_error(change, column)]
    made += wrapped(counted(changes) if changes else "" if column.payload is None else "no change", width)
    return [*[each for each in made if each], *change_lines(changes, width)]


def _json(column: Column, width: int, most: int) -> list[str]:
    """The payload, with what its lines were made of at the left."""
    if column.payload is None:
        return []
    wrong = marked_lines(column.payload, column.problems)
    guests = tuple(layout(column.payload, column.trace).guests) if column.trace else ()
    given = [*islice(_lines(column.payload), most + 1)]
    labels = [_label(column, at, guests) for at, _ in given]
    shown = ["" if n and label == labels[n - 1] and label != "+" else label for n, label in enumerate(labels)]
    marked: set[str] = set()
    for n, (at, _) in enumerate(given):
        if at in wrong and at not in marked:
            marked.add(at)
            shown[n] = f"! {shown[n]}".rstrip()
    gutter = min(_GUTTER, max(map(cells, shown), default=0), width // 4)
    made: list[str] = []
    for label, (_, text) in [*zip(shown, given, strict=True)][:most]:
        lead = cut(label, gutter) if gutter else ""
        lead += " " * (gutter - cells(lead) + (1 if gutter else 0))
        indent = min(len(text) - len(text.lstrip(" ")), width // 3)
        bare = short(text.lstrip(" "), _LONGEST_LINE)
        made += wrapped(bare, width, first=lead + " " * indent, rest=" " * (cells(lead) + indent + 2))
    if len(given) > most:
        total = sum(1 for _ in _lines(column.payload))
        made.append(f"… {count(total - most, 'more line')}")
    return made


def _lines(payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All lines of a payload, each with the place it stands at."""
    yield "", "{"
    items = list(payload.items())
    for n, (key, value) in enumerate(items, 1):
        comma = "," if n < len(items) else ""
        yield from json_lines(value, f"/{escaped(key)}", 2, name=key, comma=comma)
    yield "", "}"


def _label(column: Column, at: str, guests: Sequence[str]) -> str:
    refs = origin_of(column, at)
    if refs:
        return ",".join([f"{m}.{b}" for m, b in refs[:2]]) + (",…" if len(refs) > 2 else "")
    return "+" if any([at == guest or at.startswith(f"{guest}/") for guest in guests]) else ""
