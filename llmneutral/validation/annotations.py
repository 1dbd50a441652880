"""Reads the Python types of an SDK's requests: TypedDicts, pydantic models, and what their annotations say.

Only what the typing module documents is looked at, and `model_fields` of models: nothing of how pydantic
validates. The SDKs' types say more than JSON can hold, and less than the provider takes:

* files, clients and classes of the SDK stand beside JSON in unions, and are left out;
* so are answers (models) beside requests (TypedDicts), and the SDK's stand-ins for what it does not know;
* a list of literals that ends with "or anything" means the literals.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import msgspec

from llmneutral.validation.records import Fields, Record, Rule, either, without_null
from llmneutral.validation.shapes import Anything, Array, Base64, Choices, Number, Scalar, Shape, Text
from llmneutral.validation.shapes import Mapping as MappingShape

_PLAIN: Mapping[Any, Callable[[], Shape]] = {
    Any: Anything,
    object: Anything,
    None: lambda: Scalar("null"),
    type(None): lambda: Scalar("null"),
    bool: lambda: Scalar("boolean"),
    int: lambda: Number(integer=True),
    float: Number,
    str: Text,
    dict: lambda: MappingShape(Anything()),
    list: lambda: Array(Anything()),
}
_UNIONS = (Union, types.UnionType)
_WRAPPERS = (Required, NotRequired)


class AnnotationReader:
    """Reads types into shapes; each TypedDict and model once.

    Args:
        data: What stands for bytes: base64 text, or bytes in keyword arguments.
        rules: Class → rules that its annotations do not carry.
        fields: Class → fields whose annotation says less than the class's code: name → annotation.
        more: TypedDict → keys it may have beside its own.

    Attributes:
        unread: Annotations that were not understood; what they stand for is taken as it is.
    """

    def __init__(
        self,
        *,
        data: Shape | None = None,
        rules: Mapping[type, Sequence[Rule]] | None = None,
        fields: Mapping[type, Mapping[str, Any]] | None = None,
        more: Mapping[type, Mapping[str, Shape]] | None = None,
    ) -> None:
        self.data = data or Base64()
        self.rules = rules or {}
        self.fields = fields or {}
        self.more = more or {}
        self.unread: list[Any] = []
        self._records: dict[Any, Record] = {}

    def shape(self, annotation: Any) -> Shape:
        """Returns the shape of an annotation."""
        return either(self._shapes([annotation]), has_tag=_has_tag(annotation))

    def record(self, cls: Any) -> Record:
        """Returns the shape of a TypedDict or a model, the same one each time."""
        build = self._typed_dict if _is_typed_dict(cls) else self._model
        return self._records.setdefault(cls, Record(lambda: build(cls)))

    def _typed_dict(self, cls: Any) -> Fields:
        shapes: dict[str, Shape] = {**self.more.get(cls, {})}
        required: set[str] = set()
        for key, annotation in get_type_hints(cls, include_extras=True).items():
            # Where annotations are postponed, the class itself does not know which of its keys are wrapped.
            wrapped, must = annotation, key in cls.__required_keys__
            while get_origin(wrapped) in _WRAPPERS:
                must = get_origin(wrapped) is Required
                wrapped = get_args(wrapped)[0]
            shapes[key] = self.shape(wrapped)
            if must:
                required.add(key)
        return Fields(
            shapes=shapes,
            required=frozenset(required),
            extra=Anything() if _is_open(cls) else None,
            rules=tuple(self.rules.get(cls, ())),
        )

    def _model(self, cls: Any) -> Fields:
        shapes: dict[str, Shape] = {}
        spellings: dict[str, str] = {}
        required, constant = set(), set()
        for name, field in cls.model_fields.items():
            annotation = self.fields.get(cls, {}).get(name, field.annotation)
            wire = field.alias or name
            shapes[wire] = shapes[name] = self.shape(annotation)
            if wire != name:
                spellings[name] = wire
            if field.is_required():
                required.add(wire)
            elif isinstance(field.default, str) and isinstance(without_null(shapes[wire]), Choices):
                constant.add(wire)
        return Fields(
            shapes=shapes,
            required=frozenset(required),
            spellings=spellings,
            constant=frozenset(constant),
            rules=tuple(self.rules.get(cls, ())),
        )

    # -- annotations

    def _shapes(self, annotations: Iterable[Any]) -> list[Shape]:
        """The shapes of alternatives, without what no request holds."""
        found = [part for annotation in annotations for part in _alternatives(annotation)]
        if any(map(_is_typed_dict, found)):
            found = [part for part in found if not _is_model(part)]
        if any(get_origin(part) is Literal for part in found):
            found = [part for part in found if part is not Any]
        if any(map(_is_typed_dict, found)) and any(map(_is_free, found)):
            # Any object, and then again one with known keys: those keys are meant, and others may stand beside them.
            return [_opened(shape) for shape in map(self._shape, [part for part in found if not _is_free(part)])]
        return [self._shape(part) for part in found]

    def _shape(self, annotation: Any) -> Shape:
        origin = get_origin(annotation)
        if origin is None:
            return self._bare(annotation)
        inner = get_args(annotation)
        if origin is Literal:
            return Choices(inner)
        if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
            return MappingShape(self.shape(inner[1]))
        if isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, tuple):
            return Array(self.shape(inner[0]))
        return self._unread(annotation)

    def _bare(self, annotation: Any) -> Shape:
        if annotation is bytes:
            return self.data
        try:
            plain = _PLAIN.get(annotation)
        except TypeError:
            plain = None
        if plain is not None:
            return plain()
        if _is_typed_dict(annotation) or _is_model(annotation):
            return self.record(annotation)
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return Choices([member.value for member in annotation], fold=True)
        if _says_text(annotation):
            return Text()
        return self._unread(annotation)

    def _unread(self, annotation: Any) -> Shape:
        self.unread.append(annotation)
        return Anything()


# ----------------------------------------------------------------------------------------------------------------------
# What an annotation says


def _alternatives(annotation: Any) -> list[Any]:
    """The members of a union, those of aliases and unions in it too; what is no JSON is left out where JSON is left."""
    annotation = _unwrapped(annotation)
    if get_origin(annotation) not in _UNIONS:
        return [annotation]
    members = [part for member in get_args(annotation) for part in _alternatives(member)]
    return [member for member in members if not _is_foreign(member)] or members


def _unwrapped(annotation: Any) -> Any:
    """An annotation without metadata, required or not, and with its aliases looked up."""
    while True:
        origin = get_origin(annotation)
        if origin is typing.Annotated or origin in _WRAPPERS:
            annotation = get_args(annotation)[0]
        elif hasattr(origin, "__value__"):  # an alias with arguments
            annotation = origin.__value__[get_args(annotation)]
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation


def _has_tag(annotation: Any) -> bool:
    """Whether a union says that a key tells its objects apart, as the SDKs with models do."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return any(map(_names_tag, annotation.__metadata__)) or _has_tag(get_args(annotation)[0])
    if origin in _WRAPPERS:
        return _has_tag(get_args(annotation)[0])
    if origin in _UNIONS:
        return any(map(_has_tag, get_args(annotation)))
    value = getattr(annotation, "__value__", None) if origin is None else getattr(origin, "__value__", None)
    return value is not None and _has_tag(value if origin is None else value[get_args(annotation)])


def _names_tag(note: Any) -> bool:
    """Whether a note on a union names its tag: pydantic's, cohere's, mistralai's."""
    return type(note).__name__ in ("Discriminator", "UnionMetadata") or "disc_key" in getattr(
        getattr(note, "func", None), "keywords", {}
    )


def _is_typed_dict(annotation: Any) -> bool:
    """Whether something is a TypedDict, of typing or of its back-port."""
    return isinstance(annotation, type) and hasattr(annotation, "__required_keys__")


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "model_fields")


def _is_open(cls: Any) -> bool:
    """Whether a TypedDict may have keys it does not name."""
    config = getattr(cls, "__pydantic_config__", None) or {}
    return config.get("extra") == "allow" or getattr(cls, "__extra_items__", None) is object


def _is_free(annotation: Any) -> bool:
    """Whether something is an object with any keys and values."""
    return get_origin(annotation) is dict and get_args(annotation)[1] in (object, Any)


def _opened(shape: Shape) -> Shape:
    if not isinstance(shape, Record):
        return shape
    return Record(lambda: msgspec.structs.replace(shape.fields, extra=Anything()))


def _is_foreign(annotation: Any) -> bool:
    """Whether something is no part of a request: a class with no place in JSON, or a stand-in for the unknown."""
    if _is_model(annotation):
        fields: Collection[str] = annotation.model_fields
        return "is_unknown" in fields or (not fields and annotation.__name__ == "Unset")
    if get_origin(annotation) is not None:
        return get_origin(annotation) is typing.IO or not _is_json_origin(get_origin(annotation))
    if annotation is bytes or _is_typed_dict(annotation) or annotation in _PLAIN:
        return False
    return isinstance(annotation, type) and not issubclass(annotation, Enum) and not _says_text(annotation)


def _is_json_origin(origin: Any) -> bool:
    return origin is Literal or (isinstance(origin, type) and issubclass(origin, Iterable))


def _says_text(annotation: Any) -> bool:
    """Whether a class stands for text in JSON: a time does."""
    return isinstance(annotation, type) and annotation.__module__ == "datetime"
