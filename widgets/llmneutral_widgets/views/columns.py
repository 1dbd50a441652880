"""One payload as a column of a comparison, and the heads of columns: what they are, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from llmneutral_widgets.views.blocks import address
from llmneutral_widgets.views.changes import Change, Place, counted, gathered, labelled_line, meanings
from llmneutral_widgets.views.page import LEFT, Html, badge, count, fold, tag

PROBLEMS = 20
"""Problems of a payload that are told."""
_FEW = 3
"""Changes that are told without a click."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One payload, as plain data.

    Attributes:
        api: The API mode.
        payload: `Conversion.to_json()`; None where the conversion failed.
        trace: `Conversion.trace`.
        changes: `Conversion.changes`, each with step, kind, refs, why, doc.
        endpoint: HTTP method and path.
        checked: What the payload was held against ("openai 3.57 types"); None if it was not.
        unchecked: Why it was not ("SDK not installed"), where that is known.
        problems: What that found, each with path and message, and the path as a JSON pointer if there is one.
        error: Why there is no payload: rule, message, refs.
        is_sent: Whether this is what was really sent.
        model: The model it is made for, if one is named.
    """

    api: str
    payload: Mapping[str, Any] | None = None
    trace: Mapping[str, Sequence[Sequence[int]]] = {}
    changes: Sequence[Change] = ()
    endpoint: Sequence[str] | None = None
    checked: str | None = None
    unchecked: str | None = None
    problems: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, Any] | None = None
    is_sent: bool = False
    model: str | None = None


def source_head(columns: Sequence[Column]) -> Html:
    """Returns the head of the first column: what it is, and how the others are read."""
    parts = [tag("div", tag("b", "your conversation")), tag("div", tag("small", "as you wrote it: the neutral form"))]
    return tag("th", *parts, guide(columns, has_source=True), scope="col", style=LEFT)


def guide(columns: Sequence[Column], *, has_source: bool) -> Html:
    """Returns how to read the columns, to be opened: labels, verdicts, and the words of the changes."""
    said = ["Each column to the right is the payload: what would be sent to that API, as JSON."] if has_source else []
    if any([column.trace for column in columns]):
        said.append("1.0 is message 1, block 0 (both count from 0). What was made of a block bears its label.")
        if has_source:
            said.append("Point at a block, or open it, and all that was made of it lights up.")
            said.append("Crossed out: this API is not sent it. A dashed line at the left: added, nobody wrote it.")
            said.append("A setting that is left out is told under the settings that are sent.")
    if len({column.model for column in columns}) > 1:
        said.append("Each column is for the model it names: what a change says of a model is no rule of its API.")
    if any([column.endpoint for column in columns]):
        said.append("“POST …” is where the request goes.")
    if any([column.is_sent for column in columns]):
        said.append("“sent” is what was really sent; the others only show what would be.")
    if any([column.checked for column in columns]):
        said.append("“valid” means: it fits the types of the provider's own Python package. Nobody was asked.")
    told = tag("ul", *[tag("li", each) for each in said]) if said else Html()
    meant = meanings([change for column in columns for change in column.changes])
    return fold("how to read this", told, meant, class_="legend") if told or meant else Html()


def nowhere(ref: tuple[int, int]) -> None:
    """The place of blocks that are not shown."""


def column_head(column: Column, place: Place = nowhere) -> Html:
    """Returns the head of a column: API mode, model, endpoint, whether it is valid, and what was changed.

    Args:
        column: The column.
        place: Where the blocks are shown that changes were done to.
    """
    parts = [tag("div", tag("b", column.api), *([" ", badge("sent", "note")] if column.is_sent else []))]
    if column.model:
        parts.append(tag("div", tag("small", f"for {column.model}")))
    if column.endpoint:
        parts.append(tag("div", tag("small", " ".join(map(str, column.endpoint)))))
    parts.append(tag("div", _verdict(column)))
    if column.error is not None:
        parts.append(tag("div", tag("small", error_words(column.error))))
    if changes := [change for change in column.changes if not is_the_error(change, column)]:
        items = [tag("li", labelled_line(told, refs, place)) for told, refs in gathered(changes[:100]).items()]
        parts.append(fold(counted(changes), tag("ul", *items), is_open=len(items) <= _FEW))
    return tag("th", *parts, scope="col", style=LEFT)


def _verdict(column: Column) -> Html:
    said = verdict_words(column)
    if column.error is not None:
        return badge(said, "bad")
    if column.problems:
        items = [tag("li", tag("code", str(p.get("path"))), f" {p.get('message')}") for p in column.problems[:PROBLEMS]]
        return fold(badge(said, "bad"), tag("ul", *items))
    return badge(said, "note" if column.checked is None else "good")


def verdict_words(column: Column) -> str:
    """Returns whether a payload is what the types of its SDK allow: `valid (openai 3.57 types)`, `2 problems`."""
    if column.error is not None:
        return str(column.error.get("name") or "ConversionError")
    if column.problems:
        return count(len(column.problems), "problem")
    if column.checked is None:
        return f"not checked ({column.unchecked})" if column.unchecked else "not checked"
    return f"valid ({column.checked})"


def origin_of(column: Column, at: str) -> list[tuple[int, int]]:
    """Returns the blocks that a line of a payload was made of, by the innermost place of which it is known."""
    while at and at not in column.trace:
        at = at.rpartition("/")[0]
    return [address(ref) for ref in column.trace.get(at, ())]


def is_the_error(change: Change, column: Column) -> bool:
    """Returns whether a change is the refusal that the head of its column tells."""
    return column.error is not None and change.get("kind") == "refused" and change.get("why") == column.error["message"]


def error_words(error: Mapping[str, Any]) -> str:
    """Returns why there is no payload."""
    rule = f"{error['rule']}: " if error.get("rule") else ""
    return f"{rule}{error.get('message') or 'could not be converted'}"
