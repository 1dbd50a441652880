"""Drivers in Griptape's style: a subclass that overrides `try_run` and `try_stream` does it all by itself.

What they return is neutral already; here it takes the place of what a provider sends, so that retry,
events and aggregation are the same for every driver.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from llmneutral.convert.react import stack_as_text
from llmneutral.convert.settings import canonical_settings
from llmneutral.drivers.runners import close
from llmneutral.drivers.threads import Pumped, in_thread
from llmneutral.errors import ConfigurationError, LLMNeutralError, ProviderError, exception_type, provider_error
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.deltas import DeltaMessage, DoneDeltaMessageContent, TextDeltaMessageContent
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import definitions
from llmneutral.pipeline import Snapshot
from llmneutral.structured import Plan, plan

PLANNED = ("structured_output_strategy", "use_native_tools", "tool_choice", "reasoning_effort", "thinking_budget")
_END = DeltaMessage("end", complete=True)


class TemplateIO:
    """`try_run` and `try_stream` of a driver, as `send` and `open`.

    Args:
        driver: Whose they are.
        source: The stack of the call, with its tools, output schema and settings.
        has_run: Whether `try_run` is the driver's own.
        has_stream: Whether `try_stream` is.
        plan: How the stack asks for its answer in a form, if it does.

    Attributes:
        stack: What the driver is given: the source, its tools as text where `use_native_tools` is False.
        react: How the answer is read then.
    """

    def __init__(
        self, driver: Any, source: PromptStack, *, has_run: bool, has_stream: bool, plan: Plan | None = None
    ) -> None:
        self.driver = driver
        self.stack, self.react = stack_as_text(source, driver.profile(source.settings))
        self._source = source
        self._asked = tuple(source.messages)  # whatever the driver does to its stack
        self.has_run = has_run
        self.has_stream = has_stream
        self.plan = plan
        self.timeout: float | None = None

    def continued(self, messages: Iterable[Message]) -> TemplateIO:
        """Returns the same for the stack with further messages."""
        before = self._source
        longer = PromptStack(
            [*self._asked, *messages], tools=before.tools, output_schema=before.output_schema, settings=before.settings
        )
        return TemplateIO(self.driver, longer, has_run=self.has_run, has_stream=self.has_stream, plan=self.plan)

    def send(self, conversion: Any) -> Any:
        """Returns the message that `try_run` gives."""
        del conversion
        try:
            return self.driver.try_run(self.stack)
        except Exception as error:
            if (known := _translated(error)) is not None:
                raise known from error
            raise

    def open(self, conversion: Any) -> Iterator[DeltaMessage]:
        """Returns the deltas that `try_stream` gives, with an end; a driver that cannot stream gives all at once."""
        deltas = self.driver.try_stream(self.stack) if self.has_stream else pieces_of(self.send(conversion))
        if not isinstance(deltas, Iterable):
            what = f"{type(self.driver).__name__}.try_stream returned {a_kind(deltas)}"
            raise ConfigurationError(f"{what}; it has to yield DeltaMessages")
        try:
            yield from deltas
        except Exception as error:
            if (known := _translated(error)) is not None:
                raise known from error
            raise
        finally:
            close(deltas)
        yield _END

    async def asend(self, conversion: Any) -> Any:
        """The async twin of `send`, in a thread."""
        return await in_thread(self.send, conversion)

    async def aopen(self, conversion: Any) -> AsyncIterator[Any]:
        """The async twin of `open`, through a thread."""
        return Pumped(self.open(conversion))


def template_of(driver: Any, base: Any, given: Snapshot, settings: Mapping[str, Any]) -> TemplateIO | None:
    """Returns the template of a driver that overrides `try_run` or `try_stream`, or None.

    Args:
        driver: The driver.
        base: The class whose methods it may override.
        given: The source of the call.
        settings: Settings of the call, also `tools` and `output_schema`.
    """
    kind = type(driver)
    has_run, has_stream = kind.try_run is not base.try_run, kind.try_stream is not base.try_stream
    if not has_run and not has_stream:
        return None
    stack = stack_of(given, settings)
    plan = None if stack.output_schema is None else _plan_of(stack, driver)
    if plan is not None:
        stack = plan.applied(stack)
    return TemplateIO(driver, stack, has_run=has_run, has_stream=has_stream, plan=plan)


def _plan_of(stack: PromptStack, driver: Any) -> Plan:
    """How the answer is asked for; what a driver does by itself (`native`) is its own."""
    settings = canonical_settings({name: stack.settings.get(name) for name in PLANNED})
    if settings.get("structured_output_strategy") in (None, "auto") and driver.form_by_default is not None:
        settings["structured_output_strategy"] = driver.form_by_default
    return plan(stack.output_schema, settings, driver.profile(stack.settings), definitions(stack.tools))


def stack_of(given: Snapshot, settings: Mapping[str, Any]) -> PromptStack:
    """Returns a stack of its own for a call: the source's messages, with the settings of the call."""
    rest = dict(settings)
    tools, schema = rest.pop("tools", None), rest.pop("output_schema", None)
    return PromptStack(
        given.messages,
        tools=given.tools if tools is None else tools,
        output_schema=given.output_schema if schema is None else schema,
        settings={**given.settings, **rest},
    )


def pieces_of(message: Message) -> Iterator[DeltaMessage]:
    """Yields a whole message as deltas: its texts as pieces, everything else as blocks that are done.

    Raises:
        MalformedResponseError: If it is no message.
    """
    if not isinstance(message, Message):
        why = f"the answer was not understood: it is {a_kind(message)}, not an object or a Message"
        raise provider_error("malformed_response", message=why)
    for index, block in enumerate(message.content):
        if type(block) is TextMessageContent and not (block.citations or block.native or block.thought_signature):
            yield DeltaMessage("text", TextDeltaMessageContent(block.text, index=index))
        else:
            yield DeltaMessage("block_done", DoneDeltaMessageContent(index=index, value=block))


def _translated(error: Exception) -> ProviderError | None:
    """Returns a lost connection, a time-out and the like as the taxonomy has it; None for what it does not know."""
    kind = None if isinstance(error, LLMNeutralError) else exception_type(error)
    return None if kind is None else provider_error(kind, message=str(error) or type(error).__name__)
