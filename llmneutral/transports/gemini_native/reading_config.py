"""Settings of a request to generateContent → neutral ones; what has no neutral name goes into `extra_body`.

https://ai.google.dev/api/generate-content#v1beta.GenerationConfig
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.settings import EFFORTS, SETTINGS
from llmneutral.errors import ConversionError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.transports.gemini_native.reading_tools import openapi_as_json

GENERATION = {
    "maxOutputTokens": "max_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "stopSequences": "stop",
    "responseLogprobs": "logprobs",
    "logprobs": "top_logprobs",
}
"""Keys of the generation config and the neutral settings they are."""

TOP = {"cachedContent": "cached_content", "store": "store", "labels": "metadata", "serviceTier": "service_tier"}
READ = frozenset(("model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", *TOP))
JSON_TYPE = "application/json"


def read_config(body: JSONObject) -> tuple[JSONObject, JSONObject | None]:
    """Returns the neutral settings of a body in the spelling of REST, and the schema of its answer."""
    extra: JSONObject = {key: value for key, value in body.items() if key not in READ and value is not None}
    found = _named({key: body.get(key) for key in TOP}, TOP, extra)
    safety = extra.get("safetySettings")
    if safety is not None and _is_by_name(safety):
        found["safety_settings"] = extra.pop("safetySettings")
    _calling(body.get("toolConfig") or {}, found, extra)
    rest: JSONObject = {}
    config = dict(body.get("generationConfig") or {})
    schema = _format(config, found)
    found |= _named({key: config.pop(key, None) for key in GENERATION}, GENERATION, rest)
    _thinking(config, found)
    _modalities(config, found)
    if config.get("candidateCount") == 1:
        del config["candidateCount"]
    rest |= {key: value for key, value in config.items() if value is not None}
    if rest:
        extra["generationConfig"] = rest
    if extra:
        found["extra_body"] = extra
    return found, schema


def _named(given: JSONObject, names: Mapping[str, str], rest: JSONObject) -> JSONObject:
    """What is a neutral setting; a value that none takes goes to the rest."""
    found: JSONObject = {}
    for key, value in given.items():
        if value is None or value == []:
            continue
        try:
            SETTINGS[names[key]].check(names[key], value)
        except ConversionError:
            rest[key] = value
        else:
            found[names[key]] = value
    return found


def _is_by_name(safety: Any) -> bool:
    """Whether safety settings are words; as numbers they mean something else at each of Google's two services."""
    return isinstance(safety, list) and not any(
        [type(value) is int for each in safety if isinstance(each, Mapping) for value in each.values()]
    )


def _calling(config: JSONObject, found: JSONObject, extra: JSONObject) -> None:
    rest = {key: value for key, value in config.items() if key != "functionCallingConfig" and value is not None}
    calling = {k: v for k, v in (config.get("functionCallingConfig") or {}).items() if v not in (None, [])}
    names = calling.get("allowedFunctionNames") or []
    mode = str(calling.get("mode") or "AUTO").upper()
    choice = _choice(mode, names)
    if set(calling) - {"mode", "allowedFunctionNames"} or (calling and choice is None):
        rest["functionCallingConfig"] = calling
    elif calling and choice is not None:
        found["tool_choice"] = choice
    if rest:
        extra["toolConfig"] = rest


def _choice(mode: str, names: list[str]) -> Any:
    """The neutral tool choice, or None where there is none."""
    if mode == "ANY" and len(names) == 1:
        return {"type": "function", "function": {"name": names[0]}}
    if mode in ("ANY", "VALIDATED") and names:
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        required = "required" if mode == "ANY" else "auto"
        return {"type": "allowed_tools", "allowed_tools": {"mode": required, "tools": tools}}
    if names:
        return None
    return {"AUTO": "auto", "MODE_UNSPECIFIED": "auto", "ANY": "required", "NONE": "none"}.get(mode)


def _format(config: JSONObject, found: JSONObject) -> JSONObject | None:
    """The form of the answer: a schema, or just JSON."""
    if config.get("responseMimeType") != JSON_TYPE:
        return None
    given = config.get("responseJsonSchema")
    schema = openapi_as_json(config.get("responseSchema")) if given is None else given
    for key in ("responseMimeType", "responseJsonSchema", "responseSchema"):
        config.pop(key, None)
    if isinstance(schema, dict):
        return schema
    found["response_format"] = {"type": "json_object"}
    return None


def _thinking(config: JSONObject, found: JSONObject) -> None:
    given = config.get("thinkingConfig")
    if not isinstance(given, Mapping):
        return
    level, budget, shown = [given.get(key) for key in ("thinkingLevel", "thinkingBudget", "includeThoughts")]
    if set(given) - {"thinkingLevel", "thinkingBudget", "includeThoughts"} or not isinstance(budget, int | None):
        return
    if level is not None and str(level).lower() not in EFFORTS:
        return
    found |= {} if level is None else {"reasoning_effort": str(level).lower()}
    if budget == 0 and level is None:
        found["reasoning_effort"] = "none"
    elif budget is not None:
        found["thinking_budget"] = budget
    if budget != 0:
        found["thinking_display"] = "summarized" if shown else "omitted"
    del config["thinkingConfig"]


def _modalities(config: JSONObject, found: JSONObject) -> None:
    if given := config.pop("responseModalities", None):
        found["modalities"] = [str(each).lower() for each in given]
