"""Transports in the style of Hermes that do not keep to their form: said once, with the name of their class.

What they do when they keep to it stands in `tests/seeds/test_hermes_examples.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import llmneutral
from llmneutral import BasePromptDriver, ConfigurationError, MalformedResponseError, ProviderTransport
from llmneutral.convert import registry


class Acme(ProviderTransport):
    """Gives back whatever it was told to."""

    gives: Any = None

    def __init__(self) -> None:
        self.asked: list[Any] = []

    @property
    def api_mode(self) -> str:
        return "acme"

    def convert_messages(self, messages: Any, **kwargs: Any) -> Any:
        return messages

    def convert_tools(self, tools: Any) -> Any:
        return tools

    def build_kwargs(self, model: Any, messages: Any, tools: Any = None, **params: Any) -> Any:
        self.asked.append(params)
        return self.gives if self.gives is not None else {"messages": messages}

    def normalize_response(self, response: Any, **kwargs: Any) -> Any:
        return response["gives"]


class AcmeDriver(BasePromptDriver):
    needs_key = False

    def send(self, conversion: llmneutral.Conversion) -> Any:
        return {"gives": 5}


@pytest.fixture(autouse=True)
def acme() -> Iterator[Acme]:
    before = dict(registry._transports)
    made = Acme()
    llmneutral.register_transport("acme", made)
    yield made
    registry._transports.clear()
    registry._transports.update(before)


@pytest.mark.parametrize("gives", [5, "text", [1], ()])
def test_a_request_that_is_none(acme: Acme, gives: Any) -> None:
    acme.gives = gives
    with pytest.raises(ConfigurationError, match=f"Acme.build_kwargs returned an? {type(gives).__name__}; it has to"):
        llmneutral.convert("q", "acme")


@pytest.mark.parametrize("way", ["run", "stream"])
def test_an_answer_that_is_none(way: str) -> None:
    driver = AcmeDriver("m", api_mode="acme", max_attempts=1)
    with pytest.raises(MalformedResponseError, match=r"Acme.normalize_response returned an int, not a Normalized"):
        list(getattr(driver, way)("q"))
    found = llmneutral.normalize({"gives": {"text": "x"}}, "acme")
    assert found.error is not None
    assert "returned a dict" in found.error.message


def test_a_schema_for_the_apis_own_field_is_handed_on_as_openai_writes_it(acme: Acme) -> None:
    schema = {"title": "City", "type": "object", "properties": {"name": {"type": "string"}}}
    llmneutral.convert("q", "acme", output_schema=schema, structured_output_strategy="native", temperature=0.5)
    named = {"name": "City", "schema": schema}
    assert acme.asked == [{"temperature": 0.5, "response_format": {"type": "json_schema", "json_schema": named}}]
