"""Tools, neutral settings and routes → keys of the payload.

Docs: https://developers.openai.com/api/docs/guides/function-calling, /guides/reasoning, /guides/structured-outputs,
/guides/prompt-caching; https://developers.openai.com/api/docs/guides/deployment-checklist.
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.names import digest
from llmneutral.convert.params import Param, chosen_tool, nearest_effort, put
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.tool_schemas import enforced_schema, tool_schema
from llmneutral.convert.transport import written_tools
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.tools import ToolDefinition
from llmneutral.profiles import find_endpoint

LONGEST_KEY = 64
ENCRYPTED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"
DIALECTS = {"json_schema": "responses"}
"""The dialect of `convert.schema` for a value of the fact `schema`; the others are called the same."""


# --- routes -------------------------------------------------------------------------------------


class Route(msgspec.Struct, frozen=True):
    """What an endpoint wants beside the facts of its profile.

    Attributes:
        cache_headers: Request headers that carry the cache key.
        drops: Settings it does not take.
        verbatim_reasoning: Effort and summary go as they were asked, whatever is known of the model.
        never_stores: `store` has to be false.
    """

    cache_headers: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    verbatim_reasoning: bool = False
    never_stores: bool = False


ANY = Route()
ROUTES = {
    "codex": Route(cache_headers=("session_id", "x-client-request-id"), never_stores=True),
    "xai": Route(cache_headers=("x-grok-conv-id",), drops=("service_tier",)),
    "copilot": Route(drops=("prompt_cache_key",), verbatim_reasoning=True),
}
"""By the id of `profiles.find_endpoint`."""

OFFICIAL = ("openai", "azure", "codex")
"""Endpoints that are OpenAI's own: what the types of its SDK do not have, they refuse."""


def endpoint_of(job: Job) -> str | None:
    """Returns the id of the target's endpoint: OpenAI's where neither provider nor address is given."""
    target = job.target
    return find_endpoint(target.provider, target.base_url) if target.provider or target.base_url else "openai"


def route(job: Job) -> Route:
    """Returns what the target's endpoint wants."""
    return ROUTES.get(endpoint_of(job) or "", ANY)


def _dropped(name: str, job: Job) -> bool:
    if name not in route(job).drops:
        return False
    job.note("dropped", f"{name}: this endpoint does not take it")
    return True


# --- tools --------------------------------------------------------------------------------------


def _own_tools(messages: Messages, job: Job) -> Messages:
    """A provider's own tool of another API is none of this; functions and custom tools have a form here."""
    if any([tool.native is not None for tool in job.tools]):
        job.tools = tuple([own for tool in job.tools if (own := _own(tool, job)) is not None])
    return messages


def _own(tool: ToolDefinition, job: Job) -> ToolDefinition | None:
    native = tool.native
    if native is None:
        return tool
    if tool.parameters is not None:
        job.note("rewritten", f"the tool {tool.native_name!r}: keys that only another API knows are left out")
        return msgspec.structs.replace(tool, native=None)
    custom = native.get("custom")
    if native.get("type") == "custom" and isinstance(custom, dict):
        return msgspec.structs.replace(tool, native={"type": "custom", **custom, **_grammar(custom)})
    kind = native.get("type")
    if isinstance(kind, str) and (kind in OWN_TOOLS or endpoint_of(job) not in OFFICIAL):
        return tool
    job.note("dropped", f"the tool {tool.name!r} is another API's own ({kind})")
    return None


def _grammar(custom: JSONObject) -> JSONObject:
    """The format of a custom tool: flat here, nested in Chat Completions."""
    form = custom.get("format")
    nested = form.get("grammar") if isinstance(form, dict) else None
    return {"format": {"type": "grammar", **nested}} if isinstance(nested, dict) else {}


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A function, flat; `parameters` and `strict` are required keys, and without `strict` some models are strict.

    A provider's own tool passes through. Source: openai 3, FunctionToolParam.
    """
    if definition.native is not None:
        return dict(definition.native)
    schema = tool_schema(definition, native, DIALECTS.get(job.facts.schema, job.facts.schema), job)
    node: JSONObject = {"type": "function", "name": native}
    if definition.description:
        node["description"] = definition.description
    node |= {"parameters": schema.schema, "strict": bool(schema.strict)}
    return node if definition.extra is None else node | _extra(definition.extra, native, job)


def _extra(extra: JSONObject, native: str, job: Job) -> JSONObject:
    """Further keys of a function that this API knows, and "description" where an empty one was written."""
    known = {key: value for key, value in extra.items() if key in OWN_KEYS or endpoint_of(job) not in OFFICIAL}
    if len(known) < len(extra):
        gone = ", ".join([key for key in extra if key not in known])
        job.note("dropped", f"the tool {native!r}: this API knows no {gone}")
    return known


def write_tools(job: Job, payload: JSONObject) -> None:
    """Writes tools and tool choice; without tools neither."""
    choice = chosen_tool(job)
    if not job.tools:
        if job.settings.get("parallel_tool_calls") is not None:
            job.note("dropped", "parallel_tool_calls: there are no tools")
        return
    payload["tools"] = written_tools(job)
    if choice is not None:
        payload["tool_choice"] = _choice(choice, job)


def _choice(choice: ToolChoice, job: Job) -> Any:
    if choice.mode == "named":
        return _chosen(choice.names[0], job)
    if choice.mode == "allowed":
        tools = [_chosen(name, job) for name in choice.names]
        return {"type": "allowed_tools", "mode": "required" if choice.force else "auto", "tools": tools}
    return choice.mode


def _chosen(name: str, job: Job) -> JSONObject:
    """One tool as a choice. Source: openai 3, ToolChoiceFunctionParam, ToolChoiceTypesParam, ToolChoiceMcpParam."""
    found = next(tool for tool in job.tools if name in (tool.native_name, tool.name))
    if found.native is None:
        return {"type": "function", "name": job.names.native(found.name, found.path)}
    kinds = ("type", "name") if found.native.get("type") == "custom" else ("type", "server_label")
    return {key: found.native[key] for key in kinds if key in found.native}


# --- reasoning ----------------------------------------------------------------------------------


def effort(value: str, job: Job, payload: JSONObject) -> None:
    """The effort, or the model's nearest one."""
    verbatim = route(job).verbatim_reasoning
    levels = job.facts.effort_levels
    if not levels and not verbatim:
        job.note("dropped", f"reasoning_effort: {job.target.model or 'this model'} takes no effort")
        return
    put(payload, "reasoning.effort", value if verbatim else nearest_effort(value, levels, job))


def finish_reasoning(job: Job, payload: JSONObject) -> None:
    """Adds the summary to the reasoning, and asks for its encrypted form: nothing is stored, so it has to come back.

    Source: openai 3, ResponseCreateParams.include.
    """
    facts = job.facts
    told: JSONObject = payload.get("reasoning") or {}
    off = told.get("effort") == "none"
    asked = job.settings.get("reasoning_summary")
    summary = asked or ("auto" if told and not route(job).verbatim_reasoning else "none")
    thinks = not off and (facts.reasoning or bool(told) or facts.thinking != "none")
    if summary != "none" and thinks and facts.reasoning_summary:
        payload.setdefault("reasoning", {})["summary"] = summary
    elif asked not in (None, "none"):
        job.note("dropped", "reasoning_summary: the model does not reason, or this endpoint gives no summary")
    wanted = (facts.reasoning or bool(told)) and not off and facts.encrypted_reasoning
    if wanted and job.setting("replay_reasoning") is not False:
        payload.setdefault("include", []).insert(0, ENCRYPTED)


# --- the other settings -------------------------------------------------------------------------


def parallel(value: bool, job: Job, payload: JSONObject) -> None:
    """Beside tools only; `write_tools` says it where there are none."""
    if "tools" in payload:
        payload["parallel_tool_calls"] = value


def logprobs(value: Any, job: Job, payload: JSONObject) -> None:
    """Probabilities of tokens are asked for by `include`."""
    if value:
        payload.setdefault("include", []).append(LOGPROBS)


def response_format(value: JSONObject, job: Job, payload: JSONObject) -> None:
    """OpenAI's form of an answer's format, flat; an output schema of the call wins over it."""
    if job.target.output_schema is not None:
        job.note("dropped", "response_format: the output schema of the call counts")
        return
    given = value.get("json_schema")
    if value.get("type") == "json_schema" and isinstance(given, dict):
        value = {"type": "json_schema", **given}
        value.setdefault("name", job.target.schema_name)
    if value.get("type") not in FORMATS and endpoint_of(job) in OFFICIAL:
        job.note("dropped", f"response_format: the type {value.get('type')!r} is unknown here")
        return
    put(payload, "text.format", value)


def output_schema(job: Job, payload: JSONObject) -> None:
    """The schema of the answer, enforced. Source: openai 3, ResponseFormatTextJSONSchemaConfigParam."""
    if job.target.output_schema is None:
        return
    facts = job.facts
    reduced = enforced_schema(job.target.output_schema, DIALECTS.get(facts.schema, facts.schema), job)
    named = {"type": "json_schema", "name": job.target.schema_name, "schema": reduced.schema}
    put(payload, "text.format", {**named, "strict": bool(reduced.strict)})


def store(value: bool, job: Job, payload: JSONObject) -> None:
    """Whether the provider keeps the answer; the whole history is sent all the same."""
    if value and route(job).never_stores:
        job.note("coerced", "store: this endpoint keeps no answers; false is sent")
        value = False
    payload["store"] = value


def service_tier(value: str, job: Job, payload: JSONObject) -> None:
    """The service tier, where the endpoint has such."""
    if _dropped("service_tier", job):
        return
    if value not in TIERS and endpoint_of(job) in OFFICIAL:
        job.note("dropped", f"service_tier: {value!r} is none here; known: {', '.join(TIERS)}")
        return
    payload["service_tier"] = value


def cache_key(value: str, job: Job, payload: JSONObject) -> None:
    """The key of the prompt cache, in the body and in the endpoint's headers."""
    if _dropped("prompt_cache_key", job):
        return
    if len(value) > LONGEST_KEY:
        job.note("coerced", f"prompt_cache_key: more than {LONGEST_KEY} characters are refused; its SHA-256 goes")
        value = digest(value, LONGEST_KEY)
    payload["prompt_cache_key"] = value
    job.headers.update(dict.fromkeys(route(job).cache_headers, value))


OWN_TOOLS = frozenset(
    "apply_patch code_interpreter computer computer_use_preview custom file_search function image_generation"
    " local_shell mcp namespace programmatic_tool_calling shell tool_search web_search web_search_2025_08_26"
    " web_search_preview web_search_preview_2025_03_11".split()
)
"""Types of tools. Source: openai 3, ToolParam."""

OWN_KEYS = frozenset({"allowed_callers", "async", "defer_loading", "description", "output_schema"})
"""Further keys of a function. Source: openai 3, FunctionToolParam."""

FORMATS = ("json_schema", "json_object", "text")
TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
"""Source: openai 3, ServiceTier."""

own_tools = Pass("own_tools", _own_tools)
PARAMS: dict[str, Param] = {
    "tool_choice": Param(),  # both by `write_tools`
    "parallel_tool_calls": Param(write=parallel),
    "max_tokens": Param("max_output_tokens", low=16),  # error text: integer_below_min_value
    "temperature": Param("temperature", low=0, high=2),
    "top_p": Param("top_p", low=0, high=1),
    "top_logprobs": Param("top_logprobs", high=20),
    "logprobs": Param(write=logprobs),
    "reasoning_effort": Param(write=effort),
    "reasoning_summary": Param(),  # by `finish_reasoning`
    "verbosity": Param("text.verbosity"),
    "response_format": Param(write=response_format),
    "store": Param(write=store),
    "stream": Param("stream"),
    "service_tier": Param(write=service_tier),
    "metadata": Param("metadata"),
    "safety_identifier": Param("safety_identifier"),
    "prompt_cache_key": Param(write=cache_key),
    "truncation": Param("truncation"),
}
"""Neutral settings; what has no row (stop, seed, penalties …) does not exist here."""
