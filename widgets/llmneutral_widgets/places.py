"""Where a question stands in its conversation, as its exchange keeps it.

What must live here: the keys of `history` by which a reader of the file finds what was asked again in its place, and
what a conversation began with. It only tells; the rules are those of the session, and of `ipynb.parts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from llmneutral_widgets.exchange import Exchange, folded


class Place(NamedTuple):
    """Where a question stands.

    Attributes:
        part: Id of the question that this part of the conversation began with; None if it is this one.
        turn: Its number: a question that is asked again keeps it (unless those after it were taken out), and no other
            one of the conversation ever has it.
        after: The number of the turn before it; 0 where no question of this part stands before it. Turns with a number
            between the two were taken out.
        begun: The exchanges that the part began with, which no cell asked, where this question has to keep them.
    """

    part: str | None
    turn: int
    after: int
    begun: tuple[Exchange, ...] = ()

    def history(self, id: str) -> dict[str, Any]:
        """Returns what an exchange keeps of it.

        Args:
            id: The exchange.
        """
        kept = {"begun": [folded(exchange.to_json()) for exchange in self.begun]} if self.begun else {}
        return {"part": self.part or id, "turn": self.turn, "after": self.after, **kept}


def place_of(exchange: Exchange) -> Place | None:
    """Returns what an exchange tells of its place; None where it tells nothing that can be meant."""
    part, turn, after = [exchange.history.get(key) for key in ("part", "turn", "after")]
    if not isinstance(part, str) or not isinstance(turn, int) or not isinstance(after, int):
        return None
    return Place(part, turn, after) if 0 <= after < turn else None


def turn_of(exchange: Exchange) -> int:
    """Returns the number of an exchange's turn; 0 where it tells none."""
    found = place_of(exchange)
    return 0 if found is None else found.turn


def unplaced(exchange: Exchange) -> Exchange:
    """Returns an exchange that tells nothing of its place: it goes into another conversation."""
    history = {key: value for key, value in exchange.history.items() if key not in Place._fields}
    return msgspec.structs.replace(exchange, history=history)


def without_begun(exchange: Exchange) -> Exchange:
    """Returns an exchange that does not keep what its conversation began with: that stands before it."""
    history = {key: value for key, value in exchange.history.items() if key != "begun"}
    return msgspec.structs.replace(exchange, history=history)
