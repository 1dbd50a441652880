"""JSON as text: the one way it is written, and the one way it is read.

Written: UTF-8 characters as they are, no NaN (RFC 8259 knows none), key order kept.
Read: strictly. What is no JSON is never repaired by guessing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from json import encoder
from typing import Any, NoReturn

import msgspec

from llmneutral.errors.wording import a_kind

JSONObject = dict[str, Any]
MOST_LEVELS = 200
"""Of arrays and objects in each other, in what is carried along: Python itself goes down about 1,000 calls."""

MOST_BITS = 14_284
"""Of a whole number: 4,300 digits, for more Python has no text (`sys.set_int_max_str_digits`)."""


def dumps(value: Any) -> str:
    """Writes plain data as JSON text.

    Raises:
        ValueError: If the value holds NaN or an infinity, or holds itself.
        TypeError: If the value is no plain data.
    """
    try:
        return "".join(_write(value, 0))
    except RecursionError:
        raise ValueError("the value holds itself, or is nested too deeply") from None


def loads(text: str | bytes) -> Any:
    """Reads JSON text.

    The fast reader refuses what the slow one takes (an unpaired surrogate written as an escape,
    numbers beyond a float), so the slow one has the last word; NaN is refused by both.

    Raises:
        ValueError: If the text is no JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return json.loads(text, parse_constant=_refuse_constant)


def parse_object(text: str) -> JSONObject | None:
    """Reads the arguments of a tool call: an object, `{}` for blank text, None for anything else.

    What is nested more than `MOST_LEVELS` deep counts as anything else: no tool means it, and no later step could be
    sure to get to its end.
    """
    if not text or text.isspace():
        return {}
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return None
    if text.count("[") + text.count("{") > MOST_LEVELS and is_too_deep(value):
        return None
    return value if isinstance(value, dict) else None


def as_object(given: Any) -> JSONObject | None:
    """Returns the arguments of a tool call, which an API may write as text or as an object, as `parse_object` does."""
    if given is None:
        return {}
    if isinstance(given, str):
        return parse_object(given)
    return given if isinstance(given, dict) and not is_too_deep(given) else None


def is_too_deep(value: Any) -> bool:
    """Tells whether what was read from JSON is nested more than `MOST_LEVELS` deep."""
    level, inner = 0, [value]
    while inner and level <= MOST_LEVELS:
        level += 1
        inner = [
            each
            for outer in inner
            if isinstance(outer, dict | list | tuple)
            for each in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(inner)


def not_json(value: Any) -> tuple[str, str] | None:
    """Returns the first thing in a value that JSON cannot write, in words, and its place; None where there is none.

    A tuple is an array; a set has no order and is none.
    """
    try:
        return _not_json(value, "")
    except RecursionError:
        return "itself, or too many levels", "its root"


def _not_json(value: Any, path: str) -> tuple[str, str] | None:
    place = path.removeprefix(".") or "its root"
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if not isinstance(key, str):
                return f"the key {key!r}, which is no text", place
            if (found := _not_json(entry, f"{path}.{key}")) is not None:
                return found
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            if (found := _not_json(entry, f"{path}[{number}]")) is not None:
                return found
    elif isinstance(value, float) and not math.isfinite(value):
        return f"the number {value}, which JSON has not", place
    elif not isinstance(value, str | int | float | None):
        return f"{a_kind(value)}, which JSON has not", place
    return None


def plain_data(value: Any, *, levels: int = MOST_LEVELS) -> Any:
    """Returns anything in the form JSON can write.

    NaN and infinities become the texts NaN, Infinity and -Infinity, sets become lists, dataclasses and models become
    objects, keys become texts, and whatever else there is becomes its own text, never a repr with an address in it.

    Args:
        value: Anything.
        levels: Most levels of arrays and objects in each other.

    Raises:
        TypeError: If there are bytes in it: they have no text.
        ValueError: If the value holds itself, is nested too deeply, or holds a number that Python writes no digits for.
    """
    try:
        return _plain(value, levels)
    except RecursionError:
        raise ValueError("the value holds itself, or is nested too deeply") from None


def _plain(value: Any, levels: int) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            raise ValueError("a number has more digits than can be written")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    levels -= 1
    if levels < 0:
        raise RecursionError
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _key(key): _plain(entry, levels) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, levels) for entry in value]
    if isinstance(value, set | frozenset):
        return sorted([_plain(entry, levels) for entry in value], key=str)  # the order of a set differs from run to run
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes are no plain data")
    return _plain_object(value, levels)


def _key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(_plain(key, MOST_LEVELS))


def _plain_object(value: Any, levels: int) -> Any:
    if not isinstance(value, type):
        if callable(text := getattr(value, "to_text", None)):  # an artifact
            return text()
        if callable(dump := getattr(value, "model_dump", None)):  # a model of pydantic
            return _plain(_ordered(value, dump(mode="json")), levels)
        if hasattr(value, "__dataclass_fields__"):
            from dataclasses import fields

            return {
                each.name: _plain(getattr(value, each.name), levels)
                for each in fields(value)
                if hasattr(value, each.name)
            }
    try:
        known = msgspec.to_builtins(value, builtin_types=(bytes, bytearray), enc_hook=_as_text)
    except TypeError:
        return _as_text(value)
    if isinstance(value, msgspec.Struct) or hasattr(value, "__attrs_attrs__"):
        known = _with_own_entries(value, known)
    return known if isinstance(known, str) else _plain(known, levels)


def _ordered(value: Any, dumped: Any) -> Any:
    """What pydantic made of a value, with the lists that sets became in an order that is the same in every run."""
    if isinstance(dumped, list):
        if isinstance(value, set | frozenset):
            return sorted(dumped, key=str)
        pairs = zip(value, dumped, strict=False) if isinstance(value, list | tuple) else ()
        return [_ordered(*pair) for pair in pairs] or dumped
    if isinstance(dumped, dict):
        own = {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else None
        found = {key: getattr(value, key, None) if own is None else own.get(key) for key in dumped}
        return {key: _ordered(found[key], each) for key, each in dumped.items()}
    return dumped


def _with_own_entries(value: Any, known: Any) -> Any:
    """The entries of a struct or attrs object as they are, under the names it is written with.

    What became of a set in them has no order any more, so the sets themselves have to be seen.
    """
    if not isinstance(value, msgspec.Struct):
        return {each.name: getattr(value, each.name) for each in type(value).__attrs_attrs__ if each.name in known}
    names = {each.encode_name: each.name for each in msgspec.structs.fields(value)}
    if isinstance(known, dict):
        return {key: getattr(value, names[key]) if key in names else entry for key, entry in known.items()}
    tags = len(known) - len(names)  # an array: the tag, if any, and the entries
    return [*known[:tags], *[getattr(value, name) for name in names.values()]]


def _as_text(value: Any) -> str:
    kind: Any = type(value)
    nameless = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    return f"<{kind.__name__}>" if nameless else str(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _refuse_value(value: Any) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no plain data")


def _writer() -> Any:
    """The encoder of `json.dumps(ensure_ascii=False, allow_nan=False)`, which makes it anew for every text."""
    made = getattr(encoder, "c_make_encoder", None)
    if made is None:  # not CPython
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_refuse_value).iterencode
    return made(None, _refuse_value, encoder.encode_basestring, None, ": ", ", ", False, False, False)


_write = _writer()
