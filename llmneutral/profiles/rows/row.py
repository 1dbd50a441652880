"""What a row of the table is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from llmneutral.profiles.models import matches

NONE: Mapping[str, Any] = {}


class ApiRow(msgspec.Struct, frozen=True):
    """The defaults of an API mode.

    Attributes:
        source: Where the facts are written: an address, an SDK's types, or a rulebook.
        facts: The facts that differ from the defaults of `Profile`.
        endpoint: Whose API it is: where a request goes that names neither provider nor address.
    """

    source: str
    facts: Mapping[str, Any]
    endpoint: str


class EndpointRow(msgspec.Struct, frozen=True):
    """The facts of an endpoint, whatever the model.

    Attributes:
        source: As in `ApiRow`.
        facts: Facts behind every API.
        by_api: Further facts behind one API.
    """

    source: str
    facts: Mapping[str, Any] = NONE
    by_api: Mapping[str, Mapping[str, Any]] = NONE

    def facts_for(self, api: str) -> dict[str, Any]:
        """Returns the facts behind an API."""
        return {**self.facts, **self.by_api.get(api, NONE)}


class ModelRow(msgspec.Struct, frozen=True):
    """The facts of a family of models.

    Attributes:
        name: What the row is called in `Profile.sources`.
        patterns: Patterns of normalised ids; see `models.matches`.
        source: As in `ApiRow`.
        facts: Facts wherever the model is served.
        by_api: Further facts behind one API.
        at: Further facts at one endpoint (`openai`), or at one endpoint behind one API (`openai/chat_completions`).
        apis: The row counts behind these APIs only; none: behind all.
        endpoints: The row counts at these endpoints only; none: everywhere.
    """

    name: str
    patterns: tuple[str, ...]
    source: str
    facts: Mapping[str, Any] = NONE
    by_api: Mapping[str, Mapping[str, Any]] = NONE
    at: Mapping[str, Mapping[str, Any]] = NONE
    apis: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()

    def fits(self, model: str, api: str, endpoint: str | None) -> bool:
        """Tells whether the row speaks of a model, in its normal form, behind an API at an endpoint."""
        if (self.apis and api not in self.apis) or (self.endpoints and endpoint not in self.endpoints):
            return False
        return any(matches(pattern, model) for pattern in self.patterns)

    def facts_for(self, api: str, endpoint: str | None) -> dict[str, Any]:
        """Returns the facts behind an API at an endpoint."""
        here = self.at.get(endpoint or "", NONE)
        return {**self.facts, **self.by_api.get(api, NONE), **here, **self.at.get(f"{endpoint}/{api}", NONE)}
