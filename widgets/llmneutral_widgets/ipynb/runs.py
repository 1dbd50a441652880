"""Two runs of a notebook beside each other: what was answered, and what it took.

What must live here: which exchange of one run belongs to which of the other, and what counts as a difference. Times
and ids differ always and count as none; they are told all the same.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from llmneutral_widgets import scrub
from llmneutral_widgets.ipynb.extraction import Extract, Found, extract_exchanges, question_of
from llmneutral_widgets.views.answer import maker
from llmneutral_widgets.views.page import LEFT, Html, View, count, line, page, tag, visible
from llmneutral_widgets.views.usage import COUNTS

Change = Literal["same", "changed", "only_first", "only_second"]
_MOST_LINES = 2_000
"""Lines of an answer that are compared one by one."""
_SHOWN = 200
_WORDS = {"same": "same", "changed": "changed", "only_first": "only in the first", "only_second": "only in the second"}


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One run's part of a comparison.

    Attributes:
        id: The exchange.
        status: How it ended.
        maker: Who answered.
        text: The answer.
        calls: Calls of tools in the answer, as text.
        finish_reason: Why it ended.
        usage: Tokens by name; None is unknown.
        total_s: Seconds it took; None is unknown.
        cost: What it cost, in `currency`; None is unknown.
        currency: Of the cost.
    """

    id: str
    status: str
    maker: str
    text: str
    calls: tuple[str, ...] = ()
    finish_reason: str | None = None
    usage: Mapping[str, int | None] = {}
    total_s: float | None = None
    cost: float | None = None
    currency: str | None = None

    @property
    def said(self) -> list[Any]:
        """What of it counts where two runs are compared."""
        return [self.status, self.text, self.calls, self.finish_reason]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One question in two runs.

    Attributes:
        cell: Where it stands (in the first run, if it is there).
        cell_id: Id of its cell, or None.
        nth: How many questions of that cell stand before it.
        question: The beginning of the question.
        change: `same`, `changed`, `only_first` or `only_second`.
        first: The first run's.
        second: The second run's.
        diff: The lines of the answer that differ, as a unified diff.
        usage: Tokens of the second minus those of the first, where both are known and differ.
    """

    cell: str
    cell_id: str | None
    nth: int
    question: str
    change: Change
    first: Side | None = None
    second: Side | None = None
    diff: tuple[str, ...] = ()
    usage: Mapping[str, int] = {}


class RunsDiff(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Two runs beside each other.

    Attributes:
        names: Names of the two files.
        rows: One for each question, in the order of the first run; those that only the second has come last.
        notes: What could not be read in either.
        matching: How questions were found to belong together, where it is not by their cells.
    """

    names: tuple[str, str]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    matching: str = ""

    @property
    def is_same(self) -> bool:
        """Whether both runs gave the same answers."""
        return all(row.change == "same" for row in self.rows)

    @property
    def changed(self) -> list[Row]:
        """The rows that are not the same."""
        return [row for row in self.rows if row.change != "same"]

    def totals(self) -> tuple[dict[str, int | None], dict[str, int | None]]:
        """Returns the tokens of each run by name: sums of what is known, None where nothing is."""
        return _total([row.first for row in self.rows]), _total([row.second for row in self.rows])

    def to_json(self) -> dict[str, Any]:
        """Returns everything as plain JSON data without secrets."""
        first, second = self.totals()
        told = {
            "names": self.names,
            "same": self.is_same,
            "rows": self.rows,
            "totals": {"first": first, "second": second},
            "notes": self.notes,
            "matching": self.matching,
        }
        found: dict[str, Any] = scrub.plain(told)
        return found

    def to_text(self) -> str:
        """Returns the comparison as text: what differs, then the tokens of both."""
        lines = [f"{self.names[0]} → {self.names[1]}: {self._summary()}"]
        lines += [self.matching] if self.matching else []
        for row in self.changed:
            lines += ["", f"{row.cell}: {_WORDS[row.change]}: {row.question}", *_indented(_facts(row))]
            lines += _indented(row.diff[:_SHOWN], "    ")
            if len(row.diff) > _SHOWN:
                lines.append(f"    … {count(len(row.diff) - _SHOWN, 'more line')}")
        lines += ["", *usage] if (usage := list(_usage_lines(*self.totals()))) else []
        lines += ["", "notes:", *_indented(self.notes)] if self.notes else []
        return visible(scrub.current_secrets().text("\n".join(lines)))

    def compare(self) -> View:
        """Returns the comparison for a notebook: a table, and its text."""
        text = self.to_text()
        heads = [tag("th", head, scope="col", style=LEFT) for head in ("question", *self.names, "difference")]
        rows = [tag("tr", *_cells(row)) for row in scrub.plain(list(self.rows[:_SHOWN]))]
        table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))
        return View(page(tag("div", table, class_="wide"), sections=("usage",)), text)

    def _repr_mimebundle_(self, **_: Any) -> Mapping[str, str]:
        return self.compare()._repr_mimebundle_()

    def _summary(self) -> str:
        counts = {change: sum(row.change == change for row in self.rows) for change in _WORDS}
        told = [f"{number} {_WORDS[change]}" for change, number in counts.items() if number]
        return ", ".join(told) or "no exchange in either"


def diff_runs(a: Any, b: Any) -> RunsDiff:
    """Returns the answers and the usage of two runs of a notebook beside each other.

    Questions belong together that stand in the cell of the same id, the same number of questions after its beginning.
    Where cells have no ids (nbformat before 4.5), those belong together that are typed alike. Where no cell of one is
    a cell of the other (an export that was run, say), those belong together that ask the same.

    Args:
        a: The first run: a path, the notebook as data, or what `extract_exchanges` gave.
        b: The second run.

    Raises:
        NotebookError: If one is no notebook.
    """
    first, second = [each if isinstance(each, Extract) else extract_exchanges(each) for each in (a, b)]
    with_ids = all(each.cell.id for run in (first, second) for each in run.found)
    left, right, matching = _matched(first.found, second.found, with_ids)
    keys = list(dict.fromkeys([*left, *right]))
    told = [f"{run.name}: {note}" for run in (first, second) for note in (*run.notes, *map(str, run.missing))]
    notes = list(dict.fromkeys(told))  # of a file and itself, each is told once
    rows = tuple([_row(left.get(key), right.get(key)) for key in keys])
    return RunsDiff(names=(first.name, second.name), rows=rows, notes=tuple(scrub.plain(notes)), matching=matching)


Key = tuple[str, int]


def _matched(
    first: Sequence[Found], second: Sequence[Found], with_ids: bool
) -> tuple[dict[Key, Found], dict[Key, Found], str]:
    """The exchanges of two runs by keys that belong together, and in words how these were found, if not by cells."""
    left, right = [_by_key(each, _cell_id if with_ids else _source) for each in (first, second)]
    if not left or not right or left.keys() & right.keys():
        is_typed = not with_ids and bool(left or right)
        return left, right, "cells without ids: questions belong together that are typed alike" if is_typed else ""
    one, other = [_by_key(each, _asked) for each in (first, second)]
    if one.keys() & other.keys():
        return one, other, "no cell of one is a cell of the other: questions belong together that ask the same"
    return left, right, "no cell of one is a cell of the other: these are runs of different notebooks"


def _cell_id(found: Found) -> str:
    return str(found.cell.id)


def _source(found: Found) -> str:
    return found.cell.source


def _asked(found: Found) -> str:
    return "\n\n".join([message.to_text() for message in found.exchange.question if message.is_user()])


def _by_key(found: Sequence[Found], cell_of: Callable[[Found], str]) -> dict[Key, Found]:
    counts: dict[str, int] = {}
    known: dict[Key, Found] = {}
    for each in found:
        cell = cell_of(each)
        number = counts.get(cell, 0)
        counts[cell] = number + 1
        known[cell, number] = each
    return known


def _row(first: Found | None, second: Found | None) -> Row:
    shown = first or second
    assert shown is not None  # a key comes from one of them
    left, right = _side(first), _side(second)
    row = Row(
        cell=shown.cell.place,
        cell_id=shown.cell.id,
        nth=shown.nth,
        question=question_of(shown.exchange),
        change="only_first" if right is None else "only_second",
        first=left,
        second=right,
    )
    if left is None or right is None:
        return row
    usage = {
        name: then - now
        for name in COUNTS
        if (now := left.usage.get(name)) is not None and (then := right.usage.get(name)) is not None and then != now
    }
    is_same = left.said == right.said
    diff = () if left.text == right.text else tuple(_diff(left.text, right.text))
    return msgspec.structs.replace(row, change="same" if is_same else "changed", diff=diff, usage=usage)


def _side(found: Found | None) -> Side | None:
    if found is None:
        return None
    record = found.exchange.to_json()
    response: Mapping[str, Any] = record["response"] if isinstance(record["response"], Mapping) else {}
    usage: Any = response.get("usage") if isinstance(response.get("usage"), Mapping) else {}
    blocks = found.exchange.message.content if found.exchange.message is not None else ()
    kinds = ("ActionCallMessageContent", "InvalidActionCallMessageContent")
    return Side(
        id=found.exchange.id,
        status=found.exchange.status,
        maker=maker(record),
        text=str(response.get("text") or ""),
        calls=tuple([block.to_text() for block in blocks if type(block).__name__ in kinds]),
        finish_reason=response.get("finish_reason"),
        usage={name: value if isinstance(value := usage.get(name), int) else None for name in COUNTS},
        total_s=_number(record["timing"].get("total_s")),
        cost=_number(record["cost"].get("amount")),
        currency=record["cost"].get("currency"),
    )


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _diff(first: str, second: str) -> Iterator[str]:
    """The lines that differ. Comparing two long texts line by line takes long, so their ends are left out."""
    left, right = first.splitlines(), second.splitlines()
    yield from list(difflib.unified_diff(left[:_MOST_LINES], right[:_MOST_LINES], n=1, lineterm=""))[2:]
    if max(len(left), len(right)) > _MOST_LINES:
        yield f"… lines after {_MOST_LINES:,} are not compared"


def _facts(row: Row) -> Iterator[str]:
    """What differs beside the text."""
    first, second = row.first, row.second
    if first is None or second is None:
        side = first or second
        if side is not None:
            yield f"{side.maker} · {side.status} · {line(side.text, 80)}"
        return
    for one, other in ((first.maker, second.maker), (first.status, second.status)):
        if one != other:
            yield f"{one} → {other}"
    if first.finish_reason != second.finish_reason:
        yield f"ended by {first.finish_reason} → {second.finish_reason}"
    if first.calls != second.calls:
        yield f"calls {', '.join(first.calls) or 'nothing'} → {', '.join(second.calls) or 'nothing'}"
    yield from [f"{name}: {number:+,}" for name, number in row.usage.items()]


def _usage_lines(first: Mapping[str, int | None], second: Mapping[str, int | None]) -> Iterator[str]:
    known = [name for name in COUNTS if first[name] is not None or second[name] is not None]
    if known:
        yield "tokens:"
    for name in known:
        shown = ["n/a" if number is None else f"{number:,}" for number in (first[name], second[name])]
        yield f"  {name}: {shown[0]} → {shown[1]}"


def _total(sides: Sequence[Side | None]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for name in COUNTS:
        told = [number for side in sides if side is not None and (number := side.usage.get(name)) is not None]
        found[name] = sum(told) if told else None
    return found


def _indented(lines: Any, by: str = "  ") -> list[str]:
    return [f"{by}{each}" for each in lines]


def _cells(row: Mapping[str, Any]) -> list[Html]:
    head = tag("th", f"{row['cell']}: {row['question']}", scope="row", style=LEFT)
    sides = [row["first"], row["second"]]
    texts = ["–" if side is None else line(f"{side['maker']}: {side['text'] or side['status']}", 300) for side in sides]
    return [head, *[tag("td", each, style=LEFT) for each in texts], tag("td", _WORDS[row["change"]], style=LEFT)]
