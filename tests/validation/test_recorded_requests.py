"""Requests that providers have answered: what they took, the SDKs' types allow, but for what is named here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import llmneutral
from llmneutral import Conversion, LLMNeutralError, validate
from llmneutral.transports import registered
from tests.conftest import SHARED

CORPUS = SHARED / "corpus" / "dev"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded traffic (../shared/corpus) is not here")

FOLDERS = {
    "chat_completions": "openai.chat",
    "codex_responses": "openai.responses",
    "anthropic_messages": "anthropic.messages",
    "gemini_native": "gemini.generate_content",
    "bedrock_converse": "bedrock.converse",
    "cohere_chat": "cohere.chat",
    "mistral_chat": "mistral.chat",
}

TAKEN_ALL_THE_SAME: dict[str, dict[str, str]] = {
    "chat_completions": {
        r"messages\[\]\.annotations: is unknown": "a key of answers, sent back",
        r"messages\[\]\.name: is unknown": "the name of a tool message, of older versions",
        r"messages\[\]\.content\[\]\.cache_control: is unknown": "another API's cache mark",
        r"messages\[\]\.reasoning(_signature)?: is unknown": "another API's reasoning",
    },
    "codex_responses": {
        r"tools\[\]\.strict: is required": "the types want it said",
        r"input\[\]\.content\[\]\.detail: is required": "the types want it said",
        r"input\[\]\.(status|id|result): is required": "keys of answers, left out where items are sent back",
        r"input\[\]\.content\[\]\.annotations: is required": "keys of answers, left out where items are sent back",
        r"input\[\]\.status: is unknown": "a key of answers, on the short form of a message",
        r"input\[\]\.content\[\]\.type: must be .* not 'output_text'": "an answer's part in a message's short form",
    },
    "anthropic_messages": {
        r"output_format: is unknown": "the older spelling of output_config.format; the SDK has dropped it",
    },
    "gemini_native": {
        r".*\.(type|category|threshold|mode): must be .* not an integer": "numbers of an enumeration",
        r"(systemInstruction\.parts|tools): must be a list or null, not an object": "one entry in the place of a list",
    },
    "bedrock_converse": {
        r".*\.document\.source\.bytes: must be a string, not an object": "the recorder wrote bytes as an object",
        r".*\.toolUse\.type: must be 'server_tool_use', not 'tool_use'": "a type that the model does not list",
    },
    "cohere_chat": {
        r"tool_choice: must be 'REQUIRED' or 'NONE', not '(required|none)'": "the case of letters",
        r"response_format\.type: must be .* not 'json_schema'": "OpenAI's form",
    },
    "mistral_chat": {},
}
"""Path and message of what a service took though its own SDK's types do not have it → what it is."""


@cache
def recorded(api: str) -> tuple[dict[str, Any], ...]:
    """The exchanges of an API that have a JSON request; those of Cohere's older API are another one's."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted((CORPUS / FOLDERS[api]).glob("*.json"))]
    return tuple(each for each in found if isinstance(each.get("request"), dict) and each["wire"] != "cohere.v1")


def told(problem: llmneutral.Problem) -> str:
    return re.sub(r"\[\d+\]", "[]", str(problem))


@pytest.mark.parametrize("api", FOLDERS)
def test_what_was_answered_is_valid(api: str) -> None:
    used = set()
    for each in recorded(api):
        for problem in validate(each["request"], api):
            rule = next((rule for rule in TAKEN_ALL_THE_SAME[api] if re.fullmatch(rule, told(problem))), None)
            used.add(rule)
            assert rule is not None or each["status"] >= 400, f"{each['id']}: {problem}"
    assert {*TAKEN_ALL_THE_SAME[api]} <= used, "what no request needs any more is no exception"


@pytest.mark.parametrize("api", FOLDERS)
def test_most_of_what_was_answered_is_valid(api: str) -> None:
    answered = [each for each in recorded(api) if each["status"] < 400]
    valid = [each for each in answered if not validate(each["request"], api)]
    assert len(valid) >= 0.8 * len(answered)


def conversions(api: str, to: str) -> Iterator[tuple[str, dict[str, Any], Conversion]]:
    """Every recorded request as another API would be sent it."""
    for each in recorded(api):
        try:
            stack = llmneutral.read_request(each["request"], api)
            if api != to:
                stack.settings.pop("extra_body", None)  # keys without a neutral name mean nothing there
            made = llmneutral.convert(stack, to, model="a-model")
        except LLMNeutralError:
            continue
        yield each["id"], each["request"], made


@pytest.mark.parametrize("to", registered())
@pytest.mark.parametrize("api", [api for api in FOLDERS if api in registered()])
def test_a_conversion_is_valid(api: str, to: str) -> None:
    """To the same API, what was wrong already may stay."""
    for name, request, made in conversions(api, to):
        before = {told(problem) for problem in validate(request, api)} if api == to else set()
        after = [problem for problem in validate(made) if told(problem) not in before]
        assert after == [], name
