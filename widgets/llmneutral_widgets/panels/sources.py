"""Whose conversation a panel shows: one of the session's, by name or the current one, or a stack of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llmneutral_widgets import session
from llmneutral_widgets.bundles import cleaned, definition
from llmneutral_widgets.exchange import Exchange, Exchanges
from llmneutral_widgets.lines.options import OptionError, a_kind
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.session import Conversation

Source = Any
"""A `PromptStack`, an `Exchange`, a `session.Conversation`, the name of one, or None for the current one."""


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
            raise OptionError(f"{error}; to show a text, add it to a PromptStack") from None
    return None


def stack_of(source: Source) -> Any:
    """Returns a stack of the user's; of an exchange all that was said, its answer last.

    Raises:
        TypeError: If it is neither.
    """
    import llmneutral

    if isinstance(source, llmneutral.PromptStack):
        return source
    if isinstance(source, Exchange):
        request = _request(source)
        return _with_messages(request, [*request.messages, *source.turn[len(source.question) :]])
    raise unshown("a panel shows a PromptStack, an Exchange, or a conversation by its name", source)


def unshown(takes: str, given: Any) -> TypeError:
    """Returns the error of a panel that cannot show what it was given.

    Args:
        takes: What it shows, in words.
        given: What it was given: where several were asked, `-o` binds a list of exchanges.
    """
    several = ", of which it shows one: [0] is the first" if isinstance(given, Exchanges) else ""
    return TypeError(f"{takes}; not {a_kind(given)}{several}")


def _request(exchange: Exchange) -> Any:
    """What was sent with an exchange, the history included; of one from a file what it added itself."""
    import llmneutral

    if exchange.stack is not None:
        return exchange.stack
    # Of tools a file keeps no more than their names.
    return llmneutral.PromptStack(
        exchange.question, output_schema=exchange.output_schema, settings=dict(exchange.settings)
    )


def _with_messages(stack: Any, messages: Sequence[Any]) -> Any:
    """A stack with other messages, and all else that it holds."""
    import llmneutral

    own = {name: getattr(stack, name) for name in ("tools", "output_schema", "settings", "read_from")}
    return llmneutral.PromptStack(messages, **own)


def request_of(source: Source) -> Any:
    """Returns what would be sent: the stack, or the conversation up to its last question.

    The tools, the form of the answer and the settings of a conversation are those of its last request.
    """
    found = conversation_of(source)
    if found is None:
        return _request(source) if isinstance(source, Exchange) else stack_of(source)
    return found.stack(is_request=True)
