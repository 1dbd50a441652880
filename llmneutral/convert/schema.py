"""Schemas of tools and answers, written as each API takes them.

`reduce_schema(schema, dialect)` is a pure function of its arguments, kept by the content of the schema: a tool's schema
is converted once, not once per request. Its result says what was lost, so that the conversion can report it.

A dialect is a list of steps from the files beside this one: `schema_walk` (positions and references), `schema_merge`,
`schema_root`, `schema_rules`, `schema_openapi`, `schema_strict`. The table stands at the end.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from llmneutral.convert.schema_openapi import openapi_subset
from llmneutral.convert.schema_root import empty_object, no_root_keywords, object_root, wrap_root
from llmneutral.convert.schema_rules import (
    current_draft,
    drop,
    drop_asked,
    known_required,
    no_bare_requirements,
    no_slash_in_enums,
    null_collapsed,
    renamed_properties,
    required_everywhere,
    single_type,
    typed_branches,
    typed_everywhere,
    valid_shapes,
)
from llmneutral.convert.schema_strict import anthropic_output, openai_strict, without_added_nulls
from llmneutral.convert.schema_walk import Reduction, Schema, Step, downward, everywhere, join, refuse, with_children
from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.jsontext import not_json

__all__ = [
    "DIALECTS",
    "Reduced",
    "reduce_schema",
    "rename_keys_back",
    "strict_compile",
    "without_added_nulls",
    "wrap_root",
]

KEPT = 1024
"""Reductions that are kept."""

SAME_MEANING = "the schema is written in the form that this API takes, with the same meaning"
"""What is told of a schema in which a rule changed something that it has no words of its own for."""


class Reduced(msgspec.Struct, frozen=True):
    """A schema as an API takes it. It is shared between requests: change nothing in it.

    Attributes:
        schema: The schema.
        lost: Keywords whose meaning is not in it any more; for one Change of kind coerced.
        renamed: Property keys as they are sent, and what they were; `rename_keys_back` undoes it.
        notes: Sentences on what was written in another way without loss; for a Change of kind rewritten.
        strict: Whether it can be enforced; None where that was not asked.
    """

    schema: Schema
    lost: tuple[str, ...] = ()
    renamed: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    strict: bool | None = None


def reduce_schema(
    schema: Mapping[str, Any] | None,
    dialect: str,
    *,
    drops: tuple[str, ...] = (),
    numeric_enum: bool = True,
    enum_slash: bool = True,
) -> Reduced:
    """Write a schema in the dialect of an API.

    Args:
        schema: A JSON Schema; it is not changed. None and `{}` stand for no arguments.
        dialect: A key of `DIALECTS`.
        drops: Further keywords that this endpoint rejects (fact `schema_drops`).
        numeric_enum: Numbers may be enumerated (fact `numeric_enum`; matters for `gemini_openapi` only).
        enum_slash: Enumerated strings may hold a slash (fact `enum_slash`).

    Raises:
        ConversionError: If the schema cannot be sent; the message has the word schema and no name of a tool.
    """
    if not schema:
        return Reduced(empty_object()) if dialect not in OUTPUT_DIALECTS else Reduced({})
    return _reduced(_content(schema), dialect, drops, numeric_enum, enum_slash)


def strict_compile(schema: Mapping[str, Any] | None, dialect: str = "responses", **options: Any) -> Reduced:
    """Write a schema so that the provider enforces it (`strict: true`).

    Every object is closed and every property required; one that was optional may be null, and `without_added_nulls`
    takes such nulls out of the answer. A schema that cannot be written so stays as its dialect has it.

    Args:
        schema: A JSON Schema; it is not changed.
        dialect: The dialect it is written in else; Anthropic's and Bedrock's have a subset of their own.
        **options: As in `reduce_schema`.

    Returns:
        The schema, with `strict` saying whether it can be enforced, and a note that says why not.

    Raises:
        ConversionError: If the schema cannot be sent at all.
    """
    plain = reduce_schema(schema, dialect, **options)
    try:
        found = reduce_schema(plain.schema, STRICT.get(dialect, "openai_strict"))
    except ConversionError as error:
        return msgspec.structs.replace(plain, strict=False, notes=(*plain.notes, f"strict is off: {error.message}"))
    lost = tuple(dict.fromkeys([*plain.lost, *found.lost]))
    return Reduced(found.schema, lost, {**plain.renamed, **found.renamed}, (*plain.notes, *found.notes), strict=True)


def rename_keys_back(arguments: Any, renamed: Mapping[str, str]) -> Any:
    """Give the arguments of a call their original property keys, nested ones too.

    Args:
        arguments: What the model wrote; it is not changed.
        renamed: `Reduced.renamed`.
    """
    if not renamed:
        return arguments
    if isinstance(arguments, dict):
        return {renamed.get(key, key): rename_keys_back(value, renamed) for key, value in arguments.items()}
    if isinstance(arguments, list):
        return [rename_keys_back(value, renamed) for value in arguments]
    return arguments


# --- the way in -------------------------------------------------------------------------------------------------------

_AS_JSON = b"\xc1"
"""The one byte that MessagePack never begins with."""


def _content(schema: Mapping[str, Any]) -> bytes:
    """The schema as bytes, by which its reduction is kept: MessagePack, since JSON writes NaN and null alike."""
    if not isinstance(schema, Mapping):
        refuse(f"the schema is {a_kind(schema)}, not an object", hint="Give a JSON Schema as a dict.")
    try:
        content = _written(schema)
        if content not in _SOUND:  # a tool goes along with every request, and is looked at once
            _refuse_what_is_no_json(schema)
            _keep(content)
    except RecursionError:
        return refuse("the schema is nested too deeply, or holds itself")
    return content


def _written(schema: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.msgpack.encode(schema)
    except (UnicodeEncodeError, OverflowError):
        # Half a surrogate pair (what becomes of it is decided where texts are scrubbed), or a very large number.
        _refuse_what_is_no_json(schema)
        return _AS_JSON + json.dumps(schema).encode()
    except TypeError as error:
        _refuse_what_is_no_json(schema)
        return refuse(f"the schema holds what JSON cannot write: {error}")


def _keep(content: bytes) -> None:
    if len(_SOUND) >= KEPT:
        _SOUND.clear()
    _SOUND.add(content)


def _plain(content: bytes) -> Schema:
    """The schema again, in new containers."""
    schema: Schema = json.loads(content[1:]) if content[:1] == _AS_JSON else msgspec.msgpack.decode(content)
    return schema


def _refuse_what_is_no_json(schema: Mapping[str, Any]) -> None:
    if (found := not_json(schema)) is not None:
        what, place = found
        refuse(
            f"the schema holds {what}, at {place}", hint="A schema is plain JSON data: give lists, texts and numbers."
        )


_SOUND: set[bytes] = set()
"""Schemas that hold nothing but JSON, by their bytes."""


@functools.lru_cache(maxsize=KEPT)
def _reduced(content: bytes, dialect: str, drops: tuple[str, ...], numeric_enum: bool, enum_slash: bool) -> Reduced:
    step = DIALECTS.get(dialect)
    if step is None:
        raise ValueError(f"there is no schema dialect {dialect!r}; known are {', '.join(sorted(DIALECTS))}")
    reduction = Reduction(drops, numeric_enum, enum_slash)
    try:
        schema = step(_plain(content), reduction)
    except RecursionError:
        refuse("the schema is nested too deeply")
    if not (reduction.lost or reduction.renamed or reduction.notes) and bare(schema) != bare(_plain(content)):
        reduction.note(SAME_MEANING)
    return Reduced(schema, tuple(reduction.lost), reduction.renamed, tuple(reduction.notes))


def bare(schema: Schema) -> Schema:
    """Returns a schema without its empty `properties` and `required`, which say nothing: to add them is no change."""
    return with_children({key: value for key, value in schema.items() if key not in _SAY_NOTHING or value}, bare)


_SAY_NOTHING = ("properties", "required")


# --- the dialects -----------------------------------------------------------------------------------------------------


def _as_it_is(schema: Schema, reduction: Reduction) -> Schema:
    return schema


_sound = join(everywhere(current_draft), everywhere(valid_shapes))
_asked = join(everywhere(drop_asked), everywhere(no_slash_in_enums))
_plain_keys = renamed_properties(illegal=r"[^A-Za-z0-9_.-]", first=r"[A-Za-z0-9_.-]", longest=64)

_openai = join(_sound, object_root, no_root_keywords("enum", "not"), _asked)
_portable = join(
    _sound,
    object_root,
    everywhere(no_bare_requirements),
    everywhere(single_type),
    everywhere(known_required),
    _asked,
    _plain_keys,
)
_anthropic = join(_sound, object_root, everywhere(null_collapsed), _asked, _plain_keys)
_bedrock = join(_sound, object_root, _asked, _plain_keys)


def _without_slashes(schema: Schema, reduction: Reduction) -> Schema:
    reduction.enum_slash = False
    return everywhere(no_slash_in_enums)(schema, reduction)


def _something_required(schema: Schema, reduction: Reduction) -> Schema:
    """Cohere wants at least one required field in the schema of an answer."""
    properties = schema.get("properties")
    if schema.get("required") or not properties:
        return schema
    reduction.note("every property of the answer is required, for this API wants some to be")
    return {**schema, "required": list(properties)}


DIALECTS: dict[str, Step] = {
    # Tools
    "chat": _openai,
    "json_schema": _openai,
    "responses": _openai,
    "mistral": _openai,
    "portable": _portable,
    "llama_cpp": join(_portable, everywhere(drop("pattern", "format"))),
    "xai": join(_openai, _without_slashes),
    "kimi": join(_portable, downward(typed_branches), everywhere(typed_everywhere), everywhere(required_everywhere)),
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "cohere": join(_sound, object_root, everywhere(no_bare_requirements), everywhere(known_required)),
    "gemini_json_schema": _as_it_is,
    "gemini_openapi": join(_sound, object_root, openapi_subset),
    "openapi": join(_sound, object_root, openapi_subset),
    # Answers: any root, unless the API says otherwise
    "anthropic_output": join(_sound, anthropic_output),
    "bedrock_output": join(_sound, anthropic_output),
    "cohere_output": join(_sound, object_root, everywhere(known_required), _something_required),
    "gemini_json_schema_output": _as_it_is,
    "gemini_openapi_output": join(_sound, openapi_subset),
    "openai_strict": join(_sound, openai_strict),
}
"""How an API wants schemas; the values of the fact `schema` are among the keys."""

OUTPUT_DIALECTS = frozenset(name for name in DIALECTS if name.endswith("_output"))

STRICT = {"anthropic": "anthropic_output", "bedrock": "bedrock_output"}
"""The dialect that a provider enforces, where it is not OpenAI's."""
