"""One run in progress: what it was given, what it may do, and what it has come to so far.

Nothing here waits or talks. The script of a run stands in `loop`, the runners that do what it says in `runners`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from llmneutral.agent.batch import Batch
from llmneutral.agent.memory import ConversationMemory
from llmneutral.agent.planning import Answered, Offer
from llmneutral.agent.result import AgentResult
from llmneutral.agent.running import Bounds
from llmneutral.convert.settings import tool_choice
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.call import info_of
from llmneutral.drivers.stopping import Stop
from llmneutral.errors import ToolLoopError
from llmneutral.events import (
    ErrorOccurredEvent,
    FinishPromptEvent,
    FinishRunEvent,
    Handle,
    InterruptedEvent,
    Publisher,
    StartRunEvent,
    new_id,
)
from llmneutral.ir.contents import ActionResultMessageContent
from llmneutral.ir.jsontext import JSONObject, plain_data
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse, Usage
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolAction

FORCING = ("required", "named")


class Limits(msgspec.Struct, frozen=True):
    """The bounds of a run.

    Attributes:
        max_steps: Most answers of the model.
        max_format_errors: Most answers in a row of which nothing could be read as a call.
        bounds: How calls are run.
    """

    max_steps: int = 20
    max_format_errors: int = 3
    bounds: Bounds = Bounds()


class Run:
    """One run of an agent.

    Args:
        driver: Who is asked, in all its steps.
        given: The messages of the input.
        offer: The tools.
        system: The agent's instructions.
        output_schema: The form the answer shall have.
        settings: Settings and options of each call.
        limits: The bounds.
        memory: What is remembered; None: nothing.

    Attributes:
        allowed: The tools that the answer in progress may call.
        history: What was remembered when it began.
        messages: What it adds to the conversation.
        answered: The calls that have their results.
        response: The last answer.
        coming: The stream of the answer that is coming in, where it is streamed.
        stopping: The wish to end it, of whoever holds its stream.
    """

    def __init__(
        self,
        driver: BasePromptDriver,
        given: Sequence[Message],
        offer: Offer,
        *,
        system: str | None = None,
        output_schema: Any = None,
        settings: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        memory: ConversationMemory | None = None,
    ) -> None:
        self.driver = driver
        self.given = tuple(given)
        self.offer = offer
        self.allowed = offer
        self.system = system
        self.output_schema = output_schema
        self.settings = dict(settings or {})
        self.limits = limits or Limits()
        self.memory = memory
        self.id = str(self.settings.pop("run_id", None) or driver.options.run_id or new_id("run"))
        self.history: tuple[Message, ...] = ()
        self.messages: list[Message] = []
        self.answered = Answered()
        self.response: NormalizedResponse | None = None
        self.coming: Any = None
        self.stopping = Stop()
        self.steps = 0
        self.format_errors = 0
        self.was_reminded = False
        self.open_calls: tuple[Any, ...] = ()
        self._batch: Batch | None = None
        self._actions: list[ToolAction] = []
        self._usages: list[Usage] = []
        self._done = 0  # the messages up to here are kept even if the run fails: their calls have been run
        self._kept = False
        self._over = False
        self._told: type | None = None
        meta = self.settings.get("meta", driver.options.meta)
        self.publisher = Publisher(
            driver.listeners,
            run_id=self.id,
            driver=type(driver).__name__,
            provider=driver.provider,
            api=driver.api_mode,
            model=self.model,
            meta=None if meta is None else dict(meta),
        )
        self._handles: list[Handle] = []

    @property
    def model(self) -> str | None:
        """The model that is asked for."""
        return self.settings.get("model") or self.driver.model

    @property
    def latest(self) -> NormalizedResponse | None:
        """The last answer, finished or as far as it has come."""
        came: NormalizedResponse | None = self.response if self.coming is None else self.coming.response
        return came

    # --- what is asked --------------------------------------------------------------------------

    def stack(self) -> PromptStack:
        """Returns the conversation as it goes to the driver."""
        system = [Message(Message.SYSTEM_ROLE, self.system)] if self.system else []  # type: ignore[arg-type]  # text is taken
        return PromptStack(
            [*system, *self.history, *self.messages], tools=self.offer.tools, output_schema=self.output_schema
        )

    def overrides(self) -> dict[str, Any]:
        """Returns the settings of the next call; what forces a call counts for the first one, or it would never end."""
        settings = {**self.settings, "run_id": self.id}
        if self.steps and _forces(settings.get("tool_choice")):
            del settings["tool_choice"]
        if self.steps and "tool_choice" not in settings and _forces(self.driver.settings.get("tool_choice")):
            settings["tool_choice"] = "auto"
        chosen = settings.get("tool_choice", self.driver.settings.get("tool_choice"))
        self.allowed = self.offer.within(None if chosen is None else tool_choice("tool_choice", chosen))
        return settings

    # --- as it goes on --------------------------------------------------------------------------

    def begin(self, history: Sequence[Message]) -> None:
        """The run begins, after what is remembered."""
        self.history = tuple(history)
        for kind in (ErrorOccurredEvent, InterruptedEvent, FinishPromptEvent):
            self._handles.append(self.driver.on(kind, partial(self._heard, kind)))
        if self.publisher.wants(StartRunEvent):
            settings = {name: plain_data(value) for name, value in self.settings.items() if _is_plain(value)}
            self.publisher.publish(StartRunEvent, input=_summary(self.given), settings=settings)

    def add(self, message: Message) -> None:
        """Adds a message to the conversation."""
        self.messages.append(message)
        self.answered.add(message)

    def heard(self, response: NormalizedResponse) -> None:
        """An answer came."""
        self.coming = None
        self.response = response
        self.steps += 1
        self._usages.append(response.usage)

    def acts(self, batch: Batch) -> None:
        """The calls of a turn are about to be run."""
        self._batch = batch

    def acted(self) -> list[ActionResultMessageContent]:
        """The calls of the turn have come to their end: adds their results, and returns them."""
        batch = self._batch
        assert batch is not None
        results = [result for result in batch.results if result is not None]
        if results:
            self.add(Message(Message.USER_ROLE, tuple(results)))
        self._batch = None
        self._done = len(self.messages)
        self._actions += batch.actions()
        self.open_calls = batch.handed_back
        return results

    # --- its end --------------------------------------------------------------------------------

    def finish(self) -> None:
        """The run came to its end."""
        if self.response is None or (self.response.error is None and self.response.complete):
            self._done = len(self.messages)
        self._keep()
        if self._told in (None, FinishPromptEvent):
            self._over = True
            result = self.result()
            usage = result.usage.to_dict()
            self.publisher.publish(FinishRunEvent, output=result.to_text(), usage=usage, steps=self.steps)

    def stop(self, error: BaseException) -> None:
        """The run failed, or was interrupted: what was done is kept, and that it is over is told once."""
        if self._batch is not None:
            self._batch.give_up()
            self.acted()
        self.open_calls = ()
        self._keep()
        if isinstance(error, ToolLoopError):
            error.stack = self.stack()
        if self._over or self._told in (ErrorOccurredEvent, InterruptedEvent):
            return
        self._over = True
        if isinstance(error, Exception):
            info = info_of(error)
            info = msgspec.structs.replace(info, raw_type=info.raw_type or type(error).__name__)
            self.publisher.publish(ErrorOccurredEvent, error=info, partial=self.latest)
        else:
            self.publisher.publish(InterruptedEvent, partial=self.latest)

    def close(self) -> None:
        """Listens to the driver no more."""
        for handle in self._handles:
            handle.off()

    def _keep(self) -> None:
        if self._kept:
            return
        self._kept = True
        if self.memory is not None and self._done:
            self.memory.add(self.messages[: self._done], after=self.history)

    def _heard(self, kind: type, event: Any) -> None:
        """What the driver has told of this run last: the end of a failed call is the end of the run."""
        if event.run_id == self.id and not self._over:
            self._told = kind

    def result(self) -> AgentResult:
        """Returns what the run has come to so far."""
        return AgentResult(
            self.latest,
            tuple(self.messages),
            tuple(self._actions),
            self.steps,
            Usage.sum(self._usages),
            tuple([call.action for call in self.open_calls]),
            self.id,
            type(self.driver).__name__,
            self.model,
        )


def _forces(choice: Any) -> bool:
    if isinstance(choice, str | None):
        return choice not in (None, "auto", "none")
    mode = getattr(choice, "mode", None)
    return mode is None or mode in FORCING or bool(getattr(choice, "force", False))


def _summary(messages: Sequence[Message]) -> JSONObject:
    """Roles, kinds of blocks and sizes in characters; never texts."""
    shown = [
        {
            "role": message.role,
            "blocks": [type(block).__struct_config__.tag for block in message.content],
            "size": len(message.to_text()),
        }
        for message in messages
    ]
    return {"messages": shown}


def _is_plain(value: Any) -> bool:
    with contextlib.suppress(TypeError, ValueError):
        plain_data(value)
        return not callable(value)
    return False
