"""What providers refuse though the SDK's own types allow it: calls without results, blank texts, names, marks.

    for problem in llmneutral.lint(conversion):
        print(problem.path, problem.message, problem.doc)   # messages[3].content[0] answers no call before it …

One table says which rules an API has, and where its provider says so; where it says so only by the error it answers,
the page is that of the field. A rule looks at the JSON body alone; nothing is imported for it.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from llmneutral.convert.schema import reduce_schema
from llmneutral.convert.transport import Conversion
from llmneutral.errors import ConfigurationError, LLMNeutralError
from llmneutral.profiles import profile
from llmneutral.resolve import canonical_api_mode
from llmneutral.validation.problems import Findings, Loc, Problem, problems, shown
from llmneutral.validation.shapes import named
from llmneutral.validation.turns import TURNS, Body, NamedTool, Part, Turn, tools_of

__all__ = ["RULES", "Rule", "lint"]

MOST_MARKS = 4
BEDROCK_EFFORTS = ("low", "medium", "high", "xhigh", "max")
SAMPLING = ("temperature", "top_p", "top_k")


class Request(msgspec.Struct, frozen=True):
    """A body as the rules see it, with the endpoint of a conversion, and whether it says that calls wait."""

    api: str
    body: Body
    turns: list[Turn]
    tools: list[NamedTool]
    provider: str | None = None
    base_url: str | None = None
    waits: bool = False

    @property
    def said(self) -> list[Turn]:
        """The turns of the conversation, without instructions."""
        return [turn for turn in self.turns if turn.role not in ("system", "developer")]

    def parts(self, *kinds: str) -> list[Part]:
        """Returns the parts of some kinds."""
        return [part for turn in self.turns for part in turn.parts if part.kind in kinds]


class Rule(msgspec.Struct, frozen=True):
    """Something a provider demands.

    Attributes:
        name: Its name.
        doc: Where the provider says so.
        check: What finds where it is broken.
    """

    name: str
    doc: str
    check: Callable[[Request], Findings]


def lint(payload: Any, api: str | None = None) -> list[Problem]:
    """Looks for what a provider refuses though the SDK's own types allow it; offline, and without an SDK.

    What the types say is asked of `validate`. The calls of the last turn may still wait for their results, and so may
    the `open_calls` of a conversion.

    Args:
        payload: A `Conversion`, or the JSON body (of Gemini in the spelling of REST).
        api: API mode or an alias; a conversion knows its own.

    Returns:
        What is refused, each with its place and `doc`, the page where the provider says so.

    Raises:
        ConfigurationError: If the API is unknown, or has no rules.
    """
    mode = api or (payload.api if isinstance(payload, Conversion) else None)
    if mode is None:
        raise ConfigurationError("which API is the payload for? Say lint(payload, api)")
    mode = canonical_api_mode(mode)
    if mode not in RULES:
        told = f"no rules are known for {mode}; its payloads cannot be checked"
        raise ConfigurationError(told, api=mode, hint=f"One of: {', '.join(RULES)}")
    if isinstance(payload, Conversion):
        body, target = payload.to_json(), payload.target
        more = (target.provider, target.base_url, bool(payload.open_calls))
    elif isinstance(payload, dict):
        body, more = payload, (None, None, False)
    else:
        return [Problem("", f"must be an object, not {named(payload)}")]
    try:
        request = Request(mode, body, TURNS[mode](body), tools_of(mode, body), *more)
        found = [(rule.doc, problems(rule.check(request))) for rule in RULES[mode]]
    except RecursionError:
        return [Problem("", "is nested too deeply, or holds itself")]
    return [msgspec.structs.replace(problem, doc=doc) for doc, told in found for problem in told]


# --- calls and results --------------------------------------------------------------------------


def results_follow(request: Request) -> Findings:
    """The results of a turn's calls come next, before anything else is said; each answers one of them."""
    found: Findings = []
    waiting: dict[str | None, Loc] = {}
    for turn in request.said:
        for result in turn.of("result"):
            if waiting.pop(result.id, None) is None:
                found.append((result.loc, f"answers no call before it: {shown(result.id)}"))
        if turn.role == "tool":
            continue
        if not request.waits:
            found += [(loc, f"has no result after it: {shown(id_)}") for id_, loc in waiting.items()]
        waiting = {call.id: call.loc for call in turn.of("call")}
    return found


def results_are_somewhere(request: Request) -> Findings:
    """Each result answers a call before it, and each call that something was said after has one."""
    if "previous_response_id" in request.body or "conversation" in request.body:
        return []  # the other one may stand there
    found: Findings = []
    waiting: dict[str | None, tuple[Loc, int]] = {}
    last = max([at for at, turn in enumerate(request.said) if turn.of("text")], default=-1)
    for at, turn in enumerate(request.said):
        for part in turn.parts:
            if part.kind == "call":
                waiting[part.id] = (part.loc, at)
            elif part.kind == "result" and waiting.pop(part.id, None) is None:
                found.append((part.loc, f"answers no call before it: {shown(part.id)}"))
    missing = [] if request.waits else [(id_, loc) for id_, (loc, at) in waiting.items() if at < last]
    return [*found, *[(loc, f"has no result: {shown(id_)}") for id_, loc in missing]]


def as_many_results(request: Request) -> Findings:
    """The content after calls holds as many results; there are none elsewhere."""
    found: Findings = []
    calls = 0
    last = max([at for at, turn in enumerate(request.said) if _calls(turn)], default=-1)
    for at, turn in enumerate(request.said):
        results = len(turn.of("result"))
        if results != calls and not (request.waits and at == last + 1):
            found.append((turn.loc, f"holds {results} results of functions, and {calls} were called before it"))
        calls = len(turn.of("call"))
    return found


# --- turns --------------------------------------------------------------------------------------


def user_is_first(request: Request) -> Findings:
    """The conversation begins with the user."""
    return [(turn.loc, "comes first, and must be the user's") for turn in request.said[:1] if turn.role != "user"]


def roles_alternate(request: Request) -> Findings:
    """No two turns of one role stand side by side; the system may speak in between."""
    turns = [turn for turn in request.turns if turn.raw is not request.body]
    pairs = pairwise(turns)
    return [
        (turn.loc, f"follows another turn of the {turn.role}") for before, turn in pairs if before.role == turn.role
    ]


def model_is_not_last(request: Request) -> Findings:
    """An unfinished answer is not continued; calls may wait."""
    last = [] if request.waits else request.said[-1:]
    return [
        (turn.loc, "is the model's, and comes last") for turn in last if turn.role == "assistant" and not _calls(turn)
    ]


def prefix_is_last(request: Request) -> Findings:
    """The last message is the user's or a result, or an assistant's to be continued; no other one is continued."""
    turns = request.turns
    found = [((*turn.loc, "prefix"), "is not the last message") for turn in turns[:-1] if turn.raw.get("prefix")]
    if not turns or request.waits:
        return found
    last = turns[-1]
    if last.role in ("user", "tool") or last.raw.get("prefix") or _calls(last):
        return found
    return [*found, (last.loc, f"is the {last.role}'s, comes last, and has no `prefix: true`")]


def something_is_said(request: Request) -> Findings:
    """A message of the assistant has content or calls, or what stands for them."""
    keys = ("content", "tool_calls", "refusal", "audio", "function_call")
    return [
        (turn.loc, "has neither content nor tool_calls")
        for turn in request.said
        if turn.role == "assistant" and all([turn.raw.get(key) in (None, []) for key in keys])
    ]


def reasoning_leads_to_something(request: Request) -> Findings:
    """A reasoning item is followed by what came of it."""
    found: Findings = []
    for turn, after in zip(request.said, [*request.said[1:], None], strict=False):
        if turn.raw.get("type") == "reasoning" and (after is None or after.role != "assistant"):
            found.append((turn.loc, "is followed by nothing that came of it"))
    return found


def no_blank_text(request: Request) -> Findings:
    """A text has something besides white space."""
    return [(part.loc, "is blank") for part in request.parts("text") if not part.text.strip()]


def _calls(turn: Turn) -> list[Part]:
    return turn.of("call")


# --- names, ids, arguments ----------------------------------------------------------------------


def names_match(pattern: str) -> Callable[[Request], Findings]:
    """Names of tools are spelled with some characters, and are different from one another."""
    known = re.compile(pattern)

    def check(request: Request) -> Findings:
        named = [((*part.loc, *_name_key(request.api)), part.name) for part in request.parts("call") if part.name]
        offered = [((*tool.loc, "name"), tool.name) for tool in request.tools]
        found = [
            (loc, f"{shown(name)} is no name of a tool: {pattern}")
            for loc, name in (*offered, *named)
            if not known.fullmatch(name)
        ]
        seen: set[str] = set()
        for loc, name in offered:
            if name in seen:
                found.append((loc, f"{shown(name)} is the name of another tool already"))
            seen.add(name)
        return found

    return check


def _name_key(api: str) -> Loc:
    return ("function", "name") if api in ("chat_completions", "cohere_chat", "mistral_chat") else ("name",)


def ids_match(pattern: str) -> Callable[[Request], Findings]:
    """Ids of calls are spelled with some characters, on both sides."""
    known = re.compile(pattern)

    def check(request: Request) -> Findings:
        return [
            (part.loc, f"has an id that is none of a call, {shown(part.id)}: {pattern}")
            for part in request.parts("call", "result")
            if part.id is not None and not known.fullmatch(part.id)
        ]

    return check


def ids_differ(request: Request) -> Findings:
    """Calls of one turn have different ids."""
    found: Findings = []
    for turn in request.said:
        seen: set[str | None] = set()
        for call in turn.of("call"):
            if call.id in seen:
                found.append((call.loc, f"has the id of another call: {shown(call.id)}"))
            seen.add(call.id)
    return found


def arguments_are_objects(request: Request) -> Findings:
    """The text of arguments is a JSON object."""
    return [
        (part.loc, f"has arguments that are no JSON object: {shown(part.arguments)}")
        for part in request.parts("call")
        if isinstance(part.arguments, str) and not _is_object(part.arguments)
    ]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


# --- anywhere in the body -----------------------------------------------------------------------


def few_marks(key: str) -> Callable[[Request], Findings]:
    """A request marks at most four places for the cache."""

    def check(request: Request) -> Findings:
        marks = [(*loc, key) for loc, value in walked(request.body, ()) if isinstance(value, dict) and value.get(key)]
        return [(loc, f"is mark number {at} for the cache; {MOST_MARKS} are taken") for at, loc in _beyond(marks)]

    return check


def _beyond(marks: list[Loc]) -> list[tuple[int, Loc]]:
    return [(at, loc) for at, loc in enumerate(marks, 1) if at > MOST_MARKS]


def data_urls_hold_base64(request: Request) -> Findings:
    """A data URL names a media type and holds base64."""
    key = "input" if request.api == "codex_responses" else "messages"
    return [
        (loc, "is no data URL with a media type and base64: " + shown(value[:40]))
        for loc, value in walked(request.body.get(key), (key,))
        if isinstance(value, str) and loc[-1] in URL_KEYS and value.startswith("data:") and not _is_data_url(value)
    ]


URL_KEYS = frozenset({"url", "image_url", "file_data", "document_url"})
_HEAD = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w.+-]+=[^;,]*)*;base64")


def _is_data_url(value: str) -> bool:
    head, _, data = value.partition(",")
    try:
        return bool(_HEAD.fullmatch(head) and binascii.a2b_base64(data, strict_mode=True))
    except binascii.Error:
        return False


def walked(value: Any, loc: Loc) -> Iterator[tuple[Loc, Any]]:
    """Yields a value and all values in it, the schemas of tools left out."""
    waiting = [(loc, value)]
    while waiting:
        at, found = waiting.pop()
        yield at, found
        if isinstance(found, dict):
            inner = [((*at, key), each) for key, each in found.items() if key not in SCHEMA_KEYS]
        else:
            inner = [((*at, number), each) for number, each in enumerate(found)] if isinstance(found, list) else []
        waiting += reversed(inner)


SCHEMA_KEYS = frozenset({"input_schema", "parameters", "inputSchema", "input", "args", "schema"})
"""What stands there is the caller's: a schema, or arguments. (The input of Responses is walked from itself.)"""


# --- settings -----------------------------------------------------------------------------------


def strict_schemas(request: Request) -> Findings:
    """A schema that is strictly kept is of the subset that can be kept."""
    found: Findings = []
    for loc, schema in _strict(request):
        try:
            kept = reduce_schema(schema, "openai_strict").schema
        except LLMNeutralError as error:
            found.append((loc, f"cannot be kept strictly: {error}"))
            continue
        if kept != schema:
            found.append((loc, "is not of the subset of strict schemas"))
    return found


def _strict(request: Request) -> Iterator[tuple[Loc, Body]]:
    holders = [(tool.loc, tool.raw, "parameters") for tool in request.tools]
    for path in (("response_format", "json_schema"), ("text", "format")):
        asked: Any = request.body
        for key in path:
            asked = asked.get(key) if isinstance(asked, dict) else None
        if isinstance(asked, dict):
            holders.append((path, asked, "schema"))
    for loc, holder, key in holders:
        if holder.get("strict") is True and isinstance(holder.get(key), dict):
            yield (*loc, key), holder[key]


def model_takes_sampling(request: Request) -> Findings:
    """The model takes temperature, top_p and top_k."""
    model = request.body.get("model")
    if not isinstance(model, str):
        return []
    known = profile(request.api, request.provider, request.base_url, model)
    always = known.rejects if known.rejects_when == "always" else ()
    refused = [key for key in SAMPLING if not known.sampling or key in always]
    return [((key,), f"is not taken by {model}") for key in refused if request.body.get(key) is not None]


def effort_is_known(request: Request) -> Findings:
    """The effort is one of the service's words."""
    asked = request.body.get("outputConfig")
    effort = asked.get("effort") if isinstance(asked, dict) else None
    if effort is None or effort in BEDROCK_EFFORTS:
        return []
    return [(("outputConfig", "effort"), f"must be one of {', '.join(BEDROCK_EFFORTS)}, not {shown(effort)}")]


# --- the table ----------------------------------------------------------------------------------

OPENAI = "https://developers.openai.com/api/docs/"
CLAUDE = "https://platform.claude.com/docs/en/"
GOOGLE = "https://ai.google.dev/"
AMAZON = "https://docs.aws.amazon.com/bedrock/latest/"
CONVERSE = f"{AMAZON}APIReference/API_runtime_"
COHERE = "https://docs.cohere.com/"
MISTRAL = "https://docs.mistral.ai/"

_OPENAI_SHARED = (
    Rule("names", f"{OPENAI}guides/function-calling", names_match(r"[a-zA-Z0-9_-]{1,64}")),
    Rule("arguments", f"{OPENAI}guides/function-calling", arguments_are_objects),
    Rule("data URLs", f"{OPENAI}guides/images-vision", data_urls_hold_base64),
    Rule("strict schemas", f"{OPENAI}guides/structured-outputs", strict_schemas),
    Rule("sampling", f"{OPENAI}guides/reasoning", model_takes_sampling),
)

RULES: Mapping[str, tuple[Rule, ...]] = {
    "chat_completions": (
        Rule("results", f"{OPENAI}guides/function-calling", results_follow),
        Rule("ids", f"{OPENAI}api-reference/chat/create", ids_match(r"(?s).{1,64}")),
        Rule("content", f"{OPENAI}api-reference/chat/create", something_is_said),
        *_OPENAI_SHARED,
    ),
    "codex_responses": (
        Rule("results", f"{OPENAI}guides/function-calling", results_are_somewhere),
        Rule("ids", f"{OPENAI}api-reference/responses/create", ids_match(r"[a-zA-Z0-9_-]{1,64}")),
        Rule("reasoning", f"{OPENAI}guides/reasoning", reasoning_leads_to_something),
        *_OPENAI_SHARED,
    ),
    "anthropic_messages": (
        Rule("results", f"{CLAUDE}agents-and-tools/tool-use/handle-tool-calls", results_follow),
        Rule("first turn", f"{CLAUDE}api/messages", user_is_first),
        Rule("blank text", f"{CLAUDE}api/messages", no_blank_text),
        Rule("ids", f"{CLAUDE}api/messages", ids_match(r"[a-zA-Z0-9_-]+")),
        Rule("ids of one turn", f"{CLAUDE}api/messages", ids_differ),
        Rule("names", f"{CLAUDE}api/messages", names_match(r"[a-zA-Z0-9_-]{1,128}")),
        Rule("cache marks", f"{CLAUDE}build-with-claude/prompt-caching", few_marks("cache_control")),
        Rule("sampling", f"{CLAUDE}api/messages", model_takes_sampling),
    ),
    "gemini_native": (
        Rule("results", f"{GOOGLE}gemini-api/docs/function-calling", as_many_results),
        Rule("first turn", f"{GOOGLE}api/generate-content", user_is_first),
        Rule("last turn", f"{GOOGLE}api/generate-content", model_is_not_last),
        Rule("names", f"{GOOGLE}api/caching#FunctionDeclaration", names_match(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")),
    ),
    "bedrock_converse": (
        Rule("results", f"{CONVERSE}ToolResultBlock.html", results_follow),
        Rule("first turn", f"{CONVERSE}Message.html", user_is_first),
        Rule("roles", f"{CONVERSE}Message.html", roles_alternate),
        Rule("blank text", f"{CONVERSE}ContentBlock.html", no_blank_text),
        Rule("cache marks", f"{AMAZON}userguide/prompt-caching.html", few_marks("cachePoint")),
        Rule("effort", f"{CONVERSE}OutputConfig.html", effort_is_known),
    ),
    "cohere_chat": (
        Rule("results", f"{COHERE}docs/tool-use-overview", results_follow),
        Rule("names", f"{COHERE}docs/tool-use-overview", names_match(r"[a-zA-Z0-9_-]{1,64}")),
        Rule("arguments", f"{COHERE}reference/chat", arguments_are_objects),
        Rule("data URLs", f"{COHERE}docs/image-inputs", data_urls_hold_base64),
    ),
    "mistral_chat": (
        Rule("results", f"{MISTRAL}capabilities/function_calling", results_follow),
        Rule("last turn", f"{MISTRAL}api", prefix_is_last),
        Rule("content", f"{MISTRAL}api", something_is_said),
        Rule("ids", f"{MISTRAL}api", ids_match(r"(?s).+")),
        Rule("ids of one turn", f"{MISTRAL}api", ids_differ),
        Rule("names", f"{MISTRAL}capabilities/function_calling", names_match(r"[a-zA-Z0-9_-]{1,64}")),
        Rule("arguments", f"{MISTRAL}capabilities/function_calling", arguments_are_objects),
        Rule("data URLs", f"{MISTRAL}api", data_urls_hold_base64),
    ),
}
"""API mode → what its provider demands beyond the SDK's types."""
