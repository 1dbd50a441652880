"""Payloads against the official SDKs' own request types, offline: a tool for development and for notebooks.

    problems = llmneutral.validate(conversion, "anthropic_messages")
    for problem in problems:
        print(problem.path, problem.message)        # messages[1].content[0].type must be 'text', … not 'txt'
    llmneutral.validator("anthropic_messages").judge        # "anthropic 2.14"

The types are read from the SDK that is installed, when they are first needed; nothing of it is imported before,
and no client is made. What the types cannot say (whether calls have results, what a model refuses) is asked
of `lint`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.transport import Conversion
from llmneutral.errors import ConfigurationError
from llmneutral.profiles.hosts import find_endpoint
from llmneutral.resolve import canonical_api_mode
from llmneutral.validation.judges import Forms, forms_of, judge_of
from llmneutral.validation.problems import Findings, Problem, problems
from llmneutral.validation.shapes import named

__all__ = ["Problem", "Validator", "validate", "validator"]


class Validator(msgspec.Struct, frozen=True):
    """Holds payloads of one API against the types of its SDK; call it with a payload.

    Attributes:
        api: The API mode.
        judge: Whose types they are: package and version, "openai 3.57".
    """

    api: str
    judge: str

    def __call__(self, payload: Any) -> list[Problem]:
        """Returns what the types do not allow; an empty list if the payload is valid.

        Args:
            payload: A `Conversion`, the keyword arguments of the SDK's call, or the JSON body. Paths are those of
                what was given; of a conversion, those of its `to_json()`, as in its trace. What an `extra_body`
                holds is not checked.
        """
        forms = forms_of(self.api)
        try:
            return problems(_found(forms, payload))
        except RecursionError:
            return [Problem("", "is nested too deeply, or holds itself")]


def validate(payload: Any, api: str | None = None) -> list[Problem]:
    """Holds a payload against the official SDK's own types, offline.

    Args:
        payload: A `Conversion`, the keyword arguments of the SDK's call, or the JSON body.
        api: API mode or an alias; a conversion knows its own.

    Returns:
        What the types do not allow, each with its place; an empty list if the payload is valid.

    Raises:
        ConfigurationError: If the API is unknown, or no SDK describes its payloads.
        MissingExtraError: If its SDK is not installed: then nothing was checked.
    """
    mode = api or (payload.api if isinstance(payload, Conversion) else None)
    if mode is None:
        raise ConfigurationError("which API is the payload for? Say validate(payload, api)")
    return validator(mode)(payload)


def validator(api: str) -> Validator:
    """Returns what validates the payloads of an API, and says who judges.

    Args:
        api: API mode or an alias.

    Raises:
        ConfigurationError: If the API is unknown, or no SDK describes its payloads.
        MissingExtraError: If its SDK is not installed.
    """
    mode = canonical_api_mode(api)
    return Validator(mode, judge_of(mode).name())


def _found(forms: Forms, payload: Any) -> Findings:
    if isinstance(payload, Conversion):
        target = payload.target
        endpoint = find_endpoint(target.provider, target.base_url) or ("a relay" if target.base_url else None)
        found = _called(forms, payload.payload, endpoint)
        return [(forms.in_body(loc), message) for loc, message in found]
    if not isinstance(payload, dict):
        return [((), f"must be an object, not {named(payload)}")]
    return _called(forms, payload, None) if forms.is_call(payload) else forms.body.check(payload)


def _called(forms: Forms, payload: dict[str, Any], endpoint: str | None) -> Findings:
    return forms.call(endpoint).check(payload) or forms.as_sent(payload, endpoint)
