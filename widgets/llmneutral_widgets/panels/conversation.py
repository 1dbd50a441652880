"""Talking to whoever `Defaults` names at the moment of sending: questions, answers as they come, Send and Stop."""

from __future__ import annotations

import contextlib
import json
import threading
from asyncio import get_running_loop
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from typing import Any

from llmneutral_widgets import limits, session
from llmneutral_widgets.asking import Outcome, Question, ask_until
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.exchange import MIME, SCHEMA, Exchange
from llmneutral_widgets.failures import brief, cleaned
from llmneutral_widgets.lines.options import a_kind
from llmneutral_widgets.panel_sink import PanelSink, dispose
from llmneutral_widgets.panels.base import Panel, button, piece, row
from llmneutral_widgets.panels.choosing import ProviderPicker
from llmneutral_widgets.panels.payloads import PayloadView
from llmneutral_widgets.panels.sources import Source, conversation_of, stack_of
from llmneutral_widgets.panels.spending import UsageView
from llmneutral_widgets.panels.stacks import StackView
from llmneutral_widgets.panels.streams import DeltaView
from llmneutral_widgets.panels.talk import Talk
from llmneutral_widgets.views.answer import maker
from llmneutral_widgets.views.page import count, part, tag
from llmneutral_widgets.views.transcript import SECTIONS, transcript_page

_EDIT = 0.2
"""Seconds that an edit is waited for when Send is pressed."""
_ROOM = 1024 * 1024
"""Characters of exchanges that are saved below a panel: each answer writes them anew."""
WAIT = "One moment …"
HINT = (
    "Enter makes a new line; Tab, then Enter sends. While a cell runs, the buttons may answer only when it has ended."
)


class Conversation(Panel):
    """A conversation to go on with, whoever answers.

    The answer comes from what `Defaults` has at the moment of sending, into a thread of its own; Stop closes the stream
    and keeps what has come. What fails is told in the status line, and the question stays in its field. Everything is
    kept in the session: `%stack`, `%payload` and `%usage` know of it.

    Attributes:
        picker: Who answers.
        question: The field for the question.
        send_button: Asks.
        stop_button: Stops the answer; pressed without one, it does nothing.
        new_button: Empties the conversation.
        name: Name of the conversation in the session.

    Args:
        stack: A `PromptStack` to begin with: its messages, tools, form of the answer and settings; an `Exchange`, after
            whose answer it goes on; or the name of a conversation of this session, which is made if there is none;
            None is the current one.
        run_tools: Whether the tools of the stack are run when they are called, as by `%%prompt --run-tools`.

    Raises:
        TypeError: If `stack` is none of them.
    """

    @brief
    def __init__(self, stack: Source = None, *, run_tools: bool = False) -> None:
        import ipywidgets

        super().__init__(*SECTIONS, "stack", "side", "deltas", "replay", "usage")
        self._conversation, self._frame = _opened(stack)
        self._run_tools = run_tools
        self._answering: threading.Thread | None = None
        self._stop = threading.Event()
        self._exchanges: list[Exchange] = []
        self.picker = ProviderPicker(session.current().providers)
        # Not while it is typed: a press of Send would overtake the last letters, when the kernel is busy.
        self.question = ipywidgets.Textarea(
            description="Question",
            rows=3,
            placeholder="What do you want to know?",
            layout={"width": "auto"},
            continuous_update=False,
        )
        self.question.style.description_width = "5.5em"
        send = self.guarded(self.send)
        self.send_button = button("Send", lambda _: _when_heard(send), tip="Send the question", is_main=True)
        self.stop_button = button(
            "Stop", self.guarded(lambda _: self.stop()), tip="Stop the answer, keep what has come"
        )
        self.new_button = button(
            "New", self.guarded(lambda _: self.begin()), tip="Empty the conversation and begin anew"
        )
        self.stop_button.disabled = True
        self._talk = Talk(self, self._conversation)
        self._tabs = _Tabs(self)
        self._build()
        self._talk.begin()
        self._follow = self.guarded(self.follow)
        self._conversation.followers.append(self._follow)

    def _build(self) -> None:
        """Puts the pieces in the order in which they are read, and reached by Tab."""
        import ipywidgets

        buttons = row(self.send_button, self.stop_button, self.new_button)
        hint = piece(str(part(tag("p", tag("small", HINT)))))
        first = ipywidgets.VBox([self.picker, self._talk.box, self.question, buttons, self.status, hint])
        conversation = self._conversation
        self._tabs.fill(
            Talk=lambda: first,
            Stack=lambda: StackView(conversation),
            Payloads=lambda: PayloadView(conversation),
            Deltas=lambda: DeltaView(conversation),
            Usage=UsageView,
        )
        self.children = [self._style, self._tabs.box]

    @property
    def name(self) -> str:
        """Name of the conversation in the session."""
        return str(self._conversation.name)

    @property
    def is_answering(self) -> bool:
        """Whether an answer is coming."""
        return self._answering is not None and self._answering.is_alive()

    def close(self) -> None:
        """Stops an answer that is coming, and takes the panel off the page; the conversation stays in the session."""
        self._stop.set()
        if self._follow in self._conversation.followers:  # not yet closed
            self._conversation.followers.remove(self._follow)
        self.picker.close()
        self._talk.close()
        self._tabs.close()
        super().close()

    # ------------------------------------------------------------------------------------------------------------------
    # Acting

    @brief
    def send(self, text: str | None = None) -> None:
        """Asks; returns at once, and the answer comes into the panel.

        Args:
            text: The question; by default what stands in its field.

        Raises:
            LLMNeutralError: If nobody can be asked.
            TypeError: If the question is no text.
            RuntimeError: If the panel is closed.
        """
        given = self.question.value if text is None else text
        if not isinstance(given, str):
            raise TypeError(f"a question is a text, not {a_kind(given)}")
        if self.is_closed:
            raise RuntimeError(f"this panel is closed; widgets.Conversation({self.name!r}) goes on with it")
        if self.is_answering:
            self.say("An answer is coming: Stop ends it.")
            return
        if not given.strip():
            self.say("Type a question first.")
            return
        asked = given.strip("\n").rstrip()  # as of a cell: an Enter at its end is no part of a question
        notices: list[str] = _rejoined(self._conversation)
        with _noticing(notices):
            question = self._ask(asked)
        self._stop = threading.Event()
        self.last_error = None
        self._busy(True)
        self.say("; ".join([*notices, f"answering: {maker(question.asked.told())}"]))
        box = self._talk.ask(asked)
        # A copy of the context: what a thread shows has to know which cell it belongs to.
        self._answering = threading.Thread(
            target=copy_context().run, args=(self._answer, question, PanelSink(box), self._stop, given), daemon=True
        )
        self._answering.start()

    def stop(self) -> None:
        """Stops the answer that is coming; what has come is kept."""
        if self.is_answering:
            self._stop.set()
            self.say("stopping …")

    def begin(self) -> None:
        """Empties the conversation."""
        if self.is_answering:
            self.say("An answer is coming: Stop ends it.")
            return
        self._conversation.turns.clear()
        self._exchanges = []
        self._talk.begin()
        self.keep()
        self._tabs.refresh()
        self._conversation.tell()
        self.say("The conversation is empty.")

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the answer that is coming; returns whether there is none any more.

        Args:
            timeout: Seconds; None is as long as it takes.
        """
        if self._answering is not None:
            self._answering.join(timeout)
        return not self.is_answering

    # ------------------------------------------------------------------------------------------------------------------
    # Asking

    def _ask(self, text: str) -> Question:
        import llmneutral

        asked = session.current().providers.asked(None, None, {})
        message = llmneutral.Message("user", (llmneutral.TextMessageContent(text),))
        sent = self._conversation.plan(message, key=None, system=None, last=None, new=False)
        stack = llmneutral.PromptStack(sent.messages, **{**self._conversation.frame(), **self._frame})
        return Question(
            asked=asked,
            stack=stack,
            sent=sent,
            conversation=self.name,
            run_tools=self._run_tools and bool(stack.tools),
            prices=session.current().prices,
        )

    def _answer(self, question: Question, sink: PanelSink, stop: threading.Event, text: str) -> None:
        """Runs in the thread; nothing is raised there."""
        try:
            outcome = ask_until(question, sink, stop)
        except Exception as error:  # noqa: BLE001  # whatever it is, it belongs into the panel
            session.current().providers.advise(error, [question.asked])
            sink.abort(None, error)
            outcome = Outcome(None, error)
        try:
            self._end(outcome, text)
        except Exception as error:  # noqa: BLE001  # as above
            self.tell_error(cleaned(error))
        finally:
            self._busy(False)

    def _end(self, outcome: Outcome, text: str) -> None:
        exchange, error = outcome.exchange, outcome.error
        if exchange is not None:
            session.current().record(None, [exchange])
            self._exchanges.append(exchange)
        self._talk.end(exchange)
        if isinstance(error, Exception):
            self.tell_error(cleaned(error))  # the question stays in its field, to be sent again
        elif exchange is not None:
            self.say(_ended(exchange, runs_tools=self._run_tools))
            if self.question.value == text:
                self.question.value = ""
        self.keep()
        self._tabs.refresh()
        self._conversation.tell()

    def _busy(self, is_busy: bool) -> None:
        self.send_button.disabled = self.new_button.disabled = self.question.disabled = is_busy
        self.stop_button.disabled = not is_busy

    # ------------------------------------------------------------------------------------------------------------------
    # Showing

    def follow(self) -> None:
        """Shows, and saves, what the conversation holds by now: cells and other panels may go on with it, too.

        It is called when one of these has ended; nothing has to be called by hand.
        """
        if self._talk.follow():
            self.keep()
            self._tabs.refresh()

    def static(self) -> Bundle:
        """Returns the transcript; the exchanges that were made here are saved with it."""
        items = self._talk.items()
        text = f"Conversation {self.name}: {count(len(items), 'message')}"
        data: dict[str, Any] = {"text/html": str(transcript_page(items, limits=limits.current())), "text/plain": text}
        if not self._exchanges:
            return Bundle(data)
        newest, *others = _newest(self._exchanges)
        data[MIME] = {**newest, "others": others}
        keys = {"schema": SCHEMA, "exchange_id": newest["id"], "cell_id": newest["cell_id"]}
        return Bundle(data, {"llmneutral": keys})


@contextlib.contextmanager
def _noticing(notices: list[str]) -> Iterator[None]:
    """Collects what the library has to say while this lasts (that the embedded model answers, say)."""
    import llmneutral

    defaults, before = llmneutral.Defaults, llmneutral.Defaults.on_notice
    defaults.on_notice = notices.append
    try:
        yield
    finally:
        defaults.on_notice = before


class _Tabs:
    """The same conversation in several views; each is made when it is first opened, and read again when it is shown.

    Attributes:
        box: The widget.

    Args:
        panel: Tells what fails.
    """

    def __init__(self, panel: Panel) -> None:
        import ipywidgets

        self.box = ipywidgets.Tab()
        self.box.add_class("llmn-inset")
        self.box.observe(panel.guarded(lambda _: self.refresh()), "selected_index")
        self._makers: list[Callable[[], Any]] = []
        self._views: dict[int, Any] = {}

    def fill(self, **makers: Callable[[], Any]) -> None:
        """Makes the first tab, and places for the others, under the names of what makes them."""
        import ipywidgets

        self._makers = [*makers.values()]
        first, *others = self._makers
        self.box.children = [first(), *[ipywidgets.VBox() for _ in others]]
        self.box.titles = tuple(makers)  # once there are children: titles of what is not there are dropped

    def refresh(self) -> None:
        """Brings the open tab up to date; the others are when they are opened."""
        at = self.box.selected_index or 0
        if at in self._views:
            self._views[at].refresh()
        elif at:
            waiting = piece(str(part(tag("p", tag("small", WAIT)))))
            self.box.children[at].children = [waiting]  # seen at once; the view may take a second
            made: list[Any] = []
            try:
                self._views[at] = self._makers[at]()
                made = [self._views[at]]
            finally:
                self.box.children[at].children = made
                dispose(waiting)

    def close(self) -> None:
        """Takes the views off the page."""
        for view in self._views.values():
            view.close()


def _opened(source: Source) -> tuple[session.Conversation, dict[str, Any]]:
    """The conversation of the session that a panel goes on with, and what every request takes along."""
    current = session.current()
    if isinstance(source, str):
        return current.conversation(source), {}
    found = conversation_of(source)
    if found is not None:
        return found, {}
    stack = stack_of(source)
    number = next(n for n in range(1, len(current.conversations) + 2) if f"panel-{n}" not in current.conversations)
    made = current.conversation(f"panel-{number}")
    if stack.messages:
        made.load(stack)
    return made, {"tools": stack.tools, "output_schema": stack.output_schema, "settings": dict(stack.settings)}


def _when_heard(act: Callable[[], None]) -> None:
    """Acts when the last edit of a field was heard: a front end holds it back while an earlier one is under way."""
    try:
        loop = get_running_loop()
    except RuntimeError:  # nobody could hear anything meanwhile
        act()
    else:
        loop.call_later(_EDIT, act)


def _rejoined(mine: session.Conversation) -> list[str]:
    """Puts a conversation into the session where that is a new one, and returns what is to be told of it.

    The extension was loaded anew: what is asked here would be kept in another conversation of the same name.
    """
    known = session.current().conversations
    there = known.get(mine.name)
    if there is mine:
        return []
    before = mine.name
    if there is not None and there.turns:
        mine.name = next(name for n in range(2, len(known) + 3) if (name := f"{before}-{n}") not in known)
    known[mine.name] = mine
    return [] if mine.name == before else [f"goes on as the conversation {mine.name}"]


def _newest(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """The exchanges as they are saved, the newest first, as many as one output has room for."""
    kept: list[dict[str, Any]] = []
    room = _ROOM
    for exchange in reversed(exchanges):
        record = exchange.to_json()
        room -= len(json.dumps(record))
        if room < 0 and kept:
            break
        kept.append(record)
    return kept


def _ended(exchange: Exchange, *, runs_tools: bool) -> str:
    """How an answer ended, in a few words."""
    if exchange.status == "interrupted":
        return "stopped; what had come is kept"
    made = getattr(exchange.usage, "output_total", None)
    tokens = "" if made is None else f", {count(made, 'token')}"
    ended = "done" if exchange.status == "complete" else exchange.status
    return f"{ended}{tokens}{_not_run(exchange, runs_tools=runs_tools)}"


def _not_run(exchange: Exchange, *, runs_tools: bool) -> str:
    """What is to be told where an answer ends with calls: nobody has run them, and how that is done."""
    import llmneutral

    content = () if exchange.message is None else exchange.message.content
    called = dict.fromkeys([each.name for each in content if isinstance(each, llmneutral.ActionCallMessageContent)])
    if not called:
        return ""
    told = f"; {', '.join(called)} {'was' if len(called) == 1 else 'were'} called, and not run"
    return told if runs_tools else f"{told}: widgets.Conversation(stack, run_tools=True) runs the stack's functions"
