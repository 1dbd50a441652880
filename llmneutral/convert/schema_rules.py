"""Rules for one node of a schema, each for one habit of one kind of endpoint.

A rule takes a node whose inner nodes are done, and returns what becomes of it; what is lost it reports. Which target
needs which rules, and in which order, says the table in `schema.py`. Nothing here changes its input.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from llmneutral.convert.schema_merge import types_of
from llmneutral.convert.schema_walk import Reduction, Rule, Schema, Step, nodes, refuse, with_children

__all__ = [
    "current_draft",
    "drop",
    "drop_asked",
    "known_required",
    "no_bare_requirements",
    "no_slash_in_enums",
    "null_collapsed",
    "one_of_to_any_of",
    "renamed_properties",
    "required_everywhere",
    "single_type",
    "tuples_to_items",
    "typed_branches",
    "typed_everywhere",
    "valid_shapes",
    "value_type",
]

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

SHAPES: dict[str, type | tuple[type, ...]] = {
    "$defs": dict,
    "additionalProperties": (bool, dict),
    "allOf": list,
    "anyOf": list,
    "definitions": dict,
    "enum": list,
    "items": (bool, dict, list),
    "oneOf": list,
    "patternProperties": dict,
    "prefixItems": list,
    "properties": dict,
    "required": list,
}
"""What the value of a keyword must be; lists of schemas must not be empty."""

FOR_TYPE: dict[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset(
        {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
    ),
    "object": frozenset(
        {
            "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
            "maxProperties", "dependentRequired", "dependentSchemas", "propertyOrdering",
        }
    ),
}  # fmt: skip
"""Keywords that say something of one type only; a number's serve integers too."""

_BARE = frozenset({"description", "not", "required", "title"})
"""What a branch holds that only says what must be given."""

LIMITS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


# --- older drafts, and what is no schema ------------------------------------------------------------------------------


def current_draft(node: Schema, reduction: Reduction) -> Schema:
    """Write in draft 2020-12 what older drafts and OpenAPI wrote in another way; the meaning stays.

    Anthropic answers 400 to `exclusiveMinimum: true` and the like, others ignore it.
    """
    changed = dict(node)
    for change in (_exclusive_bounds, _listed_items, _hoisted_required, _nullable, _lower_case_types):
        change(changed)
    if changed == node and list(changed) == list(node):
        return node
    reduction.note("what older drafts of JSON Schema or OpenAPI write in another way was written as in draft 2020-12")
    return changed


def _exclusive_bounds(node: Schema) -> None:
    for exclusive, inclusive in LIMITS.items():
        if isinstance(node.get(exclusive), bool) and node.pop(exclusive) and inclusive in node:
            node[exclusive] = node.pop(inclusive)


def _listed_items(node: Schema) -> None:
    if isinstance(node.get("items"), list):
        listed = node.pop("items")
        if listed:
            node["prefixItems"] = listed
        if "additionalItems" in node:
            node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)


def _hoisted_required(node: Schema) -> None:
    """Draft 3 says `required: true` in the property itself."""
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return
    flags = {
        name: schema["required"]
        for name, schema in properties.items()
        if isinstance(schema, dict) and isinstance(schema.get("required"), bool)
    }
    if flags:
        node["properties"] = {
            name: {key: value for key, value in schema.items() if key != "required"} if name in flags else schema
            for name, schema in properties.items()
        }
    marked = [name for name, flag in flags.items() if flag]
    if marked:
        listed = node.get("required")
        listed = listed if isinstance(listed, list) else []
        node["required"] = [*listed, *[name for name in marked if name not in listed]]


def _nullable(node: Schema) -> None:
    """OpenAPI 3.0 says `nullable: true` beside the type."""
    if not isinstance(node.get("nullable"), bool) or not node.pop("nullable"):
        return
    kinds = list(types_of(node))
    if kinds:
        node["type"] = kinds if "null" in kinds else [*kinds, "null"]
    elif isinstance(node.get("anyOf"), list):
        if {"type": "null"} not in node["anyOf"]:
            node["anyOf"] = [*node["anyOf"], {"type": "null"}]
    elif "$ref" in node:
        node["anyOf"] = [{"$ref": node.pop("$ref")}, {"type": "null"}]
    if isinstance(node.get("enum"), list) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]


def _lower_case_types(node: Schema) -> None:
    kinds = node.get("type")
    if isinstance(kinds, str) and kinds not in TYPES and kinds.lower() in TYPES:
        node["type"] = kinds.lower()
    elif kinds == "any":
        del node["type"]


def valid_shapes(node: Schema, reduction: Reduction) -> Schema:
    """Drop keywords whose value JSON Schema does not allow; a type it does not know is an error.

    Raises:
        ConversionError: If there is such a type.
    """
    kinds = node.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in TYPES:
            refuse(f"the schema has the type {kind!r}, which is none of {', '.join(sorted(TYPES))}")
    wrong = [key for key, shape in SHAPES.items() if key in node and not _has_shape(key, node[key], shape)]
    if not wrong:
        return node
    reduction.lose(*wrong)
    kept = {key: value for key, value in node.items() if key not in wrong}
    return {**kept, "properties": {}} if "properties" in wrong else kept


def _has_shape(key: str, value: Any, shape: type | tuple[type, ...]) -> bool:
    if not isinstance(value, shape):
        return False
    return bool(value) or key not in ("allOf", "anyOf", "oneOf", "enum", "prefixItems")


# --- keywords ---------------------------------------------------------------------------------------------------------


def drop(*keywords: str) -> Rule:
    """A rule that drops keywords."""

    def rule(node: Schema, reduction: Reduction) -> Schema:
        found = [keyword for keyword in keywords if keyword in node]
        reduction.lose(*found)
        return {key: value for key, value in node.items() if key not in found} if found else node

    return rule


def drop_asked(node: Schema, reduction: Reduction) -> Schema:
    """Drop what this endpoint is known to reject (fact `schema_drops`)."""
    return drop(*reduction.drops)(node, reduction)


def no_slash_in_enums(node: Schema, reduction: Reduction) -> Schema:
    """Drop an enum with a slash in a value where the endpoint rejects it (fact `enum_slash`; xAI)."""
    values = None if reduction.enum_slash else node.get("enum")
    if isinstance(values, list) and any(isinstance(value, str) and "/" in value for value in values):
        return drop("enum")(node, reduction)
    return node


# --- types and unions -------------------------------------------------------------------------------------------------


def value_type(values: list[Any]) -> str | None:
    """The one type that all values have, null aside where there are others; None where there is none."""
    kinds = {_type_of(value) for value in values if value is not None} or {"null"}
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else None


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    names = {float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def is_null(branch: Any) -> bool:
    """Whether a branch of a union allows null and nothing else."""
    if not isinstance(branch, dict):
        return False
    if types_of(branch) == ("null",):
        return True
    return ("const" in branch and branch["const"] is None) or branch.get("enum") == [None]


def without_null(node: Schema, keyword: str) -> tuple[list[Any], bool]:
    """The branches of a union that are not null, and whether there was one that is."""
    branches = node[keyword]
    rest = [branch for branch in branches if not is_null(branch)]
    return rest, len(rest) != len(branches)


def only_branch(node: Schema, keyword: str, branch: Schema) -> Schema:
    """The node with its union replaced by the one branch that is left; what stood beside the union stays.

    A default of null goes, for null is no longer among the values.
    """
    siblings = {key: value for key, value in node.items() if key != keyword}
    if "default" in siblings and siblings["default"] is None:
        del siblings["default"]
    return {**branch, **siblings}


def null_collapsed(node: Schema, reduction: Reduction) -> Schema:
    """Let a union of one type and null be the type; larger unions stay (Anthropic)."""
    for keyword in ("anyOf", "oneOf"):
        if isinstance(node.get(keyword), list):
            rest, nulls = without_null(node, keyword)
            if nulls and len(rest) == 1 and isinstance(rest[0], dict):
                reduction.lose("null")
                node = only_branch(node, keyword, rest[0])
    return node


def single_type(node: Schema, reduction: Reduction) -> Schema:
    """Let `type` be one word: null goes, several others become a union of one each."""
    kinds = node.get("type")
    if not isinstance(kinds, list):
        return node
    if "null" in kinds and len(kinds) > 1:
        reduction.lose("null")
        node = without_null_value(node)
    return split_types(node)


def without_null_value(node: Schema) -> Schema:
    """The node with null no longer among its types, its enumerated values and as its default."""
    node = {**node, "type": [kind for kind in types_of(node) if kind != "null"]}
    if isinstance(node.get("enum"), list) and None in node["enum"]:
        node["enum"] = [value for value in node["enum"] if value is not None]
    if "default" in node and node["default"] is None:
        del node["default"]
    return node


def split_types(node: Schema) -> Schema:
    """The node with several types written as a union of one type each, every keyword in the branches it speaks of."""
    kinds = types_of(node)
    if len(kinds) == 1:
        return {**node, "type": kinds[0]}
    if "anyOf" in node:
        return {key: value for key, value in node.items() if key != "type"}
    special = frozenset({"type", "enum"}).union(*FOR_TYPE.values())
    whole = {key: value for key, value in node.items() if key not in special}
    return {**whole, "anyOf": [_branch_of(node, kind) for kind in kinds]}


def _branch_of(node: Schema, kind: str) -> Schema:
    own = FOR_TYPE.get("number" if kind == "integer" else kind, frozenset())
    branch = {"type": kind, **{key: value for key, value in node.items() if key in own}}
    values = [value for value in node.get("enum", ()) if _type_of(value) == kind]
    return {**branch, "enum": values} if values else branch


def one_of_to_any_of(node: Schema, reduction: Reduction) -> Schema:
    """Write `oneOf` as `anyOf`: that only one branch may fit is not said, and hardly ever meant."""
    if not isinstance(node.get("oneOf"), list):
        return node
    if "anyOf" in node:
        return drop("oneOf")(node, reduction)
    return {"anyOf" if key == "oneOf" else key: value for key, value in node.items() if key != "discriminator"}


def tuples_to_items(node: Schema, reduction: Reduction) -> Schema:
    """Let an array with a schema for each place have one for all of them: the union."""
    listed = node.get("prefixItems")
    if not isinstance(listed, list):
        return node
    reduction.lose("prefixItems")
    kept = {key: value for key, value in node.items() if key != "prefixItems"}
    every = [*listed, *([kept["items"]] if isinstance(kept.get("items"), dict) else [])]
    distinct = [entry for place, entry in enumerate(every) if isinstance(entry, dict) and entry not in every[:place]]
    kept["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct} if distinct else {}
    return kept


def typed_branches(node: Schema, reduction: Reduction) -> Schema:
    """Move a type that stands beside `anyOf` into the branches (Kimi: "type should be defined in anyOf items")."""
    branches = node.get("anyOf")
    if "type" not in node or not isinstance(branches, list):
        return node
    kind = node["type"]
    typed = [
        {"type": kind, **branch} if isinstance(branch, dict) and not {"type", "$ref", "anyOf"} & set(branch) else branch
        for branch in branches
    ]
    reduction.note("a type beside anyOf was moved into its branches")
    return {key: typed if key == "anyOf" else value for key, value in node.items() if key != "type"}


def typed_everywhere(node: Schema, reduction: Reduction) -> Schema:
    """Give every node a type (Kimi): what its keywords or values tell, else string."""
    if {"type", "$ref", "anyOf", "oneOf", "allOf"} & set(node):
        return node
    kind = implied_type(node)
    if kind is None:
        reduction.lose("type")
    elif kind != "null" and isinstance(node.get("enum"), list) and None in node["enum"]:
        reduction.lose("null")
        node = {**node, "enum": [value for value in node["enum"] if value is not None]}
    return {"type": kind or "string", **node}


def implied_type(node: Schema) -> str | None:
    """The type that the keywords or the values of a node tell."""
    values = node["enum"] if isinstance(node.get("enum"), list) else [node["const"]] if "const" in node else []
    if values:
        return value_type(values)
    return next((kind for kind in ("object", "array", "string", "number") if FOR_TYPE[kind] & set(node)), None)


# --- objects ----------------------------------------------------------------------------------------------------------


def no_bare_requirements(node: Schema, reduction: Reduction) -> Schema:
    """Drop branches that only require something: "a or b must be given" is said in no dialect."""
    bare = _BARE | {"type"} if "properties" in node or types_of(node) == ("object",) else _BARE
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = node.get(keyword)
        if not isinstance(branches, list):
            continue
        left = [branch for branch in branches if not _only_requires(branch, bare)]
        if len(left) != len(branches):
            reduction.lose("required")
            node = {key: left if key == keyword else value for key, value in node.items() if left or key != keyword}
    return node


def _only_requires(branch: Any, bare: frozenset[str]) -> bool:
    return isinstance(branch, dict) and bool(branch.get("required")) and set(branch) <= bare


def known_required(node: Schema, reduction: Reduction) -> Schema:
    """Require only what is among the properties; where others are named elsewhere nothing can be said."""
    names, properties = node.get("required"), node.get("properties", {})
    if not isinstance(names, list) or not isinstance(properties, dict):
        return node
    if "properties" not in node and {"$ref", "allOf", "anyOf", "oneOf"} & set(node):
        return node
    known = [name for name in names if name in properties]
    if len(known) == len(names):
        return node
    reduction.lose("required")
    return {key: known if key == "required" else value for key, value in node.items() if known or key != "required"}


def required_everywhere(node: Schema, reduction: Reduction) -> Schema:
    """Let every object have `required`, be it empty (Kimi)."""
    if node.get("type") == "object" and "required" not in node:
        return {**node, "required": []}
    return node


def renamed_properties(illegal: str, first: str, longest: int) -> Step:
    """A step that renames the properties an API does not allow; the same name becomes the same everywhere.

    Args:
        illegal: Matches one character that may not stand in a name; it becomes `_`.
        first: Matches a first character that may stand there; another gets `_` in front.
        longest: Most characters.
    """

    def proposed(name: str) -> str:
        new = re.sub(illegal, "_", name)
        if not re.match(first, new):
            new = f"_{new}"
        return new if len(new) <= longest else _with_hash(new, name, longest)

    def step(schema: Schema, reduction: Reduction) -> Schema:
        names = [name for node in nodes(schema) for name in _property_names(node)]
        taken = {name for name in names if proposed(name) == name}
        new_names: dict[str, str] = {}
        for name in sorted(set(names) - taken):
            new = proposed(name)
            if new in taken:
                new = _with_hash(new, name, longest)
            taken.add(new)
            new_names[name] = new
        if not new_names:
            return schema
        reduction.renamed.update({new: name for name, new in new_names.items()})
        return _with_names(schema, new_names)

    return step


def _property_names(node: Schema) -> list[str]:
    properties = node.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _with_hash(new: str, name: str, longest: int) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{new[: longest - 9]}_{digest}"


def _with_names(schema: Schema, new_names: dict[str, str]) -> Schema:
    def name_of(name: Any) -> Any:
        return new_names.get(name, name) if isinstance(name, str) else name

    def visit(node: Schema) -> Schema:
        node = with_children(node, visit)
        return {key: _renamed_in(key, value, name_of) for key, value in node.items()}

    return visit(schema)


def _renamed_in(key: str, value: Any, name_of: Callable[[Any], Any]) -> Any:
    if key in ("properties", "dependentSchemas") and isinstance(value, dict):
        return {name_of(name): schema for name, schema in value.items()}
    if key in ("required", "propertyOrdering") and isinstance(value, list):
        return [name_of(name) for name in value]
    if key == "dependentRequired" and isinstance(value, dict):
        return {name_of(name): [name_of(other) for other in others] for name, others in value.items()}
    if key in ("default", "const", "example", "enum", "examples"):
        return _renamed_value(value, name_of)
    return value


def _renamed_value(value: Any, name_of: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {name_of(key): _renamed_value(entry, name_of) for key, entry in value.items()}
    return [_renamed_value(entry, name_of) for entry in value] if isinstance(value, list) else value
