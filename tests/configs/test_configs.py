"""Defaults and DriversConfig: two layers, nest-safe, thread- and task-safe, resolved at run time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from llmneutral import (
    AnthropicDriversConfig,
    ConfigurationError,
    Defaults,
    DriversConfig,
    LocalDriversConfig,
    OpenAiChatDriversConfig,
    OpenAiDriversConfig,
    drivers_config,
    key_variables,
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    told: list[str] = []
    monkeypatch.setattr(Defaults, "on_notice", told.append)
    Defaults.base = None  # type: ignore[assignment]  # None resets to lazy
    yield told
    Defaults.base = None  # type: ignore[assignment]


def test_nothing_configured_is_openai_where_a_key_is(monkeypatch: pytest.MonkeyPatch, fresh: list[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert Defaults.drivers_config == OpenAiDriversConfig()
    assert fresh == []


def test_nothing_configured_is_the_embedded_model_where_no_key_is(fresh: list[str]) -> None:
    assert Defaults.drivers_config == LocalDriversConfig()
    assert Defaults.drivers_config == LocalDriversConfig()
    assert len(fresh) == 1
    assert "no OPENAI_API_KEY" in fresh[0]


def test_the_environment_names_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMNEUTRAL_PROVIDER", "anthropic/claude-opus-5-5")
    assert Defaults.base == AnthropicDriversConfig("claude-opus-5-5")


def test_assignment_sets_the_base_and_none_resets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Defaults.drivers_config = AnthropicDriversConfig()
    assert Defaults.base.name == "anthropic"
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    Defaults.drivers_config = None  # type: ignore[assignment]
    assert Defaults.base.name == "openai"


def test_something_else_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes a DriversConfig, not a str"):
        Defaults.drivers_config = "anthropic"  # type: ignore[assignment]


def test_with_nests_and_leaves_the_base_alone() -> None:
    base, one, two = OpenAiChatDriversConfig(), AnthropicDriversConfig(), LocalDriversConfig()
    Defaults.drivers_config = base
    with one:
        assert Defaults.drivers_config is one
        with two, one:
            assert Defaults.drivers_config is one
            assert Defaults.base is base
        assert Defaults.drivers_config is one
    assert Defaults.drivers_config is base
    assert not Defaults.is_overridden


def test_the_base_set_inside_a_block_shows_after_it() -> None:
    inner, later = AnthropicDriversConfig(), LocalDriversConfig()
    with inner:
        Defaults.drivers_config = later
        assert Defaults.drivers_config is inner
    assert Defaults.drivers_config is later


def test_an_exception_inside_restores() -> None:
    Defaults.drivers_config = base = OpenAiChatDriversConfig()
    with pytest.raises(KeyError), AnthropicDriversConfig():
        raise KeyError
    assert Defaults.drivers_config is base


def test_blocks_left_in_the_wrong_order_are_told() -> None:
    one, two = AnthropicDriversConfig(), LocalDriversConfig()
    one.__enter__()
    two.__enter__()
    with pytest.raises(RuntimeError, match="wrong order: AnthropicDriversConfig"):
        one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    one.__exit__(None, None, None)


def test_threads_see_the_base_and_their_own_blocks() -> None:
    Defaults.drivers_config = base = OpenAiChatDriversConfig()
    shared = AnthropicDriversConfig()
    seen: list[DriversConfig] = []
    ready = threading.Barrier(2, timeout=10)

    def work() -> None:
        seen.append(Defaults.drivers_config)
        with shared:
            ready.wait()
            seen.append(Defaults.drivers_config)

    with shared:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert Defaults.drivers_config is shared
    assert sorted(config.name for config in seen) == ["anthropic", "anthropic", "openai-chat", "openai-chat"]
    assert Defaults.drivers_config is base


async def test_tasks_keep_their_own_blocks() -> None:
    one, two = AnthropicDriversConfig(), LocalDriversConfig()

    async def work(config: DriversConfig) -> str:
        async with config:
            await asyncio.sleep(0)
            return Defaults.drivers_config.name

    assert await asyncio.gather(work(one), work(two)) == ["anthropic", "local"]


def test_a_generator_suspended_inside_a_block_may_be_left_later() -> None:
    def steps() -> Iterator[str]:
        with AnthropicDriversConfig():
            yield Defaults.drivers_config.name

    found = steps()
    assert next(found) == "anthropic"
    found.close()
    assert not Defaults.is_overridden


def test_subscribers_hear_of_every_change() -> None:
    heard: list[str] = []
    Defaults.drivers_config = OpenAiChatDriversConfig()
    handle = Defaults.subscribe(lambda defaults: heard.append(defaults.drivers_config.name))
    Defaults.drivers_config = LocalDriversConfig()
    with AnthropicDriversConfig():
        pass
    handle.off()
    Defaults.drivers_config = OpenAiChatDriversConfig()
    assert heard == ["local", "anthropic", "local"]


def test_a_slot_nobody_fills_is_told_by_name() -> None:
    with pytest.raises(ConfigurationError, match="AnthropicDriversConfig has no embedding_driver"):
        _ = AnthropicDriversConfig().embedding_driver


def test_drivers_are_made_once_and_at_first_use() -> None:
    config = AnthropicDriversConfig()
    assert config.prompt_driver is config.prompt_driver
    assert config.prompt_driver.api_mode == "anthropic_messages"


def test_no_repr_holds_a_key() -> None:
    config = AnthropicDriversConfig(api_key="sk-ant-secret-value", temperature=0.5)
    shown = f"{config!r} {config.prompt_driver!r} {config.status()!r}"
    assert "secret" not in shown
    assert "key set" in shown
    assert config.status().key_set


def test_evolve_copies_and_equality_is_by_settings() -> None:
    config = AnthropicDriversConfig(temperature=0.5)
    other = config.evolve(temperature=0.2)
    assert other == AnthropicDriversConfig(temperature=0.2)
    assert config == AnthropicDriversConfig(temperature=0.5)
    assert config != other
    assert config != OpenAiDriversConfig()


def test_a_missing_key_is_told_before_the_network() -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY is not set"):
        AnthropicDriversConfig().prompt_driver.run("hi")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown provider 'anthropc'; known: openai, .*local-messages"):
        drivers_config("anthropc")


@pytest.mark.parametrize(
    ("name", "api", "model"),
    [
        ("openai", "codex_responses", "gpt-6-luna"),
        ("openai-chat/gpt-4o", "chat_completions", "gpt-4o"),
        ("Anthropic", "anthropic_messages", "claude-sonnet-5-5"),
        ("local", "chat_completions", "smollm2-135m-instruct"),
        ("local_responses", "codex_responses", "smollm2-135m-instruct"),
        ("local-messages", "anthropic_messages", "smollm2-135m-instruct"),
    ],
)
def test_short_names(name: str, api: str, model: str) -> None:
    config = drivers_config(name)
    assert (config.api_mode, config.model) == (api, model)
    assert config.name == name.lower().partition("/")[0].replace("_", "-")


def test_the_variables_of_keys_are_known() -> None:
    assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"} <= set(key_variables())
