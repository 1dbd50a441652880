"""How much a view shows."""

from __future__ import annotations

import msgspec

from llmneutral_widgets.views.pictures import LARGEST, MOST, Album

MOST_ROWS = 200
"""Rows that are shown of anything: more make a page slow."""


class Limits(msgspec.Struct, frozen=True):
    """How much a view shows; the defaults are what suits a page.

    Attributes:
        rows: Rows of a table, or messages of a conversation; None is what suits each view.
        image_bytes: Bytes of a picture; a larger one is named in a line, with its size.
    """

    rows: int | None = None
    image_bytes: int = LARGEST

    def most(self, own: int) -> int:
        """Returns the rows of a view whose own limit is `own`."""
        return own if self.rows is None else self.rows

    def ends(self, first: int, last: int) -> tuple[int, int]:
        """Returns how many are shown of the beginning and of the end, where a view has its own limits of both."""
        most = self.most(first + last)
        return min(first, most // 2), most - min(first, most // 2)

    def album(self, most: int = MOST) -> Album:
        """Returns the pictures of one output, of which so many are shown."""
        return Album(most, self.image_bytes)


USUAL = Limits()
