"""What a front end is given for each kind of value; nothing a value does can fail a cell."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.bundles import Bundle, Verdict, bundle_of, column_of, conversions_bundle, stack_bundle
from llmneutral_widgets.exchange import MIME, Exchange, Exchanges
from llmneutral_widgets.views.page import View
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.samples import conversions, response, stack


class Config:
    """What a driver config tells of itself."""

    prompt_driver = None

    def status(self) -> dict[str, Any]:
        return {"name": "openai", "api_mode": "codex_responses", "sdk": "openai", "sdk_installed": True}


VALUES: dict[str, tuple[Any, str, str]] = {
    "exchange": (Exchange(id="x-1", status="complete", response=response()), "<strong>sunny</strong>", "sunny"),
    "exchanges": (
        Exchanges([Exchange(id="x-1", status="complete", response=response("one"))]),
        "one",
        "one",
    ),
    "view": (View("<p>x</p>", "x"), "<p>x</p>", "x"),
    "stack": (stack(), "7 messages", "PromptStack of 7 messages"),
    "message": (stack().messages[1], "1 message", "user: What is this"),
    "conversion": (conversions()["anthropic_messages"], "claude-sonnet-5-5", "anthropic_messages: POST /v1/messages"),
    "conversions": (conversions(), "gpt-4.1", "chat_completions: POST"),
    "response": (response(), "<strong>sunny</strong>", "812 → 96 tokens"),
    "config": (Config(), "codex_responses", "Config object"),
    "error": (llmneutral.RateLimitError("too fast", status=429), "RateLimitError (429)", "RateLimitError: too fast"),
}


@pytest.mark.parametrize("name", VALUES)
def test_html_and_plain_text(name: str) -> None:
    value, html, text = VALUES[name]
    bundle = bundle_of(value)
    assert html in bundle.data["text/html"]
    assert text in bundle.data["text/plain"]
    assert outside_views(bundle.data["text/html"]) == []
    assert is_well_nested(bundle.data["text/html"])
    json.dumps(bundle.data, allow_nan=False)


def test_only_exchanges_are_kept_as_json() -> None:
    kinds = {name: set(bundle_of(value).data) for name, (value, *_) in VALUES.items()}
    assert {name for name, found in kinds.items() if MIME in found} == {"exchange", "exchanges"}
    assert all("text/plain" in found and "application/json" not in found for found in kinds.values())


def test_the_source_stands_beside_the_payloads() -> None:
    shown = bundle_of(conversions(), stack()).data["text/html"]
    assert "1 user" in shown
    assert "<b>your conversation</b>" in shown


def test_a_dry_run_shows_payloads() -> None:
    exchange = Exchange(id="x-1", status="dry_run", conversions=conversions(), stack=stack())
    shown = bundle_of(exchange).data["text/html"]
    assert "neutral" in shown
    assert "POST /v1/messages" in shown


def test_an_error_is_a_column() -> None:
    error = llmneutral.ConversionError("no picture here", rule="media", refs=[(1, 1)])
    shown = conversions_bundle({**conversions(), "cohere_chat": error}, stack())
    assert "media: no picture here" in shown.data["text/html"]
    assert "cohere_chat: ConversionError: no picture here" in shown.data["text/plain"]


def test_problems_are_told() -> None:
    problem = llmneutral.Problem("messages[0].content", "too long", "/messages/0/content")
    made = conversions()["anthropic_messages"]
    column = column_of("anthropic_messages", made, Verdict("anthropic 2.14 types", [problem]))
    assert column.problems == [{"path": "messages[0].content", "message": "too long", "pointer": "/messages/0/content"}]
    assert (column.checked, column.unchecked) == ("anthropic 2.14 types", None)
    assert column_of("x", made, Verdict(unchecked="SDK not installed")).unchecked == "SDK not installed"


def test_a_stack_takes_marks() -> None:
    assert ">stale<" in stack_bundle(stack(), marks={5: "stale"}).data["text/html"]


class Broken:
    prompt_driver = None

    def status(self) -> Any:
        raise RuntimeError("no status")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize("value", [Broken(), {"a": Broken()}, object(), 3, None, "text", {}, b"x"])
def test_nothing_is_raised(value: Any) -> None:
    assert "text/plain" in bundle_of(value).data


def test_a_config_is_not_asked_for_its_driver() -> None:
    class Lacking(Config):
        @property
        def prompt_driver(self) -> Any:  # type: ignore[override]
            raise llmneutral.ConfigurationError("no key")

    assert "codex_responses" in bundle_of(Lacking()).data["text/html"]


def test_what_failed_is_said() -> None:
    said = bundle_of(Broken()).data["text/plain"]
    assert "could not be shown: RuntimeError: no status" in said


def test_secrets_are_in_no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "exact-secret-value-0123"
    monkeypatch.setenv("SOME_API_KEY", key)
    given = stack()
    given.add_user_message(f"my key is {key}")
    values = [
        given,
        given.messages[-1],
        response(f"it is {key}"),
        {api: llmneutral.convert(given, api, model="m", trace=True) for api in conversions()},
        ValueError(key),
        Exchange(id="x-1", status="failed", response=response(key), error=ValueError(key)),
    ]
    for value in values:
        for source in (None, given):
            bundle = bundle_of(value, source)
            assert key not in json.dumps(bundle.data)
            for width in (20, 27, 80):  # nor is it broken over two lines
                assert key not in re.sub(r"\s", "", bundle.text(width))


KEY = "a-secret-of-mine-0123456789"


def test_every_bundle_is_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what no view has cleaned, and what one has cut."""
    monkeypatch.setenv("SOME_API_KEY", KEY)
    made = Bundle({"text/html": f"<p>{KEY}</p>", "text/plain": KEY, "x/y": {"k": 1}}, {"m": 1})
    data, metadata = made
    assert (data, metadata) == ({"text/html": "<p>•••</p>", "text/plain": "•••", "x/y": {"k": 1}}, {"m": 1})
    assert (made.data, made.metadata) == (data, metadata)
    for name in (KEY, f"{'n' * 50}{KEY}"):
        bundle = stack_bundle(stack(), name=name)
        assert KEY[:12] not in json.dumps(bundle.data)
        assert KEY[:12] not in re.sub(r"\s", "", bundle.text(30))


def test_what_is_printed_is_more_than_what_is_saved_as_text() -> None:
    long = response(" ".join(map(str, range(200))))
    for value, said in (
        (stack(), "Answer in **one** line."),
        (stack().messages[1], "0.1 image  image/png, 191 bytes"),
        (conversions(), '"model": "gpt-4.1"'),
        (conversions()["chat_completions"], "dropped by limit_cache_marks: this target has no cache breakpoints (3.1)"),
        (long, " 198 199"),
        (Exchange(id="x-1", status="complete", response=long), " 198 199"),
        (Exchanges([Exchange(id="x-1", status="complete", response=long)]), " 198 199"),
    ):
        bundle = bundle_of(value)
        assert said in bundle.text(120)
        assert said not in bundle.data["text/plain"]
        assert len(bundle.data["text/plain"]) < 400


def test_what_has_no_longer_text_is_printed_as_it_is_saved() -> None:
    assert Bundle({"text/plain": "x"}).text(40) == "x"
    assert Bundle({"text/html": "<p>x</p>"}).text(40) == ""

    def fails(width: int) -> str:
        raise ValueError(width)

    assert Bundle({"text/plain": "x"}, printed=fails).text(40) == "x", "a view that fails does not fail the cell"
    assert Bundle({"text/plain": "x"}, printed="a{}\x1b".format).text(40) == "a40\ufffd"


def test_a_long_answer_is_saved_twice_not_thrice() -> None:
    text = "Some words. " * 2000
    for bundle in (
        bundle_of(Exchange(id="x-1", status="complete", response=response(text))),
        bundle_of(Exchanges([Exchange(id=f"x-{n}", status="complete", response=response(text)) for n in (1, 2)])),
    ):
        record = bundle.data[MIME]
        answers = 1 + len(record.get("others", ()))
        assert json.dumps(record).count(text) == answers
        assert Exchange.from_json(record).text == text
