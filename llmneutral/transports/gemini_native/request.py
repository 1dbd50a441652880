"""A request to generateContent as google-genai takes it: `model`, `contents`, and everything else in `config`.

https://ai.google.dev/api/generate-content; types of google-genai 3: GenerateContentConfig.
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.job import Job, Messages, Target
from llmneutral.convert.params import Param, chosen_tool, stop_at, write_params
from llmneutral.convert.passes import leading_system
from llmneutral.convert.settings import ToolChoice
from llmneutral.convert.tool_schemas import answer_schema, known_tools, tool_schema
from llmneutral.convert.transport import written_tools
from llmneutral.ir.contents import TextMessageContent
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.tools import ToolDefinition
from llmneutral.profiles import find_endpoint
from llmneutral.transports.gemini_native.reasoning import thinking_config
from llmneutral.transports.gemini_native.wire import camel, to_sdk

CALLING = "https://ai.google.dev/gemini-api/docs/function-calling"
CACHING = "https://ai.google.dev/gemini-api/docs/caching"
VENDORS = ("google/", "gemini/")
MODELS = "models/"
ROLES = {"assistant": "model", "system": "user", "developer": "user"}
MODES = {"auto": "AUTO", "required": "ANY", "named": "ANY", "none": "NONE"}
TIERS = {"flex": "flex", "priority": "priority", "standard": "standard", "default": "standard"}
OWN_TOOLS = frozenset(
    (
        "codeExecution",
        "computerUse",
        "enterpriseWebSearch",
        "exaAiSearch",
        "fileSearch",
        "googleMaps",
        "googleSearch",
        "googleSearchRetrieval",
        "mcpServers",
        "parallelAiSearch",
        "retrieval",
        "urlContext",
    )
)
"""Tools that Google runs: the fields of google-genai's `Tool` beside its functions."""

DECLARED = ("response", "responseJsonSchema", "behavior")
"""What a declaration of a function may have, and a neutral tool has not."""

TYPES = ("unspecified", "string", "number", "integer", "boolean", "array", "object", "null")
"""Types of a schema by their number in Google's protobuf, which REST takes as well."""

EMPTY_OBJECT = frozenset(("type", "properties", "required", "additionalProperties", "$schema", "title"))
Text = TextMessageContent


# --- tools ----------------------------------------------------------------------------------------


class RewrittenTool(ToolDefinition, frozen=True, kw_only=True):
    """A function that came in another form than it goes out; `why` is what is said of it then."""

    why: str


def is_own_tool(native: JSONObject) -> bool:
    """Whether a tool in a provider's form is one of this API: a declaration, or one that Google runs."""
    kind = native.get("type")
    keys = {camel(key) for key in native}
    if isinstance(kind, str):
        return camel(kind) in OWN_TOOLS
    return not keys.isdisjoint(OWN_TOOLS) or is_declaration(native)


def is_declaration(native: JSONObject) -> bool:
    """Whether a tool is a function in this API's own form."""
    return "name" in native and "type" not in native and "input_schema" not in native


def tool(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """A Tool with one declaration of a function, or one that Google runs."""
    own = definition.native
    if own is not None and not is_declaration(own):
        kind = own.get("type")
        given = own if kind is None else {camel(kind): {}, **{k: v for k, v in own.items() if k != "type"}}
        made: JSONObject = to_sdk({key: value for key, value in given.items() if camel(key) in OWN_TOOLS})
        return made
    if isinstance(definition, RewrittenTool):
        job.note("rewritten", definition.why)
    node: JSONObject = {"name": native}
    if definition.description is not None:
        node["description"] = definition.description
    node |= _parameters(definition, native, job)
    if own is not None:
        node |= to_sdk({key: own[key] for key in DECLARED if own.get(key) is not None})
    return {"function_declarations": [node]}


def _parameters(definition: ToolDefinition, native: str, job: Job) -> JSONObject:
    """JSON Schema where the model reads it, else the part of OpenAPI; nothing where a function takes nothing."""
    own = definition.native or {}
    if own.get("parameters"):
        named = types_by_name(own["parameters"])
        if named != own["parameters"]:
            why = f"the tool {definition.native_name!r}: the types of its parameters are numbers, and go by name"
            job.note("rewritten", why)
        return {"parameters": named}
    dialect = "gemini_json_schema" if job.facts.parameters_json_schema else "gemini_openapi"
    schema = tool_schema(definition, native, dialect, job).schema
    if job.facts.parameters_json_schema:
        return {} if takes_nothing(schema) else {"parameters_json_schema": schema}
    return {"parameters": schema} if schema.get("properties") else {}


def takes_nothing(schema: JSONObject) -> bool:
    """Whether a schema is that of a function without parameters."""
    return not (schema.get("properties") or schema.get("additionalProperties") or set(schema) - EMPTY_OBJECT)


def types_by_name(schema: Any) -> Any:
    """Returns a schema with its types as names where they are the numbers of Google's protobuf."""
    if isinstance(schema, dict):
        return {
            key: TYPES[value].upper()
            if key == "type" and type(value) is int and 0 < value < len(TYPES)
            else types_by_name(value)
            for key, value in schema.items()
        }
    return [types_by_name(entry) for entry in schema] if isinstance(schema, list) else schema


def grouped(tools: list[JSONObject]) -> list[JSONObject]:
    """Returns tools with all functions in one, where the first of them stood."""
    declared = [node for each in tools for node in each.get("function_declarations", ())]
    found: list[JSONObject] = []
    for each in tools:
        if "function_declarations" not in each:
            found.append(each)
        elif declared:
            found.append({"function_declarations": declared})
            declared = []
    return found


def tool_config(job: Job) -> JSONObject | None:
    """Which function must be called: types.FunctionCallingConfig."""
    choice = chosen_tool(job)
    before, job.note.step = job.note.step, "tool_choice"
    if job.settings.get("parallel_tool_calls") is False:
        job.note("dropped", "parallel_tool_calls: Gemini cannot be told to call one function at a time")
    config = None if choice is None or not job.tools else _calling(choice, job)
    job.note.step = before
    return None if config is None else {"function_calling_config": config}


def _calling(choice: ToolChoice, job: Job) -> JSONObject:
    config: JSONObject = {"mode": MODES.get(choice.mode) or ("ANY" if choice.force else "VALIDATED")}
    if choice.mode in ("required", "named") and not job.facts.forced_tool_choice:
        job.note("coerced", f"tool_choice: {job.target.model or 'this model'} takes no forced call; 'AUTO' is sent")
        choice, config = ToolChoice("auto"), {"mode": "AUTO"}
    if choice.names:
        config["allowed_function_names"] = _functions(choice, job)
    return config


def _functions(choice: ToolChoice, job: Job) -> list[str]:
    chosen = [each for each in job.tools if each.native_name in choice.names or each.name in choice.names]
    for each in chosen:
        if each.native is not None and not is_declaration(each.native):
            why = f"tool_choice: only functions can be chosen, and {each.name!r} is a tool that Google runs"
            job.refuse(why, rule="tool_choice", doc=CALLING)
    return [job.names.native(each.name, each.path) for each in chosen]


# --- settings -------------------------------------------------------------------------------------


def _logprobs(value: Any, job: Job, config: JSONObject) -> None:
    config["response_logprobs"] = bool(value)
    if type(value) is int and "top_logprobs" not in job.settings:
        config["logprobs"] = value


def _labels(value: JSONObject, job: Job, config: JSONObject) -> None:
    labels = {str(key): entry for key, entry in value.items() if isinstance(entry, str)}
    if len(labels) < len(value):
        job.note("dropped", "metadata: labels are texts, and the other entries are left out")
    if labels:
        config["labels"] = labels


def _service_tier(value: str, job: Job, config: JSONObject) -> None:
    tier = TIERS.get(value)
    if tier is None:
        job.note("dropped", f"service_tier: {value!r} is none of flex, standard, priority")
        return
    if tier != value:
        job.note("coerced", f"service_tier: {value!r} goes by {tier!r} here")
    config["service_tier"] = tier


def _modalities(value: Any, job: Job, config: JSONObject) -> None:
    del job
    config["response_modalities"] = [str(each).upper() for each in ([value] if isinstance(value, str) else value)]


def _audio(value: JSONObject, job: Job, config: JSONObject) -> None:
    """The voice of a spoken answer: types.SpeechConfig."""
    if others := [key for key in value if key != "voice"]:
        job.note("dropped", f"audio: only the voice is taken, not {', '.join(map(str, others))}")
    if voice := value.get("voice"):
        config["speech_config"] = {"voice_config": {"prebuilt_voice_config": {"voice_name": voice}}}


def _safety_settings(value: Any, job: Job, config: JSONObject) -> None:
    del job
    config["safety_settings"] = to_sdk(value)


PARAMS: dict[str, Param] = {
    "max_tokens": Param("max_output_tokens"),
    "temperature": Param("temperature", low=0, high=2),
    "top_p": Param("top_p", low=0, high=1),
    "top_k": Param("top_k"),
    "stop": Param(write=stop_at("stop_sequences")),
    "seed": Param("seed"),
    "presence_penalty": Param("presence_penalty", low=-2, high=2),
    "frequency_penalty": Param("frequency_penalty", low=-2, high=2),
    "logprobs": Param(write=_logprobs),
    "top_logprobs": Param("logprobs"),
    "modalities": Param(write=_modalities),
    "audio": Param(write=_audio),
    "safety_settings": Param(write=_safety_settings),
    "cached_content": Param("cached_content"),
    "metadata": Param(write=_labels),
    "service_tier": Param(write=_service_tier),
    "store": Param("store"),
    # Written by the frame, for they depend on each other and on the messages; a stream is another path.
    **dict.fromkeys(
        (
            "stream",
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


def output_format(job: Job) -> JSONObject:
    """The keys that hold an answer to JSON, or to a schema: types.GenerateContentConfig.response_json_schema."""
    asked = job.settings.get("response_format") or {}
    kind = asked.get("type")
    schema = job.target.output_schema
    if schema is None and kind == "json_schema":
        schema = asked.get("json_schema", asked).get("schema")
    if schema is None and kind in (None, "text"):
        return {}
    if job.tools and not job.facts.json_with_tools:
        why = "this model either calls functions or answers in an enforced format, so the format is left out"
        job.note("coerced", f"response_format: {why}", doc=CALLING)
        return {}
    if not job.facts.json_object:
        job.note("dropped", f"response_format: {job.target.model or 'this model'} cannot be held to JSON")
        return {}
    found: JSONObject = {"response_mime_type": "application/json"}
    if not isinstance(schema, dict):
        return found
    if not job.facts.native_json_schema:
        job.note("coerced", "response_format: this model is held to JSON, and not to a schema")
        return found
    if job.facts.parameters_json_schema:
        return {**found, "response_json_schema": answer_schema(schema, "gemini_json_schema_output", job)}
    return {**found, "response_schema": answer_schema(schema, "gemini_openapi_output", job)}


# --- messages -------------------------------------------------------------------------------------


def _instructions(messages: Messages, job: Job) -> JSONObject | None:
    """The leading instructions: one part a block."""
    blocks: list[Any] = [block for message in messages for block in message.content]
    if not blocks:
        return None
    for block in blocks:
        if type(block) is not Text:
            job.refuse("instructions are text here, and nothing else", block, rule="system")
    return {"parts": [job.render(block) for block in blocks]}


def _contents(messages: Messages, start: int, job: Job) -> list[JSONObject]:
    """The turns; conversations of one plain text a turn are written at once, for that is what most of them are."""
    look = job.look(messages)
    if look.is_plain:
        texts: list[JSONObject] = [{"text": words} for words in look.texts[start:]]
        job.mark_each(texts, look.blocks[start:])
        return [
            {"role": ROLES.get(role, role), "parts": [node]}
            for role, node in zip(look.roles[start:], texts, strict=True)
        ]
    write = job.write
    contents: list[JSONObject] = []
    for message in messages[start:]:
        content, role = message.content, message.role
        if len(content) == 1:
            block = content[0]
            parts = [write[type(block)](block, job)]
        else:
            parts = [write[type(block)](block, job) for block in content]
        if message.name is not None:
            job.note("rewritten", f"name: Gemini has no names of participants ({message.name!r})", *content)
        contents.append({"role": ROLES.get(role, role), "parts": parts})
    return contents


def model_id(target: Target) -> str | None:
    """The model as this API names it: no vendor in front."""
    model = target.model
    if model is None:
        return None
    for prefix in VENDORS:
        model = model.removeprefix(prefix)
    return model.removeprefix(MODELS)


def endpoint(target: Target) -> tuple[str, str]:
    """HTTP method and path below the address of the host. The SDK puts project and location of Vertex before it."""
    version = target.facts.api_version or "v1beta"
    publisher = "publishers/google/" if find_endpoint(target.provider, target.base_url) == "vertex" else ""
    model = model_id(target) or "{model}"
    resource = model if "/" in model else f"{publisher}models/{model}"
    verb = "streamGenerateContent?alt=sse" if target.settings.get("stream") else "generateContent"
    return "POST", f"/{version}/{resource}:{verb}"


def frame(messages: Messages, job: Job) -> JSONObject:
    """Messages after the passes → the keyword arguments of `generate_content`."""
    model = model_id(job.target)
    payload: JSONObject = {} if model is None else {"model": model}
    if model is not None and (job.target.model or "").removeprefix(MODELS) != model:
        job.note("renamed", f"model: {job.target.model!r} goes by {model!r} here")
    start = leading_system(messages)
    instructions = _instructions(messages[:start], job) if start else None
    payload["contents"] = _contents(messages, start, job)
    known_tools(job, is_own_tool)
    config: JSONObject = {}
    if job.settings.get("cached_content"):
        _leave_to_cache(messages[:start], job)
    else:
        choice = tool_config(job)
        given = {"system_instruction": instructions, "tools": grouped(written_tools(job)), "tool_config": choice}
        config |= {key: value for key, value in given.items() if value}
    job.note.step = "reasoning"
    thinking = thinking_config(job)
    job.note.step = "frame"
    write_params(job, config)
    if thinking is not None:
        config["thinking_config"] = thinking
    config |= output_format(job)
    if config:
        payload["config"] = config
    return payload


def _leave_to_cache(instructions: Messages, job: Job) -> None:
    """Instructions and tools stand in the cache already, and a second time they are refused."""
    if blocks := [block for message in instructions for block in message.content]:
        why = "instructions stand in the cached content, and may not be given again"
        job.note("dropped", why, *blocks, doc=CACHING)
    if job.tools:
        names = ", ".join([each.native_name for each in job.tools])
        job.note("dropped", f"the tools {names} have to stand in the cached content", doc=CACHING)
        job.tools = ()
    if "tool_choice" in job.settings:
        job.note("dropped", "tool_choice: it has to stand in the cached content", doc=CACHING)
