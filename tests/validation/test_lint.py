"""What providers refuse beyond the SDK's types: each rule finds what it is for, and nothing in what we make."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from llmneutral import ConfigurationError, Conversion, InvalidActionCallMessageContent, Message, convert, lint, validate
from llmneutral.validation.lint import RULES
from tests.cases import golden
from tests.laws.stacks import stacks
from tests.laws.test_payloads_validate import TARGETS, asked, converted
from tests.validation.broken_lint import BROKEN, SOUND, Broken


def test_every_rule_has_a_body_that_breaks_it() -> None:
    rules = {(api, rule.name) for api, listed in RULES.items() for rule in listed}
    assert rules == {(each.api, each.rule) for each in BROKEN}


@pytest.mark.parametrize("api", sorted(RULES))
def test_a_sound_body_has_no_problem(api: str) -> None:
    before = json.dumps(SOUND[api])
    assert lint(SOUND[api], api) == []
    assert json.dumps(SOUND[api]) == before


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: f"{each.api}-{each.rule}-{each.place}")
def test_a_broken_rule_is_found_at_its_place(broken: Broken) -> None:
    [rule] = [rule for rule in RULES[broken.api] if rule.name == broken.rule]
    assert (broken.found_at, rule.doc) in [(each.path, each.doc) for each in lint(broken.body, broken.api)]


@pytest.mark.parametrize("api", sorted(RULES))
def test_every_rule_names_a_page_of_the_provider(api: str) -> None:
    assert [rule.name for rule in RULES[api] if not re.fullmatch(r"https://[\w.-]+/\S*", rule.doc)] == []


@pytest.mark.parametrize(("case", "api"), [*golden.targets()])
def test_golden_payloads_have_no_problem(case: str, api: str) -> None:
    body, _ = golden.converted(case, api)
    assert "refused" in body or lint(body, api) == []


@pytest.mark.parametrize(("api", "model"), TARGETS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(stacks, asked)
def test_what_a_conversion_makes_has_no_problem(
    api: str, model: str, messages: list[Message], given: dict[str, Any]
) -> None:
    """But for arguments that a model wrote wrongly: they go back as they came."""
    made = converted(messages, api, model, given)
    if made is None:
        return
    invalid = [
        part for message in messages for part in message.content if isinstance(part, InvalidActionCallMessageContent)
    ]
    found = [each for each in lint(made) if not (invalid and "arguments that are no JSON object" in each.message)]
    assert found == []


def test_a_conversion_knows_its_endpoint() -> None:
    """The model is refused a setting by its maker only."""
    made = convert("hi", "anthropic_messages", model="claude-opus-5-5", max_tokens=5)
    assert isinstance(made, Conversion)
    assert lint(made) == lint(made, "anthropic") == []


def test_calls_that_a_conversion_says_are_waiting_may_wait() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]}]
    for api, model in TARGETS:
        made = convert(messages, api, model=model, max_tokens=5)
        assert isinstance(made, Conversion)
        assert made.open_calls
        assert lint(made) == []


@pytest.mark.parametrize(
    "body",
    [
        {"messages": None, "input": None, "contents": None},
        {"messages": 7, "input": 7, "contents": 7, "tools": 7, "toolConfig": 7, "system": 7},
    ],
)
@pytest.mark.parametrize("api", sorted(RULES))
def test_what_the_types_refuse_is_left_to_validate(api: str, body: dict[str, Any]) -> None:
    assert lint(body, api) == []
    assert validate(body, api)


@pytest.mark.parametrize("wrong", [None, "text", [], 7])
def test_what_is_no_body_is_told(wrong: Any) -> None:
    [problem] = lint(wrong, "chat_completions")
    assert "must be an object" in problem.message


def test_a_body_that_holds_itself_is_told() -> None:
    content: list[Any] = []
    content.append({"type": "tool_result", "tool_use_id": "c1", "content": content})
    [problem] = lint({"messages": [{"role": "user", "content": content}]}, "anthropic_messages")
    assert "nested too deeply" in problem.message


def test_an_unknown_api_is_named() -> None:
    with pytest.raises(ConfigurationError, match="which API"):
        lint({})
    with pytest.raises(ConfigurationError, match="local_thing"):
        lint({}, "local_thing")
