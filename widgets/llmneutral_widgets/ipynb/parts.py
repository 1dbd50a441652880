"""What a conversation of a notebook is: the rule of the session, read from what its cells have kept.

What must live here: which exchange stands before which. In the session a question that is asked again stays in its
place, and so it does here: each exchange tells its part of the conversation (it begins anew by `--new`, or where one is
loaded) and its turn in that. Exchanges that tell none (of earlier versions, of exports) are chained by `parent`; where
that is not in the notebook, its cell was run again, and the exchange before it in the notebook is taken for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.places import place_of, turn_of
from llmneutral_widgets.session import is_sent
from llmneutral_widgets.views.page import count, line, visible


class Part(msgspec.Struct, frozen=True, eq=False):
    """A conversation, from where it began anew.

    Attributes:
        exchanges: Those that are sent along with the next question, in order: first those that it began with, which no
            cell of this notebook asked.
        first: The place in the notebook of the first that a cell asked, counted from 0.
        newest: When its last question was asked; parts are in this order.
    """

    exchanges: tuple[Exchange, ...]
    first: int
    newest: tuple[str, int, int]


class Lines:
    """The exchanges of a notebook, each with the one before it.

    Args:
        own: The exchanges in the notebook's order, without those that stand beside a first one.
        begun: What is told of a conversation that no cell asked: id of the exchange that keeps it -> exchanges.
        aside: The exchanges that stand beside a first one.
    """

    def __init__(
        self,
        own: Sequence[Exchange],
        begun: Mapping[str, Sequence[Exchange]] = MappingProxyType({}),
        aside: Sequence[Exchange] = (),
    ) -> None:
        self.own = [exchange for exchange in own if exchange.status != "dry_run"]
        self.begun = begun
        brought = [each for told in begun.values() for each in told]
        self.known = {each.id: each for each in [*brought, *aside, *own]}
        self._at = {exchange.id: at for at, exchange in enumerate(self.own)}
        self._groups: dict[tuple[str, str | None], list[Exchange]] = {}
        for exchange in self.own:
            if (told := place_of(exchange)) is not None:
                self._groups.setdefault((exchange.name, told.part), []).append(exchange)
        self._stand_in = _stand_ins(self.own, self.known)

    def before(self, exchange: Exchange) -> Exchange | None:
        """Returns what an exchange goes on from, or what stands in its place now; None where there is nothing."""
        if exchange.parent is None:
            return None
        if exchange.parent in self.known:
            return self.known[exchange.parent]
        if (told := place_of(exchange)) is None:
            return self.known.get(self._stand_in.get(exchange.id, ""))
        earlier = [each for each in self._ordered(exchange.name, told.part) if turn_of(each) < told.turn]
        return next((each for each in reversed(earlier) if is_sent(each)), None) or self._opening(exchange)

    def is_filled(self, exchange: Exchange) -> bool:
        """Whether there is what stands in the place of what an exchange goes on from, or was asked before it."""
        told = place_of(exchange)
        group = self._groups.get((exchange.name, told.part), []) if told is not None else []
        return told is not None and told.after > 0 and any([turn_of(each) == told.after for each in group])

    def chain(self, exchange: Exchange) -> list[Exchange]:
        """Returns an exchange and those it goes on from, the first one first."""
        at: Exchange | None = exchange
        way: dict[str, Exchange] = {}
        while at is not None and at.id not in way:
            way[at.id] = at
            at = self.before(at)
        return list(reversed(way.values()))

    def parts(self, name: str) -> list[Part]:
        """Returns the parts of a conversation, of which anything is sent along later, in the order of their asking."""
        found = [self._placed(*key) for key in self._groups if key[0] == name]
        found += self._chained([each for each in self.own if each.name == name and place_of(each) is None])
        return sorted([part for part in found if part.exchanges], key=lambda part: part.newest)

    def _placed(self, name: str, part: str | None) -> Part:
        """The part of exchanges that tell it."""
        asked = self._ordered(name, part)
        opening: list[Exchange] = next((list(self.begun[each.id]) for each in asked if each.id in self.begun), [])
        if not opening and asked and (parent := self.known.get(asked[0].parent or "")) is not None:
            opening = self.chain(parent) if parent not in asked else []
        return self._part([*opening, *asked], self._groups[name, part])

    def _ordered(self, name: str, part: str | None) -> list[Exchange]:
        """The exchanges of a part in order. What stands between a turn and the one it came after had been taken out."""
        group = self._groups.get((name, part), [])
        gone: set[int] = set()
        turns = {turn_of(each) for each in group}
        for exchange in group:
            told = place_of(exchange)
            if told is not None and told.turn - told.after > 1:
                gone |= {turn for turn in turns if told.after < turn < told.turn}
        kept = [each for each in group if turn_of(each) not in gone]
        return sorted(kept, key=lambda each: (turn_of(each), each.created or "", self._at[each.id]))

    def _opening(self, exchange: Exchange) -> Exchange | None:
        told = place_of(exchange)
        group = self._groups.get((exchange.name, told.part), []) if told is not None else []
        return next((self.begun[each.id][-1] for each in group if self.begun.get(each.id)), None)

    def _chained(self, loose: Sequence[Exchange]) -> list[Part]:
        """The parts of exchanges that only tell their parents: of what goes on from the same, the newest counts."""
        sent = [exchange for exchange in loose if is_sent(exchange)]
        ways: dict[str, list[Exchange]] = {}
        parents = {before.id for each in sent if (before := self.before(each)) is not None}
        tips = [each for each in sent if each.id not in parents]
        for tip in tips or sent[-1:]:
            way = self.chain(tip)
            ways[way[0].id] = max(ways.get(way[0].id, way), way, key=lambda each: self._newest(each[-1:]))
        return [self._part(way, way) for way in ways.values()]

    def _part(self, exchanges: Sequence[Exchange], asked: Sequence[Exchange]) -> Part:
        first = min([self._at.get(each.id, 0) for each in asked], default=0)
        return Part(tuple([each for each in exchanges if is_sent(each)]), first, self._newest(asked))

    def _newest(self, asked: Iterable[Exchange]) -> tuple[str, int, int]:
        told = [(each.created or "", turn_of(each), self._at.get(each.id, 0)) for each in asked]
        columns = [*zip(*told, strict=True)] or [("",), (0,), (0,)]
        return max(columns[0]), max(columns[1]), max(columns[2])


def _stand_ins(own: Sequence[Exchange], known: Mapping[str, Exchange]) -> dict[str, str]:
    """What is taken for a parent that is not in the notebook: the exchange before, of the same conversation."""
    found: dict[str, str] = {}
    last: dict[str, str] = {}
    for exchange in own:
        if place_of(exchange) is not None:
            continue
        if exchange.parent is not None and exchange.parent not in known and exchange.name in last:
            found[exchange.id] = last[exchange.name]
        if is_sent(exchange):
            last[exchange.name] = exchange.id
    return found


def left_out(lines: Lines, places: Mapping[str, str]) -> list[str]:
    """Returns in words what is left out where an exchange goes on from what is not in the notebook.

    Args:
        lines: The exchanges.
        places: Where each stands: id -> words.
    """
    told: list[str] = []
    for exchange in lines.own:
        if exchange.parent is None or exchange.parent in lines.known or lines.is_filled(exchange):
            continue
        head = (
            f"{places[exchange.id]}: its exchange goes on from {line(visible(exchange.parent), 40)}, which is not in "
            "this notebook: its cell was run again since, or it was loaded or deleted"
        )
        before = lines.before(exchange)
        if before is None:
            told.append(f"{head}; left out: everything before it")
            continue
        if place_of(exchange) is None:
            head += f"; that of {places[before.id]} is taken for it" if before.id in places else ""
        number = exchange.history.get("messages")
        lacking = number - sum([_size(each) for each in lines.chain(before)]) if isinstance(number, int) else 0
        told.append(f"{head}; left out: {count(lacking, 'message')} before it" if lacking > 0 else head)
    return told


def _size(exchange: Exchange) -> int:
    return sum([not message.is_system() for message in exchange.turn])
