"""A conversation as a notebook: one that asks again, or one to read.

What must live here: how turns become cells. The saved outputs are the bundles that a magic would have left there, so
that the conversation can be read back from them. Texts of a model are given to a front end as Markdown only where they
can do nothing but be read (`is_tame`); all others stand in a fence.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

import msgspec

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.bundles import Bundle, exchange_bundle
from llmneutral_widgets.exchange import MIME, SCHEMA, Exchange
from llmneutral_widgets.ipynb.lacking import lacking
from llmneutral_widgets.ipynb.notebook_file import LOAD, MAJOR, MINOR, NotebookError, node_of
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.lines.prompt_line import parse_prompt
from llmneutral_widgets.places import unplaced, without_begun
from llmneutral_widgets.session import DEFAULT, is_sent
from llmneutral_widgets.views.page import visible

Style = Literal["prompt", "markdown"]
STYLES: tuple[Style, ...] = ("prompt", "markdown")
_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
    "llmneutral": {"schema": SCHEMA},
}
_ALONE = "# The conversation goes on without a question here."
_BARE = re.compile(r"[\w./:=+@,-]*")
_WILD = re.compile(
    # markup, pictures, entities, formulas, diagrams, what hides; links to anything but the web, or with an address for
    # their text; a fence with a quote in its first line
    r"<|!\s*\[|&#?\w{1,40};|\$|\\[(\[a-z]|mermaid|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    r"|\]\s*:|\]\s*\[|\]\s*\((?!https?://[^\s()\[\]]*\))|\[[^\]\n]{0,2000}://|(?:`{3}|~{3})[^\n]{0,2000}[\"']",
    re.IGNORECASE,
)


def conversation_to_notebook(stack_or_exchanges: Any, style: Style = "prompt") -> Any:
    """Returns a conversation as a valid notebook (nbformat 4.5), without secrets; the same one for the same input.

    The ids of cells are digests of what is typed in them: a turn that is put in before changes none.

    Args:
        stack_or_exchanges: A PromptStack, an exchange, or exchanges in their order.
        style: `prompt`: a `%%prompt` cell for each turn, with its saved output, from which the conversation can be
            read back and asked again; tools and types of answers are names of another notebook, and are left out of
            the lines: a text before the cell says so. `markdown`: a Markdown cell for each message, to be read; of
            other blocks than text only what they say is kept.

    Raises:
        NotebookError: If it is no conversation, or the style is unknown.
    """
    if style not in STYLES:
        raise NotebookError(f"a notebook has the style {' or '.join(STYLES)}, not {style}")
    exchanges = linked(exchanges_in(stack_or_exchanges))
    cells = _prompt_cells(exchanges) if style == "prompt" else _markdown_cells(exchanges)
    made = {"nbformat": MAJOR, "nbformat_minor": MINOR, "metadata": _METADATA, "cells": list(cells)}
    return node_of(made)


def notebook_of(exchange: Exchange, style: Style = "prompt") -> Any:
    """Returns an exchange, and what was sent along with it while that is known, as a notebook.

    Raises:
        NotebookError: If the style is unknown.
    """
    if exchange.stack is None:
        return conversation_to_notebook(exchange, style)
    own = exchange.question
    asked = sum(not message.is_system() for message in own)
    before = [message for message in exchange.stack.messages if not (message.is_system() and message in own)]
    earlier = llmneutral.PromptStack(before[: len(before) - asked])
    return conversation_to_notebook([*exchanges_in(earlier), exchange], style)


# ----------------------------------------------------------------------------------------------------------------------
# Turns


def exchanges_in(source: Any) -> list[Exchange]:
    """Returns a conversation as exchanges.

    Args:
        source: A PromptStack, an exchange, or exchanges in their order.

    Raises:
        NotebookError: If it is none of these.
    """
    if isinstance(source, llmneutral.PromptStack):
        return _exchanges_of(source)
    given = [source] if isinstance(source, Exchange) else list(source) if isinstance(source, Iterable) else [source]
    wrong = next((each for each in given if not isinstance(each, Exchange)), None)
    if wrong is not None:
        raise NotebookError(f"a conversation is a PromptStack or exchanges, not {type(wrong).__name__}")
    return [part for each in given for part in _parts_of(each)]


def _parts_of(exchange: Exchange) -> list[Exchange]:
    """An exchange; a conversation that was loaded is one without an answer, and here becomes its turns."""
    is_loaded = bool(exchange.history.get("loaded")) and exchange.stack is not None
    if is_loaded or (exchange.response is None and any(message.is_assistant() for message in exchange.question)):
        return _exchanges_of(exchange.stack or llmneutral.PromptStack(exchange.question), exchange.name)
    return [exchange]


def _exchanges_of(stack: Any, name: str = DEFAULT) -> list[Exchange]:
    """The turns of a conversation of which nothing else is known; their ids are digests of what stands in them."""
    found: list[Exchange] = []
    earlier, digest = 0, hashlib.sha256(name.encode("utf-8", "surrogatepass"))
    tools = list(json.loads(stack.to_json()).get("tools") or ()) if stack.tools else []
    schema = stack.to_output_json_schema()
    for question, later in _turns(stack.messages):
        answer = later.pop() if later and _is_answer(later[-1]) else None
        written = json.dumps(scrub.builtin([question, later, answer]), sort_keys=True)
        digest.update(written.encode("utf-8", "surrogatepass"))
        found.append(
            Exchange(
                id=f"x-{digest.hexdigest()[:8]}",
                status="complete",
                parent=found[-1].id if found else None,
                name=name,
                settings=stack.settings,
                output_schema=schema,
                tools=tools,
                history={"messages": earlier, "sent": True, "loaded": True},
                messages=tuple(question),
                rounds=tuple(later),
                response=None if answer is None else llmneutral.NormalizedResponse(answer),
            )
        )
        earlier += sum([not message.is_system() for message in found[-1].turn])
    return found


def _turns(messages: Iterable[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Gives the questions of a conversation, each with what came after it."""
    question: list[Any] = []
    later: list[Any] = []
    for message in messages:
        if message.is_assistant() or (later and _is_result(message)):
            later.append(message)
            continue
        if later:
            yield question, later
            question, later = [], []
        question.append(message)
    if question or later:
        yield question, later


def _is_result(message: Any) -> bool:
    """Whether a message only brings what tools gave back."""
    kinds = [isinstance(block, llmneutral.ActionResultMessageContent) for block in message.content]
    return bool(message.is_user() and kinds and all(kinds))


def _is_answer(message: Any) -> bool:
    """Whether a message can be kept as the answer: what an answer has no place for is kept as it is."""
    return bool(message.is_assistant() and message.content and message.name is None)


def linked(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Returns exchanges whose chain lies within them, and whose ids differ.

    Where one goes on from what is not among them (it was asked again since), it goes on from the one before it. Their
    places are told only if they are those of one part of a conversation; what that began with is among them.
    """
    found: list[Exchange] = []
    is_part = len({each.history.get("part") for each in exchanges}) == 1
    ids: set[str] = set()
    last: str | None = None
    for exchange in exchanges:
        id, number = exchange.id, 2
        while id in ids:
            id, number = f"{exchange.id}-{number}", number + 1
        parent = exchange.parent
        if parent is not None and parent not in ids:
            parent = last
        kept = without_begun(exchange) if is_part else unplaced(exchange)
        found.append(msgspec.structs.replace(kept, id=id, parent=parent))
        ids.add(id)
        last = id if is_sent(exchange) else last
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Cells


def _prompt_cells(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    yield _code(LOAD)
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    told: set[str] = set()
    cell = 1
    for number, exchange in enumerate(exchanges, 1):
        before = sizes[exchange.name]
        settings, source = prompt_source(exchange, number, _history(exchange, before))
        unsaid = [key for key, value in _settings_of(exchange) if not _setting(key, value)]
        if is_sent(exchange):
            before.append(sum(not message.is_system() for message in exchange.turn))
        place, is_first = cell + (3 if settings else 2), number == 1
        said = lacking(exchange, number=place, is_first=is_first, unsaid=unsaid, told=told) if source != _ALONE else ""
        cell += 1 + bool(settings) + bool(said)
        if said:
            yield {
                "cell_type": "markdown",
                "metadata": {"llmneutral": {"schema": SCHEMA, "remark": True}},
                "source": said,
            }
        if settings:
            yield _code(settings)
        bundle = _bundle(exchange)
        yield _code(source, {"output_type": "display_data", "data": bundle.data, "metadata": dict(bundle.metadata)})


def _bundle(exchange: Exchange) -> Bundle:
    """What a magic would have left; of an exchange of a stranger's that no view can show, only what is kept."""
    try:
        return exchange_bundle(exchange)
    except (TypeError, ValueError):
        said = visible(f"exchange {exchange.id}: {exchange.status}; it cannot be shown")
        return Bundle({"text/plain": said, MIME: exchange.to_json()}, {"llmneutral": {"schema": SCHEMA}})


def _history(exchange: Exchange, sizes: Sequence[int]) -> int | None:
    """How many of the exchanges before it went along, where these were not all of them, and as far as that is known.

    Args:
        exchange: The exchange.
        sizes: How many messages each earlier exchange of its conversation has.
    """
    told = exchange.history.get("messages")
    if not isinstance(told, int) or told >= sum(sizes):
        return None
    return next((number for number, size in enumerate(accumulate(reversed(sizes), initial=0)) if size == told), None)


def prompt_source(exchange: Exchange, number: int = 1, history: int | None = None) -> tuple[str | None, str]:
    """Returns the source of a cell that asks the question of an exchange again.

    Args:
        exchange: The exchange.
        number: Its place, for the name of a variable.
        history: How many exchanges go along; None is all.

    Returns:
        The source of a cell that has to stand before it, for an instruction that no line can hold, or None; and the
        source of the cell.
    """
    body = "\n\n".join([text_of(message) for message in exchange.question if not message.is_system()])
    body = escaped(visible(str(scrub.plain(body))))
    if not body.strip():
        return None, _ALONE
    system = next((message for message in reversed(exchange.question) if message.is_system()), None)
    words, before = [], None
    if system is not None:
        text = str(scrub.plain(text_of(system)))
        word = quoted(escaped(text))
        if word is None:
            word, before = f"{{{{system_{number}}}}}", f"system_{number} = {text!r}"
        words += ["-s", word]
    words += _whom(exchange, scrub.plain(exchange.model))
    if exchange.name != DEFAULT and (word := quoted(exchange.name)):
        words += ["-c", word]
    words += [part for key, value in _settings_of(exchange) for part in _setting(key, value)]
    words += [] if history is None else ["--history", str(history)]
    return before, " ".join(["%%prompt", *words]) + f"\n{body}"


def _whom(exchange: Exchange, model: Any) -> list[str]:
    """Who is asked, where it is a name that everybody has."""
    if exchange.provider not in llmneutral.CONFIGS:
        return []
    word = quoted(f"{exchange.provider}/{model}" if model else str(exchange.provider))
    return [] if word is None else ["-p", word]


def _settings_of(exchange: Exchange) -> list[tuple[str, Any]]:
    """The settings as they may be written."""
    return list((scrub.plain(exchange.settings) or {}).items())


def _setting(key: str, value: Any) -> list[str]:
    """A setting as an option; what a line does not take is left out."""
    written = value if isinstance(value, str) and not _is_json(value) else json.dumps(value, ensure_ascii=False)
    word = quoted(f"{key}={written}")
    try:
        return [] if word is None or not parse_prompt(f"--set {word}").settings else ["--set", word]
    except OptionError:
        return []


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def quoted(word: str) -> str | None:
    """Returns a word as it is written on the line of a magic; None if none can hold it."""
    if word and _BARE.fullmatch(word) and not word.startswith("-"):
        return word
    if word != visible(word) or len(word.splitlines()) > 1 or "\n" in word:
        return None
    return next((f"{mark}{word}{mark}" for mark in "\"'" if mark not in word), None)


def escaped(text: str) -> str:
    r"""Returns a text in which no `{{…}}` is replaced by a variable."""
    return text.replace("{{", "\\{{")


def _markdown_cells(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    for exchange in exchanges:
        for message in exchange.turn:
            text = visible(text_of(message))
            fenced = not is_tame(text)
            head = f"#### {message.role if message.role.isalpha() else 'message'}"
            marks = {"schema": SCHEMA, "role": message.role, "fenced": fenced}
            shown = fence(text) if fenced else text
            yield {
                "cell_type": "markdown",
                "metadata": {"llmneutral": marks},
                "source": f"{head}\n\n{shown}",
            }


def is_tame(text: str) -> bool:
    """Whether a text does nothing but be read where a front end shows it as Markdown.

    Nothing is parsed: what might be markup, a picture, a formula, a diagram, or a link to anything but the web is taken
    for one, wherever it stands.
    """
    return _WILD.search(text) is None and text == text.strip("\n")


def fence(text: str, language: str = "") -> str:
    """Returns a text in a fence that is longer than any in it."""
    marks = max([3, *[len(found) + 1 for found in re.findall("`+", text)]])
    return f"{'`' * marks}{language}\n{text}\n{'`' * marks}"


def text_of(message: Any) -> str:
    """Returns a message as a reader sees it; blocks without a text by their kind."""
    return "\n".join([_block_text(block) for block in message.content])


def _block_text(block: Any) -> str:
    if isinstance(block, llmneutral.DocumentMessageContent) and block.name:  # the name of a file, not its folder
        block = msgspec.structs.replace(block, name=re.split(r"[\\/]", block.name)[-1])
    try:
        return str(block.to_text())
    except (TypeError, ValueError):
        return f"[{type(block).__name__}]"


def _code(source: str, *outputs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "source": source,
        "outputs": list(outputs),
    }
