"""Which transport speaks an API mode; how third parties add one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import msgspec
import pytest

import llmneutral
from llmneutral import ConfigurationError, ProviderTransport
from llmneutral.convert import registry
from llmneutral.convert.registry import get_transport, register_transport, registered
from llmneutral.transports import BUILT_IN

OWN = msgspec.structs.replace(get_transport("chat_completions"), api_mode="acme_chat")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = dict(registry._transports)
    yield
    registry._transports.clear()
    registry._transports.update(before)


def test_the_built_in_ones_come_first_and_are_made_once() -> None:
    assert registered()[: len(BUILT_IN)] == list(BUILT_IN)
    for mode in BUILT_IN:
        assert get_transport(mode).api_mode == mode
        assert get_transport(mode) is get_transport(mode)


def test_one_may_be_added() -> None:
    register_transport("acme_chat", OWN)
    assert get_transport("acme_chat") is OWN
    assert registered()[-1] == "acme_chat"


def test_or_what_makes_it() -> None:
    made = []

    def make() -> Any:
        made.append(OWN)
        return OWN

    register_transport("acme_chat", make)
    assert made == []
    assert get_transport("acme_chat") is get_transport("acme_chat") is OWN
    assert len(made) == 1


def test_the_last_one_stands() -> None:
    register_transport("chat_completions", OWN)
    assert get_transport("chat_completions") is OWN
    assert registered().count("chat_completions") == 1


@pytest.mark.parametrize("mode", ["acme_chat", "", "Chat"])
def test_an_unknown_one_is_told_with_the_known_ones(mode: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"no transport for the API mode '{mode}'; known: chat_completions, "
    ) as caught:
        get_transport(mode)
    assert isinstance(caught.value, ValueError)


def test_a_package_may_bring_one(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("acme_chat", f"{__name__}:OWN", registry.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: OWN)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.GROUP else [])
    assert registered()[-1] == "acme_chat"
    assert get_transport("acme_chat") is OWN


@pytest.mark.parametrize("mode", ["", "  ", None, 5])
def test_a_mode_has_a_name(mode: Any) -> None:
    with pytest.raises(ConfigurationError, match="the API mode of a transport is"):
        register_transport(mode, OWN)


@pytest.mark.parametrize("what", [5, None, "acme", {}, object()])
def test_what_is_no_transport_is_told_at_once(what: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"'acme_chat' is an? .*; give a Transport, or a class derived"):
        register_transport("acme_chat", what)
    assert "acme_chat" not in registered()


@pytest.mark.parametrize("what", [ProviderTransport, lambda needed: OWN])
def test_what_cannot_be_made_is_told_when_it_is_wanted(what: Any) -> None:
    register_transport("acme_chat", what)
    with pytest.raises(ConfigurationError, match=r"'acme_chat' cannot be made: .* Give an instance"):
        llmneutral.convert("q", "acme_chat")
    register_transport("acme_chat", lambda: 5)  # type: ignore[arg-type,return-value]
    with pytest.raises(ConfigurationError, match="'acme_chat' is an int"):
        llmneutral.convert("q", "acme_chat")


def test_what_is_registered_can_be_converted_for() -> None:
    register_transport("acme_chat", OWN)
    found = llmneutral.convert("q", "acme_chat")
    assert found.payload == {"messages": [{"role": "user", "content": "q"}]}
    assert found.api == "acme_chat"
    answer = {"choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]}
    assert llmneutral.normalize(answer, "acme_chat").text == "a"
    assert llmneutral.read_request(found.payload, "acme_chat").messages[0].to_text() == "q"
