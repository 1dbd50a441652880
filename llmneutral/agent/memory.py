"""What an agent remembers: a PromptStack that is valid at any time, within a budget.

What is forgotten are whole exchanges (a question with everything up to the next one), from the oldest on: a call never
loses its result, and instructions stay. Reasoning may be bound to everything before it, so once something before it is
gone, it goes too. Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from llmneutral.agent.planning import calls_of
from llmneutral.drivers.counting import tokens_in
from llmneutral.errors import ConfigurationError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import ActionResultMessageContent
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack

BEFORE_ALL = (-1, 0)


class ConversationMemory:
    """The conversation of an agent. Safe to share between threads and agents: a run adds its messages all at once.

    Args:
        stack: What is remembered to begin with; a PromptStack, or messages.
        max_turns: Most exchanges that are kept.
        max_tokens: Most tokens that are kept; the last exchange is kept whatever its size.
        count: Counts the tokens of a stack, such as `lambda stack: int(driver.count_tokens(stack))`; they are estimated
            from the bytes unless given.

    Attributes:
        stack: The conversation, without the agent's own instructions. It may be changed between runs.

    Raises:
        ConfigurationError: If a bound is no whole number from 1, or the conversation is none.
    """

    def __init__(
        self,
        stack: PromptStack | Iterable[Message] = (),
        *,
        max_turns: int | None = None,
        max_tokens: int | None = None,
        count: Callable[[PromptStack], int] | None = None,
    ) -> None:
        self.stack = _stack(stack)
        self.max_turns = _bound("max_turns", max_turns)
        self.max_tokens = _bound("max_tokens", max_tokens)
        if count is not None and not callable(count):
            raise ConfigurationError(f"count is {a_kind(count)}; give a function that counts a stack's tokens")
        self.count = count
        self._system: str | None = None
        self._lock = threading.RLock()

    @property
    def messages(self) -> list[Message]:
        """The messages; an ordinary list."""
        return self.stack.messages

    @property
    def turns(self) -> int:
        """The number of exchanges."""
        return len(_beginnings(self.messages))

    @property
    def tokens(self) -> int:
        """The number of tokens, counted or estimated."""
        return self._tokens(self.messages)

    def recall(self, system: str | None = None) -> tuple[Message, ...]:
        """Returns what is remembered, within the budget.

        Args:
            system: The instructions it will stand behind: reasoning that came under others is left out.
        """
        with self._lock:
            before, self._system = self._system, system or ""
            if before not in (None, self._system):
                self._forget_reasoning()
            self.trim()
            return tuple(self.messages)

    def add(self, messages: Sequence[Message], *, after: Sequence[Message] | None = None) -> None:
        """Adds an exchange.

        Args:
            messages: Its messages, in order.
            after: What was remembered when it began. Where that has changed since, the reasoning in it is left out.
        """
        with self._lock:
            now = self.messages
            if after is not None and not _are_same(now, after):
                messages = PromptStack(messages).without_reasoning_after(BEFORE_ALL).messages
            now.extend(messages)
            if self.count is None:  # one of the caller's may fail or wait: it is asked when the next run begins
                self.trim()

    def trim(self) -> int:
        """Forgets the oldest exchanges until the budget is kept; returns how many messages went."""
        with self._lock:
            messages = self.messages
            cut = self._cut(messages)
            if cut == 0:
                return 0
            kept = [each for each in messages[:cut] if each.is_system()] + messages[cut:]
            gone = len(messages) - len(kept)
            messages[:] = kept
            self._forget_reasoning()
            return gone

    def _cut(self, messages: Sequence[Message]) -> int:
        """Where what is kept begins."""
        starts = _beginnings(messages)
        if not starts or (self.max_turns is None and self.max_tokens is None):
            return 0
        first = 0 if self.max_turns is None else max(0, len(starts) - self.max_turns)
        if self.max_tokens is not None:
            first = self._first_within(messages, starts, first)
        return starts[first] if first else 0

    def _first_within(self, messages: Sequence[Message], starts: Sequence[int], first: int) -> int:
        """The first exchange from which on everything is within the bound of tokens; the last one at the latest."""
        assert self.max_tokens is not None
        last, middle = len(starts) - 1, first  # as a rule there is room for everything
        while first < last:  # the more is left out the fewer tokens: a binary search asks the counter seldom
            kept = [m for m in messages[: starts[middle]] if m.is_system()] if middle else messages[: starts[0]]
            if self._tokens([*kept, *messages[starts[middle] :]]) <= self.max_tokens:
                last = middle
            else:
                first = middle + 1
            middle = (first + last) // 2
        return first

    def _tokens(self, messages: Sequence[Message]) -> int:
        if self.count is not None:
            return _counted(self.count(PromptStack(messages))) if messages else 0
        return tokens_in(msgspec.to_builtins(list(messages)))

    def _forget_reasoning(self) -> None:
        self.messages[:] = PromptStack(self.messages).without_reasoning_after(BEFORE_ALL).messages

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self.messages.clear()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the conversation as JSON, readable for its owner only; an earlier file is whole until the new one is.

        Raises:
            OSError: If the file cannot be written.
        """
        target = Path(path)
        with self._lock:
            text = self.stack.to_json()
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], **bounds: Any) -> Self:
        """Reads what `save` wrote.

        Args:
            path: The file.
            **bounds: `max_turns`, `max_tokens`, `count`.

        Raises:
            OSError: If the file cannot be read.
            ConversionError: If it holds no conversation.
        """
        return cls(PromptStack.from_json(Path(path).read_bytes()), **bounds)

    def __getstate__(self) -> dict[str, Any]:
        """A copy, deep or pickled, has a lock of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Returns the number of messages."""
        return len(self.messages)

    def __bool__(self) -> bool:
        """An empty memory is one too."""
        return True

    def __repr__(self) -> str:
        """Shows counts, not texts."""
        bounds = {"max_turns": self.max_turns, "max_tokens": self.max_tokens}
        shown = "".join([f", {name}={value}" for name, value in bounds.items() if value is not None])
        return f"ConversationMemory({self.turns} turns, {len(self)} messages{shown})"


def _stack(given: Any) -> PromptStack:
    if isinstance(given, PromptStack):
        return given
    messages = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else None
    if messages is None or not all([isinstance(message, Message) for message in messages]):
        kinds = "a PromptStack or messages (PromptStack.from_openai reads OpenAI's format)"
        raise ConfigurationError(f"a conversation cannot be made of this {type(given).__name__}; give {kinds}")
    return PromptStack(messages)


def _counted(tokens: Any) -> int:
    try:
        return int(tokens)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(f"count gave {a_kind(tokens)}; it has to return a number of tokens") from None


def _bound(name: str, value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ConfigurationError(f"{name} is {value!r}; it has to be a whole number from 1, or None")
    return value


def _are_same(messages: Sequence[Message], others: Sequence[Message]) -> bool:
    return len(messages) == len(others) and all([a is b for a, b in zip(messages, others, strict=True)])


def _beginnings(messages: Sequence[Message]) -> list[int]:
    """Where exchanges begin: at a message of the user that answers no call, where no earlier call is answered later."""
    called: dict[str, int] = {}
    blocked = [0] * (len(messages) + 1)  # +1 where a span between a call and its result begins, -1 behind its end
    for place, message in enumerate(messages):
        for call in calls_of(message):
            called[call.tag] = place
        for block in message.content:
            if isinstance(block, ActionResultMessageContent) and block.tag in called:
                blocked[called[block.tag] + 1] += 1
                blocked[place + 1] -= 1
    found, inside = [], 0
    for place, message in enumerate(messages):
        inside += blocked[place]
        if inside or not message.is_user():
            continue
        if not any([isinstance(block, ActionResultMessageContent) for block in message.content]):
            found.append(place)
    return found
