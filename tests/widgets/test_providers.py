"""From what is written behind `-p` to a driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.scrub import current_secrets


@pytest.fixture
def providers() -> Iterator[Providers]:
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
    for table, said in (({"local": "openai"}, "local is a provider already"), ({"a": 5}, "a: unknown provider 5")):
        with pytest.raises(OptionError, match=said):
            providers.keep_presets(table)


def test_files_of_recordings_are_no_names(providers: Providers) -> None:
    for written in ("replay:nowhere.jsonl", "replay:"):
        with pytest.raises((OptionError, llmneutral.ConfigurationError)):
            providers.asked(written, None, {})
    assert not [name for name in providers.names() if name.startswith("replay:")]


@pytest.mark.parametrize(("written", "said"), [("", "without a name; name one"), ("{{me}}/gpt", "is named by -m")])
def test_what_is_no_name_is_told(providers: Providers, written: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        providers.asked(written, None, {"me": llmneutral.drivers_config("openai")})
