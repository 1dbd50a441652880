"""Any value a tool gives back has a form that a model can read, and none ends a run."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Any

import pandas as pd
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    ActionArtifact,
    ActionCallMessageContent,
    AudioArtifact,
    BlobArtifact,
    Conversion,
    ErrorArtifact,
    ImageArtifact,
    ImageMessageContent,
    InfoArtifact,
    JsonArtifact,
    ListArtifact,
    Message,
    NormalizedResponse,
    PromptStack,
    TextArtifact,
    TextMessageContent,
    ThinkingMessageContent,
    ToolAction,
    contents_of,
)
from llmneutral.agent.outcome import BYTES, error_result, output_shown, result_of
from llmneutral.ir.contents import ActionResultMessageContent
from llmneutral.transports import registered

CALL = ActionCallMessageContent("c1", "look", "far")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


class Colour(enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    n: int
    day: datetime.date


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


Pair = collections.namedtuple("Pair", "a b")


class Broken:
    def to_text(self) -> str:
        raise LookupError("no text today")


class Quiet:
    """Has no text of its own."""


def round_of(values: list[Any]) -> list[Any]:
    values.append(values)
    return values


DATA = [
    (None, ""),
    ("", ""),
    ("text", "text"),
    (True, True),
    (7, 7),
    (2**70, 2**70),
    (1.5, 1.5),
    (float("nan"), "NaN"),
    ({"a": [1, None, float("inf")]}, {"a": [1, None, "Infinity"]}),
    ((1, "b"), [1, "b"]),
    ({3, 1}, [1, 3]),
    (Pair(1, 2), [1, 2]),
    (range(3), [0, 1, 2]),
    ({"a": 1}.keys(), ["a"]),
    (Colour.RED, "red"),
    (decimal.Decimal("1.50"), "1.50"),
    (datetime.date(2026, 11, 30), "2026-11-30"),
    (uuid.UUID(int=1), str(uuid.UUID(int=1))),
    (Model(n=1, day=datetime.date(2026, 1, 2)), {"n": 1, "day": "2026-01-02"}),
    ([Model(n=1, day=datetime.date(2026, 1, 2))], [{"n": 1, "day": "2026-01-02"}]),
    (Point(1, {"b", "c", "a"}), {"x": 1, "tags": ["a", "b", "c"]}),
    (pd.DataFrame({"a": [1, 2]}), "   a\n0  1\n1  2"),
    (Quiet(), "<Quiet>"),
    (TextArtifact("t"), "t"),
    (InfoArtifact("i"), "i"),
    (JsonArtifact({"a": Colour.RED}), {"a": "red"}),
    (ListArtifact([]), ""),
    ([], []),
    (NormalizedResponse(Message("assistant", (TextMessageContent("said"),))), "said"),
]


@pytest.mark.parametrize(("value", "output"), DATA, ids=[type(value).__name__ for value, _ in DATA])
def test_data_become_plain_data(value: Any, output: Any) -> None:
    result = result_of(CALL, value)
    assert (result.output, result.parts, result.is_error) == (output, None, False)
    assert (result.tag, result.name, result.path) == ("c1", None, None)


BLOCKS = [
    (ImageArtifact(PNG), ["image"]),
    (AudioArtifact(b"RIFF"), ["audio"]),
    (BlobArtifact(b"%PDF", "application/pdf", "a.pdf"), ["document"]),
    ([TextArtifact("a"), ImageArtifact(PNG)], ["text", "image"]),
    ([1, "x", TextArtifact("a")], ["text", "text", "text"]),
    (ListArtifact(["a", ImageArtifact(PNG)]), ["text", "image"]),
    (ImageMessageContent(url="https://example.org/a.png"), ["image"]),
    (ThinkingMessageContent("hm", signature="s"), ["text"]),
    (ActionArtifact(ToolAction("x", "other")), ["text"]),
]


@pytest.mark.parametrize(("value", "kinds"), BLOCKS, ids=[type(value).__name__ for value, _ in BLOCKS])
def test_artifacts_become_blocks_that_a_result_can_hold(value: Any, kinds: list[str]) -> None:
    result = result_of(CALL, value)
    assert result.parts is not None
    assert [type(part).__struct_config__.tag for part in result.parts] == kinds
    assert not result.is_error


@pytest.mark.parametrize("value", [b"ab", bytearray(b"ab"), [1, b"x"], {"a": {"b": b"x"}}, memoryview(b"x")])
def test_bytes_are_a_clear_error(value: Any) -> None:
    result = result_of(CALL, value)
    assert result.is_error
    assert result.output == f"TypeError: {BYTES}"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Broken(), "LookupError: no text today"),
        (round_of([1]), "ValueError: the value holds itself, or is nested too deeply"),
        ([10**5000], "ValueError: a number has more digits than can be written"),
        ({"a": [-(10**5000)]}, "ValueError: a number has more digits than can be written"),
        (ErrorArtifact("no such city"), "no such city"),
        (ImageArtifact("a.png"), "ConversionError: "),  # type: ignore[arg-type]  # a path is a usual mistake
    ],
)
def test_what_cannot_be_carried_is_an_error_result(value: Any, says: str) -> None:
    result = result_of(CALL, value)
    assert result.is_error
    assert str(result.output).startswith(says)
    assert "0x" not in str(result.output)


def test_a_type_with_a_row_of_its_own_goes_by_that_row() -> None:
    class Sheet:
        pass

    contents_of.register(Sheet, lambda sheet: (TextMessageContent("a sheet"),))
    assert result_of(CALL, Sheet()).parts == (TextMessageContent("a sheet"),)


def test_what_the_tool_changes_later_is_not_seen() -> None:
    value = {"a": [1]}
    result = result_of(CALL, value)
    value["a"].append(2)
    assert result.output == {"a": [1]}


def test_an_event_shows_blocks_by_their_texts() -> None:
    assert output_shown(result_of(CALL, [TextArtifact("a"), ImageArtifact(PNG)])) == "a\n[image/png]"
    assert output_shown(result_of(CALL, {"a": 1})) == {"a": 1}
    assert error_result(CALL, "bad") == ActionResultMessageContent("c1", "bad", is_error=True)


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.binary(max_size=3),
        st.dates(),
        st.decimals(),
        st.builds(TextArtifact, st.text(max_size=3)),
        st.just(ImageArtifact(PNG)),
        st.just(Colour.RED),
        st.builds(object),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.none()), inner, max_size=3),
        st.builds(ListArtifact, st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(values)
def test_whatever_comes_back_goes_to_every_api_and_to_a_file(value: Any) -> None:
    result = result_of(CALL, value)
    messages = [Message("user", (TextMessageContent("q"),)), Message("assistant", (CALL,)), Message("user", (result,))]
    stack = PromptStack(messages)
    assert PromptStack.from_json(stack.to_json()).messages == messages
    for api in registered():
        made = llmneutral.convert(stack, api, model="m", max_tokens=100)
        assert isinstance(made, Conversion)
        json.dumps(made.to_json(), allow_nan=False)
