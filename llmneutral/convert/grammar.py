"""JSON held to a schema by a grammar: llama.cpp's field `grammar`, in the notation of llguidance.

Source: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.schema_walk import Schema, nodes, with_children
from llmneutral.ir.jsontext import dumps

HEAD = "%llguidance {}\nstart: %json "
_COMBINED = frozenset(
    {"allOf", "dependentSchemas", "else", "if", "not", "oneOf", "then", "unevaluatedProperties", "unevaluatedItems"}
)
"""Keywords under which the properties of one node are not all there are, or fewer values are not a safe choice."""
_BESIDE = frozenset({"$ref", "$dynamicRef", "additionalProperties", "anyOf", "minProperties", "patternProperties"})
"""Keywords by which an object may have, or has to have, more properties than it lists."""


def json_grammar(schema: Mapping[str, Any]) -> str:
    """Returns a grammar that lets only compact JSON of this schema through, from the first token on.

    It is the value of the field `grammar` of a Chat Completions or Responses request. `response_format` is no
    substitute: it lets a small model open with endless white space. An object has only the properties that the schema
    lists, unless it says of more: else a small model goes on to invent some until `max_tokens`.

    Args:
        schema: A JSON Schema. Bound its arrays and strings (`maxItems`, `maxLength`), or greedy decoding may repeat
            an element until `max_tokens`.
    """
    return HEAD + dumps({**_closed(dict(schema)), "x-guidance": {"whitespace_flexible": False}})


def _closed(schema: Schema) -> Schema:
    """The schema without room for unlisted properties; every value of it is one of the schema as it was."""
    if any([not _COMBINED.isdisjoint(node) for node in nodes(schema)]):
        return schema
    return _visited(schema)


def _visited(node: Schema) -> Schema:
    found = with_children(node, _visited)
    listed = found.get("properties")
    if not isinstance(listed, dict) or not listed or not _BESIDE.isdisjoint(found):
        return found
    if not listed.keys() >= set(found.get("required") or ()):
        return found
    return {**found, "additionalProperties": False}
