"""Whose key goes where, and what is shown of it: nothing."""

from __future__ import annotations

import gc

import pytest

import llmneutral
from llmneutral import ConfigurationError, drivers_config
from llmneutral.drivers.keys import ADDRESSES, KEY_VARIABLES, ApiKey, address_of, is_local, key_variables_of
from llmneutral.profiles.hosts import find_endpoint
from llmneutral.resolve import resolve_api_mode


@pytest.mark.parametrize(
    ("provider", "base_url", "variables"),
    [
        ("openai", None, ("OPENAI_API_KEY",)),
        (None, "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
        ("deepseek", None, ("DEEPSEEK_API_KEY",)),
        (None, "https://api.deepseek.com/anthropic", ("DEEPSEEK_API_KEY",)),
        ("google", None, ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
        (None, "https://relay.test/v1", ("OWN",)),
        ("openai", "https://relay.test/v1", ("OWN",)),
        (None, "http://localhost:8000/v1", ()),
        (None, "http://192.168.0.7/v1", ()),
        ("ollama", None, ()),
        ("copilot", "https://api.githubcopilot.com", ()),
        ("acme", "https://llm.acme.test/v1", ()),
        (None, None, ("OWN",)),
    ],
)
def test_the_endpoint_decides_whose_key_is_looked_for(
    provider: str | None, base_url: str | None, variables: tuple[str, ...]
) -> None:
    assert key_variables_of(provider, base_url, "OWN") == variables


def test_a_driver_of_no_vendor_takes_no_key_of_a_vendor() -> None:
    assert key_variables_of(None, "https://relay.test/v1", None) == ()


def test_the_given_key_comes_first_then_the_variables_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    key = ApiKey(None, ("FIRST_API_KEY", "SECOND_API_KEY"))
    assert key.read() is None
    monkeypatch.setenv("SECOND_API_KEY", " two ")
    assert key.read() == "two"
    monkeypatch.setenv("FIRST_API_KEY", "one")
    assert key.read() == "one"
    assert ApiKey("given", key.variables).read() == "given"
    monkeypatch.setenv("FIRST_API_KEY", "  ")
    assert key.read() == "two"


@pytest.mark.parametrize("wrong", ["sk-one\nsk-two", "sk–dash", "sk-\x00zero"])
def test_a_key_that_cannot_be_one_is_told_and_not_shown(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("A_KEY", "k")
    with pytest.raises(ConfigurationError, match=r"the key \(A_KEY\) holds a sign") as caught:
        ApiKey(wrong, ("A_KEY",)).read()
    assert "sk" not in str(caught.value)
    assert str(ApiKey(wrong, ())) == "key set"
    assert ApiKey(" spaced \n", ()).read() == "spaced"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"X has no key: A_KEY or B_KEY is not set"):
        ApiKey(None, ("A_KEY", "B_KEY")).require("X", None)
    with pytest.raises(ConfigurationError, match=r"X has no key: give api_key="):
        ApiKey(None, ()).require("X", None)
    ApiKey("k", ()).require("X", None)


def test_a_key_shows_only_whether_it_is_there() -> None:
    assert f"{ApiKey('very-secret', ())} {ApiKey('very-secret', ())!r}" == "key set key set"
    assert str(ApiKey(None, ())) == "key not set"
    assert (ApiKey(None, ()).is_set, ApiKey("k", ()).is_set) == (False, True)


def test_a_driver_that_needs_no_key_says_nothing_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "key" not in repr(drivers_config("local").prompt_driver)
    assert "key not set" in repr(drivers_config("openai").prompt_driver)
    assert "key set" in repr(drivers_config("openai").evolve(api_key="k").prompt_driver)


@pytest.mark.parametrize(("endpoint", "api"), [(name, api) for name, apis in ADDRESSES.items() for api in apis])
def test_every_address_is_its_endpoints_own(endpoint: str, api: str) -> None:
    address = ADDRESSES[endpoint][api]
    assert is_local(address) or find_endpoint(None, address) == endpoint
    assert address.startswith("https://") or is_local(address)
    assert address_of(endpoint, api) == address
    if api == "anthropic_messages" and not is_local(address) and endpoint != "openrouter":
        assert resolve_api_mode(base_url=address).mode == api


def test_every_variable_belongs_to_an_endpoint() -> None:
    for endpoint, variables in KEY_VARIABLES.items():
        assert find_endpoint(endpoint, None) == endpoint
        assert variables
    assert address_of("nobody", "chat_completions") is None


def test_keys_that_were_given_are_known_while_their_drivers_are_there() -> None:
    driver = llmneutral.DummyPromptDriver(api_key=" given-in-code-for-this-test ")
    assert "given-in-code-for-this-test" in llmneutral.given_keys()
    del driver
    gc.collect()
    assert "given-in-code-for-this-test" not in llmneutral.given_keys()


def test_keys_of_the_environment_were_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "of-the-environment-here")
    key = ApiKey(None, ("SOME_KEY",))
    assert (key.read(), key.given) == ("of-the-environment-here", None)
    assert "of-the-environment-here" not in llmneutral.given_keys()
