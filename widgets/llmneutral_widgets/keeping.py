"""`%stack save` and `%stack load`: a conversation goes into a file, and comes out of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llmneutral_widgets.notes import note
from llmneutral_widgets.options import OptionError
from llmneutral_widgets.prompting import Here
from llmneutral_widgets.views.page import count

_MOST_NOTES = 3


def save(here: Here, words: Sequence[str]) -> None:
    """Writes the current conversation: as a notebook, as JSON, or as Markdown to read.

    Raises:
        OptionError: If the file cannot be written.
    """
    from llmneutral_widgets import ipynb

    path = _file(words, "save", (".ipynb", ".json", ".md"))
    conversation = here.session.conversation()
    is_notebook = path.suffix == ".ipynb"
    written = [turn.exchange for turn in conversation.turns] if is_notebook else conversation.stack()
    try:
        ipynb.save_conversation(written, path)
    except ipynb.NotebookError as error:
        raise OptionError(f"%stack save {error}") from None
    number = sum([len(turn.messages) for turn in conversation.turns])
    note(f"{count(number, 'message')} of {conversation.name} written to {path.name}")


def load(here: Here, words: Sequence[str]) -> None:
    """Reads a conversation in the place of the current one.

    Raises:
        OptionError: If the file cannot be read, or holds none.
    """
    from llmneutral_widgets import ipynb

    path = _file(words, "load", (".ipynb", ".json"))
    conversation = here.session.conversation()
    try:
        found = ipynb.read_conversation(path.read_bytes(), path.name, preferred=conversation.name)
    except OSError as error:
        raise OptionError(f"%stack load {path.name}: {error.strerror}") from None
    except ipynb.NotebookError as error:
        raise OptionError(f"%stack load {error}") from None
    if isinstance(found.conversation, list):
        conversation.resume(found.conversation)
    else:
        conversation.load(found.conversation.messages)
    number = sum([len(turn.messages) for turn in conversation.turns])
    more = [f"{len(found.notes) - _MOST_NOTES} more notes"] if len(found.notes) > _MOST_NOTES else []
    said = [f"{count(number, 'message')} loaded into {conversation.name}", *found.notes[:_MOST_NOTES], *more]
    note("; ".join(said))


def _file(words: Sequence[str], command: str, kinds: tuple[str, ...]) -> Path:
    if len(words) != 1 or Path(words[0]).suffix not in kinds:
        raise OptionError(f"%stack {command} takes one file that ends in {' or '.join(kinds)}")
    return Path(words[0]).expanduser()
