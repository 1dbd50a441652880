"""The conversations of this kernel: which cell asked what, what is sent along, and what was spent.

What must live here: the rules of history. A conversation is a list of turns, keyed by the cells that asked; the
conversation itself is never sent, only what stands before a question and may be sent. Nothing here asks anybody, and
nothing is shown.

`llmneutral.widgets.session` is this module, and it answers for the session of the moment: `session.last`,
`session.conversation()`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from llmneutral_widgets.cells import Key, Run
from llmneutral_widgets.exchange import Exchange, Exchanges, new_id, tool_record, usage_rows
from llmneutral_widgets.lines.options import OptionError, nearest
from llmneutral_widgets.lines.prompt_line import STACK
from llmneutral_widgets.places import Place, turn_of, without_begun
from llmneutral_widgets.pricing import OwnPrices, priced
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.views.answer import maker

DEFAULT = "default"
_RANGE = re.compile(r"-?\d*:-?\d*")
_MOST_ROWS = 20_000
_OWN = ("tools", "output_schema", "settings", "read_from")
"""What a PromptStack holds beside its messages."""


class Turn(msgspec.Struct):
    """One exchange in its conversation.

    Attributes:
        exchange: The question and its answer.
        key: The cell that asked; None where cells have no ids.
        is_stale: Whether something before it was asked anew since.
        is_brought: Whether it was loaded: no cell of this session asked it.
    """

    exchange: Exchange
    key: Key | None = None
    is_stale: bool = False
    is_brought: bool = False

    @property
    def messages(self) -> list[Any]:
        """Its messages in order, the answer last."""
        return self.exchange.turn

    @property
    def is_loaded(self) -> bool:
        """Whether it came as a whole stack, whose instructions are part of it and stay where they stand."""
        return bool(self.exchange.history.get("loaded"))

    @property
    def said(self) -> list[Any]:
        """Its messages without the system text that `-s` has set: that one stands at the head of the conversation."""
        return [message for message in self.messages if self.is_loaded or not message.is_system()]


class Sent(NamedTuple):
    """What a question brings to the provider.

    Attributes:
        messages: What is sent: instructions that lead a loaded stack, system text, earlier messages, the question.
        added: What this turn adds to the chain of exchanges.
        parent: Id of the last exchange before it that may be sent along, whether it is or not; None if the conversation
            begins here. With the number of earlier messages it tells a reader of the file what was sent.
        earlier: How many earlier messages go along.
        replaced: Whether the question replaces a system text that was set before.
        place: Where it stands; None where it stands in no conversation.
    """

    messages: tuple[Any, ...]
    added: tuple[Any, ...]
    parent: str | None
    earlier: int
    replaced: bool
    place: Place | None = None


def is_sent(exchange: Exchange) -> bool:
    """Whether an exchange goes along with later questions: if it is whole, refused, or interrupted with a part.

    What tools have done when it was interrupted is such a part.
    """
    if exchange.status == "interrupted":
        answer = exchange.message
        return bool(exchange.rounds) or (answer is not None and bool(answer.content))
    return exchange.status in ("complete", "refused")


class Conversation:
    """The turns of one conversation, in the order of the notebook's first asking.

    Attributes:
        followers: Called, from any thread, when a cell or an exchange has ended that may have changed it.
    """

    def __init__(self, name: str = DEFAULT) -> None:
        self.name = name
        self.turns: list[Turn] = []
        self._latest = 0  # the highest number of a turn so far, of those that were taken out too
        self.followers: list[Callable[[], None]] = []

    def tell(self) -> None:
        """Lets those follow who show it."""
        for follow in [*self.followers]:
            follow()

    def before(self, key: Key | None) -> list[Turn]:
        """Returns the turns that stand before a question: all of them, if it is a new one."""
        at = self._place(key)
        return self.turns if at is None else self.turns[:at]

    def plan(self, question: Any, *, key: Key | None, system: str | None, last: int | None, new: bool) -> Sent:
        """Returns what a question brings to the provider.

        Args:
            question: The user's message.
            key: The cell that asks.
            system: The system text that is set; None leaves what there is, "" removes it.
            last: How many earlier exchanges go along; None is all.
            new: Whether the conversation begins anew.
        """
        import llmneutral

        before = [] if new else self.before(key)
        chain = [turn for turn in before if is_sent(turn.exchange)]
        along = chain if last is None else chain[-last:] if last else []
        lead = _lead(chain)
        told = [message for turn in along for message in turn.said]
        told = told[len(lead) if along[:1] == chain[:1] else 0 :]
        standing, saved = _standing(before), _standing(chain)
        wanted = standing if system is None else llmneutral.Message("system", (llmneutral.TextMessageContent(system),))
        frame = [wanted] if wanted is not None and wanted.to_text() else []
        is_news = wanted != saved and bool(frame or saved is not None)
        return Sent(
            messages=(*lead, *frame, *told, question),
            added=(*([wanted] if is_news else []), question),
            parent=chain[-1].exchange.id if chain else None,
            earlier=len([message for message in told if not message.is_system()]),
            replaced=system is not None and standing is not None and bool(standing.to_text()) and wanted != standing,
            place=self._spot(None, []) if new else self._spot(self._place(key), before),
        )

    def _spot(self, at: int | None, before: Sequence[Turn]) -> Place:
        """Where the question of a turn, or a new one, stands; what was loaded is kept by the first that is asked."""
        turns = [] if not before and at is None else self.turns
        own = [turn for turn in turns if not turn.is_brought]
        keepers = [turn for turn in own if "begun" in turn.exchange.history]
        is_keeper = not keepers or (at is not None and keepers[0] is turns[at])
        number = 0 if at is None else turn_of(turns[at].exchange)
        if at is not None and turns[at] is turns[-1] and number < self._latest:
            number = 0  # those after it were taken out: a new number tells that they stand before it no more
        return Place(
            part=own[0].exchange.history.get("part") if own else None,
            turn=number or self._latest + 1,
            after=turn_of(before[-1].exchange) if before and not before[-1].is_brought else 0,
            begun=tuple([turn.exchange for turn in turns if turn.is_brought]) if is_keeper else (),
        )

    def put(self, key: Key | None, exchange: Exchange) -> None:
        """Adds an exchange, or puts it in the place of the one its cell had made; what stands after that is stale."""
        for turn in self.turns:  # only the newest recording is kept: they are long
            if turn.exchange.deltas or turn.exchange.requests:
                turn.exchange = msgspec.structs.replace(turn.exchange, deltas=(), lost_chunks=0, requests=())
        self._latest = max(self._latest, turn_of(exchange))
        at = self._place(key)
        if at is None:
            self.turns.append(Turn(exchange, key))
            return
        self.turns[at] = Turn(exchange, key)
        for turn in self.turns[at + 1 :]:
            turn.is_stale = True

    def load(self, stack: Any) -> None:
        """Takes a stack in the place of what there is: it is one turn, with its tools, answer's form and settings."""
        import llmneutral
        from llmneutral_widgets.bundles import schema_of

        opening = Exchange(
            id=new_id(),
            status="complete",
            name=self.name,
            history={"loaded": True},
            settings=dict(stack.settings),
            messages=tuple(stack.messages),
            tools=[tool_record(tool) for tool in stack.tools],
            output_schema=schema_of(stack),
            stack=llmneutral.PromptStack(stack.messages, **_own_of(stack)),
        )
        self.turns = [Turn(opening, is_brought=True)]

    def frame(self) -> dict[str, Any]:
        """Returns what a loaded stack brought beside its messages, as keywords of a PromptStack; options win over it.

        Of exchanges that a file kept, tools are known by no more than their names, and are no part of it.
        """
        opening = next((turn.exchange for turn in self.turns if turn.is_loaded), None)
        if opening is None:
            return {}
        if opening.stack is None:
            return {"output_schema": opening.output_schema, "settings": dict(opening.settings)}
        return _own_of(opening.stack)

    def resume(self, exchanges: Iterable[Exchange]) -> None:
        """Takes exchanges of a file in the place of what there is; no cell of this notebook made them."""
        told = [
            msgspec.structs.replace(without_begun(each), name=self.name, messages=each.question, rounds=each.later)
            for each in exchanges
        ]
        self.turns = [Turn(exchange, is_brought=True) for exchange in told]

    def forget(self, cell_id: str, kept: Iterable[Key]) -> None:
        """Takes out what a cell had asked and asks no more; what was asked after that is stale."""
        keys = set(kept)
        left: list[Turn] = []
        is_gone = False
        for turn in self.turns:
            if turn.key is None or turn.key.cell_id != cell_id or turn.key in keys:
                turn.is_stale = turn.is_stale or is_gone
                left.append(turn)
            else:
                is_gone = is_gone or is_sent(turn.exchange)
        self.turns = left

    def drop(self, number: int) -> int:
        """Takes out the last exchanges, and returns how many that were."""
        gone = self.turns[-number:] if number > 0 else []
        self.turns = self.turns[: len(self.turns) - len(gone)]
        return len(gone)

    def stack(self, *, is_request: bool = False) -> Any:
        """Returns the conversation as a PromptStack, with tools and settings of a loaded stack.

        Args:
            is_request: Only what would be sent, up to the last question, and with the tools, the form of the answer and
                the settings that this had; else everything, what failed too. A stack that was loaded, and goes on with
                nothing yet, is the request itself.
        """
        import llmneutral

        if not is_request:
            return llmneutral.PromptStack([message for message, _ in _laid(self.turns)], **self.frame())
        kept = self.kept()
        sent = [turn for turn in self.turns if is_sent(turn.exchange)]
        while kept.messages and kept.messages[-1].is_assistant() and not sent[-1].is_loaded:
            kept.messages.pop()
        asked = self.turns[-1].exchange.stack if self.turns else None
        return kept if asked is None else llmneutral.PromptStack(kept.messages, **_own_of(asked))

    def kept(self) -> Any:
        """Returns what goes along with the next question, as a PromptStack."""
        import llmneutral

        turns = [turn for turn in self.turns if is_sent(turn.exchange)]
        return llmneutral.PromptStack([message for message, _ in _laid(turns)], **self.frame())

    def marks(self) -> dict[int, str]:
        """Returns what is to be said of messages: that they are stale, or failed and are not sent."""
        found: dict[int, str] = {}
        laid = _laid(self.turns)
        for number, (_, turn) in enumerate(laid):
            if turn is None:
                continue
            said = [] if is_sent(turn.exchange) else [f"{turn.exchange.status}, not sent"]
            is_cut = turn.exchange.status == "interrupted" and _is_last(laid, number)
            said += ["interrupted"] if is_cut and not said else []
            said += ["stale"] if turn.is_stale else []
            if said:
                found[number] = ", ".join(said)
        return found

    def tokens(self) -> dict[int, int]:
        """Returns the tokens of each answer whose provider told them, by the number of its message."""
        told = {number: turn.exchange.output_tokens for number, turn in self._answers()}
        return {number: count for number, count in told.items() if count is not None}

    def makers(self) -> dict[int, str]:
        """Returns who gave each answer, by the number of its message."""
        return {number: _maker(turn.exchange) for number, turn in self._answers() if turn.exchange.provider}

    def _answers(self) -> Iterator[tuple[int, Turn]]:
        laid = _laid(self.turns)
        for number, (message, turn) in enumerate(laid):
            if turn is not None and _is_last(laid, number) and message.is_assistant():
                yield number, turn

    def _place(self, key: Key | None) -> int | None:
        if key is None:
            return None
        return next((at for at, turn in enumerate(self.turns) if turn.key == key), None)


def _maker(exchange: Exchange) -> str:
    return maker({"provider": exchange.provider, "model": exchange.model, "answered_by": exchange.answered_by})


def _standing(turns: Sequence[Turn]) -> Any:
    """The system text that `-s` has set: the last one; None where it has set none."""
    told = [message for turn in turns if not turn.is_loaded for message in turn.messages]
    return next((message for message in reversed(told) if message.is_system()), None)


def _lead(turns: Sequence[Turn]) -> list[Any]:
    """The instructions that lead a loaded stack: they stand however little of the history is sent."""
    return list(takewhile(lambda message: message.is_system(), turns[0].said)) if turns else []


def _laid(turns: Sequence[Turn]) -> list[tuple[Any, Turn | None]]:
    """The messages of turns in the order in which they are sent, each with its turn; that of `-s` has none."""
    lead, standing = len(_lead(turns)), _standing(turns)
    told: list[tuple[Any, Turn | None]] = [(message, turn) for turn in turns for message in turn.said]
    frame = [(standing, None)] if standing is not None and standing.to_text() else []
    return [*told[:lead], *frame, *told[lead:]]


def _is_last(laid: Sequence[tuple[Any, Turn | None]], number: int) -> bool:
    """Whether a message is the last one of its turn."""
    return number + 1 == len(laid) or laid[number + 1][1] is not laid[number][1]


def laid(exchanges: Iterable[Exchange]) -> list[tuple[Any, Exchange | None]]:
    """Returns the messages of exchanges in the order in which they are sent, each with its exchange, if it has one."""
    told = _laid([Turn(exchange) for exchange in exchanges])
    return [(message, None if turn is None else turn.exchange) for message, turn in told]


def in_order(exchanges: Iterable[Exchange]) -> list[Any]:
    """Returns the messages of exchanges in the order in which they are sent, answers included."""
    return [message for message, _ in laid(exchanges)]


def _own_of(stack: Any) -> dict[str, Any]:
    return {name: getattr(stack, name) for name in _OWN}


class Session:
    """Everything this kernel has asked.

    Attributes:
        conversations: By name.
        current: Name of the one that questions go to.
        providers: Who can be asked.
        last: The last exchange; None before the first.
        results: The last exchanges, several where several were asked at once.
        rows: One for each call, with the keys of `views.usage.COLUMNS`, and `prices`, where its cost is from.
        prices: The user's own prices (`%config PromptMagics.prices`).
    """

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {DEFAULT: Conversation()}
        self.current = DEFAULT
        self.providers = Providers()
        self.results = Exchanges()
        self.rows: list[dict[str, Any]] = []
        self.prices = OwnPrices()

    def priced_rows(self) -> tuple[list[dict[str, Any]], str]:
        """Returns the rows with what each call cost, and in words where the prices are from."""
        return priced(self.rows, self.providers, self.prices)

    @property
    def last(self) -> Exchange | None:
        """The last exchange."""
        return self.results[0] if self.results else None

    def conversation(self, name: str | None = None) -> Conversation:
        """Returns a conversation, the current one by default; a new name makes an empty one.

        Raises:
            OptionError: If `%stack` could never show one of this name.
        """
        chosen = name or self.current
        if chosen not in self.conversations:
            if chosen in STACK.commands or _RANGE.fullmatch(chosen):
                raise OptionError(f"no conversation can be called {chosen}: %stack {chosen} means something else")
            self.conversations[chosen] = Conversation(chosen)
        return self.conversations[chosen]

    def known(self, name: str | None = None) -> Conversation:
        """Returns a conversation that is there.

        Raises:
            OptionError: If it is not.
        """
        if name is not None and name not in self.conversations:
            raise OptionError(f"there is no conversation {name}; {nearest(name, self.conversations)}")
        return self.conversation(name)

    def record(self, key: Key | None, exchanges: Sequence[Exchange], *, new: bool = False) -> None:
        """Keeps the exchanges of one question: the first goes on with the conversation, all were paid for."""
        first = exchanges[0]
        conversation = self.conversation(first.name)
        if new:
            conversation.turns.clear()
        conversation.put(key, first)
        self.results = Exchanges(exchanges)
        for exchange in exchanges:
            self.rows += usage_rows(exchange.to_json())
        del self.rows[:-_MOST_ROWS]

    def end_cell(self, run: Run) -> None:
        """Takes out what a cell asked when it last ran, and does not ask any more."""
        if run.cell_id is None:
            return
        for name, conversation in self.conversations.items():
            conversation.forget(run.cell_id, [key for made, key in run.made if made == name])

    def tell(self) -> None:
        """Lets those follow who show a conversation."""
        for conversation in [*self.conversations.values()]:
            conversation.tell()

    def find(self, word: str) -> Exchange:
        """Returns the exchange of a cell: by the number of its execution, its id, or the exchange's own.

        Raises:
            OptionError: If there is none.
        """
        turns = [turn for conversation in self.conversations.values() for turn in conversation.turns]
        for turn in reversed(turns):
            exchange = turn.exchange
            if word in (exchange.id, exchange.cell_id) or word.strip("[]") == str(exchange.execution_count):
                return exchange
        raise OptionError(f"no exchange was made by the cell {word}; give the number of its execution")


class _Kernel:
    """The session of this kernel, made when it is first needed."""

    def __init__(self) -> None:
        self.session: Session | None = None


_KERNEL = _Kernel()


def current() -> Session:
    """Returns the session of this kernel."""
    if _KERNEL.session is None:
        _KERNEL.session = Session()
    return _KERNEL.session


def begun() -> Session | None:
    """Returns the session, if there is one already."""
    return _KERNEL.session


def close() -> None:
    """Ends the session: its conversations are forgotten."""
    session, _KERNEL.session = _KERNEL.session, None
    if session is not None:
        session.providers.close()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(current(), name)


def summary(conversations: Mapping[str, Conversation], chosen: str) -> list[tuple[str, int, int, bool]]:
    """Returns name, turns, messages of each conversation, and whether it is the current one."""
    return [
        (name, len(found.turns), sum([len(turn.messages) for turn in found.turns]), name == chosen)
        for name, found in conversations.items()
    ]
