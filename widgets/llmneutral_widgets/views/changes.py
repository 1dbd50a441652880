"""What was changed, and why, in words: each change in a sentence, and what its words mean for who meets them first."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets.views.blocks import address
from llmneutral_widgets.views.page import Html, count, doc_link, fold, join, tag

Change = Mapping[str, Any]
Ref = tuple[int, int]
Place = Callable[[Ref], str | None]
"""Block -> where it is shown, as the address of a link; None where it is not."""

KINDS = {
    "dropped": "is left out",
    "merged": "is joined with what stands before it",
    "moved": "stands in another place",
    "rewritten": "says the same in another form",
    "renamed": "has another name",
    "added": "nobody wrote it; the API demands it, or this model needs it",
    "coerced": "is put in the nearest form that is taken here, which may say less",
    "refused": "cannot be sent, and nothing else is either",
}
"""What may become of a block, a setting or a tool."""


LABELS = 12
"""Blocks of one change that are named."""
NOTHING = Html()


class Told(NamedTuple):
    """A change without the blocks it was done to."""

    kind: str
    step: str
    why: str
    doc: str | None


def told_of(change: Change) -> Told:
    """Returns a change without its blocks."""
    doc = change.get("doc")
    return Told(
        str(change.get("kind")), str(change.get("step")), str(change.get("why")), None if doc is None else str(doc)
    )


def gathered(changes: Iterable[Change]) -> dict[Told, list[Ref]]:
    """Returns each change once, with all blocks that it was done to."""
    found: dict[Told, list[Ref]] = {}
    for change in changes:
        refs = found.setdefault(told_of(change), [])
        refs += [ref for ref in map(address, change.get("refs") or ()) if ref not in refs]
    return found


def labelled_line(change: Told, refs: Sequence[Ref], place: Place) -> Html:
    """Returns a change with its blocks: `merged by merge_same_role: … (2.0, 5.0)`, each label a link to its block."""
    if not refs:
        return change_line(change)
    labels = [_label(ref, place(ref)) for ref in refs[:LABELS]] + (["…"] if len(refs) > LABELS else [])
    where = "beside " if change.kind == "added" else ""
    return change_line(change, blocks=tag("small", f" ({where}", join(labels, ", "), ")"))


def _label(ref: Ref, href: str | None) -> Html:
    label = f"{ref[0]}.{ref[1]}"
    return tag("a", label, href=href) if href else join([label])


def step_name(name: str) -> Html:
    """Returns the name of a step; what it does is told by its place."""
    summary = _summary(name)
    return tag("span", name, title=summary, class_="told") if summary else join([name])


def change_line(change: Told, apis: Sequence[str] = (), blocks: Html = NOTHING) -> Html:
    """Returns a change in a sentence: `merged for anthropic_messages by merge_same_role: roles must alternate`."""
    where = f" for {', '.join(apis)}" if apis else ""
    why, link = f": {change.why}" if change.why else "", doc_link(change.doc)
    said = [tag("mark", change.kind), f"{where} by ", step_name(change.step), why, blocks]
    return tag("div", *said, " " if link else "", link, class_="change")


def plain_line(change: Told) -> Html:
    """Returns a change in a sentence, without marks and links: `dropped by params: the model does not take it`."""
    return join([f"{change.kind} by ", step_name(change.step), f": {change.why}"])


def counted(changes: Sequence[Change]) -> str:
    """Returns how much a conversion changed: `3 changes: 2 merged, 1 added`."""
    counts: dict[str, int] = {}
    for change in changes:
        kind = str(change.get("kind"))
        counts[kind] = counts.get(kind, 0) + 1
    return f"{count(len(changes), 'change')}: " + ", ".join([f"{number} {kind}" for kind, number in counts.items()])


def flags(found: Mapping[Told, Sequence[str]], columns: int, sent: Container[str] = ()) -> list[Html]:
    """Returns what became of a block, a word for each kind of change, with the APIs it was done for.

    Args:
        found: Its changes, each with its APIs.
        columns: How many APIs are shown; of a single one it need not be said which.
        sent: The APIs that are sent the block: what is dropped for them is a part of it (its cache mark, say).
    """
    kinds: dict[str, dict[str, None]] = {}
    for change, apis in found.items():
        for api in apis:
            is_part = change.kind == "dropped" and api in sent
            kinds.setdefault(f"{'in part ' if is_part else ''}{change.kind}", {})[api] = None
    return [
        join([tag("mark", _flag(kind, [*apis], columns), title=f"for {', '.join(apis)}"), " "])
        for kind, apis in kinds.items()
    ]


def _flag(kind: str, apis: Sequence[str], columns: int) -> str:
    if kind != "added":
        return f"{kind}{_where(apis, columns)}"
    if columns < 2:
        return "something is added beside it"
    who = apis[0] if len(apis) == 1 else "all" if len(apis) == columns else f"{len(apis)} of {columns}"
    return f"{who} {'adds' if len(apis) == 1 else 'add'} something beside it"


def _where(apis: Sequence[str], columns: int) -> str:
    if columns < 2:
        return ""
    if len(apis) == 1:
        return f": {apis[0]}"
    return ": all" if len(apis) == columns else f": {len(apis)} of {columns}"


def meanings(changes: Iterable[Change]) -> Html:
    """Returns what the words of some changes mean, as a list: kinds first, then steps; nothing, if there is no word."""
    kinds: dict[str, str] = {}
    steps: dict[str, str] = {}
    for change in changes:
        kind, step = str(change.get("kind")), str(change.get("step"))
        if kind in KINDS:
            kinds[kind] = KINDS[kind]
        if summary := _summary(step):
            steps[step] = summary
    words = [tag("li", tag("mark", kind), f": {KINDS[kind]}.") for kind in KINDS if kind in kinds]
    names = [tag("li", "by ", tag("b", step), f": {steps[step]}") for step in sorted(steps)]
    return tag("ul", *words, *names) if words or names else Html()


def glossary(changes: Iterable[Change]) -> Html:
    """Returns what the words of some changes mean, to be opened; nothing, if there are none."""
    told = meanings(changes)
    return fold("what these steps do", told, class_="legend") if told else Html()


def _summary(name: str) -> str | None:
    import llmneutral

    return llmneutral.step_summary(name)
