"""Notebooks as data: conversations out of files of Jupyter's, and into them.

What must live here: the names under which all of it is reached, and the forms a conversation is written in.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.exchange import Exchange
from llmneutral_widgets.exports import STYLES, Style, conversation_to_notebook, exchanges_in, text_of
from llmneutral_widgets.extraction import Extract, extract_exchanges
from llmneutral_widgets.notebook_file import (
    NotebookError,
    notebook_text,
    open_notebook,
    parse_notebook,
    write_notebook,
    write_text,
)
from llmneutral_widgets.runs import RunsDiff, diff_runs
from llmneutral_widgets.transcribing import NotebookStack, stack_from_notebook

__all__ = [
    "FORMS",
    "STYLES",
    "Extract",
    "NotebookError",
    "NotebookStack",
    "Read",
    "RunsDiff",
    "Style",
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
    stack = stack_of(conversation)
    if form == "json":
        # Through the same door as everything that leaves: what looks like a key is not written.
        return str(scrub.plain(stack.to_json())) + "\n"
    if form == "md":
        parts = [f"## {message.role}\n\n{text_of(message)}\n" for message in stack.messages]
        return str(scrub.plain("\n".join(parts)))
    raise NotebookError(f"a conversation is written as {', '.join(FORMS)}, not as {form}")


def save_conversation(conversation: Any, path: str | os.PathLike[str], style: Style = "prompt") -> None:
    """Writes a conversation in the form that the ending of the file names: .ipynb, .json or .md.

    Raises:
        NotebookError: If it is no conversation, the ending is none of these, the file is a notebook that somebody
            works in, or it cannot be written.
    """
    form = Path(path).suffix.removeprefix(".")
    if form not in FORMS:
        raise NotebookError(
            f"{Path(path).name}: a conversation is saved as {', '.join(['.' + each for each in FORMS])}"
        )
    save_text(conversation_text(conversation, form, style), path)


def save_text(text: str, path: str | os.PathLike[str]) -> None:
    """Writes a file at once, but never over a notebook that was not written here: somebody's work stands in it.

    Raises:
        NotebookError: If that is so, or the file cannot be written.
    """
    target = Path(path).expanduser()
    if target.suffix == ".ipynb" and target.is_file() and target.stat().st_size:
        try:
            is_ours = "llmneutral" in open_notebook(target).metadata
        except NotebookError:
            is_ours = False
        if not is_ours:
            raise NotebookError(
                f"{target.name} was not exported by llmneutral, and is not replaced: choose another name"
            )
    write_text(text, target)


def stack_of(conversation: Any) -> Any:
    """Returns a conversation as a PromptStack with all of its messages.

    Raises:
        NotebookError: If it is no conversation.
    """
    if isinstance(conversation, llmneutral.PromptStack):
        return conversation
    return llmneutral.PromptStack([message for exchange in exchanges_in(conversation) for message in exchange.turn])


class Read(NamedTuple):
    """The conversation of a file.

    Attributes:
        conversation: The exchanges of a notebook, or a PromptStack.
        notes: What was cut, left out or could not be read.
    """

    conversation: Any
    notes: tuple[str, ...] = ()


def read_conversation(
    text: str | bytes, name: str, conversation: str | None = None, preferred: str | None = None
) -> Read:
    """Returns the conversation in the content of a file.

    Args:
        text: A notebook, or the JSON of a PromptStack.
        name: What it is called in messages.
        conversation: Which one, where a notebook holds several; by default the one that was asked last.
        preferred: Which one, if the notebook has it.

    Returns:
        The exchanges of a notebook; a PromptStack for JSON, and for a notebook that holds none of our exchanges, which
        is then told by its text, code and outputs (`stack_from_notebook`).

    Raises:
        NotebookError: If it is neither, or there is no conversation of this name.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and "messages" in data and "nbformat" not in data:
        try:
            return Read(llmneutral.PromptStack.from_json(text))
        except llmneutral.ConversionError as error:
            raise NotebookError(f"{name}: {error}") from None
    notebook = parse_notebook(text, name)
    found = extract_exchanges(notebook)
    wanted = conversation or (preferred if preferred in found.names else None)
    exchanges: list[Exchange] = list(found.conversation(wanted))
    if exchanges:
        return Read(exchanges, found.notes)
    if wanted is not None or found.found:
        raise NotebookError(f"{name} holds no exchange that can go on: what was asked there failed, or was not sent")
    stack = stack_from_notebook(notebook)
    return Read(llmneutral.PromptStack(stack.messages), stack.notes)
