"""Answers are known by their shape."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral
from llmneutral import ConfigurationError
from llmneutral.transports.recognition import recognized
from tests.laws.answers import WIRE

ANSWER: Any = [("text", "Hello")]


@pytest.mark.parametrize("api", list(WIRE))
def test_every_api_is_known_by_its_answer(api: str) -> None:
    body = WIRE[api][0](ANSWER)
    assert recognized(body) == ("chat_completions" if api == "mistral_chat" else api)
    assert llmneutral.normalize(body, "auto").text == "Hello"


@pytest.mark.parametrize("body", [{}, {"text": "x"}, [], "hello", None])
def test_another_shape_is_told(body: Any) -> None:
    with pytest.raises(ConfigurationError, match="shape of no known API"):
        recognized(body)
