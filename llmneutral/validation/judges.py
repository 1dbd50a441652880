"""Who judges the payloads of each API: the SDK, its version, and the two forms a payload may have.

A payload is written as the keyword arguments of the SDK's call, or as the JSON body. Where both are spelled alike, one
shape serves for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from llmneutral.errors import ConfigurationError, MissingExtraError
from llmneutral.validation import bedrock, gemini, sdk_requests
from llmneutral.validation.problems import NOTHING, Findings, Loc
from llmneutral.validation.shapes import Shape


class Forms(msgspec.Struct, frozen=True, kw_only=True):
    """What a payload of an API is held against.

    Attributes:
        call: Endpoint they go to (as `llmneutral.profiles.hosts` names it; None: the maker's) → the keyword arguments
            of the SDK's call.
        body: The JSON body.
        is_call: Which of the two a payload is.
        in_body: Where a place of the keyword arguments stands in the body.
        as_sent: What the SDK says when it makes the body of keyword arguments that are right otherwise.
        unread: What of the SDK's types could not be read so far; it is taken as it is.
    """

    call: Callable[[str | None], Shape]
    body: Shape
    is_call: Callable[[dict[str, Any]], bool]
    in_body: Callable[[Loc], Loc] = lambda loc: loc
    as_sent: Callable[[dict[str, Any], str | None], Findings] = lambda payload, endpoint: NOTHING
    unread: Callable[[], list[Any]] = list


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """The SDK that judges an API's payloads.

    Attributes:
        package: Its package ("google-genai").
        extra: The extra that brings it; None: it comes with the library.
        load: Imports it, and reads its types.
    """

    package: str
    extra: str | None = None
    load: Callable[[], Forms]

    def name(self) -> str:
        """Returns package and version: `openai 3.57`.

        Raises:
            MissingExtraError: If the package is not installed, naming the extra that brings it.
        """
        try:
            return named(self.package)
        except PackageNotFoundError:
            hint = None if self.extra else f"pip install {self.package}"
            raise MissingExtraError(package=self.package, extra=self.extra, hint=hint) from None


@cache
def named(package: str) -> str:
    """Returns a package with its version; reading it takes two milliseconds.

    Raises:
        PackageNotFoundError: If it is not installed; asked again, it is looked for again.
    """
    return f"{package} {'.'.join(version(package).split('.')[:2])}"


def judge_of(api: str) -> Judge:
    """Returns the judge of an API mode.

    Raises:
        ConfigurationError: If no SDK describes its payloads.
    """
    try:
        return JUDGES[api]
    except KeyError:
        told = f"no SDK's types are known for {api}; its payloads cannot be validated"
        raise ConfigurationError(told, api=api, hint=f"One of: {', '.join(JUDGES)}") from None


@cache
def forms_of(api: str) -> Forms:
    """Returns what payloads of an API are held against; the SDK is imported at the first call.

    Raises:
        ConfigurationError: If no SDK describes its payloads.
        MissingExtraError: If the SDK is not installed.
    """
    judge = judge_of(api)
    judge.name()
    return judge.load()


# ----------------------------------------------------------------------------------------------------------------------
# The APIs


def _merged(loc: Loc) -> Loc:
    """The SDK merges `extra_body` into the body."""
    return loc[1:] if loc[:1] == ("extra_body",) and len(loc) > 1 else loc


def _spoken_at(endpoint: str | None, found: sdk_requests.Read) -> Shape:
    """The keyword arguments as an endpoint takes them: the maker of the API, or one who imitates it."""
    if found.imitated is None or endpoint is None or endpoint in found.makers:
        return found.call
    return found.imitated


def _params(read: Callable[[], sdk_requests.Read]) -> Callable[[], Forms]:
    def load() -> Forms:
        found = read()
        return Forms(
            call=lambda endpoint: _spoken_at(endpoint, found),
            body=found.body,
            is_call=lambda payload: found.mark in payload,
            in_body=_merged,
            unread=lambda: found.reader.unread,
        )

    return load


def _gemini() -> Forms:
    call, called = gemini.call()
    body, posted = gemini.body()
    return Forms(
        call=lambda endpoint: call,
        body=body,
        is_call=gemini.is_call,
        in_body=gemini.in_body,
        as_sent=gemini.as_sent,
        unread=lambda: called.unread + posted.unread,
    )


def _bedrock() -> Forms:
    call, called = bedrock.read(is_call=True)
    body, posted = bedrock.read(is_call=False)
    return Forms(
        call=lambda endpoint: call, body=body, is_call=bedrock.is_call, unread=lambda: called.unread + posted.unread
    )


JUDGES: Mapping[str, Judge] = {
    "chat_completions": Judge(package="openai", load=_params(sdk_requests.chat_completions)),
    "codex_responses": Judge(package="openai", load=_params(sdk_requests.codex_responses)),
    "anthropic_messages": Judge(package="anthropic", load=_params(sdk_requests.anthropic_messages)),
    "gemini_native": Judge(package="google-genai", extra="google", load=_gemini),
    "bedrock_converse": Judge(package="botocore", extra="bedrock", load=_bedrock),
    "cohere_chat": Judge(package="cohere", extra="cohere", load=_params(sdk_requests.cohere_chat)),
    "mistral_chat": Judge(package="mistralai", extra="mistral", load=_params(sdk_requests.mistral_chat)),
}
"""API mode → who judges its payloads."""
