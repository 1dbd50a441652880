"""What a cell that asks again cannot say of how it was asked: names of another notebook, files, whom nobody knows.

What must live here: that nothing is left out in silence. What is told is made of words that are checked: the exchange
may be a stranger's, and a front end shows it as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import llmneutral
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.ipynb.extraction import question_of

HEAD = (
    "To be asked again as before, cell {number} ({question}) needs more than its line says, and so does what asks "
    "alike below it:"
)
_RUN = " and `--run-tools`"
_PLAIN = re.compile(r"[\w./:+-]{1,60}")
_WILD = re.compile(r"[^\w .,?!'-]+")
_MEDIA = (
    llmneutral.ImageMessageContent,
    llmneutral.AudioMessageContent,
    llmneutral.DocumentMessageContent,
)


def lacking(exchange: Exchange, *, number: int, is_first: bool, unsaid: Iterable[str], told: set[str]) -> str:
    """Returns in Markdown what the cell of an exchange does not say; "" where it says all.

    Args:
        exchange: The exchange.
        number: The cell, counted from 1.
        is_first: Whether the conversation begins with it.
        unsaid: The settings that its line does not take.
        told: What was said before such cells already: it is not said again, and what is said now is added.
    """
    found = [line for line in _found(exchange, is_first, list(unsaid)) if line.removesuffix(_RUN) not in told]
    told.update([line.removesuffix(_RUN) for line in found])
    head = HEAD.format(number=number, question=_WILD.sub("…", question_of(exchange, 60)))
    return "\n".join([head, "", *found]) if found else ""


def _found(exchange: Exchange, is_first: bool, unsaid: list[str]) -> Iterator[str]:
    if names := [_word(_name(tool)) for tool in exchange.tools]:
        added, run = " ".join([f"-t {name}" for name in names]), _RUN if exchange.rounds else ""
        yield f"* tools, which the notebook it was asked in had defined: define them, and add `{added}`{run}"
    if exchange.output_schema is not None:
        yield "* the form of its answer: define it, and add `--schema NAME`"
    if media := [block for message in exchange.question for block in message.content if isinstance(block, _MEDIA)]:
        yield f"* {len(media)} of what was attached: add `-a FILE` in the place of what stands in brackets"
    if exchange.provider is not None and exchange.provider not in llmneutral.CONFIGS:
        whom = " · ".join([_word(part) for part in (exchange.provider, exchange.model) if part])
        yield f"* who was asked, `{whom}`: no name of a provider; add `-p` with one, or with a variable"
    if unsaid:
        yield f"* settings that no line takes: `{' '.join(map(_word, unsaid))}`"
    if exchange.history.get("loaded") and not is_first and any([m.is_system() for m in exchange.question]):
        yield "* its instructions in this place: `-s` sets them for the whole conversation"


def _name(tool: Any) -> str:
    given = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return str(given.get("name") if isinstance(given, Mapping) else "")


def _word(written: str) -> str:
    """A name that does nothing but be read; any other one is left out."""
    return written if _PLAIN.fullmatch(written) else "…"
