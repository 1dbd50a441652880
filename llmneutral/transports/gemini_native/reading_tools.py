"""Tools and schemas of a request to generateContent → neutral ones.

https://ai.google.dev/api/caching#FunctionDeclaration, https://ai.google.dev/api/caching#Schema
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.errors.wording import a_kind
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports.gemini_native.request import DECLARED, TYPES, RewrittenTool
from llmneutral.transports.gemini_native.wire import camel

DECLARATIONS = "functionDeclarations"
NAMES = frozenset(("properties", "defs", "$defs", "definitions"))
"""Keys of a schema whose own keys are names."""

VALUES = frozenset(("default", "example", "enum", "required", "propertyOrdering"))
"""Keys of a schema whose value is data."""


def read_tools(given: Any) -> list[ToolDefinition]:
    """Reads the tools of a body in the spelling of REST."""
    found: list[ToolDefinition] = []
    for tool in [given] if isinstance(given, Mapping) else given or ():
        if not isinstance(tool, Mapping):
            raise TypeError(f"a tool is {a_kind(tool)}, not an object")
        found += [
            ToolDefinition(key, native={key: value})
            for key, value in tool.items()
            if key != DECLARATIONS and value is not None
        ]
        functions = [_function(each) for each in tool.get(DECLARATIONS) or ()]
        if functions and (empty := [key for key, value in tool.items() if value is None]):
            functions[0] = _rewritten(functions[0], f"the tool {', '.join(empty)} is null, and is left out")
        found += functions
    return found


def _rewritten(tool: ToolDefinition, why: str) -> RewrittenTool:
    return RewrittenTool(**{name: getattr(tool, name) for name in tool.__struct_fields__}, why=why)


def _function(declared: Any) -> ToolDefinition:
    given = declared.get("parametersJsonSchema")
    schema = openapi_as_json(declared.get("parameters")) if given is None else given
    is_more = any([declared.get(key) is not None for key in DECLARED]) or (
        given is None and not _is_plain(declared.get("parameters"))
    )
    own = {key: value for key, value in declared.items() if value is not None}
    if is_more and schema is None:
        schema = {"type": "object", "properties": {}}
    return ToolDefinition(
        declared["name"],
        description=declared.get("description"),
        parameters=schema,
        native=own if is_more else None,
    )


def openapi_as_json(schema: Any) -> Any:
    """Returns JSON Schema for one of Google's schemas: types in small letters, null as a type."""
    if isinstance(schema, list):
        return [openapi_as_json(entry) for entry in schema]
    if not isinstance(schema, Mapping):
        return schema
    found: JSONObject = {}
    for key, value in schema.items():
        name = camel(key)
        if name in NAMES and isinstance(value, Mapping):
            found[name] = {entry: openapi_as_json(inner) for entry, inner in value.items()}
        elif name == "type":
            found[name] = _type(value)
        elif name not in ("nullable", "propertyOrdering"):
            found[name] = value if name in VALUES else openapi_as_json(value)
    return _with_null(found) if schema.get("nullable") else found


def _type(value: Any) -> Any:
    if isinstance(value, str):
        return value.lower()
    if type(value) is int and 0 < value < len(TYPES):
        return TYPES[value]
    return value


def _with_null(schema: JSONObject) -> JSONObject:
    if isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if isinstance(schema.get("type"), str):
        schema = {**schema, "type": [schema["type"], "null"]}
    return {**schema, "enum": [*schema["enum"], None]} if isinstance(schema.get("enum"), list) else schema


def _is_plain(schema: Any) -> bool:
    """Whether a schema says the same as JSON Schema: nothing in it is Google's own."""
    if isinstance(schema, list):
        return all(map(_is_plain, schema))
    if not isinstance(schema, Mapping):
        return True
    if not {"nullable", "propertyOrdering", "property_ordering", "example"}.isdisjoint(schema):
        return False
    if type(schema.get("type")) is int:
        return False
    return all(
        [
            all(map(_is_plain, value.values())) if key in NAMES and isinstance(value, Mapping) else _is_plain(value)
            for key, value in schema.items()
            if key not in VALUES
        ]
    )
