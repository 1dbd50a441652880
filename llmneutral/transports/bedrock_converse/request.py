"""The keyword arguments of `converse`: tools, settings, reasoning, system, turns.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; botocore 1.44: ConverseRequest. The
SDK refuses keys it does not know; what a vendor wants besides goes into `additionalModelRequestFields`.
"""

from __future__ import annotations

import re
from typing import Any

from llmneutral.convert.citations import uncited, without_citations
from llmneutral.convert.job import Job, Messages
from llmneutral.convert.pairing import TOOL_BLOCKS
from llmneutral.convert.params import Param, chosen_tool, narrowed, nearest_effort, put, unforced, write_params
from llmneutral.convert.passes import leading_system
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.thinking_request import Thinking, plan_thinking
from llmneutral.convert.tool_schemas import answer_schema, known_tools, tool_schema
from llmneutral.convert.transport import written_tools
from llmneutral.ir.contents import GenericMessageContent, TextMessageContent
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.bedrock_converse.blocks import cache_point
from llmneutral.transports.bedrock_converse.formats import API

MORE = "additionalModelRequestFields"
ARGUMENTS = frozenset(
    "modelId messages system inferenceConfig toolConfig guardrailConfig projectIdentifier additionalModelRequestFields"
    " promptVariables additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier"
    " outputConfig".split()
)
"""What `converse` takes; a key of `extra_body` that is not among them is the model's."""

OWN_TOOLS = ("toolSpec", "systemTool", "cachePoint")
TIERS = {"priority": "priority", "default": "default", "flex": "flex", "reserved": "reserved"} | dict.fromkeys(
    ("standard", "standard_only"), "default"
)
LABEL = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{1,256}")
MOST_LABELS = 16
ROLES = {"developer": "system"}
USED_EARLIER = "Used earlier in this conversation."
CHOICES = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html"
NOVA_THINKING = "https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html"
EFFORTS = ("low", "medium", "high")
PLAIN = "reasoning_effort"
"""The field that holds nothing but the effort."""

SAMPLING_KEYS = {"temperature": "temperature", "top_p": "topP"}


# --- tools ----------------------------------------------------------------------------------------


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A tool; those that Amazon runs go as they are."""
    if definition.native is not None:
        return dict(definition.native)
    dialect = "bedrock" if job.facts.schema == "json_schema" else job.facts.schema
    found = tool_schema(definition, native, dialect, job)
    spec: JSONObject = {"name": native}
    if definition.description:
        spec["description"] = definition.description
    spec["inputSchema"] = {"json": found.schema}
    if found.strict:
        spec["strict"] = True
    return {"toolSpec": spec}


def is_own_tool(native: JSONObject) -> bool:
    """Whether a tool in a provider's form is one of this API."""
    return len(native) == 1 and next(iter(native)) in OWN_TOOLS


def _tool_config(messages: Messages, thinking: Thinking, job: Job) -> JSONObject | None:
    known_tools(job, is_own_tool)
    used = not TOOL_BLOCKS.isdisjoint(job.look(messages).kinds)
    choice = _choice(thinking, job, used=used)
    if not job.tools:
        return {"tools": _tools_of_history(messages, job)} if used else None
    nodes = []
    for definition, node in zip(job.tools, written_tools(job), strict=True):
        nodes.append(node)
        if definition.cache:
            nodes.append(cache_point(definition.cache, job))
    return {"tools": nodes} if choice is None else {"tools": nodes, "toolChoice": choice}


def _choice(thinking: Thinking, job: Job, *, used: bool) -> JSONObject | None:
    """Which tool must be called; a forced call gives way to thinking, and to models that refuse it."""
    before, job.note.step = job.note.step, "tool_choice"
    asked: ToolChoice | None = job.settings.get("tool_choice")
    if asked is not None and not job.facts.tools:
        if asked.mode != "none":
            job.note("dropped", f"tool_choice: {job.target.model or 'this model'} calls no tools")
        choice = None
    elif asked is not None and asked.mode == "none" and used and job.tools:
        why = "tool_choice: 'none' cannot be said here, and the calls of the history demand that the tools are sent"
        job.note("coerced", why, doc=CHOICES)
        choice = None
    else:
        choice = _given_way(chosen_tool(job), thinking, job)
    job.note.step = before
    return choice


def _given_way(choice: ToolChoice | None, thinking: Thinking, job: Job) -> JSONObject | None:
    if choice is not None and choice.mode == "allowed":
        choice = narrowed(choice, job)
    if choice is not None and choice.mode in ("required", "named"):
        choice = unforced(choice, job, thinks=thinking.is_on)
    if choice is None or choice.mode in ("auto", "none"):
        return None
    if choice.mode == "required":
        return {"any": {}}
    name = choice.names[0]
    chosen = next(t for t in job.tools if name in (t.native_name, t.name))
    return {"tool": {"name": job.names.native(chosen.name, chosen.path) if chosen.native is None else chosen.name}}


def _tools_of_history(messages: Messages, job: Job) -> list[JSONObject]:
    """A definition for each tool the history called.

    "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    """
    before, job.note.step = job.note.step, "tools"
    first: dict[str, Any] = {}
    for call in job.look(messages).calls:
        first.setdefault(job.names.native(call.name, call.path), call)
    names = [*first]
    why = f"the history calls tools, and none are offered: {', '.join(names)} are defined, for that is demanded"
    job.note("added", why, *[first[name] for name in names])
    job.note.step = before
    schema = {"json": {"type": "object", "properties": {}}}
    return [{"toolSpec": {"name": name, "description": USED_EARLIER, "inputSchema": schema}} for name in names]


# --- reasoning ------------------------------------------------------------------------------------


def _plan(messages: Messages, job: Job, payload: JSONObject) -> Thinking:
    """Asks for reasoning in the way of the model's vendor."""
    before, job.note.step = job.note.step, "reasoning"
    field = job.facts.bedrock_reasoning_field
    if field is not None:
        thinking = _by_effort(field, job, payload)
    elif job.facts.thinking == "effort":
        thinking = Thinking(is_on=job.facts.thinks_by_default)
        _drop("this model has no field for it here", job)
    else:
        thinking = plan_thinking(messages, _limit(job), job)
        if thinking.config is not None:
            put(payload, f"{MORE}.thinking", thinking.config)
        if thinking.effort is not None:
            put(payload, "outputConfig.effort", thinking.effort)
    job.note.step = before
    return thinking


def _drop(why: str, job: Job) -> None:
    for name in ("reasoning_effort", "thinking_budget", "thinking_display"):
        if job.settings.get(name) not in (None, "none"):
            job.note("dropped", f"{name}: {why}")


def _by_effort(field: str, job: Job, payload: JSONObject) -> Thinking:
    """By `{type: enabled, maxReasoningEffort}` (Nova 2, whose reasoning is off by default), or the effort alone."""
    effort = job.settings.get("reasoning_effort")
    for name in ("thinking_budget", "thinking_display"):
        if job.settings.get(name) is not None:
            job.note("dropped", f"{name}: reasoning_effort alone steers this model's reasoning", doc=NOVA_THINKING)
    if effort is None:
        return Thinking(is_on=job.facts.thinks_by_default)
    if effort == "none" and job.facts.thinking_off != "never":
        if job.facts.thinks_by_default:
            put(payload, f"{MORE}.{field}", {"type": "disabled"})
        return Thinking()
    level = nearest_effort(effort, job.facts.effort_levels or EFFORTS, job)
    put(payload, f"{MORE}.{field}", level if field == PLAIN else {"type": "enabled", "maxReasoningEffort": level})
    return Thinking(effort=level, is_on=True)


# --- settings -------------------------------------------------------------------------------------


def _limit(job: Job) -> int | None:
    """Tokens of the answer at most: the caller's, within the model's; the service takes the model's by itself."""
    asked, most = job.settings.get("max_tokens"), job.facts.max_output
    given = [limit for limit in (asked, most) if limit is not None]
    return min(given, default=None)


def _refused(name: str, value: float, job: Job, payload: JSONObject) -> str | None:
    """Says why a setting of sampling is refused beside what the request asks of the model's reasoning."""
    more = payload.get(MORE, {})
    if (more.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        allowed = {"temperature": value == 1, "top_p": value >= 0.95}.get(name, False)
        return None if allowed else "while the model thinks it cannot be set"
    asked = more.get(job.facts.bedrock_reasoning_field)
    high = isinstance(asked, dict) and asked.get("maxReasoningEffort") == "high"
    return "at the effort high it cannot be set" if high else None


def _sampled(name: str, value: float, job: Job, payload: JSONObject) -> None:
    if (why := _refused(name, value, job, payload)) is not None:
        job.note("dropped", f"{name}: {why}")
    elif name == "top_p" and job.facts.one_of_temperature_top_p and _has_temperature(payload):
        job.note("dropped", "top_p: this model takes temperature or top_p, not both")
    else:
        put(payload, f"inferenceConfig.{SAMPLING_KEYS[name]}", value)


def _has_temperature(payload: JSONObject) -> bool:
    return "temperature" in payload.get("inferenceConfig", ())


def _temperature(value: float, job: Job, payload: JSONObject) -> None:
    _sampled("temperature", value, job, payload)


def _top_p(value: float, job: Job, payload: JSONObject) -> None:
    _sampled("top_p", value, job, payload)


def _top_k(value: int, job: Job, payload: JSONObject) -> None:
    field = job.facts.bedrock_top_k_field
    if field is None or not job.facts.top_k:
        job.note("dropped", "top_k: this model has no such field here")
    elif (why := _refused("top_k", value, job, payload)) is not None:
        job.note("dropped", f"top_k: {why}")
    else:
        put(payload, f"{MORE}.{field}", value)


def _stop(value: list[str], job: Job, payload: JSONObject) -> None:
    kept = [sequence for sequence in value if sequence]
    if len(kept) < len(value):
        job.note("dropped", "stop: empty stop sequences are refused here")
    if (most := job.facts.max_stop) is not None and len(kept) > most:
        job.note("dropped", f"stop: only the first {most} of {len(kept)} are taken")
        kept = kept[:most]
    if kept:
        put(payload, "inferenceConfig.stopSequences", kept)


def _metadata(value: JSONObject, job: Job, payload: JSONObject) -> None:
    """Labels of a request: texts of few characters, sixteen at most."""
    fit = {key: each for key, each in value.items() if _is_label(key) and (each == "" or _is_label(each))}
    kept = dict([*fit.items()][:MOST_LABELS])
    if others := [str(key) for key in value if key not in kept]:
        why = (
            f"metadata: {MOST_LABELS} short texts of letters, digits and a few signs are taken; not {', '.join(others)}"
        )
        job.note("dropped", why)
    if kept:
        payload["requestMetadata"] = kept


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and LABEL.fullmatch(value) is not None


def _service_tier(value: str, job: Job, payload: JSONObject) -> None:
    tier = TIERS.get(value)
    if tier is None:
        job.note("dropped", f"service_tier: {value!r} is none of priority, default, flex, reserved")
        return
    if tier != value:
        job.note("coerced", f"service_tier: {value!r} goes by {tier!r} here")
    payload["serviceTier"] = {"type": tier}


def _guardrail(value: JSONObject, job: Job, payload: JSONObject) -> None:
    """The guardrail; how it processes a stream is known to `converse_stream` only."""
    if "streamProcessingMode" in value and not job.settings.get("stream"):
        job.note("dropped", "guardrail_config: streamProcessingMode is for streams only")
        value = {key: entry for key, entry in value.items() if key != "streamProcessingMode"}
    payload["guardrailConfig"] = value


PARAMS: dict[str, Param] = {
    "max_tokens": Param("inferenceConfig.maxTokens"),
    "temperature": Param(low=0, high=1, write=_temperature),
    "top_p": Param(low=0, high=1, write=_top_p),
    "top_k": Param(write=_top_k),
    "stop": Param(write=_stop),
    "guardrail_config": Param(write=_guardrail),
    "metadata": Param(write=_metadata),
    "service_tier": Param(write=_service_tier),
    "stream": Param(),  # two methods of the SDK, one payload
    # Written by the frame, for they depend on each other and on the messages.
    **dict.fromkeys(
        ("reasoning_effort", "thinking_budget", "thinking_display", "tool_choice", "response_format"), Param()
    ),
}


def into_arguments(payload: JSONObject, extra: JSONObject) -> None:
    """Puts the setting `extra_body` among the arguments: keys of Converse as they are, others are the model's."""
    for key, value in extra.items():
        _merge(payload if key in ARGUMENTS else payload.setdefault(MORE, {}), key, value)


def _merge(into: JSONObject, key: str, value: Any) -> None:
    known = into.get(key)
    if isinstance(known, dict) and isinstance(value, dict):
        into[key] = dict(known)
        for inner, entry in value.items():
            _merge(into[key], inner, entry)
    else:
        into[key] = value


# --- format of the answer -------------------------------------------------------------------------


def wanted_schema(job: Job) -> JSONObject | None:
    """The schema the answer is to be held to by the API's own field, or None."""
    if job.target.output_schema is not None:
        return job.target.output_schema
    asked = _json_schema(job)
    given = asked.get("schema") if asked is not None and job.facts.native_json_schema else None
    return given if isinstance(given, dict) else None


def _json_schema(job: Job) -> JSONObject | None:
    asked = job.settings.get("response_format")
    if asked is None or asked.get("type") != "json_schema":
        return None
    given: JSONObject = asked.get("json_schema", asked)
    return given


def _text_format(job: Job, payload: JSONObject) -> None:
    """The format of the answer: its schema is a text."""
    schema = wanted_schema(job)
    if schema is None:
        asked = (job.settings.get("response_format") or {}).get("type")
        if asked not in (None, "text"):
            job.note("dropped", f"response_format: {asked} is not known here; ask for an output_schema")
        return
    said: JSONObject = {} if job.target.output_schema is not None else _json_schema(job) or {}
    definition: JSONObject = {"schema": dumps(answer_schema(schema, "bedrock_output", job))}
    if name := said.get("name") if said else job.target.schema_name:
        definition["name"] = name
    if said.get("description"):
        definition["description"] = said["description"]
    form = {"type": "json_schema", "structure": {"jsonSchema": definition}}
    put(payload, "outputConfig.textFormat", form)


# --- messages -------------------------------------------------------------------------------------


def _system(messages: Messages, job: Job) -> list[JSONObject]:
    """The leading instructions: a block each, with their marks behind them."""
    blocks: list[Any] = [block for message in messages for block in message.content]
    for block in blocks:
        if type(block) not in (TextMessageContent, GenericMessageContent):
            job.refuse("instructions are text here, and nothing else", block, rule="system")
    return _nodes(tuple([uncited(block, job) for block in blocks]), job)


def _nodes(content: tuple[Any, ...], job: Job) -> list[JSONObject]:
    """The nodes of some blocks, with their marks behind them."""
    write = job.write
    nodes = []
    for block in content:
        nodes.append(write[type(block)](block, job))
        if block.cache:
            nodes.append(cache_point(block.cache, job, block))
    return nodes


def _turns(messages: Messages, start: int, job: Job) -> list[JSONObject]:
    """The turns; conversations of one text a turn are written at once, for that is what most of them are."""
    look = job.look(messages)
    if look.is_plain:
        texts: list[JSONObject] = [{"text": words} for words in look.texts[start:]]
        job.mark_each(texts, look.blocks[start:])
        return [
            {"role": ROLES.get(role, role), "content": [node]}
            for role, node in zip(look.roles[start:], texts, strict=True)
        ]
    if look.dressed:
        messages = [m if m.role == "assistant" else without_citations(m, job) for m in messages]
    turns: list[JSONObject] = []
    write = job.write
    for message in messages[start:]:
        content, role = message.content, message.role
        if message.name is not None:
            job.note("rewritten", f"name: {API} has no names of participants ({message.name!r})", *content)
        if len(content) == 1 and not content[0].cache:
            block = content[0]
            turns.append({"role": ROLES.get(role, role), "content": [write[type(block)](block, job)]})
        else:
            turns.append({"role": ROLES.get(role, role), "content": _nodes(content, job)})
    return turns


def frame(messages: Messages, job: Job) -> JSONObject:
    """Messages after the passes → the arguments of the call."""
    payload: JSONObject = {}
    if job.target.model is not None:
        payload["modelId"] = job.target.model
    start = leading_system(messages)
    payload["messages"] = _turns(messages, start, job)
    if start:
        payload["system"] = _system(messages[:start], job)
    thinking = _plan(messages, job, payload)
    if (config := _tool_config(messages, thinking, job)) is not None:
        payload["toolConfig"] = config
    _text_format(job, payload)
    write_params(job, payload)
    return payload
