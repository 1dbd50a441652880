"""Neutral settings → keys of Chat Completions, and the dials of its imitators.

What the official SDK's method has no argument for stands in `extra_body`, where the SDK takes it. Sources:
the types of openai 3 (`CompletionCreateParams`), and for each dial the page beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmneutral.convert.grammar import json_grammar
from llmneutral.convert.job import Job
from llmneutral.convert.names import digest
from llmneutral.convert.params import Param, enforces_schemas, nearest_effort, stop_at
from llmneutral.convert.tool_schemas import enforced_schema
from llmneutral.ir.jsontext import JSONObject
from llmneutral.transports.chat_completions.blocks import endpoint_of, is_official

Dial = Callable[[str, Job, JSONObject], None]
KEY_LENGTH = 64
MODALITIES = ("text", "audio")
SERVICE_TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
DOC = "https://developers.openai.com/api/docs/api-reference/chat/create"


def extra(payload: JSONObject, **keys: Any) -> None:
    """Puts keys into a request that the official API does not have."""
    payload["extra_body"] = {**payload.get("extra_body", {}), **keys}


def is_told(job: Job, fact: str) -> bool:
    """Whether a fact is known of this target, and not a default."""
    return job.facts.sources[fact] != "default"


# --- limits -------------------------------------------------------------------------------------


def max_tokens(value: int, job: Job, payload: JSONObject) -> None:
    """Under the one name the endpoint knows, never both; max_tokens is deprecated at OpenAI."""
    payload[job.facts.max_tokens_field] = value


def top_k(value: int, job: Job, payload: JSONObject) -> None:
    """Imitators take it; OpenAI does not."""
    if job.facts.top_k:
        extra(payload, top_k=value)
    else:
        job.note("dropped", "top_k: this endpoint has no such setting")


def parallel_tool_calls(value: bool, job: Job, payload: JSONObject) -> None:
    """Only beside tools: alone it is an error."""
    if job.tools:
        payload["parallel_tool_calls"] = value
    else:
        job.note("dropped", "parallel_tool_calls: there are no tools")


# --- reasoning ----------------------------------------------------------------------------------


def reasoning_effort(effort: str, job: Job, payload: JSONObject) -> None:
    """In the spelling of the endpoint: fact `reasoning_dial`."""
    DIALS[job.facts.reasoning_dial](effort, job, payload)


def _no_dial(effort: str, job: Job, payload: JSONObject) -> None:
    del payload
    job.note("dropped", f"reasoning_effort: nothing is known that sets it to {effort!r} for this model here")


def _effort(effort: str, job: Job, payload: JSONObject) -> None:
    """https://developers.openai.com/api/docs/guides/reasoning; Ollama: https://docs.ollama.com/api/openai-compatibility."""
    levels = job.facts.effort_levels
    if not levels and is_told(job, "effort_levels"):
        job.note("dropped", f"reasoning_effort: {job.target.model or 'this model'} takes no effort")
        return
    payload["reasoning_effort"] = nearest_effort(effort, levels, job)


def _gemini(effort: str, job: Job, payload: JSONObject) -> None:
    """https://ai.google.dev/gemini-api/docs/openai (thinking): there is no way to say that it is off."""
    if effort == "none":
        job.note("dropped", "reasoning_effort: thinking cannot be switched off over this endpoint")
    else:
        _effort(effort, job, payload)


def _switched(effort: str, job: Job, payload: JSONObject, on: JSONObject, off: JSONObject) -> None:
    """A switch without levels."""
    if effort == "none":
        if job.facts.thinking_off == "never":
            job.note("coerced", "reasoning_effort: 'none' is sent, but this model thinks all the same")
        extra(payload, **off)
        return
    extra(payload, **on)
    if job.facts.reasoning_dial != "deepseek":
        job.note("coerced", f"reasoning_effort: {effort!r} only switches thinking on here; it has no levels")


def _deepseek(effort: str, job: Job, payload: JSONObject) -> None:
    """https://api-docs.deepseek.com/guides/thinking_mode: the server maps every level to one of its own."""
    _switched(effort, job, payload, {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}})
    if effort != "none":
        payload["reasoning_effort"] = effort


def _thinking(effort: str, job: Job, payload: JSONObject) -> None:
    """Kimi: https://platform.moonshot.ai/docs; GLM: https://docs.z.ai/guides/capabilities/thinking-mode."""
    _switched(effort, job, payload, {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}})


def _minimax(effort: str, job: Job, payload: JSONObject) -> None:
    """https://platform.minimax.io/docs/api-reference/text-openai-api."""
    on = {"thinking": {"type": "adaptive"}, "reasoning_split": True}
    _switched(effort, job, payload, on, {"thinking": {"type": "disabled"}})


def _qwen(effort: str, job: Job, payload: JSONObject) -> None:
    """https://www.alibabacloud.com/help/en/model-studio/deep-thinking."""
    _switched(effort, job, payload, {"enable_thinking": True}, {"enable_thinking": False})


def _openrouter(effort: str, job: Job, payload: JSONObject) -> None:
    """https://openrouter.ai/docs/use-cases/reasoning-tokens: one object for every model behind it."""
    if effort == "none":
        extra(payload, reasoning={"enabled": False})
    else:
        extra(payload, reasoning={"effort": nearest_effort(effort, job.facts.effort_levels, job)})


def _template(effort: str, job: Job, payload: JSONObject) -> None:
    """https://docs.vllm.ai/en/stable/features/reasoning_outputs: a switch of the model's chat template."""
    name = job.facts.template_switch
    on, off = {"chat_template_kwargs": {name: True}}, {"chat_template_kwargs": {name: False}}
    _switched(effort, job, payload, on, off)


def thinking_budget(value: int, job: Job, payload: JSONObject) -> None:
    """Where a number of tokens can be told: Qwen and OpenRouter."""
    dial, effort = job.facts.reasoning_dial, job.settings.get("reasoning_effort")
    if dial not in ("qwen", "openrouter") or effort == "none":
        job.note("dropped", "thinking_budget: no number of tokens can be told here")
        return
    if value <= 0:
        reasoning_effort("none", job, payload)
    elif dial == "qwen":
        extra(payload, enable_thinking=True, thinking_budget=value)
    elif effort is None:  # one of the two
        extra(payload, reasoning={"max_tokens": value})
    else:
        job.note("dropped", "thinking_budget: reasoning_effort is sent, and only one of both is taken")


# --- the form of the answer ---------------------------------------------------------------------


def response_format(value: JSONObject, job: Job, payload: JSONObject) -> None:
    """OpenAI's form goes out as it came, unless it is known not to work here."""
    if job.target.output_schema is not None:
        job.note("dropped", "response_format: the output schema takes its place")
        return
    kind, facts = value.get("type"), job.facts
    if kind in ("json_schema", "json_object") and facts.json_grammar is not None and not job.tools:
        _grammar((value.get("json_schema") or {}).get("schema") or {"type": "object"}, job, payload)
    elif kind == "json_schema" and not enforces_schemas(job.facts):
        job.note(
            "coerced", "response_format: this model enforces no JSON Schema; a rule in the instructions asks for it"
        )
        if facts.json_object:
            payload["response_format"] = {"type": "json_object"}
    elif kind == "json_object" and not facts.json_object:
        job.note("dropped", "response_format: this endpoint has no mode json_object")
    else:
        payload["response_format"] = _named(value, job)


def _named(value: JSONObject, job: Job) -> JSONObject:
    """OpenAI's own endpoint wants a name for a schema; others do without."""
    asked = value.get("json_schema")
    if not isinstance(asked, dict) or asked.get("name") or not is_official(job):
        return value
    job.note("added", f"response_format: a schema needs a name here: {job.target.schema_name!r}")
    return {**value, "json_schema": {"name": job.target.schema_name, **asked}}


def output_schema(job: Job, payload: JSONObject) -> None:
    """The field for a schema that is enforced. https://developers.openai.com/api/docs/guides/structured-outputs."""
    schema = job.target.output_schema
    if schema is None:
        return
    if job.facts.json_grammar is not None:
        _grammar(schema, job, payload)
        return
    found = enforced_schema(schema, job.facts.schema, job)
    asked: JSONObject = {"name": job.target.schema_name, "schema": found.schema}
    payload["response_format"] = {
        "type": "json_schema",
        "json_schema": asked | ({"strict": True} if found.strict else {}),
    }


def _grammar(schema: JSONObject, job: Job, payload: JSONObject) -> None:
    """llama.cpp holds a small model to a schema by a grammar only."""
    extra(payload, grammar=json_grammar(schema))
    job.note("coerced", "response_format: the schema goes as a grammar, which this server enforces")


# --- the rest -----------------------------------------------------------------------------------


def stream(value: bool, job: Job, payload: JSONObject) -> None:
    """With usage in the last chunk, where that may be asked; stream_options alone are an error."""
    payload["stream"] = value
    if value and job.facts.stream_usage:
        payload["stream_options"] = {"include_usage": True}


def service_tier(value: str, job: Job, payload: JSONObject) -> None:
    """OpenAI refuses a tier it does not know; others have names of their own."""
    if is_official(job) and value not in SERVICE_TIERS:
        job.note("dropped", f"service_tier: {value!r} is none of {', '.join(SERVICE_TIERS)}", doc=DOC)
    else:
        payload["service_tier"] = value


def modalities(value: Any, job: Job, payload: JSONObject) -> None:
    """OpenAI answers here in text and sound; others have more kinds."""
    asked = [value] if isinstance(value, str) else list(value)
    kept = [kind for kind in asked if kind in MODALITIES or not is_official(job)]
    if lost := [kind for kind in asked if kind not in kept]:
        job.note("dropped", f"modalities: {', '.join(map(str, lost))} is none of {', '.join(MODALITIES)}", doc=DOC)
    if kept:
        payload["modalities"] = kept


def store(value: bool, job: Job, payload: JSONObject) -> None:
    """Only OpenAI itself keeps answers."""
    if endpoint_of(job) == "openai":
        payload["store"] = value
    else:
        job.note("dropped", "store: only OpenAI itself keeps answers")


def prompt_cache_key(value: str, job: Job, payload: JSONObject) -> None:
    """Of at most 64 characters; a longer one goes as its hash."""
    if job.facts.cache not in ("key", "breakpoint"):
        job.note("dropped", "prompt_cache_key: this endpoint has no such setting")
        return
    if len(value) > KEY_LENGTH:
        job.note("coerced", f"prompt_cache_key: it has more than {KEY_LENGTH} characters; its hash is sent")
        value = digest(value, KEY_LENGTH)
    payload["prompt_cache_key"] = value


DIALS: dict[str, Dial] = {
    "none": _no_dial,
    "openai": _effort,
    "deepseek": _deepseek,
    "kimi": _thinking,
    "kimi_effort": _effort,
    "qwen": _qwen,
    "glm": _thinking,
    "minimax": _minimax,
    "openrouter": _openrouter,
    "gemini": _gemini,
    "vllm": _template,
    "ollama": _effort,
}
"""How an effort is spelled, by the fact `reasoning_dial`."""

PARAMS = {
    "max_tokens": Param(write=max_tokens, doc=DOC),
    "temperature": Param("temperature", 0, 2, doc=DOC),
    "top_p": Param("top_p", 0, 1, doc=DOC),
    "top_k": Param(write=top_k),
    "stop": Param(write=stop_at("stop", DOC), doc=DOC),
    "seed": Param("seed"),
    "presence_penalty": Param("presence_penalty", -2, 2, doc=DOC),
    "frequency_penalty": Param("frequency_penalty", -2, 2, doc=DOC),
    "logit_bias": Param("logit_bias"),
    "logprobs": Param("logprobs"),
    "top_logprobs": Param("top_logprobs", 0, 20, doc=DOC),
    "tool_choice": Param(),  # written with the tools
    "parallel_tool_calls": Param(write=parallel_tool_calls),
    "response_format": Param(write=response_format),
    "reasoning_effort": Param(write=reasoning_effort),
    "thinking_budget": Param(write=thinking_budget),
    "verbosity": Param("verbosity"),
    "modalities": Param(write=modalities),
    "audio": Param("audio"),
    "stream": Param(write=stream),
    "store": Param(write=store),
    "service_tier": Param(write=service_tier),
    "metadata": Param("metadata"),
    "safety_identifier": Param("safety_identifier"),
    "prompt_cache_key": Param(write=prompt_cache_key),
}
