"""`%stack save` and `%stack load`: a conversation goes into a file, and comes out of one, or of a variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llmneutral_widgets.lines.interpolation import only_place, resolve
from llmneutral_widgets.lines.options import OptionError, a_kind
from llmneutral_widgets.magics.prompting import Here
from llmneutral_widgets.notes import note
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.session import Conversation, is_sent
from llmneutral_widgets.views.page import count, line

LOADED = (".ipynb", ".json")
"""Ends of files that hold a conversation."""
SAVED = (*LOADED, ".md")
"""Ends of files that one is written to, the last one only to read."""
_MOST_NOTES = 3


def save(here: Here, words: Sequence[str]) -> None:
    """Writes the current conversation: as a notebook, as JSON, or as Markdown to read.

    A notebook keeps all exchanges, with what became of them. The other forms hold messages only, so they hold what goes
    along with the next question.

    Raises:
        OptionError: If the file cannot be written.
    """
    from llmneutral_widgets.ipynb import conversations as ipynb

    path = _file(words, "save", SAVED)
    conversation = here.session.conversation()
    is_notebook = path.suffix == ".ipynb"
    written = [turn for turn in conversation.turns if is_notebook or is_sent(turn.exchange)]
    exchanges = [turn.exchange for turn in written]
    try:
        ipynb.save_conversation(conversation.kept() if path.suffix == ".json" else exchanges, path)
    except ipynb.NotebookError as error:
        raise OptionError(f"%stack save {error}") from None
    number = sum([len(turn.messages) for turn in written])
    said = [f"{count(number, 'message')} of {conversation.name} written to {path.name}"]
    if path.suffix == ".md":
        said[0] += ", to read: it cannot be loaded, as .ipynb and .json can"
    if left := len(conversation.turns) - len(written):
        said.append(f"{count(left, 'exchange')} that failed left out: .ipynb keeps all of them")
    if is_notebook and (tools := conversation.frame().get("tools")):
        said.append(f"of its {count(len(tools), 'tool')} a notebook keeps the names: .json keeps all of it")
    note("; ".join(said))


def load(here: Here, words: Sequence[str]) -> None:
    """Reads a conversation in the place of the current one: out of a file, or `{{variable}}`.

    Raises:
        OptionError: If the file cannot be read, or it or the variable holds none.
    """
    from llmneutral_widgets.ipynb import conversations as ipynb

    if len(words) == 1 and (given := stack_at(words[0], here.namespace)) is not None:
        taken(here, here.session.current, given, words[0])
        return
    path = _file(words, "load", LOADED)
    conversation = here.session.conversation()
    try:
        found = ipynb.read_conversation(path.read_bytes(), path.name, preferred=conversation.name)
    except OSError as error:
        raise OptionError(f"%stack load {path.name}: {error.strerror}") from None
    except ipynb.NotebookError as error:
        raise OptionError(f"%stack load {error}") from None
    replaced = _put_aside(here, conversation)
    _fill(conversation, found.conversation)
    more = [f"{len(found.notes) - _MOST_NOTES} more notes"] if len(found.notes) > _MOST_NOTES else []
    note("; ".join([*_loaded(conversation), *replaced, *found.notes[:_MOST_NOTES], *more]))


def taken(here: Here, name: str, stack: Any, word: str) -> Conversation:
    """Takes a stack of the user's in the place of what a conversation holds.

    Args:
        here: The session.
        name: The conversation; a new name makes one, once the stack has been looked at.
        stack: The stack.
        word: What it is called in messages.

    Raises:
        OptionError: If it, or what it brings beside its messages, can go along with no question.
    """
    from llmneutral_widgets.ipynb import conversations as ipynb

    try:
        found = ipynb.checked(stack, word)
    except ipynb.NotebookError as error:
        raise OptionError(str(error)) from None
    conversation = here.session.conversation(name)
    replaced = _put_aside(here, conversation)
    _fill(conversation, found)
    note("; ".join([*_loaded(conversation), *replaced]))
    return conversation


def _put_aside(here: Here, conversation: Conversation) -> list[str]:
    """Keeps what a conversation holds under another name, if it was asked here, and returns what to say of it."""
    turns, known = conversation.turns, here.session.conversations
    if not turns:
        return []
    held = count(sum([len(turn.messages) for turn in turns]), "message")
    if all([turn.is_brought for turn in turns]):
        return [f"the {held} that had been loaded before were replaced"]
    name = next(name for n in range(2, len(known) + 3) if (name := f"{conversation.name}-{n}") not in known)
    aside = here.session.conversation(name)
    for turn in turns:
        aside.put(None, turn.exchange)  # no cell's any more: one that is run again asks in the conversation it names
        aside.turns[-1].is_brought = turn.is_brought
    return [f"the {held} it held before are kept as {name}: %stack use {name}"]


def _fill(conversation: Conversation, found: Any) -> None:
    """Takes exchanges, or a stack; an empty one is no turn."""
    if isinstance(found, list):
        conversation.resume(found)
    elif found.messages or found.tools or found.settings or found.output_schema is not None:
        conversation.load(found)
    else:
        conversation.resume([])


def _loaded(conversation: Conversation) -> list[str]:
    """What has been loaded, in words: the messages, and what goes along with them from now on."""
    number = sum([len(turn.messages) for turn in conversation.turns])
    said = [f"{count(number, 'message')} loaded into {conversation.name}"]
    if kept := frame_words(conversation.frame()):
        said.append(f"with every question go {', '.join(kept)}")
    named = [tool.get("name") for turn in conversation.turns if turn.exchange.stack is None for tool in _tools(turn)]
    if named:
        names = ", ".join(dict.fromkeys(map(str, named)))
        said.append(f"of tools ({names}) the file keeps the names only: -t sends them")
    return said


def _tools(turn: Any) -> Sequence[Any]:
    return [tool for tool in turn.exchange.tools if isinstance(tool, dict)] if turn.is_loaded else ()


def frame_words(frame: Mapping[str, Any]) -> list[str]:
    """Returns in words what goes along with every question: tools, the form of the answer, settings."""
    said = [count(len(tools), "tool")] if (tools := frame.get("tools")) else []
    said += ["the form of the answer"] if frame.get("output_schema") is not None else []
    return [*said, *[f"{name}={line(str(value), 40)}" for name, value in plain(frame.get("settings") or {}).items()]]


def stack_at(word: str, namespace: Mapping[str, Any]) -> Any:
    """Returns the stack that `{{variable}}` stands for; None if the word is none of this form.

    Raises:
        OptionError: If there is no such variable, or it holds no conversation.
    """
    import llmneutral

    if (place := only_place(word)) is None:
        return None
    found = resolve(place, namespace)
    if isinstance(found, llmneutral.PromptStack):
        return found
    given = [found] if isinstance(found, llmneutral.Message) else found
    if isinstance(given, list | tuple) and given:
        if all([isinstance(each, llmneutral.Message) for each in given]):
            return llmneutral.PromptStack(given)
        if all([isinstance(each, Mapping) and "role" in each for each in given]):
            try:
                return llmneutral.PromptStack.from_openai(given)
            except llmneutral.ConversionError as error:
                raise OptionError(f"{word}: {error}") from None
    raise OptionError(f"{word} is {a_kind(found)}; a conversation is a PromptStack or a list of its messages")


def _file(words: Sequence[str], command: str, kinds: tuple[str, ...]) -> Path:
    if len(words) != 1 or Path(words[0]).suffix not in kinds:
        more = ", or {{variable}}" if command == "load" else ""
        if command == "load" and len(words) == 1 and Path(words[0]).suffix == ".md":
            more += "; a .md is only to read"
        raise OptionError(f"%stack {command} takes one file that ends in {' or '.join(kinds)}{more}")
    return Path(words[0]).expanduser()
