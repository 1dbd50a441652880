"""Agent: asks a model, runs the tools it calls, and remembers the conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from llmneutral import pipeline
from llmneutral.agent import runners
from llmneutral.agent.loop import loop
from llmneutral.agent.memory import ConversationMemory
from llmneutral.agent.planning import Offer
from llmneutral.agent.result import AgentResult
from llmneutral.agent.run import Limits, Run
from llmneutral.agent.running import Bounds
from llmneutral.agent.streams import AgentStream, AsyncAgentStream
from llmneutral.configs.base import DriversConfig
from llmneutral.configs.defaults import Defaults
from llmneutral.convert.settings import canonical_settings, flag
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.options import CallOptions, above_zero
from llmneutral.drivers.streams import AsyncDeltas, Deltas
from llmneutral.errors import ConfigurationError, ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.artifacts import ActionArtifact, BaseArtifact, text_of
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import Tool, ToolAction, definitions
from llmneutral.profiles import are_texts, joined

OF_A_CALL = ("model", "facts", "trace")
"""What a call of a driver takes beside settings and options."""


class Agent:
    """Asks a model, runs the tools it calls until it answers, and remembers the conversation.

    Without a driver of its own it takes `Defaults.drivers_config.prompt_driver` anew for each run, so switching the
    provider reaches agents that exist already; a run keeps its driver for all its steps.

    Args:
        driver: Who is asked; a driver, or a DriversConfig. `Defaults` unless given.
        prompt_driver: The same, by Griptape's name.
        tools: Functions (sync or async), `Tool` objects, definitions, and dicts in OpenAI's format; calls of tools that
            have no function are handed back (`result.open_calls`). A function that is not async runs in a thread, in a
            copy of the caller's context: one that needs the running event loop has to be `async def`.
        system: The instructions.
        rules: Further instructions, each a rule.
        output_schema: The form of the answer: a pydantic model, dataclass, TypedDict or JSON Schema; the value is
            `result.parsed`.
        stream: Whether `run` streams underneath, and so publishes chunks.
        memory: The conversation. True: one of its own; None or False: each run begins anew; or a ConversationMemory,
            or a PromptStack to go on from.
        max_steps: Most answers of the model in a run.
        max_format_errors: Most answers in a row of which nothing could be read as a call.
        parallel_tools: Most calls that are run at the same time.
        tool_timeout: Seconds for one call of a tool, after which the model is told that it took too long; None: no
            bound.
        **settings: Neutral settings and options of each call (`temperature`, `use_native_tools`,
            `structured_output_strategy`, `max_attempts`, `timeout` …), `model` and `facts`. A `tool_choice` that forces
            a call counts for the first answer of a run only: it would never end otherwise.

    Attributes:
        tools: The tools; an ordinary list.
        system: The instructions.
        rules: The rules; an ordinary list.
        output_schema: The form of the answer.
        memory: The conversation, or None.
        settings: Settings and options of each call.
        result: What the last run came to.

    Raises:
        ConfigurationError: If an argument is not one that is known, or not of its kind.
    """

    def __init__(
        self,
        driver: BasePromptDriver | DriversConfig | None = None,
        *,
        prompt_driver: BasePromptDriver | DriversConfig | None = None,
        tools: Iterable[Any] | None = (),
        system: str | None = None,
        rules: str | Iterable[Any] = (),
        output_schema: Any = None,
        stream: bool = False,
        memory: ConversationMemory | PromptStack | bool | None = True,
        max_steps: int = 20,
        max_format_errors: int = 3,
        parallel_tools: int = 16,
        tool_timeout: float | None = None,
        **settings: Any,
    ) -> None:
        self._pinned = _driver(driver, prompt_driver)
        self.tools = _tools(tools)
        _system(system)
        self.system = system
        self.rules = _rules(rules)
        self.output_schema = output_schema
        self.stream_by_default = flag("stream", stream)
        self.memory = _memory(memory)
        self.settings = _checked(settings)
        seconds = None if tool_timeout is None else above_zero("tool_timeout", tool_timeout)
        self.limits = Limits(
            _count("max_steps", max_steps),
            _count("max_format_errors", max_format_errors),
            Bounds(_count("parallel_tools", parallel_tools), seconds),
        )
        self.result: AgentResult | None = None

    # --- who is asked ---------------------------------------------------------------------------

    @property
    def driver_source(self) -> str:
        """Where the driver is from: `pinned` to this agent, or the `defaults` at the time of each run."""
        return "defaults" if self._pinned is None else "pinned"

    @property
    def prompt_driver(self) -> BasePromptDriver:
        """The driver that a run would ask now."""
        source = Defaults.drivers_config if self._pinned is None else self._pinned
        return source if isinstance(source, BasePromptDriver) else source.prompt_driver

    @prompt_driver.setter
    def prompt_driver(self, driver: BasePromptDriver | DriversConfig | None) -> None:
        self._pinned = _driver(driver, None)

    @property
    def instructions(self) -> str | None:
        """The system text: instructions, then the rules; None if there are none."""
        rules = "\n".join([f"- {text_of(rule)}" for rule in _rules(self.rules)])
        parts = [part for part in (_system(self.system), rules) if part]
        return "\n\n".join(parts) or None

    # --- runs -----------------------------------------------------------------------------------

    def run(self, *input: Any, **overrides: Any) -> AgentResult:
        """Asks, runs the tools that are called, and asks again, until an answer calls nothing.

        Args:
            *input: Texts and artifacts, which make one message; messages or PromptStacks, which are added as they are;
                and `ToolAction`s with their output, for calls that were handed back. Nothing: go on where the
                conversation stands.
            **overrides: Settings and options of this run; also `tools` and `output_schema`.

        Returns:
            What the run came to.

        Raises:
            ConfigurationError: If a setting is unknown or a key is missing.
            ConversionError: If the input cannot be sent.
            ProviderError: If the provider failed, after all retries.
            StructuredOutputError: If an output schema was asked for and the answer does not fit it.
            ToolLoopError: If a bound is reached; its `stack` holds everything so far.
        """
        state = _begun(self, input, overrides)
        deltas = runners.run(loop(state), state, streamed=False)
        with contextlib.closing(deltas):
            for _ in deltas:
                pass
        self.result = result = state.result()
        return result

    def stream(self, *input: Any, **overrides: Any) -> AgentStream:
        """The same, piece by piece; arguments and errors as for `run`. It begins with the first `next`."""
        state = _begun(self, input, overrides)
        deltas = runners.run(loop(state), state, streamed=True)
        return AgentStream(state, _noted(self, state, deltas))

    async def arun(self, *input: Any, **overrides: Any) -> AgentResult:
        """The async twin of `run`."""
        state = _begun(self, input, overrides)
        deltas = runners.arun(loop(state), state, streamed=False)
        async with contextlib.aclosing(deltas):
            async for _ in deltas:
                pass
        self.result = result = state.result()
        return result

    def astream(self, *input: Any, **overrides: Any) -> AsyncAgentStream:
        """The async twin of `stream`; it begins with the first `anext`."""
        state = _begun(self, input, overrides)
        deltas = runners.arun(loop(state), state, streamed=True)
        return AsyncAgentStream(state, _anoted(self, state, deltas))

    @property
    def output(self) -> BaseArtifact | None:
        """The answer of the last run, as an artifact."""
        return None if self.result is None else self.result.output

    def __repr__(self) -> str:
        """Shows who is asked, the tools, and how much is remembered."""
        driver = "Defaults" if self._pinned is None else repr(self._pinned)
        tools = ", ".join([tool.native_name for tool in definitions(self.tools)])
        return f"Agent({driver}, tools=[{tools}], memory={self.memory!r})"


def _begun(agent: Agent, input: tuple[Any, ...], overrides: dict[str, Any]) -> Run:
    """A run: its driver, input and settings are settled here, whatever becomes of the agent while it goes on."""
    tools = _tools(agent.tools if (given := overrides.pop("tools", None)) is None else given)
    schema = overrides.pop("output_schema", None)
    schema = agent.output_schema if schema is None else schema
    settings = {**_checked(agent.settings), **_checked(overrides)}
    agent.memory = memory = _memory(agent.memory)
    if agent.stream_by_default:
        settings.setdefault("stream", True)
    messages: list[Message] = []
    for each in _grouped(input):
        found = pipeline.snapshot(each)
        messages += found.messages
        tools = [*tools, *found.tools]
        schema = found.output_schema if schema is None else schema
        settings = {**found.settings, **settings}
    return Run(
        agent.prompt_driver,
        messages,
        Offer(definitions(tools)),
        system=agent.instructions,
        output_schema=schema,
        settings=settings,
        limits=agent.limits,
        memory=memory,
    )


def _noted(agent: Agent, state: Run, deltas: Deltas) -> Deltas:
    with contextlib.closing(deltas):
        yield from deltas
    agent.result = state.result()


async def _anoted(agent: Agent, state: Run, deltas: AsyncDeltas) -> AsyncDeltas:
    async with contextlib.aclosing(deltas):
        async for delta in deltas:
            yield delta
    agent.result = state.result()


def _driver(driver: Any, prompt_driver: Any) -> Any:
    if driver is not None and prompt_driver is not None:
        raise ConfigurationError("driver and prompt_driver are two names of one argument; give one of them")
    found = prompt_driver if driver is None else driver
    if found is None or isinstance(found, BasePromptDriver | DriversConfig):
        return found
    given = f"the class {found.__name__}" if isinstance(found, type) else a_kind(found)
    remedy = "give a driver (make_driver) or a config such as AnthropicDriversConfig()"
    raise ConfigurationError(f"the driver of an agent is {given}; {remedy}")


def _system(system: Any) -> str:
    if system is None or isinstance(system, str | BaseArtifact):
        return text_of(system)
    raise ConfigurationError(f"system is {a_kind(system)}; give the instructions as text")


def _rules(rules: Any) -> list[Any]:
    if isinstance(rules, str | BaseArtifact):
        return [rules]
    if rules is None or (isinstance(rules, Iterable) and not isinstance(rules, bytes | Mapping)):
        return list(rules or ())
    raise ConfigurationError(f"rules is {a_kind(rules)}; give a list of texts, each a rule")


def _tools(tools: Any) -> list[Any]:
    """The tools as a list; what is none is told at once."""
    is_list = isinstance(tools, Iterable) and not isinstance(tools, str | bytes | Mapping)
    given = list(tools) if is_list else tools
    definitions(given)
    return given or []


def _memory(memory: Any) -> ConversationMemory | None:
    if memory is True:
        return ConversationMemory()
    if memory is None or memory is False:
        return None
    if isinstance(memory, PromptStack):
        return ConversationMemory(memory)
    if isinstance(memory, ConversationMemory):
        return memory
    kinds = "a ConversationMemory, a PromptStack, True, or None for none"
    raise ConfigurationError(f"memory is {a_kind(memory)}; give {kinds}")


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(f"{name} is {value!r}; it has to be a whole number from 1")
    return value


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as they were given, once it is clear that a driver takes them."""
    given = {name: value for name, value in settings.items() if value is not None}
    are_texts(model=given.get("model"))
    joined(given.get("facts"))
    _, rest = CallOptions().taken(given)
    canonical_settings({name: value for name, value in rest.items() if name not in OF_A_CALL})
    return given


def _grouped(input: tuple[Any, ...]) -> list[Any]:
    """The input as sources: neighbours that are no messages of their own make one message."""
    groups: list[Any] = []
    plain: list[Any] = []
    for each in input:
        if _has_messages(each):
            groups += [plain] if plain else []
            groups.append(each)
            plain = []
        else:
            plain.append(_as_artifact(each))
    groups += [plain] if plain else []
    return [group[0] if isinstance(group, list) and len(group) == 1 else group for group in groups]


def _has_messages(each: Any) -> bool:
    if isinstance(each, list | tuple):
        return bool(each) and all([isinstance(m, Message) or (isinstance(m, Mapping) and "role" in m) for m in each])
    return isinstance(each, PromptStack | Message)


def _as_artifact(each: Any) -> Any:
    if isinstance(each, Tool) or callable(each):
        raise ConversionError(f"the input holds {a_kind(each)}; tools are given as tools=", rule="source")
    if not isinstance(each, ToolAction):
        return each
    if each.output is None:
        raise ConversionError(f"the call {each.tag!r} has no output; give it one", rule="source")
    return ActionArtifact(each)
