"""Layer on layer: which facts win, where they come from, and what is registered."""

from __future__ import annotations

import pytest

from llmneutral.errors import ConfigurationError
from llmneutral.profiles import FACT_NAMES, profile, register_profile


def test_later_layers_win_fact_by_fact() -> None:
    plain = profile("chat_completions")
    assert (plain.native_json_schema, plain.sources["native_json_schema"]) == (True, "endpoint:openai")
    deepseek = profile("chat_completions", "deepseek", "https://api.deepseek.com", "deepseek-v4")
    assert deepseek.sources["string_content_only"] == "endpoint:deepseek"
    assert deepseek.sources["reasoning_content"] == "model:deepseek"
    assert deepseek.sources["max_stop"] == "api:chat_completions"
    assert deepseek.sources["inline_think"] == "default"
    forced = profile("chat_completions", "deepseek", None, "deepseek-v4", {"string_content_only": False})
    assert (forced.string_content_only, forced.sources["string_content_only"]) == (False, "call")
    assert forced.reasoning_content == "required_on_tool_calls"


def test_every_fact_has_a_source() -> None:
    assert set(profile("anthropic_messages", model="claude-opus-4-8").sources) == {*FACT_NAMES}


def test_discovered_facts_stand_between_the_table_and_the_registry() -> None:
    undo = register_profile("my-model", {"max_output": 3})
    try:
        found = profile("chat_completions", model="my-model", discovered={"max_output": 2, "context_window": 2})
        assert (found.max_output, found.context_window) == (3, 2)
        assert found.sources["context_window"] == "discovered"
        assert found.sources["max_output"] == "registered:my-model"
        called = profile("chat_completions", model="my-model", facts={"max_output": 4}, discovered={"max_output": 2})
        assert called.max_output == 4
    finally:
        undo()
    with pytest.raises(ConfigurationError, match="discovered facts"):
        profile("chat_completions", discovered={"max_outputs": 2})


def test_the_last_registered_wins_and_can_be_taken_back() -> None:
    before = profile("chat_completions", model="acme/large-2")
    undo_first = register_profile("large-2", {"vision": False, "max_output": 1})
    undo_second = register_profile("large-*", {"max_output": 2})
    try:
        found = profile("chat_completions", model="acme/large-2")
        assert (found.vision, found.max_output) == (False, 2)
        assert profile("chat_completions", model="acme/large-22").max_output == 2
        assert profile("chat_completions", model="other") == profile("chat_completions", model="another")
        assert profile("chat_completions").max_output is None
    finally:
        undo_second()
        undo_first()
    assert profile("chat_completions", model="acme/large-2") == before
    undo_first()  # again: nothing happens


@pytest.mark.parametrize(
    ("pattern", "facts"), [("  ", {"vision": True}), ("m", {"visions": True}), ("m", {"vision": 1})]
)
def test_wrong_registrations_are_refused(pattern: str, facts: dict[str, object]) -> None:
    before = profile("chat_completions", model="m")
    with pytest.raises(ConfigurationError):
        register_profile(pattern, facts)
    assert profile("chat_completions", model="m") is before


def test_the_same_question_is_answered_once() -> None:
    assert profile("chat_completions", model="m") is profile("chat_completions", model="m")
    facts = {"rejects": ["temperature"], "reference_price": {"input": 1}}
    assert profile("chat_completions", model="m", facts=facts) is profile("chat_completions", model="m", facts=facts)
    facts["rejects"].append("top_p")  # type: ignore[attr-defined]
    assert profile("chat_completions", model="m", facts=facts).rejects == ("temperature", "top_p")


def test_without_provider_and_address_it_is_the_vendor_itself() -> None:
    assert profile("anthropic_messages").reasoning_replay == "native"
    assert profile("anthropic_messages") == profile("anthropic_messages", "anthropic")
    assert profile("chat_completions").max_tokens_field == "max_completion_tokens"
    assert profile("chat_completions", "custom").max_tokens_field == "max_tokens"
    assert profile("chat_completions", base_url="https://llm.acme.test/v1").max_tokens_field == "max_tokens"


def test_a_relay_is_not_the_vendor() -> None:
    relay = profile("anthropic_messages", "anthropic", "https://relay.acme.test/v1", "claude-opus-4-8")
    assert (relay.reasoning_replay, relay.api_version, relay.auth_header) == ("own_only", "2023-06-01", "both")
    assert relay.sampling is False
    official = profile("anthropic_messages", None, "https://api.anthropic.com", "claude-opus-4-8")
    assert (official.reasoning_replay, official.api_version, official.auth_header) == ("native", "2026-10-21", "bearer")
    look_alike = profile("anthropic_messages", None, "https://notanthropic.com.evil.test/anthropic", "claude-x")
    assert look_alike.reasoning_replay == "own_only"


def test_no_model_at_all_is_permissive() -> None:
    for api in ("chat_completions", "codex_responses", "anthropic_messages", "bedrock_converse"):
        facts = profile(api)
        assert (facts.sampling, facts.tools, facts.prefill, facts.rejects) == (True, True, None, ())
        assert facts.max_output is None


def test_an_api_of_a_third_party_takes_the_defaults() -> None:
    assert set(profile("my_api", model="m").sources.values()) == {"default"}


@pytest.mark.parametrize(
    ("model", "base_url", "facts", "expected"),
    [
        ("gpt-4-turbo", "https://api.openai.com/v1", None, "max_completion_tokens"),
        ("o3-mini", "https://llm.acme.test/v1", None, "max_completion_tokens"),
        ("gpt-4.1", "https://acme.openai.azure.com/openai/v1", None, "max_completion_tokens"),
        ("kimi-k2.6", "https://api.moonshot.ai/v1", None, "max_completion_tokens"),
        ("MiniMax-M3", "https://api.minimax.io/v1", None, "max_completion_tokens"),
        ("gpt-5.4", "https://api.githubcopilot.com", None, "max_completion_tokens"),
        ("qwen/qwen3-max", "https://openrouter.ai/api/v1", None, "max_tokens"),
        ("deepseek-v4", "https://api.deepseek.com", None, "max_tokens"),
        ("m", "https://llm.acme.test/v1", {"reasoning": True}, "max_completion_tokens"),
        ("m", "https://llm.acme.test/v1", {"reasoning": True, "max_tokens_field": "max_tokens"}, "max_tokens"),
    ],
)
def test_the_key_of_the_output_limit(model: str, base_url: str, facts: dict[str, object] | None, expected: str) -> None:
    assert profile("chat_completions", None, base_url, model, facts).max_tokens_field == expected
