"""The root of a tool's schema: an object with properties, whatever was written.

Most APIs take nothing else there: "input_schema does not support oneOf, allOf, or anyOf at the top level" (Anthropic),
"schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level" (OpenAI). A root
union becomes one object that has the properties of all branches and requires what all of them require.
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.schema_merge import dereferenced, merge, merge_all_of, same_or_union, types_of
from llmneutral.convert.schema_walk import DEFINITIONS, Reduction, Schema, Step, hoist_refs, refuse

__all__ = ["empty_object", "no_root_keywords", "object_root", "wrap_root"]

VALUE = "value"
NOT_AT_ROOT = frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"})


def empty_object() -> Schema:
    """The schema of no arguments."""
    return {"type": "object", "properties": {}}


def object_root(schema: Schema, reduction: Reduction) -> Schema:
    """Make the root an object with `type` and `properties`.

    Raises:
        ConversionError: If it can be no object.
    """
    schema = hoist_refs(schema)
    root = _one_object(dereferenced(schema, schema, reduction), schema, reduction)
    if root is None:
        kinds = " or ".join(types_of(schema)) or "no type of an object"
        refuse(
            f"the schema's root is {kinds}, but the arguments of a tool are an object",
            hint='Put it into a property: {"type": "object", "properties": {"value": …}}.',
        )
    if len(types_of(root)) > 1:
        reduction.lose("type")
    made = dict(root) if "type" in root else {"type": "object", **root}
    made["type"] = "object"
    made.setdefault("properties", {})
    return made


def no_root_keywords(*keywords: str) -> Step:
    """A step that drops keywords from the root."""

    def step(schema: Schema, reduction: Reduction) -> Schema:
        found = [keyword for keyword in keywords if keyword in schema]
        reduction.lose(*found)
        return {key: value for key, value in schema.items() if key not in found} if found else schema

    return step


def _one_object(given: Any, root: Schema, reduction: Reduction) -> Schema | None:
    """The node as one object without unions at its top, or None where it is none."""
    if not isinstance(given, dict):
        return None
    node = merge_all_of(given, root, reduction)
    if not _may_be_object(node):
        return None
    if "properties" in node and not isinstance(node["properties"], dict):
        reduction.lose("properties")
        node = {**node, "properties": {}}
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            branches = node[keyword]
            node = {key: value for key, value in node.items() if key != keyword}
            if isinstance(branches, list):
                node = _flattened(node, branches, keyword, root, reduction)
    return node


def _may_be_object(node: Schema) -> bool:
    kinds, values = types_of(node), node.get("enum", [node["const"]] if "const" in node else None)
    if isinstance(values, list) and not any(isinstance(value, dict) for value in values):
        return False
    return not kinds or "object" in kinds


def _flattened(node: Schema, branches: list[Any], keyword: str, root: Schema, reduction: Reduction) -> Schema:
    """The node with the properties of all branches; a branch that is no object is lost."""
    found = [_one_object(dereferenced(branch, root, reduction), root, reduction) for branch in branches]
    objects = [branch for branch in found if branch is not None]
    if len(objects) != 1 or len(found) != 1:
        reduction.lose(keyword)
    if not objects:
        return node
    if len(objects) == 1:
        return merge(objects[0], node, reduction)
    own = node.get("properties", {})
    by_name: dict[str, list[Any]] = {}
    for branch in objects:
        for name, schema in branch.get("properties", {}).items():
            by_name.setdefault(name, []).append(schema)
    merged = dict(node)
    if by_name or own:
        united = {name: same_or_union(schemas) for name, schemas in by_name.items()}
        merged["properties"] = {**own, **{name: schema for name, schema in united.items() if name not in own}}
    common = [name for name in _required(objects[0]) if all(name in _required(branch) for branch in objects)]
    required = list(dict.fromkeys([*_required(node), *common]))
    merged.pop("required", None)
    if required:
        merged["required"] = required
    shaped = [branch for branch in objects if "properties" in branch]
    if shaped and all(branch.get("additionalProperties") is False for branch in shaped):
        merged["additionalProperties"] = False
    return merged


def _required(node: Schema) -> list[Any]:
    names = node.get("required")
    return names if isinstance(names, list) else []


def _is_object(node: Schema) -> bool:
    return types_of(node) == ("object",) or (not types_of(node) and isinstance(node.get("properties"), dict))


def wrap_root(schema: Schema) -> tuple[Schema, bool]:
    """Put a schema whose root is no plain object under the property `value`.

    Args:
        schema: A JSON Schema; it is not changed.

    Returns:
        The schema, and whether it was wrapped: then the answer is what stands under `value`.
    """
    node = dereferenced(schema, schema, Reduction())
    if isinstance(node, dict) and not NOT_AT_ROOT & set(node) and _is_object(node):
        return schema, False
    schema = hoist_refs(schema, also_root=True)
    inner = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    inner.pop("$schema", None)
    wrapped: Schema = {"type": "object", "properties": {VALUE: inner}, "required": [VALUE]}
    return wrapped | {key: schema[key] for key in DEFINITIONS if key in schema}, True
