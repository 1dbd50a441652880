"""Notebooks as data: conversations out of files of Jupyter's, and into them.

What must live here: the names under which all of it is reached, and the forms a conversation is written in.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.ipynb.exports import (
    STYLES,
    Style,
    conversation_to_notebook,
    exchanges_in,
    fence,
    is_tame,
    text_of,
)
from llmneutral_widgets.ipynb.extraction import Extract, extract_exchanges
from llmneutral_widgets.ipynb.notebook_file import (
    NotebookError,
    check_replaced,
    json_of,
    notebook_of,
    notebook_text,
    open_notebook,
    parse_notebook,
    write_notebook,
    write_text,
)
from llmneutral_widgets.ipynb.runs import RunsDiff, diff_runs
from llmneutral_widgets.ipynb.transcribing import NotebookStack, stack_from_notebook
from llmneutral_widgets.session import in_order, laid
from llmneutral_widgets.views.answer import maker
from llmneutral_widgets.views.page import line, visible

__all__ = [
    "FORMS",
    "STYLES",
    "Extract",
    "NotebookError",
    "NotebookStack",
    "Read",
    "RunsDiff",
    "Style",
    "choice",
    "conversation_text",
    "conversation_to_notebook",
    "diff_runs",
    "extract_exchanges",
    "notebook_text",
    "open_notebook",
    "parse_notebook",
    "read_conversation",
    "save_conversation",
    "save_text",
    "stack_from_notebook",
    "write_notebook",
]

_FENCES = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
_PLAIN = re.compile(r"[\w./:+ ·-]{1,80}")
_ENDS = {"length": "cut off", "content_filter": "cut off by a filter", "refusal": "refused"}
FORMS = ("ipynb", "json", "md")
"""Forms a conversation is written in: a notebook, the JSON of its PromptStack, Markdown to read."""


def conversation_text(conversation: Any, form: str, style: Style = "prompt") -> str:
    """Returns a conversation as the text of a file, without secrets.

    Args:
        conversation: A PromptStack, an exchange, or exchanges in their order.
        form: One of `FORMS`.
        style: Of a notebook: see `conversation_to_notebook`.

    Raises:
        NotebookError: If it is no conversation, or the form is unknown.
    """
    if form == "ipynb":
        return notebook_text(conversation_to_notebook(conversation, style))
    if form == "md":
        return _markdown_of(conversation)
    stack = stack_of(conversation)
    if form == "json":
        # The values are cleaned, as in all other forms; a text within is seen as it is, and not in JSON's spelling.
        return json.dumps(scrub.plain(json.loads(stack.to_json())), ensure_ascii=False, separators=(",", ":")) + "\n"
    raise NotebookError(f"a conversation is written as {', '.join(FORMS)}, not as {form}")


def _markdown_of(conversation: Any) -> str:
    """A conversation to be read: of exchanges with its name, who answered, and what an answer lacks."""
    if isinstance(conversation, llmneutral.PromptStack):
        return "\n".join([_markdown(message) for message in conversation.messages])
    told = laid(exchanges_in(conversation))
    said = []
    for number, (message, exchange) in enumerate(told):
        is_last = number + 1 == len(told) or told[number + 1][1] is not exchange
        small = _small(exchange) if exchange is not None and is_last and message.is_assistant() else ""
        said.append(_markdown(message) + (f"\n<sub>{small}</sub>\n" if small else ""))
    names = list(dict.fromkeys([exchange.name for _, exchange in told if exchange is not None]))
    title = line(visible(str(scrub.plain(", ".join(names)))), 60)
    return "\n".join([f"# Conversation {title if is_tame(title) else ''}".rstrip() + "\n", *said]) if said else ""


def _small(exchange: Exchange) -> str:
    """Who answered, and what there is to say of the end, where it is a word that does nothing but be read."""
    record = scrub.plain({"provider": exchange.provider, "model": exchange.model, "answered_by": exchange.answered_by})
    given = exchange.response
    reason = given.get("finish_reason") if isinstance(given, Mapping) else getattr(given, "finish_reason", None)
    ended = exchange.status if exchange.status != "complete" else _ENDS.get(str(reason), "")
    whom = line(visible(maker(record)), 80) if exchange.provider or exchange.answered_by else ""
    return " · ".join([each for each in (whom if _PLAIN.fullmatch(whom) else "", ended) if each])


def _markdown(message: Any) -> str:
    """A message to be read: a text that a front end would fetch pictures or draw diagrams for stands in a fence."""
    role, text = scrub.plain([visible(message.role), visible(text_of(message))])
    return f"## {role}\n\n{text if is_tame(text) and _is_closed(text) else fence(text)}\n"


def _is_closed(text: str) -> bool:
    """Whether no fence of a text is left open: the next one would end it, and what that holds stand outside."""
    opened = ""
    for marks, rest in _FENCES.findall(text):
        if not opened:
            opened = "" if marks[0] == "`" and "`" in rest else marks
        elif marks.startswith(opened) and not rest.strip():
            opened = ""
    return not opened


def save_conversation(conversation: Any, path: str | os.PathLike[str], style: Style = "prompt") -> None:
    """Writes a conversation in the form that the ending of the file names: .ipynb, .json or .md.

    Raises:
        NotebookError: If it is no conversation, the ending is none of these, another file of this name is there that
            was not written here, or it cannot be written.
    """
    form = Path(path).suffix.removeprefix(".")
    if form not in FORMS:
        raise NotebookError(
            f"{Path(path).name}: a conversation is saved as {', '.join(['.' + each for each in FORMS])}"
        )
    save_text(conversation_text(conversation, form, style), path)


def save_text(text: str, path: str | os.PathLike[str]) -> None:
    """Writes a file at once, but never over one that was not written here: somebody's work stands in it.

    Raises:
        NotebookError: If that is so, or the file cannot be written.
    """
    check_replaced(path)
    write_text(text, path)


def stack_of(conversation: Any) -> Any:
    """Returns a conversation as a PromptStack with all of its messages.

    Raises:
        NotebookError: If it is no conversation.
    """
    if isinstance(conversation, llmneutral.PromptStack):
        return conversation
    return llmneutral.PromptStack(in_order(exchanges_in(conversation)))


class Read(NamedTuple):
    """The conversation of a file.

    Attributes:
        conversation: The exchanges of a notebook, or a PromptStack.
        notes: What was cut, left out or could not be read.
    """

    conversation: Any
    notes: tuple[str, ...] = ()


def read_conversation(
    text: str | bytes,
    name: str,
    conversation: str | None = None,
    preferred: str | None = None,
    part: int | None = None,
) -> Read:
    """Returns the conversation in the content of a file.

    Args:
        text: A notebook, the JSON of a PromptStack, or a list of messages in OpenAI's format.
        name: What it is called in messages.
        conversation: Which one, where a notebook holds several; by default the one that was asked last.
        preferred: Which one, if the notebook has it.
        part: Which part of it, counted from 1, where it began anew; by default the last one.

    Returns:
        The exchanges of a notebook; a PromptStack for the other forms, and for a notebook that holds none of our
        exchanges, which is then told by its text, code and outputs (`stack_from_notebook`).

    Raises:
        NotebookError: If it is none of these, what it brings beside its messages can go along with no question, or
            there is no conversation of this name, or no such part.
    """
    data = json_of(text, name, "notebook" if name.endswith(".ipynb") else "conversation")
    if (stack := _stack_in(data, text, name)) is not None:
        return Read(checked(stack, name))
    if not name.endswith(".ipynb") and not (isinstance(data, Mapping) and "nbformat" in data):
        raise NotebookError(
            f"{name} holds no conversation: it is neither a notebook, nor the JSON of a PromptStack, nor a list of "
            "messages in OpenAI's format"
        )
    notebook = notebook_of(data, name)
    found = extract_exchanges(notebook)
    wanted = conversation or (preferred if preferred in found.names else None)
    exchanges: list[Exchange] = list(found.conversation(wanted, part))
    if exchanges:
        for exchange in exchanges:
            if exchange.history.get("loaded"):  # what it brought goes along with every question again
                frame = llmneutral.PromptStack(settings=dict(exchange.settings), output_schema=exchange.output_schema)
                checked(frame, name)
        return Read(exchanges, (*choice(found, wanted, part), *found.notes))
    if wanted is not None or found.found:
        raise NotebookError(f"{name} holds no exchange that can go on: what was asked there failed, or was not sent")
    stack = stack_from_notebook(notebook)
    if not stack.messages and "llmneutral" in notebook.metadata:
        return Read([], stack.notes)
    return Read(llmneutral.PromptStack(stack.messages), stack.notes)


def choice(found: Extract, wanted: str | None, part: int | None = None) -> tuple[str, ...]:
    """Returns what there is to say where a notebook holds several conversations, or one in several parts.

    Args:
        found: What the notebook holds.
        wanted: The conversation that was asked for; None is the last one.
        part: The part that was asked for; None is the last one.
    """
    if not found.names:
        return ()
    name = wanted or found.names[-1]
    others = [other for other in found.names if other != name]
    told = [f"this is the conversation {name}; the notebook also holds {', '.join(others)}"] if others else []
    number = len(found.parts(name))
    if number > 1 and part is None:
        told.append(
            f"conversation {name} began anew and has {number} parts: this is the last one; "
            "`llmneutral notebook export FILE --part N` gives another"
        )
    return tuple(scrub.plain(told))


def _stack_in(data: Any, text: str | bytes, name: str) -> Any:
    """The stack that a text in JSON holds; None if it is of another kind."""
    try:
        if isinstance(data, Mapping) and "messages" in data and "nbformat" not in data:
            return llmneutral.PromptStack.from_json(text)
        if isinstance(data, list) and data and all([isinstance(each, Mapping) and "role" in each for each in data]):
            return llmneutral.PromptStack.from_openai(data)
    except llmneutral.ConversionError as error:
        raise NotebookError(f"{name}: {error}") from None
    return None


def checked(stack: Any, name: str) -> Any:
    """Returns a stack whose messages, tools, form of the answer and settings can go along with a question.

    Args:
        stack: The stack.
        name: What it is called in messages.

    Raises:
        NotebookError: If one of them cannot, whoever is asked.
    """
    question = llmneutral.Message("user", (llmneutral.TextMessageContent("?"),))
    probe = llmneutral.PromptStack(
        [question], tools=stack.tools, output_schema=stack.output_schema, settings=stack.settings
    )
    try:
        llmneutral.PromptStack(stack.messages).to_json()
        llmneutral.convert(probe, "chat_completions", model="any")
    except llmneutral.ConfigurationError as error:
        raise NotebookError(f"{name}: {error.message}") from None
    except llmneutral.ConversionError as error:
        # What is wrong for this API only is told when it is asked.
        if error.rule == "source" or str(error.rule).startswith("setting:"):
            raise NotebookError(f"{name}: {error.message}") from None
    return stack
