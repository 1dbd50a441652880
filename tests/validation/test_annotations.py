"""What Python types say of JSON: TypedDicts, models, and all that stands in their annotations."""

from __future__ import annotations

import datetime
import os
import typing
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Annotated, Any, Dict, List, Literal, NotRequired, Optional, Required, TypedDict, Union  # noqa: UP035

import pydantic
import pytest
import typing_extensions

from llmneutral.validation.annotations import AnnotationReader
from llmneutral.validation.problems import NOTHING
from llmneutral.validation.shapes import RawBytes, Shape, Text


class Colour(Enum):
    RED = "RED"


class Part(TypedDict, total=False):
    type: Required[Literal["part"]]
    items: Iterable[Part]


class Whole(TypedDict):
    name: str
    note: NotRequired[str]


class Backport(typing_extensions.TypedDict, total=False):
    size: Required[int]


class Open(TypedDict, total=False):
    size: int


Open.__pydantic_config__ = {"extra": "allow"}  # type: ignore[attr-defined]


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    top_p: float = pydantic.Field(alias="topP")
    kind: Literal["model"] = "model"
    note: str | None = None


class Other(pydantic.BaseModel):
    kind: Literal["other"] = "other"


class UnknownKind(pydantic.BaseModel):
    raw: Any
    is_unknown: Literal[True] = True


Alias = typing_extensions.TypeAliasType("Alias", Union[str, List[int]])  # noqa: UP006, UP007
T = typing.TypeVar("T")
Maybe = typing_extensions.TypeAliasType("Maybe", Optional[T], type_params=(T,))  # noqa: UP045

TAKEN: list[tuple[Any, list[Any], list[Any]]] = [
    (str, ["a"], [5, None]),
    (int, [5], [True, 5.0]),
    (float, [5, 0.5], ["5"]),
    (bool, [True], [1]),
    (None, [None], [0]),
    (object, [1, {"a": [None]}], [b"x"]),
    (dict, [{"a": 1}], [[]]),
    (list, [[1, "a"]], ["a"]),
    (Literal["a", True], ["a", True], ["b", False]),
    (Optional[str], ["a", None], [5]),  # noqa: UP045
    (Union[str, Iterable[int]], ["a", [1], (1,)], [["a"], 5]),  # noqa: UP007
    (str | list[int], ["a", [1]], [["a"]]),
    (Dict[str, int], [{"a": 1}], [{"a": "1"}]),  # noqa: UP006
    (Sequence[str], [["a"]], ["a"]),
    (Annotated[Required[str], "note"], ["a"], [5]),
    (Colour, ["RED", "red"], ["BLUE"]),
    (datetime.datetime, ["2026-01-01T00:00:00Z"], [5]),
    (Union[str, os.PathLike[str], typing.IO[bytes], bytes], ["a"], [5]),  # noqa: UP007
    (Union[Literal["a"], Any], ["a"], ["b"]),  # noqa: UP007
    (Union[Part, Model], [{"type": "part"}], [{"topP": 1}]),  # noqa: UP007
    (Union[Open, Dict[str, object]], [{"size": 1, "more": 2}], [{"size": "x"}]),  # noqa: UP006, UP007
    (Union[Backport, Dict[str, object]], [{"size": 1, "more": 2}], [{"more": 1}]),  # noqa: UP006, UP007
    (Union[Other, UnknownKind], [{"kind": "other"}], [{"raw": 1}]),  # noqa: UP007
    (Alias, ["a", [1]], [["a"]]),
    (Maybe[int], [1, None], ["a"]),
]


@pytest.mark.parametrize(("annotation", "right", "wrong"), TAKEN, ids=lambda value: str(value)[:60])
def test_annotations(annotation: Any, right: list[Any], wrong: list[Any]) -> None:
    reader = AnnotationReader()
    shape = reader.shape(annotation)
    assert [value for value in right if shape.check(value)] == []
    assert [value for value in wrong if not shape.check(value)] == []
    assert reader.unread == []


def said(shape: Shape, value: Any) -> dict[str, str]:
    return {".".join(map(str, loc)): message for loc, message in shape.check(value)}


def test_a_typed_dict_may_hold_itself() -> None:
    shape = AnnotationReader().shape(Part)
    assert shape.check({"type": "part", "items": [{"type": "part"}]}) is NOTHING
    assert said(shape, {"type": "part", "items": [{"type": "whole"}]}) == {
        "items.0.type": "must be 'part', not 'whole'"
    }


def test_required_keys_are_known_where_annotations_are_postponed() -> None:
    reader = AnnotationReader()
    assert said(reader.shape(Whole), {}) == {"name": "is required"}
    assert said(reader.shape(Backport), {}) == {"size": "is required"}
    assert said(reader.shape(Part), {}) == {"type": "is required"}


def test_a_class_is_read_once() -> None:
    reader = AnnotationReader()
    assert reader.record(Part) is reader.record(Part)


def test_models() -> None:
    shape = AnnotationReader().record(Model)
    assert shape.check({"topP": 1, "kind": "model", "note": None}) is shape.check({"top_p": 1}) is NOTHING
    assert said(shape, {"kind": "x", "more": 1}) == {
        "kind": "must be 'model', not 'x'",
        "more": "is unknown",
        "topP": "is required",
    }
    assert shape.fields.constant == {"kind"}


@pytest.mark.parametrize("note", [pydantic.Discriminator("kind"), type("UnionMetadata", (), {})()])
def test_a_union_may_say_that_a_tag_decides(note: Any) -> None:
    class First(pydantic.BaseModel):
        type: Literal["first"] = "first"

    class Second(pydantic.BaseModel):
        type: Literal["second"] = "second"

    reader = AnnotationReader()
    assert reader.shape(First | Second).check({}) is NOTHING
    tagged = Annotated[First | Second, note]
    for shape in (reader.shape(tagged), reader.shape(Optional[tagged]), reader.shape(list[tagged]).item):  # type: ignore[attr-defined]  # noqa: UP045
        assert said(shape, {}) == {"type": "is required: 'first' or 'second'"}


def test_bytes_are_base64_or_bytes() -> None:
    assert AnnotationReader().shape(bytes).check("aGVsbG8=") is NOTHING
    assert AnnotationReader(data=RawBytes()).shape(bytes).check(b"hello") is NOTHING


def test_what_a_class_does_not_say_can_be_added() -> None:
    reader = AnnotationReader(
        fields={Model: {"note": int}}, more={Part: {"extra": Text()}}, rules={Whole: [lambda value: [((), "no")]]}
    )
    assert said(reader.shape(Model), {"topP": 1, "note": "x"}) == {"note": "must be an integer, not a string"}
    assert said(reader.shape(Part), {"type": "part", "extra": 5}) == {"extra": "must be a string, not an integer"}
    assert said(reader.shape(Whole), {"name": "x"}) == {"": "no"}


def test_what_is_not_understood_is_taken_and_told() -> None:
    reader = AnnotationReader()
    assert reader.shape(typing.Callable[[], int]).check(5) is NOTHING
    assert len(reader.unread) == 1
