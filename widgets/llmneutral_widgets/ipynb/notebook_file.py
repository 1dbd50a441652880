"""A file of Jupyter's: read as it was left by anybody, written so that nobody finds half of one.

What must live here: the form of the file (nbformat). Reading is patient: a notebook may come from any tool and any
year, and what is broken in one cell is told and left aside. Writing is strict: valid nbformat 4.5, without secrets,
without numbers that JSON does not have, the same bytes for the same notebook.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.lines.options import nearest
from llmneutral_widgets.views.page import line, visible

MAJOR, MINOR = 4, 5
"""The form that is written, and the newest that is known."""
LOAD = "%load_ext llmneutral"
"""What an export begins with, so that its cells can be run."""
_FEW = 20
_IDS_SINCE = 5
_OURS = re.compile(
    rb"(?:# Conversation[^\n]{0,300}\n\n)?## (?:system|developer|user|assistant)\n\n"
    rb"|[^\n]{1,300}: \d+ exchanges?(?: of [^\n]*)?\n"
    rb'|\{"llmneutral_recording":'
)
"""How Markdown, overviews and recordings begin that are written here."""
_KEYS = ({"messages", "tools", "output_schema", "settings"}, {"notebook", "exchanges", "missing", "notes"})
"""What is held by the JSON of a PromptStack, and of an extract."""


class NotebookError(llmneutral.ConfigurationError):
    """A file that is no notebook, or cannot be read or written; one line says which and why."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell.

    Attributes:
        number: Its place in the notebook, counted from 1.
        id: Its id; None before nbformat 4.5.
        kind: `code`, `markdown` or `raw`.
        source: What is typed in it.
        outputs: What it has shown, as the file has it.
        metadata: Its metadata.
        attachments: Pictures of a Markdown cell: name -> MIME type -> base64.
    """

    number: int
    id: str | None
    kind: str
    source: str
    outputs: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = {}
    attachments: Mapping[str, Any] = {}

    @property
    def place(self) -> str:
        """Where it stands, as a reader is told: `cell 3 (ask)`."""
        return f"cell {self.number}" + (f" ({line(visible(self.id), 64)})" if self.id else "")


class Notebook(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds.

    Attributes:
        name: Name of the file, without its folder.
        cells: The cells.
        metadata: The notebook's metadata.
        notes: What could not be read.
    """

    name: str
    cells: tuple[Cell, ...]
    metadata: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """The language of its code; `python` where nothing says it."""
        for key, inner in (("language_info", "name"), ("kernelspec", "language")):
            found = self.metadata.get(key)
            if isinstance(found, Mapping) and isinstance(found.get(inner), str) and found[inner]:
                return line(visible(found[inner]), 30)
        return "python"


# ----------------------------------------------------------------------------------------------------------------------
# Reading


def open_notebook(source: Any) -> Notebook:
    """Returns a notebook.

    Args:
        source: The path of a file, the notebook as data (a `NotebookNode` or any mapping), or one that is open.

    Raises:
        NotebookError: If there is none.
    """
    if isinstance(source, Notebook):
        return source
    if isinstance(source, Mapping):
        return _notebook(source, "the notebook")
    try:
        path = Path(source).expanduser()
    except TypeError:
        raise NotebookError(f"a notebook is a path or a mapping, not a {type(source).__name__}") from None
    try:
        return parse_notebook(path.read_bytes(), path.name)
    except OSError as error:
        raise NotebookError(f"{path.name or source}: {error.strerror or error}") from None


def parse_notebook(text: str | bytes, name: str) -> Notebook:
    """Returns the notebook that a text holds.

    Args:
        text: The content of a file.
        name: What it is called in messages.

    Raises:
        NotebookError: If it holds none.
    """
    return notebook_of(json_of(text, name), name)


def json_of(text: str | bytes, name: str, what: str = "notebook") -> Any:
    """Returns what a text in JSON holds.

    Args:
        text: The content of a file.
        name: What it is called in messages.
        what: What it would be.

    Raises:
        NotebookError: If it is no JSON.
    """
    try:
        written = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
        # Some tools write NaN, which JSON does not have; here it is null, as in everything that is written.
        return json.loads(written, parse_constant=lambda _: None)
    except UnicodeDecodeError:
        raise NotebookError(f"{name} is no {what}: it is no text in UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotebookError(f"{name} is no {what}: it is no JSON ({error.msg} at {where})") from None
    except (ValueError, RecursionError) as error:
        raise NotebookError(f"{name} is no {what}: it is no JSON ({type(error).__name__})") from None


def notebook_of(data: Any, name: str) -> Notebook:
    """Returns the notebook that is held by the JSON of a file.

    Args:
        data: What the file holds.
        name: What it is called in messages.

    Raises:
        NotebookError: If it is none.
    """
    if not isinstance(data, Mapping):
        raise NotebookError(f"{name} is no notebook: it holds a {type(data).__name__}, not an object")
    return _notebook(data, name)


def _notebook(data: Mapping[str, Any], name: str) -> Notebook:
    major, minor = data.get("nbformat"), data.get("nbformat_minor")
    if not isinstance(major, int):
        raise NotebookError(f"{name} is no notebook: it has no number nbformat")
    if major > MAJOR:
        raise NotebookError(f"{name} is written in nbformat {major}; this version reads up to {MAJOR}.{MINOR}")
    has_ids = major == MAJOR
    if not has_ids:
        data = _upgraded(data, name)
    cells = data.get("cells")
    if not isinstance(cells, list | tuple):
        raise NotebookError(f"{name} is no notebook: it has no list of cells")
    notes: list[str] = []
    if has_ids and isinstance(minor, int) and minor > MINOR:
        notes.append(f"{name} is written in nbformat {major}.{minor}; what that adds to {MAJOR}.{MINOR} is left aside")
    read = [found for n, cell in enumerate(cells, 1) if (found := _cell(n, cell, has_ids, notes)) is not None]
    notes += _same_ids(read)
    return Notebook(name=name, cells=tuple(read), metadata=_mapping(data.get("metadata")), notes=tuple(notes))


def _same_ids(cells: Sequence[Cell]) -> Iterator[str]:
    """Tells cells that have the id of another one: what is known of a cell by its id is known of the first."""
    seen: dict[str, Cell] = {}
    for cell in cells:
        if cell.id and (first := seen.setdefault(cell.id, cell)) is not cell:
            yield f"{cell.place}: cell {first.number} has the same id"


def _upgraded(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A notebook of an old form in today's; the ids it is given are made up, and differ from time to time."""
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: Mapping[str, Any] = nbformat.convert(nbformat.reader.reads(json.dumps(data)), MAJOR)
    except Exception as error:  # noqa: BLE001 - the converters of old forms fail in many ways
        raise NotebookError(f"{name} cannot be read: nbformat says {type(error).__name__}: {error}") from None
    return found


def _cell(number: int, cell: Any, has_ids: bool, notes: list[str]) -> Cell | None:
    if not isinstance(cell, Mapping) or not isinstance(cell.get("cell_type"), str):
        notes.append(f"cell {number}: it is no cell, and is left aside")
        return None
    source = joined(cell.get("source"))
    given = cell.get("id") if has_ids else None
    found = Cell(
        number=number,
        id=given if isinstance(given, str) and given else None,
        kind=cell["cell_type"],
        source=source or "",
        metadata=_mapping(cell.get("metadata")),
        attachments=_mapping(cell.get("attachments")),
    )
    if source is None:
        notes.append(f"{found.place}: its source is no text")
    return msgspec.structs.replace(found, outputs=tuple(_outputs(found, cell.get("outputs"), notes)))


def _outputs(cell: Cell, outputs: Any, notes: list[str]) -> Iterator[Mapping[str, Any]]:
    if outputs is not None and not isinstance(outputs, list | tuple):
        notes.append(f"{cell.place}: its outputs are no list")
        return
    for number, output in enumerate(outputs or (), 1):
        if isinstance(output, Mapping):
            yield output
        else:
            notes.append(f"{cell.place}: its output {number} is no output, and is left aside")


def joined(value: Any) -> str | None:
    """Returns a text of the file, which may be a list of lines; None if it is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return "".join(value)
    return None


def data_of(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns MIME type -> data of an output; empty for streams and errors."""
    return _mapping(output.get("data"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def near(word: str, known: Sequence[str]) -> str:
    """Returns a hint at what may have been meant, where there may be thousands."""
    hint = nearest(word, known)
    return hint if len(known) <= _FEW or hint.startswith("did") else f"there are {len(known):,} others"


# ----------------------------------------------------------------------------------------------------------------------
# Writing


def node_of(data: Mapping[str, Any]) -> Any:
    """Returns a notebook as a `NotebookNode`: without secrets, without NaN, and valid.

    Cells without an id, or with that of another, get a digest of what is typed in them.

    Raises:
        NotebookError: If it is not valid.
    """
    import nbformat

    cleaned = scrub.clean(data, scrub.current_secrets())
    if isinstance(cells := cleaned.get("cells"), list) and cleaned.get("nbformat_minor", 0) >= _IDS_SINCE:
        cleaned["cells"] = with_ids(cells)  # nbformat would mend them too, with ids made up by chance
    node = nbformat.from_dict(cleaned)
    try:
        nbformat.validate(node)
    except nbformat.ValidationError as error:
        raise NotebookError(f"the notebook is not valid: {line(str(error), 300)}") from None
    return node


def with_ids(cells: Sequence[Any]) -> list[Any]:
    """Returns cells that all have ids, no two the same."""
    taken = {cell["id"] for cell in cells if isinstance(cell, Mapping) and isinstance(cell.get("id"), str)}
    seen: set[str] = set()
    counts: dict[str, int] = {}
    found: list[Any] = []
    for cell in cells:
        if isinstance(cell, Mapping):
            id = cell.get("id")
            while not isinstance(id, str) or id in seen:
                digest = _digest(cell)
                counts[digest] = number = counts.get(digest, 0) + 1
                new = digest if number == 1 else f"{digest}-{number}"
                id = None if new in taken else new
            seen.add(id)
            cell = {**cell, "id": id}
        found.append(cell)
    return found


def _digest(cell: Mapping[str, Any]) -> str:
    written = f"{cell.get('cell_type')}\n{joined(cell.get('source'))}"
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def notebook_text(notebook: Mapping[str, Any]) -> str:
    """Returns a notebook as the text of a file, the same for the same notebook.

    Raises:
        NotebookError: If it is not valid.
    """
    import nbformat

    return str(nbformat.writes(node_of(notebook))).rstrip("\n") + "\n"


def write_notebook(notebook: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a notebook. Who reads the file meanwhile finds the old one or the new one.

    Args:
        notebook: A `NotebookNode`, or any mapping of its form.
        path: The file.

    Raises:
        NotebookError: If it is not valid, or cannot be written.
    """
    write_text(notebook_text(notebook), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Writes a text file at once: under another name first, which then takes the place of the old one.

    A link stays, and the file it leads to is written.

    Raises:
        NotebookError: If it cannot be written.
    """
    given = Path(path).expanduser()
    target = Path(os.path.realpath(given))
    fresh = target.with_name(f".{target.name}.{uuid4().hex[:8]}")
    if target.exists() and not target.is_file():
        raise NotebookError(f"{given.name or given} is no file, and nothing is written in its place")
    try:
        with contextlib.ExitStack() as undo:
            undo.callback(fresh.unlink, missing_ok=True)
            fresh.write_text(text, encoding="utf-8", newline="\n")
            if target.exists():
                fresh.chmod(target.stat().st_mode)
            os.replace(fresh, target)
    except OSError as error:
        raise NotebookError(f"{given.name}: {error.strerror or error}") from None


def check_replaced(path: str | os.PathLike[str]) -> None:
    """Looks at what stands where a file is to be written: what was not written here is somebody's work, and stays.

    Raises:
        NotebookError: If that is so, or it cannot be read.
    """
    target = Path(path).expanduser()
    if not target.is_file():
        return
    try:
        text = target.read_bytes()
    except OSError as error:
        raise NotebookError(f"{target.name}: {error.strerror or error}") from None
    if text.strip() and not _is_ours(text, target.name):
        raise NotebookError(f"{target.name} was not exported by llmneutral, and is not replaced: choose another name")


def _is_ours(text: bytes, name: str) -> bool:
    """Whether a text has one of the forms that are written here."""
    if _OURS.match(text):
        return True
    try:
        data = json_of(text, name)
    except NotebookError:
        return False
    if not isinstance(data, Mapping):
        return False
    is_exported = "nbformat" in data and "llmneutral" in _mapping(data.get("metadata"))
    return is_exported or any(keys <= data.keys() for keys in _KEYS)
