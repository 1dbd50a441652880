"""Looks facts up: layer on layer, later ones win fact by fact, and every fact remembers where it comes from.

1. the defaults of the API mode   2. the endpoint (its host, or the provider's name)   3. the family of the model
4. what was discovered            5. what was registered in this process               6. `facts=` of the call

The answer depends on the arguments and the registry only, so it is kept and given again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from llmneutral.errors import ConfigurationError
from llmneutral.errors.wording import a_kind
from llmneutral.profiles.facts import Facts, Profile, checked_facts
from llmneutral.profiles.hosts import ENDPOINT_HOSTS, OFFICIAL_URLS, PROVIDER_ENDPOINTS, find_endpoint
from llmneutral.profiles.models import matches, normalize_model
from llmneutral.profiles.rows import API_ROWS, ENDPOINT_ROWS, MODEL_ROWS, ModelRow

_Frozen = tuple[tuple[str, Any], ...]

_REGISTERED: list[tuple[str, dict[str, Any]]] = []
"""Patterns and their facts, in the order of registration."""

_LIMIT_FIELD = "max_tokens_field"
NAMELESS = ("custom", "copilot-acp")
"""Names that say only that somebody answers at some address."""


def profile(
    api: str,
    provider: str | None = None,
    base_url: str | None = None,
    model: str | None = None,
    facts: Facts | None = None,
    *,
    discovered: Facts | None = None,
) -> Profile:
    """Returns what is known about a model at an endpoint; no network is used.

    Args:
        api: The API mode.
        provider: The provider's name, in any spelling.
        base_url: The address of the endpoint. Without provider and address it is the one whose API it is.
        model: The model's id as the provider writes it; None: only API and endpoint count.
        facts: Facts that override everything.
        discovered: Facts that the provider itself told (a list of models, a local server's properties).

    Raises:
        ConfigurationError: If a fact's name is unknown or its value is not one it takes.
    """
    are_texts(provider=provider, base_url=base_url, model=model)
    return _profile(api, provider, base_url, model, _frozen(joined(facts)), _frozen(joined(discovered)))


def are_texts(**given: Any) -> None:
    """Checks that what names an endpoint, a model or a key is text, or None.

    Raises:
        ConfigurationError: If it is something else; it names the argument and its type, never the value.
    """
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"{name} is {a_kind(value)}; give it as text")


def joined(*layers: Facts | None) -> dict[str, Any]:
    """Returns facts of several layers, the later ones win.

    Raises:
        ConfigurationError: If one of them is no mapping.
    """
    found: dict[str, Any] = {}
    for given in layers:
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(f"facts is {a_kind(given)}; give facts by name, as in {{'vision': True}}")
        found.update(given or {})
    return found


def known_providers() -> frozenset[str]:
    """Returns the names of providers, in their one spelling, that stand for an endpoint we know."""
    return frozenset({*ENDPOINT_ROWS, *ENDPOINT_HOSTS, *OFFICIAL_URLS, *PROVIDER_ENDPOINTS, *NAMELESS})


def register_profile(pattern: str, facts: Facts) -> Callable[[], None]:
    """Registers facts for the models a pattern matches, in this process; the last registered ones win.

    Args:
        pattern: A pattern of whole segments with `*`: "my-model", "acme-*"; see `models.matches`.
        facts: Facts by name.

    Returns:
        A function that takes the registration back.

    Raises:
        ConfigurationError: If the pattern is blank, a fact's name is unknown or its value is not one it takes.
    """
    if not pattern.strip():
        raise ConfigurationError("the pattern of register_profile is blank", hint='"*" matches every model.')
    entry = (pattern, checked_facts(facts, f"register_profile({pattern!r})"))
    _REGISTERED.append(entry)
    _profile.cache_clear()

    def unregister() -> None:
        _REGISTERED[:] = [kept for kept in _REGISTERED if kept is not entry]
        _profile.cache_clear()

    return unregister


def find_row(api: str, endpoint: str | None, model: str | None) -> ModelRow | None:
    """Returns the family row of a model, None where no model is named or nothing is known of it.

    Args:
        api: The API mode.
        endpoint: The id of the endpoint, as `hosts.find_endpoint` gives it.
        model: The model's id in any form.
    """
    name = normalize_model(model) if model else ""
    return next((row for row in MODEL_ROWS if name and row.fits(name, api, endpoint)), None)


@lru_cache(maxsize=512)
def _profile(
    api: str, provider: str | None, base_url: str | None, model: str | None, facts: _Frozen, discovered: _Frozen
) -> Profile:
    values: dict[str, Any] = {}
    layers: dict[str, str] = {}

    def add(layer: str, found: Mapping[str, Any]) -> None:
        values.update(found)
        layers.update(dict.fromkeys(found, layer))

    api_row = API_ROWS.get(api)
    endpoint = find_endpoint(provider, base_url)
    if endpoint is None and api_row and not (provider or "").strip() and not (base_url or "").strip():
        endpoint = api_row.endpoint
    if api_row:
        add(f"api:{api}", api_row.facts)
    if endpoint in ENDPOINT_ROWS:
        add(f"endpoint:{endpoint}", ENDPOINT_ROWS[endpoint].facts_for(api))
    if row := find_row(api, endpoint, model):
        add(f"model:{row.name}", row.facts_for(api, endpoint))
    add("discovered", checked_facts(_thawed(discovered), "discovered facts"))
    for pattern, registered in _REGISTERED:
        if model and matches(pattern, normalize_model(model)):
            add(f"registered:{pattern}", registered)
    add("call", checked_facts(_thawed(facts)))
    if _LIMIT_FIELD not in values and values.get("reasoning"):
        add("derived", {_LIMIT_FIELD: "max_completion_tokens"})
    return Profile(**values, layers=tuple(layers.items()))


def _frozen(facts: Facts | None) -> _Frozen:
    """Facts as a key of the cache."""
    if not facts:
        return ()
    items = tuple(facts.items())
    try:
        hash(items)
    except TypeError:  # lists, as JSON and callers write them
        return tuple((name, _hashable(value)) for name, value in items)
    return items


def _thawed(facts: _Frozen) -> dict[str, Any]:
    return dict(facts)


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((key, _hashable(one)) for key, one in value.items())
    if isinstance(value, list | tuple | set):
        return tuple(_hashable(one) for one in value)
    return value
