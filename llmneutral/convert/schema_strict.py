"""Schemas that a provider enforces while the model writes: what may stand in them is less than JSON Schema.

Sources: https://developers.openai.com/api/docs/guides/structured-outputs (supported schemas), `openai.lib._pydantic`;
https://platform.claude.com/docs/en/build-with-claude/structured-outputs (JSON Schema limitations),
`anthropic.lib._parse._transform`. As Anthropic's own helper does, a constraint that cannot be enforced is written into
the description, so that the model may still follow it; whether it did is checked on our side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from llmneutral.convert.schema_merge import dereferenced, merge_all_of, types_of
from llmneutral.convert.schema_rules import is_null, one_of_to_any_of, tuples_to_items
from llmneutral.convert.schema_walk import (
    BY_NAME,
    IN_LIST,
    IN_PLACE,
    LIMIT,
    Reduction,
    Rule,
    Schema,
    Step,
    definition_name,
    everywhere,
    find_recursion,
    join,
    refuse,
    with_children,
)

__all__ = ["anthropic_output", "openai_strict", "without_added_nulls"]

COMMON = frozenset(
    {
        "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum", "format",
        "items", "minItems", "properties", "required", "title", "type",
    }
)  # fmt: skip
ANTHROPIC_KEYWORDS = COMMON | {"default"}
OPENAI_KEYWORDS = COMMON | {
    "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maximum", "minimum", "multipleOf", "pattern",
}  # fmt: skip

OPENAI_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
ANTHROPIC_FORMATS = OPENAI_FORMATS | {"uri"}

IN_WORDS = frozenset(
    {
        "contains", "exclusiveMaximum", "exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength", "maximum",
        "minContains", "minItems", "minLength", "minimum", "multipleOf", "not", "pattern", "uniqueItems",
    }
)  # fmt: skip
"""Lost constraints that are worth a word to the model."""

CLOSED = "its objects take no further properties (additionalProperties: false)"


# --- rules ------------------------------------------------------------------------------------------------------------


def _only(keywords: frozenset[str], formats: frozenset[str]) -> Rule:
    """A rule that leaves these keywords, and says what else constrains in the description."""

    def rule(node: Schema, reduction: Reduction) -> Schema:
        gone = {key: value for key, value in node.items() if key not in keywords}
        if "format" in node and node["format"] not in formats:
            gone["format"] = node["format"]
        kept = {key: value for key, value in node.items() if key not in gone}
        return _in_words(kept, gone, reduction)

    return rule


def _in_words(kept: Schema, gone: dict[str, Any], reduction: Reduction) -> Schema:
    reduction.lose(*gone)
    said = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in gone.items() if key in IN_WORDS]
    if not said:
        return kept
    text = f"{{{', '.join(said)}}}"
    before = kept.get("description")
    return {**kept, "description": f"{before}\n\n{text}" if isinstance(before, str) and before else text}


def _few_items(node: Schema, reduction: Reduction) -> Schema:
    """Of a least number of items only 0 and 1 can be enforced (Anthropic)."""
    least = node.get("minItems")
    if not isinstance(least, int) or least in (0, 1):
        return node
    return _in_words({**node, "minItems": 1}, {"minItems": least}, reduction)


def _primitive_enum(node: Schema, reduction: Reduction) -> Schema:
    """Of values only texts, numbers, true, false and null can be enumerated."""
    complex_ones = [key for key in ("enum", "const") if isinstance(node.get(key), (dict, list))]
    values = node.get("enum")
    if isinstance(values, list) and not any(isinstance(value, (dict, list)) for value in values):
        complex_ones = [key for key in complex_ones if key != "enum"]
    reduction.lose(*complex_ones)
    return {key: value for key, value in node.items() if key not in complex_ones} if complex_ones else node


def _lone_ref(node: Schema, reduction: Reduction) -> Schema:
    """Let a reference stand alone; a description beside it stays, around a union of one."""
    if "$ref" not in node or len(node) == 1:
        return node
    reduction.lose(*[key for key in node if key not in ("$ref", "description", "title", "$defs", "definitions")])
    beside: Schema = {key: node[key] for key in ("description", "$defs", "definitions") if key in node}
    return {"anyOf": [{"$ref": node["$ref"]}], **beside} if beside else {"$ref": node["$ref"]}


def _closed(node: Schema, reduction: Reduction) -> Schema:
    if not _is_object(node):
        return node
    if node.get("additionalProperties") is not False:
        reduction.note(CLOSED)
    return {**node, "properties": node.get("properties", {}), "additionalProperties": False}


def _all_required(node: Schema, reduction: Reduction) -> Schema:
    """Require every property; those that were optional may be null instead."""
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return node
    required = node.get("required", ())
    if optional := [name for name in properties if name not in required]:
        reduction.note(f"{', '.join(optional)} must be written, and may be null where left out before")
    made = {name: schema if name in required else _or_null(schema) for name, schema in properties.items()}
    complete = len(required) == len(properties) == len(made.keys() & set(required))
    return {**node, "properties": made, "required": list(required if complete else properties)}


def _or_null(schema: Schema) -> Schema:
    kinds, values = types_of(schema), schema.get("enum")
    if "anyOf" in schema:
        branches = schema["anyOf"]
        return (
            schema
            if any(is_null(branch) for branch in branches)
            else {**schema, "anyOf": [*branches, {"type": "null"}]}
        )
    if "null" in kinds or is_null(schema):
        return schema
    if not kinds or "const" in schema:
        said = {key: schema[key] for key in ("description",) if key in schema}
        return {"anyOf": [{key: schema[key] for key in schema if key not in said}, {"type": "null"}], **said}
    made = {**schema, "type": [*kinds, "null"]}
    return {**made, "enum": [*values, None]} if isinstance(values, list) and None not in values else made


def _is_object(node: Schema) -> bool:
    return "object" in types_of(node) or (not types_of(node) and "properties" in node)


# --- what cannot be said ----------------------------------------------------------------------------------------------


def _placed(node: Any, path: str) -> Iterator[tuple[str, Schema]]:
    """Every node with its place, written as in a message."""
    if not isinstance(node, dict):
        return
    yield path, node
    for key, value in node.items():
        if key in BY_NAME and isinstance(value, dict):
            for name, schema in value.items():
                yield from _placed(schema, f"{path}.{name}" if path and key == "properties" else name)
        elif key in IN_PLACE and isinstance(value, dict):
            yield from _placed(value, f"{path}[]" if key == "items" else path)
        elif key in IN_LIST and isinstance(value, list):
            for schema in value:
                yield from _placed(schema, path)


def _place(path: str) -> str:
    return repr(path) if path else "its root"


def _without_open_maps(true_is_open: bool) -> Step:
    """A step that refuses objects of any keys: closed, they would be empty, and that in silence."""

    def step(schema: Schema, reduction: Reduction) -> Schema:
        for path, node in _placed(schema, ""):
            more = node.get("additionalProperties")
            if _is_object(node) and (
                (isinstance(more, dict) and more != {})
                or (more in (True, {}) and true_is_open)
                or ("properties" not in node and more is not False)
                or "patternProperties" in node
            ):
                refuse(
                    f"the schema has an object of any keys at {_place(path)}, which cannot be enforced",
                    hint="Name its properties, or do not ask for strict or native output.",
                    rule=LIMIT,
                )
            if _is_object(node) and more in (True, {}):
                reduction.lose("additionalProperties")
        return schema

    return step


def _without_untyped(schema: Schema, reduction: Reduction) -> Schema:
    for path, node in _placed(schema, ""):
        if not {"type", "anyOf", "$ref", "enum", "const"} & set(node):
            refuse(
                f"the schema says no type at {_place(path)}, which cannot be enforced",
                hint="Give it a type, or do not ask for strict or native output.",
                rule=LIMIT,
            )
    return schema


def _without_recursion(schema: Schema, reduction: Reduction) -> Schema:
    ref = find_recursion(schema)
    if ref is not None:
        refuse(
            f"the schema is recursive: the definition {definition_name(ref)!r} refers to itself, and this API enforces "
            "no such schema",
            hint="Ask for the answer by a tool: structured_output_strategy='tool'.",
            rule=LIMIT,
        )
    return schema


def _without_all_of(schema: Schema, reduction: Reduction) -> Schema:
    def visit(node: Schema) -> Schema:
        return with_children(merge_all_of(node, schema, reduction), visit)

    return visit(schema)


def _refs_resolved_beside_others(schema: Schema, reduction: Reduction) -> Schema:
    """OpenAI takes nothing beside `$ref`: what it stands for is written out once, as the official SDK does."""

    def visit(node: Schema, trail: tuple[str, ...]) -> Schema:
        ref = node.get("$ref")
        if isinstance(ref, str) and len(node) > 1:
            found = dereferenced(node, schema, reduction) if ref not in trail else None
            node, trail = (found, (*trail, ref)) if isinstance(found, dict) else (_lone_ref(node, reduction), trail)
        return with_children(node, lambda child: visit(child, trail))

    return visit(schema, ())


anthropic_output: Step = join(
    _without_recursion,
    _without_all_of,
    everywhere(one_of_to_any_of),
    everywhere(tuples_to_items),
    _without_open_maps(true_is_open=False),
    everywhere(_primitive_enum),
    everywhere(_only(ANTHROPIC_KEYWORDS, ANTHROPIC_FORMATS)),
    everywhere(_few_items),
    everywhere(_lone_ref),
    everywhere(_closed),
    _without_untyped,
)
"""The subset of `output_config.format`, of strict tools on Messages, and of Bedrock's `outputConfig.textFormat`."""

openai_strict: Step = join(
    _without_all_of,
    _refs_resolved_beside_others,
    everywhere(one_of_to_any_of),
    everywhere(tuples_to_items),
    _without_open_maps(true_is_open=True),
    everywhere(_only(OPENAI_KEYWORDS, OPENAI_FORMATS)),
    everywhere(_closed),
    _without_untyped,
    everywhere(_all_required),
)
"""The subset of `strict: true`; `default` is not among its keywords, since every property is written."""


# --- the way back -----------------------------------------------------------------------------------------------------


def without_added_nulls(value: Any, schema: Schema) -> Any:
    """Take out of an answer the nulls that stand for "not given".

    Under a strict schema a model writes every property, and null for one that was optional. Where the original schema
    does not allow null there, the property is left out, as it would have been without strict.

    Args:
        value: The arguments or the answer; it is not changed.
        schema: The schema before it was compiled.

    Returns:
        The value; the same object where nothing was to be taken out.
    """
    return _without_nulls(value, schema, schema)


def _without_nulls(value: Any, node: Any, root: Schema) -> Any:
    node = _target(node, root)
    if not isinstance(node, dict):
        return value
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in node.get(keyword, ()):
            if _fits(value, _target(branch, root)):
                value = _without_nulls(value, branch, root)
                if keyword != "allOf":
                    break
    if isinstance(value, list):
        return _entries_without_nulls(value, node, root)
    properties, required = node.get("properties"), node.get("required", ())
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    kept = {
        name: _without_nulls(entry, properties.get(name), root)
        for name, entry in value.items()
        if entry is not None or name in required or name not in properties or _takes_null(properties[name], root, 0)
    }
    same = len(kept) == len(value) and all(kept[name] is entry for name, entry in value.items())
    return value if same else kept


def _entries_without_nulls(value: list[Any], node: Schema, root: Schema) -> list[Any]:
    listed = node.get("prefixItems", [])
    kept = [
        _without_nulls(entry, listed[place] if place < len(listed) else node.get("items"), root)
        for place, entry in enumerate(value)
    ]
    return value if all(one is two for one, two in zip(kept, value, strict=True)) else kept


def _target(node: Any, root: Schema) -> Any:
    return dereferenced(node, root, Reduction()) if isinstance(node, dict) and "$ref" in node else node


def _fits(value: Any, branch: Any) -> bool:
    """Whether a branch of a union may be the one that was meant."""
    if not isinstance(branch, dict):
        return False
    if isinstance(value, dict):
        known = branch.get("properties", {})
        return (not types_of(branch) or "object" in types_of(branch)) and (not known or set(value) <= set(known))
    return isinstance(value, list) and (not types_of(branch) or "array" in types_of(branch))


def _takes_null(node: Any, root: Schema, depth: int) -> bool:
    node = _target(node, root)
    if not isinstance(node, dict) or depth > 16:
        return node is not False
    if "enum" in node and None not in node["enum"]:
        return False
    if "const" in node and node["const"] is not None:
        return False
    kinds = types_of(node)
    if kinds and "null" not in kinds:
        return node.get("nullable") is True
    for keyword in ("anyOf", "oneOf"):
        if keyword in node and not any(_takes_null(branch, root, depth + 1) for branch in node[keyword]):
            return False
    return all(_takes_null(branch, root, depth + 1) for branch in node.get("allOf", ()))
