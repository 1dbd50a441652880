"""Converse, held against botocore's service model: types, enumerations, patterns, bounds, and unions of one member.

botocore itself checks types, required and unknown keys, and lower bounds; what else stands in the model comes
back from the service as a ValidationException.
"""

from __future__ import annotations

from typing import Any

from llmneutral.validation.records import Fields, Record, exactly_one
from llmneutral.validation.shapes import (
    Anything,
    Array,
    Base64,
    Best,
    Choices,
    Mapping,
    Number,
    RawBytes,
    Scalar,
    Shape,
    Text,
    kind_of,
)

_IN_ADDRESS = "uri"
"""Where a member stands that is part of the address, and not of the body."""


class ModelReader:
    """Reads shapes of a service model into ours; each structure once.

    Args:
        is_call: Whether bytes are bytes and the address counts, as in keyword arguments; else base64, as in the body.

    Attributes:
        unread: Kinds of shapes that were not understood; what they stand for is taken as it is.
    """

    def __init__(self, *, is_call: bool) -> None:
        self.is_call = is_call
        self.unread: list[Any] = []
        self._records: dict[str, Record] = {}

    def shape(self, given: Any) -> Shape:
        """Returns the shape of a shape of botocore's."""
        bounds = {"least": given.metadata.get("min"), "most": given.metadata.get("max")}
        kind = given.type_name
        if kind == "structure":
            return self._structure(given)
        if kind == "list":
            return Array(self.shape(given.member), **bounds)
        if kind == "map":
            return Mapping(self.shape(given.value), key=self.shape(given.key), **bounds)
        if kind in ("integer", "long", "float", "double"):
            return Number(integer=kind in ("integer", "long"), **bounds)
        return self._scalar(given, kind, bounds)

    def _structure(self, given: Any) -> Shape:
        if given.is_document_type:
            return Anything()
        return self._records.setdefault(given.name, Record(lambda: self._fields(given)))

    def _fields(self, given: Any) -> Fields:
        one_member = exactly_one(frozenset(given.members), "member")
        required = [key for key in given.required_members if self.is_call or not _is_in_address(given.members[key])]
        return Fields(
            shapes={key: self.shape(member) for key, member in given.members.items()},
            required=frozenset(required),
            rules=(one_member,) if given.is_tagged_union else (),
        )

    def _scalar(self, given: Any, kind: str, bounds: dict[str, Any]) -> Shape:
        if kind == "string":
            return Choices(given.enum) if given.enum else Text(pattern=given.metadata.get("pattern"), **bounds)
        if kind == "blob":
            return RawBytes(**bounds) if self.is_call else Base64()
        if kind == "boolean":
            return Scalar("boolean")
        self.unread.append(given)
        return Anything()


def read(*, is_call: bool) -> tuple[Shape, ModelReader]:
    """Returns the shape of a request: Converse, or ConverseStream, which knows one setting more."""
    import botocore.session

    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    reader, streamed = ModelReader(is_call=is_call), ModelReader(is_call=is_call)
    inputs = [model.operation_model(name).input_shape for name in ("Converse", "ConverseStream")]
    return Best([reader.shape(inputs[0]), streamed.shape(inputs[1])]), reader


def is_call(payload: dict[str, Any]) -> bool:
    """Returns whether a payload is written as keyword arguments: it has bytes. Without any, both forms are alike."""
    return _has_bytes(payload)


def _has_bytes(value: Any) -> bool:
    kind = kind_of(value)
    if kind == "object":
        return any(map(_has_bytes, value.values()))
    return any(map(_has_bytes, value)) if kind == "list" else kind == "bytes"


def _is_in_address(member: Any) -> bool:
    return bool(member.serialization.get("location") == _IN_ADDRESS)
