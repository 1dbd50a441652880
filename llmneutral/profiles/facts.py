"""The facts: their names, their meaning, their defaults and what values they take.

What must live here: the one list of facts, as the fields of `Profile`, and the check of values a caller gives. Which
model has which values stands in `rows`, what is done about a fact in the transports. Names are stable: they are the
keys of `facts=`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from llmneutral.errors import ConfigurationError

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Neutral levels of effort, from the lowest to the highest; a model knows some of them."""

ReasoningDial: TypeAlias = Literal[
    "none",
    "openai",
    "deepseek",
    "kimi",
    "kimi_effort",
    "qwen",
    "glm",
    "minimax",
    "openrouter",
    "gemini",
    "vllm",
    "ollama",
]
"""How Chat Completions spells effort e / off:

| value | on | off |
|---|---|---|
| none | never sent | never sent |
| openai | `reasoning_effort: e` | `reasoning_effort: none`, where it is a level |
| deepseek | `thinking: {type: enabled}` and `reasoning_effort: e` | `thinking: {type: disabled}` |
| kimi | `thinking: {type: enabled}` | `thinking: {type: disabled}` |
| kimi_effort | `reasoning_effort: e` | impossible |
| qwen | `enable_thinking: true`, `thinking_budget` | `enable_thinking: false` |
| glm | `thinking: {type: enabled}` | `thinking: {type: disabled}` |
| minimax | `thinking: {type: adaptive}`, `reasoning_split: true` | `thinking: {type: disabled}` |
| openrouter | `reasoning: {effort: e}` | `reasoning: {enabled: false}` |
| gemini | `reasoning_effort: e` | not sent |
| vllm | `chat_template_kwargs: {<template_switch>: true}` | the same with false |
| ollama | `reasoning_effort: e` | `reasoning_effort: none` |
"""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a model at an endpoint, behind one API.

    Booleans that may be None are unknown then: they are treated as permissive, with the provider's error as the judge.

    Attributes:
        context_window: Tokens of prompt and answer together; None: unknown.
        max_output: Tokens of an answer at most; None: unknown.
        max_stop: Number of stop sequences at most; None: unlimited; 0: there is no such setting.
        tool_name_max: Characters of a tool's name at most.
        alternate_roles: Neighbours of one role must be merged.
        leading_user: The first turn must be the user's.
        prefill: A trailing assistant turn is accepted and continued.
        prefill_field: The key that marks such a turn on the wire, `partial` or `prefix`, where one is needed.
        assistant_required_after_tool: Between results and a user turn an assistant turn must stand.
        mid_conversation_system: The role system may stand inside the conversation.
        system_first_only: There may be one system message only, and it comes first.
        developer_role: The role developer is known.
        string_content_only: Content must be a string, not a list of parts.
        null_content_ok: An assistant's content may be null beside calls.
        sampling: temperature, top_p and top_k are accepted.
        one_of_temperature_top_p: temperature and top_p are not accepted together.
        rejects: Names of neutral settings that the model refuses.
        rejects_when: Whether it refuses them always, or only while it reasons (`reasoning`; with the effort unset,
            `effort_default` and `thinks_by_default` tell whether it does).
        top_k: A field for top_k exists.
        max_tokens_field: The key of the output limit in Chat Completions; where no row names one it is
            max_completion_tokens at OpenAI, Azure, Copilot, Moonshot and MiniMax and wherever `reasoning` is True.
        max_tokens_accepted: An output limit may be sent at all.
        stream_usage: stream_options.include_usage is accepted.
        reasoning: The model reasons (the switch of the OpenAI family).
        thinking: The form of a request for thinking: `budget` (`{type: enabled, budget_tokens}`, thinkingBudget),
            `adaptive` (`{type: adaptive}` and an effort), `level` (thinkingLevel), `effort` (an effort alone, or
            `{type: enabled}` beside it), or none.
        thinking_off: How it is switched off: by `{type: disabled}` or a budget of 0, `{type: between_tools}`, by
            leaving the key out, or never.
        thinking_requires_stream: It thinks only while it streams.
        thinks_by_default: It thinks when nothing is asked.
        budget_range: The smallest and the largest thinking budget; None: unknown.
        effort_levels: The levels it knows; none: it takes no effort. Where an effort is turned into a budget
            (`thinking` is `budget`), and where `reasoning_dial` is a mere switch (kimi, qwen, glm, minimax, vllm), it
            stays empty, and every effort but none switches on.
        effort_default: The level when nothing is asked; None: unknown.
        reasoning_dial: How Chat Completions spells the effort: see `ReasoningDial`.
        template_switch: The name of the chat template's switch for thinking, for the dial `vllm`.
        reasoning_content: Whether Chat Completions takes reasoning back: never (`absent`), if it is its own
            (`optional`), or on every message with calls (`required_on_tool_calls`).
        reasoning_field: The key in which it does.
        reasoning_replay: Which thinking of the history goes back: see the Messages rules; `native` keeps the signed
            blocks of this origin, `native_last` only those of the last turn, `own_only` only what is stamped with
            this endpoint and model, `keep_all` everything, `keep_unsigned` the unsigned, `strip` nothing.
        reads_reasoning_from: Patterns of other models whose reasoning it can read.
        reasoning_prefix_bound: Its reasoning is valid only while everything before it is unchanged.
        requires_thought_signature: Calls in the history must carry a thought signature (Gemini 3 and newer).
        thinking_required_on_tool_calls: Turns with calls must hold thinking (Kimi behind Messages).
        same_model_as_history: True or False overrides what the origin stamps of the history say.
        inline_think: The content may begin with `<think>…</think>`.
        encrypted_reasoning: Responses takes `include: ["reasoning.encrypted_content"]`.
        reasoning_summary: Responses takes `reasoning.summary`.
        usage_reasoning_outside: completion_tokens leave the reasoning out (xAI).
        tools: It can call tools natively.
        tool_choice_required: The choice required is accepted.
        tool_choice_named: The choice of one tool is accepted; if not, only that tool is sent, with required.
        tool_choice_none: The choice none is accepted; if not, the tools are not sent.
        json_grammar: `llguidance`: a schema is enforced by the field `grammar` of llama.cpp.
        forced_tool_choice: A forced choice (any, one tool) is accepted at all.
        forced_with_thinking: A forced choice is accepted while it thinks.
        chat_tools: Whether Chat Completions takes tools: always, without_reasoning or never.
        tool_id: A regular expression that ids of calls must match as a whole; None: any id.
        function_call_ids: Gemini's calls and results carry ids.
        tool_result_parts: Gemini's results hold media.
        tool_result_json: Bedrock's results may be `{json}` where the result is a dict.
        tool_result_status: Bedrock's results may carry a status.
        content_with_calls: An assistant message may have content beside calls.
        strict_tools: `strict` is understood.
        reserved_tool_names: Names that the endpoint keeps for its own tools.
        send_item_ids: Calls of Responses go back with the endpoint's own item ids.
        item_ids: Items of Responses other than calls go back with their ids.
        parameters_json_schema: Gemini takes tool parameters as JSON Schema (parametersJsonSchema).
        schema: Which schemas of tools and answers it takes: `json_schema` as they are, `portable` without unions of
            types, `kimi` like that with a type and `required` everywhere, `openapi` as the subset of OpenAPI 3.0.
        schema_drops: Keywords of JSON Schema that it rejects.
        numeric_enum: Numbers may be enumerated.
        enum_slash: Enumerated strings may hold a slash.
        native_json_schema: An answer can be held to a schema.
        json_object: An answer can be held to some JSON object.
        json_with_tools: An answer can be held to a schema beside tools.
        vision: It reads images; None: unknown, so they are sent.
        audio_in: It reads audio; None: unknown.
        documents: It reads documents; None: unknown.
        image_types: Media types of images it reads; None: whatever is sent.
        image_url: Images may be sent as an address.
        fetch_allowed: The driver may fetch addresses before it converts.
        cache: How the end of a cached prefix is marked: not at all, `ephemeral` (Messages), `envelope` (the same
            mark inside Chat parts), `breakpoint` (OpenAI), `cache_point` (Bedrock), or `key` (a cache key only).
        cache_ttls: Lifetimes it knows.
        cache_min_tokens: Tokens below which nothing is cached; None: unknown.
        bedrock_reasoning_field: The key in additionalModelRequestFields that switches reasoning on.
        bedrock_top_k_field: The path of top_k in additionalModelRequestFields, with dots.
        instructions_required: Responses must carry instructions.
        typed_input: Responses takes content only as typed parts, not as a string.
        auth_header: How the key is sent; `both` is Authorization and X-Api-Key.
        api_version: The version of the API that is asked for.
        reference_price: Prices in US dollars per million tokens, as pairs of name and price.
        layers: Where each fact that is no default comes from; `sources` gives it for every fact.
    """

    # Limits
    context_window: int | None = None
    max_output: int | None = None
    max_stop: int | None = None
    tool_name_max: int = 64
    # Turns
    alternate_roles: bool = False
    leading_user: bool = False
    prefill: bool | None = None
    prefill_field: Literal["partial", "prefix"] | None = None
    assistant_required_after_tool: bool = False
    mid_conversation_system: bool = False
    system_first_only: bool = False
    developer_role: bool = False
    string_content_only: bool = False
    null_content_ok: bool = True
    # Settings
    sampling: bool = True
    one_of_temperature_top_p: bool = False
    rejects: tuple[str, ...] = ()
    rejects_when: Literal["always", "reasoning"] = "always"
    top_k: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_tokens_accepted: bool = True
    stream_usage: bool = True
    # Reasoning
    reasoning: bool = False
    thinking: Literal["none", "budget", "adaptive", "level", "effort"] = "none"
    thinking_off: Literal["disabled", "between_tools", "omit", "never"] = "omit"
    thinking_requires_stream: bool = False
    thinks_by_default: bool = False
    budget_range: tuple[int, int] | None = None
    effort_levels: tuple[Effort, ...] = ()
    effort_default: Effort | None = None
    reasoning_dial: ReasoningDial = "none"
    template_switch: str = "enable_thinking"
    reasoning_content: Literal["absent", "optional", "required_on_tool_calls"] = "absent"
    reasoning_field: Literal["reasoning_content", "reasoning", "reasoning_details"] = "reasoning_content"
    reasoning_replay: Literal["native", "native_last", "own_only", "keep_all", "keep_unsigned", "strip"] = "own_only"
    reads_reasoning_from: tuple[str, ...] = ()
    reasoning_prefix_bound: bool = False
    requires_thought_signature: bool = False
    thinking_required_on_tool_calls: bool = False
    same_model_as_history: bool | None = None
    inline_think: bool = False
    encrypted_reasoning: bool = True
    reasoning_summary: bool = True
    usage_reasoning_outside: bool = False
    # Tools
    tools: bool = True
    tool_choice_required: bool = True
    tool_choice_named: bool = True
    tool_choice_none: bool = True
    json_grammar: Literal["llguidance"] | None = None
    forced_tool_choice: bool = True
    forced_with_thinking: bool = True
    chat_tools: Literal["always", "without_reasoning", "never"] = "always"
    tool_id: str | None = None
    function_call_ids: bool = False
    tool_result_parts: bool = False
    tool_result_json: bool = False
    tool_result_status: bool = False
    content_with_calls: bool = True
    strict_tools: bool = True
    reserved_tool_names: tuple[str, ...] = ()
    send_item_ids: bool = False
    item_ids: bool = True
    # Schemas and output
    parameters_json_schema: bool = True
    schema: Literal["json_schema", "portable", "kimi", "openapi"] = "json_schema"
    schema_drops: tuple[str, ...] = ()
    numeric_enum: bool = True
    enum_slash: bool = True
    native_json_schema: bool = False
    json_object: bool = False
    json_with_tools: bool = True
    # Media
    vision: bool | None = None
    audio_in: bool | None = None
    documents: bool | None = None
    image_types: tuple[str, ...] | None = None
    image_url: bool = True
    fetch_allowed: bool = False
    # Cache
    cache: Literal["none", "ephemeral", "envelope", "breakpoint", "cache_point", "key"] = "none"
    cache_ttls: tuple[str, ...] = ("5m",)
    cache_min_tokens: int | None = None
    # Endpoint
    bedrock_reasoning_field: str | None = None
    bedrock_top_k_field: str | None = None
    instructions_required: bool = False
    typed_input: bool = False
    auth_header: Literal["bearer", "x-api-key", "both", "api-key", "x-goog-api-key", "aws", "none"] = "bearer"
    api_version: str | None = None
    reference_price: tuple[tuple[str, float], ...] | None = None

    layers: tuple[tuple[str, str], ...] = ()

    @property
    def sources(self) -> dict[str, str]:
        """The layer of each fact: default, api, endpoint, model, discovered, registered, call or derived.

        A colon and the row follow where there is one: `model:claude-opus-4-8`, `endpoint:openrouter`.
        """
        return dict.fromkeys(FACT_NAMES, "default") | dict(self.layers)


FACT_NAMES: tuple[str, ...] = tuple(name for name in Profile.__struct_fields__ if name != "layers")
"""Every fact, in the order of `Profile`."""

Facts: TypeAlias = Mapping[str, Any]
"""Some facts by name."""


def checked_facts(facts: Facts, where: str = "facts") -> dict[str, Any]:
    """Returns the facts in the types of `Profile`, lists as tuples.

    Args:
        facts: Facts by name, as a caller wrote them.
        where: What they were given as, for the message.

    Raises:
        ConfigurationError: If a name is unknown, or a value is not one the fact takes.
    """
    for name in facts:
        if name not in FACT_NAMES:
            raise ConfigurationError(f"unknown fact {name!r} in {where}", hint=_nearest(str(name)))
    return {name: _checked(name, value, where) for name, value in facts.items()}


def _checked(name: str, value: Any, where: str) -> Any:
    if name == "reference_price" and isinstance(value, Mapping):
        value = [*value.items()]
    try:
        # msgspec holds the value against the annotation of the field, in C.
        return getattr(msgspec.convert({name: value}, Profile), name)
    except msgspec.ValidationError as error:
        reason = str(error).partition(" - at ")[0]
        raise ConfigurationError(
            f"fact {name!r} in {where} cannot be {value!r}: {reason}", hint=f"{name} takes {_takes(name)}."
        ) from None


def _takes(name: str) -> str:
    """The values a fact takes, in words."""
    found = msgspec.inspect.type_info(Profile)
    assert isinstance(found, msgspec.inspect.StructType)
    return _spelled(next(field.type for field in found.fields if field.name == name))


def _spelled(kind: msgspec.inspect.Type) -> str:
    if isinstance(kind, msgspec.inspect.UnionType):
        return " or ".join(_spelled(one) for one in kind.types)
    if isinstance(kind, msgspec.inspect.LiteralType):
        return ", ".join(str(value) for value in kind.values)
    if isinstance(kind, msgspec.inspect.VarTupleType):
        return f"a list of ({_spelled(kind.item_type)})"
    if isinstance(kind, msgspec.inspect.TupleType):
        return f"[{', '.join(_spelled(one) for one in kind.item_types)}]"
    names = {
        msgspec.inspect.BoolType: "True or False",
        msgspec.inspect.IntType: "a whole number",
        msgspec.inspect.FloatType: "a number",
        msgspec.inspect.StrType: "a text",
        msgspec.inspect.NoneType: "None",
    }
    return names.get(type(kind), type(kind).__name__)


def _nearest(name: str) -> str:
    import difflib  # only on the way to an error

    close = difflib.get_close_matches(name, FACT_NAMES, n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"Known facts: {', '.join(sorted(FACT_NAMES))}."
