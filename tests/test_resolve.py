"""Which protocol is spoken: every row of the decision table, every warning, every name."""

from __future__ import annotations

import itertools
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import resolve
from llmneutral.errors import ConfigurationError, LLMNeutralError
from llmneutral.resolve import (
    API_MODE_ALIASES,
    API_MODES,
    ApiModeDecision,
    canonical_api_mode,
    host_mandated_api_mode,
    needs_responses,
    resolve_api_mode,
)

CHAT, RESPONSES, MESSAGES = "chat_completions", "codex_responses", "anthropic_messages"
GOOGLE = "https://generativelanguage.googleapis.com"
NOUS = "https://inference-api.nousresearch.com/v1"
COPILOT = "https://api.githubcopilot.com"
OPENROUTER = "https://openrouter.ai/api/v1"

# provider, base_url, model, api_mode -> mode, rule, is there a warning
DECISIONS: list[tuple[str | None, str | None, str | None, str | None, str, str, bool]] = [
    ("anthropic", None, "claude-sonnet-5-5", None, MESSAGES, "provider:anthropic", False),
    (None, "https://api.anthropic.com", "claude-opus-4-8", None, MESSAGES, "host:anthropic", False),
    ("anthropic", "https://relay.acme.test/v1", "claude-opus-4-8", None, MESSAGES, "provider:anthropic", False),
    ("minimax", "https://api.minimax.io/anthropic", "MiniMax-M3", None, MESSAGES, "suffix:anthropic", False),
    (None, "https://dashscope.aliyuncs.com/apps/Anthropic/", "qwen3-max", None, MESSAGES, "suffix:anthropic", False),
    (
        None,
        "https://bedrock-mantle.us-east-1.api.aws/anthropic/v1",
        "anthropic.claude-x",
        None,
        MESSAGES,
        "suffix:anthropic",
        False,
    ),
    ("custom", "https://gw.acme.test/anthropic/proxy", "claude-x", None, CHAT, "default", False),
    (None, "https://api.anthropic.com.evil.test/v1", "claude-x", None, CHAT, "default", True),
    (None, "https://notapi.openai.com/v1", "m", None, CHAT, "default", True),
    (None, "https://proxy.acme.test/api.openai.com/v1", "gpt-4o", None, CHAT, "default", False),
    (None, "https://user:pw@api.anthropic.com./", "claude-x", None, MESSAGES, "host:anthropic", True),
    ("openai-codex", None, "gpt-5.3-codex", None, RESPONSES, "provider:openai-codex", False),
    (None, "https://chatgpt.com/backend-api/codex", "gpt-5.4", None, RESPONSES, "host:codex-backend", False),
    ("xai", None, "grok-4", None, RESPONSES, "provider:xai", False),
    (None, "https://API.X.AI/v1", "grok-4", None, RESPONSES, "host:xai", False),
    ("bedrock", None, "anthropic.claude-sonnet-4-6-v1:0", None, "bedrock_converse", "provider:bedrock", False),
    (
        None,
        "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "amazon.nova-pro",
        None,
        "bedrock_converse",
        "host:bedrock",
        False,
    ),
    (
        None,
        "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1",
        "openai.gpt-oss-120b",
        None,
        CHAT,
        "suffix:openai",
        False,
    ),
    (None, "https://bedrock-runtime.eu-west-1.evil.test", "x", None, CHAT, "default", True),
    (
        "anthropic",
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        "anthropic.claude-x",
        None,
        MESSAGES,
        "provider:anthropic",
        True,
    ),
    ("gemini", None, "gemini-3.8-flash", None, "gemini_native", "provider:gemini", False),
    ("gemini", f"{GOOGLE}/v1beta", "gemini-3-pro", None, "gemini_native", "provider:gemini", False),
    ("gemini", f"{GOOGLE}/v1beta/openai", "gemini-3-pro", None, CHAT, "suffix:openai", False),
    (None, GOOGLE, "gemini-3-pro", None, "gemini_native", "host:gemini", False),
    (
        "vertex",
        "https://europe-west1-aiplatform.googleapis.com",
        "gemini-3-pro",
        None,
        "gemini_native",
        "provider:vertex",
        False,
    ),
    ("cohere", None, "command-a-plus-05-2026", None, "cohere_chat", "provider:cohere", False),
    (None, "https://api.cohere.ai/compatibility/v1", "command-a-03-2025", None, CHAT, "suffix:openai", False),
    ("mistral", None, "mistral-large-latest", None, "mistral_chat", "provider:mistral", False),
    (None, "https://api.mistral.ai/v1", "magistral-medium-latest", None, "mistral_chat", "host:mistral", False),
    ("openai", None, "gpt-6.1-sol", None, RESPONSES, "mandate:host", False),
    ("openai", None, "gpt-4.1", None, RESPONSES, "mandate:host", False),
    ("custom", "https://api.openai.com/v1", "gpt-4o", None, RESPONSES, "mandate:host", False),
    (None, "https://eu.api.openai.com:443/v1", "gpt-4.1", None, RESPONSES, "mandate:host", False),
    (None, "https://acme.openai.azure.com/openai/v1", "gpt-5.4", None, CHAT, "default", True),
    ("openrouter", OPENROUTER, "anthropic/claude-opus-4.6", None, CHAT, "default", False),
    ("openrouter", OPENROUTER, "openai/gpt-5.4", None, RESPONSES, "model:responses", False),
    ("openrouter", OPENROUTER, "openai/gpt-5.4", CHAT, CHAT, "explicit", True),
    (None, OPENROUTER, "anthropic/claude-opus-4.6", MESSAGES, MESSAGES, "explicit", False),
    ("nous", NOUS, "anthropic/claude-sonnet-4.6", None, MESSAGES, "provider:nous", False),
    ("nous", NOUS, "openai/gpt-5.4", None, CHAT, "provider:nous", False),
    ("custom", "https://llm.acme.test/v1", "gpt-5.4", None, CHAT, "default", False),
    ("copilot", COPILOT, "gpt-5.4", None, RESPONSES, "model:responses", False),
    ("copilot", COPILOT, "gpt-5-mini", None, CHAT, "default", False),
    ("copilot", COPILOT, "claude-sonnet-4.6", None, CHAT, "default", False),
    ("copilot-acp", "acp://copilot", "gpt-5.4", None, CHAT, "default", False),
    ("kimi-coding", "https://api.kimi.com/coding", "kimi-k2.6", None, MESSAGES, "mandate:host", False),
    ("kimi-coding", "https://api.moonshot.ai/v1", "kimi-k2.6", None, CHAT, "default", False),
    ("meta", "https://api.meta.ai/v1", "muse-1", None, RESPONSES, "mandate:host", False),
    ("meta", "https://llama.acme.test/v1", "llama-4", None, CHAT, "default", False),
    ("deepseek", "https://api.deepseek.com", "deepseek-v4-pro", None, CHAT, "default", False),
    ("deepseek", "https://api.deepseek.com/anthropic", "deepseek-v4-pro", None, MESSAGES, "suffix:anthropic", False),
    (None, None, "gpt-5.4", None, RESPONSES, "model:responses", False),
    (None, None, "llama-3.3-70b", None, CHAT, "default", False),
    ("ollama", "http://localhost:11434/v1", "qwen3:8b", None, CHAT, "default", False),
    ("anthropic", "https://api.anthropic.com", "claude-opus-4-8", CHAT, CHAT, "explicit", True),
    # Beside the table: what its notes say.
    (None, None, None, None, CHAT, "default", False),
    ("  ", "", " ", " ", CHAT, "default", False),
    ("GOOGLE_GENAI", None, "gemini-3-pro", None, "gemini_native", "provider:gemini", False),
    ("xai_oauth", None, "grok-4", None, RESPONSES, "provider:xai", False),
    ("grok", None, "grok-4", None, RESPONSES, "provider:xai", False),
    ("vertex", None, "gemini-3-pro", None, "gemini_native", "provider:vertex", False),
    (
        "vertex",
        "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi",
        "google/gemini-3-pro",
        None,
        CHAT,
        "suffix:openai",
        False,
    ),
    ("bedrock", "https://gw.acme.test/openai/v1", "openai.gpt-oss-20b", None, CHAT, "suffix:openai", False),
    ("custom", "https://gw.acme.test/openai/v1", "m", None, CHAT, "default", False),
    ("custom", GOOGLE, "gemini-3-pro", None, "gemini_native", "mandate:host", False),
    ("openai", "https://llm.acme.test/v1", "gpt-5.4", None, CHAT, "default", False),
    (None, "https://api.kimi.com/codingx", "kimi-k2.6", None, CHAT, "default", False),
    (None, COPILOT, "openai/gpt-5.4", None, RESPONSES, "model:responses", False),
    ("copilot-acp", None, "gpt-5.4", None, CHAT, "default", False),
    (None, "acp+tcp://127.0.0.1:7000", "gpt-5.4", None, CHAT, "default", False),
    (None, "https://codestral.mistral.ai/v1", "codestral-latest", None, "mistral_chat", "host:mistral", False),
    ("deepseek", "http://[::1", "deepseek-v4", None, CHAT, "default", True),
    ("openai", "https://api.openai.com/v1", "gpt-4.1", "openai-chat", CHAT, "explicit", True),
    (None, None, None, "Codex-App-Server", "codex_app_server", "explicit", False),
]


@pytest.mark.parametrize(("provider", "base_url", "model", "api_mode", "mode", "rule", "warned"), DECISIONS)
def test_decisions(
    provider: str | None,
    base_url: str | None,
    model: str | None,
    api_mode: str | None,
    mode: str,
    rule: str,
    warned: bool,
) -> None:
    decision = resolve_api_mode(provider=provider, base_url=base_url, model=model, api_mode=api_mode)
    assert (decision.mode, decision.rule, bool(decision.warnings)) == (mode, rule, warned), decision


@pytest.mark.parametrize(
    ("provider", "base_url", "expected"),
    [
        (None, "https://api.anthropic.com", "anthropic"),
        (None, "https://chatgpt.com/backend-api/codex", "openai-codex"),
        (None, "https://api.x.ai/v1", "xai"),
        (None, GOOGLE, "gemini"),
        (None, "https://api.cohere.com", "cohere"),
        (None, "https://api.mistral.ai", "mistral"),
        (None, "https://bedrock-runtime.eu-west-1.amazonaws.com", "bedrock"),
        (None, "https://llm.acme.test", None),
        ("Google", None, "gemini"),
        ("custom", "https://api.anthropic.com", "custom"),
        ("nous_portal", None, "nous-portal"),
    ],
)
def test_the_provider_is_told(provider: str | None, base_url: str | None, expected: str | None) -> None:
    assert resolve_api_mode(provider=provider, base_url=base_url).provider == expected


# ----------------------------------------------------------------------------------------------------------------------
# Names


def test_the_modes_are_those_of_the_contract() -> None:
    assert API_MODES == (
        "chat_completions",
        "codex_responses",
        "anthropic_messages",
        "bedrock_converse",
        "gemini_native",
        "cohere_chat",
        "mistral_chat",
        "codex_app_server",
    )


@pytest.mark.parametrize(
    ("alias", "mode"),
    [
        *((name, CHAT) for name in ("chat", "openai", "openai_chat", "openai-chat")),
        *((name, RESPONSES) for name in ("responses", "codex", "openai_responses")),
        *((name, MESSAGES) for name in ("anthropic", "claude", "messages")),
        *((name, "bedrock_converse") for name in ("bedrock", "converse")),
        *((name, "gemini_native") for name in ("gemini", "google", "generate_content", " Generate-Content ")),
        ("cohere", "cohere_chat"),
        ("mistral", "mistral_chat"),
        *((name, "codex_app_server") for name in ("codex-app-server", "app_server")),
    ],
)
def test_aliases(alias: str, mode: str) -> None:
    assert canonical_api_mode(alias) == mode
    assert resolve_api_mode(api_mode=alias.upper()).mode == mode


def test_a_name_is_its_own_and_no_alias_hides_a_mode() -> None:
    assert [canonical_api_mode(mode) for mode in API_MODES] == [*API_MODES]
    assert set(API_MODE_ALIASES.values()) <= {*API_MODES}
    assert not {*API_MODE_ALIASES} & {*API_MODES}


@pytest.mark.parametrize("name", ["responses_v2", "nonsense", "chat completions", ""])
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        canonical_api_mode(name)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LLMNeutralError)
    assert all(mode in str(caught.value) for mode in API_MODES)
    if name:
        with pytest.raises(ValueError, match="unknown API mode"):
            resolve_api_mode(provider="openai", base_url="https://api.openai.com/v1", model="gpt-5.4", api_mode=name)


# ----------------------------------------------------------------------------------------------------------------------
# What a host forces


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("https://api.kimi.com/coding", MESSAGES),
        ("https://api.kimi.com/coding/v1", MESSAGES),
        ("https://api.kimi.com/codings", None),
        ("https://api.kimi.com", None),
        ("https://api.anthropic.com/v1", MESSAGES),
        ("https://gw.acme.test/anthropic", MESSAGES),
        ("https://gw.acme.test/anthropic/v1/", MESSAGES),
        ("https://gw.acme.test/anthropic/v2", None),
        ("https://api.openai.com/v1", RESPONSES),
        ("https://eu.api.openai.com", RESPONSES),
        ("https://api.meta.ai", RESPONSES),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "bedrock_converse"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "bedrock_converse"),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "bedrock_converse"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", None),
        ("https://bedrock.us-east-1.amazonaws.com", None),
        ("https://bedrock-runtime.amazonaws.com.evil.test", None),
        (f"{GOOGLE}/v1beta", "gemini_native"),
        (f"{GOOGLE}/v1beta/openai/", None),
        ("https://notapi.openai.com", None),
        ("https://openrouter.ai/api/v1", None),
        ("http://[::1", None),
        ("", None),
        (None, None),
    ],
)
def test_mandates(url: str | None, mode: str | None) -> None:
    assert host_mandated_api_mode(url) == mode


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        ("gpt-5", True),
        ("openai/GPT-5.4-mini", True),
        ("gpt-12-x", True),
        ("codex-mini-latest", True),
        ("o1-pro", True),
        ("o3-pro-2025-06-10", True),
        ("o3", False),
        ("gpt-4o", False),
        ("gpt-4.1", False),
        ("gpt-5o", False),
        ("gpt-oss-120b", False),
        ("my-gpt-5", False),
        ("", False),
    ],
)
def test_models_that_need_responses(model: str, needed: bool) -> None:
    assert needs_responses(model) is needed


# ----------------------------------------------------------------------------------------------------------------------
# Warnings


def _warnings(**arguments: str) -> str:
    return " | ".join(resolve_api_mode(**arguments).warnings)


def test_a_host_that_would_have_decided_otherwise() -> None:
    told = _warnings(provider="anthropic", base_url="https://bedrock-runtime.us-east-1.amazonaws.com")
    assert all(word in told for word in ("provider:anthropic", "bedrock_converse", "api_mode='bedrock_converse'"))
    assert "suggests" in _warnings(base_url="https://gw.acme.test/anthropic", api_mode="chat")
    assert "gemini_native" in _warnings(base_url=GOOGLE, api_mode="chat")
    assert "mistral_chat" in _warnings(provider="custom", base_url="https://api.mistral.ai/v1")
    assert _warnings(base_url="https://gw.acme.test/anthropic", api_mode="claude") == ""


@pytest.mark.parametrize(
    ("model", "base_url", "maker"),
    [
        ("claude-opus-4-8", "https://api.openai.com/v1", "Anthropic"),
        ("gpt-5.4", "https://api.anthropic.com", "OpenAI"),
        ("o3", "https://api.mistral.ai", "OpenAI"),
        ("gemini-3-pro", "https://api.x.ai/v1", "Google"),
        ("grok-4", "https://api.cohere.com", "xAI"),
    ],
)
def test_a_model_of_another_vendor(model: str, base_url: str, maker: str) -> None:
    told = _warnings(base_url=base_url, model=model)
    assert "likely the wrong endpoint" in told
    assert maker in told


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("gpt-oss-120b", "https://api.mistral.ai"),
        ("claude-opus-4-8", "https://openrouter.ai/api/v1"),
        ("claude-opus-4-8", "https://europe-west1-aiplatform.googleapis.com"),
        ("my-own", "https://api.openai.com/v1"),
    ],
)
def test_models_that_may_well_be_there(model: str, base_url: str) -> None:
    assert "wrong endpoint" not in _warnings(base_url=base_url, model=model)


def test_tools_that_chat_would_refuse() -> None:
    told = _warnings(base_url="https://api.openai.com/v1", model="gpt-6-astra", api_mode="chat")
    assert "codex_responses" in told
    assert "tools" in told
    assert "tools" in _warnings(base_url="https://llm.acme.test/v1", model="gpt-5.6-sol")
    assert "tools" in _warnings(model="gpt-5.4", api_mode="chat")
    assert _warnings(base_url="https://llm.acme.test/v1", model="gpt-5.4") == ""


@pytest.mark.parametrize(
    "host",
    ["api.anthropic.com.evil.test", "notapi.openai.com", "api.x.ai.test", "bedrock-runtime.us-east-1.evil.test"],
)
def test_look_alikes(host: str) -> None:
    assert "looks like" in _warnings(base_url=f"https://{host}/v1")


def test_keys_that_would_travel_in_the_open() -> None:
    assert "unencrypted" in _warnings(base_url="http://api.deepseek.com")
    assert "unencrypted" in _warnings(base_url="http://8.8.8.8/v1")
    for private in ("http://localhost:8000/v1", "http://127.0.0.1", "http://10.0.0.2", "http://gpu-box:8000"):
        assert _warnings(base_url=private) == ""
    assert _warnings(base_url="https://api.deepseek.com") == ""


def test_addresses_that_are_not_used_as_they_stand() -> None:
    assert "cannot be read" in _warnings(base_url="http://[::1")
    told = _warnings(base_url="https://user:s3cret@llm.acme.test/v1")
    assert "credentials" in told
    assert "s3cret" not in told


def test_a_decision_is_a_value_with_a_list_of_its_own() -> None:
    first, second = resolve_api_mode(model="m"), resolve_api_mode(model="m")
    assert first == second == ApiModeDecision("chat_completions", None, "default")
    assert first.warnings is not second.warnings
    with pytest.raises(AttributeError):
        first.mode = "x"  # type: ignore[misc]


# ----------------------------------------------------------------------------------------------------------------------
# Laws


PROVIDERS = [None, "openai", "anthropic", "xai", "gemini", "bedrock", "cohere", "mistral", "openrouter", "custom"]
URLS = [None, "https://api.openai.com/v1", "https://api.x.ai", GOOGLE, "https://gw.acme.test/anthropic", "not a url"]


@pytest.mark.parametrize(("provider", "base_url"), [*itertools.product(PROVIDERS, URLS)])
def test_an_explicit_mode_is_never_changed(provider: str | None, base_url: str | None) -> None:
    for mode in API_MODES:
        decision = resolve_api_mode(provider=provider, base_url=base_url, model="gpt-5.4", api_mode=mode)
        assert (decision.mode, decision.rule) == (mode, "explicit")


@given(st.none() | st.text(max_size=20), st.none() | st.text(max_size=40), st.none() | st.text(max_size=20))
def test_every_question_has_an_answer(provider: str | None, base_url: str | None, model: str | None) -> None:
    decision = resolve_api_mode(provider=provider, base_url=base_url, model=model)
    assert decision.mode in API_MODES
    first = decision.rule.partition(":")[0]
    assert first in ("provider", "host", "suffix", "mandate", "model", "default")


def test_the_cases(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(shared / "cases"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    judge = pytest.importorskip("evaluate")
    face = types.SimpleNamespace(resolve_api_mode=resolve.resolve_api_mode, LLMNeutralError=LLMNeutralError)
    cases = [case for case in judge.load(shared / "cases") if case.kind == "api_mode"]
    assert len(cases) > 30
    assert [f"{case.id}: {found}" for case in cases if (found := judge.check(case, face))] == []
