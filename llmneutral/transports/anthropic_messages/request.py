"""The body of a request to Anthropic Messages: tools, settings, system, turns.

https://platform.claude.com/docs/en/api/messages; types of anthropic 2: MessageCreateParams.
"""

from __future__ import annotations

import re
from typing import Any

from llmneutral.convert.citations import uncited, without_citations
from llmneutral.convert.job import Job, Messages, Target
from llmneutral.convert.params import SAMPLING, Param, chosen_tool, narrowed, unforced, write_params
from llmneutral.convert.passes import leading_system
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.thinking_request import Thinking, plan_thinking
from llmneutral.convert.tool_schemas import answer_schema, known_tools, tool_schema
from llmneutral.convert.transport import written_tools
from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.tools import ToolDefinition
from llmneutral.profiles import find_endpoint
from llmneutral.transports.anthropic_messages.blocks import cache_control

NEWEST_VERSION = "2026-10-21"
"""What anthropic 2 sends by itself as `anthropic-version`."""

LAST_VERSION_WITH_SAMPLING = "2023-06-01"
VERSIONING = "https://platform.claude.com/docs/en/api/versioning"
UNKNOWN_MODEL_TOKENS = 16_384
UNKNOWN_MODEL = "a moderate number, as no limit of the model is known"
NOT_STREAMED_TOKENS = 21_333
"""More than this the SDK refuses to wait for without a stream."""

AGGREGATORS = frozenset(("openrouter", "litellm"))
"""Endpoints whose ids of models begin with a vendor's name."""

OWN_TOOL = re.compile(r"_\d{8}$|^mcp_toolset$")
"""Types of tools that Anthropic runs or defines: `web_search_20260209`."""

ROLES = {"developer": "system"}
TIERS = {"auto": "auto", "standard_only": "standard_only", "default": "standard_only", "standard": "standard_only"}
SPEED_BETA = "fast-mode-2026-02-01"
Text = TextMessageContent


# --- tools ----------------------------------------------------------------------------------------


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A tool; the provider's own go as they are."""
    if definition.native is not None:
        return _marked_tool(dict(definition.native), definition, job)
    dialect = "anthropic" if job.facts.schema == "json_schema" else job.facts.schema
    found = tool_schema(definition, native, dialect, job)
    node: JSONObject = {"name": native}
    if definition.description:
        node["description"] = definition.description
    node["input_schema"] = found.schema
    if found.strict:
        node["strict"] = True
    return _marked_tool(node, definition, job)


def is_own_tool(native: JSONObject) -> bool:
    """Whether a tool in a provider's form is one of this API."""
    kind = native.get("type")
    if kind in (None, "custom"):
        return "input_schema" in native
    return isinstance(kind, str) and OWN_TOOL.search(kind) is not None


def _marked_tool(node: JSONObject, definition: ToolDefinition, job: Job) -> JSONObject:
    if definition.cache:
        node["cache_control"] = cache_control(definition.cache, job)
    return node


def tool_choice(thinking: Thinking, job: Job) -> JSONObject | None:
    """Which tool must be called; a forced call gives way to thinking, and to models that refuse it."""
    choice = chosen_tool(job)
    parallel = job.settings.get("parallel_tool_calls")
    before, job.note.step = job.note.step, "tool_choice"
    if choice is not None and choice.mode == "allowed":
        choice = narrowed(choice, job)
    if choice is not None and choice.mode in ("required", "named"):
        choice = unforced(choice, job, thinks=thinking.is_on)
    node = _choice_node(choice, job) if job.tools else None
    if not job.tools and parallel is not None:
        job.note("dropped", "parallel_tool_calls: there are no tools")
    elif parallel is not None and (node is None or node["type"] != "none"):
        node = {**(node or {"type": "auto"}), "disable_parallel_tool_use": not parallel}
    job.note.step = before
    return node


def _choice_node(choice: ToolChoice | None, job: Job) -> JSONObject | None:
    if choice is None or choice.mode == "auto":
        return None
    if choice.mode != "named":
        return {"type": "any" if choice.mode == "required" else "none"}
    name = choice.names[0]
    chosen = next(t for t in job.tools if name in (t.native_name, t.name))
    native = chosen.name if chosen.native is not None else job.names.native(chosen.name, chosen.path)
    return {"type": "tool", "name": native}


# --- settings -------------------------------------------------------------------------------------


def max_tokens(job: Job) -> int:
    """Tokens of the answer: the caller's, clamped to the model's; else what the model and the SDK allow."""
    asked, most = job.settings.get("max_tokens"), job.facts.max_output
    if asked is not None and (most is None or asked <= most):
        return int(asked)
    if asked is not None and most is not None:
        job.note("coerced", f"max_tokens: {asked} is more than this model gives; {most} is sent")
        return most
    found, source = (UNKNOWN_MODEL_TOKENS, UNKNOWN_MODEL) if most is None else (most, "the model's limit")
    if not job.settings.get("stream") and found > NOT_STREAMED_TOKENS:
        found, source = NOT_STREAMED_TOKENS, "the SDK's limit for a call without a stream"
    job.note("added", f"max_tokens: Messages demands it, and none was given; {found} is sent, {source}")
    return found


def _is_thinking(payload: JSONObject) -> bool:
    return (payload.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _beside(payload: JSONObject, key: str, value: Any) -> None:
    """Puts a key where the SDK takes those its method has no argument for: anthropic 2 knows no sampling any more."""
    payload.setdefault("extra_body", {})[key] = value


def _temperature(value: float, job: Job, payload: JSONObject) -> None:
    if _is_thinking(payload) and value != 1:
        job.note("dropped", "temperature: while the model thinks it cannot be set")
        return
    _beside(payload, "temperature", value)


def _top_p(value: float, job: Job, payload: JSONObject) -> None:
    if _is_thinking(payload) and value < 0.95:
        job.note("dropped", "top_p: while the model thinks it has to be between 0.95 and 1")
    elif "temperature" in payload.get("extra_body", ()) and job.facts.one_of_temperature_top_p:
        job.note("dropped", "top_p: this model takes temperature or top_p, not both")
    else:
        _beside(payload, "top_p", value)


def _top_k(value: int, job: Job, payload: JSONObject) -> None:
    if _is_thinking(payload):
        job.note("dropped", "top_k: while the model thinks it cannot be set")
    elif not job.facts.top_k:
        job.note("dropped", "top_k: this endpoint has no such field")
    else:
        _beside(payload, "top_k", value)


def _stop(value: list[str], job: Job, payload: JSONObject) -> None:
    kept = [sequence for sequence in value if sequence.strip()]
    if len(kept) < len(value):
        job.note("dropped", "stop: blank stop sequences are refused here")
    if (most := job.facts.max_stop) is not None and len(kept) > most:
        job.note("dropped", f"stop: only the first {most} of {len(kept)} are taken")
        kept = kept[:most]
    if kept:
        payload["stop_sequences"] = kept


def _metadata(value: JSONObject, job: Job, payload: JSONObject) -> None:
    if others := [key for key in value if key != "user_id"]:
        job.note("dropped", f"metadata: only user_id is taken, not {', '.join(map(str, others))}")
    if "user_id" in value:
        payload["metadata"] = {"user_id": value["user_id"]}


def _safety_identifier(value: str, job: Job, payload: JSONObject) -> None:
    if "metadata" in payload:
        job.note("dropped", "safety_identifier: metadata.user_id says who the user is")
    else:
        payload["metadata"] = {"user_id": value}


def _service_tier(value: str, job: Job, payload: JSONObject) -> None:
    tier = TIERS.get(value)
    if tier is None:
        job.note("dropped", f"service_tier: {value!r} is none of auto, standard_only")
        return
    if tier != value:
        job.note("coerced", f"service_tier: {value!r} goes by {tier!r} here")
    payload["service_tier"] = tier


def _speed(value: str, job: Job, payload: JSONObject) -> None:
    payload["speed"] = value
    job.headers["anthropic-beta"] = SPEED_BETA


def _cache_of_request(value: JSONObject, job: Job, payload: JSONObject) -> None:
    if job.facts.cache != "ephemeral":
        job.note("dropped", "cache_control: this endpoint has no cache marks")
        return
    payload["cache_control"] = cache_control(value.get("ttl") or True, job)


PARAMS: dict[str, Param] = {
    "temperature": Param(low=0, high=1, write=_temperature),
    "top_p": Param(low=0, high=1, write=_top_p),
    "top_k": Param(write=_top_k),
    "stop": Param(write=_stop),
    "metadata": Param(write=_metadata),
    "safety_identifier": Param(write=_safety_identifier),
    "service_tier": Param(write=_service_tier),
    "speed": Param(write=_speed),
    "cache_control": Param(write=_cache_of_request),
    "stream": Param("stream"),
    # Written by the frame, for they depend on each other and on the messages.
    **dict.fromkeys(
        (
            "max_tokens",
            "reasoning_effort",
            "thinking_budget",
            "thinking_display",
            "tool_choice",
            "parallel_tool_calls",
            "response_format",
        ),
        Param(),
    ),
}


def wanted_schema(job: Job) -> JSONObject | None:
    """The schema the answer is to be held to by the API's own field, or None."""
    if (job.settings.get("extra_body") or {}).get("output_format") is not None:
        return None  # the caller's own body asks for it already, in the older spelling
    if job.target.output_schema is not None:
        return job.target.output_schema
    asked = job.settings.get("response_format")
    if asked is None or asked.get("type") != "json_schema" or not job.facts.native_json_schema:
        return None
    given = asked.get("json_schema", asked).get("schema")
    return given if isinstance(given, dict) else None


def _output_format(job: Job) -> JSONObject | None:
    schema = wanted_schema(job)
    asked = (job.settings.get("response_format") or {}).get("type")
    if schema is None:
        if asked not in (None, "text"):
            job.note("dropped", f"response_format: {asked} is not known here; ask for an output_schema")
        return None
    return {"type": "json_schema", "schema": answer_schema(schema, "anthropic_output", job)}


# --- messages -------------------------------------------------------------------------------------


def _system(messages: Messages, job: Job, payload: JSONObject) -> None:
    """The leading instructions: one text without mark is a string, else a list of texts."""
    blocks: list[Any] = [block for message in messages for block in message.content]
    if not blocks:
        return
    for block in blocks:
        if type(block) is not Text:
            job.refuse("instructions are text here, and nothing else", block, rule="system")
    if len(blocks) == 1 and not blocks[0].cache:
        payload["system"] = blocks[0].text
        job.mark(payload, blocks[0], key="system")
    else:
        payload["system"] = [job.render(uncited(block, job)) for block in blocks]


def _turns(messages: Messages, start: int, job: Job) -> list[JSONObject]:
    """The turns; conversations of one text a turn are written at once, for that is what most of them are."""
    look = job.look(messages)
    if look.is_plain:
        texts: list[JSONObject] = [{"type": "text", "text": words} for words in look.texts[start:]]
        job.mark_each(texts, look.blocks[start:])
        return [
            {"role": ROLES.get(role, role), "content": [node]}
            for role, node in zip(look.roles[start:], texts, strict=True)
        ]
    if look.dressed:
        messages = [message if message.role == "assistant" else without_citations(message, job) for message in messages]
    turns: list[JSONObject] = []
    write = job.write
    for message in messages[start:]:
        content, role = message.content, message.role
        if len(content) == 1:
            block = content[0]
            nodes = [write[type(block)](block, job)]
        else:
            nodes = [write[type(block)](block, job) for block in content]
        if message.name is not None:
            job.note("rewritten", f"name: Messages has no names of participants ({message.name!r})", *content)
        turns.append({"role": ROLES.get(role, role), "content": nodes})
    return turns


def model_id(target: Target) -> str | None:
    """The model as this endpoint names it: no vendor in front, and Claude's versions with hyphens."""
    model = target.model
    if model is None or find_endpoint(target.provider, target.base_url) in AGGREGATORS:
        return model
    name = model.removeprefix("anthropic/")
    return name.replace(".", "-") if name.startswith("claude") else name


def _version(payload: JSONObject, job: Job) -> None:
    """The version of the API, where it is not the one the SDK asks for by itself."""
    version = job.facts.api_version or NEWEST_VERSION
    beside = {**payload.get("extra_body", {}), **(job.settings.get("extra_body") or {})}
    if version == NEWEST_VERSION and any([key in beside for key in SAMPLING]):
        version = LAST_VERSION_WITH_SAMPLING
    if version != NEWEST_VERSION:
        job.headers["anthropic-version"] = version


def frame(messages: Messages, job: Job) -> JSONObject:
    """Messages after the passes → the payload."""
    payload: JSONObject = {}
    model = model_id(job.target)
    if model is not None:
        payload["model"] = model
    if model != job.target.model:
        job.note("renamed", f"model: {job.target.model!r} goes by {model!r} here")
    payload["max_tokens"] = max_tokens(job)
    job.note.step = "reasoning"
    # Summaries are asked for, since newer models send empty texts otherwise.
    thinking = plan_thinking(messages, payload["max_tokens"], job, usual_display="summarized")
    job.note.step = "frame"
    start = leading_system(messages)
    if start:
        _system(messages[:start], job, payload)
    payload["messages"] = _turns(messages, start, job)
    known_tools(job, is_own_tool)
    choice = tool_choice(thinking, job)
    if job.tools:
        payload["tools"] = written_tools(job)
    if choice is not None:
        payload["tool_choice"] = choice
    if thinking.config is not None:
        payload["thinking"] = thinking.config
    _output_config(thinking, job, payload)
    write_params(job, payload)
    _version(payload, job)
    return payload


def _output_config(thinking: Thinking, job: Job, payload: JSONObject) -> None:
    config: JSONObject = {}
    if thinking.effort is not None:
        config["effort"] = thinking.effort
    if (form := _output_format(job)) is not None:
        config["format"] = form
    if config:
        payload["output_config"] = config
