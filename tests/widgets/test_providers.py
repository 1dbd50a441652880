"""From what is written behind `-p` to a driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.scrub import current_secrets


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Providers]:
    for name in llmneutral.key_variables():
        monkeypatch.delenv(name, raising=False)
    before = Defaults.drivers_config if Defaults.is_set else None
    Defaults.drivers_config = None
    made = Providers()
    yield made
    made.close()
    Defaults.drivers_config = before


def test_a_name_is_a_driver_that_is_kept(providers: Providers) -> None:
    asked = providers.asked("anthropic", None, {})
    assert (asked.name, asked.model) == ("anthropic", None)
    assert asked.told() == {"provider": "anthropic", "api": "anthropic_messages", "model": "claude-sonnet-5-5"}
    assert providers.asked("anthropic", None, {}).driver is asked.driver, "its connections are kept"


def test_asking_by_name_leaves_the_defaults_alone(providers: Providers) -> None:
    said: list[str] = []
    before, Defaults.on_notice = Defaults.on_notice, said.append
    try:
        providers.asked("anthropic", None, {})
        assert not Defaults.is_set
        assert said == []
        assert providers.asked(None, None, {}).name == "local"
        assert len(said) == 1
    finally:
        Defaults.on_notice = before


def test_another_model_of_the_same_driver(providers: Providers) -> None:
    plain = providers.asked("anthropic", None, {})
    for asked in (providers.asked("anthropic/claude-x", None, {}), providers.asked("anthropic", "claude-x", {})):
        assert asked.driver is plain.driver
        assert asked.overrides == {"model": "claude-x"}
        assert asked.told()["model"] == "claude-x"


def test_a_config_without_a_model_takes_the_one_that_is_named(providers: Providers) -> None:
    asked = providers.asked("ollama/llama-x", None, {})
    assert (asked.driver.model, asked.overrides) == ("llama-x", {})
    assert providers.config("azure/deployed").model == "deployed"


def test_a_config_of_the_users_takes_the_place_of_its_name(providers: Providers) -> None:
    mine = llmneutral.AnthropicDriversConfig(api_key="sk-ant-0123456789", model="claude-mine")
    Defaults.drivers_config = mine
    assert providers.config("anthropic") is mine
    Defaults.drivers_config = llmneutral.drivers_config("local")
    assert providers.asked("anthropic", None, {}).driver is mine.prompt_driver


def test_variables_hold_drivers_or_configs(providers: Providers) -> None:
    config = llmneutral.drivers_config("openai")
    names: dict[str, Any] = {"config": config, "driver": config.prompt_driver, "pair": [config], "five": 5}
    assert providers.asked("{{config}}", None, names).driver is config.prompt_driver
    assert providers.asked("{{driver}}", "m", names).overrides == {"model": "m"}
    assert providers.asked("{{pair[0]}}", None, names).name == "openai"
    with pytest.raises(OptionError, match=r"-p \{\{five\}\} is an int; it takes a driver or a DriversConfig"):
        providers.asked("{{five}}", None, names)


@pytest.mark.parametrize(
    ("written", "model", "told"),
    [
        ("nobody", None, "unknown provider nobody; known: "),
        ("antropic", None, "unknown provider antropic; did you mean anthropic"),
        ("anthropic/a", "b", "-p asks for the model a, -m for b"),
    ],
)
def test_mistakes(providers: Providers, written: str, model: str | None, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        providers.asked(written, model, {})


def test_a_typed_key_is_the_configs_and_a_secret(providers: Providers) -> None:
    Defaults.drivers_config = providers.config("anthropic")
    providers.set_key("anthropic", "typed-in-a-test-1")
    assert Defaults.base.status().key_set
    assert providers.config("anthropic") is Defaults.base
    assert current_secrets({}).text("typed-in-a-test-1") == "•••"
    assert "typed-in-a-test-1" not in repr([providers.rows(), Defaults.base, Defaults.base.prompt_driver])


def test_every_config_has_a_row(providers: Providers) -> None:
    providers.keep("fast", llmneutral.drivers_config("openai/gpt-x"))
    rows = providers.rows()
    assert [row["name"] for row in rows] == [*llmneutral.CONFIGS, "fast"]
    assert rows[-1]["model"] == "gpt-x"


def test_presets_are_what_the_table_says_now(providers: Providers) -> None:
    providers.keep("mine", llmneutral.drivers_config("openai"))
    providers.keep_presets({"fast": "openai/a", "slow": "anthropic"})
    assert providers.config("fast").model == "a"
    providers.keep_presets({"fast": "openai/b"})
    assert providers.config("fast").model == "b"
    assert "slow" not in providers.names()
    providers.keep_presets({})
    assert "fast" not in providers.names()
    assert "mine" in providers.names()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"local": "openai"}, "local is a provider already; choose another name"),
        ({"OpenAI": "anthropic"}, "OpenAI is a provider already"),
        ({"list": "openai"}, "list is a command of %provider; choose another name"),
        ({"key": "openai"}, "key is a command of %provider"),
        ({5: "openai"}, "5 is no name of a preset: it is one word"),
        ({"": "openai"}, "'' is no name of a preset"),
        ({"x/y": "openai"}, "x/y is no name of a preset"),
        ({"{{x}}": "openai"}, "{{x}} is no name of a preset"),
        ({"a b": "openai"}, "a b is no name of a preset"),
        ({"-x": "openai"}, "-x is no name of a preset"),
        ({"replay:x": "openai"}, "replay:x is no name of a preset"),
        ({"a": 5}, "a: it stands for NAME/MODEL as a text, not an int"),
        ({"a": "nobody"}, "a: unknown provider nobody"),
        ({"a": "openai/b k=v"}, "settings are given by %provider preset a openai/b k=v"),
    ],
)
def test_presets_that_could_not_be_asked_change_nothing(providers: Providers, table: dict[Any, Any], said: str) -> None:
    providers.keep_presets({"fast": "openai/a"})
    with pytest.raises(OptionError, match=re.escape(said)):
        providers.keep_presets({"slow": "anthropic", **table})
    assert "slow" not in providers.names()
    assert providers.config("fast").model == "a"


def test_a_key_stays_as_long_as_its_preset_is_the_same(providers: Providers) -> None:
    table = {"fast": "openai/a", "faster": "fast/b", "slow": "anthropic"}
    providers.keep_presets(table)
    providers.set_key("fast", "typed-in-a-test-2")
    for more in ({}, {"other": "openai"}, {"slow": "cohere"}):
        providers.keep_presets({**table, **more})
        assert has_key(providers) >= {"fast", "faster"}, more
    providers.keep_presets({**table, "fast": "openai/c"})
    assert not has_key(providers) & {"fast", "faster"}, "it asks another one now"
    assert providers.config("faster").model == "b"
    providers.set_key("fast", "typed-in-a-test-2")
    providers.keep_presets({})
    providers.keep_presets(table)
    assert not has_key(providers) & {"fast", "faster"}, "it was gone in between"


def has_key(providers: Providers) -> set[str]:
    return {row["name"] for row in providers.rows() if row["key_variable"] and row["key_set"]}


def test_a_typed_key_wins_over_the_environment_and_that_is_told(
    providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment-1")
    providers.keep("fast", providers.config("openai").evolve(model="x"), "openai/x")
    assert providers.own_key("openai") == (None, None)
    providers.set_key("openai", "typed-in-a-test-7")
    for name in ("openai", "fast"):
        assert providers.own_key(name) == ("typed", "OPENAI_API_KEY")
        assert providers.config(name).prompt_driver.api_key.read() == "typed-in-a-test-7"
    assert providers.own_key("openai-chat") == (None, None)
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment-2")
    assert providers.own_key("openai") == ("typed", "OPENAI_API_KEY")
    providers.forget_key("openai")
    for name in ("openai", "fast"):
        assert providers.own_key(name) == (None, None)
        assert providers.config(name).prompt_driver.api_key.read() == "of-the-environment-2"
    with pytest.raises(OptionError, match="no key was typed for openai"):
        providers.forget_key("openai")


def test_a_key_that_was_given_in_code_is_told_where_the_environment_has_one(
    providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    providers.keep("mine", llmneutral.OpenAiDriversConfig(api_key="given-in-a-test-8"))
    assert providers.own_key("mine") == (None, None), "it needs no word"
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment-3")
    assert providers.own_key("mine") == ("given in code", "OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    providers.set_key("openai", "typed-in-a-test-9")
    assert providers.own_key("openai") == ("typed", None)


def test_presets_have_the_key_of_whom_they_ask(providers: Providers) -> None:
    """An error says whose key is missing, which is the provider's: typed for that one, it must help."""
    providers.keep_presets({"fast": "openai/a"})
    providers.keep("mine", providers.config("openai/b"), "openai/b")
    providers.keep("own", providers.config("openai/c"), "openai/c")
    providers.set_key("own", "typed-in-a-test-3")
    own = providers.config("own")
    assert has_key(providers) == {"own"}
    providers.set_key("OpenAI/x", "typed-in-a-test-4")
    assert has_key(providers) == {"openai", "fast", "mine", "own"}
    assert providers.config("own") is own, "it has a key of its own"


def test_presets_that_name_each_other_have_one_key(providers: Providers) -> None:
    providers.keep("one", providers.config("openai"), "openai")
    providers.keep("two", providers.config("one"), "one")
    providers.keep("one", providers.config("two"), "two")
    providers.set_key("two", "typed-in-a-test-5")
    assert has_key(providers) == {"one", "two"}


def test_a_key_of_a_preset_that_is_in_effect_is_in_effect(providers: Providers) -> None:
    providers.keep_presets({"fast": "openai/a"})
    Defaults.drivers_config = providers.config("fast")
    providers.set_key("fast", "typed-in-a-test-6")
    assert Defaults.base is providers.config("fast")
    assert Defaults.base.status().key_set


def test_a_provider_has_one_name(providers: Providers) -> None:
    assert providers.config("OpenAI") is providers.config("openai")
    assert providers.names() == list(llmneutral.CONFIGS)


def test_files_of_recordings_are_no_names(providers: Providers) -> None:
    for written in ("replay:nowhere.jsonl", "replay:"):
        with pytest.raises((OptionError, llmneutral.ConfigurationError)):
            providers.asked(written, None, {})
    assert not [name for name in providers.names() if name.startswith("replay:")]


@pytest.mark.parametrize(("written", "said"), [("", "without a name; name one"), ("{{me}}/gpt", "is named by -m")])
def test_what_is_no_name_is_told(providers: Providers, written: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        providers.asked(written, None, {"me": llmneutral.drivers_config("openai")})


def test_several_names_in_one_option_are_told_apart(providers: Providers) -> None:
    with pytest.raises(OptionError, match=r"to ask several, repeat -p: -p openai -p anthropic$"):
        providers.config("openai,anthropic")


def test_a_driver_without_a_provider_is_named_by_its_api_or_by_the_class_of_the_user_s(providers: Providers) -> None:
    class Mine(llmneutral.OpenAiChatPromptDriver):
        pass

    for kind, name in ((llmneutral.OpenAiChatPromptDriver, "chat_completions"), (Mine, "Mine")):
        driver = kind("m", base_url="http://127.0.0.1:9/v1", api_key="given-in-a-test-10")
        if driver.provider is None:
            assert providers.asked("{{d}}", None, {"d": driver}).name == name
        else:
            raise AssertionError(driver.provider)
