"""What becomes of the calls of one turn, before anything is run.

Each call is run, answered at once (nothing to run: its arguments are no JSON, there is no such tool, its input does not
fit), answered by the result it has already, or handed back to the caller.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from llmneutral.agent.outcome import error_result
from llmneutral.convert import feedback
from llmneutral.convert.checker import Problem, check
from llmneutral.convert.names import CALLS, digest
from llmneutral.convert.settings import ToolChoice
from llmneutral.errors import ConfigurationError
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    InvalidActionCallMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.schemas import bind_arguments, function_schema
from llmneutral.ir.tools import ToolDefinition

SCALARS = (str, int, float, bool, type(None))
CUT = "Not run: the answer was cut off within this call, so its input may not be whole. Call again, more briefly."

TAKEN = "The answer was taken."
"""The result of the call that is the answer: without one the conversation could not go on."""

Call = ActionCallMessageContent | InvalidActionCallMessageContent


class Planned(msgspec.Struct):
    """A call and what becomes of it: one of the fields after `call` is set.

    Attributes:
        call: The call.
        function: What is run, with `args` and `kwargs`.
        result: The result it has without being run.
        twin: Place of the same call in the same turn, whose result it shares.
        handed_back: Whether the caller has to run it.
        is_format_error: Whether what the model wrote could not be read as a call.
    """

    call: Any
    function: Callable[..., Any] | None = None
    args: tuple[Any, ...] = ()
    kwargs: JSONObject = {}
    result: ActionResultMessageContent | None = None
    twin: int | None = None
    handed_back: bool = False
    is_format_error: bool = False


class Offer:
    """The tools of a run, as they are looked up when a model calls one.

    Args:
        tools: Their definitions.
    """

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self.tools = tuple(tools)
        self._by_key = {(tool.name, tool.path): tool for tool in reversed(self.tools)}
        self._by_name = {tool.native_name: tool for tool in reversed(self.tools)}

    @property
    def names(self) -> list[str]:
        """The flat names, in order."""
        return list(reversed(self._by_name))

    def within(self, choice: ToolChoice | None) -> Offer:
        """Returns the tools that may be called under a choice of the caller's: what is ruled out is never run."""
        if choice is None or choice.mode not in ("none", "allowed"):
            return self
        return Offer([tool for tool in self.tools if tool.native_name in choice.names or tool.name in choice.names])

    def find(self, call: Any) -> ToolDefinition | None:
        """Returns the tool that a call means; its flat name does too."""
        found = self._by_key.get((call.name, call.path))
        return self._by_name.get(call.name) if found is None and call.path is None else found


class Answered:
    """The calls of a conversation that have their results, and the ids that are taken.

    A call that comes again has its result already, and nothing is done twice. Whether it does come again is told by its
    id, as far as ids tell: some providers count from the beginning in each answer ("call_0"), or give every call one
    id. So a call is another one where an answer has been given since, and where the id has stood for different calls.

    Args:
        messages: The conversation when a run begins.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._calls: dict[str, Any] = {}
        self._results: dict[str, ActionResultMessageContent] = {}
        self._past: frozenset[str] = frozenset()  # ids of calls before an answer
        for message in messages:
            self.add(message)
            if _is_answer(message):
                self._past = frozenset(self._calls)

    def add(self, message: Message) -> None:
        """Takes notice of a message."""
        for block in message.content:
            if isinstance(block, CALLS) and block.tag:
                self._calls[block.tag] = block
            elif isinstance(block, ActionResultMessageContent) and block.tag:
                self._results.setdefault(block.tag, block)

    def result_of(self, call: Any) -> ActionResultMessageContent | None:
        """Returns the result that this very call (id, name and input) has already."""
        own = list(itertools.takewhile(self.is_taken, numbered(call.tag)))
        tags = [tag for tag in own if tag not in self._past]
        if not all([is_same(self._calls[tag], call) for tag in tags]):
            return None
        return next((self._results[tag] for tag in tags if tag in self._results), None)

    def is_taken(self, tag: str) -> bool:
        """Whether an earlier call has this id."""
        return tag in self._calls


def numbered(tag: str) -> Iterator[str]:
    """The ids that calls of one id are given: itself, then with `_2`, `_3` and so on."""
    yield tag
    for number in itertools.count(2):
        yield f"{tag}_{number}"


def _is_answer(message: Message) -> bool:
    """Whether a message ends an exchange: an answer that calls nothing, or what is said of one that came as a call."""
    if message.is_assistant():
        return not calls_of(message)
    return any([isinstance(each, ActionResultMessageContent) and each.output == TAKEN for each in message.content])


def is_same(one: Any, other: Any) -> bool:
    """Whether two calls ask for the same: the same tool with the same input."""
    mine, its = [(type(c), c.name, c.path, getattr(c, "input", None), getattr(c, "raw", None)) for c in (one, other)]
    return mine == its


def calls_of(message: Message) -> list[Any]:
    """Returns the calls of a message, the invalid ones too."""
    return [block for block in message.content if isinstance(block, CALLS)]


def open_calls(messages: Sequence[Message]) -> list[Any]:
    """Returns the calls of the last turn that still wait for their results; none if something else came after it."""
    answered: set[str | None] = set()
    for message in reversed(messages):
        if message.is_assistant():
            return [call for call in calls_of(message) if call.tag not in answered]
        if not message.is_user() or any(type(block) is not ActionResultMessageContent for block in message.content):
            return []
        answered |= {block.tag for block in message.content if isinstance(block, ActionResultMessageContent)}
    return []


# --- ids ----------------------------------------------------------------------------------------


def with_own_ids(
    response: NormalizedResponse, answered: Answered
) -> tuple[Message, dict[str, ActionResultMessageContent], dict[str, str]]:
    """Gives each call of an answer an id that no other call of the conversation has.

    An id that comes again with the same tool and the same input is the same call (see `Answered`): it is not run a
    second time.

    Args:
        response: The answer.
        answered: The calls before it.

    Returns:
        The message; results of calls that have one already, by their new ids; and new id → id of the same call earlier
        in this turn.
    """
    content: list[Any] = []
    known: dict[str, ActionResultMessageContent] = {}
    twins: dict[str, str] = {}
    came: dict[str, list[Any]] = {}  # the calls of this turn by the id that came
    used: set[str] = set()
    for place, block in enumerate(response.message.content):
        if not isinstance(block, CALLS):
            content.append(block)
            continue
        tag = block.tag or f"call_{_digest_of(response, place, block)}"
        own = tag
        if answered.is_taken(tag) or tag in used:
            own = next(each for each in numbered(tag) if not answered.is_taken(each) and each not in used)
            meant = not _is_made_up(response, place, block)
            if meant and (result := answered.result_of(block)) is not None:
                known[own] = msgspec.structs.replace(result, tag=own)
            elif meant and (twin := next((each for each in came.get(tag, ()) if is_same(each, block)), None)):
                twins[own] = twin.tag
        used.add(own)
        block = block if own == block.tag else msgspec.structs.replace(block, tag=own)
        came.setdefault(tag, []).append(block)
        content.append(block)
    same = all([a is b for a, b in zip(content, response.message.content, strict=True)])
    message = response.message if same else msgspec.structs.replace(response.message, content=tuple(content))
    return message, known, twins


def _is_made_up(response: NormalizedResponse, place: int, call: Any) -> bool:
    """Whether an id was made here from the call's contents alone: then the same one says nothing."""
    return not call.tag or (response.id is None and call.tag == f"call_{_digest_of(response, place, call)}")


def _digest_of(response: NormalizedResponse, place: int, call: Any) -> str:
    said = call.raw if isinstance(call, InvalidActionCallMessageContent) else (call.arguments or dumps(call.input))
    return digest(f"{response.id}:{place}:{call.name}:{said}", 12)


# --- what becomes of each -----------------------------------------------------------------------


def planned(
    calls: Sequence[Any],
    offer: Offer,
    *,
    known: Mapping[str, ActionResultMessageContent] | None = None,
    twins: Mapping[str, str] | None = None,
    cut: Any = None,
) -> list[Planned]:
    """Says what becomes of the calls of one turn.

    Args:
        calls: The calls, with ids of their own.
        offer: The tools.
        known: Results that calls have already, by id.
        twins: Id → id of the same call earlier in this turn.
        cut: The call within which the answer was cut off, if it was.
    """
    places = {call.tag: place for place, call in enumerate(calls)}
    plan = []
    for call in calls:
        if known and (result := known.get(call.tag)) is not None:
            plan.append(Planned(call, result=result))
        elif twins and call.tag in twins:
            plan.append(Planned(call, twin=places[twins[call.tag]]))
        elif call is cut and not isinstance(call, InvalidActionCallMessageContent):
            plan.append(Planned(call, result=error_result(call, CUT), is_format_error=True))
        else:
            plan.append(_planned(call, offer))
    return plan


def _planned(call: Any, offer: Offer) -> Planned:
    if isinstance(call, InvalidActionCallMessageContent):
        return Planned(call, result=error_result(call, feedback.invalid_call(call)), is_format_error=True)
    tool = offer.find(call)
    if tool is None:
        return Planned(
            call, result=error_result(call, feedback.unknown_tool(call.action.to_native_tool_name(), offer.names))
        )
    if tool.function is None:
        return Planned(call, handed_back=True)
    try:
        args, kwargs = bound(tool, call.input)
    except UnfitError as error:
        return Planned(call, result=error_result(call, str(error)))
    return Planned(call, tool.function, args, kwargs)


class UnfitError(ValueError):
    """An input does not fit its tool; the text is what the model is told."""


def bound(tool: ToolDefinition, given: Any) -> tuple[tuple[Any, ...], JSONObject]:
    """Returns the arguments that a tool's function takes, validated and each as its hint says.

    They are copies: what a tool does to them is not done to what the model wrote.

    Raises:
        UnfitError: If the input does not fit.
    """
    assert tool.function is not None
    own = _own_schema(tool.function)
    if not isinstance(given, dict):
        raise UnfitError(feedback.schema_problems([Problem("", "expected object")]))
    given = _copied(given)
    if tool.parameters is not None and tool.parameters is not own:  # a schema of the caller's
        problems = check(given, tool.parameters)
        if problems:
            raise UnfitError(feedback.schema_problems(problems))
    if own is None:
        return (), dict(given)
    if (whole := _whole_input(tool, own)) is not None:
        return (), {whole: {"values": given} if whole == "params" else given}
    try:
        return bind_arguments(tool.function, given)
    except ValueError as error:
        raise UnfitError(feedback.schema_problems(_problems(str(error)))) from None
    except Exception as error:  # a type's own validator runs here: anything may come of it
        raise UnfitError(feedback.raised(error)) from error


def _copied(given: JSONObject) -> JSONObject:
    if all([isinstance(value, SCALARS) for value in given.values()]):
        return given
    with contextlib.suppress(Exception):  # a value's own code, or more levels than Python goes down
        return copy.deepcopy(given)
    return given


def _whole_input(tool: ToolDefinition, own: JSONObject) -> str | None:
    """The one argument that takes the whole input, as in Griptape's activities; None where each has its own."""
    (name, *more) = own["properties"] if own.get("properties") else ("",)
    is_one = not more and name in ("params", "values") and tool.parameters is not None and tool.parameters is not own
    return name if is_one and name not in (tool.parameters or {}).get("properties", {}) else None


def _own_schema(function: Callable[..., Any]) -> JSONObject | None:
    """The schema of a function's own signature, the same object each time; None where it has none."""
    try:
        return function_schema(function).parameters
    except ConfigurationError:
        return None


def _problems(lines: str) -> list[Problem]:
    """The problems that `bind_arguments` tells, one a line."""
    found = [line.partition(": ") for line in lines.splitlines()]
    return [Problem("" if path == "arguments" else path, message) for path, _, message in found]
