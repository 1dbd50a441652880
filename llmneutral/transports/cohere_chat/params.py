"""Neutral settings → keyword arguments of `ClientV2.chat`.

Sources: the types of cohere 7 (`V2ChatRequest`), https://docs.cohere.com/reference/chat, /docs/reasoning,
/docs/structured-outputs.
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.job import Job
from llmneutral.convert.params import Param, stop_at
from llmneutral.convert.tool_schemas import answer_schema
from llmneutral.ir.contents import DocumentMessageContent
from llmneutral.ir.jsontext import JSONObject

DOC = "https://docs.cohere.com/reference/chat"
REASONING = "https://docs.cohere.com/docs/reasoning"


# --- the form of the answer ---------------------------------------------------------------------


def asked_schema(job: Job) -> JSONObject | None:
    """Returns the schema the answer shall have: an output schema, or that of a response_format."""
    if job.target.output_schema is not None:
        return job.target.output_schema
    wanted = job.settings.get("response_format") or {}
    if wanted.get("type") != "json_schema":
        return None
    asked = wanted.get("json_schema") or {}
    schema: JSONObject = asked.get("schema") or {}
    return schema


def takes_format(job: Job) -> bool:
    """Whether the field for a format may be used."""
    return _why_no_format(job) is None


def _why_no_format(job: Job) -> str | None:
    if not job.facts.native_json_schema:
        return "this model enforces no schema"
    if job.tools and not job.facts.json_with_tools:
        return "no schema is enforced beside tools"
    return "no schema is enforced beside documents" if has_documents(job) else None


def has_documents(job: Job) -> bool:
    """Whether the request has documents: in the settings, or among the messages of the user."""
    if job.settings.get("documents"):
        return True
    if DocumentMessageContent not in job.look(job.messages).kinds:
        return False
    return any([type(x) is DocumentMessageContent for m in job.messages if m.role == "user" for x in m.content])


def answer_format(job: Job, payload: JSONObject) -> None:
    """The schema of the answer: one key deeper than OpenAI's, without name and strict."""
    schema = asked_schema(job)
    if schema is None:
        return
    if (why := _why_no_format(job)) is not None:
        job.note("coerced", f"response_format: {why}, so a rule in the instructions asks for it")
        return
    if job.target.output_schema is None:
        job.note(
            "rewritten", "response_format: the schema goes with the type json_object here, without its name", doc=DOC
        )
    found = answer_schema(schema, "cohere_output", job)
    payload["response_format"] = {"type": "json_object"} | ({"json_schema": found} if found else {})


def response_format(value: JSONObject, job: Job, payload: JSONObject) -> None:
    """A schema is written by `answer_format`; here what is left: any JSON object, or text."""
    kind = value.get("type")
    if job.target.output_schema is not None:
        job.note("dropped", "response_format: the output schema takes its place")
    elif kind == "json_object" and (not job.facts.json_object or job.tools or has_documents(job)):
        job.note("dropped", "response_format: json_object is not taken beside tools or documents; the words ask for it")
    elif kind != "json_schema":
        payload["response_format"] = value


# --- reasoning ----------------------------------------------------------------------------------


def reasoning_effort(effort: str, job: Job, payload: JSONObject) -> None:
    """On or off; there are no levels."""
    if not _reasons(job):
        job.note("dropped", f"reasoning_effort: {job.target.model} does not reason", doc=REASONING)
    elif effort == "none":
        payload["thinking"] = {"type": "disabled"}
    else:
        payload["thinking"] = {"type": "enabled"}
        job.note("coerced", f"reasoning_effort: {effort!r} only switches thinking on here; it has no levels")


def thinking_budget(value: int, job: Job, payload: JSONObject) -> None:
    """The most tokens of thinking, a whole number above 0."""
    if not _reasons(job):
        job.note("dropped", f"thinking_budget: {job.target.model} does not reason", doc=REASONING)
    elif job.settings.get("reasoning_effort") == "none":
        job.note("dropped", "thinking_budget: thinking is off, as reasoning_effort says")
    elif value <= 0:
        payload["thinking"] = {"type": "disabled"}
    else:
        payload["thinking"] = {"type": "enabled", "token_budget": value}


def _reasons(job: Job) -> bool:
    """Whether a model may be asked to think; one that is not known may."""
    facts = job.facts
    is_known = any([layer.startswith("model:") for layer in facts.sources.values()])
    return facts.thinking != "none" or facts.thinks_by_default or not is_known


# --- the rest -----------------------------------------------------------------------------------


def top_k(value: int, job: Job, payload: JSONObject) -> None:
    """Unless the model is known not to take it."""
    if job.facts.top_k:
        payload["k"] = value
    else:
        job.note("dropped", "top_k: this model has no such setting")


def safety_mode(value: str, job: Job, payload: JSONObject) -> None:
    """Not beside tools or documents."""
    if job.tools or has_documents(job):
        job.note("dropped", "safety_mode: it must not be combined with tools or documents", doc=DOC)
    else:
        payload["safety_mode"] = value


def logprobs(value: Any, job: Job, payload: JSONObject) -> None:
    """A switch here."""
    del job
    payload["logprobs"] = bool(value)


PARAMS = {
    "max_tokens": Param("max_tokens", doc=DOC),
    "temperature": Param("temperature", 0, doc=DOC),
    "top_p": Param("p", 0.01, 0.99, doc=DOC),
    "top_k": Param(low=0, high=500, write=top_k, doc=DOC),
    "stop": Param(write=stop_at("stop_sequences", DOC), doc=DOC),
    "seed": Param("seed"),
    "presence_penalty": Param("presence_penalty", 0, 1, doc=DOC),
    "frequency_penalty": Param("frequency_penalty", 0, 1, doc=DOC),
    "logprobs": Param(write=logprobs),
    "tool_choice": Param(),  # written with the tools
    "response_format": Param(write=response_format),
    "reasoning_effort": Param(write=reasoning_effort, doc=REASONING),
    "thinking_budget": Param(write=thinking_budget, doc=REASONING),
    "stream": Param(),  # the method says it: chat or chat_stream
    "safety_mode": Param(write=safety_mode, doc=DOC),
    "documents": Param(),  # written with those of the messages
    "citation_options": Param("citation_options"),
}
