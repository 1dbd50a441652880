"""An answer in a form: how it is asked for, and how it is read.

`plan` chooses a strategy and says what it changes; nothing of the caller's is touched. `parse` reads the
answer by the same plan. Strategies: `native` (the API's own field), `tool` (one more tool whose call is
the answer), `rule` (a rule text in the instructions), `auto` (the best of these that the target has).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from llmneutral.convert.instructions import RULE, instructed
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.schema import without_added_nulls, wrap_root
from llmneutral.convert.settings import ToolChoice
from llmneutral.errors import ConfigurationError, StructuredOutputError
from llmneutral.ir.contents import ActionCallMessageContent
from llmneutral.ir.jsontext import JSONObject, dumps, loads
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.schemas import schema_name, to_json_schema, type_adapter
from llmneutral.ir.tools import ToolDefinition

if TYPE_CHECKING:
    from llmneutral.profiles import Profile

Strategy = Literal["native", "tool", "rule"]
ANSWER_TOOL = "final_answer"
WHY = "a rule with the form of the answer stands in the instructions"
ANY_JSON = "Answer with one JSON object only, without any other text."
TOOL_RULE = "Give your final answer by calling the tool "
FENCE = re.compile(r"```[ \t]*(?P<kind>[A-Za-z0-9]*)[ \t]*\r?\n(?P<body>.*?)```", re.DOTALL)


class Plan(msgspec.Struct, frozen=True):
    """How an output schema is asked for and read.

    Attributes:
        strategy: native, tool or rule.
        kind: What the caller gave: a model, dataclass, TypedDict or JSON Schema dict.
        schema: The JSON Schema that goes out; its root is an object.
        wrapped: Whether the caller's schema stands under `value` in it.
        name: The schema's name, made fit for any API.
        tool: Name of the tool that takes the answer, for `tool`.
        tool_choice: The tool choice the plan needs, unless the caller gave one.
    """

    strategy: Strategy
    kind: Any
    schema: JSONObject
    wrapped: bool
    name: str
    tool: str | None = None
    tool_choice: ToolChoice | None = None

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes that put the plan into a conversion."""
        if self.strategy == "native":
            return ()
        return (Pass("structured_output", self._apply),)

    def _apply(self, messages: Messages, job: Job) -> Messages:
        if self.strategy == "rule":
            return instructed(messages, RULE + dumps(self.schema), WHY, job)
        assert self.tool is not None
        description = "Takes your final answer; call it once, when you are done."
        job.tools = (*job.tools, ToolDefinition(self.tool, description=description, parameters=self.schema))
        job.note("added", f"the tool {self.tool!r} takes the answer in the form of the output schema")
        forced = job.settings.get("tool_choice")
        if forced is None or forced.mode == "auto":
            return instructed(messages, f"{TOOL_RULE}{self.tool}.", WHY, job)
        return messages


def _ask_for_json(messages: Messages, job: Job) -> Messages:
    return instructed(messages, ANY_JSON, "response_format: there is no field for JSON here; a rule asks for it", job)


JSON_RULE = Pass("response_format", _ask_for_json)
"""Asks in words for some JSON object, where an API has no field for that."""


def plan(output_schema: Any, settings: Mapping[str, Any], facts: Profile, tools: Sequence[ToolDefinition]) -> Plan:
    """Chooses how an output schema is asked for.

    Args:
        output_schema: A pydantic model, dataclass, TypedDict or JSON Schema dict.
        settings: Canonical settings of the call.
        facts: The target's profile.
        tools: The caller's own tools.

    Raises:
        ConfigurationError: If the schema is none of these kinds.
    """
    if isinstance(output_schema, str | bytes | int | float | list | tuple | set):
        kinds = "a pydantic model, a dataclass, a TypedDict or a JSON Schema as a dict"
        raise ConfigurationError(f"the output schema is a {type(output_schema).__name__}; give {kinds}")
    given = to_json_schema(output_schema)
    schema, wrapped = wrap_root(given)
    strategy, choice = _strategy(settings, facts, tools)
    taken = {tool.native_name for tool in tools}
    tool = None
    if strategy == "tool":
        tool = next(name for n in range(1, len(taken) + 3) if (name := _numbered(n)) not in taken)
        if choice is not None and choice.mode == "named":
            choice = ToolChoice("named", (tool,))
    return Plan(strategy, output_schema, schema, wrapped, schema_name(given), tool, choice)


def _numbered(n: int) -> str:
    return ANSWER_TOOL if n == 1 else f"{ANSWER_TOOL}_{n}"


def _strategy(
    settings: Mapping[str, Any], facts: Profile, tools: Sequence[ToolDefinition]
) -> tuple[Strategy, ToolChoice | None]:
    """The strategy, and for `tool` the choice that forces it where that is possible."""
    asked: Strategy | Literal["auto"] = settings.get("structured_output_strategy") or "auto"
    forcible = _forcible(settings, facts)
    choice = ToolChoice("required") if tools else ToolChoice("named", (ANSWER_TOOL,))
    if asked == "tool":
        return "tool", choice if forcible else None
    if asked != "auto":
        return asked, None
    if facts.native_json_schema and (not tools or facts.json_with_tools):
        return "native", None
    if not facts.tools:
        return "rule", None
    return "tool", choice if forcible else None


def _forcible(settings: Mapping[str, Any], facts: Profile) -> bool:
    if not facts.forced_tool_choice or not facts.tool_choice_required:
        return False
    effort = settings.get("reasoning_effort")
    thinking = settings.get("thinking_budget") is not None or effort not in (None, "none")
    return facts.forced_with_thinking or not thinking


# --- reading ------------------------------------------------------------------------------------


def parse(response: NormalizedResponse, plan: Plan) -> Any:
    """Returns the value of an answer, validated: an instance of a model, or plain data for a dict schema.

    Raises:
        StructuredOutputError: If the answer was cut, refused, is no JSON, or breaks the schema; its
            `attempts` hold the text and what is wrong with it.
    """
    if response.finish_reason in ("length", "refusal", "content_filter", "error", "incomplete"):
        hint = {"length": "; raise max_tokens"}.get(response.finish_reason, "")
        raise failed(response, [f"the answer ended with {response.finish_reason}{hint}"])
    found, value = _found(response, plan)
    if not found:
        raise failed(response, ["the answer holds no JSON"])
    if plan.strategy == "native":  # a strict schema has null for what is optional
        value = without_added_nulls(value, plan.schema)
    if plan.wrapped and isinstance(value, Mapping) and "value" in value:
        value = value["value"]
    return validated(value, plan, response)


def validated(value: Any, plan: Plan, response: NormalizedResponse) -> Any:
    """Returns a value as an instance of what the caller asked for.

    Raises:
        StructuredOutputError: With one line a problem.
    """
    if isinstance(plan.kind, Mapping):
        from llmneutral.convert.checker import check

        problems = check(value, plan.kind)
        if problems:
            raise failed(response, [f"{p.path or 'the answer'}: {p.message}" for p in problems])
        return value
    from pydantic import ValidationError

    try:
        return type_adapter(plan.kind).validate_python(value, strict=False)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {e['msg']}" for e in error.errors()]
        raise failed(response, lines) from None


def failed(response: NormalizedResponse, problems: list[str]) -> StructuredOutputError:
    """Returns the error for an answer that has no valid value."""
    attempt = {"text": response.text, "problems": problems, "usage": response.usage.to_dict()}
    return StructuredOutputError(
        f"no valid value in the answer: {'; '.join(problems[:3])}", attempts=[attempt], partial=response
    )


def wants_parsing(response: NormalizedResponse, plan: Plan) -> bool:
    """Whether a turn is an answer: it calls the answer's tool, or calls nothing."""
    calls = response.tool_calls
    return not calls or (plan.tool is not None and any(call.name == plan.tool for call in calls))


def _found(response: NormalizedResponse, plan: Plan) -> tuple[bool, Any]:
    for call in response.message.content:
        if type(call) is ActionCallMessageContent and call.name == plan.tool:
            return True, call.input
    text = response.text.lstrip("\ufeff").strip()
    return find_json(text, loose=plan.strategy != "native")


def find_json(text: str, *, loose: bool) -> tuple[bool, Any]:
    """Finds the JSON in an answer: the whole text, the last fenced block, or (loose) the first balanced value."""
    try:
        return True, loads(text)
    except ValueError:
        pass
    for fence in reversed(list(FENCE.finditer(text))):
        if fence["kind"].lower() in ("", "json"):
            try:
                return True, loads(fence["body"].strip())
            except ValueError:
                continue
    return _first_balanced(text) if loose else (False, None)


def _first_balanced(text: str) -> tuple[bool, Any]:
    import json

    decoder = json.JSONDecoder()
    for match in re.finditer(r"[{\[]", text):
        try:
            return True, decoder.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue
    return False, None
