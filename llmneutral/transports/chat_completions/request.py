"""A request body of Chat Completions → PromptStack.

What has a neutral name becomes a setting; every other key stays as it is, in `extra_body`, and goes out
again as it came. Source: the types of openai 3 (`CompletionCreateParams`), and recorded traffic of imitators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.settings import SETTINGS
from llmneutral.errors import ConversionError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.ir.wire import from_openai

SAME_NAME = frozenset(
    "temperature top_p top_k seed stop presence_penalty frequency_penalty logit_bias logprobs top_logprobs"
    " reasoning_effort thinking_budget verbosity tool_choice parallel_tool_calls response_format stream store"
    " service_tier metadata safety_identifier prompt_cache_key modalities audio".split()
)
RENAMED = {"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "function_call": "tool_choice"}
REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Names under which imitators keep the reasoning of a turn."""


class RewrittenTool(ToolDefinition, frozen=True, kw_only=True):
    """A tool that came in another form than it goes out; `why` is what is said of it then."""

    why: str


def read_request(body: JSONObject) -> PromptStack:
    """Reads a request.

    Raises:
        ConversionError: If a message is malformed, naming the message and the part.
    """
    model = body.get("model")
    messages = body["messages"]
    return PromptStack(
        from_openai([openai_form(message, model) for message in messages]),
        tools=[*_tools(body.get("tools")), *_functions(body.get("functions"))],
        settings=read_settings(body),
    )


# --- settings -----------------------------------------------------------------------------------


def read_settings(body: JSONObject, readers: Mapping[str, str] | None = None) -> JSONObject:
    """Returns the neutral settings of a request; what has no neutral name, or no neutral value, is `extra_body`.

    Args:
        body: The request.
        readers: Further keys and the settings they are.
    """
    known = {**{name: name for name in SAME_NAME}, **RENAMED, **(readers or {})}
    settings: JSONObject = {}
    rest: JSONObject = {}
    for key, value in body.items():
        if value is None or key in ("model", "messages", "tools", "functions"):
            continue
        name = known.get(key)
        if name is not None and _is_valid(name, value):
            settings[name] = value
        elif (kept := _unread(key, value)) is not None:
            rest[key] = kept
    if rest:
        settings["extra_body"] = rest
    return settings


def _is_valid(name: str, value: Any) -> bool:
    try:
        SETTINGS[name].check(name, value)
    except ConversionError:
        return False
    return True


def _unread(key: str, value: Any) -> Any:
    """What is kept of a key without a neutral name: not what is sent anyway."""
    if key == "n":
        return None if value == 1 else value
    if key == "stream_options" and isinstance(value, Mapping):
        return {name: each for name, each in value.items() if name != "include_usage"} or None
    return value


# --- tools --------------------------------------------------------------------------------------


def _tools(given: Any) -> list[ToolDefinition]:
    return [_tool(tool) for tool in given or ()]


def _tool(tool: Any) -> ToolDefinition:
    if not isinstance(tool, Mapping):
        return definitions([tool])[0]
    if isinstance(custom := tool.get("custom"), Mapping):
        return ToolDefinition(custom["name"], native=dict(tool))
    function = tool.get("function")
    if (
        isinstance(function, Mapping)
        and "parameters" not in function
        and isinstance(function.get("arguments"), Mapping)
    ):
        why = f"the tool {function['name']!r}: its schema came as arguments and goes as parameters"
        return _rewritten(function, function["arguments"], why)
    if (cache := tool.get("cache_control")) is not None:
        tool = {**tool, "cache": _mark(cache)}
    return definitions([tool])[0]


def _functions(given: Any) -> list[ToolDefinition]:
    """The deprecated form of tools. Source: types of openai 3, `functions` (deprecated in favor of `tools`)."""
    why = "the function {!r} goes among the tools: functions and function_call are deprecated"
    return [_rewritten(each, each.get("parameters"), why.format(each["name"])) for each in given or ()]


def _rewritten(function: Mapping[str, Any], parameters: Any, why: str) -> RewrittenTool:
    return RewrittenTool(function["name"], description=function.get("description"), parameters=parameters, why=why)


# --- messages -----------------------------------------------------------------------------------


def openai_form(message: Any, model: Any = None) -> Any:
    """Returns a message as `from_openai` reads it: with the marks of caches and the reasoning of imitators.

    Args:
        message: The message as it stands in the request.
        model: Model of the request: it made the reasoning.
    """
    if not isinstance(message, Mapping):
        return message
    changed: JSONObject = {}
    content = message.get("content")
    if isinstance(content, list):
        changed["content"] = [_part(part) for part in content]
    if (mark := message.get("cache_control")) is not None and (parts := _parts(message, changed)):
        changed["content"] = [*parts[:-1], {**parts[-1], "cache": _mark(mark)}]  # one on a message is on its last part
    if any([message.get(key) is not None for key in REASONING]):
        changed |= {"content": [_reasoning(message, model), *_parts(message, changed)], "reasoning_content": None}
    if (call := message.get("function_call")) is not None and not message.get("tool_calls"):
        changed["tool_calls"] = [{"type": "function", "function": call}]  # the deprecated form of one call, without id
    return {**message, **changed} if changed else message


def _part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    marks = [mark for name in ("cache_control", "prompt_cache_breakpoint") if (mark := part.get(name)) is not None]
    if not marks:
        return part
    return {**part, "cache": _mark(marks[0])} | ({"native": {"cache_marks": len(marks)}} if len(marks) > 1 else {})


def _mark(mark: Any) -> bool | str:
    return (mark.get("ttl") or True) if isinstance(mark, Mapping) else True


def _parts(message: Mapping[str, Any], changed: JSONObject) -> list[Any]:
    """The content as a list of parts, to which something can be added."""
    content = changed.get("content", message.get("content"))
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _reasoning(message: Mapping[str, Any], model: Any) -> JSONObject:
    """The reasoning of a turn as a part, under whatever name it came; its details go back as they are."""
    details = message.get("reasoning_details")
    text = message.get("reasoning_content") or message.get("reasoning") or details_text(details)
    native = {key: message[key] for key in message if key.startswith("reasoning_") and key != "reasoning_content"}
    origin = {"api": "chat_completions", "model": model}
    return {"type": "thinking", "thinking": str(text or ""), "origin": origin, "native": native or None}


def details_text(details: Any) -> str:
    """Returns the text of `reasoning_details` (OpenRouter, MiniMax): of their texts, or their summaries."""
    if not isinstance(details, list):
        return ""
    entries = [each for each in details if isinstance(each, Mapping)]
    return "".join([str(each.get("text") or each.get("summary") or "") for each in entries])
