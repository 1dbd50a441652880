"""Exchanges out of a notebook, and the conversations they make up.

What must live here: how the outputs of a file become exchanges again, and the chain of `parent` a conversation. A
notebook may come from anybody: what cannot be read is told with its cell, and never raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.exchange import MIME, Exchange, Exchanges, SchemaError
from llmneutral_widgets.ipynb.notebook_file import Cell, NotebookError, data_of, joined, near, open_notebook
from llmneutral_widgets.ipynb.parts import Lines, Part, left_out
from llmneutral_widgets.session import in_order, is_sent
from llmneutral_widgets.views.answer import summary_line
from llmneutral_widgets.views.page import count, line, visible

_MIMES = re.compile(r"application/vnd\.llmneutral\.exchange\.v(\d+)\+json")
_ASKS = re.compile(r"^[ \t]*(?:[\w.]+[ \t]*=[ \t]*)?%{1,2}prompt\b(?![^\n]*[ \t](?:-h|--help)(?:\s|$))", re.MULTILINE)


class Found(msgspec.Struct, frozen=True, eq=False):
    """An exchange and where it stands.

    Attributes:
        exchange: The exchange.
        cell: The cell whose output it is.
        nth: How many exchanges of that cell stand before it.
        is_aside: Whether it is an answer beside the first, of several that were asked the same: the conversation goes
            on with the first.
        begun: The exchanges that its conversation began with, which no cell of this notebook asked, if it keeps them.
    """

    exchange: Exchange
    cell: Cell
    nth: int = 0
    is_aside: bool = False
    begun: tuple[Exchange, ...] = ()


class Missing(msgspec.Struct, frozen=True):
    """A cell that asks and keeps no answer.

    Attributes:
        cell: The cell.
        why: What the file tells of it.
    """

    cell: Cell
    why: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.cell.place}: {self.why}: {line(visible(self.cell.source), 60)}"


class Extract(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The exchanges of a notebook.

    Attributes:
        name: Name of the file.
        found: The exchanges in the notebook's order, with their places.
        missing: The cells that ask and keep no answer.
        notes: What could not be read, each with its cell: broken chains, exchanges of newer versions, broken data.
    """

    name: str
    found: tuple[Found, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exchanges(self) -> Exchanges:
        """All exchanges in the notebook's order."""
        return Exchanges([each.exchange for each in self.found])

    @property
    def names(self) -> list[str]:
        """The names of the conversations, in the order of their last question."""
        told = [each.exchange.name for each in self.found if each.exchange.status != "dry_run" and not each.is_aside]
        return list(dict.fromkeys(reversed(told)))[::-1]

    def exchange(self, id: str) -> Exchange:
        """Returns an exchange by its id.

        Raises:
            NotebookError: If there is none.
        """
        found = next((each.exchange for each in self.found if each.exchange.id == id), None)
        if found is None:
            raise NotebookError(f"{self.name} holds no exchange {id}; {near(id, [e.id for e in self.exchanges])}")
        return found

    def lines(self) -> Lines:
        """Returns which exchange stands before which."""
        own = [each.exchange for each in self.found if not each.is_aside]
        aside = [each.exchange for each in self.found if each.is_aside]
        return Lines(own, {each.exchange.id: each.begun for each in self.found if each.begun}, aside)

    def chain(self, id: str) -> Exchanges:
        """Returns an exchange and those it goes on from, the first one first.

        Where one of them is not in the notebook, it is the one that was asked again in its place; where there is none,
        the chain begins behind the break (`notes` say it).

        Raises:
            NotebookError: If there is no such exchange.
        """
        return Exchanges(self.lines().chain(self.exchange(id)))

    def conversation(self, name: str | None = None, part: int | None = None) -> Exchanges:
        """Returns the exchanges that make up a conversation, as far as they are sent along with the next question.

        Args:
            name: Name of the conversation; by default the one that was asked last.
            part: Which part of it, counted from 1, where it began anew (by `--new`); by default the last one.

        Raises:
            NotebookError: If there is no conversation of this name, or no such part.
        """
        names = self.names
        if name is None:
            if not names:
                return Exchanges()
            name = names[-1]
        elif name not in names:
            raise NotebookError(f"{self.name} holds no conversation {name}; {near(name, names)}")
        parts = self.parts(name)
        if part is None:
            return Exchanges(parts[-1].exchanges) if parts else Exchanges()
        if not 1 <= part <= len(parts):
            raise NotebookError(f"{self.name}: conversation {name} has {count(len(parts), 'part')}, and no part {part}")
        return Exchanges(parts[part - 1].exchanges)

    def stack(self, name: str | None = None, part: int | None = None) -> Any:
        """Returns a conversation as a PromptStack: what the next question goes on from.

        Args:
            name: As of `conversation`.
            part: As of `conversation`.

        Raises:
            NotebookError: If there is no conversation of this name, or no such part.
        """
        exchanges = self.conversation(name, part)
        return llmneutral.PromptStack(in_order(exchanges), **_form(exchanges[-1:]))

    def sent(self, id: str) -> Any:
        """Returns what was sent for an exchange, but for media that were cut and the definitions of tools.

        Raises:
            NotebookError: If there is no such exchange.
        """
        *before, exchange = self.chain(id)
        asked = msgspec.structs.replace(exchange, response=None, rounds=())
        told = in_order([*before, asked])
        number = exchange.history.get("messages")
        if isinstance(number, int):
            told = _last(told, number + len([message for message in asked.question if not message.is_system()]))
        return llmneutral.PromptStack(told, **_form([exchange]))

    def to_json(self) -> dict[str, Any]:
        """Returns everything as plain JSON data without secrets."""
        secrets = scrub.current_secrets()
        missing = [{"cell": m.cell.number, "cell_id": m.cell.id, "why": m.why} for m in self.missing]
        exchanges = [
            {
                "cell": each.cell.number,
                "cell_id": each.cell.id,
                "aside": each.is_aside,
                "exchange": each.exchange.to_json(secrets),
            }
            for each in self.found
        ]
        told = {"notebook": self.name, "exchanges": exchanges, "missing": missing, "notes": list(self.notes)}
        found: dict[str, Any] = scrub.clean(told, secrets)
        return found

    def to_text(self) -> str:
        """Returns an overview: a line for each exchange, and what is missing or could not be read."""
        lines = [f"{self.name}: {count(len(self.found), 'exchange')}" + _of(self.names)]
        numbers, at = self._numbers(), dict[str, int]()
        tried: Found | None = None
        for each in self.found:
            exchange = each.exchange
            number = numbers.get(exchange.id, at.get(exchange.name, 0))
            if number != at.get(exchange.name, 0):
                lines.append(f"  {exchange.name}, part {number}:")
                at[exchange.name] = number
            aside = ", beside the first" if each.is_aside else ", another try" if _is_again(each, tried) else ""
            tried = tried if each.is_aside else each
            asked = f'"{question_of(exchange, 60)}"{_begun(each)}'
            lines.append(f"  {each.cell.place}  {exchange.id}  {exchange.name}{aside}  {asked}  {_summary(exchange)}")
        if self.missing:
            lines += ["without an answer:", *[f"  {missing}" for missing in self.missing]]
        if self.notes:
            lines += ["notes:", *[f"  {note}" for note in self.notes]]
        return visible(scrub.current_secrets().text("\n".join(lines)))

    def parts(self, name: str) -> list[Part]:
        """Returns the parts of a conversation, which begins anew by `--new` or a load, in the order of their asking."""
        return self.lines().parts(name)

    def _numbers(self) -> dict[str, int]:
        """The part of each exchange, where a conversation has several."""
        found: dict[str, int] = {}
        for name in self.names:
            parts = self.parts(name)
            for number, part in enumerate(parts if len(parts) > 1 else (), 1):
                found.update([(each.id, number) for each in part.exchanges])
        return found

    def __repr__(self) -> str:
        return f"<Extract of {self.name}: {count(len(self.found), 'exchange')}, {count(len(self.notes), 'note')}>"


def extract_exchanges(node: Any) -> Extract:
    """Returns the exchanges that a notebook keeps in its outputs.

    An exchange that is shown in several outputs is told once, where it was made.

    Args:
        node: A path, or the notebook as data.

    Raises:
        NotebookError: If it is no notebook; what is broken inside one is told in the notes.
    """
    notebook = open_notebook(node)
    notes = list(notebook.notes)
    seen: dict[str, Found] = {}
    silent: list[Missing] = []
    mistyped: list[Cell] = []
    for cell in notebook.cells:
        number = 0
        for exchange, is_aside in exchanges_of(cell, notes):
            found = Found(exchange, cell, number, is_aside, tuple(begun_of(exchange, cell, notes)))
            number += 1
            _keep(found, seen, notes)
        if not number and cell.kind == "code" and _ASKS.search(cell.source):
            if _is_mistyped(cell):
                mistyped.append(cell)
            else:
                silent.append(Missing(cell, _why(cell)))
    found_all = sorted(seen.values(), key=lambda each: (each.cell.number, each.nth))
    notes += [note for each in found_all for note in cuts_of(each.exchange, each.cell)]
    if mistyped:
        notes.append(f"mistyped, so nobody was asked: {', '.join([cell.place for cell in mistyped])}")
    made = Extract(name=notebook.name, found=tuple(found_all), missing=tuple(silent))
    return msgspec.structs.replace(made, notes=tuple(scrub.plain([*notes, *_breaks(made)])))


def exchanges_of(cell: Cell, notes: list[str]) -> Iterator[tuple[Exchange, bool]]:
    """Gives the exchanges in a cell's outputs, and whether each stands beside a first one.

    Args:
        cell: The cell.
        notes: What cannot be read is added here.
    """
    for output in cell.outputs:
        data = data_of(output)
        if MIME not in data:
            notes += [
                f"{cell.place}: written by a newer llmneutral (exchange form {known[1]})"
                for key in data
                if (known := _MIMES.fullmatch(str(key)))
            ]
            continue
        try:
            record = _record(data[MIME])
            others = record.get("others") if isinstance(record, Mapping) else None
            first = _exchange(record)
        except (SchemaError, ValueError, RecursionError) as error:
            notes.append(f"{cell.place}: {line(visible(str(error)), 200)}")
            continue
        told = [first]
        for other in others if isinstance(others, list | tuple) else ():
            try:
                told.append(_exchange(other))
            except SchemaError as error:
                notes.append(f"{cell.place}, beside the first answer: {line(visible(str(error)), 200)}")
        yield from _in_time(told)


def begun_of(exchange: Exchange, cell: Cell, notes: list[str]) -> Iterator[Exchange]:
    """Gives the exchanges that a conversation began with, where an exchange keeps them.

    Args:
        exchange: The exchange.
        cell: Where it stands.
        notes: What cannot be read is added here.
    """
    given = exchange.history.get("begun")
    for record in given if isinstance(given, list | tuple) else ():
        try:
            yield _exchange(record)
        except SchemaError as error:
            notes.append(f"{cell.place}, of what the conversation began with: {line(visible(str(error)), 200)}")


def _in_time(told: Sequence[Exchange]) -> list[tuple[Exchange, bool]]:
    """Exchanges of one output: answers to the first one's question stand beside it, those of a panel came in time.

    A question that is sent again in a panel after a failure is the same, too, but one of a panel's, where other
    questions are saved, or asked later than what stands behind it: those who are asked at once are in their order.
    """
    first = told[0]
    same = [each for each in told[1:] if _asks(each) == _asks(first)]
    is_panel = len(same) < len(told) - 1
    aside = [each for each in same if not (_is_earlier(each, first) or (is_panel and not is_sent(each)))]
    own = [each for each in reversed(told) if not any(each is other for other in aside)]  # the newest is saved first
    own.sort(key=lambda each: each.created or "")
    return [*[(each, False) for each in own], *[(each, True) for each in aside]]


def _asks(exchange: Exchange) -> tuple[str | None, list[Any]]:
    """What an exchange asks, and from where it goes on."""
    return exchange.parent, exchange.question


def _is_again(found: Found, before: Found | None) -> bool:
    """Whether a question was sent again where it stands, after it had brought nothing that could go along."""
    if before is None or before.cell is not found.cell:
        return False
    one, other = before.exchange, found.exchange
    is_asked = "dry_run" not in (one.status, other.status)
    return is_asked and not is_sent(one) and _asks(one) == _asks(other) and one.name == other.name


def _is_earlier(exchange: Exchange, newest: Exchange) -> bool:
    """Whether a panel, which no cell asks in, asked before what it saved first."""
    return newest.cell_id is None and (exchange.created or "") < (newest.created or "")


def cuts_of(exchange: Exchange, cell: Cell) -> list[str]:
    """Returns what of an exchange was too big to be kept, in words."""
    told = [[line(visible(str(cut.get(key))), 100) for key in ("at", "was")] for cut in exchange.cut]
    return [f"{cell.place}: {at} was cut when it was saved: {was}" for at, was in told]


def question_of(exchange: Exchange, width: int = 80) -> str:
    """Returns the beginning of what an exchange asks."""
    said = [message.to_text() for message in exchange.question if message.is_user()]
    return line(visible(scrub.current_secrets().text(" ".join(said))), width)


def request(messages: Sequence[Any]) -> Any:
    """Returns messages as a request: the last instruction counts, and stands first."""
    system = next((message for message in reversed(messages) if message.is_system()), None)
    frame = [system] if system is not None and system.to_text() else []
    rest = [message for message in messages if not message.is_system()]
    return llmneutral.PromptStack([*frame, *rest])


def _form(last: Sequence[Exchange]) -> dict[str, Any]:
    """The settings and the form of the answer of an exchange, where there is one."""
    return {"settings": dict(last[0].settings), "output_schema": last[0].output_schema} if last else {}


# ----------------------------------------------------------------------------------------------------------------------
# Parts


def _record(value: Any) -> Any:
    """The data of an output; some tools keep JSON as text, or as lines of it."""
    text = joined(value)
    if text is None:
        return value
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise ValueError(f"its exchange is no JSON: {error}") from None


def _exchange(record: Any) -> Exchange:
    """An exchange whose messages can be read.

    Raises:
        SchemaError: If it is none, or they cannot.
    """
    found = Exchange.from_json(scrub.clean(record, scrub.Secrets()) if isinstance(record, Mapping) else record)
    try:
        found.turn  # noqa: B018 - whether it can be read is the question
    except (llmneutral.ConversionError, TypeError, ValueError, AttributeError) as error:
        raise SchemaError(f"the messages of the exchange {line(found.id, 40)} cannot be read: {error}") from None
    return found


def _keep(found: Found, seen: dict[str, Found], notes: list[str]) -> None:
    """Keeps an exchange where it was made; others only show it again."""
    id = found.exchange.id
    before = seen.get(id)
    if before is None:
        seen[id] = found
        return
    if found.exchange.to_json() != before.exchange.to_json():
        notes.append(f"{found.cell.place}: another exchange has the id {line(id, 40)} already, in {before.cell.place}")
    elif found.cell.id == found.exchange.cell_id is not None and before.cell.id != before.exchange.cell_id:
        seen[id] = found


def _breaks(made: Extract) -> list[str]:
    """What is to be said of chains that end in nothing, or nowhere."""
    places = {each.exchange.id: each.cell.place for each in made.found}
    circles = _circles({each.exchange.id: each.exchange.parent for each in made.found})
    around = [f"{places[id]}: its exchange goes on from itself" for id in places if id in circles]
    return [*left_out(made.lines(), places), *around]


def _circles(parents: Mapping[str, str | None]) -> set[str]:
    """The ids that lie on a circle; each is looked at once."""
    done: set[str] = set()
    circles: set[str] = set()
    for start in parents:
        way: dict[str, int] = {}
        at: str | None = start
        while at is not None and at in parents and at not in done and at not in way:
            way[at] = len(way)
            at = parents[at]
        if at in way:
            circles.update([id for id, place in way.items() if place >= way[at]])
        done.update(way)
    return circles


def _begun(found: Found) -> str:
    """That an exchange keeps what its conversation began with."""
    number = sum([len(exchange.turn) for exchange in found.begun])
    return f", after {count(number, 'message')} that had been loaded" if found.begun else ""


def _summary(exchange: Exchange) -> str:
    """Who answered, what was sent, what came back, in one line."""
    try:
        return summary_line(exchange.to_json(), with_text=False).partition("\n")[0]
    except (TypeError, ValueError):  # a stranger's numbers may be none
        return f"{exchange.status}; what else is kept cannot be shown"


def _why(cell: Cell) -> str:
    """Why a cell that asks keeps no answer, as far as its outputs tell."""
    errors = [output for output in cell.outputs if output.get("output_type") == "error"]
    if errors:
        return f"it ended with {line(visible(str(errors[-1].get('ename'))), 60)}"
    return "it keeps no exchange" if cell.outputs else "it has not run, or its outputs were cleared"


def _is_mistyped(cell: Cell) -> bool:
    """Whether all that a cell shows is that its line could not be meant; IPython prints that, and calls it no error."""
    told = [output.get("ename") or joined(output.get("text")) for output in cell.outputs]
    return bool(told) and str(told[-1] or "").startswith("UsageError")


def _last(told: Sequence[Any], number: int) -> list[Any]:
    """The last messages that are no instructions, and all instructions."""
    left = len([message for message in told if not message.is_system()]) - number
    kept = []
    for message in told:
        if message.is_system():
            kept.append(message)
        elif left > 0:
            left -= 1
        else:
            kept.append(message)
    return kept


def _of(names: Sequence[str]) -> str:
    return f" of {count(len(names), 'conversation')} ({', '.join(names)})" if names else ""
