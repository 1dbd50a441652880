"""Tools as text: what the model is told of them, and the history in the same form.

The text is the same for the same tools, and a longer conversation begins as the shorter one did: caches hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from llmneutral.convert.instructions import instructed
from llmneutral.convert.job import Job, Messages, Pass, Target
from llmneutral.convert.names import NameRule, ToolNames
from llmneutral.convert.pairing import TOOL_BLOCKS
from llmneutral.convert.params import is_sent
from llmneutral.convert.passes import leading_system, with_content
from llmneutral.convert.react.history import History, mark_of
from llmneutral.convert.react.reading import Form
from llmneutral.convert.settings import SETTINGS, ToolChoice, canonical_settings
from llmneutral.ir.jsontext import not_json
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.profiles import Profile

STOP = "\nObservations:"
NAMES = NameRule(illegal=r"[^\w.:/-]", first=r"[^\s]", longest=64)
OF_TOOLS = ("tool_choice", "parallel_tool_calls")
FORM = """\
You can use the tools below. Write in this form, each heading at the beginning of a line:

Thought: your reasoning, one or more lines
Actions: [{"tag": "a1", "name": "<tool>", "input": {}}]

Actions is a JSON array of one or more calls, each with a tag of its own and the input that the tool's schema \
asks for. Write nothing after it. The results then come as Observations, one JSON line per tag:

Observations:
{"tag": "a1", "output": "<result>"}

When you know the answer, write:

Thought: your reasoning
Answer: the final answer

Tools:"""
ONE_CALL = "Write one call at a time: the array of Actions holds exactly one object."


class AsText(msgspec.Struct, frozen=True):
    """Tools as text, for one conversion.

    Attributes:
        why: Why they are.
        choice: Which tool the model may, must or must not call; the API is not told of it.
        parallel: Whether several calls may come at once.
    """

    why: str
    choice: ToolChoice | None = None
    parallel: bool = True

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The pass that writes them; it comes before those of the transport."""
        return (Pass("react", self.apply),)

    def apply(self, messages: Messages, job: Job) -> Messages:
        """Takes the tools from the request, tells the model of them, and writes the history in the same form.

        Raises:
            ConversionError: If a tool is chosen that is not among the tools.
        """
        told, names = _named(job)
        offered = self._offered(told, names, job)
        history = History(messages, names, job)
        job.react = Form(names, frozenset(history.tags))
        job.tools = tuple([tool for tool in job.tools if tool.native is not None])
        if told:
            kept = {name: value for name, value in job.settings.items() if name not in OF_TOOLS}
            job.settings = {**kept, **_stop(job)} if offered else kept
        if not offered:
            return history.messages
        lines = [FORM, *[_described(tool, names, job) for tool in offered], *self._asked(names)]
        why = f"the tools stand in the instructions: {self.why}"
        return _marked(instructed(history.messages, "\n".join(lines), why, job), offered, job)

    def _offered(self, tools: Sequence[ToolDefinition], names: ToolNames, job: Job) -> list[ToolDefinition]:
        """The tools the model is told of."""
        choice = self.choice
        if choice is None or not tools:
            return list(tools)
        known = {name: tool for tool in tools for name in (tool.native_name, tool.name)}
        for name in choice.names:
            if name not in known:
                listed = ", ".join(sorted(names)[:5])
                job.refuse(f"tool_choice names {name!r}, which is not among the tools: {listed}", rule="tool_choice")
        if choice.mode == "none":
            job.note("dropped", "tool_choice: 'none': the model is told of no tools")
            return []
        if choice.mode != "allowed":
            return list(tools)
        job.note("coerced", f"tool_choice: the model is told only of {', '.join(choice.names)}")
        return [tool for tool in tools if tool.native_name in choice.names or tool.name in choice.names]

    def _asked(self, names: ToolNames) -> list[str]:
        """What the settings of the tools are in words."""
        found = [] if self.parallel else [ONE_CALL]
        choice = self.choice
        if choice is not None and choice.mode == "named":
            name = next((each for each, (own, _) in names.items() if choice.names[0] in (each, own)), choice.names[0])
            found.append(f"You have to call the tool {name} now: write Actions, not Answer.")
        elif choice is not None and (choice.mode == "required" or choice.force):
            found.append("You have to call at least one tool now: write Actions, not Answer.")
        return ["", *found] if found else []


def as_text(
    settings: Mapping[str, Any],
    facts: Profile,
    tools: Sequence[ToolDefinition],
    messages: Sequence[Message],
    *,
    answer_tool: bool = False,
) -> AsText | None:
    """Says whether the tools of a request go as text, and how; None where the API takes them.

    They do where `use_native_tools` is False, and where the profile says that the model takes none. A conversation
    without tools, calls and results needs no form.

    Args:
        settings: Canonical settings of the call.
        facts: The target's profile.
        tools: The caller's tools.
        messages: The conversation.
        answer_tool: Whether there will be a tool that takes the answer.
    """
    native = settings.get("use_native_tools")
    functions = answer_tool or any([tool.native is None for tool in tools])
    if native is None and (facts.tools or not functions):
        return None
    if native or not (functions or any([type(block) in TOOL_BLOCKS for m in messages for block in m.content])):
        return None
    why = "use_native_tools is False" if native is False else "this model takes no tools"
    if not functions:
        return AsText(why)
    return AsText(why, settings.get("tool_choice"), settings.get("parallel_tool_calls") is not False)


class _Nowhere:
    """The target of a conversation that stays neutral: it has no settings and no blocks of its own."""

    params: Mapping[str, Any] = {}
    blocks: Mapping[type, Any] = {}


def stack_as_text(stack: PromptStack, facts: Profile) -> tuple[PromptStack, Form | None]:
    """Returns a stack as a driver is given it that makes its own requests, and how its answer is read.

    The same stack and None where `use_native_tools` is not False. Such a driver may know of no stop sequence: the
    parser ends the answer where results are made up.

    Args:
        stack: The stack.
        facts: The profile of who answers.

    Raises:
        ConversionError: If calls stand in messages of the user, or a tool is chosen that is not among the tools.
    """
    if stack.settings.get("use_native_tools") is not False:
        return stack, None
    settings = canonical_settings({name: value for name, value in stack.settings.items() if name in SETTINGS})
    tools = definitions(stack.tools)
    pass_ = as_text(settings, facts, tools, stack.messages)
    rest = {name: value for name, value in stack.settings.items() if name != "use_native_tools"}
    form, messages = None, list(stack.messages)
    if pass_ is not None:
        nowhere: Any = _Nowhere()
        job = Job(nowhere, messages, tools, Target("neutral", facts, settings=settings), trace=False)
        job.note.step = "react"
        messages, form, tools = pass_.apply(job.messages, job), job.react, job.tools
        rest = {name: value for name, value in rest.items() if name in job.settings or name not in OF_TOOLS}
    schema = stack.output_schema
    return PromptStack(messages, tools=tools, output_schema=schema, settings=rest, read_from=stack.read_from), form


def _named(job: Job) -> tuple[list[ToolDefinition], ToolNames]:
    """The functions, each once, and the names that the model is told."""
    before, job.note.step = job.note.step, "tool_names"
    given = job.tools
    job.tools = tuple([tool for tool in given if tool.native is None])
    functions, names = NAMES.table(job)
    job.tools, job.note.step = given, before
    return list(functions), names


def _stop(job: Job) -> dict[str, Any]:
    """What stops the model where it would make up results, if the target can."""
    given, row = job.settings.get("stop") or [], job.transport.params.get("stop")
    if row is None or not is_sent("stop", job) or STOP in given or (row.most is not None and len(given) >= row.most):
        return {}
    job.note("added", f"stop: {STOP!r} ends the answer where results would have to come")
    return {"stop": [*given, STOP]}


def _described(tool: ToolDefinition, names: ToolNames, job: Job) -> str:
    """One tool: its name, what it does, and the schema of its input on a line of its own."""
    said = "\n  ".join((tool.description or "").split("\n")).strip()
    schema = {"type": "object", "properties": {}} if tool.parameters is None else tool.parameters
    if tool.strict:
        job.note("coerced", f"the tool {tool.native_name!r}: nothing holds a text to a schema, so strict is left out")
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        what, place = not_json(schema) or (f"what is no JSON ({error})", "some place")
        job.refuse(f"the tool {tool.native_name!r}: the schema holds {what}, at {place}", rule="tools")
    return f"- {names.native(tool.name, tool.path)}{': ' if said else ''}{said}\n  {text}"


def _marked(messages: Messages, tools: Sequence[ToolDefinition], job: Job) -> Messages:
    """A cache mark on a tool stands on the instructions that hold it."""
    mark = mark_of(tools)
    if not mark:
        return messages
    job.note("moved", "the cache mark of a tool stands on the instructions that tell of it")
    place = leading_system(messages) - 1
    *others, last = messages[place].content
    new = job.note.became(msgspec.structs.replace(last, cache=last.cache or mark), last)
    return [*messages[:place], with_content(messages[place], (*others, new)), *messages[place + 1 :]]
