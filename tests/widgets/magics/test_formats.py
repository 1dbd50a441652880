"""An answer in another form."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.magics.formats import first_code, formed
from tests.widgets.samples import response


def exchange(text: str = "It is **sunny**.", **fields: Any) -> Exchange:
    return Exchange(id="x-1", **{"status": "complete", "response": response(text), **fields})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```python\nx = 1\n\ny = 2\n```\nb\n```\nz\n```", "x = 1\n\ny = 2"),
        ("~~~\n```\ninner\n```\n~~~", "```\ninner\n```"),
        ("````\n```\n````", "```"),
        ("no code", None),
        ("```python\nnever closed", None),
        ("inline ``` x ```", None),
    ],
)
def test_the_first_code(text: str, code: str | None) -> None:
    assert first_code(text) == code


def test_text_is_as_it_was_typed() -> None:
    bundle = formed(exchange(), "text")
    assert "It is **sunny**." in bundle.data["text/html"]
    assert "<strong>" not in bundle.data["text/html"]
    assert bundle.data[MIME]["id"] == "x-1"


def test_json_is_the_value_or_the_reason() -> None:
    assert (
        "&quot;a&quot;" in formed(exchange('{"a": 1}'), "json").data["text/html"]
        or '"a": 1' in formed(exchange('{"a": 1}'), "json").data["text/html"]
    )
    assert '"b": 2' in formed(exchange("words", response=response("words", parsed={"b": 2})), "json").data["text/html"]
    assert "no JSON" in formed(exchange("words"), "json").data["text/html"]


def test_a_line_is_the_footer_alone() -> None:
    bundle = formed(exchange(), "line")
    assert "sunny" not in bundle.data["text/html"] + bundle.data["text/plain"]
    assert "812 → 96 tokens" in bundle.data["text/html"]


@pytest.mark.parametrize("form", ["text", "json", "line"])
def test_what_went_wrong_is_shown_whole_in_every_form(form: str) -> None:
    failed = exchange(status="failed", error={"name": "RateLimitError", "message": "too fast"})
    assert "too fast" in formed(failed, form).data["text/html"]


def test_no_form_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "tiger-lily-umbrella")
    for form in ("html", "text", "json", "code", "line"):
        leaking = exchange('"tiger-lily-umbrella"', response=response('"tiger-lily-umbrella"'))
        assert "tiger-lily-umbrella" not in str(formed(leaking, form).data)
