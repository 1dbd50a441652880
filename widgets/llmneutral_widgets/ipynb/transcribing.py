"""A notebook as a conversation: what is typed and shown in it, as messages for a model.

What must live here: what of a cell is told, in which words, and how much of it. Cells that asked a model bring the real
messages; of all others the reader's view is told, as text of the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.exchange import SCHEMA
from llmneutral_widgets.ipynb.exports import fence
from llmneutral_widgets.ipynb.extraction import begun_of, cuts_of, exchanges_of, request
from llmneutral_widgets.ipynb.notebook_file import (
    LOAD,
    Cell,
    Notebook,
    NotebookError,
    data_of,
    joined,
    near,
    open_notebook,
)
from llmneutral_widgets.session import is_sent
from llmneutral_widgets.views.page import count, line, size, visible
from llmneutral_widgets.views.pictures import decoded, picture_type

Outputs = Literal["text", "none"]
OUTPUTS: tuple[Outputs, ...] = ("text", "none")
Chosen = slice | Iterable[int | str] | None
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/plain", "text/markdown", "text/latex")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_HEAD = re.compile(r"#### [^\n]*\n\n")


class NotebookStack(llmneutral.PromptStack):
    """A PromptStack made of a notebook.

    Attributes:
        notes: What was cut, left out or could not be read, each with its cell.
    """

    __slots__ = ("notes",)  # no key of `vars`: the stack is equal to any with the same messages, and written like it
    notes: tuple[str, ...]


def stack_from_notebook(
    path_or_node: Any, cells: Chosen = None, outputs: Outputs = "text", cap: int = 20_000
) -> NotebookStack:
    """Returns a notebook as a conversation.

    Markdown becomes text of the user, code text in a fence, and what it has shown text below it (streams, plain text,
    errors), small pictures as pictures. A cell that asked a model brings the messages of its exchanges instead, if they
    would be sent along; the last instruction counts, and stands first.

    Args:
        path_or_node: A path, or the notebook as data.
        cells: A slice of the cells, or numbers (from 0) and ids; None is all.
        outputs: `text`, or `none` to leave out what cells have shown.
        cap: Characters of a cell's source, and of its outputs together, that are told; `notes` names what was cut.

    Returns:
        The stack; its `notes` say what was cut, left out or could not be read.

    Raises:
        NotebookError: If it is no notebook, a cell is not there, or `outputs` or `cap` is none that can be meant.
    """
    if outputs not in OUTPUTS:
        raise NotebookError(f"outputs is {' or '.join(OUTPUTS)}, not {outputs}")
    if cap < 1:
        raise NotebookError(f"cap is a number of characters from 1, not {cap}")
    notebook = open_notebook(path_or_node)
    notes = list(notebook.notes)
    teller = _Teller(notebook.language, outputs == "text", cap, notes)
    own = LOAD if "llmneutral" in notebook.metadata else None  # the line that an export begins with is said by nobody
    told = [message for cell in chosen(notebook, cells) if cell.source != own for message in teller.messages(cell)]
    found = request(told)
    stack = NotebookStack(found.messages)
    stack.notes = tuple(scrub.plain(notes))
    return stack


def chosen(notebook: Notebook, cells: Chosen) -> Sequence[Cell]:
    """Returns some cells of a notebook, in its order.

    Raises:
        NotebookError: If one is not there.
    """
    if cells is None:
        return notebook.cells
    if isinstance(cells, slice):
        return notebook.cells[cells]
    if isinstance(cells, str | int):
        cells = [cells]
    numbers: set[int] = set()
    ids = {cell.id: at for at, cell in reversed(list(enumerate(notebook.cells))) if cell.id}
    for which in cells:
        if isinstance(which, str):
            if which not in ids:
                raise NotebookError(f"{notebook.name} has no cell with the id {which}; {near(which, list(ids))}")
            numbers.add(ids[which])
        elif -len(notebook.cells) <= which < len(notebook.cells):
            numbers.add(which % len(notebook.cells))
        else:
            raise NotebookError(
                f"{notebook.name} has {count(len(notebook.cells), 'cell')}, and none with number {which}"
            )
    return [notebook.cells[at] for at in sorted(numbers)]


class _Teller:
    """Tells cells as messages.

    Args:
        language: The language of code.
        with_outputs: Whether outputs are told.
        cap: Characters of a source, and of the outputs of a cell.
        notes: What is cut or left out is added here.
    """

    def __init__(self, language: str, with_outputs: bool, cap: int, notes: list[str]) -> None:
        self._language = language
        self._with_outputs = with_outputs
        self._cap = cap
        self._notes = notes
        self._secrets = scrub.current_secrets()

    def messages(self, cell: Cell) -> Iterator[Any]:
        """Gives the messages of a cell."""
        exchanges = [found for found, is_aside in exchanges_of(cell, self._notes) if not is_aside]
        if exchanges:
            for exchange in exchanges:
                for brought in begun_of(exchange, cell, self._notes):  # what the conversation began with
                    yield from brought.turn
                if is_sent(exchange):
                    yield from exchange.turn
                    self._notes += cuts_of(exchange, cell)
                else:
                    self._notes.append(f"{cell.place}: its exchange ({exchange.status}) is left out")
            return
        tell = {"markdown": self._markdown, "code": self._code}.get(cell.kind)
        if tell is None:
            self._notes.append(f"{cell.place}: a {line(visible(cell.kind), 30)} cell is left out")
            return
        role, blocks = tell(cell)
        if blocks:
            yield llmneutral.Message(role, tuple(blocks))

    def _markdown(self, cell: Cell) -> tuple[str, list[Any]]:
        found = cell.metadata.get("llmneutral")
        marks: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        role, source = "user", cell.source
        if isinstance(marks.get("schema"), int) and marks["schema"] > SCHEMA:
            self._notes.append(f"{cell.place}: written by a newer llmneutral (schema {marks['schema']})")
        elif marks.get("remark") is True:  # said by the export, and by nobody of the conversation
            return role, []
        elif marks.get("role") in ("system", "developer", "user", "assistant"):
            role, source = str(marks["role"]), _HEAD.sub("", source, count=1)
            if marks.get("fenced") and len(lines := source.split("\n")) > 2:
                source = "\n".join(lines[1:-1])
        blocks = self._text(source, cell, "its text") if source.strip() or marks else []
        for name, data in cell.attachments.items():
            blocks += self._picture(cell, data if isinstance(data, Mapping) else {}, f"the attachment {name}")
        return role, blocks

    def _code(self, cell: Cell) -> tuple[str, list[Any]]:
        blocks: list[Any] = []
        if cell.source.strip():
            blocks += self._text(cell.source, cell, "its code", self._language)
        if self._with_outputs:
            blocks += self._outputs(cell)
        return "user", blocks

    def _text(self, text: str, cell: Cell, what: str, language: str | None = None) -> list[Any]:
        shown = self._cut(self._secrets.text(text), cell, what)
        return [llmneutral.TextMessageContent(shown if language is None else fence(shown, language))]

    def _cut(self, text: str, cell: Cell, what: str, room: int | None = None) -> str:
        most = self._cap if room is None else room
        if len(text) <= most:
            return text
        self._notes.append(f"{cell.place}: {what}: {len(text):,} characters were cut to {most:,}")
        return f"{text[:most]}\n[… {len(text) - most:,} more characters]"

    # ------------------------------------------------------------------------------------------------------------------
    # Outputs

    def _outputs(self, cell: Cell) -> list[Any]:
        texts: list[str] = []
        pictures: list[Any] = []
        for output in cell.outputs:
            data = data_of(output)
            found = self._picture(cell, data, "its picture")
            pictures += [each for each in found if isinstance(each, llmneutral.ImageMessageContent)]
            texts += [each.text for each in found if isinstance(each, llmneutral.TextMessageContent)]
            if not found:
                texts += self._told(cell, output, data)
        whole = "\n".join([text.strip("\n") for text in texts if text.strip()])
        if not whole:
            return pictures
        shown = self._cut(self._secrets.text(whole), cell, "its outputs")
        return [llmneutral.TextMessageContent(f"Output:\n{fence(shown)}"), *pictures]

    def _told(self, cell: Cell, output: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
        """An output as text."""
        kind = output.get("output_type")
        if kind == "stream":
            return [_overwritten(_plain(joined(output.get("text")) or ""))]
        if kind == "error":
            return [_error_text(output)]
        for mime in _TEXTS:
            if (text := joined(data.get(mime))) is not None:
                return [_plain(text)]
        if "application/json" in data:
            return [json.dumps(scrub.builtin(data["application/json"]), ensure_ascii=False)]
        if data:
            named = ", ".join(sorted([line(visible(str(mime)), 60) for mime in data]))
            self._notes.append(f"{cell.place}: an output without text is left out ({named})")
            return [f"[{named}]"]
        return []

    def _picture(self, cell: Cell, data: Mapping[str, Any], what: str) -> list[Any]:
        """A picture as a block, or what it is, where it is too big; nothing where there is none."""
        mime = next((mime for mime in _PICTURES if mime in data), None)
        text = None if mime is None else joined(data[mime])
        if mime is None or text is None:
            return []
        written = "".join(text.split())
        octets = len(written) * 3 // 4 - written[-2:].count("=")
        if octets > scrub.LARGEST_MEDIA:
            self._notes.append(f"{cell.place}: {what} is left out: {mime}, {size(octets)}")
            return [llmneutral.TextMessageContent(f"[{mime}, {size(octets)}]")]
        if (kind := picture_type(decoded(written))) is None:
            self._notes.append(f"{cell.place}: {what} is no picture, though it is called {mime}")
            return []
        return [llmneutral.ImageMessageContent(data=written, media_type=kind)]


def _plain(text: str) -> str:
    """A text of a terminal without its colours."""
    return visible_lines(_ESCAPES.sub("", text))


def visible_lines(text: str) -> str:
    """Returns a text without control characters; carriage returns stay."""
    return "\r".join([visible(part) for part in text.replace("\r\n", "\n").split("\r")])


def _overwritten(text: str) -> str:
    """What is left to be seen of lines that were written over, as progress bars do."""
    return "\n".join([part.rstrip("\r").rpartition("\r")[2] for part in text.split("\n")])


def _error_text(output: Mapping[str, Any]) -> str:
    frames = output.get("traceback")
    trace = (
        joined([f"{part}\n" for part in frames if isinstance(part, str)]) if isinstance(frames, list | tuple) else ""
    )
    said = _plain(trace or "").replace("\r", "\n").strip()
    last = f"{output.get('ename')}: {output.get('evalue')}"
    return said if last.strip(": ") in said else f"{said}\n{_plain(last)}".strip()
