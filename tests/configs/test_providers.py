"""The configs by name: each makes a driver that would go to the right place, with the right key or none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    CONFIGS,
    AzureOpenAiDriversConfig,
    ConfigurationError,
    LocalServerDriversConfig,
    OllamaDriversConfig,
    drivers_config,
    key_variables,
)
from llmneutral.configs import DummyDriversConfig
from tests.loopback import Loopback, talk

ROWS: list[tuple[str, str, str | None, str | None]] = [
    ("openai", "codex_responses", "gpt-6-luna", "https://api.openai.com/v1/"),
    ("openai-chat/gpt-4o", "chat_completions", "gpt-4o", "https://api.openai.com/v1/"),
    ("Anthropic", "anthropic_messages", "claude-sonnet-5-5", "https://api.anthropic.com"),
    ("deepseek", "chat_completions", "deepseek-v4-flash", "https://api.deepseek.com"),
    ("moonshot", "chat_completions", "kimi-k2.6", "https://api.moonshot.ai/v1/"),
    ("dashscope", "chat_completions", "qwen3.8-max", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/"),
    ("openrouter/a/b", "chat_completions", "a/b", "https://openrouter.ai/api/v1/"),
    ("groq/llama", "chat_completions", "llama", "https://api.groq.com/openai/v1/"),
    ("minimax", "anthropic_messages", "MiniMax-M3", "https://api.minimax.io/anthropic/"),
    ("kimi_coding", "anthropic_messages", "kimi-k2.6", "https://api.kimi.com/coding/"),
    ("xai", "codex_responses", "grok-4.3", "https://api.x.ai/v1/"),
    ("ollama/qwen3:8b", "chat_completions", "qwen3:8b", "http://localhost:11434/v1/"),
    ("server/m", "chat_completions", "m", "http://localhost:8000/v1/"),
]


@pytest.mark.parametrize(("name", "api", "model", "address"), ROWS)
def test_short_names(name: str, api: str, model: str, address: str) -> None:
    config = drivers_config(name, api_key="k")
    assert (config.api_mode, config.model) == (api, model)
    assert config.name == name.lower().partition("/")[0].replace("_", "-")
    driver: Any = config.prompt_driver
    assert (driver.api_mode, driver.model) == (api, model)
    assert str(driver.client().base_url).rstrip("/") == address.rstrip("/")
    driver.close()


@pytest.mark.parametrize(
    ("name", "api"),
    [
        ("local", "chat_completions"),
        ("local_responses", "codex_responses"),
        ("local-messages", "anthropic_messages"),
    ],
)
def test_the_embedded_model_has_three(name: str, api: str) -> None:
    config = drivers_config(name)
    assert (config.api_mode, config.model) == (api, "smollm2-135m-instruct")
    assert config.prompt_driver.api_mode == api
    assert config.status().key_variable is None


def test_every_name_makes_a_config_that_knows_its_status() -> None:
    for name in CONFIGS:
        status = drivers_config(name).status()
        assert status.name == name
        assert status.sdk


def test_a_model_may_be_given_either_way() -> None:
    assert drivers_config("anthropic", model="a") == drivers_config("anthropic/a")
    assert drivers_config("anthropic/a", model="b").model == "a"
    assert drivers_config("azure", model="d").model == "d"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown provider 'anthropc'; known: openai, .*local-messages"):
        drivers_config("anthropc")


def test_a_config_without_a_model_asks_for_one() -> None:
    with pytest.raises(ConfigurationError, match="GroqDriversConfig has no default model"):
        _ = drivers_config("groq").prompt_driver


def test_the_variables_of_keys_are_known() -> None:
    assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GROQ_API_KEY"} <= set(key_variables())


def test_azure_names_a_resource_and_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    config = drivers_config("azure/my-gpt", azure_endpoint="https://acme.openai.azure.com/", api_key="k")
    assert config.model == "my-gpt"
    driver: Any = config.prompt_driver
    assert str(driver.client().base_url) == "https://acme.openai.azure.com/openai/v1/"
    assert driver.key_headers(driver.client())["api-key"] == "k"
    assert AzureOpenAiDriversConfig().status().problem == (
        "no azure_endpoint: give azure_endpoint=… or set AZURE_OPENAI_ENDPOINT"
    )
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://acme.openai.azure.com")
    assert AzureOpenAiDriversConfig().status().problem == "no deployment: give deployment=…"
    with pytest.raises(ConfigurationError, match="needs azure_endpoint"):
        _ = AzureOpenAiDriversConfig().prompt_driver
    assert AzureOpenAiDriversConfig(deployment="d", api_key="k").status().ready


@pytest.mark.parametrize("make", [OllamaDriversConfig, LocalServerDriversConfig])
def test_a_server_of_ones_own_is_sent_no_vendors_key(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-vendor")
    with Loopback(talk("hello")) as server:
        driver = make("m", base_url=f"{server.url}/v1").prompt_driver
        with driver:
            assert driver.run("hi").text == "hello"
        with make("m", base_url=f"{server.url}/v1", api_key="own").prompt_driver as keyed:
            keyed.run("hi")
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer none", "Bearer own"]


def test_a_dummy_says_how_to_configure_something() -> None:
    driver = DummyDriversConfig().prompt_driver
    assert driver.preview("hi").payload["model"] == "none"
    with pytest.raises(ConfigurationError, match=r"no driver is configured.*LocalDriversConfig"):
        driver.run("hi")
    with pytest.raises(ConfigurationError, match="no driver is configured"):
        list(driver.stream("hi"))


def test_codex_has_a_default_model_and_needs_its_program() -> None:
    config = drivers_config("codex", command=["no-such-codex"])
    assert config.prompt_driver.api_mode == config.api_mode == "codex_app_server"
    assert (config.model, config.status().key_variable, config.status().ready) == (None, None, False)
    assert "npm install" in str(config.status().problem)
    assert drivers_config("codex/gpt-5", command=[sys.executable]).status().ready
    assert drivers_config("codex/gpt-5").prompt_driver.model == "gpt-5"


def test_bedrock_tells_of_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    assert drivers_config("bedrock").status().key_set is False
    assert drivers_config("bedrock").status().key_words == "AWS credentials"
    assert drivers_config("bedrock", api_key="k").status().key_set
    assert drivers_config("bedrock", session=object()).status().key_set
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
    assert drivers_config("bedrock").status().key_set
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "  ")
    assert not drivers_config("bedrock").status().key_set
    assert not drivers_config("google").status().key_set
    assert "AWS_BEARER_TOKEN_BEDROCK" in key_variables()


@pytest.mark.parametrize(("name", "meant"), [("claude", "anthropic"), ("gemini", "google"), ("converse", "bedrock")])
def test_the_name_of_an_api_leads_to_who_speaks_it(name: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"unknown provider '{name}'; known: .* Did you mean {meant}\?"):
        drivers_config(name)
