"""Neutral settings → keyword arguments of `client.chat.complete`.

Source: the types of mistralai 3 (`ChatCompletionRequest`), https://docs.mistral.ai/api.
"""

from __future__ import annotations

from llmneutral.convert.job import Job
from llmneutral.convert.params import Param, enforces_schemas, nearest_effort, stop_at
from llmneutral.ir.jsontext import JSONObject
from llmneutral.transports.chat_completions.params import parallel_tool_calls

DOC = "https://docs.mistral.ai/api"
REASONING = "https://docs.mistral.ai/capabilities/reasoning"
SERVICE_TIERS = ("auto", "standard_only")


def into_arguments(payload: JSONObject, extra: JSONObject) -> None:
    """Puts `extra_body` among the keyword arguments: this SDK has no other place for further keys."""
    payload.update(extra)


def top_k(value: int, job: Job, payload: JSONObject) -> None:
    """Unless the model is known not to take it."""
    if job.facts.top_k:
        payload["top_k"] = value
    else:
        job.note("dropped", "top_k: this model has no such setting")


def reasoning_effort(effort: str, job: Job, payload: JSONObject) -> None:
    """Passes on models that list it; some reason always, and some never."""
    facts, model = job.facts, job.target.model or "this model"
    if facts.effort_levels:
        payload["reasoning_effort"] = nearest_effort(effort, facts.effort_levels, job)
    else:
        how = "reasons always, and takes no effort" if facts.thinks_by_default else "takes no effort"
        job.note("dropped", f"reasoning_effort: {model} {how}", doc=REASONING)


def response_format(value: JSONObject, job: Job, payload: JSONObject) -> None:
    """OpenAI's form is Mistral's; a schema needs a name."""
    kind, facts = value.get("type"), job.facts
    if job.target.output_schema is not None:
        job.note("dropped", "response_format: the output schema takes its place")
    elif kind == "json_schema" and not enforces_schemas(job.facts):
        job.note(
            "coerced", "response_format: this model enforces no JSON Schema; a rule in the instructions asks for it"
        )
        if facts.json_object:
            payload["response_format"] = {"type": "json_object"}
    elif kind == "json_object" and not facts.json_object:
        job.note("dropped", "response_format: this model has no mode json_object")
    else:
        payload["response_format"] = _named(value, job)


def _named(value: JSONObject, job: Job) -> JSONObject:
    asked = value.get("json_schema")
    if not isinstance(asked, dict) or asked.get("name"):
        return value
    job.note("added", f"response_format: a schema needs a name here: {job.target.schema_name!r}")
    return {**value, "json_schema": {"name": job.target.schema_name, **asked}}


def service_tier(value: str, job: Job, payload: JSONObject) -> None:
    """One of the two tiers that may be asked for."""
    if value in SERVICE_TIERS:
        payload["service_tier"] = value
    else:
        job.note("dropped", f"service_tier: {value!r} is none of {', '.join(SERVICE_TIERS)}", doc=DOC)


PARAMS = {
    "max_tokens": Param("max_tokens", doc=DOC),
    "temperature": Param("temperature", 0, 1.5, doc=DOC),
    "top_p": Param("top_p", 0, 1, doc=DOC),
    "top_k": Param(write=top_k),
    "stop": Param(write=stop_at("stop", DOC), doc=DOC),
    "seed": Param("random_seed"),
    "presence_penalty": Param("presence_penalty", -2, 2, doc=DOC),
    "frequency_penalty": Param("frequency_penalty", -2, 2, doc=DOC),
    "logprobs": Param("logprobs"),
    "top_logprobs": Param("top_logprobs"),
    "tool_choice": Param(),  # written with the tools
    "parallel_tool_calls": Param(write=parallel_tool_calls),
    "response_format": Param(write=response_format),
    "reasoning_effort": Param(write=reasoning_effort, doc=REASONING),
    "stream": Param(),  # the method says it: chat.complete or chat.stream
    "service_tier": Param(write=service_tier),
    "metadata": Param("metadata"),
    "prompt_cache_key": Param("prompt_cache_key"),
}
