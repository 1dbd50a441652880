"""JSON as text: the one way it is written, and the one way it is read.

Written: UTF-8 characters as they are, no NaN (RFC 8259 knows none), key order kept.
Read: strictly. What is no JSON is never repaired by guessing.
"""

from __future__ import annotations

import json
from json import encoder
from typing import Any, NoReturn

import msgspec

JSONObject = dict[str, Any]


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
    """Reads the arguments of a tool call: an object, `{}` for blank text, None for anything else."""
    if not text or text.isspace():
        return {}
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _refuse_value(value: Any) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} is no plain data")


def _writer() -> Any:
    """The encoder of `json.dumps(ensure_ascii=False, allow_nan=False)`, which makes it anew for every text."""
    made = getattr(encoder, "c_make_encoder", None)
    if made is None:  # not CPython
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_refuse_value).iterencode
    return made(None, _refuse_value, encoder.encode_basestring, None, ": ", ", ", False, False, False)


_write = _writer()
