"""Facts about models and endpoints: one table with documented defaults, overridable, without behaviour.

`profile(api, provider, base_url, model, facts)` looks them up; the meaning of each fact stands at `Profile`, every row
of the table names its source. Also here, because resolving an API mode and looking up facts must agree on it: how an
address and a provider's name are read.
"""

from __future__ import annotations

from llmneutral.profiles.facts import FACT_NAMES, Effort, Facts, Profile, ReasoningDial, checked_facts
from llmneutral.profiles.hosts import (
    ENDPOINT_HOSTS,
    OFFICIAL_URLS,
    Address,
    find_endpoint,
    is_bedrock_runtime,
    is_private,
    is_within,
    normalize_provider,
    read_address,
)
from llmneutral.profiles.lookup import are_texts, find_row, joined, known_providers, profile, register_profile
from llmneutral.profiles.models import matches, normalize_model
from llmneutral.profiles.rows import API_ROWS, ENDPOINT_ROWS, MODEL_ROWS, ApiRow, EndpointRow, ModelRow

__all__ = [
    "API_ROWS",
    "ENDPOINT_HOSTS",
    "ENDPOINT_ROWS",
    "FACT_NAMES",
    "MODEL_ROWS",
    "OFFICIAL_URLS",
    "Address",
    "ApiRow",
    "Effort",
    "EndpointRow",
    "Facts",
    "ModelRow",
    "Profile",
    "ReasoningDial",
    "are_texts",
    "checked_facts",
    "find_endpoint",
    "find_row",
    "is_bedrock_runtime",
    "is_private",
    "is_within",
    "joined",
    "known_providers",
    "matches",
    "normalize_model",
    "normalize_provider",
    "profile",
    "read_address",
    "register_profile",
]
