"""DriversConfig: drivers made at their first use, settings that can be copied, and nothing secret shown."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from llmneutral import (
    AnthropicDriversConfig,
    BasePromptDriver,
    ConfigurationError,
    DriversConfig,
    LocalDriversConfig,
    OpenAiDriversConfig,
    drivers_config,
)
from tests.drivers.scripted import Scripted, whole


def test_drivers_are_made_once_and_at_first_use() -> None:
    config = AnthropicDriversConfig()
    found: list[BasePromptDriver] = []
    threads = [threading.Thread(target=lambda: found.append(config.prompt_driver)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 4
    assert all(driver is config.prompt_driver for driver in found)
    assert config.prompt_driver.api_mode == "anthropic_messages"


def test_a_slot_nobody_fills_is_told_by_name() -> None:
    with pytest.raises(ConfigurationError, match="AnthropicDriversConfig has no embedding_driver: anthropic offers"):
        _ = AnthropicDriversConfig().embedding_driver
    with pytest.raises(AttributeError, match="no attribute 'no_such_driver'"):
        _ = AnthropicDriversConfig().no_such_driver


def test_drivers_that_are_made_already_are_taken() -> None:
    driver, other = Scripted(whole()), object()
    config = DriversConfig(prompt_driver=driver, embedding_driver=other)
    assert config.prompt_driver is driver
    assert config.embedding_driver is other
    assert (config.api_mode, config.model, config.name) == ("chat_completions", "m", "custom")
    assert AnthropicDriversConfig(embedding_driver=other).embedding_driver is other
    with pytest.raises(ConfigurationError, match="give prompt_driver"):
        _ = DriversConfig(model="m").prompt_driver
    with pytest.raises(ConfigurationError, match="vector_store_driver"):
        _ = config.vector_store_driver


def test_settings_and_options_reach_the_driver() -> None:
    driver = AnthropicDriversConfig("m", temperature=0.5, max_attempts=7, facts={"prefill": False}).prompt_driver
    assert driver.settings == {"temperature": 0.5}
    assert driver.options.max_attempts == 7
    assert driver.facts == {"prefill": False}
    assert driver.model == "m"


def test_a_wrong_setting_is_told_when_the_driver_is_made() -> None:
    with pytest.raises(ConfigurationError, match="unknown setting 'temprature'"):
        _ = AnthropicDriversConfig(temprature=1).prompt_driver


SECRETS: list[dict[str, Any]] = [
    {"api_key": "plain-secret-value"},
    {"base_url": "https://user:plain-secret-value@relay.test/v1"},
    {"headers": {"X-Team": "plain-secret-value"}},
]


@pytest.mark.parametrize("options", SECRETS)
def test_no_repr_holds_a_secret(options: dict[str, Any]) -> None:
    config = AnthropicDriversConfig(temperature=0.5, **options)
    shown = f"{config!r} {config.prompt_driver!r} {config.status()!r}"
    assert "secret" not in shown
    assert "temperature=0.5" in shown


def test_evolve_copies_and_equality_is_by_settings() -> None:
    config = AnthropicDriversConfig(temperature=0.5)
    other = config.evolve(temperature=0.2)
    assert other == AnthropicDriversConfig(temperature=0.2)
    assert config == AnthropicDriversConfig(temperature=0.5)
    assert config != other
    assert config != OpenAiDriversConfig()
    assert config.evolve(temperature=None) == AnthropicDriversConfig()
    assert len({config, AnthropicDriversConfig(temperature=0.5)}) == 1


def test_a_missing_key_is_told_before_the_network() -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY is not set"):
        AnthropicDriversConfig().prompt_driver.run("hi")


def test_a_status_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    status = AnthropicDriversConfig().status()
    assert (status.key_variable, status.key_set, status.ready, status.sdk_installed) == (
        "ANTHROPIC_API_KEY",
        False,
        False,
        True,
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", " \n")
    assert not AnthropicDriversConfig().status().key_set, "blanks are no key"
    assert not AnthropicDriversConfig(api_key="  ").status().key_set
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert AnthropicDriversConfig().status().ready
    assert AnthropicDriversConfig(api_key="k").status().ready
    nameless = drivers_config("groq", api_key="k").status()
    assert not nameless.ready
    assert nameless.problem == "no model: give model=…"


def test_another_api_mode_takes_another_driver() -> None:
    config = OpenAiDriversConfig("m", api_mode="chat")
    assert config.api_mode == "chat_completions"
    assert type(config.prompt_driver).__name__ == "OpenAiChatPromptDriver"
    deepseek = drivers_config("deepseek", api_mode="anthropic_messages", api_key="k").prompt_driver
    assert type(deepseek).__name__ == "AnthropicPromptDriver"
    assert str(deepseek.client().base_url).rstrip("/") == "https://api.deepseek.com/anthropic"  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="unknown API mode"):
        OpenAiDriversConfig(api_mode="chatt")
    with pytest.raises(ConfigurationError, match="has no driver for codex_app_server"):
        _ = OpenAiDriversConfig(api_mode="codex_app_server").prompt_driver


def test_the_protocols_of_the_embedded_model_have_names() -> None:
    assert LocalDriversConfig(api_mode="messages").name == "local-messages"
    assert LocalDriversConfig(api_mode="responses").prompt_driver.api_mode == "codex_responses"
