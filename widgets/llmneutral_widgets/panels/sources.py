"""Whose conversation a panel shows: one of the session's, by name or the current one, or a stack of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets import session
from llmneutral_widgets.bundles import cleaned, definition
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.session import Conversation

Source = Any
"""A `PromptStack`, a `session.Conversation`, the name of one, or None for the current one."""


class Told(NamedTuple):
    """A conversation as plain data without secrets, and what is known of its messages, by their numbers."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Any] = ()
    name: str | None = None
    about: Mapping[str, Any] = {}


def told(source: Source) -> Told:
    """Returns a conversation as it is at this moment.

    Raises:
        OptionError: If there is none of this name.
        TypeError: If it is nothing that has messages.
    """
    found = conversation_of(source)
    if found is None:
        stack = stack_of(source)
        return Told(plain(stack.messages), plain([definition(tool) for tool in stack.tools]))
    about = {"marks": found.marks(), "tokens": found.tokens(), "makers": cleaned(found.makers())}
    stack = found.stack()
    return Told(plain(stack.messages), plain([definition(tool) for tool in stack.tools]), plain(found.name), about)


def conversation_of(source: Source) -> Conversation | None:
    """Returns the conversation of the session that is meant; None for a stack of the user's.

    Raises:
        OptionError: If there is none of this name.
    """
    if isinstance(source, Conversation):
        return source
    if source is None or isinstance(source, str):
        try:
            return session.current().known(source)
        except OptionError as error:
            raise OptionError(f"{error}; a text of yours is none: add it to a PromptStack, and show that") from None
    return None


def stack_of(source: Source) -> Any:
    """Returns a stack of the user's.

    Raises:
        TypeError: If it is none.
    """
    import llmneutral

    if isinstance(source, llmneutral.PromptStack):
        return source
    raise TypeError(f"a panel shows a PromptStack, or a conversation by its name; not a {type(source).__name__}")


def request_of(source: Source) -> Any:
    """Returns what would be sent: the stack, or the conversation up to its last question.

    The tools, the form of the answer and the settings of a conversation are those of its last request.
    """
    found = conversation_of(source)
    if found is None:
        return stack_of(source)
    return found.stack(is_request=True)
