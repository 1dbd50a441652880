"""The same conversation for several APIs: whom a column stands for, what was changed, what the official SDKs say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import llmneutral
from llmneutral.validation import judges
from llmneutral_widgets import comparing
from llmneutral_widgets.bundles import Verdict
from llmneutral_widgets.comparing import compared, verdicts
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.providers import Providers
from tests.widgets.samples import conversions, stack


def html(found: dict[str, Any]) -> str:
    return str(compared(found, stack()).data["text/html"])


def test_payloads_are_valid_and_say_by_whom() -> None:
    said = verdicts(conversions())
    assert said["chat_completions"] == Verdict(f"{llmneutral.validator('chat').judge} types", [])
    assert said["anthropic_messages"].checked == f"{llmneutral.validator('claude').judge} types"
    for verdict in said.values():
        assert f">valid ({verdict.checked})</b>" in html(conversions())


def test_problems_are_listed_and_marked() -> None:
    found = conversions()
    made = found["chat_completions"]
    payload = {**made.payload, "temperature": "hot", "max_tokenz": 5}
    found["chat_completions"] = msgspec.structs.replace(made, payload=payload)
    shown = html(found)
    assert ">2 problems</b>" in shown
    assert "<code>temperature</code> must be a number or null, not a string" in shown
    assert '<mark>"temperature": "hot"' in shown
    assert '<mark>"max_tokenz": 5' in shown


def test_what_is_put_beside_the_types_is_no_problem() -> None:
    made = llmneutral.convert(stack(), "chat", model="gpt-4.1", extra_body={"vendor": 1})
    assert verdicts({"chat_completions": made})["chat_completions"].problems == []


def test_without_the_sdk_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: judges.Judge) -> str:
        raise llmneutral.MissingExtraError(package=self.package)

    monkeypatch.setattr(judges.Judge, "name", absent)
    assert verdicts(conversions())["chat_completions"] == Verdict(unchecked="SDK not installed")
    assert ">not checked (SDK not installed)</b>" in html(conversions())


def test_an_api_that_no_sdk_describes() -> None:
    made = conversions()["chat_completions"]
    other = msgspec.structs.replace(made, api="my_api")
    assert verdicts({"my_api": other})["my_api"].unchecked == "no SDK knows this API"


def test_a_refusal_is_not_judged() -> None:
    error = llmneutral.ConversionError("no")
    assert verdicts({"cohere_chat": error}) == {}
    assert "not checked" not in html({"cohere_chat": error})


@pytest.fixture
def providers() -> Iterator[Providers]:
    made = Providers()
    yield made
    made.close()


def test_names_of_apis() -> None:
    assert comparing.apis_of(["claude", "openai", "claude"]) == ["anthropic_messages", "chat_completions"]
    assert {*comparing.MAIN} <= {*comparing.apis_of(["all"])}
    with pytest.raises(OptionError, match="unknown API morse; known: "):
        comparing.apis_of(["morse"])
    with pytest.raises(OptionError, match=r"unknown API antropic; did you mean anthropic\?"):
        comparing.apis_of(["antropic"])


def test_each_column_stands_for_a_real_model(providers: Providers) -> None:
    found = comparing.conversions(stack(), comparing.MAIN, providers)
    models = {api: conversion.payload["model"] for api, conversion in found.items()}
    assert models["anthropic_messages"] == "claude-sonnet-5-5"
    assert all(models.values())
    assert all([conversion.trace for conversion in found.values()])


def test_the_driver_that_is_asked_stands_for_its_own_api(providers: Providers) -> None:
    driver = llmneutral.drivers_config("local-messages").prompt_driver
    found = comparing.conversions(llmneutral.PromptStack.from_artifact("Hi"), comparing.MAIN, providers, driver)
    assert found["anthropic_messages"].payload["model"] == driver.model
    other = comparing.conversions(llmneutral.PromptStack.from_artifact("Hi"), comparing.MAIN, providers, driver, "x")
    assert other["anthropic_messages"].payload["model"] == "x"
    assert other["chat_completions"].payload["model"] != "x"


def test_requests_beside_a_streamed_one_are_streamed(providers: Providers) -> None:
    apis = [*comparing.MAIN, "gemini_native"]
    found = comparing.conversions(stack(), apis, providers, stream=True)
    assert [found[api].payload.get("stream") for api in comparing.MAIN] == [True, True, True]
    assert ":streamGenerateContent" in found["gemini_native"].endpoint[1]
    plain = comparing.conversions(stack(), apis, providers)
    assert not any(["stream" in conversion.payload for conversion in plain.values()])


def test_what_cannot_be_converted_is_told_in_its_place(providers: Providers) -> None:
    found = comparing.conversions(stack(), ["codex_app_server", "anthropic_messages"], providers)
    assert isinstance(found["codex_app_server"], llmneutral.ConversionError)
    shown = comparing.compared(found, stack(), {"anthropic_messages"}).data["text/html"]
    assert "ConversionError" in shown
    assert ">sent</b>" in shown
    exchange = comparing.dry_exchange(found, id="x-1")
    assert list(exchange.to_json()["payload"]) == ["anthropic_messages"]
    assert exchange.to_json()["history"]["sent"] is False


def test_changes_alone(providers: Providers) -> None:
    found = comparing.conversions(stack(), comparing.MAIN, providers)
    bundle = comparing.changes_bundle(found)
    for api, conversion in found.items():
        for change in conversion.changes:
            assert f"{api}: {change.kind}" in bundle.data["text/plain"]
    assert "<mark>" in bundle.data["text/html"]
    nothing = comparing.changes_bundle({"chat": llmneutral.convert("Hi", "chat", model="gpt-4.1")})
    assert "Nothing was changed" in nothing.data["text/plain"]


def test_a_model_of_every_column_leaves_only_what_the_apis_differ_in(providers: Providers) -> None:
    source = llmneutral.PromptStack.from_artifact("Hi")
    source.settings["temperature"] = 1.5
    driver = llmneutral.drivers_config("local").prompt_driver
    apis = ["chat_completions", "codex_responses"]
    own = comparing.conversions(source, apis, providers, driver)
    assert ["temperature" in found.payload for found in own.values()] == [True, False]
    same = comparing.conversions(source, apis, providers, driver, models=comparing.models_of("gpt-6-luna"))
    assert {found.payload["model"] for found in same.values()} == {"gpt-6-luna"}
    assert ["temperature" in found.payload for found in same.values()] == [False, False]
    one = comparing.conversions(source, apis, providers, models=comparing.models_of(["openai=gpt-5", "codex=o4-mini"]))
    assert [found.payload["model"] for found in one.values()] == ["gpt-5", "o4-mini"]


def test_models_of() -> None:
    assert comparing.models_of(None) == {}
    assert comparing.models_of(["gpt-5", "claude=claude-opus-5"]) == {
        "": "gpt-5",
        "anthropic_messages": "claude-opus-5",
    }
    assert comparing.models_of({"responses": "gpt-5"}) == {"codex_responses": "gpt-5"}
    for given, said in (
        ("opnai=gpt-5", "unknown API opnai; did you mean openai"),
        ("openai=", "openai= names no model"),
        (["a", "b"], "every column is given two models: a and b"),
    ):
        with pytest.raises(OptionError, match=said):
            comparing.models_of(given)


def test_a_model_without_a_column_is_said() -> None:
    with pytest.raises(OptionError, match=r"-m cohere_chat=x: cohere_chat is no column .*\(chat_completions\)"):
        comparing.check_models({"cohere_chat": "x"}, ["chat_completions"])
    comparing.check_models({"": "x"}, [])


def test_a_short_name_that_is_a_provider_of_another_api_is_told(providers: Providers) -> None:
    said = ["openai is here the API chat_completions; the provider openai is asked by codex_responses"]
    assert comparing.two_meanings(["openai", "anthropic", "gemini", "all", "openai"], providers) == said
    assert comparing.two_meanings(["chat_completions", "no such"], providers) == []
    shown = comparing.compared({}, stack(), said=said)
    assert said[0] in shown.data["text/plain"]
    assert f'<p class="hint"><small>{said[0]}</small></p>' in shown.data["text/html"]
    assert shown.text(120).startswith(said[0])
    assert said[0] in comparing.compared({}, None, said=said).data["text/html"]


def test_an_unknown_api_is_told_the_nearest_and_the_short_names() -> None:
    with pytest.raises(OptionError, match=r"unknown API opnai; did you mean openai\?"):
        comparing.apis_of(["opnai"])
    with pytest.raises(OptionError, match=r"known: all, anthropic_messages, .* \(short: openai, anthropic, .*mistral"):
        comparing.apis_of(["morse"])
    assert not comparing.is_api("azure")
