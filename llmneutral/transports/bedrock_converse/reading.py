"""The other way: the arguments or the REST body of a request to Converse → a PromptStack.

Nothing is lost: what has no neutral name goes into the setting `extra_body`, and blocks and tools that only this API
knows become generic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec

from llmneutral.convert.rest import base64_of, plain_json
from llmneutral.convert.settings import SETTINGS
from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    GenericMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, dumps, loads
from llmneutral.ir.messages import Message
from llmneutral.ir.schemas import schema_name
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.bedrock_converse.formats import API, OWN, is_server_tool
from llmneutral.transports.bedrock_converse.media import read_audio, read_document, read_image

ROLES = ("user", "assistant", "system")
INFERENCE = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}
READ = frozenset(
    "modelId messages system toolConfig inferenceConfig additionalModelRequestFields outputConfig guardrailConfig"
    " requestMetadata serviceTier".split()
)
SPEC_KEYS = frozenset(("name", "description", "inputSchema", "strict"))
UNMARKABLE = (ThinkingMessageContent,)
"""What a cache mark may not stand on: behind it, the mark stays a block of its own."""


def read_request(body: JSONObject) -> PromptStack:
    """Reads a request, with raw bytes or with base64.

    Raises:
        ConversionError: If a message or block is malformed, naming it.
    """
    system = body.get("system")
    messages = [Message("system", _blocks(system, "system", 0))] if system else []
    messages += [_message(message, place) for place, message in enumerate(body["messages"])]
    config = body.get("toolConfig") or {}
    settings = _settings(body)
    schema = _lone_schema(settings)
    return PromptStack(messages, tools=_tools(config.get("tools") or ()), output_schema=schema, settings=settings)


# --- messages -------------------------------------------------------------------------------------


def _message(message: Any, place: int) -> Message:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in ROLES:
        _refuse(f"messages[{place}] has the role {role!r}; known: {', '.join(ROLES)}", place)
    return Message(role, _blocks(message.get("content"), f"messages[{place}]", place))


def _blocks(content: Any, where: str, place: int) -> tuple[Any, ...]:
    found: list[Any] = []
    for number, block in enumerate(content or ()):
        mark = _mark(block)
        if mark is not None and found and not found[-1].cache and not isinstance(found[-1], UNMARKABLE):
            found[-1] = msgspec.structs.replace(found[-1], cache=mark)
        else:
            found.append(_block(block, f"{where}, block {number},", place, number))
    return tuple(found)


def _mark(block: Any) -> bool | str | None:
    """The cache mark a block is, if it is nothing else."""
    point = block.get("cachePoint") if isinstance(block, Mapping) else None
    if not isinstance(point, Mapping) or point.get("type") != "default" or set(point) - {"type", "ttl"}:
        return None
    return point.get("ttl") or True


def _block(block: Any, where: str, place: int, number: int) -> Any:
    if not isinstance(block, Mapping) or not block:
        _refuse(f"{where} is no block: it has no key that says what it is", place, number)
    kind = next((known for known in _READERS if known in block), None)
    try:
        if kind is None or (isinstance(block[kind], Mapping) and is_server_tool(kind, block[kind])):
            return _generic(block)
        return _READERS[kind](block[kind])
    except (KeyError, TypeError, AttributeError) as error:
        _refuse(f"{where} is a malformed {kind} block ({type(error).__name__}: {error})", place, number)


def _refuse(what: str, place: int, block: int = 0) -> NoReturn:
    raise ConversionError(what, refs=((place, block),), rule="read_request", api=API)


def _text(block: Any) -> TextMessageContent:
    if not isinstance(block, str):
        raise TypeError(f"its text is {a_kind(block)}")
    return TextMessageContent(block)


def _cited(block: JSONObject) -> TextMessageContent:
    pieces = list(block.get("content") or ())
    native = {"content": pieces} if len(pieces) > 1 else None
    text = "".join([piece["text"] for piece in pieces])
    return TextMessageContent(text, citations=tuple(block.get("citations") or ()), native=native, origin=OWN)


def _reasoning(block: JSONObject) -> ThinkingMessageContent:
    data = block.get("redactedContent")
    if data is not None:
        return ThinkingMessageContent(data=data if isinstance(data, str) else base64_of(data), origin=OWN)
    said = block["reasoningText"]
    return ThinkingMessageContent(said.get("text") or "", signature=said.get("signature") or None, origin=OWN)


def _audio(block: JSONObject) -> Any:
    """Sound in S3 stays a block of this API's own."""
    return _generic({"audio": block}) if "s3Location" in block["source"] else read_audio(block)


def _call(block: JSONObject) -> ActionCallMessageContent | InvalidActionCallMessageContent:
    given, kind = block.get("input"), block.get("type")
    own: JSONObject = {} if kind is None else {"native": {"type": kind}, "origin": OWN}
    if given is not None and not isinstance(given, Mapping):
        raw = given if isinstance(given, str) else dumps(given)
        return InvalidActionCallMessageContent(block["toolUseId"], block["name"], raw=raw, **own)
    return ActionCallMessageContent(block["toolUseId"], block["name"], input=dict(given or {}), **own)


def _result(block: JSONObject) -> ActionResultMessageContent:
    parts = [_part(part, number) for number, part in enumerate(block.get("content") or ())]
    lone = parts[0] if len(parts) == 1 else None
    plain = lone.text if isinstance(lone, TextMessageContent) and lone.native is None else None
    failed = block.get("status") == "error"
    return ActionResultMessageContent(
        block["toolUseId"], plain, tuple(parts) if plain is None and parts else None, is_error=failed
    )


def _part(part: JSONObject, number: int) -> Any:
    """A block of a result; data stands as text, and goes back as data."""
    if "json" in part:
        return TextMessageContent(dumps(part["json"]), native={"json": part["json"]}, origin=OWN)
    return _block(part, f"block {number} of a toolResult", 0, number)


def _generic(block: Mapping[str, Any]) -> GenericMessageContent:
    return GenericMessageContent(plain_json(dict(block)), origin=OWN)


_READERS: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "reasoningContent": _reasoning,
    "image": read_image,
    "document": read_document,
    "audio": _audio,
    "toolUse": _call,
    "toolResult": _result,
    "citationsContent": _cited,
}
"""Blocks with a neutral form; any other, and tools that Amazon runs, are this API's own."""


# --- tools ----------------------------------------------------------------------------------------


def _tools(given: Any) -> list[ToolDefinition]:
    found: list[ToolDefinition] = []
    for tool in given:
        if not isinstance(tool, Mapping):
            raise TypeError(f"a tool is {a_kind(tool)}, not an object")
        if (mark := _mark(tool)) is not None and found and not found[-1].cache:
            found[-1] = msgspec.structs.replace(found[-1], cache=mark)
        else:
            found.append(_tool(tool))
    return found


def _tool(tool: Mapping[str, Any]) -> ToolDefinition:
    kind = next(iter(tool))
    spec = tool.get("toolSpec")
    if spec is None:
        inner = tool[kind]
        name = inner.get("name") if isinstance(inner, Mapping) else None
        return ToolDefinition(str(name or kind), native=dict(tool))
    schema = (spec.get("inputSchema") or {}).get("json")
    return ToolDefinition(
        spec["name"],
        description=spec.get("description"),
        parameters=loads(schema) if isinstance(schema, str) else schema,
        strict=spec.get("strict"),
        native=dict(tool) if set(spec) - SPEC_KEYS else None,
    )


# --- settings -------------------------------------------------------------------------------------


def _settings(body: JSONObject) -> JSONObject:
    found: JSONObject = {}
    extra = {key: plain_json(value) for key, value in body.items() if key not in READ and value is not None}
    _take(body.get("inferenceConfig"), INFERENCE, found, extra, "inferenceConfig")
    tier = body.get("serviceTier")
    named = {**body, "serviceTier": tier.get("type") if isinstance(tier, Mapping) else tier}
    whole = {"guardrailConfig": "guardrail_config", "requestMetadata": "metadata", "serviceTier": "service_tier"}
    for key, name in whole.items():
        if named.get(key):
            found[name] = named[key]
    found |= _choice((body.get("toolConfig") or {}).get("toolChoice"))
    _model_fields(body, found, extra)
    _output(body.get("outputConfig") or {}, found, extra)
    if extra:
        found["extra_body"] = extra
    return found


def _take(given: Any, names: Mapping[str, str], found: JSONObject, extra: JSONObject, holder: str) -> None:
    """Takes what is a neutral setting with a neutral value; the rest stays under its own key."""
    rest: JSONObject = {}
    for key, value in (given or {}).items():
        if value is None or value == []:
            continue
        if key in names and _is_neutral(names[key], value):
            found[names[key]] = value
        else:
            rest[key] = value
    if rest:
        extra[holder] = rest


def _is_neutral(name: str, value: Any) -> bool:
    try:
        SETTINGS[name].check(name, value)
    except ConversionError:
        return False
    return True


def _choice(given: Any) -> JSONObject:
    if not given:
        return {}
    kind, inner = next(iter(given.items()))
    if kind == "tool":
        return {"tool_choice": {"type": "function", "function": {"name": inner["name"]}}}
    return {"tool_choice": {"any": "required"}.get(kind, kind)}


def _model_fields(body: JSONObject, found: JSONObject, extra: JSONObject) -> None:
    """What the model's vendor wants: reasoning and top_k have neutral names."""
    more = dict(body.get("additionalModelRequestFields") or {})
    effort = (body.get("outputConfig") or {}).get("effort")
    settings = _reasoning_settings(more, effort)
    if settings is not None:
        found |= settings
        for key in ("thinking", "reasoningConfig", "reasoning_effort"):
            more.pop(key, None)
    if effort is not None and "reasoning_effort" not in found:
        extra["outputConfig"] = {"effort": effort}
    inner = more.get("inferenceConfig")
    if isinstance(inner, Mapping) and set(inner) == {"topK"} and _is_neutral("top_k", inner["topK"]):
        found["top_k"] = more.pop("inferenceConfig")["topK"]
    elif _is_neutral("top_k", more.get("top_k")):
        found["top_k"] = more.pop("top_k")
    if more:
        extra["additionalModelRequestFields"] = plain_json(more)


def _reasoning_settings(more: JSONObject, effort: Any) -> JSONObject | None:
    """The neutral settings that say the same, or None where there are none."""
    thinking, config = more.get("thinking"), more.get("reasoningConfig")
    if isinstance(thinking, Mapping) and config is None:
        kind, budget = thinking.get("type"), thinking.get("budget_tokens")
        shown = {"thinking_display": thinking["display"]} if thinking.get("display") else {}
        if kind == "enabled" and budget is not None:
            return {"thinking_budget": budget, **shown} | ({"reasoning_effort": effort} if effort else {})
        if kind == "adaptive" and (effort or shown):
            return {"reasoning_effort": effort, **shown} if effort else shown
        return {"reasoning_effort": "none"} if kind == "disabled" else None
    plain = more.get("reasoning_effort")
    if plain is not None and thinking is None and config is None and _is_neutral("reasoning_effort", plain):
        return {"reasoning_effort": plain}
    if isinstance(config, Mapping) and thinking is None and set(config) == {"type", "maxReasoningEffort"}:
        return {"reasoning_effort": config["maxReasoningEffort"]} if config["type"] == "enabled" else None
    return None


def _output(config: JSONObject, found: JSONObject, extra: JSONObject) -> None:
    """The format of the answer, in OpenAI's form, which has a name as well; a schema that is no JSON stays."""
    form = config.get("textFormat")
    if form is None:
        return
    given = ((form.get("structure") or {}).get("jsonSchema")) or {}
    try:
        schema = loads(given["schema"])
    except (KeyError, ValueError):
        extra["outputConfig"] = {**extra.get("outputConfig", {}), "textFormat": form}
        return
    found["response_format"] = {"type": "json_schema", "json_schema": {**given, "schema": schema}}


def _lone_schema(settings: JSONObject) -> JSONObject | None:
    """Takes the schema of the answer out of the settings, where its name is the one that it gives itself."""
    asked = settings.get("response_format") or {}
    given = asked.get("json_schema") or {}
    schema = given.get("schema")
    if not isinstance(schema, dict) or given != {"schema": schema, "name": schema_name(schema)}:
        return None
    del settings["response_format"]
    return schema
