"""Converse against botocore's model: at least what botocore itself refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from llmneutral.validation import bedrock
from llmneutral.validation.problems import NOTHING
from tests.validation import broken_payloads

PAYLOAD = broken_payloads.load("bedrock_converse")["payload"]
CALL = broken_payloads.load("bedrock_converse.call")["payload"]
WRONG: list[Any] = [None, 5, True, "", [], {}, {"zzz": 1}, b"x"]


def _input_shape() -> Any:
    import botocore.session

    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *[place for key, item in pairs for place in _places(item, (*way, key))]]


def _as_call(payload: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a body."""
    made = copy.deepcopy({**payload, "modelId": "m"})
    content = made["messages"][0]["content"]
    content[1]["image"]["source"]["bytes"] = content[2]["document"]["source"]["bytes"] = b"hello"
    return made


@pytest.mark.parametrize("payload", [_as_call(PAYLOAD), CALL], ids=["long", "short"])
def test_what_botocore_refuses_is_found(payload: dict[str, Any]) -> None:
    from botocore.validate import ParamValidator

    judge, official, model = bedrock.read(is_call=True)[0], ParamValidator(), _input_shape()
    assert not official.validate(payload, model).has_errors()
    assert judge.check(payload) is NOTHING
    refused = 0
    for place in _places(payload)[1:]:
        for value in WRONG:
            made = copy.deepcopy(payload)
            parent = made
            for key in place[:-1]:
                parent = parent[key]
            parent[place[-1]] = value
            if official.validate(made, model).has_errors():
                refused += 1
                assert judge.check(made), (place, value)
    assert refused > 50


def test_bytes_are_bytes_in_a_call_and_base64_in_a_body() -> None:
    call, body = bedrock.read(is_call=True)[0], bedrock.read(is_call=False)[0]
    assert body.check(PAYLOAD) is call.check(_as_call(PAYLOAD)) is NOTHING
    assert [loc[-1] for loc, _ in body.check(_as_call(PAYLOAD))] == ["bytes", "bytes"]
    assert [loc[-1] for loc, _ in call.check({**PAYLOAD, "modelId": "m"})] == ["bytes", "bytes"]


def test_the_model_stands_in_the_address() -> None:
    assert bedrock.read(is_call=True)[0].check(PAYLOAD)[-1] == (("modelId",), "is required")
    assert bedrock.read(is_call=False)[0].check({**PAYLOAD, "modelId": "m"}) is NOTHING


def test_streams_have_a_setting_of_their_own() -> None:
    guard = {"guardrailIdentifier": "abc", "guardrailVersion": "1", "streamProcessingMode": "sync"}
    assert bedrock.read(is_call=False)[0].check({**PAYLOAD, "guardrailConfig": guard}) is NOTHING
    guard["streamProcessingMode"] = "later"
    found = bedrock.read(is_call=False)[0].check({**PAYLOAD, "guardrailConfig": guard})
    assert [loc for loc, _ in found] == [("guardrailConfig", "streamProcessingMode")]


def test_forms_are_told_apart() -> None:
    assert bedrock.is_call(CALL)
    assert bedrock.is_call({"messages": CALL["messages"]})
    assert not bedrock.is_call({**PAYLOAD, "modelId": "m"})
