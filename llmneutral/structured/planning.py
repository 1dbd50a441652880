"""How an output schema is asked for: a plan, made once per call, that touches nothing of the caller's.

Strategies: `native` (the API's own field), `tool` (one more tool whose call is the answer and is never run), `rule` (a
rule text in the instructions), `auto` (the best of these that the target has).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from llmneutral.convert.instructions import RULE, instructed, with_line
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.params import enforces_schemas, thinks
from llmneutral.convert.schema import wrap_root
from llmneutral.convert.schema_walk import check_references
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.tool_schemas import ANSWER
from llmneutral.errors import ConfigurationError, ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.schemas import schema_name, to_json_schema
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition

if TYPE_CHECKING:
    from llmneutral.profiles import Profile

Strategy = Literal["native", "tool", "rule"]
ANSWER_TOOL = "final_answer"
WHY = "a rule with the form of the answer stands in the instructions"
ANY_JSON = "Answer with one JSON object only, without any other text."
TOOL_RULE = "Give your final answer by calling the tool "
NO_FIELD_BESIDE_TEXT = "output_schema: native would forbid the text of the tool calls, so a tool takes the answer"
NO_FIELD = "output_schema: no field holds this model to a schema, so {}"
NO_FIELD_BESIDE_TOOLS = "output_schema: nothing here is held to a schema beside tools, so a tool takes the answer"


class Plan(msgspec.Struct, frozen=True):
    """How an output schema is asked for and read.

    Attributes:
        strategy: native, tool or rule.
        kind: What the caller gave: a model, dataclass, TypedDict or JSON Schema dict.
        schema: The JSON Schema that goes out; its root is an object, unless the target takes any.
        wrapped: Whether the caller's schema stands under `value` in it.
        name: The schema's name, made fit for any API.
        tool: Name of the tool that takes the answer, for `tool`.
        tool_choice: The tool choice the plan needs; None leaves the caller's as it is.
        renamed: Property names as they were sent, and what they are; known once there is a request.
        why: Where the caller asked for another strategy, why it is this one.
        alone: Whether the caller has no tools, so that whatever the model calls is meant as the answer.
    """

    strategy: Strategy
    kind: Any
    schema: JSONObject
    wrapped: bool
    name: str
    tool: str | None = None
    tool_choice: ToolChoice | None = None
    renamed: Mapping[str, str] = {}
    why: str | None = None
    alone: bool = False

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes that put the plan into a conversion."""
        if self.strategy == "native":
            return ()
        return (Pass("structured_output", self._apply),)

    def _apply(self, messages: Messages, job: Job) -> Messages:
        if self.why is not None:
            job.note("coerced", self.why)
        if self.tool is not None:
            job.tools = (*job.tools, self._definition())
            job.note("added", f"the tool {self.tool!r} takes the answer in the form of the output schema")
        line = self._line(job.settings.get("tool_choice"))
        return messages if line is None else instructed(messages, line, WHY, job)

    def _definition(self) -> ToolDefinition:
        description = "Takes your final answer; call it once, when you are done."
        return ToolDefinition(str(self.tool), description=description, parameters=self.schema)

    def _line(self, choice: ToolChoice | None) -> str | None:
        """What is said in the instructions, where that is needed."""
        if self.tool is None:
            return None if self.strategy == "native" else RULE + dumps(self.schema)
        forced = choice is not None and (choice.mode in ("required", "named", "none") or choice.force)
        return None if forced else f"{TOOL_RULE}{self.tool}."

    def applied(self, stack: PromptStack) -> PromptStack:
        """Returns the stack as a driver is given it that makes its own requests; `native` is left to it."""
        if self.strategy == "native":
            return stack
        settings = dict(stack.settings)
        settings.pop("structured_output_strategy", None)
        if self.tool_choice is not None:
            settings["tool_choice"] = self.tool_choice
        line = self._line(settings.get("tool_choice"))
        return PromptStack(
            stack.messages if line is None else with_line(list(stack.messages), line)[0],
            tools=stack.tools if self.tool is None else [*stack.tools, self._definition()],
            settings=settings,
        )


def _ask_for_json(messages: Messages, job: Job) -> Messages:
    return instructed(messages, ANY_JSON, "response_format: there is no field for JSON here; a rule asks for it", job)


JSON_RULE = Pass("response_format", _ask_for_json)
"""Asks in words for some JSON object, where an API has no field for that."""


def plan(output_schema: Any, settings: Mapping[str, Any], facts: Profile, tools: Sequence[ToolDefinition]) -> Plan:
    """Returns the first of `plans`."""
    return plans(output_schema, settings, facts, tools)[0]


def plans(
    output_schema: Any,
    settings: Mapping[str, Any],
    facts: Profile,
    tools: Sequence[ToolDefinition],
    *,
    any_root: bool = False,
) -> tuple[Plan, ...]:
    """Returns how an output schema may be asked for, the best way first.

    There are several only where the caller leaves it open (`auto`): the next is taken where the one before cannot
    carry this schema.

    Args:
        output_schema: A pydantic model, dataclass, TypedDict or JSON Schema dict.
        settings: Canonical settings of the call.
        facts: The target's profile.
        tools: The caller's own tools.
        any_root: Whether the target's own field takes a schema whose root is no object.

    Raises:
        ConfigurationError: If the schema is none of these kinds.
        ConversionError: If no answer could be read by it: it refers to what is not in it.
    """
    if isinstance(output_schema, str | bytes | int | float | list | tuple | set):
        kinds = "a pydantic model, a dataclass, a TypedDict or a JSON Schema as a dict"
        raise ConfigurationError(f"the output schema is {a_kind(output_schema)}; give {kinds}")
    given = to_json_schema(output_schema)
    if isinstance(output_schema, Mapping):  # the others read their answers by themselves
        _check(given)
    strategies, why = _strategies(settings, facts, tools)
    as_object, name = wrap_root(given), schema_name(given)
    alone = all([tool.native is not None for tool in tools])
    found = []
    for strategy in strategies:
        schema, wrapped = (given, False) if any_root and strategy == "native" else as_object
        made = Plan(strategy, output_schema, schema, wrapped, name, why=why, alone=alone)
        found.append(_with_tool(made, settings, facts, tools) if strategy == "tool" else made)
    return tuple(found)


def _check(schema: JSONObject) -> None:
    try:
        check_references(schema)
    except ConversionError as error:
        raise ConversionError(f"{ANSWER}: {error.message}", rule=error.rule, hint=error.hint) from None


def _strategies(
    settings: Mapping[str, Any], facts: Profile, tools: Sequence[ToolDefinition]
) -> tuple[list[Strategy], str | None]:
    """The strategies that may do, the best first; and why it is not the one that was asked for."""
    asked: Strategy | Literal["auto"] = settings.get("structured_output_strategy") or "auto"
    as_text = _are_text(settings, facts)
    if asked == "native":
        return _native(as_text, facts, tools)
    if asked != "auto":
        return [asked], None
    if as_text:
        native: list[Strategy] = ["native"] if facts.native_json_schema and not tools else []
        return ["tool", "rule"] if tools else [*native, "rule"], None
    beside = facts.native_json_schema and (not tools or facts.json_with_tools)
    return ["native", "tool", "rule"] if beside else ["tool", "rule"], None


def _native(as_text: bool, facts: Profile, tools: Sequence[ToolDefinition]) -> tuple[list[Strategy], str | None]:
    """The API's own field; another way only where it is known that it would not do."""
    if as_text and tools:
        return ["tool"], NO_FIELD_BESIDE_TEXT
    if not facts.json_with_tools and any([tool.native is None for tool in tools]):
        return ["tool"], NO_FIELD_BESIDE_TOOLS
    if enforces_schemas(facts):
        return ["native"], None
    if as_text:
        return ["rule"], NO_FIELD.format("a rule asks for it")
    return ["tool"], NO_FIELD.format("a tool takes the answer")


def _are_text(settings: Mapping[str, Any], facts: Profile) -> bool:
    """Whether tools go as text, if there are any; the caller's own word comes before what is known of the model."""
    native = settings.get("use_native_tools")
    return not (facts.tools if native is None else native)


# --- the tool that takes the answer -------------------------------------------------------------


def _with_tool(plan: Plan, settings: Mapping[str, Any], facts: Profile, tools: Sequence[ToolDefinition]) -> Plan:
    name = answer_tool(tools)
    return msgspec.structs.replace(plan, tool=name, tool_choice=_choice(name, settings, facts, tools))


def answer_tool(tools: Sequence[ToolDefinition]) -> str:
    """Returns the name of the tool that takes an answer, beside tools of the caller's: none of them has it."""
    taken = {tool.native_name for tool in tools} | {tool.name for tool in tools}
    names = [ANSWER_TOOL, *[f"{ANSWER_TOOL}_{n}" for n in range(2, len(taken) + 2)]]
    return next(name for name in names if name not in taken)


def _choice(
    name: str, settings: Mapping[str, Any], facts: Profile, tools: Sequence[ToolDefinition]
) -> ToolChoice | None:
    """The choice that lets the answer be given, and forces it where that leaves the caller's tools their turn."""
    given: ToolChoice | None = settings.get("tool_choice")
    named = ToolChoice("named", (name,))
    if given is None or (given.mode == "none" and not tools):
        choice = ToolChoice("required") if tools else named
        return choice if _forcible(settings, facts) else (None if given is None else ToolChoice("auto"))
    if given.mode == "none":  # the caller's tools have no turn
        return named if _forcible(settings, facts) else ToolChoice("allowed", (name,))
    if given.mode == "allowed":
        return ToolChoice("allowed", (*given.names, name), given.force)
    return None


def _forcible(settings: Mapping[str, Any], facts: Profile) -> bool:
    if _are_text(settings, facts):
        return False
    if not facts.forced_tool_choice or not facts.tool_choice_required:
        return False
    return facts.forced_with_thinking or not thinks(settings, facts)
