"""Source + target → Conversion, and a provider's answer → NormalizedResponse.

What the face's functions and the drivers call; nothing here waits, talks or spends.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec

from llmneutral import structured
from llmneutral.convert import react
from llmneutral.convert.job import Job, Messages, Pass, Target
from llmneutral.convert.look import json_of
from llmneutral.convert.report import ChangeKind
from llmneutral.convert.schema_walk import LIMIT
from llmneutral.convert.settings import canonical_settings
from llmneutral.convert.stream import StreamNormalizer
from llmneutral.convert.surrogates import scrub_value
from llmneutral.convert.transport import Conversion, Transport
from llmneutral.errors import ConfigurationError, ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.artifacts import BaseArtifact
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message, only_messages
from llmneutral.ir.reduction import contents_of
from llmneutral.ir.responses import NormalizedResponse
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.profiles import Profile, are_texts, known_providers, profile
from llmneutral.profiles.hosts import OFFICIAL_URLS, normalize_provider, read_address
from llmneutral.resolve import canonical_api_mode
from llmneutral.transports import get_transport, registered
from llmneutral.transports.recognition import recognized

_OFFICIAL = {
    "chat_completions": "openai",
    "codex_responses": "openai",
    "anthropic_messages": "anthropic",
    "gemini_native": "gemini",
    "cohere_chat": "cohere",
    "mistral_chat": "mistral",
}


EMPTY = "the prompt is empty: give text, messages or a PromptStack with messages"


SCRUBBED = "unpaired surrogates became U+FFFD"


class Snapshot(msgspec.Struct, frozen=True):
    """A source, frozen: what happens to it later is never seen by a conversion."""

    messages: tuple[Message, ...]
    tools: tuple[Any, ...] = ()
    output_schema: Any = None
    settings: JSONObject = msgspec.field(default_factory=dict)
    read_from: str | None = None


def snapshot(source: Any) -> Snapshot:
    """Freezes a source: a PromptStack, text, artifacts, or messages (neutral or in OpenAI's format).

    Raises:
        ConversionError: If it is none of these, or a message is malformed.
    """
    if isinstance(source, Snapshot):
        return source
    if isinstance(source, PromptStack):
        return Snapshot(
            only_messages(source.messages),
            tuple(source.tools),
            source.output_schema,
            dict(source.settings),
            source.read_from,
        )
    if isinstance(source, Message):
        return Snapshot(only_messages((source,)))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes) and all(map(_is_message, source)):
        return Snapshot(tuple(PromptStack.from_openai(source).messages))
    if source is None or (isinstance(source, str) and not source.strip()):
        raise ConversionError(EMPTY, rule="source")
    _check_source(source, "the source")
    return Snapshot(tuple(PromptStack.from_artifact(source).messages))


def _check_source(source: Any, what: str) -> None:
    """Numbers, mappings and bytes are no prompt by themselves; what has a row in the table of artifacts is."""
    if isinstance(source, list | tuple):
        for place, member in enumerate(source):
            if isinstance(member, Message) or _is_message(member):
                why = "is a message among others that are none; give messages only, or artifacts only"
                raise ConversionError(f"{what}[{place}] {why}", rule="source")
            _check_source(member, f"{what}[{place}]")
        return
    own_row = contents_of.dispatch(type(source)) is not contents_of.dispatch(object)
    if isinstance(source, str | BaseArtifact) or (own_row and not isinstance(source, bytes)):
        return
    hint = (
        "wrap bytes in an ImageArtifact, AudioArtifact or BlobArtifact"
        if isinstance(source, bytes)
        else ("give text, a PromptStack, an artifact, or a list of messages (each with its role)")
    )
    raise ConversionError(f"{what} is {a_kind(source)}; {hint}", rule="source")


def _is_message(entry: Any) -> bool:
    return isinstance(entry, Message) or (isinstance(entry, dict | Mapping) and "role" in entry)


def target_of(
    api: str,
    *,
    model: str | None = None,
    provider: str | None = None,
    base_url: str | None = None,
    facts: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any],
) -> Target:
    """Returns the target of a conversion, with its profile."""
    are_texts(model=model, provider=provider, base_url=base_url)
    if provider and not base_url:
        _check_provider(provider)
    host = read_address(base_url).host if base_url else None
    if host is None:
        known = normalize_provider(provider)
        official = OFFICIAL_URLS.get(known or _OFFICIAL.get(api, ""))
        host = read_address(official).host if official else None
    found = profile(api, provider, base_url, model, facts)
    return Target(api, found, model, provider, base_url, host, settings)


def _check_provider(provider: str) -> None:
    """A name that stands for no endpoint says nothing without an address, and must not mean the vendor's own."""
    name, known = normalize_provider(provider), known_providers()
    if name is not None and name not in known:
        near = difflib.get_close_matches(name, known, 3) or ["openai", "anthropic", "gemini", "openrouter", "ollama"]
        hint = f"known are {', '.join(near)} and others; a provider of your own needs base_url"
        raise ConfigurationError(f"unknown provider {provider[:60]!r}; {hint}")


@overload
def convert(source: Any, to: str, **settings: Any) -> Conversion: ...
@overload
def convert(source: Any, to: Iterable[str], **settings: Any) -> dict[str, Conversion]: ...
def convert(source: Any, to: str | Iterable[str], **settings: Any) -> Conversion | dict[str, Conversion]:
    """Turns a conversation into the request of one API, or of several.

    Without `model` the payload names none, and the facts are those of no model in particular: the same conversation
    may have other changes once a model is named.

    Args:
        source: A PromptStack, text, an artifact, or a list of messages in OpenAI's format.
        to: An API mode or an alias of one, a list of them, or `"all"`.
        **settings: `model`, `provider`, `base_url` and `facts` name the target; `tools`, `tool_choice`,
            `output_schema` and `trace` as they say; everything else is a neutral setting (see
            `llmneutral.SETTINGS`). A keyword wins over what a stack carries.

    Returns:
        The conversion; for several targets a dict by canonical API mode, in the order asked for.

    Raises:
        ConfigurationError: If a mode, setting or fact is unknown.
        ConversionError: If the source cannot be sent to this API, naming message, block, rule and API.
    """
    given = snapshot(source)
    if isinstance(to, str) and to != "all":
        return convert_snapshot(given, to, **settings)
    try:
        asked = registered() if to == "all" else list(to)
    except TypeError:
        wrong = f"to= is {a_kind(to)}; give an API mode, a list of them, or 'all'"
        raise ConfigurationError(wrong) from None
    modes = [mode_of(mode) for mode in asked]
    return {mode: convert_snapshot(given, mode, **settings) for mode in modes}


def mode_of(name: Any) -> str:
    """Returns the canonical name of an API mode, those of third parties included.

    Raises:
        ConfigurationError: If it is unknown, with the known ones.
    """
    try:
        return canonical_api_mode(name)
    except ConfigurationError:
        if isinstance(name, str) and name in registered():
            return name
        raise


def convert_snapshot(
    given: Snapshot,
    to: str,
    *,
    model: str | None = None,
    tools: Iterable[Any] | None = None,
    tool_choice: Any = None,
    output_schema: Any = None,
    provider: str | None = None,
    base_url: str | None = None,
    facts: Mapping[str, Any] | None = None,
    trace: bool = False,
    **params: Any,
) -> Conversion:
    """Turns a frozen source into the request of one API; arguments as for `convert`."""
    api = mode_of(to)
    if api == "codex_app_server":
        raise ConversionError(
            "codex_app_server is a process that owns the conversation: it has no payload; use make_driver",
            rule="api",
            api=api,
        )
    transport = get_transport(api)
    if not given.messages and not (params.get("extra_body") or given.settings.get("extra_body")):
        raise ConversionError(EMPTY, rule="source", api=api)
    settings, first = _settings(given, api, {**params, "tool_choice": tool_choice})
    target = target_of(api, model=model, provider=provider, base_url=base_url, facts=facts, settings=settings)
    offered = definitions(given.tools if tools is None else tools)
    wanted = given.output_schema if output_schema is None else output_schema
    if wanted is None and not _writes_format(transport):
        wanted, more = _format_as_schema(settings, target.facts, offered)
        first = (*first, *more)
    if wanted is None:
        return _converted(transport, given, target, offered, trace, first)
    if isinstance(wanted, Mapping) and (clean := scrub_value(dict(wanted))) != wanted:
        wanted, first = clean, (*first, _told("coerced", f"the output schema: {SCRUBBED}"))
    plans = structured.plans(wanted, settings, target.facts, offered, any_root=transport.any_answer_root)
    for plan in plans[:-1]:
        try:
            return _planned(plan, transport, given, target, offered, trace, first)
        except ConversionError as error:
            if error.rule != LIMIT:
                raise
            first = (*first, _told("coerced", _why_not(plan, error)))
    return _planned(plans[-1], transport, given, target, offered, trace, first)


def _planned(
    plan: structured.Plan,
    transport: Transport,
    given: Snapshot,
    target: Target,
    tools: tuple[ToolDefinition, ...],
    trace: bool,
    first: tuple[Pass, ...],
) -> Conversion:
    """The request that asks for an answer by a plan."""
    changed: JSONObject = {}
    if plan.strategy == "native":
        changed = {"output_schema": plan.schema, "schema_name": plan.name}
    if plan.tool_choice is not None:
        changed["settings"] = {**target.settings, "tool_choice": plan.tool_choice}
    target = msgspec.structs.replace(target, **changed)
    first = (*first, *plan.passes)
    made = _converted(transport, given, target, tools, trace, first, answer_tool=plan.tool is not None)
    return msgspec.structs.replace(made, answer=msgspec.structs.replace(plan, renamed=made.names.answer))


def _converted(
    transport: Transport,
    given: Snapshot,
    target: Target,
    tools: tuple[ToolDefinition, ...],
    trace: bool,
    first: tuple[Pass, ...],
    *,
    answer_tool: bool = False,
) -> Conversion:
    """The request, with the tools as the API takes them or as text."""
    as_text = react.as_text(target.settings, target.facts, tools, given.messages, answer_tool=answer_tool)
    passes = first if as_text is None else (*first, *as_text.passes)
    return transport.convert(given.messages, target, tools=tools, trace=trace, first=passes)


def _why_not(plan: structured.Plan, error: ConversionError) -> str:
    return f"output_schema: {plan.strategy} cannot carry it here, so the answer is asked for otherwise: {error.message}"


def _settings(given: Snapshot, api: str, params: JSONObject) -> tuple[JSONObject, tuple[Pass, ...]]:
    """The settings of a call, in canonical form; a keyword of the call wins over what a source carries.

    Keys that only the API knows whose request the source was read from are taken out; the pass says so.
    """
    own = {name: value for name, value in params.items() if value is not None}
    settings = canonical_settings({**given.settings, **own})
    told: list[Pass] = []
    if given.read_from not in (None, api) and "extra_body" not in own and (keys := settings.pop("extra_body", None)):
        names = ", ".join(map(str, keys))
        why = f"extra_body: {names} came with a request of {given.read_from}; no other API is sent them"
        told.append(_told("dropped", why))
    if json_of([*settings.values()]) is None:
        for name, value in settings.items():
            # The names of a tool choice are looked up in the table of names, which has them as they are.
            if name != "tool_choice" and (clean := scrub_value(value)) is not value:
                settings[name] = clean
                told.append(_told("coerced", f"{name}: {SCRUBBED}"))
    return settings, tuple(told)


def _told(kind: ChangeKind, why: str) -> Pass:
    """A pass that changes no message: it says what was changed before."""

    def tell(messages: Messages, job: Job) -> Messages:
        job.note(kind, why)
        return messages

    return Pass("settings", tell)


def _writes_format(transport: Transport) -> bool:
    """Whether a transport writes the setting `response_format` as it is; the frames of others hold it to the model."""
    row = transport.params.get("response_format")
    return row is not None and (row.write is not None or row.key is not None)


def _format_as_schema(
    settings: JSONObject, facts: Profile, tools: Sequence[ToolDefinition]
) -> tuple[Any, tuple[Pass, ...]]:
    """OpenAI's form of an answer's format, where there is no field for it: an output schema, or a rule in words."""
    given = settings.get("response_format") or {}
    asked = given.get("json_schema", given) if given.get("type") == "json_schema" else None
    schema = asked.get("schema") if isinstance(asked, Mapping) else None
    if isinstance(schema, Mapping) and not (facts.native_json_schema and (not tools or facts.json_with_tools)):
        del settings["response_format"]
        return schema, ()
    if given.get("type") == "json_object" and not facts.json_object:
        del settings["response_format"]
        return None, (structured.JSON_RULE,)
    return None, ()


def read_request(payload: Mapping[str, Any], api: str) -> PromptStack:
    """Reads a provider's request body: the other way round.

    Args:
        payload: The body, in the REST or the SDK's spelling.
        api: API mode or an alias.

    Returns:
        A stack with messages, tools, output schema and settings.

    Raises:
        ConversionError: If it is no request of this API.
    """
    transport = _transport(api)
    if not isinstance(payload, Mapping):
        raise ConversionError(f"a request body is an object, not {a_kind(payload)}", api=transport.api_mode)
    try:
        stack = transport.read_request(dict(payload))
        stack.read_from = transport.api_mode
        return stack
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        what = f"this is no request of {transport.api_mode}: {type(error).__name__}: {error}"
        raise ConversionError(what, rule="read_request", api=transport.api_mode) from error


def normalize(response: Any, api: str, *, names: Any = None) -> NormalizedResponse:
    """Reads a provider's whole answer.

    Args:
        response: The response body as a dict, or the SDK's object.
        api: API mode or an alias; `"auto"` goes by the answer's shape.
        names: `Conversion.names`, or the Conversion itself: then `parsed` is filled where an output schema was
            asked for.

    Raises:
        ConfigurationError: If the mode is unknown, or (`"auto"`) the shape is that of no API.
    """
    body = plain(response)
    transport = _transport(recognized(body) if api == "auto" else api)
    answer = transport.normalize_response(body, names=names_of(names), **asked_of(names))
    return with_parsed(answer, names)


def normalize_stream(chunks: Iterable[Any], api: str, *, names: Any = None) -> Iterator[DeltaMessage]:
    """Reads a provider's stream; state is the iterator's own.

    Args:
        chunks: The chunks as dicts (or SDK objects), in order; where the wire ends with it, `"[DONE]"` is the last.
        api: API mode or an alias.
        names: As for `normalize`.

    Yields:
        Deltas: `start` once and first, `end` once and last, whatever happened.
    """
    normalizer = _transport(api).stream(names=names_of(names), **asked_of(names))
    for chunk in chunks:
        yield from normalizer.feed(plain(chunk))
    yield from normalizer.close()


def aggregate(chunks: Iterable[Any], api: str, *, names: Any = None) -> NormalizedResponse:
    """Puts a stream together; arguments as for `normalize_stream`."""
    normalizer: StreamNormalizer = _transport(api).stream(names=names_of(names), **asked_of(names))
    for chunk in chunks:
        normalizer.feed(plain(chunk))
    normalizer.close()
    return with_parsed(normalizer.response, names)


def with_parsed(response: NormalizedResponse, names: Any) -> NormalizedResponse:
    """Fills `parsed` by a conversion's plan; what is no valid value stays None, with a note."""
    return parsed_by(response, names.answer if isinstance(names, Conversion) else None)


def parsed_by(response: NormalizedResponse, plan: structured.Plan | None) -> NormalizedResponse:
    """The same by a plan, or None."""
    if plan is None or not structured.wants_parsing(response, plan):
        return response
    verdict = structured.judged(response, plan)
    if verdict.problems:
        said = str(structured.failed(response, plan, verdict.problems))
        return msgspec.structs.replace(response, notes=(*response.notes, said))
    return verdict.filled(response)


def names_of(names: Any) -> Any:
    """Returns the name table of a conversion, or what was given."""
    return names.names if isinstance(names, Conversion) else names


def asked_of(names: Any) -> JSONObject:
    """Returns what a conversion says of who answers, and of the form of the answer."""
    if not isinstance(names, Conversion):
        return {}
    target = names.target
    asked: JSONObject = {"host": target.host, "facts": target.facts, "model": target.model}
    return asked if names.react is None else {**asked, "react": names.react}


def plain(value: Any) -> Any:
    """Returns an SDK's object as a dict; anything else as it is."""
    if isinstance(value, dict | str):
        return value
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True) if dump is not None else value


def _transport(api: str) -> Transport:
    mode = mode_of(api)
    if mode == "codex_app_server":
        raise ConfigurationError("codex_app_server has a driver, and no transport; use make_driver")
    return get_transport(mode)
