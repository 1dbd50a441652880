"""Names of models come to one form, and patterns match whole segments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.profiles import matches, normalize_model


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-4-8", "claude-opus-4-8"),
        ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("Claude-Opus-4.8", "claude-opus-4-8"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("global.anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("anthropic.claude-3-haiku-20240307-v1:0:48k", "claude-3-haiku"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-6-v1:0", "claude-sonnet-4-6"),
        ("claude-3-5-sonnet@20240620", "claude-3-5-sonnet"),
        ("claude-sonnet-4-5@default", "claude-sonnet-4-5"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("openai/gpt-5.4", "gpt-5.4"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("ft:gpt-4o-2024-08-06:acme::id", "gpt-4o"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("meta-llama/llama-3.3-70b-instruct:free", "llama-3.3-70b-instruct"),
        ("meta.llama3-70b-instruct-v1:0", "llama3-70b-instruct"),
        ("us.deepseek.r1-v1:0", "deepseek-r1"),
        ("amazon.nova-pro-v1:0", "nova-pro"),
        ("qwen3:8b", "qwen3:8b"),
        ("qwen3:latest", "qwen3"),
        ("deepseek-v4", "deepseek-v4"),
        ("mistral-large-2411", "mistral-large-2411"),
        ("mistral-large-latest", "mistral-large"),
        ("accounts/fireworks/models/kimi-k2.6", "kimi-k2.6"),
        (" grok-4 ", "grok-4"),
    ],
)
def test_normal_form(model: str, expected: str) -> None:
    assert normalize_model(model) == expected


@given(st.text(st.sampled_from("abc-.:/@0123456789v"), max_size=30))
def test_the_normal_form_is_its_own(model: str) -> None:
    once = normalize_model(model)
    assert matches("*", once)
    assert "/" not in once


@pytest.mark.parametrize(
    ("pattern", "model", "fits"),
    [
        ("opus-4-8", "claude-opus-4-8", True),
        ("opus-4-8", "claude-opus-4-80", False),
        ("opus-4", "claude-opus-4-8", False),
        ("opus-4", "claude-opus-4", True),
        ("claude-opus-4", "claude-opus-4-20250514", True),
        ("gpt-5", "gpt-5-mini", True),
        ("gpt-5", "gpt-5.4", False),
        ("gpt-5", "gpt-55", False),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4", "gpt-4-turbo", True),
        ("qwen3", "qwen3-235b-a22b", True),
        ("qwen3", "qwen3:8b", True),
        ("qwen3", "qwen3.5", False),
        ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", True),
        ("gemini-2.5-flash", "gemini-2.5-flash-001", True),
        ("mistral-*-24*", "mistral-large-2411", True),
        ("mistral-*-24*", "mistral-large-2512", False),
        ("o3", "o3-mini", True),
        ("o3", "foo3", False),
        ("OPUS-4.8", "claude-opus-4-8", False),
        ("Claude-Opus-4.8", "claude-opus-4-8", True),
        ("anthropic/claude-opus-4.8", "claude-opus-4-8", True),
        ("*", "anything", True),
        ("acme-*", "acme-large", True),
        ("a.c", "abc", False),
    ],
)
def test_patterns(pattern: str, model: str, fits: bool) -> None:
    assert matches(pattern, normalize_model(model)) is fits
