"""Which API mode an endpoint speaks: one ordered table of rules, the first that fits decides.

Explicit settings come before the provider's name, the name before the address, the address before the model. What an
address is, and which provider a name means, is read as in `profiles`. Nothing else in the library decides a protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from llmneutral.errors import ConfigurationError
from llmneutral.errors.wording import a_kind
from llmneutral.profiles import (
    ENDPOINT_HOSTS,
    OFFICIAL_URLS,
    Address,
    are_texts,
    find_endpoint,
    is_bedrock_runtime,
    normalize_model,
    normalize_provider,
    profile,
    read_address,
)

API_MODES: tuple[str, ...] = (
    "chat_completions",
    "codex_responses",
    "anthropic_messages",
    "bedrock_converse",
    "gemini_native",
    "cohere_chat",
    "mistral_chat",
    "codex_app_server",
)
"""The canonical names: the protocol that is spoken, never the vendor."""

API_MODE_ALIASES: dict[str, str] = {
    "openai": "chat_completions",
    "openai_chat": "chat_completions",
    "chat": "chat_completions",
    "responses": "codex_responses",
    "openai_responses": "codex_responses",
    "codex": "codex_responses",
    "anthropic": "anthropic_messages",
    "messages": "anthropic_messages",
    "claude": "anthropic_messages",
    "bedrock": "bedrock_converse",
    "converse": "bedrock_converse",
    "gemini": "gemini_native",
    "google": "gemini_native",
    "generate_content": "gemini_native",
    "cohere": "cohere_chat",
    "mistral": "mistral_chat",
    "app_server": "codex_app_server",
}
"""Other names that are accepted for a mode; a hyphen is an underscore, and case does not matter."""


class ApiModeDecision(msgspec.Struct, frozen=True):
    """Which protocol is spoken, and why.

    Attributes:
        mode: One of `API_MODES`.
        provider: The provider in its one spelling, or the one the address stands for; None if neither is known.
        rule: The rule that decided: explicit, provider:…, host:…, suffix:…, mandate:host, model:responses or default.
        warnings: What looks wrong; nothing is printed.
    """

    mode: str
    provider: str | None
    rule: str
    warnings: list[str] = msgspec.field(default_factory=list)


def resolve_api_mode(
    *, provider: str | None = None, base_url: str | None = None, model: str | None = None, api_mode: str | None = None
) -> ApiModeDecision:
    """Decides which API mode an endpoint speaks; no network is used.

    Args:
        provider: Who serves the model ("openrouter"), in any spelling.
        base_url: The address of the endpoint.
        model: The model's id.
        api_mode: The mode, if the caller knows it: never changed, only warned about.

    Raises:
        ConfigurationError: If `api_mode` is no known name.
    """
    are_texts(provider=provider, base_url=base_url, model=model, api_mode=api_mode)
    asked = _Question(
        provider=normalize_provider(provider),
        address=read_address(base_url),
        base_url=base_url,
        model=(model or "").strip(),
        api_mode=canonical_api_mode(api_mode) if api_mode and api_mode.strip() else None,
    )
    hit = next(found for rule in RULES if (found := rule(asked)))
    warnings = [text for check in WARNINGS if (text := check(asked, hit))]
    return ApiModeDecision(hit.mode, asked.provider or hit.provider, hit.rule, warnings)


def canonical_api_mode(name: str) -> str:
    """Returns the canonical name of a mode.

    Args:
        name: The name or one of its aliases; case, surrounding blanks and `-` or `_` do not matter.

    Raises:
        ConfigurationError: If the name is unknown; the error lists the known ones.
    """
    if not isinstance(name, str):
        raise ConfigurationError(f"an API mode is a text such as 'chat_completions', not {a_kind(name)}")
    key = name.strip().lower().replace("-", "_")
    mode = API_MODE_ALIASES.get(key, key)
    if mode not in API_MODES:
        raise ConfigurationError(
            f"unknown API mode {name[:60]!r}",
            hint=f"Known are {', '.join(API_MODES)}, and short names such as openai, responses, claude, gemini.",
        )
    return mode


def host_mandated_api_mode(url: str | None) -> str | None:
    """Returns the one mode that a host or path speaks, whatever the provider is called; None if it leaves it open.

    OpenAI: https://developers.openai.com/api/docs/guides/deployment-checklist ("start with Responses").

    Args:
        url: The address of an endpoint.
    """
    address = read_address(url)
    return next((mode for fits, mode in MANDATES if address.host and fits(address)), None)


# ----------------------------------------------------------------------------------------------------------------------
# What is asked, and what a rule answers


class _Question(msgspec.Struct, frozen=True):
    """The inputs, normalised; blank ones are absent."""

    provider: str | None
    address: Address
    base_url: str | None
    model: str
    api_mode: str | None = None

    @property
    def is_nameless(self) -> bool:
        return self.provider is None

    @property
    def is_process(self) -> bool:
        """An external process, not a host."""
        return self.provider == "copilot-acp" or self.address.scheme in ("acp", "acp+tcp")


class _Hit(msgspec.Struct, frozen=True):
    mode: str
    rule: str
    provider: str | None = None


_Rule = Callable[[_Question], _Hit | None]
_Check = Callable[[_Question, _Hit], str | None]

# ----------------------------------------------------------------------------------------------------------------------
# The rules


def _explicit(asked: _Question) -> _Hit | None:
    return _Hit(asked.api_mode, "explicit") if asked.api_mode else None


def _named(rule: str, mode: str, *providers: str) -> _Rule:
    """A provider's name decides."""

    def fits(asked: _Question) -> _Hit | None:
        return _Hit(mode, f"provider:{rule or asked.provider}") if asked.provider in providers else None

    return fits


def _hosted(rule: str, mode: str, provider: str, fits_address: Callable[[Address], bool]) -> _Rule:
    """The address decides, where no provider is named."""

    def fits(asked: _Question) -> _Hit | None:
        if asked.is_nameless and asked.address.host and fits_address(asked.address):
            return _Hit(mode, f"host:{rule}", provider)
        return None

    return fits


def _within(*hosts: str) -> Callable[[Address], bool]:
    return lambda address: address.within(*hosts)


def _of(endpoint: str) -> Callable[[Address], bool]:
    return _within(*ENDPOINT_HOSTS[endpoint])


def _is_codex_backend(address: Address) -> bool:
    return _of("codex")(address) and "/backend-api/codex" in address.path


def _is_bedrock(address: Address) -> bool:
    return is_bedrock_runtime(address.host)


def _is_gemini(address: Address) -> bool:
    return _of("gemini")(address) or _is_vertex(address)


def _is_vertex(address: Address) -> bool:
    return _of("vertex")(address) or address.host.endswith("-aiplatform.googleapis.com")


def _ends_like_anthropic(address: Address) -> bool:
    """The convention of third parties that speak Messages; the client adds `/v1/messages` itself."""
    return address.path.endswith(("/anthropic", "/anthropic/v1"))


def _ends_like_openai(address: Address) -> bool:
    """`/openai` of Gemini and Bedrock, `/endpoints/openapi` of Vertex.

    https://ai.google.dev/gemini-api/docs/openai
    https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html
    """
    return address.path.endswith(("/openai", "/openai/v1", "/endpoints/openapi"))


def _suffix_anthropic(asked: _Question) -> _Hit | None:
    return _Hit("anthropic_messages", "suffix:anthropic") if _ends_like_anthropic(asked.address) else None


def _suffix_openai(asked: _Question) -> _Hit | None:
    """Only where a vendor's own protocol would be spoken otherwise: elsewhere the path proves nothing."""
    address = asked.address
    is_cohere = _of("cohere")(address)
    theirs = _is_gemini(address) or _is_bedrock(address) or is_cohere
    if not theirs and asked.provider not in ("gemini", "vertex", "bedrock", "cohere"):
        return None
    if _ends_like_openai(address) or (is_cohere and "/compatibility/" in f"{address.path}/"):
        return _Hit("chat_completions", "suffix:openai")
    return None


def _nous(asked: _Question) -> _Hit | None:
    """A portal with two protocols: Messages for Claude, Chat for the rest."""
    if asked.provider not in ("nous", "nous-portal", "nousresearch"):
        return None
    is_claude = asked.model.lower().startswith("anthropic/")
    return _Hit("anthropic_messages" if is_claude else "chat_completions", "provider:nous", "nous")


def _mandate(asked: _Question) -> _Hit | None:
    if asked.is_process:
        return None
    url = asked.base_url if asked.address.host else OFFICIAL_URLS.get(asked.provider or "")
    mode = host_mandated_api_mode(url)
    return _Hit(mode, "mandate:host") if mode else None


def _model_responses(asked: _Question) -> _Hit | None:
    if asked.is_process or not needs_responses(asked.model) or not _serves_responses(asked):
        return None
    return _Hit("codex_responses", "model:responses")


def needs_responses(model: str) -> bool:
    """Tells whether a model is one of those that OpenAI serves by Responses first: GPT-5 and newer, Codex, the Pros.

    Error text of GPT-5.6 and newer behind Chat: "Function tools with reasoning_effort are not supported".

    Args:
        model: The model's id; what stands before the last `/` does not matter.
    """
    return _RESPONSES_MODEL.match(model.strip().lower().rpartition("/")[2]) is not None


def _serves_responses(asked: _Question) -> bool:
    """An endpoint that is known to serve Responses; everywhere else a model's name proves nothing."""
    if asked.is_nameless and not asked.address.host:
        return True
    if asked.provider == "openrouter" or _of("openrouter")(asked.address):
        return True
    is_copilot = asked.provider in ("copilot", "github-copilot") or _of("copilot")(asked.address)
    return is_copilot and not asked.model.lower().rpartition("/")[2].startswith("gpt-5-mini")


def _default(asked: _Question) -> _Hit | None:
    return _Hit("chat_completions", "default")


_RESPONSES_MODEL = re.compile(r"gpt-(?:[5-9]|\d{2,})(?![\da-z])|codex-|o\d+-pro")

_CODEX_BACKEND = _hosted("codex-backend", "codex_responses", "openai-codex", _is_codex_backend)
_XAI = _hosted("xai", "codex_responses", "xai", _of("xai"))
_ANTHROPIC = _hosted("anthropic", "anthropic_messages", "anthropic", _of("anthropic"))
_BEDROCK = _hosted("bedrock", "bedrock_converse", "bedrock", _is_bedrock)
_GEMINI = _hosted("gemini", "gemini_native", "gemini", _is_gemini)
_COHERE = _hosted("cohere", "cohere_chat", "cohere", _of("cohere"))
_MISTRAL = _hosted("mistral", "mistral_chat", "mistral", _of("mistral"))

RULES: tuple[_Rule, ...] = (
    _explicit,
    _named("openai-codex", "codex_responses", "openai-codex"),
    _named("xai", "codex_responses", "xai", "xai-oauth", "grok"),
    _CODEX_BACKEND,
    _XAI,
    _named("anthropic", "anthropic_messages", "anthropic"),
    _ANTHROPIC,
    _suffix_anthropic,
    _suffix_openai,
    _named("bedrock", "bedrock_converse", "bedrock"),
    _BEDROCK,
    _named("", "gemini_native", "gemini", "vertex"),
    _GEMINI,
    _named("cohere", "cohere_chat", "cohere"),
    _COHERE,
    _named("mistral", "mistral_chat", "mistral"),
    _MISTRAL,
    _nous,
    _mandate,
    _model_responses,
    _default,
)
"""In the order in which they are tried; the last one always fits."""

MANDATES: tuple[tuple[Callable[[Address], bool], str], ...] = (
    (lambda address: _of("kimi-coding")(address) and f"{address.path}/".startswith("/coding/"), "anthropic_messages"),
    (lambda address: _of("anthropic")(address) or _ends_like_anthropic(address), "anthropic_messages"),
    (_of("openai"), "codex_responses"),
    (_within("api.meta.ai"), "codex_responses"),
    (lambda address: _is_bedrock(address) and not _ends_like_openai(address), "bedrock_converse"),
    (
        lambda address: _of("gemini")(address) and not _ends_like_openai(address),
        "gemini_native",
    ),
)
"""What a host or path speaks, whatever the provider is called; in the order in which they are tried."""

# ----------------------------------------------------------------------------------------------------------------------
# The warnings


def _unreadable(asked: _Question, hit: _Hit) -> str | None:
    if asked.address.problem:
        return f"base_url cannot be read ({asked.address.problem}) and was ignored"
    return "base_url holds credentials, which are not used; pass api_key" if asked.address.has_userinfo else None


def _unencrypted(asked: _Question, hit: _Hit) -> str | None:
    if asked.address.scheme != "http" or not asked.address.is_public:
        return None
    return f"http to {asked.address.host}: the key travels unencrypted; use https"


def _look_alike(asked: _Question, hit: _Hit) -> str | None:
    host = asked.address.host
    if not host or find_endpoint(None, asked.base_url):
        return None
    known = [name for names in ENDPOINT_HOSTS.values() for name in names]
    meant = max((name for name in known if name in host), key=len, default="")
    if not meant and "bedrock-runtime" in host:
        meant = "bedrock-runtime of amazonaws.com"
    return f"{host} looks like {meant}, but is not: it is treated as unknown" if meant else None


def _disagreeing(asked: _Question, hit: _Hit) -> str | None:
    """The address by itself would have decided otherwise."""
    if not asked.address.host:
        return None
    alone = msgspec.structs.replace(asked, provider=None, api_mode=None)
    suggested = next((found for rule in _BY_ADDRESS if (found := rule(alone))), None)
    if suggested is None or suggested.mode == hit.mode:
        return None
    return (
        f"{hit.mode} was chosen by the rule {hit.rule}, but {asked.address.host}{asked.address.path} suggests "
        f"{suggested.mode}; pass api_mode={suggested.mode!r} to force it"
    )


def _foreign_family(asked: _Question, hit: _Hit) -> str | None:
    """A vendor's own endpoint serves no models of another vendor."""
    endpoint = find_endpoint(asked.provider, asked.base_url)
    maker = next((name for name, pattern in _FAMILIES if pattern.match(normalize_model(asked.model))), None)
    served_by = _OWN_ENDPOINTS.get(endpoint or "")
    if maker is None or served_by in (None, maker):
        return None
    return f"{asked.model} is a model of {maker}, but the endpoint is that of {served_by}: likely the wrong endpoint"


def _needs_other_mode(asked: _Question, hit: _Hit) -> str | None:
    """Chat, where the model's tools need Responses."""
    if hit.mode != "chat_completions" or not asked.model or asked.is_process:
        return None
    facts = profile("chat_completions", asked.provider, asked.base_url, asked.model)
    serves = _serves_responses(asked) or find_endpoint(asked.provider, asked.base_url) in ("openai", "azure")
    if facts.chat_tools == "always" and not (serves and needs_responses(asked.model)):
        return None
    return (
        f"{asked.model} behind chat_completions may refuse tools, or reasoning beside tools; "
        "pass api_mode='codex_responses' if you need them"
    )


_BY_ADDRESS = (
    _CODEX_BACKEND,
    _XAI,
    _ANTHROPIC,
    _suffix_anthropic,
    _suffix_openai,
    _BEDROCK,
    _GEMINI,
    _COHERE,
    _MISTRAL,
    _mandate,
)
"""The rules that look at nothing but the address."""

_FAMILIES = (
    ("Anthropic", re.compile(r"claude")),
    ("OpenAI", re.compile(r"gpt-(?!oss|neo|j\b)|o[1-9](?:$|-)|codex-")),
    ("Google", re.compile(r"gemini")),
    ("xAI", re.compile(r"grok")),
    ("Cohere", re.compile(r"command")),
    ("Mistral", re.compile(r"mistral|ministral|magistral|codestral|devstral")),
)
_OWN_ENDPOINTS = {
    "openai": "OpenAI",
    "codex": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Google",
    "xai": "xAI",
    "cohere": "Cohere",
    "mistral": "Mistral",
}

WARNINGS: tuple[_Check, ...] = (
    _unreadable,
    _unencrypted,
    _look_alike,
    _disagreeing,
    _foreign_family,
    _needs_other_mode,
)
"""Looked at after the decision, which they never change."""
