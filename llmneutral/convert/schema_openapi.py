"""Gemini's `Schema`: the part of OpenAPI 3.0 that `parameters` and `responseSchema` take.

One type per node, null as `nullable`, no references, no `oneOf`, `allOf` or `const`, enums of strings, and a fixed list
of fields. Sources: google-genai `types.Schema`; https://ai.google.dev/api/caching#Schema. Where a model reads JSON
Schema (`parametersJsonSchema`), nothing of this is needed.
"""

from __future__ import annotations

import json
from typing import Any

from llmneutral.convert.schema_merge import merge, merge_all_of, types_of
from llmneutral.convert.schema_rules import (
    implied_type,
    known_required,
    no_bare_requirements,
    one_of_to_any_of,
    only_branch,
    renamed_properties,
    split_types,
    tuples_to_items,
    value_type,
    without_null,
    without_null_value,
)
from llmneutral.convert.schema_walk import Reduction, Schema, Step, everywhere, inline_refs, join, with_children

__all__ = ["openapi_subset"]

FIELDS = (
    "type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "anyOf",
    "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum",
    "default", "example", "propertyOrdering",
)  # fmt: skip
"""The fields of google-genai's `types.Schema`."""

BESIDE_UNION = frozenset({"anyOf", "description", "nullable"})
ANNOTATIONS = frozenset({"default", "example", "examples", "title", "$comment"})
STRING_FORMATS = frozenset({"date-time", "enum"})
"""Error text: "only 'enum' and 'date-time' are supported for STRING type"."""


def _inlined(schema: Schema, reduction: Reduction) -> Schema:
    return inline_refs(schema, reduction, merge)


def _all_of_merged(node: Schema, reduction: Reduction) -> Schema:
    return merge_all_of(node, node, reduction)


def _dict_branches(node: Schema, reduction: Reduction) -> Schema:
    """A schema may be `true` or `false` in JSON Schema, never here."""

    def plain(value: Any) -> Any:
        if value is False:
            reduction.lose("false")
        return {} if isinstance(value, bool) else value

    changed = dict(node)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        if isinstance(node.get(key), list):
            changed[key] = [plain(branch) for branch in node[key]]
    if isinstance(node.get("properties"), dict):
        changed["properties"] = {name: plain(schema) for name, schema in node["properties"].items()}
    if isinstance(node.get("items"), bool):
        changed["items"] = plain(node["items"])
    return node if changed == node else changed


def _const_as_enum(node: Schema, reduction: Reduction) -> Schema:
    if "const" not in node:
        return node
    value = node["const"]
    rest = {key: entry for key, entry in node.items() if key not in ("const", "enum")}
    return {"type": "null", **rest} if value is None else {**rest, "enum": [value]}


def _null_as_nullable(node: Schema, reduction: Reduction) -> Schema:
    """Say null as `nullable`, whether it stood among the types, the branches or the values."""
    if isinstance(node.get("anyOf"), list):
        rest, nulls = without_null(node, "anyOf")
        if len(rest) == 1 and isinstance(rest[0], dict):
            beside = {key: value for key, value in node.items() if key != "anyOf"}
            one = only_branch(node, "anyOf", rest[0]) if nulls else merge(rest[0], beside, reduction)
            return {**one, "nullable": True} if nulls else one
        if nulls and rest:
            node = {**node, "anyOf": rest, "nullable": True}
            if "default" in node and node["default"] is None:
                del node["default"]
    kinds = types_of(node)
    if "null" in kinds and len(kinds) > 1:
        node = {**without_null_value(node), "nullable": True}
    values = node.get("enum")
    if isinstance(values, list) and None in values and len(values) > 1:
        node = {**node, "enum": [value for value in values if value is not None], "nullable": True}
        if "default" in node and node["default"] is None:
            del node["default"]
    return split_types(node) if isinstance(node.get("type"), list) else node


def _string_enum(node: Schema, reduction: Reduction) -> Schema:
    """Write an enum as strings; the type stays what it was, or is taken from the values."""
    values = node.get("enum")
    if not isinstance(values, list):
        return node
    kind = node.get("type") or value_type(values)
    if kind not in ("string", "integer", None) or any(isinstance(value, (dict, list)) for value in values):
        return _enum_in_words({"type": kind, **node} if kind else node, reduction)
    if kind is None or any(value == "" for value in values) or any(isinstance(value, bool) for value in values):
        reduction.lose("enum")
    if kind == "integer" and not reduction.numeric_enum:
        return _enum_in_words({"type": kind, **node}, reduction)
    texts = list(dict.fromkeys(value if isinstance(value, str) else json.dumps(value) for value in values))
    written = [text for text in texts if text]
    rest = {"type": kind or "string", **node}
    return {**rest, "enum": written} if written else {key: rest[key] for key in rest if key != "enum"}


def _enum_in_words(node: Schema, reduction: Reduction) -> Schema:
    """Say the values in the description where they cannot be enumerated."""
    reduction.lose("enum")
    words = f"One of: {', '.join(json.dumps(value, ensure_ascii=False) for value in node['enum'])}."
    said = node.get("description")
    rest = {key: value for key, value in node.items() if key != "enum"}
    return {**rest, "description": f"{said} {words}" if isinstance(said, str) and said else words}


def _lone_any_of(node: Schema, reduction: Reduction) -> Schema:
    """Leave only description and nullable beside `anyOf`: what constrains goes into the branches, the rest is lost."""
    branches = node.get("anyOf")
    if not isinstance(branches, list):
        return node
    constraints = {key: value for key, value in node.items() if key not in BESIDE_UNION | ANNOTATIONS}
    reduction.lose(*[key for key in node if key in ANNOTATIONS])
    if constraints:
        branches = [merge(constraints, branch, reduction) for branch in branches]
    return {**{key: value for key, value in node.items() if key in BESIDE_UNION}, "anyOf": branches}


def _typed(node: Schema, reduction: Reduction) -> Schema:
    kind = None if {"type", "anyOf"} & set(node) else implied_type(node)
    return {"type": kind, **node} if kind else node


def _known_fields(node: Schema, reduction: Reduction) -> Schema:
    kept = {key: value for key, value in node.items() if key in FIELDS}
    if node.get("type") == "string" and kept.get("format", "enum") not in STRING_FORMATS:
        del kept["format"]
    gone = [key for key in node if key not in kept]
    if node.get("additionalProperties") in (True, {}):  # the default: nothing is lost
        gone.remove("additionalProperties")
    reduction.lose(*gone)
    if kept.get("type") == "array" and not isinstance(kept.get("items"), dict):
        kept["items"] = {}
    return kept if len(kept) != len(node) or gone else node


def _only_subschemas_of_fields(schema: Schema, reduction: Reduction) -> Schema:
    """Drop the fields from the top down, so that nothing is reported of what goes anyway."""

    def visit(node: Schema) -> Schema:
        return with_children(_known_fields(node, reduction), visit)

    return visit(schema)


openapi_subset: Step = join(
    _inlined,
    everywhere(_dict_branches),
    everywhere(_all_of_merged),
    everywhere(_const_as_enum),
    everywhere(one_of_to_any_of),
    everywhere(no_bare_requirements),
    everywhere(tuples_to_items),
    everywhere(_null_as_nullable),
    everywhere(_string_enum),
    everywhere(_lone_any_of),
    everywhere(_typed),
    _only_subschemas_of_fields,
    everywhere(known_required),
    renamed_properties(illegal=r"[^A-Za-z0-9_]", first=r"[A-Za-z_]", longest=64),
)
"""JSON Schema to Gemini's Schema, in this order."""
