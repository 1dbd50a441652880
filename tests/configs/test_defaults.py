"""Defaults: two layers, nest-safe, thread- and task-safe, resolved at run time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import pytest

from llmneutral import (
    AnthropicDriversConfig,
    ConfigurationError,
    Defaults,
    LocalDriversConfig,
    OpenAiChatDriversConfig,
    OpenAiDriversConfig,
)
from llmneutral.configs import defaults


def in_effect() -> Any:
    return Defaults.drivers_config


# --- the base ---------------------------------------------------------------------------------------------------------


def test_nothing_configured_is_openai_where_a_key_is(monkeypatch: pytest.MonkeyPatch, fresh: list[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert in_effect() == OpenAiDriversConfig()
    assert fresh == []


def test_nothing_configured_is_the_embedded_model_where_no_key_is(
    monkeypatch: pytest.MonkeyPatch, fresh: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert not Defaults.is_set
    assert in_effect() == LocalDriversConfig()
    assert in_effect() == LocalDriversConfig()
    assert Defaults.is_set
    assert fresh == [
        "no OPENAI_API_KEY: answering with the embedded model; set a key or Defaults.drivers_config to change"
    ]


def test_the_notice_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    defaults._say("hello")
    assert capsys.readouterr() == ("", "llmneutral: hello\n")


@pytest.mark.parametrize("name", ["anthropic/claude-opus-5-5", " anthropic/claude-opus-5-5 "])
def test_the_environment_names_the_base(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LLMNEUTRAL_PROVIDER", name)
    assert Defaults.base == AnthropicDriversConfig("claude-opus-5-5")


def test_a_wrong_name_in_the_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMNEUTRAL_PROVIDER", "anthropc")
    with pytest.raises(ConfigurationError, match="unknown provider 'anthropc'"):
        in_effect()


def test_assignment_sets_the_base_and_none_resets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Defaults.drivers_config = AnthropicDriversConfig()
    assert Defaults.base.name == "anthropic"
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    Defaults.drivers_config = None
    assert Defaults.base.name == "openai"


def test_something_else_is_refused() -> None:
    wrong: Any = "anthropic"
    with pytest.raises(ConfigurationError, match=r"takes a DriversConfig, not a str; give a config such as Anthropic"):
        Defaults.drivers_config = wrong
    wrong = AnthropicDriversConfig
    with pytest.raises(ConfigurationError, match="not the class AnthropicDriversConfig; give"):
        Defaults.drivers_config = wrong


# --- with -------------------------------------------------------------------------------------------------------------


def test_with_nests_and_leaves_the_base_alone() -> None:
    base, one, two = OpenAiChatDriversConfig(), AnthropicDriversConfig(), LocalDriversConfig()
    Defaults.drivers_config = base
    with one:
        assert in_effect() is one
        with two, one:
            assert in_effect() is one
            assert Defaults.base is base
        assert in_effect() is one
    assert in_effect() is base
    assert not Defaults.is_overridden


def test_the_base_set_inside_a_block_shows_after_it() -> None:
    inner, later = AnthropicDriversConfig(), LocalDriversConfig()
    with inner:
        Defaults.drivers_config = later
        assert in_effect() is inner
    assert in_effect() is later


def test_an_exception_inside_restores() -> None:
    Defaults.drivers_config = base = OpenAiChatDriversConfig()
    with pytest.raises(KeyError), AnthropicDriversConfig():
        raise KeyError
    assert in_effect() is base


def test_blocks_left_in_the_wrong_order_are_told() -> None:
    one, two = AnthropicDriversConfig(), LocalDriversConfig()
    one.__enter__()
    two.__enter__()
    with pytest.raises(RuntimeError, match=r"wrong order: AnthropicDriversConfig.*LocalDriversConfig"):
        one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    one.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="wrong order"):
        one.__exit__(None, None, None)


def test_threads_see_the_base_and_their_own_blocks() -> None:
    Defaults.drivers_config = base = OpenAiChatDriversConfig()
    shared = AnthropicDriversConfig()
    seen: list[Any] = []
    ready = threading.Barrier(2, timeout=10)

    def work() -> None:
        seen.append(in_effect())
        with shared:
            ready.wait()
            seen.append(in_effect())

    with shared:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert in_effect() is shared
    assert sorted(config.name for config in seen) == ["anthropic", "anthropic", "openai-chat", "openai-chat"]
    assert in_effect() is base


async def test_tasks_keep_their_own_blocks() -> None:
    one, two = AnthropicDriversConfig(), LocalDriversConfig()

    async def work(config: Any) -> str:
        async with config:
            await asyncio.sleep(0)
            return str(in_effect().name)

    names = await asyncio.gather(work(one), work(two))
    assert list(names) == ["anthropic", "local"]


def test_a_generator_suspended_inside_a_block_may_be_left_later() -> None:
    def steps() -> Generator[str, None, None]:
        with AnthropicDriversConfig():
            yield in_effect().name

    found = steps()
    assert next(found) == "anthropic"
    found.close()
    assert not Defaults.is_overridden


# --- who is told ------------------------------------------------------------------------------------------------------


def test_subscribers_hear_of_every_change() -> None:
    heard: list[str] = []
    Defaults.drivers_config = OpenAiChatDriversConfig()
    handle = Defaults.subscribe(lambda told: heard.append(told.drivers_config.name))
    Defaults.drivers_config = LocalDriversConfig()
    with AnthropicDriversConfig():
        pass
    handle.off()
    Defaults.drivers_config = OpenAiChatDriversConfig()
    assert heard == ["local", "anthropic", "local"]


def test_a_subscriber_that_fails_changes_nothing() -> None:
    def broken(told: object) -> None:
        raise ValueError("boom")

    handle = Defaults.subscribe(broken)
    try:
        with pytest.warns(RuntimeWarning, match="boom"):
            Defaults.drivers_config = AnthropicDriversConfig()
        assert in_effect() == AnthropicDriversConfig()
    finally:
        handle.off()


def test_a_block_that_is_interrupted_at_its_beginning_is_not_entered() -> None:
    def interrupt(told: object) -> None:
        raise KeyboardInterrupt

    handle = Defaults.subscribe(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), AnthropicDriversConfig():
            pass
    finally:
        handle.off()
    assert not Defaults.is_overridden


def test_a_repr_says_what_is_in_effect() -> None:
    Defaults.drivers_config = OpenAiChatDriversConfig()
    assert repr(Defaults) == "<Defaults: OpenAiChatDriversConfig()>"
    with AnthropicDriversConfig():
        assert "inside `with`" in repr(Defaults)
