"""What the official SDKs say of payloads that stand side by side."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import llmneutral
from llmneutral.validation import judges
from llmneutral_widgets.bundles import Verdict
from llmneutral_widgets.comparing import compared, verdicts
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
