"""Two schemas that must both hold, made one: what `allOf` means, and what stands beside a `$ref`.

This file knows no dialect. Nothing here changes its input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmneutral.convert.schema_walk import Reduction, Schema, definition_name, refuse, resolve

__all__ = ["dereferenced", "merge", "merge_all_of", "same_or_union", "types_of"]

MAX_CHAIN = 32


def types_of(node: Schema) -> tuple[str, ...]:
    """The types a node names; empty where it names none."""
    kinds = node.get("type")
    if isinstance(kinds, str):
        return (kinds,)
    return tuple(kind for kind in kinds if isinstance(kind, str)) if isinstance(kinds, list) else ()


def dereferenced(node: Any, root: Schema, reduction: Reduction) -> Any:
    """The node with a reference at its top replaced by what it stands for; inner references stay.

    Raises:
        ConversionError: If the reference leads nowhere, or only to itself.
    """
    for _ in range(MAX_CHAIN):
        if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
            return node
        ref = node["$ref"]
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        target = resolve(root, ref)
        if not isinstance(target, dict):
            return target
        node = merge(target, siblings, reduction) if siblings else target
    return refuse(f"the schema is recursive: the definition {definition_name(ref)!r} is nothing but itself")


def merge(first: Schema, second: Schema, reduction: Reduction) -> Schema:
    """Return a schema that asks for both; of annotations the second one's stand."""
    merged = dict(first)
    for key, value in second.items():
        if key not in merged or merged[key] == value:
            merged[key] = value
        else:
            merged[key] = BOTH.get(key, _second)(merged[key], value, reduction)
    if _closes_out(first, second) or _closes_out(second, first):
        reduction.lose("additionalProperties")
    return merged


def _closes_out(one: Schema, other: Schema) -> bool:
    """Whether one schema forbids or constrains properties that only the other names; merged, they are its own."""
    if one.get("additionalProperties", True) in (True, {}):
        return False
    return bool(set(other.get("properties", ())) - set(one.get("properties", ())))


def merge_all_of(node: Schema, root: Schema, reduction: Reduction) -> Schema:
    """Return the node without `allOf`, its parts merged into it; references among them are followed."""
    parts = node.get("allOf")
    if not isinstance(parts, list):
        return node
    merged: Schema = {}
    for part in parts:
        found = dereferenced(part, root, reduction)
        if isinstance(found, dict):
            merged = merge(merged, merge_all_of(found, root, reduction), reduction)
        elif found is False:
            reduction.lose("allOf")
    own = {key: value for key, value in node.items() if key != "allOf"}
    return merge(merged, own, reduction)


def same_or_union(schemas: list[Any]) -> Any:
    """One schema for a property that several branches define: itself if they agree, one enum, or a union."""
    distinct: list[Any] = []
    for schema in schemas:
        if schema not in distinct:
            distinct.append(schema)
    if len(distinct) == 1:
        return distinct[0]
    values: list[Any] = []
    for schema in distinct:
        listed = _values_only(schema)
        if listed is None:
            return {"anyOf": distinct}
        values += [value for value in listed if value not in values]
    kinds = list(dict.fromkeys(kind for schema in distinct for kind in types_of(schema)))
    return {**({"type": kinds[0]} if len(kinds) == 1 else {}), "enum": values}


def _values_only(schema: Any) -> list[Any] | None:
    """The values of a schema that only lists values, as the discriminator of a union does."""
    if not isinstance(schema, dict) or not set(schema) <= {"const", "enum", "type", "title", "description", "default"}:
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _second(_first: Any, second: Any, _reduction: Reduction) -> Any:
    return second


def _properties(first: Any, second: Any, reduction: Reduction) -> Any:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first if isinstance(first, dict) else second
    both = dict(first)
    for name, schema in second.items():
        both[name] = _schemas(both[name], schema, reduction) if name in both else schema
    return both


def _schemas(first: Any, second: Any, reduction: Reduction) -> Any:
    """`True` asks for nothing and `False` for the impossible."""
    if first is True or second is False:
        return second
    if second is True or first is False:
        return first
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first
    if "$ref" in first or "$ref" in second:
        return first if first == second else {"allOf": [first, second]}
    return merge(first, second, reduction)


def _names(first: Any, second: Any, _reduction: Reduction) -> Any:
    if not isinstance(first, list) or not isinstance(second, list):
        return first if isinstance(first, list) else second
    return first + [name for name in second if name not in first]


def _common(first: Any, second: Any, reduction: Reduction) -> Any:
    """What both allow: of types or of enumerated values."""
    one = first if isinstance(first, list) else [first]
    two = second if isinstance(second, list) else [second]
    common = [value for value in one if value in two or (value == "integer" and "number" in two)]
    common += [value for value in two if value == "integer" and "number" in one and value not in common]
    if not common:
        reduction.lose("allOf")
        return first
    return common[0] if len(common) == 1 and not (isinstance(first, list) and isinstance(second, list)) else common


def _bound(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Reduction], Any]:
    def both(first: Any, second: Any, _reduction: Reduction) -> Any:
        try:
            return choose(first, second)
        except TypeError:
            return first

    return both


def _first_only(first: Any, _second: Any, reduction: Reduction) -> Any:
    reduction.lose("allOf")
    return first


BOTH: dict[str, Callable[[Any, Any, Reduction], Any]] = {
    "$defs": _properties,
    "definitions": _properties,
    "properties": _properties,
    "patternProperties": _properties,
    "items": _schemas,
    "additionalProperties": _schemas,
    "required": _names,
    "type": _common,
    "enum": _common,
    **dict.fromkeys(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"], _bound(max)),
    **dict.fromkeys(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"], _bound(min)),
    **dict.fromkeys(["anyOf", "oneOf", "not", "if", "then", "else", "const", "pattern", "multipleOf"], _first_only),
}
"""How two values of one keyword become one that asks for both; of any other keyword the second stands."""
